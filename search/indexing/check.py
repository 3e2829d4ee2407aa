"""Is an index what was written, and is it up to date?

`check` never raises for what is wrong with an index, it reports it: also for one that `Index.open` refuses.
It writes nothing and holds no lock for long, so it can run beside a writer.

What is compared is told in search/store/health.py.

With `encode`, passages of a sample are encoded again: an index that a wrong model filled has the right checksums. What
it cannot find: a few vectors that were wrong when they were written; a text that the reader of its format got wrong.
For these, build the index again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import numpy as np

from search.corpus import SourceFile, load
from search.encoding.encoder import Encoder
from search.encoding.fingerprint import Fingerprint
from search.errors import FingerprintMismatch, InputError, ModelError, ReadError, SearchError, quoted
from search.indexing.plan import compare, listed
from search.records.reports import CheckReport, Progress
from search.store.database import connect_to_read
from search.store.folders import Folders
from search.store.health import CHECKS, Examination, sample
from search.store.layout import DATABASE, home, is_own, place_for
from search.store.passages import stored_files
from search.store.settings import Source

_SAMPLE = 16  # passages
_OFF = {
    "fp32": 1e-3,
    "bf16": 0.1,
    "fp16": 0.1,
}  # by how much unit vectors of another machine or engine may differ


def check(
    index: Path,
    *,
    verify: bool = False,
    encode: bool = False,
    progress: Callable[[Progress], None] | None = None,
) -> CheckReport:
    """Look at everything in an index, and at the files of its folder.

    Args:
        index: the folder of the index.
        verify: compare the files by content, not only by size, time stamp and inode; what is derived of passages
            with what it is derived of; and `encode`.
        encode: encode some passages again, if the model is on this machine.
        progress: called often, with the stage "checking" and rows as its unit.

    Raises:
        IndexNotFound: there is no index.db.
    """
    started = time.monotonic()
    found = Examination(index, progress, verify=verify).run()
    if "root" in found.meta and "source" in found.meta:
        found.look("sources", lambda: _changed(found, verify))
    if verify or encode:
        encode_again(found)
    return reported(found, started, verify, verify or encode)


def encode_again(found: Examination) -> None:
    """Compare the embeddings of a sample with those that the model makes now, if it is on this machine."""
    if found.counts.keys() & {"database", "documents", "run"}:
        return
    made = Fingerprint.from_dict(found.meta["fingerprint"])
    with suppress(ModelError, FingerprintMismatch):
        encoder = Encoder.of(made, offline=True, trusted=is_own(found.index))
        _ = encoder.engine
        found.look("sample", lambda: _encoded_otherwise(found, encoder))


def reported(found: Examination, started: float, verify: bool = False, encode: bool = False) -> CheckReport:
    """What an examination found, with the commands that help."""
    folders = told(found.meta)
    findings = tuple(found.findings(ways_out(found.index, folders, verify)))
    there = {finding.check for finding in findings}
    return CheckReport(
        index=str(found.index),
        folder=str(folders.root) if folders else "",
        folders=folders.several if folders else (),
        ok=all(finding.severity != "damaged" for finding in findings),
        findings=findings,
        unchecked=tuple(name for name in CHECKS if name not in there and (encode or name != "sample")),
        documents=found.totals["documents"],
        passages=found.totals["passages"],
        seconds=time.monotonic() - started,
    )


def _changed(found: Examination, verify: bool) -> Iterator[str]:
    """The files of the folder that are not as they are stored: by size, time and inode.

    A file in which these differ is read, because a new time stamp alone is no change.

    Args:
        verify: read every file and compare its sha256.
    """
    try:
        files, skipped = listed(Path(found.meta["root"]), found.index, Source.from_dict(found.meta["source"]))
    except InputError as error:
        yield str(error)
        return
    with closing(connect_to_read(found.index / DATABASE)) as connection:
        stored = stored_files(connection)
    plan = compare(stored, files, skipped, verify=verify)
    for file, _ in plan.changed:
        before = stored.get(file.path)
        if before is None:
            yield f"{file.path} (new)"
        elif not before.sha256 or _sha256(file) not in ("", before.sha256):  # more than its time stamp
            yield f"{file.path} (changed)"
    for name in plan.gone:
        yield f"{name} (gone)"
    for name in plan.away:
        yield f"{name} (the whole folder: gone, or without text)"


def _encoded_otherwise(found: Examination, encoder: Encoder) -> Iterator[str]:
    """The passages of a sample whose stored embeddings are not those that the model makes now."""
    with closing(connect_to_read(found.index / DATABASE)) as connection:
        drawn = sample(connection, _SAMPLE)
    vectors = encoder.encode([text for _, text, _ in drawn], role="document", truncate=True)
    for (name, _, stored), vector in zip(drawn, vectors, strict=True):
        off = np.linalg.norm(np.frombuffer(stored, dtype="<f4") - vector)
        if not off <= _OFF[encoder.precision]:
            yield f"{name} (off by {off:.2f})"


def _sha256(file: SourceFile) -> str:
    """Of a file's bytes; "" if it cannot be read now."""
    try:
        return load(file).sha256
    except ReadError:
        return ""


def told(meta: Mapping[str, Any]) -> Folders | None:
    """The folders of an index, as far as its settings can be read."""
    return Folders.from_meta(meta) if {"root", "source"} <= meta.keys() else None


def ways_out(index: Path, folders: Folders | None, verify: bool = False) -> dict[str, str]:
    """The commands that help, as they are to be typed; "" where the folders are not there."""
    kept = index.parent == home() / "indexes"
    place = f" --index {index.name if kept else quoted(index)}"
    there = folders is not None and folders.root.is_dir()
    try:
        usual = folders is not None and there and place_for(folders, None) == index
    except (SearchError, OSError):
        usual = False
    update = f"seewhy index {folders.typed if folders else 'FOLDER'}{'' if usual else place}"
    named = "".join(f" --folder {quoted(path)}" for path in folders.paths) if folders and not kept else ""
    return {
        "repair": f"seewhy repair{place}{named}",
        "index": update + " --verify" * verify if there or not folders else "",
        "rebuild": f"{update} --rebuild",
    }
