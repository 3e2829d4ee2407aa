"""Hit -> why.

matrices.py     token vectors -> cosines of tokens, and addends of the cosine of two texts
gradients.py    the same addends by integrated gradients, where embeddings are no sum over tokens
explanation.py  two encoded texts and a score -> an `Explanation`; also of a query of several parts
addends.py      the addends of a score that are not of its cosine: words, ranks, rerankers
faithfulness.py an explanation put to the test: what the cosine loses without its words
missing.py      why a file has no passage in an index
explainer.py    the questions that an index answers: why, why this above that, why not
"""

from search.explaining.explanation import explain_pair, similarity_layer
from search.explaining.matrices import contribution_matrix, similarity_matrix

__all__ = ["contribution_matrix", "explain_pair", "similarity_layer", "similarity_matrix"]
