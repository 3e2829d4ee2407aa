"""The search that stays open: what keys do, and what is shown; no terminal is needed."""

from __future__ import annotations

import asyncio
import re
import sys
import threading
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from search import Index
from search.cli.interactive import drawing
from search.cli.interactive.app import KEYS, SearchApp
from search.cli.interactive.widgets import HitList, Preview, Sheet
from search.records.hits import Surroundings
from search.several import Indexes
from tests.conftest import REPOSITORY, Run
from tests.render.test_render import HIT

Steps = Callable[[Pilot[None]], Awaitable[None]]


def opened(folder: Path) -> Index:
    return Index.open(folder, offline=True)


def used(app: SearchApp, steps: Steps, size: tuple[int, int] = (100, 30)) -> None:
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
    raise AssertionError(drawn(pilot))


async def shows(pilot: Pilot[None], *texts: str) -> None:
    await until(pilot, lambda: all(text in drawn(pilot) for text in texts))


def drawn(pilot: Pilot[None]) -> str:
    """What stands on the screen."""
    return "\n".join(strip.text for strip in pilot.app.screen._compositor.render_strips())


async def type_in(pilot: Pilot[None], text: str) -> None:
    await pilot.press(*({" ": "space", "?": "question_mark"}.get(key, key) for key in text))


class Slow:
    """An index whose model takes its time."""

    def __init__(self, index: Index) -> None:
        self._index, self.loaded = index, threading.Event()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._index, name)

    def query(self, text: str, mode: str = "hybrid", **options: Any) -> Any:
        if mode != "lexical":
            assert self.loaded.wait(10)
        return self._index.query(text, mode=mode, **options)


def test_hits_come_as_one_types(indexed: Path) -> None:
    async def steps(pilot: Pilot[None]) -> None:
        await type_in(pilot, "rotate the key?")
        await shows(pilot, "by meaning and words", "keys.md:1-5")
        assert pilot.app.query_one(Input).value == "rotate the key?"
        first = pilot.app.query_one(HitList).hits[0]
        assert (first.document, first.mode) == ("keys.md", "hybrid")
        await shows(pilot, "│   5  To rotate the key, open the door")  # in the preview

    used(SearchApp(opened(indexed)), steps)


def test_words_alone_count_until_the_model_is_there(indexed: Path) -> None:
    slow = Slow(opened(indexed))

    async def steps(pilot: Pilot[None]) -> None:
        await type_in(pilot, "water")
        await shows(pilot, "by words alone until the model is loaded", "1 hit by words in", "keys.md")
        slow.loaded.set()
        await shows(pilot, "by meaning and words")
        assert "until the model is loaded" not in drawn(pilot)

    used(SearchApp(slow), steps)  # type: ignore[arg-type]


def test_keys_move_and_letters_are_typed(indexed: Path) -> None:
    async def steps(pilot: Pilot[None]) -> None:
        hits, text = pilot.app.query_one(HitList), pilot.app.query_one(Input)
        await shows(pilot, "by meaning and words")
        await pilot.press("down")
        assert hits.place == 1
        await pilot.press("ctrl+n", "up", "ctrl+p")
        assert hits.place == 0
        await pilot.press("e")
        assert text.value == "the keye"
        await pilot.press("backspace", "shift+tab", "j")
        assert (hits.has_focus, hits.place, text.value) == (True, 1, "the key")
        await shows(pilot, f"─ {hits.hits[1].document}:")
        await pilot.press("slash")
        assert text.has_focus

    used(SearchApp(opened(indexed), "the key"), steps)


def test_why_is_what_explain_prints(indexed: Path, run: Run) -> None:
    printed = run("explain", "the key", "2")[1].splitlines()

    async def steps(pilot: Pilot[None]) -> None:
        await shows(pilot, "by meaning and words")
        await pilot.press("down", "ctrl+e")
        await shows(pilot, *printed[:3], printed[4])
        assert isinstance(pilot.app.screen, Sheet)
        await pilot.press("escape", "shift+tab", "e")
        await shows(pilot, printed[4])
        await pilot.press("escape")
        assert not isinstance(pilot.app.screen, Sheet)

    used(SearchApp(opened(indexed), "the key"), steps, (160, 40))


