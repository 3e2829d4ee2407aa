"""What a folder says of itself in `.seewhy.toml`: which of its files are read, and which fields of their records.

A folder may be anybody's. So nothing else can be said there: no model, no command, no place.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from search.corpus.files import regular_bytes
from search.errors import InputError
from search.files import toml

NAME = ".seewhy.toml"
_LARGEST = 1 << 16  # bytes
_LISTS, _TEXTS = ("include", "exclude"), ("text_field", "title_field")


def folder_file(folder: Path) -> dict[str, Any] | None:
    """All four choices, those that are not there as None or (); None where the folder has no such file.

    Raises:
        InputError: it cannot be read, or says what it may not.
    """
    path = folder / NAME
    try:
        text = regular_bytes(path, _LARGEST).decode("utf-8-sig")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"'{path}' cannot be read: {error}. Mend it, or remove it.") from None
    found = toml(text, f"'{path}'")
    for name, value in found.items():
        if name not in _LISTS + _TEXTS:
            raise InputError(
                f"'{path}' says '{name}', which a folder cannot choose, but only {', '.join(_LISTS + _TEXTS)}. "
                "Remove it."
            )
        is_list = isinstance(value, list) and all(isinstance(one, str) for one in value)
        if not (is_list if name in _LISTS else isinstance(value, str)):
            wanted = "a list of patterns, such as ['*.md']" if name in _LISTS else "a name in quotes"
            raise InputError(f"'{path}' says {name} = {value!r:.80}; it has to be {wanted}.")
    return {
        **{name: tuple(found.get(name, ())) for name in _LISTS},
        **{name: found.get(name) for name in _TEXTS},
    }
