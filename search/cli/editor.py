"""Open hits in the user's editor."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from search.errors import InputError

if TYPE_CHECKING:
    from search.records.explanations import Highlight
    from search.records.hits import Hit


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
