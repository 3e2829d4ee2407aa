"""One head worked through, against the attention and the layers of transformers."""

from pathlib import Path

import numpy as np
import pytest

from search.bert import FAMILIES, attention, inspect, work_through
from search.errors import InputError
from search.render.attending import head_at_work

TEXTS = ("turn the keys", "of a door")


@pytest.mark.parametrize("kind", FAMILIES)
def test_weights_and_sum_are_those_of_the_model(families: dict[str, Path], kind: str) -> None:
    name = str(families[kind])
    known = attention(*TEXTS, model=name)
    for layer, head, token in ((1, 1, "keys"), (2, 4, 0)):
        work = work_through(*TEXTS, layer=layer, head=head, token=token, model=name)
        assert work.token == (3 if token == "keys" else 0)
        np.testing.assert_allclose(work.weights, known.weights[layer - 1, head - 1, work.token], atol=1e-6)
        assert work.difference < 1e-6 and work.output_difference < 1e-5
        np.testing.assert_allclose(work.products, work.keys @ work.query)
        np.testing.assert_allclose(work.output, work.weights @ work.values)
        assert work.weights.sum() == pytest.approx(1)
        assert (work.bias is None) == (kind != "mpnet")
        assert ("+ by distance" in head_at_work(work)) == (kind == "mpnet")


def test_vectors_are_those_of_the_weights(tiny_model: Path) -> None:
    from safetensors.numpy import load_file

    weights = load_file(tiny_model / "model.safetensors")
    rows = inspect("turn the key", model=str(tiny_model)).states[1]  # what layer 2 reads
    work = work_through("turn the key", layer=2, head=3, token="key", model=str(tiny_model))
    own = slice(16, 24)  # the third head of four, 8 wide
    for name, found in (("query", work.query[None]), ("key", work.keys), ("value", work.values)):
        layer = f"encoder.layer.1.attention.self.{name}"
        known = (rows @ weights[f"{layer}.weight"].T + weights[f"{layer}.bias"])[:, own]
        np.testing.assert_allclose(found, known[[3]] if name == "query" else known, atol=1e-5)
    np.testing.assert_allclose(work.scaled, work.products / np.sqrt(8))
    assert set(work.arrays) == {"query", "keys", "values", "products", "scaled", "weights", "output"}


def test_the_check_sees_a_wrong_head(tiny_model: Path) -> None:
    from dataclasses import replace

    one, two = (work_through("turn it", layer=1, head=h, token=1, model=str(tiny_model)) for h in (1, 2))
    assert replace(one, own_weights=two.own_weights).difference > 1e-3
    assert replace(one, own_output=two.own_output).output_difference > 1e-3


def test_a_token_by_its_place_its_entry_or_its_word(tiny_model: Path) -> None:
    for token, place in ((3, 3), ("##s", 3), ("Keys", 2), ("key", 2), ("[SEP]", 4)):
        work = work_through("the keys", layer=1, head=1, token=token, model=str(tiny_model))
        assert work.token == place
    with pytest.raises(InputError, match=r"no token 'lock'. .* 0 \[CLS\] 1 the 2 key 3 ##s 4 \[SEP\]"):
        work_through("the keys", layer=1, head=1, token="lock", model=str(tiny_model))
    for token in (-1, 5):
        with pytest.raises(InputError, match=f"no token '{token}'"):
            work_through("the keys", layer=1, head=1, token=token, model=str(tiny_model))
    for layer, head, said in (
        (4, 1, "no layer 4. Give one from 1 to 3"),
        (0, 1, "no layer 0"),
        (1, 5, "no head 5"),
    ):
        with pytest.raises(InputError, match=said):
            work_through("the keys", layer=layer, head=head, token=0, model=str(tiny_model))
