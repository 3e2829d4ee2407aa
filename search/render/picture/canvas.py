"""A figure that is laid out in inches from its top left corner, and text that no font surprises."""

from __future__ import annotations

import io
import warnings
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

from search.render.format import one_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure
    from matplotlib.ft2font import FT2Font

INK, FAINT, GRID = "#1f2430", "#5d6575", "#d9dde5"
PLUS, MINUS = "#1b62a5", "#b3540a"

Scale = Literal["contribution", "cosine", "attention"]

# Colours from the lowest value to the highest, told apart with every kind of colour vision and from each other: what is
# below zero brown, or grey, white at zero, what is above blue, or purple. Weights of attention are never below zero.
_SCALES: dict[Scale, Any] = {
    "contribution": ("#7f3402", "#c9701f", "#f0b47c", "#ffffff", "#8fbfe6", "#3182c4", "#0b3f73"),
    "cosine": ("#30363d", "#7d858e", "#c4c9cf", "#ffffff", "#c9b3e3", "#8a5fbf", "#47127a"),
    "attention": (
        (0.0, "#ffffff"), (0.5, "#ffffff"), (0.65, "#b9dcc6"), (0.82, "#4c9f72"), (1.0, "#0c4a2c"),
    ),
}  # fmt: skip

_DPI = 160
_UNITS = 100  # points, to measure letters at
_OWN_FONT = "DejaVu Sans"  # comes with matplotlib

# Fonts of many scripts, in the order they are tried in for what the own font lacks.
_OTHERS = """
    Noto Sans; Noto Sans CJK SC; Noto Sans CJK JP; Noto Sans SC; Noto Sans JP; Noto Sans KR; Noto Sans Arabic;
    Noto Sans Hebrew; Noto Sans Devanagari; Noto Sans Thai; Noto Emoji; Noto Sans Symbols2; WenQuanYi Zen Hei;
    Droid Sans Fallback; Unifont; Arial Unicode MS; Segoe UI; Segoe UI Symbol; Segoe UI Emoji; Microsoft YaHei; SimSun;
    Yu Gothic; MS Gothic; Malgun Gothic; Nirmala UI; Leelawadee UI; Hiragino Sans; PingFang SC; Heiti TC;
    Apple SD Gothic Neo; Geeza Pro; Kohinoor Devanagari; Thonburi; Apple Symbols; FreeSans; FreeSerif
"""


@lru_cache(maxsize=1)
def families() -> list[str]:
    """Names of fonts, in the order in which matplotlib looks in them: its own, and what this machine has of others."""
    from matplotlib.font_manager import fontManager

    here = {font.name for font in fontManager.ttflist}
    return [_OWN_FONT, *(name for name in map(str.strip, _OTHERS.split(";")) if name in here)]


class Canvas:
    """A figure of a size in inches; x goes right and y down from its top left corner.

    Args:
        height: without the notes, which are lines below the picture, and the margin below them.
    """

    def __init__(self, width: float, height: float, notes: Sequence[str], margin: float) -> None:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        self.width, self.height = width, height + 0.2 * len(notes) + margin
        self.figure: Figure = Figure(figsize=(width, self.height), dpi=_DPI, facecolor="white")
        self._agg = FigureCanvasAgg(self.figure)
        for i, line in enumerate(notes):
            self.write(margin, height + 0.2 * i, line, 8.5, color=FAINT)

    def axes(self, x: float, y: float, width: float, height: float) -> Axes:
        """Axes at a place, without frame, ticks or labels."""
        bottom = self.height - y - height
        place = (x / self.width, bottom / self.height, width / self.width, height / self.height)
        axes = self.figure.add_axes(place)
        axes.set_axis_off()
        return axes

    def write(self, x: float, y: float, text: str, size: float = 9, **style: Any) -> None:
        """Text whose top left corner (or what `ha` and `va` say) is at a place; never read as mathematics."""
        self.figure.text(
            x / self.width,
            1 - y / self.height,
            one_line(text),
            **{"va": "top", "ha": "left", "color": INK, **style},
            fontsize=size,
            family=families(),
            parse_math=False,
        )

    def png(self, title: str) -> bytes:
        """The file, with a title for programs that show one."""
        file = io.BytesIO()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of characters that no font has, which are drawn as boxes
            self.figure.savefig(file, format="png", metadata={"Title": one_line(title)})
        return file.getvalue()


def colours(scale: Scale) -> Colormap:
    """A scale of colours from -1 to 1."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list(scale, _SCALES[scale])


def wrapped(text: str, width: float, size: float = 8.5, *, bold: bool = False) -> list[str]:
    """Lines of a text that fit a width in inches; a word that does not fit is broken."""
    lines: list[str] = []
    line = ""
    for word in one_line(text).split():
        longer = f"{line} {word}" if line else word
        if text_width(longer, size, bold=bold) <= width:
            line = longer
            continue
        if line:
            lines.append(line)
        while text_width(word, size, bold=bold) > width:
            fits = max(1, _fitting(word, width, size, bold))
            lines.append(word[:fits])
            word = word[fits:]
        line = word
    return [*lines, line] if line else lines


def text_width(text: str, size: float, *, bold: bool = False) -> float:
    """How many inches wide a text is drawn; for characters that the own font lacks, about."""
    return sum(_em(character, bold) for character in text) * size / 72


def fitted(text: str, width: float, size: float, *, bold: bool = False) -> str:
    """A text, shortened to a width in inches."""
    if text_width(text, size, bold=bold) <= width:
        return text
    room = width - text_width("…", size, bold=bold)
    return f"{text[: _fitting(text, room, size, bold)]}…"


def _fitting(text: str, width: float, size: float, bold: bool) -> int:
    """How many of its characters fit a width."""
    at = 0.0
    for count, character in enumerate(text):
        at += _em(character, bold) * size / 72
        if at > width:
            return count
    return len(text)


def shortened(text: str, most: int = 20) -> str:
    """A label of at most so many characters."""
    return text if len(text) <= most else text[: most - 1] + "…"


@lru_cache(maxsize=8192)
def _em(character: str, bold: bool = False) -> float:
    """The width of a character as a share of the size of the letters."""
    import unicodedata

    if unicodedata.combining(character):
        return 0.0
    if ord(character) not in _characters():
        return 1.0 if unicodedata.east_asian_width(character) in "WF" else 0.65
    return float(_own_font(bold).load_char(ord(character)).linearHoriAdvance) / 65536 / _UNITS


@lru_cache(maxsize=2)
def _own_font(bold: bool) -> FT2Font:
    from matplotlib.font_manager import FontProperties, findfont
    from matplotlib.ft2font import FT2Font

    font = FT2Font(findfont(FontProperties(family=[_OWN_FONT], weight="bold" if bold else "normal")))
    font.set_size(_UNITS, 72)
    return font


@lru_cache(maxsize=1)
def _characters() -> frozenset[int]:
    """Code points that matplotlib's own font has."""
    return frozenset(_own_font(bold=False).get_charmap())
