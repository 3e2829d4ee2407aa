"""One run of indexing; the caller holds the writer's lock and has opened the database.

A run has two phases. In the first, all new and changed files are read, cut and stored, so that their passages can be
searched: they are *pending*. In the second, they are encoded (encode_pending.py). Each phase commits batch by batch,
and a killed run is continued by the next one, in either. Passages on a server, and those of documents from memory, are
encoded before they are stored.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import closing
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from search.corpus import Skipped, SourceFile
from search.corpus.boilerplate import MOST_BOILERPLATE, common
from search.encoding.encoder import Encoder
from search.errors import InputError
from search.indexing.compare import RunPlan, compare, newest_first, nothing_to_index
from search.indexing.encode_pending import encode_pending, encoded_texts
from search.indexing.read import batches_ahead, cutter_for, room_for
from search.indexing.sampling import renew_baseline, renew_foreign_cosine
from search.indexing.token_vectors import add_missing_token_vectors
from search.records.documents import ParsedDocument, Passage
from search.records.reports import Lazy, Outcome, Progress, Report
from search.store import segments
from search.store.contents import Earlier
from search.store.database import all_meta, one_meta
from search.store.file_states import stored_files
from search.store.files import DATABASE
from search.store.passages import passage_key
from search.store.pending import count_pending, pending_tokens
from search.store.settings import Folders, PassageSettings, Source, fingerprint_of
from search.store.snapshot import Snapshot, Store
from search.store.status import skipped_groups, tokens_beyond
from search.store.writer import FileUpdate, Writer, as_blob

if TYPE_CHECKING:
    from concurrent.futures import Future

    import numpy as np
    from numpy.typing import NDArray

    from search.encoding.workers import Workers

_REPORTED = ("added", "changed", "renamed", "removed", "unchanged", "encoded", "reused")


@dataclass
class Batch:
    """Files that were read and cut, and the new texts in them, which are encoded before the batch is stored.

    Attributes:
        works: files, or pieces of them.
        passages: content key -> one passage with that content, and its document.
        vectors: content key -> embedding, for contents that were encoded before.
        new: keys of the contents to encode, which are neither in `vectors` nor in the previous batch.
        encoding: future result of the workers; None if this process encodes, or if nothing is new.
    """

    works: Sequence[FileUpdate]
    passages: dict[bytes, tuple[ParsedDocument, Passage]]
    vectors: dict[bytes, bytes]
    new: list[bytes]
    encoding: Future[NDArray[np.float32]] | None = None

    @property
    def texts(self) -> list[str]:
        return [self.passages[key][1].encoded for key in self.new]

    def name(self, position: int) -> str:
        """Return the path and lines of the text with this index in `new`, for an error message."""
        document, passage = self.passages[self.new[position]]
        first, last = document.lines.span(passage.start, passage.end)
        return f"the passage in lines {first} to {last} of '{document.name}'"


@dataclass
class Run:
    """One run of `update`, while it holds the writer's lock.

    Attributes:
        database: path of the database to write; a rebuild writes a new one.
        renamed: old paths of renamed files.
        away: folders that are gone or contain no text, see `RunPlan`.
        workers: pool of workers that encode passages; None if this process encodes.
        earlier: the index that a rebuild replaces, whose embeddings are taken over; None to encode all passages.
        lazy: leave out the second phase.
    """

    folder: Path
    index: Path
    database: Path
    writer: Writer
    encoder: Encoder
    settings: PassageSettings
    source: Source
    progress: Callable[[Progress], None] | None
    counts: Counter[str] = field(default_factory=Counter)
    renamed: set[str] = field(default_factory=set)
    away: tuple[str, ...] = ()
    workers: Workers | None = None
    earlier: Earlier | None = None
    lazy: Lazy = False

    def __post_init__(self) -> None:
        self.folder = self.folder.resolve()
        self.folders = Folders(self.folder, self.source.folders)
        self.connection = self.writer.connection
        self.max_tokens = room_for(self.encoder)
        # Characters that were read of the file whose documents come in several batches.
        self._characters_read = 0

    def execute(self, files: Sequence[SourceFile], skipped: Sequence[Skipped], walked_ns: int) -> Report:
        """Bring the index to the state of its folder.

        Args:
            files, skipped: result of a walk of the folder.
            walked_ns: when the walk began, in nanoseconds since 1970.
        """
        self._claim()
        before_ns = one_meta(self.connection, "walked_ns")
        plan = compare(stored_files(self.connection), files, skipped, before_ns)
        plan = replace(plan, changed=newest_first(plan.changed, walked_ns))
        if self.writer.streams:  # rows on a server contain the path, so a renamed file is a new file
            plan = replace(plan, gone=dict.fromkeys(plan.gone))
        self.away, self.counts["unchanged"] = plan.away, plan.unchanged
        self.counts["total_bytes"] = sum(file.size for file, _ in plan.changed)
        if plan.changed:
            cutter = cutter_for(self.encoder, self.settings, self._boilerplate(plan))
            batches = batches_ahead(self.database, plan, cutter, self.source)
            with closing(batches):  # stops the reading thread at once, also after Ctrl-C
                if self.writer.streams:
                    self.commit_all(batches)
                else:
                    self._store_all(batches, len(plan.changed))
        if removed := [path for path in plan.gone if path not in self.renamed]:
            self.counts["removed"] = len(removed)
            self.writer.remove(removed)
        if not one_meta(self.connection, "passages"):
            reasons = Counter(item.reason for item in skipped)
            reasons.update({group.reason: group.count for group in skipped_groups(self.connection)})
            raise InputError(nothing_to_index(self.folders, reasons, False))
        if self.writer.streams:
            self._report_progress("saving")
            self.writer.finish(skipped, complete=True, walked_ns=walked_ns, **self._about_the_end())
            return self.report()
        self.writer.finish(skipped, updated=_now(), walked_ns=walked_ns, lazy=self.lazy is True)
        if not self.lazy:
            self._encode_all()
        self._report_progress("saving")
        self.derive()
        self.writer.complete(**self._about_the_end())
        return self.report()

    def _about_the_end(self) -> dict[str, Any]:
        about: dict[str, Any] = {"updated": _now()}
        if self.counts["encoded"]:
            about |= {"engine": self.encoder.runs_on, "model_notes": self.encoder.model_notes}
        return about

    def _store_all(self, batches: Iterable[Sequence[FileUpdate]], files: int) -> None:
        """Store files that were read and cut, batch by batch; contents that are encoded keep their embeddings.

        Args:
            files: number of files to read.
        """
        self._report_progress("reading")
        for works in batches:
            files -= sum(work.last for work in works)
            self._store(works, self._stored_embeddings(works), unread=files)
            self.counts["done_bytes"] += self._bytes_of(works)
            self._report_progress("reading")

    def _stored_embeddings(self, works: Sequence[FileUpdate]) -> dict[bytes, bytes]:
        """Return the embeddings of the contents in some files that were encoded before."""
        if not self.writer.has_embeddings():  # in a first run, which saves the keys of all contents
            return {}
        passages = (passage for work in works for _, cut in work.documents for passage in cut)
        return self.writer.stored_embeddings({passage_key(passage) for passage in passages})

    def _encode_all(self) -> None:
        """Encode what is pending."""
        pending = count_pending(self.connection)
        if not pending:
            return
        total = pending_tokens(self.connection)
        passages = self.writer.counts()[1]
        encoded = passages - pending

        def on_encoded(done: int, contents: int, tokens: int) -> None:
            nonlocal encoded
            encoded += done
            self.counts.update(encoded=contents, reused=done - contents)
            if self.progress:
                self.progress(
                    Progress(
                        "encoding",
                        min(tokens, total),
                        total,
                        passages=encoded,
                        tokens=tokens,
                        # A rebuild is not asked before its end.
                        searchable=passages if self.database == self.index / DATABASE else 0,
                    )
                )

        on_encoded(0, 0, 0)
        encode_pending(self.writer, self.index, self.encoder, self.workers, on_encoded)

    def commit_all(self, batches: Iterable[Sequence[FileUpdate]]) -> None:
        """Encode and store files that were read and cut, batch by batch."""
        for batch in self._in_order(batches):
            self._commit(batch)

    def derive(self) -> None:
        """Write everything derived from the passages: segments, null distribution, token vectors."""
        if count_pending(self.connection):
            return  # all of it needs the embeddings of all passages
        segments.write_missing_codes(self.writer, self.index, self.encoder.dimension)
        segments.flush(self.writer, self.index, self.encoder.dimension)
        snapshot = Snapshot(Store(self.index), self.connection)
        renew_baseline(self.writer, snapshot, self.encoder)
        renew_foreign_cosine(self.writer, snapshot, self.encoder)
        if self.source.token_vectors:
            add_missing_token_vectors(self.writer, self.encoder, self.progress)
        else:
            self.writer.drop_token_vectors()

    def _claim(self) -> None:
        """Store the folders and settings of this index, or check that they have not changed."""
        fingerprint = replace(self.encoder.fingerprint, passages=self.settings.as_json())
        meta = all_meta(self.connection)
        if "fingerprint" in meta:
            fingerprint_of(meta).require_equal(fingerprint)
            folders = Folders.from_meta(meta)
            if folders != self.folders:
                raise InputError(
                    f"the index in '{self.index}' belongs to {folders.described}. Give another --index, or --rebuild."
                )
            stored = Source.from_dict(meta["source"])
            # An index without "languages" was made before they were recorded.
            if stored.fields != self.source.fields or "languages" not in meta:
                self.writer.read_again()
        self.writer.note(
            languages=True,
            root=str(self.folder),
            fingerprint=asdict(fingerprint),
            source=asdict(self.source),
            complete=False,
        )

    def _boilerplate(self, plan: RunPlan) -> frozenset[int]:
        """Return the keys of boilerplate texts, determined from the files to read and from earlier runs.

        Beyond the limit for stored keys, those of earlier runs are kept, because stored passages were cut by them; then
        the most frequent ones.
        """
        stored = one_meta(self.connection, "boilerplate", [])
        keys = dict.fromkeys([*stored, *common(file for file, _ in plan.changed)])
        kept = [*keys][:MOST_BOILERPLATE]
        if kept != stored:
            self.writer.note(boilerplate=kept)
        return frozenset(keys)

    def _in_order(self, batches: Iterable[Sequence[FileUpdate]]) -> Iterator[Batch]:
        """Yield the batches in order; workers encode the next ones while a batch is stored."""
        waiting: deque[Batch] = deque()
        for works in batches:
            coming = {key for batch in waiting for key in batch.new if not self.writer.streams}
            waiting.append(self._begin(works, coming))
            while len(waiting) > (self.workers.ahead if self.workers else 0):
                yield waiting.popleft()
        yield from waiting

    def _begin(self, works: Sequence[FileUpdate], coming: Set[bytes]) -> Batch:
        passages = {
            passage_key(passage): (document, passage)
            for work in works
            for document, cut in work.documents
            for passage in cut
        }
        own = {key: passage.vector for key, (_, passage) in passages.items() if passage.vector}
        vectors = own | self.writer.stored_embeddings(passages.keys() - own.keys())
        if self.earlier:
            vectors |= self.earlier.embeddings(passages.keys() - vectors.keys())
        stored_soon = vectors.keys() | coming
        batch = Batch(works, passages, vectors, [key for key in passages if key not in stored_soon])
        if self.workers and batch.new:
            batch.encoding = self.workers.submit(batch.texts, batch.name)
        return batch

    def _commit(self, batch: Batch) -> None:
        """Wait for the new embeddings of a batch, then store and count it."""
        n_tokens = sum(batch.passages[key][1].n_tokens for key in batch.new)
        size = self._bytes_of(batch.works)

        def report_progress(done: int, total: int) -> None:
            share = done / total
            self._report_progress(
                "encoding", size * share, int(n_tokens * share), int(len(batch.new) * share)
            )

        vectors = batch.vectors
        if batch.new:
            encoded = encoded_texts(batch.texts, batch.encoding, self.encoder, report_progress)
            vectors |= {key: as_blob(vector) for key, vector in zip(batch.new, encoded, strict=True)}
        # Contents that were new in an earlier batch are stored by now.
        vectors |= self.writer.stored_embeddings(batch.passages.keys() - vectors.keys())
        self._store(batch.works, vectors, new=len(batch.new))
        self.counts.update(encoded=len(batch.new), encoded_tokens=n_tokens, done_bytes=size)
        self._report_progress("reading")

    def _store(
        self,
        works: Sequence[FileUpdate],
        vectors: Mapping[bytes, bytes],
        *,
        new: int = 0,
        unread: int | None = None,
    ) -> None:
        """Store files and count them.

        Args:
            vectors: embeddings by the keys of their contents, as for `Writer.store`.
            new: number of these that the run has encoded; others are reused.
            unread: as for `Writer.store`.
        """
        changed = [work for work in works if work.outcome is not Outcome.TOUCHED]
        if touched := [work for work in works if work.outcome is Outcome.TOUCHED]:
            self.counts["unchanged"] += sum(bool(work.records) for work in touched)
            self.writer.touch(work.file for work in touched)
        if changed:
            self.writer.store(changed, vectors, unread=unread)
            segments.flush_if_full(self.writer, self.index, self.encoder.dimension)
        self.renamed.update(work.renamed_from for work in changed if work.renamed_from is not None)
        passages = [passage for work in changed for _, cut in work.documents for passage in cut]
        n_stored = sum(passage_key(passage) in vectors for passage in passages) if vectors else 0
        self.counts.update(
            reused=n_stored - new,
            passages=len(passages),
            documents=sum(len(work.documents) for work in changed),
        )
        self.counts.update(work.outcome.value for work in changed if work.outcome)

    def _bytes_of(self, works: Sequence[FileUpdate]) -> int:
        """Return the bytes of a batch's files, for progress; for a partly read file, the characters read so far."""
        last, before = works[-1], self._characters_read
        characters = sum(len(document.text) for document, _ in last.documents)
        if len(works) == 1:  # the file may have begun in an earlier batch
            characters += before
        self._characters_read = 0 if last.last else min(characters, last.file.size)
        whole_files = sum(max(work.file.size, 0) for work in works if work.last)
        return whole_files + self._characters_read - before

    def _report_progress(
        self, stage: str, more_bytes: float = 0, tokens: int = 0, passages: int = 0
    ) -> None:
        if self.progress:
            self.progress(
                Progress(
                    stage=stage,
                    done=int(self.counts["done_bytes"] + more_bytes),
                    total=self.counts["total_bytes"],
                    documents=self.counts["documents"],
                    passages=self.counts["passages"] + passages,
                    tokens=self.counts["encoded_tokens"] + tokens,
                )
            )

    def report(self) -> Report:
        """Return a report of what the run has stored so far, and the totals of the index."""
        n_documents, n_passages, n_tokens = self.writer.counts()
        notes = [*self.encoder.notes]
        if self.workers:
            notes += self.workers.notes
        for name in self.away:
            notes.append(
                f"'{self.folder / name}' is gone or contains no text; its passages stay in the index"
            )
        return Report(
            folder=str(self.folder),
            folders=self.folders.several,
            index=str(self.index),
            documents=n_documents,
            passages=n_passages,
            tokens=n_tokens,
            truncated_tokens=tokens_beyond(self.connection, self.max_tokens),
            skipped=skipped_groups(self.connection),
            seconds=0.0,
            notes=tuple(notes),
            pending=count_pending(self.connection),
            prompts=self.encoder.fingerprint.prompts_line,
            **{name: self.counts[name] for name in _REPORTED},
        )


def _now() -> str:
    return datetime.now().astimezone().isoformat(timespec="seconds")
