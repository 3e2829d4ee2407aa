"""Token classification over the passages of an index, kept as annotations that filters find."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from search.bert.heads import from_anywhere
from search.bert.tagging import OVERLAP, Tagger, field_of, load_tagger, mentions
from search.errors import quoted
from search.records.documents import Annotation, Mention
from search.records.predictions import FieldCount, TagReport, TagTask
from search.records.reports import Progress
from search.store.annotating import annotating, annotators_of
from search.store.annotations import CALLED, COMMAND
from search.store.protocol import StoredPassage
from search.store.sqlite import SQLiteStore

_RULES = 1  # raised when the same checkpoint would make other annotations
_AT_ONCE = 64  # passages that one transaction stores
_FREQUENT = 5


def tag_index(
    index: Path,
    model: str | None,
    *,
    task: TagTask = "ner",
    name: str | None = None,
    prefix: str = "",
    replace: bool = False,
    offline: bool = False,
    device: str | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> TagReport:
    """Tag the passages of an index that have no annotations of this making yet; see `Index.tag`."""
    started = time.monotonic()
    annotators_of(index)  # of no index, or an older one, say so before a model is loaded
    tagger = load_tagger(model, task, offline, device)
    head, name = tagger.head, name or task
    labels = {label: _field(label, task, prefix) for label in head.labels}
    fields = list(dict.fromkeys(filter(None, labels.values())))
    made_with = {
        "task": task,
        **head.made_with,
        "prefix": prefix,
        "overlap": OVERLAP,
        "rules": _RULES,
        COMMAND: _command(str(model), task, name, prefix),
    }
    done = windowed = tokens = 0
    with annotating(index, name, made_with, fields, replace=replace) as run:
        todo, replaced = len(run.todo), run.replaced
        for batch in run.batches(_AT_ONCE):
            found, several, read = _tagged(tagger, batch, task, prefix)
            run.put(found)
            done, windowed, tokens = done + len(batch), windowed + several, tokens + read
            if progress:
                progress(Progress("tagging", done, todo, passages=done, tokens=tokens))
    notes = []
    if replaced:
        was = replaced.made_with.get(CALLED, "something else")
        notes.append(f"the annotations of {replaced.annotated:,} passages that '{was}' made were replaced")
    if all(label.upper().startswith("LABEL_") for label in head.labels):
        notes.append("the checkpoint does not say what its classes are; the fields have their numbers")
    return TagReport(
        index=str(index),
        name=name,
        task=task,
        model=head.name,
        fields=counted(index, name, fields),
        tagged=done,
        annotated=next(one.annotated for one in annotators_of(index) if one.name == name),
        passages=run.total,
        windowed=windowed,
        labels=labels,
        seconds=time.monotonic() - started,
        notes=tuple(notes),
    )


def counted(index: Path, name: str, fields: Sequence[str]) -> tuple[FieldCount, ...]:
    """What the annotations of a name hold, field by field, the field with the most mentions first."""
    spelled: dict[str, dict[str, Counter[str]]] = {field: defaultdict(Counter) for field in fields}
    passages: Counter[str] = Counter()
    with SQLiteStore(index).reading() as snapshot:
        for annotation in snapshot.annotations_by(name):
            passages.update({span.field for span in annotation.spans})
            for span in annotation.spans:
                value = _value(span.text)
                spelled[span.field][value.casefold()][value] += 1
    found = []
    for field, values in spelled.items():
        frequent = sorted((-sum(forms.values()), _usual(forms)) for forms in values.values())[:_FREQUENT]
        found.append(
            FieldCount(
                field,
                sum(sum(forms.values()) for forms in values.values()),
                len(values),
                passages[field],
                tuple((value, -count) for count, value in frequent),
            )
        )
    return tuple(sorted(found, key=lambda one: -one.mentions))


def _usual(forms: Counter[str]) -> str:
    """The most frequent spelling, of several the first in order."""
    return min(forms, key=lambda form: (-forms[form], form))


def _tagged(
    tagger: Tagger, batch: Sequence[StoredPassage], task: TagTask, prefix: str
) -> tuple[list[Annotation], int, int]:
    """Annotations of passages, how many of them were read in several windows, and how many tokens they have."""
    found, several, tokens = [], 0, 0
    for passage, read in zip(batch, tagger.read([one.text for one in batch]), strict=True):
        several += read.windows > 1
        tokens += sum(len(word.tokens) for word in read.words)
        spans = tuple(
            Mention(f"{prefix}{one.field}", one.text, one.start, one.end, round(one.score, 6))
            for one in mentions(passage.text, read.words, task, passage.start)
        )
        found.append(Annotation(passage.id, _values(spans), spans))
    return found, several, tokens


def _values(spans: Sequence[Mention]) -> dict[str, Any]:
    """field -> the different texts, in the order in which they first stand in the passage."""
    found: dict[str, dict[str, str]] = {}
    for span in spans:
        value = _value(span.text)
        found.setdefault(span.field, {}).setdefault(value.casefold(), value)
    return {field: list(values.values()) for field, values in found.items()}


def _value(text: str) -> str:
    """An entity as it is filtered by: on one line, whatever the passage's lines."""
    return " ".join(text.split())


def _field(label: str, task: TagTask, prefix: str) -> str:
    field = field_of(label, task)
    return f"{prefix}{field}" if field else ""


def _command(model: str, task: TagTask, name: str, prefix: str) -> str:
    """What goes on with the annotations."""
    options = f" --name {quoted(name)}" if name != task else ""
    options += f" --prefix {quoted(prefix)}" if prefix else ""
    return f"seewhy tag --task {task} --model {from_anywhere(model)}{options}"
