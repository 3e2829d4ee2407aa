"""Display in a notebook: HTML, heat maps, tables; and a missing package is named."""

from dataclasses import replace
from html.parser import HTMLParser
from importlib import util
from pathlib import Path

import numpy as np
import pytest

from search.errors import InputError, OptionalDependency
from search.records.hits import Hits
from search.render.heatmap import largest_addend, units, without
from tests.explaining.test_explanation import by_hand, with_offsets
from tests.render.test_render import HIT, sentences

EVIL = "<script>alert(1)</script> & \x1b[31m \u202e"


def needs(package: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(util.find_spec(package) is None, reason=f"{package} is not installed")


class Cells(HTMLParser):
    """The texts of the rows of all tables, and every tag."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.tags: list[str] = []
        self.is_in_table = False
        self.feed(html)

    def handle_starttag(self, tag: str, attributes: object) -> None:
        self.tags.append(tag)
        if tag == "tr":
            self.is_in_table = True
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        self.is_in_table = self.is_in_table and tag != "table"

    def handle_data(self, data: str) -> None:
        if self.is_in_table and self.rows[-1]:
            self.rows[-1][-1] += data


def test_an_explanation_shows_its_sum_and_both_matrices() -> None:
    why = replace(by_hand(), n_layers=6)
    html = why._repr_html_()
    assert "1.250000" in html and "layer 3 of 6, the middle one, which is the default" in html
    cells = Cells(html).rows
    assert cells[0] == ["", "[CLS]", "door", "lock", ",", "key", "[SEP]"]
    assert [row[0] for row in cells[1:5]] == ["[CLS]", "key", "##s", "[SEP]"]
    assert [float(cell) for cell in cells[2][1:]] == pytest.approx(why.similarity[1].tolist(), abs=0.0051)
    addends = np.array([[float(cell.split("Contri")[0]) for cell in row[1:]] for row in cells[6:10]])
    np.testing.assert_allclose(addends, 1000 * why.contributions, atol=0.05)


def test_hits_and_sentences_are_shown_as_tables() -> None:
    hits = Hits([HIT, replace(HIT, rank=2)])
    assert [row[0] for row in Cells(hits._repr_html_()).rows] == ["rank", "1", "2"]
    assert Cells(HIT._repr_html_()).rows == Cells(Hits([HIT])._repr_html_()).rows
    assert Hits()._repr_html_() == "<p>no hits</p>"
    assert Cells(sentences()._repr_html_()).rows[2] == ["2 sentence 1", "0.50", "1.00", "0.75"]
    assert "Too many to show" in sentences(41)._repr_html_()


def test_no_text_becomes_markup() -> None:
    why = replace(by_hand(), query=EVIL, passage=EVIL)
    hit = replace(HIT, text=EVIL, title=EVIL, heading=EVIL, path=f"/{EVIL}")
    similarities = replace(sentences(), rows=(EVIL,) * 3, model=EVIL)
    for record in (why, hit, Hits([hit]), similarities):
        html = record._repr_html_()
        assert "script" not in Cells(html).tags
        assert "&lt;script&gt;" in html
        assert not {"\x1b", "\u202e"} & set(html)


@needs("matplotlib")
def test_heat_maps_are_drawn_into_axes() -> None:
    from matplotlib.figure import Figure

    axes = Figure().subplots()
    why = by_hand()
    assert why.plot(axes) is axes
    words = [0, 1, 2, 4, 5]  # the token 3 is a comma
    np.testing.assert_array_equal(axes.collections[0].get_array(), why.similarity[:, words])
    assert [label.get_text() for label in axes.get_yticklabels()] == ["[CLS]", "key", "##s", "[SEP]"]
    assert axes.collections[0].get_clim() == (-1, 1)
    addends = why.plot(Figure().subplots(), matrix="contributions", by="word")
    drawn = without(units(why), "punctuation")
    np.testing.assert_allclose(addends.collections[0].get_array(), 1000 * drawn.contributions)
    assert addends.collections[0].get_clim()[1] == pytest.approx(1000 * largest_addend(drawn))
    layers = why.plot(Figure().subplots(), matrix="passage")
    np.testing.assert_allclose(layers.collections[0].get_array(), 1000 * why.layers("passage"))
    heat_map = replace(sentences(), rows=("$x$", "b", "c")).plot(Figure().subplots())
    heat_map.figure.canvas.draw()  # as no label is mathematics


@needs("matplotlib")
def test_a_heat_map_can_omit_special_tokens_and_have_its_own_range() -> None:
    from matplotlib.figure import Figure

    why = by_hand()
    axes = why.plot(Figure().subplots(), special=False, scale=(0.25, 0.5))
    np.testing.assert_array_equal(axes.collections[0].get_array(), why.similarity[1:3, [1, 2, 4]])
    assert axes.collections[0].get_clim() == (0.25, 0.5)
    layers = why.plot(Figure().subplots(), matrix="query", special=False)
    assert [label.get_text() for label in layers.get_xticklabels()] == ["key", "##s", "any text"]
    cosines = sentences().plot(Figure().subplots(), scale=(0.25, 0.5))
    assert cosines.collections[0].get_clim() == (0.25, 0.5)
    for scale in ((0.5, 0.5), (1, 0), (float("nan"), 1), (0, float("inf"))):
        for record in (why, sentences()):
            with pytest.raises(
                InputError, match="is no range: the first number must be below the second"
            ):
                record.plot(scale=scale)


@needs("pandas")
def test_a_table_can_omit_special_tokens() -> None:
    table = by_hand().to_pandas(special=False)
    assert list(table.index) == ["1:key", "2:##s"] and table.shape == (2, 4)
    assert list(with_offsets().to_pandas("query", special=False).columns) == ["key", "##s", "any text"]


@needs("pandas")
def test_rows_of_a_table_have_unique_names(tiny_model: Path) -> None:
    why = by_hand()
    table = why.to_pandas()
    assert list(table.index) == ["0:[CLS]", "1:key", "2:##s", "3:[SEP]"]
    assert table.loc["2:##s", "4:key"] == why.similarity[2, 4]
    assert why.to_pandas("contributions", by="word").shape == (2, 5)
    layers = with_offsets().to_pandas("query")
    assert list(layers.columns) == ["[CLS]", "key", "##s", "[SEP]", "any text"]
    np.testing.assert_allclose(layers.to_numpy(), with_offsets().layers("query"))
    with pytest.raises(
        InputError,
        match="matrix is 'cosines'. Choose one of: 'similarity', 'contributions', 'query', 'passage'",
    ):
        why.to_pandas("cosines")  # type: ignore[arg-type]
    assert list(sentences().to_pandas().columns) == ["sentence 0", "sentence 1", "sentence 2"]
    hits = Hits([HIT, replace(HIT, rank=2, explanation=why)]).to_pandas()
    assert list(hits["rank"]) == [1, 2] and "explanation" not in hits


def test_a_missing_package_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("search.records.notebook_mixin.find_spec", lambda name: None)
    with pytest.raises(OptionalDependency, match=r"needs the package 'pandas'.*seewhy\[notebooks\]"):
        by_hand().to_pandas()
    with pytest.raises(OptionalDependency, match=r"matplotlib.*seewhy\[pictures\]"):
        sentences().plot()
