"""Question -> ranked hits.

selection.py  the part of a ranking that is shown: offset, limits, groups, copies
question.py   queries of several parts, and of examples; more like a passage or document
where.py      filters as text -> a tree of conditions, which `search.store.filters` asks the index for
fusion.py     meaning and words -> one exact ranking
rerank.py     the best of it again, by late interaction or a cross-encoder
words.py      where the words of a query stand; the hits without some of them
verdict.py    whether anything in the index seems to answer the question
rank.py       all of these -> hits, each with how high its score is among those of random pairs
duplicates.py passages that say the same
freshness.py  the status of the files of hits
reading.py    a whole document, put together from its passages; the lines around a hit
"""
