"""How far work is, what it did, what an index holds, what checks found and repairs did."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from search.records.documents import Annotator


@dataclass(frozen=True)
class Progress:
    """How far a long piece of work is; handed to a `progress` callback.

    Attributes:
        stage: "reading", "encoding" or "saving"; "checking" for `Index.check`.
        done, total: bytes of source files; `total` is known from the start.
        documents, passages, tokens: counted since the start of this run.
    """

    stage: str
    done: int
    total: int
    documents: int = 0
    passages: int = 0
    tokens: int = 0


@dataclass(frozen=True)
class SkippedGroup:
    """Files that were left out for one reason: how many, and the first few by name."""

    reason: str
    count: int
    examples: tuple[str, ...]


@dataclass(frozen=True)
class Changes:
    """What a run of indexing would do with each file, by path relative to the folder.

    Attributes:
        folder, folders: as in a `Report`.
        renamed: pairs of the old and the new path.
        unchanged: how many files with documents would be left as they are.
        skipped: what would be left out, by reason.
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
    """What one run of indexing changed, and what the index holds afterwards.

    Attributes:
        folder: what names of documents are relative to: what was indexed, or what `folders` have in common.
        folders: what was indexed, where that is several folders.
        added, changed, renamed, removed, unchanged: files that give documents, by what happened to them;
            the others are counted as skipped. A renamed file keeps its
            embeddings, and its passages their ids unless its name is its title.
        documents, passages, tokens: in the index after the run.
        encoded: passages that went through the model; `reused` had been encoded before.
        truncated_tokens: tokens that did not fit the model; 0 unless something is wrong.
        skipped: what was left out, by reason.
        notes: sentences about choices that were made on the user's behalf.
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

    @property
    def nothing_changed(self) -> bool:
        return self.added == self.changed == self.renamed == self.removed == 0


@dataclass(frozen=True)
class Status:
    """What an index is and holds.

    Attributes:
        folder, folders: as in a `Report`.
        engine: what encoded it last.
        bytes: its size on disk; 0 where it is on a server.
        updated: when the last run finished, as RFC 3339 has it; "" if none has.
        complete: the last run came to its end.
        running: a run is under way; what it has not committed yet is not told.
        annotations: who annotated its passages, and how many of them.
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
    annotations: tuple[Annotator, ...] = ()
    folders: tuple[str, ...] = ()


Severity = Literal["ok", "stale", "damaged"]


@dataclass(frozen=True)
class Finding:
    """The outcome of one check.

    Attributes:
        check: its name, one of those in `search.indexing.check.CHECKS`.
        severity: "ok"; "stale": the index is sound, but not up to date or not tidy; "damaged": it is not
            what was written, and answers may be refused or wrong.
        count: how many things are wrong; 0 when all is well.
        message: one sentence.
        examples: the first few by name.
        command: what helps; "" when nothing needs to be done.
    """

    check: str
    severity: Severity
    count: int
    message: str
    examples: tuple[str, ...] = ()
    command: str = ""


@dataclass(frozen=True)
class CheckReport:
    """Whether an index is what was written, and whether it is up to date.

    Attributes:
        ok: nothing is damaged; something may be stale.
        folder: the indexed folder, "" where it cannot be told; `folders` as in a `Report`.
        findings: of all checks that could be made, in a fixed order.
        unchecked: names of the checks that were left out, or could not be made because of damage.
        repaired: names of the checks whose findings were repaired.
        documents, passages: in the index, as far as it can be read.
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
