"""Ways to break `search` on purpose. A harness that does not notice them is worth nothing.

Each is planted by name, so that a child process can be told to have it.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

DEFECTS: dict[str, Callable[[], AbstractContextManager[None]]] = {}


def defect(name: str) -> AbstractContextManager[None]:
    """Plant a defect for as long as the block lasts; "" plants none."""
    return DEFECTS[name]() if name else nullcontext()


def _planted(function: Callable[[], Iterator[None]]) -> Callable[[], AbstractContextManager[None]]:
    DEFECTS[function.__name__] = contextmanager(function)
    return DEFECTS[function.__name__]


@contextmanager
def _everywhere(original: Any, replacement: Any) -> Iterator[None]:
    """Replace a function in every module of `search` that has imported it."""
    with ExitStack() as stack:
        for name, module in list(sys.modules.items()):
            if name.startswith("search") and vars(module).get(original.__name__) is original:
                stack.enter_context(mock.patch.object(module, original.__name__, replacement))
        yield


@_planted
def segment_named_before_written() -> Iterator[None]:
    """The database names a segment whose files are written only afterwards."""
    from search.store import segments

    write, name = segments._written, segments._replace
    kept: list[tuple[Path, bytes]] = []

    def write_later(connection: Any, index: Path, *args: Any) -> Any:
        segment = write(connection, index, *args)
        for path in (index / segment.faiss, index / segment.words) if segment else ():
            kept.append((path, path.read_bytes()))
            os.unlink(path)  # noqa: PTH108 (not a step of the protocol)
        return segment

    def name_first(*args: Any, **options: Any) -> None:
        name(*args, **options)
        for path, data in kept:
            with path.open("wb") as stream:
                stream.write(data)
        kept.clear()

    with (
        mock.patch.object(segments, "_written", write_later),
        mock.patch.object(segments, "_replace", name_first),
    ):
        yield


@_planted
def store_without_transaction() -> Iterator[None]:
    """Every statement is committed by itself."""
    from search.store.writer import Writer

    @contextmanager
    def none(self: Writer, **_: Any) -> Iterator[Any]:
        yield self.connection

    with mock.patch.object(Writer, "transaction", none):
        yield


@_planted
def deleted_before_the_commit() -> Iterator[None]:
    """What a file held is deleted in one transaction, and its new content stored in the next."""
    from search.store.writer import Writer

    store = Writer.store

    def delete_first(self: Writer, batch: Any, *args: Any, **options: Any) -> None:
        whole = [
            work for work in batch if work.records == {document.record for document, _ in work.documents}
        ]
        self.remove([work.file.path for work in whole])
        store(self, batch, *args, **options)

    with mock.patch.object(Writer, "store", delete_first):
        yield


@_planted
def errors_commit() -> Iterator[None]:
    """A transaction that fails is committed as far as it came."""
    from search.store.writer import Writer

    @contextmanager
    def committed(self: Writer, **_: Any) -> Iterator[Any]:
        self.connection.execute("BEGIN IMMEDIATE")
        try:
            yield self.connection
        finally:
            self.connection.execute("COMMIT")

    with mock.patch.object(Writer, "transaction", committed):
        yield


@_planted
def errors_without_path() -> Iterator[None]:
    """SQLite's errors are passed on as they are."""
    from search.store.database import translated

    @contextmanager
    def as_they_are(database: Path) -> Iterator[None]:
        yield

    with _everywhere(translated, as_they_are):
        yield


@_planted
def reader_without_snapshot() -> Iterator[None]:
    """Each statement of a query sees the index as it is at that moment; and there is a moment in between."""
    from search.store.database import connect_to_read
    from search.store.sqlite import Snapshot, Store

    nearest = Snapshot.nearest

    def then_wait(*args: Any) -> Any:
        found = nearest(*args)
        time.sleep(0.02)
        return found

    @contextmanager
    def reading(self: Store) -> Iterator[Any]:
        with contextlib.closing(connect_to_read(self.path / "index.db")) as connection:
            yield Snapshot(self, connection)

    with mock.patch.object(Store, "reading", reading), mock.patch.object(Snapshot, "nearest", then_wait):
        yield


