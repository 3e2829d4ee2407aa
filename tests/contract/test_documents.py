"""Documents and their passages: spans, lines, metadata; nothing of a text is lost."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import search
from tests.contract.oracle import Oracle, write_folder


def test_passages_are_spans_of_their_documents(index: search.Index, oracle: Oracle) -> None:
    for id_ in {row.document_id for row in oracle.rows}:
        document = index.document(id_)
        assert document.passages
        for passage in document.passages:
            assert document.text[passage.start : passage.end] == passage.text
            assert index.passage(passage.passage_id) == passage
        for hit in index.query(
            "the", k=3, mode="dense", where=f'path:"{document.document.partition("#")[0]}"'
        ):
            assert index.document(hit.document_id).text[hit.start : hit.end] == hit.text
    for ask in (index.document, index.passage):
        with pytest.raises(search.InputError):
            ask(10**9)


def test_hits_are_the_passages_that_documents_have(index: search.Index, oracle: Oracle) -> None:
    for hit in index.query("water", k=10_000, per_document=0, all_copies=True):
        row = oracle[hit.passage_id]
        assert (hit.text, hit.path, hit.title, hit.heading, hit.document_id, dict(hit.metadata)) == (
            row.text, row.path, row.title, row.heading, row.document_id, row.metadata
        )  # fmt: skip
        passage = index.passage(hit.passage_id)
        assert (hit.start, hit.end) == (passage.start, passage.end)
        assert (hit.line_start, hit.line_end) == (passage.line_start, passage.line_end)


def test_nothing_of_a_plain_text_is_lost(index: search.Index, oracle: Oracle, folder: Path) -> None:
    files = sorted((folder / "txt").iterdir())
    for file in files:
        rows = [row for row in oracle.rows if row.path == str(file)]
        document = index.document(rows[0].document_id)
        text = file.read_bytes().decode()
        covered = set()
        for passage in document.passages:
            covered |= set(range(passage.start, passage.end))
            assert text[passage.start : passage.end].split() == passage.text.split()
        assert [
            position
            for position, character in enumerate(text)
            if not character.isspace() and position not in covered
        ] == []
    assert len(files) == 24


def test_every_file_and_record_is_indexed(index: search.Index, oracle: Oracle, folder: Path) -> None:
    files = {str(file) for file in folder.rglob("*") if file.is_file()}
    assert {row.path for row in oracle.rows} == files
    status = index.status()
    assert status.documents == len({row.document_id for row in oracle.rows}) == len(files) - 2 + 60 + 40
    assert index.report is not None
    assert (index.report.added, index.report.truncated_tokens) == (len(files), 0)


def test_lines_are_those_of_the_source(index: search.Index, oracle: Oracle) -> None:
    for hit in index.query("the", k=10_000, mode="dense", per_document=0, all_copies=True):
        lines = Path(hit.path).read_bytes().decode().splitlines()[hit.line_start - 1 : hit.line_end]
        assert len(lines) == hit.line_end - hit.line_start + 1
        row = oracle[hit.passage_id]
        if row.kind == "jsonl":
            assert hit.text in json.loads(lines[0])["text"]
        elif row.kind == "csv":
            assert (
                hit.text.split() == " ".join(lines).split(",", 1)[1].rsplit(",", 2)[0].strip('"').split()
            )
        else:
            assert hit.text.replace("\r\n", "\n") in "\n".join(lines)
            assert hit.text.splitlines()[0] in lines[0]
            assert hit.text.splitlines()[-1] in lines[-1]


def test_metadata_comes_from_front_matter_and_fields(index: search.Index, folder: Path) -> None:
    record = json.loads((folder / "records.jsonl").read_text().splitlines()[8])
    (hit,) = index.query("the", k=1, where="id=8 and kind=jsonl")
    assert {**hit.metadata, "text": hit.text} == record
    (front,) = [
        json.loads(line.removeprefix("tags: "))
        for line in (folder / "md/m01.md").read_text().splitlines()
        if line.startswith("tags: ")
    ]
    assert index.query("the", k=1, where="path:md/m01.md")[0].metadata["tags"] == front


def test_facets_count_documents(index: search.Index, oracle: Oracle) -> None:
    facets = {facet.field: facet for facet in index.facets()}
    documents = {row.document_id: row for row in oracle.rows}.values()
    for field, value_of in (
        ("kind", lambda row: row.kind),
        ("lang", lambda row: row.metadata.get("lang")),
    ):
        for value in facets[field].values:
            assert value.documents == sum(value_of(row) == value.value for row in documents)
            hits = index.query(
                "the", k=10_000, where=value.where, per_document=1, all_copies=True, mode="dense"
            )
            assert len({hit.document_id for hit in hits}) == value.documents


def test_several_folders_make_one_index(tmp_path: Path, tiny_model: Path) -> None:
    folders = [tmp_path / "a", tmp_path / "b"]
    for number, folder in enumerate(folders):
        folder.mkdir()
        (folder / "same.txt").write_text(f"The door number {number}.\n")
    index = search.Index.build(folders, index=str(tmp_path / "index"), model=str(tiny_model))
    assert {hit.path for hit in index.query("door")} == {str(folder / "same.txt") for folder in folders}


def test_skipped_files_are_counted(tmp_path: Path, tiny_model: Path) -> None:
    folder = write_folder(tmp_path / "notes", seed=1)
    (folder / "binary.txt").write_bytes(bytes(range(256)) * 20)
    (folder / "empty.md").write_text("\n")
    changes = search.Index.preview(folder, index=str(tmp_path / "index"), include=["*.md", "/*.txt"])
    index = search.Index.build(
        folder, index=str(tmp_path / "index"), model=str(tiny_model), include=["*.md", "/*.txt"]
    )
    assert index.report is not None
    assert index.report.added == len(changes.added) == 14
    assert sum(group.count for group in index.report.skipped) >= 2
    assert {Path(hit.path).suffix for hit in index.query("the", k=1000)} == {".md"}
