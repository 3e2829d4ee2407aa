"""Where the words of a query stand in passages, and what each place adds to the score."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from search.ranking.fusion import Fusion
from search.ranking.question import EncodedQuery
from search.records.contents import StoredPassage
from search.records.explanations import Highlight, Occurrence
from search.records.shown import Shown

if TYPE_CHECKING:
    from search.records.hits import Hit
    from search.store.sqlite import Snapshot, Store
    from search.store.terms import Term


def highlights(store: Store, text: str, hits: Sequence[Hit]) -> list[tuple[Highlight, ...]]:
    """See `Index.highlights`.

    Args:
        text: whose words were looked for.
    """
    if not any(hit.lexical for hit in hits):
        return [()] * len(hits)
    with store.reading() as snapshot:
        fusion = Fusion(snapshot, EncodedQuery(text, None), hits[0].ranking)
        found = fusion.matches
        rows = found.addends(np.array([hit.passage_id for hit in hits], dtype=np.int64)) / found.scale
        return [
            _highlights(
                snapshot, hit, [(t, value) for t, value in zip(fusion.terms, row, strict=True) if value]
            )
            for hit, row in zip(hits, rows.tolist(), strict=True)
        ]


def _highlights(snapshot: Snapshot, hit: Hit, here: Sequence[tuple[Term, float]]) -> tuple[Highlight, ...]:
    found = [
        Highlight(place.start, place.end, (1 - hit.weight) * value / len(places))
        for places, (_, value) in zip(occurrences(snapshot, [t for t, _ in here], hit), here, strict=True)
        for place in places
        if place.part == "text"
    ]
    return tuple(sorted(found, key=lambda one: (one.start, -one.end)))


def occurrences(
    snapshot: Snapshot, terms: Sequence[Term], passage: StoredPassage | Hit
) -> list[tuple[Occurrence, ...]]:
    """Where each term stands in a passage, in its text first."""
    places: list[list[Occurrence]] = [[] for _ in terms]
    parts: tuple[tuple[Literal["text", "context"], Shown], ...] = (
        ("text", Shown(passage.text, passage.hidden)),
        ("context", Shown(passage.context, ())),
    )
    stems = {term.stems for term in terms}
    for part, source in parts:
        runs = _runs_of(stems, snapshot.words(source.text) if terms else [])
        for term, mine in zip(terms, places, strict=True):
            mine += (Occurrence(part, *source.span(*run)) for run in runs[term.stems])
    return [tuple(mine) for mine in places]


def _runs_of(
    stems: Collection[tuple[str, ...]], said: Sequence[Term]
) -> dict[tuple[str, ...], list[tuple[int, int]]]:
    """By what is wanted, the spans of words that are that."""
    if any(len(wanted) > 1 for wanted in stems) or not all(word.stems for word in said):
        return {wanted: _runs(wanted, said) for wanted in stems}
    found: dict[tuple[str, ...], list[tuple[int, int]]] = {wanted: [] for wanted in stems}
    for word in said:
        if word.stems in found:
            found[word.stems].append((word.start, word.end))
    return found


def _runs(wanted: tuple[str, ...], said: Sequence[Term]) -> list[tuple[int, int]]:
    """The spans of words in a row whose tokens are those that are wanted."""
    spans = []
    for first in [at for at, word in enumerate(said) if not word.stems or word.stems[0] == wanted[0]]:
        run: tuple[str, ...] = ()
        last = first
        while last < len(said) and len(run) < len(wanted):
            run += said[last].stems
            last += 1
        if run == wanted:
            spans.append((said[first].start, said[last - 1].end))
    return spans
