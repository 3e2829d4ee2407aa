"""The score of a hit as parts, one for each word of the query, and the words of its passage to highlight.

The parts of all hits of a query have the same words in the same order, so that bars can be compared.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from search.records.explanations import STOP_WORDS, Explanation, Highlight
from search.records.hits import Hit
from search.records.shares import Share
from search.records.tokens import ANY_TEXT
from search.render.why import ALIKE, REST, WordLine, lines_of, word_lines

OFFSET = "offset"
MOST_WORDS = 5  # parts of a bar besides the rest, and shaded words of a passage
_STEM = 3  # letters that two forms of a word have in common: "agree", "agreed"


@dataclass(frozen=True)
class Part:
    """Contribution of a query word to a score: `meaning + keyword`.

    Attributes:
        word: the word in lower case; REST for stop words and what is no word, OFFSET for what the model adds to any
            text.
        name: the word as typed.
        met: the passage word that it is most similar to, if that is another word: "returns" for "back".
    """

    word: str
    name: str
    meaning: float
    keyword: float = 0.0
    met: str = ""

    @property
    def value(self) -> float:
        return self.meaning + self.keyword

    @property
    def is_word(self) -> bool:
        return self.word not in (REST, OFFSET)


@dataclass(frozen=True)
class Mark:
    """Characters [start, end) of a passage to highlight.

    Attributes:
        level: strength of the shade, from 1 to 3.
        exact: True for a keyword.
        word: the query word that it matches; REST or "" for none.
    """

    start: int
    end: int
    level: int
    exact: bool = False
    word: str = ""


def bars(
    hits: Sequence[Hit],
    keywords: Sequence[Sequence[Highlight]] = (),
    shares: Sequence[Sequence[Share]] = (),
) -> list[tuple[list[Part], list[Mark]]]:
    """Return the parts of each score, by word if explained, otherwise by kind; and the highlights of each passage.

    Args:
        keywords: keywords in the passages of hits that are not explained.
        shares: shares of the scores of hits that are not explained, if there are any. Without an explanation, the words
            of a passage are not highlighted by their contributions, and what the words of the query meet is not named:
            for this, the model reads the passage.
    """
    lines = [
        word_lines(hit.explanation, partners=0)
        if hit.explanation
        else lines_of(shares[at] if shares else ())
        for at, hit in enumerate(hits)
    ]
    words = _chosen(lines)
    drawn = []
    for at, hit in enumerate(hits):
        why = hit.explanation
        parts = _parts(hit.score, why, lines[at], words) if lines[at] else _plain(hit)
        exact = [Mark(mark.start, mark.end, 2, exact=True) for mark in (keywords[at] if keywords else ())]
        drawn.append((parts, _marks(why, words) if why else exact))
    return drawn


def parts_of(why: Explanation) -> list[Part]:
    """Return the parts of an explained score by word, like those of a hit."""
    lines = word_lines(why, partners=0)
    return _parts(why.score, why, lines, _chosen([lines]))


def _plain(hit: Hit) -> list[Part]:
    """Return the parts of a score by kind: meaning, keywords, reranking."""
    names = {"words": "keywords", "rerank": "reranking"}
    return [
        Part("", names.get(name, name), 0 if name == "words" else value, value if name == "words" else 0)
        for name, value in hit.addends.items()
    ]


def _chosen(lines: Sequence[Sequence[WordLine]]) -> list[str]:
    """Return the words of the bars: those with the largest contributions to all hits, largest first."""
    total: dict[str, float] = defaultdict(float)
    for line in (line for hit_lines in lines for line in hit_lines):
        if line.is_word or line.share.kind in ("model", "like"):
            total[line.name.casefold()] += abs(line.added)
    content = [word for word in total if word not in STOP_WORDS] or list(total)
    return sorted(content, key=lambda word: -total[word])[:MOST_WORDS]


def _parts(
    score: float, why: Explanation | None, lines: Sequence[WordLine], words: Sequence[str]
) -> list[Part]:
    by_word: dict[str, list[WordLine]] = defaultdict(list)
    for line in lines:
        by_word[line.name.casefold()].append(line)
    aligned = why.alignment(ALIKE) if why else ()
    pairs = {pair.query.start: pair.passage.text for pair in aligned}
    parts = []
    for word in words:
        matching = by_word.get(word, [])
        keyword = sum(line.keyword for line in matching)
        typed = [line.share.start for line in matching if line.share.kind != "like"]
        alike = next((pairs[start] for start in typed if start in pairs), "")
        met = alike if alike.casefold()[:_STEM] != word[:_STEM] else ""
        meaning = sum(line.added for line in matching) - keyword
        parts.append(Part(word, matching[0].name if matching else word, meaning, keyword, met))
    offset = [Part(OFFSET, ANY_TEXT, line.added) for line in lines if line.share.kind == "offset"]
    keyword = sum(line.keyword for line in lines if line.name.casefold() not in words)
    meaning = score - sum(part.value for part in (*parts, *offset)) - keyword
    return [*parts, Part(REST, "other words", meaning, keyword), *offset]


def _marks(why: Explanation, words: Sequence[str]) -> list[Mark]:
    """Return highlights for the words of a passage that contribute most, and for all of its keywords."""
    matrices = why.words()
    added = why.passage_contributions.tolist()
    rows = {
        i: word.text.casefold() for i, word in enumerate(matrices.query) if word.text.casefold() in words
    }
    exact = {
        at: term.term.casefold()
        for term in why.terms
        if term.term.casefold() in words or term.term.casefold() not in STOP_WORDS
        for place in term.places
        if place.part == "text"
        for at in range(place.start, place.end)
    }
    strength: dict[str, float] = defaultdict(float)
    content = {(mark.start, mark.end) for mark in why.content_highlights()}
    for word, value in zip(matrices.passage, added, strict=True):
        if word.kind == "word" and (word.start, word.end) in content:
            strength[word.text.casefold()] = max(strength[word.text.casefold()], value)
    strongest = sorted(
        (word for word in strength if strength[word] > 0), key=lambda word: -strength[word]
    )
    most = max(strength.values(), default=0.0)
    marks = []
    for j, word in enumerate(matrices.passage):
        if word.kind != "word":
            continue
        term = exact.get(word.start)
        shaded = word.text.casefold() in strongest[:MOST_WORDS] and added[j] > 0.1 * most
        if not shaded and term is None:
            continue
        best = max(rows, key=lambda i: matrices.similarity[i, j], default=-1)
        of = term if term and term in words else rows.get(best, REST)
        level = 1 + (added[j] > 0.3 * most) + (added[j] > 0.6 * most)
        marks.append(Mark(word.start, word.end, level if shaded else 1, term is not None, of))
    seen = {at for mark in marks for at in range(mark.start, mark.end)}
    for at in exact.keys() - seen:  # in a part of the passage that the model did not read
        if at - 1 not in exact:
            end = next(end for end in range(at, len(why.passage) + 1) if end not in exact)
            marks.append(Mark(at, end, 1, exact=True, word=exact[at]))
    return marks
