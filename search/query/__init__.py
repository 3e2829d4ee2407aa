"""Question -> ranked hits.

ranking.py    what hits are ranked by
fusion.py     meaning and words -> one exact ranking
rank.py       the ranking -> hits
selection.py  which part of it, in which order; grouping.py by document, diversity.py not all alike
duplicates.py passages that say the same
percentile.py how high a score is among those of random pairs
standing.py   where passages stand in the ranking of everything
"""

from search.query.rank import ranked, scored
from search.query.ranking import WEIGHT, Asked, Ranking, check_query
from search.query.selection import Selection

__all__ = ["WEIGHT", "Asked", "Ranking", "Selection", "check_query", "ranked", "scored"]
