"""Compare the files of a folder with the stored ones, and read the new and changed ones.

Files are read and cut one batch ahead of the model: while a batch is encoded, another thread prepares the next one.
That thread reads the index through its own connection and changes nothing. `preview` lists the changes that a run would
make.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

from search.corpus import Cutter, Skipped, SourceFile, documents, load, walk
from search.corpus.sources import Reason
from search.encoding.encoder import Encoder
from search.errors import ReadError
from search.records.reports import Changes, Outcome
from search.store.database import connect_to_read, one_meta, reading
from search.store.file_states import FileState, skipped_when_read, stored_documents, stored_files
from search.store.layout import DATABASE, is_index, path_inside
from search.store.settings import Folders, PassageSettings, Source, as_text
from search.store.status import grouped
from search.store.writer import FileUpdate, document_sha256

PASSAGES_IN_A_BATCH = 512
_FILES_IN_A_BATCH = 2048  # limit for files with few passages, or none
_KEPT_OUTCOMES = (Outcome.TOUCHED, Outcome.UNCHANGED)
COARSEST_CLOCK_NS = 2 * 10**9  # FAT counts time in steps of two seconds

KEPT_WHEN_UNREADABLE = frozenset(
    {
        Reason.PERMISSION_DENIED, Reason.UNREADABLE_FOLDER, Reason.UNREADABLE_FILE, Reason.NEEDS_EXTRA,
        Reason.NOTHING_THERE,
    }
)  # fmt: skip

# Reasons for which a file that changed after the walk keeps its stored passages until the next run: the change may be
# temporary.
KEPT_UNTIL_SEEN = KEPT_WHEN_UNREADABLE | {Reason.VANISHED, Reason.NOT_REGULAR, Reason.SYMBOLIC_LINK}


@dataclass(frozen=True)
class RunPlan:
    """Files that one indexing run must read, delete or leave unchanged.

    Attributes:
        changed: files to read, each with the SHA-256 of its stored content; None for a new or partly indexed file.
        gone: path to delete -> SHA-256 of its content, if that is completely stored. A new file with the same content
            is a renamed file.
        unchanged: number of unchanged files with documents.
        away: if several folders are indexed, the ones that are gone or contain no text; their files stay in the index.
    """

    changed: list[tuple[SourceFile, str | None]]
    gone: dict[str, str | None]
    unchanged: int
    away: tuple[str, ...] = ()


def walk_folder(folder: Path, index: Path, source: Source) -> tuple[list[SourceFile], list[Skipped]]:
    """Walk a folder; return its files and its skipped files. An index inside the folder is left out."""
    inside = path_inside(folder, index)
    items = [
        item
        for item in _walk_folders(folder, source)
        if inside is None or not f"{item.path}/".startswith(f"{inside}/")
    ]
    return (
        [item for item in items if isinstance(item, SourceFile)],
        [item for item in items if isinstance(item, Skipped)],
    )


def _walk_folders(root: Path, source: Source) -> Iterator[SourceFile | Skipped]:
    """Walk one or several folders, each with its own ignore files.

    A folder that is gone, is a link, or contains no files may be on a drive that is not mounted. So its stored files
    are not treated as deleted.
    """
    if not source.folders:
        yield from walk(root, include=source.include, exclude=source.exclude)
    for name in source.folders:
        folder, items = root / name, []
        if folder.is_dir() and folder.resolve() == folder:
            items = list(walk(folder, include=source.include, exclude=source.exclude))
        yield from (replace(item, path=f"{name}/{item.path}") for item in items)
        if not any(isinstance(item, SourceFile) for item in items):
            yield Skipped(name, Reason.NOTHING_THERE, is_folder=True)


def compare(
    stored: Mapping[str, FileState],
    files: Sequence[SourceFile],
    skipped: Sequence[Skipped],
    walked_ns: int | None,
) -> RunPlan:
    """Compare the files of a folder with the stored files by size, time stamp and inode.

    A program can replace the content of a file and keep all three, but not its `ctime`. So a file whose `ctime` is not
    before the last complete walk counts as changed; it is read, and its hash tells.

    A stored file is gone if the walk did not find it. Files in folders that cannot be listed, and files that cannot be
    read, stay in the index.

    Args:
        walked_ns: when the walk of the last complete run began, in nanoseconds since 1970; None if no run noted it.
    """
    changed: list[tuple[SourceFile, str | None]] = []
    unchanged = 0
    newest = None if walked_ns is None else walked_ns - COARSEST_CLOCK_NS
    for file in files:
        before = stored.get(file.path)
        if before is None or before.status == "partial":
            changed.append((file, None))
            continue
        is_same = (before.size, before.mtime_ns, before.inode) == (file.size, file.mtime_ns, file.inode)
        if not is_same or (newest is not None and file.ctime_ns >= newest):
            changed.append((file, before.sha256))
        else:
            unchanged += before.status != "skipped"
    unreadable = [skip for skip in skipped if skip.reason in KEPT_WHEN_UNREADABLE]
    kept = {file.path for file in files} | {skip.path for skip in unreadable}
    kept_folders = tuple(f"{skip.path}/" for skip in unreadable if skip.is_folder)
    gone = {
        path: before.sha256 if before.status == "indexed" else None
        for path, before in stored.items()
        if path not in kept and not path.startswith(kept_folders)
    }
    away = tuple(
        skip.path
        for skip in skipped
        if skip.reason == Reason.NOTHING_THERE
        and any(path.startswith(f"{skip.path}/") for path in stored)
    )
    return RunPlan(changed, gone, unchanged, away)


def nothing_to_index(folders: Folders, reasons: Counter[str], indexed_before: bool) -> str:
    """Return the error message for folders without any passage; `reasons` counts the skipped files by reason."""
    left_out = ", ".join(f"{count} {reason}" for reason, count in sorted(reasons.items()))
    message = f"no text to index in {as_text(folders.paths)} (skipped: {left_out or 'nothing'})."
    if indexed_before:
        message += " The index was not changed. If you moved the folder, run: seewhy move INDEX FOLDER"
    return message


def batches_ahead(
    database: Path, plan: RunPlan, cutter: Cutter, source: Source
) -> Generator[list[FileUpdate], None, None]:
    """Yield the files of a plan, read and cut, in batches of about PASSAGES_IN_A_BATCH passages.

    To stop early, close the generator.
    """
    with closing(connect_to_read(database)) as connection:
        works = _read(partial(stored_documents, connection), plan, source, cutter)
        yield from prefetch(works, cutter)


def prefetch(works: Iterable[FileUpdate], cutter: Cutter) -> Generator[list[FileUpdate], None, None]:
    """Yield files in batches; another thread prepares each batch while the previous one is used."""
    with ThreadPoolExecutor(1, "seewhy-reader") as thread:
        batches = _batches(works)
        following = thread.submit(next, batches, None)
        try:
            while (batch := following.result()) is not None:
                following = thread.submit(next, batches, None)
                yield batch
        except BaseException:  # Ctrl-C, or the generator was closed: do not finish the next batch
            cutter.stop()
            raise


def _batches(works: Iterable[FileUpdate]) -> Iterator[list[FileUpdate]]:
    batch: list[FileUpdate] = []
    passages = 0
    for work in works:
        batch.append(work)
        passages += work.n_passages
        if passages >= PASSAGES_IN_A_BATCH or len(batch) >= _FILES_IN_A_BATCH:
            yield batch
            batch, passages = [], 0
    if batch:
        yield batch


def preview(folder: Path, index: Path, source: Source) -> Changes:
    """Return the changes that a run would make: walk, compare and read changed files, but encode and write nothing.

    Args:
        index: folder of the index, which need not exist.
    """
    files, skipped = walk_folder(folder, index, source)
    if not is_index(index):
        plan = RunPlan([(file, None) for file in files], {}, 0)
        works = list(_read(lambda _: {}, plan, source))
    else:
        with reading(index / DATABASE) as connection:
            walked_ns = one_meta(connection, "walked_ns")
            plan = compare(stored_files(connection), files, skipped, walked_ns)
            works = list(_read(partial(stored_documents, connection), plan, source))
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


def _read(
    documents_of: Callable[[str], dict[int, str]],
    plan: RunPlan,
    source: Source,
    cutter: Cutter | None = None,
) -> Iterator[FileUpdate]:
    """Read files; yield each in pieces of about one batch. The last piece of a file has its outcome.

    Args:
        documents_of: returns record number -> SHA-256 of the stored documents of a path.
        cutter: cuts documents into passages; None only determines the outcomes.
    """
    # Files whose new path is not known yet, by content.
    lost = {sha256: path for path, sha256 in plan.gone.items() if sha256}
    for file, old_sha256 in plan.changed:
        stored = documents_of(file.path)
        work = FileUpdate(_state_to_store(file), "")
        outcome: Outcome | None = None
        differs = False
        try:
            contents = load(file)
            work.sha256 = contents.sha256
            if contents.sha256 == old_sha256:
                yield replace(work, records=set(stored), last=True, outcome=Outcome.TOUCHED)
                continue
            if old_sha256 is None and not stored and contents.sha256 in lost:
                outcome, work.renamed_from = Outcome.RENAMED, lost.pop(contents.sha256)
                stored = documents_of(work.renamed_from)
            fields = {"text_field": source.text_field, "title_field": source.title_field}
            for item in documents(file, contents, **fields):
                if isinstance(item, Skipped):
                    work.skipped.append(item)
                    continue
                work.records.add(item.record)
                if stored.get(item.record) != document_sha256(item):
                    differs = True
                    if cutter:
                        work.documents.append((item, cutter.cut(item)))
                if work.n_passages >= PASSAGES_IN_A_BATCH:
                    yield work
                    work = replace(work, documents=[], renamed_from=None)
        except ReadError as error:
            if error.reason in KEPT_UNTIL_SEEN:  # keep the stored passages until the next run
                work.records |= stored.keys()
                work.file = replace(file, size=-1)
                outcome = Outcome.UNCHANGED
            work.skipped.append(Skipped(file.path, error.reason, error.detail))
        is_new = old_sha256 is None and not stored
        work.outcome = outcome or _outcome(stored.keys(), work.records, is_new, differs)
        work.last = True
        yield work


def _outcome(stored: Set[int], read: Set[int], is_new: bool, differs: bool) -> Outcome:
    """Return the outcome for a file that was read to its end.

    Args:
        stored, read: numbers of the stored records, and of those that the file has now.
        differs: a record is new or changed.
    """
    if not stored and not read:
        return Outcome.SKIPPED
    if stored and not differs and read >= stored:
        return Outcome.UNCHANGED
    return Outcome.ADDED if is_new else Outcome.CHANGED


def _state_to_store(file: SourceFile) -> SourceFile:
    """Return the state of a file to store, without a time stamp if the file changed a moment ago.

    A second change within the clock's resolution could leave time stamp and size the same. Without a time stamp, the
    next run reads the file again.
    """
    fresh = time.time_ns() - file.mtime_ns < COARSEST_CLOCK_NS
    return replace(file, mtime_ns=-1) if fresh else file


def room_for(encoder: Encoder) -> int:
    """Return the maximum number of tokens that an encoder can read after its prompt."""
    prompt = encoder.prompt("document")
    n_prompt = len(encoder.tokenizer.encode(prompt, add_special_tokens=False).ids) if prompt else 0
    return encoder.max_tokens - n_prompt


def cutter_for(
    encoder: Encoder, settings: PassageSettings, boilerplate: frozenset[int] = frozenset()
) -> Cutter:
    """Return a cutter of documents for an encoder."""
    return Cutter(
        encoder.tokenizer, max_tokens=room_for(encoder), boilerplate=boilerplate, **asdict(settings)
    )
