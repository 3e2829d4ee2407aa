"""An explanation, drawn for a terminal.

Four parts: the sum that makes the score; what each query word added; the passage with its words marked by
what they added; and which word is like which. The first three rest on the contribution matrix, the
last on the similarity matrix, and they say so. Then, where it was asked for, what a check of the explanation found.
"""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Column
from rich.text import Text

from search.records.comparisons import Difference, Faithfulness, Removal
from search.records.explanations import Explanation, Partner, Share
from search.records.hits import Hit
from search.records.tokens import WordMatrices, all_of_kind
from search.render.escape import escape, one_line
from search.render.format import headings, hub_warning, percentile_of, where
from search.render.terminal import BLOCK, Canvas, bar, grid, number

_BAR = 18
_PAIRS = 12
_NAMED = 10  # words that were cut out


def explanation(why: Explanation, hit: Hit | None = None, *, width: int = 80, colour: bool = False) -> str:
    """The whole picture, `width` characters wide; readable without colour too."""
    canvas = Canvas(width, colour)
    _draw_head(canvas, why, hit)
    _draw_sum(canvas, why)
    _draw_query_words(canvas, why)
    _draw_passage(canvas, why, why.words())
    _draw_alignment(canvas, why)
    return canvas.drawn()


def _draw_head(canvas: Canvas, why: Explanation, hit: Hit | None) -> None:
    canvas.line(("query    ", "dim"), (one_line(why.query), "bold"))
    if hit is not None:
        rank = f"rank {hit.rank}, " if hit.rank else ""
        canvas.line(
            ("passage  ", "dim"), (where(hit), "cyan"), (f"  ({rank}p{hit.passage_id})", "dim"), whole=True
        )
        canvas.line(headings(hit), style="bold", indent=9)
        if said := percentile_of(hit):
            canvas.line(("score    ", "dim"), (f"{hit.score:.3f}", "bold green"), f", {said}")
        if warning := hub_warning(hit):
            canvas.line(warning, style="yellow", indent=9)
    canvas.gap()


def _draw_sum(canvas: Canvas, why: Explanation) -> None:
    """The sum that makes the score, how it was made, and the score as the index gives it anew."""
    audit = why.audit
    parts = []
    if why.weight:
        counts = "" if why.weight == 1 else f"{why.weight:g} x "
        parts.append(f"{counts}{float(why.contributions.sum()):.6f} ({why.contributions.size:,} token pairs)")
    if why.terms or not why.weight:
        parts.append(f"{sum(term.contribution for term in why.terms):.6f} ({_terms(why)})")
    if why.late is not None:
        parts.append(f"{float(why.late.sum()):.6f} (best matches)")
    canvas.line(
        "score ",
        (f"{audit.returned:.6f}", "bold green"),
        f" = {' + '.join(parts)} {signed(audit.residual)} (residual)",
    )
    if audit.recomputed is not None and audit.drift is not None:
        stored = f"      {audit.recomputed:.6f} {signed(audit.drift)} by the embedding that is stored"
        canvas.line(stored, style="dim")
    how = f"{why.pooling} pooling"
    if why.steps:
        how += f"; by integrated gradients in {why.steps} steps, so the residual is their error"
    pairs = f"{len(why.query_tokens)} query tokens x {len(why.passage_tokens)} passage tokens"
    canvas.line(f"({pairs}, {how})", style="dim")
    canvas.gap()


def _terms(why: Explanation) -> str:
    """What addends there are besides the token pairs."""
    if any(term.kind == "model" for term in why.terms):
        return "another model"
    if why.mode == "rrf":
        return "of the ranks"
    kinds = [term.kind for term in why.terms]
    others, words = kinds.count("like"), len(kinds) - kinds.count("like")
    counts = [(others, "other part"), (words, "word")]
    said = " and ".join(f"{n:,} {what}{'' if n == 1 else 's'}" for n, what in counts if n)
    return f"{said} found" if words or not others else f"{said} of the query"


def share_name(share: Share | Difference) -> str:
    """What a line is called; a word of the query is there for its meaning and for itself."""
    text = one_line(share.text)
    if share.kind == "late":
        return f'best match of "{text}"'
    return f'the word "{text}"' if share.kind == "term" else text


def signed(value: float) -> str:
    """A small number with its sign before it, as the last addend of a sum: "+ 1.7e-07"."""
    return f"{'-' if value < 0 else '+'} {abs(value):.1e}"


def _draw_query_words(canvas: Canvas, why: Explanation) -> None:
    table = grid(Column("Each query word added"), number(), Column(no_wrap=True), "most of it with")
    shares = why.shares()
    largest = max((abs(share.contribution) for share in shares), default=0.0)
    for share in shares:
        added = share.contribution
        table.add_row(
            share_name(share), f"{added:+.4f}", signed_bar(added, largest), partners(share.partners)
        )
    table.add_row("sum", f"{why.audit.addends:+.4f}", "", "", style="bold")
    canvas.table(table)
    canvas.gap()


def partners(named: Sequence[Partner]) -> str:
    """Passage words and what was added with them: "keys 0.031, lock 0.012"."""
    return ", ".join(f"{one_line(partner.text)} {partner.contribution:.3f}" for partner in named)