def test_enter_opens_the_editor_where_the_words_stand(indexed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[list[str]] = []
    monkeypatch.setenv("VISUAL", "vim")
    monkeypatch.setattr("search.cli.editor.subprocess.run", lambda argv, check: called.append(argv))

    async def steps(pilot: Pilot[None]) -> None:
        await shows(pilot, "by meaning and words")
        await pilot.press("enter")
        assert called == [["vim", "+5", str(indexed / "keys.md")]]
        monkeypatch.setenv("VISUAL", "'")
        await pilot.press("enter")
        await shows(pilot, "$VISUAL is no command")

    used(SearchApp(opened(indexed), "rotate the key"), steps)


def test_several_indexes_are_one(indexed: Path, tiny_model: Path, tmp_path: Path, run: Run) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "water.md").write_text(
        "The water is cold, and the key is in the water.\n", encoding="utf-8"
    )
    run("index", tmp_path / "other", "--model", tiny_model)
    both = Indexes.open([indexed, tmp_path / "other"], offline=True)

    async def steps(pilot: Pilot[None]) -> None:
        hits = pilot.app.query_one(HitList)
        await shows(pilot, "by meaning and words", "─ notes, other ─", "water.md:1")
        hits.choose([hit.document for hit in hits.hits].index("water.md"))
        await pilot.press("ctrl+e")
        await shows(pilot, "Esc back")
        await pilot.press("escape", "up", "ctrl+s")
        await shows(pilot, "like p")

    used(SearchApp(both, "the key in the water"), steps)


def test_similar_passages_and_the_way_back(indexed: Path) -> None:
    async def steps(pilot: Pilot[None]) -> None:
        hits = pilot.app.query_one(HitList)
        await shows(pilot, "by meaning and words")
        first = hits.hits[0]
        await pilot.press("ctrl+s")
        await shows(pilot, "like")
        assert first.passage_id not in [hit.passage_id for hit in hits.hits]
        await pilot.press("ctrl+e")
        await until(pilot, lambda: isinstance(pilot.app.screen, Sheet))
        await pilot.press("escape", "escape")
        await shows(pilot, "by meaning and words")
        assert hits.hits[0] == first
        await pilot.press("escape")
        await until(pilot, lambda: not pilot.app.is_running)

    used(SearchApp(opened(indexed), "the key"), steps)


def test_modes_take_turns(indexed: Path) -> None:
    async def steps(pilot: Pilot[None]) -> None:
        for said, mode in (
            ("by meaning and words", "hybrid"),
            ("by meaning in", "dense"),
            ("by words", "lexical"),
        ):
            await shows(pilot, said, f"{mode} (Tab)")
            await pilot.press("tab")
        await shows(pilot, "hybrid (Tab)")

    used(SearchApp(opened(indexed), "the key"), steps)


def test_what_is_wrong_stands_in_the_last_line(indexed: Path) -> None:
    async def steps(pilot: Pilot[None]) -> None:
        await shows(pilot, "no document has a field 'colour'")

    used(SearchApp(opened(indexed), "the key", where="colour=red"), steps, (160, 30))


def test_without_a_model_words_are_left(indexed: Path, tiny_model: Path) -> None:
    class Without(Slow):
        def query(self, text: str, mode: str = "hybrid", **options: Any) -> Any:
            from search.errors import ModelError

            if mode != "lexical":
                raise ModelError("there is no model 'x'")
            return self._index.query(text, mode=mode, **options)

    async def steps(pilot: Pilot[None]) -> None:
        await shows(pilot, "there is no model 'x'", "lexical (Tab)", "keys.md")
        await pilot.press("s")
        await shows(pilot, "by words in")

    used(SearchApp(Without(opened(indexed)), "key"), steps)  # type: ignore[arg-type]


