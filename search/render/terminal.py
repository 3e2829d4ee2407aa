"""What all drawings for a terminal share: the canvas, and how places, headings and numbers are written."""

from __future__ import annotations

import io
import os
import re
from pathlib import Path

from rich.console import Console

from search.records.hits import Copy, Hit
from search.records.predictions import Answer, AnswerPlace
from search.render.escape import escape, one_line

_SNIPPET = 320

# What a page is called, by how the file's suffix begins: .pptx, .potx, .xlsm and so on.
_PAGES = {".pp": "slide", ".po": "slide", ".xl": "sheet"}
_WITHOUT_LINES = (".doc", ".dot", ".epub")

_UNDERLINE = re.compile(r"^([^\w\s])\1{2,}[ \t]*\r?\n")


def canvas(width: int, colour: bool) -> Console:
    """A console that draws into a string; `drawn` gives it."""
    return Console(
        file=io.StringIO(),
        width=width,
        force_terminal=colour,
        color_system="standard" if colour else None,
        no_color=not colour,
        highlight=False,
        markup=False,
        emoji=False,
        legacy_windows=False,
    )


def drawn(console: Console) -> str:
    """What was drawn, without spaces at line ends."""
    assert isinstance(console.file, io.StringIO)
    return "\n".join(line.rstrip() for line in console.file.getvalue().splitlines())


def where(hit: Hit | Copy | Answer | AnswerPlace) -> str:
    """`path:line` of a hit or an answer, relative to the current folder where that is shorter.

    `path page 3` in a format with pages, slides or sheets; the path alone in one that has neither pages nor
    lines that a reader could find.
    """
    path, suffix = escape(shown_path(hit.path)), Path(hit.path).suffix.lower()
    if hit.page is not None:
        return f"{path} {_PAGES.get(suffix[:3], 'page')} {hit.page}"
    if suffix.startswith(_WITHOUT_LINES):
        return path
    lines = str(hit.line_start) if hit.line_start == hit.line_end else f"{hit.line_start}-{hit.line_end}"
    return f"{path}:{lines}"


def shown_path(path: str) -> str:
    try:
        relative = os.path.relpath(path)
    except (ValueError, OSError):  # another drive on Windows; the current folder is gone
        return path
    return path if relative.startswith("..") else relative


def cut_in_the_middle(name: str, longest: int) -> str:
    """A name or path that is too long for a table, without its middle; the end tells more than the beginning."""
    if len(name) <= longest:
        return name
    before = longest // 3
    return f"{name[:before]}…{name[before + 1 - longest :]}"


def headings(hit: Hit) -> str:
    """Title and heading trail, the title not twice."""
    trail = [hit.title, *(hit.heading.split(" > ") if hit.heading else [])]
    if len(trail) > 1 and trail[0] == trail[1]:
        trail = trail[1:]
    return one_line(" > ".join(part for part in trail if part))


def snippet(hit: Hit) -> str:
    """The beginning of a passage after its own heading; an ellipsis says that there is more."""
    body, trail = hit.text, hit.heading.split(" > ")
    while True:
        first, _, rest = body.partition("\n")
        if not rest.strip() or first.strip(" #\r") not in trail:
            break
        body = _UNDERLINE.sub("", rest.lstrip())
    flat = one_line(body)
    return flat if len(flat) <= _SNIPPET else flat[:_SNIPPET].rsplit(" ", 1)[0] + " …"


def duration(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.1f} s"
    return f"{int(seconds // 60)} min {int(seconds % 60)} s"


def size(n_bytes: float) -> str:
    for unit in ("bytes", "kB", "MB"):
        if n_bytes < 1000:
            return f"{n_bytes:.0f} {unit}" if unit == "bytes" else f"{n_bytes:.1f} {unit}"
        n_bytes /= 1000
    return f"{n_bytes:.1f} GB"
