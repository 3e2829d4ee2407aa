"""The cosine of a passage without its strongest words."""

from pathlib import Path

import pytest

import search
from search import Encoder
from search.explaining.deletion_test import deletion_test


def test_words_are_cut_out_and_the_rest_is_encoded_again(tiny: Encoder) -> None:
    why = search.explain("turn the key", "The key turns. People look at the water.", model=tiny)
    test = deletion_test(tiny, why, count=1)
    contributions = dict(zip(why.words().passage, why.passage_contributions, strict=True))
    (word,) = test.words
    assert (
        word
        == max(
            (candidate for candidate in contributions if candidate.kind == "word"),
            key=contributions.__getitem__,
        ).text
    )
    (whole, rest) = tiny.encode([why.passage, why.passage.replace(word, "", 1)], role="document")
    (query,) = tiny.encode([why.query], role="query")
    assert (test.cosine, test.without) == pytest.approx((whole @ query, rest @ query), abs=1e-6)
    assert test.without_others != test.without


def test_the_cosine_is_that_of_the_explanation_also_with_markup(tiny_model: Path) -> None:
    with search.Index.create(model=str(tiny_model)) as index:
        index.upsert([search.Document("a", "# Key\n\nTurn the **key** in `the` lock.", kind="markdown")])
        (hit,) = index.query("turn the key")
        why = index.explain("turn the key", hit)
        assert why.hidden and deletion_test(index.encoder, why).cosine == pytest.approx(
            why.cosine, abs=1e-5
        )
