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
from search.records.tokens import Word
from search.records.visible_text import Spans

_DRAWS = 8


def deletion_test(encoder: Encoder, why: Explanation, count: int = 3) -> DeletionTest:
    """Return the cosines of an explained passage without its `count` strongest words, and without others."""
    matrices = why.words()
    added = why.passage_contributions
    positions = [i for i, word in enumerate(matrices.passage) if word.kind == "word"]
    positions.sort(key=lambda i: -added[i])
    best, others = positions[:count], positions[count:]
    random = np.random.default_rng(0)
    draws = [random.permutation(others)[:count].tolist() for _ in range(_DRAWS)]
    texts = []
    for cut in ([], best, *draws):
        words = [matrices.passage[i] for i in cut]
        texts.append(with_context(why.context, without_words(why.passage, words, why.hidden)))
    (query,) = encoder.encode([why.query], role="query")
    cosines = encoder.encode(texts, role="document", truncate=True) @ query
    cosine, without, *without_others = cosines.tolist()
    strongest = tuple(matrices.passage[i].text for i in sorted(best))
    return DeletionTest(strongest, cosine, without, float(np.mean(without_others)))


def without_words(text: str, words: Iterable[Word], hidden: Spans = ()) -> str:
    """Return a text without some of its words and without its hidden spans."""
    return without_spans(text, [(word.start, word.end) for word in words], hidden)


def without_spans(text: str, spans: Iterable[tuple[int, int]], hidden: Spans = ()) -> str:
    """Return a text without some of its spans and without its hidden spans."""
    pieces, at = [], 0
    for start, end in sorted([*hidden, *spans]):
        pieces.append(text[at:start])
        at = max(at, end)
    return "".join(pieces) + text[at:]
