"""The language of filters: what it means, and the errors for what it does not understand."""

import os
import random
import re
import sqlite3
import unicodedata
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime
from pathlib import Path

import pytest

from search import Index, InputError
from search.ranking.where import parse
from search.store.conditions import Value, as_date, as_number, comparing
from search.store.filters import matching
from tests.conftest import REPOSITORY
from tests.ranking.stored import add_document, empty

DOCUMENTS = {
    "guide": (b"docs/guide.md", {"lang": "en", "date": "2024-05-01", "tags": ["Python", "C++"], "pages": 12}),
    "deep": (b"docs/a/b/deep.md", {"lang": "EN", "date": "2023-12-31T23:30:00+02:00", "draft": True, "pages": 9}),
    "old": (b"old/docs.md", {"Lang": "fr-en", "date": "2001-07-05", "tags": [], "pages": "100", "draft": False}),
    "row": (b"t/cells.csv", {"price": "08.50", "lang": "", "done": "TRUE", "v1.0": "dot", "id": "x-1"}),
    "nested": (b"n.jsonl", {"author": {"name": "Ada", "Full Name": "Ada Lovelace"}, "by": [{"n": 1}, {"n": 2}]}),
    "odd": (
        b"odd \xff.md",
        {
            "it's": 1, 'a"b': 2, "a.b": 3, "$": 4, "": 5, "x y": 6, "'; DROP TABLE files; --": 7, "null": None,
            "[0]": 8, "title": "front", "nul\x00l": "a\x00b", "and": 9, "Straße": "Größe", "big": 2**70,
        },
    ),
}  # fmt: skip
KIND = {"row": "csv", "nested": "jsonl"}
PASSAGES = {"guide": (("", None), ("Keys > Rotation", 3), ("Keys > Loss of keys", 4))}


@pytest.fixture(scope="module")
def stored(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[sqlite3.Connection, dict[int, str]]]:
    """An index of DOCUMENTS, and the name of each passage: "guide", and "guide 2" for a second one."""
    with closing(empty(tmp_path_factory.mktemp("where"))) as connection:
        names = {}
        for name, (path, metadata) in DOCUMENTS.items():
            passages = PASSAGES.get(name, (("", None),))
            title = "How to rotate keys" if name == "guide" else name
            ids = add_document(
                connection,
                path,
                metadata,
                kind=KIND.get(name, "markdown"),
                title=title,
                passages=passages,
            )
            names |= {
                id_: f"{name} {number}" if number > 1 else name for number, id_ in enumerate(ids, 1)
            }
        yield connection, names


def matches(stored: tuple[sqlite3.Connection, dict[int, str]], text: str) -> list[str]:
    connection, names = stored
    ids = matching(connection, parse(text)).tolist()
    assert ids == sorted(set(ids))
    return [names[id_] for id_ in ids]


