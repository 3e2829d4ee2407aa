"""Readers never see an error or two states at once, however the writer works."""

from pathlib import Path

import pytest

from search import IndexNotFound, SearchError
from tests.faults import oracle, steps
from tests.faults.kill import SCENARIOS, Scenario, scenario
from tests.faults.readers import against_a_writer

SEED = 4


def test_readers_beside_a_writer_see_no_error_and_no_mixed_state(place: Path) -> None:
    outcome = against_a_writer(place, seed=SEED, readers=2, seconds=1, pause=0.01)
    outcome.require_clean()
    assert outcome.runs > 1
    assert outcome.figures["queries"]


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_query_between_any_two_steps_of_a_run_is_answered_rightly(place: Path, name: str) -> None:
    answers = answers_at_every_step(fresh_scenario(name, place))
    assert len(answers) > 10
    refused = {answer for answer in answers if answer != "answered"}
    assert refused <= ({"nothing is there", "begun"} if name == "first run" else set())
    assert answers[-1] == "answered"


def fresh_scenario(name: str, place: Path) -> Scenario:
    case = scenario(name, place, SEED)
    case.restore()
    return case


def answers_at_every_step(case: Scenario) -> list[str]:
    """Outcomes of a query before and after each step of a run: an answer, or the reason for none."""
    answers: list[str] = []

    def ask(number: int, moment: str, name: str, path: str) -> None:
        counter.fault = steps.nothing  # what the reader does is no step
        try:
            reader = oracle.opened(case.index)
            status = reader.status()
            assert status.complete or status.running
            hits = reader.query(oracle.QUERIES[0], 3)
            empty = not reader.status().passages
            wrong = "" if empty else oracle.wrong_answer(reader, case.index, oracle.QUERIES[0], 3)
            answers.append(
                wrong
                or ("answered" if hits and not empty else "begun" if empty and not hits else "no hit")
            )
        except IndexNotFound:
            answers.append("nothing is there")
        except SearchError as error:
            answers.append(str(error))
        finally:
            counter.fault = ask

    counter = steps.Steps(case.index, ask)
    with counter.patched():
        oracle.run(case.folder, case.index, rebuild=case.rebuild)
    ask(0, "after", "", "")
    return answers
