"""An index is completed in the background, by a process that ends with its parent."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from search import Index
from search.indexing.background import completing


def pending(index: Index) -> int:
    return Index.open(index.path).status().pending


def test_an_index_is_completed_while_the_block_runs(notes: Path, tiny_model: Path) -> None:
    index = Index.build(notes, model=str(tiny_model), lazy="once")
    assert index._searcher.to_complete
    end = time.monotonic() + 60
    with completing([index.path]):
        while pending(index) and time.monotonic() < end:
            time.sleep(0.1)
    assert pending(index) == 0
    assert not Index.open(index.path)._searcher.to_complete


def test_an_index_that_is_lazy_for_good_is_left_so(notes: Path, tiny_model: Path) -> None:
    index = Index.build(notes, model=str(tiny_model), lazy=True)
    assert not index._searcher.to_complete


def test_the_child_ends_when_its_parent_is_gone(notes: Path, tiny_model: Path) -> None:
    index = Index.build(notes, model=str(tiny_model), lazy="once")
    line = [sys.executable, "-m", "search.indexing.background", str(index.path)]
    with subprocess.Popen(line, stdin=subprocess.PIPE) as child:
        assert child.stdin
        child.stdin.close()  # as the system does when the parent ends
        assert child.wait(30) == 0
