"""Solutions of notebook 7, from words to score and back."""

from itertools import combinations

from course import PAIR, check

import search

# What is left is an affine map, and the biases are not in the part of a word.
check("7.1", "it doubles")

# Biases come from no word.
check("7.2", "the offset")

# Their last vectors are mixtures of the words. Traced back, they return what they took.
check("7.3", "in the last layer")

# 7.4 is answered by the experiment: traced, closely followed by the last layer.


# 7.A: mix each part by the weights. Rows of weights sum to 1, so the bias arrives whole, in the offset only.
def attend_parts(parts, weights, matrix, bias):
    """Return the parts behind attention, (tokens + 1, tokens, d)."""
    result = weights @ (parts @ matrix.T)
    result[-1] += bias
    return result


check("7.A", attend_parts)

# 7.B: the contributions name Books, weeks and library, and the best pair of these is no other than Books and library.
# One of them can stand for the other, so cutting out one alone does little: that is an interaction of two words.
question, passage = PAIR
encoder = search.Encoder(offline=True)
words = passage.rstrip(".").split()
pairs = list(combinations(words, 2))
texts = [" ".join(word for word in words if word not in pair) for pair in pairs]
cosines = encoder.encode(texts, role="document") @ encoder.encode([question], role="query")[0]
check("7.B", pairs[cosines.argmin()])
