"""Pictures of attention."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="the extra 'pictures' is not installed")

from matplotlib.figure import Figure

from search.bert import inspect
from search.lab.records.inspections import Positions
from search.lab.render import picture


def test_panels_side_by_side_have_one_scale(tiny_model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same colour is the same weight in all of them."""
    attention = inspect("the key turns in the lock of the door", model=str(tiny_model)).attention
    limits: list[tuple[float, float]] = []
    save = Figure.savefig

    def save_limits(figure: Figure, *args: Any, **options: Any) -> None:
        meshes = [mesh for axes in figure.axes for mesh in axes.collections if len(axes.get_xticks()) > 8]
        limits.extend(mesh.get_clim() for mesh in meshes)
        save(figure, *args, **options)

    monkeypatch.setattr(Figure, "savefig", save_limits)
    picture.attention(attention, (1, 2), 1)
    largest = max(float(attention.matrix(layer, 1).max()) for layer in (1, 2))
    assert limits == [(0.0, pytest.approx(largest))] * 2
    plots = [attention.plot(Figure().subplots(), layer=layer, head=1, limit=0.5) for layer in (1, 2)]
    assert [axes.collections[0].get_clim() for axes in plots] == [(0.0, 0.5)] * 2
    alone = attention.plot(Figure().subplots(), layer=1, head=1).collections[0].get_clim()
    assert alone == (0.0, pytest.approx(float(attention.matrix(1, 1).max())))


def test_positions_have_an_arrow_where_numbers_are_beyond_the_colours(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One number of a model must not make all others pale."""
    learned = np.full((8, 100), 0.01, dtype=np.float32)
    learned[0, 0] = 1.5
    formula = np.full((8, 100), 0.5, dtype=np.float32)
    rows = Positions(learned, formula, "a model")
    bars: list[tuple[str, float]] = []
    colorbar = Figure.colorbar

    def keep(figure: Figure, image: Any, **options: Any) -> Any:
        bars.append((options["extend"], image.get_clim()[1]))
        return colorbar(figure, image, **options)

    monkeypatch.setattr(Figure, "colorbar", keep)
    png = picture.positions(rows)
    assert bars == [
        ("max", pytest.approx(0.01)),
        ("neither", 1.0),
        ("neither", pytest.approx(0.5)),
        ("neither", 1.0),
    ]
    assert int.from_bytes(png[16:20], "big") <= 1600
