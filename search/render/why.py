"""Explanations for a terminal: why a hit has its score, ranks above another or is missing.

An explanation begins with one sentence. Then follow the contribution of each query word, the passage with its strongest
words marked, and the similarities of words. Similarities are taken from the similarity matrix, everything else from
contributions. Details are the score as a sum, and the contributions of what is no word.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.table import Column
from rich.text import Text

from search.records.comparisons import Contrast, Difference, WhyNot
from search.records.counterfactuals import Counterfactual
from search.records.explanations import STOP_WORDS, Explanation
from search.records.hits import Hit, Verdict
from search.records.shares import Share
from search.records.tokens import ANY_TEXT, all_of_kind
from search.render.format import (
    counted,
    escape,
    headings,
    layer_of,
    named,
    one_line,
    percentile_of,
    snippet,
    verdict_of,
    where,
)
from search.render.terminal import BLOCK, Canvas, as_text, bar, grid, number

_BAR = 9
_PAIRS = 8  # most similar pairs of words to list
# Pairs in the sentence, and what each adds at least, as a share of the first.
_MAINLY, _ALSO = 3, 0.5
# Least cosine of a pair of similar words.
ALIKE = 0.5
REST = "rest"
_VISIBLE = 5e-5  # of a residual, in the four decimals of a contribution

# Reason why a document is missing -> what to do; other reasons explain themselves.
REMEDIES = {
    "new": "It was added after the last run. Index it with: seewhy index FOLDER",
    "not there": "There is no such file. Check the spelling.",
    "outside the folder": "Index its folder, or choose another index with --index.",
    "ignored": "An ignore file or a built-in rule excludes it. To index it, add '!NAME' to .seewhyignore.",
    "hidden": "Its name or its folder's name begins with a dot; such files are never read.",
    "secret": "Files with such names contain keys or passwords; they are never read.",
    "excluded": "To index it, run seewhy index FOLDER with other --include or --exclude patterns.",
    "binary": "It contains no text.",
    "empty": "It contains nothing to search.",
    "too large": "Split it into smaller files.",
    "needs seewhy[documents]": "To read it, run: pip install 'seewhy[documents]'",
}


@as_text
def explanation(
    canvas: Canvas,
    why: Explanation,
    hit: Hit | None = None,
    *,
    details: bool = False,
    changes: Counterfactual | None = None,
) -> None:
    """Draw an explanation; it is readable without colour, too.

    Args:
        changes: what would move the hit out of the first hits, or among them.
        details: also draw contributions of what is no word, and the score as a sum with its residual. The sum is always
            drawn if the residual is not a rounding error.
    """
    draw_head(canvas, why, hit)
    canvas.gap()
    if summary := sentence(why):
        canvas.line(summary)
        canvas.gap()
    lines = word_lines(why)
    _draw_words(canvas, lines if details else content_lines(lines))
    if details or abs(why.residual) > _VISIBLE:
        _draw_sum(canvas, why)
    _draw_passage(canvas, why, details)
    _draw_alignment(canvas, why)
    if changes:
        canvas.title("What would change the rank")
        canvas.line(one_line(changes.sentence))


@as_text
def contrast(canvas: Canvas, compared: Contrast) -> None:
    """Draw two passages, and the gap between their scores word by word."""
    canvas.line(("query  ", "dim"), (one_line(compared.query), "bold"))
    _draw_hit(canvas, "A", compared.a)
    _draw_hit(canvas, "B", compared.b)
    above, below = ("A", "B") if compared.gap >= 0 else ("B", "A")
    canvas.title(f"Why {above} ranks above {below}" if compared.gap else "A and B have equal scores")
    _draw_gap(canvas, compared, "A", "B")


@as_text
def why_not(canvas: Canvas, standing: WhyNot, changes: Counterfactual | None = None) -> None:
    """Draw the reason in one sentence, what would make it a hit, then the rank of the document."""
    canvas.line(("query  ", "dim"), (one_line(standing.query), "bold"))
    canvas.line(("target ", "dim"), (escape(standing.document), "cyan"), whole=True)
    canvas.title(answer(standing))
    if standing.cause == "not indexed" and standing.reason in REMEDIES:
        canvas.line(REMEDIES[standing.reason])
    if changes:
        canvas.line(one_line(changes.sentence))
    if standing.hit is None:
        return
    if standing.contrast is not None:
        _draw_hit(canvas, "last", standing.contrast.a)
    _draw_hit(canvas, "it", standing.hit)
    canvas.dim(snippet(standing.hit), indent=17)
    if standing.contrast is not None:
        canvas.title("Difference from the last hit")
        _draw_gap(canvas, standing.contrast, "last", "it")


def answer(standing: WhyNot) -> str:
    """Return the reason why a document is not among the hits, as a sentence."""
    detail = f" ({escape(standing.detail)})" if standing.detail else ""
    if standing.hit is None:
        return f"It is not in the index: {standing.reason}{detail}."
    ranks = f"p{standing.hit.passage_id} ranks {standing.hit.rank:,} of {standing.passages:,} passages"
    return {
        "found": f"It is among the first {standing.k} hits: {ranks}.",
        "lower": f"Other passages score higher: {ranks}; the limit is {counted(standing.k, 'hit')}.",
        "limit": f"Its document has its maximum of hits: {ranks}. To lift it, add: --per-document 0",
        "copy": f"A copy is listed, {escape(standing.detail)}: {ranks}. To list both, add: --all-copies",
        "changed": f"Its file has changed since indexing{detail}: {ranks}. Update with: seewhy index FOLDER",
        "gone": f"Its file was deleted: {ranks}. To remove it from the index, run: seewhy index FOLDER",
        "filtered": f"A filter, a quoted word or a word after a minus sign excludes it: {ranks}.",
    }[standing.cause]


@dataclass
class WordLine:
    """A line of the table of query words.

    Attributes:
        share: contribution of a word, or another addend.
        added: whole contribution of the line.
        keyword: the part of `added` that comes from the keyword score.
    """

    share: Share
    added: float = 0.0
    keyword: float = 0.0

    @property
    def is_word(self) -> bool:
        return self.share.kind in ("word", "term")

    @property
    def name(self) -> str:
        return one_line(self.share.text) if self.is_word else share_name(self.share)


def word_lines(why: Explanation, partners: int = 3) -> list[WordLine]:
    """Return a line for each word or other share; a keyword's contribution is added to its word's line."""
    return lines_of(why.shares(partners))


def lines_of(shares: Sequence[Share]) -> list[WordLine]:
    """Return the lines of shares; see `word_lines`."""
    lines: list[WordLine] = []
    for share in shares:
        same = [line for line in lines if line.share.start <= share.start < line.share.end]
        if share.kind != "term" or not same:
            same = [WordLine(share)]
            lines += same
        same[0].added += share.contribution
        if share.kind == "term":
            same[0].keyword += share.contribution
    return lines


def content_lines(lines: Sequence[WordLine]) -> list[WordLine]:
    """Return the lines of words that are no stop words, then the rest as a line, then the offset and other addends.

    Stop words, punctuation and special tokens are the rest. If there are only stop words, they are content.
    """
    content = _without_stop_words([line for line in lines if line.is_word])
    others = [line for line in lines if line.share.kind in ("offset", "model", "like", "late")]
    rest = [line for line in lines if line not in content and line not in others]
    added, keyword = sum(line.added for line in rest), sum(line.keyword for line in rest)
    if rest:
        others.insert(0, WordLine(Share(REST, REST, 0, 0, added), added, keyword))
    return [*content, *others]


def _without_stop_words(words: list[WordLine]) -> list[WordLine]:
    """Return the words that are no stop words; all words if there are no others."""
    return [line for line in words if line.name.casefold() not in STOP_WORDS] or words


def sentence(why: Explanation) -> str:
    """Return the main sources of a score: "Mainly phone ~ devices; 62 % meaning, 38 % keywords."

    A query word is paired with the most similar passage word, if the two are each other's best match.
    """
    lines = word_lines(why, partners=0)
    words = _without_stop_words([line for line in lines if line.is_word and line.added > 0])
    words.sort(key=lambda line: -line.added)
    if not words or any(term.kind == "model" for term in why.terms):
        return ""
    like = {pair.query.start: pair.passage.text for pair in why.alignment(ALIKE)}
    pairs = []
    for line in words[:_MAINLY]:
        if line.added >= _ALSO * words[0].added:
            partner = one_line(like.get(line.share.start, ""))
            pairs.append(f"{line.name} ~ {partner}" if partner and why.weight else f'"{line.name}"')
    return f"Mainly {', '.join(pairs)}; {_divided(why)}."


def _divided(why: Explanation) -> str:
    """Return the shares of a score's parts: "62 % meaning, 38 % keywords"; as numbers if a part is negative."""
    parts = {
        "meaning": why.meaning,
        "keywords": _sum_of(why, "term"),
        "similarity to examples": _sum_of(why, "like"),
        "best matches": 0.0 if why.late is None else float(why.late.sum()),
    }
    parts = {name: value for name, value in parts.items() if abs(value) > 1e-9}
    if min(parts.values(), default=0.0) < 0:
        return ", ".join(f"{value:+.2f} {name}" for name, value in parts.items())
    whole = sum(parts.values())
    return ", ".join(f"{100 * value / whole:.0f} % {name}" for name, value in parts.items())


