"""Index documents from memory, which have an ID instead of a path and a text instead of a file.

    documents -> leave out unchanged ones -> cut -> encode -> store -> make segments

One call is one transaction, which stays open while the model works. Other writers wait; readers do not, because the
changes stay in SQLite's cache until the commit. A killed call leaves the index as it was.

The index is the only copy of its documents, so it is treated as a database. Only `rebuild` replaces it, by a new one
with the same documents. `exported` reads every format. An index of an earlier format is read through a copy, and
converted before the first write.
"""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext
from dataclasses import asdict, replace
from datetime import datetime
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any, TypeAlias, cast

from search.corpus import Cutter, Skipped, SourceFile
from search.corpus.dates import dated
from search.corpus.parsing import Request
from search.corpus.reader import items
from search.corpus.sources import Reason
from search.corpus.text import json_values, one_line, whole_characters
from search.encoding import Encoder
from search.errors import IndexDamaged, InputError
from search.files import PRIVATE_FOLDER, make_private
from search.indexing.build_settings import load_existing_meta
from search.indexing.read import cutter_for, prefetch
from search.indexing.run import Run
from search.languages import with_language
from search.records import documents as records
from search.records.memory_document import DamagedDocument, Document, Documents
from search.records.options import EngineName
from search.records.own_embedding import as_unit
from search.records.reports import MEMORY, Outcome, Progress, Report, Upserted
from search.records.rows import is_table, rows_of
from search.store.analyzer import Analyzer, require_analyzer
from search.store.contents import earlier_state, stored_contents
from search.store.database import (
    all_meta,
    carried_over,
    has_contents,
    is_of_later_format,
    legible_fingerprint,
    legible_meta,
    meta_of,
    reading,
    replace_database,
    require_format,
    translated,
)
from search.store.earlier_format import EarlierFormatStore
from search.store.files import (
    DATABASE,
    UNFINISHED,
    WORK,
    delete_leftovers,
    delete_work,
    remove_index,
    removed,
    writer_lock,
)
from search.store.home import is_own, rebuild_command
from search.store.layout import is_index, require_usable_path
from search.store.namespaces import namespace_path, namespaces
from search.store.passages import SnapshotReader
from search.store.segments import flush, segment_files
from search.store.settings import Folders, PassageSettings, Source, fingerprint_of
from search.store.writer import FileUpdate, Writer, writing

Rows: TypeAlias = Iterable[Document | Mapping[str, Any]]
Chunker: TypeAlias = Callable[[str], Iterable[str | tuple[int, int]]]
"""Function from a text to its passages, in order: their texts, or their spans (start, end)."""

_PATIENCE = 60.0  # seconds to wait for another writer
_MOST_RENAMES = 10  # attempts to put a new namespace in its place, beside writers and removals


def create(index: Path, encoder: Encoder, analyzer: Analyzer | None = None) -> None:
    """Create an empty index for documents from memory.

    Raises:
        InputError: the index exists already, or the folder contains other files.
        IndexDamaged, IndexOutdated: an index exists that cannot be read.
    """
    require_usable_path(index)
    if load_existing_meta(index, False):
        raise InputError(f"the index '{index}' exists already. Open it with Index.open.")
    make_private(index)
    with writer_lock(index), writing(index / DATABASE) as writer:
        _initialise(writer, encoder, analyzer)


def create_namespace(path: Path, encoder: Encoder, analyzer: Analyzer | None = None) -> None:
    """Create a namespace of an index, unless another process does it at the same time.

    It is created under another name, so that it is complete or not there when the process is killed.
    """
    make_private(path.parent)
    new = Path(mkdtemp(prefix=UNFINISHED, dir=path.parent))
    create(new, encoder, analyzer)
    for attempt in range(1, _MOST_RENAMES + 1):
        try:
            new.rename(path)
            return
        except OSError:
            if is_index(path):  # the other process was faster
                remove_index(new)
                return
            if attempt == _MOST_RENAMES:
                raise
        # A folder without an index: the lock of a writer that waited while a namespace of this name was removed. There
        # may be another such writer.
        remove_index(path)


