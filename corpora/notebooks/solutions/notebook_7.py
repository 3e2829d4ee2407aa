"""Solutions of notebook 7, from words to score and back."""

from itertools import combinations

from course import PAIR, check

import search

# The part of a word goes through linear maps only; the biases are not in it.
check("7.1", "it doubles")

# Biases come from no word.
check("7.2", "the offset")

# Their last vectors are mixtures of the words. Traced back, they return what they took.
check("7.3", "in the last layer")

# 7.4 is answered by the experiment: four times as far.


# 7.A: mix each part by the weights. Rows of weights sum to 1, so the bias arrives whole, in the offset only.
def attend_parts(parts, weights, matrix, bias):
    """Return the parts after attention, (tokens + 1, tokens, d)."""
    result = weights @ (parts @ matrix.T)
    result[-1] += bias
    return result


check("7.A", attend_parts)

# 7.B: all 78 pairs. Without "kept" and "weeks", or without "Books" and "library", the cosine falls by 0.35. "Books"
# alone brings 0.03, "library" alone 0.10: one can stand for the other, and no split into single words can tell that.
question, passage = PAIR
encoder = search.Encoder(offline=True)
words = passage.rstrip(".").split()
pairs = list(combinations(words, 2))
texts = [" ".join(word for word in words if word not in pair) + "." for pair in pairs]
cosines = encoder.encode(texts, role="document") @ encoder.encode([question], role="query")[0]
check("7.B", pairs[cosines.argmin()])
