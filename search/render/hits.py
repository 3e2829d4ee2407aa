"""Ranked hits, passages that say the same, and answers to a question, for a terminal; hits also as Markdown, paths."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path, PurePath
from typing import TYPE_CHECKING
from urllib.parse import quote

from search.records.hits import Cluster, Hit, Surroundings, Verdict
from search.render.format import (
    copies_of,
    counted,
    csv_of,
    escape,
    escaped_name,
    headings,
    hub_warning,
    one_line,
    percentiles_of,
    shortened,
    shown_path,
    since_indexed,
    snippet,
    where,
)
from search.render.passage import draw_passage, pointed
from search.render.terminal import Canvas, as_text

if TYPE_CHECKING:
    from search.records.explanations import Highlight
    from search.records.predictions import Answer, Answers

CSV_COLUMNS = (
    "rank", "score", "cosine", "lexical", "path", "line_start", "line_end", "page", "passage_id", "document", "title",
    "heading", "text", "changed", "index", "document_id",
)  # fmt: skip
_NO_PASSAGES = "the index holds no passages yet."
_SAID = {
    "answers likely": "Answers likely",
    "perhaps": "Perhaps something here answers that",
    "nothing": "Nothing here seems to answer that",
}
VERDICT_STYLES = {"answers likely": "green", "perhaps": "yellow", "nothing": "red"}
_SHOWN = 160  # characters of a passage that others repeat
_AROUND = 150  # characters of the passage on each side of an answer
_MARKDOWN = re.compile(r"([\\`*_\[\]<>|#])")  # what Markdown takes for something else


@dataclass(frozen=True)
class Links:
    """How a terminal is told which file a place is of (OSC 8), so that a click opens it.

    Attributes:
        host: of the file, so that no other machine takes it for its own; "" where the terminal takes none.
        lines: whether the terminal takes a line behind the path, as in `file:///notes/keys.md#12`.
    """

    host: str
    lines: bool

    def to(self, hit: Hit) -> str:
        """The link; "" for a path of another platform."""
        if not Path(hit.path).is_absolute():
            return ""
        path = Path(hit.path).as_uri().removeprefix("file://")
        return f"file://{self.host}{path}" + (f"#{hit.line_start}" if self.lines and hit.page is None else "")


@as_text
def hits(
    canvas: Canvas,
    ranked: Sequence[Hit],
    *,
    no_hits: str = "",
    quiet: bool = False,
    grouped: bool = False,
    around: Sequence[Surroundings] | None = None,
    marks: Sequence[Sequence[Highlight]] | None = None,
    links: Links | None = None,
) -> None:
    """Ranked hits: score, place, headings, the lines that carry the match.

    Args:
        no_hits: why there are none.
        quiet: leave out percentiles and verdict.
        grouped: hits of one document stand together, and its name above them.
        around: what stands around each hit.
        marks: what counts in the text of each.
        links: how places are linked to; None for no links.
    """
    if not ranked:
        canvas.line(f"No hits: {no_hits or _NO_PASSAGES}", whole=True)
        return
    before = None
    for place, hit in enumerate(ranked):
        if grouped and hit.document != before:
            title = f"  {one_line(hit.title)}" if hit.title else ""
            canvas.line((escaped_name(hit.document), "bold cyan"), (title, "bold"), whole=True)
            canvas.gap()
        before = hit.document
        _draw(canvas, hit, around[place] if around else None, marks[place] if marks else (), links)
    if quiet:
        return
    in_order = [hit.rank for hit in ranked] == list(range(1, len(ranked) + 1))
    falling = all(a.score >= b.score for a, b in pairwise(ranked))
    if in_order and falling and (said := percentiles_of(ranked)):
        canvas.dim(said)
    if found := ranked[0].verdict:
        canvas.line(verdict_line(found), style=VERDICT_STYLES[found.says])


def verdict_line(found: Verdict) -> str:
    """Whether anything seems to answer, how likely that is, and why."""
    return (
        f"{_SAID[found.says]} ({100 * found.probability:.0f} %): the best hit scores {found.score:.2f}, "
        f"and the first hits of one document have {100 * found.found:.0f} % of the query's words by weight."
    )


@as_text
def one_hit(canvas: Canvas, hit: Hit, marks: Sequence[Highlight] = ()) -> None:
    """A hit as it stands among others."""
    _draw(canvas, hit, None, marks, None)


def _draw(
    canvas: Canvas, hit: Hit, beside: Surroundings | None, marks: Sequence[Highlight], links: Links | None
) -> None:
    link = links.to(hit) if links else ""
    moved = {None: "", hit.rank: f"  (stays {hit.rank})"}.get(hit.rank_before, f"  (was {hit.rank_before})")
    canvas.line(
        f"{hit.rank:>2}  ",
        (f"{hit.score:.3f}", "green"),
        "  ",
        (where(hit), f"cyan link {link}" if link else "cyan"),
        (f"  p{hit.passage_id}", "dim"),
        (f"  {escape(hit.index)}" if hit.index else "", "magenta"),
        (moved, "dim"),
        style="bold",
        whole=True,
    )
    if since := since_indexed(hit):
        canvas.line(since, style="yellow", indent=4)
    if title := headings(hit):
        canvas.line(title, style="bold", indent=4)
    draw_passage(canvas, hit, marks, beside)
    if hit.copies:
        canvas.dim(copies_of(hit), indent=4)
    for warning in (escape(beside.note) if beside else "", hub_warning(hit)):
        if warning:
            canvas.line(warning, style="yellow", indent=4)
    canvas.gap()


def as_csv(ranked: Sequence[Hit]) -> str:
    """A header, then a line of CSV_COLUMNS for each hit."""
    return csv_of([CSV_COLUMNS, *([getattr(hit, name) for name in CSV_COLUMNS] for hit in ranked)])


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
        since = f" *{since_indexed(hit)}*" if hit.changed else ""
        entries.append(f"{hit.rank}. [{title}]({path}{anchor}) {hit.score:.3f}{since}\n\n{margin}{text}")
    return "\n\n".join(entries)


def vimgrep(
    ranked: Sequence[Hit], marks: Sequence[Sequence[Highlight]], around: Sequence[Surroundings]
) -> str:
    """`path:line:column:text` of each hit, where its first word that counts stands; columns are bytes, as in Vim."""
    lines = []
    for hit, marked, beside in zip(ranked, marks, around, strict=True):
        number, column, text = pointed(hit, marked, beside)
        column = len(text[: column - 1].encode("utf-8", "surrogateescape")) + 1
        lines.append(f"{escaped_name(shown_path(hit.path))}:{number}:{column}:{escape(text)}")
    return "\n".join(lines)


def paths(ranked: Sequence[Hit]) -> str:
    """The files of the hits, each once, one a line, best first; relative to the current folder if beneath it."""
    return "\n".join(escaped_name(path) for path in dict.fromkeys(shown_path(hit.path) for hit in ranked))


@as_text
def duplicates(canvas: Canvas, clusters: Sequence[Cluster], threshold: float) -> None:
    """Clusters, each with its passages by place; "=" marks a text that came before in the cluster."""
    if not clusters:
        canvas.line(f"No two passages have a cosine of {threshold:g} or more.", whole=True)
        return
    for number, cluster in enumerate(clusters, 1):
        alike = "the same text" if cluster.exact else f"cosine {cluster.lowest:.3f} or more with the nearest"
        canvas.line(f"{number:>2}  {len(cluster.passages)} passages, {alike}", style="bold")
        for copy in cluster.passages:
            same = copy.same_text_as is not None
            mark = "=     " if same else f"{copy.cosine:.3f} "
            canvas.line(f"    {mark} ", (where(copy), "cyan"), (f"  p{copy.passage_id}", "dim"), whole=True)
            if not same:
                canvas.dim(shortened(one_line(copy.text), _SHOWN), indent=11)
        canvas.gap()
    total = sum(len(cluster.passages) for cluster in clusters)
    exact = sum(copy.same_text_as is not None for cluster in clusters for copy in cluster.passages)
    canvas.dim(
        f"{total:,} passages in {counted(len(clusters), 'cluster')}, "
        f"{exact:,} of them with a text that came before (=)."
    )


@as_text
def answers(canvas: Canvas, reply: Answers) -> None:
    """Each answer with its place, how its score is made up, and the passage around it."""
    for answer in reply.answers:
        _draw_answer(canvas, answer)
    if not reply.answers:
        canvas.line(_no_answer(reply), style="bold")
        if reply.nearest:
            canvas.title("The nearest:")
            _draw_answer(canvas, reply.nearest)
    if reply.passages:
        passages, windows = counted(reply.passages, "passage"), counted(reply.windows, "window")
        without = f"; {reply.unanswered:,} without an answer" if reply.answers and reply.unanswered else ""
        more = f"; {counted(reply.more, 'further answer')} not shown" if reply.more else ""
        canvas.dim(f"{passages} in {windows} read by {one_line(reply.model)}{without}{more}.")


def _draw_answer(canvas: Canvas, answer: Answer) -> None:
    text = one_line(answer.text)
    rank = f"{answer.rank:>2}  " if answer.rank else "    "
    place = where(answer) if answer.path else f"line {answer.line_start}"
    passage = "" if answer.passage_id is None else f"  p{answer.passage_id}"
    canvas.line(rank, (text, "green"), style="bold", whole=True)
    canvas.line(
        f"    {answer.score:.3f}",
        (f"  {place}", "cyan"),
        (passage, "dim"),
        (f"  {since_indexed(answer.hit)}" if answer.hit and answer.hit.changed else "", "yellow"),
        style="bold",
        whole=True,
    )
    if answer.hit and (title := headings(answer.hit)):
        canvas.line(title, style="bold", indent=4)
    before, after = _around(answer)
    canvas.line(before, (text if canvas.colour else f"«{text}»", "bold green"), after, indent=4)
    canvas.dim(_sum_line(answer), indent=4)
    canvas.gap()


def _around(answer: Answer) -> tuple[str, str]:
    """What stands before and behind an answer in its passage, on one line."""
    start, end = answer.start - answer.passage_start, answer.end - answer.passage_start
    before, after = (
        escape(re.sub(r"\s+", " ", text)) for text in (answer.passage[:start], answer.passage[end:])
    )
    if len(before) > _AROUND:
        before = "… " + before[-_AROUND:].partition(" ")[2]
    return before.lstrip(), shortened(after.rstrip(), _AROUND)


def _sum_line(answer: Answer) -> str:
    """How the score of an answer is made up."""
    spans = f"{answer.start_logit:+.2f} start, {answer.end_logit:+.2f} end"
    parts = [f"margin {answer.margin:+.2f} over no answer ({spans}, less {answer.null_score:+.2f})"]
    if answer.hit:
        parts.append(f"its passage ranks {answer.hit.rank} with {answer.hit.score:.3f}")
    if answer.window[1] > 1:
        parts.append(f"window {answer.window[0]} of {answer.window[1]}")
    if answer.also:
        parts.append(f"found at {counted(answer.also, 'other place')}, too")
    return "; ".join(parts)


def _no_answer(reply: Answers) -> str:
    """That there is no answer, and why."""
    if not reply.passages:
        return "No answer: there is no passage to read."
    read = "the text" if reply.passages == 1 else f"any of the {reply.passages:,} passages"
    if reply.nearest is None:
        return f"No answer: the reader's tokenizer leaves nothing of {read}."
    return f"No answer: no span in {read} has a margin of {reply.no_answer_margin:g} over no answer."
