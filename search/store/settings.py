"""The choices that an index is made with and remembers, and what each of its settings may be.

An index may come from somebody else, with checksums that are right. So what table `meta` holds is taken for what it
says only where its key, its kind, its range and its length are those of a value that this program writes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING, Any

from search.errors import IndexDamaged
from search.store.folders import stays_inside

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from search.records.options import SourceOptions


@dataclass(frozen=True)
class PassageSettings:
    """How documents are cut; part of an index's fingerprint.

    Attributes:
        passage_tokens: most tokens of a passage's own text; chosen with benchmarks/passages.py.
        context_tokens: most tokens of what is encoded before it.
        heading_context: encode title and headings before each passage of a file. The title of a record
            is encoded in any case.
    """

    passage_tokens: int = 180
    context_tokens: int = 48
    overlap: int = 0
    heading_context: bool = True

    def as_json(self) -> str:
        """As they stand in a fingerprint."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> PassageSettings:
        """As they stand in a fingerprint.

        Raises:
            IndexDamaged: these are no settings.
        """
        try:
            found = cls(**json.loads(text))
        except (ValueError, TypeError):
            found = cls(passage_tokens=0)
        lengths = (found.passage_tokens, found.context_tokens, found.overlap)
        if not (all(map(_is_count, lengths)) and found.passage_tokens > 0 and max(lengths) <= _MOST_TOKENS):
            raise IndexDamaged(
                f"the index says that its passages were cut with '{text:.80}', which makes no sense. Build it again "
                "with: seewhy index FOLDER --rebuild"
            )
        return found


@dataclass(frozen=True)
class Source:
    """Which files of a folder are indexed, which fields of records are read, what is kept of passages besides
    their embeddings; remembered with the index."""

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    text_field: str | None = None
    title_field: str | None = None
    token_vectors: bool = False
    folders: tuple[str, ...] = ()  # of several, their names beneath the root

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Source:
        lists = ("include", "exclude", "folders")
        read: dict[str, Any] = values | {name: tuple(values.get(name, ())) for name in lists}
        return cls(**read)

    def changed(self, **options: Unpack[SourceOptions]) -> Source:
        """With what was asked for now; None leaves a choice as it is, an empty pattern lifts earlier ones."""
        given: dict[str, Any] = {name: value for name, value in options.items() if value not in (None, "")}
        given |= {name: tuple(filter(None, given[name])) for name in ("include", "exclude") if name in given}
        return replace(self, **given)


MOST_BOILERPLATE = 4_000  # keys that are kept
LONGEST_VALUE = 1 << 20  # characters of a setting
_LONGEST_PATH, _LONGEST_REMARK, _MOST_TOKENS = 1 << 15, 10_000, 1 << 20


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**62


def _is_remark(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= _LONGEST_REMARK


def _is_root(value: Any) -> bool:
    """Whether it is an absolute path, of this platform or another: an index may be moved."""
    if not isinstance(value, str) or len(value) > _LONGEST_PATH or "\0" in value:
        return False
    windows = PureWindowsPath(value)  # whose drive may be any character, from Python 3.12 on
    drive = re.fullmatch(r"[A-Za-z]:|[\\/]{2}.+", windows.drive, re.DOTALL) is not None
    return PurePosixPath(value).is_absolute() or (drive and windows.is_absolute())


def _is_source(value: Any) -> bool:
    """Whether it is what `Source.from_dict` takes."""
    if not isinstance(value, dict) or value.keys() | {"folders"} != Source.__dataclass_fields__.keys():
        return False
    patterns, fields = value["include"], (value["text_field"], value["title_field"])
    folders = value.get("folders", [])
    return (
        all(isinstance(those, list) for those in (patterns, value["exclude"], folders))
        and all(isinstance(text, str) for text in (*patterns, *value["exclude"], *folders))
        and all(map(stays_inside, folders))
        and all(field is None or isinstance(field, str) for field in fields)
        and isinstance(value["token_vectors"], bool)
    )


def _is_choice(value: Any) -> bool:
    """Whether it is what search/store/choices.py writes."""
    if not isinstance(value, dict) or value.keys() != {"weight", "rerank"}:
        return False
    weight = value["weight"]
    return isinstance(weight, int | float) and 0 <= weight <= 1 and value["rerank"] in (None, "late")


def _are_rules(value: Any) -> bool:
    """Whether it is what search/store/words.py writes."""
    return isinstance(value, dict) and _is_remark(value.get("tokenizer")) and _is_count(value.get("rules"))


# RFC 3339; earlier versions wrote no offset.
_TIME = re.compile(r"[0-9]{4}(-[0-9]{2}){2}[ T][0-9]{2}(:[0-9]{2}){2}([+-][0-9]{2}:[0-9]{2})?")

# Every key of table `meta`. Of a fingerprint `Fingerprint.from_dict` says more.
SETTINGS: dict[str, Callable[[Any], bool]] = {
    "schema_version": _is_count,
    "passages": _is_count,
    "last_passage": _is_count,
    "generation": _is_count,
    "root": _is_root,
    "fingerprint": lambda value: isinstance(value, dict),
    "words": _are_rules,
    "source": _is_source,
    "engine": _is_remark,
    "updated": lambda value: bool(_TIME.fullmatch(str(value))),
    "complete": lambda value: isinstance(value, bool),
    "ranking": _is_choice,
    "server": lambda value: isinstance(value, dict),
    "boilerplate": lambda value: isinstance(value, list) and all(type(key) is int for key in value),
}
