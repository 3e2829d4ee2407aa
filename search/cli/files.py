"""Files that a command writes because it was asked to, and texts that it reads a line at a time."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

from search.errors import InputError, OptionalDependency, ReadError


def check_writable(*paths: Path | None) -> None:
    """Refuse names that nothing can be written to, before any work is done.

    Raises:
        InputError: a folder, or a name in a folder that is not there.
    """

    named = [path.resolve() for path in paths if path]
    if len(set(named)) < len(named):
        raise InputError(f"'{named[0].name}' is named twice. Give each file a name of its own.")
    for path in filter(None, paths):
        if path.is_dir():
            raise InputError(f"'{path}' is a folder. Name a file to write to.")
        if not path.parent.is_dir():
            raise InputError(
                f"'{path}' cannot be written: there is no folder '{path.parent}'. Make it first."
            )


def check_pictures(png: Path | None) -> None:
    """
    Raises:
        OptionalDependency: a PNG is asked for, and what draws it is not installed.
    """
    from search.render.picture import EXTRA, PACKAGE

    if png is not None and find_spec(PACKAGE) is None:
        raise OptionalDependency(PACKAGE, EXTRA, "drawing a PNG")


def write_file(path: Path, content: str | bytes) -> None:
    """Write a whole file or leave what is there; a file of that name is replaced.

    Raises:
        InputError: it cannot be written.
    """
    from search.files import write_whole

    try:
        if path.exists() and not path.is_file():  # a device or a pipe, which cannot be replaced
            path.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)
        else:
            write_whole(path, content)
    except OSError as error:
        raise InputError(
            f"'{path}' cannot be written: {error.strerror or error}. Name another file."
        ) from None


def text_of(name: str, way_out: str) -> str:
    """The text of a file, or of standard input for "-".

    Args:
        way_out: what to do where it is no text.

    Raises:
        InputError: it cannot be read.
    """
    from search.corpus.decode import decode

    try:
        raw = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
        return decode(name, raw).text
    except OSError as error:
        raise InputError(
            f"{_called(name)} cannot be read: {error.strerror or error}. Check the name."
        ) from None
    except ReadError as error:
        raise InputError(f"{_called(name)} cannot be read as text: {error.reason}. {way_out}") from None


def lines_of(name: str) -> list[str]:
    """The lines of a file, or of standard input for "-"; empty lines at the end are left out.

    Raises:
        InputError: it cannot be read, or a line before the last is empty.
    """

    lines = text_of(name, "Give one sentence a line.").splitlines()
    while lines and not lines[-1].strip():
        lines.pop()
    for number, line in enumerate(lines, 1):
        if not line.strip():
            raise InputError(f"line {number} of {_called(name)} is empty. Give one sentence a line.")
    return lines


def _called(name: str) -> str:
    return "standard input" if name == "-" else f"'{name}'"
