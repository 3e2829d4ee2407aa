"""Pages that explain scores: inside a hit, interactive, as a comparison of two hits, and "why not".

Pointing at a word of one text shades the other text by the contributions of their pairs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from markupsafe import Markup

from search.records.comparisons import Contrast, WhyNot
from search.records.contents import StoredPassage
from search.records.documents import NamedDocument
from search.records.explanations import Explanation, Share
from search.records.hits import Hit
from search.records.tokens import Word
from search.render import format
from search.render.format import counted, headings, layer_of, named, percentile_of, shortened, where
from search.render.heatmap import By, Unit, Units, largest_addend, units
from search.render.page.document import (
    Page,
    about,
    bar,
    data,
    drawn,
    hidden,
    isolated,
    link,
    shade,
    text,
)
from search.render.page.hit_list import number, viewed
from search.render.why import REMEDIES, answer, in_order, sentence, share_name

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_BESIDE = {
    "context": "Title and headings",
    "prompt": "The model's prompt",
    "special": "Special tokens",
    "punctuation": "Punctuation",
}
_LONGEST_NAME = 28
_State = Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class _Side:
    """One of the two texts of an explanation, as the page shows it.

    Attributes:
        id: name of the text in scripts.
        name: name of the text on the page.
        source, context: strings that the offsets of words refer to.
        words, units: words and units of the text.
        added: (units,) contribution of each unit.
        by_word: True if units are words, False if they are tokens.
    """

    id: Literal["query", "passage"]
    name: str
    source: str
    context: str
    words: Sequence[Word]
    units: Sequence[Unit]
    added: NDArray[np.float64]
    by_word: bool

    @property
    def rows(self) -> list[tuple[str, str, float]]:
        """Label, kind and contribution of each unit."""
        values = self.added.tolist()
        return [(unit.label, unit.kind, value) for unit, value in zip(self.units, values, strict=True)]

    @property
    def end(self) -> float:
        """Largest absolute contribution of a word, which gets the darkest shade."""
        alone = (
            abs(row[2]) for row, unit in zip(self.rows, self.units, strict=True) if len(unit.words) == 1
        )
        return max(alone, default=0.0) or 1.0

    @property
    def beside(self) -> Iterator[tuple[str, Markup, float]]:
        """Yield name, content and contribution of each kind of unit other than words of the text."""
        for kind, name in _BESIDE.items():
            numbers = [i for i, unit in enumerate(self.units) if unit.kind == kind]
            if not numbers or (kind == "punctuation" and not self.by_word):
                continue
            inner = (self.unit(i, self.units[i].label) for i in numbers)
            content = Markup(" ").join(inner) if kind != "context" else self.flow("context")
            yield name, content, float(self.added[numbers].sum())

    def flow(self, *kinds: str) -> Markup:
        """Return the text, or the context, with its words of these kinds marked."""
        source = self.context if kinds == ("context",) else self.source
        unit_of = {word: i for i, unit in enumerate(self.units) for word in unit.words}
        parts, at = Markup(""), 0
        for i, word in enumerate(self.words):
            if word.kind not in kinds:
                continue
            start = max(word.start, at)
            inside = source[start : word.end]
            parts += text(source[at:start])
            if word.kind == "punctuation" and self.by_word:  # has a line of its own
                parts += Markup('<span class="mark" data-unit="{}">{}</span>').format(
                    unit_of[i], text(inside)
                )
            else:
                parts += self.unit(unit_of[i], inside)
            at = max(at, word.end)
        return parts + text(source[at:])

    def unit(self, i: int, label: str) -> Markup:
        """Return a unit that reacts to the pointer."""
        classes = f"unit {shade(float(self.added[i]), self.end)}"
        html = '<span class="{}" data-unit="{}" role="button" tabindex="-1">{}</span>'
        return Markup(html).format(classes, i, text(label))


def explanation(why: Explanation, by: Units, hit: Hit | None = None) -> Page:
    """Return the page of an explanation.

    Args:
        by: the units of `why`.
    """
    names = ("First", "Second") if hit is None else ("Query", "Passage")
    sums, by_word = by.contributions.sum, by.by == "word"
    query = _Side("query", names[0], why.query, "", by.words.query, by.query, sums(axis=1), by_word)
    passage = _Side(
        "passage",
        names[1],
        why.passage,
        why.context,
        by.words.passage,
        by.passage,
        sums(axis=0),
        by_word,
    )
    others = [share for share in why.shares() if share.kind in ("term", "model", "like", "late")]
    body = drawn(
        "explanation.html",
        why=why,
        total=by.total,
        late=None if why.late is None else float(why.late.sum()),
        layer=layer_of(why),
        unit=by.by,
        query=query,
        passage=passage,
        query_rows=[*query.rows, *((_name(share), share.kind, share.contribution) for share in others)],
        bar=bar,
        most=lambda rows: max((abs(value) for _, _, value in rows), default=0.0),
        data=Markup(data(_values(why, by))),
    )
    heading = "Why these texts have their cosine" if hit is None else "Why this passage has its score"
    return Page(f"Why: {why.query}", heading, _about(why, hit), body, ("explanation.js",))


def _values(why: Explanation, by: Units) -> dict[str, Any]:
    """Return the data for the script: units, contributions and cosines."""
    return {
        "limit": largest_addend(by),
        "score": why.score,
        "query": [{"label": unit.label, "kind": unit.kind} for unit in by.query],
        "passage": [{"label": unit.label, "kind": unit.kind} for unit in by.passage],
        "contribution": [[round(cell, 8) for cell in row] for row in by.contributions.tolist()],
        "cosine": [[round(cell, 4) for cell in row] for row in by.similarity.tolist()],
    }


def _about(why: Explanation, hit: Hit | None) -> str:
    query = f"<b>{isolated(why.query)}</b>"
    if hit is None:
        return about((("First", query), ("Second", isolated(why.passage))))
    place = f'{isolated(where(hit))} <span class="faint">{named(hit)}</span>'
    under = [("Under", isolated(headings(hit)))] if headings(hit) else []
    percentile = text(percentile_of(hit))
    scored = [("Score", f"{hit.score:.3f}, {percentile}")] if percentile else []
    return about((("Query", query), ("Passage", place), *under, *scored), text(sentence(why)))


def _name(share: Share) -> str:
    return {"term": "the word ", "late": "best match of "}.get(share.kind, "") + share.text


def panel(explained: Explanation, hit: Hit, state: _State) -> Page:
    """Return the short explanation that opens inside a hit.

    Args:
        state: as for `why`.
    """
    parts = viewed([replace(hit, explanation=explained)])[0].parts
    address = {**state, "passage": hit.passage_id, "by": "word"}
    body = drawn(
        "why.html",
        sentence=sentence(explained),
        parts=parts,
        rest="rest of the sentence" if explained.weight else "rest",
        most=max((abs(value) for part in parts for value in (part.meaning, part.keyword)), default=0.0)
        or 1.0,
        number=number,
        score=hit.score,
        details=link("/explain", **address),
        file=link("/explain", **address, file=1),
    )
    return Page(f"Why: {explained.query}", "", "", body)


def why(explained: Explanation, hit: Hit | StoredPassage, state: _State, by: By = "word") -> Page:
    """Return the page of a hit's explanation.

    Args:
        hit: the hit, or a passage that is similar to another.
        state: URL parameters of the links on the page: index and ranking options, and the query. If `hit` is similar to
            another passage, `like` is the ID of that passage and replaces the query.
        by: units of the explanation.
    """
    page = explanation(explained, units(explained, by), hit if isinstance(hit, Hit) else None)
    unit, name = ("token", "Token by token") if by == "word" else ("word", "Word by word")
    here = {**state, "passage": hit.passage_id}
    query = {name: value for name, value in state.items() if name != "like"}
    ways = {
        name: link("/explain", **here, by=unit),
        "Read it in its document": link(
            f"/documents/{hit.document_id}", **query, passage=hit.passage_id
        ),
        "More like this": link("/similar", index=state.get("index"), passage=hit.passage_id),
    }
    if isinstance(hit, Hit):
        ways["Why is another document not among the hits?"] = link("/why-not", **query)
    listed = "".join(f'<a href="{address}">{name}</a>' for name, address in ways.items())
    return replace(page, body=f'{page.body}\n<nav class="ways" aria-label="From here">{listed}</nav>')


def contrast(compared: Contrast, state: _State) -> Page:
    """Return the page of two passages and the gap of their scores word by word.

    Args:
        state: parameters of addresses: index, query and ranking.
    """
    a, b = (shortened(headings(hit) or hit.document, _LONGEST_NAME) for hit in (compared.a, compared.b))
    above, below = (a, b) if compared.gap >= 0 else (b, a)
    heading = (
        f"Why {isolated(above)} ranks above {isolated(below)}"
        if compared.gap
        else "Both have equal scores"
    )
    body = drawn("contrast.html", compared=compared, a=a, b=b, **_tools(state))
    return Page(f"Compared: {compared.query}", heading, _query(compared.query), body)


def _tools(state: _State) -> dict[str, Any]:
    """Return the functions and values that the template of a comparison uses."""
    used = (format.headings, format.named, format.percentile_of, format.snippet, format.where)
    return {
        **{function.__name__: function for function in (*used, bar, link, in_order, share_name)},
        "largest": lambda compared: max((abs(word.gap) for word in compared.words), default=0.0),
        "state": state,
    }


def why_not(standing: WhyNot, state: _State) -> Page:
    """Return the page of a document that is not among the hits: its rank, and the reason."""
    remedy = REMEDIES.get(standing.reason, "") if standing.cause == "not indexed" else ""
    values = {
        "standing": standing,
        "compared": standing.contrast,
        "answer": answer(standing),
        "remedy": remedy,
    }
    body = drawn("contrast.html", **values, **_tools(state))
    heading = "It is among the hits" if standing.cause == "found" else "Why it is not among the hits"
    facts = (("Query", f"<b>{isolated(standing.query)}</b>"), ("Document", isolated(standing.document)))
    return Page(f"Why not {standing.document}", heading, about(facts), body)


def choice(typed: str, documents: Sequence[NamedDocument], limit: int, state: _State) -> Page:
    """Return the page that chooses a document by a part of its name.

    Args:
        documents: at most `limit` documents with `typed` in their name.
    """
    body = drawn(
        "choice.html",
        hidden=hidden(**state),
        typed=typed,
        count=f"The first {limit:,}" if len(documents) >= limit else counted(len(documents), "document"),
        documents=documents,
        link=link,
        state=state,
    )
    heading = "Which document did you expect?"
    return Page(heading, heading, _query(str(state.get("q", ""))), body, ("live.js",))


def _query(query: str) -> str:
    return about((("Query", f"<b>{isolated(query)}</b>"),))
