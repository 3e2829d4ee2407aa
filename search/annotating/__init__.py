"""What task heads say of all passages of an index, kept as annotations that filters find; and heads from examples.

passages.py           entities, parts of speech and labels of its passages
label_training.py     train_labels: a linear head on frozen embeddings
labelled_examples.py  what it is given: texts, or passages of an index; how good heads are on what was held out
"""
