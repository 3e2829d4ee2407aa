"""seewhy query, seewhy similar"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Annotated

import typer

from search.cli.options import (
    HITS_OF_A_DOCUMENT,
    SELECTION,
    IndexOptions,
    Mode,
    ModelOption,
    PoolingOption,
    QuestionOptions,
    RerankOptions,
    WhereOption,
    passage_id,
    passage_or_path,
    top_k,
)
from search.cli.output import PANEL, Output, echo, note
from search.cli.progress import Clock
from search.errors import InputError

if TYPE_CHECKING:
    from search.index import Index
    from search.records import options
    from search.records.hits import Hit, Surroundings


class Format(str, Enum):
    text = "text"
    json = "json"
    jsonl = "jsonl"
    csv = "csv"
    md = "md"
    paths = "paths"


@dataclass(frozen=True)
class SelectionOptions:
    """Which of the ranked passages are hits."""

    k: Annotated[int, top_k("Number of hits.")] = 10
    per_document: Annotated[
        int,
        typer.Option(
            metavar="N", min=0, help="At most N hits of one document, if there are others; 0 for no limit."
        ),
    ] = HITS_OF_A_DOCUMENT
    group: Annotated[
        bool,
        typer.Option(
            "--group",
            help="The best documents, each with its best passages; -k counts documents.",
            rich_help_panel=SELECTION,
        ),
    ] = False
    offset: Annotated[
        int,
        typer.Option(
            metavar="N",
            min=0,
            help="Pass over the first N hits; ranks go on counting.",
            rich_help_panel=SELECTION,
        ),
    ] = 0
    min_score: Annotated[
        float | None, typer.Option(metavar="S", help="Leave out what scores less.", rich_help_panel=SELECTION)
    ] = None

    @property
    def selection(self) -> options.SelectionOptions:
        """As `Index.query` and `Index.similar` take them."""
        return {
            "per_document": self.per_document,
            "group": self.group,
            "offset": self.offset,
            "min_score": self.min_score,
        }

    @property
    def plain(self) -> bool:
        """Whether a rank means the same hit to commands that know no such options."""
        return not (self.group or self.offset) and self.per_document == HITS_OF_A_DOCUMENT


@dataclass(frozen=True)
class HitsOutput(Output):
    """How hits are printed, and what stands around them."""

    form: Annotated[
        Format | None,
        typer.Option(
            "--format",
            "-f",
            help="json and jsonl as --json and --jsonl; csv; md, a list with links; paths, each file once.",
        ),
    ] = None
    lines: Annotated[
        int,
        typer.Option(
            "--context",
            "-C",
            metavar="N",
            min=0,
            help="Show N lines of the file before and behind each passage, too, if the file is as it was.",
        ),
    ] = 0
    as_jsonl: Annotated[
        bool, typer.Option("--jsonl", help="Print one JSON object a line.", rich_help_panel=PANEL)
    ] = False

    def format(self) -> Format:
        """The one that is meant.

        Raises:
            typer.BadParameter: several that exclude each other, or one that has no room for what is asked for.
        """
        asked = {Format.json: self.as_json, Format.jsonl: self.as_jsonl}
        meant = {form for form, given in asked.items() if given} | ({self.form} if self.form else set())
        if len(meant) > 1:
            names = ", ".join(sorted(form.value for form in meant))
            raise typer.BadParameter(f"hits are printed in one format, not in several ({names}).")
        form = meant.pop() if meant else Format.text
        if self.lines and form in (Format.csv, Format.md, Format.paths):
            raise typer.BadParameter(
                f"--context is shown as text, json and jsonl, not as {form.value}: leave it out."
            )
        return form

    def around(self, opened: Index, hits: Sequence[Hit]) -> list[Surroundings] | None:
        """What stands around each hit; None if it was not asked for."""
        return [opened.surroundings(hit, lines=self.lines) for hit in hits] if self.lines else None

    def print(self, hits: Sequence[Hit], form: Format, around: Sequence[Surroundings] | None) -> None:
        """Hits in any format but text."""
        from search.render import csv, json
        from search.render import hits as draw

        if form is Format.json:
            echo(json.hits(hits, around))
        elif form is Format.jsonl:
            echo(json.hit_lines(hits, around))
        elif form is Format.csv:
            echo(csv.hits(hits))
        elif form is Format.md:
            echo(draw.markdown(hits))
        else:
            echo(draw.paths(hits))


def query(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What to look for, in your own words.")],
    selection: SelectionOptions,
    ranking: RerankOptions,
    parts: QuestionOptions,
    index: IndexOptions,
    output: HitsOutput,
    explain: Annotated[
        bool, typer.Option("--explain", help="Say of the best hit why it has its score.")
    ] = False,
    timing: Annotated[
        bool, typer.Option("--timing", help="Say on stderr where the time went.", rich_help_panel=PANEL)
    ] = False,
    model: ModelOption = None,
    pooling: PoolingOption = None,
) -> None:
    """Rank the passages of an index by how well they answer TEXT."""
    clock = Clock()
    from search.index import Index  # noqa: F401 (loaded here, to be timed)
    from search.render import hits as draw
    from search.render import why

    form = output.format()
    if explain and form is not Format.text:
        raise typer.BadParameter(
            f"--explain is for text, not for {form.value}. An explanation alone: seewhy explain TEXT 1 --json"
        )
    clock.lap("import the library")
    question = parts.question(text)
    opened = index.open(model, pooling)
    clock.lap("open the index")
    if timing:
        clock.lap("find the model", opened.encoder)
        clock.lap("load its tokenizer", opened.encoder.tokenizer)
        clock.lap(f"load it ({opened.encoder.engine.name})", opened.encoder.engine)
        opened.query("a", k=1, **ranking.score)
        clock.lap("load FAISS and the vectors, first query")
    hits = opened.query(question, selection.k, **selection.selection, where=ranking.where, **ranking.order)
    around = output.around(opened, hits)
    clock.lap(f"encode the query, search, {'rerank, ' if ranking.rerank else ''}fetch")
    if form is not Format.text:
        output.print(hits, form, around)
    else:
        none = _why_none(ranking, selection)
        echo(draw.hits(hits, **output.style, no_hits=none, grouped=selection.group, around=around))
        if explain and hits:
            echo("\n" + why.explanation(opened.explain(question, hits[0]), hits[0], **output.style))
        elif hits:
            which = _best(hits[0], selection, index, ranking)
            output.note(f"\nWhy the first? seewhy explain {shlex.quote(text)} {which}{parts.as_typed}")
    output.remarks(opened.notes)
    if timing:
        clock.lap("print")
        note("\n" + clock.report())


def _why_none(ranking: RerankOptions, selection: SelectionOptions) -> str:
    """What to say where there is no hit."""
    passes = " that passes the filter" if ranking.where else ""
    if selection.min_score is not None:
        return f"none{passes} scores {selection.min_score:g} or more."
    if selection.offset:
        return f"there are no more than {selection.offset}."
    if ranking.mode is Mode.lexical or ranking.weight == 0:
        return f"no passage{passes} has a word of the query."
    return "no passage passes the filter." if ranking.where else ""


def _best(hit: Hit, selection: SelectionOptions, index: IndexOptions, ranking: RerankOptions) -> str:
    """The best hit, and the options that make it one, for another command.

    A rank means the plain list to other commands; a passage is the same in all of them.
    """
    plain = selection.plain
    k = f" -k {selection.k}" if plain and selection.k != 10 else ""
    offline = " --offline" if index.offline else ""
    which = "1" if plain else f"p{hit.passage_id}"
    return f"{which}{index.as_typed}{k}{ranking.as_typed(filtered=plain)}{offline}"


def similar(
    what: Annotated[
        str,
        typer.Argument(
            metavar="PATH|ID",
            help="A file, also with a record (table.csv#12) or a line (keys.md:31), or a passage (p812).",
        ),
    ],
    selection: SelectionOptions,
    index: IndexOptions,
    output: HitsOutput,
    same_document: Annotated[
        bool,
        typer.Option(
            "--same-document", help="Also other passages of the same document.", rich_help_panel=SELECTION
        ),
    ] = False,
    where: WhereOption = None,
    explain: Annotated[
        str | None,
        typer.Option(
            metavar="HIT", help="Say instead why a rank (3) or passage (p812) is similar, word by word."
        ),
    ] = None,
) -> None:
    """List the passages that are most like a passage or a document."""
    from search.render import hits as draw
    from search.render import json, why

    form = output.format()
    if explain and form not in (Format.text, Format.json):
        raise typer.BadParameter(f"--explain is for text and json, not for {form.value}: leave --format out.")
    if explain and output.lines:
        raise typer.BadParameter("--explain shows one hit alone: leave --context out.")
    opened = index.open()
    meant = passage_or_path(what)
    hits = opened.similar(meant, selection.k, same_document=same_document, where=where, **selection.selection)
    if explain:
        hit = _hit_of(explain, hits)
        explanation = opened.explain_similar(meant, hit)
        known = None if isinstance(hit, int) else hit
        echo(
            json.explanation(explanation, known)
            if form is Format.json
            else why.explanation(explanation, known, **output.style)
        )
    elif form is not Format.text:
        output.print(hits, form, output.around(opened, hits))
    else:
        none = "nothing else is there to compare with, or nothing scores enough."
        around = output.around(opened, hits)
        echo(draw.hits(hits, **output.style, no_hits=none, grouped=selection.group, around=around))
        if hits:
            best = f"p{hits[0].passage_id}{index.as_typed}"
            output.note(f"\nWhy the first? seewhy similar {shlex.quote(what)} --explain {best}")
    output.remarks(opened.notes)


def _hit_of(typed: str, hits: Sequence[Hit]) -> Hit | int:
    """The hit of a rank, or a passage id.

    Raises:
        InputError: it is neither.
    """

    id_ = passage_id(typed)
    if id_ is not None:
        return id_
    for hit in hits:
        if str(hit.rank) == typed:
            return hit
    raise InputError(
        f"there is no hit '{typed}' among these. Give a rank of them, or a passage such as p812."
    )
