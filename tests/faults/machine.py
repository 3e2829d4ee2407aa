"""Harness 3: any sequence of edits, runs, kills and damage, against a dictionary.

The model of an index is a dictionary from names to the bytes that were indexed; what an index must hold and
answer follows from it by `oracle`. Which files a run takes is decided here once more, in a few plain lines,
because the model must not ask the code that it judges.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable
from fnmatch import fnmatch
from pathlib import Path
from random import Random
from typing import Any, ClassVar
from unittest import mock

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)

from search import InputError, ReadError, SearchError
from search.corpus import load
from search.corpus.reasons import PERMISSION_DENIED
from search.index.settings import Source
from tests.faults import oracle, steps
from tests.faults.contents import SUFFIXES, WORDS, text_of
from tests.faults.defects import defect
from tests.faults.outcome import Outcome

FOLDERS = ("", "deep/", "deep/er/", "other/")
NAMES = tuple(f"{folder}{stem}{suffix}" for folder in FOLDERS for stem in "ab" for suffix in SUFFIXES)
IGNORED = ("*.txt", "b.md", "deep/", "other/", "*.csv\n*.html")
INCLUDED = ((), (), ("*.md",), ("*.txt", "*.jsonl", "*.csv"), ("deep/**",))

_seeds = st.integers(0, 10**6)
_some_name = st.sampled_from(NAMES)
_pick = st.integers(0, 10**3)


class Machine(RuleBasedStateMachine):
    """A folder, its index, and what is known of both.

    Attributes:
        files: what is on disk; unreadable: names that the system refuses to open.
        held: what the index holds; None before the first run.
        unsure: a run was stopped: of each file the index holds what `held` says or what is on disk since.
    """

    steps_done: ClassVar[Counter[str]] = Counter()
    planted: ClassVar[str] = ""

    def __init__(self) -> None:
        super().__init__()
        self.place = Path(tempfile.mkdtemp(prefix="seewhy-machine-"))
        self.folder, self.index = self.place / "folder", self.place / "index"
        self.folder.mkdir()
        self.files: dict[str, bytes] = {}
        self.unreadable: set[str] = set()
        self.held: dict[str, bytes] | None = None
        self.unsure: dict[str, list[bytes | None]] = {}
        self.ignored = ""
        self.include: tuple[str, ...] = ()
        self.changed = True
        self.harmed = False
        self.reader: Any = None
        self.made = 0

    def teardown(self) -> None:
        shutil.rmtree(self.place, ignore_errors=True)

    # Editing

    def _put(self, name: str, raw: bytes) -> None:
        """Write a file so that its time stamp is surely another, as a person's edits are seconds apart."""
        self._count("edit")
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(raw)
        self.made += 1
        stamp = 1_700_000_000_000_000_000 + self.made * 1_000_000_000
        os.utime(path, ns=(stamp, stamp))
        self.files[name] = raw
        self.changed = True

    def _new_text(self, name: str, seed: int) -> bytes:
        self.made += 1
        return text_of(Random(seed), Path(name).suffix, f"mark{self.made}").encode()

    def _one(self, pick: int) -> str:
        return sorted(self.files)[pick % len(self.files)]

    def _count(self, what: str) -> None:
        Machine.steps_done[what] += 1

    @initialize(seed=_seeds)
    def begin(self, seed: int) -> None:
        for name in NAMES[:4]:
            self._put(name, self._new_text(name, seed))

    @rule(name=_some_name, seed=_seeds)
    def add_or_edit(self, name: str, seed: int) -> None:
        self._put(name, self._new_text(name, seed))

    @precondition(lambda self: self.files)
    @rule(pick=_pick, seed=_seeds)
    def edit(self, pick: int, seed: int) -> None:
        name = self._one(pick)
        self._put(name, self._new_text(name, seed))

    @precondition(lambda self: self.files)
    @rule(pick=_pick, word=st.sampled_from(WORDS))
    def append(self, pick: int, word: str) -> None:
        name = self._one(pick)
        self._put(name, self.files[name] + f"\nmore {word}\n".encode())

    @precondition(lambda self: self.files)
    @rule(pick=_pick, word=st.sampled_from(WORDS))
    def change_one_word(self, pick: int, word: str) -> None:
        """The size may stay the same."""
        name = self._one(pick)
        same_size = (w for w in WORDS if len(w) == len(word) and w != word)
        old = next((w for w in same_size if w.encode() in self.files[name]), word)
        self._put(name, self.files[name].replace(old.encode(), word.encode(), 1))

    @precondition(lambda self: self.files)
    @rule(pick=_pick, share=st.floats(0, 1))
    def truncate(self, pick: int, share: float) -> None:
        name = self._one(pick)
        self._put(name, self.files[name][: int(share * len(self.files[name]))])

    @precondition(lambda self: self.files)
    @rule(pick=_pick)
    def empty(self, pick: int) -> None:
        self._put(self._one(pick), b"")

    @precondition(lambda self: self.files)
    @rule(pick=_pick)
    def make_binary(self, pick: int) -> None:
        self._put(self._one(pick), bytes(range(32)) * 20)

    def _move(self, one: str, two: str) -> None:
        self._count("edit")
        (self.folder / two).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / one).replace(self.folder / two)
        self.files[two] = self.files.pop(one)
        self.unreadable.discard(one)
        self.changed = True

    @precondition(lambda self: self.files)
    @rule(pick=_pick, folder=st.sampled_from(FOLDERS))
    def move(self, pick: int, folder: str) -> None:
        """To another folder, under the same name, perhaps over another file."""
        name = self._one(pick)
        if (target := folder + Path(name).name) != name:
            self._move(name, target)

    @precondition(lambda self: self.files)
    @rule(pick=_pick, name=_some_name)
    def rename(self, pick: int, name: str) -> None:
        """To any name, perhaps of another kind."""
        if (old := self._one(pick)) != name:
            self._move(old, name)

    @precondition(lambda self: len(self.files) > 1)
    @rule(pick=_pick, other=_pick)
    def swap(self, pick: int, other: int) -> None:
        one, two = self._one(pick), self._one(other)
        if one != two:
            free = self.folder / "swapped.tmp"
            (self.folder / one).replace(free)
            (self.folder / two).replace(self.folder / one)
            free.replace(self.folder / two)
            self.files[one], self.files[two] = self.files[two], self.files[one]
            self.changed = True
            self._count("edit")

    @precondition(lambda self: self.files)
    @rule(pick=_pick, name=_some_name)
    def duplicate(self, pick: int, name: str) -> None:
        self._put(name, self.files[self._one(pick)])

    @precondition(lambda self: self.files)
    @rule(pick=_pick)
    def delete(self, pick: int) -> None:
        self._count("edit")
        name = self._one(pick)
        (self.folder / name).unlink()
        del self.files[name]
        self.unreadable.discard(name)
        self.changed = True

    @rule(folder=st.sampled_from(FOLDERS[1:]))
    def delete_folder(self, folder: str) -> None:
        self._count("edit")
        shutil.rmtree(self.folder / folder, ignore_errors=True)
        self.files = {name: raw for name, raw in self.files.items() if not name.startswith(folder)}
        self.unreadable &= self.files.keys()
        self.changed = True

    @precondition(lambda self: self.files)
    @rule(pick=_pick)
    def touch(self, pick: int) -> None:
        name = self._one(pick)
        self._put(name, self.files[name])

    @precondition(lambda self: self.files)
    @rule(pick=_pick)
    def make_unreadable(self, pick: int) -> None:
        """From the next edit on, which changes it, so that it is looked at again."""
        name = self._one(pick)
        self._put(name, self.files[name] + b"\nsecret\n")
        self.unreadable.add(name)

    @rule()
    def make_readable(self) -> None:
        self._count("edit")
        self.changed = self.changed or bool(self.unreadable)
        self.unreadable.clear()

    @rule(patterns=st.sampled_from(IGNORED))
    def add_ignore_file(self, patterns: str) -> None:
        self._count("edit")
        (self.folder / ".gitignore").write_text(patterns, encoding="utf-8")
        self.changed = self.changed or patterns != self.ignored
        self.ignored = patterns

    @rule()
    def remove_ignore_file(self) -> None:
        self._count("edit")
        (self.folder / ".gitignore").unlink(missing_ok=True)
        self.changed = self.changed or bool(self.ignored)
        self.ignored = ""

    @rule(patterns=st.sampled_from(INCLUDED))
    def choose(self, patterns: tuple[str, ...]) -> None:
        self._count("edit")
        self.changed = self.changed or patterns != self.include
        self.include = patterns

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
                raise ReadError(file.path, PERMISSION_DENIED)
            return load(file, *args, **more)

        source = Source(include=self.include)
        with defect(self.planted), mock.patch("search.index.reading.load", denied):
            return oracle.run(self.folder, self.index, source=source, **options)

    def _run(self, rebuild: bool = False) -> None:
        self._count("run")
        if rebuild and self.unreadable & self._wanted().keys():
            return  # what it cannot read, a rebuild cannot have
        gone_or_held = self.held if not rebuild else None
        after = self._after_a_run()
        has_text = any(oracle.expected(name, raw) for name, raw in after.items())
        if self.unsure and self.unreadable:
            return  # which version an unreadable file has after a run that was stopped is not known here
        try:
            report = self._index(rebuild=rebuild)
        except InputError:
            assert not has_text, "a run refuses a folder that has text"
            if self._wanted():  # what is gone was forgotten, though nothing is left
                self.unsure = {name: [raw, None] for name, raw in (gone_or_held or {}).items()} or self.unsure
            return
        assert has_text, "a run accepts a folder that has no text"
        if not self.changed and not self.unsure and not rebuild:
            assert report.nothing_changed, f"nothing changed, but the run says {report}"
            assert report.encoded == 0
        self.held, self.unsure, self.changed, self.harmed = after, {}, bool(self.unreadable), False
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

    @rule()
    def rebuild(self) -> None:
        self._run(rebuild=True)

    @precondition(lambda self: not self.unreadable)
    @rule(at=st.integers(1, 60), statements=st.booleans(), rebuild=st.booleans())
    def killed_run(self, at: int, statements: bool, rebuild: bool) -> None:
        """A run that is dead from a step on: nothing after it is done, not even tidying up."""
        self._count("run")
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
        self._count("look")
        if self.held is None:
            return
        if self.unsure:
            self._agrees_file_by_file()
            return
        wrong = oracle.different(self.index, self.held) + oracle.problems(self.index, notes=not self.harmed)
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
        self._count("query")
        with defect(self.planted):
            if self.reader is None:
                self.reader = oracle.opened(self.index)
            wrong = oracle.wrong_answer(self.reader, self.index, words, k)
        assert not wrong, wrong

    @rule()
    def reopen(self) -> None:
        self._count("look")
        self.reader = None

    # Harm from outside

    def _vector_files(self) -> list[Path]:
        return sorted(self.index.glob("ann/*.faiss"))

    @precondition(lambda self: self._vector_files())
    @rule(how=st.sampled_from(("delete", "truncate", "flip", "empty")))
    def damage_the_faiss_file(self, how: str) -> None:
        self._count("harm")
        (file, *_), data = self._vector_files(), bytearray(self._vector_files()[0].read_bytes())
        if how == "delete":
            file.unlink()
        else:
            if how == "flip" and data:
                data[len(data) // 2] ^= 4
            file.write_bytes({"truncate": data[: len(data) // 2], "empty": b"", "flip": data}[how])
        self.harmed, self.reader = True, None

    @precondition(lambda self: self.index.exists())
    @rule()
    def leave_rubbish(self) -> None:
        """What a killed run may leave; the next run tidies up."""
        self._count("harm")
        (self.index / "tmp").mkdir(exist_ok=True)
        (self.index / "tmp" / "g7.faiss").write_bytes(b"half")
        (self.index / "writer.json").write_text("{", encoding="utf-8")
        (self.index / "ann").mkdir(exist_ok=True)
        (self.index / "ann" / "g900-0123456789abcdef.faiss").write_bytes(b"nobody's")


def random_walks(
    *, seed: int | None, walks: int, length: int, shrink: bool = True, name: str = ""
) -> Outcome:
    """Take `walks` random walks of up to `length` steps each.

    Args:
        seed: None makes Hypothesis take the same walks every time.
        shrink: look for the shortest walk that fails.
        name: of a defect to plant.
    """
    outcome = Outcome("state machine", seed or 0)
    Machine.steps_done, Machine.planted = Counter(), name
    chosen = settings(
        max_examples=walks,
        stateful_step_count=length,
        derandomize=seed is None,
        deadline=None,
        database=None,
        phases=[Phase.generate, Phase.shrink] if shrink else [Phase.generate],
        suppress_health_check=list(HealthCheck),
        print_blob=False,
    )
    go: Callable[[], None] = lambda: run_state_machine_as_test(_seeded(seed), settings=chosen)  # noqa: E731
    try:
        go()
    except Exception as error:
        walk = "\n".join(getattr(error, "__notes__", []))
        outcome.failures.append(f"{type(error).__name__}: {error}\n{walk}")
    finally:
        Machine.planted = ""
    outcome.runs = sum(Machine.steps_done.values())
    outcome.figures |= {f"steps: {what}": n for what, n in sorted(Machine.steps_done.items())}
    outcome.figures["mismatches"] = len(outcome.failures)
    return outcome


def _seeded(seed: int | None) -> Callable[[], Machine]:
    if seed is None:
        return Machine
    from hypothesis import seed as with_seed

    return with_seed(seed)(type("Machine", (Machine,), {}))