GUIDE = ["guide", "guide 2", "guide 3"]
ALL = [*GUIDE, "deep", "old", "row", "nested", "odd"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # paths, as in .gitignore
        ("path:docs/**", [*GUIDE, "deep"]),
        ("path:docs", [*GUIDE, "deep"]),
        ("path:/docs/*.md", GUIDE),
        ("path:*.md", [*GUIDE, "deep", "old", "odd"]),
        ("path:**/b/*", ["deep"]),
        ("path:DOCS/**", []),
        ('path:"odd ?.md"', ["odd"]),
        ("path=docs/guide.md", GUIDE),
        ("PATH:docs/[!g]*", ["deep"]),
        # text: any case of letters, whole values or whole words of them
        ("lang=en", [*GUIDE, "deep"]),
        ("LANG = 'En'", [*GUIDE, "deep"]),
        ("lang:en", [*GUIDE, "deep", "old"]),
        ("title:rotat*", GUIDE),
        ("title:otat*", []),
        ("title:*otat*", GUIDE),
        ("title:k?ys", GUIDE),
        ("title:'rotate keys'", GUIDE),
        ("title:rot*key", []),
        (r"title:rot\*", []),
        ("id:1", ["row"]),
        ("straSSe=GRÖSSE", ["odd"]),
        ("straße:gr*e", ["odd"]),
        ("lang>=f", ["old"]),
        # numbers, also those that are stored as text
        ("pages=12", GUIDE),
        ("pages>9", [*GUIDE, "old"]),
        ("pages>=9 and pages<100", [*GUIDE, "deep"]),
        ("pages='12'", GUIDE),
        ("pages='012'", []),
        ("price=8.5", ["row"]),
        ("price<=8.5e0", ["row"]),
        ("big=1180591620717411303424", ["odd"]),
        ("big>1180591620717411303423", ["odd"]),
        # dates
        ("date>=2024-01-01", GUIDE),
        ("date>2024", []),
        ("date>=2024", GUIDE),
        ("date<=2023", ["deep", "old"]),
        ("date<2023-12", ["old"]),
        ("date=2023-12-31", ["deep"]),
        ("date=2023-12-31T21:30Z", ["deep"]),
        ("date<2023-12-31T21:31:00+00:00 and date>2023-12-31T22:29+01:00", ["deep"]),
        ("date=2001-07", ["old"]),
        # lists, yes and no
        ("tags=c++", GUIDE),
        ("tags:py*", GUIDE),
        ("tags in (ruby, PYTHON)", GUIDE),
        ("draft=true", ["deep"]),
        ("draft=false", ["old"]),
        ("draft=1", []),
        ("done=true", ["row"]),
        # what is there
        ("has tags", GUIDE),
        ("has lang", [*GUIDE, "deep", "old"]),
        ("has author", ["nested"]),
        ("has page", ["guide 2", "guide 3"]),
        ("not has heading", ["guide", "deep", "old", "row", "nested", "odd"]),
        ('has "null"', []),
        # passages
        ("page>=4", ["guide 3"]),
        ("page!=3", [name for name in ALL if name != "guide 2"]),
        ("heading:keys", ["guide 2", "guide 3"]),
        ("heading:'loss of key*'", ["guide 3"]),
        ("page=3 or kind=csv", ["guide 2", "row"]),
        ("kind in (CSV, jsonl)", ["row", "nested"]),
        # or, and, not
        ("lang!=en", ["old", "row", "nested", "odd"]),
        ("not lang=en", ["old", "row", "nested", "odd"]),
        ("not lang in (en, fr-en) and has lang", []),
        ("kind=csv or lang=en and draft=true", ["deep", "row"]),
        ("(kind=csv or lang=en) and draft=true", ["deep"]),
        ("not kind=csv and not(lang=en)", ["old", "nested", "odd"]),
        ("NOT NOT kind=csv", ["row"]),
        ("path:** Or has page", ALL),
        # names
        ("author.name=ada", ["nested"]),
        ("AUTHOR.'full name':lovelace", ["nested"]),
        ("by.n=2", ["nested"]),
        ("v1.0=dot", ["row"]),
        ('"v1.0"=dot', ["row"]),
        ('"it\'s"=1', ["odd"]),
        ("'it''s'=1", ["odd"]),
        ('"a""b"=2', ["odd"]),
        ("a.b=3", ["odd"]),
        ("$=4", ["odd"]),
        ("''=5", ["odd"]),
        ("'x y'=6", ["odd"]),
        ('"\'; DROP TABLE files; --"=7', ["odd"]),
        ("[0]=8", ["odd"]),
        ("metadata.title=front", ["odd"]),
        ("title=front", []),
        ("'and'=9", ["odd"]),
        ("'nul\x00l'='a\x00b'", ["odd"]),
    ],
)
def test_a_filter_finds_the_matching_passages(
    stored: tuple[sqlite3.Connection, dict[int, str]], text: str, expected: list[str]
) -> None:
    assert matches(stored, text) == expected


