"""A writer that is killed loses nothing that it reported, and leaves nothing behind."""

import re
from pathlib import Path

import pytest

from tests.faults.kill import kills_at_steps, random_kills

SEED = 4


def test_kills_at_random_moments(place: Path) -> None:
    outcome = random_kills(place, seed=SEED, kills=5, readers=1)
    outcome.require_clean()
    assert outcome.runs == 5
    assert outcome.figures["queries meanwhile"]


def test_kills_at_named_steps(place: Path) -> None:
    outcome = kills_at_steps(place, seed=SEED, most=3)
    outcome.require_clean()
    assert outcome.runs == 9


@pytest.mark.parametrize(
    ("name", "sign"),
    [
        ("segment_named_before_written", "damaged or missing"),
        ("store_without_transaction", "missing|other passages|damaged"),
        ("deleted_before_the_commit", "versions that it may be"),
    ],
)
def test_a_broken_build_is_noticed(place: Path, name: str, sign: str) -> None:
    statements = name == "store_without_transaction"
    near = "open ann" if name == "segment_named_before_written" else ""  # the moment between the two is short
    outcome = kills_at_steps(
        place, seed=SEED, most=12, near=near, scenarios=["update"], statements=statements, enough=1, name=name
    )
    assert any(re.search(sign, failure) for failure in outcome.failures), outcome.failures
