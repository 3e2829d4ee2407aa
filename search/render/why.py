"""An explanation, drawn for a terminal, line by line.

A unit is a word, or several tokens that get one line together: the special tokens, the punctuation, the
model's prompt. What the tokens add to a score, the units add.

Four parts: the sum that makes the score; what each query word added; the passage with its words marked by
what they added; and which word is like which. The first three rest on the contribution matrix, the
last on the similarity matrix, and they say so. Then, where it was asked for, what a check of the explanation found.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np
from rich.table import Column
from rich.text import Text

from search.records.comparisons import Difference, Faithfulness, Removal
from search.records.explanations import Explanation, Partner, Share
from search.records.hits import Hit
from search.records.tokens import Token, Word, WordKind, WordMatrices, all_of_kind
from search.render.format import escape, headings, hub_warning, named, one_line, percentile_of, where
from search.render.terminal import BLOCK, Canvas, as_text, bar, grid, number

if TYPE_CHECKING:
    from search.records.tokens import Matrix, Vector

By = Literal["word", "token"]

_GROUPS: tuple[WordKind, ...] = ("punctuation", "special", "prompt")


@dataclass(frozen=True)
class Unit:
    """One line of a picture.

    Attributes:
        label: harmless in a terminal, on one line.
        kind: "word", "context" (a word of title and headings), "punctuation", "special" or "prompt".
        words: positions of its words among the words of its text.
    """

    label: str
    kind: WordKind
    words: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Units:
    """Both matrices of an explanation by units.

    Attributes:
        words: what the units point into.
        query, passage: U and V units.
        contributions: (U, V) sums of addends, weighted as in the score, so that they and the terms sum to it.
        similarity: (U, V) the highest cosine among the tokens of the two units.
        by: whether its units are words or tokens.
    """

    words: WordMatrices
    query: tuple[Unit, ...]
    passage: tuple[Unit, ...]
    contributions: Matrix
    similarity: Matrix
    by: By

    @property
    def query_added(self) -> Vector:
        """(U,) what each unit of the query added."""
        return self.contributions.sum(axis=1)

    @property
    def passage_added(self) -> Vector:
        """(V,) what each unit of the passage added."""
        return self.contributions.sum(axis=0)


@dataclass(frozen=True, eq=False)
class Part:
    """Some rows and columns of units, and what was left out for lack of room.

    Attributes:
        units: those that are shown.
        query_added, passage_added: what the shown units added, with those not shown too.
        left_query, left_passage: how many units are not shown, and what these added in all.
    """

    units: Units
    query_added: Vector
    passage_added: Vector
    left_query: tuple[int, float]
    left_passage: tuple[int, float]


def units(why: Explanation, by: By = "word") -> Units:
    """The lines of an explanation: its words, then what is no word of the text; or every token."""
    words = why.words() if by == "word" else _tokens(why)
    query, passage = _units(words.query, by), _units(words.passage, by)
    return Units(
        words,
        query,
        passage,
        why.weight * _by_units(np.add, words.contributions, query, passage),
        _by_units(np.maximum, words.similarity, query, passage),
        by,
    )


def word_lines(drawn: Units) -> tuple[int, int]:
    """How many units of query and passage are single words or tokens; the rest, behind them, are several."""
    if drawn.by == "token":
        return len(drawn.query), len(drawn.passage)
    query, passage = (sum(u.kind not in _GROUPS for u in side) for side in (drawn.query, drawn.passage))
    return query, passage


def largest_addend(drawn: Units) -> float:
    """The largest |addend| of a pair of words: where a colour scale for contributions ends.

    Lines of several tokens are left out, as a sum of many would leave all words pale.
    """
    rows = [i for i, unit in enumerate(drawn.query) if len(unit.words) == 1]
    columns = [j for j, unit in enumerate(drawn.passage) if len(unit.words) == 1]
    cells = drawn.contributions[np.ix_(rows, columns)] if rows and columns else drawn.contributions
    return float(np.abs(cells).max()) or 1.0


def part(whole: Units, rows: int, columns: int) -> Part:
    """At most so many rows and columns: those that added most, whatever the sign, in the order of the text."""
    kept_rows, kept_columns = _largest(whole.query_added, rows), _largest(whole.passage_added, columns)
    cells = np.ix_(kept_rows, kept_columns)
    shown = replace(
        whole,
        query=tuple(whole.query[i] for i in kept_rows),
        passage=tuple(whole.passage[j] for j in kept_columns),
        contributions=whole.contributions[cells],
        similarity=whole.similarity[cells],
    )
    return Part(
        shown,
        whole.query_added[kept_rows],
        whole.passage_added[kept_columns],
        _left(whole.query_added, kept_rows),
        _left(whole.passage_added, kept_columns),
    )


def left_out(shown: Part) -> str:
    """What a picture does not show, in a sentence; empty when it shows all."""
    phrases = [
        f"{count} of the {side}, which added {added:+.4f} in all"
        for side, (count, added) in (("query", shown.left_query), ("passage", shown.left_passage))
        if count
    ]
    return f"Lines left out: {'; '.join(phrases)}." if phrases else ""


def _largest(added: Vector, count: int) -> list[int]:
    return sorted(np.argsort(-np.abs(added), kind="stable")[:count].tolist())


def _left(added: Vector, kept: Sequence[int]) -> tuple[int, float]:
    return len(added) - len(kept), float(added.sum() - added[list(kept)].sum())


def _units(words: Sequence[Word], by: By) -> tuple[Unit, ...]:
    if by == "token":
        return tuple(Unit(one_line(word.text), word.kind, (i,)) for i, word in enumerate(words))
    alone = [Unit(one_line(w.text), w.kind, (i,)) for i, w in enumerate(words) if w.kind not in _GROUPS]
    together = [(kind, tuple(i for i, w in enumerate(words) if w.kind == kind)) for kind in _GROUPS]
    return (*alone, *(Unit(one_line(all_of_kind(kind, words)), kind, at) for kind, at in together if at))


def _by_units(together: np.ufunc, cells: Matrix, query: Sequence[Unit], passage: Sequence[Unit]) -> Matrix:
    """(U, V) from the words' matrix: the cells of the words of two units, added up, say."""
    rows = np.stack([together.reduce(cells[list(unit.words)], axis=0) for unit in query])
    columns: Matrix = np.stack(
        [together.reduce(rows[:, list(unit.words)], axis=1) for unit in passage], axis=1
    )
    return columns


