"""seewhy query, seewhy similar, seewhy duplicates"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from search.cli.hits_output import HitsOutput, about_age, about_coverage, about_spelling
from search.cli.matrices import HitMatrices
from search.cli.options import (
    AnyIndexOptions,
    IndexOption,
    IndexOptions,
    WhereOption,
    WordsArgument,
    hits_option,
    panel,
    passage_id,
    passage_or_path,
    split_folder,
)
from search.cli.output import Output, echo
from search.errors import InputError, quoted
from search.records import option_tools, options

if TYPE_CHECKING:
    from search.cli.options import Searchable
    from search.records.hits import Hit


word_option = panel("A word in a sense")


def query(
    words: WordsArgument,
    selection: options.HitsOptions,
    ranking: options.RerankOptions,
    filters: options.FilterOptions,
    index: AnyIndexOptions,
    matrices: HitMatrices,
    output: HitsOutput,
) -> None:
    """Find the passages that best answer TEXT.

    With --matrices, --csv and --png write files instead of printing matrices; files that exist are replaced.
    """
    text, folder = split_folder(words)
    if folder:
        if index.folder:
            raise typer.BadParameter("give the folder once: as the last argument or with --in.")
        index = replace(index, folder=folder)
    keywords: dict[str, Any] = {**selection, **ranking, **filters}
    explained = matrices.keywords(output)
    opened = index.open(output.quiet)
    hits = opened.query(text, **keywords, **explained)
    matrices.write(hits, output)
    around, marks = output.around(hits), output.marks(opened, text, hits)
    none = "" if hits else _why_none(opened, text, keywords)
    output.print(
        hits,
        around,
        marks,
        no_hits=none,
        grouped=selection["group"],
        below=matrices.below,
        explained=matrices.explained,
    )
    named = [hits[0].index] if hits and hits[0].index else index.index or ()
    of_index = "".join(f" --index {quoted(name)}" for name in named)
    if output.format == "text" and hits and text.strip():
        declared = option_tools.declared(options.RerankOptions).items()
        typed = [f"--{name}" for name, (_, option) in declared if keywords[name] != option.default]
        same = f"  (add the same {' and '.join(typed)})" if typed else ""
        output.note(
            f"\nExplain hit {hits[0].rank}: seewhy explain {quoted(text)} p{hits[0].passage_id}{of_index}{same}"
        )
    is_told = output.format == "text" and bool(hits)
    output.remarks(about_spelling(opened, text, of_index, is_told))
    output.remarks([*about_age(opened, hits), *opened.notes, *about_coverage(opened, hits)])


def _why_none(opened: Searchable, text: str, chosen: dict[str, Any]) -> str:
    """Return why a query has no hits, and what to try.

    Args:
        chosen: the options of the query.
    """
    from search.ranking.question import without_operators
    from search.render.format import no_hits

    if chosen["offset"]:
        return f"There are at most {chosen['offset']} hits, which --offset skips."
    passages = sum(index.status().passages for index in getattr(opened, "all", [opened]))
    is_lexical, (words, restricts) = chosen["mode"] == "lexical", without_operators(text)
    why = no_hits(
        words,
        passages,
        _limits(chosen),
        restricts=restricts,
        by_keywords=is_lexical or chosen["weight"] == 0,
        ignored=chosen["without"] or (),
    )
    return f"{why} Try: --mode hybrid" if passages and is_lexical else why


def _limits(chosen: dict[str, Any]) -> list[str]:
    """Return the options by which a query leaves out passages."""
    names = (*option_tools.defaults(options.FilterOptions), "min_score")
    return [f"--{name.replace('_', '-')}" for name in names if chosen[name] is not None]


@dataclass(frozen=True)
class WordChoice:
    """A word in a text, whose occurrences are listed."""

    word: Annotated[
        str | None,
        word_option(
            "--word",
            "-W",
            metavar="WORD",
            help="List the occurrences of this word nearest to its use in --in.",
        ),
    ] = None
    text: Annotated[
        str | None,
        word_option("--in", metavar="TEXT", help="A text with the word; it gives the sense."),
    ] = None
    any_word: Annotated[
        bool, word_option("--any-word", help="Compare all words, not only those of the same form.")
    ] = False

    @property
    def is_made(self) -> bool:
        """True if one of the options is typed."""
        return self != WordChoice()


def similar(
    selection: options.HitsOptions,
    filters: options.FilterOptions,
    links: options.LinkOptions,
    index: IndexOptions,
    output: HitsOutput,
    choice: WordChoice,
    typed: Annotated[
        str | None,
        typer.Argument(
            metavar="PATH|ID",
            help="A path (keys.md, keys.md:31, table.csv#12) or a passage ID (p812).",
        ),
    ] = None,
    same_document: Annotated[
        bool, hits_option("--same-document", help="Include other passages of the same document.")
    ] = False,
    explain: Annotated[
        str | None,
        typer.Option(metavar="HIT", help="Explain one hit instead: its rank (3) or passage ID (p812)."),
    ] = None,
) -> None:
    """List the passages most similar to a passage or document.

    With --word and --in, list the occurrences of a word that are nearest to its use in a text, as a concordance. The
    index needs stored token vectors: seewhy index FOLDER --token-vectors
    """
    if choice.is_made:
        others = {"path": typed, "same-document": same_document, "explain": explain, **links}
        _occurrences(choice, selection, filters, others, index, output)
        return
    if typed is None:
        raise typer.BadParameter("give a path or a passage ID, or a word: --word WORD --in TEXT.")
    opened = index.open()
    example = passage_or_path(typed)
    hits = opened.similar(example, same_document=same_document, **filters, **selection, **links)
    if explain:
        from search.render import json
        from search.render.why import explanation

        hit = _hit_of(explain, hits)
        why = opened.explain_similar(example, hit, **links)
        record = None if isinstance(hit, int) else hit
        output.show(why, partial(explanation, hit=record), lambda: json.explanation(why, record))
    else:
        limits = _limits({**selection, **filters, **links})
        none = (
            f"No other passage passes {' and '.join(limits)}."
            if limits
            else "There are no other passages."
        )
        marks = [()] * len(hits)
        output.print(hits, output.around(hits), marks, no_hits=none, grouped=selection["group"])
    output.remarks([*about_age(opened, hits), *opened.notes, *about_coverage(opened, hits)])


def _occurrences(
    choice: WordChoice,
    selection: options.HitsOptions,
    filters: options.FilterOptions,
    others: Mapping[str, Any],
    index: IndexOptions,
    output: HitsOutput,
) -> None:
    """Print the occurrences of a word that are nearest to its use in a text.

    Args:
        others: arguments that are for passages only, which must not be given.
    """
    from search.render import json
    from search.render.concordance import concordance

    if choice.word is None or choice.text is None:
        raise typer.BadParameter("a word needs a text that contains it: --word WORD --in TEXT.")
    apply = {*option_tools.defaults(options.CountOptions), *option_tools.defaults(options.LimitOptions)}
    typed = [name for name in option_tools.changed(selection, options.HitsOptions) if name not in apply]
    typed += [name for name, value in others.items() if value]
    typed += ["format"] * bool(output.form) + ["context"] * bool(output.lines)
    if typed:
        option = "a path or passage ID" if typed[0] == "path" else f"--{typed[0].replace('_', '-')}"
        raise typer.BadParameter(f"{option} is for similar passages. Omit it, or omit --word.")
    opened = index.open()
    nearest = opened.occurrences(
        choice.word,
        choice.text,
        selection["k"],
        any_word=choice.any_word,
        per_document=selection["per_document"],
        **filters,
    )
    limits = _limits({**selection, **filters})
    passes = f" in a passage that passes {' and '.join(limits)}" if limits else ""
    none = f"'{choice.word.strip()}' does not occur{passes}. Try: --any-word"
    if output.as_jsonl and not output.as_json:
        echo(json.lines(nearest))
    else:
        output.show(nearest, partial(concordance, none=none))
    output.remarks(opened.notes)


def _hit_of(typed: str, hits: Sequence[Hit]) -> Hit | int:
    """Return the hit at a rank such as "3", or the number of a passage ID: 812 for "p812".

    Raises:
        InputError: the text is neither a passage ID nor the rank of a hit.
    """
    id_ = passage_id(typed)
    if id_ is not None:
        return id_
    for hit in hits:
        if str(hit.rank) == typed:
            return hit
    raise InputError(f"'{typed}' is not among the hits. Give a rank (1) or a passage ID (p812).")


def duplicates(
    output: Output,
    threshold: Annotated[
        float,
        typer.Option(
            "--threshold", "-t", metavar="T", help="Minimum cosine of a pair, above 0 and at most 1."
        ),
    ] = 0.95,
    where: WhereOption = None,
    index: IndexOption = None,
) -> None:
    """List near-duplicate passages, largest cluster first.

    Compares all pairs of passages. Pairs that share a passage form one cluster.
    """
    from search.index import Index
    from search.render import hits as draw

    opened = Index.open(index)
    clusters = opened.duplicates(threshold, where=where)
    output.show(clusters, partial(draw.duplicates, threshold=threshold))
    output.remarks(opened.notes)
