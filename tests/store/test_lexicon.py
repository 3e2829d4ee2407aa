"""The table of words: what it finds, that it follows the passages, and that nothing typed is syntax."""

import math
import random
import re
import sqlite3
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import search
from search import InputError
from search.store import lexicon
from search.store.database import Reader
from search.store.lexicon import Lexicon, summed
from search.store.terms import Stemmer, Term, indexable, words
from tests.store import damage


def bm25(
    own: Lexicon, connection: sqlite3.Connection, terms: list[Term]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Ids and sums over the terms."""
    found = summed(own.postings(connection, terms))
    return found.ids, found.scores


@pytest.fixture
def index(notes: Path, tiny_model: Path) -> search.Index:
    return search.Index.build(notes, model=str(tiny_model))


def found(index: search.Index, query: str, **options: bool) -> set[str]:
    return {hit.text for hit in index.query(query, k=100, mode="lexical", **options)}


@pytest.fixture
def written(tmp_path: Path, tiny_model: Path) -> search.Index:
    """An index of one file a line."""
    lines = [
        "call get_user_name first",
        "call getUserName second",
        "see path/like.this for more",
        "the HTTPServer class",
        "don't touch multi-agent systems",
        "a café in the STRASSE",
        "keys are rotated",
        "漢字を読む",
        "boundary of a layer",
        "the boundary layer",
    ]
    (tmp_path / "lines").mkdir()
    for number, line in enumerate(lines):
        (tmp_path / "lines" / f"{number}.txt").write_text(line, encoding="utf-8")
    return search.Index.build(tmp_path / "lines", model=str(tiny_model))


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("get_user_name", {"call get_user_name first", "call getUserName second"}),
        ("user name", {"call get_user_name first", "call getUserName second"}),
        ("getusername", {"call getUserName second"}),
        ("like", {"see path/like.this for more"}),
        ("http server", {"the HTTPServer class"}),
        ("don't", {"don't touch multi-agent systems"}),
        ("multi agent", {"don't touch multi-agent systems"}),
        ("CAFE", {"a café in the STRASSE"}),
        ("cafe\u0301", {"a café in the STRASSE"}),
        ("straße", {"a café in the STRASSE"}),
        (
            "rotating the key",
            {"keys are rotated", "the HTTPServer class", "a café in the STRASSE", "the boundary layer"},
        ),
        ("字", {"漢字を読む"}),
        ("ﬁrst", {"call get_user_name first"}),
        ("nowhere", set()),
        ("😀 \0 ' \" NOT", set()),
    ],
)
def test_what_is_found(written: search.Index, query: str, expected: set[str]) -> None:
    assert found(written, query) == expected


def test_phrases_are_an_option(written: search.Index) -> None:
    both = {"boundary of a layer", "the boundary layer"}
    assert found(written, '"boundary layer"') == both
    assert found(written, '"boundary layer"', phrases=True) == {"the boundary layer"}
    assert found(written, '"boundary layer', phrases=True) == both  # never closed, so no quote
    assert found(written, '"boundary layer" café', phrases=True) == {
        "the boundary layer",
        "a café in the STRASSE",
    }
    (hit,) = written.query('"boundary layer"', mode="lexical", phrases=True)
    (term,) = written.explain('"boundary layer"', hit).terms
    (place,) = term.places
    assert hit.text[place.start : place.end] == "boundary layer"


def test_bm25_is_okapi(index: search.Index) -> None:
    """Against the formula, with tokens counted by hand."""
    reader, own = Reader(index.path / "index.db"), Lexicon()
    with reader.reading() as connection:
        rows = connection.execute("SELECT id, context, text FROM passages").fetchall()
        ids, scores = bm25(own, connection, own.stemmer.terms("water lock"))
    stemmer = Stemmer()
    tokens = {id_: Counter(stemmer.stems([indexable(context, text)])[0]) for id_, context, text in rows}
    lengths = {id_: sum(count.values()) for id_, count in tokens.items()}
    mean = sum(lengths.values()) / len(lengths)
    for id_, score in zip(ids.tolist(), scores.tolist(), strict=True):
        expected = 0.0
        for stem in ("water", "lock"):
            n, tf = sum(stem in count for count in tokens.values()), tokens[id_][stem]
            weight = max(1e-6, math.log((len(rows) - n + 0.5) / (n + 0.5)))
            expected += weight * tf * 2.2 / (tf + 1.2 * (0.25 + 0.75 * lengths[id_] / mean))
        assert score == pytest.approx(expected, abs=1e-9)
    assert len(ids) == sum(bool(count["water"] or count["lock"]) for count in tokens.values()) > 0


def test_terms_add_up_to_the_last_digits(index: search.Index) -> None:
    reader, own = Reader(index.path / "index.db"), Lexicon()
    with reader.reading() as connection:
        terms = own.stemmer.terms("to find the key in the water and turn the lock of a door")
        ids, scores = bm25(own, connection, terms)
        again = bm25(own, connection, terms)  # from what was kept
        ask = "SELECT rowid, -bm25(lexicon) FROM lexicon WHERE lexicon MATCH ? ORDER BY rowid"
        expected = connection.execute(ask, (" OR ".join(term.expression for term in terms),)).fetchall()
    assert (ids.tolist(), scores.tolist()) == (again[0].tolist(), again[1].tolist())
    assert ids.tolist() == [id_ for id_, _ in expected]
    assert scores.tolist() == pytest.approx([score for _, score in expected], abs=1e-12)


def test_words_in_most_passages_do_not_count_unless_there_are_no_others(index: search.Index) -> None:
    reader, own = Reader(index.path / "index.db"), Lexicon()
    with reader.reading() as connection:
        rows = connection.execute("SELECT context, text FROM passages").fetchall()
        n_the = sum("the" in Stemmer().stems([indexable(*row)])[0] for row in rows)
        assert n_the > len(rows) / 2
        assert [term.text for term in own.telling(connection, own.stemmer.terms("the water zebra"))] == [
            "water"
        ]
        assert [term.text for term in own.telling(connection, own.stemmer.terms("the zebra"))] == ["the"]
        assert own.telling(connection, own.stemmer.terms("zebra")) == []


def tables(path: Path) -> tuple[list[tuple[object, ...]], ...]:
    with sqlite3.connect(path / "index.db") as connection:
        return tuple(
            connection.execute(f"SELECT * FROM {name} ORDER BY 1").fetchall()
            for name in ("lexicon_terms", "lexicon_docsize")
        )


def test_it_follows_the_passages(notes: Path, tiny_model: Path, tmp_path: Path) -> None:
    index = search.Index.build(notes, model=str(tiny_model))
    (notes / "keys.md").write_text("# Keys\n\nQuite another text, about zebras.\n", encoding="utf-8")
    (notes / "deep" / "time.txt").unlink()
    (notes / "new.txt").write_text("A new file.", encoding="utf-8")
    (notes / "table.csv").rename(notes / "renamed.csv")
    index.update()
    connection = sqlite3.connect(index.path / "index.db")
    assert lexicon.is_sealed(connection)
    anew = sqlite3.connect(tmp_path / "anew.db", isolation_level=None)
    lexicon.create(anew)
    lexicon.fill(connection, anew)
    for table in ("lexicon_terms", "lexicon_docsize"):
        query = f"SELECT * FROM {table} ORDER BY 1"
        assert anew.execute(query).fetchall() == connection.execute(query).fetchall()
    assert {hit.document for hit in index.query("zebra", mode="lexical")} == {"keys.md"}
    assert index.query("water", mode="lexical") == []


def flipped(path: Path, table: str, column: str) -> None:
    """One bit of the longest value of a table that FTS5 keeps; not the lowest, which may change nothing.

    In the size of a position list it is the mark that the passage was deleted before, which FTS5 looks at where it
    merges lists without places. No answer rests on it, so a check does not find it.
    """
    with sqlite3.connect(path / "index.db") as connection:
        key, value = connection.execute(
            f"SELECT rowid, {column} FROM lexicon_{table} ORDER BY length({column}) DESC LIMIT 1"
        ).fetchone()
        data = bytearray(value)
        data[len(data) // 2] ^= 16
        connection.execute(f"UPDATE lexicon_{table} SET {column} = ? WHERE rowid = ?", (bytes(data), key))


@pytest.mark.parametrize(("table", "column"), [("data", "block"), ("docsize", "sz")])
def test_a_damaged_table_is_found_and_made_anew(index: search.Index, table: str, column: str) -> None:
    before = index.query("find the key in the water", k=100)
    flipped(index.path, table, column)
    again = search.Index.open(index.path)
    assert [f.check for f in again.check().findings if f.severity == "damaged"] == ["words"]
    assert again.repair().check.ok
    assert again.query("find the key in the water", k=100) == before
    assert again.notes == ()
    assert again.check().ok


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM lexicon_idx",  # on which page a word begins
        # The first page of a part begins at 0: all is found, until FTS5 merges this part with another.
        """UPDATE lexicon_data SET block = CAST(substr(block, 1, length(block) - 2) || x'00' ||
           substr(block, -1) AS BLOB) WHERE id = 10""",
    ],
)
def test_words_that_can_be_gone_through_and_not_looked_up_are_damage(
    tmp_path: Path, tiny_model: Path, statement: str
) -> None:
    (tmp_path / "notes").mkdir()
    for name in ("a", "b"):
        words = " ".join(f"{name}{i}" for i in range(2000))
        (tmp_path / "notes" / f"{name}.txt").write_text(words, encoding="utf-8")
        index = search.Index.build(tmp_path / "notes", model=str(tiny_model))
    with closing(sqlite3.connect(index.path / "index.db")) as connection, connection:
        connection.execute(statement)
    found = search.Index.open(index.path).check().findings
    assert [f.check for f in found if f.severity == "damaged"] == ["words"]


def test_a_table_that_lost_its_seal_is_made_anew(index: search.Index) -> None:
    before = tables(index.path)
    damage.execute(index.path, "DELETE FROM meta WHERE key = 'lexicon'")
    opened = search.Index.open(index.path)
    with pytest.raises(
        search.IndexDamaged, match="words of the index are damaged.*--mode dense.*repair --index"
    ):
        opened.query("key")
    assert opened.query("key", mode="dense")
    assert index.update().nothing_changed
    assert tables(index.path) == before
    assert index.check().ok


def hostile(rng: random.Random) -> Iterator[str]:
    """Texts that mean something to FTS5, to SQL or to a careless reader of characters, and random ones."""
    pieces = [
        *('"', "'", '""', "*", "^", ":", "+", "-", "(", ")", "{", "}", "\\", "%", "_", ";", "--", "/*", "`", "@x"),
        *("NOT", "AND", "OR", "NEAR", "NEAR(key lock, 2)", "text:key", "lexicon:", "key*", "^key", '"key', "rowid"),
        *("\0", "\x1a", "\x7f", "\ud800", "\udfff", "\ufeff", "\u202e", "\u200d", "😀", "👩\u200d👩", "ß", "İ", "ǅ"),
        *("漢字", "ｋｅｙ", "ﬁ", "key", "lock", "water", "multi-agent", "don't", "'; DROP TABLE lexicon; --"),
        *("e\u0301", "a" * 3000),
    ]  # fmt: skip
    while True:
        kind = rng.random()
        if kind < 0.6:
            yield rng.choice(["", " "]).join(rng.choices(pieces, k=rng.randint(1, 8)))
        elif kind < 0.9:
            yield "".join(
                chr(rng.choice([rng.randrange(0x250), rng.randrange(0x110000)]))
                for _ in range(rng.randint(1, 20))
            )
        else:
            yield "".join(rng.choices('"*^:()-+ kloc', k=rng.randint(1, 30)))


def test_ten_thousand_hostile_queries(index: search.Index) -> None:
    """None is an error, and none means more than its words: the answer is that of the bare words."""
    reader, own = Reader(index.path / "index.db"), Lexicon()
    rng, queries = random.Random(7), hostile(random.Random(11))
    with reader.reading() as connection:
        rows = connection.execute("SELECT id, context, text FROM passages").fetchall()
        stems = {id_: set(Stemmer().stems([indexable(context, text)])[0]) for id_, context, text in rows}
        for number in range(10_000):
            query = next(queries)
            terms = own.stemmer.terms(query, phrases=number % 2 == 1)
            ids, scores = bm25(own, connection, terms)
            assert (scores > 0).all() and len(ids) == len(set(ids.tolist()))
            if number % 2 == 0:
                wanted = {stem for term in terms for stem in term.stems if len(term.stems) == 1}
                single = all(len(term.stems) == 1 for term in terms)
                expected = {id_ for id_, there in stems.items() if there & wanted}
                assert set(ids.tolist()) == expected if single else set(ids.tolist()) >= expected
            for term in terms:
                assert query[term.start : term.end] == term.text
    for query in [next(queries) for _ in range(200)]:
        if re.search("[\ud800-\udfff]", query):
            with pytest.raises(InputError, match="no valid text"):
                index.query(query, mode="lexical")
        elif query.strip():
            hits = index.query(query, mode="lexical", phrases=rng.random() < 0.5)
            assert all(hit.score > 0 for hit in hits)
    assert index.check().ok


def test_words_cover_letters_and_digits() -> None:
    text = "Ünï_code getHTTPResponse2x e\u0301a 漢字 don't"
    spans = [text[start:end] for start, end in words(text)]
    assert spans == [
        *(
            "Ünï",
            "code",
            "getHTTPResponse2x",
            "get",
            "HTTP",
            "Response2x",
            "e\u0301a",
            "漢",
            "字",
            "don",
            "t",
        ),
    ]


@pytest.mark.parametrize("letter", ["a", "A", "7", "aB", "é", "ABc", "_", "字"])
def test_a_word_without_an_end_takes_no_time(letter: str) -> None:
    started = time.process_time()
    indexable("", letter * 50_000)
    assert time.process_time() - started < 1


def test_a_name_has_no_part_of_one_letter() -> None:
    text = "iPhone and iOS, vitaminC, 3D, getA"
    spans = [text[start:end] for start, end in words(text)]
    assert spans == ["iPhone", "Phone", "and", "iOS", "OS", "vitaminC", "vitamin", "3D", "getA", "get"]
    stems = Stemmer().stems([*spans, indexable("", text)])
    assert Counter(stems.pop()) == Counter(stem for (stem,) in stems)


def test_words_of_a_damaged_passage_stop_neither_updates_nor_repair(notes: Path, tiny_model: Path) -> None:
    for number in range(6):
        (notes / f"{number}.txt").write_text(f"A file about the water, number {number}.", encoding="utf-8")
    index = search.Index.build(notes, model=str(tiny_model))
    damage.execute(
        index.path,
        "UPDATE passages SET n_tokens = n_tokens + 1 WHERE id = 1",
        "DELETE FROM meta WHERE key = 'lexicon'",
    )
    for number in range(3):
        (notes / f"{number}.txt").write_text(f"Now about a door, number {number}.", encoding="utf-8")
    index.update()
    assert index.repair().check.ok
    assert {hit.document for hit in index.query("door", mode="lexical")} >= {"0.txt", "1.txt", "2.txt"}
    assert index.check().ok


def test_meaning_alone_needs_no_words(index: search.Index) -> None:
    before = index.query("the key is in the water", k=1, mode="dense")
    flipped(index.path, "data", "block")
    others = {hit.passage_id for hit in index.query("key", k=100, mode="dense")} - {before[0].passage_id}
    damage.execute(index.path, f"UPDATE passages SET n_tokens = n_tokens + 1 WHERE id = {min(others)}")
    again = search.Index.open(index.path)
    assert again.query("the key is in the water", k=1, mode="dense") == before
    assert again.notes == ()


def test_what_fts5_keeps_of_itself_is_checked_too(index: search.Index) -> None:
    with sqlite3.connect(index.path / "index.db") as connection:
        connection.execute("UPDATE lexicon_config SET v = 99 WHERE k = 'version'")
    again = search.Index.open(index.path)
    with pytest.raises(search.IndexDamaged, match="seewhy repair"):
        again.query("find the key", k=100)
    assert not again.check().ok
    with pytest.raises(search.IndexDamaged, match="--rebuild"):
        again.repair()


def test_a_term_weighs_something_whatever_an_index_says_of_itself() -> None:
    assert lexicon.weight(1, 10) == pytest.approx(math.log(9.5 / 1.5))
    assert lexicon.weight(9, 10) == lexicon.weight(5, 0) == 1e-6


def test_an_interrupt_does_no_harm() -> None:
    stemmer = Stemmer()

    def interrupted() -> Iterator[str]:
        yield "keys"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stemmer.stems(interrupted())
    assert stemmer.stems(["keys"]) == [("kei",)]
