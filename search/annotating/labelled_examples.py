"""Labelled examples -> texts with their classes and embeddings, each text once.

An example is a text, or names a passage or a document of an index. What the index has encoded already is taken from
there: a text of the same content, by the key that the index itself goes by. That saves time and changes nothing.

How good a classifier is, is told by its predictions on examples that were held out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from search.encoding import Encoder
from search.encoding.tokenizer import with_context
from search.errors import InputError, TextTooLong
from search.records.evaluations import ClassFigures
from search.records.predictions import Example
from search.records.reports import Progress
from search.store.checksums import content_key
from search.store.protocol import Snapshot
from search.store.sqlite import SQLiteStore

_NAMED = 3  # lines that a message lists


@dataclass(frozen=True)
class Item:
    """A text to train on.

    Attributes:
        context: what is encoded before it, a passage's headings.
        group: what must not be parted between training and test: a document, or the text itself.
        where: as people find it: "line 7", "example 7".
    """

    context: str
    text: str
    label: str
    group: str
    where: str

    @property
    def key(self) -> bytes:
        return content_key(self.context, self.text)


@dataclass(frozen=True)
class Gathered:
    """Items, each of its own content.

    Attributes:
        repeated: examples that said the same of a text that was there already, and were left out.
        contradictions: a sentence on texts that have several labels and were left out; "" where there is none.
    """

    items: tuple[Item, ...]
    repeated: int
    contradictions: str

    @property
    def classes(self) -> tuple[str, ...]:
        return tuple(sorted({item.label for item in self.items}))

    @property
    def truth(self) -> NDArray[np.int64]:
        """(n,) numbers of the items' classes."""
        numbers = {name: i for i, name in enumerate(self.classes)}
        return np.array([numbers[item.label] for item in self.items], dtype=np.int64)

    @property
    def groups(self) -> NDArray[np.int64]:
        """(n,) numbers of the items' groups, from 0 in the order of their first items."""
        numbers: dict[str, int] = {}
        return np.array([numbers.setdefault(item.group, len(numbers)) for item in self.items], dtype=np.int64)


def gathered(examples: Sequence[Example], index: Path | None) -> Gathered:
    """The examples as items.

    Raises:
        InputError: an example without text or label, or one that names a passage or path where no index is given, or
            that the index does not hold.
    """
    items = _items(examples, index)
    by_key: dict[bytes, list[Item]] = {}
    for item in items:
        by_key.setdefault(item.key, []).append(item)
    kept, several = [], []
    for same in by_key.values():
        if len({item.label for item in same}) == 1:
            kept.append(same[0])
        else:
            several.append(same)
    left_out = sum(map(len, several))
    return Gathered(
        items=tuple(kept),
        repeated=len(items) - len(kept) - left_out,
        contradictions=_contradictions(several, left_out),
    )


def _contradictions(several: Sequence[Sequence[Item]], left_out: int) -> str:
    if not several:
        return ""
    named = ["; ".join(f"{item.where}: {item.label}" for item in same[:_NAMED]) for same in several[:_NAMED]]
    more = ", ..." if len(several) > _NAMED else ""
    one = len(several) == 1
    return (
        f"{len(several):,} text{'' if one else 's'} ({left_out:,} examples) {'has' if one else 'have'} several labels "
        f"and {'was' if one else 'were'} left out ({', '.join(f'({one})' for one in named)}{more})"
    )


def _items(examples: Sequence[Example], index: Path | None) -> list[Item]:
    items = []
    with nullcontext() if index is None else SQLiteStore(index).reading() as snapshot:
        for number, example in enumerate(examples, 1):
            where = f"line {example.line}" if example.line else f"example {number}"
            if not (label := example.label.strip()):
                raise InputError(f"{where} has no label. Give it one, or take it out.")
            if example.text is None:
                items += _of_index(snapshot, example, label, where)
            elif text := example.text.strip():  # as passages have it
                items.append(Item("", text, label, text, where))
            else:
                raise InputError(f"{where} has no text. Give it one, or take it out.")
    return items


def _of_index(snapshot: Snapshot | None, example: Example, label: str, where: str) -> list[Item]:
    """The passages that an example names, by id or by path."""
    if snapshot is None:
        raise InputError(
            f"{where} names a passage or a document, but no index is given. Name it with --index."
        )
    if example.passage is not None:
        ids: Sequence[int] = (example.passage,)
        missing = (
            f"passage {example.passage}, which the index does not hold. Passages get new ids when "
            "their document changes; name the path, or give the text."
        )
    else:
        ids = snapshot.place(example.path or "").passages
        missing = f"'{example.path}', which the index does not hold. Check the path."
    stored = snapshot.stored(ids)
    if not stored:
        raise InputError(f"{where} names {missing}")
    passages = [stored[id_] for id_ in ids]
    return [Item(each.context, each.shown, label, each.document, where) for each in passages]


def check_classes(found: Gathered, folds: int) -> None:
    """
    Raises:
        InputError: fewer than two classes, or one with fewer examples (or groups of them) than folds.
    """
    classes = found.classes
    if len(classes) < 2:
        has = f"all have the label '{classes[0]}'" if classes else "there is none"
        raise InputError(f"at least two labels are needed to tell apart, but of the examples {has}.")
    groups = Counter(label for label, _ in {(item.label, item.group) for item in found.items})
    label, fewest = min(groups.items(), key=lambda pair: (pair[1], pair[0]))
    if fewest < folds:
        what = "examples" if len({item.group for item in found.items}) == len(found.items) else "documents"
        what = what.removesuffix("s") if fewest == 1 else what
        way = f"use --folds {fewest}, or " if fewest >= 2 else ""
        raise InputError(
            f"the label '{label}' has {fewest} {what}, fewer than the {folds} folds of the cross-validation: "
            f"{way}give more of it."
        )


