"""Evaluation of readers on questions, and of taggers on entities.

Answers are compared by SQuAD's exact match and F1. An entity is correct if its type, first and last word are, as in
seqeval's default mode. The words are those of the gold file; the predicted class of a word is that of
its first token.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from search.evaluating.formats import SquadQuestion, read_questions
from search.evaluating.metrics import MetricPlan, about_few, measure
from search.lab.bert.answering import answer, required
from search.lab.bert.tagging import Tagger, chunks, load_tagger
from search.lab.evaluating.formats import Sentence, read_conll
from search.lab.evaluating.metrics import answer_values, entity_f1, share
from search.lab.records.predictions import Answers
from search.records.evaluations import Evaluation, JudgedQuery, Setting, SettingResult
from search.records.reports import Progress
from search.statistics import MetricFn, estimated

_SENTENCES_A_BATCH = 64  # sentences in a batch

# Type, and half-open range of words.
Entity = tuple[str, int, int]
# (3, sentences) numbers of correct, predicted and gold entities.
Counts = NDArray[np.int64]
ENTITY_FIGURES: dict[str, MetricFn] = {
    "f1": entity_f1,
    "precision": lambda right, predicted, gold, axis=-1: share(right, predicted, axis),
    "recall": lambda right, predicted, gold, axis=-1: share(right, gold, axis),
}


def evaluate_answers(
    dataset: str | Path,
    *,
    model: str | None,
    seed: int = 0,
    offline: bool = False,
    progress: Callable[[Progress], None] | None = None,
) -> Evaluation:
    """Evaluate a reader on questions about paragraphs: exact match and F1 with their 95 % intervals.

    If every question has an answer, as in SQuAD 1.1, the best span counts even if "no answer" scores
    higher.

    Args:
        dataset: a file in SQuAD's format.
        model: the reader, a checkpoint with a head for answer spans.
        seed, offline, progress: as for `evaluate`.

    Raises:
        InputError: malformed data, or a question that is too long.
        ModelError: the reader cannot be loaded, or has no head for answer spans.
    """
    questions, paragraphs = read_questions(Path(dataset).expanduser())
    forced = all(question.answers for question in questions)
    how: dict[str, Any] = {"model": required(model), "offline": offline, "answers": 1}

    def find(question: SquadQuestion, setting: Setting) -> tuple[dict[str, float], list[str]]:
        predicted = answer(question.text, paragraphs.entries[question.paragraph].text, **how)
        text = best_answer(predicted, forced)
        return answer_values(text, question.answers), [text] if text else []

    measured = measure(questions, [Setting("answers")], find, MetricPlan(seed=seed, progress=progress))
    notes = about_few(len(questions), "questions")
    if forced:
        notes.append("every question has an answer, so the no-answer threshold is off")
    return Evaluation(
        dataset=paragraphs.name,
        source=str(paragraphs.source),
        task="answers",
        model=str(model),
        pooling="",
        documents=len(paragraphs.entries),
        judgements=sum(len(question.answers) for question in questions),
        primary="f1",
        settings=measured,
        notes=tuple(notes),
    )


def best_answer(predicted: Answers, forced: bool) -> str:
    """Return the text of the best answer; "" if there is none.

    Args:
        forced: return the best span even if "no answer" scores higher.
    """
    best = predicted.answers[0] if predicted.answers else predicted.nearest if forced else None
    return best.text if best else ""


def evaluate_entities(
    dataset: str | Path,
    *,
    model: str | None,
    seed: int = 0,
    offline: bool = False,
    progress: Callable[[Progress], None] | None = None,
) -> Evaluation:
    """Evaluate a tagger: precision, recall and F1 of entities, overall and by type, with 95 % bootstrap intervals.

    Args:
        dataset: a file in CoNLL format.
        model: a checkpoint with a head for classes of tokens.
        seed: seed of the resampling.
        offline: never contact the hub.
        progress: called after every batch of sentences.

    Raises:
        InputError: malformed file (with its line).
        ModelError: the model cannot be loaded, or has no head for classes of tokens.
    """
    path = Path(dataset).expanduser()
    sentences = read_conll(path)
    tagger = load_tagger(model, "ner", offline)
    gold = [list(chunks(sentence.labels)) for sentence in sentences]
    types = {kind for entities in gold for kind, _, _ in entities}
    labels = predicted_labels(tagger, sentences, MetricPlan(progress=progress))
    predicted = [list(chunks(row)) for row in labels]
    metrics = {}
    for kind in ("", *sorted(types | {kind for entities in predicted for kind, _, _ in entities})):
        counts = entity_counts(gold, predicted, kind)
        for name, figure in ENTITY_FIGURES.items():
            metrics[f"{name} {kind}".strip()] = estimated(figure, *counts, seed=seed)
    counts = entity_counts(gold, predicted)
    judged = tuple(
        JudgedQuery(
            str(number), sentence.text, dict(zip(("right", "found", "gold"), row, strict=True)), tags
        )
        for number, (sentence, tags, row) in enumerate(
            zip(sentences, labels, counts.T.tolist(), strict=True), 1
        )
    )
    return Evaluation(
        dataset=path.stem,
        source=str(path),
        task="entities",
        model=tagger.head.name,
        pooling="",
        documents=len(sentences),
        judgements=int(counts[2].sum()),
        primary="f1",
        settings=(SettingResult(Setting("entities"), metrics, judged),),
        notes=tuple(about_few(len(sentences), "sentences")),
    )


def predicted_labels(tagger: Tagger, rows: Sequence[Sentence], plan: MetricPlan) -> list[tuple[str, ...]]:
    """Return the predicted label of every word of each sentence; "O" for a word that the tokenizer drops."""
    labels: list[tuple[str, ...]] = []
    for start in range(0, len(rows), _SENTENCES_A_BATCH):
        batch = rows[start : start + _SENTENCES_A_BATCH]
        output = tagger.read([row.text for row in batch], [row.spans for row in batch])
        labels += [tuple(word.label for word in words) for words in output]
        plan.report("tagging", len(labels), len(rows))
    return labels


def entity_counts(
    gold: Sequence[Sequence[Entity]], predicted: Sequence[Sequence[Entity]], kind: str = ""
) -> Counts:
    """Return the (3, sentences) numbers of correct, predicted and gold entities.

    Args:
        kind: type of entities to count; "" counts all.
    """
    rows = []
    for pair in zip(gold, predicted, strict=True):
        theirs, ours = ({entity for entity in side if kind in ("", entity[0])} for side in pair)
        rows.append((len(theirs & ours), len(ours), len(theirs)))
    return np.array(rows).T
