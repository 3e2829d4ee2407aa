"""Predict entities and labels for the passages of an index, and store them as annotations for filters.

A checkpoint reads the passages' text without their headings. A linear head only needs NumPy and the stored embeddings.
A run processes only passages without annotations, so it is short after an update and can resume after an interruption.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from search.encoding import Fingerprint
from search.errors import InputError, quoted
from search.index import Index
from search.lab.bert.checkpoint import from_anywhere, load_head
from search.lab.bert.labelling import Classifier, LinearHead, labelled, load_linear_head
from search.lab.bert.tagging import OVERLAP, Tagger, field_of, load_tagger, mentions
from search.lab.records.predictions import FieldCount, LabelledIndex, LabelledText, TagReport, TagTask
from search.lab.records.training import HeldOut
from search.records.documents import Annotation, Annotator, Mention
from search.records.reports import Progress
from search.store.annotating import Annotating, annotating, annotators_of, remove_annotator
from search.store.database import read_meta
from search.store.layout import DATABASE, needs_local_index
from search.store.opening import opened
from search.store.passages import CALLED, COMMAND
from search.store.settings import fingerprint_of
from search.store.snapshot import Store

AnyIndex: TypeAlias = Index | str | Path | None

# Version of the tagging rules; increased when the same checkpoint would give other annotations.
_RULES = 1
_PASSAGES_A_BATCH = 64  # passages that one transaction stores
_FREQUENT = 5


def tag_index(
    index: AnyIndex,
    model: str | None,
    *,
    task: TagTask = "ner",
    replace: bool = False,
    offline: bool = False,
    progress: Callable[[Progress], None] | None = None,
) -> TagReport:
    """Tag entities, or parts of speech, in all passages, for filters like "person='Ada Lovelace'".

    Passages already tagged by the same checkpoint are skipped: an interrupted run is resumed, and after an update
    only new passages are read.

    Args:
        index: an open index; or a folder, path or name, as for `Index.open`.
        model: a checkpoint with a token classification head, for instance dslim/bert-base-NER.
        task: "ner" or "pos".
        replace: replace annotations of this task by another model.
        offline: never access the Hugging Face hub.
        progress: callback, called after each batch of passages with the stage "tagging".

    Raises:
        InputError: the checkpoint's classes do not fit the task, a field's name is in use, there are annotations of
            this task by another model, or the passages are on a server.
        ModelError: the model cannot be found or loaded, or has no token classification head.
        IndexLocked: another process is writing to the index.
    """
    folder = _folder(index)
    # Fail on a missing or outdated index before a model is loaded.
    annotators_of(folder)
    tagger = load_tagger(model, task, offline)
    head = tagger.head
    fields = list(dict.fromkeys(filter(None, (field_of(label, task) for label in head.labels))))
    made_with = {
        "task": task,
        **head.made_with,
        "overlap": OVERLAP,
        "rules": _RULES,
        COMMAND: f"seewhy lab tag --task {task} --model {from_anywhere(str(model))}",
    }
    with annotating(folder, task, made_with, fields, replace=replace) as run:
        done = _put(run, _tagged(tagger, run, task), "tagging", progress)
    return TagReport(
        index=str(folder),
        name=task,
        task=task,
        model=head.name,
        fields=counted(folder, task, fields),
        tagged=done,
        annotated=next(entry.annotated for entry in annotators_of(folder) if entry.name == task),
        passages=run.total,
        held_out=head.held_out,
    )


def annotations_of(index: AnyIndex, passages: Sequence[int]) -> dict[int, list[Annotation]]:
    """Return passage ID -> annotations, with the spans of entities in the documents' texts.

    Passages without annotations are left out.
    """
    with Store(_folder(index)).reading() as snapshot:
        return {id_: list(group) for id_, group in snapshot.annotations(passages).items()}


def remove_annotations(index: AnyIndex, name: str) -> Annotator:
    """Delete all annotations with a name; `Index.status` lists the names.

    Returns:
        The deleted annotator.

    Raises:
        InputError: the index has no annotations of that name, or its passages are on a server.
        IndexLocked: another process is writing to the index.
    """
    return remove_annotator(_folder(index), name)


def _folder(index: AnyIndex) -> Path:
    """Return the folder of an index on this machine; raise InputError if its passages are on a server."""
    store = opened(index.name if isinstance(index, Index) else index)
    if not store.local:
        raise needs_local_index(store.name)
    return store.path


def counted(index: Path, name: str, fields: Sequence[str]) -> tuple[FieldCount, ...]:
    """Count the mentions in each field and find its most frequent values; fields with most mentions come first."""
    values: dict[str, Counter[str]] = {field: Counter() for field in fields}
    with Store(index).reading() as snapshot:
        for annotation in snapshot.annotations_by(name):
            for span in annotation.spans:
                values[span.field][_value(span.text)] += 1
    counts = [
        FieldCount(field, counter.total(), tuple(counter.most_common(_FREQUENT)))
        for field, counter in values.items()
    ]
    return tuple(sorted(counts, key=lambda count: -count.mentions))


def _put(
    run: Annotating,
    batches: Iterable[Sequence[Annotation]],
    stage: str,
    progress: Callable[[Progress], None] | None,
) -> int:
    """Store batches of annotations, and return the number of annotated passages."""
    done = 0
    for batch in batches:
        run.put(batch)
        done += len(batch)
        if progress:
            progress(Progress(stage, done, len(run.todo), passages=done))
    return done


def _tagged(tagger: Tagger, run: Annotating, task: TagTask) -> Iterator[list[Annotation]]:
    for batch in run.batches(_PASSAGES_A_BATCH):
        annotations = []
        for passage, words in zip(batch, tagger.read([item.text for item in batch]), strict=True):
            spans = tuple(
                Mention(span.field, span.text, span.start, span.end, round(span.score, 6))
                for span in mentions(passage.text, words, task, passage.start)
            )
            annotations.append(Annotation(passage.passage_id, _texts(spans), spans))
        yield annotations


def _texts(spans: Sequence[Mention]) -> dict[str, Any]:
    """Return field -> distinct texts of its mentions, in the order of first occurrence."""
    texts: dict[str, dict[str, str]] = {}
    for span in spans:
        value = _value(span.text)
        texts.setdefault(span.field, {}).setdefault(value.casefold(), value)
    return {field: list(values.values()) for field, values in texts.items()}


def _value(text: str) -> str:
    """Return the text of an entity on one line, for filters."""
    return " ".join(text.split())


@dataclass(frozen=True)
class _Labeller:
    """A classifier of passages, from a checkpoint or a linear head.

    Attributes:
        field: default name of the label field.
        labels: yields batches of (passage ID, label) for all passages that have no label yet.
        held_out: how often the checkpoint's head was right when it was trained; None if that is not known.
    """

    field: str
    name: str
    classes: tuple[str, ...]
    made_with: dict[str, Any]
    labels: Callable[[Annotating], Iterator[Sequence[tuple[int, LabelledText]]]]
    held_out: HeldOut | None = None


def label_index(
    index: AnyIndex = None,
    *,
    model: str | None = None,
    head: LinearHead | str | Path | None = None,
    name: str | None = None,
    replace: bool = False,
    offline: bool = False,
    progress: Callable[[Progress], None] | None = None,
) -> LabelledIndex:
    """Label every passage of an index that has no label yet, and store the labels in the index.

    Filters use the field `name` for the label and `name`_score for its probability.

    Args:
        index: an open index; or a folder, path or name, as for `Index.open`.
        model: a checkpoint for text classification.
        head: instead of `model`, a head trained with `train_labels`, or its folder.
        name: name of the field; None takes the head's name, or "label" for a checkpoint.
        replace: overwrite the labels that another model or head stored under this name.

    Raises:
        FingerprintMismatch: the head was not trained on embeddings of the index's model.
        InputError: labels of another model or head are stored under this name, or it is the name of another field.
        IndexLocked: another process is writing to the index.
        ModelError: as for `label`.
    """
    if (model is None) == (head is None):
        raise InputError("give either a model or a head.")
    place = _folder(index)
    fingerprint = fingerprint_of(read_meta(place / DATABASE))
    labeller = _by_head(head, fingerprint) if head else _by_checkpoint(str(model), offline)
    name = name or labeller.field
    made_with = dict(labeller.made_with)
    if made_with[COMMAND] and name != labeller.field:
        made_with[COMMAND] += f" --name {quoted(name)}"
    fields = [name, f"{name}_score"]
    with annotating(place, name, made_with, fields, replace=replace) as run:
        batches = (
            [
                Annotation(id_, {name: text.label, f"{name}_score": round(text.score, 6)})
                for id_, text in batch
            ]
            for batch in labeller.labels(run)
        )
        done = _put(run, batches, "labelling", progress)
    return LabelledIndex(
        index=str(place),
        name=name,
        classifier=labeller.name,
        classes=labeller.classes,
        passages=run.total,
        labelled=done,
        before=run.total - done,
        counts=_counts(place, name, labeller),
        held_out=labeller.held_out,
    )


def _by_head(head: LinearHead | str | Path, fingerprint: Fingerprint) -> _Labeller:
    loaded = head if isinstance(head, LinearHead) else load_linear_head(head)
    loaded.require_fits(fingerprint, "the index")
    folder = None if isinstance(head, LinearHead) else Path(head).resolve()
    made_with = {
        "kind": "linear head",
        CALLED: loaded.name,
        "sha256": loaded.sha256,
        "command": f"seewhy lab label apply --head {quoted(folder)}" if folder else "",
    }

    def labels(run: Annotating) -> Iterator[list[tuple[int, LabelledText]]]:
        for ids, vectors in run.embedding_blocks():
            texts = [labelled("", row, loaded.classes) for row in loaded.probabilities(vectors)]
            yield list(zip(ids.tolist(), texts, strict=True))

    return _Labeller(loaded.name, loaded.name, loaded.classes, made_with, labels)


def _by_checkpoint(model: str, offline: bool) -> _Labeller:
    checkpoint = load_head("label", model, offline)
    classifier = Classifier(checkpoint)
    made_with = {
        "kind": "checkpoint",
        **checkpoint.made_with,
        "command": f"seewhy lab label apply --model {from_anywhere(model)}",
    }

    def labels(run: Annotating) -> Iterator[list[tuple[int, LabelledText]]]:
        for passages in run.batches(_PASSAGES_A_BATCH):
            texts = classifier([passage.text for passage in passages])
            yield [(passage.passage_id, text) for passage, text in zip(passages, texts, strict=True)]

    held_out = checkpoint.held_out
    return _Labeller("label", classifier.name, classifier.classes, made_with, labels, held_out)


def _counts(place: Path, name: str, labeller: _Labeller) -> dict[str, int]:
    """Return label -> number of passages that have it."""
    counts: Counter[str] = Counter()
    with Store(place).reading() as snapshot:
        for annotation in snapshot.annotations_by(name):
            counts[annotation.values[name]] += 1
    return {label: counts[label] for label in labeller.classes}
