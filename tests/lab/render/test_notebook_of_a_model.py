"""A model in a notebook: attention, words in contexts, an inspection."""

import re
from pathlib import Path

import numpy as np
import pytest

from search import bert
from search.errors import InputError
from tests.render.test_notebook import Cells, needs


def test_attention_and_contexts_have_html_tables(tiny_model: Path) -> None:
    attention = bert.inspect("turn <b> keys", model=str(tiny_model)).attention
    lines = [line.split() for line in repr(attention).splitlines()]
    assert lines[0] == "Attention in layer 3, mean of 4 heads".split()
    weights = [float(re.sub("[^0-9.]", "", cell)) for cell in lines[3][-8:]]
    assert weights == pytest.approx(attention.matrix(3)[0].tolist(), abs=0.0051)
    cells = Cells(attention._repr_html_()).rows
    assert [row[0] for row in cells] == ["", *(token.text for token in attention.tokens)]
    assert float(cells[1][1]) == pytest.approx(attention.matrix(3)[0, 0], abs=0.0051)
    view = attention.head_view(2, 1)._repr_html_()
    assert view.startswith("<iframe srcdoc=") and "&lt;attention-view&gt;" in view and "<b>" not in view
    contexts = bert.in_contexts("key", ["turn the key", "a key"], ["door"], model=str(tiny_model))
    rows = Cells(contexts._repr_html_()).rows
    assert rows[0] == ["", "A ~ B", "A ~ door", "B ~ door"] and rows[4][0] == "layer 3"
    assert float(rows[4][1]) == pytest.approx(contexts.between[3, 0, 1], abs=0.0051)
    table = [line.split() for line in repr(contexts).splitlines()]
    assert [
        "3",
        *(f"{row[3]:.4f}" for row in (contexts.between[:, 0, 1], *contexts.others[:, :, 0].T)),
    ] in table


@needs("matplotlib")
@needs("pandas")
def test_attention_and_contexts_become_data_frames_and_plots(tiny_model: Path) -> None:
    attention = bert.inspect("turn the keys", model=str(tiny_model)).attention
    table = attention.to_pandas(layer=1, head=2)
    assert list(table.columns)[:2] == ["0:[CLS]", "1:turn"]
    np.testing.assert_array_equal(table.to_numpy(), attention.matrix(1, 2))
    assert attention.plot().get_title(loc="left") == "Attention in layer 3, mean of 4 heads"
    with pytest.raises(InputError, match="no layer 9"):
        attention.plot(layer=9)
    contexts = bert.in_contexts("key", ["turn the key", "a key"], model=str(tiny_model))
    assert contexts.to_pandas()["A ~ B"].tolist() == contexts.between[:, 0, 1].tolist()
    assert len(contexts.plot().get_xticklabels()) == 4


def test_an_inspection_lists_the_tokens(tiny_model: Path) -> None:
    inspection = bert.inspect("find the key", model=str(tiny_model))
    rows = Cells(inspection._repr_html_()).rows
    tokens = [token.text for token in inspection.tokens]
    assert [row[1] for row in rows[: len(tokens) + 1]] == ["token", *tokens]
    assert rows[len(tokens) + 1] == ["", *tokens]
