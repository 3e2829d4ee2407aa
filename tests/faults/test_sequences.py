"""An index equals its folder, or a dict, after any sequence of changes."""

from pathlib import Path

from tests.faults import sequences

SEED = 4


def test_an_index_equals_its_folder_after_random_edits(place: Path) -> None:
    sequences.of_a_folder(place, seed=SEED, sequences=1).require_clean()


def test_answers_are_those_of_what_is_encoded_after_any_part_of_a_run(place: Path) -> None:
    sequences.with_pending_passages(place, seed=SEED, sequences=2).require_clean()


def test_an_index_equals_a_dict_after_random_calls(place: Path) -> None:
    outcome = sequences.of_documents(place, seed=SEED, sequences=1)
    outcome.require_clean()
    assert outcome.figures["calls"] == 24
