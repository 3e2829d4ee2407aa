"""Pictures of attention."""

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("matplotlib", reason="the extra 'pictures' is not installed")

from matplotlib.figure import Figure

from search.bert import inspect
from search.lab.render import picture


def test_panels_side_by_side_have_one_scale(tiny_model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same colour is the same weight in all of them."""
    attention = inspect("the key turns in the lock of the door", model=str(tiny_model)).attention
    limits: list[tuple[float, float]] = []
    save = Figure.savefig

    def save_limits(figure: Figure, *args: Any, **options: Any) -> None:
        limits.extend(image.get_clim() for axes in figure.axes for image in axes.images)
        save(figure, *args, **options)

    monkeypatch.setattr(Figure, "savefig", save_limits)
    picture.attention(attention, (1, 2), 1)
    largest = max(float(attention.matrix(layer, 1).max()) for layer in (1, 2))
    assert limits == [(0.0, pytest.approx(largest))] * 2
    plots = [attention.plot(Figure().subplots(), layer=layer, head=1, limit=0.5) for layer in (1, 2)]
    assert [axes.images[0].get_clim() for axes in plots] == [(0.0, 0.5)] * 2
    alone = attention.plot(Figure().subplots(), layer=1, head=1).images[0].get_clim()
    assert alone == (0.0, pytest.approx(float(attention.matrix(1, 1).max())))
