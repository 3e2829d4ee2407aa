"""Question -> ranked hits.

ranking.py    what hits are ranked by
question.py   queries of several parts, and of examples
where.py      filters as text -> a tree of conditions, which `search.store.filters` asks the index for
fusion.py     meaning and words -> one exact ranking
late.py       the best of it again, by late interaction; cross.py by a cross-encoder
rank.py       the ranking -> hits
selection.py  which part of it, in which order; grouping.py by document, diversity.py not all alike
similar.py    more like a passage or document
duplicates.py passages that say the same
surroundings.py what stands around a hit
percentile.py how high a score is among those of random pairs
standing.py   where passages stand in the ranking of everything
"""

from search.ranking.rank import ranked, scored
from search.ranking.ranking import WEIGHT, Asked, Ranking, check_query
from search.ranking.selection import Selection

__all__ = ["WEIGHT", "Asked", "Ranking", "Selection", "check_query", "ranked", "scored"]
