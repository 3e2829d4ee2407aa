"""Evaluation of task heads: readers on questions, taggers on entities.

formats.py    readers of labelled sentences and texts
metrics.py    exact match and F1 of answers, F1 of entities
readers.py    evaluate_answers, evaluate_entities: the tasks of `seewhy eval`
"""
