"""Solutions of notebook 6, how a search engine ranks and explains."""

from course import check

# The bound is smaller than the gaps between the first hits.
check("6.1", 5)

# It adds the most by meaning, and as a keyword, too.
check("6.2", "landlord")

# 6.3 is answered by the experiment: less than half. The passage says the same in other words.


# 6.A: only ranks count, so rankings of any kind can be joined.
def rrf(rankings):
    """Return document -> score by reciprocal rank fusion."""
    scores = {}
    for ranking in rankings:
        for rank, name in enumerate(ranking, 1):
            scores[name] = scores.get(name, 0) + 1 / (60 + rank)
    return scores


check("6.A", rrf)

# 6.B: what the minutes are of, without a word of them.
check("6.B", "neighbours assembly")
