"""Read the new and changed files of a run, and cut them into passages, one batch ahead of the model.

While a batch is encoded, another thread prepares the next one. That thread reads the index through its own connection
and changes nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable, Iterator, Set
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

from search.corpus import Cutter, Skipped, SourceFile, documents, load
from search.corpus.sources import Reason
from search.encoding.encoder import Encoder
from search.errors import ReadError
from search.indexing.compare import COARSEST_CLOCK_NS, KEPT_WHEN_UNREADABLE, RunPlan
from search.languages import with_language
from search.records.reports import Outcome
from search.store.database import connect_to_read
from search.store.file_states import stored_documents
from search.store.settings import PassageSettings, Source
from search.store.writer import FileUpdate, document_sha256

PASSAGES_IN_A_BATCH = 512
_FILES_IN_A_BATCH = 2048  # limit for files with few passages, or none

# Reasons for which a file that changed after the walk keeps its stored passages until the next run: the change may be
# temporary.
KEPT_UNTIL_SEEN = KEPT_WHEN_UNREADABLE | {Reason.VANISHED, Reason.NOT_REGULAR, Reason.SYMBOLIC_LINK}


def batches_ahead(
    database: Path, plan: RunPlan, cutter: Cutter, source: Source
) -> Generator[list[FileUpdate], None, None]:
    """Yield the files of a plan, read and cut, in batches of about PASSAGES_IN_A_BATCH passages.

    To stop early, close the generator.
    """
    with closing(connect_to_read(database)) as connection:
        works = read_changed(partial(stored_documents, connection), plan, source, cutter)
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


def read_changed(
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
            for read in documents(file, contents, **source.fields):
                if isinstance(read, Skipped):
                    work.skipped.append(read)
                    continue
                item = with_language(read)
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
