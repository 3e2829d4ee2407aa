"""Whatever write fails: the old index answers, the error names the path, the next run succeeds."""

from pathlib import Path

from tests.faults.failing import every_failure, no_room

SEED = 4


def test_calls_from_python_that_fail(place: Path) -> None:
    outcome = every_failure(place, seed=SEED, most=2)
    outcome.require_clean()
    assert outcome.runs == 6
    assert outcome.figures["raised"]


def test_a_database_without_room_to_grow(place: Path) -> None:
    outcome = no_room(place, seed=SEED, most=2)
    outcome.require_clean()
    assert outcome.runs >= 4
