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
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from search.corpus.files import regular_bytes

_POSIX_CLASSES = {
    "alnum": "a-zA-Z0-9",
    "alpha": "a-zA-Z",
    "blank": " \\t",
    "digit": "0-9",
    "lower": "a-z",
    "punct": "!-/:-@\\[-`{-~",
    "space": " \\t\\n\\r\\f\\v",
    "upper": "A-Z",
    "xdigit": "0-9a-fA-F",
}
_NOTHING = "(?!)"

# What the wildcards stand for: "*", "**/" and "/**" at the end.
_STAR, _FOLDERS, _REST = "[^/]*", "(?:.*/)?", ".*"
_SHORTEST = {_FOLDERS: "(?:.*?/)??", _STAR: "[^/]*?"}


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
        regex: matches the whole of an entry's path, or of its name if `by_name`.
        by_name: the line has no slash but maybe at its end, so it counts in every folder.
        negated: it began with "!", and takes back what earlier lines say.
        folders_only: it ended with a slash.
    """

    regex: re.Pattern[str]
    by_name: bool
    negated: bool
    folders_only: bool


class Patterns:
    """The lines of one ignore file; paths are relative to its folder, and folders end with a slash."""

    def __init__(self, lines: Iterable[str]) -> None:
        patterns = (parse(line, number) for number, line in enumerate(lines))
        parsed = [pattern for pattern in patterns if pattern is not None]
        self._from_last = parsed[::-1]
        self._for_files = not all(pattern.folders_only for pattern in parsed)
        # Nearly all entries match no line at all, which one regular expression tells at once.
        self._any_name = _any(pattern for pattern in parsed if pattern.by_name)
        self._any_path = _any(pattern for pattern in parsed if not pattern.by_name)

    def verdict(self, path: str) -> bool | None:
        """Whether the last line that matches `path` itself ignores it; None if no line matches."""
        is_folder = path.endswith("/")
        if not is_folder and not self._for_files:
            return None
        path = path[:-1] if is_folder else path
        name = path.rpartition("/")[2]
        if not self._any_name.fullmatch(name) and not self._any_path.fullmatch(path):
            return None
        for pattern in self._from_last:
            subject = name if pattern.by_name else path
            if (is_folder or not pattern.folders_only) and pattern.regex.fullmatch(subject):
                return not pattern.negated
        return None

    def cover(self, path: str) -> bool:
        """Whether `path` or a folder above it is matched; the nearest one that a line matches decides."""
        while path:
            verdict = self.verdict(path)
            if verdict is not None:
                return verdict
            path = path[: path.rstrip("/").rfind("/") + 1]
        return False


def parse(line: str, number: int = 0) -> Pattern | None:
    """The pattern in a line without its line end; None if it is blank, a comment or can match nothing.

    `number` is the line's, which tells the groups of its regular expression from those of other lines.
    """
    bare = line.rstrip(" ")
    is_escaped = (len(bare) - len(bare.rstrip("\\"))) % 2 == 1  # the first of the spaces, by a backslash
    line = line[: len(bare) + is_escaped]
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
    regex = _joined(list(_translated(line)), (_FOLDERS, _STAR), f"line{number}")
    return Pattern(re.compile(regex, re.DOTALL), by_name, negated, folders_only)


def _any(patterns: Iterable[Pattern]) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{p.regex.pattern})" for p in patterns) or _NOTHING, re.DOTALL)


def _joined(parts: list[str], wildcards: tuple[str, ...], name: str) -> str:
    """The parts as one regular expression that no path takes long to match.

    "*a*a*a*a*b" fits a long name in millions of ways. But where the same wildcard follows once more, the first
    place that fits is as good as any later one, so the others need not be tried. A lookahead and a reference
    to its group say that; Python has "(?>...)" since 3.11 only.

    Args:
        wildcards: those to look at, the one that reaches furthest first.
        name: of the groups, with a number behind it.
    """
    if not wildcards:
        return "".join(parts)
    pieces: list[list[str]] = [[]]
    for part in parts:
        if part == wildcards[0]:
            pieces.append([])
        else:
            pieces[-1].append(part)
    first, *others = (_joined(piece, wildcards[1:], f"{name}_{at}") for at, piece in enumerate(pieces))
    regex = [first]
    for at, body in enumerate(others, 1):
        group = f"{name}_{at}"
        once = f"(?=(?P<{group}>{_SHORTEST[wildcards[0]]}{body}))(?P={group})"
        regex.append(once if at < len(others) else wildcards[0] + body)
    return "".join(regex)


def _translated(glob: str) -> Iterator[str]:
    """The parts of a regular expression for a glob; no wildcard but "**" between slashes matches a slash."""
    at = 0
    while at < len(glob):
        character = glob[at]
        if character == "*":
            stars = len(glob[at:]) - len(glob[at:].lstrip("*"))
            after = glob[at + stars : at + stars + 1]
            if stars == 2 and glob[at - 1 : at] in ("", "/") and after == "/":
                yield _FOLDERS
                at += 3
                continue
            whole_rest = stars == 2 and glob[at - 1 : at] == "/" and not after
            yield _REST if whole_rest else _STAR
            at += stars
        elif character == "?":
            yield "[^/]"
            at += 1
        elif character == "[":
            part, at = _bracket(glob, at + 1)
            yield part
        elif character == "\\":
            yield re.escape(glob[at + 1]) if at + 1 < len(glob) else _NOTHING
            at += 2
        else:
            yield re.escape(character)
            at += 1


def _bracket(glob: str, at: int) -> tuple[str, int]:
    """The regular expression for a bracket expression that begins at `at`, and where it ends."""
    negated = glob[at : at + 1] in ("!", "^")
    at += negated
    parts: list[str] = []
    first = at
    while at < len(glob) and (glob[at] != "]" or at == first):
        posix = re.compile(r"\[:(\w*):\]").match(glob, at)
        if posix:
            if posix[1] not in _POSIX_CLASSES:
                return _NOTHING, len(glob)
            parts.append(_POSIX_CLASSES[posix[1]])
            at = posix.end()
            continue
        low, at = _member(glob, at)
        if glob[at : at + 1] == "-" and glob[at + 1 : at + 2] not in ("", "]"):
            high, at = _member(glob, at + 1)
            if low <= high:
                parts.append(f"{re.escape(low)}-{re.escape(high)}")
        else:
            parts.append(re.escape(low))
    if at >= len(glob):
        return _NOTHING, at
    members = "".join(parts)
    if not members:
        return ("[^/]" if negated else _NOTHING), at + 1
    return f"(?!/)[{'^' * negated}{members}]", at + 1


def _member(glob: str, at: int) -> tuple[str, int]:
    """A character of a bracket expression, maybe behind a backslash, and where the next one starts."""
    if glob[at] == "\\" and at + 1 < len(glob):
        return glob[at + 1], at + 2
    return glob[at], at + 1


Rules: TypeAlias = tuple[tuple[str, Patterns], ...]
"""Ignore files, the strongest first: what the patterns are relative to ("" for the root, else a folder with a slash at
its end), and the patterns."""


def ignores(rules: Rules, path: str) -> bool:
    """Whether `path` (relative to the root, a folder with a slash at the end) is ignored.

    Asked for something in an ignored folder, the answer means nothing: ask for the folder first.
    """
    verdicts = (patterns.verdict(path[len(folder) :]) for folder, patterns in rules)
    return next((verdict for verdict in verdicts if verdict is not None), False)


def built_in_rules() -> Rules:
    """The rules that hold before any ignore file has spoken."""
    return (("", Patterns(_NEVER_WANTED.split())),)


def with_file(outer: Rules, folder: str, ignore_file: Path) -> Rules:
    """`outer`, and stronger than it what `ignore_file` says about paths in `folder`.

    Raises:
        OSError: the file cannot be read, or is a pipe, a link or larger than 1 MiB.
    """
    raw = regular_bytes(ignore_file, _MAX_BYTES).removeprefix(codecs.BOM_UTF8)
    # Undecodable bytes become the same surrogates that os.scandir gives for such names.
    lines = raw.decode("utf-8", "surrogateescape").split("\n")
    return ((folder, Patterns(line.removesuffix("\r") for line in lines)), *outer)
