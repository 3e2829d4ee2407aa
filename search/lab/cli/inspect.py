"""seewhy lab inspect, seewhy lab vocabulary: a look inside BERT, and its vocabulary"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

import typer

from search.cli.options import OfflineOption, checkpoint, panel
from search.cli.output import DrawnOutput, Output, output_option

_attention, _texts = panel("Attention"), panel("Two texts side by side")
_itself = panel("The model, without a text")
_MODEL_ALONE = ("--parameters", "--modules", "--positions")


def inspect(
    output: DrawnOutput,
    text: Annotated[str | None, typer.Argument(metavar="TEXT", help="A text.")] = None,
    text2: Annotated[
        str | None, typer.Argument(metavar="TEXT2", help="Second text, for a pair or a comparison.")
    ] = None,
    model: Annotated[
        str | None, checkpoint("Model; NAME@REVISION pins a revision. Default: all-MiniLM-L6-v2.")
    ] = None,
    attention: Annotated[
        bool, _attention("--attention", help="Show attention; --html and --json include every head.")
    ] = False,
    layer: Annotated[
        list[int] | None,
        _attention(min=1, help="Show the mean attention of this layer's heads; may be repeated."),
    ] = None,
    head: Annotated[int | None, _attention(min=1, help="Show only this head of --layer.")] = None,
    token: Annotated[
        str | None,
        _attention(
            metavar="TOKEN|N",
            help="Show how --head computes this token's output: q.k / sqrt(d), softmax, weighted sum.",
        ),
    ] = None,
    word: Annotated[
        list[str] | None,
        _texts(metavar="WORD", help="Compare WORD in both texts; a second --word is for TEXT2."),
    ] = None,
    against: Annotated[
        list[str] | None,
        _texts(metavar="WORD", help="With --word: also compare with this word or text; may be repeated."),
    ] = None,
    equal_rows: Annotated[
        bool, _texts("--equal-rows", help="Show at which positions both texts have equal vectors.")
    ] = False,
    batch: Annotated[
        bool, _texts("--batch", help="Show both texts as one padded batch, and what the mask does.")
    ] = False,
    positions: Annotated[
        bool, _itself("--positions", help="Compare learned position vectors with the sinusoid formula.")
    ] = False,
    parameters: Annotated[
        bool, _itself("--parameters", help="List the model's tensors, with shape and size.")
    ] = False,
    modules: Annotated[bool, _itself("--modules", help="Show the model's modules as a tree.")] = False,
    values: Annotated[
        int, output_option(metavar="N", min=0, help="Also show the first N numbers of each vector.")
    ] = 0,
    vectors: Annotated[bool, output_option("--vectors", help="With --json: print all vectors.")] = False,
    offline: OfflineOption = False,
) -> None:
    """Show tokens, vectors and attention for a text or a pair.

    Prints tokens, the parts of the embedding layer, hidden states, pooler and number of parameters. --attention,
    --layer and --head show attention instead; --png and --html save it. --token computes one head step by step,
    --word compares words in two contexts, --equal-rows two texts position by position, --batch pads them. --positions,
    --parameters and --modules need no text.
    """
    modes = {
        "--parameters": parameters,
        "--modules": modules,
        "--word": bool(word),
        "--equal-rows": equal_rows,
        "--batch": batch,
        "--positions": positions,
        "--token": token is not None,
        "--attention": (attention or bool(layer)) and token is None,
    }
    mode = _the_only(modes)
    if (text is None) != (mode in _MODEL_ALONE):
        raise typer.BadParameter(
            "give a text, or --positions, --parameters or --modules alone", param_hint="TEXT"
        )
    if mode in ("--equal-rows", "--batch") and text2 is None:
        raise typer.BadParameter(f"{mode} compares two texts: add a second one")
    if ((head or token) and not layer) or (token and len(layer or ()) > 1):
        raise typer.BadParameter("--head and --token also need --layer, --token just one")
    if output.files and mode != "--attention" and (output.html or mode != "--positions"):
        raise typer.BadParameter(
            "--png and --html draw attention: add --attention or --layer; --png draws --positions, too"
        )
    from search.encoding.models import DEFAULT_MODEL
    from search.lab.bert import inspecting
    from search.lab.render import inspection as draw

    keywords: dict[str, Any] = {"model": model or DEFAULT_MODEL, "offline": offline}
    if mode == "--parameters":
        from search.lab.render import model_parts

        tensors = inspecting.parameters(**keywords)
        view = _View(tensors, model_parts.parameters, lambda: model_parts.parameters_json(tensors))
    elif mode == "--modules":
        from search.lab.render import model_parts

        view = _View(inspecting.modules(**keywords), model_parts.modules)
    elif mode == "--word":
        view = _contexts(
            word or [], [part for part in (text, text2) if part is not None], against or [], keywords
        )
    elif mode == "--batch":
        view = _View(inspecting.padded([str(text), str(text2)], **keywords), draw.padded)
    elif mode == "--positions":
        from search.lab.render import picture

        rows = inspecting.positions(**keywords)
        view = _View(rows, draw.positions, png=lambda: picture.positions(rows))
    elif mode == "--equal-rows":
        view = _View(inspecting.equal_rows(str(text), str(text2), **keywords), draw.equal_rows)
    elif mode == "--token":
        number: Any = int(str(token)) if re.fullmatch(r"\d{1,9}", str(token)) else token
        work = inspecting.work_through(
            str(text), text2, layer=(layer or [1])[0], head=head or 1, token=number, **keywords
        )
        view = _View(work, draw.head_at_work)
    elif mode:
        view = _attended(str(text), text2, layer or [], head, keywords)
    else:
        looked = inspecting.inspect(str(text), text2, **keywords)
        drawn = partial(draw.inspection, values=values)
        view = _View(looked, drawn, lambda: draw.as_json(looked, vectors=vectors))
    output.result(view.record, view.text, data=view.data, png=view.png, html=view.html)


def _the_only(options: dict[str, bool]) -> str:
    """Return the name of the only option that is set; "" if none is.

    Raises:
        typer.BadParameter: more than one option is set.
    """
    named = [name for name, is_given in options.items() if is_given]
    if len(named) > 1:
        raise typer.BadParameter(f"{named[0]} and {named[1]} cannot be combined")
    return named[0] if named else ""


@dataclass(frozen=True)
class _View:
    """A record to show, with functions that return it as text, JSON, PNG and HTML."""

    record: Any
    text: Callable[..., str]
    data: Callable[[], str] | None = None
    png: Callable[[], bytes] = bytes
    html: Callable[[], str] | None = None


def _contexts(words: list[str], texts: list[str], against: list[str], keywords: dict[str, Any]) -> _View:
    from search.lab.bert.inspecting import in_contexts
    from search.lab.render import inspection as draw

    cosines = in_contexts(words[0] if len(words) == 1 else words, texts, against, **keywords)
    return _View(cosines, draw.contexts, lambda: draw.contexts_json(cosines))


def _attended(
    text: str, text2: str | None, layers: list[int], head: int | None, keywords: dict[str, Any]
) -> _View:
    from search.lab.bert.inspecting import inspect
    from search.lab.render import attention as draw_attention
    from search.lab.render import pages, picture
    from search.render.page import document

    attention = inspect(text, text2, **keywords).attention
    drawn = layers or [attention.layers]
    return _View(
        attention,
        partial(draw_attention.attention, layers=drawn, head=head),
        lambda: draw_attention.attention_json(attention, layers, head),
        lambda: picture.attention(attention, drawn, head),
        lambda: document(pages.attention(attention, drawn[0], head)),
    )


def vocabulary(
    output: Output,
    text: Annotated[
        str | None, typer.Argument(metavar="TEXT", help="Tokenize this text, and decode the tokens.")
    ] = None,
    ids: Annotated[
        str | None,
        typer.Option(metavar="ID,ID", help="Decode these IDs."),
    ] = None,
    token: Annotated[
        list[str] | None, typer.Option(help="Look up this token (key, ##ing, [MASK]); may be repeated.")
    ] = None,
    model: Annotated[
        str | None, checkpoint("Model; NAME@REVISION pins a revision. Default: all-MiniLM-L6-v2.")
    ] = None,
    offline: OfflineOption = False,
) -> None:
    """Look up tokens and IDs in the vocabulary of a model.

    Without arguments, prints the size of the vocabulary and the kinds of its entries.
    """
    from search.encoding.models import DEFAULT_MODEL
    from search.lab.bert import tokenizing
    from search.lab.bert.tokenizing import UnknownPieces
    from search.lab.render import inspection as draw

    keywords: dict[str, Any] = {"model": model or DEFAULT_MODEL, "offline": offline}
    questions = {"TEXT": text, "--ids": ids, "--token": token}
    _the_only({name: value is not None for name, value in questions.items()})
    if text is not None:
        numbers = [entry.id for entry in tokenizing.tokenize(text, **keywords).tokens]
        output.show(tokenizing.decode(numbers, **keywords), draw.decoded)
    elif token:
        try:
            output.show(tokenizing.decode(tokenizing.ids_of(token, **keywords), **keywords), draw.decoded)
        except UnknownPieces as error:
            if error.entries:
                output.show(tokenizing.decode(error.entries, **keywords), draw.decoded)
            raise
    elif ids is not None:
        output.show(tokenizing.decode(_numbers(ids), **keywords), draw.decoded)
    else:
        output.show(tokenizing.vocabulary(**keywords), draw.vocabulary)


def _numbers(typed: str) -> list[int]:
    """Convert "101, 102" to [101, 102].

    Raises:
        typer.BadParameter: the text has a part that is not an integer.
    """
    try:
        return [int(number) for number in typed.replace(",", " ").split()]
    except ValueError:
        raise typer.BadParameter(f"'{typed}': give integers such as 1,2", param_hint="'--ids'") from None
