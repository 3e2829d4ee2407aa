"""Random collections, and random questions of them that two rankings must answer alike."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from search import Index
from search.errors import WordMissing
from search.ranking.fusion import Fusion, Scored
from search.ranking.question import EncodedQuery
from search.ranking.where import parse
from search.records.options import Ranking
from search.store.terms import folded
from tests.store.oracle.postgres import Oracle, Ranked, tokens

NEAR = 1e-6  # of addends
SAME = 1e-9  # scores that are one rank

# The first are in most passages, the last in few.
VOCABULARY = (
    "the key lock door water time people sound search find text token vector model turn open rotate long first "
    "keeping keeps kept run_time getName walls straße 第一 naïve zebra"
).split()
FILTERS = {
    "path:notes/**": "path LIKE 'notes/%%'",
    "not path:notes/**": "path NOT LIKE 'notes/%%'",
    "kind=jsonl": "kind = 'jsonl'",
    "year>=2021": "(metadata->>'year')::float8 >= 2021",
    "topic=door or topic=key": "metadata->>'topic' IN ('door', 'key')",
    "not has topic": "NOT metadata ? 'topic'",
    "tags in (red, blue) and year<2022": "metadata->'tags' ?| array['red', 'blue'] AND "
    "(metadata->>'year')::float8 < 2022",
    "topic=nothing": "false",
}


class Collection:
    """A folder of random texts, some of them equal, that can be changed."""

    def __init__(self, folder: Path, seed: int, size: int = 30) -> None:
        self.folder, self.chance, self.records = folder, random.Random(seed), [""] * size
        (folder / "notes").mkdir(parents=True)
        for number in range(size // 3):
            self._write(number)
        self.records = [self._record() for _ in range(size)]
        self._write_records()

    def change(self) -> None:
        """Change some, delete some, add some; one becomes equal to another."""
        files = sorted(self.folder.rglob("*.txt"))
        for path in self.chance.sample(files, 2):
            path.unlink()
        self._write(self.chance.randrange(100, 1000))
        path, other = self.chance.sample(sorted(self.folder.rglob("*.txt")), 2)
        path.write_text(other.read_text(encoding="utf-8"), encoding="utf-8")
        for _ in range(3):
            self.records[self.chance.randrange(len(self.records))] = self._record()
        self.records[-2] = self.records[0]
        del self.records[self.chance.randrange(len(self.records))]
        self._write_records()

    def _write(self, number: int) -> None:
        place = self.folder / "notes" if number % 2 else self.folder
        paragraphs = [self._text(30) for _ in range(self.chance.randint(1, 4))]
        (place / f"{number}.txt").write_text("\n\n".join(paragraphs), encoding="utf-8")

    def _record(self) -> str:
        record: dict[str, object] = {"text": self._text(12), "year": self.chance.randint(2019, 2024)}
        if self.chance.random() < 0.7:
            record["topic"] = self.chance.choice(("door", "key", "water"))
        if self.chance.random() < 0.7:
            record["tags"] = self.chance.sample(("red", "blue", "green"), 2)
        return json.dumps(record)

    def _write_records(self) -> None:
        (self.folder / "records.jsonl").write_text("\n".join(self.records), encoding="utf-8")

    def _text(self, most: int) -> str:
        return " ".join(drawn(self.chance, self.chance.randint(1, most)))


def drawn(chance: random.Random, n: int) -> list[str]:
    return chance.choices(VOCABULARY, [1 / (place + 1) for place in range(len(VOCABULARY))], k=n)


@dataclass(frozen=True)
class Asked:
    """A question.

    Attributes:
        terms: words and phrases; `without` positions among them.
        where: one of FILTERS; `among` ids. At most one of these.
    """

    terms: tuple[str, ...]
    mode: str
    weight: float
    k: int
    without: tuple[int, ...] = ()
    where: str | None = None
    among: tuple[int, ...] | None = None

    @property
    def text(self) -> str:
        return " ".join(
            term if term.isascii() and term.islower() and term.isalpha() else f'"{term}"'
            for term in self.terms
        )

    @property
    def ranking(self) -> Ranking:
        return Ranking.of(
            mode=self.mode,
            weight=self.weight if self.mode == "hybrid" else None,
            phrases=True,
            without=[self.terms[place] for place in self.without],
        )


def question(chance: random.Random, ids: Sequence[int]) -> Asked:
    """A random question of passages with these ids."""
    n = chance.randint(1, 6)
    terms = chance.choices(VOCABULARY, k=n) if chance.random() < 0.5 else drawn(chance, n)
    if chance.random() < 0.4:
        terms.append(" ".join(drawn(chance, 2)))
    stems = stems_of(terms)
    terms = [term for place, term in enumerate(terms) if stems.index(stems[place]) == place]
    mode = chance.choice(("hybrid", "hybrid", "dense", "lexical"))
    asked = Asked(tuple(terms), mode, chance.choice((0.02, 0.3, 0.75, 0.98)), chance.choice((1, 3, 10, 1000)))
    if mode != "dense" and chance.random() < 0.2:
        asked = replace(asked, without=(chance.randrange(len(terms)),))
    kind = chance.random()
    if kind < 0.3:
        return replace(asked, where=chance.choice(list(FILTERS)))
    if kind < 0.5:
        return replace(asked, among=tuple(sorted(chance.sample(list(ids), chance.randint(1, len(ids))))))
    return asked


def stems_of(terms: Sequence[str]) -> list[list[str]]:
    return tokens(map(folded, terms))


@dataclass
class Agreement:
    """How far two rankings of the same questions are apart.

    Attributes:
        swapped: neighbours whose scores are equal but for rounding, and stand the other way round.
        score, cosine, addend: the largest differences.
        seconds, seconds_there: of each question, without the encoder: of the index, of PostgreSQL.
    """

    questions: int = 0
    hits: int = 0
    swapped: int = 0
    score: float = 0.0
    cosine: float = 0.0
    addend: float = 0.0
    wrong: list[str] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    seconds_there: list[float] = field(default_factory=list)


def compare(found: Agreement, index: Index, oracle: Oracle, asked: Asked) -> None:
    """Ask an index and PostgreSQL; what differs is noted.

    The store is asked as a query of the product does it, with the addends of words besides.
    """
    (vector,) = index.encoder.encode([asked.text], role="query")
    started = time.perf_counter()
    try:
        hits, addends, scale = answer(index, asked, vector)
    except WordMissing:  # a word that is in no passage, or in most of them, cannot be left out
        asked = replace(asked, without=())
        hits, addends, scale = answer(index, asked, vector)
    found.seconds.append(time.perf_counter() - started)
    started = time.perf_counter()
    theirs = oracle.ranked(
        vector, stems_of(asked.terms), asked.ranking.weight, asked.without,
        FILTERS[asked.where] if asked.where else "true", asked.among,
    )  # fmt: skip
    found.seconds_there.append(time.perf_counter() - started)
    found.questions += 1
    found.hits += len(hits)
    if len(hits) != min(asked.k, len(theirs)):
        found.wrong.append(f"{asked}: {len(hits)} hits, PostgreSQL has {len(theirs)}")
        return
    by_id = {row.id: row for row in theirs}
    for place, hit in enumerate(hits):
        if (row := by_id.get(hit.passage)) is None:
            found.wrong.append(f"{asked}: {hit.passage} is none of PostgreSQL's")
            continue
        found.swapped += hit.passage != theirs[place].id
        off = max(abs(hit.score - row.score), abs(hit.score - theirs[place].score))
        found.score = max(found.score, off)
        found.cosine = max(found.cosine, abs((hit.cosine or 0) - row.cosine) if hit.cosine is not None else 0)
        of_words = _apart(asked, row, addends[place], scale) if asked.ranking.by_words else 0.0
        found.addend = max(found.addend, of_words)
        if off > SAME or of_words > NEAR or abs(row.product - row.cosine) > NEAR:
            found.wrong.append(f"{asked}: {hit} against {row}, words {addends[place]}")


def _apart(asked: Asked, row: Ranked, addends: dict[str, float], scale: float) -> float:
    theirs = {asked.terms[place]: addend for place, addend in row.addends.items()}
    each = [abs(theirs.get(term, 0) - addends.get(term, 0)) for term in {*theirs, *addends}]
    return max([*each, abs(scale - row.scale)])


def answer(
    index: Index, asked: Asked, vector: NDArray[np.float32]
) -> tuple[list[Scored], list[dict[str, float]], float]:
    """The hits of an index; of each what its terms add to BM25; and what the sum is divided by."""
    with index._store.reading() as snapshot:
        among = None if asked.among is None else np.array(asked.among, dtype=np.int64)
        if asked.where:
            among = snapshot.passing(parse(asked.where))
        fusion = Fusion(snapshot, EncodedQuery(asked.text, vector), asked.ranking, among)
        hits = fusion.top(asked.k)
        if not asked.ranking.by_words:
            return hits, [{} for _ in hits], 1.0
        ids = np.array([hit.passage for hit in hits], dtype=np.int64)
        rows = fusion.matches.addends(ids).tolist()
        names = [term.text for term in fusion.terms]
        return hits, [dict(zip(names, row, strict=True)) for row in rows], fusion.matches.scale


def ids_of(index: Index) -> list[int]:
    """The ids of all passages."""
    with index._store.reading() as snapshot:
        return snapshot.ids().tolist()
