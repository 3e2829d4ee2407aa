"""seewhy lab compare: two models, poolings or layers on the passages of one index, or on a pair of texts"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from search.cli.options import IndexOption, OfflineOption, model_option
from search.cli.output import PictureOutput

if TYPE_CHECKING:
    from search.lab.records.encoder_comparisons import TextComparison

T = TypeVar("T")


def compare(
    output: PictureOutput,
    text: Annotated[
        str | None, typer.Argument(metavar="TEXT", help="A text, to compare the cosines with TEXT2.")
    ] = None,
    text2: Annotated[
        str | None, typer.Argument(metavar="TEXT2", help="The second text of the pair.")
    ] = None,
    model: Annotated[
        list[str] | None,
        model_option("--model", metavar="NAME|FOLDER", help="Model; once for both, or twice."),
    ] = None,
    pooling: Annotated[
        list[str] | None, model_option("--pooling", metavar="POOLING", help="Pooling; once, or twice.")
    ] = None,
    layer: Annotated[
        list[str] | None,
        model_option(
            "--layer", metavar="N|mean:N", help="Layer that is pooled, 0 to the last; once, or twice."
        ),
    ] = None,
    query: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TEXT", help="A query; may be repeated. Default: up to 200 passages are the queries."
        ),
    ] = None,
    k: Annotated[
        int,
        typer.Option("--top-k", "-k", metavar="N", min=1, help="Number of first passages to compare."),
    ] = 10,
    most: Annotated[
        int, typer.Option("--passages", metavar="N", min=3, help="Encode a sample of at most N passages.")
    ] = 2000,
    index: IndexOption = None,
    offline: OfflineOption = False,
) -> None:
    """Compare two encoders by the passages that they find in an index, or on a pair of texts.

    Settings that are given once or not at all are those of both: --pooling mean --pooling cls compares two poolings of
    the default model. The passages are encoded again with both; the index stays as it is. With TEXT and TEXT2, prints
    both cosines and what each word of TEXT adds to them, without an index; --png draws it.
    """
    if (text is None) != (text2 is None):
        raise typer.BadParameter("give two texts, or none to compare on an index", param_hint="TEXT2")
    if text is not None and (index or query):
        raise typer.BadParameter("two texts are compared without an index: drop --index and --query")
    if text is None and output.png:
        raise typer.BadParameter("--png draws the words of a pair of texts: add TEXT and TEXT2")
    from search.encoding import Encoder
    from search.encoding.models import DEFAULT_MODEL
    from search.index import Index
    from search.lab.evaluating.encoders import compare_encoders, compare_texts
    from search.lab.render import comparing

    models = _pair("--model", model, DEFAULT_MODEL)
    poolings, layers = _pair("--pooling", pooling, None), _pair("--layer", layer, "-1")
    settings = [*zip(models, poolings, layers, strict=True)]
    if settings[0] == settings[1]:
        raise typer.BadParameter(
            "both settings are the same. Give --model, --pooling or --layer twice: --pooling mean --pooling cls"
        )
    opened = Index.open(index, offline=offline) if text is None else None
    first, second = (
        Encoder(name, pooling=pooled, layer=number, offline=offline)  # type: ignore[arg-type]
        for name, pooled, number in settings
    )
    if opened:
        output.show(
            compare_encoders(opened, first, second, query, k=k, most=most), comparing.encoder_comparison
        )
        output.remarks(opened.notes)
        return
    compared = compare_texts(str(text), str(text2), first, second)
    output.drawn(compared, comparing.text_comparison, lambda: _picture(compared))


def _picture(compared: TextComparison) -> bytes:
    from search.lab.render import charts

    return charts.text_comparison(compared)


def _pair(name: str, values: Sequence[T] | None, default: T) -> tuple[T, T]:
    """Return the values of an option for both encoders.

    Raises:
        typer.BadParameter: the option is given more than twice.
    """
    if not values:
        return default, default
    if len(values) > 2:
        raise typer.BadParameter(f"{name} is given {len(values)} times; give it once or twice.")
    return values[0], values[-1]
