"""Output options of hits, and notes: on files that have changed, on words that no passage has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from search.cli.output import Output, echo, output_option
from search.errors import quoted

if TYPE_CHECKING:
    from search.cli.options import Searchable
    from search.index import Index
    from search.ranking.question import Query
    from search.records.explanations import Explanation, Highlight
    from search.records.hits import Hit, Hits, Surroundings
    from search.render.terminal import Canvas

Format = Literal["paths", "line"]


@dataclass(frozen=True)
class HitsOutput(Output):
    """Output options for hits: their format, and the number of lines printed around them."""

    form: Annotated[
        Format | None,
        typer.Option("--format", "-f", help="paths: one per file. line: path:line, score, sentence."),
    ] = None
    lines: Annotated[
        int,
        typer.Option(
            "--context",
            "-C",
            metavar="N",
            min=0,
            help="Show whole passages, with N lines of the file before and after.",
        ),
    ] = 0
    as_jsonl: Annotated[bool, output_option("--jsonl", help="Print one JSON object per line.")] = False

    @property
    def format(self) -> str:
        """The requested format."""
        return "json" if self.as_json else "jsonl" if self.as_jsonl else self.form or "text"

    def around(self, hits: Sequence[Hit]) -> list[Surroundings] | None:
        """Return the lines of the file around each hit; None without --context."""
        if not self.lines:
            return None
        from search.store.document_text import surroundings

        return [surroundings(hit, self.lines) for hit in hits]

    def marks(
        self, opened: Searchable, question: Query, hits: Sequence[Hit]
    ) -> list[tuple[Highlight, ...]] | None:
        """Return the highlights of each hit; None if the format does not show them."""
        if self.form == "paths":
            return None
        from search.indexes import highlights

        return highlights(opened, question, hits)

    def print(
        self,
        hits: Sequence[Hit],
        around: Sequence[Surroundings] | None,
        marks: Sequence[Sequence[Highlight]] | None,
        *,
        no_hits: str,
        grouped: bool,
        below: Callable[[Canvas, Hit], None] | None = None,
        explained: Callable[[Explanation], Any] | None = None,
    ) -> None:
        """Print hits in the requested format.

        Args:
            around: lines around each hit, or None.
            marks: highlights of each hit, or None.
            no_hits: sentence to print as text if there are no hits.
            grouped: group the hits by document.
            below: draws something below each hit.
            explained: returns the JSON of a hit's explanation.
        """
        marks = marks or [()] * len(hits)
        from search.render import hits as draw
        from search.render import json

        write_json = json.document_of_hits if explained else json.document
        write: dict[str, Callable[[], str]] = {
            "text": lambda: draw.hits(
                hits,
                **self.style,
                no_hits=no_hits,
                quiet=self.quiet,
                grouped=grouped,
                around=around,
                marks=marks,
                below=below,
            ),
            "json": lambda: write_json(json.hits(hits, around, marks, explained)),
            "jsonl": lambda: json.lines(json.hits(hits, around, marks, explained)),
            "paths": lambda: draw.paths(hits),
            "line": lambda: draw.sentence_lines(hits, marks),
        }
        echo(write[self.format]())


def about_coverage(opened: Searchable, hits: Hits) -> list[str]:
    """Return a note on what the query has looked at, and how to complete the index; none if it is complete."""
    from search.index import searcher_of
    from search.indexes import Indexes
    from search.store.files import is_being_written
    from search.store.home import index_command

    if not hits.coverage:
        return []
    indexes = opened.all if isinstance(opened, Indexes) else [opened]
    commands = [
        index_command(index.path, searcher_of(index).store.facts.folders)
        for index in indexes
        if searcher_of(index).store.incomplete and not is_being_written(index.path)
    ]
    remedies = [f"To encode the rest, run: {command}" for command in commands]
    if len(remedies) == 1:
        return [f"{hits.coverage.sentence}. {remedies[0]}"]
    return [hits.coverage.sentence, *remedies]


def about_spelling(opened: Searchable, text: str, of_index: str, verdict: bool) -> list[str]:
    """Return a note on each identifier and misspelt word of a query that no passage has.

    Args:
        text: the query as typed.
        of_index: options that name the index, for the suggested command; "" or with a space before.
        verdict: True if the verdict below the hits names the identifiers.
    """
    from search.indexes import absences

    notes = []
    for absence in absences(opened, text):
        if absence.near:
            better = f"seewhy query {quoted(absence.corrected(text))}{of_index}"
            notes.append(f"no passage has '{absence.word}'. Did you mean: {better}")
        elif not verdict:
            notes.append(absence.sentence)
    return notes


def about_age(opened: Searchable, hits: Sequence[Hit]) -> list[str]:
    """Return a note with a remedy for each index whose files have changed since they were indexed."""
    from search.indexes import Indexes

    stale: dict[Index, set[str]] = {}
    for hit in hits:
        if hit.changed:
            index = opened.of(hit) if isinstance(opened, Indexes) else opened
            stale.setdefault(index, set()).add(hit.path)
    return [_about_age_of(index, len(paths)) for index, paths in stale.items()]


def _about_age_of(index: Index, stale: int) -> str:
    """Return a note on an index of which `stale` files with hits have changed."""
    from search.index import searcher_of
    from search.indexes import name_of
    from search.store.layout import is_address
    from search.store.settings import as_text

    name, folders = quoted(name_of(index)), searcher_of(index).store.facts.folders
    gone = [path for path in folders.paths if not path.is_dir()]
    if gone and not is_address(index.name):
        new = " ".join(["NEW_FOLDER"] * len(folders.paths))
        are, them = ("is", "it") if len(gone) == 1 else ("are", "them")
        return f"{as_text(gone)} {are} gone. If you moved {them}, run: seewhy move {name} {new}"
    files = "1 of these files has" if stale == 1 else f"{stale} of these files have"
    update = f"{folders.typed} --store {name}" if is_address(index.name) else f"--index {name}"
    return f"{files} changed or been deleted since indexing. Update with: seewhy index {update}"
