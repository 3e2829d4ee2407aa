"""Sentences with a label for each word: a word a line, its label last, an empty line behind each sentence.

As in CoNLL-2003 (Tjong Kim Sang and De Meulder 2003), whose lines have more columns between the two, and WNUT-17.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from search.errors import InputError

_DOCUMENT = "-DOCSTART-"


@dataclass(frozen=True)
class Sentence:
    """Words and their labels; `line` is the first word's in the file, from 1."""

    words: tuple[str, ...]
    labels: tuple[str, ...]
    line: int


def read_conll(path: Path) -> list[Sentence]:
    """The sentences of a file; lines that only part documents are left out.

    Raises:
        InputError: it cannot be read, holds no sentence, or a line has no label; the message names file and line.
    """
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise InputError(f"'{path}' cannot be read: {error.strerror or error}. Check the name.") from None
    except UnicodeDecodeError as error:
        at = error.object[: error.start].count(b"\n") + 1
        raise InputError(f"{path}:{at}: this is no UTF-8. Save the file as UTF-8.") from None
    found: list[Sentence] = []
    words: list[str] = []
    labels: list[str] = []
    for number, line in enumerate([*text.split("\n"), ""], 1):
        if line.strip():
            word, label = _columns(line.rstrip("\r"), path, number)
            words.append(word)
            labels.append(label)
        elif words:
            if words != [_DOCUMENT]:
                found.append(Sentence(tuple(words), tuple(labels), number - len(words)))
            words, labels = [], []
    if not found:
        raise InputError(f"'{path}' holds no sentence. Give a file with a word and its label on each line.")
    return found


def as_conll(sentences: Iterable[Sequence[tuple[str, str]]]) -> str:
    """Words with their labels as such a file: a tab between the two, an empty line behind each sentence."""
    return "".join("".join(f"{word}\t{label}\n" for word, label in one) + "\n" for one in sentences)


def _columns(line: str, path: Path, number: int) -> tuple[str, str]:
    """The first and the last column: between tabs where there are any, otherwise between blanks."""
    columns = line.split("\t") if "\t" in line else line.split(" ")
    word, label = columns[0].strip(), columns[-1].strip()
    if len(columns) < 2 or not word or not label:
        raise InputError(
            f"{path}:{number}: '{line.strip():.40}' is not a word and its label with a tab between them."
        )
    if label != "O" and "-" not in label:
        raise InputError(
            f"{path}:{number}: '{label:.40}' is no label of an entity. Labels are O, and such as B-person."
        )
    return word, label
