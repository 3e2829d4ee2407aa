"""Encode the token vectors of passages, for an index that stores them."""

from __future__ import annotations

from collections.abc import Callable

from search.encoding.encoder import Encoder
from search.records.reports import Progress
from search.store.token_vectors import packed, unit_rows, without_token_vectors
from search.store.writer import Writer

_BATCH_PASSAGES = 128


def add_missing_token_vectors(
    writer: Writer, encoder: Encoder, progress: Callable[[Progress], None] | None
) -> None:
    """Encode and store token vectors for the passages that have none; no transaction is open while the model runs."""
    passages = without_token_vectors(writer.connection)
    for start in range(0, len(passages), _BATCH_PASSAGES):
        batch = passages[start : start + _BATCH_PASSAGES]
        vectors = encoder.tokens(
            [text for _, _, text in batch], contexts=[context for _, context, _ in batch], role="document"
        )
        blobs = [packed(unit_rows(tokens)) for tokens in vectors]
        writer.put_token_vectors([(id_, blob) for (id_, _, _), blob in zip(batch, blobs, strict=True)])
        done = start + len(batch)
        if progress:
            progress(Progress("token vectors of", done, len(passages), passages=done))