def _initialise(writer: Writer, encoder: Encoder, analyzer: Analyzer | None) -> PassageSettings:
    """Store the settings of a new index of documents from memory; return those for its passages."""
    writer.analyzer = analyzer
    settings = PassageSettings()
    fingerprint = replace(encoder.fingerprint, passages=settings.as_json())
    with writer.transaction():
        writer.create_contents()
        writer.put(root="", fingerprint=asdict(fingerprint), source=asdict(Source()), complete=True)
        if analyzer:
            writer.put(analyzer=analyzer.name)
    return settings


def rebuild(
    index: Path,
    encoder: Encoder,
    progress: Callable[[Progress], None] | None = None,
    analyzer: Analyzer | None = None,
) -> Report:
    """Rebuild an index of documents from memory, of any earlier format, from its documents; first its namespaces.

    Embeddings of the same model are taken over. The old index answers queries until the new one is complete; if some of
    its documents are damaged, it is kept as `index.db.old`.

    Raises:
        InputError: the index belongs to a folder.
        IndexOutdated: a later version of seewhy wrote the index.
        IndexLocked: another process has been writing to the index for a minute.
        StorageFull: there is no room for the new index; the old one stays.
    """
    started = time.monotonic()
    inner = {name: namespace_path(index, name) for name in namespaces(index)}
    for path in (index, *inner.values()):  # nothing is rebuilt if one of them is refused
        _require_rebuildable(path / DATABASE, encoder, analyzer)
    others = tuple(
        f"namespace '{name}': {_rebuild(path, encoder, progress, analyzer).documents} documents"
        for name, path in inner.items()
    )
    report = _rebuild(index, encoder, progress, analyzer)
    return replace(report, notes=(*report.notes, *others), seconds=time.monotonic() - started)


def _require_rebuildable(database: Path, encoder: Encoder, analyzer: Analyzer | None) -> None:
    """Raise an error if an index cannot be rebuilt with an encoder and an analyser; see `rebuild`."""
    meta = legible_meta(database)
    if is_of_later_format(meta):
        require_format(meta, database)
    require_analyzer(meta.get("analyzer"), analyzer)
    before = legible_fingerprint(database)
    if before is None or before.weights != encoder.fingerprint.weights:
        _require_same_model(database, encoder, _legible(stored_contents(database)))


def _rebuild(
    index: Path,
    encoder: Encoder,
    progress: Callable[[Progress], None] | None,
    analyzer: Analyzer | None,
) -> Report:
    """Rebuild an index without its namespaces; see `rebuild`."""
    database, new = index / DATABASE, index / WORK / DATABASE
    with writer_lock(index, _PATIENCE), translated(database):
        if is_of_later_format(meta := legible_meta(database)):  # another process may have rebuilt it
            require_format(meta, database)
        delete_work(index)
        new.parent.mkdir(PRIVATE_FOLDER, exist_ok=True)
        report, is_damaged = _build_again(database, index, new, encoder, progress, analyzer)
        if kept := replace_database(index, new, keep_old=is_damaged):
            note = f"the old database is kept as '{kept}'. Delete it when you no longer need it."
            report = replace(report, notes=(*report.notes, note))
        with reading(database) as connection:
            delete_leftovers(index, segment_files(connection))
    return report


def opened_earlier(
    index: Path, encoder: Encoder | None, *, offline: bool, engine: EngineName
) -> EarlierFormatStore:
    """Open an index of documents from memory of an earlier format, through a copy in the current format.

    The copy is in a temporary folder and is deleted with the store; the index stays unchanged.

    Args:
        encoder: the encoder of the index; None loads it.

    Raises:
        IndexOutdated: the index belongs to a folder, or has a later format.
    """
    database = index / DATABASE
    meta = legible_meta(database)
    if is_of_later_format(meta) or not has_contents(database):
        require_format(meta, database)
    if encoder is None:
        encoder = Encoder.of(fingerprint_of(meta), offline=offline, engine=engine, trusted=is_own(index))
    copy = Path(mkdtemp(prefix="seewhy-"))
    try:
        _build_again(database, copy, copy / DATABASE, encoder)
    except BaseException:
        rmtree(copy, ignore_errors=True)
        raise
    return EarlierFormatStore(index, copy)


