"""Ignore patterns (.gitignore, .ignore, .seewhyignore) with the same meaning as in git.

Patterns are relative to the folder of their file. For each path, the deepest folder with a matching pattern decides;
within a folder .seewhyignore overrides .ignore, which overrides .gitignore; within a file the last matching line
decides, and a line that starts with "!" includes again. As in git, nothing inside an ignored folder can be included
again, because the folder is never entered.

The walk tests each folder before its contents, so a pattern is matched against an entry itself, not against its
parents. The package pathspec also matches parents, so it is not used: for "*", "!*/" and "!*.txt", which include all
text files, it reports every folder as ignored. The tests compare this module with git.
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

# Maximum size of an ignore file: enough for thousands of patterns, and every name is tested against each.
_MAX_BYTES = 2**20

# From weakest to strongest within one folder.
IGNORE_FILES = (".gitignore", ".ignore", ".seewhyignore")

# Folders and files that programs generate. Any ignore file can include one again: "!venv/".
_GENERATED_NAMES = """
    __pycache__/ __pypackages__/ node_modules/ bower_components/ jspm_packages/ venv/ .venv/ site-packages/
    *.egg-info/ .ipynb_checkpoints/
"""


@dataclass(frozen=True)
class Pattern:
    """One line of an ignore file.

    Attributes:
        parts: globs between the slashes; None for "**".
        by_name: the line has no slash except at its end, so its single glob matches in every folder.
        negated: the line began with "!" and overrides earlier lines.
        folders_only: the line ended with a slash.
    """

    parts: tuple[re.Pattern[str] | None, ...]
    by_name: bool
    negated: bool
    folders_only: bool

    def matches(self, names: list[str]) -> bool:
        """Return True if the pattern matches this file in these folders."""
        if self.by_name:
            return self.parts[0] is not None and self.parts[0].match(names[-1]) is not None
        reached = {0}  # possible numbers of names that the parts so far match
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
    """The patterns of one ignore file. Paths are relative to its folder; folders end with a slash."""

    def __init__(self, lines: Iterable[str]) -> None:
        parsed = [pattern for line in lines if (pattern := parse(line)) is not None]
        self._from_last = parsed[::-1]
        # Most entries match no line at all; one regular expression finds that out at once.
        by_name = [pattern.parts[0].pattern for pattern in parsed if pattern.by_name and pattern.parts[0]]
        self._any_name = re.compile("|".join(by_name) or _NOTHING)
        self._by_path = [pattern for pattern in parsed if not pattern.by_name]

    def verdict(self, path: str) -> bool | None:
        """Return True if the last line that matches `path` itself ignores it, False if it includes it; None if none
        matches.
        """
        is_folder = path.endswith("/")
        names = path.removesuffix("/").split("/")
        if not self._any_name.match(names[-1]) and not any(p.matches(names) for p in self._by_path):
            return None
        for pattern in self._from_last:
            if (is_folder or not pattern.folders_only) and pattern.matches(names):
                return not pattern.negated
        return None

    def cover(self, path: str) -> bool:
        """Return True if the patterns cover `path` or a folder above it; the nearest match decides."""
        while path:
            verdict = self.verdict(path)
            if verdict is not None:
                return verdict
            path = path[: path.rstrip("/").rfind("/") + 1]
        return False


def parse(line: str) -> Pattern | None:
    """Parse a line without its line end; None if it is blank, a comment, or can match nothing."""
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
    """Compile a glob for a name; a glob that ends with a backslash matches nothing."""
    if glob.endswith("\\") and not glob.endswith("\\\\"):
        return re.compile(_NOTHING)
    same = _DIFFERENT.sub(lambda match: escape(match[1]) if match[1] else "[!", glob)
    return re.compile(translate(same))


Rules: TypeAlias = tuple[tuple[str, Patterns], ...]
"""Ignore files, the strongest first: the folder of the patterns ("" for the root, else with a slash at its end), and
the patterns."""


def ignores(rules: Rules, path: str) -> bool:
    """Return True if `path` (relative to the root, folders with a slash at the end) is ignored.

    The result is meaningless for a path inside an ignored folder: test the folder first.
    """
    verdicts = (patterns.verdict(path[len(folder) :]) for folder, patterns in rules)
    return next((verdict for verdict in verdicts if verdict is not None), False)


# Rules that apply before any ignore file is read.
BUILT_IN: Rules = (("", Patterns(_GENERATED_NAMES.split())),)


def with_file(outer: Rules, folder: str, ignore_file: Path) -> Rules:
    """Return `outer` with the rules of `ignore_file`, which apply to `folder` and take precedence.

    Raises:
        OSError: the file cannot be read, or is a pipe, a link or larger than 1 MiB.
    """
    raw = regular_bytes(ignore_file, _MAX_BYTES).removeprefix(codecs.BOM_UTF8)
    # Undecodable bytes become the same surrogates that os.scandir gives for such names.
    lines = raw.decode("utf-8", "surrogateescape").split("\n")
    return ((folder, Patterns(line.removesuffix("\r") for line in lines)), *outer)
