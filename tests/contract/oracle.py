"""The answers an index should give, worked out by brute force from public names alone.

write_folder(folder)           a folder of all plain formats with a few hundred passages
Oracle(index)                  every passage, its embedding, BM25, and rankings of them
assert_ranked(hits, expected)  hits are what the oracle expects, in its order
"""

from __future__ import annotations

import csv
import io
import json
import os
import random
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

import search
from tests.bm25 import BruteForce
from tests.conftest import WORDS

OLD, NEW = datetime(2020, 6, 1).timestamp(), datetime(2024, 6, 1).timestamp()
SINCE = "2023-01-01"
COPIED = "They rotate the token of the index here; nobody may copy this file without its model key."
TWICE = "A sound of long water comes down the side when two people look for more folder doors."
QUERIES = (
    "how do I rotate the token of the model",
    "the",
    "water sound people",
    "open the door of the folder",
    "vector zebra",
    "key lock index number side",
)
SCORE = 2e-6  # embeddings are float32, and batches differ in the last digits


def sentence(rng: random.Random, n: int) -> str:
    """Words with skewed frequencies: the first are in most passages, the last in few."""
    weights = [1 / (rank + 2) ** 0.9 for rank in range(len(WORDS))]
    words = rng.choices(WORDS, weights, k=n)
    return " ".join(words).capitalize() + rng.choice(".?!")


def paragraphs(rng: random.Random, n: int) -> str:
    return "\n\n".join(
        " ".join(sentence(rng, rng.randint(4, 14)) for _ in range(rng.randint(1, 4))) for _ in range(n)
    )


def about(rng: random.Random) -> dict[str, Any]:
    tags = rng.sample(["ops", "rotation", "C++", "two words"], rng.randint(1, 3))
    return {"lang": rng.choice(["en", "de", "fr"]), "year": rng.randint(1990, 2024), "tags": tags}


def write_folder(folder: Path, seed: int = 7) -> Path:
    """Markdown, text, reStructuredText, JSONL and CSV; one text in seven files, one in two; old and new files."""
    rng = random.Random(seed)
    files: dict[str, str] = {}
    for n in range(14):
        front = "\n".join(f"{name}: {json.dumps(value)}" for name, value in about(rng).items())
        head = f"---\n{front}\n---\n\n" if n % 3 else ""
        sections = [
            f"## {sentence(rng, 2)[:-1]}\n\n{paragraphs(rng, 2)}\n\n- **{rng.choice(WORDS)}** and"
            f" `{rng.choice(WORDS)}`, see [{rng.choice(WORDS)}](https://example.org/{n})"
            for _ in range(3)
        ]
        files[f"md/m{n:02}.md"] = f"{head}# {sentence(rng, 3)[:-1]}\n\n" + "\n\n".join(sections) + "\n"
    for n in range(22):
        files[f"txt/t{n:02}.txt"] = paragraphs(rng, rng.randint(1, 14)) + "\n"
    files["txt/windows.txt"] = paragraphs(rng, 3).replace("\n", "\r\n")
    files["txt/accents.txt"] = f"Grüße, café 👍🏽.\n\n{paragraphs(rng, 2)}"
    for n in range(6):
        title = sentence(rng, 3)[:-1]
        files[f"rst/r{n}.rst"] = f"{title}\n{'=' * len(title)}\n\n" + "\n\n".join(
            f"{head}\n{'-' * len(head)}\n\n{paragraphs(rng, 2)}"
            for head in (sentence(rng, 2)[:-1], "Other")
        )
    records = [{"id": n, "text": paragraphs(rng, 1), **about(rng)} for n in range(60)]
    for record in records[::7]:
        del record["lang"]
    for record in records[::3]:
        record["title"] = sentence(rng, 2)[:-1]
    files["records.jsonl"] = "".join(json.dumps(record) + "\n" for record in records)
    table = io.StringIO()
    rows = csv.writer(table, lineterminator="\n")
    rows.writerow(["id", "text", "lang", "year"])
    rows.writerows(
        [n, f"{sentence(rng, 8)}\n{sentence(rng, 3)}", rng.choice(["en", "de"]), 1990 + n]
        for n in range(40)
    )
    files["table.csv"] = table.getvalue()
    for n in range(7):
        files[f"copies/c{n}.txt"] = f"{COPIED}\n"
    for n in range(2):
        files[f"copies/twice{n}.txt"] = f"{TWICE}\n"
    for number, (name, text) in enumerate(files.items()):
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode())
        mtime = NEW if number % 2 else OLD
        os.utime(file, (mtime, mtime))
    return folder


def without_spans(text: str, hidden: Iterable[Sequence[int]]) -> str:
    """A text without its markup."""
    for start, end in sorted(hidden, reverse=True):
        text = text[:start] + text[end:]
    return text


@dataclass(frozen=True)
class Row:
    """One passage, as the public names give it."""

    id: int
    document_id: int
    document: str
    path: str
    kind: str
    title: str
    heading: str
    metadata: dict[str, Any]
    text: str
    context: str
    hidden: tuple[tuple[int, int], ...]
    mtime: float

    @property
    def encoded(self) -> str:
        text = without_spans(self.text, self.hidden)
        return f"{self.context}\n{text}" if self.context else text


Ranking = list[tuple[float, Row]]


