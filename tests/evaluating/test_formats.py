"""Judged data in every format, and every way in which it can be malformed."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from search.errors import InputError
from search.evaluating.formats import (
    Entry,
    Pair,
    Query,
    Retrieval,
    SentencePairs,
    Span,
    Spans,
    read_conll,
    read_dataset,
    read_examples,
)
from search.records.predictions import Example
from tests.conftest import DATA
from tests.evaluating.conftest import CORPORA, write_lines, write_qrels


def message(source: Path, **asked: str) -> str:
    with pytest.raises(InputError) as caught:
        read_dataset(source, **asked)  # type: ignore[arg-type]
    return str(caught.value)


def test_beir(beir: Path) -> None:
    found = read_dataset(beir)
    assert isinstance(found, Retrieval)
    assert (found.name, found.split, found.folder) == ("tiny-set", "test", beir)
    assert [query.id for query in found.queries] == ["q1", "q2", "q4"]
    assert found.unjudged == ("q3",)
    assert found.judgements["q4"] == {"d3": 1, "d1": 0}
    assert found.entries["d2"] == Entry("", "many people say that time is long.")
    assert found.entries["d1"].whole.startswith("keys to rotate")
    assert found.entries["d2"].whole.startswith("many people")


def test_beir_splits(beir: Path) -> None:
    write_qrels(beir, [("q3", "d4", 1)], "dev")
    found = read_dataset(beir, split="dev")
    assert isinstance(found, Retrieval)
    assert [query.id for query in found.queries] == ["q3"]
    assert "there are: dev, test. Choose one with --split" in message(beir, split="train")


CORPUS_LINE = {"_id": "d9", "title": "", "text": "more"}


@pytest.mark.parametrize(
    ("file", "line", "where", "what"),
    [
        ("corpus.jsonl", "{", 6, "no JSON"),
        ("corpus.jsonl", "[1]", 6, "a JSON object is needed, not list"),
        ("corpus.jsonl", '{"text": "a"}', 6, '"_id" must be there'),
        ("corpus.jsonl", '{"_id": "", "text": "a"}', 6, '"_id" is empty'),
        ("corpus.jsonl", '{"_id": "d2", "text": "a"}', 6, "'d2' is there a second time"),
        (
            "corpus.jsonl",
            '{"_id": "d9", "text": "a", "title": 5}',
            6,
            '"title" must be there and hold a text',
        ),
        ("queries.jsonl", '{"_id": "q1", "text": "a"}', 5, "'q1' is there a second time"),
        ("queries.jsonl", '{"_id": "q9", "text": 3}', 5, '"text" must be there'),
        ("qrels/test.tsv", "q1\td2", 7, "2 fields"),
        ("qrels/test.tsv", "q1\td2\tyes", 7, "is 'yes', which is no score"),
        ("qrels/test.tsv", "q1\td2\t1.5", 7, "'1.5' is no grade"),
        ("qrels/test.tsv", "q1\td1\t1", 7, "'d1' is judged 1 here and 2 before"),
    ],
)
def test_malformed_beir_is_named_with_file_and_line(
    beir: Path, file: str, line: str, where: int, what: str
) -> None:
    with (beir / file).open("a", encoding="utf-8") as stream:
        stream.write(line + "\n")
    said = message(beir)
    assert f"{beir / file}:{where}: " in said
    assert what in said


def test_beir_that_cannot_be_used(beir: Path) -> None:
    write_qrels(beir, [("q1", "d1", 1), ("q8", "d1", 1)])
    assert "judges 1 queries that are not in queries.jsonl: q8" in message(beir)
    write_qrels(beir, [])
    assert "holds no judgement" in message(beir)
    (beir / "qrels" / "test.tsv").write_text("q1\td1\t1\n", encoding="utf-8")
    assert "test.tsv:1: the first line must name the columns query-id" in message(beir)
    write_qrels(beir, [("q1", "d1", 1)])
    write_lines(beir / "queries.jsonl", [{"_id": "q1", "text": " "}])
    assert "queries.jsonl:1: the query 'q1' is judged, and its text is empty" in message(beir)
    write_lines(beir / "queries.jsonl", [{"_id": 1, "text": "a"}])
    write_qrels(beir, [("1", "d1", 1)])
    assert read_dataset(beir).queries == (Query("1", "a"),)  # type: ignore[union-attr]
    write_lines(beir / "corpus.jsonl", [{"_id": "d1", "text": ""}])
    assert "holds no document with text" in message(beir)
    (beir / "corpus.jsonl").write_bytes(b'{"_id": "d1", "text": "\xff"}\n')
    assert re.search(r"corpus.jsonl:1: .*not UTF-8", message(beir))


def test_a_query_that_is_empty_and_not_judged_does_no_harm(beir: Path) -> None:
    with (beir / "queries.jsonl").open("a", encoding="utf-8") as stream:
        stream.write('\n{"_id": "q5", "text": ""}\n')
    assert read_dataset(beir).unjudged == ("q3", "q5")  # type: ignore[union-attr]


def test_judgements(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text(
        'Path,query\nkeys.md,"lock, turned"\ndeep/time.txt,time\nkeys.md,time\nkeys.md,time\n',
        encoding="utf-8-sig",
    )
    found = read_dataset(path)
    assert isinstance(found, Retrieval)
    assert (found.name, found.split, found.entries, found.folder) == ("mine", "", {}, None)
    assert found.queries == (Query("1", "lock, turned"), Query("2", "time"))
    assert found.judgements == {"1": {"keys.md": 1}, "2": {"deep/time.txt": 1, "keys.md": 1}}
    assert found.lines == {"keys.md": 2, "deep/time.txt": 3}
    tabs = tmp_path / "mine.tsv"
    tabs.write_text("query\tpath\trelevance\ntime\tkeys.md\t3\n", encoding="utf-8")
    assert read_dataset(tabs).judgements == {"1": {"keys.md": 3}}  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", ":1: the first line must name the columns query, path"),
        ("question,path\na,b\n", ":1: the first line must name the columns query, path"),
        ("query,path\na\n", ":2: 1 fields, but the first line has 2"),
        ("query,path\na,\n", ':2: "path" is empty'),
        ("query,path\n\n ,b\n", ':3: "query" is empty'),
        ("query,path,relevance\na,b,high\n", ":2: \"relevance\" is 'high', which is no score"),
        ("query,path,relevance\na,b,1\na,b,2\n", ":3: 'b' is judged 2 here and 1 before"),
        ('query,path\n"a"b,c\n', ":2: no table"),
        ("query,path\n", "holds no judgement"),
    ],
)
def test_malformed_judgements(tmp_path: Path, text: str, what: str) -> None:
    path = tmp_path / "mine.csv"
    path.write_text(text, encoding="utf-8")
    assert what in message(path)


def test_squad(squad: Path) -> None:
    found = read_dataset(squad)
    assert isinstance(found, Retrieval)
    assert len(found.entries) == 3  # one is there twice
    assert found.entries["1"] == Entry("The door", "To rotate the key, open the door.")
    assert [query.id for query in found.queries] == ["0-0", "0-1", "1-0", "2-0", "3-0"]
    assert found.judgements == {
        "0-0": {"1": 1}, "0-1": {"1": 1}, "1-0": {"2": 1}, "2-0": {"3": 1}, "3-0": {"2": 1}
    }  # fmt: skip


@pytest.mark.parametrize(
    ("value", "what"),
    [
        ([], "the file: list indices must be"),
        ({"data": [{}]}, "the file has no 'paragraphs'"),
        ({"data": [{"paragraphs": [{"qas": []}]}]}, "data[0].paragraphs[0] has no 'context'"),
        ({"data": [{"paragraphs": [{"context": "a", "qas": [{"id": "1"}]}]}]}, "qas[0] has no 'question'"),
        (
            {"data": [{"paragraphs": [{"context": "a", "qas": [{"id": "1", "question": "q"}] * 2}]}]},
            "second time",
        ),
        ({"data": []}, "holds no question"),
    ],
)
def test_malformed_squad(tmp_path: Path, value: object, what: str) -> None:
    path = tmp_path / "some.json"
    path.write_text(json.dumps(value), encoding="utf-8")
    assert what in message(path)


def test_squad_that_is_no_json(tmp_path: Path) -> None:
    path = tmp_path / "some.json"
    path.write_text('{\n"data": [}', encoding="utf-8")
    assert "line 2" in message(path) and "The format is that of SQuAD" in message(path)


def test_spans(gold: Path) -> None:
    found = read_dataset(gold)
    assert isinstance(found, Spans)
    assert [query.text for query in found.queries] == ["how do i turn the lock", "is time long"]
    for span, text in (
        (found.gold["0"][0], "open the door and turn the lock."),
        (found.gold["1"][1], "It is not"),
    ):
        assert CORPORA[span.document][span.start : span.end] == text
    assert found.gold["1"][0] == Span("time.md", 29, 42)


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"corpus_id": "gone"}, "there is no file 'corpora/gone.md'"),
        ({"references": []}, '"references" lists no span'),
        ({"references": [{"content": "x"}]}, '"references" must list spans with content'),
        ({"references": [{"content": "Key", "start_index": 3, "end_index": 6}]}, "are not the text"),
        ({"references": [{"content": "", "start_index": 3, "end_index": 3}]}, "are not the text"),
        ({"_id": "0"}, "second time"),
        ({"text": ""}, '"text" is empty'),
    ],
)
def test_malformed_spans(gold: Path, change: dict[str, object], what: str) -> None:
    path = gold / "questions.jsonl"
    first = json.loads(path.read_text(encoding="utf-8").splitlines()[0])
    with path.open("a", encoding="utf-8") as stream:
        stream.write(json.dumps({**first, "_id": "9", **change}) + "\n")
    said = message(gold)
    assert f"{path}:3: " in said
    assert what in said


def test_sts(tmp_path: Path) -> None:
    path = tmp_path / "sts.tsv"
    path.write_text(
        'sentence1\tsentence2\tscore\na "b" c\t"half\t1.5\r\nd\te\t5\nf\tg\t0\n', encoding="utf-8", newline=""
    )
    found = read_dataset(path)
    assert found == SentencePairs(
        "sts", path, (Pair('a "b" c', '"half', 1.5), Pair("d", "e", 5), Pair("f", "g", 0))
    )
    path.write_text("sentence1\tsentence2\tscore\na\tb\t1\na\tc\tnan\n", encoding="utf-8")
    assert f"{path}:3: \"score\" is 'nan', which is no score" in message(path)
    path.write_text("sentence1\tsentence2\nscore\n", encoding="utf-8")
    assert f"{path}:1: the first line must name the columns sentence1, sentence2, score" in message(path)
    path.write_text("sentence1\tsentence2\tscore\na\tb\t1\nc\td\t1\ne\tf\t1\n", encoding="utf-8")
    assert "too few or too much alike" in message(path)


def test_what_is_nothing_known(tmp_path: Path) -> None:
    assert "there is no" in message(tmp_path / "gone")
    (tmp_path / "empty").mkdir()
    assert "in no format that can be evaluated on. Known are" in message(tmp_path / "empty")
    other = tmp_path / "a.txt"
    other.write_text("a", encoding="utf-8")
    assert "in no format" in message(other)


@pytest.mark.parametrize(
    ("place", "queries"),
    [
        ("retrieval/cranfield", 225), ("retrieval/cacm", 52), ("retrieval/time", 83), ("chunking", 472),
        ("qa/xquad-en-squad-format.json", 1190),
    ],
)  # fmt: skip
def test_the_data_for_development_is_read(place: str, queries: int) -> None:
    if not (DATA / place).exists():
        pytest.skip(f"the shared data is not here: {place}")
    assert len(read_dataset(DATA / place).queries) == queries  # type: ignore[union-attr]


def test_labelled_examples(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('\ufeffLabel,Text,other\ngood,"a, ""b""\nc",1\n\n bad , d ,2\n', encoding="utf-8")
    assert read_examples(path) == [
        Example("good", text='a, "b"\nc', line=3),
        Example("bad", text=" d ", line=5),
    ]
    path.write_text("passage,label\n12,a\np7,b\n", encoding="utf-8")
    assert read_examples(path) == [Example("a", passage=12, line=2), Example("b", passage=7, line=3)]
    path.write_text("path,label\nx.csv#3,a\n", encoding="utf-8")
    assert read_examples(path) == [Example("a", path="x.csv#3", line=2)]
    assert read_examples(path, text_column="Path") == [Example("a", text="x.csv#3", line=2)]


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (
            "text,mood\na,b\n",
            "csv:1: no column 'label'; there is text, mood. Name the column with --label-column",
        ),
        ("tweet,label\na,b\n", "no column 'text'; there is tweet, label. Name the column with --text-column"),
        ("text,label,label\na,b,c\n", "two columns are called 'label'"),
        ("text,label\na,b\nc\n", "a.csv:3: 1 fields, but the first line has 2"),
        ("text,label\n ,b\n", 'a.csv:2: "text" is empty'),
        ("text,label\na,\n", '"label" is empty'),
        ("text,label\n", "holds no rows below a first line"),
        ("passage,label\nx,b\n", "'x' is no id of a passage"),
        ('text,label\n"a,b\n', "no table"),
    ],
)
def test_malformed_examples(tmp_path: Path, content: str, what: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=re.escape(what)):
        read_examples(path)


def test_conll(tmp_path: Path) -> None:
    path = tmp_path / "old.conll"
    path.write_bytes(b"-DOCSTART- -X- -X- O\r\n\r\nEU NNP B-NP S-ORG\r\nrejects VBZ B-VP O\r\n")
    (sentence,) = read_conll(path)
    assert (sentence.words, sentence.labels) == (("EU", "rejects"), ("S-ORG", "O"))
    assert [sentence.text[slice(*span)] for span in sentence.spans] == ["EU", "rejects"]
    for content, what in (
        (b"\n \n", "holds no sentence"),
        (b"a\tO\nb\n", "old.conll:2: 'b' is no word with a label"),
        (b"a\tO\n\tO\n", "old.conll:2: 'O' is no word with a label"),
        (b"a\tO\nb\tperson\n", "is no word with a label"),
        (b"a\tO\n\xff\tO\n", "cannot be read"),
    ):
        path.write_bytes(content)
        with pytest.raises(InputError, match=what):
            read_conll(path)
