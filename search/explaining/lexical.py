"""The word part of a score, term by term."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from search.ranking.fusion import Fusion
from search.ranking.ranking import Ranking
from search.records.explanations import Occurrence, Term
from search.store.lexicon import Lexicon
from search.store.snapshot import StoredPassage
from search.store.terms import Term as Wanted

_NAMES = ("by meaning", "by words")


def terms_of(
    fusion: Fusion, lexicon: Lexicon, ranking: Ranking, passages: Sequence[StoredPassage]
) -> list[tuple[Term, ...]]:
    """What each word of the query added to the score of each passage; words that it does not have are left out."""
    addends = fusion.word_addends([passage.id for passage in passages])
    found = []
    for row, passage in enumerate(passages):
        if ranking.mode == "rrf":
            found.append(_ranks(fusion, passage.id))
            continue
        here = [(term, float(value)) for term, value in zip(fusion.terms, addends[row], strict=True) if value]
        places = _places(lexicon, [term for term, _ in here], passage.context, passage.text)
        found.append(
            tuple(
                Term(
                    term.text,
                    (1 - ranking.weight) * value,
                    term.start,
                    term.end,
                    at,
                )
                for (term, value), at in zip(here, places, strict=True)
            )
        )
    return found


def _ranks(fusion: Fusion, passage: int) -> tuple[Term, ...]:
    ranks = fusion.score(passage).ranks or ()
    return tuple(
        Term(f"rank {rank:,} {name}", fusion.rank_addend(rank), kind="rank")
        for name, rank in zip(_NAMES, ranks, strict=True)
        if rank is not None
    )


def _places(
    lexicon: Lexicon, terms: Sequence[Wanted], context: str, text: str
) -> list[tuple[Occurrence, ...]]:
    """Where each term stands in a passage, in its text first."""
    found: list[list[Occurrence]] = [[] for _ in terms]
    parts: tuple[tuple[Literal["text", "context"], str], ...] = (("text", text), ("context", context))
    for part, source in parts:
        said = lexicon.words(source) if terms else []
        for term, places in zip(terms, found, strict=True):
            places += (Occurrence(part, start, end) for start, end in _runs(term.stems, said))
    return [tuple(places) for places in found]


def _runs(wanted: tuple[str, ...], said: Sequence[Wanted]) -> list[tuple[int, int]]:
    """The spans of words in a row whose tokens are those that are wanted."""
    found = []
    for first in range(len(said)):
        run: tuple[str, ...] = ()
        last = first
        while last < len(said) and len(run) < len(wanted):
            run += said[last].stems
            last += 1
        if run == wanted:
            found.append((said[first].start, said[last - 1].end))
    return found
