"""Whatever write fails: the old index answers, the error names the path, the next run succeeds."""

from pathlib import Path

import pytest

from tests.faults.failing import InPython, every_failure, in_library, no_room
from tests.faults.shim import compiled

SEED = 4


def test_calls_from_python_that_fail(place: Path) -> None:
    outcome = every_failure(place, InPython(), seed=SEED, most=7)
    outcome.require_clean()
    assert outcome.runs == 21
    assert outcome.figures["raised"]


def test_a_database_without_room_to_grow(place: Path) -> None:
    outcome = no_room(place, seed=SEED, most=4)
    outcome.require_clean()
    assert outcome.runs >= 6


def test_calls_of_the_c_library_that_fail(place: Path) -> None:
    library = compiled(place)
    if library is None:
        pytest.skip("needs Linux and a C compiler")
    outcome = in_library(library, place, seed=SEED, most=7)
    outcome.require_clean()
    assert outcome.runs == 21
    assert outcome.figures["raised"]


@pytest.mark.parametrize(
    ("name", "sign"),
    [("errors_commit", "is missing from the index"), ("errors_without_path", "it raises Operat")],
)
def test_a_broken_build_is_noticed(place: Path, name: str, sign: str) -> None:
    outcome = every_failure(place, InPython(), seed=SEED, most=12, enough=5, name=name)
    assert any(sign in failure for failure in outcome.failures), outcome.failures
