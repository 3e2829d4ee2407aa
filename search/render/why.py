"""An explanation, drawn for a terminal.

Four parts: the sum that makes the score; what each query word added; the passage with its words marked by
what they added; and which word is like which. The first three rest on the contribution matrix, the
last on the similarity matrix, and they say so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from search.records.comparisons import Difference
from search.records.explanations import Explanation, Partner, Share
from search.records.hits import Hit
from search.records.tokens import Word, WordMatrices
from search.render import scale
from search.render.escape import escape, one_line
from search.render.terminal import canvas, drawn, headings, where

if TYPE_CHECKING:
    from rich.console import Console

_BAR = 18
_PAIRS = 12
_NAMES = {"prompt": "the model's prompt", "context": "title and headings"}


def explanation(why: Explanation, hit: Hit | None = None, *, width: int = 80, colour: bool = False) -> str:
    """The whole picture, `width` characters wide; readable without colour too."""
    console = canvas(width, colour)
    words = why.words()
    _draw_head(console, why, hit)
    _draw_sum(console, why)
    _draw_query_words(console, why)
    _draw_passage(console, why, words, colour)
    _draw_alignment(console, why)
    return drawn(console)


def _draw_head(console: Console, why: Explanation, hit: Hit | None) -> None:
    console.print(Text.assemble(("query    ", "dim"), (one_line(why.query), "bold")))
    if hit is not None:
        rank = f"rank {hit.rank}, " if hit.rank else ""
        console.print(
            Text.assemble(
                ("passage  ", "dim"), (where(hit), "cyan"), (f"  ({rank}p{hit.passage_id})", "dim")
            ),
            soft_wrap=True,
        )
        console.print(Padding(Text(headings(hit), style="bold"), (0, 0, 0, 9)))
        if said := scale.of_hit(hit):
            console.print(
                Text.assemble(("score    ", "dim"), (f"{hit.score:.3f}", "bold green"), f", {said}")
            )
        if warning := scale.hub(hit):
            console.print(Padding(Text(warning, style="yellow"), (0, 0, 0, 9)))
    console.print()


def _draw_sum(console: Console, why: Explanation) -> None:
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
    console.print(
        Text.assemble(
            "score ",
            (f"{audit.returned:.6f}", "bold green"),
            f" = {' + '.join(parts)} {signed(audit.residual)} (residual)",
        )
    )
    if audit.recomputed is not None and audit.drift is not None:
        console.print(
            f"      {audit.recomputed:.6f} {signed(audit.drift)} by the embedding that is stored",
            style="dim",
        )
    how = f"{why.pooling} pooling"
    if why.steps:
        how += f"; by integrated gradients in {why.steps} steps, so the residual is their error"
    console.print(
        f"({len(why.query_tokens)} query tokens x {len(why.passage_tokens)} passage tokens, {how})",
        style="dim",
    )
    console.print()


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


def _draw_query_words(console: Console, why: Explanation) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("Each query word added")
    table.add_column("", justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    table.add_column("most of it with", overflow="fold")
    shares = why.shares()
    largest = max((abs(share.contribution) for share in shares), default=0.0)
    for share in shares:
        added = share.contribution
        table.add_row(share_name(share), f"{added:+.4f}", bar(added, largest), partners(share.partners))
    table.add_row("sum", f"{why.audit.addends:+.4f}", "", "", style="bold")
    console.print(table)
    console.print()


def partners(found: Sequence[Partner]) -> str:
    """Passage words and what was added with them: "keys 0.031, lock 0.012"."""
    return ", ".join(f"{one_line(partner.text)} {partner.contribution:.3f}" for partner in found)


def _name(kind: str, words: Sequence[Word]) -> str:
    """What a line for all words of a kind is called; special tokens by their own names."""
    if kind == "special":
        return " and ".join(dict.fromkeys(word.text for word in words if word.kind == "special"))
    return _NAMES[kind]


def bar(value: float, largest: float, width: int = _BAR) -> Text:
    """A bar as long as the value is large; lighter where it is negative."""
    length = round(width * abs(value) / (largest or 1.0))
    return Text("█" * length, style="green") if value >= 0 else Text("░" * length, style="red")


def _draw_passage(console: Console, why: Explanation, words: WordMatrices, colour: bool) -> None:
    """The passage's own text, its strongest words marked: by colour, or by brackets where there is none."""
    added = why.passage_added(words)
    own = [
        (word, float(added[j]))
        for j, word in enumerate(words.passage)
        if word.kind in ("word", "punctuation")
    ]
    strongest = max((value for _, value in own), default=0.0)
    by_meaning = why.weight > 0  # else no word of it has a part in the score but those of the list above
    console.print(Text("What each passage word added" if by_meaning else "The passage", style="bold"))
    text, at = Text(), 0
    for word, value in own:
        text.append(escape(why.passage[at : word.start]))
        share = value / strongest if strongest > 0 else 0.0
        shown = escape(why.passage[word.start : word.end])
        if word.kind == "word" and share >= 0.25:
            marks = "«»" if share >= 0.6 else "‹›"
            text.append(shown if colour else f"{marks[0]}{shown}{marks[1]}", style=_shade(share))
        else:
            text.append(shown, style="red" if value < 0 else "")
        at = word.end
    text.append(escape(why.passage[at:]))
    console.print(Padding(text, (0, 0, 0, 2)))
    for kind in ("context", "prompt", "special"):
        rest = [float(added[j]) for j, word in enumerate(words.passage) if word.kind == kind]
        if rest:
            console.print(f"  {_name(kind, words.passage)}: {sum(rest):+.4f}", style="dim")
    marks = "" if colour else "; «word» at least 60 % of it, ‹word› at least 25 %"
    console.print(f"  (strongest word {strongest:+.4f}{marks})", style="dim")
    console.print()


def _shade(share: float) -> str:
    if share >= 0.6:
        return "bold black on green"
    return "bold green" if share >= 0.4 else "green"


def _draw_alignment(console: Console, why: Explanation) -> None:
    console.print(Text("Which word is like which", style="bold"))
    pairs = sorted(why.alignment(), key=lambda pair: -pair.similarity)
    for pair in pairs[:_PAIRS]:
        bar = "█" * round(_BAR * max(pair.similarity, 0))
        console.print(
            Text.assemble(
                f"  {one_line(pair.query.text):>16}  ~  {one_line(pair.passage.text):<16}  {pair.similarity:.3f} ",
                (bar, "blue"),
            )
        )
    if not pairs:
        console.print("  no pair of words is each other's best match", style="dim")
    more = f"; {len(pairs) - _PAIRS} weaker pairs left out" if len(pairs) > _PAIRS else ""
    console.print(
        f"  (cosines of token vectors at layer {why.similarity_layer}, mutual best matches; "
        f"these do not add up to the score{more})",
        style="dim",
    )
