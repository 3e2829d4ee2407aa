"""Ranked hits, and passages that say the same, for a terminal; hits as a Markdown list and as paths."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import PurePath
from urllib.parse import quote

from search.records.hits import Cluster, Hit, Surroundings
from search.render.format import (
    counted,
    escape,
    headings,
    hub_warning,
    one_line,
    percentiles_of,
    shortened,
    shown_path,
    snippet,
    where,
)
from search.render.terminal import Canvas

_NO_PASSAGES = "the index holds no passages. Was its first run stopped? Go on with: seewhy index FOLDER"
_SHOWN = 160  # characters of a passage that others repeat
_MARKDOWN = re.compile(r"([\\`*_\[\]<>|#])")  # what Markdown takes for something else


def hits(
    ranked: Sequence[Hit],
    *,
    width: int = 80,
    colour: bool = False,
    no_hits: str = "",
    grouped: bool = False,
    around: Sequence[Surroundings] | None = None,
) -> str:
    """Ranked hits: score, place, headings, the beginning of the text.

    Args:
        no_hits: why there are none.
        grouped: hits of one document stand together, and its name above them.
        around: what stands around each hit.
    """
    if not ranked:
        return f"No hits: {no_hits or _NO_PASSAGES}"
    canvas = Canvas(width, colour)
    before = None
    for place, hit in enumerate(ranked):
        if grouped and hit.document != before:
            title = f"  {one_line(hit.title)}" if hit.title else ""
            canvas.line((escape(hit.document), "bold cyan"), (title, "bold"), whole=True)
            canvas.gap()
        before = hit.document
        _draw(canvas, hit, around[place] if around else Surroundings())
    in_order = [hit.rank for hit in ranked] == list(range(1, len(ranked) + 1))
    falling = all(a.score >= b.score for a, b in pairwise(ranked))
    if in_order and falling and (said := percentiles_of(ranked)):
        canvas.line(said, style="dim")
    return canvas.drawn().rstrip("\n")


def _draw(canvas: Canvas, hit: Hit, beside: Surroundings) -> None:
    canvas.line(
        f"{hit.rank:>2}  ",
        (f"{hit.score:.3f}", "green"),
        (f"  {where(hit)}", "cyan"),
        (f"  p{hit.passage_id}", "dim"),
        ("" if hit.rank_before is None else f"  {_moved(hit.rank, hit.rank_before)}", "dim"),
        style="bold",
        whole=True,
    )
    if title := headings(hit):
        canvas.line(title, style="bold", indent=4)
    _draw_lines(canvas, beside.lines_before)
    canvas.line(snippet(hit), indent=4)
    _draw_lines(canvas, beside.lines_after)
    for warning in (escape(beside.note), hub_warning(hit)):
        if warning:
            canvas.line(warning, style="yellow", indent=4)
    canvas.gap()


def _draw_lines(canvas: Canvas, lines: Sequence[tuple[int, str]]) -> None:
    for number, line in lines:
        canvas.line(f"{number:>5}- {escape(line)}", style="dim", indent=4)


def _moved(rank: int, before: int) -> str:
    """What a rerank did to a hit."""
    return f"(stays {rank})" if rank == before else f"(was {before})"


def markdown(ranked: Sequence[Hit]) -> str:
    """A numbered list with links that lead to the lines: `1. [title](path#L12-L20) 0.613`, and the passage."""
    entries = []
    for hit in ranked:
        lines = where(hit).rpartition(":")[2]
        anchor = f"#L{lines.replace('-', '-L')}" if re.fullmatch(r"\d+(-\d+)?", lines) else ""
        path = quote(PurePath(shown_path(hit.path)).as_posix().encode("utf-8", "surrogateescape"))
        title, text = (
            _MARKDOWN.sub(r"\\\1", part) for part in (headings(hit) or escape(hit.document), snippet(hit))
        )
        margin = " " * (len(str(hit.rank)) + 2)
        entries.append(f"{hit.rank}. [{title}]({path}{anchor}) {hit.score:.3f}\n\n{margin}{text}")
    return "\n\n".join(entries)


def paths(ranked: Sequence[Hit]) -> str:
    """The files of the hits, each once, one a line, best first; relative to the current folder if beneath it."""
    return "\n".join(escape(path) for path in dict.fromkeys(shown_path(hit.path) for hit in ranked))


def duplicates(
    clusters: Sequence[Cluster], threshold: float, *, width: int = 80, colour: bool = False
) -> str:
    """Clusters, each with its passages by place; "=" marks a text that came before in the cluster."""
    if not clusters:
        return f"No two passages have a cosine of {threshold:g} or more."
    canvas = Canvas(width, colour)
    for number, cluster in enumerate(clusters, 1):
        alike = "the same text" if cluster.exact else f"cosine {cluster.lowest:.3f} or more with the nearest"
        canvas.line(f"{number:>2}  {len(cluster.passages)} passages, {alike}", style="bold")
        for copy in cluster.passages:
            same = copy.same_text_as is not None
            mark = "=     " if same else f"{copy.cosine:.3f} "
            canvas.line(f"    {mark} ", (where(copy), "cyan"), (f"  p{copy.passage_id}", "dim"), whole=True)
            if not same:
                canvas.line(shortened(one_line(copy.text), _SHOWN), style="dim", indent=11)
        canvas.gap()
    total = sum(len(cluster.passages) for cluster in clusters)
    exact = sum(copy.same_text_as is not None for cluster in clusters for copy in cluster.passages)
    canvas.line(
        f"{total:,} passages in {counted(len(clusters), 'cluster')}, "
        f"{exact:,} of them with a text that came before (=).",
        style="dim",
    )
    return canvas.drawn()
