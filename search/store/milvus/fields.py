"""What filters compare of a passage, as FIELDS of its row has it: texts that a server compares without any knowledge.

    "is"              marks, hashes of a field and something that is so of one of its values: what is equal to it
    "n0_F", "n1_F"    the least and the greatest number of field F, as texts that order as the numbers do
    "d0_F", "d1_F"    the first end and the last beginning of its dates but those that are numbers too
    "y0_F", "y1_F"    the same of its years, four digits that are a number and a date
    "t0_F", "t1_F"    the first and the last of its texts, folded: hexadecimal digits of their first letters
    "p_F"             its values for patterns, spelled in letters and digits, with all places where words begin or end

F is the name of a field of every document, or the hash of one of metadata or annotations. "is" is always there, so a
mark that is not in it is no unknown one; whatever else is asked of is asked for with `exists`. Everything is a text of
plain letters: numbers keep all their digits, and nothing that was typed becomes part of an expression.

A value that is too long for this leaves a mark instead, and a filter that needs it is refused (filters.py).
"""

from __future__ import annotations

import calendar
import hashlib
import json
import os
import re
import sqlite3
import unicodedata
from base64 import urlsafe_b64encode
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from datetime import datetime, timedelta, timezone
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from search.errors import InputError
from search.store.checksums import name_of
from search.store.conditions import Scalar, as_date, as_number, as_text, folded
from search.store.filters import EXAMPLES, LOOKED_AT, examples, is_scalar, is_something, names_in
from search.store.passages import from_json, metadata_of

if TYPE_CHECKING:
    from search.store.protocol import StoredPassage

LETTERS: Final = 32  # of a text by which it is ordered
SEPARATOR: Final = "Q"  # of the values of a field that are spelled
_LONGEST_SPELLED = 8_000  # characters
_LONGEST, _MOST = 55_000, 65_000  # bytes of FIELDS, to aim for and at most; a server takes 65,536

_MICROSECOND = timedelta(microseconds=1)
_UNITS = (
    1,
    1_000_000,
    60_000_000,
    86_400_000_000,
)  # in microseconds: what a typed date can stand for, but months
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_HIGHEST_EXPONENT = 50_000
_REVERSED = str.maketrans("0123456789abcdef", "fedcba9876543210")


def fields_of(stored: StoredPassage, root: str) -> dict[str, Any]:
    """FIELDS of a passage of the index of a folder.

    Raises:
        InputError: its document has more fields than a server has room for.
    """
    name = Path(stored.path).relative_to(root).as_posix()
    folders = list(folders_of(name))
    values: dict[str, list[Any]] = {
        "path": [name],
        "name": [name.rpartition("/")[2]],
        "kind": [stored.kind],
        "title": [stored.title],
        "heading": [stored.heading],
        "page": [] if stored.page is None else [stored.page],
        "size": [] if stored.file.size < 0 else [stored.file.size],
    }
    made = {field: _of_values(field, found) for field, found in values.items()}
    around = [mark("path", "in", folders[0]), *(mark("path", "under", one) for one in folders)]
    made["path"]["is"] = [*made["path"]["is"], *around]
    made["name"]["g_name"] = letters(unicodedata.normalize("NFC", values["name"][0]))
    modified = _modified(stored)
    if modified is not None:
        made["mtime"] = {"is": [mark("mtime", "has")], "u_mtime": ordered(modified)}
    own = dict[str, list[Any]]()
    for keys, value in chain(values_in(stored.metadata), _annotated(stored.annotations)):
        own.setdefault(key_of(keys), []).append(value)
    made |= {field: _of_values(field, found) for field, found in own.items()}
    return _short_enough(made, own.keys(), stored.document)


def _short_enough(made: dict[str, dict[str, Any]], own: Collection[str], what: str) -> dict[str, Any]:
    """All of it in one; a field of metadata that there is no room for leaves a mark."""
    sizes = {field: len(json.dumps(part)) for field, part in made.items()}
    length = sum(sizes.values())
    for field in sorted(own, key=lambda field: -sizes[field]):
        if length <= _LONGEST:
            break
        made[field] = {"is": [mark(field, "left out")]}
        length += len(json.dumps(made[field]["is"])) - sizes[field]
    joined: dict[str, Any] = {"is": sorted({one for part in made.values() for one in part["is"]})}
    joined |= {name: value for part in made.values() for name, value in part.items() if name != "is"}
    if len(json.dumps(joined)) > _MOST:
        raise InputError(
            f"'{what}' has {len(own):,} fields, too many for Milvus. Leave its file out with --exclude, or keep the "
            "index on this machine alone."
        )
    return joined


