"""From a query to ranked hits.

selection.py  selection of the hits to show: offset, limits, groups, copies
question.py   queries of several parts and examples; hits similar to a passage or document
identifiers.py  codes and names in queries, which count as one keyword
spelling.py   words of a query that no passage has: identifiers, misspelt words
where.py      filters as text -> a tree of conditions, which `search.store.filters` evaluates
on_demand.py  encodes the pending passages that a query looks at
    propose.py    which ones: predicts embeddings from words
fusion.py     combines meaning and keywords into one exact ranking
    rerank.py     new scores for the best passages, by late interaction or a cross-encoder
words.py      occurrences of the query's words; candidates for hits without some of them
list_rank.py  ranks in the list of hits, whatever its length; of a passage with another text, too
sorting.py    the order of listed hits
sentences.py  the sentences of a passage that answer a query
unlinked.py   documents near to one that it is not linked with
verdict.py    answerability: the probability that the index answers the query
rank.py       runs all of these; gives each hit the percentile of its score among random pairs
duplicates.py near-duplicate passages
occurrences.py  occurrences of a word that are nearest to its use in a text
document_map.py  documents as points in two dimensions; topics.py: their groups, with names
suggestions.py  questions that the index can answer
"""
