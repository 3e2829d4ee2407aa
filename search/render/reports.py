"""Reports of indexing, checks and repairs, and lists of indexes and models, for a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path

from rich.table import Column
from rich.text import Text

from search.records.exports import FaissExport, Measurement, VectorExport
from search.records.model_cards import ModelCard
from search.records.reports import (
    MEMORY,
    Changes,
    CheckReport,
    Finding,
    Report,
    SkippedGroup,
    Status,
    Upserted,
)
from search.render.format import (
    counted,
    duration,
    escape,
    name_of,
    shown_path,
    size,
)
from search.render.terminal import Canvas, as_text, grid, number

_MOST_LINES = 50  # reasons to list
_MOST_RECORDS = 3  # files that consist of records

_STYLES = {"ok": "green", "stale": "yellow", "damaged": "bold red"}
_VERDICTS = {
    "damaged": "The index is damaged",
    "stale": "The index is sound, with warnings",
    "ok": "The index is sound and up to date",
}

# Reason why files were left out -> what to do about it.
_REMEDIES = {"needs seewhy[documents]": "to read them, run: pip install 'seewhy[documents]'"}


@as_text
def report(canvas: Canvas, done: Report) -> None:
    """Draw a summary of an indexing run."""
    folder = folders_line(done)
    did = (
        f"Nothing changed in {folder}"
        if done.nothing_changed
        else f"Indexed {folder}: {_file_counts(done)}"
    )
    canvas.line(f"{did}.", style="bold", whole=True)
    reused = f", {done.reused:,} reused" if done.reused else ""
    pending = f", {done.pending:,} pending" if done.pending else ""
    work = f" ({done.encoded:,} encoded{reused}{pending})"
    if done.nothing_changed and not (done.encoded or done.pending):
        work = ""
    canvas.facts(
        (
            ("index", escape(shown_path(done.index))),
            ("documents", f"{done.documents:,}"),
            ("passages", f"{done.passages:,}{work}"),
            ("tokens", f"{done.tokens:,} (truncated: {done.truncated_tokens:,})"),
            ("prompts", escape(done.prompts)),
            ("skipped", skipped_line(done.skipped)),
            ("time", duration(done.seconds)),
        )
    )
    _draw_skipped(canvas, done.skipped)
    if done.pending:
        canvas.line("Pending passages are encoded when a question looks at them.", style="dim")


@as_text
def moved(canvas: Canvas, item: Status, before: str) -> None:
    """Draw the new folder of an index in one line, and its new name, if it was named after its folder.

    Args:
        before: the name before the move.
    """
    renamed = f" and is named {escape(item.name)}, as the folder is" if item.name != before else ""
    canvas.line(f"The index {escape(before)} now belongs to {folders_line(item)}{renamed}.", whole=True)


@as_text
def upserted(canvas: Canvas, done: Upserted) -> None:
    """Draw a summary of `Index.upsert`, in one line."""
    canvas.line(
        f"{counted(done.added, 'document')} added, {done.changed:,} changed, {done.unchanged:,} unchanged; "
        f"{counted(done.encoded, 'passage')} encoded in {duration(done.seconds)}",
        whole=True,
    )


@as_text
def rebuilt(canvas: Canvas, done: Report) -> None:
    """Draw a summary of an index that was built again from its documents from memory, in one line."""
    canvas.line(
        f"Rebuilt {escape(shown_path(done.index))} from its {counted(done.documents, 'document')}: "
        f"{counted(done.passages, 'passage')}, {done.encoded:,} encoded, {done.reused:,} reused, in "
        f"{duration(done.seconds)}",
        whole=True,
    )


@as_text
def exports(canvas: Canvas, written: Sequence[FaissExport | VectorExport]) -> None:
    """Draw what was exported: a line for each file, and what a FAISS index of this kind costs."""
    for done in written:
        shape = f"{counted(done.passages, 'passage')}, {done.dimension} dimensions, {size(done.bytes)}"
        if isinstance(done, VectorExport):
            canvas.line(f"Wrote {' and '.join(map(escape, done.files))}: {shape}.", whole=True)
            continue
        canvas.line(
            f"Wrote {escape(done.file)}: {done.type}, {shape}, built in {duration(done.seconds)}.",
            whole=True,
        )
        if done.exact is None:
            continue
        table = grid("search", number("recall@10"), number("ms"))
        table.add_row("exact, by seewhy", *_search_cells(done.exact))
        for search in done.searches:
            table.add_row(f"{done.type} {search.setting}".rstrip(), *_search_cells(search))
        canvas.gap()
        canvas.table(table)
        canvas.dim("(medians of one thread; queries: passages of this index)")


def _search_cells(search: Measurement) -> tuple[str, str]:
    return f"{search.recall:.3f}", f"{search.milliseconds:.2f}"


def folders_line(about: Report | Changes | Status) -> str:
    """Return the folders of an index, joined on one line."""
    folders = about.folders or (about.folder,)
    return ", ".join(escape(name if (name := shown_path(path)) != "." else path) for path in folders)


def update_line(done: Report) -> str:
    """Return a summary of an update, on one line."""
    return f"{_file_counts(done)}; {counted(done.encoded, 'passage')} encoded in {duration(done.seconds)}"


@as_text
def changes(canvas: Canvas, planned: Changes) -> None:
    """Draw the changes that indexing would make, one file per line: + added, ~ changed, > renamed, - removed."""
    renamed = [f"{old} > {new}" for old, new in planned.renamed]
    would = []
    for mark, verb, paths in (
        ("+", "add", planned.added),
        ("~", "change", planned.changed),
        (">", "rename", renamed),
        ("-", "remove", planned.removed),
    ):
        for path in paths:
            canvas.line(f"{mark} {escape(path)}", whole=True)
        would += [f"{verb} {counted(len(paths), 'file')}"] if paths else []
    summary = (
        f"would {', '.join(would)}"
        if would
        else "no changes"
        if planned.unchanged
        else "nothing to index"
    )
    skipped = sum(group.count for group in planned.skipped)
    left = f"{counted(planned.unchanged, 'file')} unchanged, {skipped:,} skipped"
    canvas.line(f"{folders_line(planned)}: {summary} ({left})", whole=True)
    _draw_skipped(canvas, planned.skipped)


def _file_counts(done: Report) -> str:
    """Return the numbers of added, changed, renamed and removed files: "1 file added, 2 removed"."""
    counts = [(getattr(done, word), word) for word in ("added", "changed", "renamed", "removed")]
    (first, word), *others = [(count, word) for count, word in counts if count]
    return ", ".join([f"{counted(first, 'file')} {word}", *(f"{n:,} {w}" for n, w in others)])


@as_text
def status(canvas: Canvas, state: Status) -> None:
    """Draw the status of an index: its model, its contents, its size."""
    folders = [
        ("folder", escape(folder) + ("" if Path(folder).is_dir() else "  (folder not found)"))
        if folder != MEMORY
        else ("texts", MEMORY)
        for folder in state.folders or (state.folder,)
    ]
    canvas.facts(
        (
            ("index", escape(state.index)),
            *folders,
            ("model", escape(state.model)),
            ("embeddings", f"{state.pooling} pooling, {state.dimension} dimensions, unit length"),
            ("prompts", escape(state.prompts)),
            ("model reads", f"at most {state.max_tokens:,} tokens per passage"),
            ("encoded by", state.engine or "not encoded yet"),
            ("documents", f"{state.documents:,}"),
            *([("namespaces", f"{state.namespaces:,}")] if state.namespaces else []),
            *([("languages", _languages(state.languages))] if state.languages else []),
            *([("records", _records(state.records))] if state.records else []),
            ("passages", f"{state.passages:,}"),
            ("tokens", f"{state.tokens:,}"),
            ("vectors", state.vectors),
            *_coverage_of(state),
            *([("size", size(state.bytes))] if state.bytes else []),
            ("updated", state.updated[:19].replace("T", " ") or "never completed"),
            ("skipped", skipped_line(state.skipped)),
            *(("annotations", escape(annotator.progress)) for annotator in state.annotations),
        )
    )
    _draw_skipped(canvas, state.skipped)
    canvas.notes(state.notes)
    if state.running:
        canvas.line("Indexing is in progress. These are the contents so far.", style="yellow")
    elif state.lazy and state.pending:
        canvas.line(
            f"Passages are encoded when a question looks at them. To encode all: {escape(state.command)}",
            whole=True,
        )
    elif state.pending:
        canvas.line(
            f"Not all passages are encoded. Continue with: {escape(state.command)}",
            style="yellow",
            whole=True,
        )
    elif not state.complete:
        canvas.line(
            f"The last run was interrupted. Continue with: {escape(state.command)}",
            style="yellow",
            whole=True,
        )


def _coverage_of(state: Status) -> list[tuple[str, str]]:
    if not state.pending:
        return []
    encoded = state.passages - state.pending
    return [("encoded", f"{encoded:,} of {state.passages:,} passages ({encoded / state.passages:.0%})")]


@as_text
def index_list(canvas: Canvas, indexes: Sequence[Status]) -> None:
    """Draw a line for each index."""
    if not indexes:
        canvas.line("There is no index yet. Create one with: seewhy index FOLDER", whole=True)
        return
    table = grid("name", "folder", "model", *map(number, ("documents", "passages", "size")))
    for item in indexes:
        names = (escape(item.name), folders_line(item), escape(f"{item.model}, {item.pooling}"))
        table.add_row(*names, f"{item.documents:,}", f"{item.passages:,}", size(item.bytes))
    canvas.table(table)


@as_text
def model_list(canvas: Canvas, cards: Sequence[ModelCard]) -> None:
    """Draw two lines for each model: its name and what it is best for, and what is known about it."""
    for card in cards:
        best_for = f": {card.best_for}" if card.best_for else ""
        canvas.line(f"{card.name}{best_for}", style="bold", whole=True)
        canvas.line(", ".join(_facts_of(card)), indent=2)
    canvas.gap()
    canvas.dim(
        "nDCG: published mean nDCG@10 of the English retrieval sets of MTEB (--json has the sources)."
    )
    canvas.dim("cost: processor time of encoding; the default model costs 1.")
    canvas.dim(
        "Prompts are applied by seewhy. Scores are explained exactly; loading PyTorch takes seconds."
    )
    canvas.line("To use a model: seewhy index FOLDER --model NAME", whole=True)


def _facts_of(card: ModelCard) -> list[str]:
    facts = [card.languages]
    if card.retrieval is not None:
        facts.append(f"nDCG {card.retrieval:.2f}")
    if card.cost is not None:
        facts.append(f"cost {card.cost:g}")
    return [
        *facts,
        f"{card.parameters:g} M parameters",
        f"{card.dimension:,} dimensions",
        f"{card.tokens:,} tokens" if card.tokens else "any length",
        card.licence,
        *(["prompts"] if card.prompts else []),
        f"explained with {card.tracing}",
    ]


def skipped_line(groups: Sequence[SkippedGroup]) -> str:
    """Return the number of skipped files, by reason."""
    reasons = ", ".join(f"{group.count:,} {name_of(group.reason)}" for group in groups[:_MOST_LINES])
    return f"{sum(group.count for group in groups):,} ({reasons})" if groups else "nothing"


def _languages(counts: Mapping[str, int]) -> str:
    """Name the languages of documents by their codes, each with its number of documents."""
    return ", ".join(f"{language} {count:,}" for language, count in counts.items())


def _records(counts: Mapping[str, int]) -> str:
    """Name the files that consist of records, with their numbers: "sayings: 412; diary.txt: 38; and 2 more files"."""
    names = [f"{name_of(name)}: {count:,}" for name, count in islice(counts.items(), _MOST_RECORDS)]
    more = len(counts) - len(names)
    return "; ".join([*names, *([f"and {counted(more, 'more file')}"] if more else [])])


def _draw_skipped(canvas: Canvas, groups: Sequence[SkippedGroup]) -> None:
    for group in groups[:_MOST_LINES]:
        canvas.dim(f"{name_of(group.reason)}: {_examples(group)}", indent=2)
        if group.reason in _REMEDIES:
            canvas.line(_REMEDIES[group.reason], indent=4)


@as_text
def check(canvas: Canvas, checked: CheckReport) -> None:
    """Draw each check in one line, with examples of its problems and the command that fixes them."""
    table = grid(Column(no_wrap=True), Column(no_wrap=True), "", header="")
    for finding in checked.findings:
        message = Text(escape(finding.message))
        if finding.examples:
            message.append(f"\n{_examples(finding)}", style="dim")
        table.add_row(finding.check, Text(finding.severity, style=_STYLES[finding.severity]), message)
    canvas.table(table)
    if checked.unchecked:
        canvas.dim(f"not checked: {', '.join(checked.unchecked)}")
    if checked.repaired:
        canvas.line(f"repaired: {', '.join(checked.repaired)}")
    canvas.gap()
    worst = min(
        (finding.severity for finding in checked.findings), key=list(_VERDICTS).index, default="ok"
    )
    work = f"{checked.documents:,} documents, {checked.passages:,} passages, {duration(checked.seconds)}"
    canvas.line(f"{_VERDICTS[worst]} ({work}).", style=_STYLES[worst])
    for command in dict.fromkeys(finding.command for finding in checked.findings if finding.command):
        canvas.line(f"  to fix this, run: {escape(command)}", whole=True)


def _examples(group: SkippedGroup | Finding) -> str:
    """Return the first few names, and the number of the others."""
    more = group.count - len(group.examples)
    return ", ".join(map(name_of, group.examples)) + (f" and {more:,} more" if more > 0 else "")
