"""Segments and exact search, against brute force."""

import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import faiss
import numpy as np
import pytest

import search
from search.store import codes, segments
from search.store.codes import Codes, RoughQuery
from search.store.database import connect_to_write
from search.store.segments import read_segments
from search.store.snapshot import Store
from search.store.writer import Writer
from tests.ranking.stored import add_document, add_embedding, bury, count, empty, nearest

D = 8


@pytest.fixture
def filled(tmp_path: Path) -> tuple[Path, sqlite3.Connection, np.ndarray]:
    """An index of 300 random unit vectors, passage i + 1 being row i; some equal."""
    connection = empty(tmp_path, D)
    vectors = np.random.default_rng(0).normal(size=(300, D)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    vectors[40] = vectors[200] = vectors[3]
    add(connection, vectors)
    return tmp_path, connection, vectors


def add(connection: sqlite3.Connection, vectors: np.ndarray) -> None:
    """One document, and so one block of words, for each."""
    for vector in vectors:
        (number,) = connection.execute("SELECT count(*) FROM files").fetchone()
        (id_,) = add_document(connection, str(number).encode())
        add_embedding(connection, id_, vector)


@pytest.fixture(autouse=True)
def few_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """The few passages that there are here get several segments and a tail."""
    monkeypatch.setattr(segments, "LONGEST_TAIL", 20)
    monkeypatch.setattr(segments, "LARGEST", 150)


def brute_force(ids: list[int], vectors: np.ndarray, query: np.ndarray, k: int) -> list[int]:
    cosines = (vectors @ query).round(6)
    return sorted(ids, key=lambda id_: (-cosines[id_ - 1], id_))[:k]


def queries(n: int) -> np.ndarray:
    rows = np.random.default_rng(1).normal(size=(n, D)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def check(folder: Path, connection: sqlite3.Connection, ids: list[int], vectors: np.ndarray) -> Store:
    store = Store(folder)
    for query in [*queries(8), vectors[3]]:
        for k in (1, 7, 1000):
            hits = nearest(connection, store, query, k)
            assert [id_ for id_, _ in hits] == brute_force(ids, vectors, query, k)
            cosines = vectors[[id_ - 1 for id_, _ in hits]] @ query
            np.testing.assert_allclose([cosine for _, cosine in hits], cosines, rtol=0, atol=1e-6)
    return store


def test_search_is_exact_with_segments_a_tail_and_deleted_passages(
    filled: tuple[Path, sqlite3.Connection, np.ndarray],
) -> None:
    folder, connection, vectors = filled
    segments.flush(Writer(connection), folder, D)
    assert [(segment.first, segment.last) for segment in read_segments(connection)] == [
        (1, 144),
        (145, 288),
        (289, 300),
    ]
    store = check(folder, connection, list(range(1, 301)), vectors)
    assert store.problem == ""

    more = queries(30)[::-1].copy()
    add(connection, more)
    deleted = [*range(1, 300, 7), 305]
    connection.executemany("DELETE FROM passages WHERE id = ?", [(id_,) for id_ in deleted])
    bury(connection, deleted)
    count(connection)
    ids = [id_ for id_ in range(1, 331) if id_ not in deleted]
    check(folder, connection, ids, np.concatenate([vectors, more]))
    segments.flush(Writer(connection), folder, D)
    assert [segment.count for segment in read_segments(connection)] == [144, 144, 40]
    check(folder, connection, ids, np.concatenate([vectors, more]))
    deleted = ids[: 256 // 5]
    connection.executemany("DELETE FROM passages WHERE id = ?", [(id_,) for id_ in deleted])
    bury(connection, deleted)
    count(connection)
    segments.flush(Writer(connection), folder, D)  # where so many are gone, a segment is made anew
    assert [segment.count for segment in read_segments(connection)] == [72, 144, 40]
    check(folder, connection, ids[256 // 5 :], np.concatenate([vectors, more]))


@pytest.mark.parametrize("damage", ["missing", "header"])
def test_a_damaged_file_is_never_parsed_and_answers_stay_exact(
    filled: tuple[Path, sqlite3.Connection, np.ndarray], damage: str
) -> None:
    folder, connection, vectors = filled
    segments.flush(Writer(connection), folder, D)
    segment = read_segments(connection)[1]
    file = folder / segment.codes_path
    data = bytearray(file.read_bytes())
    if damage == "missing":
        file.unlink()
    else:
        data[9] ^= 1
        file.write_bytes(data)
    store = check(folder, connection, list(range(1, 301)), vectors)
    assert segment.codes_path in store.problem
    assert "check --repair" in store.problem


KINDS: dict[str, Callable[[np.random.Generator, int, int], np.ndarray]] = {
    "random": lambda chance, n, d: chance.normal(size=(n, d)),
    "equal": lambda chance, n, d: np.tile(chance.normal(size=(1, d)), (n, 1)),
    "one number each": lambda chance, n, d: (
        np.eye(d)[chance.integers(0, d, n)] * chance.choice([-1, 1], (n, 1))
    ),
    "clusters": lambda chance, n, d: (
        chance.normal(size=(4, d))[chance.integers(0, 4, n)] + 1e-7 * chance.normal(size=(n, d))
    ),
    "nearly equal": lambda chance, n, d: chance.normal(size=(1, d)) + 1e-4 * chance.normal(size=(n, d)),
    "zeros": lambda chance, n, d: chance.normal(size=(n, d)) * chance.integers(0, 2, (n, 1)),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("d", [3, 1100])
def test_search_by_codes_equals_brute_force(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, d: int
) -> None:
    """Vectors at which a rough ranking goes wrong; with more than 1,040 dimensions FAISS's sums are rounded."""
    monkeypatch.setattr(segments, "LARGEST", 100)
    chance = np.random.default_rng(d)
    vectors = KINDS[kind](chance, 250, d).astype(np.float32)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    vectors = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
    with closing(empty(tmp_path, d)) as connection:
        connection.execute("BEGIN")
        ids = add_document(connection, b"a", passages=(("", None),) * 250)
        for id_, vector in zip(ids, vectors, strict=True):
            add_embedding(connection, id_, vector)
        connection.execute("COMMIT")
        segments.rebuild_segments(Writer(connection), tmp_path, d)
        assert len(read_segments(connection)) == 3
        store = Store(tmp_path)
        for query in [*vectors[:6].copy(), *KINDS["random"](chance, 6, d).astype(np.float32)]:
            query /= max(float(np.linalg.norm(query)), 1e-9)
            exact = np.multiply(vectors, query, dtype=np.float64).sum(axis=1).astype(np.float32)
            for k in (1, 10, 60):
                expected = [ids[row] for row in np.lexsort((ids, -exact))[:k]]
                assert [id_ for id_, _ in nearest(connection, store, query, k)] == expected
        assert store.problem == "" and store._codes


@pytest.mark.parametrize("d", [1, 384, 4096])
def test_an_upper_bound_is_above_the_cosine_and_near_it(tmp_path: Path, d: int) -> None:
    """The bound of search/store/codes.py, against sums in float64; and that it is no empty promise."""
    chance = np.random.default_rng(d)
    vectors, query = unit(chance.normal(size=(500, d))), unit(chance.normal(size=(1, d)))[0]
    ids = np.arange(7, 507)
    part = Codes(file := tmp_path / "a.faiss", 500, d, *codes.write(file, ids, vectors))
    rows, highest = part.nearest(RoughQuery(query), 500)
    exact = vectors.astype(np.float64) @ query.astype(np.float64)
    assert sorted(rows.tolist()) == list(range(500))
    assert (np.diff(highest) <= 0).all()
    assert ((highest >= exact[rows]) & (highest < exact[rows] + 0.05)).all()
    np.testing.assert_allclose(part.highest(RoughQuery(query), ids[rows]), highest, rtol=0, atol=1e-6)


def unit(rows: np.ndarray) -> np.ndarray:
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def test_a_restored_copy_is_another_state(
    filled: tuple[Path, sqlite3.Connection, np.ndarray],
) -> None:
    """The ids that it has given since are those of other passages."""
    folder, connection, _ = filled
    segments.flush(Writer(connection), folder, D)
    before = (folder / "index.db").read_bytes()
    first, second = queries(2)
    store = Store(folder)
    for vector in (first, second):
        add(connection, vector[None])
        with store.reading() as snapshot:
            (hit,) = snapshot.nearest(vector, 1)
        assert hit == (301, pytest.approx(1.0))
        connection.close()
        (folder / "copy").write_bytes(before)
        (folder / "copy").replace(folder / "index.db")
        connection = connect_to_write(folder / "index.db")
    connection.close()


def test_faiss_itself_can_search_the_files(
    filled: tuple[Path, sqlite3.Connection, np.ndarray],
) -> None:
    """A program without seewhy gets passage IDs and products near the cosine for a plain embedding."""
    folder, connection, vectors = filled
    segments.flush(Writer(connection), folder, D)
    for segment in read_segments(connection):
        index = faiss.read_index(str(folder / segment.codes_path))
        for query in queries(8):
            products, ids = index.search(query[None], 5)
            cosines = vectors[ids[0] - 1] @ query
            np.testing.assert_allclose(products[0], cosines, rtol=0, atol=0.01)
            inside = range(segment.first, segment.last + 1)
            best = brute_force(list(inside), vectors, query, 1)[0]
            assert vectors[best - 1] @ query - cosines[0] < 0.01
        np.testing.assert_allclose(
            index.reconstruct(segment.first), vectors[segment.first - 1], rtol=0, atol=0.01
        )


FIRST_QUERY = """
import sys
import search
from search.store import vectors
searched = []
search_by_faiss = vectors.search_by_faiss
def counted(index, *args):
    searched.append((type(index).__name__, index.ntotal))
    return search_by_faiss(index, *args)
from search.store import codes
codes.search_by_faiss = counted
index = search.Index.open(sys.argv[1])
assert "faiss" not in sys.modules
assert len(index.query("turn the key", mode="dense")) == 3
print(searched)
"""


def test_the_first_query_of_a_process_goes_through_faiss(tmp_path: Path, tiny_model: Path) -> None:
    (tmp_path / "notes").mkdir()
    for name in ("door", "river"):
        (tmp_path / "notes" / f"{name}.txt").write_text(f"The {name}.", encoding="utf-8")
    index = search.Index.build(tmp_path / "notes", model=str(tiny_model))
    (tmp_path / "notes" / "new.txt").write_text("A key.", encoding="utf-8")
    index.update()
    process = subprocess.run(
        [sys.executable, "-c", FIRST_QUERY, index.path], capture_output=True, text=True, check=False
    )
    assert process.stderr == ""
    assert process.stdout.strip() == "[('IndexScalarQuantizer', 2), ('IndexFlatIP', 1)]"
