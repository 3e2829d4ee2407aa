"""The model card of what was trained: Markdown with the head that model hubs read, README.md in its folder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from search.records.evaluations import Objective, TrainingReport


class _Kind(NamedTuple):
    """What stands in the head of a card, and what the model is and is loaded by."""

    library: str
    pipeline: str
    tags: str
    what: str
    command: str
    load: str


_ENCODER = _Kind(
    "sentence-transformers",
    "sentence-similarity",
    "sentence-transformers, sentence-similarity, feature-extraction",
    "A sentence encoder",
    "seewhy lab train encoder",
    '`search.Encoder("this/folder")` or `sentence_transformers.SentenceTransformer("this/folder")`',
)


def _head(pipeline: str, what: str, command: str, call: str, auto: str) -> _Kind:
    load = f'`{call}` or `transformers.{auto}.from_pretrained("this/folder")`'
    return _Kind("transformers", pipeline, pipeline, what, f"seewhy lab train {command}", load)


_KINDS: dict[Objective, _Kind] = {
    "pairs": _ENCODER,
    "triplets": _ENCODER,
    "graded": _ENCODER,
    "classify": _head(
        "text-classification",
        "A classifier of texts",
        "classify",
        'search.bert.label(texts, model="this/folder")',
        "AutoModelForSequenceClassification",
    ),
    "tag": _head(
        "token-classification",
        "A tagger of entities",
        "tag",
        'search.bert.tag(text, model="this/folder")',
        "AutoModelForTokenClassification",
    ),
    "read": _head(
        "question-answering",
        "A reader that answers questions with spans of a text",
        "read",
        'search.bert.answer(question, text, model="this/folder")',
        "AutoModelForQuestionAnswering",
    ),
}
_CARD = """\
---
library_name: {kind.library}
pipeline_tag: {kind.pipeline}
tags: [{kind.tags}, seewhy]
---

# {base}, trained further

{kind.what} that `{kind.command}` made. It learned {learned}.

Load it by {kind.load}.

## Figures

On {held_out:,} examples that nothing was learned from, with 95 % bootstrap intervals.

| metric | before | after | difference |
|---|---|---|---|
{figures}

{notes}

## Base

- {base}
- sha256 of its weights: `{base_sha256}`
- sha256 of these weights: `{sha256}`

## Data

| for | name | rows | sha256 |
|---|---|---|---|
{files}

{counts}

## Training

- objective: {objective}, loss: {loss}
- steps: {steps:,}; the weights are those of step {kept:,}
{settings}
- {seconds:.0f} s on {device}
- {versions}
"""


def card(report: TrainingReport) -> str:
    """The model card of a result: Markdown with the head that model hubs read. File names stand without folders."""
    figures = [
        f"| {name} | {before.mean:.4f} ({before.low:.3f} to {before.high:.3f}) "
        f"| {report.after[name].mean:.4f} ({report.after[name].low:.3f} to {report.after[name].high:.3f}) "
        f"| {gap.mean:+.4f} ({gap.low:+.3f} to {gap.high:+.3f}) |"
        for (name, before), gap in zip(report.before.items(), report.difference.values(), strict=True)
    ]
    files = [
        f"| {file.role} | {_plain(file.name)} | {file.rows:,} | `{file.sha256}` |" for file in report.files
    ]
    settings = [f"- {name}: {value}" for name, value in report.settings.items() if value is not None]
    counts = [f"{name.replace('_', ' ')}: {count:,}" for name, count in report.counts.items()]
    lists: dict[str, Sequence[str]] = {
        "figures": figures,
        "files": files,
        "settings": settings,
        "notes": [f"- {_plain(note[:1].upper() + note[1:])}." for note in report.notes],
    }
    return _CARD.format(
        **{
            **vars(report),
            "kind": _KINDS[report.objective],
            **{name: "\n".join(lines) for name, lines in lists.items()},
            "base": _plain(_without_folder(report.base)),
            "learned": report.learned,
            "held_out": report.counts["held_out"],
            "counts": ", ".join(counts),
            "versions": ", ".join(f"{name} {number}" for name, number in report.versions.items()),
        }
    )


def _without_folder(name: str) -> str:
    """A model's name; of a path the last part alone."""
    is_path = name.startswith(("/", "~", ".")) or "\\" in name or name[1:3] == ":/"
    return name.replace("\\", "/").rstrip("/").rpartition("/")[2] if is_path else name


def _plain(text: str) -> str:
    """On one line, and without what a table or a heading would be broken by."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")
