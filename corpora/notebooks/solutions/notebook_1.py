"""Solutions of notebook 1, tokens and the embedding layer."""

import numpy as np
from course import check

from search import bert

# [CLS], the, aqueduct, was, rebuilt, by, sin, ##an, ', s, apprentice, ##s, the full stop, [SEP].
check("1.1", 14)

# 11.7 of 22.7 million numbers.
check("1.2", "half")

# 16 for each layer: query, key, value, the output of attention and the two layers of the feed-forward part have a
# matrix and a bias each, both normalisations a weight and a bias. 12 x 16 = 192, the embeddings have 5, the pooler 2.
check("1.3", 199)

# Same token, same position, same segment.
check("1.4", "the same")


# 1.A: the three rows, their sum, and a normalisation over the 384 numbers of each token.
def layer_0(ids, segments):
    """Return the vectors of layer 0, (tokens, 384)."""
    tables = bert.parameters(offline=True)
    total = (
        tables["embeddings.word_embeddings.weight"][ids]
        + tables["embeddings.position_embeddings.weight"][: len(ids)]
        + tables["embeddings.token_type_embeddings.weight"][segments]
    )
    centred = total - total.mean(axis=1, keepdims=True)
    scaled = centred / np.sqrt(total.var(axis=1, keepdims=True) + 1e-12)
    return scaled * tables["embeddings.LayerNorm.weight"] + tables["embeddings.LayerNorm.bias"]


check("1.A", layer_0)

# 1.B: r ##hu ##bar ##b. Plants, dishes and names are good candidates.
check("1.B", "rhubarb")
