"""Judged queries -> metrics with intervals. The door is `search.evaluate`, in evaluation.py.

evaluation.py  `evaluate` of documents in an index, of whole documents, of pairs of sentences
readers.py     `evaluate_answers` of a reader, `evaluate_entities` of a tagger
formats.py     files and folders -> judged data, examples with labels
metrics.py     settings -> figures of each query, and how settings compare; rankings, answers, entities -> metrics
"""
