"""Filters that are printed: each is read again as what was meant, by the parser and by a shell."""

from __future__ import annotations

import shlex

import pytest

from search.ranking.where import parse
from search.records.documents import filter_argument, in_filter
from search.records.predictions import FieldCount, LabelledIndex, TagReport
from search.render import predictions
from search.store.conditions import Comparison

NAMES = ("topic", "creative-work", "a b", "not", "HAS", "it's", 'a"b', "a.b", "x>y", "a,b", "$HOME", "where:")
VALUES = (
    "water",
    "Ada Lovelace",
    "don't",
    'the "door"',
    "a=b",
    "!",
    "$HOME `x`",
    "(x)",
    "not",
    "=",
    "\\n",
    "3.5",
)


@pytest.mark.parametrize("name", NAMES)
def test_what_is_written_is_what_is_read(name: str) -> None:
    for value in VALUES:
        written = in_filter(name, value)
        assert shlex.split(f"seewhy query x --where {filter_argument(written)}")[-1] == written
        found = parse(f"{written} and kind=text").condition.parts[0]  # type: ignore[union-attr]
        assert isinstance(found, Comparison)
        assert (found.field.name, found.operator, found.values[0].text) == (name, "=", value)


def test_plain_words_are_written_plainly() -> None:
    assert in_filter("topic", "water") == "topic=water"
    assert filter_argument("person='Ada Lovelace'") == '''"person='Ada Lovelace'"'''


def test_the_filter_that_is_advised() -> None:
    found = LabelledIndex("i", "not", "h", ("don't", "other"), True, 3, 3, 0, {"don't": 2, "other": 1})
    drawn = predictions.labelled_index(found)
    assert drawn.endswith("""Filter by it: --where "'not'='don''t' and not_score>=0.8\"""")
    several = LabelledIndex("i", "mood", "h", ("a b", "c"), False, 3, 3, 0, {"a b": 2, "c": 1})
    drawn = predictions.labelled_index(several)  # whose score it is, is not known
    assert drawn.endswith("""Filter by it: --where "mood='a b'\"""")
    person = FieldCount("person", 2, 1, 2, (("O'Hara", 2),))
    report = TagReport("i", "ner", "ner", "m", (person,), 2, 2, 2, {}, 1.0, ())
    assert """Filter by them: --where "person='O''Hara'\"""" in predictions.tag_report(report)
