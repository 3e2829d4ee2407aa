"""Explain why a passage has its score.

gradients.py      addends by integrated gradients, for embeddings that are not sums over tokens
explanation.py    builds an `Explanation`, with its two matrices, from two encoded texts and a score
    addends.py        addends of a score besides its cosine: keywords, rerankers
deletion_test.py  the cosine without the words that contribute most
explainer.py      explanations of a ranking: why a hit, why one above another, why not
"""
