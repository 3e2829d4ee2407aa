"""Questions with gold answers: how well a reader answers, with the right paragraph given and from an index."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from search.errors import InputError
from search.evaluating.answers import answer_values
from search.evaluating.asking import FEW, Plan
from search.evaluating.dataset import AnsweredQuestion, Answering
from search.evaluating.statistics import comparisons, mean_of
from search.records.evaluations import Estimate, Evaluation, JudgedQuery, Latency, Measured, Setting
from search.records.hits import Hit
from search.records.predictions import Answers
from search.records.reports import Progress

Ask = Callable[[str], Answers]
GOLD = "gold paragraph"


@dataclass(frozen=True)
class Retrieved:
    """One way to answer from an index.

    Attributes:
        ask: what answers a question from the k best passages.
        find: those passages.
    """

    setting: Setting
    ask: Ask
    find: Callable[[str], Sequence[Hit]]


@dataclass(frozen=True)
class _Answered:
    """What was said to a question, and how long it took."""

    question: AnsweredQuestion
    predicted: str
    seconds: float


def evaluate_reader(
    data: Answering,
    reader: str,
    read: Callable[[str, str], Answers],
    plan: Plan,
    *,
    limit: int | None = None,
    forced: bool | None = None,
    retrieved: Sequence[Retrieved] = (),
    index: tuple[str, int] = ("", 0),
    pooling: str = "",
) -> Evaluation:
    """Exact match and F1 of answers.

    Args:
        reader: its name.
        read: (question, paragraph) -> what the reader says.
        limit: how many questions are asked, spread evenly over the data; None for all.
        forced: the best span counts as the answer, however little it scores; None does so where every question has
            an answer, as the script of SQuAD 1.1 has it.
        retrieved: ways to answer from an index, each compared with the gold paragraph given.
        index: its folder, and how many passages it holds.
        pooling: of its embeddings.

    Raises:
        InputError: a limit below 1, or a question that cannot be asked.
    """
    questions = _limited(data.questions, limit)
    if forced is None:
        forced = all(question.answers for question in data.questions)
    entries = data.paragraphs.entries
    answered = _answered(
        questions, lambda one: read(one.text, entries[one.paragraph].text), forced, GOLD, plan
    )
    done = [_measured(Setting(GOLD), answered, 1, plan.seed)]
    notes = _about(data, questions, forced)
    for way in retrieved:
        name = f"{way.setting.name}, {plan.k} passages"
        ask = way.ask
        answered = _answered(questions, lambda one, ask=ask: ask(one.text), forced, name, plan)  # type: ignore[misc]
        done.append(_measured(Setting(name, way.setting.options), answered, plan.k, plan.seed))
        held = sum(
            any(str(hit.metadata.get("_id")) == one.paragraph for hit in way.find(one.text))
            for one in questions
        )
        notes.append(
            f"{name}: {held:,} of {len(questions):,} questions ({held / len(questions):.1%}) have a passage of their "
            "paragraph among those that are read"
        )
    return Evaluation(
        dataset=data.name,
        source=str(data.source),
        task="qa",
        split="",
        index=index[0],
        model=reader,
        pooling=pooling,
        documents=len(entries),
        passages=index[1],
        judgements=sum(len(one.answers) for one in questions),
        primary="f1",
        settings=tuple(done),
        comparisons=comparisons(_per_question_only(done), seed=plan.seed),
        notes=tuple(notes),
    )


def _limited(questions: Sequence[AnsweredQuestion], limit: int | None) -> list[AnsweredQuestion]:
    if limit is None or limit >= len(questions):
        return list(questions)
    if limit < 1:
        raise InputError(f"the limit is {limit}, but at least 1 question must be asked.")
    return [questions[i * len(questions) // limit] for i in range(limit)]


def _answered(
    questions: Sequence[AnsweredQuestion],
    ask: Callable[[AnsweredQuestion], Answers],
    forced: bool,
    name: str,
    plan: Plan,
) -> list[_Answered]:
    ask(questions[0])  # what is loaded at first use is not timed
    found = []
    for number, question in enumerate(questions, 1):
        started = time.perf_counter()
        try:
            said = ask(question)
        except InputError as error:
            raise InputError(f"the question '{question.id}' cannot be asked ({name}): {error}") from None
        seconds = time.perf_counter() - started
        best = said.answers[0] if said.answers else said.nearest if forced else None
        found.append(_Answered(question, best.text if best else "", seconds))
        if plan.progress:
            plan.progress(Progress("asking", number, len(questions), passages=said.passages))
    return found


def _measured(setting: Setting, answered: Sequence[_Answered], k: int, seed: int) -> Measured:
    queries = [
        JudgedQuery(
            one.question.id,
            one.question.text,
            {**answer_values(one.predicted, one.question.answers), "answered": float(bool(one.predicted))},
            (one.predicted,) if one.predicted else (),
        )
        for one in answered
    ]
    have = [bool(one.question.answers) for one in answered]
    metrics = {name: _mean(queries, name, seed) for name in ("exact_match", "f1", "answered")}
    if not all(have) and any(have):
        with_answer = [query for query, has in zip(queries, have, strict=True) if has]
        without = [query for query, has in zip(queries, have, strict=True) if not has]
        metrics["has_answer_exact_match"] = _mean(with_answer, "exact_match", seed)
        metrics["has_answer_f1"] = _mean(with_answer, "f1", seed)
        metrics["no_answer_exact_match"] = _mean(without, "exact_match", seed)
    milliseconds = [1000 * one.seconds for one in answered]
    p50, p95 = np.percentile(milliseconds, [50, 95])
    return Measured(setting, metrics, tuple(queries), Latency(float(p50), float(p95), len(milliseconds), k))


def _mean(queries: Sequence[JudgedQuery], name: str, seed: int) -> Estimate:
    return mean_of(np.array([query.values[name] for query in queries], dtype=np.float64), seed=seed)


def _per_question_only(settings: Sequence[Measured]) -> list[Measured]:
    """With the figures alone that every question has."""
    return [
        Measured(one.setting, {name: one.metrics[name] for name in one.queries[0].values}, one.queries)
        for one in settings
    ]


def _about(data: Answering, questions: Sequence[AnsweredQuestion], forced: bool) -> list[str]:
    """What has to be known to read the figures."""
    notes = []
    if len(questions) < len(data.questions):
        notes.append(
            f"{len(questions):,} of {len(data.questions):,} questions were asked, spread evenly over the data"
        )
    without = sum(not one.answers for one in questions)
    if without:
        notes.append(f"{without:,} questions have no answer in their paragraph; none is the right one there")
    if forced:
        notes.append("the best span counts as the answer, however little it scores")
    if data.misplaced:
        notes.append(
            f"{data.misplaced:,} gold answers do not stand where the data says; their texts count all the same"
        )
    if len(questions) < FEW:
        notes.append(f"with only {len(questions)} questions the intervals are rough")
    return notes
