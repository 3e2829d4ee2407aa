"""Questions that the user has pinned: one file in the data folder, for all indexes.

    <home>/pins.json    {"version": 1, "pins": {index: [question, ...]}}    newest first

An index is named by its path. A file that cannot be read counts as empty, and is left as it is.
"""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

from search.errors import InputError
from search.files import PRIVATE_FILE, home, make_private, read_file, write_whole

MOST_PINS = 50  # of an index; further ones replace the oldest
LONGEST_PIN = 2_000  # characters
_FILE, _LOCK, _VERSION = "pins.json", "pins.lock", 1
_MOST_BYTES = 2**24
_SECONDS = 5.0  # to wait for another process that pins


def pins(index: Path) -> tuple[str, ...]:
    """Return the pinned questions of an index, newest first; () if there are none."""
    with suppress(OSError, ValueError):
        return tuple(_stored().get(str(index), ()))
    return ()


def pin(index: Path, question: str, *, keep: bool = True) -> None:
    """Pin a question to an index, or with `keep=False` remove it; white space around it does not count.

    Raises:
        InputError: the question is empty or too long, the file cannot be read or written, or another process holds it.
    """
    from filelock import FileLock, Timeout

    question, folder = question.strip(), home()
    if not 0 < len(question) <= LONGEST_PIN:
        raise InputError(f"a pinned question needs 1 to {LONGEST_PIN:,} characters.")
    try:
        make_private(folder)
        with FileLock(folder / _LOCK, timeout=_SECONDS, mode=PRIVATE_FILE):
            stored = _stored()
            others = [other for other in stored.pop(str(index), ()) if other != question]
            own = [question, *others][:MOST_PINS] if keep else others
            content = {"version": _VERSION, "pins": stored | ({str(index): own} if own else {})}
            write_whole(folder / _FILE, json.dumps(content, ensure_ascii=True), PRIVATE_FILE)
    except Timeout:
        raise InputError("another process is pinning a question. Try again.") from None
    except (OSError, ValueError) as error:
        raise InputError(
            f"cannot change '{folder / _FILE}': {error}. To start again, move it away."
        ) from None


def _stored() -> dict[str, list[str]]:
    """Read the file: index -> questions.

    Raises:
        OSError, ValueError: it cannot be read, or does not have the form of the docstring above.
    """
    try:
        content = json.loads(read_file(home() / _FILE, _MOST_BYTES))
    except FileNotFoundError:
        return {}
    if not isinstance(content, dict) or content.get("version") != _VERSION:
        raise ValueError(f"it is not of version {_VERSION}")
    by_index = content.get("pins")
    if not isinstance(by_index, dict) or not all(
        isinstance(own, list) and all(isinstance(question, str) for question in own)
        for own in by_index.values()
    ):
        raise ValueError("it does not list questions by index")
    return by_index
