"""Ignore files with git's meaning: .gitignore, .ignore, .seewhyignore in any folder, .git/info/exclude.

Patterns of a folder are relative to it. The deepest folder that has something to say about a path
decides; within a folder .seewhyignore beats .ignore beats .gitignore; within a file the last matching
line decides, and a line that starts with "!" takes back. As in git, nothing can be taken back
beneath a folder that is itself ignored, because such a folder is never entered.
"""

from __future__ import annotations

import codecs
from dataclasses import dataclass
from pathlib import Path

from search.corpus.opening import regular_bytes
from search.corpus.patterns import Patterns

# Of an ignore file: thousands of patterns, each of which is tried with every name.
_MAX_BYTES = 2**20

# From weakest to strongest within one folder.
IGNORE_FILES = (".gitignore", ".ignore", ".seewhyignore")

# Made by machines, never read by people. Weaker than any ignore file: "!venv/" takes one back.
_NEVER_WANTED = (
    "__pycache__/",
    "__pypackages__/",
    "node_modules/",
    "bower_components/",
    "jspm_packages/",
    "venv/",
    ".venv/",
    "site-packages/",
    "*.egg-info/",
    ".ipynb_checkpoints/",
)


@dataclass(frozen=True)
class Rules:
    """The patterns of one ignore file and, through `outer`, of all weaker ones.

    Attributes:
        folder: what the patterns are relative to: "" for the root, else with a slash at the end.
        patterns: its lines.
        outer: the rules that are asked if these have nothing to say.
    """

    folder: str
    patterns: Patterns
    outer: Rules | None = None

    def ignores(self, path: str) -> bool:
        """Whether `path` (relative to the root, a folder with a slash at the end) is ignored.

        Asked for something in an ignored folder, the answer means nothing: ask for the folder first.
        """
        rules: Rules | None = self
        while rules is not None:
            verdict = rules.patterns.verdict(path[len(rules.folder) :])
            if verdict is not None:
                return verdict
            rules = rules.outer
        return False


def built_in_rules() -> Rules:
    """The rules that hold before any ignore file has spoken."""
    return Rules("", Patterns(_NEVER_WANTED))


def with_file(outer: Rules, folder: str, ignore_file: Path) -> Rules:
    """`outer`, and stronger than it what `ignore_file` says about paths in `folder`.

    Raises:
        OSError: the file cannot be read, or is a pipe, a link or larger than 1 MiB.
    """
    return Rules(folder, Patterns(_lines_of(ignore_file)), outer)


def _lines_of(path: Path) -> list[str]:
    raw = regular_bytes(path, _MAX_BYTES).removeprefix(codecs.BOM_UTF8)
    # Undecodable bytes become the same surrogates that os.scandir gives for such names.
    text = raw.decode("utf-8", "surrogateescape")
    return [line.removesuffix("\r") for line in text.split("\n")]
