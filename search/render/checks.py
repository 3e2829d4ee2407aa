"""What a check found and what a repair did, for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from search.records.reports import CheckReport, Finding, RepairReport
from search.render.escape import escape, one_line
from search.render.terminal import canvas, drawn, duration, shown_path

if TYPE_CHECKING:
    from rich.console import Console

_STYLES = {"ok": "green", "stale": "yellow", "damaged": "bold red"}


def check(found: CheckReport, *, width: int = 80, colour: bool = False) -> str:
    """Every check in one line, what is wrong with its first examples, and the commands that help."""
    console = canvas(width, colour)
    _draw_findings(console, found.findings)
    if found.unchecked:
        console.print(f"not checked: {', '.join(found.unchecked)}", style="dim")
    console.print()
    console.print(Text(_verdict(found), style=_STYLES[_worst(found.findings)]))
    for severity, what in (("damaged", "mend it with"), ("stale", "see to it with")):
        commands = [finding.command for finding in found.findings if finding.severity == severity]
        for command in dict.fromkeys(filter(None, commands)):
            console.print(f"  {what}: {escape(command)}", soft_wrap=True)
    return drawn(console)


def repair(done: RepairReport, *, width: int = 80, colour: bool = False) -> str:
    """What was done, step by step, what was lost, and what a check says now."""
    console = canvas(width, colour)
    if not done.steps:
        console.print("There was nothing to repair." if not done.dry_run else "There is nothing to repair.")
    for step in done.steps:
        count = f" ({step.count:,})" if step.count else ""
        console.print(Text(f"{escape(step.message)}{count}"), soft_wrap=True)
        _draw_examples(console, step.examples, step.count, 2)
    if done.lost:
        console.print(Text(f"Lost from the index: {len(done.lost):,}", style="bold red"))
        for name in done.lost:
            console.print(Text(f"  {escape(one_line(name))}"), soft_wrap=True)
        console.print("  They come back with seewhy index, once their files can be read.")
    if done.kept:
        console.print(f"The broken database is kept: {escape(shown_path(done.kept))}", soft_wrap=True)
    if done.steps:
        console.print()
    if done.dry_run:
        console.print("Nothing was changed (--dry-run).", style="bold")
    else:
        bad = [finding for finding in done.check.findings if finding.severity != "ok"]
        _draw_findings(console, bad)
        console.print(Text(f"{_verdict(done.check)}", style=_STYLES[_worst(bad)]))
    return drawn(console)


def _draw_findings(console: Console, findings: Sequence[Finding]) -> None:
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for finding in findings:
        what = Text(escape(finding.message))
        if finding.examples:
            names = ", ".join(one_line(name) for name in finding.examples)
            more = finding.count - len(finding.examples)
            what.append(f"\n{names}" + (f" and {more:,} more" if more > 0 else ""), style="dim")
        table.add_row(Text(finding.check), Text(finding.severity, style=_STYLES[finding.severity]), what)
    console.print(table)


def _draw_examples(console: Console, names: Sequence[str], count: int, indent: int) -> None:
    if names:
        more = f" and {count - len(names):,} more" if count > len(names) > 1 else ""
        line = ", ".join(one_line(name) for name in names) + more
        console.print(Padding(Text(line, style="dim"), (0, 0, 0, indent)))


def _worst(findings: Sequence[Finding]) -> str:
    severities = [finding.severity for finding in findings]
    return next((one for one in ("damaged", "stale") if one in severities), "ok")


def _verdict(found: CheckReport) -> str:
    held = f"{found.documents:,} documents, {found.passages:,} passages, {duration(found.seconds)}"
    worst = _worst(found.findings)
    if worst == "damaged":
        return f"The index is damaged ({held})."
    if worst == "stale":
        return f"The index is sound, but see above ({held})."
    return f"The index is sound and up to date ({held})."
