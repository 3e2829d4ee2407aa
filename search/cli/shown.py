"""Where a result goes, and in which form: a picture, a page, text, or data for programs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

from search.cli.files import check_pictures, check_writable, write_file
from search.cli.options import Colour, colour_on, echo, note, page_width


class Style(TypedDict):
    """How text is drawn: characters a line, and whether in colour."""

    width: int
    colour: bool


@dataclass(frozen=True)
class Shown:
    """What was asked for with --png, --html, --json (or another form of data), --quiet and --color."""

    png: Path | None
    html: Path | None
    data: bool
    quiet: bool
    color: Colour

    @classmethod
    def asked(cls, png: Path | None, html: Path | None, data: bool, quiet: bool, color: Colour) -> Shown:
        """Checked before any work is done; without files of a command that draws nothing.

        Raises:
            InputError: a file that cannot be written.
            OptionalDependency: a PNG is asked for, and what draws it is not installed.
        """
        check_writable(png, html)
        check_pictures(png)
        return cls(png, html, data, quiet, color)

    @property
    def files(self) -> bool:
        """Whether a file was asked for. Then text is not printed, unless a command says otherwise."""
        return bool(self.png or self.html)

    @property
    def style(self) -> Style:
        return {"width": page_width(), "colour": colour_on(self.color)}

    def result(
        self,
        *,
        text: Callable[[], str],
        data: Callable[[], str],
        png: Callable[[], bytes] | None = None,
        html: Callable[[], str] | None = None,
        text_anyway: bool = False,
    ) -> None:
        """Write the files that were asked for, and say so; then print.

        Both files are drawn before the first is written, so that one that cannot be drawn leaves none behind.

        Args:
            text, data: what is printed; one of them is made.
            png, html: what is written; each is made if its file was asked for.
            text_anyway: print text also where a file was asked for.

        Raises:
            InputError: a file cannot be written.
        """
        drawn = [(path, draw()) for path, draw in ((self.png, png), (self.html, html)) if path and draw]
        for path, content in drawn:
            write_file(path, content)
            note(f"wrote {path}", self.quiet)
        if self.data:
            echo(data())
        elif text_anyway or not self.files:
            echo(text())
