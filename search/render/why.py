"""An explanation, drawn for a terminal, line by line.

It begins with one sentence. Then what each query word added, the sum that makes the score, the passage with its words
marked by what they added, and which word is like which. The first four rest on the contribution matrix, the last on the
similarity matrix, and they say so. Then, where it was asked for, what a check of the explanation found.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rich.table import Column
from rich.text import Text

from search.records.comparisons import Difference, Faithfulness, Removal
from search.records.explanations import Explanation, Partner, Share
from search.records.hits import Hit
from search.records.tokens import WordMatrices, all_of_kind
from search.render.format import (
    counted,
    escape,
    headings,
    hub_warning,
    layer_of,
    named,
    one_line,
    percentile_of,
    where,
)
from search.render.terminal import BLOCK, Canvas, as_text, bar, grid, number

_BAR = 18
_PAIRS, _FEWER = 12, 6  # pairs of words that are like each other, in full and not
_MAINLY, _ALSO = 3, 0.5  # pairs in the sentence; the second and third add at least so much of the first
_ALIKE = 0.5  # least cosine of two words that the sentence calls alike; it names what added most in place of others
_DIFFERS = 0.35  # share of the largest word from which on a row is shown by itself
_ROWS = 8  # of words at most
_ROOMY = 56  # columns; in fewer there is no column for words by themselves
_BESIDE_BARS = 48  # columns of two words and their cosine
_NAMED = 10  # words that were cut out


@as_text
def explanation(canvas: Canvas, why: Explanation, hit: Hit | None = None, *, full: bool = False) -> None:
    """The whole picture, `width` characters wide; readable without colour too.

    Args:
        full: a line for every addend; else what adds little stands together in one.
    """
    draw_head(canvas, why, hit)
    canvas.gap()
    if said := sentence(why):
        canvas.line(said)
        canvas.gap()
    if full:
        _draw_shares(canvas, why)
    else:
        _draw_query_words(canvas, why)
    _draw_sum(canvas, why)
    _draw_passage(canvas, why, why.words())
    _draw_alignment(canvas, why, _PAIRS if full else _FEWER)


@dataclass(frozen=True)
class _Row:
    """What a word of the query added in all, by its meaning and because it stands there; or a line of no word."""

    name: str
    is_word: bool
    stays: bool = False  # a line of its own however little it adds
    start: int = 0
    end: int = 0
    meaning: float = 0.0
    itself: float = 0.0
    partners: tuple[Partner, ...] = ()

    @property
    def added(self) -> float:
        return self.meaning + self.itself


def _rows(why: Explanation) -> list[_Row]:
    """The shares of an explanation, those of one word together; they sum to the score less the residual."""
    rows: list[_Row] = []
    for share in why.shares():
        itself, is_word = share.kind == "term", share.kind in ("word", "term")
        of = next((i for i, row in enumerate(rows) if row.is_word and _within(share, row)), len(rows))
        if of == len(rows):
            name = one_line(share.text) if is_word else share_name(share)
            stays = share.kind in ("like", "model")
            rows.append(_Row(name, is_word, stays, share.start, share.end, partners=share.partners))
        added = share.contribution
        meaning, own = (0.0, added) if itself else (added, 0.0)
        rows[of] = replace(rows[of], meaning=rows[of].meaning + meaning, itself=rows[of].itself + own)
    return rows


def _within(share: Share, row: _Row) -> bool:
    return share.kind in ("term", "late") and row.start <= share.start < row.end


def sentence(why: Explanation) -> str:
    """What a score mainly comes from, and how much of it is meaning, as in "Mainly phone ~ devices; 62 % meaning,
    38 % words."

    A word of the query stands with the word of the passage that is most like it, or that it added most with.
    """
    if any(term.kind == "model" for term in why.terms):
        return ""
    like = {(pair.query.start, pair.query.end): pair.passage.text for pair in why.alignment(_ALIKE)}
    rows = sorted((row for row in _rows(why) if row.is_word and row.added > 0), key=lambda row: -row.added)
    pairs = []
    for row in rows[:_MAINLY]:
        if row.added >= _ALSO * rows[0].added:
            partner = like.get((row.start, row.end)) or (row.partners[0].text if row.partners else "")
            pairs.append(f"{row.name} ~ {one_line(partner)}" if partner and why.weight else f'"{row.name}"')
    parts = {
        "meaning": why.weight * why.sum_of_contributions,
        "words": sum(term.contribution for term in why.terms if term.kind == "term"),
        "what hits shall be like": sum(term.contribution for term in why.terms if term.kind == "like"),
        "best matches": 0.0 if why.late is None else float(why.late.sum()),
    }
    made = {name: value for name, value in parts.items() if abs(value) > 1e-9}
    if not made or not pairs:
        return ""
    if len(made) == 1:
        of = f"all of it {next(iter(made))}"
    elif min(made.values()) > 0:
        of = ", ".join(
            f"{value / sum(made.values()):.0%} {name}".replace("%", " %") for name, value in made.items()
        )
    else:
        of = ", ".join(f"{value:+.2f} {name}" for name, value in made.items())
    return f"Mainly {', '.join(pairs)}; {of}."


def draw_head(canvas: Canvas, why: Explanation, hit: Hit | None) -> None:
    """The query, and where the passage stands."""
    canvas.line(("query    ", "dim"), (one_line(why.query), "bold"))
    if hit is not None:
        canvas.line(("passage  ", "dim"), (where(hit), "cyan"), (f"  {named(hit)}", "dim"), whole=True)
        canvas.line(headings(hit), style="bold", indent=9)
        if hit.ranking.without:
            canvas.line(("without  ", "dim"), one_line(", ".join(hit.ranking.without)))
        if said := percentile_of(hit):
            canvas.line(("score    ", "dim"), (f"{hit.score:.3f}", "bold green"), f", {said}")
        if warning := hub_warning(hit):
            canvas.line(warning, style="yellow", indent=9)


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
    pairs = f"{len(why.query_tokens)} query tokens x {len(why.passage_tokens)} passage tokens"
    canvas.dim(f"({pairs}, {how_made(why)})")
    canvas.gap()


def how_made(why: Explanation) -> str:
    """How the embeddings were made, and the addends, where they are not exact."""
    how = f"{why.pooling} pooling"
    if why.steps:
        how += f"; by integrated gradients in {why.steps} steps, so the residual is their error"
    return how


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
    """The words that differ from the rest, each in one line, and the rest in one."""
    rows = _rows(why)
    strong = sorted((row for row in rows if row.is_word), key=lambda row: -abs(row.added))[:_ROWS]
    least = _DIFFERS * abs(strong[0].added) if strong else 0.0
    shown = [row for row in rows if row.stays or (row in strong and abs(row.added) >= least)]
    largest = max((abs(row.added) for row in shown), default=0.0)
    rest = [row for row in rows if row not in shown]
    itself = canvas.width >= _ROOMY and bool(why.weight) and any(row.itself for row in rows)
    columns: list[str | Column] = [Column("Query word"), number("added"), Column(no_wrap=True)]
    table = grid(*columns, *([number("as a word")] if itself else []), "mostly with")

    def line(name: str, added: float, bar: Text | str, own: float, beside: str, style: str = "") -> None:
        cells = [name, f"{added:+.4f}", bar, f"{own:+.4f}" if own else "", beside]
        table.add_row(*(cell for i, cell in enumerate(cells) if itself or i != 3), style=style)

    for row in shown:
        words = ", ".join(one_line(partner.text) for partner in row.partners)
        line(row.name, row.added, signed_bar(row.added, largest, _BAR // 2), row.itself, words)
    if rest:
        names = ", ".join(row.name for row in rest)
        line("all else", sum(row.added for row in rest), "", sum(row.itself for row in rest), names, "dim")
    line("sum", why.audit.addends, "", sum(row.itself for row in rows), "", "bold")
    canvas.table(table)
    canvas.gap()


def _draw_shares(canvas: Canvas, why: Explanation) -> None:
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
        return "bold green reverse"  # so that the letters have the colour of the background
    return "bold green" if share >= 0.4 else "green"


def _draw_alignment(canvas: Canvas, why: Explanation, most: int) -> None:
    canvas.line("Which word is like which", style="bold")
    pairs = sorted(why.alignment(), key=lambda pair: -pair.similarity)
    room = min(_BAR, max(0, canvas.width - _BESIDE_BARS))
    for pair in pairs[:most]:
        words = f"  {one_line(pair.query.text):>16}  ~  {one_line(pair.passage.text):<16}"
        canvas.line(f"{words}  {pair.similarity:.3f} ", bar(max(pair.similarity, 0), room))
    if not pairs:
        canvas.dim("  no pair of words is each other's best match")
    more = f"; {counted(len(pairs) - most, 'weaker pair')} left out" if len(pairs) > most else ""
    canvas.dim(
        f"  (mutual best matches by the cosines of token vectors at {layer_of(why)}; "
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
    canvas.line(verdict(checked), indent=2)
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


def verdict(checked: Faithfulness) -> str:
    """Whether the words that add most are those that the score needs."""
    what = "score" if checked.is_score else "cosine"
    if not checked.removals:
        return "The passage has no word that could be cut out."
    if checked.holds is None:
        return "The passage has too few words to tell whether it is these that count."
    if checked.holds:
        return f"So the {what} does rest on the words that add most to it."
    return f"Random words do as much too often: the {what} does not rest on the words that add most to it."
