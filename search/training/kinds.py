"""What is learned: pairs, triplets and graded sentences by the encoder; labels, entities and answers by a head on it.

The columns of a table say what an encoder learns:

    query (or anchor, question) and passage (or positive, answer, document), perhaps negative, negative_1, ...
    sentence1 and sentence2 (or text1 and text2) with score (or similarity, label); without a score they are a pair

Heads learn from the files that `seewhy eval` and `seewhy lab label train` read. Texts are cut into windows as they are
where a head is applied.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import tokenizers

from search.annotating.labels import Item, gathered
from search.bert.checkpoint import Head, Task
from search.bert.tagging import NO_ENTITY, OVERLAP
from search.bert.tokenizing import without_space
from search.errors import InputError
from search.evaluating.formats import (
    TABLES,
    Question,
    Sentence,
    malformed,
    read_conll,
    read_examples,
    read_questions,
    read_rows,
)
from search.records.evaluations import Objective
from search.training import measures
from search.training.examples import Rows, connected, key_of
from search.training.measures import Measure

IGNORED = -100  # the class of a token that nothing is learned from, as PyTorch's cross-entropy has it

_NAMES = {
    "query": ("query", "anchor", "question"),
    "passage": ("passage", "positive", "answer", "document"),
    "sentence1": ("sentence1", "sentence_1", "text1", "sentence_a"),
    "sentence2": ("sentence2", "sentence_2", "text2", "sentence_b"),
    "score": ("score", "similarity", "label"),
}
_SHAPES: dict[frozenset[str], Objective] = {
    frozenset({"query", "passage"}): "pairs",
    frozenset({"query", "passage", "negative"}): "triplets",
    frozenset({"sentence1", "sentence2"}): "pairs",
    frozenset({"sentence1", "sentence2", "score"}): "graded",
}
_STS_TOP = 5.0  # the STS benchmark's scores run from 0 to 5
_KNOWN = (
    "Known are: CSV, TSV or JSONL with query and passage (and negative), or with two sentences and score."
)

# multiple-negatives  the passage of each query against those of the others in the batch, and its own negatives
#                     (Henderson et al. 2017; van den Oord et al. 2018, InfoNCE)
# cosine              cosines as near to the scores as can be (Reimers and Gurevych 2019)
# cosent              cosines in the order of the scores (Su 2022, CoSENT)
# angle               the same, of angles in complex space (Li and Li 2023, AnglE)
LOSSES = {
    "multiple-negatives": "MultipleNegativesRankingLoss",
    "cosine": "CosineSimilarityLoss",
    "cosent": "CoSENTLoss",
    "angle": "AnglELoss",
}

Feature = dict[str, Any]  # a window's "encoding", its "input_ids", and the targets by name


class Kind(ABC):
    """What is learned, from which files, and how well.

    Attributes:
        epochs, lr: by default; `checkpoints` an epoch.
        head: what transformers' head is for; None for the encoder itself.
        loss: the name of its class.
    """

    objective: Objective
    head: Task | None = None
    loss = "CrossEntropyLoss"
    epochs, lr, checkpoints = 4, 1e-4, 2

    @abstractmethod
    def read(self, path: Path, role: str) -> Rows:
        """
        Args:
            role: "train", or "dev", whose rows are kept as they are so that figures are those of `seewhy eval`.

        Raises:
            InputError: the file is malformed, or holds nothing of use; the message says where.
        """

    @abstractmethod
    def key(self, row: Any) -> str: ...

    def groups(self, rows: Sequence[Any]) -> Sequence[str]:
        return [self.key(row) for row in rows]

    def stratum(self, row: Any) -> str:
        return ""

    def classes(self, rows: Sequence[Any]) -> tuple[str, ...]:
        """The names of what is told apart; () where there are none."""
        return ()

    def features(self, head: Head, rows: Sequence[Any]) -> Iterator[Feature]:
        """What a head learns from."""
        raise NotImplementedError

    @abstractmethod
    def measure(self, rows: Sequence[Any], others: Sequence[Any], seed: int) -> Measure:
        """
        Args:
            others: that are learned from.
        """


class Example(NamedTuple):
    """Two sentences and how alike they are, from 0 to 1; or a query, its passage, and passages that are none."""

    texts: tuple[str, ...]
    score: float = 1.0


class Sentences(Kind):
    """Sentences for the encoder; the first file says whether they are pairs, triplets or graded.

    Args:
        loss: a name in `LOSSES`; None takes what suits the rows.
    """

    epochs, lr, checkpoints = 1, 2e-5, 4

    def __init__(self, loss: str | None) -> None:
        if loss and loss not in LOSSES:
            raise InputError(f"there is no loss '{loss}'. Choose one of: {', '.join(LOSSES)}.")
        self._loss = loss

    def read(self, path: Path, role: str) -> Rows:
        if path.suffix.lower() not in TABLES:
            raise InputError(f"'{path}' is in no format that can be trained on. {_KNOWN}")
        rows = read_rows(path)
        if not rows:
            raise InputError(f"{path} holds no example. {_KNOWN}")
        names = list(dict.fromkeys(name for row in rows for name in row.values))
        shape, columns, score = _columns(path, list(rows[0].values))
        if role == "dev" and shape != self.objective:
            raise InputError(
                f"the examples are {self.objective} and those of '{path}' {shape}. Give two of one shape."
            )
        self.objective = shape
        self._fit_loss()
        examples = [
            Example(tuple(row.text(name) for name in columns), row.number(score) if score else 1.0)
            for row in rows
        ]
        notes = []
        if score:
            examples, note = _scaled(path, examples)
            notes.append(note)
        if unused := [name for name in names if name not in (*columns, score)]:
            notes.append(f"not used of {path.name}: {', '.join(unused)}")
        different = list(dict.fromkeys(examples))
        kept = examples if role == "dev" else different
        return Rows(kept, len(examples) - len(kept), tuple(notes))

    def _fit_loss(self) -> None:
        name = self._loss or ("cosine" if self.objective == "graded" else "multiple-negatives")
        if (name == "multiple-negatives") == (self.objective == "graded"):
            raise InputError(f"the loss '{name}' does not fit {self.objective} examples. Leave it out.")
        self.loss = LOSSES[name]

    def key(self, row: Example) -> str:
        return "\t".join(sorted(map(key_of, row.texts[: 2 if self.objective == "graded" else 1])))

    def groups(self, rows: Sequence[Example]) -> Sequence[str]:
        if self.objective != "graded":
            return super().groups(rows)
        return connected([(key_of(row.texts[0]), key_of(row.texts[1])) for row in rows])

    def measure(self, rows: Sequence[Example], others: Sequence[Example], seed: int) -> Measure:
        if self.objective == "graded":
            if len({row.score for row in rows}) < 2:
                raise InputError("all held-out scores are the same, so nothing can be measured with them.")
            return measures.correlation(
                [(row.texts[0], row.texts[1]) for row in rows], [row.score for row in rows], seed
            )
        return measures.ranking([row.texts for row in rows], [row.texts for row in others], seed)


def _columns(path: Path, names: Sequence[str]) -> tuple[Objective, tuple[str, ...], str | None]:
    """The shape of examples, the columns of their texts, and that of the score."""
    named: dict[str, str] = {}
    for meaning, known in _NAMES.items():
        there = [name for name in known if name in names]
        if len(there) > 1:
            raise malformed(path, 1, f"the columns {' and '.join(there)} mean the same. Rename one of them.")
        named |= dict.fromkeys([meaning] if there else [], there[0] if there else "")
    negatives = tuple(name for name in names if re.fullmatch(r"negatives?(_?\d+)?", name))
    shape = _SHAPES.get(frozenset(named) | ({"negative"} if negatives else set()))
    if shape is None:
        raise malformed(
            path, 1, f"no examples can be made of what is named here ({', '.join(names)}). {_KNOWN}"
        )
    score = named.pop("score", None)
    return shape, (*named.values(), *negatives), score


def _scaled(path: Path, rows: list[Example]) -> tuple[list[Example], str]:
    """Graded rows with their scores between 0 and 1, and what was done to them."""
    low, high = min(row.score for row in rows), max(row.score for row in rows)
    if low < 0 or high > _STS_TOP:
        raise InputError(
            f"the scores of {path} run from {low:g} to {high:g}. Scale them to 0 to 1, what is alike being 1."
        )
    note = f"scores of {path.name} run from {low:g} to {high:g}: "
    if high <= 1:
        return rows, note + "taken as they are"
    scaled = [row._replace(score=row.score / _STS_TOP) for row in rows]
    return scaled, f"{note}read as 0 to {_STS_TOP:g} and scaled to 0 to 1"


def _feature(encoding: tokenizers.Encoding, **targets: int | list[int]) -> Feature:
    return {"encoding": encoding, "input_ids": encoding.ids, **targets}


class Texts(Kind):
    """Texts, each with its label; one that is longer than the model reads is learned window by window."""

    objective, head = "classify", "label"

    def read(self, path: Path, role: str) -> Rows:
        examples = read_examples(path)
        if any(one.text is None for one in examples):
            raise InputError(
                f"'{path}' names passages or documents of an index. A checkpoint learns from texts: give a column "
                "'text', or train a head on the index's embeddings with: seewhy lab label train"
            )
        items, notes = gathered(examples, None)
        return Rows(items, len(examples) - len(items), tuple(notes))

    def key(self, row: Item) -> str:
        return row.text

    def stratum(self, row: Item) -> str:
        return row.label

    def classes(self, rows: Sequence[Item]) -> tuple[str, ...]:
        names = tuple(sorted({row.label for row in rows}))
        if len(names) < 2:
            raise InputError(f"at least two labels are needed to tell apart; there is '{''.join(names)}'.")
        return names

    def features(self, head: Head, rows: Sequence[Item]) -> Iterator[Feature]:
        for row in rows:
            for window in head.windows(row.text):
                yield _feature(window, labels=head.labels.index(row.label))

    def measure(self, rows: Sequence[Item], others: Sequence[Item], seed: int) -> Measure:
        classes = self.classes(others)
        if strange := sorted({row.label for row in rows} - set(classes)):
            raise InputError(
                f"nothing to learn from has the label '{strange[0]}', and what is measured with has it. "
                "Give examples of it, or take it out."
            )
        return measures.labels(rows, classes, seed)


class Entities(Kind):
    """Sentences, each word with its label; the first token of a word has it, the others have none."""

    objective, head = "tag", "tag"

    def read(self, path: Path, role: str) -> Rows:
        return Rows(read_conll(path))

    def key(self, row: Sentence) -> str:
        return row.text

    def classes(self, rows: Sequence[Sentence]) -> tuple[str, ...]:
        names = {label for row in rows for label in row.labels} - {NO_ENTITY}
        if not names:
            raise InputError("no word to learn from has a label but O. Give sentences with entities.")
        return (NO_ENTITY, *sorted(names))

    def features(self, head: Head, rows: Sequence[Sentence]) -> Iterator[Feature]:
        numbers = {name: i for i, name in enumerate(head.labels)}
        for row in rows:
            starts = (start for start, _ in row.spans)
            labels = dict(zip(starts, (numbers[label] for label in row.labels), strict=True))
            for window in head.windows(row.text, overlap=OVERLAP):
                yield _feature(window, labels=_by_token(row.text, window, dict(labels)))

    def measure(self, rows: Sequence[Sentence], others: Sequence[Sentence], seed: int) -> Measure:
        return measures.entities(rows, seed)


def _by_token(text: str, window: tokenizers.Encoding, labels: dict[int, int]) -> list[int]:
    """The label of every token: of the first that begins where a word does; the others are not learned from."""
    found = []
    for part, (start, end) in zip(window.sequence_ids, window.offsets, strict=True):
        first, behind = without_space(text, start, end)
        found.append(IGNORED if part is None or first == behind else labels.pop(first, IGNORED))
    return found


class Answers(Kind):
    """Questions, each about a paragraph; a window that does not hold the answer answers by [CLS]: not here."""

    objective, head = "read", "answer"

    def read(self, path: Path, role: str) -> Rows:
        questions, paragraphs = read_questions(path)
        rows = [(one, paragraphs.entries[one.paragraph].text) for one in questions]
        for question, text in rows:
            first, start = next(zip(question.answers, question.starts, strict=True), ("", 0))
            if start < 0 or not text.startswith(first, start):
                raise InputError(
                    f"{path}: the question '{question.id}': the paragraph has not '{first:.40}' at answer_start. "
                    "A reader learns from where answers stand: mend the file."
                )
        return Rows(rows)

    def key(self, row: tuple[Question, str]) -> str:
        return row[1]

    def features(self, head: Head, rows: Sequence[tuple[Question, str]]) -> Iterator[Feature]:
        for question, text in rows:
            for window in head.windows(text, first=question.text, overlap=OVERLAP):
                start, end = _tokens(window, question)
                yield _feature(window, start_positions=start, end_positions=end)

    def measure(self, rows: Sequence[Any], others: Sequence[Any], seed: int) -> Measure:
        return measures.answers(rows, seed)


def _tokens(window: tokenizers.Encoding, question: Question) -> tuple[int, int]:
    """First and last token of an answer; those of no answer where the window does not hold all of it."""
    inside = [i for i, part in enumerate(window.sequence_ids) if part == 1]
    if not question.answers or not inside:
        return 0, 0
    first, offsets = question.starts[0], window.offsets
    last = first + len(question.answers[0])
    shared = [i for i in inside if offsets[i][0] < last and first < offsets[i][1]]
    whole = offsets[inside[0]][0] <= first and last <= offsets[inside[-1]][1]
    return (shared[0], shared[-1]) if whole and shared else (0, 0)
