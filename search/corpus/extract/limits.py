"""How much one file may cost. Beyond that it is left out and counted; the run goes on."""

from __future__ import annotations

from dataclasses import dataclass

# Characters of one file's text, as many as bytes of the largest file that the walk lets pass.
MOST_CHARACTERS = 64 * 2**20

# What is read of a zip archive, unpacked. XML is packed to a tenth or so; a bomb's share is a thousandth.
MOST_UNPACKED = 256 * 2**20
MOST_ENTRIES = 10_000

# The answer of the child process: the text as UTF-8, in JSON, with what belongs to it.
MOST_ANSWER = 8 * MOST_CHARACTERS


@dataclass(frozen=True)
class Limits:
    """What the child process may use for one file.

    Attributes:
        seconds: of wall time.
        memory: bytes, of address space where the system can limit that, else of resident memory.
    """

    seconds: float = 120.0
    memory: int = 2**30
