"""Options of token matrices: of an explanation, of a pair of texts, and of the hits of a query."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from search.cli.options import LayerOption, layer_of, matrix_option
from search.cli.output import DrawnOutput, Output, require_pictures, write_file
from search.errors import InputError
from search.records.explanations import require_range
from search.records.hits import Hit

if TYPE_CHECKING:
    from search.cli.hits_output import HitsOutput
    from search.records.explanations import Explanation
    from search.records.tokens import Layer
    from search.render.heatmap import By, Units
    from search.render.terminal import Canvas


@dataclass(frozen=True)
class TokenMatrixOptions:
    """Options of every token matrix.

    Raises:
        InputError: `scale` is no range.
    """

    layer: LayerOption = None
    by_words: Annotated[
        bool | None, matrix_option("--words/--tokens", help="Show whole words, or every token.")
    ] = None
    no_special: Annotated[
        bool, matrix_option("--no-special", help="Leave out special tokens, such as [CLS] and [SEP].")
    ] = False
    scale: Annotated[
        tuple[float, float] | None,
        matrix_option(metavar="LOW HIGH", help="Range of the colours of cosines. Default: -1 1."),
    ] = None
    csv: Annotated[
        Path | None,
        matrix_option(metavar="DIR", help="Write each matrix into this folder as a CSV file."),
    ] = None

    def __post_init__(self) -> None:
        require_range(self.scale, "--scale")

    @property
    def set_options(self) -> list[str]:
        """Names of the options that are set."""
        values = {
            "--layer": self.layer is not None,
            "--words" if self.by_words else "--tokens": self.by_words is not None,
            "--no-special": self.no_special,
            "--scale": self.scale is not None,
            "--csv": self.csv is not None,
        }
        return [name for name, is_set in values.items() if is_set]

    def drawn(self, why: Explanation, by: By) -> Units:
        """Return the units to print or to write as CSV."""
        from search.render.heatmap import units, without

        whole = units(why, by)
        return without(whole, "special") if self.no_special else whole

    def write_csv(self, why: Explanation, by: By, prefix: str = "") -> None:
        """Write both matrices into the folder of --csv, if there is one."""
        from search.render import csv

        self.write_tables(csv.matrices(self.drawn(why, by)), prefix)

    def write_tables(self, tables: dict[str, str], prefix: str = "") -> None:
        """Write CSV files into the folder of --csv, which is created; files of the same names are replaced."""
        assert self.csv is not None
        for name, content in tables.items():
            write_file(in_folder(self.csv, "--csv") / f"{prefix}{name}.csv", content)


def in_folder(folder: Path, option: str) -> Path:
    """Create a folder if it is missing; return it.

    Raises:
        InputError: the folder cannot be created.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = "it is a file" if folder.is_file() else error.strerror or str(error)
        raise InputError(
            f"'{folder}' is no folder to write to: {reason}. Give another one: {option} DIR"
        ) from None
    return folder


