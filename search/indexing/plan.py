"""What a walk found, against what is stored: what is to be read, and what is gone.

`preview` says what a run would do, without doing it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from search.corpus import Skipped, SourceFile, documents, load, walk
from search.corpus.files import Reason
from search.errors import ReadError
from search.records.reports import Changes
from search.store.database import reading
from search.store.layout import DATABASE, is_index, own_part
from search.store.passages import FileState, grouped, skipped_when_read, stored_files
from search.store.settings import Source

KEPT_WHEN_UNREADABLE = frozenset(
    {Reason.PERMISSION_DENIED, Reason.UNREADABLE_FOLDER, Reason.UNREADABLE_FILE, Reason.NEEDS_EXTRA}
)

# Since the walk saw it, a file has become something else, maybe for a moment: what is stored is kept until the
# next walk has looked.
KEPT_UNTIL_SEEN = KEPT_WHEN_UNREADABLE | {Reason.VANISHED, Reason.NOT_REGULAR, Reason.SYMBOLIC_LINK}


@dataclass(frozen=True)
class Plan:
    """The work of one run.

    Attributes:
        changed: files to read, each with the sha256 of the content that is stored for it, None for a
            file that is new or was not finished.
        gone: paths to forget, each with the sha256 of its content where that is stored whole: a new file
            with the same content is the old one under another name.
        unchanged: how many files with documents need nothing.
    """

    changed: list[tuple[SourceFile, str | None]]
    gone: dict[str, str | None]
    unchanged: int


def listed(folder: Path, index: Path, source: Source) -> tuple[list[SourceFile], list[Skipped]]:
    """The files of a folder and what is left out of it; an index that lies inside it is neither."""
    inside = own_part(folder, index)
    found = [
        item
        for item in walk(folder, include=source.include, exclude=source.exclude)
        if inside is None or not f"{item.path}/".startswith(f"{inside}/")
    ]
    return (
        [item for item in found if isinstance(item, SourceFile)],
        [item for item in found if isinstance(item, Skipped)],
    )


def compare(
    stored: Mapping[str, FileState],
    files: Sequence[SourceFile],
    skipped: Sequence[Skipped],
    *,
    verify: bool = False,
) -> Plan:
    """Compare with what is stored, by size, time stamp and inode; with `verify`, every file is to be read.

    A stored file is gone when the walk did not find it, unless the walk could not look where it was: what
    cannot be listed or read is kept as it was.
    """
    changed: list[tuple[SourceFile, str | None]] = []
    unchanged = 0
    for file in files:
        before = stored.get(file.path)
        if before is None or before.status == "partial":
            changed.append((file, None))
        elif verify or (before.size, before.mtime_ns, before.inode) != (file.size, file.mtime_ns, file.inode):
            changed.append((file, before.sha256))
        else:
            unchanged += before.status != "skipped"
    here = {file.path for file in files}
    unseen = [skip for skip in skipped if skip.reason in KEPT_WHEN_UNREADABLE]
    blind = {skip.path for skip in unseen}
    dark = tuple(f"{skip.path}/" for skip in unseen if skip.is_folder)
    gone = {
        path: before.sha256 if before.status == "indexed" else None
        for path, before in stored.items()
        if path not in here and path not in blind and not path.startswith(dark)
    }
    return Plan(changed, gone, unchanged)


def nothing_to_index(folder: Path, reasons: Counter[str], indexed_before: bool) -> str:
    """What to tell somebody whose folder yields no passage. `reasons` counts what was left out."""
    left_out = ", ".join(f"{count} {reason}" for reason, count in sorted(reasons.items()))
    why = f"everything was left out ({left_out})" if reasons else "it is empty"
    message = f"'{folder}' has no text to index: {why}."
    if indexed_before:
        return f"{message} The index was left as it is. Is a drive not mounted? To drop the index, delete its folder."
    return (
        f"{message} Name a folder with text, Markdown, reStructuredText, HTML, CSV or JSONL files, or, with "
        "seewhy[documents], PDF and Office files."
    )


def preview(folder: Path, index: Path, source: Source, *, verify: bool = False) -> Changes:
    """Walk, compare, and read what differs; nothing is cut, encoded or written.

    Args:
        index: where the index is, or would be made.
    """
    files, skipped = listed(folder, index, source)
    plan, known = Plan([(file, None) for file in files], {}, 0), set[str]()
    if is_index(index):
        with reading(index / DATABASE) as connection:
            stored = stored_files(connection)
            plan, known = compare(stored, files, skipped, verify=verify), set(stored)
            read = {file.path for file, _ in plan.changed} | plan.gone.keys()
            skipped += (skip for path, skip in skipped_when_read(connection) if path not in read)
    lost = {sha256: path for path, sha256 in plan.gone.items() if sha256}
    added: list[str] = []
    changed: list[str] = []
    renamed: list[tuple[str, str]] = []
    unchanged = plan.unchanged
    for file, old_sha256 in plan.changed:
        sha256, is_text, left_out = _looked_at(file, old_sha256, source)
        skipped += left_out
        if file.path in known:
            unchanged += is_text and sha256 == old_sha256
            changed += [file.path] if sha256 != old_sha256 else []
        elif sha256 in lost:
            renamed.append((lost.pop(sha256), file.path))
        elif is_text:
            added.append(file.path)
    moved = {old for old, _ in renamed}
    return Changes(
        folder=str(folder.resolve()),
        index=str(index),
        added=tuple(added),
        changed=tuple(changed),
        renamed=tuple(renamed),
        removed=tuple(path for path in plan.gone if path not in moved),
        unchanged=unchanged,
        skipped=grouped((skip.path, skip.reason, skip.detail) for skip in skipped),
    )


def _looked_at(
    file: SourceFile, old_sha256: str | None, source: Source
) -> tuple[str | None, bool, list[Skipped]]:
    """The sha256 of a file, whether it gives a document, and what of it would be left out."""
    fields = {"text_field": source.text_field, "title_field": source.title_field}
    sha256, left_out = None, list[Skipped]()
    try:
        contents = load(file)
        sha256 = contents.sha256
        left_out += (item for item in documents(file, contents, **fields) if isinstance(item, Skipped))
    except ReadError as error:
        left_out.append(Skipped(file.path, error.reason, error.detail))
        return (old_sha256 if error.reason in KEPT_UNTIL_SEEN else sha256), False, left_out
    return sha256, True, left_out
