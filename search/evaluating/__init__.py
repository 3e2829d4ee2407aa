"""Judged queries -> figures that can be trusted. The door is `search.evaluate`, in evaluation.py.

evaluation.py  `evaluate`, and `evaluate_answers` of a reader; entities.py `evaluate_entities` of a tagger
formats.py     files and folders -> what is evaluated on, as dataset.py has it; examples with labels
asking.py      the ways to ask -> what is found for each query, its figures, how long it takes
retrieval.py   documents and spans, in an index; without one, whole documents and pairs of sentences
answering.py   answers of a reader -> exact match and F1
metrics.py     rankings -> nDCG, MRR, MAP, recall, success, precision; spans -> recall, precision, IoU
"""
