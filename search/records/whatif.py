"""What a page needs to rank again by itself: the best passages with the parts of their scores, and a bound on all
others.

The score is linear, so with another weight, or without some of the words, a passage's score is worked out from the same
parts:

    score = weight * cosine + (1 - weight) * (sum of the addends of the words that count) / scale

`search/render/page/whatif.js` does so, and says whether a passage that it was not given could be among the hits.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Candidate:
    """A passage with the parts of its score.

    Attributes:
        document: a number of its document.
        copied: a number that all passages share whose text, or nearly that, stands in many documents; None for others.
        cosine: None where the ranking has no meaning.
        addends: what each of the terms adds to its BM25.
    """

    passage_id: int
    document: int
    copied: int | None
    cosine: float | None
    addends: tuple[float, ...]


@dataclass(frozen=True)
class Bound:
    """What passages outside of a pool have at most.

    Attributes:
        cosine: -1 where there are none; 1 where the ranking has no meaning.
        lexical: their word part with all terms; 0 where none of them has a word.
        score: by the ranking that was asked for; -1 where there are none, or 0 where words alone count and they have
            none.
    """

    cosine: float
    lexical: float
    score: float


@dataclass(frozen=True)
class Candidates:
    """The passages that can be the best ones by another weight, or without some of the words.

    Attributes:
        generation: of the index, as in `Index.generation`.
        mode, weight: the ranking that was asked for, as in a `Hit`. In other modes than "hybrid" the weight is fixed.
        terms: the words that count, also those that are left out, as they stand in the query.
        without: those of the terms that are left out.
        scale: the BM25 that is a word part of 1.
        pool: the best passages by meaning, by words and by score, of those that pass the filter; by increasing ids.
        bound: on all others that pass it.
        whole: there are no others.
    """

    generation: int
    mode: str
    weight: float
    terms: tuple[str, ...]
    without: tuple[str, ...]
    scale: float
    pool: tuple[Candidate, ...]
    bound: Bound
    whole: bool
