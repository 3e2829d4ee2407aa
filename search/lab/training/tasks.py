"""Training tasks: their data files and features, for the encoder and for task heads.

An encoder learns from a table, whose columns determine the objective:

    query and passage, optionally negative
    sentence1 and sentence2 with score

Heads learn from the files that `seewhy eval` and `seewhy lab label train` read. Texts are cut into the same windows as
when a head is applied.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import tokenizers

from search.errors import InputError
from search.evaluating.formats import TABLES, SquadQuestion, malformed, read_questions, read_rows
from search.lab.annotating.labels import Item, gathered
from search.lab.bert.checkpoint import Head, Task
from search.lab.bert.tagging import NO_ENTITY, OVERLAP
from search.lab.bert.tokenizing import without_space
from search.lab.evaluating.formats import Sentence, read_conll, read_examples
from search.lab.records.training import Objective
from search.lab.training.evaluators import (
    Evaluator,
    answers,
    correlation,
    entities,
    key_of,
    labels,
    ranking,
    word_labels,
)
from search.records.options import Precision

# Target of a token that is ignored, as in PyTorch's cross-entropy.
IGNORED = -100

_SHAPES: dict[Objective, tuple[str, ...]] = {
    "triplets": ("query", "passage", "negative"),
    "pairs": ("query", "passage"),
    "graded": ("sentence1", "sentence2"),
}
_STS_TOP = 5.0  # the STS benchmark's scores run from 0 to 5
_COLUMNS = "Use the columns query and passage (and negative), or sentence1, sentence2 and score."

# A window's "encoding", its "input_ids", and the targets by name.
Feature = dict[str, Any]


@dataclass(frozen=True)
class TrainingSettings:
    """Settings of a training run; see `search.lab.records.training.TrainOptions`."""

    epochs: int
    lr: float
    batch_size: int = 16
    freeze: int | str | None = None
    precision: Precision = "fp32"
    seed: int = 0
    device: str = "cpu"

    def __post_init__(self) -> None:
        if self.freeze not in (None, "all") and not (type(self.freeze) is int and self.freeze >= 0):
            raise InputError(f"freeze is {self.freeze!r}; give a number of layers, or all.")
        if self.epochs < 1 or self.batch_size < 1:
            raise InputError("epochs and batch size must be at least 1.")
        if self.precision not in ("fp32", "bf16"):
            raise InputError(f"unknown precision '{self.precision}'. Choose fp32 or bf16.")


class LoadedRows(NamedTuple):
    """Rows of a file without duplicates, the number of duplicates, and notes about the data."""

    rows: Sequence[Any]
    repeated: int = 0
    notes: Sequence[str] = ()


class TrainingTask(ABC):
    """A training task: reads its files, converts rows to features, and measures models.

    Attributes:
        objective: name of the task in reports.
        epochs, lr: default number of epochs and default learning rate.
        checkpoints: default number of checkpoints per epoch.
        head: task of the head to train; None for the encoder itself.
        loss: class name of the loss.
    """

    objective: Objective
    head: Task | None = None
    loss = "CrossEntropyLoss"
    epochs, lr, checkpoints = 4, 1e-4, 2

    @abstractmethod
    def read(self, path: Path, role: str) -> LoadedRows:
        """Read a data file.

        Args:
            role: "train"; or "dev", whose rows are all kept, so that metrics equal those of `seewhy eval`.

        Raises:
            InputError: the file is malformed, or has no usable rows; the message says where.
        """

    @abstractmethod
    def key(self, row: Any) -> str:
        """Return a key of a row; a row to train on must not have the key of a held-out row."""

    def groups(self, rows: Sequence[Any]) -> Sequence[Any]:
        """Return the group of each row; the rows of a group are either all held out or none."""
        return [self.key(row) for row in rows]

    def label(self, row: Any) -> str:
        """Return the class of a row, by which the held-out rows are stratified; "" if rows have no class."""
        return ""

    def classes(self, rows: Sequence[Any]) -> tuple[str, ...]:
        """Return the names of the classes; () if there are none."""
        return ()

    def features(self, head: Head, rows: Sequence[Any]) -> Iterator[Feature]:
        """Yield the windows of the rows' texts, each with the targets that the head learns."""
        raise NotImplementedError

    @abstractmethod
    def measure(self, rows: Sequence[Any], others: Sequence[Any], seed: int) -> Evaluator:
        """Return the `Evaluator` of models on held-out rows.

        Args:
            others: the training rows.
        """


class TextExample(NamedTuple):
    """Two sentences and their similarity, from 0 to 1; or a query, its passage, and negative passages."""

    texts: tuple[str, ...]
    score: float = 1.0


