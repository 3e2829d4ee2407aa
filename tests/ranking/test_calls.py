"""Amount of code that a query, an explanation and an indexing run pass through, in a process that has done it before.

Each stays a walk that can be read in one sitting.
"""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import NamedTuple

import pytest

import search

ROOT = Path(search.__file__).parent


class Walk(NamedTuple):
    """Numbers of functions (comprehensions excepted) and of files, and the depth of their calls."""

    functions: int
    files: int
    depth: int


def walk(work: Callable[[], object]) -> Walk:
    """Count what runs in this package while `work` runs in this thread."""
    called: set[tuple[str, int, str]] = set()
    depths = [0]

    def note(frame: FrameType | None, event: str, _: object) -> None:
        if event != "call" or frame is None or not is_ours(frame):
            return
        code = frame.f_code
        if not code.co_name.endswith("comp>"):
            called.add((code.co_filename, code.co_firstlineno, code.co_name))
            depth = 0
            while frame:
                depth += is_ours(frame)
                frame = frame.f_back
            depths.append(depth)

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return Walk(len(called), len({file for file, _, _ in called}), max(depths))


def is_ours(frame: FrameType) -> bool:
    return ROOT in Path(frame.f_code.co_filename).parents


@pytest.fixture
def index(notes: Path, tiny_model: Path) -> search.Index:
    for file in notes.rglob("*.*"):  # the content of a file that has just changed is compared
        os.utime(file, (1e9, 1e9))
    return search.Index.build(notes, model=str(tiny_model))


def assert_within(walked: Walk, limit: Walk) -> None:
    assert all(count <= most for count, most in zip(walked, limit, strict=True)), f"{walked}, {limit}"


def test_a_query_is_a_short_walk(index: search.Index) -> None:
    for _ in range(2):  # the first uses of an index return the memory of its files
        index.query("open the water door")
    assert_within(walk(lambda: index.query("open the water door")), Walk(123, 23, 13))


def test_why_not_is_a_short_walk(index: search.Index, notes: Path) -> None:
    query, document = "open the water door", notes / "keys.md"
    index.why_not(query, document, k=1)
    assert_within(walk(lambda: index.why_not(query, document, k=1)), Walk(183, 30, 15))


def test_indexing_a_file_is_a_walk_of_an_hour(
    index: search.Index, tmp_path: Path, tiny_model: Path
) -> None:
    folder = tmp_path / "one"
    folder.mkdir()
    (folder / "door.md").write_text("# Door\n\nThe key opens the door.\n", encoding="utf-8")
    walked = walk(lambda: search.Index.build(folder, model=str(tiny_model)))
    assert_within(walked, Walk(424, 60, 22))
