"""Entities: gold sentences against what a checkpoint, or a file of predictions, says of their words.

Words are taken as the file has them: the checkpoint's tokens are aligned to them, and each word has the class of its
first token. Figures are those of seqeval, the scorer of CoNLL-2000 in Python, in its default mode.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from search.bert.tag_schemes import chunks, field_of, parsed
from search.bert.tagging import Tagger, load_tagger
from search.errors import InputError, OptionalDependency
from search.evaluating.asking import FEW
from search.evaluating.formats.conll import Sentence, read_conll
from search.records.evaluations import EntityEvaluation, EntityFigures, Estimate
from search.records.reports import Progress
from search.statistics import of_counts

if TYPE_CHECKING:
    from numpy.typing import NDArray

_AT_ONCE = 64  # sentences that are read together
_NOTHING = "O"

Entity = tuple[str, int, int]  # type, first word, the one behind the last


def evaluate_entities(
    dataset: str | Path,
    *,
    model: str | None = None,
    predicted: str | Path | None = None,
    mapping: Mapping[str, str] | None = None,
    limit: int | None = None,
    seed: int = 0,
    offline: bool = False,
    device: str | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> EntityEvaluation:
    """Precision, recall and F1 of entities, over all and by type, with their 95 % bootstrap intervals.

    Args:
        dataset: a file in CoNLL format: a word and its label a line, an empty line behind each sentence.
        model: a checkpoint with a head for classes of tokens; or, instead:
        predicted: a file of the same words with predicted labels.
        mapping: types of the predictions -> those of the gold file, {"PER": "person"}; "O" leaves one out.
        limit: how many sentences, spread evenly over the file; None for all.
        seed: of the resampling.
        offline, device: as for `search.bert.tag`.
        progress: called after every batch of sentences.

    Raises:
        InputError: a file is malformed (with its line), the predictions are of other words, or no type of the
            predictions is one of the gold file's.
        ModelError: the model cannot be loaded, or has no head for classes of tokens.
        OptionalDependency: the extra `entities` is not installed.
    """
    if (model is None) == (predicted is None):
        raise InputError("give either a model that finds the entities, or a file of predictions.")
    if find_spec("seqeval") is None:
        raise OptionalDependency("seqeval", "entities", "scoring entities")
    started = time.monotonic()
    path = Path(dataset).expanduser()
    sentences = _limited(read_conll(path), limit)
    wanted = dict(mapping or {})
    notes: list[str] = []
    if predicted is not None:
        name = str(predicted)
        said = _read_predictions(Path(predicted).expanduser(), path, limit, sentences)
        known = {kind for labels in said for kind, _, _ in chunks(labels)}
        _check_mapping(known, sentences, wanted, name)
    else:
        tagger = load_tagger(model, "ner", offline, device)
        name = tagger.head.name
        known = {parsed(label)[1] for label in tagger.head.labels} - {""}
        _check_mapping(known, sentences, wanted, name)
        said, notes = _predictions(tagger, sentences, progress)
    gold = [list(chunks(sentence.labels)) for sentence in sentences]
    found = [_mapped(chunks(labels), wanted) for labels in said]
    micro, types = _figures(sentences, gold, found, seed)
    notes += _about(types, {wanted.get(kind, kind) for kind in known}, len(sentences))
    return EntityEvaluation(
        dataset=path.stem,
        source=str(path),
        model=name,
        sentences=len(sentences),
        words=sum(len(sentence.words) for sentence in sentences),
        micro=micro,
        macro_f1=float(np.mean([one.f1.mean for one in types])) if types else 0.0,
        types=types,
        mapping=wanted,
        predictions=tuple(
            tuple(zip(sentence.words, _as_bio(entities, len(sentence.words)), strict=True))
            for sentence, entities in zip(sentences, found, strict=True)
        ),
        seconds=time.monotonic() - started,
        notes=tuple(notes),
    )


def _limited(sentences: list[Sentence], limit: int | None) -> list[Sentence]:
    if limit is None or limit >= len(sentences):
        return sentences
    if limit < 1:
        raise InputError(f"the limit is {limit}, but at least 1 sentence must be looked at.")
    return [sentences[i * len(sentences) // limit] for i in range(limit)]


def _read_predictions(
    path: Path, gold: Path, limit: int | None, sentences: Sequence[Sentence]
) -> list[tuple[str, ...]]:
    """The labels of a file that has the words of the gold one.

    Raises:
        InputError: it has others; the message names the line.
    """
    found = _limited(read_conll(path), limit)
    for mine, theirs in zip(found, sentences, strict=False):
        if mine.words != theirs.words:
            raise InputError(f"{path}:{mine.line}: this sentence is not the one in {gold}:{theirs.line}.")
    if len(found) != len(sentences):
        raise InputError(f"'{path}' has {len(found):,} sentences and '{gold}' has {len(sentences):,}.")
    return [one.labels for one in found]


def _predictions(
    tagger: Tagger, sentences: Sequence[Sentence], progress: Callable[[Progress], None] | None
) -> tuple[list[tuple[str, ...]], list[str]]:
    """The label of every word, and what has to be said of them."""
    found: list[tuple[str, ...]] = []
    windowed = unread = 0
    for start in range(0, len(sentences), _AT_ONCE):
        batch = sentences[start : start + _AT_ONCE]
        texts = [" ".join(sentence.words) for sentence in batch]
        for read in tagger.read(texts, [list(_spans(sentence.words)) for sentence in batch]):
            found.append(tuple(word.label for word in read.words))
            windowed += read.windows > 1
            unread += sum(not word.tokens for word in read.words)
        if progress:
            progress(Progress("tagging", len(found), len(sentences), passages=len(found)))
    notes = []
    if windowed:
        many = "1 sentence is" if windowed == 1 else f"{windowed:,} sentences are"
        notes.append(f"{many} longer than the model reads; such a one is read in overlapping windows")
    if unread:
        many = "1 word" if unread == 1 else f"{unread:,} words"
        notes.append(
            f"the tokenizer makes nothing of {many}, such as control characters; such a one counts as O"
        )
    return found, notes


def _spans(words: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Where words stand with one blank between each two."""
    at = 0
    for word in words:
        yield at, at + len(word)
        at += len(word) + 1


