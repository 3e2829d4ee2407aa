"""Tokens, their offsets and their vectors."""

import json

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from search import Encoder
from search.errors import InputError, TextTooLong
from tests.conftest import REFERENCE


def test_offsets_point_into_text_and_context(tiny: Encoder) -> None:
    (result,) = tiny.tokens(["Rotating keys!"], contexts=["The door"])
    rows = [
        (
            t.text,
            t.part,
            result.text[t.start : t.end] if t.part == "text" else result.context[t.start : t.end],
        )
        for t in result.tokens
    ]
    assert rows[0] == ("[CLS]", "special", "")
    assert rows[1:3] == [("the", "context", "The"), ("door", "context", "door")]
    assert rows[3][1:] == ("text", "R")
    assert "".join(row[2] for row in rows[3:-1]) == "Rotatingkeys!"
    assert rows[-1] == ("[SEP]", "special", "")
    assert result.vectors.shape == (len(result.tokens), 32)


def test_embedding_equals_that_of_encode(tiny: Encoder) -> None:
    texts = ["find the key", "a", "the long way to the other side"]
    for vectors, embedding in zip(tiny.tokens(texts), tiny.encode(texts), strict=True):
        np.testing.assert_allclose(vectors.embedding, embedding, atol=1e-6)
        mean = vectors.vectors.mean(axis=0)
        np.testing.assert_allclose(mean / np.linalg.norm(mean), embedding, atol=1e-6)


def test_layers_equal_transformers_hidden_states(tiny: Encoder) -> None:
    import torch
    from transformers import AutoModel

    model = AutoModel.from_pretrained(tiny.files.folder).eval()
    (result,) = tiny.tokens(["the water is long"], layers=[0, 1, 2, -1])
    ids = torch.tensor([[token.id for token in result.tokens]])
    with torch.no_grad():
        states = model(input_ids=ids, output_hidden_states=True).hidden_states
    assert sorted(result.layers) == [0, 1, 2, 3]
    for layer, vectors in result.layers.items():
        np.testing.assert_allclose(vectors, states[layer][0].numpy(), atol=1e-5)


def test_a_layer_that_does_not_exist_is_refused(tiny: Encoder) -> None:
    with pytest.raises(InputError, match="no layer 4. Choose from 0 to 3"):
        tiny.tokens(["a"], layers=[4])


def test_a_text_that_is_too_long_for_tokens_is_refused(tiny: Encoder) -> None:
    with pytest.raises(TextTooLong, match="has 102 tokens"):
        tiny.tokens(["a " * 100])


def test_a_single_string_is_refused(tiny: Encoder) -> None:
    with pytest.raises(InputError, match="Pass a list"):
        tiny.encode("water")
    with pytest.raises(InputError, match="one of them is int"):
        tiny.encode(["a", 3])  # type: ignore[list-item]


def test_no_texts_give_no_vectors(tiny: Encoder) -> None:
    assert tiny.encode([]).shape == (0, 32)
    assert tiny.tokens([]) == []


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(max_size=20), st.text(max_size=12))
def test_offsets_of_any_text_are_ordered_and_within_it(tiny: Encoder, text: str, context: str) -> None:
    text, context = (s.encode("utf-8", "replace").decode() for s in (text, context))
    (result,) = tiny.tokens([text], contexts=[context])
    for token in result.tokens:
        source = {"text": text, "context": context + "\n"}.get(token.part, "")
        assert 0 <= token.start <= token.end <= len(source) or token.special
    spans = [(t.start, t.end) for t in result.tokens if t.part == "text"]
    assert spans == sorted(spans)


def test_token_ids_are_the_published_ones(real: Encoder) -> None:
    file = REFERENCE / "bert_figures.json"
    if not file.is_file():
        pytest.skip("the reference figures are not at hand")
    ids_by_text = json.loads(file.read_text(encoding="utf-8"))["token_ids"]
    assert len(ids_by_text) > 5
    for text, ids in ids_by_text.items():
        assert [token.id for token in real.tokens([text])[0].tokens] == ids, text
