"""Tables as pictures and pages: that nothing is cut, lies upon another, or is lost."""

import itertools
import re
from typing import Any

import pytest

from search.render import page
from search.render.bars import Bar, Chart, Group
from search.render.numbers import fixed
from search.render.sheet import Cell, Grid, Sheet

LOUD = "PNEUMONOULTRAMICROSCOPICSILICOVOLCANOCONIOSIS"
STRANGE = "感情 \x1b[31mred\u202eevil <b> & 🎉 שלום"


def a_sheet(rows: int = 4, columns: int = 5, text: str = LOUD) -> Sheet:
    cells = tuple(
        (Cell(f"{text} {i}", strong=i % 2 == 0), *(Cell(f"{j / 7:.3f}", j / 7 - 0.3) for j in range(columns)))
        for i in range(rows)
    )
    return Sheet(
        f"Why {text}?",
        (("text", f"{text} " * 12), ("model", text)),
        (
            Grid(f"{text} " * 4, ("", *(f"{text} {j}" for j in range(columns))), cells, notes=(f"{text}.",)),
            Grid("Beside", ("#", "one"), ((Cell("1"), Cell("2")),), keys=1),
            Grid("Another title, which is longer", ("#", "two"), ((Cell("1"), Cell("3")),), keys=1),
            Grid("", ("#", "three"), ((Cell("9"), Cell("4")),), keys=1),
        ),
    )


def test_a_number_that_rounds_to_zero_has_no_sign() -> None:
    assert [fixed(value, 3) for value in (-0.0004, 0.0, -0.0006, 1.2)] == [
        "0.000",
        "0.000",
        "-0.001",
        "1.200",
    ]
    assert [fixed(value, 2, signed=True) for value in (-0.004, 0.5, -0.5)] == ["+0.00", "+0.50", "-0.50"]


@pytest.fixture
def boxes(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Any]]:
    """Every text that is drawn, and where its letters are, in pixels."""
    pytest.importorskip("matplotlib", reason="the extra 'pictures' is not installed")
    from search.render.picture.canvas import Canvas

    found: list[tuple[str, Any]] = []
    png = Canvas.png

    def measured(self: Canvas, title: str) -> bytes:
        made = png(self, title)
        whole = self.figure.bbox
        for text in self.figure.texts:
            if text.get_text().strip():
                box = text.get_window_extent()
                assert whole.x0 <= box.x0 and box.x1 <= whole.x1, f"'{text.get_text()}' is cut"
                assert whole.y0 <= box.y0 and box.y1 <= whole.y1, f"'{text.get_text()}' is cut"
                found.append((text.get_text(), box))
        return made

    monkeypatch.setattr(Canvas, "png", measured)
    return found


def apart(boxes: list[tuple[str, Any]]) -> bool:
    for (one, a), (other, b) in itertools.combinations(boxes, 2):
        across = min(a.x1, b.x1) - max(a.x0, b.x0)
        down = min(a.y1, b.y1) - max(a.y0, b.y0)
        assert not (across > 1 and down > 6), (
            f"'{one}' lies upon '{other}'"
        )  # what hangs below a line may touch
    return True


@pytest.mark.parametrize("text", ["door", LOUD, "MMMMMMMM", STRANGE, "a word " * 30])
@pytest.mark.filterwarnings("error")
def test_no_text_of_a_table_is_cut_or_lies_upon_another(boxes: list[tuple[str, Any]], text: str) -> None:
    from search.render import picture

    assert picture.sheet(a_sheet(text=text)).startswith(b"\x89PNG")
    assert apart(boxes)
    shown = [text for text, _ in boxes]
    assert shown.count("1") == 1  # the keys of what stands beside each other, once
    assert {"2", "3", "4", "9", "0.429"} <= set(shown)
    tops = {text: box.y1 for text, box in boxes}
    assert tops["2"] == pytest.approx(tops["3"], abs=1) and tops["4"] < tops["2"]


@pytest.mark.parametrize("text", ["door", LOUD * 3, STRANGE, "", "MMMM " * 40])
@pytest.mark.filterwarnings("error")
def test_no_text_of_bars_is_cut_or_lies_upon_another(boxes: list[tuple[str, Any]], text: str) -> None:
    from search.render import picture

    bars = tuple(Bar(f"{text}{i}", i / 3, (f"{i:.3f}",), faint=i == 0) for i in range(4))
    group = Group(text, ("name", "probability"), bars)
    assert picture.bars(
        Chart(f"Bars of {text}"[:60], (("text", text),), (group, group), (f"By {text}.",), text)
    )
    assert apart(boxes)


@pytest.mark.filterwarnings("error")
def test_nothing_to_draw_is_said(boxes: list[tuple[str, Any]]) -> None:
    from search.render import picture

    assert picture.bars(Chart("Entities", (("text", "a"),), (), ("By a model.",)))
    assert [text for text, _ in boxes][-2:] == ["Nothing was found.", "By a model."]


def test_what_is_too_large_for_a_picture_is_refused() -> None:
    pytest.importorskip("matplotlib", reason="the extra 'pictures' is not installed")
    from search.render import picture

    for sheet, message in (
        (a_sheet(500, 5, "a"), "500 rows of up to 6 columns are more than a picture can hold"),
        (a_sheet(2, 400, "a"), "2 rows of up to 401 columns are more"),
        (a_sheet(200, 60, "a"), "12,206 cells are more than the 10,000 that a picture can hold"),
    ):
        with pytest.raises(picture.PictureTooLarge, match=message):
            picture.sheet(sheet)


def test_a_page_names_its_rows_and_is_inert() -> None:
    source = page.sheet(a_sheet(text=STRANGE))
    assert source.count('<th scope="row"') == 4 + 3
    assert "<b> &" not in source and not {"\x1b", "\u202e"} & set(source)
    grid = Grid("", ("", "text"), ((Cell("*"), Cell("word", strong=True)),), texts=(0, 1), named=1)
    (row,) = re.findall(r"<tbody>(.*?)</tbody>", page.sheet(Sheet("Two", (), (grid,))), re.S)
    assert re.sub(r"<bdi>|</bdi>", "", row) == (
        '<tr><td class="words">*</td><th scope="row" class="words"><b>word</b></th></tr>'
    )
