"""What heads learn: texts with labels, sentences with labelled words, questions with answers.

The files are those that `seewhy eval` and its like read. What is learned from is cut into inputs by the methods by
which a head is applied, so that what it reads later looks as what it has learned from.
"""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tokenizers

from search.annotating.labelled_examples import Item, gathered
from search.bert.checkpoint import Head, Task
from search.bert.tagging import NO_ENTITY, OVERLAP
from search.bert.tokenizing import without_space
from search.errors import InputError
from search.evaluating.entities import Sentence, read_conll, spans_of
from search.evaluating.formats import read_examples, read_questions
from search.files import sha256_of
from search.records.evaluations import Objective, TrainingFile
from search.training.head_measures import Asked, Entities, Labels, Spans
from search.training.measures import Measure

IGNORED = -100  # the class of a token that nothing is learned from, as PyTorch's cross-entropy has it
_FEWEST = 3  # rows of each class: to learn from, to choose by, to measure with
_NO_ANSWER = 0  # [CLS]


@dataclass(frozen=True)
class HeadData:
    """The rows of a file.

    Attributes:
        read: rows in the file; `repeated` of them said the same as an earlier one.
        notes: what was found out about the data, as sentences.
    """

    rows: tuple[Any, ...]
    file: TrainingFile
    repeated: int = 0
    notes: tuple[str, ...] = ()


# What a head learns from: its "encoding", the "input_ids" of that for their number, and the targets by name.
Feature = dict[str, Any]


class HeadTask(ABC):
    """What a head learns."""

    objective: Objective
    head: Task
    unit: str

    def read(self, path: Path, role: str) -> HeadData:
        """
        Args:
            role: "train" or "dev".

        Raises:
            InputError: the file is malformed, or holds nothing of use; the message says where.
        """
        rows, repeated, notes = self._rows(path)
        file = TrainingFile(role, str(path), path.name, sha256_of(path), len(rows) + repeated)
        return HeadData(tuple(rows), file, repeated, notes)

    @abstractmethod
    def _rows(self, path: Path) -> tuple[Sequence[Any], int, tuple[str, ...]]: ...

    @abstractmethod
    def key(self, row: Any) -> str:
        """What must not be on both sides: rows with the same key stay together."""

    def stratum(self, row: Any) -> str:
        """What each side has its share of."""
        return ""

    @abstractmethod
    def classes(self, rows: Sequence[Any]) -> tuple[str, ...]:
        """The names of what is told apart; () where there are none."""

    @abstractmethod
    def features(self, head: Head, rows: Sequence[Any]) -> Iterator[Feature]: ...

    @abstractmethod
    def measure(self, rows: Sequence[Any], classes: tuple[str, ...], seed: int) -> Measure: ...


def parted(task: HeadTask, rows: Sequence[Any], share: float, seed: int) -> tuple[list[Any], list[Any]]:
    """A part of the rows is held out, of each stratum its share: (to learn from, held out).

    Raises:
        InputError: a stratum is too small for that.
    """
    keys: dict[str, dict[str, None]] = {}
    for row in rows:
        keys.setdefault(task.stratum(row), {})[task.key(row)] = None
    taken: set[str] = set()
    chance = random.Random(seed)
    for stratum, found in sorted(keys.items()):
        if len(found) < 2:
            of = f" with the label '{stratum}'" if stratum else ""
            raise InputError(
                f"there are {len(found)} different {task.unit}{of} left, and at least {_FEWEST} are needed to learn "
                "from some and to judge by others. Give more of them."
            )
        taken.update(chance.sample(sorted(found), max(1, round(share * len(found)))))
    held = [row for row in rows if task.key(row) in taken]
    return [row for row in rows if task.key(row) not in taken], held


def _feature(encoding: tokenizers.Encoding, **targets: int | list[int]) -> Feature:
    return {"encoding": encoding, "input_ids": encoding.ids, **targets}


class Texts(HeadTask):
    """Texts, each with its label; one that is longer than the model reads is learned window by window."""

    objective, head, unit = "classify", "label", "texts"

    def __init__(self, text_column: str | None = None, label_column: str = "label") -> None:
        self._columns = {"text_column": text_column, "label_column": label_column}

    def _rows(self, path: Path) -> tuple[Sequence[Item], int, tuple[str, ...]]:
        if path.suffix.lower().startswith((".conll", ".iob", ".bio")):
            raise InputError(f"'{path}' has labels of words: train a tagger with seewhy lab train tag")
        examples = read_examples(path, **self._columns)  # type: ignore[arg-type]
        if any(one.text is None for one in examples):
            raise InputError(
                f"'{path}' names passages or documents of an index. A checkpoint learns from texts: give a column "
                "'text', or train a head on the index's embeddings with: seewhy lab label train"
            )
        found = gathered(examples, None)
        return found.items, found.repeated, (found.contradictions,) if found.contradictions else ()

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

    def measure(self, rows: Sequence[Item], classes: tuple[str, ...], seed: int) -> Measure:
        if strange := sorted({row.label for row in rows} - set(classes)):
            raise InputError(
                f"nothing to learn from has the label '{strange[0]}', and what is measured with has it. "
                "Give examples of it, or take it out."
            )
        return Labels(rows, classes, seed)


