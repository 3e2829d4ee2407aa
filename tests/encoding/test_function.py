"""Encoders from a program: functions and objects of other libraries, in place of a model."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import pytest

import search
from search import Encoder, Index, InputError, ModelError
from search.encoding.function import encoder_from

DOCUMENTS = [
    {"id": "a", "text": "The key opens the door."},
    {"id": "b", "title": "Lake", "text": "Water is cold."},
]


def hashed(texts: list[str]) -> np.ndarray[Any, Any]:
    """Counts of words in 16 buckets."""
    rows = np.full((len(texts), 16), 1e-3)
    for row, text in zip(rows, texts, strict=True):
        for word in text.lower().split():
            row[crc32(word.encode()) % 16] += 1
    return rows


def cosine(text: str, other: str) -> float:
    first, second = (row / np.linalg.norm(row) for row in hashed([text, other]))
    return float(first @ second)


def test_a_function_is_an_encoder(tmp_path: Path) -> None:
    place = tmp_path / "index"
    with Index.create(place, encoder=hashed) as index:
        index.upsert(DOCUMENTS)
        first = index.query("which key", explain=True)[0]
        assert first.document == "a"
        assert first.cosine == pytest.approx(cosine("which key", "The key opens the door."), abs=1e-6)
        assert first.explanation and first.explanation.contributions.shape == (1, 1)
        whole, *words = first.explanation.shares()
        assert (whole.text, whole.contribution) == (
            "whole text (no token vectors)",
            pytest.approx(0.75 * first.cosine),
        )
        assert [word.text for word in words] == ["key"]
        assert abs(first.explanation.residual) < 1e-6
    again = Index.open(place, encoder=hashed)
    assert again.query("lake")[0].document == "b"
    assert again.upsert([{"id": "c", "text": "A boat."}]).added == 1
    with pytest.raises(ModelError, match=r"the encoder 'hashed' of a program.*encoder="):
        Index.open(place).query("key")
    assert Index.open(place).query("key", mode="lexical")[0].document == "a"
    with pytest.raises(search.FingerprintMismatch):
        Index.open(place, encoder=hashed, encoder_name="other")


def test_an_encoder_or_a_sentence_transformer_encodes_an_index(tiny: Encoder, tmp_path: Path) -> None:
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(tiny.files.folder), device="cpu")
    model.prompts = {"query": "find ", "document": "look at "}
    with Index.create(encoder=tiny) as first, Index.create(encoder=model) as second:
        for index in (first, second):
            index.upsert(DOCUMENTS)
        assert first.query("key", explain=True)[0].explanation
        assert first.fingerprint.weights == tiny.fingerprint.weights
        expected = model.encode_query(["key"])[0] @ model.encode_document(["The key opens the door."])[0]
        (hit,) = (hit for hit in second.query("key", mode="dense") if hit.document == "a")
        assert hit.cosine == pytest.approx(float(expected), abs=1e-5)
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "a.md").write_text("# Door\n\nThe key opens the door.\n", encoding="utf-8")
    notes = Index.build(folder, model=tiny)
    assert notes.query("key")[0].cosine == pytest.approx(
        Index.build(folder, model=tiny.model, index="named").query("key")[0].cosine, abs=1e-6
    )


@pytest.mark.parametrize(
    ("encoder", "options", "message"),
    [
        (lambda texts: hashed(texts), {}, "encoder_name"),
        (3, {}, "must be an Encoder"),
        (hashed, {"pooling": "cls"}, "'pooling' cannot be combined with encoder"),
    ],
)
def test_an_object_that_is_no_encoder_is_refused(
    encoder: Any, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        Index.create(encoder=encoder, **options)


@pytest.mark.parametrize(
    "wrong", [lambda texts: np.ones(len(texts)), lambda texts: np.full((len(texts), 2), np.nan)]
)
def test_arrays_that_are_no_embeddings_are_refused(wrong: Callable[[list[str]], Any]) -> None:
    with pytest.raises(ModelError, match="'wrong'"):
        encoder_from(wrong, "wrong").encode(["a", "b"])
