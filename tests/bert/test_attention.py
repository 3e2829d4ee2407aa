"""Attention weights: rows, identity with what the layer computes, mean, rollout, published figures."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from search.bert import FAMILIES, attention, inspect
from search.bert.checkpoint import load_checkpoint
from search.encoding import Encoder
from search.errors import InputError
from search.records.attention import Attention
from tests.bert.conftest import named_checkpoint
from tests.bert.test_inspecting import figures


def by_hand() -> Attention:
    """Two layers of two heads over two tokens; the means are those of the handbook's example of rollout."""
    from search.records.inspections import InputToken

    tokens = tuple(InputToken(text, i, 0, 1, 0, 0, 1, False, i, False) for i, text in enumerate("ab"))
    first = [[[0.4, 0.6], [0.3, 0.7]], [[0.8, 0.2], [0.1, 0.9]]]  # mean 0.6 0.4 / 0.2 0.8
    second = [[[0.5, 0.5], [1.0, 0.0]], [[0.5, 0.5], [0.8, 0.2]]]  # mean 0.5 0.5 / 0.9 0.1
    return Attention(("a b",), tokens, np.array([first, second], dtype=np.float32), "by hand")


def test_mean_and_rollout_by_hand() -> None:
    found = by_hand()
    np.testing.assert_allclose(found.matrix(1), [[0.6, 0.4], [0.2, 0.8]], atol=1e-7)
    np.testing.assert_allclose(found.matrix(2, 2), [[0.5, 0.5], [0.8, 0.2]], atol=1e-7)
    np.testing.assert_allclose(found.rollout(1), [[0.8, 0.2], [0.1, 0.9]], atol=1e-7)
    np.testing.assert_allclose(found.rollout(), [[0.625, 0.375], [0.415, 0.585]], atol=1e-7)
    assert found.row_error < 1e-7
    assert replace(found, weights=found.weights * 0.99).row_error == pytest.approx(0.01, abs=1e-6)


@pytest.mark.parametrize(("layer", "head"), [(0, None), (3, None), (1, 0), (1, 3), (-1, None)])
def test_layers_and_heads_are_counted_from_one(layer: int, head: int | None) -> None:
    with pytest.raises(IndexError, match="give one from 1 to 2"):
        by_hand().matrix(layer, head)


@pytest.mark.parametrize("kind", FAMILIES)
def test_rows_sum_to_one_in_every_family(families: dict[str, Path], kind: str) -> None:
    found = attention("Rotate the keys ☃", "turn the lock", model=str(families[kind]))
    n = len(found.tokens)
    assert found.weights.shape == (2, 4, n, n)
    assert (found.layers, found.heads) == (2, 4)
    assert found.row_error < 1e-6
    assert found.weights.min() >= 0
    np.testing.assert_allclose(found.rollout().sum(axis=1), 1, atol=1e-6)


def test_weights_are_the_softmax_of_queries_and_keys(tiny_model: Path) -> None:
    """Layer 2, head 3, from its own weights and the hidden states before it."""
    states = inspect("turn the key of the door", model=str(tiny_model)).states
    found = attention("turn the key of the door", model=str(tiny_model)).matrix(2, 3)
    own = load_checkpoint(str(tiny_model)).model.encoder.layer[1].attention.self
    before = states[1].astype(np.float64)
    queries, keys = (
        before @ layer.weight.detach().double().numpy().T + layer.bias.detach().double().numpy()
        for layer in (own.query, own.key)
    )
    part = slice(2 * 8, 3 * 8)  # four heads of 8 dimensions
    scores = queries[:, part] @ keys[:, part].T / np.sqrt(8)
    expected = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_the_real_model(real: Encoder) -> None:
    text = figures()["attention_last_layer_mean_of_heads"]["text"]
    found = attention(text, offline=True)
    assert found.weights.shape == (6, 12, 20, 20)
    assert found.row_error < 1e-6
    assert [token.text for token in found.tokens] == figures()["attention_last_layer_mean_of_heads"]["tokens"]
    previous = found.matrix(1, 3)  # a head that reads the token before, whatever it is
    assert (previous[1:].argmax(axis=1) == np.arange(19)).all()


def test_too_long_texts_are_refused(tiny_model: Path) -> None:
    with pytest.raises(InputError, match="Nothing is cut"):
        attention("key " * 80, model=str(tiny_model))


def test_published_weights_of_the_last_layer() -> None:
    known = figures()["attention_last_layer_mean_of_heads"]
    found = attention(known["text"], model=named_checkpoint("bert-base-uncased"))
    np.testing.assert_allclose(found.matrix(found.layers), known["rows sum to 1"], atol=2e-4)


def test_published_weights_of_one_head() -> None:
    known = figures()["attention_layer_8_head_10"]
    text = figures()["attention_last_layer_mean_of_heads"]["text"]
    found = attention(text, model=named_checkpoint("bert-base-uncased"))
    expected = np.array(known["rows sum to 1"])
    # The source does not say whether it counts from 0 or from 1.
    near = [float(abs(found.matrix(8 + k, 10 + m) - expected).max()) for k in (0, 1) for m in (0, 1)]
    assert min(near) < 2e-4
