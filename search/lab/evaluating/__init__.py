"""Evaluation of task heads: readers on questions, taggers on entities. Comparison of two encoders.

formats.py    readers of labelled sentences and texts
metrics.py    exact match and F1 of answers, F1 of entities
encoders.py   compare_encoders: what two encoders find in one index
readers.py    evaluate_answers, evaluate_entities: the tasks of `seewhy eval`
"""
