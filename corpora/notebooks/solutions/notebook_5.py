"""Solutions of notebook 5, task heads and fine-tuning."""

import numpy as np
from course import check

# -log(1/6).
check("5.1", 1.79)

# It decides for money; "greenhouse" pulls towards the garden.
check("5.2", "bill")

# A layer of random weights would answer with words of low probability. It would mean nothing.
check("5.3", "it refuses")


# 5.A: subtract the largest logit of a row, so that exp cannot overflow.
def cross_entropy(logits, labels):
    """Return the mean negative log probability of the right classes."""
    shifted = logits - logits.max(axis=1, keepdims=True)
    log_probabilities = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return -log_probabilities[range(len(labels)), labels].mean()


check("5.A", cross_entropy)

# 5.B: a little of everything.
check("5.B", "The invoice arrived with the herbs.")