class Sentences(TrainingTask):
    """Training of the encoder on pairs, triplets or graded sentences, depending on the columns of the first file.

    With pairs and triplets, each query's passage is contrasted with the passages of the other queries in the batch and
    with the query's own negatives (Henderson et al. 2017; van den Oord et al. 2018, InfoNCE). With graded sentences,
    cosines are fitted to the scores (Reimers and Gurevych 2019).
    """

    epochs, lr, checkpoints = 1, 2e-5, 4

    def read(self, path: Path, role: str) -> LoadedRows:
        if path.suffix.lower() not in TABLES:
            raise InputError(f"'{path}' is not a table (.csv, .tsv or .jsonl). {_COLUMNS}")
        rows = read_rows(path)
        if not rows:
            raise InputError(f"{path} contains no examples. {_COLUMNS}")
        columns = rows[0].values.keys()
        shape = next((shape for shape, names in _SHAPES.items() if columns >= {*names}), None)
        if shape is None:
            raise malformed(path, 1, f"cannot train on the columns {', '.join(columns)}. {_COLUMNS}")
        if role == "dev" and shape != self.objective:
            raise InputError(
                f"the training examples are {self.objective}, but '{path}' contains {shape}. Use "
                "the same columns in both."
            )
        self.objective = shape
        self.loss = "CosineSimilarityLoss" if shape == "graded" else "MultipleNegativesRankingLoss"
        examples = [TextExample(tuple(row.text(name) for name in _SHAPES[shape])) for row in rows]
        notes = []
        if shape == "graded":
            scores, note = _scaled(path, [row.number("score") for row in rows])
            examples = [row._replace(score=score) for row, score in zip(examples, scores, strict=True)]
            notes.append(note)
        if unused := sorted(columns - {*_SHAPES[shape], "score"}):
            notes.append(f"unused columns of {path.name}: {', '.join(unused)}")
        kept = examples if role == "dev" else list(dict.fromkeys(examples))
        return LoadedRows(kept, len(examples) - len(kept), notes)

    def key(self, row: TextExample) -> str:
        return "\t".join(sorted(map(key_of, row.texts[: 2 if self.objective == "graded" else 1])))

    def groups(self, rows: Sequence[TextExample]) -> Sequence[Any]:
        """Return the group of each row: rows with the same query, or graded pairs linked by shared sentences.

        The link may go through other pairs: (a, b), (b, c) and (c, d) are one group.
        """
        if self.objective != "graded":
            return super().groups(rows)
        from scipy.sparse import coo_matrix
        from scipy.sparse.csgraph import connected_components

        numbers: dict[str, int] = {}
        pairs = [[numbers.setdefault(key_of(text), len(numbers)) for text in row.texts] for row in rows]
        first, second = zip(*pairs, strict=True)
        graph = coo_matrix(([True] * len(pairs), (first, second)), shape=(len(numbers), len(numbers)))
        _, components = connected_components(graph, directed=False)
        return [int(components[number]) for number in first]

    def measure(self, rows: Sequence[TextExample], others: Sequence[TextExample], seed: int) -> Evaluator:
        if self.objective == "graded":
            pairs = [(row.texts[0], row.texts[1]) for row in rows]
            return correlation(pairs, [row.score for row in rows], seed)
        return ranking([row.texts for row in rows], [row.texts for row in others], seed)


def _scaled(path: Path, scores: list[float]) -> tuple[list[float], str]:
    """Return the scores scaled to 0 to 1, and a note about their range."""
    low, high = min(scores), max(scores)
    if low < 0 or high > _STS_TOP:
        raise InputError(f"the scores of {path} range from {low:g} to {high:g}. Scale them to 0 to 1.")
    if high <= 1:
        return scores, f"scores of {path.name} range from {low:g} to {high:g}"
    return [
        score / _STS_TOP for score in scores
    ], f"scores of {path.name} are read on a scale of 0 to {_STS_TOP:g}"


def _feature(encoding: tokenizers.Encoding, **targets: int | list[int]) -> Feature:
    return {"encoding": encoding, "input_ids": encoding.ids, **targets}


def _at_least_two(labels: Iterable[str]) -> tuple[str, ...]:
    """Return the different labels, sorted; raise InputError if there is only one."""
    names = tuple(sorted(set(labels)))
    if len(names) < 2:
        raise InputError(f"at least two labels are needed, but there is only '{''.join(names)}'.")
    return names


