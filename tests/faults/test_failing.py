"""A failing write, whichever it is: the old index answers, the error names the path, the next run succeeds."""

from pathlib import Path

from tests.faults.failing import every_failure, no_room

SEED = 4


def test_a_write_that_fails_leaves_the_old_answers_and_names_the_path(place: Path) -> None:
    outcome = every_failure(place, seed=SEED, most=2)
    outcome.require_clean()
    assert outcome.runs == 6
    assert outcome.figures["raised"]


def test_a_database_without_room_keeps_its_answers_until_there_is_room(place: Path) -> None:
    outcome = no_room(place, seed=SEED, most=2)
    outcome.require_clean()
    assert outcome.runs >= 4