def signed_bar(value: float, largest: float, width: int = _BAR) -> Text:
    """A bar as long as the value is large; lighter where it is negative."""
    length = round(width * abs(value) / (largest or 1.0))
    return Text(BLOCK * length, style="green") if value >= 0 else Text("░" * length, style="red")


def _draw_passage(canvas: Canvas, why: Explanation, words: WordMatrices) -> None:
    """The passage's own text, its strongest words marked: by colour, or by brackets where there is none."""
    added = why.passage_added(words).tolist()
    own = [
        (word, value)
        for word, value in zip(words.passage, added, strict=True)
        if word.kind in ("word", "punctuation")
    ]
    strongest = max((value for _, value in own), default=0.0)
    by_meaning = why.weight > 0  # else no word of it has a part in the score but those of the list above
    canvas.line("What each passage word added" if by_meaning else "The passage", style="bold")
    text, at = Text(), 0
    for word, value in own:
        text.append(escape(why.passage[at : word.start]))
        share = value / strongest if strongest > 0 else 0.0
        shown = escape(why.passage[word.start : word.end])
        if word.kind == "word" and share >= 0.25:
            marks = "«»" if share >= 0.6 else "‹›"
            text.append(shown if canvas.colour else f"{marks[0]}{shown}{marks[1]}", style=_shade(share))
        else:
            text.append(shown, style="red" if value < 0 else "")
        at = word.end
    text.append(escape(why.passage[at:]))
    canvas.line(text, indent=2)
    for kind in ("context", "prompt", "special"):
        rest = [value for word, value in zip(words.passage, added, strict=True) if word.kind == kind]
        if rest:
            canvas.line(f"  {one_line(all_of_kind(kind, words.passage))}: {sum(rest):+.4f}", style="dim")
    marks = "" if canvas.colour else "; «word» at least 60 % of it, ‹word› at least 25 %"
    canvas.line(f"  (strongest word {strongest:+.4f}{marks})", style="dim")
    canvas.gap()


def _shade(share: float) -> str:
    if share >= 0.6:
        return "bold black on green"
    return "bold green" if share >= 0.4 else "green"


def _draw_alignment(canvas: Canvas, why: Explanation) -> None:
    canvas.line("Which word is like which", style="bold")
    pairs = sorted(why.alignment(), key=lambda pair: -pair.similarity)
    for pair in pairs[:_PAIRS]:
        words = f"  {one_line(pair.query.text):>16}  ~  {one_line(pair.passage.text):<16}"
        canvas.line(f"{words}  {pair.similarity:.3f} ", bar(max(pair.similarity, 0), _BAR))
    if not pairs:
        canvas.line("  no pair of words is each other's best match", style="dim")
    more = f"; {len(pairs) - _PAIRS} weaker pairs left out" if len(pairs) > _PAIRS else ""
    canvas.line(
        f"  (cosines of token vectors at layer {why.similarity_layer}, mutual best matches; "
        f"these do not add up to the score{more})",
        style="dim",
    )


def faithfulness(checked: Faithfulness, *, width: int = 80, colour: bool = False) -> str:
    """What is lost without the words that count most, in sentences; `width` characters wide."""
    canvas = Canvas(width, colour)
    what = "score" if checked.is_score else "cosine"
    canvas.line(f"Does the {what} need the words that count most?", style="bold")
    for removal in checked.removals:
        canvas.line(_sentence(removal, checked.words, what), indent=2)
        words = ", ".join(one_line(word.text) for word in removal.words[:_NAMED])
        more = f" and {len(removal.words) - _NAMED} more" if len(removal.words) > _NAMED else ""
        canvas.line(f"cut out: {words}{more}", style="dim", indent=4)
    canvas.line(_verdict(checked, what), indent=2)
    rest = "" if checked.is_score else "; the word part of the score is no matter of this check"
    canvas.line(
        f"(what is left was encoded again; the whole passage has the cosine {checked.cosine:.4f}{rest}; "
        "± is the standard deviation of the draws)",
        style="dim",
        indent=2,
    )
    return canvas.drawn()


def _sentence(removal: Removal, words: int, what: str) -> Text:
    count, draws = len(removal.words), len(removal.random)
    if count == words:
        which = "its only word" if count == 1 else f"all its {count} words"
        return Text.assemble(f"Without {which} the {what} ", _change(removal.drop), ".")
    most = "its word that counts most" if count == 1 else f"its {count} words that count most"
    times = "draw" if draws == 1 else "draws"
    return Text.assemble(
        f"Without {most} the {what} ",
        _change(removal.drop),
        f"; without {count} random word{'s' if count > 1 else ''} it ",
        _change(removal.random_mean),
        f" ± {removal.random_spread:.3f} ({draws} {times}, {removal.as_much or 'none'} as much).",
    )


def _change(drop: float) -> tuple[str, str]:
    """What happens to the score, and its style."""
    if abs(drop) < 0.0005:
        return "does not change", ""
    return (f"falls by {drop:.3f}", "bold green") if drop > 0 else (f"rises by {-drop:.3f}", "bold red")


def _verdict(checked: Faithfulness, what: str) -> str:
    if not checked.removals:
        return "The passage has no word that could be cut out."
    if checked.holds is None:
        return "The passage has too few words to tell whether it is these that count."
    if checked.holds:
        return f"So the {what} does rest on the words that add most to it."
    return f"Random words do as much too often: the {what} does not rest on the words that add most to it."
