"""Pictures: that they are PNG files, what they say, that nothing is cut."""

import itertools
import subprocess
import sys
import warnings
from dataclasses import replace

import numpy as np
import pytest

from search.records.comparisons import Similarities
from search.records.contexts import ContextualCosines
from search.records.explanations import Explanation
from search.records.tokens import Token
from search.render.units import units
from tests.conftest import REPOSITORY
from tests.explaining.test_explanation import by_hand
from tests.render.test_heatmap import sentences
from tests.render.test_render import HIT

pytest.importorskip("matplotlib", reason="the extra 'pictures' is not installed")

from search.render import picture
from search.render.picture.canvas import Canvas
from search.render.picture.matrices import MOST_COLUMNS, MOST_ROWS

LOUD = "PNEUMONOULTRAMICROSCOPICSILICOVOLCANOCONIOSIS"
STRANGE = "感情 \x1b[31mred\u202eevil <b> & 🎉 שלום"

pytestmark = pytest.mark.filterwarnings("error")  # matplotlib warns of characters that it cannot draw


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every text that is drawn."""
    texts: list[str] = []
    write = Canvas.write

    def noted(self: Canvas, x: float, y: float, text: str, *args: object, **style: object) -> None:
        assert 0 <= x <= self.width and 0 <= y <= self.height, f"'{text}' is outside of the picture"
        texts.append(text)
        write(self, x, y, text, *args, **style)  # type: ignore[arg-type]

    monkeypatch.setattr(Canvas, "write", noted)
    return texts


def size(png: bytes) -> tuple[int, int]:
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    return int.from_bytes(png[16:20], "big"), int.from_bytes(png[20:24], "big")


def pixels(png: bytes) -> np.ndarray:
    import io

    from matplotlib.image import imread

    return imread(io.BytesIO(png), format="png")


def large(rows: int, columns: int) -> Explanation:
    """An explanation of words w0, w1, ... whose last ones add most."""

    def tokens(count: int) -> tuple[Token, ...]:
        return tuple(Token(f"w{i}", i, 0, 0, False, i, "prompt") for i in range(count))

    cells = np.outer(np.arange(1, rows + 1), np.arange(1, columns + 1)).astype(float)
    named = [tuple(replace(t, part="context") for t in tokens(count)) for count in (rows, columns)]
    return replace(
        by_hand(),
        query_tokens=named[0],
        passage_tokens=named[1],
        contributions=cells / cells.sum(),
        similarity=np.full((rows, columns), 0.5, dtype=np.float32),
        score=1.0,
    )


def test_a_small_explanation_has_numbers_labels_and_sums(written: list[str]) -> None:
    width, height = size(picture.explanation(by_hand(), units(by_hand()), HIT))
    assert width > height > 500
    assert {"Keys", "lock", "Key", "Door", "punctuation", "[CLS] and [SEP]"} <= set(written)
    assert ".094" in written  # Keys and Key added 26 / 276
    assert ".67" in written  # and their cosine is 16 / 24
    assert "+0.500" in written  # what Keys added
    assert "Query: Keys" in written
    assert "Passage: /notes/keys.md:3-5 (rank 1, p12)" in written
    whole = " ".join(written)
    assert "score 1.250000 = 1.000000 (contributions) + 2.5e-01 (residual)" in whole
    assert "left out" not in whole
    assert {"-0.0942", "+0.0942", "-1", "+1"} <= set(written)  # symmetric about zero


def test_hatched_bars_are_explained_where_there_are_some(written: list[str]) -> None:
    for special, is_hatched in ((True, True), (False, False)):
        written.clear()
        cells = np.ones((4, 6))
        cells[0] = 20  # of [CLS]: its bar with [SEP]'s is longer than it is drawn
        why = replace(by_hand(), contributions=cells / cells.sum())
        picture.explanation(why, units(why, special=special))
        assert ("a hatched one is longer" in " ".join(written)) == is_hatched


def test_a_large_explanation_shows_the_part_that_matters_and_says_what_is_left_out(
    written: list[str],
) -> None:
    why = large(30, 200)
    width, height = size(picture.explanation(why, units(why, "token")))
    assert width < 5000 and height < 3000
    labels = [text for text in written if text.startswith("w")]
    assert labels.count("w29") == 2 and "w0" not in labels
    assert labels.count("w199") == 2 and labels.count("w160") == 2 and "w159" not in labels
    left_rows = sum(range(1, 30 - MOST_ROWS + 1)) / sum(range(1, 31))
    left_columns = sum(range(1, 200 - MOST_COLUMNS + 1)) / sum(range(1, 201))
    whole = " ".join(written)
    assert f"6 of the query, which added {left_rows:+.4f} in all" in whole
    assert f"160 of the passage, which added {left_columns:+.4f} in all" in whole
    assert "All of it: --csv or --html." in whole


def test_the_sign_of_an_addend_is_seen_without_reading_it() -> None:
    why = by_hand()
    positive = pixels(picture.explanation(why, units(why)))
    negative = pixels(
        picture.explanation(
            replace(why, contributions=-why.contributions),
            units(replace(why, contributions=-why.contributions)),
        )
    )
    blue = lambda picture: (picture[..., 2] - picture[..., 0]).mean()  # noqa: E731
    assert blue(positive) > 0.01
    assert blue(negative) < blue(positive) - 0.01


def test_terms_and_integrated_gradients_are_named(written: list[str]) -> None:
    from search.records.explanations import Term

    why = replace(by_hand(), terms=(Term("key", 0.25),), steps=64)
    picture.explanation(why, units(why))
    whole = " ".join(written)
    assert "+ 0.250000 (terms)" in whole
    assert "(completeness error of integrated gradients, 64 steps)" in whole


@pytest.mark.parametrize("n", [2, 3, 10, 40, 300])
def test_sentences(n: int, written: list[str]) -> None:
    width, height = size(picture.sentences(sentences(n)))
    assert max(width, height) < 10_000
    if n <= 10:
        assert ".50" in written if n == 3 else "1.00" in written
        assert any(text.startswith("sentence 1") for text in written)
    elif n == 40:
        assert "1.00" not in written


def test_texts_that_fonts_and_mathematics_could_trip_over(written: list[str]) -> None:
    evil = "$x^2$ and $\\frac$ שלום مرحبا \x1b[31m \u202e 日本 🎉 \U000105ff \udcff"
    found = Similarities(
        (evil, "b"), (evil, evil, evil), np.zeros((2, 3), dtype=np.float32), False, evil, "mean"
    )
    size(picture.sentences(found))
    why = replace(by_hand(), query=evil, passage=evil, context=evil)
    size(picture.explanation(why, units(why), replace(HIT, title=evil, path=f"/{evil}")))
    assert "$x^2$ and $\\frac$" in " ".join(written)


def test_nothing_global_is_touched() -> None:
    script = """
