"""How the matrices of an explanation are shown: options of explain and similarity, and what they print."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from search.cli.options import LayerOption, matrix_option

if TYPE_CHECKING:
    from search.cli.output import DrawnOutput
    from search.records.explanations import Explanation
    from search.records.hits import Hit
    from search.render.heatmap import By, Ends


@dataclass(frozen=True)
class MatrixOptions:
    """How a matrix is shown."""

    layer: LayerOption = None
    words: Annotated[bool, matrix_option("--words", help="By whole words, WordPieces merged.")] = False
    no_special: Annotated[
        bool, matrix_option("--no-special", help="Leave [CLS] and [SEP] out; --json marks them.")
    ] = False
    contributions: Annotated[
        bool, matrix_option("--contributions", help="What each pair added, not its cosine; --json has both.")
    ] = False
    scale: Annotated[
        str | None,
        matrix_option(metavar="LOW..HIGH", help="Where the colours of cosines end. Default: -1..1."),
    ] = None
    as_csv: Annotated[bool, matrix_option("--csv", help="Print the matrix as CSV.")] = False

    def require(self, output: DrawnOutput, of_tokens: bool, way_out: str) -> None:
        """Refuse options that mean nothing here.

        Args:
            of_tokens: a matrix of tokens or words is shown.
            way_out: how to have one.

        Raises:
            typer.BadParameter: there is such an option.
        """
        if self.as_csv and output.as_json:
            raise typer.BadParameter("--csv and --json exclude each other")
        for name in ("words", "no_special", "contributions"):
            if getattr(self, name) and not of_tokens:
                raise typer.BadParameter(f"--{name.replace('_', '-')} is for a matrix of tokens. {way_out}")
        self.ends()

    def ends(self) -> Ends:
        """The ends of the scale.

        Raises:
            typer.BadParameter: it is none.
        """
        from search.render.heatmap import COSINES, Ends

        if self.scale is None:
            return COSINES
        low, _, high = self.scale.partition("..")
        with suppress(ValueError):
            return Ends(float(low), float(high))
        raise typer.BadParameter(
            f"--scale {self.scale}: give two numbers, the second one larger and above 0, as in --scale 0..0.8"
        )

    def show(
        self,
        why: Explanation,
        by: By,
        output: DrawnOutput,
        data: Callable[[], str],
        *,
        text: Callable[..., str] | None = None,
        hit: Hit | None = None,
        both: bool = False,
    ) -> None:
        """Print an explanation's matrix, or draw both into the files that were asked for.

        Args:
            data: as JSON.
            text: what is printed in place of a matrix.
            both: print both matrices, unless it is the contributions that were asked for.
        """
        from search.render import heatmap, page, picture
        from search.render.heatmap import units

        drawn, ends = units(why, by, special=not self.no_special), self.ends()
        which = {"contributions": self.contributions or both, "cosines": not self.contributions}
        output.result(
            why,
            text or partial(heatmap.matrices, drawn=drawn, hit=hit, ends=ends, **which),
            data=data,
            png=lambda: picture.explanation(why, drawn, hit, ends),
            html=lambda: page.document(page.explanation(why, drawn, hit, ends)),
            csv=(lambda: heatmap.matrix_csv(drawn, contributions=self.contributions))
            if self.as_csv
            else None,
        )