@pytest.mark.parametrize(
    ("text", "column", "problem"),
    [
        ("lang=", 6, "expected a value after '=', found the end"),
        ("lang==en", 6, "found '='"),
        ("lang", 5, "expected one of = != < <= > >= : in, after the field 'lang'"),
        ("lang~en", 8, "expected one of ="),
        ("=en", 1, "expected the name of a field"),
        ("lang=en kind=csv", 9, "expected 'and', 'or' or the end, found 'kind'"),
        ("lang=en, kind=csv", 8, "found ','"),
        ("lang=en and", 12, "expected the name of a field, found the end"),
        ("(lang=en", 9, "')' for the '(' in column 1"),
        ("lang=en)", 8, "found ')'"),
        ("lang='en", 6, "unclosed quote"),
        ("lang=e'n", 7, "quote inside a value"),
        ("lang in en", 9, "expected '(' and a list of values, found 'en'"),
        ("lang in ()", 10, "expected a value, found ')'"),
        ("lang in (en", 12, "expected ',' or ')', found the end"),
        ("lang not in (en)", 6, "expected one of ="),
        ("title=how to", 11, "needs quotes"),
        ("or=1", 1, "quote it if it is one of these words"),
        ("a.=1", 3, "expected the name of a field, found '='"),
        ("has kind=csv", 9, "expected 'and', 'or' or the end, found '='"),
        ("path:'!docs'", 6, "invalid pattern"),
        ("path:#docs", 6, "invalid pattern"),
        ("kind=md", 6, "unknown kind 'md'; choose from markdown, rst"),
        ("page>three", 6, "for example page>=3"),
        ("lnag=en", 1, "no document has a field 'lnag'; did you mean 'lang'"),
        ("kind=csv or not tgas=a", 17, "did you mean 'tags'"),
        ("pth:docs", 1, "did you mean 'path'"),
        ("has autor", 5, "did you mean 'author.name'"),
        ("author.nam=a", 1, "did you mean 'author.name'"),
        ("zzzzzz=1", 1, "known fields are heading, kind, mtime, name, page, path, size, text, title, "),
    ],
)
def test_errors_point_into_the_filter(
    stored: tuple[sqlite3.Connection, dict[int, str]], text: str, column: int, problem: str
) -> None:
    with pytest.raises(InputError) as error:
        matches(stored, text)
    message, filter_line, caret = str(error.value).split("\n")
    assert message.startswith(f"in the filter, column {column}: ")
    assert problem in message
    assert (filter_line, caret) == (f"  {text}", " " * (column + 1) + "^")


def test_errors_show_a_long_filter_around_the_place() -> None:
    with pytest.raises(InputError) as error:
        parse("kind=csv or " * 20 + "lang lang\t\x1b" + " or kind=csv" * 20)
    message, filter_line, caret = str(error.value).split("\n")
    assert "column 246" in message
    assert filter_line.startswith("  ...") and filter_line.endswith("...") and len(filter_line) < 110
    assert filter_line.isprintable()
    assert filter_line[len(caret) - 1 :].startswith("lang  ")


def test_an_empty_filter_is_refused() -> None:
    for text in ("", " \n"):
        with pytest.raises(InputError, match="the filter is empty"):
            parse(text)


def test_conditions_are_limited_in_number_and_depth(
    stored: tuple[sqlite3.Connection, dict[int, str]],
) -> None:
    assert matches(stored, " or ".join(["kind=csv"] * 256)) == ["row"]
    assert matches(stored, "(" * 20 + "kind=csv" + ")" * 20) == ["row"]
    assert matches(stored, "not " * 20 + "kind=csv") == ["row"]
    assert matches(stored, "not (kind=jsonl or " * 10 + "kind=csv" + ")" * 10) == ["row"]
    assert matches(stored, "(kind=csv or (kind!=csv and " * 10 + "page=1" + "))" * 10) == ["row"]
    assert matches(stored, f"kind=csv and not lang in ({', '.join(map(str, range(5000)))})") == ["row"]
    with pytest.raises(InputError, match="more than 256 conditions"):
        parse(" or ".join(["kind=csv"] * 257))
    for text in ("(" * 5000 + "kind=csv", "not " * 2000 + "kind=csv"):
        with pytest.raises(InputError, match="nested more than 20 levels deep"):
            parse(text)


def test_nothing_that_is_typed_is_sql(stored: tuple[sqlite3.Connection, dict[int, str]]) -> None:
    connection, names = stored
    attempts = [
        "1'; DROP TABLE files; --",
        '") OR 1=1 --',
        "x' OR '1'='1",
        "?",
        ":a",
        "$.a",
        "%",
        "_",
        "\\",
        "x\x00y",
    ]
    for attempt in attempts:
        single, double = attempt.replace("'", "''"), attempt.replace('"', '""')
        assert matches(stored, f"lang='{single}'") == []
        assert matches(stored, f'title in ("{double}")') == []
        if attempt != "?":
            assert matches(stored, f"title:'{single}'") == []
        with pytest.raises(InputError, match="no document has a field"):
            matches(stored, f"'{single}'=1")
    assert len(names) == connection.execute("SELECT count(*) FROM passages").fetchone()[0]


