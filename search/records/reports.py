"""Progress and reports of indexing, status of an index, and results of checks and repairs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Literal, TypeAlias

from search.records.documents import Annotator

MEMORY = "documents from memory"

Lazy: TypeAlias = bool | Literal["once"]
"""Whether a run leaves out the second phase, so that passages are encoded when they are asked for: True for good;
"once" if a later run may complete the index."""


@dataclass(frozen=True)
class Progress:
    """Progress of a long-running operation, passed to a `progress` callback.

    Attributes:
        stage: "reading", "encoding" or "saving"; "checking" for `Index.check`.
        done, total: what is done, and in total: bytes of source files; in the stage "encoding", tokens.
        documents, passages, tokens: numbers since the start of this run; in the stage "encoding", the passages that are
            encoded in the whole index.
        searchable: in the stage "encoding", number of passages in the index, all of which can be asked for.
    """

    stage: str
    done: int
    total: int
    documents: int = 0
    passages: int = 0
    tokens: int = 0
    searchable: int = 0


class Outcome(Enum):
    """Outcome of a run for a file that it read; the value is the name of its count in a `Report`."""

    ADDED = "added"
    CHANGED = "changed"
    RENAMED = "renamed"
    UNCHANGED = "unchanged"
    TOUCHED = "touched"
    """Same content, new time stamp."""
    SKIPPED = "skipped"
    """The file has no document, and never had one."""


@dataclass(frozen=True)
class SkippedGroup:
    """Files that were left out for the same reason: their number, and the names of the first few."""

    reason: str
    count: int
    examples: tuple[str, ...]


@dataclass(frozen=True)
class Changes:
    """Preview of an indexing run: its effect on each file, by path relative to the folder.

    Attributes:
        folder, folders: as in a `Report`.
        renamed: pairs of the old and the new path.
        unchanged: number of files with documents that would stay unchanged.
        skipped: files that would be left out, by reason.
    """

    folder: str
    index: str
    added: tuple[str, ...]
    changed: tuple[str, ...]
    renamed: tuple[tuple[str, str], ...]
    removed: tuple[str, ...]
    unchanged: int
    skipped: tuple[SkippedGroup, ...]
    folders: tuple[str, ...] = ()


@dataclass(frozen=True)
class Report:
    """Report of an indexing run: its changes, and the totals of the index afterwards.

    Attributes:
        folder: the folder that document names are relative to: the indexed folder, or the common parent of `folders`;
            "documents from memory" for an index that was built again from them.
        folders: the indexed folders, if there are several.
        index: folder of the index.
        added, changed, renamed, removed, unchanged: numbers of files with documents; other files are counted
            as skipped. A renamed file keeps its embeddings, and its passages keep their IDs unless the file name
            is the title.
        documents, passages, tokens: totals in the index after the run.
        encoded: number of passages that this run encoded.
        reused: number of passages whose embeddings were reused.
        truncated_tokens: tokens that did not fit the model; 0 unless something is wrong.
        skipped: files that were left out, by reason.
        seconds: duration of the run.
        notes: sentences about decisions that the run made for the user.
        pending: number of passages in the index that are not encoded.
        prompts: what the model reads before queries and documents, and who says so.
    """

    folder: str
    index: str
    added: int
    changed: int
    renamed: int
    removed: int
    unchanged: int
    documents: int
    passages: int
    tokens: int
    encoded: int
    reused: int
    truncated_tokens: int
    skipped: tuple[SkippedGroup, ...]
    seconds: float
    notes: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    pending: int = 0
    prompts: str = "none"

    @property
    def nothing_changed(self) -> bool:
        return self.added == self.changed == self.renamed == self.removed == 0


@dataclass(frozen=True)
class Upserted:
    """Report of `Index.upsert`, `add` or `delete`.

    Attributes:
        added, changed, unchanged, removed: numbers of documents.
        encoded, reused: numbers of passages that were encoded, or whose embeddings were stored already.
        seconds: duration.
    """

    added: int = 0
    changed: int = 0
    unchanged: int = 0
    removed: int = 0
    encoded: int = 0
    reused: int = 0
    seconds: float = 0.0


@dataclass(frozen=True)
class DocumentChanges:
    """Documents that have changed between two states of an index; see `Index.on_change`.

    Attributes:
        generation: generation of the newer state.
        added, changed, removed: IDs of documents from memory; of a folder, the paths of its files.
    """

    generation: int
    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()

    @property
    def documents(self) -> int:
        """Number of documents that have changed."""
        return len(self.added) + len(self.changed) + len(self.removed)


@dataclass(frozen=True)
class Status:
    """Status of an index: its model, its contents and its last run.

    Attributes:
        folder, folders: as in a `Report`; `folder` is "documents from memory" if the index holds such documents.
        engine: engine and device of the last encoding.
        bytes: size on disk; 0 for an index on a server.
        updated: end of the last run, in RFC 3339; "" if no run has finished.
        complete: True if the last run finished, and all passages are encoded unless the index is lazy.
        pending: number of passages that are not encoded.
        lazy: True if passages are encoded only when they are asked for.
        running: True if a run is in progress; its uncommitted changes are not included.
        command: command that continues an interrupted run; "" if none is needed.
        annotations: annotators of its passages, with their progress.
        notes: what the user should know about the model and its pooling.
        prompts: as in a `Report`.
        languages: ISO 639-1 code -> number of documents in the language; documents of which it is not known are left
            out.
        records: file -> number of its records, the most first, for texts that plainly consist of records.
        namespaces: number of namespaces, whose contents are not included.
    """

    name: str
    index: str
    folder: str
    model: str
    pooling: str
    dimension: int
    max_tokens: int
    documents: int
    passages: int
    tokens: int
    bytes: int
    updated: str
    engine: str
    vectors: str
    skipped: tuple[SkippedGroup, ...]
    fingerprint: Mapping[str, str]
    complete: bool
    running: bool = False
    command: str = ""
    annotations: tuple[Annotator, ...] = ()
    folders: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    pending: int = 0
    lazy: bool = False
    prompts: str = "none"
    languages: Mapping[str, int] = field(default_factory=dict)
    records: Mapping[str, int] = field(default_factory=dict)
    namespaces: int = 0


Severity = Literal["ok", "stale", "damaged"]


@dataclass(frozen=True)
class Finding:
    """Outcome of one check of an index.

    Attributes:
        check: name of the check, one of `search.indexing.check.CHECKS`.
        severity: "ok"; "stale": the index is intact, but out of date or in need of clean-up; "damaged": its files
            have changed since they were written, and queries may fail or give wrong results.
        count: number of problems; 0 for "ok".
        message: one sentence.
        examples: names of the first few affected files or passages.
        command: command that fixes the problem; "" if nothing needs to be done.
    """

    check: str
    severity: Severity
    count: int
    message: str
    examples: tuple[str, ...] = ()
    command: str = ""


@dataclass(frozen=True)
class CheckReport:
    """Result of a check: is the index intact, and is it up to date?

    Attributes:
        ok: True if nothing is damaged; the index may still be out of date.
        folder: the indexed folder; "" if unknown.
        folders: as in a `Report`.
        findings: outcomes of all completed checks, in a fixed order.
        unchecked: names of the checks that were left out, or not possible because of damage.
        repaired: names of the checks whose findings were repaired.
        documents, passages: totals in the index, as far as it can be read.
        seconds: duration of the check.
    """

    index: str
    folder: str
    ok: bool
    findings: tuple[Finding, ...]
    unchecked: tuple[str, ...]
    documents: int
    passages: int
    seconds: float
    folders: tuple[str, ...] = ()
    repaired: tuple[str, ...] = ()