class Texts(TrainingTask):
    """Training of a classifier on labelled texts; texts longer than the model's limit are split into windows."""

    objective, head = "classify", "label"

    def read(self, path: Path, role: str) -> LoadedRows:
        examples = read_examples(path)
        if any(example.text is None for example in examples):
            raise InputError(f"'{path}' gives paths instead of texts. Add a column 'text'.")
        items, notes = gathered(examples, None)
        return LoadedRows(items, len(examples) - len(items), tuple(notes))

    def key(self, row: Item) -> str:
        return row.text

    def label(self, row: Item) -> str:
        return row.label

    def classes(self, rows: Sequence[Item]) -> tuple[str, ...]:
        return _at_least_two(row.label for row in rows)

    def features(self, head: Head, rows: Sequence[Item]) -> Iterator[Feature]:
        for row in rows:
            for window in head.windows(row.text):
                yield _feature(window, labels=head.labels.index(row.label))

    def measure(self, rows: Sequence[Item], others: Sequence[Item], seed: int) -> Evaluator:
        classes = self.classes(others)
        if unknown := sorted({row.label for row in rows} - set(classes)):
            raise InputError(f"no training example has the label '{unknown[0]}'. Add one.")
        return labels(rows, classes, seed)


class Entities(TrainingTask):
    """Training of a tagger on sentences of labelled words; a word's label is the target of its first token only."""

    objective, head = "tag", "tag"

    def read(self, path: Path, role: str) -> LoadedRows:
        return LoadedRows(read_conll(path))

    def key(self, row: Sentence) -> str:
        return row.text

    def classes(self, rows: Sequence[Sentence]) -> tuple[str, ...]:
        names = {label for row in rows for label in row.labels} - {NO_ENTITY}
        if not names:
            raise InputError("every word has the label O. Add sentences with entities.")
        return (NO_ENTITY, *sorted(names))

    def features(self, head: Head, rows: Sequence[Sentence]) -> Iterator[Feature]:
        numbers = {name: i for i, name in enumerate(head.labels)}
        for row in rows:
            starts = (start for start, _ in row.spans)
            labels = dict(zip(starts, (numbers[label] for label in row.labels), strict=True))
            for window in head.windows(row.text, overlap=OVERLAP):
                yield _feature(window, labels=_by_token(row.text, window, dict(labels)))

    def measure(self, rows: Sequence[Sentence], others: Sequence[Sentence], seed: int) -> Evaluator:
        return entities(rows, seed)


class PartsOfSpeech(Entities):
    """Training of a tagger on sentences in which every word has a label, such as its part of speech."""

    def read(self, path: Path, role: str) -> LoadedRows:
        return LoadedRows(read_conll(path, entities=False))

    def classes(self, rows: Sequence[Sentence]) -> tuple[str, ...]:
        return _at_least_two(label for row in rows for label in row.labels)

    def measure(self, rows: Sequence[Sentence], others: Sequence[Sentence], seed: int) -> Evaluator:
        return word_labels(rows, seed)


def _by_token(text: str, window: tokenizers.Encoding, labels: dict[int, int]) -> list[int]:
    """Return the target of each token: the label of a word for its first token, else IGNORED.

    Args:
        labels: offset of a word's first character -> number of its label; used labels are removed.
    """
    targets = []
    for part, (start, end) in zip(window.sequence_ids, window.offsets, strict=True):
        first, end = without_space(text, start, end)
        targets.append(IGNORED if part is None or first == end else labels.pop(first, IGNORED))
    return targets


class AnswerTraining(TrainingTask):
    """Training of a reader on questions about paragraphs.

    In a window without the answer the target is [CLS], which means "no answer".
    """

    objective, head = "read", "answer"

    def read(self, path: Path, role: str) -> LoadedRows:
        questions, paragraphs = read_questions(path)
        rows = [(question, paragraphs.entries[question.paragraph].text) for question in questions]
        for question, text in rows:
            first, start = next(zip(question.answers, question.starts, strict=True), ("", 0))
            if start < 0 or not text.startswith(first, start):
                raise InputError(
                    f"{path}: question '{question.id}': '{first:.40}' is not at answer_start. Correct it."
                )
        return LoadedRows(rows)

    def key(self, row: tuple[SquadQuestion, str]) -> str:
        return row[1]

    def features(self, head: Head, rows: Sequence[tuple[SquadQuestion, str]]) -> Iterator[Feature]:
        for question, text in rows:
            for window in head.windows(text, first=question.text, overlap=OVERLAP):
                start, end = _tokens(window, question)
                yield _feature(window, start_positions=start, end_positions=end)

    def measure(self, rows: Sequence[Any], others: Sequence[Any], seed: int) -> Evaluator:
        return answers(rows, seed)


def _tokens(window: tokenizers.Encoding, question: SquadQuestion) -> tuple[int, int]:
    """Return the positions of the answer's first and last token in a window; (0, 0) if it is not whole."""
    inside = [i for i, part in enumerate(window.sequence_ids) if part == 1]
    if not question.answers or not inside:
        return 0, 0
    first, offsets = question.starts[0], window.offsets
    last = first + len(question.answers[0])
    shared = [i for i in inside if offsets[i][0] < last and first < offsets[i][1]]
    whole = offsets[inside[0]][0] <= first and last <= offsets[inside[-1]][1]
    return (shared[0], shared[-1]) if whole and shared else (0, 0)
