"""Entities: gold sentences against what a checkpoint says of their words.

Files are in CoNLL format: a word a line, its label last, an empty line behind each sentence, as in CoNLL-2003 (Tjong
Kim Sang and De Meulder 2003), whose lines have more columns between the two, and WNUT-17. Words are taken as the file
has them: the checkpoint's tokens are aligned to them, and each word has the class of its first token. Figures are those
of seqeval, the scorer of CoNLL-2000 in Python, in its default mode.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from search.bert.tagging import Tagger, chunks, field_of, load_tagger, parsed
from search.errors import InputError, OptionalDependency
from search.evaluating.asking import about_few, spread
from search.evaluating.dataset import lines, malformed
from search.records.evaluations import EntityEvaluation, EntityFigures, Estimate
from search.records.predictions import TaggedWord
from search.records.reports import Progress
from search.statistics import of_counts

_AT_ONCE = 64  # sentences that are read together
_DOCUMENT = "-DOCSTART-"
_NOTHING = "O"
_FIGURES = ("precision", "recall", "f1-score")

Entity = tuple[str, int, int]  # type, first word, the one behind the last


@dataclass(frozen=True)
class Sentence:
    """Words and their labels."""

    words: tuple[str, ...]
    labels: tuple[str, ...]


def evaluate_entities(
    dataset: str | Path,
    *,
    model: str,
    mapping: Mapping[str, str] | None = None,
    limit: int | None = None,
    seed: int = 0,
    offline: bool = False,
    device: str | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> EntityEvaluation:
    """Precision, recall and F1 of entities, over all and by type, with their 95 % bootstrap intervals.

    Args:
        dataset: a file in CoNLL format.
        model: a checkpoint with a head for classes of tokens.
        mapping: types of the checkpoint -> those of the gold file, {"PER": "person"}; "O" leaves one out.
        limit: how many sentences, spread evenly over the file; None for all.
        seed: of the resampling.
        offline, device: as for `search.bert.tag`.
        progress: called after every batch of sentences.

    Raises:
        InputError: the file is malformed (with its line), or no type of the checkpoint is one of the file's.
        ModelError: the model cannot be loaded, or has no head for classes of tokens.
        OptionalDependency: the extra `entities` is not installed.
    """
    if find_spec("seqeval") is None:
        raise OptionalDependency("seqeval", "entities", "scoring entities")
    started = time.monotonic()
    path = Path(dataset).expanduser()
    sentences = spread(read_conll(path), limit, "sentence")
    renamed = dict(mapping or {})
    tagger = load_tagger(model, "ner", offline, device)
    known = {parsed(label)[1] for label in tagger.head.labels} - {""}
    _require_same_types(known, sentences, renamed, tagger.head.name)
    said, notes = words_said(tagger, sentences, progress)
    gold = [list(chunks(sentence.labels)) for sentence in sentences]
    found = [_mapped(chunks([word.label for word in words]), renamed) for words in said]
    lengths = [len(sentence.words) for sentence in sentences]
    micro, types = entity_figures(gold, found, lengths, seed)
    return EntityEvaluation(
        dataset=path.stem,
        source=str(path),
        model=tagger.head.name,
        sentences=len(sentences),
        words=sum(lengths),
        micro=micro,
        macro_f1=float(np.mean([figures.f1.mean for figures in types])) if types else 0.0,
        types=types,
        mapping=renamed,
        predictions=tuple(
            tuple(zip(sentence.words, _as_bio(entities, len(sentence.words)), strict=True))
            for sentence, entities in zip(sentences, found, strict=True)
        ),
        seconds=time.monotonic() - started,
        notes=(*notes, *_about(types, {renamed.get(kind, kind) for kind in known}, len(sentences))),
    )


def read_conll(path: Path) -> list[Sentence]:
    """The sentences of a file; lines that only part documents are left out.

    Raises:
        InputError: it cannot be read, holds no sentence, or a line has no label; the message names file and line.
    """
    sentences: list[Sentence] = []
    rows: list[tuple[str, str]] = []
    numbered = list(lines(path))
    for number, line in (*numbered, (len(numbered) + 1, "")):
        if line.strip():
            rows.append(_word_and_label(line.rstrip("\r\n"), path, number))
        elif rows:
            words, labels = zip(*rows, strict=True)
            if words != (_DOCUMENT,):
                sentences.append(Sentence(words, labels))
            rows = []
    if not sentences:
        raise InputError(f"'{path}' holds no sentence. Give a file with a word and its label on each line.")
    return sentences


def _word_and_label(line: str, path: Path, number: int) -> tuple[str, str]:
    """The first and the last column: between tabs where there are any, otherwise between blanks."""
    columns = line.split("\t") if "\t" in line else line.split(" ")
    word, label = columns[0].strip(), columns[-1].strip()
    if len(columns) < 2 or not word or not label:
        raise malformed(
            path, number, f"'{line.strip():.40}' is not a word and its label with a tab between them."
        )
    if label != _NOTHING and "-" not in label:
        raise malformed(
            path, number, f"'{label:.40}' is no label of an entity. Labels are O, and such as B-person."
        )
    return word, label


def as_conll(sentences: Iterable[Sequence[tuple[str, str]]]) -> str:
    """Words with their labels as such a file: a tab between the two, an empty line behind each sentence."""
    return "".join("".join(f"{word}\t{label}\n" for word, label in sentence) + "\n" for sentence in sentences)


def words_said(
    tagger: Tagger, sentences: Sequence[Sentence], progress: Callable[[Progress], None] | None = None
) -> tuple[list[tuple[TaggedWord, ...]], list[str]]:
    """Every word with its label by a checkpoint, and what has to be said of them."""
    found: list[tuple[TaggedWord, ...]] = []
    unread = 0
    for start in range(0, len(sentences), _AT_ONCE):
        batch = sentences[start : start + _AT_ONCE]
        texts = [" ".join(sentence.words) for sentence in batch]
        said = list(tagger.read(texts, [list(spans_of(sentence.words)) for sentence in batch]))
        unread += sum(not word.tokens for words in said for word in words)
        found += said
        if progress:
            progress(Progress("tagging", len(found), len(sentences), passages=len(found)))
    notes = []
    if unread:
        many = "1 word" if unread == 1 else f"{unread:,} words"
        notes.append(
            f"the tokenizer makes nothing of {many}, such as control characters; such a one counts as O"
        )
    return found, notes


def spans_of(words: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Where words stand with one blank between each two."""
    at = 0
    for word in words:
        yield at, at + len(word)
        at += len(word) + 1