def _sum_of(why: Explanation, kind: str) -> float:
    return sum(term.contribution for term in why.terms if term.kind == kind)


def draw_head(canvas: Canvas, why: Explanation, hit: Hit | None) -> None:
    """Draw the query, and the place and rank of the passage."""
    canvas.line(("query    ", "dim"), (one_line(why.query), "bold"))
    if hit is not None:
        canvas.line(("passage  ", "dim"), (where(hit), "cyan"), (f"  {named(hit)}", "dim"), whole=True)
        canvas.line(headings(hit), style="bold", indent=9)
        if hit.ranking.without:
            canvas.line(("without  ", "dim"), one_line(", ".join(hit.ranking.without)))
        if percentile := percentile_of(hit):
            canvas.line(("score    ", "dim"), (f"{hit.score:.3f}", "bold green"), f", {percentile}")
        if hit.verdict:
            canvas.line(("verdict  ", "dim"), verdict_of(hit), _reason(hit.verdict))


def _reason(verdict: Verdict) -> str:
    """Return what a probability rests on; "" for a verdict on identifiers, which were counted."""
    if verdict.coverage is None:
        return ""
    share = f"one of the first hits has {100 * verdict.coverage:.0f} % of the query's words"
    return f": {share}, rare ones counting more"


def _draw_hit(canvas: Canvas, name: str, hit: Hit) -> None:
    score = (f"{hit.score:.6f}", "bold green")
    place = (f"  {where(hit)}", "cyan")
    canvas.line((f"{name:<7}", "dim"), score, place, (f"  {named(hit)}", "dim"), whole=True)
    canvas.line(headings(hit), style="bold", indent=17)


