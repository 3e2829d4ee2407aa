"""Evaluate search, readers and taggers on judged data; `search.evaluate` is in evaluation.py.

evaluation.py  `evaluate`: documents in an index, whole documents, pairs of sentences
readers.py     `evaluate_answers` for a reader, `evaluate_entities` for a tagger
formats.py     files and folders -> judged data, labelled examples
metrics.py     settings -> metrics of each query, and their comparison; metrics of rankings, answers and entities
"""
