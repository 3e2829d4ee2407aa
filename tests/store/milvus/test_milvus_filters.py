"""Filters on a Milvus server: the same passages as in the folder's index, or a refusal that says why."""

import json
import random
import re
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from datetime import date, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pymilvus import DataType

from search import InputError
from search.ranking.where import parse
from search.records.documents import Annotation
from search.store.checksums import content_key
from search.store.database import one_meta, put_meta
from search.store.facets import facets_of
from search.store.filters import Filters
from search.store.milvus.address import Address
from search.store.milvus.catalogue import document_metadata, documents_named, facets
from search.store.milvus.client import Client
from search.store.milvus.facts import annotator_row
from search.store.milvus.fields import catalog, fields_of, ordered
from search.store.milvus.filters import passing
from search.store.milvus.generation import Generation, View
from search.store.milvus.layout import FIELDS, KEY, NOTHING
from search.store.milvus.rows import document_row, passage_row
from search.store.named import documents_named as named_in_folder
from search.store.passages import annotators, stored_passages
from tests.milvus_server import MilvusServer
from tests.ranking.stored import add_annotation, add_annotator, add_document, add_embedding, empty

REFUSED = "cannot be asked of an index on Milvus"

WORDS = ["key", "lock", "Über", "C++", "a_b", "Straße", "of", "Ⅷ", "100%"]
FOLDERS = ["", "docs/", "docs/api/", "docs/api/v1/", "notes/", "old/docs/", "é/"]
NAMES = ["a.md", "README.md", "test_a.py", "2024", "key lock.txt", "B.MD", "x-1.csv"]
NUMBERS = [0, 8, "08", 8.0, -1, -1.5, 2**53, 2**53 + 1, 2**70, 1e-300, "1e3", 2024, "2024", "-0.5", 0.1]
DATES = [
    "2024-05-01", "2024-05", "2024", "2023-12-31T23:30:00+02:00", "2023-12-31T23:30:00", "2024-02-29 10:00Z",
    "2024-05-01T10:00:00.5", "0001-01-01T00:00+02:00", "9999-12-31", "2024-05-01T10:00",
]  # fmt: skip
OTHERS = [
    True,
    False,
    "true",
    "",
    " ",
    None,
    {},
    {"deep": 1},
    {"deep": ["x", {"er": "key"}]},
    [],
    [None],
    [[1, "b"]],
]
METADATA = ["lang", "Lang", "n", "when", "tags", "author", "a.b", "x y", "title", "Größe"]


def some_value(chance: random.Random) -> Any:
    kind = chance.randrange(6)
    if kind == 5:
        return [some_value(chance) for _ in range(chance.randrange(4))]
    if kind == 4:
        return " ".join(chance.choices(WORDS, k=chance.randint(1, 3)))
    return chance.choice([NUMBERS, DATES, OTHERS, WORDS][kind])


def fill(connection: sqlite3.Connection, chance: random.Random) -> None:
    add_annotator(connection, "ner", ["person", "TAGS"])
    add_annotator(connection, "moods", ["mood", "nothing of it"])
    for number in range(45):
        path = chance.choice(FOLDERS) + chance.choice(NAMES)
        metadata = {name: some_value(chance) for name in METADATA if chance.random() < 0.5}
        if chance.random() < 0.5:
            metadata["author"] = {
                "name": chance.choice(WORDS),
                "Lang": some_value(chance),
                "a": {"b": number},
            }
        passages = tuple(
            (" > ".join(chance.choices(WORDS, k=chance.randint(0, 2))), chance.choice([None, 1, 2, 10]))
            for _ in range(chance.randint(1, 3))
        )
        ids = add_document(
            connection, path.encode(), metadata, kind=chance.choice(["markdown", "csv"]), passages=passages,
            title=" ".join(chance.choices(WORDS, k=2)), record=number,
        )  # fmt: skip
        for id_ in ids:
            add_embedding(connection, id_, np.zeros(4))
            if chance.random() < 0.7:
                said = {
                    "person": chance.sample(WORDS, chance.randint(0, 2)),
                    "TAGS": chance.choice([["key"], "x", 3]),
                }
                add_annotation(connection, id_, "ner", said)
            if chance.random() < 0.5:
                add_annotation(connection, id_, "moods", {"mood": chance.randint(0, 9) / 10})
    connection.execute("UPDATE embeddings SET content = ?", (content_key("", "x"),))
    for (file,) in connection.execute("SELECT id FROM files").fetchall():
        moment = date(2024, 1, 1) + timedelta(chance.randint(0, 300))
        mtime = int(moment.strftime("%s")) * 10**9 + chance.randint(0, 86_399_999_999) * 1000
        facts = chance.choice([-1, 0, 8, 10_000]), chance.choice([mtime, mtime, -1]), file
        connection.execute("UPDATE files SET size = ?, mtime_ns = ? WHERE id = ?", facts)