def _draw_words(canvas: Canvas, lines: Sequence[WordLine]) -> None:
    """Draw a line for each query word and each other addend, and their sum."""
    largest = max((abs(line.added) for line in lines), default=0.0)
    table = grid("Query word", number("added"), Column(no_wrap=True), number("as a keyword"), "most like")
    for line in lines:
        keyword = f"{line.keyword:+.4f}" if line.keyword else ""
        partners = ", ".join(one_line(partner.text) for partner in line.share.partners)
        table.add_row(line.name, f"{line.added:+.4f}", signed_bar(line.added, largest), keyword, partners)
    keywords = sum(line.keyword for line in lines)
    added = f"{sum(line.added for line in lines):+.4f}"
    table.add_row("sum", added, "", f"{keywords:+.4f}" if keywords else "", style="bold")
    canvas.table(table)
    canvas.gap()


def _draw_sum(canvas: Canvas, why: Explanation) -> None:
    """Draw the score as a sum, the method, and the score from the stored embedding."""
    parts = []
    if why.weight:
        factor = "" if why.weight == 1 else f"{why.weight:g} x "
        cosine = why.meaning / why.weight
        parts.append(f"{factor}{cosine:.6f} ({addend_count_text(why)})")
    if why.terms or not why.weight:
        name = "other addend" if any(term.kind != "term" for term in why.terms) else "keyword"
        added = sum(term.contribution for term in why.terms)
        parts.append(f"{added:.6f} ({counted(len(why.terms), name)})")
    if why.late is not None:
        parts.append(f"{float(why.late.sum()):.6f} (best matches)")
    score = (f"{why.score:.6f}", "bold green")
    canvas.line("score ", score, f" = {' + '.join(parts)} {signed(why.residual)} (residual)")
    if why.recomputed is not None and why.drift is not None:
        canvas.dim(f"      {why.recomputed:.6f} {signed(why.drift)}, computed from the stored embedding")
    pairs = f"{len(why.query_tokens)} query tokens x {len(why.passage_tokens)} passage tokens"
    canvas.dim(f"({pairs}, {how_made(why)})")
    canvas.gap()


def addend_count_text(why: Explanation) -> str:
    """Return the number of addends of the cosine: "9 query tokens and any text"."""
    tokens = counted(len(why.query_tokens), "query token")
    return f"{tokens} and {ANY_TEXT}" if why.offset else tokens


def how_made(why: Explanation) -> str:
    """Return the pooling of the embeddings, and the layer that contributions are traced to."""
    return f"{why.pooling} pooling, contributions traced to layer {why.layer} of {why.n_layers}"


