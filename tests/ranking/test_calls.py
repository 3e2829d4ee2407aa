"""Amount of code that a query passes through, in a process that has asked before."""

import os
import sys
from pathlib import Path
from types import FrameType

import search

ROOT = Path(search.__file__).parent
FUNCTIONS, FILES, DEPTH = 107, 22, 11  # a query stays a walk that can be read in one sitting


def test_a_warm_query_calls_few_functions_in_few_files(notes: Path, tiny_model: Path) -> None:
    for file in notes.rglob("*.*"):  # of one that has just changed the content is compared
        os.utime(file, (1e9, 1e9))
    index = search.Index.build(notes, model=str(tiny_model))
    index.query("open the water door")
    functions, deepest = set(), 0

    def note(frame: FrameType | None, event: str, _: object) -> None:
        nonlocal deepest
        depth = 0
        if (
            event == "call"
            and frame
            and not frame.f_code.co_name.endswith("comp>")
            and ROOT in Path(frame.f_code.co_filename).parents
        ):
            functions.add((frame.f_code.co_filename, frame.f_code.co_firstlineno, frame.f_code.co_name))
            while frame:
                depth += ROOT in Path(frame.f_code.co_filename).parents
                frame = frame.f_back
            deepest = max(deepest, depth)

    sys.setprofile(note)
    try:
        hits = index.query("open the water door")
    finally:
        sys.setprofile(None)
    assert hits
    assert len(functions) <= FUNCTIONS
    assert len({file for file, _, _ in functions}) <= FILES
    assert deepest <= DEPTH
