"""A place in a file, opened in the user's editor: $VISUAL, else $EDITOR, told the line as it takes it.

The command is the user's own, from the environment alone; it is split as a shell would, and no shell runs it.
"""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

from search.errors import InputError

_ARGUMENTS = {
    "+{line} {path}": "vi vim nvim gvim mvim view nano pico emacs emacsclient kak micro joe jed ne mg gedit",
    "--goto {path}:{line}:{column}": "code code-insiders codium vscodium cursor windsurf positron",
    "{path}:{line}:{column}": "subl sublime_text hx helix zed zeditor",
    "--line {line} {path}": "idea pycharm webstorm goland clion rubymine phpstorm rider rustrover kate kwrite mate",
}
_ARGUMENTS_OF = {name: arguments for arguments, names in _ARGUMENTS.items() for name in names.split()}


def editor() -> list[str]:
    """The editor that the user chose, as program and arguments.

    Raises:
        InputError: there is none, or quotes in it are not closed.
    """
    variable = "VISUAL" if os.environ.get("VISUAL") else "EDITOR"
    try:
        words = shlex.split(os.environ.get(variable, ""), posix=os.name != "nt")
    except ValueError as error:
        raise InputError(
            f"${variable} is no command: {error}. Set it to your editor, as in: {_example()}"
        ) from None
    if not words:
        raise InputError(f"no editor is set to open a hit with. Set one, as in: {_example()}")
    return words


def open_at(path: str, line: int, column: int) -> None:
    """Open a file at a line and column, both from 1, and wait for the editor.

    One that is not known gets the file alone.

    Raises:
        InputError: the editor cannot be started, or there is none.
    """
    words, path = editor(), os.path.abspath(path)  # noqa: PTH100 (no option of an editor begins so)
    name = Path(words[0]).name.lower().removesuffix(".exe").removesuffix(".cmd").removesuffix(".sh")
    arguments = _ARGUMENTS_OF.get(name.removesuffix("64"), "{path}").split()
    told = [argument.format(path=path, line=line, column=column) for argument in arguments]
    try:
        subprocess.run([*words, *told], check=False)
    except OSError as error:
        raise InputError(
            f"the editor '{words[0]}' cannot be started: {error.strerror or error}. Set another, as in: {_example()}"
        ) from None


def _example() -> str:
    return "set EDITOR=code" if os.name == "nt" else "export EDITOR=vim"