@dataclass(frozen=True, eq=False)
class Embedded:
    """(n, d) embeddings of items; `reused` of them from the index, `encoded` here, `cut` of these to what fits."""

    vectors: NDArray[np.float32]
    reused: int
    encoded: int
    cut: int


def embedded(
    items: Sequence[Item],
    encoder: Encoder,
    index: Path | None,
    *,
    truncate: bool = False,
    progress: Callable[[Progress], None] | None = None,
) -> Embedded:
    """The embeddings of items.

    Args:
        index: to take what has been encoded from, where its fingerprint is that of `encoder`.
        truncate: drop what goes beyond the model's limit.

    Raises:
        InputError: a text is too long, and `truncate` is off.
    """
    vectors = np.empty((len(items), encoder.dimension), dtype=np.float32)
    missing = list(range(len(items)))
    if index is not None:
        with SQLiteStore(index).reading() as snapshot:
            held = [snapshot.embedding_of(item.context, item.text) for item in items]
        missing = [i for i in missing if held[i] is None]
        for i, embedding in enumerate(held):
            if embedding is not None:
                vectors[i] = embedding
    if not missing:
        return Embedded(vectors, len(items), 0, 0)

    def told(done: int, total: int) -> None:
        if progress:
            progress(Progress("encoding", done, total, passages=len(missing), tokens=done))

    texts = [with_context(items[i].context, items[i].text) for i in missing]
    limit, prompt = encoder.max_tokens, encoder.prompt("document")
    lengths = [len(encoder.tokenizer.encode(prompt + text).ids) for text in texts]
    cut = sum(length > limit for length in lengths)
    try:
        vectors[missing] = encoder.encode(texts, role="document", truncate=truncate, progress=told)
    except TextTooLong as error:
        where = items[missing[error.position]].where
        raise InputError(
            f"{where} has {error.n_tokens} tokens and the model reads {error.max_tokens}"
            + (f", and {cut - 1} more are too long" if cut > 1 else "")
            + ". Shorten it, or take --truncate to read the beginning alone."
        ) from None
    return Embedded(vectors, len(items) - len(missing), len(missing), cut)


@dataclass(frozen=True, eq=False)
class HeldOut:
    """What heads said of examples that they had not seen.

    Attributes:
        truth: (n,) numbers of the true classes.
        groups: (n,) numbers of the groups that the examples belong to, from 0.
        probabilities: (repeats, n, c).
        unconverged: fits that stopped at the limit of iterations.
    """

    truth: NDArray[np.int64]
    groups: NDArray[np.int64]
    probabilities: NDArray[np.float64]
    unconverged: int

    @property
    def classes(self) -> int:
        return int(self.probabilities.shape[2])

    @property
    def predicted(self) -> NDArray[np.int64]:
        """(repeats, n)"""
        return self.probabilities.argmax(axis=2)

    def by_group(self) -> NDArray[np.float64]:
        """(groups, 3 c): for each class how many of a group's examples are rightly said to be of it, are said to be of
        it, and are of it; means of the repeats."""
        c, predicted = self.classes, self.predicted
        counts = np.zeros((int(self.groups.max()) + 1, 3 * c))
        share = 1 / len(predicted)
        for said in predicted:
            right = said == self.truth
            np.add.at(counts, (self.groups[right], said[right]), share)
            np.add.at(counts, (self.groups, c + said), share)
            np.add.at(counts, (self.groups, 2 * c + self.truth), share)
        return counts.round(12)  # so that examples that are alike are equal

    def confusion(self) -> NDArray[np.float64]:
        """(c, c) examples by true class (rows) and by what was said (columns), the mean of the repeats."""
        found = np.zeros((self.classes, self.classes))
        for said in self.predicted:
            np.add.at(found, (self.truth, said), 1.0)
        return found / len(self.predicted)


def accuracy(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """(r, 3 c) sums of `HeldOut.by_group` -> (r,) shares that are right."""
    hits, _, true = np.split(counts, 3, axis=1)
    return np.asarray(hits.sum(axis=1) / true.sum(axis=1))


def macro_f1(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """(r, 3 c) sums of `HeldOut.by_group` -> (r,) means of the classes' F1.

    A class that is neither there nor predicted, as happens in a resample, is left out of its mean.
    """
    hits, predicted, true = np.split(counts, 3, axis=1)
    named = predicted + true
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.nanmean(np.where(named > 0, 2 * hits / named, np.nan), axis=1))


def class_figures(confusion: NDArray[np.float64], classes: Sequence[str]) -> tuple[ClassFigures, ...]:
    """Precision, recall and F1 of every class; 0 where a class is never predicted, as scikit-learn has it."""
    hits, predicted, true = confusion.diagonal(), confusion.sum(axis=0), confusion.sum(axis=1)
    pairs = ((hits, predicted), (hits, true), (2 * hits, predicted + true))
    shares = [np.divide(a, b, out=np.zeros_like(b), where=b > 0).tolist() for a, b in pairs]
    support = [round(number) for number in true.tolist()]
    return tuple(ClassFigures(*row) for row in zip(classes, *shares, support, strict=True))


def calibration_error(confidences: NDArray[np.float64], right: NDArray[np.bool_], bins: int = 10) -> float:
    """The expected calibration error (Guo et al. 2017, equation 5), in [0, 1].

    It is the mean of |accuracy - confidence| over predictions, by bins of equal width; the last one holds 1, too.

    Args:
        confidences: (n,) the probability of what was said.
        right: (n,) whether it was right.
    """
    number = np.minimum((confidences * bins).astype(np.int64), bins - 1)
    gaps = np.bincount(number, weights=right - confidences)
    return float(np.abs(gaps).sum() / len(number))
