"""The list of hits, the preview of one, the sheet above both, and the colours."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding
from textual.content import Content
from textual.events import Click
from textual.message import Message
from textual.screen import ModalScreen
from textual.strip import Strip
from textual.theme import BUILTIN_THEMES
from textual.widget import Widget

from search.cli.interactive import drawing
from search.cli.interactive.messages import Found
from search.records.explanations import Highlight
from search.records.hits import Hit, Surroundings

_NARROWEST = 20  # that anything is drawn
_ABOVE = 3  # rows of the document that are in sight above the passage

# The terminal's own colours, so that it is light where the terminal is.
_ANSI = BUILTIN_THEMES["ansi-dark"]
OWN_COLOURS = replace(
    _ANSI,
    name="terminal",
    warning="ansi_yellow",
    accent="ansi_cyan",
    variables=_ANSI.variables
    | {
        "border": "ansi_blue",
        "border-blurred": "ansi_bright_black",
        "input-cursor-background": "ansi_default",
        "input-cursor-foreground": "ansi_default",
        "input-cursor-text-style": "reverse",
        "input-selection-background": "ansi_blue",
        "input-selection-foreground": "ansi_bright_white",
    },
)


class Rows(Widget, can_focus=False):
    """Rows that were drawn for a terminal, to be scrolled.

    Only those in sight become cells, and to scroll or change them is no reason to lay out the screen anew: all that
    made a key noticeably slow.
    """

    def __init__(self) -> None:
        super().__init__()
        self._rows: list[str] = []
        self._top = 0  # the first in sight
        self._wide = 0  # what they were drawn for

    @property
    def room(self) -> int:
        """Characters a row."""
        return max(self.content_size.width, _NARROWEST)

    def put(self, rows: list[str], top: int = 0) -> None:
        """Other rows.

        Args:
            top: the first to be seen.
        """
        self._rows, self._wide = rows, self.room
        self.scroll_by(top - self._top)

    def scroll_by(self, rows: int) -> None:
        """Go down by some rows, or up."""
        last = max(0, len(self._rows) - self.content_size.height)
        self._top = min(max(0, self._top + rows), last)
        self.refresh()

    def on_mouse_scroll_down(self) -> None:
        self.scroll_by(3)

    def on_mouse_scroll_up(self) -> None:
        self.scroll_by(-3)

    def on_resize(self) -> None:
        """Draw them anew where there is room for longer or shorter ones."""
        if self.room != self._wide:
            self.draw()
        self.scroll_by(0)

    def draw(self) -> None:
        """Draw the rows, as wide as there is room."""

    def render_line(self, y: int) -> Strip:
        at = y + self._top
        row = self.row(at) if at < len(self._rows) else Text()
        return Strip(row.render(self.app.console)).adjust_cell_length(
            self.content_size.width, self.rich_style
        )

    def row(self, at: int) -> Text:
        """One of them, as it is shown."""
        return Text.from_ansi(self._rows[at])


class HitList(Rows, can_focus=True):
    """Hits, best first, one of them chosen. Its letters act while it has the focus alone: they can be typed.

    Attributes:
        place: of the chosen hit, the first is 0.
    """

    BINDINGS: ClassVar[list[Any]] = [
        Binding("j", "screen.move(1)"),
        Binding("k", "screen.move(-1)"),
        Binding("e", "screen.why"),
        Binding("s", "screen.similar"),
        Binding("question_mark", "screen.keys"),
        Binding("slash", "screen.switch"),
    ]

    class Chosen(Message):
        """Another hit is chosen, or the same one was drawn anew."""

    def __init__(self) -> None:
        super().__init__()
        self._found = Found()
        self.place = 0
        self._begins = [0]  # the row of each hit that is drawn, and the one behind the last

    @property
    def hits(self) -> Sequence[Hit]:
        """All of them."""
        return self._found.hits

    @property
    def chosen(self) -> Hit | None:
        """The hit that keys act on."""
        return self.hits[self.place] if self.hits else None

    @property
    def marks(self) -> Sequence[Highlight]:
        """What counts in the text of the chosen one."""
        return self._found.marks[self.place]

    def show(self, found: Found, kept: Hit | None) -> None:
        """Other hits; the one with the passage of `kept` is chosen, else the first."""
        self._found = found
        passages = [(hit.index, hit.passage_id) for hit in found.hits]
        passage = (kept.index, kept.passage_id) if kept else None
        self.place = passages.index(passage) if passage in passages else 0
        self.draw()
        self.post_message(self.Chosen())

    def draw(self) -> None:
        self._begins = [0]
        self.put([])
        self._bring_into_sight()

    def scroll_by(self, rows: int) -> None:
        """Go down by some rows, or up; hits are drawn as they come into sight."""
        wanted = self._top + rows + self.content_size.height
        while (at := len(self._begins) - 1) < len(self.hits) and (
            at <= self.place or self._begins[-1] < wanted
        ):
            self._rows += drawing.entry(self.hits[at], self._found.marks[at], self.room - 1)
            self._begins.append(len(self._rows))
        super().scroll_by(rows)

    def move(self, by: int) -> None:
        """Choose the hit that stands so many further down."""
        self.choose(min(max(0, self.place + by), len(self.hits) - 1))

    def choose(self, place: int) -> None:
        """Choose a hit, and bring it into sight."""
        if self.hits:
            self.place = place
            self._bring_into_sight()
            self.post_message(self.Chosen())

    def _bring_into_sight(self) -> None:
        self.scroll_by(0)
        if self.hits:
            first, behind = self._begins[self.place : self.place + 2]
            self.scroll_by(max(0, behind - self._top - self.content_size.height))
            self.scroll_by(min(0, first - self._top))

    def on_click(self, event: Click) -> None:
        """Choose the hit that was clicked on."""
        row = event.y + self._top
        if self.hits and row < self._begins[-1]:
            self.choose(bisect_right(self._begins, row) - 1)

    def row(self, at: int) -> Text:
        """One with a bar before it where it is of the chosen hit."""
        first, behind = self._begins[self.place : self.place + 2]
        chosen = first <= at < behind - 1
        return Text.assemble(("▌" if chosen else " ", "blue"), super().row(at))


class Preview(Rows):
    """The document around a passage, with a few lines above it in sight."""

    def __init__(self) -> None:
        super().__init__()
        self._draw: Callable[[int], tuple[list[str], int]] | None = None

    def show(self, hit: Hit, marks: Sequence[Highlight], around: Surroundings) -> None:
        """The document around a hit."""
        self.border_title = Content(drawing.place(hit))
        self._draw = partial(drawing.document, hit, marks, around)
        self.draw()

    def draw(self) -> None:
        if self._draw:
            rows, first = self._draw(self.room)
            self.put(rows, max(0, first - _ABOVE))


class Sheet(ModalScreen[None]):
    """A text above everything else, to be scrolled and left.

    Args:
        draw: draws it, so many characters wide.
    """

    BINDINGS: ClassVar[list[Any]] = [
        Binding("escape,q,f1,question_mark,ctrl+e", "dismiss(None)"),
        Binding("ctrl+c", "app.quit"),
        Binding("down,j,ctrl+n", "scroll(1)", priority=True),
        Binding("up,k,ctrl+p", "scroll(-1)", priority=True),
        Binding("pagedown,space", "scroll(20)", priority=True),
        Binding("pageup", "scroll(-20)", priority=True),
    ]

    def __init__(self, title: str, draw: Callable[[int], str]) -> None:
        super().__init__()
        self._heading, self._draw = title, draw

    def compose(self) -> ComposeResult:
        rows = Rows()
        rows.border_title, rows.border_subtitle = Content(self._heading), "Esc back"
        yield rows

    def on_resize(self) -> None:
        """Draw it anew, as wide as there is room now."""
        rows = self.query_one(Rows)
        self.call_after_refresh(lambda: rows.put(self._draw(rows.room).split("\n")))

    def action_scroll(self, rows: int) -> None:
        self.query_one(Rows).scroll_by(rows)
