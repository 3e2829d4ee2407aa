"""Label the passages of an index, so that filters can ask for it: `--where "sentiment=positive"`.

A linear head reads the embeddings that the index holds, with NumPy alone; a checkpoint reads the passages' own text,
without their headings. Only what has no label yet is labelled, so a run after an update is short, and one that was
killed goes on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from search.bert.classifying import Classifier, labelled
from search.bert.heads import from_anywhere, load_head
from search.bert.linear_head import LinearHead, load_linear_head
from search.encoding import Fingerprint
from search.errors import InputError, quoted
from search.records.documents import Annotation
from search.records.predictions import LabelledIndex, LabelledText
from search.records.reports import Progress
from search.store.annotating import Annotating, annotating
from search.store.annotations import CALLED
from search.store.database import read_meta
from search.store.layout import DATABASE, find_index
from search.store.sqlite import SQLiteStore

_AT_ONCE = 64

Labelled: TypeAlias = Iterator[tuple[Sequence[int], Sequence[LabelledText]]]


@dataclass(frozen=True)
class _Labeller:
    """What labels passages.

    Attributes:
        field: what its labels are called, unless another name is asked for.
        labels: of all passages that have none.
    """

    field: str
    name: str
    classes: tuple[str, ...]
    exclusive: bool
    made_with: dict[str, Any]
    labels: Callable[[Annotating], Labelled]


def label_index(
    index: str | Path | None = None,
    *,
    model: str | None = None,
    head: LinearHead | str | Path | None = None,
    name: str | None = None,
    replace: bool = False,
    offline: bool = False,
    device: str | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> LabelledIndex:
    """Label every passage of an index that has no label yet, and keep the labels in the index.

    Filters find them as `name` (the label; several where classes do not exclude each other) and `name`_score (the
    highest probability).

    Args:
        index: a folder, path or name, as for `Index.open`.
        model: a checkpoint that was trained to classify texts.
        head: instead, a head that was trained with `train_labels`, or its folder.
        name: of the field; None takes the head's name, "label" for a checkpoint.
        replace: drop labels of that name that another model or head has given, all of them.

    Raises:
        HeadMismatch: the head was trained on other embeddings than the index holds.
        InputError: labels of that name were given by another model or head; or the name is taken.
        IndexLocked: another process is writing to the index.
        ModelError: as for `label`.
    """
    if (model is None) == (head is None):
        raise InputError("name a checkpoint or a head that is to label, and only one of them.")
    place = find_index(index)
    fingerprint = Fingerprint.from_dict(read_meta(place / DATABASE)["fingerprint"])
    labeller = _by_head(head, fingerprint) if head else _by_checkpoint(str(model), offline, device)
    name = name or labeller.field
    made_with = dict(labeller.made_with)
    if made_with["command"] and name != labeller.field:
        made_with["command"] += f" --name {quoted(name)}"
    fields = [name, f"{name}_score"]
    windowed, done = 0, 0
    with annotating(place, name, made_with, fields, replace=replace) as run:
        for ids, found in labeller.labels(run):
            run.put([Annotation(id_, _values(name, one)) for id_, one in zip(ids, found, strict=True)])
            done += len(ids)
            windowed += sum(one.windows > 1 for one in found)
            if progress:
                progress(Progress("labelling", done, len(run.todo), passages=done))
        total, replaced = run.total, run.replaced
    return LabelledIndex(
        index=str(place),
        name=name,
        classifier=labeller.name,
        classes=labeller.classes,
        exclusive=labeller.exclusive,
        passages=total,
        labelled=done,
        before=total - done,
        counts=_counts(place, name, labeller),
        windowed=windowed,
        notes=() if replaced is None else (f"labels of {replaced.annotated:,} passages were replaced",),
    )


def _values(name: str, found: LabelledText) -> Mapping[str, Any]:
    label: str | list[str] = found.label if len(found.labels) == 1 else list(found.labels)
    values = {name: label} if found.labels else {}
    return {**values, f"{name}_score": round(found.score, 6)}


def _by_head(head: LinearHead | str | Path, fingerprint: Fingerprint) -> _Labeller:
    loaded = head if isinstance(head, LinearHead) else load_linear_head(head)
    loaded.require_fits(fingerprint, "the index")
    folder = None if isinstance(head, LinearHead) else Path(head).resolve()
    made_with = {
        "kind": "linear head",
        CALLED: loaded.name,
        "sha256": loaded.sha256,
        "command": f"seewhy label apply --head {quoted(folder)}" if folder else "",
    }

    def labels(run: Annotating) -> Labelled:
        for ids, vectors in run.embedding_blocks():
            rows = loaded.probabilities(vectors)
            yield ids.tolist(), [labelled("", row, loaded.classes, exclusive=True) for row in rows]

    return _Labeller(loaded.name, loaded.name, loaded.classes, True, made_with, labels)


def _by_checkpoint(model: str, offline: bool, device: str | None) -> _Labeller:
    checkpoint = load_head("label", model, offline, device)
    classifier = Classifier(checkpoint)
    made_with = {
        "kind": "checkpoint",
        **checkpoint.made_with,
        "exclusive": classifier.exclusive,
        "command": f"seewhy label apply --model {from_anywhere(model)}",
    }

    def labels(run: Annotating) -> Labelled:
        for passages in run.batches(_AT_ONCE):
            yield [passage.id for passage in passages], classifier([passage.text for passage in passages])

    return _Labeller("label", classifier.name, classifier.classes, classifier.exclusive, made_with, labels)


def _counts(place: Path, name: str, labeller: _Labeller) -> dict[str, int]:
    """label -> passages that have it."""
    counts: Counter[str] = Counter()
    with SQLiteStore(place).reading() as snapshot:
        for annotation in snapshot.annotations_by(name):
            value = annotation.values.get(name, "")
            counts.update(value if isinstance(value, list) else [value])
    return {label: counts[label] for label in (*labeller.classes, *([] if labeller.exclusive else [""]))}
