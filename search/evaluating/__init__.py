"""Evaluate search, readers and taggers on judged data; `search.evaluate` is in evaluation.py.

evaluation.py  `evaluate`: documents in an index, whole documents, pairs of sentences
readers.py     `evaluate_answers` for a reader, `evaluate_entities` for a tagger
formats.py     reads judged data and labelled examples from files and folders
    metrics.py     runs queries in several settings and compares them; metrics of rankings, answers and entities
"""
