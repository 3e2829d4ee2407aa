"""Solutions of notebook 3, attention, one head at a time."""

import numpy as np
from course import check

from search import bert

# The softmax runs along a row: each token shares out 1.
check("3.1", "rows")

# Larger products, sharper softmax.
check("3.2", "sharper")

# [CLS] gets nearly 5 of 12. Many heads rest there when they have nothing to read.
check("3.3", "[CLS]")

# 3.4 is answered by the experiment: contributions. They split the very cosine that is measured.


# 3.A: the 32 rows of both matrices that belong to the head, then a product, a root and a softmax.
def head_weights(inputs, layer, head):
    """Return the weights of a head, (tokens, tokens)."""
    tables = bert.parameters(offline=True)
    part = slice((head - 1) * 32, head * 32)
    name = f"encoder.layer.{layer - 1}.attention.self."
    query, key = (
        (inputs @ tables[f"{name}{kind}.weight"].T + tables[f"{name}{kind}.bias"])[:, part]
        for kind in ("query", "key")
    )
    products = query @ key.T / np.sqrt(32)
    weights = np.exp(products - products.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)


check("3.A", head_weights)

# 3.B: try all 72; the last column of the rows between [CLS] and [SEP].
look = bert.inspect("the trophy did not fit because it was too large", offline=True)
heads = [(layer, head) for layer in range(1, 7) for head in range(1, 13)]
best = max(heads, key=lambda place: look.attention.matrix(*place)[1:-1, -1].mean())
check("3.B", best)
