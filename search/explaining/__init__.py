"""Hit -> why.

matrices.py     token vectors -> cosines of tokens, and addends of the cosine of two texts
explanation.py  two encoded texts and a score -> an `Explanation`
"""

from search.explaining.explanation import explain_pair, similarity_layer
from search.explaining.matrices import contribution_matrix, similarity_matrix

__all__ = ["contribution_matrix", "explain_pair", "similarity_layer", "similarity_matrix"]
