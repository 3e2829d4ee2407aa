"""Pinned questions: one file for all indexes of the user."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest

from search.errors import InputError
from search.store.pins import LONGEST_PIN, MOST_PINS, pin, pins

A, B = Path("/a"), Path("/b")


def test_the_newest_pin_comes_first_and_each_index_has_its_own(own_home: Path) -> None:
    assert pins(A) == ()
    for question in ("first?", "  second? ", "first?"):
        pin(A, question)
    pin(B, "first?")
    assert pins(A) == ("first?", "second?") and pins(B) == ("first?",)
    pin(A, "first?", keep=False)
    pin(B, "first?", keep=False)
    assert pins(A) == ("second?",) and pins(B) == ()
    assert json.loads((own_home / "pins.json").read_text()) == {"version": 1, "pins": {"/a": ["second?"]}}
    assert (own_home / "pins.json").stat().st_mode & 0o77 == 0


def test_an_empty_or_long_question_is_refused_and_old_ones_make_room(own_home: Path) -> None:
    for question in ("", "  ", "x" * (LONGEST_PIN + 1)):
        with pytest.raises(InputError, match="1 to 2,000 characters"):
            pin(A, question)
    for number in range(MOST_PINS + 2):
        pin(A, f"question {number}")
    assert len(pins(A)) == MOST_PINS and pins(A)[-1] == "question 2"


@pytest.mark.parametrize("content", ["", "[]", '{"version": 2}', '{"version": 1, "pins": {"/a": "x"}}'])
def test_a_file_that_cannot_be_read_counts_as_empty_and_stays(own_home: Path, content: str) -> None:
    own_home.mkdir(exist_ok=True)
    (own_home / "pins.json").write_text(content)
    assert pins(A) == ()
    with pytest.raises(InputError, match=r"pins\.json"):
        pin(A, "first?")
    assert (own_home / "pins.json").read_text() == content


def test_threads_that_pin_at_once_lose_nothing(own_home: Path) -> None:
    threads = [threading.Thread(target=pin, args=(A, f"question {i}")) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(pins(A)) == {f"question {i}" for i in range(8)}