@dataclass
class Both:
    """An index in a folder, and the same on a server."""

    connection: sqlite3.Connection
    view: View

    def local(self, text: str) -> tuple[list[int], tuple[str, ...]]:
        ids, said = Filters().matching(self.connection, parse(text))
        return ids.tolist(), said

    def served(self, text: str) -> tuple[list[int], tuple[str, ...]]:
        chosen, said = passing(self.view, parse(text))
        return chosen.tolist(), said

    def agree(self, text: str) -> bool:
        """Whether the server was asked; False if it refused, or both did."""
        try:
            expected: Any = self.local(text)
        except InputError as error:
            with pytest.raises(type(error), match=re.escape(str(error))):
                self.served(text)
            return False
        try:
            assert self.served(text) == expected, text
        except InputError as error:
            assert REFUSED in str(error), text
            return False
        return True


def publish(connection: sqlite3.Connection, uri: str) -> View:
    """As the publisher does, but for words and meaning."""
    ids = [id_ for (id_,) in connection.execute("SELECT id FROM passages")]
    stored, root = stored_passages(connection, ids), one_meta(connection, "root")
    view = View(
        Client(Address.parse(uri)),
        Generation(
            1, 1, "", len(ids), len({one.document_id for one in stored.values()}), 0, 1.0, 1.0, {}, root, {},
            annotators=[annotator_row(one) for one in annotators(connection)],
            fields=json.loads(json.dumps(catalog(connection))),
            facets=json.loads(json.dumps([asdict(one) for one in facets_of(connection, None)])),
        ),
    )  # fmt: skip
    said: dict[int, dict[str, Annotation]] = {id_: {} for id_ in ids}
    for passage, annotator, values in connection.execute(
        'SELECT passage, annotator, "values" FROM annotations'
    ):
        said[passage][annotator] = Annotation(passage, json.loads(values))
    rows = [
        passage_row(one, root, 1, tokens=1, said=said[one.id])
        | {FIELDS: fields_of(one, root), NOTHING: [0.0, 0.0]}
        for one in stored.values()
    ]
    documents = {one.document_id: document_row(one, root, 1) for one in stored.values()}
    for kind, made in (("passages", rows), ("documents", list(documents.values()))):
        view.client.create(view.collection(kind), partial(add_fields, made[0]), add_index)
        view.client.put(view.collection(kind), made)
    return view


def add_fields(row: dict[str, Any], schema: Any) -> None:
    types = {str: DataType.VARCHAR, int: DataType.INT64, dict: DataType.JSON, list: DataType.FLOAT_VECTOR}
    for name, value in row.items():
        kind, more = types[type(value)], {"is_primary": True} if name == KEY else {}
        longest = {"max_length": 65_535} if kind == DataType.VARCHAR else {}
        schema.add_field(
            name, kind, **more, **longest, **({"dim": 2} if kind == DataType.FLOAT_VECTOR else {})
        )


def add_index(indexes: Any) -> None:
    indexes.add_index(NOTHING, index_type="FLAT", metric_type="IP")


@pytest.fixture(scope="module")
def both(milvus_server: MilvusServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Both]:
    folder = tmp_path_factory.mktemp("filters")
    with closing(empty(folder)) as connection:
        put_meta(connection, {"root": str(folder)})
        connection.execute("BEGIN")
        fill(connection, random.Random(20))
        connection.execute("COMMIT")
        look_at = connection.execute("SELECT path FROM files WHERE mtime_ns = -1").fetchone()[0].decode()
        (folder / look_at).parent.mkdir(parents=True, exist_ok=True)
        (folder / look_at).write_text("just changed", encoding="utf-8")
        yield Both(connection, publish(connection, f"{milvus_server.uri}/filters"))


