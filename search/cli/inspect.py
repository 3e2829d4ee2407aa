"""seewhy lab inspect: a look inside BERT, and what a model consists of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from search.cli.options import OfflineOption, checkpoint, panel
from search.cli.output import DrawnOutput, SaveOption, check_savable, output_option

if TYPE_CHECKING:
    from search.records.attention import View

attention_option, texts_option = panel("Attention"), panel("Two texts side by side")
itself_option = panel("The model itself, without a text")


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
    token: Annotated[
        str | None,
        attention_option(
            metavar="TOKEN|N",
            help="Work this head through for one token: q.k / sqrt(d), softmax, weighted sum.",
        ),
    ] = None
    rollout: Annotated[
        bool, attention_option("--rollout", help="Attention rolled out over the layers, up to --layer.")
    ] = False

    @property
    def view(self) -> View:
        from search.records.attention import View

        return View(self.layer, self.head, self.rollout)

    @property
    def modes(self) -> dict[str, bool]:
        """The options that ask for attention, and whether they were given."""
        whole = {"--attention": self.shown, "--layer": self.layer is not None, "--rollout": self.rollout}
        one = self.token is not None
        return {"--token": one} | {
            name: given and not (one and name == "--layer") for name, given in whole.items()
        }

    def check(self) -> None:
        """Refuse what has no meaning."""
        if self.head is not None and self.layer is None:
            raise typer.BadParameter("--head needs --layer: heads are counted within a layer")
        if self.head is not None and self.rollout:
            raise typer.BadParameter("--rollout is of all heads: leave --head out")
        if self.token is not None and self.head is None:
            raise typer.BadParameter("--token needs --layer and --head: one head is worked through")


@dataclass(frozen=True)
class TextsOptions:
    """What of two texts, each read by itself, is compared."""

    word: Annotated[
        list[str] | None,
        texts_option(
            metavar="WORD", help="This word's vectors in both; repeat it for another word in TEXT2."
        ),
    ] = None
    against: Annotated[
        list[str] | None,
        texts_option(
            metavar="WORD",
            help="With --word: also compare with this word; may be repeated.",
        ),
    ] = None
    equal_rows: Annotated[
        bool, texts_option("--equal-rows", help="Which vectors at the same place are equal, part by part.")
    ] = False


@dataclass(frozen=True)
class ModelOptions:
    """What is shown of a model that reads nothing."""

    parameters: Annotated[
        bool, itself_option("--parameters", help="Its tensors by name, with shape and count.")
    ] = False
    modules: Annotated[bool, itself_option("--modules", help="Its modules as a tree.")] = False
    every: Annotated[bool, itself_option("--all", help="A line for each, also where layers are alike.")] = (
        False
    )


@dataclass(frozen=True)
class VectorOptions:
    """How much is shown of the vectors themselves."""

    values: Annotated[
        int, output_option("--values", metavar="N", min=0, help="Show the first N numbers of vectors, too.")
    ] = 0
    vectors: Annotated[bool, output_option("--vectors", help="With --json: every vector, too.")] = False
    save: SaveOption = None


_OF_ATTENTION = ("--attention", "--layer", "--rollout")
# Which options go with which modes; "" is a text that is read.
_ONLY_WITH = {
    "--against": ("--word",),
    "--all": ("--parameters", "--modules"),
    "--values": ("", "--parameters", "--token"),
    "--vectors": ("",),
    "--save": ("", "--parameters", "--token", "--word", "--equal-rows", *_OF_ATTENTION),
}


def inspect(
    asked: AttentionOptions,
    compared: TextsOptions,
    itself: ModelOptions,
    numbers: VectorOptions,
    output: DrawnOutput,
    text: Annotated[
        str | None, typer.Argument(metavar="TEXT", help="What the model reads; with --passages a file.")
    ] = None,
    text2: Annotated[
        str | None, typer.Argument(metavar="TEXT2", help="The second text of a pair, or to compare with.")
    ] = None,
    model: Annotated[
        str | None, checkpoint("The checkpoint, or NAME@REVISION. Default: all-MiniLM-L6-v2.")
    ] = None,
    passages: Annotated[
        bool,
        typer.Option(
            "--passages", help="Show each passage of the file TEXT, as it is and as it is encoded, instead."
        ),
    ] = False,
    offline: OfflineOption = False,
) -> None:
    """Look inside BERT while it reads a text, or a pair of texts.

    Tokens, the embedding layer taken apart, hidden states, pooler and parameters; with --attention, --layer,
    --head or --rollout who reads whom, with --token one head step by step; with --word words in two contexts, with
    --equal-rows what two texts share. Attention and words have pictures: --png draws them, --html writes a page of
    attention with all heads to choose from. Without a text: --parameters, --modules.
    """
    asked.check()
    given = asked.modes | {
        "--word": bool(compared.word),
        "--equal-rows": compared.equal_rows,
        "--parameters": itself.parameters,
        "--modules": itself.modules,
        "--passages": passages,
    }
    mode = _mode(given)
    _check_texts(mode, text, text2)
    _check_others(
        mode,
        {
            "--against": bool(compared.against),
            "--all": itself.every,
            "--values": bool(numbers.values),
            "--vectors": numbers.vectors,
            "--save": numbers.save is not None,
        },
        output,
    )
    if numbers.vectors and not output.as_json:
        raise typer.BadParameter("--vectors goes with --json alone")
    check_savable(numbers.save)
    from search.cli import looking as look
    from search.encoding.models import DEFAULT_MODEL

    which: dict[str, Any] = {"model": model or DEFAULT_MODEL, "offline": offline}
    found = look.Found(output, numbers)
    if mode == "--passages":
        look.show_passages(str(text), model, offline, output)
    elif mode in ("--parameters", "--modules"):
        look.show_model(mode, itself.every, found, which)
    elif mode == "--word":
        look.show_contexts(compared, [one for one in (text, text2) if one is not None], found, which)
    elif mode == "--equal-rows":
        look.show_equal_rows(str(text), str(text2), found, which)
    elif mode == "--token":
        look.show_head(asked, str(text), text2, found, which)
    elif mode:
        look.show_attention(asked, str(text), text2, found, which)
    else:
        look.show_inspection(str(text), text2, found, which)


def _mode(given: dict[str, bool]) -> str:
    """The option that says what is looked at; "" for a text as a whole.

    Raises:
        typer.BadParameter: two of them exclude each other.
    """
    named = [name for name, there in given.items() if there]
    if len(named) > 1 and not set(named) <= set(_OF_ATTENTION):
        raise typer.BadParameter(f"{named[0]} and {named[-1]} exclude each other")
    return named[0] if named else ""


def _check_texts(mode: str, text: str | None, text2: str | None) -> None:
    """
    Raises:
        typer.BadParameter: a text is missing, or one is too many.
    """
    if mode in ("--parameters", "--modules"):
        if text is not None:
            raise typer.BadParameter(f"{mode} is about the model alone: leave the text out")
    elif text is None:
        raise typer.BadParameter(
            "Missing argument: give a text, or --parameters or --modules.", param_hint="TEXT"
        )
    elif mode == "--equal-rows" and text2 is None:
        raise typer.BadParameter("--equal-rows compares two texts: give a second one")
    elif mode == "--passages" and text2 is not None:
        raise typer.BadParameter("--passages goes with one file")


def _check_others(mode: str, given: dict[str, bool], output: DrawnOutput) -> None:
    """
    Raises:
        typer.BadParameter: an option has no meaning beside what is looked at.
    """
    for name, modes in _ONLY_WITH.items():
        if given[name] and mode not in modes:
            named = [other or "a text" for other in modes]
            raise typer.BadParameter(f"{name} goes with {' or '.join(named)} alone")
    drawn = mode in (*_OF_ATTENTION, "--word")
    if output.files and not drawn:
        raise typer.BadParameter(
            "tables have no picture: --png and --html draw attention (--attention, --layer, --rollout), --png words "
            "in their contexts (--word)"
        )
    if output.html and mode == "--word":
        raise typer.BadParameter("words in their contexts have no page: draw them with --png")
