"""Readers of labelled data: sentences with entities, and texts with labels.

CoNLL    one word per line, its label last, an empty line after each sentence (Tjong Kim Sang and De Meulder 2003);
         labels are those of entities ("O", "B-person"), or any words, such as parts of speech
labels   CSV, TSV or JSONL with label, and with text or the path of an indexed file
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from search.errors import InputError
from search.evaluating.formats import malformed, read_rows
from search.lab.records.predictions import Example

NO_ENTITY = "O"


@dataclass(frozen=True)
class Sentence:
    """A sentence: its words and their labels."""

    words: tuple[str, ...]
    labels: tuple[str, ...]

    @property
    def text(self) -> str:
        return " ".join(self.words)

    @property
    def spans(self) -> list[tuple[int, int]]:
        """Offsets of each word in `text`: half-open (start, end)."""
        spans, start = [], 0
        for word in self.words:
            spans.append((start, start + len(word)))
            start += len(word) + 1
        return spans


def read_conll(path: Path, *, entities: bool = True) -> list[Sentence]:
    """Read the sentences of a file in CoNLL format, without the "-DOCSTART-" lines that separate documents.

    Args:
        entities: accept labels of entities only; without it any word is a label.

    Raises:
        InputError: the file cannot be read or is empty, or a line has no label.
    """
    sentences: list[Sentence] = []
    rows: list[tuple[str, str]] = []
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"cannot read '{path}': {reason}. Check the file.") from None
    for number, line in enumerate([*lines, ""], 1):
        if line.strip():
            columns = [column.strip() for column in line.split("\t" if "\t" in line else " ")]
            word, label = columns[0], columns[-1]
            is_label = not entities or label == NO_ENTITY or "-" in label
            if len(columns) < 2 or not word or not is_label:
                example = "O or B-person" if entities else "NOUN"
                problem = f"is not a word with a label such as {example}"
                raise malformed(path, number, f"'{line.strip():.40}' {problem}.")
            rows.append((word, label))
        elif rows:
            words, labels = zip(*rows, strict=True)
            if words != ("-DOCSTART-",):
                sentences.append(Sentence(words, labels))
            rows = []
    if not sentences:
        raise InputError(f"'{path}' contains no sentences. Put a word and its label on each line.")
    return sentences


def read_examples(path: Path) -> list[Example]:
    """Read labelled examples from a table; a row has a label, and a text or the path of an indexed file.

    Raises:
        InputError: the file cannot be read, a column is missing, or a row has no label or no text.
    """
    rows = read_rows(path, ("label",))
    if not rows:
        raise InputError(f"{path} has no rows after the header.")
    kind = next((name for name in ("text", "path") if name in rows[0].values), None)
    if kind is None:
        raise malformed(path, 1, "no column 'text' or 'path'. Rename a column.")
    return [
        Example(row.text("label").strip(), line=row.line, **{kind: row.text(kind).strip()})
        for row in rows
    ]
