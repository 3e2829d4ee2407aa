"""What a run of indexing would do, without doing it."""

from __future__ import annotations

from pathlib import Path

from search.corpus import Skipped, SourceFile, documents, load
from search.errors import ReadError
from search.indexing.plan import KEPT_UNTIL_SEEN, Plan, compare, listed
from search.records.reports import Changes
from search.store.database import reading
from search.store.layout import DATABASE, is_index
from search.store.passages import grouped, skipped_when_read, stored_files
from search.store.settings import Source


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
