"""Annotate all passages of an index with task heads, for use in filters; train heads from examples.

passages.py           entities, parts of speech and labels of passages
labels.py             train_labels: a linear head on frozen embeddings, with cross-validated metrics
"""
