"""How well a reader answers questions, and how well a tagger finds entities.

Answers are judged by SQuAD's exact match and F1. Entities are judged whole, as seqeval does in its default mode: type,
first and last word must be right. Words are taken as the gold file has them: each has the class of its first token.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from search.bert.answering import answer, required
from search.bert.tagging import Tagger, chunks, load_tagger
from search.evaluating.formats import Question, Sentence, read_conll, read_questions
from search.evaluating.metrics import Plan, about_few, answer_values, entity_f1, measure, share
from search.records.evaluations import Evaluation, JudgedQuery, Setting, SettingResult
from search.records.predictions import Answers
from search.records.reports import Progress
from search.statistics import Figure, estimated

_AT_ONCE = 64  # sentences that are read together

# Type, first word, the one behind the last.
Entity = tuple[str, int, int]
# (3, sentences) entities that are right, found, and gold.
Counts = NDArray[np.int64]
ENTITY_FIGURES: dict[str, Figure] = {
    "f1": entity_f1,
    "precision": lambda right, found, gold, axis=-1: share(right, found, axis),
    "recall": lambda right, found, gold, axis=-1: share(right, gold, axis),
}


def evaluate_answers(
    dataset: str | Path,
    *,
    model: str | None,
    seed: int = 0,
    offline: bool = False,
    progress: Callable[[Progress], None] | None = None,
) -> Evaluation:
    """Ask a reader questions about paragraphs: exact match and F1 with their 95 % intervals.

    Where all questions have an answer, as in SQuAD 1.1, the best span always counts.

    Args:
        dataset: a file in SQuAD's format.
        model: the reader, a checkpoint with a head for answer spans.
        seed, offline, progress: as for `evaluate`.

    Raises:
        InputError: data that is malformed, a question that is too long.
        ModelError: the reader cannot be loaded, or has no head for answer spans.
    """
    questions, paragraphs = read_questions(Path(dataset).expanduser())
    forced = all(question.answers for question in questions)
    how: dict[str, Any] = {"model": required(model), "offline": offline, "answers": 1}

    def find(question: Question, setting: Setting) -> tuple[dict[str, float], list[str]]:
        said = answer(question.text, paragraphs.entries[question.paragraph].text, **how)
        text = best_answer(said, forced)
        return answer_values(text, question.answers), [text] if text else []

    measured = measure(questions, [Setting("answers")], find, Plan(seed=seed, progress=progress))
    notes = about_few(len(questions), "questions")
    if forced:
        notes.append("the best span counts as the answer, however little it scores")
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


def best_answer(said: Answers, forced: bool) -> str:
    """The text of the best span, "" for none; `forced` takes one that scores less than no answer."""
    best = said.answers[0] if said.answers else said.nearest if forced else None
    return best.text if best else ""


def evaluate_entities(
    dataset: str | Path,
    *,
    model: str | None,
    seed: int = 0,
    offline: bool = False,
    progress: Callable[[Progress], None] | None = None,
) -> Evaluation:
    """Precision, recall and F1 of entities, over all and by type, with their 95 % bootstrap intervals.

    Args:
        dataset: a file in CoNLL format.
        model: a checkpoint with a head for classes of tokens.
        seed: of the resampling.
        offline: never call out to the hub.
        progress: called after every batch of sentences.

    Raises:
        InputError: the file is malformed (with its line).
        ModelError: the model cannot be loaded, or has no head for classes of tokens.
    """
    path = Path(dataset).expanduser()
    sentences = read_conll(path)
    tagger = load_tagger(model, "ner", offline)
    gold = [list(chunks(sentence.labels)) for sentence in sentences]
    types = {kind for entities in gold for kind, _, _ in entities}
    labels = predicted_labels(tagger, sentences, Plan(progress=progress))
    found = [list(chunks(one)) for one in labels]
    metrics = {}
    for kind in ("", *sorted(types | {kind for entities in found for kind, _, _ in entities})):
        counts = entity_counts(gold, found, kind)
        for name, figure in ENTITY_FIGURES.items():
            metrics[f"{name} {kind}".strip()] = estimated(figure, *counts, seed=seed)
    counts = entity_counts(gold, found)
    judged = tuple(
        JudgedQuery(
            str(number), sentence.text, dict(zip(("right", "found", "gold"), row, strict=True)), said
        )
        for number, (sentence, said, row) in enumerate(
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


def predicted_labels(tagger: Tagger, sentences: Sequence[Sentence], plan: Plan) -> list[tuple[str, ...]]:
    """The label of every word; of one that the tokenizer makes nothing of O."""
    labels: list[tuple[str, ...]] = []
    for start in range(0, len(sentences), _AT_ONCE):
        batch = sentences[start : start + _AT_ONCE]
        said = tagger.read([one.text for one in batch], [one.spans for one in batch])
        labels += [tuple(word.label for word in words) for words in said]
        plan.told("tagging", len(labels), len(sentences))
    return labels


def entity_counts(
    gold: Sequence[Sequence[Entity]], found: Sequence[Sequence[Entity]], kind: str = ""
) -> Counts:
    """What is right, found and gold in each sentence; of one type, or of all together."""
    rows = []
    for pair in zip(gold, found, strict=True):
        theirs, ours = ({entity for entity in side if kind in ("", entity[0])} for side in pair)
        rows.append((len(theirs & ours), len(ours), len(theirs)))
    return np.array(rows).T
