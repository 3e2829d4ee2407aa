"""Output options of hits, and opening a hit in the editor."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from search.cli.output import Output, echo, output_option
from search.errors import InputError, quoted

if TYPE_CHECKING:
    from search.cli.options import Searchable
    from search.index import Index
    from search.ranking.question import Query
    from search.records.explanations import Highlight
    from search.records.hits import Hit, Surroundings

Format = Literal["paths", "line"]


@dataclass(frozen=True)
class HitsOutput(Output):
    """Output options for hits: their format, and the number of lines printed around them."""

    form: Annotated[
        Format | None,
        typer.Option("--format", "-f", help="paths: one per file. line: path:line, score, sentence."),
    ] = None
    lines: Annotated[
        int,
        typer.Option(
            "--context",
            "-C",
            metavar="N",
            min=0,
            help="Show whole passages, with N lines of the file before and after.",
        ),
    ] = 0
    as_jsonl: Annotated[bool, output_option("--jsonl", help="Print one JSON object per line.")] = False

    @property
    def format(self) -> str:
        """The requested format."""
        return "json" if self.as_json else "jsonl" if self.as_jsonl else self.form or "text"

    def around(self, opened: Searchable, hits: Sequence[Hit]) -> list[Surroundings] | None:
        """Return the lines of the file around each hit; None without --context."""
        return [opened.surroundings(hit, lines=self.lines) for hit in hits] if self.lines else None

    def marks(
        self, opened: Searchable, question: Query, hits: Sequence[Hit]
    ) -> list[tuple[Highlight, ...]] | None:
        """Return the highlights of each hit; None if the format does not show them."""
        return opened.highlights(question, hits) if self.form != "paths" else None

    def print(
        self,
        hits: Sequence[Hit],
        around: Sequence[Surroundings] | None,
        marks: Sequence[Sequence[Highlight]] | None,
        *,
        no_hits: str,
        grouped: bool,
    ) -> None:
        """Print hits in the requested format.

        Args:
            around: lines around each hit, or None.
            marks: highlights of each hit, or None.
            no_hits: sentence to print as text if there are no hits.
            grouped: group the hits by document.
        """
        marks = marks or [()] * len(hits)
        from search.render import hits as draw
        from search.render import json

        write: dict[str, Callable[[], str]] = {
            "text": lambda: draw.hits(
                hits,
                **self.style,
                no_hits=no_hits,
                quiet=self.quiet,
                grouped=grouped,
                around=around,
                marks=marks,
            ),
            "json": lambda: json.document(json.hits(hits, around, marks)),
            "jsonl": lambda: json.lines(json.hits(hits, around, marks)),
            "paths": lambda: draw.paths(hits),
            "line": lambda: draw.sentence_lines(hits, marks),
        }
        echo(write[self.format]())


def open_hit(hit: Hit, marks: Sequence[Highlight]) -> None:
    """Open a hit in the editor, at its first highlight.

    Raises:
        InputError: the hit's file is gone, or the editor cannot be started.
    """
    if hit.changed == "gone":
        raise InputError(f"'{hit.path}' no longer exists. To update the index, add --update.")
    if not hit.path:
        raise InputError(f"'{hit.document}' was indexed without a file, so no editor can open it.")
    from search.render.hits import line_of

    sys.stdout.flush()
    open_at(hit.path, line_of(hit, marks))


_ARGUMENTS = {
    "+{line} {path}": "vi vim nvim gvim view nano emacs emacsclient kak micro gedit",
    "--goto {path}:{line}": "code codium cursor windsurf",
    "{path}:{line}": "subl hx helix zed zeditor",
    "--line {line} {path}": "idea pycharm webstorm goland clion kate",
}
_ARGUMENTS_OF = {name: arguments for arguments, names in _ARGUMENTS.items() for name in names.split()}
_EXAMPLE = "set EDITOR=code" if os.name == "nt" else "export EDITOR=vim"


def editor() -> list[str]:
    """Return the command of $VISUAL, else of $EDITOR, split into words: the program and its arguments.

    Raises:
        InputError: neither is set, or a quote is not closed.
    """
    variable = "VISUAL" if os.environ.get("VISUAL") else "EDITOR"
    try:
        words = shlex.split(os.environ.get(variable, ""), posix=os.name != "nt")
    except ValueError as error:
        raise InputError(f"${variable} is not a valid command: {error}. Try: {_EXAMPLE}") from None
    if not words:
        raise InputError(f"no editor is set. Try: {_EXAMPLE}")
    return words


def open_at(path: str, line: int) -> None:
    """Open a file in the editor, and wait until the editor exits.

    Args:
        line: 1-based line to show; ignored if the editor is not in `_ARGUMENTS`.

    Raises:
        InputError: the editor cannot be started, or none is set.
    """
    words, path = editor(), os.path.abspath(path)  # noqa: PTH100 (never taken for an option)
    name = Path(words[0]).name.lower().removesuffix(".exe").removesuffix(".cmd").removesuffix("64")
    arguments = _ARGUMENTS_OF.get(name, "{path}").split()
    filled = [argument.format(path=path, line=line) for argument in arguments]
    try:
        subprocess.run([*words, *filled], check=False)
    except OSError as error:
        raise InputError(
            f"the editor '{words[0]}' cannot be started: {error.strerror}. Try: {_EXAMPLE}"
        ) from None


def about_age(opened: Searchable, hits: Sequence[Hit]) -> list[str]:
    """Return a note with a remedy for each index whose files have changed since they were indexed."""
    from search.indexes import Indexes

    stale: dict[Index, set[str]] = {}
    for hit in hits:
        if hit.changed:
            index = opened.of(hit) if isinstance(opened, Indexes) else opened
            stale.setdefault(index, set()).add(hit.path)
    return [_about_age_of(index, len(paths)) for index, paths in stale.items()]


def _about_age_of(index: Index, stale: int) -> str:
    """Return a note on an index of which `stale` files with hits have changed."""
    from search.indexes import name_of
    from search.store.layout import is_address
    from search.store.settings import as_text

    name, folders = quoted(name_of(index)), index.folders
    gone = [path for path in folders.paths if not path.is_dir()]
    if gone and not is_address(index.name):
        new = " ".join(["NEW_FOLDER"] * len(folders.paths))
        are, them = ("is", "it") if len(gone) == 1 else ("are", "them")
        return f"{as_text(gone)} {are} gone. If you moved {them}, run: seewhy move {name} {new}"
    files = "1 of these files has" if stale == 1 else f"{stale} of these files have"
    update = f"{folders.typed} --store {name}" if is_address(index.name) else f"--index {name}"
    return f"{files} changed or been deleted since indexing. Update with: seewhy index {update}"
