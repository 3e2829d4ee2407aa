"""Words that may stand for the rare words of a query, as a masked-language head fills their places.

The head reads the query twice, [CLS] query [SEP] query with the word masked [SEP], so that it sees the word that is
to be replaced as well as what stands around it (LSBert: Qiang et al. 2020, section 3.1). Its likeliest words are then
looked for beside the word, in the word part of the score, each an addend of its own. Whether that finds more depends on
the checkpoint and the texts.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np

from search.bert.heads import load_head
from search.bert.masks import is_wordpiece, joins, piece_of, with_mask, word_of
from search.encoding.models import find_model
from search.errors import InputError
from search.ranking.ranking import EXPANSION_SHARE, Ranking
from search.records.hits import Expansion
from search.store.database import one_meta
from search.store.lexicon import Lexicon
from search.store.terms import Term
from search.store.vectors import LoadedVectors

RARE = 1000  # a word is rare that is in no passage, or in one in so many
GUESSES = 30  # of the head for each place, which are looked through
MOST = 5  # of them are looked for


def expanded(
    ranking: Ranking, text: str, loaded: LoadedVectors, *, model: str, offline: bool = False
) -> Ranking:
    """The ranking that also looks for words which may stand for rare words of a query.

    A word is rare if it is in no more than one in 1,000 passages. Of the head's 30 likeliest words for its place those
    are taken that are whole words of letters, no words of the query (nor the same but for their endings), and in
    some passage but in no more than half of all; at most five. Together they count half of what a word of the query
    counts, each by its probability among them.

    Args:
        model: name or folder of a checkpoint with a masked-language head.

    Raises:
        InputError: the ranking does not look for words, or the query does not fit the checkpoint twice.
        ModelError: the checkpoint cannot be found or loaded, or has no such head or no mask token.
    """
    if ranking.mode == "hybrid" and not ranking.by_words:
        raise InputError(
            "with a weight of 1 words do not count, so none can be looked for. Give a lower weight."
        )
    if not ranking.by_words or ranking.mode == "rrf":
        raise InputError(
            f"an expansion adds words to look for, which the mode '{ranking.mode}' has no place for. "
            "Choose hybrid or lexical."
        )
    _require(model, offline)
    lexicon = loaded.lexicon
    terms = lexicon.terms(text, phrases=ranking.phrases)
    with loaded.reader.reading() as connection:
        rare = [term for term in terms if _is_rare(connection, lexicon, term)]
    guesses = [(term, _guesses(text, term, model, offline)) for term in rare]
    known = {term.stems for term in terms}
    found: list[Expansion] = []
    with loaded.reader.reading() as connection:
        for term, words in guesses:
            found += _kept(connection, lexicon, term, words, known)
    return replace(ranking, expansions=tuple(found))


@lru_cache(maxsize=4)
def _require(model: str, offline: bool) -> None:
    """Raise ModelError for a name of no model, also where no word is rare and nothing would be loaded."""
    find_model(model, offline=offline)


def _is_rare(connection: sqlite3.Connection, lexicon: Lexicon, term: Term) -> bool:
    if not term.text.isalpha():
        return False
    return lexicon.count(connection, term) <= one_meta(connection, "passages") // RARE


def _guesses(text: str, term: Term, model: str, offline: bool) -> list[tuple[str, float]]:
    """The head's likeliest words for the place of a term, whole ones alone, with their probabilities."""
    head, mask = with_mask(load_head("fill", model, offline))
    try:
        encoding = head.encoded(text, f"{text[: term.start]}{mask}{text[term.end :]}")
    except InputError:
        raise InputError(
            f"'{head.name}' reads a query twice to find words for '{term.text}', and this one is too long for that: it "
            f"reads {head.files.max_tokens:,} tokens. Shorten the query, or leave the expansion out."
        ) from None
    number = head.tokenizer.token_to_id(mask)
    at = [
        i
        for i, (id_, source) in enumerate(zip(encoding.ids, encoding.sequence_ids, strict=True))
        if id_ == number and source == 1
    ]
    if len(at) != 1:
        raise InputError(f"the query holds {mask}, which stands for a masked word. Take it out.")
    (output,) = head.run([encoding])
    row = output["logits"][at[0]].astype(np.float64)
    likely = np.exp(row - row.max())
    likely /= likely.sum()
    # Elsewhere than behind a space, tokenizers without "##" do not tell whole words from pieces.
    tells = is_wordpiece(head.tokenizer) or text[: term.start][-1:].isspace()
    return [
        (word_of(head.tokenizer, id_), float(likely[id_]))
        for id_ in np.argsort(-row, kind="stable")[:GUESSES].tolist()
        if not (tells and joins(head.tokenizer, piece_of(head.tokenizer, id_)))
    ]


def _kept(
    connection: sqlite3.Connection,
    lexicon: Lexicon,
    term: Term,
    words: Sequence[tuple[str, float]],
    known: set[tuple[str, ...]],
) -> list[Expansion]:
    """Those of the words that are worth looking for; their stems are added to `known`."""
    half = one_meta(connection, "passages") / 2
    kept: list[tuple[str, float]] = []
    for word, probability in words:
        asked = lexicon.words(word)
        if len(asked) != 1 or not word.isalpha() or asked[0].stems in known or len(kept) == MOST:
            continue
        if 0 < lexicon.count(connection, asked[0]) <= half:
            known.add(asked[0].stems)
            kept.append((word, probability))
    total = sum(probability for _, probability in kept)
    return [
        Expansion(word, term.text, term.start, term.end, EXPANSION_SHARE * probability / total)
        for word, probability in kept
    ]
