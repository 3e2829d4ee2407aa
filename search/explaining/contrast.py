"""Two explanations of one query -> what sets the two scores apart, word by word."""

from __future__ import annotations

from search.records.comparisons import Contrast, Difference
from search.records.explanations import Explanation, Share
from search.records.hits import Hit


def contrast_of(a: Hit, why_a: Explanation, b: Hit, why_b: Explanation) -> Contrast:
    """Split the gap between two scores of the same query by its words.

    The scores are sums over the query's words, so their difference is a sum of the words' differences. A word
    that one side alone has (a term of the word part, say) adds nothing to the other.
    """
    in_a, in_b = _by_word(why_a), _by_word(why_b)
    nothing = Share("", "", 0, 0, 0.0)
    words = []
    for key in dict.fromkeys([*in_a, *in_b]):
        mine, other = in_a.get(key, nothing), in_b.get(key, nothing)
        words.append(Difference(*key, mine.contribution, other.contribution, mine.partners, other.partners))
    return Contrast(why_a.query, a, b, tuple(words))


def _by_word(why: Explanation) -> dict[tuple[str, str, int, int], Share]:
    return {(share.text, share.kind, share.start, share.end): share for share in why.shares()}
