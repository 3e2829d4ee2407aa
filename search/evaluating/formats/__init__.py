"""Files and folders -> what is evaluated on.

read.py     whatever it is, by its format
conll.py    words with labels, for entities
strict.py   lines, objects and tables of files; what is malformed is named with file and line
beir.py, judgements.py, squad.py, spans.py, sts.py    the formats
"""

from search.evaluating.formats.read import read_dataset

__all__ = ["read_dataset"]