@dataclass(frozen=True)
class MatrixView(TokenMatrixOptions):
    """Matrices of one explanation, or the table of all layers."""

    matrix: Annotated[
        bool, matrix_option("--matrix", help="Show the similarity and contribution matrix, by token.")
    ] = False
    layers: Annotated[
        bool,
        matrix_option(
            "--layers", help="Print the contributions of both texts, traced to each layer of the model."
        ),
    ] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.layers and self.scale:
            raise typer.BadParameter("--scale colours cosines, and --layers shows none: drop one of them")

    @property
    def by_unit(self) -> By | None:
        """Unit chosen by --words, --tokens or --matrix; None without them."""
        if self.by_words is None:
            return "token" if self.matrix else None
        return "word" if self.by_words else "token"

    def show(
        self,
        why: Explanation,
        by: By,
        output: DrawnOutput,
        data: Callable[[], str],
        *,
        text: Callable[..., str] | None = None,
        hit: Hit | None = None,
    ) -> None:
        """Print an explanation's matrices, or draw them into the requested files.

        Args:
            data: returns the output for --json.
            text: returns the text to print; None prints the matrices.
        """
        from search.explaining.xray import xray
        from search.render import csv, heatmap, page, picture
        from search.render.heatmap import units

        special = not self.no_special

        def png() -> bytes:
            if self.layers:
                return picture.layers(why, by, hit, special=special)
            return picture.explanation(why, units(why, by), hit, special=special, colours=self.scale)

        def in_terminal(*args: Any, **style: Any) -> str:
            if self.layers:
                return heatmap.layers(*args, by=by, hit=hit, special=special, **style)
            if text:
                return text(*args, **style)
            drawn = self.drawn(why, by)
            return heatmap.matrices(*args, drawn=drawn, hit=hit, colours=self.scale, **style)

        if self.csv:
            if self.layers:
                self.write_tables(csv.layers(why, by, special))
            else:
                self.write_csv(why, by)
            output.note(f"wrote {self.csv}")
        if self.csv and not output.files and not output.as_json:
            return
        output.result(
            why,
            in_terminal,
            data=data,
            png=png,
            html=lambda: page.document(page.xray(xray(why), by=by, hit=hit, colours=self.scale)),
        )


@dataclass(frozen=True)
class HitMatrices(TokenMatrixOptions):
    """Matrices of the hits of a query.

    Raises:
        typer.BadParameter: an option of matrices is set without --matrices.
        OptionalDependency: a PNG is requested, but matplotlib is not installed.
    """

    matrices: Annotated[
        bool,
        matrix_option(
            "--matrices", help="Show the token similarities of each hit; --json has all its matrices."
        ),
    ] = False
    png: Annotated[
        Path | None,
        matrix_option(
            metavar="DIR", help="Write a PNG picture of each hit into this folder (extra `pictures`)."
        ),
    ] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        options = [*self.set_options, *(["--png"] if self.png else [])]
        if options and not self.matrices:
            raise typer.BadParameter(f"{options[0]} is about the matrices of hits: add --matrices")
        if self.png:
            require_pictures()

    @property
    def by(self) -> By:
        return "word" if self.by_words else "token"

    def keywords(self, output: HitsOutput) -> dict[str, Any]:
        """Return the keywords of a query whose hits have matrices; {} without --matrices."""
        if not self.matrices:
            return {}
        if output.form:
            raise typer.BadParameter(f"--matrices prints text or JSON: drop --format {output.form}")
        layer: Layer | None = layer_of(self.layer)
        return {"explain": True, "layer": layer}

    def write(self, hits: Sequence[Hit], output: Output) -> None:
        """Write the files of all hits into the folders of --csv and --png; replace files of the same names."""
        from search.render import picture
        from search.render.heatmap import units

        folders = [folder for folder in (self.csv, self.png) if folder]
        for hit in hits if folders else ():
            why, name = hit.explanation, f"{hit.rank}-p{hit.passage_id}"
            assert why is not None
            if self.csv:
                self.write_csv(why, self.by, f"{name}-")
            if self.png:
                drawn = units(why, self.by)
                content = picture.explanation(
                    why, drawn, hit, special=not self.no_special, colours=self.scale
                )
                write_file(in_folder(self.png, "--png") / f"{name}.png", content)
        for folder in folders if hits else ():
            output.note(f"wrote {folder}")

    @property
    def below(self) -> Callable[[Canvas, Hit], None] | None:
        """Function that draws the matrix of a hit below it; None without --matrices, or if files are written."""
        from search.render.heatmap import draw_below

        if not self.matrices or self.csv or self.png:
            return None
        return partial(draw_below, by=self.by, special=not self.no_special, colours=self.scale)

    @property
    def explained(self) -> Callable[[Explanation], Any] | None:
        """Function that returns the JSON of an explanation; None without --matrices."""
        from search.render.json import matrices

        return partial(matrices, by=self.by) if self.matrices else None
