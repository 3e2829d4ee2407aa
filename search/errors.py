"""Everything that can go wrong, as one small tree.

    SearchError
    ├── InputError            an argument is wrong: an empty query, k < 1, a folder that is no folder
    │   ├── IdMissing         no passage or document of the index has that number
    │   ├── FieldMissing      a filter asks what no document of the index has
    │   ├── WordMissing       a word is to be left out that does not count in the query
    │   └── TextTooLong       a text does not fit the model and was not allowed to be cut
    ├── ReadError             one file cannot be read as text; carries a short `reason` to count by
    ├── ModelError            a model is missing, damaged, or not an encoder
    ├── IndexNotFound         no index where one was named, or no way to choose one
    ├── IndexDamaged          an index is there but cannot be trusted
    ├── IndexOutdated         an index of an earlier format, which `seewhy index --rebuild` makes anew
    ├── IndexLocked           another process is writing this index
    ├── AccessDenied          the rights of the files do not let this user read or write an index
    ├── StoreUnavailable      the server that an index is on does not answer
    ├── ChangedMeanwhile      the state of an index that was read was deleted while it was read
    ├── FingerprintMismatch   two embeddings that cannot be compared
    └── OptionalDependency    an extra is not installed; the message holds the line that installs it

Each message names the thing, says what is wrong with it, and what to do next. Errors of other
libraries are turned into one of these where the project calls them.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def quoted(argument: object) -> str:
    """An argument as a shell takes it, in a command that a message tells to run.

    What would act on a terminal is written as a code, as Python writes it; such an argument has to be typed.
    """
    import shlex

    text = str(argument)
    if os.name == "nt":
        return f'"{text}"' if " " in text else text
    return shlex.quote(text) if text.isprintable() else ascii(text)


def first_line(error: BaseException) -> str:
    """The first line of what an error says; its kind where it says nothing."""
    return next(iter(str(error).strip().splitlines()), type(error).__name__)


# What libraries say where there is no memory left, whatever they raise.
_NO_MEMORY = (
    "bad_alloc", "llocate memory", "failed to map segment", "start new thread", "Thread creation failed",
    "Resource temporarily unavailable",
)  # fmt: skip


def is_of_memory(error: BaseException) -> bool:
    """Whether an error says, of whatever kind it is, that there is no memory left."""
    return isinstance(error, MemoryError) or any(words in str(error) for words in _NO_MEMORY)


class SearchError(Exception):
    """Root of every error that `search` raises on purpose."""


class InputError(SearchError, ValueError):
    """An argument that cannot be worked with."""


class IdMissing(InputError):
    """No passage or document of the index has the number that was named."""


class FieldMissing(InputError):
    """A filter names a field that an index has not, or orders it by what none of its values is."""


class WordMissing(InputError):
    """A word that is to be left out of a query is none of those that count in it."""

    def __init__(self, word: str, counted: Sequence[str]) -> None:
        self.word = word
        there = f"These do: {', '.join(counted)}." if counted else "None does in this index."
        super().__init__(
            f"'{word}' is no word of the query that counts, so it cannot be left out. {there}"
        )


class TextTooLong(InputError):
    """A text has more tokens than the model reads, and cutting it was not allowed."""

    def __init__(self, position: int, n_tokens: int, max_tokens: int) -> None:
        super().__init__(
            f"text number {position + 1} has {n_tokens} tokens and the model reads {max_tokens}. "
            "Shorten it, cut it into passages, or pass truncate=True to drop what does not fit."
        )
        self.position, self.n_tokens, self.max_tokens = position, n_tokens, max_tokens


class ReadError(SearchError):
    """One file cannot be used. `reason` is a short phrase that skipped files are counted by."""

    def __init__(self, path: str, reason: str, detail: str = "") -> None:
        super().__init__(f"{path}: {reason}" + (f" ({detail})" if detail else ""))
        self.path, self.reason, self.detail = path, reason, detail


class ModelError(SearchError):
    """A model cannot be found, loaded or used."""


class IndexNotFound(SearchError):
    """There is no index where one was asked for."""


class IndexDamaged(SearchError):
    """An index exists but its files contradict each other or cannot be read."""


class IndexOutdated(SearchError):
    """An index of an earlier format, to be brought up to date before it is read."""


class IndexLocked(SearchError):
    """Another process is writing to this index."""


class AccessDenied(SearchError):
    """The system does not let this user read or write a file of an index."""

    def __init__(self, file: object, index: object, reason: object) -> None:
        super().__init__(
            f"'{file}': {reason}. Querying the index in '{index}' takes read access to that folder, changing it takes "
            "write access. Ask its owner, or make your own index with: seewhy index FOLDER --index NAME"
        )


class StoreUnavailable(SearchError):
    """A server that holds an index does not answer."""


class ChangedMeanwhile(SearchError):
    """The state of an index on a server that was read has been deleted while it was read."""


class FingerprintMismatch(SearchError):
    """Embeddings that were made in different ways are to be compared.

    Args:
        differences: what differs, as (name, mine, theirs); `mine` and `theirs` say of what these are.
        problem: what cannot be done; `remedy`, what can.
    """

    def __init__(
        self,
        differences: list[tuple[str, str, str]],
        mine: str = "the index has",
        theirs: str = "you asked for",
        problem: str = "embeddings made in different ways cannot be compared",
        remedy: str = "Leave the option out, or build the index anew with it: seewhy index FOLDER --rebuild",
    ) -> None:
        listed = "; ".join(
            f"{name}: {mine} '{one}', {theirs} '{other}'" for name, one, other in differences
        )
        super().__init__(f"{problem} ({listed}). {remedy}")
        self.differences = differences


class OptionalDependency(SearchError):
    """A package that only an extra installs is missing."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        super().__init__(
            f"{purpose} needs the package '{package}'. Install it with: pip install 'seewhy[{extra}]'"
        )
        self.package, self.extra = package, extra
