"""The folder of harness 3: what is in it, and 19 ways to change it."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections import Counter
from pathlib import Path
from random import Random
from typing import ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tests.faults.contents import FOLDERS, SUFFIXES, WORDS, text_of

NAMES = tuple(f"{folder}{stem}{suffix}" for folder in FOLDERS for stem in "ab" for suffix in SUFFIXES)
IGNORED = ("*.txt", "b.md", "deep/", "other/", "*.csv\n*.html")
INCLUDED = ((), (), ("*.md",), ("*.txt", "*.jsonl", "*.csv"), ("deep/**",))

_seeds = st.integers(0, 10**6)
_some_name = st.sampled_from(NAMES)
pick_one = st.integers(0, 10**3)


class Edits(RuleBasedStateMachine):
    """A folder, and what is known of it.

    Attributes:
        files: what is on disk; unreadable: names that the system refuses to open.
        changed: something was done since the last run.
    """

    steps_done: ClassVar[Counter[str]] = Counter()

    def __init__(self) -> None:
        super().__init__()
        self.place = Path(tempfile.mkdtemp(prefix="seewhy-machine-"))
        self.folder = self.place / "folder"
        self.folder.mkdir()
        self.files: dict[str, bytes] = {}
        self.unreadable: set[str] = set()
        self.ignored = ""
        self.include: tuple[str, ...] = ()
        self.changed = True
        self.made = 0

    def teardown(self) -> None:
        shutil.rmtree(self.place, ignore_errors=True)

    def _put(self, name: str, raw: bytes) -> None:
        """Write a file so that its time stamp is surely another, as a person's edits are seconds apart."""
        self._count("edits")
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
        Edits.steps_done[what] += 1

    @invariant()
    def one_more_step(self) -> None:
        """Hypothesis asks this after every step."""
        self._count("steps")

    @initialize(seed=_seeds)
    def begin(self, seed: int) -> None:
        for name in NAMES[:12]:
            self._put(name, self._new_text(name, seed))

    @rule(name=_some_name, seed=_seeds)
    def add_or_edit(self, name: str, seed: int) -> None:
        self._put(name, self._new_text(name, seed))

    @precondition(lambda self: self.files)
    @rule(pick=pick_one, seed=_seeds)
    def edit(self, pick: int, seed: int) -> None:
        name = self._one(pick)
        self._put(name, self._new_text(name, seed))

    @precondition(lambda self: self.files)
    @rule(pick=pick_one, word=st.sampled_from(WORDS))
    def append(self, pick: int, word: str) -> None:
        name = self._one(pick)
        self._put(name, self.files[name] + f"\nmore {word}\n".encode())

    @precondition(lambda self: self.files)
    @rule(pick=pick_one, word=st.sampled_from(WORDS))
    def change_one_word(self, pick: int, word: str) -> None:
        """The size may stay the same."""
        name = self._one(pick)
        same_size = (w for w in WORDS if len(w) == len(word) and w != word)
        old = next((w for w in same_size if w.encode() in self.files[name]), word)
        self._put(name, self.files[name].replace(old.encode(), word.encode(), 1))

    @precondition(lambda self: self.files)
    @rule(pick=pick_one, share=st.floats(0, 1))
    def truncate(self, pick: int, share: float) -> None:
        name = self._one(pick)
        self._put(name, self.files[name][: int(share * len(self.files[name]))])

    @precondition(lambda self: self.files)
    @rule(pick=pick_one)
    def empty(self, pick: int) -> None:
        self._put(self._one(pick), b"")

    @precondition(lambda self: self.files)
    @rule(pick=pick_one)
    def make_binary(self, pick: int) -> None:
        self._put(self._one(pick), bytes(range(32)) * 20)

    def _move(self, one: str, two: str) -> None:
        self._count("edits")
        (self.folder / two).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / one).replace(self.folder / two)
        self.files[two] = self.files.pop(one)
        self.unreadable.discard(one)
        self.changed = True

    @precondition(lambda self: self.files)
    @rule(pick=pick_one, folder=st.sampled_from(FOLDERS))
    def move(self, pick: int, folder: str) -> None:
        """To another folder, under the same name, perhaps over another file."""
        name = self._one(pick)
        if (target := folder + Path(name).name) != name:
            self._move(name, target)

    @precondition(lambda self: self.files)
    @rule(pick=pick_one, name=_some_name)
    def rename(self, pick: int, name: str) -> None:
        """To any name, perhaps of another kind."""
        if (old := self._one(pick)) != name:
            self._move(old, name)

    @precondition(lambda self: len(self.files) > 1)
    @rule(pick=pick_one, other=pick_one)
    def swap(self, pick: int, other: int) -> None:
        one, two = self._one(pick), self._one(other)
        if one != two:
            free = self.folder / "swapped.tmp"
            (self.folder / one).replace(free)
            (self.folder / two).replace(self.folder / one)
            free.replace(self.folder / two)
            self.files[one], self.files[two] = self.files[two], self.files[one]
            self.changed = True
            self._count("edits")

    @precondition(lambda self: self.files)
    @rule(pick=pick_one, name=_some_name)
    def duplicate(self, pick: int, name: str) -> None:
        self._put(name, self.files[self._one(pick)])

    @precondition(lambda self: self.files)
    @rule(pick=pick_one)
    def delete(self, pick: int) -> None:
        self._count("edits")
        name = self._one(pick)
        (self.folder / name).unlink()
        del self.files[name]
        self.unreadable.discard(name)
        self.changed = True

    @rule(folder=st.sampled_from(FOLDERS[1:]))
    def delete_folder(self, folder: str) -> None:
        self._count("edits")
        shutil.rmtree(self.folder / folder, ignore_errors=True)
        self.files = {name: raw for name, raw in self.files.items() if not name.startswith(folder)}
        self.unreadable &= self.files.keys()
        self.changed = True

    @precondition(lambda self: self.files)
    @rule(pick=pick_one)
    def touch(self, pick: int) -> None:
        name = self._one(pick)
        self._put(name, self.files[name])

    @precondition(lambda self: self.files)
    @rule(pick=pick_one)
    def make_unreadable(self, pick: int) -> None:
        """From the next edit on, which changes it, so that it is looked at again."""
        name = self._one(pick)
        self._put(name, self.files[name] + b"\nsecret\n")
        self.unreadable.add(name)

    @rule()
    def make_readable(self) -> None:
        self._count("edits")
        self.changed = self.changed or bool(self.unreadable)
        self.unreadable.clear()

    @rule(patterns=st.sampled_from(IGNORED))
    def add_ignore_file(self, patterns: str) -> None:
        self._count("edits")
        (self.folder / ".gitignore").write_text(patterns, encoding="utf-8")
        self.changed = self.changed or patterns != self.ignored
        self.ignored = patterns

    @rule()
    def remove_ignore_file(self) -> None:
        self._count("edits")
        (self.folder / ".gitignore").unlink(missing_ok=True)
        self.changed = self.changed or bool(self.ignored)
        self.ignored = ""

    @rule(patterns=st.sampled_from(INCLUDED))
    def choose(self, patterns: tuple[str, ...]) -> None:
        self._count("edits")
        self.changed = self.changed or patterns != self.include
        self.include = patterns
