"""Hit -> why.

gradients.py    the same addends by integrated gradients, where embeddings are no sum over tokens
explanation.py  two encoded texts and a score -> their two matrices and an `Explanation`
addends.py      the addends of a score that are not of its cosine: words, rerankers
explainer.py    the questions that an index answers: why, why this above that, why not
"""
