"""What `seewhy check` found and what `seewhy repair` did."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Severity = Literal["ok", "stale", "damaged"]


@dataclass(frozen=True)
class Finding:
    """The outcome of one check, or one of several things that it found.

    Attributes:
        check: its name, one of those in `search.index.health.kinds.CHECKS`.
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
        folder: the indexed folder, "" where it cannot be told.
        findings: of all checks that could be made, in a fixed order.
        unchecked: names of the checks that were left out, or could not be made because of damage.
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


@dataclass(frozen=True)
class RepairStep:
    """One thing that a repair did, or would do: a sentence, and the first few by name."""

    message: str
    count: int = 0
    examples: tuple[str, ...] = ()


@dataclass(frozen=True)
class RepairReport:
    """What a repair did to an index.

    Attributes:
        dry_run: nothing was changed; `steps` are what would be done.
        steps: in the order in which they were done.
        lost: documents that are no longer in the index, because they were damaged and their files could
            not be read again.
        kept: the database that could not be read, kept aside under another name; "" if there was none.
        encoded: passages that went through the model again.
        check: of the index afterwards; of the index as it is, for a dry run.
    """

    index: str
    folder: str
    dry_run: bool
    steps: tuple[RepairStep, ...]
    lost: tuple[str, ...]
    kept: str
    encoded: int
    check: CheckReport
    seconds: float

    @property
    def nothing_done(self) -> bool:
        return not self.steps
