"""Annotations of all passages of an index by task heads, for use in filters; and heads trained from examples.

passages.py           entities, parts of speech and labels of its passages
labels.py             train_labels: a linear head on frozen embeddings, with its cross-validated figures
"""
