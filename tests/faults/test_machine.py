"""Any sequence of edits, runs, kills and damage gives the index that the folder calls for."""

import pytest

from tests.faults.machine import random_walks


def test_random_walks() -> None:
    outcome = random_walks(seed=None, walks=8, length=40)
    outcome.require_clean()
    assert outcome.runs > 100


@pytest.mark.parametrize(
    ("name", "sign"),
    [
        ("tombstones_ignored", "cannot be found"),
        ("change_of_equal_size_forgotten", "has other passages than its file"),
    ],
)
def test_a_broken_build_is_noticed(name: str, sign: str) -> None:
    outcome = random_walks(seed=None, walks=60, length=40, name=name)
    assert any(sign in failure for failure in outcome.failures), outcome.failures