def _require_same_types(
    known: set[str], sentences: Sequence[Sentence], mapping: Mapping[str, str], model: str
) -> None:
    """
    Raises:
        InputError: the two have no type in common, so that nothing could be right.
    """
    gold = {kind for sentence in sentences for kind, _, _ in chunks(sentence.labels)}
    if known and gold and not {mapping.get(kind, kind) for kind in known} & gold:
        has, there = ", ".join(sorted(known)), ", ".join(sorted(gold))
        by_name = {kind.casefold(): kind for kind in gold}
        pairs = {kind: by_name.get(field_of(f"B-{kind}", "ner").casefold()) for kind in sorted(known)}
        hints = "".join(f" --map {kind}={same}" for kind, same in pairs.items() if same)
        raise InputError(
            f"'{model}' finds other types ({has}) than the gold file has ({there}), so nothing could be right. Say "
            f"which are the same with:{hints or ' --map THEIRS=YOURS'}"
        )


def _mapped(entities: Iterator[Entity], mapping: Mapping[str, str]) -> list[Entity]:
    renamed = ((mapping.get(kind, kind), first, end) for kind, first, end in entities)
    return [entity for entity in renamed if entity[0] != _NOTHING]


def _as_bio(entities: Sequence[Entity], words: int) -> list[str]:
    labels = [_NOTHING] * words
    for kind, first, end in entities:
        labels[first:end] = [f"B-{kind}", *[f"I-{kind}"] * (end - first - 1)]
    return labels


def entity_figures(
    gold: Sequence[list[Entity]], found: Sequence[list[Entity]], lengths: Sequence[int], seed: int
) -> tuple[EntityFigures, tuple[EntityFigures, ...]]:
    """Over all, and by type: the values that seqeval gives, and intervals of sentences drawn again."""
    from seqeval.metrics import classification_report

    types = sorted({kind for entities in (*gold, *found) for kind, _, _ in entities})
    report: dict[str, Any] = {"micro avg": dict.fromkeys(_FIGURES, 0.0)}
    if types:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of types that are never predicted, which the table shows
            report = classification_report(
                [_as_bio(entities, n) for entities, n in zip(gold, lengths, strict=True)],
                [_as_bio(entities, n) for entities, n in zip(found, lengths, strict=True)],
                output_dict=True,
                zero_division=0,
            )

    def figures(name: str, values: Mapping[str, float], kind: str | None) -> EntityFigures:
        counts = entity_counts(gold, found, kind)
        right, predicted, there = (int(total) for total in counts.sum(axis=0))
        drawn = [of_counts(counts, partial(figure_of, figure), seed=seed) for figure in _FIGURES]
        precision, recall, f1 = (
            Estimate(float(values[figure]), estimate.low, estimate.high)
            for figure, estimate in zip(_FIGURES, drawn, strict=True)
        )
        return EntityFigures(name, precision, recall, f1, there, predicted, right)

    return figures("all", report["micro avg"], None), tuple(
        figures(kind, report[kind], kind) for kind in types
    )


def entity_counts(
    gold: Sequence[list[Entity]], found: Sequence[list[Entity]], kind: str | None
) -> NDArray[np.float64]:
    """(n, 3) right, predicted and gold entities of a type in each sentence; of all types with None."""
    rows = []
    for pair in zip(gold, found, strict=True):
        theirs, ours = ({entity for entity in side if kind in (None, entity[0])} for side in pair)
        rows.append((len(theirs & ours), len(ours), len(theirs)))
    return np.array(rows, dtype=np.float64)


def figure_of(name: str, sums: NDArray[np.float64]) -> NDArray[np.float64]:
    """A figure of (r, 3) counts; 0 where there is nothing to divide by, as seqeval has it."""
    right, predicted, gold = sums.T
    below = {"precision": predicted, "recall": gold, "f1-score": (predicted + gold) / 2}[name]
    return np.divide(right, below, out=np.zeros_like(right), where=below > 0)


def _about(types: Sequence[EntityFigures], known: set[str], sentences: int) -> list[str]:
    """What has to be known to read the figures."""
    notes = [] if types else ["there is no entity in the file, and none was found; the figures mean nothing"]
    if strange := [f"{figures.name} ({figures.predicted:,})" for figures in types if not figures.gold]:
        notes.append(
            "the gold file has no entity of a type that was predicted, so all of it is wrong: "
            f"{', '.join(strange)}; where it is another name for a type, say so with --map"
        )
    if missed := [f"{figures.name} ({figures.gold:,})" for figures in types if figures.name not in known]:
        notes.append(f"the predictions know no such type, so all of it is missed: {', '.join(missed)}")
    return notes + about_few(sentences, "sentences")
