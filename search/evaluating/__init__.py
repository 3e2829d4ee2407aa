"""Judged queries -> figures that can be trusted. The door is `search.evaluate`, in search/evaluation.py.

formats/       files and folders -> what is evaluated on, as dataset.py has it
settings.py    the ways to ask, as people write them
collection.py  the index that a collection is ranked in, and what is in it
retrieval.py, spans.py, whole.py, pairs.py    the tasks: documents, spans of documents, whole documents, sentences
asking.py      a way to ask -> what is found for each query, and how long it takes
qa.py          answers of a reader; answers.py  predicted and gold answers -> exact match and F1
ner.py         entities of a checkpoint or a file against gold ones
metrics.py     ranked documents and judgements -> nDCG, MRR, MAP, recall, success, precision
coverage.py    spans that were found, and gold ones -> recall, precision, IoU, by character
statistics.py  values of queries -> means, intervals, paired tests
"""
