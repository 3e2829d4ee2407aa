"""A damaged file of a segment is refused or does no harm; a damaged input file is read or skipped."""

import os
from pathlib import Path

import pytest

from search.indexing.update import update
from search.records.reports import Report
from search.store.settings import PassageSettings, Source
from tests.faults.double import WordEncoder
from tests.faults.mutate import (
    damaged_inputs,
    damaged_models,
    damaged_packages,
    flipped_segments,
)
from tests.faults.packages import packages

SEED = 4


def test_flipped_bits_of_segments(place: Path) -> None:
    outcome = flipped_segments(place, seed=SEED, files=20)
    outcome.require_clean()
    assert outcome.runs == 20
    assert outcome.figures["right"] and outcome.figures["refused: hybrid, lexical"]
    trusting = flipped_segments(place, seed=SEED, files=150, name="segments_trusted", enough=1)
    assert any("a wrong answer" in failure for failure in trusting.failures), trusting.failures


def test_damaged_input_files(place: Path) -> None:
    outcome = damaged_inputs(place, seed=SEED, files=150)
    outcome.require_clean()
    assert outcome.runs == 150
    assert outcome.figures["read"] and outcome.figures["skipped"]


def test_damaged_converted_models(place: Path) -> None:
    outcome = damaged_models(place, seed=SEED, files=12)
    outcome.require_clean()
    assert outcome.runs == 12
    assert outcome.figures["made again"]
    trusting = damaged_models(place, seed=SEED, files=60, name="models_trusted", enough=1)
    assert any("off by" in failure for failure in trusting.failures), trusting.failures


def test_a_parser_that_raises_is_noticed(place: Path) -> None:
    outcome = damaged_inputs(place, seed=SEED, files=60, name="parser_raises")
    assert any("IndexError" in failure for failure in outcome.failures), outcome.failures


def test_damaged_packages(place: Path) -> None:
    if not packages():
        pytest.skip("the extra 'documents' is not installed")
    outcome = damaged_packages(place, seed=SEED, files=20)
    outcome.require_clean()
    assert outcome.runs == 20


WORST = {
    "a.html": "<" * 20_000,
    "b.md": "- a\n" * 60_000,
    "c.md": "+++\n" + "a." * 20_000 + "a = 1\n+++\ntext",
    "d.rst": "a\n=\n\n" * 15_000,
    "e.jsonl": '{"a": ' + "[" * 900 + "]" * 900 + "}\n",
    "f.csv": "x,text\n" + 'a"b,"c\n' * 200 + 'a"b',
    "g.txt": "a\n" * 5_000,
    "h.md": "# One\n\nThe text at the end.\n",
}


def test_a_folder_of_the_worst_is_indexed_to_the_end_and_nothing_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each file that cannot be parsed within the limits is plain text, or left out with a reason, once."""
    monkeypatch.setattr("search.corpus.reader.SECONDS", 20)
    monkeypatch.setattr("search.corpus.reader.MEMORY", 150 * 2**20)
    for name, text in WORST.items():
        (tmp_path / "worst" / name).parent.mkdir(exist_ok=True)
        (tmp_path / "worst" / name).write_text(text, encoding="utf-8")
        os.utime(tmp_path / "worst" / name, (1e9, 1e9))

    def run() -> Report:
        return update(
            tmp_path / "worst", tmp_path / "index", WordEncoder(), settings=PassageSettings(), source=Source()
        )

    first = run()
    assert first.added == len(WORST) - 2
    reasons = {group.reason: group.examples for group in first.skipped}
    assert [name.split()[0] for name in reasons["read as plain text"]] == ["b.md"]
    monkeypatch.setattr("search.indexing.batches.documents", None)
    again = run()
    assert (again.unchanged, again.changed, again.added) == (first.added, 0, 0)
    assert again.skipped == first.skipped
