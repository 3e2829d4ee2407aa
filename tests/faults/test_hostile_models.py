"""Models that return no numbers, and indexes that somebody made or changed to do harm."""

import contextlib
import json
import os
import shutil
import sqlite3
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import faiss
import numpy as np
import pytest

from search import Index, IndexDamaged, SearchError
from search.encoding import Encoder
from search.store.checksums import COVERED, row_checksum
from search.store.codes import checksum, size_of
from search.store.postings import _HEADER
from search.store.segments import read_segments
from tests.conftest import Run, save_tiny_bert


@pytest.fixture
def run(run: Run, capsys: pytest.CaptureFixture[str]) -> Run:
    """As everywhere, without what was printed before."""

    def command(*args: Any) -> tuple[int, str, str]:
        capsys.readouterr()
        return run(*args)

    return command


def fails_plainly(run: Run, *args: Any) -> str:
    """The one line on stderr with which a command ends."""
    code, out, err = run(*args)
    assert (code, out) == (1, ""), err
    assert err.startswith("seewhy: ")
    assert "Traceback" not in err
    assert len(err.splitlines()) == 1
    return err


def ranked(answer: tuple[int, str, str]) -> list[tuple[str, float]]:
    """Passages and scores of an answer: two sums of the same products may differ in the last digit."""
    code, out, err = answer
    assert code == 0, err
    return [(hit["text"], pytest.approx(hit["score"], abs=1e-5)) for hit in json.loads(out)]


# Models.


def broken_model(folder: Path, value: float) -> Path:
    """A tiny BERT whose last layer returns one value throughout."""
    from safetensors.torch import load_file, save_file

    save_tiny_bert(folder)
    weights = load_file(folder / "model.safetensors")
    weights["encoder.layer.2.output.LayerNorm.weight"][:] = 0
    weights["encoder.layer.2.output.LayerNorm.bias"][:] = value
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    return folder


@pytest.mark.parametrize("engine", ["openvino", "torch"])
@pytest.mark.parametrize(
    ("value", "said"),
    [(float("nan"), "NaN or infinity"), (float("inf"), "NaN or infinity"), (0.0, "zeros")],
)
def test_a_model_that_returns_no_embeddings(
    run: Run, notes: Path, tmp_path: Path, own_home: Path, engine: str, value: float, said: str
) -> None:
    model = broken_model(tmp_path / "broken", value)
    line = fails_plainly(run, "index", notes, "--model", model, "--engine", engine, "--index", "new")
    # OpenVINO's are compared with PyTorch's when a model is converted, so that is where they are noticed.
    assert f"'{model}' return" in line and said in line
    database = own_home / "indexes" / "new" / "index.db"
    with contextlib.closing(sqlite3.connect(database)) as connection:
        for table in ("passages", "embeddings", "documents"):
            assert connection.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)


@pytest.mark.parametrize("value", [float("nan"), 0.0])
def test_an_index_outlives_a_broken_model(
    run: Run, notes: Path, tiny_model: Path, tmp_path: Path, value: float
) -> None:
    model = tmp_path / "model"
    shutil.copytree(tiny_model, model)
    assert run("index", notes, "--model", model, "--index", "i")[0] == 0
    before = run("query", "the key", "--json", "-q", "-i", "i")
    broken = broken_model(tmp_path / "broken", value)
    (notes / "more.md").write_text("More water.", encoding="utf-8")
    fails_plainly(run, "index", notes, "--model", broken, "--index", "i")
    fails_plainly(run, "index", notes, "--model", broken, "--index", "i", "--rebuild")
    assert run("query", "the key", "--json", "-q", "-i", "i") == before
    assert run("index", notes, "--index", "i")[0] == 0
    assert "more.md" in run("query", "More water.", "-i", "i")[1]


# The files of segments. Their sizes and sums are right, as somebody who can write index.db can make them.


@pytest.fixture
def index(notes: Path, tiny_model: Path) -> Path:
    report = Index.build(notes, model=str(tiny_model)).report
    assert report is not None
    return Path(report.index)


