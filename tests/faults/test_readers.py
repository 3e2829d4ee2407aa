"""Readers never see an error or two states at once, however the writer works."""

from pathlib import Path

from tests.faults.readers import against_a_writer

SEED = 4


def test_readers_against_a_writer(place: Path) -> None:
    outcome = against_a_writer(place, seed=SEED, readers=2, seconds=1, pause=0.01)
    outcome.require_clean()
    assert outcome.runs > 1
    assert outcome.figures["queries"]
