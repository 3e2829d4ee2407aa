"""Preview: the changes that a run would make."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from search.indexing.compare import RunPlan, compare, walk_folder
from search.indexing.read import read_changed
from search.records.reports import Changes, Outcome
from search.store.database import one_meta, reading
from search.store.file_states import skipped_when_read, stored_documents, stored_files
from search.store.layout import DATABASE, is_index
from search.store.settings import Folders, Source
from search.store.status import grouped

_KEPT_OUTCOMES = (Outcome.TOUCHED, Outcome.UNCHANGED)


def preview(folder: Path, index: Path, source: Source) -> Changes:
    """Return the changes that a run would make: walk, compare and read changed files, but encode and write nothing.

    Args:
        index: folder of the index, which need not exist.
    """
    files, skipped = walk_folder(folder, index, source)
    if not is_index(index):
        plan = RunPlan([(file, None) for file in files], {}, 0)
        works = list(read_changed(lambda _: {}, plan, source))
    else:
        with reading(index / DATABASE) as connection:
            walked_ns = one_meta(connection, "walked_ns")
            plan = compare(stored_files(connection), files, skipped, walked_ns)
            works = list(read_changed(partial(stored_documents, connection), plan, source))
            read = {
                work.file.path for work in works if work.outcome is not Outcome.TOUCHED
            } | plan.gone.keys()
            skipped += (skip for path, skip in skipped_when_read(connection) if path not in read)
    skipped += (skip for work in works for skip in work.skipped)
    renamed = tuple(
        (work.renamed_from, work.file.path) for work in works if work.renamed_from is not None
    )
    old_paths = {old for old, _ in renamed}
    outcomes = [(work.outcome, work.file.path) for work in works]
    return Changes(
        folder=str(folder),
        folders=Folders(folder, source.folders).several,
        index=str(index),
        added=tuple(path for outcome, path in outcomes if outcome is Outcome.ADDED),
        changed=tuple(path for outcome, path in outcomes if outcome is Outcome.CHANGED),
        renamed=renamed,
        removed=tuple(path for path in plan.gone if path not in old_paths),
        unchanged=plan.unchanged
        + sum(bool(work.records) and work.outcome in _KEPT_OUTCOMES for work in works),
        skipped=grouped((skip.path, skip.reason, skip.detail) for skip in skipped),
    )