def _build_again(
    old: Path,
    index: Path,
    new: Path,
    encoder: Encoder,
    progress: Callable[[Progress], None] | None = None,
    analyzer: Analyzer | None = None,
) -> tuple[Report, bool]:
    """Write the documents of a database to a new one, whose derived files are in `index`.

    Returns:
        The report, and whether a document is damaged.
    """
    contents = stored_contents(old)
    damaged = [item for item in contents if isinstance(item, DamagedDocument)]
    by_id = {document.id: document for document in _legible(contents)}
    _require_same_model(old, encoder, by_id.values())
    with writing(new) as writer:
        writer.put_meta(**carried_over(old))
        settings = _initialise(writer, encoder, analyzer)
        fingerprint = replace(encoder.fingerprint, passages=settings.as_json())
        with earlier_state(old, fingerprint) as earlier_index:
            times, annotators = earlier_index.times(), earlier_index.annotators()
            run = Run(
                Path(), index, new, writer, encoder, settings, Source(), progress, earlier=earlier_index
            )
            works = [_work(document, {}) for document in by_id.values()]
            for work in works:
                work.file = replace(work.file, mtime_ns=times.get(work.file.path, work.file.mtime_ns))
            _store(run, works, by_id, in_batches=True)
        report = run.report()
    notes = [f"damaged document {item}" for item in damaged]
    if legible_fingerprint(old) is None:
        notes.append(
            f"the model of the index could not be read, so the index now uses '{encoder.model}'. For another "
            f"model, run: {rebuild_command(old.parent)} --model MODEL"
        )
    if annotators:
        notes.append(f"tags and labels are not taken over: {', '.join(annotators)}. Create them again.")
    return replace(report, folder=MEMORY, notes=(*report.notes, *notes)), bool(damaged)


def _legible(contents: Iterable[Document | DamagedDocument]) -> Iterator[Document]:
    """Yield the documents of an index, with the damaged ones that can be read."""
    for item in contents:
        document = item.document if isinstance(item, DamagedDocument) else item
        if document is not None:
            yield document


def _require_same_model(database: Path, encoder: Encoder, documents: Iterable[Document]) -> None:
    """Raise InputError if documents bring embeddings of another model than the one of a rebuild."""
    own = [document for document in documents if any(span.vector is not None for span in document.spans)]
    before = legible_fingerprint(database)
    if own and before is not None and before.weights != encoder.fingerprint.weights:
        raise InputError(
            f"{len(own):,} documents bring embeddings of '{before.model}', such as {own[0].id!r}; those of "
            f"'{encoder.model}' cannot be compared with them. Upsert them again without, or with new ones."
        )
    _require_dimension(own, encoder.dimension)


def exported(
    index: Path, on_damage: Callable[[DamagedDocument], object] | None = None
) -> Iterator[Document]:
    """Yield the documents from memory of an index, of any format; see `Index.export`."""
    for item in stored_contents(index / DATABASE):
        if isinstance(item, Document):
            yield item
            continue
        if on_damage is None:
            raise IndexDamaged(
                f"the index in '{index}' has a damaged document {item}. To leave damaged documents out, pass on_damage."
            )
        on_damage(item)
        if item.document is not None:
            yield item.document


def checked(documents: Documents, chunker: Chunker | None = None) -> list[Document]:
    """Return documents in the form in which they are stored.

    Args:
        chunker: cuts texts into passages; None for seewhy's own way.

    Raises:
        InputError: a document is invalid.
    """
    valid = [_normal(Document.of(document)) for document in _several(documents)]
    return valid if chunker is None else [_chunked(document, chunker) for document in valid]


