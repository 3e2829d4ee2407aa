"""Filtered search against brute force: random filters over random metadata, and where vectors can lie."""

import random
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from search.ranking.where import parse
from search.store.filters import matching
from search.store.segments import flush
from search.store.snapshot import Store
from search.store.writer import Writer
from tests.ranking.stored import (
    add_annotation,
    add_annotator,
    add_document,
    add_embedding,
    bury,
    count,
    empty,
    nearest,
)

D = 16
FOLDERS = ["docs", "docs/api", "notes", "old/docs"]
WORDS = ["key", "lock", "door", "Über", "time"]
KINDS = ["markdown", "csv", "text"]
PEOPLE = ["Ada Lovelace", "Grace Hopper", "Ørsted"]


@dataclass
class Row:
    """A passage, with its document's facts as Python has them."""

    id: int
    vector: np.ndarray
    folder: str
    name: str
    kind: str
    title: list[str]
    heading: list[str]
    page: int | None
    lang: str | None
    year: int | None
    day: date | None
    tags: list[str]
    draft: bool | None
    people: list[str]
    mood: float | None


@dataclass
class Corpus:
    """An index, and what is in it."""

    folder: Path
    connection: sqlite3.Connection
    chance: random.Random
    vectors: np.random.Generator
    rows: list[Row]

    def add(self, documents: int) -> None:
        chance = self.chance
        for _ in range(documents):
            number = self.connection.execute("SELECT coalesce(max(id), 0) FROM files").fetchone()[0]
            lang = chance.choice(["en", "EN", "de", None])
            year = chance.choice([None, chance.randint(1990, 2030)])
            day = chance.choice([None, date(2020, 1, 1) + timedelta(chance.randint(0, 1500))])
            tags = chance.sample(WORDS, chance.randint(0, 3))
            draft = chance.choice([True, False, None])
            metadata: dict[str, Any] = {
                "tags": tags,
                chance.choice(["Author", "author"]): {"lang": lang},
            }
            if year is not None:
                metadata["year"] = chance.choice([year, str(year), float(year)])
            if day is not None:
                metadata["day"] = chance.choice(
                    [day.isoformat(), f"{day.isoformat()}T10:00:00", f"{day.isoformat()} 10:00+02:00"]
                )
            if draft is not None:
                metadata["draft"] = chance.choice([draft, str(draft)])
            folder, kind, title = (
                chance.choice(FOLDERS),
                chance.choice(KINDS),
                chance.choices(WORDS, k=2),
            )
            headings = [chance.choices(WORDS, k=2) for _ in range(chance.randint(1, 6))]
            pages = [chance.choice([None, chance.randint(1, 9)]) for _ in headings]
            path = f"{folder}/{number}.{kind[:2]}"
            ids = add_document(
                self.connection,
                path.encode(),
                metadata,
                kind=kind,
                title=" ".join(title),
                passages=tuple(
                    (" > ".join(heading), page) for heading, page in zip(headings, pages, strict=True)
                ),
            )
            for id_, heading, page in zip(ids, headings, pages, strict=True):
                vector = self.vector()
                add_embedding(self.connection, id_, vector)
                annotations = self.annotate(id_)
                all_tags = [*tags, *annotations.get("TAGS", [])]
                facts = (folder, path, kind, title, heading, page, lang, year, day, all_tags, draft)
                self.rows.append(
                    Row(id_, vector, *facts, annotations.get("person", []), annotations.get("mood"))
                )

    def annotate(self, passage: int) -> dict[str, Any]:
        """Annotations of a passage by two annotators; of some they say nothing, and some they have not looked at."""
        chance, annotations = self.chance, {}
        for annotator, field, value in (
            ("ner", "person", chance.sample(PEOPLE, chance.randint(0, 2))),
            ("ner", "TAGS", chance.sample(WORDS, 1)),
            ("moods", "mood", chance.randint(0, 9) / 10),
        ):
            if chance.random() < 0.6:
                annotations.setdefault(annotator, {})[field] = value
        for annotator, values in annotations.items():
            add_annotation(self.connection, passage, annotator, values)
        return {field: value for values in annotations.values() for field, value in values.items()}

    def vector(self) -> np.ndarray:
        """Every third vector is one that is there already, as repeated passages have it."""
        if self.rows and self.chance.random() < 1 / 3:
            return self.chance.choice(self.rows).vector
        vector = self.vectors.normal(size=D).astype(np.float32)
        return vector / np.linalg.norm(vector)

    def delete(self, documents: int) -> None:
        for _ in range(documents):
            row = self.chance.choice(self.rows)
            (document,) = self.connection.execute(
                "SELECT document FROM passages WHERE id = ?", (row.id,)
            ).fetchone()
            rows = self.connection.execute("SELECT id FROM passages WHERE document = ?", (document,))
            bury(self.connection, [id_ for (id_,) in rows.fetchall()])
            self.connection.execute("DELETE FROM documents WHERE id = ?", (document,))
            self.rows = [other for other in self.rows if other.name != row.name]
        count(self.connection)

    def save_vectors(self) -> None:
        flush(Writer(self.connection), self.folder, D)

    def expected(self, query: np.ndarray, k: int, passes: Callable[[Row], bool]) -> list[int]:
        """The nearest ids, by one sum in float64 for each passage: equal vectors have equal cosines."""
        scored = [
            (
                -float(
                    np.float32(sum(float(a) * float(b) for a, b in zip(row.vector, query, strict=True)))
                ),
                row.id,
            )
            for row in self.rows
            if passes(row)
        ]
        return [id_ for _, id_ in sorted(scored)[:k]]