def _check_mapping(
    known: set[str], sentences: Sequence[Sentence], mapping: Mapping[str, str], model: str
) -> None:
    """
    Raises:
        InputError: a mapping names a type that there is not, or no type of the predictions is one of the file's.
    """
    gold = {kind for sentence in sentences for kind, _, _ in chunks(sentence.labels)}
    has, there = ", ".join(sorted(known)) or "none", ", ".join(sorted(gold)) or "none"
    for old, new in mapping.items():
        if old not in known:
            raise InputError(f"'{model}' has no type '{old}' that could be mapped; it has {has}.")
        if new != _NOTHING and new not in gold:
            raise InputError(
                f"the gold file has no type '{new}' to map '{old}' to; it has {there}, or O for none."
            )
    if known and gold and not {mapping.get(kind, kind) for kind in known} & gold:
        by_name = {kind.casefold(): kind for kind in gold}
        pairs = {kind: by_name.get(field_of(f"B-{kind}", "ner").casefold()) for kind in sorted(known)}
        hints = "".join(f" --map {kind}={same}" for kind, same in pairs.items() if same)
        raise InputError(
            f"'{model}' finds other types ({has}) than the gold file has ({there}), so nothing could be right. Say "
            f"which are the same with:{hints or ' --map THEIRS=YOURS'}"
        )


def _mapped(entities: Iterator[Entity], mapping: Mapping[str, str]) -> list[Entity]:
    named = ((mapping.get(kind, kind), first, end) for kind, first, end in entities)
    return [entity for entity in named if entity[0] != _NOTHING]


def _as_bio(entities: Sequence[Entity], words: int) -> list[str]:
    labels = [_NOTHING] * words
    for kind, first, end in entities:
        labels[first:end] = [f"B-{kind}", *[f"I-{kind}"] * (end - first - 1)]
    return labels


@dataclass(frozen=True)
class _Counted:
    """(n, 3) right, predicted and gold entities of each sentence."""

    counts: NDArray[np.float64]

    def figures(self, name: str, said: Mapping[str, float], seed: int) -> EntityFigures:
        """With the values that seqeval gives, and intervals of sentences drawn again."""
        right, predicted, gold = (int(total) for total in self.counts.sum(axis=0))

        def estimate(figure: str) -> Estimate:
            drawn = of_counts(self.counts, partial(_figure, figure), seed=seed)
            return Estimate(float(said[figure]), drawn.low, drawn.high)

        return EntityFigures(
            name, estimate("precision"), estimate("recall"), estimate("f1-score"), gold, predicted, right
        )


def _figure(name: str, sums: NDArray[np.float64]) -> NDArray[np.float64]:
    """A figure of (r, 3) counts; 0 where there is nothing to divide by, as seqeval has it."""
    right, predicted, gold = sums.T
    below = {"precision": predicted, "recall": gold, "f1-score": (predicted + gold) / 2}[name]
    return np.divide(right, below, out=np.zeros_like(right), where=below > 0)


def _figures(
    sentences: Sequence[Sentence], gold: Sequence[list[Entity]], found: Sequence[list[Entity]], seed: int
) -> tuple[EntityFigures, tuple[EntityFigures, ...]]:
    from seqeval.metrics import classification_report

    lengths = [len(sentence.words) for sentence in sentences]
    pairs = list(zip(gold, found, lengths, strict=True))
    kinds = sorted({kind for entities in (*gold, *found) for kind, _, _ in entities})
    said: dict[str, Any] = dict.fromkeys(
        ("micro avg",), dict.fromkeys(("precision", "recall", "f1-score"), 0.0)
    )
    if kinds:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of types that are never predicted, which the table shows
            said = classification_report(
                [_as_bio(right, n) for right, _, n in pairs],
                [_as_bio(mine, n) for _, mine, n in pairs],
                output_dict=True,
                zero_division=0,
            )
    types = tuple(_counted(pairs, kind).figures(kind, said[kind], seed) for kind in kinds)
    return _counted(pairs, None).figures("all", said["micro avg"], seed), types


def _counted(pairs: Sequence[tuple[list[Entity], list[Entity], int]], kind: str | None) -> _Counted:
    rows = []
    for gold, found, _ in pairs:
        right, mine = ({one for one in some if kind in (None, one[0])} for some in (gold, found))
        rows.append((len(right & mine), len(mine), len(right)))
    return _Counted(np.array(rows, dtype=np.float64))


def _about(types: Sequence[EntityFigures], known: set[str], sentences: int) -> list[str]:
    """What has to be known to read the figures."""
    notes = [] if types else ["neither file has an entity; the figures mean nothing"]
    if strange := [one for one in types if not one.gold]:
        named = ", ".join(f"{one.name} ({one.predicted:,})" for one in strange)
        notes.append(
            f"the gold file has no entity of a type that was predicted, so all of it is wrong: {named}; where it is "
            "another name for a type, say so with --map"
        )
    if missed := [one for one in types if one.name not in known]:
        named = ", ".join(f"{one.name} ({one.gold:,})" for one in missed)
        notes.append(f"the predictions know no such type, so all of it is missed: {named}")
    if sentences < FEW:
        notes.append(f"with only {sentences} sentences the intervals are rough")
    return notes