def upsert(
    index: Path,
    encoder: Encoder,
    documents: Sequence[Document],
    *,
    new: bool = False,
    analyzer: Analyzer | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Upserted:
    """Store checked documents, replacing those with the same IDs; only passages with a new text are encoded.

    Args:
        new: raise an error if an ID exists or occurs twice; else the last document of an ID counts.
        analyzer: the analyser that the index was created with.

    Raises:
        InputError: a document does not fit, or the index belongs to a folder; nothing was stored.
        FingerprintMismatch: the index was built with another model.
        IndexLocked: another process has been writing to the index for a minute.
        IndexNotFound: the index was removed.
    """
    with _opened(index, analyzer) as writer:
        return _upserted(writer, index, encoder, documents, new=new, progress=progress)


def set_metadata(
    index: Path,
    encoder: Encoder,
    id_: str,
    values: Mapping[str, Any],
    analyzer: Analyzer | None = None,
) -> Upserted:
    """Change metadata of a document; see `Index.set_metadata`.

    Raises:
        InputError: there is no such document, or the index belongs to a folder.
        IndexLocked: another process has been writing to the index for a minute.
    """
    with _opened(index, analyzer) as writer:
        stored = SnapshotReader(writer.connection).memory_documents([id_])
        if not stored:
            raise no_document(id_)
        merged = {**stored[0].metadata, **values}
        kept = {name: value for name, value in merged.items() if value is not None}
        return _upserted(writer, index, encoder, [_normal(replace(stored[0], metadata=kept))])


def no_document(id_: str) -> InputError:
    """Return the error for a document that is not in the index."""
    return InputError(f"no document {id_!r} in the index. Add it with upsert.")


def _several(documents: Documents) -> Iterable[Document | Mapping[str, Any]]:
    """Return documents; a single one as a list, a table as its rows."""
    if is_table(documents):
        return rows_of(documents)
    return [documents] if isinstance(documents, Document | Mapping) else cast("Rows", documents)


def _upserted(
    writer: Writer,
    index: Path,
    encoder: Encoder,
    documents: Sequence[Document],
    *,
    new: bool = False,
    progress: Callable[[Progress], None] | None = None,
) -> Upserted:
    """Store checked documents with an open writer; see `upsert`."""
    started = time.monotonic()
    by_id = {document.id: document for document in documents}
    meta = all_meta(writer.connection)
    require_analyzer(meta.get("analyzer"), writer.analyzer)
    settings = PassageSettings.from_json(meta["fingerprint"]["passages"])
    fingerprint = replace(encoder.fingerprint, passages=settings.as_json())
    fingerprint_of(meta).require_equal(fingerprint)
    _require_dimension(documents, int(fingerprint.dimension))
    run = Run(Path(), index, index / DATABASE, writer, encoder, settings, Source(), progress)
    stored = writer.hashes(by_id)
    repeated = Counter(document.id for document in documents) - Counter(by_id.keys())
    if new and (existing := [*repeated, *stored]):
        raise InputError(f"the document {existing[0]!r} exists already. Replace it with upsert.")
    works = [_work(document, stored) for document in by_id.values()]
    works = [work for work in works if work.outcome is not Outcome.UNCHANGED]
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
            dimension = fingerprint_of(all_meta(writer.connection)).dimension
            flush(writer, index, int(dimension))
    return Upserted(removed=len(stored), seconds=time.monotonic() - started)


@contextmanager
def _opened(index: Path, analyzer: Analyzer | None = None) -> Iterator[Writer]:
    """Open a writer of an index of documents from memory, and delete stray files at the end.

    Args:
        analyzer: analyser of new documents; nothing is stored without that of the index.
    """
    with reading(index / DATABASE) as connection:
        Folders.from_meta(meta_of(connection, index / DATABASE)).require_memory()
    with writer_lock(index, _PATIENCE):
        if not is_index(index):  # it was removed while this writer waited
            raise removed(index)
        with writing(index / DATABASE) as writer:
            writer.analyzer = analyzer
            yield writer
            delete_leftovers(index, segment_files(writer.connection))


def _normal(document: Document) -> Document:
    """Return a document with valid Unicode and JSON values."""
    try:
        metadata = json_values(document.metadata)
    except ValueError as error:
        raise InputError(f"the metadata of document {document.id!r} are invalid: {error}") from None
    text, title = whole_characters(document.text), one_line(whole_characters(document.title))
    return replace(document, text=text, title=title, metadata=metadata)


def _chunked(document: Document, chunker: Chunker) -> Document:
    """Return a document with the passages that a program cuts its text into; its own passages or vector stay."""
    if document.spans or not document.text:
        return document
    passages = chunker(document.text)
    if not isinstance(passages, Iterable) or isinstance(passages, str):
        raise InputError(
            f"the chunker returned no list for document {document.id!r}: {str(passages)[:60]!r}"
        )
    return Document.of(replace(document, passages=tuple(passages)))


def _require_dimension(documents: Iterable[Document], dimension: int) -> None:
    """Raise InputError if a document brings an embedding of another dimension than the model's."""
    for document in documents:
        for span in document.spans:
            if span.vector is not None and len(span.vector) != dimension:
                raise InputError(
                    f"a vector of document {document.id!r} has {len(span.vector)} numbers, but embeddings of this "
                    f"index have {dimension}. Take the model of the index, or another index with yours as `encoder`."
                )


def _work(document: Document, stored: Mapping[str, str]) -> FileUpdate:
    """Return a document as a file that is not cut yet.

    Args:
        stored: SHA-256 of the stored documents, by ID.
    """
    content = document.content
    sha256 = hashlib.sha256(content.encode()).hexdigest()
    file = SourceFile(document.id, "", len(document.text.encode()), time.time_ns(), 0)
    if document.id not in stored:
        outcome = Outcome.ADDED
    elif stored[document.id] != sha256:
        outcome = Outcome.CHANGED
    else:
        outcome = Outcome.UNCHANGED
    return FileUpdate(file, sha256, last=True, outcome=outcome, content=content)


def _store(
    run: Run, works: list[FileUpdate], by_id: Mapping[str, Document], *, in_batches: bool = False
) -> None:
    """Cut, encode and store documents, then make the segments that are due.

    Args:
        in_batches: store each batch in a transaction of its own, in a database that nobody reads yet; else all
            documents in one transaction.
    """
    cutter = cutter_for(run.encoder, run.settings)
    run.counts["total_bytes"] = sum(work.file.size for work in works)
    cut = (_cut(work, by_id[work.file.path], cutter) for work in works)
    transaction = nullcontext() if in_batches else run.writer.large_transaction()
    with transaction, closing(prefetch(cut, cutter)) as batches:
        run.commit_all(batches)
        updated = datetime.now().astimezone().isoformat(timespec="seconds")
        with run.writer.transaction():
            run.writer.put(
                updated=updated, engine=run.encoder.runs_on, model_notes=run.encoder.model_notes
            )
    run.derive()


def _cut(work: FileUpdate, source: Document, cutter: Cutter) -> FileUpdate:
    parsed, skipped = _parsed(source)
    document = with_language(parsed)
    if source.spans:
        own = [
            (span.start, span.end, b"" if span.vector is None else as_unit(span.vector))
            for span in source.spans
        ]
        passages = cutter.cut_at(document, own)
    else:
        passages = cutter.cut(document)
    if passages:
        return replace(work, documents=[(document, passages)], records={0}, skipped=skipped)
    return replace(work, skipped=[Skipped(source.id, Reason.EMPTY)])


def _parsed(source: Document) -> tuple[records.ParsedDocument, list[Skipped]]:
    """Return a parsed document, and the reason if its markup was not parsed."""
    text = source.text if source.text.strip() else source.title
    parsed, *others = items(Request("", source.kind, text))
    assert isinstance(parsed, records.ParsedDocument)
    document = replace(
        parsed,
        path=source.id,
        title=source.title or parsed.title,
        metadata={**parsed.metadata, **source.metadata},
    )
    skipped = [replace(item, path=source.id) for item in others if isinstance(item, Skipped)]
    return dated(document), skipped