State = str
STATES: dict[State, Callable[[Corpus], None]] = {
    "no file": lambda corpus: None,
    "file, deleted, tail": lambda corpus: (corpus.save_vectors(), corpus.delete(15), corpus.add(15)),  # type: ignore[func-returns-value]
}


@pytest.fixture(params=STATES)
def corpus(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    seed = list(STATES).index(request.param)
    with closing(empty(tmp_path, D)) as connection:
        corpus = Corpus(tmp_path, connection, random.Random(seed), np.random.default_rng(seed), [])
        connection.execute("BEGIN")
        add_annotator(connection, "ner", ["person", "TAGS"])  # which documents have, too
        add_annotator(connection, "moods", ["mood"])
        corpus.add(90)
        connection.execute("COMMIT")
        connection.execute("PRAGMA foreign_keys = 1")
        connection.execute("PRAGMA synchronous = OFF")
        STATES[request.param](corpus)
        yield corpus


Filter = tuple[str, Callable[[Row], bool]]
OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "=": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
}


def random_condition(chance: random.Random) -> Filter:
    """A random condition, and what it means, said in Python."""
    operator = chance.choice(list(OPERATORS))
    compare, missing = OPERATORS[operator], operator == "!="
    word, year, page = chance.choice(WORDS), chance.randint(1990, 2030), chance.randint(1, 9)
    day = date(2020, 1, 1) + timedelta(chance.randint(0, 1500))
    folder, kind, lang = chance.choice(FOLDERS), chance.choice(KINDS), chance.choice(["en", "de", "fr"])
    shouted = word.upper()
    equal = chance.choice(["=", "!="])
    month = (day.year, day.month)
    person, mood = chance.choice(PEOPLE), chance.randint(0, 9) / 10
    choices: list[Filter] = [
        (
            f"path:{folder}",
            lambda r: f"/{folder}/" in f"/{r.name}" if "/" not in folder else r.name.startswith(folder),
        ),
        (f"path:*.{kind[:2]}", lambda r: r.kind == kind),
        (f"Kind{equal}{kind.upper()}", lambda r: (r.kind == kind) == (equal == "=")),
        (f"title:{shouted}", lambda r: word in r.title),
        (f"heading:'*{word[1:]}*'", lambda r: word in r.heading),
        (f"page{operator}{page}", lambda r: missing if r.page is None else compare(r.page, page)),
        ("has page", lambda r: r.page is not None),
        (f"year {operator} {year}", lambda r: missing if r.year is None else compare(r.year, year)),
        (
            f"DAY{operator}{day:%Y-%m}",
            lambda r: missing if r.day is None else compare((r.day.year, r.day.month), month),
        ),
        (f"tags{equal}{shouted}", lambda r: (word in r.tags) == (equal == "=")),
        ("has tags", lambda r: bool(r.tags)),
        (f"draft{equal}TRUE", lambda r: (r.draft is True) == (equal == "=")),
        ("not has draft", lambda r: r.draft is None),
        (f"person{equal}'{person.upper()}'", lambda r: (person in r.people) == (equal == "=")),
        ("has person", lambda r: bool(r.people)),
        (
            f"person='{person}' and mood={mood} and page={page}",
            lambda r: person in r.people and r.mood == mood and r.page == page,
        ),
        (f"mood{operator}{mood}", lambda r: missing if r.mood is None else compare(r.mood, mood)),
        (f"author.lang in ({lang}, '{lang.upper()}')", lambda r: (r.lang or "").lower() == lang),
    ]
    text, passes = chance.choice(choices)
    return (f"({text})" if " and " in text else text), passes


def random_filter(chance: random.Random, depth: int = 0) -> Filter:
    """A random filter."""
    form = chance.choice(["one", "not", "and", "or"]) if depth < 3 else "one"
    if form == "one":
        return random_condition(chance)
    text, passes = random_filter(chance, depth + 1)
    if form == "not":
        return f"{chance.choice(['not', 'NOT'])} ({text})", lambda row: not passes(row)
    other_text, other_passes = random_filter(chance, depth + 1)
    if form == "and":
        return f"({text}) and ({other_text})", lambda row: passes(row) and other_passes(row)
    return f"({text}) Or ({other_text})", lambda row: passes(row) or other_passes(row)


def test_random_filters_and_queries_equal_brute_force(corpus: Corpus) -> None:
    """150 for each state: the same ids in the same order, and always min(k, matches) of them."""
    chance = random.Random(12)
    store = Store(corpus.folder)
    sizes = set()
    for _ in range(150):
        text, passes = random_filter(chance)
        query, k = corpus.vector().astype(np.float64), chance.choice([1, 3, 10, 1000])
        query = (query + corpus.vectors.normal(size=D) * chance.choice([0, 0.1])).astype(np.float32)
        query /= np.linalg.norm(query)
        only = matching(corpus.connection, parse(text))
        assert only.tolist() == [row.id for row in corpus.rows if passes(row)], text
        ids = [id_ for id_, _ in nearest(corpus.connection, store, query, k, only)]
        assert ids == corpus.expected(query, k, passes), text
        assert len(ids) == min(k, len(only))
        sizes.add(min(len(only), 2) + (len(only) == len(corpus.rows)))
    assert sizes >= {0, 2, 3}  # nothing, some, all
