"""An index in a folder -> a generation of it on a server.

    0 sweep    what an earlier run left that was killed: rows that no generation has are deleted, those that were to
               die live again
    1 put      new versions of passages, documents and terms: nobody sees them, as they are of the generation to come
    2 die      old versions, with that generation
    3 commit   the rows of the generation; with its part 0 it answers, for all at once
    4 delete   what died before the generation before it, which readers may still be reading

Each step can be made again: rows are written by their keys. So a run that is killed, or whose server goes away, leaves
the generation that answers as it is, and the next run begins at the top. What is published is known from the ledger
(ledger.py), so only what differs is sent. All is sent anew, into new collections, where the embeddings are others, or
the mean length has moved too far from that which sparse vectors were made with (terms.py).
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from search.errors import IndexDamaged, IndexOutdated, InputError
from search.records.reports import Progress
from search.store.files import writer_lock
from search.store.milvus.address import Address
from search.store.milvus.client import Client
from search.store.milvus.collections import dense_of, drop_others, make_collections, make_generations
from search.store.milvus.generation import (
    Generation,
    View,
    forget,
    load,
    missing,
    names,
    newest,
    published,
    put,
)
from search.store.milvus.layout import (
    ALIVE,
    BORN,
    DENSE,
    DIED,
    FIELDS,
    GENERATION,
    KEY,
    MOST_AT_ONCE,
    ROW,
    SPARSE,
    generations,
)
from search.store.milvus.ledger import Ledger, ledger_of
from search.store.milvus.local import Digested, Local
from search.store.milvus.terms import Terms, holds
from search.store.sqlite import SQLiteStore

if TYPE_CHECKING:
    from search.encoding import Encoder
    from search.store.protocol import Ids

Item = TypeVar("Item")

KINDS = ("passages", "documents", "terms")
_MOST_BYTES = 16 << 20  # of rows that are written at once; a server takes 64 MB


@dataclass(frozen=True)
class Published:
    """What publishing did.

    Attributes:
        generation: that answers now.
        written, ended: passages that were written, and that are of no use any more.
        anew: all was written anew.
        nothing: it was published before.
    """

    generation: Generation
    written: int = 0
    ended: int = 0
    anew: bool = False
    nothing: bool = False


def publish(
    index: Path,
    encoder: Encoder,
    *,
    anew: bool = False,
    progress: Callable[[Progress], None] | None = None,
) -> Published:
    """Let a server answer with an index in a folder as it is now, where its ledger says.

    Args:
        encoder: of the index; the recall of an approximate index of embeddings is measured with it.
        anew: write all, also in the place of what another index published under this name.

    Raises:
        InputError: another index was published under this name.
        StoreUnavailable: the server does not answer; what answered before still does when it is there again.
        IndexLocked: another process is writing to the index.
    """
    with (
        writer_lock(index),
        ledger_of(index) as ledger,
        SQLiteStore(index).reading() as snapshot,
        closing(Client(Address.parse(ledger.address))) as client,
    ):
        return _Publishing(client, ledger, Local(snapshot), encoder, progress).run(anew)


def require_free(address: Address) -> None:
    """
    Raises:
        InputError: an index was published there.
        StoreUnavailable: the server does not answer.
    """
    with closing(Client(address)) as client:
        if found := newest(client):
            raise _taken(address, found)


def unpublish(address: Address) -> None:
    """Delete all that was published there: first what makes it answer.

    Raises:
        IndexNotFound: nothing was.
    """
    with closing(Client(address)) as client:
        name = generations(address.name)
        if address.name not in names(client):
            raise missing(client)
        forget(client, f"{GENERATION} > 0")
        drop_others(client, set())
        client.drop(name)


def _taken(address: Address, found: Generation) -> InputError:
    return InputError(
        f"{address} was published from another index than this, of '{found.root}' ({found.passages:,} passages), or "
        "from a copy of this one. Publish under another name with --store, or put this index in its place with: "
        f"seewhy index FOLDER --store {address} --store-anew"
    )


@dataclass
class _Publishing:
    """One run of it.

    Attributes:
        view: of the generation that is being made.
    """

    client: Client
    ledger: Ledger
    local: Local
    encoder: Encoder
    progress: Callable[[Progress], None] | None
    view: View = field(init=False)
    written: int = 0
    ended: int = 0

    def run(self, anew: bool) -> Published:
        dense = dense_of(self.ledger.kind)
        make_generations(self.client)
        before = self._answering(anew)
        highest = max([0, *published(self.client)])
        sweep(self.client, before)
        if before and not anew:
            self.ledger.back_to(before.number)
            anew = not self._fits(before, dense)
            if not anew and self.ledger.local(before.number) == self.local.snapshot.generation:
                self.ledger.confirm(before.number)
                return Published(before, nothing=True)
        anew = anew or before is None
        self._begin(before, anew, dense, max(self.local.snapshot.generation, highest + 1))
        terms = Terms(self.local.snapshot.indexed, self.ledger.terms())
        self._put_passages(terms)
        self._put_documents()
        self._put_terms(terms)
        if not self.view.generation.exact:
            self._measure()
        generation = self.view.generation
        self.ledger.commit(generation.number, self.local.snapshot.generation)
        put(self.client, generation)
        delete_before(self.client, before or generation)
        self.ledger.confirm(generation.number)
        return Published(generation, self.written, self.ended, anew)

    def _answering(self, anew: bool) -> Generation | None:
        """The generation that answers now, which has to be ours."""
        try:
            found = newest(self.client)
        except (IndexDamaged, IndexOutdated):
            if anew:
                return None
            raise
        if found and not anew and not (found.ledger == self.ledger.id and self.ledger.knows(found.number)):
            raise _taken(self.client.address, found)
        return found

    def _fits(self, before: Generation, dense: dict[str, Any]) -> bool:
        """Whether what is there can be gone on with."""
        made = self.local.snapshot.fingerprint
        there = View(self.client, before)
        return (
            all(self.client.has(there.collection(kind)) for kind in KINDS)
            and before.stamp == self.ledger.stamp
            and not before.made.differences(made)
            and {**before.dense, **dense} == before.dense
            and holds(self.local.snapshot.indexed.mean, before.reference)
        )

    def _begin(self, before: Generation | None, anew: bool, dense: dict[str, Any], number: int) -> None:
        """The generation that is to be made, and its collections."""
        if anew or before is None:
            stamp = max(number, time.time_ns() // 1_000_000)  # never given twice, also where all was deleted
            self.ledger.clear(stamp)
            reference = self.local.snapshot.indexed.mean
            make_collections(self.client, stamp, dense, int(self.local.snapshot.fingerprint.dimension))
        else:
            reference = before.reference
        facts = {"number": number, "stamp": self.ledger.stamp, "ledger": self.ledger.id}
        self.view = View(self.client, self.local.generation(**facts, reference=reference, dense=dense))

    def _put_passages(self, terms: Terms) -> None:
        number, reference = self.view.generation.number, self.view.generation.reference
        ids, known = self.local.snapshot.ids(), self.ledger.ids("passages")
        changed = self._changed(ids) if len(known) else ids

        def rows() -> Iterator[Digested]:
            for row in self.local.whole_rows(changed, number, terms, reference):
                yield row
                self.written += 1
                self._tell(len(changed))

        old = np.concatenate([np.intersect1d(changed, known), np.setdiff1d(known, ids)])
        died = self.ledger.die("passages", old.tolist(), number)
        self._put("passages", rows())
        self._end("passages", died)
        self.ended = len(died)

    def _changed(self, ids: Ids) -> Ids:
        """Those of the passages that are not there, or not as they are now."""
        found: list[int] = []
        for chunk in chunked(self.local.passage_rows(ids, 0), MOST_AT_ONCE):
            said = self.ledger.said("passages", [id_ for id_, _, _ in chunk])
            found += [id_ for id_, digest, _ in chunk if said.get(id_) != digest]
        return np.array(found, dtype=np.int64)

    def _put_documents(self) -> None:
        number, there = self.view.generation.number, set[int]()
        died: list[str] = []

        def rows() -> Iterator[Digested]:
            for chunk in chunked(self.local.document_rows(self.local.documents(), number), MOST_AT_ONCE):
                said = self.ledger.said("documents", sorted(id_ for id_, _, _ in chunk))
                changed = [row for row in chunk if said.get(row[0]) != row[1]]
                there.update(id_ for id_, _, _ in chunk)
                died.extend(self.ledger.die("documents", [id_ for id_, _, _ in changed], number))
                yield from changed

        self._put("documents", rows())
        gone = [id_ for id_ in self.ledger.ids("documents").tolist() if id_ not in there]
        self._end("documents", died + self.ledger.die("documents", gone, number))

    def _put_terms(self, terms: Terms) -> None:
        number = self.view.generation.number
        changed, dying = terms.known(number), terms.dying()
        self.ledger.die("terms", [term.number for term in changed.values()], number)
        self.ledger.add(
            "terms", number, ((its, key.encode(), count) for key, (its, count, _) in changed.items())
        )
        for rows in chunked(terms.rows(number), MOST_AT_ONCE):
            self.client.put(self.view.collection("terms"), rows)
        self._end("terms", dying)

    def _put(self, kind: str, rows: Iterable[Digested]) -> None:
        """New versions, on the server and in the ledger."""
        number = self.view.generation.number
        for batch in batches(rows):
            self.client.put(self.view.collection(kind), [row for _, _, row in batch])
            self.ledger.add(kind, number, ((id_, digest, 0) for id_, digest, _ in batch))

    def _end(self, kind: str, keys: list[str]) -> None:
        """Old versions die with the generation."""
        set_died(self.client, self.view.collection(kind), keys, self.view.generation.number)

    def _measure(self) -> None:
        """Write down what an approximate index of embeddings finds."""
        from search.store.milvus.recall import measured

        recall, queries = measured(self.view, self.local.snapshot, self.encoder)
        dense = {**self.view.generation.dense, "recall@10": recall, "queries": queries}
        self.view = View(self.client, replace(self.view.generation, dense=dense))

    def _tell(self, total: int) -> None:
        if self.progress:
            self.progress(Progress("publishing", self.written, total, passages=self.written))


def sweep(client: Client, answering: Generation | None) -> None:
    """Undo what a run did that was killed before what it published answered."""
    number = answering.number if answering else 0
    forget(client, f"{GENERATION} > {number}")
    _drop_unreadable(client)
    if answering is None:
        return
    view = View(client, answering)
    for kind in KINDS:
        name = view.collection(kind)
        if not client.has(name):  # somebody dropped it: all is written anew
            continue
        client.delete(name, f"{BORN} > {number}")
        while rows := client.query(name, f"{DIED} > {number} and {DIED} < {ALIVE}", [KEY]):
            set_died(client, name, [row[KEY] for row in rows], ALIVE)


def delete_before(client: Client, oldest: Generation) -> None:
    """Delete what no reader of a generation, or of a later one, asks for."""
    forget(client, f"{GENERATION} < {oldest.number}")
    _drop_unreadable(client)
    for kind in KINDS:
        name = View(client, oldest).collection(kind)
        if client.has(name):
            client.delete(name, f"{DIED} <= {oldest.number}")


def _drop_unreadable(client: Client) -> None:
    """Drop the collections that are of no generation that can be read."""
    stamps = set()
    for number in published(client):
        with suppress(IndexDamaged, IndexOutdated):
            stamps |= {found.stamp for found in [load(client, number)] if found}
    drop_others(client, stamps)


def set_died(client: Client, name: str, keys: list[str], died: int) -> None:
    """Of rows by their keys."""
    for chunk in chunked(keys, MOST_AT_ONCE):
        client.put(name, [{KEY: key, DIED: died} for key in chunk], partial=True)


def batches(rows: Iterable[Digested]) -> Iterator[list[Digested]]:
    """Rows as they are written at once: so many, and so few bytes, as one request takes."""
    batch, size = list[Digested](), 0
    for one in rows:
        batch.append(one)
        size += _bytes(one[2])
        if len(batch) == MOST_AT_ONCE or size >= _MOST_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _bytes(row: dict[str, Any]) -> int:
    """About what a row takes in a request."""
    return (
        500
        + len(row[ROW])
        + len(json.dumps(row.get(FIELDS)))
        + 8 * len(row.get(SPARSE, ()))
        + 4 * len(row.get(DENSE, ()))
    )


def chunked(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    """In lists of at most so many."""
    rest = iter(items)
    while chunk := list(islice(rest, size)):
        yield chunk
