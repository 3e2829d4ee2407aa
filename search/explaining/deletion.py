"""Test of an explanation: does the cosine need the words that contribute most to it?

The words are cut out of the passage, and what is left is encoded again ("comprehensiveness" in DeYoung et al. 2020,
ERASER). Cutting out as many other words shows how far the cosine falls by chance.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from search.encoding import Encoder
from search.encoding.encoder import with_context
from search.records.comparisons import DeletionTest
from search.records.explanations import Explanation

_DRAWS = 8


def deletion_test(encoder: Encoder, why: Explanation, count: int = 3) -> DeletionTest:
    """Return the cosines of an explained passage without its `count` strongest words, and without others."""
    matrices = why.words()
    added = why.passage_added(matrices)
    places = [i for i, word in enumerate(matrices.passage) if word.kind == "word"]
    places.sort(key=lambda i: -added[i])
    best, others = places[:count], places[count:]
    chance = np.random.default_rng(0)
    draws = [chance.permutation(others)[:count].tolist() for _ in range(_DRAWS)]

    def left(cut: Iterable[int]) -> str:
        kept = np.ones(len(why.passage), dtype=bool)
        for word in (matrices.passage[i] for i in cut):
            kept[word.start : word.end] = False
        return "".join(np.array(list(why.passage))[kept])

    texts = [with_context(why.context, left(cut)) for cut in ([], best, *draws)]
    (query,) = encoder.encode([why.query], role="query")
    whole, without, *random = (encoder.encode(texts, role="document", truncate=True) @ query).tolist()
    words = tuple(matrices.passage[i].text for i in sorted(best))
    return DeletionTest(words, whole, without, float(np.mean(random)))
