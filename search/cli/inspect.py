"""seewhy inspect"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from search.cli.commands import ManyWords
from search.cli.options import OfflineOption, checkpoint
from search.cli.output import PANEL, DrawnOutput
from search.errors import InputError

if TYPE_CHECKING:
    from search.records.inspections import Attention, ContextualCosines, Inspection, TokenizerComparison

ATTENTION, WORDS = "Attention", "A word in two contexts"


class ManyAgainst(ManyWords):
    option = "--against"


@dataclass(frozen=True)
class AttentionOptions:
    """Which part of the attention is meant."""

    shown: Annotated[
        bool,
        typer.Option(
            "--attention", help="Show who reads whom: every head, small.", rich_help_panel=ATTENTION
        ),
    ] = False
    layer: Annotated[
        int | None,
        typer.Option(
            min=1, help="Attention of this layer, the mean of its heads.", rich_help_panel=ATTENTION
        ),
    ] = None
    head: Annotated[
        int | None, typer.Option(min=1, help="Attention of this head of --layer.", rich_help_panel=ATTENTION)
    ] = None
    rollout: Annotated[
        bool,
        typer.Option(
            "--rollout",
            help="Attention rolled out over the layers, up to --layer.",
            rich_help_panel=ATTENTION,
        ),
    ] = False

    @property
    def named(self) -> list[str]:
        """The options that ask for attention, and were given."""
        given = {"--attention": self.shown, "--layer": self.layer is not None, "--rollout": self.rollout}
        return [name for name, there in given.items() if there]

    def check(self) -> None:
        """Refuse what has no meaning."""
        if self.head is not None and self.layer is None:
            raise typer.BadParameter("--head needs --layer: heads are counted within a layer")
        if self.head is not None and self.rollout:
            raise typer.BadParameter("--rollout is of all heads: leave --head out")

    def check_there(self, attention: Attention) -> None:
        """
        Raises:
            InputError: the model has no such layer or head.
        """

        for name, number, most in (
            ("layer", self.layer, attention.layers),
            ("head", self.head, attention.heads),
        ):
            if number is not None and number > most:
                raise InputError(f"'{attention.model}' has no {name} {number}. Give one from 1 to {most}.")


def inspect(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What the model reads.")],
    view: AttentionOptions,
    output: DrawnOutput,
    text2: Annotated[
        str | None,
        typer.Argument(metavar="TEXT2", help="The second text of a pair; with --word, of another context."),
    ] = None,
    model: Annotated[
        str | None, checkpoint("The checkpoint, or NAME@REVISION. Default: all-MiniLM-L6-v2.")
    ] = None,
    other: Annotated[
        str | None,
        typer.Option(
            "--against-tokenizer",
            metavar="NAME|FOLDER",
            help="Show the tokens beside those of another model, a cased one for instance.",
        ),
    ] = None,
    word: Annotated[
        str | None,
        typer.Option(
            metavar="WORD", help="Compare this word's vectors in TEXT and TEXT2.", rich_help_panel=WORDS
        ),
    ] = None,
    against: Annotated[
        list[str] | None,
        typer.Option(
            metavar="WORD...",
            help="With --word: also compare with these, up to the next option. Give the texts before.",
            rich_help_panel=WORDS,
        ),
    ] = None,
    vectors: Annotated[
        bool, typer.Option("--vectors", help="With --json: every vector, too.", rich_help_panel=PANEL)
    ] = False,
    offline: OfflineOption = False,
) -> None:
    """Look inside a BERT-like model while it reads a text, or a pair of texts.

    Tokens, the embedding layer taken apart, hidden states, pooler and parameters; with --attention, --layer,
    --head or --rollout who reads whom; with --word one word in two contexts. These have pictures: --png draws
    them, --html writes a page, of attention with all heads to choose from.
    """
    from search.encoding.models import DEFAULT_MODEL

    view.check()
    ways = {"--word": word is not None, "--against-tokenizer": other is not None}
    named = view.named + [name for name, given in ways.items() if given]
    if len(named) > max(1, len(view.named)):
        raise typer.BadParameter(f"{named[0]} and {named[-1]} exclude each other")
    if against and word is None:
        raise typer.BadParameter("--against needs --word")
    if vectors and (named or not output.as_json):
        raise typer.BadParameter("--vectors goes with --json alone")
    if output.files and not view.named and word is None:
        raise typer.BadParameter(
            "tables have no picture: --png and --html draw attention (--attention, --layer, --rollout) and a word in "
            "its contexts (--word)"
        )
    import search.bert as bert

    model = model or DEFAULT_MODEL
    if other is not None:
        _show_comparison(bert.compare_tokenizers(text, other, text2, model=model, offline=offline), output)
    elif word is not None:
        texts = [text] if text2 is None else [text, text2]
        _show_contexts(bert.in_contexts(word, texts, against or [], model=model, offline=offline), output)
    elif view.named:
        attention = bert.attention(text, text2, model=model, offline=offline)
        view.check_there(attention)
        _show_attention(attention, view, output)
    else:
        _show_inspection(bert.inspect(text, text2, model=model, offline=offline), output, vectors)


def _show_inspection(inspection: Inspection, output: DrawnOutput, vectors: bool) -> None:
    from search.render import inspection as tables

    output.show(
        text=lambda: tables.inspection(inspection, **output.style),
        data=lambda: tables.as_json(inspection, vectors=vectors),
    )


def _show_attention(attention: Attention, view: AttentionOptions, output: DrawnOutput) -> None:
    from search.render import attention as drawing
    from search.render import picture

    layer, head, rollout = view.layer, view.head, view.rollout
    output.result(
        text=lambda: drawing.attention(attention, layer, head, rollout=rollout, **output.style),
        data=lambda: drawing.as_json(attention, layer, head, rollout=rollout),
        png=lambda: picture.attention(attention, layer, head, rollout=rollout),
        html=lambda: _page(attention, view),
    )


def _page(attention: Attention, view: AttentionOptions) -> str:
    """The page of attention, opened at what was asked for.

    Raises:
        InputError: it would be too large for a browser.
    """
    from search.render import page

    size = attention.weights.size
    if size > page.MOST_WEIGHTS:
        raise InputError(
            f"{size:,} weights are more than the {page.MOST_WEIGHTS:,} that a page can hold. "
            "Take a shorter text, or --png or --json with --layer."
        )
    return page.attention(attention, view.layer, view.head, rollout=view.rollout)


def _show_contexts(contexts: ContextualCosines, output: DrawnOutput) -> None:
    from search.render import inspection as tables
    from search.render import page, picture

    output.result(
        text=lambda: tables.contexts(contexts, **output.style),
        data=lambda: tables.contexts_json(contexts),
        png=lambda: picture.contexts(contexts),
        html=lambda: page.contexts(contexts),
    )


def _show_comparison(comparison: TokenizerComparison, output: DrawnOutput) -> None:
    from search.render import inspection as tables
    from search.render import json

    output.show(
        text=lambda: tables.comparison(comparison, **output.style), data=lambda: json.document(comparison)
    )
