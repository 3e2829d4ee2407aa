"""Words: what they find, that they follow the passages, and that nothing typed is syntax."""

import random
import re
import shutil
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import search
from search import InputError, Question
from search.store.snapshot import Store
from search.store.terms import Stemmer, indexable, word_spans
from tests.store import damage


@pytest.fixture
def index(notes: Path, tiny_model: Path) -> search.Index:
    return search.Index.build(notes, model=str(tiny_model))


def texts_of(index: search.Index, query: str, **options: bool) -> set[str]:
    return {hit.text for hit in index.query(query, k=100, mode="lexical", **options)}


@pytest.fixture
def lines(tmp_path: Path, tiny_model: Path) -> search.Index:
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
def test_a_query_finds_the_texts_with_its_words(
    lines: search.Index, query: str, expected: set[str]
) -> None:
    assert texts_of(lines, query) == expected


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


def test_a_thousand_hostile_queries_answer_as_their_bare_words(index: search.Index) -> None:
    """None is an error, and none means more than its words: the answer is that of the bare words."""
    rng, queries = random.Random(7), hostile(random.Random(11))
    with Store(index.path).reading() as snapshot:
        rows = snapshot.connection.execute("SELECT id, context, text FROM passages").fetchall()
        stems = {id_: set(Stemmer().stems([indexable(context, text)])[0]) for id_, context, text in rows}
        for number in range(1_000):
            query = next(queries)
            terms = snapshot.terms(query)
            ids, scores = snapshot.keyword_scores(terms).best(len(rows))
            assert (scores > 0).all() and len(ids) == len(set(ids.tolist()))
            if number % 2 == 0:
                query_stems = {stem for term in terms for stem in term.stems if len(term.stems) == 1}
                single = all(len(term.stems) == 1 for term in terms)
                expected = {id_ for id_, passage_stems in stems.items() if passage_stems & query_stems}
                assert set(ids.tolist()) == expected if single else set(ids.tolist()) >= expected
            for term in terms:
                assert query[term.start : term.end] == term.text
    for query in [next(queries) for _ in range(60)]:
        if re.search("[\ud800-\udfff]", query):
            with pytest.raises(InputError, match="not valid text"):
                index.query(query, mode="lexical")
        elif query.strip():
            hits = index.query(rng.choice([query, Question.of(query)]), mode="lexical")
            assert all(hit.score > 0 for hit in hits)
    assert index.check().ok


def test_words_cover_letters_and_digits() -> None:
    text = "Ünï_code getHTTPResponse2x e\u0301a 漢字 don't"
    spans = [text[start:end] for start, end in word_spans(text)]
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
def test_a_very_long_word_is_split_within_a_second(letter: str) -> None:
    started = time.process_time()
    indexable("", letter * 50_000)
    assert time.process_time() - started < 1


def test_an_identifier_has_no_part_of_one_letter() -> None:
    text = "iPhone and iOS, vitaminC, 3D, getA"
    spans = [text[start:end] for start, end in word_spans(text)]
    assert spans == ["iPhone", "Phone", "and", "iOS", "OS", "vitaminC", "vitamin", "3D", "getA", "get"]
    stems = Stemmer().stems([*spans, indexable("", text)])
    assert Counter(stems.pop()) == Counter(stem for (stem,) in stems)


FAR = "\u05d0"  # a word that only the careful way looks for


def test_words_of_latin_texts_equal_a_scan_letter_by_letter() -> None:
    blocks = ((0, 0x2FF), (0x370, 0x482), (0x48A, 0x590), (0x2000, 0x20CF), (0x2100, 0x2BFF))
    near = [chr(code) for first, last in blocks for code in range(first, last + 1)]
    rng = random.Random(0)
    texts = [f"a{letter}B {letter}{letter}1" for letter in near]
    texts += ["".join(rng.choices([*"aZ9_ é\u2019", *near], k=20)) for _ in range(500)]
    for text in texts:
        *slowly, last = word_spans(f"{text} {FAR}")
        assert last == (len(text) + 1, len(text) + 2)
        assert list(word_spans(text)) == slowly


def test_combining_marks_stay_in_words_and_ideographs_are_words() -> None:
    assert list(word_spans("e\u0301a 中文b")) == [(0, 3), (4, 5), (5, 6), (6, 7)]


def test_a_dense_query_needs_no_postings(index: search.Index, tmp_path: Path) -> None:
    before = index.query("the key is in the water", k=1, mode="dense")
    copy = Path(shutil.copytree(index.path, tmp_path / "copy"))
    for file in (copy / "ann").glob("*.words"):
        damage.flip(file)
    again = search.Index.open(copy)
    hits = again.query("the key is in the water", k=1, mode="dense")
    assert [(hit.passage_id, hit.score) for hit in hits] == [
        (hit.passage_id, hit.score) for hit in before
    ]