def _draw_passage(canvas: Canvas, why: Explanation, details: bool) -> None:
    """Draw the passage's own text; its strongest words are coloured, or in brackets if there is no colour."""
    canvas.line("Contribution of each passage word" if why.weight else "The passage", style="bold")
    marks = why.strongest()
    strongest = max((mark.weight for mark in marks), default=0.0)
    text, at = Text(), 0
    for mark in marks:
        word = escape(why.passage[mark.start : mark.end])
        text.append(escape(why.passage[at : mark.start]))
        text.append(word if canvas.colour else f"«{word}»", "bold green")
        at = mark.end
    canvas.line(text.append(escape(why.passage[at:])), indent=2)
    for name, added in _beside(why, details).items():
        canvas.dim(f"  {one_line(name)}: {added:+.4f}")
    canvas.dim(f"  (marked: words that add at least a quarter of the largest addend, {strongest:+.4f})")
    canvas.gap()


def _beside(why: Explanation, details: bool) -> dict[str, float]:
    """Return name -> contribution of the headings of a passage; with details, also of what is no word."""
    words = why.words()
    kinds = ("context", "prompt", "special") if details else ("context",)
    sums: dict[str, float] = {}
    for word, added in zip(words.passage, why.passage_contributions.tolist(), strict=True):
        if word.kind in kinds:
            name = all_of_kind(word.kind, words.passage)
            sums[name] = sums.get(name, 0.0) + added
    if details and why.weight and why.passage_offset:
        sums[ANY_TEXT] = why.weight * why.passage_offset
    return sums


def _draw_alignment(canvas: Canvas, why: Explanation) -> None:
    canvas.line("Most similar words", style="bold")
    pairs = sorted(why.alignment(), key=lambda pair: -pair.similarity)
    table = grid(number(), "", number(), Column(no_wrap=True), header="")
    for pair in pairs[:_PAIRS]:
        words = (f"  {one_line(pair.query.text)}", f"~  {one_line(pair.passage.text)}")
        table.add_row(*words, f"{pair.similarity:.3f}", bar(max(pair.similarity, 0), 2 * _BAR))
    canvas.table(table)
    more = f"; {counted(len(pairs) - _PAIRS, 'weaker pair')} omitted" if len(pairs) > _PAIRS else ""
    canvas.dim(f"  (cosines at {layer_of(why)}; not part of the score{more})")


def _draw_gap(canvas: Canvas, compared: Contrast, a: str, b: str) -> None:
    """Draw the gap as a sum, then the contribution of each query word to it, largest first."""
    total = sum(word.gap for word in compared.words)
    residual = f"{signed(compared.residual)} (residual)"
    canvas.line(f"gap {compared.gap:+.6f} = {total:+.6f} (sum of the lines below) {residual}")
    canvas.gap()
    table = grid(
        "query word",
        number(f"{a} - {b}"),
        Column(no_wrap=True),
        number(f"in {a}"),
        number(f"in {b}"),
        gap=1,
    )
    largest = max((abs(word.gap) for word in compared.words), default=0.0)
    for word in in_order(compared):
        bar = signed_bar(word.gap, largest)
        sides = f"{word.in_a:+.4f}", f"{word.in_b:+.4f}"
        table.add_row(share_name(word), f"{word.gap:+.4f}", bar, *sides)
    sums = (sum(word.in_a for word in compared.words), sum(word.in_b for word in compared.words))
    table.add_row("sum", f"{total:+.4f}", "", *(f"{value:+.4f}" for value in sums), style="bold")
    canvas.table(table)


def in_order(compared: Contrast) -> list[Difference]:
    """Return the differences sorted by their contribution to the gap."""
    return sorted(compared.words, key=lambda word: -word.gap)


def share_name(share: Share | Difference) -> str:
    """Return the name of a share's line; a query word may have a line for its meaning and one for the keyword."""
    text = one_line(share.text)
    if share.kind == "late":
        return f'best match of "{text}"'
    return f'keyword "{text}"' if share.kind == "term" else text


def signed(value: float) -> str:
    """Format a small number as the last addend of a sum, with its sign: "+ 1.7e-07"."""
    return f"{'-' if value < 0 else '+'} {abs(value):.1e}"


def signed_bar(value: float, largest: float) -> Text:
    """Return a bar for an absolute value, full if it is `largest`; a negative one is lighter and red."""
    length = round(_BAR * abs(value) / (largest or 1.0))
    return Text(BLOCK * length, style="green") if value >= 0 else Text("░" * length, style="red")
