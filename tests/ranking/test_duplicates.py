"""Near-identical passages against brute force."""

from pathlib import Path

import numpy as np
import pytest

from search import Index, InputError
from search.ranking.duplicates import clusters


def unit(rows: np.ndarray) -> np.ndarray:
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def planted(seed: int, n: int, d: int, noise: float) -> np.ndarray:
    """Random directions, some of them repeated nearly or exactly, in groups and in chains."""
    random = np.random.default_rng(seed)
    rows = random.standard_normal((n, d))
    for i in range(n // 3):
        source = random.integers(n)
        rows[random.integers(n)] = rows[source] + noise * (i % 3) * random.standard_normal(d)
    return unit(rows)


def brute_force(vectors: np.ndarray, threshold: float) -> set[tuple[int, ...]]:
    wide = vectors.astype(np.float64)
    near = wide @ wide.T >= threshold
    equal = (vectors[:, None] == vectors[None]).all(axis=2)
    left, found = set(range(len(vectors))), set()
    while left:
        todo, cluster = [left.pop()], set()
        while todo:
            row = todo.pop()
            cluster.add(row)
            for other in np.flatnonzero(near[row] | equal[row]).tolist():
                if other in left:
                    left.discard(other)
                    todo.append(other)
        if len(cluster) > 1:
            found.add(tuple(sorted(cluster)))
    return found


@pytest.mark.parametrize("threshold", [0.5, 0.9, 0.95, 0.99, 1.0])
@pytest.mark.parametrize("d", [8, 32, 300])
@pytest.mark.parametrize("seed", [0, 1])
def test_clusters_are_those_of_brute_force(
    seed: int, d: int, threshold: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("search.store.vectors._ROWS_AT_ONCE", 50)  # several blocks, also uneven ones
    monkeypatch.setattr("search.ranking.duplicates._AT_ONCE", 70)
    vectors = planted(seed, 333, d, 0.15)
    found = clusters(vectors, threshold)
    expected = brute_force(vectors, threshold)
    assert expected
    assert {tuple(rows.tolist()) for rows in found} == expected
    assert [rows[0] for rows in found] == sorted(rows[0] for rows in found)


def test_many_equal_vectors_are_one_cluster() -> None:
    vectors = unit(np.ones((5000, 384)))
    (rows,) = clusters(vectors, 0.95)
    assert rows.tolist() == list(range(5000))
    assert clusters(np.empty((0, 384), dtype=np.float32), 0.9) == []


@pytest.mark.parametrize("threshold", [0.0, -0.5, 1.1, float("nan")])
def test_thresholds_that_are_none(threshold: float) -> None:
    with pytest.raises(InputError, match="above 0, and 1 at most"):
        clusters(np.eye(2, dtype=np.float32), threshold)


def test_equal_texts_are_told_from_near_ones(tmp_path: Path, tiny_model: Path) -> None:
    folder = tmp_path / "copies"
    folder.mkdir()
    for name in "abc":
        (folder / f"{name}.txt").write_text(
            "The key of the door is in the water, and the lock is open.\n", encoding="utf-8"
        )
    (folder / "d.txt").write_text(
        "The key of the door is in the water, and the lock is open!\n", encoding="utf-8"
    )
    (folder / "e.txt").write_text("9 8 7 6 5\n", encoding="utf-8")
    index = Index.build(folder, model=str(tiny_model))
    (cluster,) = index.duplicates(0.999999)
    assert [copy.document for copy in cluster.passages] == ["a.txt", "b.txt", "c.txt"]
    first = cluster.passages[0].passage_id
    assert cluster.exact
    assert [copy.same_text_as for copy in cluster.passages] == [None, first, first]
    assert cluster.lowest == pytest.approx(1, abs=1e-6)
    near = {hit.document: hit.score for hit in index.similar("a.txt")}["d.txt"]
    (cluster,) = index.duplicates(near - 1e-4)
    assert [copy.document for copy in cluster.passages][:4] == ["a.txt", "b.txt", "c.txt", "d.txt"]
    assert not cluster.exact
    assert cluster.passages[3].same_text_as is None
    assert cluster.passages[3].cosine == pytest.approx(near, abs=1e-5)
    (cluster,) = index.duplicates(0.999999, where="not path:a.txt")
    assert [copy.document for copy in cluster.passages] == ["b.txt", "c.txt"]
