"""Any sequence of edits, runs, kills and damage gives the index that the folder calls for."""

import pytest

from search import SearchError
from tests.faults.machine import Machine, random_walks


def test_random_walks() -> None:
    outcome = random_walks(seed=None, walks=8, length=40)
    outcome.require_clean()
    assert outcome.runs > 100


@pytest.mark.parametrize(
    ("name", "sign"),
    [
        ("tombstones_ignored", "the words of the index are damaged"),
        ("change_of_equal_size_forgotten", "has other passages than its file"),
    ],
)
def test_a_broken_build_is_noticed(name: str, sign: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a walk of edits and runs; `random_walks` notices them too, after many more."""
    monkeypatch.setattr(Machine, "planted", name)
    machine = Machine()
    try:
        machine.begin(seed=0)
        machine.run()
        with pytest.raises((AssertionError, SearchError), match=sign):
            for pick, word in enumerate(("time", "river", "silver", "key", "garden", "winter") * 3):
                machine.change_one_word(pick=pick, word=word)
                machine.run()
                machine.query(words=[word], k=1000)
    finally:
        machine.teardown()
