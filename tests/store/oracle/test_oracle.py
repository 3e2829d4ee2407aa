"""An index in a folder and PostgreSQL with pgvector answer alike: ids, order, and every addend."""

import random
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import pytest

from search import Index
from search.ranking.fusion import Fusion
from tests.store.oracle.agreement import (
    NEAR,
    SAME,
    Agreement,
    Asked,
    Collection,
    compare,
    ids_of,
    question,
    stems_of,
)
from tests.store.oracle.postgres import Oracle, oracle, server

STATES, QUESTIONS = 3, 20


@pytest.fixture(scope="module")
def truth() -> Iterator[Oracle]:
    with server() as address, oracle(address, "alike") as made:
        yield made


def test_both_rank_alike(truth: Oracle, tmp_path: Path, tiny_model: Path) -> None:
    """Documents are changed between."""
    collection, chance = Collection(tmp_path / "files", seed=20), random.Random(20)
    found = Agreement()
    for state in range(STATES):
        if state:
            collection.change()
        index = Index.build(collection.folder, index=str(tmp_path / "index"), model=str(tiny_model))
        truth.follow(index.path)
        for _ in range(QUESTIONS):
            compare(found, index, truth, question(chance, ids_of(index)))
    assert not found.wrong, found.wrong[0]
    assert found.questions == STATES * QUESTIONS
    assert found.hits > 5 * found.questions
    assert found.score <= SAME
    assert max(found.cosine, found.addend) <= NEAR
    explained(index, truth)
    noticed(index, truth)


def explained(index: Index, truth: Oracle) -> None:
    """What `explain` says of the best hits is what PostgreSQL adds up."""
    asked = Asked(("rotate", "key", "open door"), "hybrid", 0.75, 3)
    (vector,) = index.encoder.encode([asked.text], role="query")
    rows = truth.ranked(vector, stems_of(asked.terms), asked.weight)
    hits = index.query(asked.text, asked.k, phrases=True, per_document=0, all_copies=True)
    for hit, row, why in zip(hits, rows, index.explain_all(asked.text, hits), strict=False):
        assert (hit.passage_id, hit.score) == (row.id, pytest.approx(row.score, abs=SAME))
        assert asked.weight * why.contributions.sum() == pytest.approx(asked.weight * row.cosine, abs=NEAR)
        added = {asked.terms[place]: 0.25 * addend / row.scale for place, addend in row.addends.items()}
        assert {term.term: term.contribution for term in why.terms if term.contribution} == pytest.approx(
            added, abs=NEAR
        )


def noticed(index: Index, truth: Oracle) -> None:
    """An index that ranks by another formula, or misses a hit, is told."""
    asked = Asked(("rotate", "water"), "hybrid", 0.3, 10)
    for name, other in (("_B", 0.74), ("CARRYING", 1), ("_LEAST_WEIGHT", 10.0)):
        found = Agreement()
        with patch(f"search.store.bm25.{name}", other):
            compare(found, Index.open(index.path), truth, asked)
        assert found.wrong, name
    really, found = Fusion.top, Agreement()
    with patch.object(Fusion, "top", lambda self, n: really(self, n + 1)[1:]):
        compare(found, index, truth, asked)
    assert found.wrong
