"""Seeded files and seeded edits: what a person does to a folder between two runs, in no order."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from random import Random

SUFFIXES = (".md", ".txt", ".csv", ".jsonl", ".html")
FOLDERS = ("", "deep/", "deep/er/", "other/")
WORDS = """
    time people water sound door key lock rope stone river light paper window garden winter summer horse
    letter number mountain bridge island story silver copper shadow morning evening market engine village
""".split()


def text_of(rng: Random, suffix: str, mark: str) -> str:
    """A file of a kind; `mark` is a word that no other version of any file has, in every passage."""

    def sentence() -> str:
        return f"{' '.join(rng.choices(WORDS, k=rng.randint(3, 12)))} {mark}."

    n = rng.randint(1, 4)
    if suffix == ".md":
        return "".join(f"# Part {i} {rng.choice(WORDS)}\n\n{sentence()}\n\n" for i in range(n))
    if suffix == ".html":
        parts = "".join(f"<h2>{rng.choice(WORDS)} {i}</h2><p>{sentence()}</p>" for i in range(n))
        return f"<!doctype html><html><body>{parts}</body></html>\n"
    if suffix == ".csv":
        stream = io.StringIO(newline="")
        rows = csv.writer(stream, lineterminator="\n")
        rows.writerow(["title", "text"])
        rows.writerows([f"{rng.choice(WORDS)} {i}", sentence()] for i in range(2 * n))
        return stream.getvalue()
    if suffix == ".jsonl":
        return "".join(json.dumps({"title": f"r{i}", "text": sentence()}) + "\n" for i in range(2 * n))
    return "".join(f"{sentence()}\n\n" for _ in range(n))


def fill(folder: Path, rng: Random, n: int = 8) -> dict[str, str]:
    """Make a folder of n files of all kinds; what is in it, by name."""
    files = {}
    for i in range(n):
        suffix = SUFFIXES[i % len(SUFFIXES)]
        name = f"{FOLDERS[i % len(FOLDERS)]}file{i}{suffix}"
        files[name] = text_of(rng, suffix, f"first{i}")
        put(folder / name, files[name])
    return files


def put(path: Path, text: str) -> None:
    """Write a file, with its folders, byte for byte on every system."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())


class Editor:
    """Edits a folder at random, and knows what is in it.

    Attributes:
        files: name -> text, as they are on disk.
    """

    def __init__(self, folder: Path, files: dict[str, str], rng: Random, prefix: str) -> None:
        self.folder, self.files, self.rng, self.prefix = folder, files, rng, prefix
        self._n_marks = 0

    def mark(self) -> str:
        """A word that was never used before."""
        self._n_marks += 1
        return f"{self.prefix}n{self._n_marks}"

    def plan(self) -> dict[str, str | None]:
        """One edit: the files that it changes, with their new text, None for a file that goes.

        A name that goes and one that comes with the same text are a file that moved.
        """
        rng, names = self.rng, sorted(self.files)
        kind = rng.choice(("add", "edit", "edit", "append", "delete", "move", "copy", "swap", "same"))
        if kind == "add" or len(names) < 4:
            suffix = rng.choice(SUFFIXES)
            mark = self.mark()
            return {f"{rng.choice(FOLDERS)}{mark}{suffix}": text_of(rng, suffix, mark)}
        name, other_name = rng.sample(names, 2)
        suffix = Path(name).suffix
        if kind == "edit":
            return {name: text_of(rng, suffix, self.mark())}
        if kind == "append" and suffix in (".txt", ".md"):
            return {name: f"{self.files[name]}\nmore {rng.choice(WORDS)} {self.mark()}.\n"}
        if kind == "delete":
            return {name: None}
        if kind == "move":
            return {name: None, f"{rng.choice(FOLDERS)}{self.mark()}{suffix}": self.files[name]}
        if kind == "copy":
            return {f"{rng.choice(FOLDERS)}{self.mark()}{suffix}": self.files[name]}
        if kind == "swap" and suffix == Path(other_name).suffix:
            return {name: self.files[other_name], other_name: self.files[name]}
        return {name: self.files[name]}

    def apply(self, changes: dict[str, str | None]) -> None:
        """Do to the folder what `plan` said."""
        old_names = [name for name, text in changes.items() if text is None]
        new_names = [name for name, text in changes.items() if name not in self.files]
        if len(old_names) == len(new_names) == 1:
            (self.folder / new_names[0]).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / old_names[0]).rename(self.folder / new_names[0])
        else:
            for name, text in changes.items():
                if text is None:
                    (self.folder / name).unlink()
                else:
                    put(self.folder / name, text)
        for name, text in changes.items():
            if text is None:
                del self.files[name]
            else:
                self.files[name] = text
