"""A damaged index answers rightly or refuses; a damaged input file is read or skipped."""

from pathlib import Path

import pytest

from tests.faults.mutate import (
    damaged_indexes,
    damaged_indexes_updated,
    damaged_inputs,
    damaged_packages,
)
from tests.faults.packages import packages

SEED = 4


def test_damaged_index_files(place: Path) -> None:
    outcome = damaged_indexes(place, seed=SEED, files=60)
    outcome.require_clean()
    assert outcome.runs == 60
    assert outcome.figures["right"] and outcome.figures["refused"]


def test_damaged_index_files_and_then_a_run(place: Path) -> None:
    outcome = damaged_indexes_updated(place, seed=SEED, files=30)
    outcome.require_clean()
    assert outcome.runs == 30


def test_damaged_input_files(place: Path) -> None:
    outcome = damaged_inputs(place, seed=SEED, files=150)
    outcome.require_clean()
    assert outcome.runs == 150
    assert outcome.figures["read"] and outcome.figures["skipped"]


@pytest.mark.parametrize(("name", "sign"), [("faiss_file_trusted", ".faiss"), ("rows_trusted", "file ")])
def test_an_index_that_is_trusted_is_noticed(place: Path, name: str, sign: str) -> None:
    outcome = damaged_indexes(place, seed=SEED, files=150, name=name, enough=1)
    assert any(sign in failure for failure in outcome.failures), outcome.failures


def test_a_parser_that_raises_is_noticed(place: Path) -> None:
    outcome = damaged_inputs(place, seed=SEED, files=60, name="parser_raises")
    assert any("IndexError" in failure for failure in outcome.failures), outcome.failures


def test_damaged_packages(place: Path) -> None:
    if not packages():
        pytest.skip("the extra 'documents' is not installed")
    outcome = damaged_packages(place, seed=SEED, files=20)
    outcome.require_clean()
    assert outcome.runs == 20
