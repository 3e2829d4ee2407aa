"""Readers never see an error or two states at once, however the writer works."""

import gc
import sqlite3
from contextlib import closing
from pathlib import Path
from unittest import mock

import pytest

from search import IndexNotFound, SearchError
from search.indexing.repair import repair
from search.render import reports
from search.store import words
from tests.faults import oracle, steps
from tests.faults.defects import defect
from tests.faults.kill import SCENARIOS, Scenario, scenario
from tests.faults.readers import against_a_removal, against_a_writer, beside_an_editor

SEED = 4


def test_readers_against_a_writer(place: Path) -> None:
    outcome = against_a_writer(place, seed=SEED, readers=2, seconds=3)
    outcome.require_clean()
    assert outcome.runs > 1
    assert outcome.figures["queries"]


def test_a_broken_build_is_noticed(place: Path) -> None:
    outcome = against_a_writer(place, seed=SEED, readers=2, seconds=4, name="reader_without_snapshot")
    assert any("two states" in failure or "reader:" in failure for failure in outcome.failures)


def test_a_reader_holds_up_no_writer_after_the_tables_changed(place: Path) -> None:
    """As they do while the first run begins. Python closes a connection that is dropped only with the next garbage."""
    made = a_scenario("update", place)
    reader = oracle.opened(made.index)
    reader.status()
    with closing(sqlite3.connect(made.index / "index.db", timeout=0.1, isolation_level=None)) as writer:
        gc.disable()
        try:
            writer.execute("CREATE TABLE more (a)")
            with pytest.raises(SearchError, match="was changed"):
                reader.status()
            writer.execute("DROP TABLE more")
            reader.status()
            writer.execute("DELETE FROM baseline")  # which waits for readers
        finally:
            gc.enable()


def test_readers_beside_a_removal(place: Path) -> None:
    for seconds in (1, 4, 16):  # on a busy machine a reader may miss every removal of one second
        outcome = against_a_removal(place / f"first{seconds}", seed=SEED, readers=1, seconds=seconds)
        outcome.require_clean()
        if outcome.figures["queries"] and outcome.figures["refused"]:
            break
    assert outcome.figures["queries"] and outcome.figures["refused"]
    for seconds in (1, 4, 16):
        again = place / f"again{seconds}"
        outcome = against_a_removal(again, seed=SEED, readers=1, seconds=seconds, name="gone_is_no_message")
        if outcome.failures:
            break
    assert any("FileNotFoundError" in failure for failure in outcome.failures), outcome.failures


def test_an_editor_beside_runs_and_repairs(place: Path) -> None:
    beside_an_editor(place, seed=SEED, seconds=1).require_clean()
    forgetful = beside_an_editor(place / "again", seed=SEED, seconds=0.5, name="gone_is_kept")
    assert any("should not be" in failure for failure in forgetful.failures), forgetful.failures


@pytest.mark.parametrize("name", [*SCENARIOS, "repair"])
def test_a_query_between_any_two_steps_is_answered_by_words_too(place: Path, name: str) -> None:
    made = a_scenario(name, place)
    asked = asked_at_every_step(made, repaired=name == "repair")
    assert len(asked) > 10
    refused = [answer for answer in asked if answer != "answered"]
    may_be = {"first run": {"nothing is there", "begun"}, "repair": {"by meaning alone"}}
    assert set(refused) <= may_be.get(name, set()), refused
    assert asked[-1] == "answered"


def test_words_that_lack_between_two_steps_are_noticed(place: Path) -> None:
    with defect("words_lack_a_batch_for_a_while"):
        asked = asked_at_every_step(a_scenario("update", place), repaired=False)
    assert any("the words of the index are damaged" in answer for answer in asked)


def a_scenario(name: str, place: Path) -> Scenario:
    """The folder and the index of a scenario; for a repair an index with a damaged row."""
    made = scenario("update" if name == "repair" else name, place, SEED)
    made.restore()
    if name == "repair":
        with closing(sqlite3.connect(made.index / "index.db")) as connection, connection:
            connection.execute(
                "UPDATE documents SET title = 'other' WHERE id = (SELECT min(id) FROM documents)"
            )
    return made


def asked_at_every_step(made: Scenario, *, repaired: bool) -> list[str]:
    """What a reader gets before and after each step of a run, or of a repair: an answer, or the reason for none.

    A repair that deletes documents forgets the words of all passages, and makes them anew at its end.
    """
    found: list[str] = []

    def ask(number: int, moment: str, name: str, path: str) -> None:
        counted.fault = steps.nothing  # what the reader does is no step
        try:
            reader = oracle.opened(made.index)
            held = reader.status()
            assert held.complete or "A run is under way" in reports.status(held)
            hits = reader.query(oracle.QUERIES[0], 3)
            said = any("holds no passages" in note for note in reader.notes)
            found.append("answered" if hits and not said else "begun" if said and not hits else "no hit")
        except IndexNotFound:
            found.append("nothing is there")
        except SearchError as error:
            damaged = repaired and "row in the table 'documents'" in str(error)
            lacking = repaired and words.DAMAGED in str(error)
            if lacking and reader.query(oracle.QUERIES[0], 3, mode="dense"):
                found.append("by meaning alone")
            else:
                found.append("answered" if damaged else str(error))
        finally:
            counted.fault = ask

    counted = steps.Steps(made.index, ask)
    with counted.patched():
        if repaired:
            with mock.patch("search.indexing.repair.Encoder.of", lambda *_, **__: oracle.ENCODER):
                repair(made.index, folder=made.folder)
        else:
            oracle.run(made.folder, made.index, rebuild=made.rebuild)
    ask(0, "after", "", "")
    return found
