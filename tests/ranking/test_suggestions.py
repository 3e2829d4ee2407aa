"""Questions that an index can answer: what the rules make of a text, and which of them are kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from search import Encoder, Index
from search.index import searcher_of
from search.ranking.suggestions import (
    QuestionCandidate,
    as_reader,
    in_turn,
    of_heading,
    of_text,
    suggestions,
)
from search.records.hits import Hit, Verdict
from search.records.option_tools import Ranking
from search.records.suggestions import Rule


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Yes, you may keep a cat, this mail counts.", ("permission", "May I keep a cat?")),
        (
            "The tenants may not hang washing out on Sundays.",
            ("permission", "May the tenants hang washing out on Sundays?"),
        ),
        (
            "If a phone is used in class, the teacher keeps it.",
            ("case", "What if a phone is used in class?"),
        ),
        ("If you lose your key, call the number below.", ("case", "What if I lose my key?")),
        ("The stopcock is behind the panel on the left.", ("place", "Where is the stopcock?")),
        ("To rotate the keys, run the command twice.", ("task", "How do I rotate the keys?")),
        ("Q: Which fields can I use?\nAll of them.", ("line", "Which fields can I use?")),
        ("¿Dónde está la llave?\n\nDebajo de la piedra.", ("line", "¿Dónde está la llave?")),
    ],
)
def test_a_sentence_becomes_a_question(text: str, expected: tuple[Rule, str]) -> None:
    assert list(of_text(text)) == [expected]


@pytest.mark.parametrize(
    "text",
    [
        "If it is wet, call the number of the plumber.",  # refers to another sentence
        "If so, call the number of the plumber.",
        "If set to true, nothing is written to the disk.",  # no subject
        "To Viktor, by letter box and by mail.",
        "To some extent, this is the same as before.",
        "This must be done before the end of the month.",
        "The other may be done before the end of the month.",
        "Is the tap closed?",  # nothing after it
        "Is this the tap of the kitchen?\n\nIt is.",
        "They asked\nwhether the tap had been closed?\nIt was not.",  # within a sentence
        "To find kind:text in a folder, search for it.",  # an operator of the query language
        'You may search for a "phrase" in the text.',
        "Die Mieter dürfen eine Katze halten.",
    ],
)
def test_a_sentence_that_no_rule_is_sure_of_gives_nothing(text: str) -> None:
    assert list(of_text(text)) == []


@pytest.mark.parametrize(
    ("heading", "expected"),
    [
        ("Who pays for repairs?", [("heading", "Who pays for repairs?")]),
        ("3. Wer zahlt die Reparatur?", [("heading", "Wer zahlt die Reparatur?")]),
        ("鍵はどこにありますか？", [("heading", "鍵はどこにありますか？")]),
        ("A cat?", []),
        ("Is this the same as before?", []),
        ("How to open a tight lid", [("task", "How do I open a tight lid?")]),
        ("Report a problem", [("task", "How do I report a problem?")]),
        ("Deposit", []),
    ],
)
def test_a_heading_becomes_a_question(heading: str, expected: list[tuple[Rule, str]]) -> None:
    assert list(of_heading(heading)) == expected


def test_the_reader_speaks() -> None:
    assert as_reader("you are late and you're out of your house") == "I am late and I'm out of my house"


def hit(passage: int, probability: float | None = None) -> Hit:
    verdict = None
    if probability is not None:
        verdict = Verdict("answered" if probability > 0.5 else "perhaps", probability, 0.5, 1.0)
    return Hit(
        rank=1, score=0.5, cosine=0.5, lexical=0.0, ranking=Ranking.of(), path="", document=f"d{passage}",
        text="a", start=0, end=1, line_start=1, line_end=1, passage_id=passage, document_id=passage, verdict=verdict,
    )  # fmt: skip


def test_a_question_is_kept_if_its_own_passage_is_first_and_the_verdict_is_good() -> None:
    proposed = [
        QuestionCandidate(f"question {i} of four?", "heading", i, frozenset([i])) for i in range(1, 5)
    ]
    answers = {1: [hit(1, 0.9)], 2: [hit(9, 0.9), hit(2, 0.9)], 3: [hit(3, 0.3)], 4: [hit(4)]}
    questions: list[int] = []

    def ask(question: str) -> list[Hit]:
        questions.append(int(question.split()[1]))
        return answers[questions[-1]]

    kept = suggestions(proposed, ask)
    assert {suggestion.hit.passage_id for suggestion in kept} == {1, 4}
    assert sorted(questions) == [1, 2, 3, 4]
    assert suggestions([], ask) == ()


def test_few_questions_are_asked_and_a_document_gives_one() -> None:
    proposed = [
        QuestionCandidate(f"question {i} of many?", "case", i // 2, frozenset([i])) for i in range(100)
    ]
    questions: list[str] = []

    def ask(question: str) -> list[Hit]:
        questions.append(question)
        return []

    assert suggestions(proposed, ask) == () and len(questions) == len(set(questions)) == 24
    kept = suggestions(proposed, lambda question: [hit(int(question.split()[1]))])
    assert len({suggestion.hit.passage_id // 2 for suggestion in kept}) == len(kept) == 3


def test_rules_take_turns_from_the_middle_of_their_documents() -> None:
    of_case = [QuestionCandidate(f"{i}", "case", i, frozenset([i])) for i in range(5)]
    of_task = [QuestionCandidate("task", "task", 9, frozenset([9]))]
    order = [candidate.question for candidate in in_turn([*of_task, *of_case])]
    assert order[1] == "task" and sorted(order) == ["0", "1", "2", "3", "4", "task"]
    assert order[0] in ("1", "2", "3")


@pytest.fixture
def index(tiny: Encoder, tmp_path: Path) -> Index:
    index = Index.create(tmp_path / "questions", encoder=tiny)
    texts = {
        "a": "If the key is lost, call a number.",
        "b": "The water is cold.",
        "c": "Look at the sun.",
    }
    index.upsert({"id": name, "text": text, "title": name} for name, text in texts.items())
    return index


def test_suggestions_are_cached_until_the_index_changes(index: Index) -> None:
    searcher = searcher_of(index)
    assert searcher.latest_suggestions is None
    (suggestion,) = latest = searcher.suggestions()
    assert suggestion.question == "What if the key is lost?" and suggestion.rule == "case"
    assert index.query(suggestion.question, k=1)[0].passage_id == suggestion.hit.passage_id
    why = suggestion.hit.explanation
    assert why is not None and why.score == pytest.approx(suggestion.hit.score, abs=1e-5)
    assert searcher.suggestions() is latest and searcher.latest_suggestions is latest
    index.upsert([{"id": "d", "text": "a new sound"}])
    assert searcher.latest_suggestions is None
