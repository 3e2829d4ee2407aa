"""What a server is given of an index in a folder, read from one state of it and a piece at a time."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from search.errors import IndexDamaged
from search.store.milvus.facts import annotator_row, baseline_row, status_row
from search.store.milvus.fields import catalog, fields_of
from search.store.milvus.generation import Generation
from search.store.milvus.layout import BORN, DIED, FIELDS, KEY
from search.store.milvus.rows import document_row, embedding_fields, passage_row
from search.store.milvus.terms import Terms
from search.store.passages import annotations_by_name
from search.store.sqlite import SQLiteSnapshot

if TYPE_CHECKING:
    from search.records.reports import Status
    from search.store.protocol import Ids

Digested = tuple[int, bytes, dict[str, Any]]
"""The id of a passage or document, what tells whether it is as it was, and its row."""

_AT_ONCE = 500
_OF_VERSION = (KEY, BORN, DIED)


class Local:
    """One state of an index in a folder."""

    def __init__(self, snapshot: SQLiteSnapshot) -> None:
        self.snapshot = snapshot
        self.root = str(snapshot.root)

    @cached_property
    def status(self) -> Status:
        return self.snapshot.status(0.0)

    def documents(self) -> Ids:
        """The first passage of each document, increasing."""
        rows = self.snapshot.connection.execute("SELECT min(id) FROM passages GROUP BY document")
        return np.sort(np.fromiter((id_ for (id_,) in rows), dtype=np.int64))

    def document_rows(self, passages: Ids, born: int) -> Iterator[Digested]:
        """Of the documents of passages."""
        for chunk in _chunks(passages):
            for stored in self.snapshot.stored(chunk).values():
                yield _digested(stored.document_id, document_row(stored, self.root, born))

    def passage_rows(self, passages: Ids, born: int) -> Iterator[Digested]:
        """Of passages by increasing ids, without what is of meaning and words: both belong to the content."""
        for chunk in _chunks(passages):
            stored = self.snapshot.stored(chunk)
            said = annotations_by_name(self.snapshot.connection, chunk)
            for id_, tokens, copy in self._facts(chunk):
                row = passage_row(stored[id_], self.root, born, tokens=tokens, copy=copy, said=said.get(id_))
                yield _digested(id_, row | {FIELDS: fields_of(stored[id_], self.root)})

    def whole_rows(self, passages: Ids, born: int, terms: Terms, reference: float) -> Iterator[Digested]:
        """As `passage_rows`, with all that a row has."""
        words = terms.vectors(passages, reference)
        rows = self.passage_rows(passages, born)
        for chunk in _chunks(passages):
            for vector in self.snapshot.embeddings(chunk):
                id_, digest, row = next(rows)
                its, of_words = next(words, (0, {}))
                if its != id_:
                    raise IndexDamaged(
                        f"passage {id_} of the index has no words. Mend it with: seewhy repair"
                    )
                yield id_, digest, row | embedding_fields(id_, vector) | of_words

    def _facts(self, passages: Sequence[int]) -> list[tuple[int, int, int]]:
        """Id, tokens and the key of its text, of passages by increasing ids."""
        return self.snapshot.connection.execute(
            """SELECT id, n_tokens, text_key FROM passages JOIN embeddings ON passage = id
               WHERE id IN (SELECT value FROM json_each(?)) ORDER BY id""",
            (json.dumps(list(passages)),),
        ).fetchall()

    def generation(self, **facts: Any) -> Generation:
        """What the generation says that this state is to be; `facts` are those that only a publisher knows."""
        snapshot, status = self.snapshot, self.status
        baseline = snapshot.random_pairs()
        return Generation(
            passages=status.passages,
            documents=status.documents,
            tokens=status.tokens,
            mean=snapshot.indexed.mean,
            fingerprint=dict(status.fingerprint),
            root=self.root,
            source=_plain(asdict(snapshot.source)),
            choice=dict(snapshot.choice),
            status={**_plain(status_row(status)), "published": time.strftime("%Y-%m-%d %H:%M:%S")},
            annotators=[_plain(annotator_row(one)) for one in snapshot.annotators()],
            baseline=baseline_row(baseline) if baseline else None,
            fields=_plain(catalog(snapshot.connection)),
            facets=[_plain(asdict(one)) for one in snapshot.facets(None)],
            **facts,
        )


def _chunks(ids: Ids) -> Iterator[list[int]]:
    return (ids[start : start + _AT_ONCE].tolist() for start in range(0, len(ids), _AT_ONCE))


def _digested(id_: int, row: dict[str, Any]) -> Digested:
    said = json.dumps({name: value for name, value in row.items() if name not in _OF_VERSION}, sort_keys=True)
    return id_, hashlib.blake2b(said.encode(), digest_size=16).digest(), row


def _plain(record: dict[str, Any]) -> dict[str, Any]:
    """As JSON has it."""
    return dict(json.loads(json.dumps(record)))
