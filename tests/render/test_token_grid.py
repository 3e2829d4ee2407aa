"""The data of a page's token grid: all numbers of the explanation, in few bytes."""

import base64
import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import search
from search import Encoder, Explanation
from search.explaining.xray import xray
from search.render import page
from search.render.page import token_grid as grids
from search.render.page.token_grid import layer_matrices, token_grid
from tests.explaining.test_explanation import by_hand


def decoded(matrix: Any, why: Explanation) -> np.ndarray:
    """A matrix, as the script of the page decodes it."""
    text, largest = matrix
    numbers = np.frombuffer(base64.b64decode(text), dtype="<i2") / 32767 * largest
    return numbers.reshape(len(why.query_tokens), len(why.passage_tokens))


@pytest.fixture
def why(tiny: Encoder) -> Explanation:
    return search.explain("find the key", "turn the key in the lock", model=tiny)


def test_the_matrices_are_those_of_the_explanation(why: Explanation) -> None:
    data = token_grid(why, "token")
    assert data["layers"] == ["0", "1", "2", "3"] and data["last"] == "3" and data["source"] == ""
    assert (data["cosine"]["layer"], data["contribution"]["layer"]) == ("1", "0")
    for layer in range(4):
        cosines = decoded(data["cosine"]["cells"][str(layer)], why)
        np.testing.assert_allclose(cosines, why.numbers.similarity(layer), atol=2e-5)
        cells = decoded(data["contribution"]["cells"][str(layer)], why)
        pairs = why.numbers.pairs(layer)[:-1, :-1]
        np.testing.assert_allclose(cells, pairs, atol=2e-5 * np.abs(pairs).max())
    assert layer_matrices(why)["cosine"] == data["cosine"]["cells"]["1"]


def test_words_have_their_kind_and_the_number_of_their_tokens() -> None:
    data = token_grid(by_hand(), "word", colours=(0.2, 0.8))
    assert data["query"]["words"] == [
        ["[CLS]", "special", 1],
        ["Keys", "word", 2],
        ["[SEP]", "special", 1],
    ]
    assert data["passage"]["tokens"] == ["[CLS]", "door", "lock", ",", "key", "[SEP]"]
    assert [kind for _, kind, _ in data["passage"]["words"]][1:4] == ["context", "word", "punctuation"]
    assert data["layers"] == [] and list(data["cosine"]["cells"]) == [
        "3"
    ]  # it has the numbers of one layer
    assert data["scale"] == (0.2, 0.8)


def test_a_page_of_the_server_fetches_what_takes_time_or_room(
    why: Explanation, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert grids.MANY == 60_000
    few = token_grid(why, "word", "/token-grid?q=a")
    assert len(few["cosine"]["cells"]) == 4 and few["contribution"]["cells"] == {}
    np.testing.assert_allclose(few["added"], why.weight * why.passage_sums, atol=1e-6)
    assert len(token_grid(why, "word")["contribution"]["cells"]) == 4  # a file has them all
    monkeypatch.setattr(grids, "MANY", 10)
    many = token_grid(why, "word", "/token-grid?q=a")
    assert list(many["cosine"]["cells"]) == ["1"] and many["layers"] == ["0", "1", "2", "3"]
    assert token_grid(why, "word")["layers"] == []


def test_a_page_grows_by_three_bytes_a_pair_and_layer(why: Explanation) -> None:
    pairs = len(why.query_tokens) * len(why.passage_tokens)
    cells = token_grid(why, "token")["cosine"]["cells"]
    assert all(len(text) < 3 * pairs for text, _ in cells.values())


def test_combined_layers_and_no_meaning_have_a_grid_too(tiny: Encoder) -> None:
    why = search.explain("find the key", "the lock", model=tiny, layer="mean:2")
    data = token_grid(why, "token")
    assert list(data["cosine"]["cells"]) == ["mean:2", "0", "1", "2", "3"]
    np.testing.assert_allclose(decoded(data["cosine"]["cells"]["mean:2"], why), why.similarity, atol=2e-5)
    none = token_grid(replace(why, weight=0.0), "token")
    assert not decoded(none["contribution"]["cells"]["0"], why).any()
    source = page.document(page.xray(xray(why)))
    assert json.dumps(data["cosine"]["cells"]["2"], separators=(",", ":")) in source
