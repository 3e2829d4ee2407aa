"""The choices that an index is made with and remembers."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

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
        """As they stand in a fingerprint."""
        return cls(**json.loads(text))


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
