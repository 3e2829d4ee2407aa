"""seewhy inspect: a look inside BERT"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from search.cli.options import OfflineOption, checkpoint, panel
from search.cli.output import DrawnOutput, output_option
from search.errors import InputError

if TYPE_CHECKING:
    from search.records.attention import Attention, View
    from search.records.contexts import ContextualCosines

attention_option, word_option = panel("Attention"), panel("A word in two contexts")


@dataclass(frozen=True)
class AttentionOptions:
    """Which part of the attention is meant."""

    shown: Annotated[
        bool, attention_option("--attention", help="Show who reads whom: every head, in the files.")
    ] = False
    layer: Annotated[
        int | None, attention_option(min=1, help="Attention of this layer, the mean of its heads.")
    ] = None
    head: Annotated[int | None, attention_option(min=1, help="Attention of this head of --layer.")] = None
    rollout: Annotated[
        bool, attention_option("--rollout", help="Attention rolled out over the layers, up to --layer.")
    ] = False

    @property
    def view(self) -> View:
        from search.records.attention import View

        return View(self.layer, self.head, self.rollout)

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
    text: Annotated[
        str, typer.Argument(metavar="TEXT", help="What the model reads; with --passages a file.")
    ],
    asked: AttentionOptions,
    output: DrawnOutput,
    text2: Annotated[
        str | None,
        typer.Argument(metavar="TEXT2", help="The second text of a pair; with --word, of another context."),
    ] = None,
    model: Annotated[
        str | None, checkpoint("The checkpoint, or NAME@REVISION. Default: all-MiniLM-L6-v2.")
    ] = None,
    word: Annotated[
        str | None, word_option(metavar="WORD", help="Compare this word's vectors in TEXT and TEXT2.")
    ] = None,
    against: Annotated[
        list[str] | None,
        word_option(
            metavar="WORD...",
            help="With --word: also compare with these, up to the next option. Give the texts before.",
        ),
    ] = None,
    passages: Annotated[
        bool,
        typer.Option(
            "--passages", help="Show each passage of the file TEXT, as it is and as it is encoded, instead."
        ),
    ] = False,
    vectors: Annotated[bool, output_option("--vectors", help="With --json: every vector, too.")] = False,
    offline: OfflineOption = False,
) -> None:
    """Look inside BERT while it reads a text, or a pair of texts.

    Tokens, the embedding layer taken apart, hidden states, pooler and parameters; with --attention, --layer,
    --head or --rollout who reads whom; with --word one word in two contexts. These have pictures: --png draws
    them, --html writes a page of attention with all heads to choose from.
    """
    from search.encoding.models import DEFAULT_MODEL

    if passages:
        if asked.named or word is not None or vectors or text2 is not None or output.files:
            raise typer.BadParameter("--passages goes with a file, --model and --json alone")
        _show_passages(text, model, offline, output)
        return
    asked.check()
    if asked.named and word is not None:
        raise typer.BadParameter(f"{asked.named[0]} and --word exclude each other")
    if against and word is None:
        raise typer.BadParameter("--against needs --word")
    if vectors and (asked.named or word is not None or not output.as_json):
        raise typer.BadParameter("--vectors goes with --json alone")
    if output.files and not asked.named and word is None:
        raise typer.BadParameter(
            "tables have no picture: --png and --html draw attention (--attention, --layer, --rollout), --png a word "
            "in its contexts (--word)"
        )
    if word is not None and output.html:
        raise typer.BadParameter("a word in its contexts has no page: draw it with --png")
    import search.bert as bert
    from search.render import inspection as tables

    model = model or DEFAULT_MODEL
    if word is not None:
        texts = [text] if text2 is None else [text, text2]
        _show_contexts(bert.in_contexts(word, texts, against or [], model=model, offline=offline), output)
    elif asked.named:
        attention = bert.attention(text, text2, model=model, offline=offline)
        asked.check_there(attention)
        _show_attention(attention, asked.view, output)
    else:
        inspection = bert.inspect(text, text2, model=model, offline=offline)
        output.show(inspection, tables.inspection, data=lambda: tables.as_json(inspection, vectors=vectors))


def _show_passages(file: str, model: str | None, offline: bool, output: DrawnOutput) -> None:
    from search.indexing.cutting import passages_of
    from search.render import inspection as tables

    found = passages_of(file, model=model, offline=offline)
    output.show(found, tables.passages, data=lambda: tables.passages_json(found))


def _show_attention(attention: Attention, view: View, output: DrawnOutput) -> None:
    from search.render import heatmap, picture

    output.result(
        attention,
        partial(heatmap.attention, view=view),
        data=lambda: heatmap.attention_json(attention, view),
        png=lambda: picture.attention(attention, view),
        html=lambda: _page(attention, view),
    )


def _page(attention: Attention, view: View) -> str:
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
    return page.attention(attention, view)


def _show_contexts(contexts: ContextualCosines, output: DrawnOutput) -> None:
    from search.render import contexts as draw
    from search.render import picture

    output.result(
        contexts,
        draw.contexts,
        data=lambda: draw.contexts_json(contexts),
        png=lambda: picture.contexts(contexts),
    )