def _of_values(field: str, values: Sequence[Any]) -> dict[str, Any]:
    """What is stored of the values of a field."""
    return dict(_of_written(field, json.dumps(values)))


@lru_cache(maxsize=2048)  # passages of a document share nearly all of it
def _of_written(field: str, written: str) -> dict[str, Any]:
    values = json.loads(written)
    marks = [mark(field, "has")] if any(map(is_something, values)) else []
    scalars = [value for value in values if is_scalar(value)]
    if not scalars:
        return {"is": marks}
    marks.append(mark(field, "scalar"))
    made: dict[str, Any] = {"is": marks}
    ends: dict[str, list[tuple[str, str]]] = {}  # kind -> the first and the last moment of each value
    for value in scalars:
        text, number, date = folded(as_text(value)), as_number(value), as_date(value)
        marks.append(mark(field, "=", text))
        if number is not None:
            marks.append(mark(field, "n", ordered(number)))
            ends.setdefault("n", []).append((ordered(number), ordered(number)))
        if date is not None:
            kind = "d" if number is None else "y"
            first, last = map(microseconds, date)
            marks += [mark(field, kind, begin, end) for begin, end in _units(first, last)]
            ends.setdefault(kind, []).append((ordered(first), ordered(last)))
        if isinstance(value, str):
            ends.setdefault("t", []).append((first_letters(text), first_letters(text)))
    for kind, found in ends.items():
        made[f"{kind}0_{field}"] = min(last for _, last in found)
        made[f"{kind}1_{field}"] = max(first for first, _ in found)
    spelled = SEPARATOR.join(dict.fromkeys(words(folded(as_text(value))) for value in scalars))
    if len(spelled) > _LONGEST_SPELLED:
        marks.append(mark(field, "long"))
    else:
        made[f"p_{field}"] = spelled
    if len(scalars) > 1:
        marks.append(mark(field, "several"))
    return made | {"is": list(dict.fromkeys(marks))}


@lru_cache(maxsize=4096)
def key_of(keys: tuple[str, ...]) -> str:
    """What a field of metadata or annotations is called, given its keys from the outermost one."""
    return hashlib.sha256(json.dumps([folded(key) for key in keys]).encode()).hexdigest()[:16]


@lru_cache(maxsize=1 << 14, typed=True)
def mark(field: str, what: str, *of: Any) -> str:
    """That something is so of a field."""
    text = json.dumps([field, what, *of]).encode()
    return urlsafe_b64encode(hashlib.blake2b(text, digest_size=9).digest()).decode()


def ordered(number: int | float) -> str:
    """A number, all of it, as a text that orders as the number does: sign, exponent and binary digits."""
    if not number:
        return "5"
    numerator, denominator = abs(number).as_integer_ratio()
    bits = numerator.bit_length()
    digits = f"{numerator << -bits % 4:x}".rstrip("0")
    text = f"{bits - denominator.bit_length() + _HIGHEST_EXPONENT:05d}{digits}"
    return f"6{text}" if number > 0 else f"4{text.translate(_REVERSED)}~"


def first_letters(text: str) -> str:
    """The beginning of a folded text as one that orders by code points, as that does."""
    return text[:LETTERS].encode("utf-8", "surrogatepass").hex()


def microseconds(moment: timedelta) -> int:
    return moment // _MICROSECOND


def since_1970(moment: datetime) -> int:
    """Microseconds, of a moment with a zone."""
    return microseconds(moment - _EPOCH)


def _units(first: int, last: int) -> Iterator[tuple[int, int]]:
    """The microseconds, seconds, minutes, days, months and years that a date lies in, from their first to last moment.

    A typed date is one of these, so it holds a stored one if it is among them.
    """
    for length in _UNITS:
        if last < first - first % length + length:
            yield first - first % length, first - first % length + length - 1
    with suppress(OverflowError):
        year = (datetime.min + timedelta(microseconds=first)).year
        month = (datetime.min + timedelta(microseconds=first)).month
        for begin, days in (
            (datetime(year, month, 1), calendar.monthrange(year, month)[1]),
            (datetime(year, 1, 1), 365 + calendar.isleap(year)),
        ):
            start = microseconds(begin - datetime.min)
            if last < start + days * _UNITS[-1]:
                yield start, start + days * _UNITS[-1] - 1


