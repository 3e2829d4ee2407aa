"""Reports of indexing, and lists of indexes and models, for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from search.records.reports import Changes, Report, SkippedGroup, Status
from search.records.tokens import ConvertedModel
from search.render import scale
from search.render.escape import escape
from search.render.terminal import canvas, cut_in_the_middle, drawn, duration, shown_path, size

# Characters of a line that a list needs for its numbers, with the space between columns.
_NUMBERS_OF_INDEX, _NUMBERS_OF_MODEL = 38, 34

# What to do about files that were left out for a reason.
_WAYS_OUT = {"needs seewhy[documents]": "read them with: pip install 'seewhy[documents]'"}


def report(done: Report, *, width: int = 80, colour: bool = False) -> str:
    """What a run of indexing did."""
    console = canvas(width, colour)
    if done.nothing_changed:
        console.print(f"Nothing changed in {escape(shown_path(done.folder))}.", style="bold", soft_wrap=True)
    else:
        head = f"Indexed {escape(shown_path(done.folder))}: {_file_counts(done)}."
        console.print(head, style="bold", soft_wrap=True)
    table = _facts()
    table.add_row("index", escape(shown_path(done.index)))
    table.add_row("documents", f"{done.documents:,}")
    table.add_row("passages", f"{done.passages:,}{_work(done)}")
    table.add_row("tokens", f"{done.tokens:,} (truncated: {done.truncated_tokens:,})")
    table.add_row("skipped", skipped_line(done.skipped))
    rate = f", {done.encoded_tokens / done.seconds:,.0f} tokens/s" if done.encoded and done.seconds else ""
    table.add_row("time", f"{duration(done.seconds)}{rate}")
    console.print(table)
    _draw_skipped(console, done.skipped)
    return drawn(console)


def update_line(done: Report) -> str:
    """What an update changed, in one line."""
    counts = _file_counts(done)
    passages = "passage" if done.encoded == 1 else "passages"
    return f"{counts}; {done.encoded:,} {passages} encoded in {duration(done.seconds)}"


def changes(found: Changes, *, width: int = 80) -> str:
    """What a run of indexing would change, a file a line as in diff: + added, ~ changed, > renamed, - removed."""
    console = canvas(width, False)
    for mark, paths in (
        ("+", found.added),
        ("~", found.changed),
        (">", [f"{old} > {new}" for old, new in found.renamed]),
        ("-", found.removed),
    ):
        for path in paths:
            console.print(f"{mark} {escape(path)}", soft_wrap=True)
    counts = [
        f"{len(paths):,} {word}"
        for paths, word in (
            (found.added, "added"),
            (found.changed, "changed"),
            (found.renamed, "renamed"),
            (found.removed, "removed"),
        )
        if paths
    ]
    would = f"Would index {escape(shown_path(found.folder))}: {', '.join(counts)}"
    if found.nothing_would_change and not found.unchanged:
        would = f"There is nothing to index in {escape(shown_path(found.folder))}"
    elif found.nothing_would_change:
        would = f"Nothing has changed in {escape(shown_path(found.folder))}"
    console.print(
        f"{would}. {found.unchanged:,} unchanged, skipped: {skipped_line(found.skipped)}.", soft_wrap=True
    )
    return drawn(console)


def _file_counts(done: Report) -> str:
    """How many files were added, changed and so on: "1 file added, 2 removed"."""
    counts = [
        (done.added, "added"),
        (done.changed, "changed"),
        (done.renamed, "renamed"),
        (done.removed, "removed"),
    ]
    (first, word), *others = [(count, word) for count, word in counts if count]
    return ", ".join(
        [f"{first:,} file{'' if first == 1 else 's'} {word}", *(f"{n:,} {w}" for n, w in others)]
    )


def _work(done: Report) -> str:
    if done.nothing_changed:
        return ""
    reused = f", {done.reused:,} known already" if done.reused else ""
    return f" ({done.encoded:,} encoded{reused})"


def status(found: Status, *, width: int = 80, colour: bool = False) -> str:
    """What one index is and holds."""
    console = canvas(width, colour)
    table = _facts()
    for name, value in (
        ("index", escape(found.index)),
        ("folder", escape(found.folder) + ("" if Path(found.folder).is_dir() else "  (not there now)")),
        ("model", escape(found.model)),
        ("embeddings", f"{found.pooling} pooling, {found.dimension} dimensions, unit length"),
        ("model reads", f"at most {found.max_tokens} tokens at a time"),
        ("encoded by", found.engine or "nothing yet"),
        ("documents", f"{found.documents:,}"),
        ("passages", f"{found.passages:,}"),
        ("tokens", f"{found.tokens:,}"),
        ("vectors", found.vectors),
        ("random pairs", scale.spread(found.random_pairs)),
        ("size", size(found.bytes)),
        ("updated", found.updated or "never finished"),
        ("skipped", skipped_line(found.skipped)),
        *(("annotations", escape(one.progress)) for one in found.annotations),
    ):
        table.add_row(name, value)
    console.print(table)
    _draw_skipped(console, found.skipped)
    if not found.complete:
        console.print(
            "The last run was stopped before its end. Go on with: seewhy index FOLDER", style="yellow"
        )
    return drawn(console)


def index_list(found: Sequence[Status], *, width: int = 80, colour: bool = False) -> str:
    """One line for each index."""
    if not found:
        return "No index has been made yet. Make one with: seewhy index FOLDER"
    console = canvas(width, colour)
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("name", "folder", "model"):
        table.add_column(name, no_wrap=True)
    for name in ("documents", "passages", "size"):
        table.add_column(name, justify="right", no_wrap=True)
    names = [(item.name, shown_path(item.folder), f"{item.model}, {item.pooling}") for item in found]
    numbers = [(f"{item.documents:,}", f"{item.passages:,}", size(item.bytes)) for item in found]
    for row in zip(_fitted(names, width - _NUMBERS_OF_INDEX), numbers, strict=True):
        table.add_row(*row[0], *row[1])
    console.print(table)
    return drawn(console)


def model_list(found: Sequence[ConvertedModel], width: int = 80, colour: bool = False) -> str:
    """One line for each converted model, and why others could not be."""
    if not found:
        return "No model has been converted on this machine yet; the first use of one does it."
    console = canvas(width, colour)
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("name", "weights"):
        table.add_column(name, no_wrap=True)
    for name in ("layers", "size"):
        table.add_column(name, justify="right", no_wrap=True)
    names = _fitted([(item.name,) for item in found], width - _NUMBERS_OF_MODEL)
    for (name,), item in zip(names, found, strict=True):
        layers, bytes_ = ("-", "-") if item.problem else (str(item.layers), size(item.bytes))
        table.add_row(name, item.weights[:12], layers, bytes_)
    console.print(table)
    for item in found:
        if item.problem:
            console.print(f"Not converted: {escape(item.problem)}", style="yellow", soft_wrap=True)
    return drawn(console)


def _fitted(rows: Sequence[tuple[str, ...]], room: int) -> list[tuple[str, ...]]:
    """Cells that have room beside one another: the longest are cut in the middle."""
    escaped = [tuple(map(escape, row)) for row in rows]
    widths = [max(map(len, column)) for column in zip(*escaped, strict=True)]
    while sum(widths) > max(room, 3 * len(widths)):
        widths[widths.index(max(widths))] -= 1
    return [tuple(map(cut_in_the_middle, row, widths)) for row in escaped]


def _facts() -> Table:
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    return table


def skipped_line(groups: Sequence[SkippedGroup]) -> str:
    total = sum(group.count for group in groups)
    if not total:
        return "nothing"
    return f"{total:,} ({', '.join(f'{group.count:,} {group.reason}' for group in groups)})"


def _draw_skipped(console: Console, groups: Sequence[SkippedGroup]) -> None:
    for group in groups:
        names = ", ".join(escape(name) for name in group.examples)
        more = f" and {group.count - len(group.examples):,} more" if group.count > len(group.examples) else ""
        console.print(Padding(Text(f"{group.reason}: {names}{more}", style="dim"), (0, 0, 0, 2)))
        if group.reason in _WAYS_OUT:
            console.print(Padding(Text(_WAYS_OUT[group.reason]), (0, 0, 0, 4)))
