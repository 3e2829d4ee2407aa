"""The choices that an index is made with and remembers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from search.records.fingerprint import Fingerprint
from search.store.folders import Folders

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


@dataclass(frozen=True)
class Facts:
    """What an index says of itself.

    Attributes:
        passages: how many there are.
        generation: a number that is another one after every change of what answers are made of.
        root: the folder that was indexed.
        source: which of its files are indexed, and how records are read.
        fingerprint: what the embeddings were made with.
        choice: the weight and rerank ("late" or None) to rank with where nothing else is said, if they were chosen.
        server: that the passages are on (`search.store.milvus.collections.Server`); {} for this machine.
    """

    passages: int
    generation: int
    root: Path
    source: Source
    fingerprint: Fingerprint
    choice: Mapping[str, Any]
    server: Mapping[str, Any]

    @classmethod
    def of(cls, meta: Mapping[str, Any]) -> Facts:
        """As table `meta` has it."""
        return cls(
            passages=meta.get("passages", 0),
            generation=meta.get("generation", 0),
            root=Path(meta["root"]),
            source=Source.from_dict(meta["source"]),
            fingerprint=Fingerprint.from_dict(meta["fingerprint"]),
            choice=meta.get("ranking", {}),
            server=meta.get("server", {}),
        )

    @property
    def folders(self) -> Folders:
        return Folders(self.root, self.source.folders)


MOST_BOILERPLATE = 4_000  # keys that are kept