@_planted
def segments_trusted() -> Iterator[None]:
    """The checksums of files of segments are not compared."""
    with mock.patch("search.store.codes.checksum", lambda _: mock.ANY):
        yield


@_planted
def tombstones_ignored() -> Iterator[None]:
    """Passages that were deleted since their segment was written are still looked for in it."""
    from search.store.sqlite import Snapshot

    with mock.patch.object(Snapshot, "_living", lambda *_: None):
        yield


@_planted
def change_of_equal_size_forgotten() -> Iterator[None]:
    """A file whose size is what it was counts as unchanged."""
    from search.indexing.plan import compare

    def forgetful(stored: Any, files: Any, *args: Any, **options: Any) -> Any:
        plan = compare(stored, files, *args, **options)
        sizes = {path: before.size for path, before in stored.items()}
        changed = [(file, old) for file, old in plan.changed if sizes.get(file.path) != file.size]
        return replace(plan, changed=changed)

    with _everywhere(compare, forgetful):
        yield


@_planted
def gone_is_kept() -> Iterator[None]:
    """What is gone from the folder stays in the index."""
    from search.indexing.plan import compare

    with _everywhere(compare, lambda *args, **options: replace(compare(*args, **options), gone={})):
        yield


@_planted
def gone_is_no_message() -> Iterator[None]:
    """That there is no index any more is the system's error."""
    from search.store.database import connect_to_read

    def straight(database: Path, **options: Any) -> Any:
        database.stat()
        return connect_to_read(database, **options)

    with _everywhere(connect_to_read, straight):
        yield


@_planted
def parser_raises() -> Iterator[None]:
    """What tells the encoding fails on some files with an exception of its own."""

    from search.corpus import read

    decode = read.decode

    def fragile(path: str, raw: bytes) -> Any:
        if len(raw) % 3 == 0:
            raise IndexError("list index out of range")
        return decode(path, raw)

    with mock.patch.object(read, "decode", fragile):
        yield


@_planted
def never_synced() -> Iterator[None]:
    """Nothing is forced to disk, neither by us nor by SQLite."""
    from search.store.database import connect_to_write

    def careless(database: Path) -> Any:
        connection = connect_to_write(database)
        connection.execute("PRAGMA synchronous = OFF")
        return connection

    with mock.patch("os.fsync", lambda file: None), _everywhere(connect_to_write, careless):
        yield


@_planted
def segments_never_synced() -> Iterator[None]:
    """The files of a segment are renamed and named without being forced to disk."""
    with mock.patch("os.fsync", lambda file: None):
        yield


@_planted
def texts_not_looked_at() -> Iterator[None]:
    """Texts that are none reach the tokenizer and SQLite, and nobody takes what they say for what it means."""
    from search.cli import app
    from search.encoding.tokenizer import require_characters

    with (
        _everywhere(require_characters, lambda *_: None),
        mock.patch.object(app, "_of_the_system", lambda error: None),
    ):
        yield


@_planted
def shown_as_it_is() -> Iterator[None]:
    """Text goes to the terminal as it stands in files and arguments."""
    from search.render.format import escape

    with _everywhere(escape, lambda text: text):
        yield


@_planted
def words_lack_a_batch_for_a_while() -> Iterator[None]:
    """A batch is stored without its words, which come in the next transaction."""
    from search.store import writer
    from search.store.writer import Writer

    store, add = Writer.store, writer.add

    def words_later(self: Writer, *args: Any, **options: Any) -> None:
        kept: list[Any] = []
        with mock.patch.object(writer, "add", lambda _, passages: kept.extend(passages)):
            store(self, *args, **options)
        with self.transaction():
            add(self, kept)

    with mock.patch.object(Writer, "store", words_later):
        yield


@_planted
def models_trusted() -> Iterator[None]:
    """A converted model is taken as it is, without its checksums."""
    from search.encoding import cache, openvino_engine

    with (
        mock.patch.object(cache, "require_intact", lambda *_: None),
        mock.patch.object(openvino_engine, "require_intact", lambda *_: None),
        mock.patch.object(openvino_engine, "_is_intact", lambda *_: True),
    ):
        yield
