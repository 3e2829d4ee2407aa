"""Occurrences of a word whose vectors are nearest to that of the word in a given text.

The vector of a word is the mean of the stored vectors of its tokens: last layer, each of unit length
(`search.store.token_vectors`). It depends on the passage around it, so a word in one sense is nearer to its other uses
in this sense. All stored vectors are compared, in blocks of passages. They are 8-bit integers, so a cosine is exact to
about 0.001.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from search.errors import IndexDamaged, InputError
from search.ranking.question import query_fits
from search.records.occurrences import WordOccurrence
from search.records.tokens import Token, merged
from search.records.visible_text import VisibleText
from search.store.home import index_command
from search.store.passages import existing
from search.store.token_vectors import (
    EncodedText,
    count_without_token_vectors,
    passage_texts,
    stored_positions,
    unit_rows,
)

if TYPE_CHECKING:
    from search.encoding import Encoder
    from search.store.conditions import Where
    from search.store.snapshot import Snapshot, Store

_BATCH_PASSAGES = 512
_SENTENCE = 60  # characters of the given text in a message


@dataclass(frozen=True)
class WordTokens:
    """A whole word of a text: its span, and the range of its tokens among those with stored vectors."""

    start: int
    end: int
    first: int
    last: int


@dataclass(frozen=True)
class OccurrenceSpan:
    """A word of a passage with its cosine; `start` and `end` count in the visible text."""

    cosine: float
    passage: int
    document: int
    start: int
    end: int


def occurrences(
    store: Store,
    encoder: Encoder,
    word: str,
    text: str,
    k: int,
    *,
    any_word: bool,
    per_document: int,
    where: Where | None,
) -> list[WordOccurrence]:
    """Return the k occurrences nearest to `word` in `text`; see `Index.occurrences`."""
    if k < 1:
        raise InputError(f"k is {k}; it must be at least 1.")
    word = word.strip()
    vector = _vector_in(encoder, word, text)
    best: list[OccurrenceSpan] = []
    with store.reading() as snapshot:
        _require_token_vectors(store, snapshot)
        passing = snapshot.passing(where)
        among = None if passing is None else set(passing.tolist())
        for block in passage_texts(snapshot.connection, _BATCH_PASSAGES):
            passages = _with_word(block, None if any_word else word, among)
            candidates = _candidates(snapshot, encoder, passages, None if any_word else word, vector)
            best = _first([*best, *candidates], k, per_document)
        stored = existing(snapshot, [candidate.passage for candidate in best])
    records = []
    for rank, candidate in enumerate(best, start=1):
        passage = stored[candidate.passage]
        visible = VisibleText(passage.text, passage.hidden)
        start, end = visible.span(candidate.start, candidate.end)
        records.append(
            WordOccurrence(
                **vars(passage),
                rank=rank,
                cosine=candidate.cosine,
                word=visible.text[candidate.start : candidate.end],
                word_start=start,
                word_end=end,
            )
        )
    return records


def whole_words(tokens: Sequence[Token], text: str, context: str = "") -> list[WordTokens]:
    """Return the whole words of a text, without punctuation and the words of its context."""
    words = []
    for word in merged(tuple(tokens), {"text": text, "context": context}):
        if word.kind == "word":
            blank = len(word.text) - len(
                word.text.lstrip()
            )  # some tokenizers count the space before a word
            words.append(WordTokens(word.start + blank, word.end, *word.tokens))
    return words


def words_of_form(tokens: Sequence[Token], text: str, form: str) -> list[WordTokens]:
    """Return the places of a word or phrase in a text, in any case, where it begins and ends with whole words.

    Letters beside it are part of another word only if the tokenizer says so: in Chinese each character is a word.
    """
    words = []
    for match in _pattern(form).finditer(text):
        start, end = match.span()
        inside = [i for i, t in enumerate(tokens) if t.part == "text" and t.end > start and t.start < end]
        if not inside:
            continue
        first, last = inside[0], inside[-1] + 1
        begin = tokens[first].start
        begin += len(text[begin:start]) - len(text[begin:start].lstrip())
        if begin != start or tokens[last - 1].end != end:
            continue
        if not (_goes_on(tokens, text, first, start - 1) or _goes_on(tokens, text, last, end)):
            words.append(WordTokens(start, end, first, last))
    return words


def _goes_on(tokens: Sequence[Token], text: str, border: int, neighbour: int) -> bool:
    """Return True if a word goes on over a border of tokens, with the letter or digit at the offset `neighbour`."""
    if not (0 < border < len(tokens) and 0 <= neighbour < len(text) and text[neighbour].isalnum()):
        return False
    left, right = tokens[border - 1], tokens[border]
    return left.part == right.part and left.word == right.word


def _pattern(form: str) -> re.Pattern[str]:
    """Return a pattern that finds a word or phrase in any case, whatever white space is between its parts."""
    return re.compile(r"\s+".join(map(re.escape, form.split())), re.IGNORECASE)


def _vector_in(encoder: Encoder, word: str, text: str) -> NDArray[np.float32]:
    """Return the (d,) unit vector of the first place of a word in a text."""
    if not word:
        raise InputError("the word is empty. Give a word of the text.")
    with query_fits("text"):
        (encoded,) = encoder.tokens([text], role="document")
    tokens = [encoded.tokens[i] for i in stored_positions(encoded.tokens)]
    places = words_of_form(tokens, text, word)
    if not places:
        shortened = text if len(text) <= _SENTENCE else f"{text[:_SENTENCE]}…"
        raise InputError(
            f"'{word}' is not a whole word of '{shortened}'. Give a text that contains the word in this form."
        )
    return _vectors(unit_rows(encoded), places[:1])[0]


def _vectors(rows: NDArray[np.float32], words: Sequence[WordTokens]) -> NDArray[np.float32]:
    """Return the (n, d) vectors of words, of unit length: the means of the rows of their tokens."""
    means = np.stack([rows[word.first : word.last].mean(axis=0) for word in words])
    return means / np.maximum(np.linalg.norm(means, axis=1, keepdims=True), 1e-12)


def _require_token_vectors(store: Store, snapshot: Snapshot) -> None:
    """Raise InputError if passages lack token vectors; the message says how to store them."""
    snapshot.require_complete("the list of occurrences")
    lacking, total = count_without_token_vectors(snapshot.connection), snapshot.facts.passages
    if not lacking:
        return
    if snapshot.facts.folders.memory:
        raise InputError(
            "this index has documents from memory, whose token vectors are not stored. Index a folder with: "
            "seewhy index FOLDER --token-vectors"
        )
    has = "stores no token vectors" if lacking == total else f"lacks those of {lacking:,} passages"
    command = index_command(store.path, snapshot.facts.folders)
    raise InputError(f"the index {has}. Store them with: {command} --token-vectors")


def _with_word(
    block: Iterable[EncodedText], form: str | None, among: Collection[int] | None
) -> list[EncodedText]:
    """Return the passages that may be searched, and whose text contains the word; all of them if it is None."""
    passing = [passage for passage in block if among is None or passage.id in among]
    if form is None:
        return passing
    pattern = _pattern(form)
    return [passage for passage in passing if pattern.search(passage.text)]


def _candidates(
    snapshot: Snapshot,
    encoder: Encoder,
    passages: Sequence[EncodedText],
    form: str | None,
    vector: NDArray[np.float32],
) -> list[OccurrenceSpan]:
    """Return the occurrences of a word in passages with their cosines; all words of them if it is None.

    Raises:
        IndexDamaged: the stored vectors of a passage are not those of its tokens.
    """
    if not passages:
        return []
    stored = snapshot.token_vectors([passage.id for passage in passages], len(vector))
    inputs = encoder.inputs(
        [passage.text for passage in passages],
        contexts=[passage.context for passage in passages],
        role="document",
    )
    candidates = []
    for passage, model_input in zip(passages, inputs, strict=True):
        tokens = [model_input.tokens[i] for i in stored_positions(model_input.tokens)]
        rows = stored[passage.id]
        if len(rows) != len(tokens):
            raise IndexDamaged(
                f"passage {passage.id} has {len(tokens)} tokens and {len(rows)} stored vectors. {IndexDamaged.CHECK}"
            )
        words = (
            whole_words(tokens, passage.text, passage.context)
            if form is None
            else words_of_form(tokens, passage.text, form)
        )
        if words:
            cosines = np.clip(_vectors(rows, words) @ vector, -1.0, 1.0).tolist()
            candidates += [
                OccurrenceSpan(cosine, passage.id, passage.document, word.start, word.end)
                for word, cosine in zip(words, cosines, strict=True)
            ]
    return candidates


def _first(candidates: Iterable[OccurrenceSpan], k: int, per_document: int) -> list[OccurrenceSpan]:
    """Return the k best candidates, at most `per_document` of one document; 0 for no limit."""
    counts = Counter[int]()
    best: list[OccurrenceSpan] = []
    for candidate in sorted(candidates, key=lambda item: (-item.cosine, item.passage, item.start)):
        counts[candidate.document] += 1
        if not per_document or counts[candidate.document] <= per_document:
            best.append(candidate)
            if len(best) == k:
                break
    return best
