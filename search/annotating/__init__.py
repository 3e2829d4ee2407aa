"""What task heads say of all passages of an index, kept as annotations that filters find; and heads from examples.

passages.py           entities, parts of speech and labels of its passages
labels.py             train_labels: a linear head on frozen embeddings, and how good it is on what was held out
"""
