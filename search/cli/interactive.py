"""Interactive search in the terminal: hits as you type, the document of the selected hit, its explanation."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from rich.text import Text
from textual import on
from textual.app import App, ComposeResult, SuspendNotSupported
from textual.binding import Binding
from textual.containers import Container, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.screen import ModalScreen, Screen
from textual.timer import Timer
from textual.widgets import Footer, Input, OptionList, Static

from search.cli.editor import open_hit
from search.errors import SearchError
from search.indexes import Indexes, highlights, name_of
from search.records.hits import Hit, Surroundings
from search.records.options import MODES, Mode
from search.render.format import counted, escape, one_line, verdict_line, where
from search.render.hits import VERDICT_STYLES, draw_passage, one_hit, rows_of
from search.render.terminal import Canvas
from search.store.document_text import surroundings

if TYPE_CHECKING:
    from search.index import Index
    from search.records.explanations import Highlight

PAUSE = 0.05  # seconds without a key before the search by meaning
_AROUND = 40  # lines of the file before and after the passage
_ABOVE = 3  # visible rows of the document above the passage
# Longer lines around a passage are cut: drawing a line of megabytes took seconds.
_LONGEST = 1000
_NARROWEST = 20
_BY = {"hybrid": "meaning and keywords", "dense": "meaning", "lexical": "keywords"}


@dataclass(frozen=True)
class LiveQuery:
    """A search for the text in the input.

    Attributes:
        turn: number of changes of the input so far; results of an earlier turn are not shown.
        text: text in the input.
        last: True if no search with a better ranking will follow for this input.
    """

    turn: int
    text: str
    mode: Mode
    last: bool = True


class Done(Message):
    """Message of a thread to the app: the work is done, and `then` shows its result."""

    def __init__(self, then: Callable[[], None]) -> None:
        super().__init__()
        self.then = then


class SearchScreen(Screen[None]):
    """Main screen: the input, the hits, the document of the selected hit, the verdict and the status line."""

    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (90, "-wide")]  # noqa: RUF012
    BINDINGS: ClassVar[list[Any]] = [
        Binding("enter", "open", "Editor", priority=True),
        Binding("ctrl+e", "why", "Why", priority=True),
        Binding("tab", "mode", "Ranking", priority=True),
        Binding("down,ctrl+n", "move(1)", "Next hit", priority=True),
        Binding("up,ctrl+p", "move(-1)", "Previous hit", priority=True),
        Binding("pagedown", "scroll(1)", "Scroll", priority=True),
        Binding("pageup", "scroll(-1)", show=False, priority=True),
        Binding("escape,ctrl+c", "app.quit", "Quit", priority=True),
    ]

    def __init__(self, index: Index | Indexes, text: str, mode: Mode, options: dict[str, Any]) -> None:
        super().__init__()
        self._index, self._first, self._mode, self._options = index, text, mode, options
        self.hits: Sequence[Hit] = ()
        self._marks: Sequence[Sequence[Highlight]] = ()
        self._query = LiveQuery(0, "", mode)  # the latest
        self._answered = self._query  # the query of the listed hits
        self._pause: Timer | None = None
        self._notes = {"model": "keywords only until the model is loaded", "search": ""}

    def compose(self) -> ComposeResult:
        yield Input(self._first, placeholder="What are you looking for?", select_on_focus=False)
        with Container(id="panes"):
            yield OptionList(markup=False)
            with VerticalScroll(can_focus=False):
                yield Static(id="document")
        yield Static(id="verdict")
        yield Static(id="status")
        yield Footer()

    def on_mount(self) -> None:
        indexes = self._index.all if isinstance(self._index, Indexes) else [self._index]
        self.query_one(Input).border_title = Content(one_line(", ".join(map(name_of, indexes))))
        self.query_one(OptionList).can_focus = False
        self._in_thread("model", self._load)
        self._set_mode(self._mode)

    def on_done(self, message: Done) -> None:
        message.then()

    def _in_thread(self, group: str, work: Callable[[], Callable[[], None]]) -> None:
        """Run `work` in another thread, then call the function that `work` returns in the app's thread."""
        self.run_worker(lambda: self.post_message(Done(work())), thread=True, group=group)

    # Queries and answers.

    def _load(self) -> Callable[[], None]:
        try:
            self._index.query("a", k=1)
        except (SearchError, OSError) as error:
            return partial(self._loaded, str(error))
        return self._loaded

    def _loaded(self, error: str = "") -> None:
        """Switch to the chosen mode, as the model is loaded; or to keywords, if loading failed with `error`."""
        self._notes["model"] = f"keywords only: {error}" if error else ""
        self._say()
        self._set_mode("lexical" if error else self._mode)

    @on(Input.Changed)
    def _ask(self) -> None:
        """Search for the typed text: by keywords at once, by meaning after a pause, as the mode allows.

        Until the model is loaded, every mode searches by keywords only.
        """
        if self._pause:
            self._pause.stop()
        text = self.query_one(Input).value.strip()
        self._query = LiveQuery(self._query.turn + 1, text, self._mode)
        loaded = self._notes["model"] == ""
        if not text:
            self._answer(self._query, (), (), "type to search" if loaded else "")
            return
        if self._mode != "dense" or not loaded:
            self._start(replace(self._query, mode="lexical", last=self._mode == "lexical"))
        if loaded and self._mode != "lexical":
            self._pause = self.set_timer(PAUSE, partial(self._start, self._query))

    def _start(self, query: LiveQuery) -> None:
        self._in_thread("search", partial(self._search, query))

    def _search(self, query: LiveQuery) -> Callable[[], None]:
        if query.turn != self._query.turn:  # other text was typed in the meantime
            return lambda: None
        started = time.perf_counter()
        try:
            hits = self._index.query(query.text, mode=query.mode, **self._options)
            marks = highlights(self._index, query.text, hits)
        except (SearchError, OSError) as error:
            return partial(self._answer, query, (), (), str(error))
        seconds = time.perf_counter() - started
        summary = f"{counted(len(hits), 'hit')} by {_BY[query.mode]} in {seconds * 1000:.0f} ms"
        status = "; ".join((summary, *self._index.notes))
        return partial(self._answer, query, hits, marks, status)

    def _answer(
        self, query: LiveQuery, hits: Sequence[Hit], marks: Sequence[Sequence[Highlight]], status: str
    ) -> None:
        """Show the hits of a search and its status, unless the input has changed since the search began.

        If a keyword search has no hits and a search by meaning will follow, nothing is shown yet.
        """
        late = query.turn != self._query.turn or (self._answered == self._query and not query.last)
        if late or not (hits or query.last):
            return
        moved = self._answered.turn == query.turn and self.query_one(OptionList).highlighted
        chosen = self.chosen if moved else None
        self.hits, self._marks, self._answered = hits, marks, query
        passages = [(hit.index, hit.passage_id) for hit in hits]
        passage = (chosen.index, chosen.passage_id) if chosen else None
        self._draw(passages.index(passage) if passage in passages else 0)
        self._say(status)
        verdict = hits[0].verdict if hits and query.last else None
        style = f"ansi_{VERDICT_STYLES[verdict.says]}" if verdict else ""
        line = verdict_line(hits) if hits and query.last else ""
        self.query_one("#verdict", Static).update(Content.styled(line, style))

    # Display.

    @property
    def chosen(self) -> Hit | None:
        """The selected hit, on which the keys act; None if there are no hits."""
        at = self.query_one(OptionList).highlighted
        return self.hits[at] if at is not None and at < len(self.hits) else None

    def _draw(self, place: int) -> None:
        listed = self.query_one(OptionList)
        width = max(listed.scrollable_content_region.width - 2, _NARROWEST)
        drawn = (
            one_hit(replace(hit, path=hit.document), marks, width=width, colour=True)
            for hit, marks in zip(self.hits, self._marks, strict=True)
        )
        listed.set_options(Text.from_ansi(f"{hit}\n") for hit in drawn)
        listed.highlighted = place if self.hits else None
        self.query_one(VerticalScroll).display = bool(self.hits)

    def on_resize(self) -> None:
        self.call_after_refresh(lambda: self._draw(self.query_one(OptionList).highlighted or 0))

    @on(OptionList.OptionHighlighted)
    def _read(self) -> None:
        """Read the document of the selected hit in another thread, then show it."""
        if (hit := self.chosen) is not None:
            marks = self._marks[self.hits.index(hit)]
            self._in_thread("document", partial(self._around, hit, marks))

    def _around(self, hit: Hit, marks: Sequence[Highlight]) -> Callable[[], None]:
        try:
            around = surroundings(hit, _AROUND)
        except SearchError as error:
            around = Surroundings(note=str(error))
        return partial(self._show_document, hit, marks, around)

    def _show_document(self, hit: Hit, marks: Sequence[Highlight], around: Surroundings) -> None:
        if hit is not self.chosen:
            return
        pane = self.query_one(VerticalScroll)
        pane.border_title = Content(where(replace(hit, path=hit.document)))
        rows, first = document(hit, marks, around, max(pane.scrollable_content_region.width, _NARROWEST))
        self.query_one("#document", Static).update(Text.from_ansi("\n".join(rows)))
        self.call_after_refresh(pane.scroll_to, y=max(0, first - _ABOVE), animate=False)

    def _set_mode(self, mode: Mode) -> None:
        self._mode = mode
        self.query_one(Input).border_subtitle = Content(f"{mode} (Tab)")
        self._ask()

    def _say(self, text: str = "") -> None:
        """Show `text` in the status line, after the note on the model."""
        self._notes["search"] = text
        status = "; ".join(filter(None, self._notes.values()))
        self.query_one("#status", Static).update(Content.styled(escape(status), "dim"))

    # Actions of keys.

    def action_move(self, by: int) -> None:
        listed = self.query_one(OptionList)
        if self.hits:
            listed.highlighted = min(max(0, (listed.highlighted or 0) + by), len(self.hits) - 1)

    def action_scroll(self, pages: int) -> None:
        pane = self.query_one(VerticalScroll)
        pane.scroll_relative(y=pages * (pane.size.height - 1), animate=False)

    def action_mode(self) -> None:
        self._set_mode(MODES[(MODES.index(self._mode) + 1) % len(MODES)])

    def action_why(self) -> None:
        if hit := self.chosen:
            self._in_thread("why", partial(self._explain, self._answered, hit))

    def _explain(self, query: LiveQuery, hit: Hit) -> Callable[[], None]:
        from search.render.why import explanation

        try:
            why = self._index.explain(query.text, hit)
        except (SearchError, OSError) as error:
            return partial(self._say, str(error))
        return lambda: self._show_why(partial(explanation, why, hit, colour=True))

    def _show_why(self, draw: Callable[..., str]) -> None:
        self.app.push_screen(ExplanationScreen(lambda width: draw(width=width)))

    def action_open(self) -> None:
        """Open the selected hit in the editor, which uses the terminal until it exits."""
        if (hit := self.chosen) is None:
            return
        try:
            with ExitStack() as stack:
                with suppress(SuspendNotSupported):
                    stack.enter_context(self.app.suspend())
                open_hit(hit, self._marks[self.hits.index(hit)])
        except (SearchError, OSError) as error:
            self._say(str(error))
        self.refresh()


