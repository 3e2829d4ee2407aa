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
    (found,) = tiny.tokens(["Rotating keys!"], contexts=["The door"])
    rows = [
        (
            t.text,
            t.part,
            found.text[t.start : t.end] if t.part == "text" else found.context[t.start : t.end],
        )
        for t in found.tokens
    ]
    assert rows[0] == ("[CLS]", "special", "")
    assert rows[1:3] == [("the", "context", "The"), ("door", "context", "door")]
    assert rows[3][1:] == ("text", "R")
    assert "".join(row[2] for row in rows[3:-1]) == "Rotatingkeys!"
    assert rows[-1] == ("[SEP]", "special", "")
    assert found.vectors.shape == (len(found.tokens), 32)


def test_embedding_is_what_encode_gives(tiny: Encoder) -> None:
    texts = ["find the key", "a", "the long way to the other side"]
    for vectors, embedding in zip(tiny.tokens(texts), tiny.encode(texts), strict=True):
        np.testing.assert_allclose(vectors.embedding, embedding, atol=1e-6)
        mean = vectors.vectors.mean(axis=0)
        np.testing.assert_allclose(mean / np.linalg.norm(mean), embedding, atol=1e-6)


def test_layers_equal_transformers_hidden_states(tiny: Encoder) -> None:
    import torch
    from transformers import AutoModel

    model = AutoModel.from_pretrained(tiny.files.folder).eval()
    (found,) = tiny.tokens(["the water is long"], layers=[0, 1, 2, -1])
    ids = torch.tensor([[token.id for token in found.tokens]])
    with torch.no_grad():
        states = model(input_ids=ids, output_hidden_states=True).hidden_states
    assert sorted(found.layers) == [0, 1, 2, 3]
    for layer, vectors in found.layers.items():
        np.testing.assert_allclose(vectors, states[layer][0].numpy(), atol=1e-5)


def test_layer_that_does_not_exist(tiny: Encoder) -> None:
    with pytest.raises(InputError, match="no layer 4. Choose from 0 to 3"):
        tiny.tokens(["a"], layers=[4])


def test_tokens_are_never_cut(tiny: Encoder) -> None:
    with pytest.raises(TextTooLong, match="has 102 tokens"):
        tiny.tokens(["a " * 100])


def test_one_string_is_no_list(tiny: Encoder) -> None:
    with pytest.raises(InputError, match="Pass a list"):
        tiny.encode("water")
    with pytest.raises(InputError, match="one of them is int"):
        tiny.encode(["a", 3])  # type: ignore[list-item]


def test_no_texts(tiny: Encoder) -> None:
    assert tiny.encode([]).shape == (0, 32)
    assert tiny.tokens([]) == []


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(max_size=20), st.text(max_size=12))
def test_offsets_of_any_text(tiny: Encoder, text: str, context: str) -> None:
    text, context = (s.encode("utf-8", "replace").decode() for s in (text, context))
    (found,) = tiny.tokens([text], contexts=[context])
    for token in found.tokens:
        source = {"text": text, "context": context + "\n"}.get(token.part, "")
        assert 0 <= token.start <= token.end <= len(source) or token.special
    spans = [(t.start, t.end) for t in found.tokens if t.part == "text"]
    assert spans == sorted(spans)


def test_published_token_ids(real: Encoder) -> None:
    file = REFERENCE / "bert_figures.json"
    if not file.is_file():
        pytest.skip("the reference figures are not at hand")
    published = json.loads(file.read_text(encoding="utf-8"))["token_ids"]
    assert len(published) > 5
    for text, ids in published.items():
        assert [token.id for token in real.tokens([text])[0].tokens] == ids, text
