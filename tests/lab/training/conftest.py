"""Small data that a tiny model can learn a little from."""

from __future__ import annotations

import importlib.util
import json
import random
from pathlib import Path

import pytest

WORDS = (
    "the key door lock open turn water people time say long side word number call first find text".split()
)

trainable = pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in ("accelerate", "datasets")),
    reason="the extra 'training' is not installed",
)


def write_graded(path: Path, rows: int = 40, seed: int = 0) -> Path:
    """Write pairs of sentences; the score is five times the share of places with the same word."""
    chance = random.Random(seed)
    lines = ["sentence1\tsentence2\tscore"]
    for number in range(rows):
        first = [*chance.choices(WORDS, k=5), f"{seed}{number}"]
        second = [word if chance.random() < 0.5 else chance.choice(WORDS) for word in first]
        same = sum(a == b for a, b in zip(first, second, strict=True))
        lines.append(f"{' '.join(first)}\t{' '.join(second)}\t{5 * same / 6}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def write_pairs(path: Path, rows: int = 40, seed: int = 0) -> Path:
    """Write pairs: a query is two words and the number of its passage."""
    chance = random.Random(seed)
    lines = ["query,passage"]
    for number in range(rows):
        words = chance.choices(WORDS, k=6)
        lines.append(f"{words[0]} {words[1]} {seed}{number},{' '.join(words)} {seed}{number}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def write_texts(path: Path, rows: int = 60, seed: int = 0) -> Path:
    """Write labelled texts; every third is about people."""
    chance = random.Random(seed)
    lines = ["text,label"]
    for i in range(rows):
        about, label = ("people people many", "them") if i % 3 == 0 else ("door lock key", "it")
        lines.append(f"{' '.join(chance.choices(WORDS, k=2))} {about} {seed}{i},{label}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def write_sentences(path: Path, rows: int = 40, seed: int = 0) -> Path:
    """Write tagged sentences: a name is a word that the tokenizer takes apart, and the word behind it."""
    chance = random.Random(seed)
    sentences = []
    for i in range(rows):
        words = [(word, "O") for word in chance.choices(WORDS, k=3)]
        words += [(chance.choice(["xyzq", "xzyq"]), "B-name"), ("sound", "I-name"), (f"{seed}{i}", "O")]
        sentences.append("".join(f"{word}\t{label}\n" for word, label in words))
    path.write_text("\n".join(sentences) + "\n", encoding="utf-8")
    return path


def write_questions(path: Path, rows: int = 30, seed: int = 0, unanswered: int = 0) -> Path:
    """Write questions whose answer is between two 'turn'; some paragraphs are longer than the model reads."""
    chance = random.Random(seed)
    data = []
    for i in range(rows):
        answer = chance.choice(["lock", "door"])
        text = f"{' '.join(chance.choices('water people time'.split(), k=i))} {seed}{i} turn {answer} turn say so"
        answers = [{"text": answer, "answer_start": text.index(f"turn {answer}") + 5}]
        question = {"id": f"{seed}-{i}", "question": "what will you turn"}
        question |= {"answers": [] if i < unanswered else answers}  # type: ignore[dict-item]
        data.append({"title": f"Page {i}", "paragraphs": [{"context": text, "qas": [question]}]})
    path.write_text(json.dumps({"data": data}), encoding="utf-8")
    return path


def write_lines(path: Path, *records: object) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path
