"""Damaged files: a segment is refused or does no harm, an input is read or skipped, a model is converted again."""

from pathlib import Path

import pytest

from tests.faults.mutate import (
    damaged_inputs,
    damaged_models,
    damaged_packages,
    flipped_databases,
    flipped_segments,
)
from tests.faults.packages import packages

SEED = 4


def test_flipped_bits_of_segments_are_refused_or_do_no_harm(place: Path) -> None:
    outcome = flipped_segments(place, seed=SEED, files=6)
    outcome.require_clean()
    assert outcome.runs == 6
    assert outcome.figures["right"] and outcome.figures["refused: hybrid, lexical"]


def test_flipped_bits_of_databases_are_answered_rightly_refused_or_found_by_check(place: Path) -> None:
    outcome = flipped_databases(place, seed=SEED, files=8)
    outcome.require_clean()
    assert outcome.runs == 16
    assert outcome.figures["right"]
    assert int(outcome.figures.get("wrong, unnoticed", 0)) <= 1


def test_damaged_input_files_are_read_or_skipped(place: Path) -> None:
    outcome = damaged_inputs(place, seed=SEED, files=60)
    outcome.require_clean()
    assert outcome.runs == 60
    assert outcome.figures["read"] and outcome.figures["skipped"]


def test_a_query_encodes_as_before_with_damaged_converted_models(place: Path) -> None:
    outcome = damaged_models(place, seed=SEED, files=2)
    outcome.require_clean()
    assert outcome.runs == 2
    assert outcome.figures["converted again"]


def test_damaged_packages_are_read_or_skipped(place: Path) -> None:
    if not packages():
        pytest.skip("the extra 'documents' is not installed")
    outcome = damaged_packages(place, seed=SEED, files=6)
    outcome.require_clean()
    assert outcome.runs == 6
