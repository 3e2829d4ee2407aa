"""The patterns of .gitignore and its relatives, with git's meaning, for one file or folder at a time.

Patterns of a folder are relative to it. The deepest folder that has something to say about a path decides; within a
folder .seewhyignore beats .ignore beats .gitignore; within a file the last matching line decides, and a line that
starts with "!" takes back. As in git, nothing can be taken back beneath a folder that is itself ignored, because such a
folder is never entered.

The walk asks about each folder before it asks about what is in it, as git does, so a pattern has to
say whether it names this entry and not whether it names something above it. pathspec answers the
second question only: given "*", "!*/" and "!*.txt", which keeps the text files of all folders, it
reports every folder as ignored. Hence this file. Its tests compare it with git itself.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import translate
from glob import escape
from pathlib import Path
from typing import TypeAlias

from search.corpus.sources import regular_bytes

_NOTHING = "(?!)"

# Of an ignore file: thousands of patterns, each of which is tried with every name.
_MAX_BYTES = 2**20

# From weakest to strongest within one folder.
IGNORE_FILES = (".gitignore", ".ignore", ".seewhyignore")

# Made by machines, never read by people. Weaker than any ignore file: "!venv/" takes one back.
_NEVER_WANTED = """
    __pycache__/ __pypackages__/ node_modules/ bower_components/ jspm_packages/ venv/ .venv/ site-packages/
    *.egg-info/ .ipynb_checkpoints/
"""


@dataclass(frozen=True)
class Pattern:
    """One line of an ignore file.

    Attributes:
        parts: the globs between its slashes; None for "**". A line with no slash but maybe at its end
            has one part, which counts in every folder.
        by_name: whether it is such a line.
        negated: it began with "!", and takes back what earlier lines say.
        folders_only: it ended with a slash.
    """

    parts: tuple[re.Pattern[str] | None, ...]
    by_name: bool
    negated: bool
    folders_only: bool

    def matches(self, names: list[str]) -> bool:
        """True if it names the path of these folders and this file; quick for every path."""
        if self.by_name:
            return self.parts[0] is not None and self.parts[0].match(names[-1]) is not None
        reached = {0}  # how many of the names the parts so far may stand for
        for number, part in enumerate(self.parts, 1):
            if part is None:
                beyond = number == len(self.parts)  # "a/**" names what is in "a", not "a"
                reached = set(range(min(reached) + beyond, len(names) + 1))
            else:
                reached = {at + 1 for at in reached if at < len(names) and part.match(names[at])}
            if not reached:
                return False
        return len(names) in reached


class Patterns:
    """The lines of one ignore file; paths are relative to its folder, and folders end with a slash."""

    def __init__(self, lines: Iterable[str]) -> None:
        parsed = [pattern for line in lines if (pattern := parse(line)) is not None]
        self._from_last = parsed[::-1]
        # Most entries match no line at all, which one regular expression tells at once.
        by_name = [pattern.parts[0].pattern for pattern in parsed if pattern.by_name and pattern.parts[0]]
        self._any_name = re.compile("|".join(by_name) or _NOTHING)
        self._by_path = [pattern for pattern in parsed if not pattern.by_name]

    def verdict(self, path: str) -> bool | None:
        """True if the last line that matches `path` itself ignores it; None if no line matches."""
        is_folder = path.endswith("/")
        names = path.removesuffix("/").split("/")
        if not self._any_name.match(names[-1]) and not any(p.matches(names) for p in self._by_path):
            return None
        for pattern in self._from_last:
            if (is_folder or not pattern.folders_only) and pattern.matches(names):
                return not pattern.negated
        return None

    def cover(self, path: str) -> bool:
        """True if `path` or a folder above it is matched; the nearest one that a line matches decides."""
        while path:
            verdict = self.verdict(path)
            if verdict is not None:
                return verdict
            path = path[: path.rstrip("/").rfind("/") + 1]
        return False


def parse(line: str) -> Pattern | None:
    """The pattern in a line without its line end; None if it is blank, a comment or can match nothing."""
    line = line.rstrip(" ")
    if line.startswith("#"):
        return None
    negated = line.startswith("!")
    line = line.removeprefix("!")
    folders_only = line.endswith("/")
    line = line.removesuffix("/")
    by_name = "/" not in line
    line = line.removeprefix("/")
    if not line:
        return None
    globs = [line] if by_name else line.split("/")
    parts = (None if glob == "**" and not by_name else _part(glob) for glob in globs)
    return Pattern(tuple(parts), by_name, negated, folders_only)


# What git writes differently from fnmatch: "[^a]", and a backslash before a character that means itself.
_DIFFERENT = re.compile(r"\[\^(?=.)|\\(.?)")


def _part(glob: str) -> re.Pattern[str]:
    """A regular expression for a name; one that matches nothing for a backslash at its end."""
    if glob.endswith("\\") and not glob.endswith("\\\\"):
        return re.compile(_NOTHING)
    same = _DIFFERENT.sub(lambda match: escape(match[1]) if match[1] else "[!", glob)
    return re.compile(translate(same))


Rules: TypeAlias = tuple[tuple[str, Patterns], ...]
"""Ignore files, the strongest first: the folder of the patterns ("" for the root, else with a slash at its end), and
the patterns."""


def ignores(rules: Rules, path: str) -> bool:
    """True if `path` (relative to the root, a folder with a slash at the end) is ignored.

    For something in an ignored folder the result means nothing: check the folder first.
    """
    verdicts = (patterns.verdict(path[len(folder) :]) for folder, patterns in rules)
    return next((verdict for verdict in verdicts if verdict is not None), False)


# The rules that hold before any ignore file has spoken.
BUILT_IN: Rules = (("", Patterns(_NEVER_WANTED.split())),)


def with_file(outer: Rules, folder: str, ignore_file: Path) -> Rules:
    """`outer`, and stronger than it what `ignore_file` says about paths in `folder`.

    Raises:
        OSError: the file cannot be read, or is a pipe, a link or larger than 1 MiB.
    """
    raw = regular_bytes(ignore_file, _MAX_BYTES).removeprefix(codecs.BOM_UTF8)
    # Undecodable bytes become the same surrogates that os.scandir gives for such names.
    lines = raw.decode("utf-8", "surrogateescape").split("\n")
    return ((folder, Patterns(line.removesuffix("\r") for line in lines)), *outer)
