"""An index that programs without seewhy read: by SQLite and by FAISS, as indexes/README.md says."""

import json
import os
import re
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import sqlite_utils

from search import Encoder, Index

REPOSITORY = Path(__file__).parent.parent.parent
PAGE = REPOSITORY / "indexes" / "README.md"


def program() -> str:
    (text,) = [
        block
        for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
        if "read_index" in block
    ]
    return text


def rows(index: Index, columns: str, where: str = "1") -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(index.path / "index.db")) as connection:
        return connection.execute(
            f"SELECT {columns} FROM passages_in_files WHERE {where} ORDER BY passage"
        ).fetchall()


def test_the_program_of_the_page_prints_the_hits_of_a_dense_query(
    real: Encoder, tmp_path: Path, own_home: Path
) -> None:
    folder = tmp_path / "letters"
    folder.mkdir()
    for file in sorted((REPOSITORY / "corpora" / "household").rglob("*.txt"))[:12]:
        (folder / file.name).write_bytes(file.read_bytes())
    index = Index.build(folder, model=real)
    (folder / "new.txt").write_text("The deposit for the flat was paid.", encoding="utf-8")  # the tail
    index.update()
    question = "how much is the deposit"
    hits = index.query(question, mode="dense", per_document=0, all_copies=True)
    process = subprocess.run(
        [sys.executable, "-c", program(), str(index.path), question],
        capture_output=True,
        text=True,
        check=True,
    )
    lines = [line.split(" ", 1) for line in process.stdout.splitlines()]
    places = dict(rows(index, "passage, place"))
    assert [line[1] for line in lines] == [places[hit.passage_id] for hit in hits]
    assert [float(line[0]) for line in lines] == pytest.approx([hit.score for hit in hits], abs=1e-4)


@pytest.fixture
def index(notes: Path, tiny_model: Path) -> Index:
    return Index.build(notes, model=str(tiny_model))


def test_the_view_has_a_legible_row_for_each_passage(index: Index, notes: Path) -> None:
    hits = index.query("key", k=100, mode="dense", per_document=0, all_copies=True)
    legible = {row[0]: row[1:] for row in rows(index, "passage, document, text, line_start, heading")}
    assert legible == {
        hit.passage_id: (hit.document, hit.text, hit.line_start, hit.heading) for hit in hits
    }
    assert ("table.csv#2:3",) in rows(index, "place", "file = 'table.csv'")
    table = sqlite_utils.Database(index.path / "index.db")["passages_in_files"]
    assert sum(1 for _ in table.rows) == len(hits)


@pytest.mark.skipif(os.name == "nt" or sys.platform == "darwin", reason="no such file names there")
def test_a_file_name_that_is_no_text_can_be_read_in_sql(tmp_path: Path, tiny_model: Path) -> None:
    (tmp_path / "notes").mkdir()
    path = os.fsencode(tmp_path / "notes") + b"/caf\xe9.txt"
    Path(os.fsdecode(path)).write_text("coffee", encoding="utf-8")
    index = Index.build(tmp_path / "notes", model=str(tiny_model))
    assert rows(index, "place") == [(r"caf\xe9.txt:1",)]
    Path(os.fsdecode(path)).rename(os.fsdecode(os.fsencode(tmp_path / "notes") + b"/th\xe9.txt"))
    index.update()
    assert rows(index, "place") == [(r"th\xe9.txt:1",)]


def test_a_page_is_part_of_the_place_and_times_are_legible(index: Index) -> None:
    with closing(sqlite3.connect(index.path / "index.db")) as connection, connection:
        connection.execute("UPDATE passages SET page = 3 WHERE id = 1")
        connection.execute("UPDATE files SET mtime_ns = 1700000000000000000")
    ((place, document, modified),) = rows(index, "place, document, modified", "passage = 1")
    assert (place, modified) == (f"{document} page 3", "2023-11-14 22:13:20")
    assert json.loads(rows(index, "metadata", "passage = 1")[0][0]) == {}


def test_the_queries_of_page_28_run(index: Index) -> None:
    page = REPOSITORY / "corpora" / "handbook" / "28-what-is-stored.md"
    (block,) = re.findall(r"```sql\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    statements = [statement for statement in block.split(";") if statement.strip()]
    with closing(sqlite3.connect(index.path / "index.db")) as connection:
        answers = [connection.execute(statement).fetchall() for statement in statements]
    assert len(answers) == 5
    longest, changed, _, languages, _ = answers
    assert longest[0][0] in {hit.document for hit in index.query("key", k=99)}
    assert {row[0] for row in changed} <= {row[0] for row in rows(index, "file")}
    assert sum(row[1] for row in languages) == len({row[0] for row in rows(index, "document")})