class Oracle:
    """Everything that an index holds, ranked by brute force.

    Attributes:
        rows: all passages, by id.
        vectors: (n, d) their embeddings.
    """

    def __init__(self, index: search.Index) -> None:
        self.encoder = index.encoder
        everything = index.query("the", k=1_000_000, mode="dense", per_document=0, all_copies=True)
        assert len(everything) == index.status().passages
        documents = [index.document(id_) for id_ in sorted({hit.document_id for hit in everything})]
        self.rows = sorted(
            (
                Row(
                    passage.passage_id, document.document_id, document.document, document.path, document.kind,
                    document.title, passage.heading, dict(document.metadata), passage.text, passage.context,
                    tuple(passage.hidden), Path(document.path).stat().st_mtime,
                )
                for document in documents
                for passage in document.passages
            ),
            key=lambda row: row.id,
        )  # fmt: skip
        texts = list(dict.fromkeys(row.encoded for row in self.rows))
        encoded = dict(zip(texts, self.encoder.encode(texts, role="document"), strict=True))
        self.vectors = np.array([encoded[row.encoded] for row in self.rows])
        self.position = {row.id: number for number, row in enumerate(self.rows)}
        self._words = BruteForce({row.id: row.encoded for row in self.rows})

    def __getitem__(self, passage: int) -> Row:
        return self.rows[self.position[passage]]

    def cosines(self, vector: Any) -> Any:
        return self.vectors.astype(np.float64) @ np.asarray(vector, dtype=np.float64)

    def embedding(self, query: str) -> Any:
        return self.encoder.encode([query.replace('"', " ")], role="query")[0]

    def having(self, term: str) -> set[int]:
        """The passages that have a term."""
        return set(self._words.frequencies(term))

    def count(self, term: str) -> int:
        return len(self.having(term))

    def idf(self, term: str) -> float:
        return self._words.idf(term)

    def terms(self, query: str, phrases: bool = False) -> list[str]:
        """The terms that tell passages apart; all that occur where none does."""
        pattern = r'"[^"]+"|\w+' if phrases else r"\w+"
        typed = list(dict.fromkeys(term.strip('"') for term in re.findall(pattern, query)))
        return self._words.discriminative(typed)

    def keywords(self, query: str, phrases: bool = False, without: Sequence[str] = ()) -> Any:
        """(n,) the keyword part of every passage."""
        terms = self.terms(query, phrases)
        if not terms:
            return np.zeros(len(self.rows))
        return self._bm25([term for term in terms if term not in without]) / self._words.scale(terms)

    def _bm25(self, terms: Sequence[str]) -> Any:
        scores = np.zeros(len(self.rows))
        for id_, score in self._words.scores(terms).items():
            scores[self.position[id_]] = score
        return scores

    def ranking(
        self,
        query: str,
        mode: str = "hybrid",
        weight: float = 0.75,
        phrases: bool = False,
        without: Sequence[str] = (),
        removed: Any = 0.0,
        passes: Callable[[Row], bool] = lambda row: True,
    ) -> Ranking:
        """Every passage that passes, best first; with equal scores by id. `removed` is taken off each cosine."""
        weight = {"dense": 1.0, "lexical": 0.0}.get(mode, weight)
        keywords = self.keywords(query, phrases, without)
        cosines = self.cosines(self.embedding(query)) - removed if weight else 0
        scores = (1 - weight) * keywords + weight * cosines
        ranked = [
            (float(score), row)
            for score, row, word in zip(scores, self.rows, keywords, strict=True)
            if passes(row) and (mode != "lexical" or word > 0)
        ]
        return in_order(ranked)

    def is_copied(self, row: Row) -> bool:
        """True if the text of a row is in five passages or more."""
        return sum(other.text == row.text for other in self.rows) >= 5

    def selected(
        self,
        ranked: Ranking,
        k: int = 10,
        offset: int = 0,
        per_document: int = 3,
        group: bool = False,
        min_score: float | None = None,
        all_copies: bool = False,
    ) -> Ranking:
        """The part of a ranking that is shown."""
        ranked = [item for item in ranked if min_score is None or item[0] >= min_score]
        complete = ranked
        if not all_copies:
            texts: set[str] = set()
            unique = []
            for score, row in ranked:
                if not (row.text in texts and self.is_copied(row)):
                    unique.append((score, row))
                texts.add(row.text)
            ranked = unique
        if group:
            documents = list(dict.fromkeys(row.document_id for _, row in ranked))[offset : offset + k]
            groups = [[item for item in complete if item[1].document_id == id_] for id_ in documents]
            return [item for items in groups for item in items[: per_document or None]]
        if per_document:
            number: dict[int, int] = {}
            within, behind = [], []
            for item in ranked:
                number[item[1].document_id] = number.get(item[1].document_id, 0) + 1
                (within if number[item[1].document_id] <= per_document else behind).append(item)
            ranked = within + behind
        return ranked[offset : offset + k]


def in_order(ranked: Ranking) -> Ranking:
    return sorted(ranked, key=lambda item: (-item[0], item[1].id))


def assert_ranked(hits: Sequence[search.Hit], expected: Ranking, *, ordered: bool = True) -> None:
    """Hits have these scores, in this order; passages may change places only at (nearly) equal scores."""
    assert len(hits) == len(expected)
    scores = np.array([score for score, _ in expected])
    np.testing.assert_allclose([hit.score for hit in hits], scores, rtol=0, atol=SCORE)
    assert len({hit.passage_id for hit in hits}) == len(hits)
    assert (
        [hit.rank for hit in hits] == list(range(hits[0].rank, hits[0].rank + len(hits)))
        if hits
        else True
    )
    for position, (hit, (_, row)) in enumerate(zip(hits, expected, strict=True)):
        if hit.passage_id != row.id:  # another passage with the same score
            assert (
                np.sum(np.abs(scores - scores[position]) <= 2 * SCORE) > 1 or position == len(hits) - 1
            ), (
                position,
                hit,
                row,
            )
    if ordered:
        order = [(-hit.score, hit.passage_id) for hit in hits]
        assert order == sorted(order)
