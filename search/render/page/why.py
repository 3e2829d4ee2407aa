"""Pages that explain scores: inside a hit, interactive, as a comparison of two hits, and "why not".

Pointing at a word of one text shades the other text by the contributions of their pairs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args

from markupsafe import Markup

from search.records.comparisons import Contrast, DeletionTest, WhyNot
from search.records.counterfactuals import Counterfactual
from search.records.documents import NamedDocument
from search.records.explanations import Explanation, Side
from search.records.hits import Hit
from search.records.tokens import Word
from search.render import why as written
from search.render.format import layer_of, percentile_of, shortened
from search.render.grid import Range
from search.render.heatmap import Unit, Units, largest_addend, layer_grid
from search.render.page.document import Page, drawn, isolated
from search.render.page.hit_list import HitView, PageRequest, viewed
from search.render.page.mirror import OTHER, mirror_lines, verdict_on
from search.render.page.token_grid import token_grid

_LONGEST_NAME = 28
SCRIPTS = ("explanation.js", "grid.js")


@dataclass(frozen=True, eq=False)
class _Side:
    """One of the two texts of an explanation, as the page shows it.

    Attributes:
        name: name of the text on the page.
        source, context: strings that the offsets of words refer to.
        words, units: words and units of the text.
        added: contribution of each unit.
    """

    name: str
    source: str
    context: str
    words: Sequence[Word]
    units: Sequence[Unit]
    added: Sequence[float]

    @property
    def end(self) -> float:
        """Largest absolute contribution of a word, which gets the darkest shade."""
        pairs = zip(self.units, self.added, strict=True)
        return max((abs(value) for unit, value in pairs if len(unit.words) == 1), default=0.0) or 1.0

    def flow(self, *kinds: str) -> Iterator[tuple[str, int | None]]:
        """Yield the text, or the context, in pieces, with the position of the unit of each word of these kinds."""
        source = self.context if kinds == ("context",) else self.source
        unit_of = {word: i for i, unit in enumerate(self.units) for word in unit.words}
        at = 0
        for i, word in enumerate(self.words):
            if word.kind in kinds:
                start = max(word.start, at)
                yield source[at:start], None
                yield source[start : word.end], unit_of[i]
                at = max(at, word.end)
        yield source[at:], None


def explanation(
    why: Explanation,
    by: Units,
    hit: Hit | None = None,
    request: PageRequest | None = None,
    test: DeletionTest | None = None,
    source: str = "",
    colours: Range | None = None,
) -> Page:
    """Return the page of an explanation.

    Args:
        by: the units of `why`.
        request: index, query and options, for the links of a page of the server; None for a file.
        source: address of the grid's matrices at other layers; "" for a file.
        colours: range of the colours of cosines in the grid; None is -1 to 1.
    """
    names = ("First", "Second") if hit is None else ("Query", "Passage")
    body = drawn(
        "explanation.html",
        why=why,
        hit=hit,
        request=request,
        test=test,
        total=by.total,
        late=None if why.late is None else float(why.late.sum()),
        layer=layer_of(why),
        by=by.by,
        query=_Side(names[0], why.query, "", by.words.query, by.query, by.sums[0].tolist()),
        passage=_Side(
            names[1], why.passage, why.context, by.words.passage, by.passage, by.sums[1].tolist()
        ),
        others=[
            share for share in why.shares(partners=0) if share.kind in ("term", "model", "like", "late")
        ],
        tables=[layer_grid(why, side, by.by) for side in get_args(Side)],
        written=written,
        percentile=percentile_of(hit) if hit else "",
        values=_values(why, by),
        grid=token_grid(why, by.by, source, colours),
    )
    heading = "Why these texts have their cosine" if hit is None else "Why this passage has its score"
    return Page(f"Why: {why.query}", heading, body, SCRIPTS)


def _values(why: Explanation, by: Units) -> dict[str, Any]:
    """Return the data for the script: units, contributions and cosines; the last unit of each text has no cosines."""
    return {
        "limit": largest_addend(by),
        "score": why.score,
        "query": [{"label": unit.label, "kind": unit.kind} for unit in by.query],
        "passage": [{"label": unit.label, "kind": unit.kind} for unit in by.passage],
        "contribution": by.contributions.round(8).tolist(),
        "sums": {"query": by.sums[0].tolist(), "passage": by.sums[1].tolist()},
        "cosine": by.similarity.astype(float).round(4).tolist(),
    }


def panel(explained: Explanation, hit: Hit, request: PageRequest) -> Page:
    """Return the short explanation that opens inside a hit."""
    parts = viewed([replace(hit, explanation=explained)])[0].parts
    body = drawn(
        "why.html",
        why=explained,
        parts=parts,
        most=max((abs(value) for part in parts for value in (part.meaning, part.keyword)), default=0.0)
        or 1.0,
        hit=hit,
        request=request,
        can_change=not (hit.ranking.rerank or request.more or request.less),
    )
    return Page(f"Why: {explained.query}", "", body)


def changes(counterfactual: Counterfactual, request: PageRequest) -> Page:
    """Return what would move a hit out of the list, or a passage into it."""
    body = drawn("changes.html", counterfactual=counterfactual, request=request)
    return Page(f"What would change: {counterfactual.query}", "What would change the rank", body)


def contrast(compared: Contrast, request: PageRequest) -> Page:
    """Return the page of two passages and the gap of their scores word by word."""
    names = [HitView(hit).heading or hit.document for hit in (compared.a, compared.b)]
    a, b = (shortened(name, _LONGEST_NAME) for name in names)
    above, below = (a, b) if compared.gap >= 0 else (b, a)
    heading = Markup("Why {} ranks above {}").format(isolated(above), isolated(below))
    lines = mirror_lines(compared)
    body = drawn(
        "contrast.html",
        compared=compared,
        a=a,
        b=b,
        request=request,
        lines=lines,
        other=OTHER,
        verdict=verdict_on(lines, above, below, compared.gap),
    )
    return Page(
        f"Compared: {compared.query}", heading if compared.gap else "Both have equal scores", body
    )


def why_not(standing: WhyNot, request: PageRequest, counterfactual: Counterfactual | None = None) -> Page:
    """Return the page of a document that is not among the hits: its rank, the reason, and what would bring it there."""
    compared = standing.contrast
    lines = mirror_lines(compared) if compared else []
    body = drawn(
        "contrast.html",
        standing=standing,
        compared=compared,
        written=written,
        request=request,
        lines=lines,
        other=OTHER,
        verdict=verdict_on(lines, "The last hit", "It", compared.gap) if compared else "",
        change=changes(counterfactual, request).body if counterfactual else "",
    )
    heading = "It is among the hits" if standing.cause == "found" else "Why it is not among the hits"
    return Page(f"Why not {standing.document}", heading, body)


def choice(typed: str, documents: Sequence[NamedDocument], limit: int, request: PageRequest) -> Page:
    """Return the page that chooses a document by a part of its name.

    Args:
        documents: at most `limit` documents with `typed` in their name.
    """
    body = drawn("choice.html", typed=typed, limit=limit, documents=documents, request=request)
    heading = "Which document did you expect?"
    return Page(heading, heading, body, ("live.js",))
