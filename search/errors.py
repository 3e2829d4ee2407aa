"""All errors that the package raises on purpose, as one small tree.

    SearchError
    ├── InputError            an invalid argument: an empty query, k < 1, a path that is not a folder
    │   ├── IdMissing         no passage or document of the index has this ID
    │   ├── FieldMissing      a filter names a field that no document of the index has
    │   ├── WordMissing       a word to ignore is not among the query's keywords
    │   └── TextTooLong       a text does not fit the model, and truncation is not allowed
    ├── ReadError             a file cannot be read as text; `reason` is a short phrase, such as "empty"
    ├── ModelError            a model is missing, damaged, or not an encoder
    ├── IndexNotFound         no such index, or several to choose from
    ├── IndexDamaged          an index exists, but its files are damaged
    ├── IndexOutdated         an index of another format: of an earlier version of seewhy, or of a later one
    ├── IndexLocked           another process is writing to this index
    ├── StorageFull           a disk is full, a size limit is reached, or the device refuses to write
    ├── AccessDenied          file permissions do not let this user read or write an index
    ├── StoreUnavailable      the server of an index does not respond
    ├── ChangedMeanwhile      an index on a server was rebuilt during a query; the query can be repeated
    ├── FingerprintMismatch   embeddings of different models or settings cannot be compared
    └── OptionalDependency    an extra is not installed; the message has the command that installs it

Each message names the file, index or argument, says what is wrong with it, and what to do next. Errors
of other libraries are converted to these classes where the package calls the libraries.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def quoted(argument: object) -> str:
    """Quote an argument for the shell, in a command that a message suggests.

    Control characters are escaped as in Python; such an argument cannot be pasted into a shell.
    """
    import shlex

    text = str(argument)
    if os.name == "nt":
        return f'"{text}"' if " " in text else text
    return shlex.quote(text) if text.isprintable() else ascii(text)


def first_line(error: BaseException) -> str:
    """Return the first line of an error's message, or its class name if the message is empty."""
    return next(iter(str(error).strip().splitlines()), type(error).__name__)


# Parts of libraries' messages when memory runs out; their errors have various classes.
_NO_MEMORY = (
    "bad_alloc", "llocate memory", "failed to map segment", "start new thread", "Thread creation failed",
    "Resource temporarily unavailable",
)  # fmt: skip


def is_of_memory(error: BaseException) -> bool:
    """Return True if an error reports that memory ran out, whatever its class."""
    return isinstance(error, MemoryError) or any(words in str(error) for words in _NO_MEMORY)


NO_INDEX = "no index yet. Create one with: seewhy index FOLDER"


class SearchError(Exception):
    """Base class of all errors that `search` raises on purpose."""


class InputError(SearchError, ValueError):
    """An argument is invalid."""


class IdMissing(InputError):
    """No passage or document of the index has the requested ID."""


class FieldMissing(InputError):
    """A filter names a field that the index does not have, or compares it with a value of another type."""


class WordMissing(InputError):
    """A word to leave out is not a word of the query, or not a keyword."""

    def __init__(self, word: str, counted: Sequence[str]) -> None:
        self.word = word
        choice = f"Choose from: {', '.join(counted)}." if counted else "The query has no keywords."
        super().__init__(f"'{word}' is not a keyword of this query, so it cannot be left out. {choice}")


class TextTooLong(InputError):
    """A text has more tokens than the model can read, and truncation is not allowed.

    Attributes:
        position: position of the text among the inputs, from 0.
        n_tokens, max_tokens: number of its tokens, and the model's maximum.
    """

    def __init__(self, position: int, n_tokens: int, max_tokens: int) -> None:
        super().__init__(
            f"text {position + 1} has {n_tokens} tokens, but the model reads at most "
            f"{max_tokens}. Shorten it, split it, or pass truncate=True to cut off the rest."
        )
        self.position, self.n_tokens, self.max_tokens = position, n_tokens, max_tokens


class ReadError(SearchError):
    """A file cannot be read as text. Skipped files are counted by `reason`, a short phrase such as "empty"."""

    def __init__(self, path: str, reason: str, detail: str = "") -> None:
        super().__init__(f"{path}: {reason}" + (f" ({detail})" if detail else ""))
        self.path, self.reason, self.detail = path, reason, detail


class ModelError(SearchError):
    """A model cannot be found, loaded or used."""


class IndexNotFound(SearchError):
    """The requested index does not exist."""


class IndexDamaged(SearchError):
    """An index exists but its files contradict each other or cannot be read.

    Code that finds damage does not know the name of the index; it ends its message with `CHECK` or `REPAIR`, and the
    caller adds the option that selects the index.
    """

    CHECK = "To see what is wrong, run: seewhy check"
    REPAIR = "To fix this, run: seewhy check --repair"


class IndexOutdated(SearchError):
    """An index has a format that this version does not read: an earlier one, or a later one. It is intact."""


class IndexLocked(SearchError):
    """Another process is writing to this index."""


class StorageFull(SearchError):
    """An index cannot be written: the disk is full, a size limit is reached, or the device refuses to write.

    Nothing is damaged: what was committed before is kept.
    """

    def __init__(self, path: object, reason: object) -> None:
        super().__init__(
            f"cannot write '{path}' ({reason}). Finished batches are kept. Free some space, or raise the size limit, "
            "then run the command again."
        )


class AccessDenied(SearchError):
    """File permissions do not let this user read or write a file of an index."""

    def __init__(self, file: object, index: object, reason: object) -> None:
        super().__init__(
            f"'{file}': {reason}. You need read access to the folder '{index}' to search the "
            "index, and write access to change it. Ask its owner, or build your own: seewhy index FOLDER --index NAME"
        )


class StoreUnavailable(SearchError):
    """The server of an index does not respond."""


class ChangedMeanwhile(SearchError):
    """An index on a server was rebuilt during a query; the query can be repeated."""


class FingerprintMismatch(SearchError):
    """Embeddings of different models or settings cannot be compared.

    Args:
        differences: differing fields, as (name, first value, second value).
        first_words, second_words: words before the two values of a field in the message.
        problem, remedy: the message before and after the list of differences.
    """

    def __init__(
        self,
        differences: list[tuple[str, str, str]],
        first_words: str = "the index has",
        second_words: str = "you asked for",
        problem: str = "these embeddings cannot be compared",
        remedy: str = "Leave the option out, or rebuild the index with it: seewhy index FOLDER --rebuild",
    ) -> None:
        listed = "; ".join(
            f"{name}: {first_words} '{first}', {second_words} '{second}'"
            for name, first, second in differences
        )
        super().__init__(f"{problem} ({listed}). {remedy}")
        self.differences = differences


class OptionalDependency(SearchError):
    """A package of an optional extra is not installed."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        super().__init__(
            f"{purpose} needs the package '{package}'. Install it with: pip install 'seewhy[{extra}]'"
        )
        self.package, self.extra = package, extra
