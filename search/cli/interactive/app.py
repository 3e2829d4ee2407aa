"""The app: what keys do, and the threads that ask the index."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from rich.text import Text
from textual import on
from textual.app import App, ComposeResult, SuspendNotSupported
from textual.binding import Binding
from textual.containers import Container
from textual.content import Content
from textual.screen import Screen
from textual.timer import Timer
from textual.widgets import Input, Static

from search.cli.hits import open_hit
from search.cli.interactive import drawing
from search.cli.interactive.asking import Asked, Asking
from search.cli.interactive.messages import Explained, Found, Loaded, Read, Replied
from search.cli.interactive.widgets import OWN_COLOURS, HitList, Preview, Sheet
from search.cli.options import index_of
from search.errors import SearchError
from search.records.hits import Hit, Surroundings
from search.records.options import Mode
from search.render.format import counted, escape, one_line
from search.render.hits import VERDICT_STYLES, verdict_line
from search.several import Indexes, name_of

if TYPE_CHECKING:
    from search.index import Index
    from search.records.explanations import Highlight

PAUSE = 0.03  # seconds without a key after which meaning is asked for
_AROUND = 40  # lines of the file before and behind the passage in the preview

KEYS = (
    ("Up Down, ctrl+P ctrl+N", "the hit before, the next; typing goes on"),
    ("PgUp PgDn", "scroll the document"),
    ("Enter", "open the hit in $VISUAL or $EDITOR"),
    ("ctrl+E", "why it has its score"),
    ("ctrl+S", "what is similar to it"),
    ("Tab", "rank by meaning and words (hybrid), by meaning (dense), by words (lexical)"),
    ("shift+Tab", "to the list, and back to the text"),
    ("F1", "all keys"),
    ("Esc", "back; in the end leave"),
    ("ctrl+C", "leave"),
    (
        "in the list",
        "also j k the next hit and the one before, e why, s similar, ? all keys, / back to the text",
    ),
)
_BY = {"hybrid": "meaning and words", "dense": "meaning", "lexical": "words"}


class SearchScreen(Screen[None]):
    """What is typed, the hits, the document around one of them, the verdict, and what is going on."""

    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (90, "-wide")]  # noqa: RUF012
    BINDINGS: ClassVar[list[Any]] = [
        Binding("escape", "back", priority=True),
        Binding("ctrl+c", "app.quit", priority=True),
        Binding("enter", "open", priority=True),
        Binding("ctrl+e", "why", priority=True),
        Binding("ctrl+s", "similar", priority=True),
        Binding("tab", "mode", priority=True),
        Binding("shift+tab", "switch", priority=True),
        Binding("f1", "keys", priority=True),
        Binding("pagedown", "scroll(1)", priority=True),
        Binding("pageup", "scroll(-1)", priority=True),
        Binding("down,ctrl+n", "move(1)", priority=True),
        Binding("up,ctrl+p", "move(-1)", priority=True),
    ]

    def __init__(self, index: Index | Indexes, text: str, mode: Mode, options: dict[str, Any]) -> None:
        super().__init__()
        self._index, self._first, self._options = index, text, options
        self._asking = Asking(mode)
        self._answered: Asked | None = None  # what the hits that are shown answer
        self._pause: Timer | None = None
        self._said = ("", "dim")
        self._below: dict[str, str] = {}
        self._without = ""  # that there is no model, and why

    def compose(self) -> ComposeResult:
        yield Input(self._first, placeholder="What are you looking for?", select_on_focus=False)
        with Container(id="panes"):
            yield HitList()
            yield Preview()
        yield Static(id="verdict")
        yield Static(id="status")

    def on_mount(self) -> None:
        indexes = self._index.all if isinstance(self._index, Indexes) else [self._index]
        self.query_one(Input).border_title = Content(one_line(", ".join(map(name_of, indexes))))
        self.run_worker(self._load, thread=True)
        self._show_mode()
        self._say("")

    # What is asked, and what comes back.

    def _load(self) -> None:
        """Load the model and all else that the first query by meaning takes."""
        try:
            self._index.query("a", k=1)
            self.post_message(Loaded())
        except (SearchError, OSError) as error:
            self.post_message(Loaded(str(error)))

    def on_loaded(self, message: Loaded) -> None:
        """Ask by meaning; without a model, by words for good."""
        if message.error:
            self._asking.mode, self._without = "lexical", f"by words alone: {message.error}"
            self._show_mode()
        self._asking.model_is_there()
        self._ask()
        self._say(*self._said)

    @on(Input.Changed)
    def _changed(self, event: Input.Changed) -> None:
        self._asking.type(event.value)
        if not self._asking.text:
            self._show(Found(), None)
            self._say("")
        self._ask()
        if self._pause:
            self._pause.stop()
        self._pause = self.set_timer(PAUSE, partial(self._paused, self._asking.turn))

    def _paused(self, turn: int) -> None:
        self._asking.pause(turn)
        self._ask()

    def _ask(self) -> None:
        for asked in self._asking.due():
            self.run_worker(partial(self._answer, asked), thread=True)

    def _answer(self, asked: Asked) -> None:
        started, found, error = time.perf_counter(), Found(), ""
        try:
            if asked.like is None:
                hits = self._index.query(asked.text, mode=asked.mode, **self._options)
                found = Found(hits, self._index.highlights(asked.text, hits))
            else:
                index = index_of(self._index, asked.like)
                similar = index.similar(asked.like.passage_id, **self._options)
                found = Found([replace(hit, index=asked.like.index) for hit in similar], [()] * len(similar))
        except (SearchError, OSError) as problem:
            error = str(problem)
        seconds = time.perf_counter() - started
        self.post_message(Replied(asked, found, seconds, self._index.notes, error))

    def on_replied(self, reply: Replied) -> None:
        """Show what is not late; ask what has waited."""
        hits = reply.found.hits
        if self._asking.counts(reply.asked, len(hits)):
            self._show(reply.found, reply.asked)
            how = (
                f"by {_BY[reply.asked.mode]}"
                if reply.asked.like is None
                else f"like p{reply.asked.like.passage_id}"
            )
            found = f"{counted(len(hits), 'hit')} {how} in {reply.seconds * 1000:.0f} ms"
            remarks = "; ".join((found, *reply.remarks))
            self._say(reply.error or remarks, "ansi_red" if reply.error else "dim")
        self._ask()

    # What is shown.

    def _show(self, found: Found, asked: Asked | None) -> None:
        """Other hits; the one that was moved to stays chosen, as long as the same is asked for."""
        listed, before = self.query_one(HitList), self._answered
        moved = listed.place and asked and before and asked.turn == before.turn
        self._answered = asked
        listed.show(found, listed.chosen if moved else None)
        self.query_one(Preview).display = bool(found.hits)
        if self._asking.settled:  # until then the line before stands, so that nothing jumps
            verdict = found.hits[0].verdict if found.hits else None
            if verdict:
                self._write("verdict", verdict_line(verdict), f"ansi_{VERDICT_STYLES[verdict.says]}")
            else:
                self._write("verdict", "")

    def _show_mode(self) -> None:
        self.query_one(Input).border_subtitle = Content(f"{self._asking.mode} (Tab)")

    def _say(self, text: str, style: str = "dim") -> None:
        """What is going on, in the last line."""
        self._said = text, style
        waiting = "" if self._asking.ready else "by words alone until the model is loaded"
        said = "; ".join(filter(None, (waiting, self._without, text))) or "F1 lists the keys"
        self._write("status", escape(said), style)

    def _write(self, where: str, text: str, style: str = "") -> None:
        """Put a text below; the screen is laid out anew only if it takes more or fewer rows."""
        before, width = self._below.get(where, ""), max(1, self.size.width - 2)
        rows = {len(Text(one).wrap(self.app.console, width)) for one in (before, text)}
        self._below[where] = text
        self.query_one(f"#{where}", Static).update(Content.styled(text, style), layout=len(rows) > 1)

    @on(HitList.Chosen)
    def _chosen(self) -> None:
        listed, better_soon = self.query_one(HitList), self._asking.ready and not self._asking.settled
        if listed.chosen and not better_soon:
            self.run_worker(partial(self._read, listed.chosen, listed.marks), thread=True)

    def _read(self, hit: Hit, marks: Sequence[Highlight]) -> None:
        try:
            around = self._index.surroundings(hit, lines=_AROUND)
        except SearchError as error:
            around = Surroundings(note=str(error))
        self.post_message(Read(hit, marks, around))

    def on_read(self, read: Read) -> None:
        """Show the document of the hit, if that is still the chosen one."""
        if read.hit is self._hit:
            self.query_one(Preview).show(read.hit, read.marks, read.around)

    @property
    def _hit(self) -> Hit | None:
        return self.query_one(HitList).chosen

    # What keys do.

    def action_move(self, by: int) -> None:
        self.query_one(HitList).move(by)

    def action_scroll(self, pages: int) -> None:
        preview = self.query_one(Preview)
        preview.scroll_by(pages * (preview.content_size.height - 1))

    def action_mode(self) -> None:
        self._asking.next_mode()
        self._show_mode()
        self._ask()

    def action_switch(self) -> None:
        text, found = self.query_one(Input), self.query_one(HitList)
        (found if text.has_focus else text).focus()

    def action_similar(self) -> None:
        if hit := self._hit:
            self._asking.similar(hit)
            self._ask()

    def action_back(self) -> None:
        """From similar passages to what was typed; from the list to the text; then out."""
        text = self.query_one(Input)
        if self._answered and self._answered.like is not None:
            self._asking.choose(self._asking.mode)
            self._ask()
        elif not text.has_focus:
            text.focus()
        else:
            self.app.exit()

    def action_keys(self) -> None:
        self.app.push_screen(Sheet("Keys", lambda width: drawing.keys(KEYS, width=width, colour=True)))

    def action_why(self) -> None:
        if (hit := self._hit) and (asked := self._answered):
            self.run_worker(partial(self._explain, asked, hit), thread=True)

    def _explain(self, asked: Asked, hit: Hit) -> None:
        try:
            if asked.like is None:
                why = self._index.explain(asked.text, hit)
            else:
                why = index_of(self._index, hit).explain_similar(asked.like.passage_id, hit)
            self.post_message(Explained(hit, why))
        except (SearchError, OSError) as error:
            self.post_message(Explained(hit, None, str(error)))

    def on_explained(self, explained: Explained) -> None:
        """Show why; or what is wrong."""
        from search.render.why import explanation

        why = explained.why
        if why is None:
            self._say(explained.error, "ansi_red")
        else:
            draw = partial(explanation, why, explained.hit, colour=True)
            self.app.push_screen(Sheet("Why?", lambda width: draw(width=width)))

    def action_open(self) -> None:
        """Open the hit in the editor, which has the terminal to itself until it is left."""
        listed = self.query_one(HitList)
        if listed.chosen is None:
            return
        try:
            with ExitStack() as stack:
                with suppress(SuspendNotSupported):
                    stack.enter_context(self.app.suspend())
                open_hit(self._index, listed.chosen, listed.marks)
        except (SearchError, OSError) as error:
            self._say(str(error), "ansi_red")
        self.refresh()


class SearchApp(App[None]):
    """The search that stays open.

    Args:
        text: what is typed at first.
        options: keywords of `Index.query` and `Index.similar`.
    """

    TITLE = "seewhy search"
    CSS_PATH = "style.tcss"
    ENABLE_COMMAND_PALETTE = False

    def __init__(
        self, index: Index | Indexes, text: str = "", *, mode: Mode = "hybrid", **options: Any
    ) -> None:
        super().__init__()
        self._screen = SearchScreen(index, text, mode, options)

    def on_mount(self) -> None:
        self.register_theme(OWN_COLOURS)
        self.theme = OWN_COLOURS.name

    def get_default_screen(self) -> Screen[None]:
        return self._screen
