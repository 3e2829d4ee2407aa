"""Any sequence of edits, runs, kills and damage gives the index that the folder calls for."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from search import SearchError
from search.store.codes import Piece
from tests.faults import oracle
from tests.faults.kill import scenario
from tests.faults.machine import Machine, random_walks


def test_random_walks() -> None:
    outcome = random_walks(seed=None, walks=6, length=40)
    outcome.require_clean()
    assert outcome.runs > 100


def test_few_passages_are_in_several_segments(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Deleted ones among them; and a search looks at a part of what is in one."""
    made = scenario("update", place, seed=3)
    made.restore()
    oracle.run(made.folder, made.index)
    with closing(sqlite3.connect(made.index / "index.db")) as connection:
        tables = ("segments", "tombstones")
        counts = {name: connection.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in tables}
    assert counts["segments"] > 2 and counts["tombstones"] > 2

    look, parts = Piece.look, list[bool]()

    def counted(piece: Piece, *args: Any) -> None:
        look(piece, *args)
        parts.append(piece.wanted < piece.count)

    monkeypatch.setattr(Piece, "look", counted)
    assert not oracle.wrong_answer(oracle.opened(made.index), made.index, oracle.QUERIES[0], 3)
    assert any(parts)


@pytest.mark.parametrize(
    ("name", "sign"),
    [
        ("tombstones_ignored", "gives passage|found"),
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
