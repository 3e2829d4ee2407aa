"""One run of indexing, with the lock held and the database open."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from concurrent.futures import wait
from contextlib import closing
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from search.corpus import Skipped, SourceFile
from search.corpus.boilerplate import common
from search.corpus.walk import FOLDER_FILE
from search.encoding.encoder import Encoder
from search.encoding.fingerprint import Fingerprint
from search.errors import InputError
from search.indexing.batches import batches_ahead, cutter_for, room_for
from search.indexing.plan import Plan, compare, nothing_to_index
from search.indexing.sampling import renew_baseline
from search.records.documents import Passage
from search.records.reports import Progress, Report
from search.store import segments
from search.store.database import all_meta, one_meta
from search.store.folders import Folders, as_text
from search.store.passages import Rows, content_key, way_on
from search.store.settings import MOST_BOILERPLATE, PassageSettings, Source
from search.store.sqlite import Snapshot, Store
from search.store.status import skipped_groups, stored_files, tokens_beyond
from search.store.token_vectors import missing_token_vectors
from search.store.writer import Work, Writer, as_blob

if TYPE_CHECKING:
    from concurrent.futures import Future

    import numpy as np
    from numpy.typing import NDArray

    from search.encoding.workers import Workers

_REPORTED = ("added", "changed", "renamed", "removed", "unchanged", "encoded", "encoded_tokens", "reused")


@dataclass(frozen=True)
class HandedOut:
    """A batch whose new texts are being encoded, or are about to be.

    Attributes:
        passages: of each content one, by its key.
        vectors: of the contents that were encoded before.
        new: the keys of the others, but for those that are new in a batch before it.
        encoding: what workers will have made of these; None where this process is to encode them, or there is none.
    """

    batch: Sequence[Work]
    passages: dict[bytes, Passage]
    vectors: dict[bytes, bytes]
    new: list[bytes]
    encoding: Future[NDArray[np.float32]] | None

    @property
    def texts(self) -> list[str]:
        return [self.passages[key].encoded for key in self.new]


@dataclass
class Run:
    """What `update` does between taking the lock and giving it back.

    Attributes:
        database: the file that is written to: another than the index's for a rebuild.
        renamed: paths that are gone because the file has another one now.
        away: see `Plan`.
        workers: who encodes; None for this process alone.
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

    def __post_init__(self) -> None:
        self.folder, self.connection = self.folder.resolve(), self.writer.connection
        self.folders = Folders(self.folder, self.source.folders)
        self.max_tokens = room_for(self.encoder)

    def all(self, files: Sequence[SourceFile], skipped: Sequence[Skipped], *, verify: bool = False) -> Report:
        self._claim()
        plan = compare(stored_files(self.connection), files, skipped, verify=verify)
        if self.writer.streams:  # a row holds its path, so a file under another name is another file
            plan = replace(plan, gone=dict.fromkeys(plan.gone))
        self.away, self.counts["unchanged"] = plan.away, plan.unchanged
        self.counts["total_bytes"] = sum(file.size for file, _ in plan.changed)
        if plan.changed:
            cutter = cutter_for(self.encoder, self.settings, self._boilerplate(plan))
            batches = batches_ahead(self.database, plan, cutter, self.source)
            with closing(batches):  # at once, also when this is left by Ctrl-C
                for handed in self._handed_out(batches):
                    self._commit(handed)
        if removed := [path for path in plan.gone if path not in self.renamed]:
            self.counts["removed"] = len(removed)
            self.counts["removed_documents"] = self.writer.remove(removed)
        if not one_meta(self.connection, "passages"):
            reasons = Counter(item.reason for item in skipped)
            reasons.update({group.reason: group.count for group in skipped_groups(self.connection)})
            raise InputError(nothing_to_index(self.folders, reasons, False))
        self._tell("saving")
        if not self.writer.streams:
            self._derive()
        facts = {"updated": datetime.now().astimezone().isoformat(timespec="seconds"), "complete": True}
        if self.counts["encoded"]:
            facts["engine"] = self.encoder.runs_on
        self.writer.finish(skipped, **facts)
        return self._report()

    def _derive(self) -> None:
        """Make what is derived from the passages."""
        segments.renew(self.writer, self.index, self.encoder.dimension)
        renew_baseline(self.writer, Snapshot(Store(self.index), self.connection), self.encoder)
        if self.source.token_vectors:
            renew_token_vectors(self.writer, self.encoder, self.progress)
        else:
            self.writer.drop_token_vectors()

    def _claim(self) -> None:
        """Write down what this index is of and made with, or check that it is the same."""
        fingerprint = replace(self.encoder.fingerprint, passages=self.settings.as_json())
        meta = all_meta(self.connection)
        if "fingerprint" in meta:
            Fingerprint.from_dict(meta["fingerprint"]).require_equal(fingerprint)
            held = Folders.from_meta(meta)
            if held != self.folders:
                raise InputError(
                    f"the index in '{self.index}' is of {held.described}, not of {as_text(self.folders.paths)}. "
                    "Give another --index, or --rebuild to put what you named in its place."
                )
            before = Source.from_dict(meta["source"])
            if (before.text_field, before.title_field) != (self.source.text_field, self.source.title_field):
                self.writer.read_again()
        self.writer.note(
            root=str(self.folder), fingerprint=fingerprint.as_dict(), source=asdict(self.source), complete=False
        )  # fmt: skip

    def _boilerplate(self, plan: Plan) -> frozenset[int]:
        """What stands in many files, of those that are to be read or that earlier runs read."""
        known = frozenset(all_meta(self.connection).get("boilerplate", ()))
        found = common(file for file, _ in plan.changed)
        if not found <= known:
            self.writer.note(boilerplate=sorted(known | found)[:MOST_BOILERPLATE])
        return known | found

    def _handed_out(self, batches: Iterable[Sequence[Work]]) -> Iterator[HandedOut]:
        """Each batch, in order; with workers, the next ones are with them when it is stored."""
        waiting: deque[HandedOut] = deque()
        for batch in batches:
            coming = {key for handed in waiting for key in handed.new if not self.writer.streams}
            waiting.append(self._hand_out(batch, coming))
            while len(waiting) > (self.workers.ahead if self.workers else 0):
                yield waiting.popleft()
        yield from waiting

    def _hand_out(self, batch: Sequence[Work], coming: Set[bytes]) -> HandedOut:
        found = [(document, p) for work in batch for document, cut in work.documents for p in cut]
        by_key = {content_key(p.context, p.shown): (document, p) for document, p in found}
        vectors = self.writer.stored_embeddings(by_key)
        new = [key for key in by_key if key not in vectors and key not in coming]
        handed = HandedOut(batch, {key: p for key, (_, p) in by_key.items()}, vectors, new, None)
        if not self.workers or not new:
            return handed

        def named(position: int) -> str:
            document, passage = by_key[new[position]]
            first, last = document.lines.span(passage.start, passage.end)
            return f"the passage in lines {first} to {last} of '{document.name}'"

        return replace(handed, encoding=self.workers.submit(handed.texts, named))

    def _encoded(self, handed: HandedOut, tell: Callable[[int, int], None]) -> NDArray[np.float32]:
        """The embeddings of what is new in a batch."""
        if not handed.encoding:
            return self.encoder.encode(handed.texts, role="document", progress=tell)
        while wait([handed.encoding], 1).not_done:  # a wait without end could not be interrupted on Windows
            pass
        return handed.encoding.result()

    def _commit(self, handed: HandedOut) -> None:
        """Wait for what is new in a batch, store it, count it."""
        everything, passages, new = handed.batch, handed.passages, handed.new
        same = [work for work in everything if work.outcome == "same bytes"]
        batch = [work for work in everything if work.outcome != "same bytes"]
        self.counts["unchanged"] += sum(bool(work.records) for work in same)
        if same:
            self.writer.touch(work.file for work in same)
        n_passages = sum(work.n_passages for work in batch)
        n_tokens = sum(passages[key].n_tokens for key in new)
        # A file that goes on in the next batch counts by the characters of its documents up to there.
        last, before = everything[-1], self.counts["bytes_ahead"]
        ahead = sum(len(document.text) for document, _ in last.documents) + before * (len(everything) == 1)
        ahead = 0 if last.last else min(ahead, last.file.size)
        size = sum(max(work.file.size, 0) for work in everything if work.last) + ahead - before

        def tell(done: int, total: int) -> None:
            share = done / total
            self._tell("encoding", size * share, int(n_tokens * share), int(len(new) * share))

        vectors = dict(handed.vectors)
        if new:
            encoded = self._encoded(handed, tell)
            vectors |= {key: as_blob(vector) for key, vector in zip(new, encoded, strict=True)}
        # What was new in a batch before this one is stored by now.
        vectors |= self.writer.stored_embeddings(passages.keys() - vectors.keys())
        if batch:
            self.writer.store(batch, vectors)
            segments.seal_if_full(self.writer, self.index, self.encoder.dimension)
        self.renamed.update(work.renamed_from for work in batch if work.renamed_from is not None)
        self.counts.update(
            encoded=len(new),
            encoded_tokens=n_tokens,
            reused=n_passages - len(new),
            documents=sum(len(work.documents) for work in batch),
            passages=n_passages,
            done_bytes=size,
            bytes_ahead=ahead - before,
        )
        self.counts.update(work.outcome for work in batch)
        self._tell("reading")

    def _tell(self, stage: str, more_bytes: float = 0, tokens: int = 0, passages: int = 0) -> None:
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

    def _report(self) -> Report:
        n_documents, n_passages, n_tokens = self.writer.counts()
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
            removed_documents=self.counts["removed_documents"],
            notes=(
                *self.encoder.notes,
                *(self.workers.notes if self.workers else ()),
                *self._about_folders(),
                *self._annotations_that_lack(),
            ),
            **{name: self.counts[name] for name in _REPORTED},
        )

    def _about_folders(self) -> Iterator[str]:
        """What is to be said of several folders."""
        for path in self.folders.paths if self.folders.names else ():
            if (path / FOLDER_FILE).exists():
                yield (
                    f"'{path / FOLDER_FILE}' is left aside, as the index is of several folders; "
                    "say --include and --exclude"
                )
        for name in self.away:
            yield f"'{self.folder / name}' is gone or has no text; what the index holds of it stays as it was"

    def _annotations_that_lack(self) -> Iterator[str]:
        """What is to be said of passages that are new to annotators, once for a run that stored some."""
        if self.counts["passages"]:
            for one in Rows(self.connection).annotators():
                if not one.complete:
                    way = way_on(one, self.index)
                    yield f"new passages have no annotations yet ({one.progress}); go on with: {way}"


def renew_token_vectors(
    writer: Writer, encoder: Encoder, progress: Callable[[Progress], None] | None
) -> None:
    """Encode the tokens of the passages that have no token vectors."""
    for rows, done, total in missing_token_vectors(writer.connection, encoder):
        writer.put_token_vectors(rows)
        if progress:
            progress(Progress("token vectors of", done, total, passages=done))
