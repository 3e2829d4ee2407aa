"""Encode pending passages when a question looks at them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

from search.errors import SearchError
from search.ranking.propose import Proposer
from search.store.files import DATABASE, is_being_written, writer_lock
from search.store.passages import PassageText, passage_texts
from search.store.pending import NotEncoded

if TYPE_CHECKING:
    from search.encoding import Encoder
    from search.ranking.question import EncodedQuery
    from search.store.snapshot import Ids, Snapshot, Store

Answer = TypeVar("Answer")

_TRIES = 5  # a writer may store other passages meanwhile
AT_A_TIME = 20  # passages; then the next ones are proposed with what these teach


def encode_for(
    store: Store,
    encoder: Encoder,
    query: EncodedQuery,
    share: float,
    passing: Callable[[Snapshot], Ids | None],
    most: int,
) -> int:
    """Encode the pending passages that a question should look at; return their number.

    Args:
        share: weight of the cosine in the score.
        passing: returns the passages of a snapshot that may be ranked; None for all.
        most: maximum number of passages to encode.
    """
    if not share or not most:
        return 0
    proposer = Proposer(query, share)
    looked = 0
    while looked < most:
        with store.reading() as snapshot:
            if not len(snapshot.pending):
                break
            among = passing(snapshot)
            left = most - looked
            n = min(AT_A_TIME, left) if len(snapshot.pending) > left else left
            texts = passage_texts(snapshot.connection, proposer.next(snapshot, n, among))
        if not texts:
            break
        _encode(store, encoder, texts)
        looked += len(texts)
    _keep(store, encoder)
    return looked


def encoding_what_lacks(
    store: Store, encoder: Callable[[], Encoder], work: Callable[[], Answer]
) -> Answer:
    """Return the result of `work`; if it needs embeddings of pending passages, encode them and repeat it."""
    for _ in range(_TRIES):
        try:
            return work()
        except NotEncoded as lacking:
            with store.reading() as snapshot:
                texts = passage_texts(snapshot.connection, lacking.passages)
            _encode(store, encoder(), texts)
            _keep(store, encoder())
    return work()


def _encode(store: Store, encoder: Encoder, texts: Sequence[PassageText]) -> None:
    """Encode passages, and keep the embeddings in memory."""
    vectors = encoder.encode([text.encoded for text in texts], role="document")
    store.add_on_demand([text.id for text in texts], vectors)


def _keep(store: Store, encoder: Encoder) -> None:
    """Store the embeddings in memory, if nobody else writes and the index can be written; they are only a saving."""
    on_demand = store.on_demand
    if on_demand is None or not len(on_demand.ids):
        return
    with suppress(SearchError, OSError):
        if is_being_written(store.path):
            return
        from search.store.writer import as_blob, writing

        with writer_lock(store.path), writing(store.path / DATABASE) as writer:
            writer.put_embeddings(
                on_demand.ids.tolist(), list(map(as_blob, on_demand.vectors)), on_demand=True
            )
            writer.note(engine=encoder.runs_on)
        store.forget_on_demand(on_demand)
