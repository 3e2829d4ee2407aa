"""Standard output and standard error, as every command uses them."""

from __future__ import annotations

import os
import sys
from contextlib import suppress

import typer

from search.render.format import escape


def note(text: str, quiet: bool = False) -> None:
    """Anything that is no result, to stderr, harmless; lost where that takes nothing more."""
    if not quiet:
        with suppress(OSError):
            typer.echo(escape(text), err=True)


def make_streams_usable() -> None:
    """Standard streams that were closed before the program began fail when they are used; stderr takes all.

    Their numbers are taken here, as else the next file that is opened would have them, an index for instance, and what
    some library prints would go there. What a terminal cannot show is printed as codes.
    """
    for name, flags in (("stdin", os.O_WRONLY), ("stdout", os.O_RDONLY), ("stderr", os.O_WRONLY)):
        if getattr(sys, name) is None:
            descriptor = os.open(os.devnull, flags)
            setattr(sys, name, os.fdopen(descriptor, "r" if name == "stdin" else "w", encoding="utf-8"))
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def flushed() -> bool:
    """Whether all that was printed has been taken; what was not is dropped, so that Python's own end is quiet."""
    whole = True
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            whole = False
            with suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    return whole
