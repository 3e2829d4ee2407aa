"""seewhy inspect"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from search.cli.commands import ManyWords
from search.cli.files import HtmlOption, PngOption
from search.cli.options import (
    Colour,
    ColourOption,
    JsonOption,
    OfflineOption,
    QuietOption,
)
from search.cli.shown import Shown

if TYPE_CHECKING:
    from search.records.inspections import Attention, ContextualCosines, Inspection, TokenizerComparison

Text = Annotated[str, typer.Argument(metavar="TEXT", help="What the model reads.", show_default=False)]
Text2 = Annotated[
    str | None,
    typer.Argument(
        metavar="TEXT2",
        help="The second text of a pair; with --word, of another context.",
        show_default=False,
    ),
]
Model = Annotated[
    str | None,
    typer.Option(
        "--model", metavar="NAME|FOLDER", help="The checkpoint, or NAME@REVISION. Default: all-MiniLM-L6-v2."
    ),
]
Tokenizer = Annotated[
    str | None,
    typer.Option(
        "--against-tokenizer",
        metavar="NAME|FOLDER",
        help="Show the tokens beside those of another model, a cased one for instance.",
    ),
]
ShowAttention = Annotated[bool, typer.Option("--attention", help="Show who reads whom: every head, small.")]
Layer = Annotated[
    int | None, typer.Option("--layer", min=1, help="Attention of this layer, the mean of its heads.")
]
Head = Annotated[int | None, typer.Option("--head", min=1, help="Attention of this head of --layer.")]
Rollout = Annotated[
    bool, typer.Option("--rollout", help="Attention rolled out over the layers, up to --layer.")
]
Word = Annotated[
    str | None, typer.Option("--word", metavar="WORD", help="Compare this word's vectors in TEXT and TEXT2.")
]
Against = Annotated[
    list[str] | None,
    typer.Option(
        "--against",
        metavar="WORD...",
        help="With --word: also compare with these, up to the next option. Give the texts before.",
        show_default=False,
    ),
]
Vectors = Annotated[bool, typer.Option("--vectors", help="With --json: every vector, too.")]


class ManyAgainst(ManyWords):
    option = "--against"


def inspect(
    text: Text,
    text2: Text2 = None,
    model: Model = None,
    against_tokenizer: Tokenizer = None,
    attention: ShowAttention = False,
    layer: Layer = None,
    head: Head = None,
    rollout: Rollout = False,
    word: Word = None,
    against: Against = None,
    offline: OfflineOption = False,
    png: PngOption = None,
    html: HtmlOption = None,
    vectors: Vectors = False,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
    color: ColourOption = Colour.auto,
) -> None:
    """Look inside a BERT-like model while it reads a text, or a pair of texts.

    Tokens, the embedding layer taken apart, hidden states, pooler and parameters; with --attention, --layer,
    --head or --rollout who reads whom; with --word one word in two contexts. These have pictures: --png draws
    them, --html writes a page, of attention with all heads to choose from.
    """
    from search.encoding.models import DEFAULT_MODEL

    looks = attention or layer is not None or rollout
    if head is not None and layer is None:
        raise typer.BadParameter("--head needs --layer: heads are counted within a layer")
    if head is not None and rollout:
        raise typer.BadParameter("--rollout is of all heads: leave --head out")
    given = {
        "--attention": attention,
        "--layer": layer is not None,
        "--rollout": rollout,
        "--word": word is not None,
        "--against-tokenizer": against_tokenizer is not None,
    }
    named = [name for name, there in given.items() if there]
    if sum((looks, word is not None, against_tokenizer is not None)) > 1:
        raise typer.BadParameter(f"{named[0]} and {named[-1]} exclude each other")
    if against and word is None:
        raise typer.BadParameter("--against needs --word")
    if vectors and (not as_json or looks or word is not None or against_tokenizer is not None):
        raise typer.BadParameter("--vectors goes with --json alone")
    if (png or html) and not looks and word is None:
        raise typer.BadParameter(
            "tables have no picture: --png and --html draw attention (--attention, --layer, --rollout) and a word in "
            "its contexts (--word)"
        )
    shown = Shown.asked(png, html, as_json, quiet, color)
    asked = _Asked(text, text2, model or DEFAULT_MODEL, offline)
    if against_tokenizer is not None:
        _show_comparison(shown, asked.comparison(against_tokenizer))
    elif word is not None:
        _show_contexts(shown, asked.contexts(word, against or []))
    elif looks:
        view = _View(layer, head, rollout)
        _show_attention(shown, asked.attention(view), view)
    else:
        _show_inspection(shown, asked.inspection(), vectors)


@dataclass(frozen=True)
class _View:
    """Which part of the attention is meant."""

    layer: int | None = None
    head: int | None = None
    rollout: bool = False


@dataclass(frozen=True)
class _Asked:
    """What is looked at, and with which model."""

    text: str
    text2: str | None
    model: str
    offline: bool

    def inspection(self) -> Inspection:
        from search.bert import inspect

        return inspect(self.text, self.text2, model=self.model, offline=self.offline)

    def attention(self, view: _View) -> Attention:
        from search.bert import attention
        from search.errors import InputError

        found = attention(self.text, self.text2, model=self.model, offline=self.offline)
        for name, number, most in (("layer", view.layer, found.layers), ("head", view.head, found.heads)):
            if number is not None and number > most:
                raise InputError(f"'{found.model}' has no {name} {number}. Give one from 1 to {most}.")
        return found

    def contexts(self, word: str, against: list[str]) -> ContextualCosines:
        from search.bert import in_contexts

        texts = [text for text in (self.text, self.text2) if text is not None]
        return in_contexts(word, texts, against, model=self.model, offline=self.offline)

    def comparison(self, other: str) -> TokenizerComparison:
        from search.bert import compare_tokenizers

        return compare_tokenizers(self.text, other, self.text2, model=self.model, offline=self.offline)


def _show_inspection(shown: Shown, found: Inspection, vectors: bool) -> None:
    from search.render import inspection as tables
    from search.render import inspection_json as json

    shown.result(
        text=lambda: tables.inspection(found, **shown.style),
        data=lambda: json.inspection(found, vectors=vectors),
    )


def _show_attention(shown: Shown, found: Attention, view: _View) -> None:
    from search.render import attention as drawing
    from search.render import inspection_json as json
    from search.render import picture

    shown.result(
        text=lambda: drawing.attention(found, view.layer, view.head, rollout=view.rollout, **shown.style),
        data=lambda: json.attention(found, view.layer, view.head, rollout=view.rollout),
        png=lambda: picture.attention(found, view.layer, view.head, rollout=view.rollout),
        html=lambda: _page(found, view),
    )


def _page(weights: Attention, view: _View) -> str:
    """The page of attention, opened at what was asked for.

    Raises:
        InputError: it would be too large for a browser.
    """
    from search.errors import InputError
    from search.render import page

    if weights.weights.size > page.MOST_WEIGHTS:
        raise InputError(
            f"{weights.weights.size:,} weights are more than the {page.MOST_WEIGHTS:,} that a page can hold. "
            "Take a shorter text, or --png or --json with --layer."
        )
    return page.attention(weights, view.layer, view.head, rollout=view.rollout)


def _show_contexts(shown: Shown, found: ContextualCosines) -> None:
    from search.render import inspection as tables
    from search.render import inspection_json as json
    from search.render import page, picture

    shown.result(
        text=lambda: tables.contexts(found, **shown.style),
        data=lambda: json.contexts(found),
        png=lambda: picture.contexts(found),
        html=lambda: page.contexts(found),
    )


def _show_comparison(shown: Shown, found: TokenizerComparison) -> None:
    from search.render import inspection as tables
    from search.render import inspection_json as json

    shown.result(
        text=lambda: tables.comparison(found, **shown.style),
        data=lambda: json.comparison(found),
    )
