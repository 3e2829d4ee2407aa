"""Find out which model made the embeddings of an index that no longer says so."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

import numpy as np

from search.encoding.encoder import Encoder, with_context
from search.encoding.fingerprint import Fingerprint
from search.errors import SearchError
from search.store.settings import PassageSettings

_SAMPLE = 5
_SAME = 0.999  # cosine; engines and precisions agree better, other models and poolings far worse


def proven(
    connection: sqlite3.Connection, doubtful: dict[str, str] | None, offline: bool, engine: str
) -> dict[str, str] | None:
    """The fingerprint of an encoder that makes the stored embeddings out of the stored texts.

    Args:
        doubtful: what can be read of the fingerprint, though it is not what was written.

    Returns:
        That of the first that does: the one in doubt, the default model. None if neither does.
    """
    rows = connection.execute(
        """SELECT context, text, vector FROM passages JOIN embeddings ON passage = id
           ORDER BY length(text) DESC LIMIT ?""",
        (_SAMPLE,),
    ).fetchall()
    if not rows:
        return None
    texts = [with_context(context, text) for context, text, _ in rows]
    for encoder, passages in _candidates(doubtful, offline, engine):
        try:
            found = encoder.encode(texts, role="document")
        except SearchError:
            continue
        stored = [np.frombuffer(vector, dtype="<f4") for *_, vector in rows]
        if all(
            len(one) == len(two) and float(one @ two) > _SAME for one, two in zip(found, stored, strict=True)
        ):
            return replace(encoder.fingerprint, passages=passages).as_dict()
    return None


def _candidates(doubtful: dict[str, str] | None, offline: bool, engine: str) -> Iterator[tuple[Encoder, str]]:
    """Encoders, each with the settings that passages were cut with."""
    if doubtful is not None:
        made = Fingerprint.from_dict(doubtful)
        with suppress(SearchError):
            yield Encoder.of(made, offline=offline, engine=engine), made.passages
        with suppress(SearchError):
            yield Encoder(made.model, offline=offline, engine=engine), made.passages
    with suppress(SearchError):
        yield Encoder(offline=offline, engine=engine), PassageSettings().as_json()