class Sentences(HeadTask):
    """Sentences, each word with its label; the first token of a word has it, the others have none."""

    objective, head, unit = "tag", "tag", "sentences"

    def _rows(self, path: Path) -> tuple[Sequence[Sentence], int, tuple[str, ...]]:
        return read_conll(path), 0, ()

    def key(self, row: Sentence) -> str:
        return " ".join(row.words)

    def classes(self, rows: Sequence[Sentence]) -> tuple[str, ...]:
        names = {label for row in rows for label in row.labels} - {NO_ENTITY}
        if not names:
            raise InputError("no word to learn from has a label but O. Give sentences with entities.")
        return (NO_ENTITY, *sorted(names))

    def features(self, head: Head, rows: Sequence[Sentence]) -> Iterator[Feature]:
        numbers = {name: i for i, name in enumerate(head.labels)}
        for row in rows:
            text = " ".join(row.words)
            starts = [start for start, _ in spans_of(row.words)]
            labels = dict(zip(starts, (numbers[label] for label in row.labels), strict=True))
            for window in head.windows(text, overlap=OVERLAP):
                yield _feature(window, labels=_by_token(text, window, labels))

    def measure(self, rows: Sequence[Sentence], classes: tuple[str, ...], seed: int) -> Measure:
        return Entities(rows, seed)


def _by_token(text: str, window: tokenizers.Encoding, labels: dict[int, int]) -> list[int]:
    """The label of every token: of the first that begins where a word does; the others are not learned from."""
    found, done = [], set[int]()
    for part, (start, end) in zip(window.sequence_ids, window.offsets, strict=True):
        first, behind = without_space(text, start, end)
        if part is None or first == behind or first in done:
            found.append(IGNORED)
        else:
            found.append(labels.get(first, IGNORED))
            done.add(first)
    return found


class Questions(HeadTask):
    """Questions, each about a paragraph; a window that does not hold the answer answers by [CLS]: not here."""

    objective, head, unit = "read", "answer", "paragraphs"

    def _rows(self, path: Path) -> tuple[Sequence[Asked], int, tuple[str, ...]]:
        data = read_questions(path)
        entries = data.paragraphs.entries
        rows = [Asked(question, entries[question.paragraph].text) for question in data.questions]
        for row in rows:
            _ = _span(row, path)
        return rows, 0, ()

    def key(self, row: Asked) -> str:
        return row.text

    def classes(self, rows: Sequence[Asked]) -> tuple[str, ...]:
        return ()

    def features(self, head: Head, rows: Sequence[Asked]) -> Iterator[Feature]:
        for row in rows:
            span = _span(row)
            for window in head.windows(row.text, first=row.question.text, overlap=OVERLAP):
                start, end = _tokens(window, span)
                yield _feature(window, start_positions=start, end_positions=end)

    def measure(self, rows: Sequence[Asked], classes: tuple[str, ...], seed: int) -> Measure:
        return Spans(rows, seed)


def _span(row: Asked, path: Path | None = None) -> tuple[int, int] | None:
    """The characters of the first answer; None for a question without one.

    Raises:
        InputError: it does not stand where the file says.
    """
    if not row.question.answers:
        return None
    answer, start = row.question.answers[0], row.question.starts[0]
    end = start + len(answer)
    if start < 0 or row.text[start:end] != answer:
        raise InputError(
            f"{path}: the question '{row.question.id}': the paragraph has not '{answer:.40}' at answer_start. "
            "A reader learns from where answers stand: mend the file."
        )
    return start, end


def _tokens(window: tokenizers.Encoding, span: tuple[int, int] | None) -> tuple[int, int]:
    """First and last token of an answer; those of no answer where the window does not hold all of it."""
    inside = [i for i, part in enumerate(window.sequence_ids) if part == 1]
    offsets = window.offsets
    if span and inside and offsets[inside[0]][0] <= span[0] and span[1] <= offsets[inside[-1]][1]:
        shared = [i for i in inside if offsets[i][0] < span[1] and span[0] < offsets[i][1]]
        if shared:
            return shared[0], shared[-1]
    return _NO_ANSWER, _NO_ANSWER
