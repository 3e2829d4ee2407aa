"""Cutting where a signal is lowest: of the places that there are the best one, and every promise of the cutter kept."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from search.corpus import Cutter
from search.corpus import cut as cut_module
from search.corpus.boundaries import AT_ONCE, possible
from search.corpus.cut import Stopped
from search.corpus.lines import line_map
from search.corpus.windows import spans
from search.errors import InputError
from search.records.documents import Document, Section

from .conftest import TOKENIZERS, parsed
from .test_cut import TEXTS, check, plain, solid


class Told:
    """A signal that is foretold: by how the text behind a boundary begins; 0 where nothing is said."""

    def __init__(self, **values: float) -> None:
        self.values = values
        self.asked: list[tuple[str, str]] = []

    def __call__(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        self.asked += pairs
        return [self.values.get(behind.split()[0].strip("."), 0.0) for _, behind in pairs]


def cut(text: str, follows: Any, size: int = 12, max_tokens: int = 64, kind: str = "text") -> list[str]:
    """The passages of a text; a letter is a token."""
    cutter = Cutter(
        TOKENIZERS["word_piece"],
        max_tokens=max_tokens,
        passage_tokens=size,
        heading_context=False,
        boundary=follows,
    )
    return [passage.text for passage in cutter.cut(plain(text, kind))]


SENTENCES = "Aaa. Bbb. Ccc. Ddd. Eee. Fff. Ggg. Hhh. Iii. Jjj."


def test_the_lowest_boundary_near_the_limit_wins() -> None:
    """Each sentence has four tokens, so that three fit; the second half of these holds the ends of two."""
    assert cut(SENTENCES, None) == ["Aaa. Bbb. Ccc.", "Ddd. Eee. Fff.", "Ggg. Hhh. Iii.", "Jjj."]
    told = Told(Ccc=-1, Eee=-2, Fff=9, Ggg=-1, Iii=-9)
    assert cut(SENTENCES, told) == ["Aaa. Bbb.", "Ccc. Ddd.", "Eee. Fff.", "Ggg. Hhh.", "Iii. Jjj."]
    assert told.asked == list(pairwise(SENTENCES.split()))
    # Of equal ones the last: as long as may be.
    assert cut(SENTENCES, Told()) == cut(SENTENCES, None)
    # A low one that is too early for a passage, or behind what fits, is no matter.
    assert cut(SENTENCES, Told(Bbb=-9, Eee=-9)) == cut(SENTENCES, None)


def test_short_pieces_are_cut_anew_where_the_signal_is_lowest() -> None:
    """The last sentence does not fit to those before it; all three places in the middle would do."""
    text = "Aa. Bb. Cc. Dd. Ee."
    assert cut(text, Told()) == ["Aa. Bb. Cc.", "Dd. Ee."]
    assert cut(text, Told(Cc=-5, Ee=-1)) == ["Aa. Bb.", "Cc. Dd. Ee."]


def test_where_a_cut_may_fall() -> None:
    def found(text: str, markdown: bool = False) -> list[str]:
        return [text[at : at + 3] for at in possible(text, 0, len(text), markdown=markdown)]

    assert found("One. Two! Three? Four… Five") == ["Two", "Thr", "Fou", "Fiv"]
    assert found("e.g. this, i.e. that. Or 3.14 is") == ["Or "]
    assert found("one\n\ntwo\nthree\r\n\r\nfour") == ["two", "fou"]
    assert found("漢字。仮名。") == ["仮名。"]
    assert found('He said "no." Then. . . --- Go. !') == ["The", "---"]
    fenced = "One. Two.\n\n```\na. B\n\nc. D\n```\n\nThree. | Four\n\n| a. B | c. D |\n"
    assert found(fenced, True) == ["Two", "```", "Thr", "| F", "| a"]
    assert found(fenced) != found(fenced, True)


def test_blocks_that_fit_are_not_weighed(tmp_path: Path) -> None:
    told = Told()
    cutter = Cutter(TOKENIZERS["word_piece"], max_tokens=128, passage_tokens=60, boundary=told)
    document = parsed(tmp_path, "a.md", "# One\n\nAa. Bb.\n\n# Two\n\nCc. Dd. Ee.\n")
    assert len(cutter.cut(document)) == 2
    assert told.asked == []


def test_a_heading_stays_with_its_text(tmp_path: Path) -> None:
    """The blank line below the heading is no place to cut, however low."""
    told = Told(aa=-9, bb=-8)
    cutter = Cutter(TOKENIZERS["word_piece"], max_tokens=64, passage_tokens=16, boundary=told)
    document = parsed(tmp_path, "a.md", "# Headin\n\naa. Bb. cc dd ee\n\nff gg hh.")
    passages = cutter.cut(document)
    assert passages[0].text.startswith("# Headin\n\naa.")
    assert told.asked[0][0].startswith("aa")


def surely(pairs: Sequence[tuple[str, str]]) -> list[float]:
    """As if at random, and the same every time."""
    return [float(sum(map(ord, before[-9:] + behind[:9])) * 7919 % 101) for before, behind in pairs]


@given(TEXTS, TEXTS, st.sampled_from(sorted(TOKENIZERS)), st.integers(20, 60), st.integers(1, 30))
@settings(max_examples=100, suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_any_text_fits_and_nothing_is_lost(
    first: str, second: str, name: str, max_tokens: int, size: int
) -> None:
    text = f"{first}\n# the heading\n{second}"
    middle = len(first) + 1
    sections = (Section(0, middle), Section(middle, len(text), ("the heading",)))
    for kind in ("markdown", "text"):
        document = Document("a", kind, text, first.strip() or "t", line_map(text), sections)
        options: dict[str, Any] = {"max_tokens": max_tokens, "passage_tokens": size, "boundary": surely}
        passages = Cutter(TOKENIZERS[name], **options).cut(document)
        check(document, passages, TOKENIZERS[name], max_tokens)
        assert solid("".join(p.text for p in passages)) == solid(text)
        assert all(one.end <= two.start for one, two in pairwise(passages))
        assert passages == Cutter(TOKENIZERS[name], **options).cut(document)


@given(
    st.lists(st.sampled_from(["Aa bb.", "C.", "Ddd ee ff!", "Gg\n\n", "hh ii"]), max_size=40),
    st.integers(6, 20),
)
@settings(max_examples=60, deadline=None)
def test_no_place_that_was_passed_over_is_lower(parts: list[str], size: int) -> None:
    """Each cut is the lowest in the second half of what would fit; where there is no place, at its end."""
    text = " ".join(parts)
    cutter = Cutter(
        TOKENIZERS["word_piece"], max_tokens=64, passage_tokens=size, heading_context=False, boundary=surely
    )
    document = plain(text)
    as_they_fall = {name: lambda _text, cuts, *_: cuts for name in ("evened", "without_scraps")}
    with patch.multiple(cut_module, **as_they_fall):
        passages = cutter.cut(document)
    check(document, passages, TOKENIZERS["word_piece"], 64)
    places = possible(text, 0, len(text), markdown=False)
    edges = [0, *places, len(text)]
    units = [text[one:two].strip() for one, two in pairwise(edges)]
    value = dict(zip(places, surely(list(pairwise(units))), strict=True))
    count = cutter._count
    for one, two in pairwise(passages):
        start = one.start
        _, limit = next(spans(cutter._splitter(False, size), text, start, len(text), 20 * size))
        half = start + max(1, (limit - start) // 2)
        within = [at for at in places if half <= at <= limit and count(text[start:at].strip()) <= size]
        assert two.start == min(within, key=lambda at: (value[at], -at), default=limit)


def test_it_is_asked_in_batches_and_stops_between_them() -> None:
    sizes: list[int] = []

    def stops(pairs: Sequence[tuple[str, str]]) -> list[float]:
        sizes.append(len(pairs))
        cutter.stop()
        return [0.0] * len(pairs)

    cutter = Cutter(TOKENIZERS["word_piece"], max_tokens=64, passage_tokens=12, boundary=stops)
    with pytest.raises(Stopped):
        cutter.cut(plain("Aa. " * 200))
    assert sizes == [AT_ONCE]


def test_no_overlap_with_a_signal() -> None:
    with pytest.raises(InputError, match="overlap=4 with a boundary signal"):
        Cutter(TOKENIZERS["word_piece"], max_tokens=64, passage_tokens=12, overlap=4, boundary=surely)