def name_segment(index: Path, **changes: Any) -> None:
    """Change the row of the first segment, with the checksum that belongs to it."""
    with contextlib.closing(sqlite3.connect(index / "index.db")) as connection, connection:
        segment, *_ = read_segments(connection)
        row = {name: getattr(segment, name) for name in COVERED["segments"]} | changes
        connection.execute("DELETE FROM segments WHERE id = ?", (segment.id,))
        marks = ", ".join("?" * (len(row) + 1))
        connection.execute(
            f"INSERT INTO segments VALUES ({marks})", (*row.values(), row_checksum(*row.values()))
        )


def first_file(index: Path, kind: str) -> Path:
    """One of the files of the first segment: "faiss" or "words"."""
    with contextlib.closing(sqlite3.connect(index / "index.db")) as connection:
        return index / getattr(read_segments(connection)[0], kind)


def crafted(data: bytes, count: int, how: str) -> bytes:
    flat = bytearray(data)
    huge = struct.pack("<q", 2**60)
    if how == "pickle":
        return b"\x80\x04cos\nsystem\n(S'true'\ntR."
    if how == "huge count":
        flat[8:16] = huge
    elif how == "huge inner count":
        flat[45:53] = huge
    elif how == "huge size":
        flat[110:118] = huge
    elif how == "huge ids":
        flat[len(flat) - 8 * count - 8 : len(flat) - 8 * count] = huge
    elif how == "other dimension":
        return written(faiss.IndexScalarQuantizer(16, SIGNED, faiss.METRIC_INNER_PRODUCT))
    elif how == "other metric":
        return written(faiss.IndexScalarQuantizer(32, SIGNED, faiss.METRIC_L2))
    elif how == "other quantizer":
        return written(
            faiss.IndexScalarQuantizer(32, faiss.ScalarQuantizer.QT_8bit, faiss.METRIC_INNER_PRODUCT)
        )
    elif how == "other kind":
        return bytes(faiss.serialize_index(faiss.IndexHNSWFlat(32, 4)).tobytes())
    elif how == "other letters":
        flat[:4] = b"IxPT"
    return bytes(flat)


SIGNED = faiss.ScalarQuantizer.QT_8bit_direct_signed


def written(vectors: Any) -> bytes:
    numbered = faiss.IndexIDMap(vectors)
    numbered.train(np.ones((5, vectors.d), dtype=np.float32))
    numbered.add_with_ids(np.ones((5, vectors.d), dtype=np.float32), np.arange(1, 6))
    return bytes(faiss.serialize_index(numbered).tobytes())


HOW = (
    "pickle",
    "huge count",
    "huge inner count",
    "huge size",
    "huge ids",
    "other dimension",
    "other metric",
    "other quantizer",
    "other kind",
    "other letters",
)


