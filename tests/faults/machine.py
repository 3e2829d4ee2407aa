"""Harness 3: any sequence of edits, runs, kills and damage, against a dictionary.

The model of an index is a dictionary from names to the bytes that were indexed; what an index must hold and
answer follows from it by `oracle`. Which files a run takes is decided here once more, in a few plain lines,
because the model must not ask the code that it judges.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, ClassVar
from unittest import mock

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    precondition,
    rule,
    run_state_machine_as_test,
)

from search import InputError, ReadError, SearchError
from search.corpus import load
from search.corpus.files import Reason
from search.store.settings import Source
from tests.faults import oracle, steps
from tests.faults.contents import WORDS
from tests.faults.defects import defect
from tests.faults.edits import Edits, pick_one
from tests.faults.outcome import Outcome


class Machine(Edits):
    """A folder, its index, and what is known of both.

    Attributes:
        held: what the index holds; None before the first run.
        unsure: after a run that was stopped, the versions that the index may hold of each file.
        harmed: which kinds of files, ".faiss" or ".words", were damaged since the last run.
    """

    planted: ClassVar[str] = ""

    def __init__(self) -> None:
        super().__init__()
        self.index = self.place / "index"
        self.held: dict[str, bytes] | None = None
        self.unsure: dict[str, list[bytes | None]] = {}
        self.harmed: set[str] = set()
        self.reader: Any = None

    # Indexing

    def _wanted(self) -> dict[str, bytes]:
        return {name: raw for name, raw in self.files.items() if self._is_wanted(name)}

    def _is_wanted(self, name: str) -> bool:
        base = name.rpartition("/")[2]
        for pattern in self.ignored.split():
            if fnmatch(base, pattern) or (pattern.endswith("/") and name.startswith(pattern)):
                return False
        if not self.include:
            return True
        return any(fnmatch(base, p) or (p == "deep/**" and name.startswith("deep/")) for p in self.include)

    def _after_a_run(self) -> dict[str, bytes]:
        """What the index holds once a run has come to its end: what cannot be read stays as it was."""
        held, wanted = self.held or {}, self._wanted()
        readable = {name: raw for name, raw in wanted.items() if name not in self.unreadable}
        return readable | {name: held[name] for name in wanted.keys() & self.unreadable & held.keys()}

    def _index(self, **options: Any) -> Any:
        def denied(file: Any, *args: Any, **more: Any) -> Any:
            if file.path in self.unreadable:
                raise ReadError(file.path, Reason.PERMISSION_DENIED)
            return load(file, *args, **more)

        source = Source(include=self.include)
        with defect(self.planted), mock.patch("search.indexing.batches.load", denied):
            return oracle.run(self.folder, self.index, source=source, **options)

    def _run(self, rebuild: bool = False, verify: bool = False) -> None:
        self._count("runs")
        if rebuild and self.unreadable & self._wanted().keys():
            return  # what it cannot read, a rebuild cannot have
        gone_or_held = self.held if not rebuild else None
        after = self._after_a_run()
        has_text = any(oracle.expected(name, raw) for name, raw in after.items())
        if self.unsure and self.unreadable:
            return  # which version an unreadable file has after a run that was stopped is not known here
        try:
            report = self._index(rebuild=rebuild, verify=verify)
        except InputError:
            assert not has_text, "a run refuses a folder that has text"
            if self._wanted():  # what is gone was forgotten, though nothing is left
                self.unsure = {name: [raw, None] for name, raw in (gone_or_held or {}).items()} or self.unsure
            return
        assert has_text, "a run accepts a folder that has no text"
        if not self.changed and not self.unsure and not rebuild:
            assert report.nothing_changed, f"nothing changed, but the run says {report}"
            assert report.encoded == 0
        self.held, self.unsure, self.changed, self.harmed = after, {}, bool(self.unreadable), set()
        self.agrees()
        assert not oracle.leftovers(self.index)
        self._ask("time of the river", 5)

    @rule()
    def run(self) -> None:
        self._run()

    @rule()
    def edit_and_run(self) -> None:
        """Runs are what can go wrong, so there are to be many."""
        self._run()

    @precondition(lambda self: self.files and not self.unreadable and not self.unsure)
    @rule(pick=pick_one, word=st.sampled_from(WORDS))
    def edit_unseen_and_verify(self, pick: int, word: str) -> None:
        """Another word of the same size, and the old time stamp: only a run that reads everything sees it."""
        name = self._one(pick)
        if not self._is_wanted(name):
            return
        before = (self.folder / name).stat()
        self.change_one_word(pick, word)
        if len(self.files[name]) == before.st_size:
            os.utime(self.folder / name, ns=(before.st_mtime_ns, before.st_mtime_ns))
        self._run(verify=True)

    @rule()
    def rebuild(self) -> None:
        self._run(rebuild=True)

    @precondition(lambda self: not self.unreadable)
    @rule(at=st.integers(1, 60), statements=st.booleans(), rebuild=st.booleans())
    def killed_run(self, at: int, statements: bool, rebuild: bool) -> None:
        """A run that is dead from a step on: nothing after it is done, not even tidying up."""
        self._count("runs")
        counted = steps.Steps(self.index, steps.dead_from(at), statements=statements)
        before = self.held
        try:
            with counted.patched():
                self._index(rebuild=rebuild)
        except steps.Dead:
            pass
        except InputError:
            if not before:
                return
        known = self.unsure or {name: [raw] for name, raw in (before or {}).items()}
        wanted = self._wanted()
        for name in known.keys() | wanted.keys():
            known.setdefault(name, [None]).append(wanted.get(name))
        self.held, self.unsure, self.changed, self.reader = before or {}, known, True, None
        self.agrees()

    # Looking

    def agrees(self) -> None:
        """The index holds what the model says, and nothing about it is wrong."""
        self._count("full comparisons")
        if self.held is None:
            return
        if self.unsure:
            self._agrees_file_by_file()
            return
        wrong = oracle.different(self.index, self.held) + oracle.problems(self.index, harmed=self.harmed)
        assert not wrong, "; ".join(wrong)

    def _agrees_file_by_file(self) -> None:
        with contextlib.suppress(SearchError):
            oracle.opened(self.index).query("time")
        if not (self.index / "index.db").exists():
            return
        try:
            have = oracle.stored(self.index)
        except Exception as error:  # killed before there were tables
            assert "no such table" in str(error)
            return
        assert not have.keys() - self.unsure.keys(), "a phantom"
        for name, versions in self.unsure.items():
            for record, rows in have.get(name, {}).items():
                may = [oracle.expected(name, raw).get(record) for raw in versions if raw is not None]
                assert rows in may, f"'{name}' is none of the {len(may)} versions that it may be"

    @precondition(lambda self: self.held is not None)
    @rule()
    def look(self) -> None:
        self.agrees()

    @precondition(lambda self: self.held and not self.unsure)
    @rule(words=st.lists(st.sampled_from(WORDS), min_size=1, max_size=6), k=st.sampled_from((1, 2, 5, 1000)))
    def query(self, words: list[str], k: int) -> None:
        """Also while the folder has changed since the run, and by a reader that was open before it."""
        self._ask(" ".join(words), k)

    def _ask(self, words: str, k: int) -> None:
        self._count("queries")
        with defect(self.planted):
            if self.reader is None:
                self.reader = oracle.opened(self.index)
            wrong = oracle.wrong_answer(self.reader, self.index, words, k, oracle.mode_of(self.harmed))
        assert not wrong, wrong

    @rule()
    def reopen(self) -> None:
        self._count("full comparisons")
        self.reader = None

    # Harm from outside

    def _files_of_segments(self) -> list[Path]:
        return sorted(self.index.glob("ann/*.*"))

    @precondition(lambda self: self._files_of_segments())
    @rule(pick=pick_one, how=st.sampled_from(("delete", "truncate", "append", "empty")))
    def damage_a_file(self, pick: int, how: str) -> None:
        """So that its size is another, by which a run sees it, and mends it."""
        self._count("damages")
        files = self._files_of_segments()
        file = files[pick % len(files)]
        data = file.read_bytes()
        file.unlink()  # a reader may have it mapped into memory
        if how != "delete":
            changed = {"truncate": data[: len(data) // 2], "empty": b"", "append": data + b"more"}
            file.write_bytes(changed[how])
        self.harmed.add(file.suffix)
        self.reader = None

    @precondition(lambda self: self.index.exists())
    @rule()
    def leave_rubbish(self) -> None:
        """What a killed run may leave; the next run tidies up."""
        self._count("damages")
        (self.index / "tmp").mkdir(exist_ok=True)
        for kind in ("faiss", "words"):
            (self.index / "tmp" / f"g7-0123456789abcdef.{kind}").write_bytes(b"half")
        (self.index / "writer.json").write_text("{", encoding="utf-8")
        (self.index / "ann").mkdir(exist_ok=True)
        for kind in ("faiss", "words"):
            (self.index / "ann" / f"g900-0123456789abcdef.{kind}").write_bytes(b"nobody's")


def random_walks(
    *, seed: int | None, walks: int, length: int, shrink: bool = False, name: str = ""
) -> Outcome:
    """Take `walks` random walks of up to `length` steps each.

    Args:
        seed: None makes Hypothesis take the same walks every time.
        shrink: look for the shortest walk that fails, which takes minutes.
        name: of a defect to plant.
    """
    outcome = Outcome("state machine", seed or 0)
    Machine.planted = name
    Edits.steps_done.clear()
    chosen = settings(
        max_examples=walks,
        stateful_step_count=length,
        derandomize=seed is None,
        deadline=None,
        database=None,
        phases=[Phase.generate, Phase.shrink] if shrink else [Phase.generate],
        suppress_health_check=list(HealthCheck),
        print_blob=False,
        report_multiple_bugs=False,
    )
    go: Callable[[], None] = lambda: run_state_machine_as_test(_seeded(seed), settings=chosen)  # noqa: E731
    try:
        go()
    except Exception as error:
        walk = "\n".join(getattr(error, "__notes__", []))
        outcome.failures.append(f"{type(error).__name__}: {error}\n{walk}")
    finally:
        Machine.planted = ""
    outcome.runs = Edits.steps_done.pop("steps", 0)
    outcome.figures |= dict(sorted(Edits.steps_done.items()))
    outcome.figures["mismatches"] = len(outcome.failures)
    return outcome


def _seeded(seed: int | None) -> Callable[[], Machine]:
    if seed is None:
        return Machine
    from hypothesis import seed as with_seed

    return with_seed(seed)(type("Machine", (Machine,), {}))
