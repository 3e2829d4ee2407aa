"""Small judged data, made here."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest


def write_lines(path: Path, records: Sequence[Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records), encoding="utf-8")
    return path


DOCUMENTS = {
    "d1": ("keys", "to rotate the key, open the door and turn the lock."),
    "d2": ("", "many people say that time is long."),
    "d3": ("water", "the key is in the water, and the water is long."),
    "d4": ("", "write a word, then look at how it is used."),
    "d5": ("sound", "a long sound from the first side of the door."),
}
QUERIES = {"q1": "turn the lock", "q2": "time is long", "q3": "nothing judged", "q4": "where is the key"}
QRELS = [("q1", "d1", 2), ("q1", "d5", 1), ("q2", "d2", 1), ("q4", "d3", 1), ("q4", "d1", 0)]


@pytest.fixture
def beir(tmp_path: Path) -> Path:
    """A folder in BEIR layout; the query q3 is not judged."""
    folder = tmp_path / "tiny-set"
    documents = [{"_id": id_, "title": title, "text": text} for id_, (title, text) in DOCUMENTS.items()]
    write_lines(folder / "corpus.jsonl", documents)
    write_lines(folder / "queries.jsonl", [{"_id": id_, "text": text} for id_, text in QUERIES.items()])
    write_qrels(folder, QRELS)
    return folder


def write_qrels(folder: Path, judged: Sequence[tuple[str, str, int]], split: str = "test") -> None:
    (folder / "qrels").mkdir(exist_ok=True)
    rows = "".join("\t".join(map(str, row)) + "\n" for row in judged)
    (folder / "qrels" / f"{split}.tsv").write_text(
        f"query-id\tcorpus-id\tscore\n{rows}", encoding="utf-8"
    )


@pytest.fixture
def squad(tmp_path: Path) -> Path:
    """Two articles with three paragraphs, one of them twice."""
    paragraphs = [
        ("The_door", "To rotate the key, open the door.", ["what opens", "how do i rotate the key"]),
        ("The_door", "The water is long.", ["what is long"]),
        ("Time", "Many people say that time is long.", ["what do people say"]),
        ("The_door", "The water is long.", ["is the water long"]),
    ]
    data = []
    for number, (title, context, questions) in enumerate(paragraphs):
        entries = [
            {"id": f"{number}-{i}", "question": text, "answers": []} for i, text in enumerate(questions)
        ]
        data.append({"title": title, "paragraphs": [{"context": context, "qas": entries}]})
    path = tmp_path / "tiny-squad.json"
    path.write_text(json.dumps({"version": "1.1", "data": data}), encoding="utf-8")
    return path
