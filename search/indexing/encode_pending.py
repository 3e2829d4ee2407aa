"""Phase two of a run: encode the passages that phase one has stored.

The order matters to whoever asks in the meantime. The first passages are a sample spread over the index, because it
lets `search.ranking.propose` judge all others (benchmarks/at_once.py); the others follow in the order of their IDs,
which is newest first. Passages that were asked for are encoded already.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import wait
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from search.encoding.encoder import Encoder
from search.indexing import read
from search.store import segments
from search.store.passages import PassageText, passage_texts
from search.store.pending import pending_passages
from search.store.writer import Writer, as_blob

if TYPE_CHECKING:
    from concurrent.futures import Future

    from numpy.typing import NDArray

    from search.encoding.workers import Workers

SAMPLE = 2048  # passages that are encoded first, spread over the index

OnEncoded = Callable[[int, int, int], None]
"""Is told the passages and contents of finished batches, and the tokens that are done so far."""


@dataclass
class _Batch:
    """Pending passages, and the contents in them that have no embedding yet.

    Attributes:
        passages: the passages, with their texts.
        vectors: content key -> embedding, for contents that another passage has.
        new: one passage of each other content.
        encoding: future result of the workers; None if this process encodes, or if nothing is new.
    """

    passages: Sequence[PassageText]
    vectors: dict[bytes, bytes]
    new: list[PassageText]
    encoding: Future[NDArray[np.float32]] | None = None

    @property
    def texts(self) -> list[str]:
        return [passage.encoded for passage in self.new]

    def name(self, position: int) -> str:
        """Return the place of the text with this index in `new`, for an error message."""
        return self.new[position].place


def encode_pending(
    writer: Writer,
    index: Path,
    encoder: Encoder,
    workers: Workers | None = None,
    on_encoded: OnEncoded = lambda *_: None,
) -> None:
    """Encode all pending passages, batch by batch, and commit each.

    Args:
        index: folder of the segments' files.
        workers: encode the passages; None for this process alone.
        on_encoded: called while passages are encoded, and after each batch.
    """
    tokens = 0
    for batch in _in_order(writer, workers):
        n_tokens = sum(passage.n_tokens for passage in batch.new)

        def report(done: int, total: int, before: int = tokens, in_batch: int = n_tokens) -> None:
            on_encoded(0, 0, before + in_batch * done // max(1, total))

        vectors = batch.vectors
        if batch.new:
            encoded = encoded_texts(batch.texts, batch.encoding, encoder, report)
            vectors |= {
                passage.content: as_blob(vector)
                for passage, vector in zip(batch.new, encoded, strict=True)
            }
        # Contents that were new in an earlier batch are stored by now.
        others = {passage.content for passage in batch.passages} - vectors.keys()
        vectors |= writer.stored_embeddings(others)
        writer.put_embeddings(
            [passage.id for passage in batch.passages],
            [vectors[passage.content] for passage in batch.passages],
        )
        segments.write_missing_codes(writer, index, encoder.dimension)
        tokens += n_tokens
        on_encoded(len(batch.passages), len(batch.new), tokens)


def in_order_of_encoding(pending: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return pending passages in the order in which they are encoded: a spread sample, then by their IDs."""
    step = max(1, len(pending) // SAMPLE)
    is_sampled = np.zeros(len(pending), dtype=bool)
    is_sampled[::step] = True
    # In an order that spreads the first ones, too: every prefix of it samples the whole index.
    sample = np.random.default_rng(0).permutation(pending[is_sampled])
    return np.concatenate([sample, pending[~is_sampled]])


def _in_order(writer: Writer, workers: Workers | None) -> Iterator[_Batch]:
    """Yield the batches in order; workers encode the next ones while a batch is stored."""
    waiting: deque[_Batch] = deque()
    order = in_order_of_encoding(pending_passages(writer.connection))
    size = read.PASSAGES_IN_A_BATCH
    for start in range(0, len(order), size):
        coming = {passage.content for batch in waiting for passage in batch.new}
        passages = passage_texts(writer.connection, order[start : start + size].tolist())
        by_content = {passage.content: passage for passage in passages}
        vectors = writer.stored_embeddings(by_content)
        new = [by_content[key] for key in by_content if key not in vectors and key not in coming]
        batch = _Batch(passages, vectors, new)
        if workers and new:
            batch.encoding = workers.submit(batch.texts, batch.name)
        waiting.append(batch)
        while len(waiting) > (workers.ahead if workers else 0):
            yield waiting.popleft()
    yield from waiting


def encoded_texts(
    texts: list[str],
    encoding: Future[NDArray[np.float32]] | None,
    encoder: Encoder,
    progress: Callable[[int, int], None],
) -> NDArray[np.float32]:
    """Return the embeddings of the new texts of a batch.

    Args:
        encoding: future result of the workers; None if this process encodes.
    """
    if not encoding:
        return encoder.encode(texts, role="document", progress=progress)
    # With a timeout, because Ctrl-C cannot interrupt a wait without one on Windows.
    while wait([encoding], timeout=1).not_done:
        pass
    return encoding.result()
