"""Pictures: they are PNG files with all labels and numbers, and nothing is cut."""

import subprocess
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from search.records.comparisons import Similarities
from search.records.explanations import Explanation
from search.records.tokens import Token
from search.render.heatmap import largest_addend, units
from tests.conftest import REPOSITORY
from tests.explaining.test_explanation import by_hand, computed
from tests.render.test_render import HIT, sentences

pytest.importorskip("matplotlib", reason="the extra 'pictures' is not installed")

from matplotlib.figure import Figure
from matplotlib.text import Text

from search.render import picture
from search.render.grid import Grid

LONG = "PNEUMONOULTRAMICROSCOPICSILICOVOLCANOCONIOSIS"
EVIL = "$x^2$ and $\\frac$ שלום مرحبا \x1b[31m \u202e 日本 🎉 \U000105ff \udcff"

pytestmark = pytest.mark.filterwarnings("error")  # matplotlib warns of characters that it cannot draw


@pytest.fixture
def texts(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every text of the pictures that a test saves."""
    texts: list[str] = []
    save = Figure.savefig

    def save_and_read(figure: Figure, *args: Any, **options: Any) -> None:
        save(figure, *args, **options)
        texts.extend(text.get_text() for text in figure.findobj(Text) if text.get_visible())

    monkeypatch.setattr(Figure, "savefig", save_and_read)
    return texts


def size(png: bytes) -> tuple[int, int]:
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    return int.from_bytes(png[16:20], "big"), int.from_bytes(png[20:24], "big")


def large(rows: int, columns: int) -> Explanation:
    """An explanation of words w0, w1, ... whose last ones add most."""
    cells = np.outer(np.arange(1, rows + 1), np.arange(1, columns + 1)).astype(float)
    query, passage = (
        tuple(Token(f"w{i}", i, 0, 0, False, i, "context") for i in range(count))
        for count in (rows, columns)
    )
    return replace(
        by_hand(),
        query_tokens=query,
        passage_tokens=passage,
        numbers=computed(
            np.pad(cells, ((0, 1), (0, 1))) / cells.sum(), np.full((rows, columns), 0.5, dtype=np.float32)
        ),
        score=1.0,
    )


def test_a_small_explanation_has_numbers_labels_and_sums(texts: list[str]) -> None:
    width, height = size(picture.explanation(by_hand(), units(by_hand()), HIT))
    assert width > height > 500
    assert {"Keys", "lock", "Key", "Door", "[CLS] and [SEP]"} <= set(texts)
    assert {"94.2", "0.67"} <= set(texts)  # of Keys: an addend and a cosine with Key
    whole = "\n".join(texts)
    assert "Query: Keys\nPassage: /notes/keys.md:3-5 (rank 1, p12)" in whole
    assert "score 1.250000 = 1.000000 (contributions) + 2.5e-01 (residual)" in whole
    assert "Left out" not in whole and "…" not in texts
    assert "Not drawn: punctuation (+0.000 of the query, +0.174 of the passage)." in whole


def test_a_large_explanation_shows_what_added_most_and_says_what_is_left_out(texts: list[str]) -> None:
    why = large(30, 200)
    width, height = size(picture.explanation(why, units(why, "token")))
    assert 1000 < width <= 1600 and height < 3000
    assert {"w6", "w29", "w176", "w199"} <= set(texts) and not {"w5", "w175"} & set(texts)
    whole = " ".join(texts).replace("\n", " ")
    assert "Left out (smallest contributions): 6 tokens of the query, 176 of the passage." in whole


def test_a_gap_stands_where_words_are_left_out() -> None:
    cells = np.ones((2, 3))
    drawn = Grid("", ["a", "b"], ["c", "d", "e"], cells, gaps=((), (0, 2)))
    axes = picture.heat_map(Figure().subplots(), drawn)
    assert [label.get_text() for label in axes.get_xticklabels()] == ["…", "c", "d", "…", "e"]
    assert axes.get_xlim() == pytest.approx((0, 3.8))  # three columns of 1, and two gaps of 0.4
    np.testing.assert_array_equal(np.ma.getmaskarray(axes.collections[0].get_array())[0], [1, 0, 0, 1, 0])


def test_numbers_beyond_the_colours_are_shown_by_an_arrow() -> None:
    assert picture.beyond(np.array([-2.0, 0.5]), -1, 1) == "min"
    assert picture.beyond(np.array([0.5, 3.0]), -1, 1) == "max"
    assert picture.beyond(np.array([-2.0, 3.0]), -1, 1) == "both"
    assert picture.beyond(np.array([-1.0, 1.0]), -1, 1) == "neither"


@pytest.mark.parametrize("by", ["word", "token"])
def test_special_tokens_and_punctuation_do_not_set_the_scale(by: Any, texts: list[str]) -> None:
    why = by_hand()
    cells = why.numbers.pairs(0).copy()
    cells[0, 0] = cells[1, 3] = 5.0  # [CLS] with [CLS], and "key" with the comma
    drawn = units(replace(why, numbers=computed(cells, why.similarity)), by)
    largest = (26 if by == "word" else 16) / 276
    assert largest_addend(drawn) == pytest.approx(largest)
    picture.explanation(why, drawn, special=False)
    assert not {"[CLS]", "[CLS] and [SEP]", ",", "punctuation"} & set(texts)
    whole = " ".join(texts).replace("\n", " ")
    assert (
        "Not drawn: special tokens (" in whole
        and "Not drawn: punctuation (+0.000 of the query, +5" in whole
    )


def test_a_range_without_zero_begins_without_colour() -> None:
    numbers = np.array([0.1, 0.2, 0.5, 0.6, 0.9])
    drawn = Grid("", "a", "abcde", numbers[None], colours=(0.2, 0.6))
    np.testing.assert_allclose(drawn.depth(numbers), [0, 0, 0.75, 1, 1])
    np.testing.assert_allclose(
        replace(drawn, colours=(-0.2, 0.5)).depth(numbers - 0.3), [-0.4, -0.2, 0.4, 0.6, 1]
    )
    np.testing.assert_allclose(
        replace(drawn, colours=(-0.6, -0.2)).depth(-numbers), [0, 0, -0.75, -1, -1]
    )
    axes = picture.heat_map(Figure().subplots(), drawn)
    assert axes.collections[0].get_clim() == (0.2, 0.6)
    assert axes.collections[0].cmap(0.0)[:3] == pytest.approx((0.97, 0.97, 0.97), abs=0.02)


def test_a_picture_of_layers_has_both_texts(texts: list[str]) -> None:
    width, height = size(picture.layers(by_hand(), "token", HIT))
    assert width > 500 and height > 500
    assert {"layer 0", "##s", "door", "any text"} <= set(texts)
    assert any(text.startswith("Contributions of the passage, traced to each layer") for text in texts)


@pytest.mark.parametrize("n", [2, 31])
def test_a_picture_of_sentences_keeps_its_limits_of_size_and_labels(
    n: int, texts: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The limits are lowered here: a picture at the real ones takes seconds to draw."""
    assert (picture._MOST_INCHES, picture._LABELS_UP_TO) == (40, 150)
    monkeypatch.setattr(picture, "_MOST_INCHES", 6.5)
    monkeypatch.setattr(picture, "_LABELS_UP_TO", 30)
    width, height = size(picture.sentences(sentences(n)))
    assert max(width, height) < 7.5 * 160
    assert (texts.count("1.00") > 1) == (n == 2)
    assert any(text.startswith("sentence 1") for text in texts) == (n < 31)


def test_rows_keep_their_numbers_however_long_the_sentences_are() -> None:
    """The columns have numbers only."""
    texts = tuple(f"sentence {i} is far too long to be a label of a row as a whole" for i in range(1, 12))
    rows, columns, _ = picture.names_of(replace(sentences(11), rows=texts, columns=texts))
    axes = picture.heat_map(Figure().subplots(), Grid("", rows, columns, np.eye(11)))
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert [label.split()[-1] for label in labels] == columns == [str(i) for i in range(1, 12)]
    assert all(
        label.startswith(text[:20]) and "…" in label for label, text in zip(labels, texts, strict=True)
    )


@pytest.mark.parametrize("text", [LONG, EVIL])
def test_long_texts_and_odd_characters_are_drawn_as_text(texts: list[str], text: str) -> None:
    rows = (text, "b", text)
    size(picture.sentences(Similarities(rows, (text, text), np.zeros((3, 2), "f4"), False, text, "mean")))
    why = replace(by_hand(), query=text, passage=text, context=text)
    size(picture.explanation(why, units(why), replace(HIT, title=text, path=f"/{text}")))
    assert not {"\x1b", "\u202e"} & set("".join(texts))


def test_matplotlib_is_imported_only_to_draw_and_its_settings_stay() -> None:
    script = """
import sys
from search.render import picture
assert "matplotlib" not in sys.modules
import matplotlib, numpy
from search.records.comparisons import Similarities
similarities = Similarities(("a", "b"), ("a", "b"), numpy.eye(2), True, "model", "mean")
picture.sentences(similarities)
assert "matplotlib.pyplot" not in sys.modules
before = dict(matplotlib.rcParams)  # this itself loads pyplot, to find the backend
picture.sentences(similarities)
assert dict(matplotlib.rcParams) == before
"""
    subprocess.run([sys.executable, "-c", script], check=True, cwd=REPOSITORY)
