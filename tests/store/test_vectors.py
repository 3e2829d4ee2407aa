"""The FAISS file and exact search, against brute force."""

import re
import sqlite3
import zlib
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from search import IndexDamaged
from search.store.database import connect_to_write, count_anew
from search.store.faiss_file import write_file
from search.store.sqlite import SQLiteStore
from search.store.vectors import Ann
from search.store.writer import Writer, create
from tests.ranking.stored import nearest

D = 8


@pytest.fixture
def filled(tmp_path: Path) -> tuple[Path, sqlite3.Connection, np.ndarray]:
    """An index of 300 random unit vectors, passage i + 1 being row i; some equal."""
    connection = connect_to_write(tmp_path / "index.db")
    create(connection)
    vectors = np.random.default_rng(0).normal(size=(300, D)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    vectors[40] = vectors[200] = vectors[3]
    connection.execute("INSERT INTO files VALUES (1, x'61', 0, 0, 0, '', 'indexed', 0)")
    connection.execute("INSERT INTO documents VALUES (1, 1, 0, 'text', '', '{}', 'utf-8', '', 0)")
    add(connection, vectors)
    return tmp_path, connection, vectors


def add(connection: sqlite3.Connection, vectors: np.ndarray) -> None:
    for vector in vectors:
        id_ = connection.execute(
            "INSERT INTO passages VALUES (NULL, 1, 0, 1, 1, 1, '', '', 'x', 3, NULL, '[]', 0)"
        ).lastrowid
        connection.execute(
            "INSERT INTO embeddings VALUES (?, ?, ?, x'00', ?)",
            (id_, vector.tobytes(), zlib.crc32(vector.tobytes()), id_),
        )
    count_anew(connection)


def brute_force(ids: list[int], vectors: np.ndarray, query: np.ndarray, k: int) -> list[int]:
    cosines = {id_: float(np.float32(vectors[id_ - 1] @ query)) for id_ in ids}
    return sorted(ids, key=lambda id_: (-round(cosines[id_], 6), id_))[:k]


def queries(n: int) -> np.ndarray:
    found = np.random.default_rng(1).normal(size=(n, D)).astype(np.float32)
    return found / np.linalg.norm(found, axis=1, keepdims=True)


def check(folder: Path, connection: sqlite3.Connection, ids: list[int], vectors: np.ndarray) -> SQLiteStore:
    store = SQLiteStore(folder)
    for query in [*queries(20), vectors[3]]:
        for k in (1, 7, 1000):
            found = nearest(connection, store, query, k)
            assert [id_ for id_, _ in found] == brute_force(ids, vectors, query, k)
            for id_, cosine in found:
                assert cosine == pytest.approx(float(vectors[id_ - 1] @ query), abs=1e-6)
    return store


def test_without_a_file(filled: tuple[Path, sqlite3.Connection, np.ndarray]) -> None:
    folder, connection, vectors = filled
    check(folder, connection, list(range(1, 301)), vectors)


def test_with_a_file_a_tail_and_deleted_passages(filled: tuple[Path, sqlite3.Connection, np.ndarray]) -> None:
    folder, connection, vectors = filled
    ann = write_file(connection, D, folder, 1)
    assert ann is not None
    Writer(connection).name_vectors(ann)
    assert (ann.watermark, ann.count) == (300, 300)
    store = check(folder, connection, list(range(1, 301)), vectors)
    assert store.vectors.problem == ""

    more = queries(30)[::-1].copy()
    add(connection, more)
    gone = [*range(1, 300, 7), 305]
    connection.executemany("DELETE FROM passages WHERE id = ?", [(id_,) for id_ in gone])
    connection.executemany("INSERT INTO tombstones VALUES (?)", [(id_,) for id_ in gone[:-1]])
    count_anew(connection)
    ids = [id_ for id_ in range(1, 331) if id_ not in gone]
    check(folder, connection, ids, np.concatenate([vectors, more]))


@pytest.mark.parametrize("damage", ["missing", "truncated", "header"])
def test_a_damaged_file_is_never_parsed_and_answers_stay_exact(
    filled: tuple[Path, sqlite3.Connection, np.ndarray], damage: str
) -> None:
    folder, connection, vectors = filled
    ann = write_file(connection, D, folder, 1)
    assert ann is not None
    Writer(connection).name_vectors(ann)
    file = folder / ann.file
    data = bytearray(file.read_bytes())
    if damage == "missing":
        file.unlink()
    elif damage == "truncated":
        file.write_bytes(data[:-5])
    else:
        data[9] ^= 1
        file.write_bytes(data)
    store = check(folder, connection, list(range(1, 301)), vectors)
    assert ann.file in store.vectors.problem
    assert "seewhy repair" in store.vectors.problem


def test_what_cannot_be_found_is_an_error_and_not_a_shorter_answer(
    filled: tuple[Path, sqlite3.Connection, np.ndarray],
) -> None:
    folder, connection, vectors = filled
    store = SQLiteStore(folder)
    connection.execute("DELETE FROM passages WHERE id = 5")
    with pytest.raises(IndexDamaged, match="should hold 300 passages, but 299 were found.*seewhy repair"):
        nearest(connection, store, vectors[3], 1)
    count_anew(connection)
    nearest(connection, store, vectors[3], 1)
    connection.execute("UPDATE embeddings SET checksum = checksum + 1 WHERE passage = 299")
    with pytest.raises(IndexDamaged, match="embedding of passage 299 is damaged.*seewhy repair"):
        nearest(connection, store, vectors[3], 1)


def test_embeddings_that_stand_where_others_belong_are_noticed(
    filled: tuple[Path, sqlite3.Connection, np.ndarray],
) -> None:
    """A page of the table is a copy of another: every row is sound, and their number is right."""
    folder, connection, vectors = filled
    data = bytearray((folder / "index.db").read_bytes())
    size = connection.execute("PRAGMA page_size").fetchone()[0]
    one, other = (data.index(vectors[row].tobytes()) // size * size for row in (150, 250))
    assert one != other
    data[other : other + size] = data[one : one + size]
    (folder / "index.db").write_bytes(data)
    with closing(sqlite3.connect(folder / "index.db")) as again:
        assert again.execute("SELECT count(*) FROM (SELECT vector FROM embeddings)").fetchone() == (300,)
        with pytest.raises(IndexDamaged, match="stand where others belong.*--rebuild"):
            nearest(again, SQLiteStore(folder), vectors[250], 1)


def test_a_vector_that_was_changed_in_the_file_is_noticed_where_it_is_found(
    filled: tuple[Path, sqlite3.Connection, np.ndarray],
) -> None:
    folder, connection, vectors = filled
    ann = write_file(connection, D, folder, 1)
    assert ann is not None
    Writer(connection).name_vectors(ann)
    query = queries(1)[0]
    data = bytearray((folder / ann.file).read_bytes())
    place = data.index(vectors[11].tobytes())
    data[place : place + 4 * D] = query.tobytes()  # by the file, the best hit of all
    (folder / ann.file).write_bytes(data)
    store = SQLiteStore(folder)
    assert [id_ for id_, _ in nearest(connection, store, query, 5)] == brute_force(
        list(range(1, 301)), vectors, query, 5
    )
    assert "seewhy repair" in store.vectors.problem


def test_file_names_are_never_given_twice(filled: tuple[Path, sqlite3.Connection, np.ndarray]) -> None:
    folder, connection, _ = filled
    first, second = write_file(connection, D, folder, 7), write_file(connection, D, folder, 7)
    assert isinstance(first, Ann) and isinstance(second, Ann)
    assert first.file != second.file
    assert re.fullmatch(r"ann/g7-[0-9a-f]{16}\.faiss", first.file)
    assert (folder / first.file).stat().st_size == first.size
    assert list((folder / "tmp").iterdir()) == []