def a_condition(chance: random.Random) -> str:
    """Of the common shapes: what is typed is often there, and often not."""
    word, number, moment = chance.choice(WORDS), chance.choice(NUMBERS), chance.choice(DATES)
    name = chance.choice(["lang", "LANG", "n", "when", "tags", "author.name", "author.lang", "author.a.b", "a.b",
                          "'x y'", "metadata.title", "'größe'", "person", "mood", "author", "path", "name", "title",
                          "heading"])  # fmt: skip
    operator = chance.choice(["=", "!=", "<", "<=", ">", ">="])
    value = chance.choice(
        [f"'{word}'", f"'{word.upper()}'", number, moment, f"'{number}'", f"'{moment}'", "true"]
    )
    value = f"'{value}'" if " " in str(value) and str(value)[0] != "'" else value
    folder, glob = (
        chance.choice(FOLDERS).rstrip("/"),
        chance.choice(["*.md", "test_*", "*a*", "2024", "*.m*d"]),
    )
    day = date(2024, 1, 1) + timedelta(chance.randint(0, 300))
    return chance.choice([
        f"{name}{operator}{value}", f"{name}{operator}{value}", f"{name} in ({value}, '{word}')", f"has {name}",
        f"{name}:'{word}'", f"{name}:'{word[:2]}*'", f"{name}:'*{word[1:]}'", f"{name}:'{word} of'",
        f"path:'{folder or '*'}/**'", f"path:'{folder or 'a'}'", f"path:{glob}", f"name:{glob}", f"path:'/{glob}'",
        f"path:'{folder}/{glob}'", f"path:'**/api/{glob}'", "path:'d*/a*/'", f"kind{chance.choice(['=', '!='])}csv",
        f"page{operator}{chance.randint(0, 11)}", "has page", f"size{operator}{chance.choice([0, 8, '10kB'])}",
        "has size", f"{chance.choice(['kind', 'page', 'size'])}:1",
        f"mtime{operator}{chance.choice([day, f'{day:%Y-%m}', 2024, f'{day}T12:00'])}", "has mtime",
    ])  # fmt: skip


def a_filter(chance: random.Random, depth: int = 0) -> str:
    form = chance.choice(["one", "one", "not", "and", "or"]) if depth < 3 else "one"
    if form == "one":
        return a_condition(chance)
    if form == "not":
        return f"not ({a_filter(chance, depth + 1)})"
    return f"({a_filter(chance, depth + 1)}) {form} ({a_filter(chance, depth + 1)})"


def test_random_filters_find_the_same_passages(both: Both) -> None:
    """What the index in the folder refuses, as an order of what has no such value, is refused in the same words."""
    chance = random.Random(3)
    sizes, answered, total = set[int](), 0, both.view.generation.passages
    for _ in range(300):
        text = a_filter(chance)
        if both.agree(text):
            answered += 1
            found = len(both.local(text)[0])
            sizes.add(min(found, 2) + (found == total))
    assert sizes == {0, 1, 2, 3}  # nothing, one, some, all
    assert answered > 280


def test_what_has_no_field_passes_what_is_not_said_of_it(both: Both) -> None:
    """A server need not have an unknown truth value to be right, nor must it have none."""
    for text in (
        "lang != key",
        "not mood > 0.5",
        "not page < 5",
        "not (lang:k* or mtime < 2024-06)",
        "not has size",
    ):
        assert both.agree(text)
        expression = passing(both.view, parse(text))[0].expression
        guarded = re.findall(r'exists (fields\["\w+"\]) and \1 (?:<|>|like)', expression)
        assert len(guarded) == len(re.findall(r'"\] (?:<|>|like)', expression))
    chosen, said = passing(both.view, parse("not mood > 0.5"))
    assert len(chosen) == len(np.asarray(chosen)) == len(both.local("not mood > 0.5")[0])
    assert "have not been looked at for 'moods' yet" in said[0]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("title:k?y", "a pattern can have '*', but no '?'"),
        ("tags:'k*y'", "could lead from one value to another"),
        (f"title<'{'x' * 32}'", "first 31 letters alone"),
        ("name:[ab]*", "a pattern of names can have '*' alone"),
        ("path:'a/?.md' or page=1", "a pattern of names can have '*' alone"),
        ("path:'[a-d]ocs/*.md'", "a pattern of paths can have"),
    ],
)
def test_what_a_server_cannot_be_asked_is_refused_by_name(both: Both, text: str, why: str) -> None:
    both.local(text)
    with pytest.raises(InputError, match=re.escape(why)) as caught:
        both.served(text)
    assert REFUSED in str(caught.value)
    assert "ask the index in the folder" in str(caught.value)