@pytest.mark.parametrize("how", HOW)
def test_a_crafted_faiss_file_of_the_right_sums(
    run: Run, index: Path, notes: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    before = run("query", "the key", "--json", "-i", notes)
    file = first_file(index, "faiss")
    original = file.read_bytes()
    data = crafted(original, (len(original) - size_of(0, 32)) // (32 + 8), how)
    assert data != original
    file.write_bytes(data)
    name_segment(index, codes_crc=checksum(data))

    def parsed(path: object) -> None:
        raise AssertionError("a crafted file was parsed")

    with monkeypatch.context() as patch:
        patch.setattr(faiss, "read_index", parsed)
        code, out, err = run("query", "the key", "--json", "-i", notes)
    assert ranked((code, out, err)) == ranked(before)
    assert "is damaged or missing" in err
    assert "Mend it with: seewhy repair" in err
    assert run("repair", "-i", index)[0] == 0
    after = run("query", "the key", "--json", "-i", notes)
    assert (ranked(after), after[2]) == (ranked(before), "")


def crafted_words(data: bytes, how: str) -> bytes:
    if how == "pickle":
        return crafted(data, 0, how)
    if how == "of one byte":
        return data[:1]
    start = bytearray(data[: _HEADER.size])
    at, changed = {
        "other magic": (0, b"SEEWHY"),
        "huge passages": (32, b"\xff" * 4),
        "huge stems": (36, b"\xff" * 4),
        "huge postings": (40, struct.pack("<q", 2**60)),
        "huge id": (64, struct.pack("<q", 2**63 - 1)),
    }[how]
    start[at : at + len(changed)] = changed
    return bytes(start) + struct.pack("<I", zlib.crc32(start)) + data[len(start) + 4 :]


@pytest.mark.parametrize(
    "how",
    ["pickle", "of one byte", "other magic", "huge passages", "huge stems", "huge postings", "huge id"],
)
def test_a_crafted_file_of_words_of_the_right_sums(run: Run, index: Path, notes: Path, how: str) -> None:
    before = run("query", "the key", "--json", "-i", notes)
    file = first_file(index, "words")
    data = crafted_words(file.read_bytes(), how)
    file.write_bytes(data)
    name_segment(index, words_size=len(data), words_crc=zlib.crc32(data))
    assert "damaged" in fails_plainly(run, "query", "the key", "--json", "-i", notes)
    assert run("query", "the key", "--json", "--mode", "dense", "-i", notes)[0] == 0
    assert run("repair", "-i", index)[0] == 0
    after = run("query", "the key", "--json", "-i", notes)
    assert (ranked(after), after[2]) == (ranked(before), "")


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "file", ["/dev/zero", "../../../../../../etc/passwd", "\0", "", ".", "pipe", "x" * 5000]
)
def test_a_row_that_names_another_file(run: Run, index: Path, notes: Path, file: str) -> None:
    before = run("query", "the key", "--json", "-i", notes)
    if hasattr(os, "mkfifo"):
        os.mkfifo(index / "ann" / "pipe.faiss")
    name_segment(index, file=file)
    assert "makes no sense" in fails_plainly(run, "query", "the key", "--json", "-i", notes)
    assert run("repair", "-i", index)[0] == 0
    after = run("query", "the key", "--json", "-i", notes)
    assert (ranked(after), after[2]) == (ranked(before), "")


@pytest.mark.timeout(60)
@pytest.mark.parametrize("kind", ["faiss", "words"])
def test_a_pipe_in_place_of_a_file(run: Run, index: Path, notes: Path, kind: str) -> None:
    if not hasattr(os, "mkfifo"):
        pytest.skip("this system has no named pipes")
    before = run("query", "the key", "--json", "-i", notes)
    file = first_file(index, kind)
    file.unlink()
    os.mkfifo(file)
    code, out, err = run("query", "the key", "--json", "-i", notes)
    assert "damaged or missing" in err
    if kind == "faiss":
        assert ranked((code, out, err)) == ranked(before)
    else:
        assert code == 1


@pytest.mark.parametrize("count", [-1, 0, 4, 2**62])
def test_a_row_with_another_count(index: Path, notes: Path, count: int) -> None:
    name_segment(index, count=count)
    with contextlib.suppress(IndexDamaged):
        opened = Index.open(notes)
        opened.query("the key")
        assert opened.notes


# index.db


def sql(*statements: str) -> Callable[[Path], None]:
    def change(database: Path) -> None:
        with contextlib.closing(sqlite3.connect(database)) as connection, connection:
            for statement in statements:
                connection.execute(statement)

    return change


def replaced(data: bytes) -> Callable[[Path], None]:
    return lambda database: database.write_bytes(data) and None


def meta(key: str, value: Any, raw: bool = False) -> Callable[[Path], None]:
    """Set a value of the table `meta`, with the checksum that belongs to it."""

    def change(database: Path) -> None:
        pair = (key, value if raw else json.dumps(value))
        with contextlib.closing(sqlite3.connect(database)) as connection, connection:
            connection.execute(
                "INSERT OR REPLACE INTO meta (key, value, checksum) VALUES (?, ?, ?)",
                (*pair, row_checksum(*pair)),
            )

    return change


def of_others(database: Path) -> None:
    database.unlink()
    sql("CREATE TABLE bookmarks (id INTEGER PRIMARY KEY, url TEXT)", "INSERT INTO bookmarks VALUES (1, 'a')")(
        database
    )


def write_ahead_log(database: Path) -> None:
    with contextlib.closing(sqlite3.connect(database)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")


CHANGES = {
    "no database": replaced(b"This is a letter to a friend. " * 1000),
    "nothing": replaced(b""),
    "zeros": replaced(bytes(8192)),
    "of others": of_others,
    "views": sql("ALTER TABLE passages RENAME TO p", "CREATE VIEW passages AS SELECT * FROM p WHERE 0"),
    "endless view": sql(
        "ALTER TABLE documents RENAME TO d",
        "CREATE VIEW documents AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n LIMIT 9) "
        "SELECT d.* FROM d, n",
    ),
    "no tables": sql("DROP TABLE embeddings", "DROP TABLE passages"),
    "short vector": sql("UPDATE embeddings SET vector = x'0000803f' WHERE passage = 1"),
    "NaN vector": sql(f"UPDATE embeddings SET vector = x'{'0000c07f' * 32}'"),
    "wrong text": sql("UPDATE passages SET text = 'something else entirely'"),
    "wrong line": sql("UPDATE passages SET line_start = -5"),
    "no JSON": meta("fingerprint", "{", raw=True),
    "fingerprint of another kind": meta("fingerprint", ["a"]),
    "fingerprint without a field": meta("fingerprint", {"model": "a"}),
    "version 999": meta("schema_version", 999),
    "version of text": meta("schema_version", "2"),
    "version null": meta("schema_version", None),
    "version true": meta("schema_version", True),
    "root of another kind": meta("root", 7),
    "no root": sql("DELETE FROM meta WHERE key = 'root'"),
    "source of another kind": meta("source", "x"),
    "metadata": sql("UPDATE documents SET metadata = '{'"),
    "path": sql("UPDATE files SET path = x'2e2e2f2e2e2f657463' WHERE id = 1"),
    "write-ahead log": write_ahead_log,
}


@pytest.mark.timeout(120)
@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("command", ["query", "status", "index", "list"])
def test_a_crafted_database(run: Run, index: Path, notes: Path, name: str, command: str) -> None:
    CHANGES[name](index / "index.db")
    args = {"query": ["query", "the key", "-i", index], "status": ["status", "-i", index]}
    code, out, err = run(*args.get(command, [command, *([notes, "-i", index] if command == "index" else [])]))
    assert code in (0, 1)
    if code == 1:
        assert (out, len(err.splitlines())) == ("", 1), err
        assert err.startswith("seewhy: ")


def test_a_folder_in_place_of_the_database(run: Run, index: Path, notes: Path) -> None:
    (index / "index.db").unlink()
    (index / "index.db").mkdir()
    assert "no index" in fails_plainly(run, "query", "the key", "-i", index)
    fails_plainly(run, "index", notes, "-i", index)


def test_a_journal_made_by_hand(index: Path, run: Run) -> None:
    before = run("query", "the key", "--json", "-i", index)
    (index / "index.db-journal").write_bytes(os.urandom(4096))
    assert run("query", "the key", "--json", "-i", index) == before


def test_an_answer_is_right_or_an_error(index: Path, tiny: Encoder) -> None:
    """A vector that is NaN or of another text, with the right checksum of its own."""
    with contextlib.closing(sqlite3.connect(index / "index.db")) as connection, connection:
        connection.execute("UPDATE passages SET text = 'fake news' WHERE id = 1")
        connection.execute("DELETE FROM segments")
    with pytest.raises(SearchError, match="damaged"):
        Index.open(index).query("fake news")
