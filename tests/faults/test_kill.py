"""A writer that is killed loses nothing that it reported, and leaves nothing behind."""

from pathlib import Path

from tests.faults import memory
from tests.faults.kill import kills_at_steps, random_kills

SEED = 4


def test_an_index_survives_kills_at_random_moments(place: Path) -> None:
    outcome = random_kills(place, seed=SEED, kills=2, readers=1)
    outcome.require_clean()
    assert outcome.runs == 2
    assert outcome.figures["queries meanwhile"]


def test_documents_from_memory_survive_kills(place: Path) -> None:
    outcome = memory.kills(place, seed=SEED, kills=3)
    outcome.require_clean()
    assert outcome.runs == 3


def test_an_index_survives_kills_at_named_steps(place: Path) -> None:
    outcome = kills_at_steps(place, seed=SEED, most=1)
    outcome.require_clean()
    assert outcome.runs == 3
