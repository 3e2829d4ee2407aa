"""Why one passage stands above another, and why a document is not among the hits, drawn for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Column

from search.records.comparisons import Contrast, Difference, WhyNot
from search.records.explanations import Partner
from search.records.hits import Hit
from search.render.format import counted, escape, headings, named, one_line, snippet, where
from search.render.terminal import Canvas, as_text, grid, number
from search.render.why import partners, share_name, signed, signed_bar

_BAR, _NAMES = 8, 2
_ROOMY = 66  # columns; in fewer the words of the passages are left out

# What to do about what is left out, by its reason; of all others the reason says enough.
WAYS_OUT = {
    "new": "It came into the folder after the last run. Index it with: seewhy index FOLDER",
    "not there": "There is no such file. Check the spelling, or mount the drive it is on.",
    "outside the folder": "Index the folder it is in, or ask another index with --index.",
    "ignored": "A .gitignore, .ignore or .seewhyignore file says so, or it lies in a folder that machines fill. "
    "Take it back with a line '!NAME' in .seewhyignore.",
    "hidden": "Its name, or that of a folder above it, begins with a dot; such files are never read.",
    "secret": "Files of that name hold keys or passwords; they are never read.",
    "excluded": "The patterns of --include and --exclude say so; give others to: seewhy index FOLDER",
    "binary": "It holds no text.",
    "empty": "There is nothing in it to find.",
    "too large": "Cut it into smaller files.",
    "needs seewhy[documents]": "Install what reads it with: pip install 'seewhy[documents]'",
}


@as_text
def contrast(canvas: Canvas, compared: Contrast) -> None:
    """The two passages, and the gap of their scores word by word; `width` characters wide."""
    canvas.line(("query  ", "dim"), (one_line(compared.query), "bold"))
    _draw_hit(canvas, "A", compared.a)
    _draw_hit(canvas, "B", compared.b)
    above, below = ("A", "B") if compared.gap >= 0 else ("B", "A")
    canvas.title(f"Why {above} is above {below}" if compared.gap else "A and B have equal scores")
    _draw_gap(canvas, compared, "A", "B")


def _draw_hit(canvas: Canvas, name: str, hit: Hit) -> None:
    """A passage with its score, its rank and its headings."""
    canvas.line(
        (f"{name:<7}", "dim"),
        (f"{hit.score:.6f}", "bold green"),
        "  ",
        (where(hit), "cyan"),
        (f"  {named(hit)}", "dim"),
        whole=True,
    )
    canvas.line(headings(hit), style="bold", indent=17)


def _draw_gap(canvas: Canvas, compared: Contrast, a: str, b: str) -> None:
    """The sum that makes the gap, then what each query word has to do with it, largest first."""
    total = sum(word.gap for word in compared.words)
    canvas.line(
        f"gap {compared.gap:+.6f} = {total:+.6f} (sum of the lines below) {signed(compared.residual)} (residual)"
    )
    canvas.gap()
    roomy = canvas.width >= _ROOMY
    columns = [Column("query word", overflow="fold", max_width=16), number(f"{a} - {b}")]
    if roomy:
        columns.append(Column(no_wrap=True, width=_BAR))
    for name in (a, b):
        columns.append(number(f"in {name}"))
        if roomy:
            columns.append(Column("with", overflow="fold", ratio=1, style="dim"))
    table = grid(*columns, gap=1)
    largest = max((abs(word.gap) for word in compared.words), default=0.0)
    for word in in_order(compared):
        gap, in_a, in_b = f"{word.gap:+.4f}", f"{word.in_a:+.4f}", f"{word.in_b:+.4f}"
        if roomy:
            sides = (in_a, _names(word.found_in_a), in_b, _names(word.found_in_b))
            table.add_row(share_name(word), gap, signed_bar(word.gap, largest, _BAR), *sides)
        else:
            table.add_row(share_name(word), gap, in_a, in_b)
    in_a = f"{sum(word.in_a for word in compared.words):+.4f}"
    in_b = f"{sum(word.in_b for word in compared.words):+.4f}"
    sums = ("", in_a, "", in_b, "") if roomy else (in_a, in_b)
    table.add_row("sum", f"{total:+.4f}", *sums, style="bold")
    canvas.table(table)


def in_order(compared: Contrast) -> list[Difference]:
    """Words by what they add to the gap, then special tokens and the like."""
    words = [word for word in compared.words if word.kind in ("word", "term")]
    return sorted(words, key=lambda word: -word.gap) + [word for word in compared.words if word not in words]


def _names(named: Sequence[Partner]) -> str:
    return ", ".join(one_line(partner.text) for partner in named[:_NAMES])


@as_text
def why_not(canvas: Canvas, standing: WhyNot) -> None:
    """The answer in one sentence, then where the document stands and what it was matched on."""
    canvas.line(("query  ", "dim"), (one_line(standing.query), "bold"))
    canvas.line(("wanted ", "dim"), (escape(standing.document), "cyan"), whole=True)
    canvas.title(answer(standing))
    if standing.cause == "not indexed" and standing.reason in WAYS_OUT:
        canvas.line(WAYS_OUT[standing.reason])
    if standing.hit is not None:
        _draw_passage(canvas, standing, standing.hit)


def answer(standing: WhyNot) -> str:
    """What is to be said first."""
    detail = f" ({escape(standing.detail)})" if standing.detail else ""
    if standing.hit is None:
        return f"It is not in the index: {standing.reason}{detail}."
    ranks = f"p{standing.hit.passage_id} ranks {standing.hit.rank:,} of {standing.passages:,} passages"
    return {
        "found": f"It is among the first {standing.k} hits: {ranks}{_passed_over(standing)}.",
        "lower": f"Others score higher: {ranks}, and {standing.k} hits were asked for.",
        "limit": f"Its score would do: {ranks}. But its document has as many hits as may be shown of one; "
        "ask with: --per-document 0",
        "copy": f"Its score would do: {ranks}. But nearly the same text stands in many documents, and is shown once, "
        f"from {escape(standing.detail)}; ask with: --all-copies",
        "changed": f"Its file has changed since it was indexed{detail}. Of the text before, {ranks}. "
        "Bring the index up to date with: seewhy index FOLDER",
        "gone": f"Its file is not there any more. Of the text that is still in the index, {ranks}.",
        "filtered": f"A filter leaves it out: {ranks}.",
    }[standing.cause]


def _passed_over(standing: WhyNot) -> str:
    """Why a hit can rank below k."""
    if standing.rank is None or standing.rank <= standing.k:
        return ""
    limit = counted(standing.per_document, "hit")
    return f", and others above it are not shown: a list has at most {limit} of one document (--per-document)"


def _draw_passage(canvas: Canvas, standing: WhyNot, hit: Hit) -> None:
    if standing.contrast is not None:
        _draw_hit(canvas, "last", standing.contrast.a)
    _draw_hit(canvas, "it", hit)
    canvas.dim(snippet(hit), indent=17)
    canvas.gap()
    if standing.matched_on:
        canvas.line("What it was matched on", style="bold")
        for share in standing.matched_on:
            most = f": {partners(share.partners)}" if share.partners else ""
            canvas.line(f"  {share_name(share)} {share.contribution:+.4f}{most}")
        canvas.gap()
    if standing.contrast is not None:
        canvas.line("What it lacks against the last hit", style="bold")
        _draw_gap(canvas, standing.contrast, "last", "it")