@pytest.mark.parametrize(
    "text", ["lnag=en", "personn=x", "nothing=3", "'nothing of it'=3", "author.name>2024-05"]
)
def test_fields_that_nothing_has_are_refused_in_the_same_words(both: Both, text: str) -> None:
    both.agree(text)


@pytest.mark.parametrize("zone", ["America/New_York", "Asia/Kathmandu"])
def test_times_of_files_are_those_of_who_asks(both: Both, monkeypatch: pytest.MonkeyPatch, zone: str) -> None:
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        for operator in ("=", "<", "<=", ">", ">="):
            for moment in ("2024-05-01", "2024-07", "2024-03-10T12:00", "2024"):
                assert both.agree(f"mtime{operator}{moment}")
        if zone == "America/New_York":
            with pytest.raises(InputError, match="the clock was changed at 2024-11-03 01:30"):
                both.served("mtime<2024-11-03T01:30")
    finally:
        monkeypatch.undo()
        time.tzset()


def test_numbers_keep_all_their_digits_and_their_order() -> None:
    chance = random.Random(1)
    numbers: list[int | float] = [0, 2**53, 2**53 + 1, float(2**53), 10**300, 5e-324, 1.7e308, 8, 8.0, 0.1]
    numbers += [chance.randint(-(2 ** chance.randint(1, 90)), 2**60) for _ in range(300)]
    numbers += [chance.gauss(0, 1) * 10.0 ** chance.randint(-20, 20) for _ in range(300)]
    numbers += [-number for number in numbers]
    chance.shuffle(numbers)
    assert [ordered(number) for number in sorted(numbers)] == sorted(map(ordered, numbers))
    assert len(set(numbers)) == len(set(map(ordered, numbers)))


def test_a_value_that_is_too_long_is_not_guessed_at(milvus: str, tmp_path: Path) -> None:
    with closing(empty(tmp_path)) as connection:
        put_meta(connection, {"root": str(tmp_path)})
        many = {"many": {f"key {number}": number for number in range(3000)}}
        long = {"text": "a word " * 3000, "whole": ["a"] * 9000}
        for name, metadata in (("a.md", {"lang": "en"}), ("b.md", {"lang": "de"} | many), ("c.md", long)):
            for id_ in add_document(connection, name.encode(), metadata):
                add_embedding(connection, id_, np.zeros(4))
        connection.execute("UPDATE embeddings SET content = ?", (content_key("", "x"),))
        served = Both(connection, publish(connection, milvus))
        rows = served.view.client.query(served.view.collection("passages"), "passage > 0", [FIELDS])
        assert max(len(json.dumps(row[FIELDS])) for row in rows) < 65_536
        for text in ("lang=en", "lang=de", "has text", "text='a'", "whole=a", "not whole=b", "whole:a"):
            assert served.agree(text)
        with pytest.raises(InputError, match=f"(?s)'text:' {REFUSED} here: a value is too long for patterns"):
            served.served("text:word")
        kept = [served.agree(f"many.'key {number}'={number}") for number in range(0, 3000, 100)]
        assert True in kept
        assert False in kept  # these are refused by name: `agree` has seen to it


def test_a_document_of_too_many_fields_is_named(both: Both) -> None:
    (stored,) = stored_passages(both.connection, [1]).values()
    many = replace(stored, metadata={str(number): number for number in range(6000)})
    with pytest.raises(
        InputError, match=f"'{re.escape(stored.document)}' has 6,00. fields, too many for Milvus"
    ):
        fields_of(many, both.view.generation.root)


def test_facets_and_names_are_those_of_the_folder(both: Both) -> None:
    assert facets(both.view, None) == facets_of(both.connection, None)
    for text in ("kind=csv", "has person and page=1", "lang=nobody"):
        among = np.array(both.local(text)[0], dtype=np.int64)
        assert facets(both.view, parse(text)) == facets_of(both.connection, among), text
    for part in ("", "KEY", "docs a.md", "über", "nobody"):
        for most in (3, 1000):
            assert documents_named(both.view, part, most) == named_in_folder(both.connection, part, most)
    written = both.connection.execute("SELECT metadata FROM documents ORDER BY id")
    assert list(document_metadata(both.view)) == [json.loads(metadata) for (metadata,) in written]
