"""Embeddings out of an index, a vector in place of a text, many queries at once, and records as plain JSON types."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from search import Encoder, Index, InputError, SearchError


@pytest.fixture
def index(indexed: Path) -> Index:
    return Index.open(indexed)


def test_an_embedding_finds_its_own_passage(index: Index) -> None:
    ids, vectors = index.embeddings()
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=1e-6)
    for id_, vector in zip(ids.tolist(), vectors, strict=True):
        hit = index.query(vector=3 * vector, k=1)[0]
        assert (hit.passage_id, hit.mode, hit.score) == (id_, "dense", pytest.approx(1, abs=1e-6))
    subset, rows = index.embeddings([int(ids[2]), int(ids[0])])
    assert subset.tolist() == [ids[2], ids[0]]
    assert np.array_equal(rows, vectors[[2, 0]])
    with pytest.raises(SearchError, match="no passage 999"):
        index.embeddings([999])


def test_a_text_with_its_own_vector_has_the_same_hits(index: Index) -> None:
    (vector,) = index.encoder.encode(["door"], role="query")
    by_text, by_vector = index.query("door"), index.query("door", vector=vector)
    assert [(hit.passage_id, hit.mode) for hit in by_vector] == [
        (hit.passage_id, hit.mode) for hit in by_text
    ]
    assert [hit.score for hit in by_vector] == pytest.approx([hit.score for hit in by_text], abs=1e-6)
    assert [hit.document for hit in index.query(vector=vector, where="name=keys.md")] == ["keys.md"] * 2


@pytest.mark.parametrize("vector", [[1.0, 2.0], "zeros", "nan"])
def test_a_vector_of_wrong_width_or_values_is_refused(index: Index, vector: list[float] | str) -> None:
    width = int(index.fingerprint.dimension)
    values = {"zeros": np.zeros(width), "nan": np.full(width, np.nan)}
    with pytest.raises(InputError, match=f"needs {width} finite numbers"):
        index.query(vector=values[vector] if isinstance(vector, str) else vector)


def test_a_vector_is_neither_explained_nor_reranked(index: Index) -> None:
    _, vectors = index.embeddings()
    for options in ({"explain": True}, {"rerank": "late"}):
        with pytest.raises(InputError, match="neither .explain. nor .rerank."):
            index.query("door", vector=vectors[0], **options)


def test_many_queries_have_the_hits_of_each_alone(index: Index) -> None:
    texts = ["door", "rotate the key", '"the door" -water', "door"]
    for options in ({}, {"mode": "lexical"}, {"explain": True}, {"where": "name=keys.md"}):
        results = index.query_many(texts, 2, **options)
        for hits, text in zip(results, texts, strict=True):
            alone = index.query(text, 2, **options)
            assert [hit.passage_id for hit in hits] == [hit.passage_id for hit in alone]
            assert [hit.score for hit in hits] == pytest.approx([hit.score for hit in alone], abs=1e-6)
    assert index.query_many([]) == []
    with pytest.raises(InputError, match="empty"):
        index.query_many(["door", " "])


def test_many_queries_by_keywords_load_no_model(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object, **__: object) -> None:
        raise AssertionError("the model was loaded")

    monkeypatch.setattr(Encoder, "of", fails)
    other = Index.open(index.name)
    assert [len(hits) for hits in other.query_many(["door", "key"], 1, mode="lexical")] == [1, 1]


def test_records_are_plain_json_types(index: Index) -> None:
    hit = index.query("door", k=1, explain=True)[0]
    values = hit.to_dict()
    assert json.loads(json.dumps(values)) == values
    assert values["passage_id"] == hit.passage_id
    assert hit.explanation is not None
    assert values["explanation"] == hit.explanation.to_dict()
    whole = hit.to_dict(matrices=True)["explanation"]
    assert whole == hit.explanation.to_dict(matrices=True)
    assert whole["contributions"] == hit.explanation.contributions.tolist()
    assert "explanation" not in index.query("door", k=1)[0].to_dict()


def test_an_explanation_without_matrices_is_short_and_sums_to_the_score(index: Index) -> None:
    for options in ({}, {"mode": "dense"}, {"mode": "lexical"}, {"rerank": "late"}):
        hits = index.query("open the door with a key", k=3, explain=True, **options)  # type: ignore[arg-type]
        values = hits.to_dict()
        assert json.loads(json.dumps(values)) == values and values.keys() == {"hits"}
        assert values["hits"] == [hit.to_dict() for hit in hits]
        for hit, record in zip(hits, values["hits"], strict=True):
            why = record["explanation"]
            total = sum(share["contribution"] for share in why["shares"]) + why["residual"]
            assert total == pytest.approx(hit.score, abs=1e-12) and abs(why["residual"]) < 2e-5
            text = hit.text
            words = {text[start:end] for start, end, _ in why["passage_words"]}
            assert words <= set(re.findall(r"[\w'-]+", text))
            assert len(json.dumps(why)) < 4_000
