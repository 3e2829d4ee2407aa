"""Ways to damage an index, one a function, for the tests of check and repair."""

from __future__ import annotations

import sqlite3
import struct
import zlib
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from search.store.checksums import row_checksum


def execute(index: Path, *statements: str, links: bool = False) -> None:
    """Change index.db behind the program's back; `links` lets SQLite delete what hangs on a row."""
    with closing(sqlite3.connect(index / "index.db", isolation_level=None)) as connection:
        connection.create_function("row_checksum", -1, row_checksum)
        connection.create_function("crc32", 1, zlib.crc32)
        connection.create_function("begun_with", 2, lambda start, data: start + data[len(start) :])
        connection.execute(f"PRAGMA foreign_keys = {int(links)}")
        connection.execute("BEGIN")
        for statement in statements:
            connection.execute(statement)
        connection.execute("COMMIT")


def sql(*statements: str, links: bool = False) -> Callable[[Path], None]:
    return lambda index: execute(index, *statements, links=links)


def faiss_file(index: Path) -> Path:
    (file,) = (index / "ann").glob("*.faiss")
    return file


def overwrite(index: Path, data: bytes) -> None:
    (index / "index.db").write_bytes(data)


def another_faiss_file(index: Path) -> None:
    (index / "ann" / "g9-0123456789abcdef.faiss").write_bytes(b"x")


def truncate_faiss(index: Path) -> None:
    truncate(faiss_file(index))


def flip_faiss(index: Path) -> None:
    flip(faiss_file(index))


def file_of_words(index: Path) -> Path:
    (file,) = (index / "ann").glob("*.words")
    return file


def truncate_words(index: Path) -> None:
    truncate(file_of_words(index))


def flip_words(index: Path) -> None:
    flip(file_of_words(index))


def truncate(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-7])


def flip(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 4
    file.write_bytes(data)


def flip_in_database(old: bytes, new: bytes) -> Callable[[Path], None]:
    """Change the first place where some bytes stand in the file, as a bad disk would."""

    def damage(index: Path) -> None:
        data = (index / "index.db").read_bytes()
        assert data.count(old) >= 1
        (index / "index.db").write_bytes(data.replace(old, new, 1))

    return damage


def other_vectors(index: Path) -> None:
    """A FAISS file of the right size with the vectors in the wrong order."""
    import faiss
    import numpy as np

    file = faiss_file(index)
    flat = faiss.read_index(str(file))
    ids = faiss.vector_to_array(flat.id_map)
    vectors = faiss.downcast_index(flat.index).reconstruct_n(0, flat.ntotal)
    kind = faiss.ScalarQuantizer.QT_8bit_direct_signed
    other = faiss.IndexIDMap(faiss.IndexScalarQuantizer(vectors.shape[1], kind, faiss.METRIC_INNER_PRODUCT))
    other.add_with_ids(np.ascontiguousarray(vectors[::-1]), ids)
    faiss.write_index(other, str(file))


def page_of(index: Path, table: str) -> tuple[int, int]:
    """Offset of a table's root page in index.db, and the size of a page."""
    with closing(sqlite3.connect(index / "index.db")) as connection:
        (root,) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (table,)).fetchone()
        (size,) = connection.execute("PRAGMA page_size").fetchone()
    return (root - 1) * size, size


def zero_page_of(table: str) -> Callable[[Path], None]:
    def damage(index: Path) -> None:
        offset, size = page_of(index, table)
        with (index / "index.db").open("r+b") as stream:
            stream.seek(offset)
            stream.write(bytes(size))

    return damage


def cut_end(index: Path) -> None:
    data = (index / "index.db").read_bytes()
    (index / "index.db").write_bytes(data[: len(data) * 3 // 4])


def confuse_an_index_of_sqlite(index: Path) -> None:
    """An index that does not have the rows of its table."""
    with closing(sqlite3.connect(index / "index.db", isolation_level=None)) as connection:
        connection.execute("PRAGMA writable_schema = 1")
        connection.execute(
            "UPDATE sqlite_master SET sql = 'CREATE INDEX embeddings_content ON embeddings (vector)' "
            "WHERE name = 'embeddings_content'"
        )


NAN = struct.pack("<f", float("nan")).hex()