def _tokens(why: Explanation) -> WordMatrices:
    """The matrices by tokens, each token as a word of its own."""
    return WordMatrices(
        tuple(_token(token, i) for i, token in enumerate(why.query_tokens)),
        tuple(_token(token, i) for i, token in enumerate(why.passage_tokens)),
        why.contributions,
        why.similarity,
    )


def _token(token: Token, at: int) -> Word:
    kind: WordKind = token.part if token.part != "text" else "word"
    if kind == "word" and not any(character.isalnum() for character in token.text):
        kind = "punctuation"
    return Word(token.text, token.start, token.end, kind, (at, at + 1))


_BAR = 18
_PAIRS = 12
_NAMED = 10  # words that were cut out


@as_text
def explanation(canvas: Canvas, why: Explanation, hit: Hit | None = None) -> None:
    """The whole picture, `width` characters wide; readable without colour too."""
    _draw_head(canvas, why, hit)
    _draw_sum(canvas, why)
    _draw_query_words(canvas, why)
    _draw_passage(canvas, why, why.words())
    _draw_alignment(canvas, why)


def _draw_head(canvas: Canvas, why: Explanation, hit: Hit | None) -> None:
    canvas.line(("query    ", "dim"), (one_line(why.query), "bold"))
    if hit is not None:
        canvas.line(("passage  ", "dim"), (where(hit), "cyan"), (f"  {named(hit)}", "dim"), whole=True)
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
        canvas.dim(stored)
    how = f"{why.pooling} pooling"
    if why.steps:
        how += f"; by integrated gradients in {why.steps} steps, so the residual is their error"
    pairs = f"{len(why.query_tokens)} query tokens x {len(why.passage_tokens)} passage tokens"
    canvas.dim(f"({pairs}, {how})")
    canvas.gap()


def _terms(why: Explanation) -> str:
    """What addends there are besides the token pairs."""
    if any(term.kind == "model" for term in why.terms):
        return "another model"
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
            canvas.dim(f"  {one_line(all_of_kind(kind, words.passage))}: {sum(rest):+.4f}")
    marks = "" if canvas.colour else "; «word» at least 60 % of it, ‹word› at least 25 %"
    canvas.dim(f"  (strongest word {strongest:+.4f}{marks})")
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
        canvas.dim("  no pair of words is each other's best match")
    more = f"; {len(pairs) - _PAIRS} weaker pairs left out" if len(pairs) > _PAIRS else ""
    canvas.dim(
        f"  (cosines of token vectors at layer {why.similarity_layer}, mutual best matches; "
        f"these do not add up to the score{more})"
    )


@as_text
def faithfulness(canvas: Canvas, checked: Faithfulness) -> None:
    """What is lost without the words that count most, in sentences; `width` characters wide."""
    what = "score" if checked.is_score else "cosine"
    canvas.line(f"Does the {what} need the words that count most?", style="bold")
    for removal in checked.removals:
        canvas.line(_sentence(removal, checked.words, what), indent=2)
        words = ", ".join(one_line(word.text) for word in removal.words[:_NAMED])
        more = f" and {len(removal.words) - _NAMED} more" if len(removal.words) > _NAMED else ""
        canvas.dim(f"cut out: {words}{more}", indent=4)
    canvas.line(_verdict(checked, what), indent=2)
    rest = "" if checked.is_score else "; the word part of the score is no matter of this check"
    canvas.dim(
        f"(what is left was encoded again; the whole passage has the cosine {checked.cosine:.4f}{rest}; "
        "± is the standard deviation of the draws)",
        indent=2,
    )


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