def test_an_index_that_is_updated_is_seen_at_the_next_key(indexed: Path, run: Run) -> None:
    async def steps(pilot: Pilot[None]) -> None:
        await shows(pilot, "by meaning and words")
        (indexed / "new.md").write_text("# Cold water\n\nThe water is cold.\n", encoding="utf-8")
        assert run("index", indexed)[0] == 0
        await type_in(pilot, "d")
        await shows(pilot, "new.md:1-3")

    used(SearchApp(opened(indexed), "col"), steps)


def test_what_files_say_is_no_markup_and_no_command(notes: Path, tiny_model: Path, run: Run) -> None:
    text = (
        "# [bold red]Key[/]\n\nThe key [@click=app.quit]opens[/].\n\n[/nothing] \x1b[31mthe \u202edoor $x.\n"
    )
    (notes / "odd [b].md").write_text(text, encoding="utf-8")
    run("index", notes, "--model", tiny_model)

    async def steps(pilot: Pilot[None]) -> None:
        await shows(pilot, "by words", "[bold red]Key[/]", "odd [b].md")
        await shows(pilot, "\\x1b[31mthe \\u202edoor $x.", "[/nothing]")
        assert "\x1b" not in drawn(pilot)
        assert "\u202e" not in drawn(pilot)

    used(SearchApp(opened(notes), "nothing", mode="lexical"), steps, (140, 30))


def test_lines_of_megabytes_around_a_passage_are_cut() -> None:
    long = "x " * 500_000
    around = Surroundings(((1, long),), ((13, long),), start=f"{long}begins here")
    rows, before = drawing.document(replace(HIT, line_start=12), (), around, 50)
    assert before < len(rows) < 200
    assert "begins here" in rows[before - 1]


def test_a_narrow_terminal_has_the_preview_below(indexed: Path) -> None:
    async def steps(pilot: Pilot[None]) -> None:
        await shows(pilot, "by meaning and words")
        hits, preview = pilot.app.query_one(HitList), pilot.app.query_one(Preview)
        assert preview.region.x >= hits.region.right
        await pilot.resize_terminal(60, 30)
        await until(pilot, lambda: preview.region.y >= hits.region.bottom)
        assert preview.region.width == hits.region.width == 60
        await shows(pilot, "keys.md")

    used(SearchApp(opened(indexed), "the key"), steps)


def test_all_keys_are_listed(indexed: Path) -> None:
    async def steps(pilot: Pilot[None]) -> None:
        await pilot.press("f1")
        await shows(pilot, *(key for key, _ in KEYS))
        await pilot.press("escape", "question_mark")
        await shows(pilot, "│ ?")
        await pilot.press("ctrl+c")
        await until(pilot, lambda: not pilot.app.is_running)

    used(SearchApp(opened(indexed)), steps)


def test_the_handbook_lists_the_same_keys() -> None:
    page = (REPOSITORY / "corpora" / "handbook" / "43-seewhy-search.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| (?!key |-)([^|]+) \|", page, re.MULTILINE) == [key for key, _ in KEYS[:-1]]


def test_it_needs_a_terminal(run: Run, indexed: Path) -> None:
    code, out, err = run("search", "key")
    assert (code, out) == (1, "")
    assert "needs a terminal" in err
    assert "seewhy query TEXT" in err


@pytest.fixture
def _in_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("search.cli.interactive.command._require_terminal", lambda: None)


@pytest.mark.usefixtures("_in_a_terminal")
def test_it_says_how_to_install_what_it_needs(
    run: Run, indexed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "textual", None)
    assert "pip install 'seewhy[tui]'" in run("search", "key")[2]


@pytest.mark.usefixtures("_in_a_terminal")
def test_it_begins_with_the_words_of_the_command(
    run: Run, indexed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[SearchApp] = []
    monkeypatch.setattr(SearchApp, "run", lambda app: begun.append(app))
    assert run("search", "open", "the", "door", "-m", "lexical", "-k", "1", "--where", "path:keys.md")[0] == 0

    async def steps(pilot: Pilot[None]) -> None:
        await shows(pilot, "open the door", "lexical (Tab)", "1 hit by words in", "keys.md")

    used(begun[0], steps)
