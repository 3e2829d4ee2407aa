"""Words that are left out of a query: what they add leaves its embedding, by subtraction.

An embedding is the sum of one vector for each token (`traced`), traced to the words as they were typed. Without a word
the query is the sum of the other vectors; its length is no longer 1. This is not the embedding of the shorter text: the
attention to the other words stays as it was, so that their contributions to every score stay the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from search.encoding import Encoder
from search.encoding.function import FunctionEncoder
from search.errors import WordMissing
from search.explaining.traced import Traces
from search.explaining.tracers import can_trace, tracer
from search.ranking.question import EncodedQuery
from search.store.terms import unquoted, word_spans

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from search.encoding.tokenizer import ModelInput
    from search.store.snapshot import Snapshot, Store


def without_words(
    query: EncodedQuery, words: Sequence[str], encoder: Encoder, store: Store
) -> EncodedQuery:
    """Return a query without what some of its words add to its embedding, in whatever form they are typed.

    An encoder that shows no tokens cannot tell what a word adds; its embedding stays.

    Raises:
        WordMissing: the query has no such word.
    """
    if query.embedding is None or isinstance(encoder, FunctionEncoder) or not can_trace(encoder):
        return query
    with store.reading() as snapshot:
        if not query.parts:
            left_out, added = _left_out(snapshot, query.text, words, encoder)
            _require_all(words, left_out, snapshot, query.text)
            embedding = query.embedding - added
            positions = _positions(left_out)
            return replace(query, embedding=embedding.astype(np.float32), left_out=positions)
        parts, matched = [], []
        for part in query.parts:
            if part.text:
                left_out, added = _left_out(snapshot, part.text, words, encoder)
                matched += left_out
                part = replace(
                    part,
                    embedding=(part.embedding - added).astype(np.float32),
                    left_out=_positions(left_out),
                )
            parts.append(part)
        _require_all(words, matched, snapshot, query.text)
    embedding = np.sum([part.factor * part.embedding for part in parts], axis=0)
    return replace(query, embedding=embedding.astype(np.float32), parts=tuple(parts))


# For each word that occurs in a text: the word, and the positions of its tokens.
_Matches = list[tuple[str, tuple[int, ...]]]


def _left_out(
    snapshot: Snapshot, text: str, words: Sequence[str], encoder: Encoder
) -> tuple[_Matches, NDArray[np.float64]]:
    """Return the tokens of words in a text, and the sum of what they add to its embedding."""
    (read,) = encoder.inputs([unquoted(text)], role="query")
    matches = [(word, tokens) for word in words if (tokens := _tokens_of(snapshot, word, text, read))]
    positions = list(_positions(matches))
    if not positions:
        return matches, np.zeros(encoder.dimension)
    addends = tracer(encoder).trace([read], precise=True).addends(0, 0)
    return matches, addends[positions].sum(axis=0)


def _tokens_of(snapshot: Snapshot, word: str, text: str, read: ModelInput) -> tuple[int, ...]:
    """Return the positions of the tokens of all words of a text that are a form of a word, or one of a phrase's."""
    spans = _spans_of(snapshot, word, text)
    return tuple(
        position
        for position, token in enumerate(read.tokens)
        if token.part == "text"
        and token.end > token.start
        and any(start <= token.start and token.end <= end for start, end in spans)
    )


def has_word(snapshot: Snapshot, word: str, text: str) -> bool:
    """Return True if a text has a word in any form, so that a query of this text can leave it out."""
    return bool(_spans_of(snapshot, word, text))


def _spans_of(snapshot: Snapshot, word: str, text: str) -> list[tuple[int, int]]:
    allowed = _stems(snapshot, word)
    return [
        (start, end)
        for start, end in word_spans(text)
        if (stems := _stems(snapshot, text[start:end])) and stems <= allowed
    ]


def _stems(snapshot: Snapshot, text: str) -> set[str]:
    return {stem for term in snapshot.terms(unquoted(text)) for stem in term.stems}


def _positions(matches: _Matches) -> tuple[int, ...]:
    return tuple(sorted({position for _, positions in matches for position in positions}))


def _require_all(words: Sequence[str], matches: _Matches, snapshot: Snapshot, text: str) -> None:
    """Raise WordMissing for a word that a query does not have."""
    present = {word for word, _ in matches}
    for word in words:
        if word not in present:
            raise WordMissing(word, [term.text for term in snapshot.terms(text)])


class TracesWithout(Traces):
    """Traces of texts whose embeddings are without what some tokens add, traced to the words as typed.

    At a layer above 0 a token has taken up something of the others, and adds something else. The difference counts for
    the offset, so that a row of every layer still sums to the score.

    Args:
        left_out: positions of these tokens, for each text.
    """

    def __init__(self, traces: Traces, left_out: Sequence[Sequence[int]]) -> None:
        self._traces, self._left_out = traces, [list(positions) for positions in left_out]
        removed = [self._typed(text).sum(axis=0) for text in range(len(left_out))]
        self.embeddings = (traces.embeddings - np.stack(removed)).astype(np.float32)

    def _typed(self, text: int) -> NDArray[np.float64]:
        """Return the addends of the tokens that are left out, traced to layer 0."""
        if not self._left_out[text]:
            return np.zeros((0, self._traces.embeddings.shape[1]))
        return self._traces.addends(text, 0)[self._left_out[text]]

    def states(self, text: int) -> Sequence[NDArray[np.float32]]:
        return self._traces.states(text)

    def attention(self, text: int, layer: int) -> NDArray[np.float32] | None:
        return self._traces.attention(text, layer)

    def products(self, directions: NDArray[Any]) -> list[NDArray[np.float64]]:
        tables = self._traces.products(directions)
        for table, positions in zip(tables, self._left_out, strict=True):
            removed = table[:, :, positions].sum(axis=2)
            table[:, :, -1] += removed - removed[:, :1]
            table[:, :, positions] = 0.0
        return tables

    def addends(self, text: int, layer: int) -> NDArray[np.float64]:
        positions = self._left_out[text]
        addends = np.array(self._traces.addends(text, layer))
        addends[-1] += addends[positions].sum(axis=0) - self._typed(text).sum(axis=0)
        addends[positions] = 0.0
        return addends

    def only(self, text: int) -> Traces:
        return TracesWithout(self._traces.only(text), [self._left_out[text]])