def words(text: str, *, begins: bool = True, ends: bool = True) -> str:
    """A text as `letters` spell it, with Y where a word begins or ends.

    Args:
        begins, ends: a word that stands there begins at its beginning, or ends at its end.
    """
    pieces = re.split(r"(\w+)", text)
    spelled = "".join(f"Y{letters(one)}Y" if at % 2 else letters(one) for at, one in enumerate(pieces))
    spelled = spelled if begins else spelled.removeprefix("Y")
    return spelled if ends else spelled.removesuffix("Y")


def letters(text: str) -> str:
    """A text in plain letters, so that one lies within another as the texts do; all others are XhexadecimalZ."""
    return re.sub(r"[^a-z0-9]", lambda match: _spelled(match[0]), text, flags=re.DOTALL)


def _spelled(character: str) -> str:
    if character == " ":
        return "S"
    return "X" + "".join("ABCDEFGHIJKLMNOP"[int(digit, 16)] for digit in f"{ord(character):x}") + "Z"


def folders_of(name: str) -> Iterator[str]:
    """The folders that a file lies in, in NFC, the innermost first; the last one is "", the indexed folder."""
    name = unicodedata.normalize("NFC", name)
    while "/" in name:
        name = name.rpartition("/")[0]
        yield name
    yield ""


def values_in(value: Any, keys: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every value that a filter finds in metadata, with the keys that lead to it; each element of a list by itself."""
    if isinstance(value, list):
        for item in value:
            yield from values_in(item, keys)
        return
    if keys:
        yield keys, value
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from values_in(inner, (*keys, key))


def _annotated(annotations: dict[str, Any]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every value that a filter finds in annotations."""
    return ((keys, value) for keys, value in values_in(annotations) if len(keys) == 1)


def _modified(stored: StoredPassage) -> int | None:
    """When a file was changed, in microseconds since 1970; None where that cannot be told.

    As a filter of the index in the folder takes it: a file that had just changed is looked at.
    """
    try:
        ns = stored.file.mtime_ns if stored.file.mtime_ns >= 0 else os.lstat(stored.path).st_mtime_ns
        return since_1970(datetime.fromtimestamp(ns / 1e9, timezone.utc))
    except (OSError, OverflowError, ValueError):
        return None


def catalog(connection: sqlite3.Connection) -> dict[str, Any]:
    """`Generation.fields`, of an index in a folder: what errors say of fields, and the folders that patterns mean.

    "names" of all fields of metadata; "known", those of them that have values, and of annotations: their keys, which
    kinds of values they have, as above, and some; "folders".
    """
    names, known = dict[str, str](), dict[str, dict[str, Any]]()
    for (written,) in connection.execute("SELECT metadata FROM documents"):
        metadata = metadata_of(written)
        for name in names_in(metadata):
            names.setdefault(folded(name), name)
        for keys, value in values_in(metadata):
            _know(known, keys, value)
    for (written,) in connection.execute('SELECT "values" FROM annotations'):
        for keys, value in _annotated(from_json(dict, written)):
            _know(known, keys, value)
    paths = connection.execute("SELECT DISTINCT path FROM files JOIN documents ON file = files.id")
    folders = {folder for (path,) in paths for folder in folders_of(name_of(path))}
    for one in known.values():
        one["kinds"] = "".join(sorted(one["kinds"]))
        del one["seen"]
    return {"names": list(names.values()), "known": list(known.values()), "folders": sorted(folders)}


def _know(known: dict[str, dict[str, Any]], keys: tuple[str, ...], value: Any) -> None:
    one = known.setdefault(
        key_of(keys), {"keys": [folded(key) for key in keys], "kinds": set(), "examples": [], "seen": 0}
    )
    if not is_scalar(value):
        return
    one["kinds"] |= _kinds(value)
    if one["seen"] < LOOKED_AT and len(one["examples"]) < EXAMPLES:
        one["examples"] = examples([*one["examples"], value])
    one["seen"] += 1


def _kinds(value: Scalar) -> set[str]:
    """Which of the above there is of a value."""
    number, date = as_number(value), as_date(value)
    kinds = {"n"} if number is not None else set()
    if date is not None:
        kinds.add("d" if number is None else "y")
    return kinds | ({"t"} if isinstance(value, str) else set())
