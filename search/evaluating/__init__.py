"""Judged queries -> metrics with intervals. The door is `search.evaluate`, in evaluation.py.

evaluation.py  `evaluate`, and `tune`, which finds the weight that answers best
formats.py     files and folders -> judged data, examples with labels
asking.py      settings -> what is found for each query, and how settings compare
retrieval.py   documents and spans in an index; without one, whole documents and pairs of sentences
readers.py     `evaluate_answers` of a reader, `evaluate_entities` of a tagger
metrics.py     rankings -> nDCG, MRR, MAP, recall, success, precision; spans, answers and entities
"""
