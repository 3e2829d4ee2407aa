"""Percentile of a score among those of random pairs, and passages that are near everything."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from search import Encoder, Hit, Index
from search.index import searcher_of
from search.store.bm25 import discriminative, scale, weight
from search.store.snapshot import Store
from tests.store.crowd import crowd

QUERY = "find the key to the door"


def row(index: Path) -> tuple[Any, ...]:
    with closing(sqlite3.connect(index / "index.db")) as connection:
        rows = connection.execute("SELECT passages, queries, pairs FROM baseline").fetchall()
    assert len(rows) == 1
    return tuple(rows[0])


def execute(index: Path, statement: str, *values: Any) -> None:
    with closing(sqlite3.connect(index / "index.db")) as connection:
        connection.execute(statement, values)
        connection.commit()


def bare(hits: Sequence[Hit]) -> list[Hit]:
    return [replace(hit, percentile=None, random_pairs=0) for hit in hits]


class QueryLog(list[str]):
    """The texts that were encoded as queries."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        super().__init__()
        encode = Encoder.encode

        def record(encoder: Encoder, texts: Sequence[str], **options: Any) -> Any:
            if options.get("role") == "query":
                self.extend(texts)
            return encode(encoder, texts, **options)

        patch.setattr(Encoder, "encode", record)


@pytest.mark.parametrize(
    ("mode", "weight"), [("hybrid", None), ("hybrid", 0.4), ("dense", None), ("lexical", None)]
)
def test_a_percentile_is_the_share_of_random_pairs_that_score_less(
    tmp_path: Path, tiny_model: Path, mode: str, weight: float | None
) -> None:
    index = Index.build(crowd(tmp_path / "notes"), model=str(tiny_model))
    passages, queries, pairs = row(index.path)
    sample = np.frombuffer(pairs, dtype="<f4").reshape(-1, 2).astype(float)
    assert (passages, queries, sample.shape) == (60, 60, (600, 2))
    hits = index.query(QUERY, k=60, mode=mode, weight=weight)
    for hit in hits:
        scores = hit.weight * sample[:, 0] + (1 - hit.weight) * sample[:, 1]
        assert hit.percentile == pytest.approx(100 * np.mean(scores < hit.score), abs=1e-9)
        assert hit.random_pairs == 600
    percentiles = [hit.percentile for hit in hits]
    assert len(set(percentiles)) > 10
    assert (
        searcher_of(index).hit(QUERY, hits[3].passage_id, mode=mode, weight=weight).percentile
        == percentiles[3]
    )


def test_random_pairs_are_of_a_sentence_and_a_passage_of_another_document(
    tmp_path: Path, tiny_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    queries = QueryLog(monkeypatch)
    index = Index.build(crowd(tmp_path / "notes"), model=str(tiny_model))
    texts = list(queries)
    pairs = np.frombuffer(row(index.path)[2], dtype="<f4").reshape(len(texts), 10, 2)
    sources = set()
    for text, of_query in zip(texts, pairs, strict=True):
        assert 4 <= len(text.split()) <= 16
        everything = index.query(text, k=60, weight=0.5)
        own = [hit.passage_id for hit in everything if text in " ".join(hit.text.split())]
        assert own
        rest = [hit for hit in everything if hit.passage_id != own[0]]
        with Store(index.path).reading() as snapshot:
            typed = snapshot.terms(text)
            terms = discriminative(typed, snapshot.counts(typed), snapshot.facts.passages)
            of_all, counts = snapshot.keyword_scores(terms).scale, snapshot.counts(terms)
        best = max(hit.lexical or 0.0 for hit in rest) * of_all
        whole = scale(best, [weight(count, 60) for count in counts])
        parts = np.array([(hit.cosine, (hit.lexical or 0.0) * of_all / whole) for hit in rest])
        away = np.abs(parts[None] - of_query[:, None]).max(axis=2)
        assert away.min(axis=1).max() < 1e-5  # each pair is with one of the others
        assert len(set(away.argmin(axis=1).tolist())) == 10  # and each with another one
        sources.add(own[0])
    assert len(sources) > 50


def test_the_same_passages_give_the_same_sample(tmp_path: Path, tiny_model: Path) -> None:
    folder = crowd(tmp_path / "notes")
    first = row(Index.build(folder, model=str(tiny_model), index=str(tmp_path / "a")).path)
    assert row(Index.build(folder, model=str(tiny_model), index=str(tmp_path / "b")).path) == first
    again = row(Index.build(folder, index=str(tmp_path / "a"), rebuild=True).path)
    assert again == first  # though the passages have other ids


def test_a_sample_is_drawn_again_when_the_index_has_doubled_or_halved(
    tmp_path: Path, tiny_model: Path
) -> None:
    folder = crowd(tmp_path / "notes")
    first = row(Index.build(folder, model=str(tiny_model)).path)
    crowd(folder, 60, first=60)
    assert row(Index.build(folder).path) == first  # as many again
    crowd(folder, 1, first=120)
    doubled = row(Index.build(folder).path)
    assert (doubled[0], doubled[1], len(doubled[2])) == (121, 121, 121 * 10 * 8)
    for number in range(60):
        (folder / f"note{number:03}.txt").unlink()
    assert row(Index.build(folder).path) == doubled
    (folder / "note060.txt").unlink()
    assert row(Index.build(folder).path)[0] == 60


def test_an_index_without_a_sample_gets_one_in_the_next_run(tmp_path: Path, tiny_model: Path) -> None:
    folder = crowd(tmp_path / "notes")
    index = Index.build(folder, model=str(tiny_model))
    before = row(index.path)
    with_sample = index.query(QUERY)
    execute(index.path, "DELETE FROM baseline")
    index = Index.open(index.path)
    assert index.query(QUERY) == bare(with_sample)
    assert index.notes == ()
    assert index.check().ok
    Index.build(folder)
    assert row(index.path) == before
    assert index.query(QUERY) == with_sample


def test_too_few_passages_give_no_percentile(notes: Path, tmp_path: Path, tiny_model: Path) -> None:
    index = Index.build(notes, model=str(tiny_model))
    assert row(index.path) == (5, 0, b"")
    assert {(hit.percentile, hit.random_pairs) for hit in index.query(QUERY)} == {(None, 0)}
    fewest = 50
    folder = crowd(tmp_path / "crowd", fewest - 1)
    assert Index.build(folder, model=str(tiny_model)).query(QUERY)[0].percentile is None
    crowd(folder, 1, first=fewest - 1)
    assert Index.build(folder).query(QUERY)[0].random_pairs == 500


def test_passages_of_one_document_are_no_random_pairs(tmp_path: Path, tiny_model: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    parts = [
        f"# Part {i}\n\n{(path).read_text(encoding='utf-8')}\n"
        for i, path in enumerate(crowd(tmp_path / "c").iterdir())
    ]
    (folder / "book.md").write_text("".join(parts), encoding="utf-8")
    index = Index.build(folder, model=str(tiny_model))
    assert index.status().passages >= 60
    assert index.query(QUERY)[0].percentile is None