import sys, matplotlib, numpy
from search.records.comparisons import Similarities
from search.render import picture
found = Similarities(("a", "b"), ("a", "b"), numpy.eye(2), True, "model", "mean")
picture.sentences(found)
assert "matplotlib.pyplot" not in sys.modules
before = dict(matplotlib.rcParams)  # this itself loads pyplot, to find the backend
picture.sentences(found)
assert dict(matplotlib.rcParams) == before
"""
    subprocess.run([sys.executable, "-c", script], check=True, cwd=REPOSITORY)


def test_matplotlib_is_loaded_only_to_draw() -> None:
    script = "import sys, search.render.picture; assert 'matplotlib' not in sys.modules"
    subprocess.run([sys.executable, "-c", script], check=True, cwd=REPOSITORY)


def check_letters(canvas: Canvas) -> None:
    """No text of a picture is cut, and none lies upon another."""
    whole = canvas.figure.bbox
    legends = filter(None, (axes.get_legend() for axes in canvas.figure.axes))
    texts = [*canvas.figure.texts, *(text for legend in legends for text in legend.get_texts())]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of characters that no font has
        boxes = [(text.get_text(), text.get_window_extent()) for text in texts]
    boxes = [(text, box) for text, box in boxes if text.strip()]
    for text, box in boxes:
        assert whole.x0 <= box.x0 and box.x1 <= whole.x1, f"'{text}' is cut"
        assert whole.y0 <= box.y0 and box.y1 <= whole.y1, f"'{text}' is cut"
    for (one, a), (other, b) in itertools.combinations(boxes, 2):
        across = min(a.x1, b.x1) - max(a.x0, b.x0)
        down = min(a.y1, b.y1) - max(a.y0, b.y0)
        assert not (across > 1 and down > 6), (
            f"'{one}' lies upon '{other}'"
        )  # what hangs below a line may touch


@pytest.mark.parametrize("text", ["door", LOUD, STRANGE, "a word " * 30])
def test_no_text_is_cut_or_lies_upon_another(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    png = Canvas.png

    def checked(self: Canvas, title: str) -> bytes:
        made = png(self, title)
        check_letters(self)
        return made

    monkeypatch.setattr(Canvas, "png", checked)
    three = (text, "b", text)
    assert picture.sentences(Similarities(three, three, np.eye(3, dtype=np.float32), True, text, "mean"))
    why = replace(by_hand(), query=text, passage=text)
    assert picture.explanation(why, units(why), replace(HIT, title=text))
    between, others = np.full((4, 2, 2), 0.5), np.full((4, 2, 1), 0.25)
    spans, pieces = ((0, 4), (0, 4)), (("door",), ("door",))
    assert picture.contexts(
        ContextualCosines(
            ("door", text), (text, text), spans, (1, 1), pieces, (text,), (2,), between, others, text
        )
    )
