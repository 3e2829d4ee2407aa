"""Questions with gold answers: how well a reader answers, with the right paragraph given and from an index.

Exact match and F1 are those of SQuAD (Rajpurkar et al. 2016, section 6.1).
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from search.errors import InputError
from search.evaluating.asking import Plan, about_few, comparisons, spread, values_of
from search.evaluating.dataset import AnsweredQuestion, Answering
from search.records.evaluations import Evaluation, JudgedQuery, Measured, Setting
from search.records.hits import Hit
from search.records.predictions import Answers
from search.records.reports import Progress, Status
from search.statistics import mean_of

GOLD = "gold paragraph"
_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)


@dataclass(frozen=True)
class Retrieved:
    """One way to answer from an index.

    Attributes:
        ask: what answers a question from the k best passages.
        find: those passages.
    """

    setting: Setting
    ask: Callable[[str], Answers]
    find: Callable[[str], Sequence[Hit]]


def evaluate_reader(
    data: Answering,
    reader: str,
    read: Callable[[str, str], Answers],
    plan: Plan,
    *,
    limit: int | None = None,
    forced: bool | None = None,
    retrieved: Sequence[Retrieved] = (),
    status: Status | None = None,
) -> Evaluation:
    """Exact match and F1 of answers.

    Args:
        reader: its name.
        read: (question, paragraph) -> what the reader says.
        limit: how many questions are asked, spread evenly over the data; None for all.
        forced: the best span counts as the answer, however little it scores; None does so where every question has
            an answer, as the script of SQuAD 1.1 has it.
        retrieved: ways to answer from an index, each compared with the gold paragraph given.
        status: of that index.

    Raises:
        InputError: a limit below 1, or a question that cannot be asked.
    """
    questions = spread(data.questions, limit, "question")
    if forced is None:
        forced = all(question.answers for question in data.questions)
    entries = data.paragraphs.entries

    def read_gold(question: AnsweredQuestion) -> Answers:
        return read(question.text, entries[question.paragraph].text)

    measured = [_measured(Setting(GOLD), questions, read_gold, forced, plan)]
    notes = _about(data, questions, forced)
    for way in retrieved:
        setting = Setting(f"{way.setting.name}, {plan.k} passages", way.setting.options)

        def ask(question: AnsweredQuestion, way: Retrieved = way) -> Answers:
            return way.ask(question.text)

        measured.append(_measured(setting, questions, ask, forced, plan))
        held = sum(
            any(str(hit.metadata.get("_id")) == question.paragraph for hit in way.find(question.text))
            for question in questions
        )
        notes.append(
            f"{setting.name}: {held:,} of {len(questions):,} questions ({held / len(questions):.1%}) have a passage of "
            "their paragraph among those that are read"
        )
    return Evaluation(
        dataset=data.name,
        source=str(data.source),
        task="qa",
        index=status.index if status else "",
        model=reader,
        pooling=status.pooling if status else "",
        documents=len(entries),
        passages=status.passages if status else 0,
        judgements=sum(len(question.answers) for question in questions),
        primary="f1",
        settings=tuple(measured),
        comparisons=comparisons(measured, seed=plan.seed),
        notes=tuple(notes),
    )


def _measured(
    setting: Setting,
    questions: Sequence[AnsweredQuestion],
    ask: Callable[[AnsweredQuestion], Answers],
    forced: bool,
    plan: Plan,
) -> Measured:
    judged = []
    for number, question in enumerate(questions, 1):
        try:
            said = ask(question)
        except InputError as error:
            raise InputError(
                f"the question '{question.id}' cannot be asked ({setting.name}): {error}"
            ) from None
        best = said.answers[0] if said.answers else said.nearest if forced else None
        text = best.text if best else ""
        values = {**answer_values(text, question.answers), "answered": float(bool(text))}
        judged.append(JudgedQuery(question.id, question.text, values, (text,) if text else ()))
        if plan.progress:
            plan.progress(Progress("asking", number, len(questions), passages=said.passages))
    with_answer = [query for query, question in zip(judged, questions, strict=True) if question.answers]
    without = [query for query, question in zip(judged, questions, strict=True) if not question.answers]
    groups = {name: (name, judged) for name in ("exact_match", "f1", "answered")}
    if with_answer and without:
        groups["has_answer_exact_match"] = ("exact_match", with_answer)
        groups["has_answer_f1"] = ("f1", with_answer)
        groups["no_answer_exact_match"] = ("exact_match", without)
    metrics = {
        name: mean_of(values_of(queries, figure), seed=plan.seed)
        for name, (figure, queries) in groups.items()
    }
    return Measured(setting, metrics, tuple(judged))


def _about(data: Answering, questions: Sequence[AnsweredQuestion], forced: bool) -> list[str]:
    """What has to be known to read the figures."""
    notes = []
    if len(questions) < len(data.questions):
        notes.append(
            f"{len(questions):,} of {len(data.questions):,} questions were asked, spread evenly over the data"
        )
    if without := sum(not question.answers for question in questions):
        notes.append(f"{without:,} questions have no answer in their paragraph; none is the right one there")
    if forced:
        notes.append("the best span counts as the answer, however little it scores")
    return notes + about_few(len(questions), "questions")


def answer_values(predicted: str, gold: Sequence[str]) -> dict[str, float]:
    """Exact match and F1 with the gold answer that suits best.

    Args:
        predicted: "" for no answer.
        gold: those that count as right; none with a word means that no answer is right.
    """
    right = [answer for answer in gold if normalized(answer)] or [""]
    return {
        "exact_match": max(float(normalized(predicted) == normalized(answer)) for answer in right),
        "f1": max(_f1(predicted, answer) for answer in right),
    }


def normalized(text: str) -> str:
    """Lower case, without ASCII punctuation and English articles, single spaces.

    Example:
        >>> normalized("The  Denver Broncos.")
        'denver broncos'
    """
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def _f1(predicted: str, gold: str) -> float:
    """Harmonic mean of precision and recall over the words of both, as bags; in [0, 1].

    Where one of the two has no word it is 1 if both have none, else 0, as for SQuAD 2.0.
    """
    ours, theirs = normalized(predicted).split(), normalized(gold).split()
    if not ours or not theirs:
        return float(ours == theirs)
    shared = sum((Counter(ours) & Counter(theirs)).values())
    return 2 * shared / (len(ours) + len(theirs))
