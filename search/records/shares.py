"""Shares of a score: the contributions of words, summed over their tokens.

They are computed here, not in `search.explaining`, because methods of `Explanation` call it, and records import no
other stage.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from search.records.tokens import ANY_TEXT, Word, WordMatrices, all_of_kind

if TYPE_CHECKING:
    from search.records.tokens import Matrix, Vector


@dataclass(frozen=True)
class Occurrence:
    """Occurrence of a term in a passage: characters [start, end) of its text or of its context."""

    part: Literal["text", "context"]
    start: int
    end: int


@dataclass(frozen=True)
class Term:
    """Addend of the score that is not a pair of tokens, such as a keyword; `contribution` includes its weight.

    Attributes:
        term: a word or phrase of the query, as typed; for other kinds a description.
        start, end: span in the query; 0, 0 if it is not a word of the query.
        places: occurrences in the passage.
        kind: "term" for a keyword, "model" for the score of a cross-encoder, "like" for a passage or document in the
            query that hits should be similar or dissimilar to.
    """

    term: str
    contribution: float
    start: int = 0
    end: int = 0
    places: tuple[Occurrence, ...] = ()
    kind: Literal["term", "model", "like"] = "term"


OTHERS = "other words"  # share of the words that are counted together


@dataclass(frozen=True)
class Partner:
    """A passage word that is similar to a query word, and their cosine in [-1, 1]."""

    text: str
    similarity: float


@dataclass(frozen=True)
class Share:
    """Contribution of one query word to the score.

    Attributes:
        text: the word; tokens that are not words are summed by kind: "[CLS] and [SEP]", "punctuation",
            "the model's prompt".
        kind: as for `Word`; "term" for an addend of the keyword score, "model" for the score of a cross-encoder,
            "late" for an addend of late-interaction reranking, "like" as in `Term`, "offset" for what the model adds
            to any text, "others" for words and other tokens that are counted together.
        start, end: span of the word or term in the query; 0, 0 for all other kinds.
        partners: the most similar passage words, by their cosines at the layer of the similarity matrix; for "late"
            the best match. () if the share is not a word's, or none were requested.
    """

    text: str
    kind: str
    start: int
    end: int
    contribution: float
    partners: tuple[Partner, ...] = ()


def meaning_shares(words: WordMatrices, offset: float, weight: float, partners: int) -> Iterator[Share]:
    """Yield the share of each query word in the cosine, then those of all other tokens by kind, then the offset.

    Args:
        offset: contribution of no token.
        weight: weight of the cosine in the score.
        partners: maximum number of passage words to list with each query word.
    """
    others: dict[str, float] = {}
    for i, (word, contribution) in enumerate(zip(words.query, words.query_sums.tolist(), strict=True)):
        if word.kind != "word":
            others[word.kind] = others.get(word.kind, 0.0) + weight * contribution
            continue
        best = _partners(words.passage, words.similarity[i])[:partners] if partners else ()
        yield Share(word.text, word.kind, word.start, word.end, weight * contribution, best)
    for kind, added in others.items():
        yield Share(all_of_kind(kind, words.query), kind, 0, 0, added)
    if offset:
        yield Share(ANY_TEXT, "offset", 0, 0, weight * offset)


def keyword_shares(terms: Sequence[Term]) -> Iterator[Share]:
    """Yield the share of each term."""
    for term in terms:
        yield Share(term.term, term.kind, term.start, term.end, term.contribution)


def late_shares(words: WordMatrices, late: Matrix) -> Iterator[Share]:
    """Yield the share of each query word in late-interaction reranking, with its best match.

    Args:
        late: (Q, P) addends of late-interaction reranking, by words.
    """
    for word, addends, cosines in zip(words.query, late, words.similarity, strict=True):
        if addends.any():
            best = int(addends.argmax())
            partner = Partner(words.passage[best].text.lower(), float(cosines[best]))
            yield Share(word.text, "late", word.start, word.end, float(addends.sum()), (partner,))


def add_keywords(sums: Vector, passage: Sequence[Word], terms: Sequence[Term]) -> None:
    """Add the contributions of keywords to the (P,) contributions of the passage words, in place.

    A keyword's addend is divided equally among its occurrences, because BM25 does not distinguish them.
    """
    for term in terms:
        for occurrence in term.places:
            columns = [j for j, word in enumerate(passage) if _is_at(word, occurrence)]
            sums[columns] += term.contribution / len(term.places) / max(1, len(columns))


def _is_at(word: Word, occurrence: Occurrence) -> bool:
    kinds = ("context",) if occurrence.part == "context" else ("word",)
    return word.kind in kinds and word.start < occurrence.end and occurrence.start < word.end


def _partners(passage: tuple[Word, ...], cosines: Matrix) -> tuple[Partner, ...]:
    """Return the passage and heading words with positive cosines to a query word, most similar first."""
    best: dict[str, float] = {}
    for word, cosine in zip(passage, cosines.tolist(), strict=True):
        if word.kind in ("word", "context") and any(map(str.isalnum, word.text)):
            name = word.text.lower()
            best[name] = max(best.get(name, 0.0), cosine)
    ranked = sorted(best.items(), key=lambda item: -item[1])
    return tuple(Partner(name, cosine) for name, cosine in ranked if cosine > 0)
