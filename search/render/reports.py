"""Reports of indexing, checks and repairs, and lists of indexes and models, for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.table import Column
from rich.text import Text

from search.records.reports import (
    Changes,
    CheckReport,
    Finding,
    Moved,
    Report,
    SkippedGroup,
    Status,
)
from search.records.tokens import ConvertedModel
from search.render.format import (
    copied_texts,
    counted,
    cut_in_the_middle,
    duration,
    escape,
    name_of,
    random_pairs,
    shown_path,
    size,
)
from search.render.terminal import Canvas, as_text, grid, number

# Characters of a line that a list needs for its numbers, with the space between columns.
_NUMBERS_OF_INDEX, _NUMBERS_OF_MODEL = 38, 34

# Names of one kind, of which there may be any number.
_MOST_LINES = 50

_STYLES = {"ok": "green", "stale": "yellow", "damaged": "bold red"}

# What to do about files that were left out for a reason.
_WAYS_OUT = {
    "needs seewhy[documents]": "read them with: pip install 'seewhy[documents]'",
    "excluded": "later runs exclude them, too, unless you give: --include '' --exclude ''",
}


@as_text
def report(canvas: Canvas, done: Report) -> None:
    """What a run of indexing did."""
    folder = folders_line(done)
    head = (
        f"Nothing changed in {folder}" if done.nothing_changed else f"Indexed {folder}: {_file_counts(done)}"
    )
    canvas.line(f"{head}.", style="bold", whole=True)
    rate = f", {done.encoded_tokens / done.seconds:,.0f} tokens/s" if done.encoded and done.seconds else ""
    canvas.facts(
        (
            ("index", escape(shown_path(done.index))),
            ("documents", f"{done.documents:,}"),
            ("passages", f"{done.passages:,}{_work(done)}"),
            ("tokens", f"{done.tokens:,} (truncated: {done.truncated_tokens:,})"),
            ("skipped", skipped_line(done.skipped)),
            ("time", f"{duration(done.seconds)}{rate}"),
        )
    )
    _draw_skipped(canvas, done.skipped)


@as_text
def moved(canvas: Canvas, done: Moved) -> None:
    """What an index is of now, and how that was told."""
    canvas.line(
        f"The index {escape(shown_path(done.index))} is of {folders_line(done)} now, where {done.same:,} of its "
        f"{counted(done.files, 'file')} are as they were indexed.",
        whole=True,
    )


def folders_line(about: Report | Changes | Moved | Status) -> str:
    """What an index is of, for one line."""
    folders = about.folders or (about.folder,)
    return ", ".join(escape(name if (name := shown_path(path)) != "." else path) for path in folders)


def _with_presence(folder: str) -> str:
    return escape(folder) + ("" if Path(folder).is_dir() else "  (not there now)")


def update_line(done: Report) -> str:
    """What an update changed, in one line."""
    return f"{_file_counts(done)}; {counted(done.encoded, 'passage')} encoded in {duration(done.seconds)}"


@as_text
def changes(canvas: Canvas, planned: Changes) -> None:
    """What a run of indexing would change, a file a line as in diff: + added, ~ changed, > renamed, - removed."""
    would = []
    for mark, verb, paths in (
        ("+", "add", planned.added),
        ("~", "change", planned.changed),
        (">", "rename", [f"{old} > {new}" for old, new in planned.renamed]),
        ("-", "remove", planned.removed),
    ):
        for path in paths:
            canvas.line(f"{mark} {escape(path)}", whole=True)
        if paths:
            would.append(f"{verb} {counted(len(paths), 'file')}")
    what = f"would {', '.join(would)}" if would else "no changes" if planned.unchanged else "nothing to index"
    kept = (
        f"{counted(planned.unchanged, 'file')}{' unchanged' if would else ''}, " if planned.unchanged else ""
    )
    skipped = sum(group.count for group in planned.skipped)
    canvas.line(f"{folders_line(planned)}: {what} ({kept}{skipped:,} skipped)", whole=True)
    _draw_skipped(canvas, planned.skipped)


def _file_counts(done: Report) -> str:
    """How many files were added, changed and so on: "1 file added, 2 removed (5,000 documents)"."""
    counts = [(getattr(done, word), word) for word in ("added", "changed", "renamed", "removed")]
    (first, word), *others = [(count, word) for count, word in counts if count]
    text = ", ".join([f"{counted(first, 'file')} {word}", *(f"{n:,} {w}" for n, w in others)])
    return text + (
        f" ({done.removed_documents:,} documents)" if done.removed_documents > done.removed else ""
    )


def _work(done: Report) -> str:
    if done.nothing_changed:
        return ""
    before = done.changed or done.renamed or done.removed or done.unchanged
    reused = (
        f", {done.reused:,} {'known already' if before else 'with the text of another'}"
        if done.reused
        else ""
    )
    return f" ({done.encoded:,} encoded{reused})"


@as_text
def status(canvas: Canvas, held: Status) -> None:
    """What one index is and holds."""
    facts = (
        ("index", escape(held.index)),
        *(("folder", _with_presence(folder)) for folder in held.folders or (held.folder,)),
        ("model", escape(held.model)),
        ("embeddings", f"{held.pooling} pooling, {held.dimension} dimensions, unit length"),
        ("model reads", f"at most {held.max_tokens} tokens at a time"),
        ("encoded by", held.engine or "nothing yet"),
        ("documents", f"{held.documents:,}"),
        ("passages", f"{held.passages:,}"),
        ("tokens", f"{held.tokens:,}"),
        ("vectors", held.vectors),
        ("random pairs", random_pairs(held.random_pairs)),
        *([("copies", copied_texts(held))] if held.copies else []),
        *([("size", size(held.bytes))] if held.bytes else []),
        ("updated", held.updated[:19].replace("T", " ") or "never finished"),
        ("skipped", skipped_line(held.skipped)),
        *(("annotations", escape(annotator.progress)) for annotator in held.annotations),
    )
    canvas.facts(facts)
    _draw_skipped(canvas, held.skipped)
    if held.running:
        canvas.line("A run is under way: this is what the index holds so far.", style="yellow")
    elif not held.complete:
        canvas.line(
            "The last run was stopped before its end. Go on with: seewhy index FOLDER", style="yellow"
        )


@as_text
def index_list(canvas: Canvas, indexes: Sequence[Status]) -> None:
    """One line for each index."""
    if not indexes:
        canvas.line("No index has been made yet. Make one with: seewhy index FOLDER", whole=True)
        return
    table = grid(
        *(Column(name, no_wrap=True) for name in ("name", "folder", "model")),
        *map(number, ("documents", "passages", "size")),
    )
    names = [(item.name, folders_line(item), f"{item.model}, {item.pooling}") for item in indexes]
    numbers = [(f"{item.documents:,}", f"{item.passages:,}", size(item.bytes)) for item in indexes]
    fitted = _fitted(names, canvas.width - _NUMBERS_OF_INDEX)
    canvas.table(table, (row + more for row, more in zip(fitted, numbers, strict=True)))


@as_text
def model_list(canvas: Canvas, models: Sequence[ConvertedModel]) -> None:
    """One line for each converted model, and why others could not be."""
    if not models:
        canvas.line(
            "No model has been converted on this machine yet; the first use of one does it.", whole=True
        )
        return
    table = grid(
        Column("name", no_wrap=True), Column("weights", no_wrap=True), number("layers"), number("size")
    )
    names = _fitted([(item.name,) for item in models], canvas.width - _NUMBERS_OF_MODEL)
    for (name,), item in zip(names, models, strict=True):
        layers, bytes_ = ("-", "-") if item.problem else (str(item.layers), size(item.bytes))
        table.add_row(name, item.weights[:12], layers, bytes_)
    canvas.table(table)
    for item in models:
        if item.problem:
            canvas.line(f"Not used: {escape(item.problem)}", style="yellow", whole=True)


def _fitted(rows: Sequence[tuple[str, ...]], room: int) -> list[tuple[str, ...]]:
    """Cells that have room beside one another: the longest are cut in the middle."""
    escaped = [tuple(map(escape, row)) for row in rows]
    widths = [max(map(len, column)) for column in zip(*escaped, strict=True)]
    while sum(widths) > max(room, 3 * len(widths)):
        widths[widths.index(max(widths))] -= 1
    return [tuple(map(cut_in_the_middle, row, widths)) for row in escaped]


def skipped_line(groups: Sequence[SkippedGroup]) -> str:
    total = sum(group.count for group in groups)
    if not total:
        return "nothing"
    reasons = [f"{group.count:,} {name_of(group.reason)}" for group in groups[:_MOST_LINES]]
    return f"{total:,} ({', '.join(reasons)})"


def _draw_skipped(canvas: Canvas, groups: Sequence[SkippedGroup]) -> None:
    for group in groups[:_MOST_LINES]:
        names = ", ".join(map(name_of, group.examples))
        more = f" and {group.count - len(group.examples):,} more" if group.count > len(group.examples) else ""
        canvas.dim(f"{name_of(group.reason)}: {names}{more}", indent=2)
        if group.reason in _WAYS_OUT:
            canvas.line(_WAYS_OUT[group.reason], indent=4)


@as_text
def check(canvas: Canvas, checked: CheckReport) -> None:
    """Every check in one line, what is wrong with its first examples, and the commands that help."""
    _draw_findings(canvas, checked.findings)
    if checked.unchecked:
        canvas.dim(f"not checked: {', '.join(checked.unchecked)}")
    if checked.repaired:
        canvas.line(f"repaired: {', '.join(checked.repaired)}")
    canvas.gap()
    _draw_verdict(canvas, checked)
    for severity, what in (("damaged", "to fix this, run"), ("stale", "to update it, run")):
        commands = [finding.command for finding in checked.findings if finding.severity == severity]
        for command in dict.fromkeys(filter(None, commands)):
            canvas.line(f"  {what}: {escape(command)}", whole=True)


def _draw_findings(canvas: Canvas, findings: Sequence[Finding]) -> None:
    table = grid(Column(no_wrap=True), Column(no_wrap=True), "", header="")
    for finding in findings:
        what = Text(escape(finding.message))
        if finding.examples:
            examples = _examples(finding.examples, finding.count - len(finding.examples))
            what.append(f"\n{examples}", style="dim")
        table.add_row(finding.check, Text(finding.severity, style=_STYLES[finding.severity]), what)
    canvas.table(table)


def _examples(names: Sequence[str], more: int) -> str:
    return ", ".join(map(name_of, names)) + (f" and {more:,} more" if more > 0 else "")


def _draw_verdict(canvas: Canvas, checked: CheckReport) -> None:
    severities = {finding.severity for finding in checked.findings}
    worst = next((severity for severity in ("damaged", "stale") if severity in severities), "ok")
    verdict = {
        "damaged": "The index is damaged",
        "stale": "The index is sound, but not up to date or not tidy",
        "ok": "The index is sound and up to date",
    }[worst]
    held = f"{checked.documents:,} documents, {checked.passages:,} passages, {duration(checked.seconds)}"
    canvas.line(f"{verdict} ({held}).", style=_STYLES[worst])