class ExplanationScreen(ModalScreen[None]):
    """Screen with the explanation of a hit, on top of the search screen.

    Args:
        draw: returns the explanation as text, given the width in characters.
    """

    BINDINGS: ClassVar[list[Any]] = [
        Binding("escape,q,ctrl+e", "dismiss(None)", "Back"),
        Binding("ctrl+c", "app.quit", "Quit"),
    ]

    def __init__(self, draw: Callable[[int], str]) -> None:
        super().__init__()
        self._draw = draw

    def compose(self) -> ComposeResult:
        with VerticalScroll():
            yield Static(id="why")
        yield Footer()

    def on_resize(self) -> None:
        self.call_after_refresh(self._update)

    def _update(self) -> None:
        width = max(self.query_one(VerticalScroll).scrollable_content_region.width, _NARROWEST)
        self.query_one("#why", Static).update(Text.from_ansi(self._draw(width)))


class SearchApp(App[None]):
    """The app for interactive search.

    Args:
        text: initial content of the input.
        options: keywords of `Index.query`.
    """

    TITLE = "seewhy search"
    ENABLE_COMMAND_PALETTE = False
    CSS = """
    Input, VerticalScroll { border: round $border; padding: 0 1; }
    OptionList { width: 1fr; height: 1fr; border: none; }
    VerticalScroll { width: 1fr; height: 1fr; }
    #panes { height: 1fr; layout: horizontal; }
    #verdict, #status { height: auto; padding: 0 1; }
    SearchScreen.-narrow #panes { layout: vertical; }
    """

    def __init__(
        self, index: Index | Indexes, text: str = "", *, mode: Mode = "hybrid", **options: Any
    ) -> None:
        super().__init__()
        self._screen = SearchScreen(index, text, mode, options)

    def on_mount(self) -> None:
        self.theme = "ansi-dark"  # the terminal's own colours

    def get_default_screen(self) -> Screen[None]:
        return self._screen


def document(
    hit: Hit, marks: Sequence[Highlight], around: Surroundings, width: int
) -> tuple[list[str], int]:
    """Draw a passage and the lines of its document before and after it.

    If the document cannot be read, only the passage and the reason are drawn.

    Args:
        width: width in characters.

    Returns:
        The drawn rows, and the number of rows before the passage.
    """
    before, after = (
        tuple((number, text[:_LONGEST]) for number, text in lines)
        for lines in (around.lines_before, around.lines_after)
    )
    start = ((hit.line_start, around.start[-_LONGEST:]),) if around.start else ()
    canvas, beside = Canvas(width, colour=True), Surroundings((*before, *start), after)
    draw_passage(canvas, hit, marks, beside)
    if around.note:
        canvas.gap()
        canvas.line(escape(around.note), style="yellow")
    return canvas.drawn().split("\n"), len(rows_of(canvas, beside.lines_before))
