"""Index documents from memory: an ID in place of a path, and a text in place of a file.

    documents -> leave out unchanged ones -> cut -> encode -> store -> make segments

One call is one transaction, which stays open while the model works. Other writers wait; readers do not, because the
changes stay in SQLite's cache until the commit. A killed call leaves the index as it was.
"""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import asdict, replace
from datetime import datetime
from pathlib import Path

from search.corpus import Cutter, Skipped, SourceFile, markdown
from search.corpus.dates import dated
from search.corpus.sources import Reason
from search.corpus.text import file_document, json_values, one_line, whole_characters
from search.encoding import Encoder
from search.errors import InputError
from search.files import make_private
from search.indexing.plan import ahead, cutter_for
from search.indexing.run import Run
from search.indexing.update import earlier
from search.records import documents as records
from search.records.documents import Section
from search.records.fingerprint import Fingerprint
from search.records.memory_document import Document, Documents
from search.records.reports import Progress, Upserted
from search.store.database import all_meta, meta_of, one_meta, reading
from search.store.files import DATABASE, delete_leftovers, writer_lock
from search.store.layout import check_place
from search.store.segments import flush, named_files
from search.store.settings import Folders, PassageSettings, Source
from search.store.writer import Work, Writer, writing

_PATIENCE = 60.0  # seconds to wait for another writer


def create(index: Path, encoder: Encoder) -> None:
    """Create an empty index for documents from memory.

    Raises:
        InputError: the index exists already, or the folder contains other files.
    """
    check_place(index)
    if earlier(index, False):
        raise InputError(f"the index '{index}' exists already. Open it with Index.open.")
    make_private(index)
    fingerprint = replace(encoder.fingerprint, passages=PassageSettings().as_json())
    with writer_lock(index), writing(index / DATABASE) as writer, writer.transaction():
        writer.create_contents()
        writer.put(root="", fingerprint=asdict(fingerprint), source=asdict(Source()), complete=True)


def upsert(
    index: Path,
    encoder: Encoder,
    documents: Documents,
    *,
    new: bool = False,
    progress: Callable[[Progress], None] | None = None,
) -> Upserted:
    """Store documents, replacing those with the same IDs; only passages with a new text are encoded.

    Args:
        new: raise an error if an ID exists or occurs twice; else the last document of an ID counts.

    Raises:
        InputError: a document is invalid, or the index belongs to a folder; nothing was stored.
        FingerprintMismatch: the index was built with another model.
        IndexLocked: another process has been writing to the index for a minute.
    """
    started = time.monotonic()
    checked = [_normal(Document.of(each)) for each in documents]
    by_id = {document.id: document for document in checked}
    with _opened(index) as writer:
        meta = all_meta(writer.connection)
        settings = PassageSettings.from_json(meta["fingerprint"]["passages"])
        fingerprint = replace(encoder.fingerprint, passages=settings.as_json())
        Fingerprint(**meta["fingerprint"]).require_equal(fingerprint)
        run = Run(Path(), index, index / DATABASE, writer, encoder, settings, Source(), progress)
        stored = writer.hashes(by_id)
        more = Counter(each.id for each in checked) - Counter(by_id.keys())
        if new and (existing := [*more, *stored]):
            raise InputError(f"the document {existing[0]!r} exists already. Replace it with upsert.")
        works = [work for each in by_id.values() if (work := _work(each, stored)).outcome]
        if works:
            _store(run, works, by_id)
    return Upserted(
        **{name: run.counts[name] for name in ("added", "changed", "encoded", "reused")},
        unchanged=len(by_id) - len(works),
        seconds=time.monotonic() - started,
    )


def delete(index: Path, ids: Iterable[str]) -> Upserted:
    """Delete documents; IDs that do not exist are ignored.

    Raises:
        InputError: the index belongs to a folder.
        IndexLocked: another process has been writing to the index for a minute.
    """
    started = time.monotonic()
    with _opened(index) as writer:
        stored = writer.hashes(ids)
        if stored:
            writer.remove(stored)
            dimension = Fingerprint(**one_meta(writer.connection, "fingerprint")).dimension
            flush(writer, index, int(dimension))
    return Upserted(removed=len(stored), seconds=time.monotonic() - started)


@contextmanager
def _opened(index: Path) -> Iterator[Writer]:
    """Open a writer of an index of documents from memory, and delete stray files at the end."""
    with reading(index / DATABASE) as connection:
        Folders.from_meta(meta_of(connection, index / DATABASE)).require_memory()
    with writer_lock(index, _PATIENCE), writing(index / DATABASE) as writer:
        yield writer
        delete_leftovers(index, named_files(writer.connection))


def _normal(document: Document) -> Document:
    """Return a document with valid Unicode and JSON values."""
    try:
        metadata = json_values(document.metadata)
    except ValueError as error:
        raise InputError(f"the metadata of document {document.id!r} are invalid: {error}") from None
    text, title = whole_characters(document.text), one_line(whole_characters(document.title))
    return replace(document, text=text, title=title, metadata=metadata)


def _work(document: Document, stored: Mapping[str, str]) -> Work:
    """Return a document as a file that is not cut yet; `outcome` is "" if it is stored already."""
    content = document.content
    sha256 = hashlib.sha256(content.encode()).hexdigest()
    file = SourceFile(document.id, "", len(document.text.encode()), time.time_ns(), 0)
    before = stored.get(document.id)
    outcome = "" if before == sha256 else "changed" if before else "added"
    return Work(file, sha256, last=True, outcome=outcome, content=content)


def _store(run: Run, works: list[Work], by_id: Mapping[str, Document]) -> None:
    """Cut, encode and store documents in one transaction, then make the segments that are due."""
    cutter = cutter_for(run.encoder, run.settings)
    run.counts["total_bytes"] = sum(work.file.size for work in works)
    cut = (_cut(work, by_id[work.file.path], cutter) for work in works)
    with run.writer.large_transaction(), closing(ahead(cut, cutter)) as batches:
        run.commit_all(batches)
        updated = datetime.now().astimezone().isoformat(timespec="seconds")
        run.writer.put(updated=updated, engine=run.encoder.runs_on)
    run.derive()


def _cut(work: Work, source: Document, cutter: Cutter) -> Work:
    document = _parsed(source)
    if passages := cutter.cut(document):
        return replace(work, documents=[(document, passages)], records={0})
    return replace(work, skipped=[Skipped(source.id, Reason.EMPTY)])


def _parsed(source: Document) -> records.Document:
    text = source.text if source.text.strip() else source.title
    if source.kind == "markdown":
        parsed = markdown.document("", text)
    else:
        parsed = file_document("", "text", text, "", sections=(Section(0, len(text)),))
    return dated(
        replace(
            parsed,
            path=source.id,
            title=source.title or parsed.title,
            metadata={**parsed.metadata, **source.metadata},
        )
    )