def test_any_text_is_read_or_refused() -> None:
    """Whatever is typed, there is a tree or an InputError that points into the text."""
    pieces = ["and", "or", "not", "in", "has", "(", ")", ",", "=", "!=", "<", ">=", ":", "'", '"', ".", " ", "a",
              "path", "kind", "csv", "2024", "2024-13", "page", "é", "\x00", "\ud800", "*", "\\", "#", "!",
              "\n"]  # fmt: skip
    chance = random.Random(0)
    valid = 0
    for _ in range(5000):
        text = chance.choice(["", " "]).join(chance.choices(pieces, k=chance.randint(1, 9)))
        try:
            parse(text)
            valid += 1
        except InputError as error:
            assert "the filter is empty" in str(
                error
            ) or f"column {str(error).split('column ')[1][0]}" in str(error)
    assert valid > 50


def test_numbers_and_dates_are_recognised() -> None:
    assert [as_number(text) for text in ("8", " 08 ", "-1.5", ".5", "1e3", "9" * 40)] == [
        8, 8, -1.5, 0.5, 1000.0, int("9" * 40),
    ]  # fmt: skip
    for text in ("", "1,000", "1_000", "nan", "inf", "1e999", "0x10", "١", "9" * 101, "1 2", "v1", True):
        assert as_number(text) is None, text
    dates = {
        "2024": ("2024-01-01T00:00:00", "2024-12-31T23:59:59.999999"),
        "2024-02": ("2024-02-01T00:00:00", "2024-02-29T23:59:59.999999"),
        " 9999-12-31 ": ("9999-12-31T00:00:00", "9999-12-31T23:59:59.999999"),
        "2024-05-01 10:20": ("2024-05-01T10:20:00", "2024-05-01T10:20:59.999999"),
        "2024-05-01T10:20:30Z": ("2024-05-01T10:20:30", "2024-05-01T10:20:30.999999"),
        "2024-05-01T00:20:30,5+02:00": ("2024-04-30T22:20:30.500000", "2024-04-30T22:20:30.500000"),
        "2024-05-01t10:20-0030": ("2024-05-01T10:50:00", "2024-05-01T10:50:59.999999"),
    }
    for text, range_ in dates.items():
        date = as_date(text)
        assert date is not None, text
        assert tuple(datetime.min + moment for moment in date) == tuple(
            map(datetime.fromisoformat, range_)
        ), text
    for text in ("", "2023-02-29", "2024-13", "0000", "24-01-01", "5 Jul 2001", "July 5, 2001", "2024-05-01T25:00",
                 "2024-05-01T10:20+02", "2024-05-01+02:00", "today", 2024.5):  # fmt: skip
        assert as_date(text) is None, text


def test_patterns_match_within_a_moment() -> None:
    assert not comparing(":", Value("*a" * 50 + "b", True))("a" * 20_000)
    assert comparing(":", Value("a*b", True))("x a" + "a" * 20_000 + "b")


def test_accents_match_in_either_form_beside_paths_that_are_no_text(tmp_path: Path) -> None:
    with closing(empty(tmp_path)) as connection:
        decomposed = unicodedata.normalize("NFD", "café")
        (first,) = add_document(connection, os.fsencode(f"{decomposed}/a.md"), {decomposed: decomposed})
        add_document(connection, b"\xff\xfe/b.md", {})
        for text in ("path:café/**", f"path:{decomposed}", "path=CAFÉ/A.md", "café=CAFÉ", "café:caf?"):
            assert matching(connection, parse(text)).tolist() == [first], text


def test_a_filter_matches_nothing_in_an_empty_index(tmp_path: Path) -> None:
    with closing(empty(tmp_path)) as connection:
        ids = matching(connection, parse("lang=en"))
        assert (ids.tolist(), ids.dtype) == ([], "int64")


def test_each_filter_of_the_handbook_can_be_copied(tmp_path: Path, tiny_model: Path) -> None:
    """Over the folder that the handbook speaks of; some are of files that are not in it."""
    page = (REPOSITORY / "corpora" / "handbook" / "39-filters.md").read_text(encoding="utf-8")
    examples = re.findall(
        r"^\| [^|]+ \| `([^`]+)`",
        page.partition("## Examples to copy")[2].partition("##")[0],
        re.MULTILINE,
    )
    household = REPOSITORY / "corpora" / "household"
    index = Index.build(household, index=str(tmp_path / "index"), model=str(tiny_model))
    passages, counts = index.status().passages, dict[str, int]()
    for example in examples:
        try:
            counts[example] = len(index.query("a", k=10_000, mode="dense", where=example))
        except InputError as error:
            assert re.search("no document has a field|no such topic", str(error)), example
    assert len(examples) == 15 and len(counts) >= 10
    assert sum(0 < count < passages for count in counts.values()) >= 7, counts
