"""The interactive search: its keys and its screen; no terminal is needed."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from textual.containers import VerticalScroll
from textual.pilot import Pilot
from textual.widgets import Input, OptionList

from search import Index
from search.cli.interactive import ExplanationScreen, SearchApp, SearchScreen, document
from search.errors import ModelError
from search.indexes import Indexes
from search.records.hits import Surroundings
from tests.conftest import Run
from tests.render.test_render import HIT

Steps = Callable[[Pilot[None]], Awaitable[None]]


def open_index(folder: Path) -> Index:
    return Index.open(folder, offline=True)


def use(app: SearchApp, steps: Steps, size: tuple[int, int] = (100, 30)) -> None:
    """Run the app, without a terminal, and do something with it."""

    async def session() -> None:
        async with app.run_test(size=size) as pilot:
            await steps(pilot)

    asyncio.run(session())


async def until(pilot: Pilot[None], holds: Callable[[], bool]) -> None:
    for _ in range(500):
        if holds():
            await pilot.pause()
            return
        await pilot.pause(0.01)
    raise AssertionError(screen_text(pilot))


async def shows(pilot: Pilot[None], *texts: str) -> None:
    await until(pilot, lambda: all(text in screen_text(pilot) for text in texts))


def screen_text(pilot: Pilot[None]) -> str:
    """Text of the screen."""
    return "\n".join(strip.text for strip in pilot.app.screen._compositor.render_strips())


def screen(pilot: Pilot[None]) -> SearchScreen:
    assert isinstance(pilot.app.screen, SearchScreen)
    return pilot.app.screen


class Slow:
    """An index whose model takes its time, or cannot be loaded."""

    def __init__(self, index: Index, error: str = "") -> None:
        self._index, self._error, self.loaded = index, error, threading.Event()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._index, name)

    def query(self, text: str, mode: str = "hybrid", **options: Any) -> Any:
        if mode != "lexical":
            if self._error:
                raise ModelError(self._error)
            assert self.loaded.wait(10)
        return self._index.query(text, mode=mode, **options)


def test_hits_follow_the_query_while_it_is_typed(indexed: Path, run: Run) -> None:
    async def steps(pilot: Pilot[None]) -> None:
        await pilot.press(*"rotate", "space", *"the", "space", *"key", "question_mark")
        await shows(pilot, "by meaning and keywords", "keys.md:1-5")
        assert pilot.app.query_one(Input).value == "rotate the key?"
        first = screen(pilot).hits[0]
        assert (first.document, first.mode) == ("keys.md", "hybrid")
        await shows(pilot, "│    5  To rotate the key, open the door")  # in the preview
        (indexed / "new.md").write_text("# Cold water\n\nThe water is cold.\n", encoding="utf-8")
        assert run("index", indexed)[0] == 0
        await pilot.press(*["backspace"] * 15, *"cold")
        await shows(pilot, "new.md:1-3")

    use(SearchApp(open_index(indexed)), steps)


def test_keywords_alone_rank_until_the_model_is_loaded(indexed: Path) -> None:
    slow = Slow(open_index(indexed))

    async def steps(pilot: Pilot[None]) -> None:
        await pilot.press(*"water")
        await shows(pilot, "keywords only until the model is loaded", "1 hit by keywords in", "keys.md")
        slow.loaded.set()
        await shows(pilot, "by meaning and keywords")
        assert "until the model is loaded" not in screen_text(pilot)

    use(SearchApp(slow), steps)  # type: ignore[arg-type]


def test_without_a_model_keywords_alone_rank(indexed: Path) -> None:
    async def steps(pilot: Pilot[None]) -> None:
        await shows(pilot, "there is no model 'x'", "lexical (Tab)", "keys.md", "by keywords in")

    use(SearchApp(Slow(open_index(indexed), "there is no model 'x'"), "key"), steps)  # type: ignore[arg-type]


def test_the_explanation_is_what_explain_prints(indexed: Path, run: Run) -> None:
    lines = run("explain", "the key", "2")[1].splitlines()

    async def steps(pilot: Pilot[None]) -> None:
        await shows(pilot, "by meaning and keywords")
        await pilot.press("down", "ctrl+n", "up", "ctrl+e")
        await shows(pilot, *lines[:3], lines[4])
        assert isinstance(pilot.app.screen, ExplanationScreen)
        await pilot.press("escape")
        assert not isinstance(pilot.app.screen, ExplanationScreen)

    use(SearchApp(open_index(indexed), "the key"), steps, (160, 40))


def test_enter_opens_the_editor_at_the_line_of_the_words(
    indexed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    argvs: list[list[str]] = []
    monkeypatch.setenv("VISUAL", "vim")
    monkeypatch.setattr("search.cli.editor.subprocess.run", lambda argv, check: argvs.append(argv))

    async def steps(pilot: Pilot[None]) -> None:
        await shows(pilot, "by meaning and keywords")
        await pilot.press("enter")
        assert argvs == [["vim", "+5", str(indexed / "keys.md")]]
        monkeypatch.setenv("VISUAL", "'")
        await pilot.press("enter")
        await shows(pilot, "$VISUAL is not a valid command")

    use(SearchApp(open_index(indexed), "rotate the key"), steps)


def test_several_indexes_are_searched_as_one(
    indexed: Path, tiny_model: Path, tmp_path: Path, run: Run
) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "water.md").write_text(
        "The water is cold, and the key is in the water.\n", encoding="utf-8"
    )
    run("index", tmp_path / "other", "--model", tiny_model)
    both = Indexes.open([indexed, tmp_path / "other"], offline=True)

    async def steps(pilot: Pilot[None]) -> None:
        await shows(pilot, "by meaning and keywords", "─ notes, other ─", "water.md:1")
        place = [hit.document for hit in screen(pilot).hits].index("water.md")
        pilot.app.query_one(OptionList).highlighted = place
        await pilot.press("ctrl+e")
        await until(pilot, lambda: isinstance(pilot.app.screen, ExplanationScreen))

    use(SearchApp(both, "the key in the water"), steps)


def test_escape_ends_the_search(indexed: Path) -> None:
    async def steps(pilot: Pilot[None]) -> None:
        await shows(pilot, "by meaning and keywords")
        await pilot.press("escape")
        await until(pilot, lambda: not pilot.app.is_running)

    use(SearchApp(open_index(indexed), "the key"), steps)


def test_tab_goes_through_the_modes(indexed: Path) -> None:
    async def steps(pilot: Pilot[None]) -> None:
        for status, mode in (
            ("by meaning and keywords", "hybrid"),
            ("by meaning in", "dense"),
            ("by keywords", "lexical"),
        ):
            await shows(pilot, status, f"{mode} (Tab)")
            await pilot.press("tab")
        await shows(pilot, "hybrid (Tab)")

    use(SearchApp(open_index(indexed), "the key"), steps)


def test_an_error_is_in_the_last_line(indexed: Path) -> None:
    async def steps(pilot: Pilot[None]) -> None:
        await shows(pilot, "no document has a field 'colour'")

    use(SearchApp(open_index(indexed), "the key", where="colour=red"), steps, (160, 30))


def test_text_of_files_is_neither_markup_nor_a_command(notes: Path, tiny_model: Path, run: Run) -> None:
    text = "# [bold red]Key[/]\n\nThe key [@click=app.quit]opens[/].\n\n[/nothing] \x1b]0;the \u202edoor $x.\n"
    (notes / "odd [b].md").write_text(text, encoding="utf-8")
    run("index", notes, "--model", tiny_model)

    async def steps(pilot: Pilot[None]) -> None:
        await shows(pilot, "by keywords", "[bold red]Key[/]", "odd [b].md")
        await shows(pilot, "\\x1b]0;the \\u202edoor $x.", "[/nothing]")
        assert "\x1b" not in screen_text(pilot)
        assert "\u202e" not in screen_text(pilot)

    use(SearchApp(open_index(notes), "nothing", mode="lexical"), steps, (140, 30))


def test_lines_of_megabytes_around_a_passage_are_cut() -> None:
    long = "x " * 500_000
    around = Surroundings(((1, long),), ((13, long),), start=f"{long}begins here")
    rows, before = document(replace(HIT, line_start=12), (), around, 50)
    assert before < len(rows) < 200
    assert "begins here" in rows[before - 1]


def test_a_narrow_terminal_shows_the_document_below_the_hits(indexed: Path) -> None:
    async def steps(pilot: Pilot[None]) -> None:
        await shows(pilot, "by meaning and keywords")
        hits, preview = pilot.app.query_one(OptionList), pilot.app.query_one(VerticalScroll)
        assert preview.region.x >= hits.region.right
        await pilot.resize_terminal(60, 30)
        await until(pilot, lambda: preview.region.y >= hits.region.bottom)
        await shows(pilot, "keys.md")

    use(SearchApp(open_index(indexed), "the key"), steps)


def test_the_interactive_search_needs_a_terminal(run: Run, indexed: Path) -> None:
    code, out, err = run("search", "key")
    assert (code, out) == (1, "")
    assert "needs a terminal" in err
    assert "seewhy query TEXT" in err


def test_the_command_passes_its_options_and_names_the_extra(
    run: Run, indexed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for stream in ("stdin", "stdout", "stderr"):
        monkeypatch.setattr(f"sys.{stream}.isatty", lambda: True)
    apps: list[SearchApp] = []
    monkeypatch.setattr(SearchApp, "run", lambda app: apps.append(app))
    assert (
        run("search", "open", "the", "door", "-m", "lexical", "-k", "1", "--where", "path:keys.md")[0]
        == 0
    )

    async def steps(pilot: Pilot[None]) -> None:
        await shows(pilot, "open the door", "lexical (Tab)", "1 hit by keywords in", "keys.md")

    use(apps[0], steps)
    monkeypatch.setitem(sys.modules, "textual", None)
    assert "pip install 'seewhy[tui]'" in run("search", "key")[2]
