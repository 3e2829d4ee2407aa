"""Annotations: stored, found by filters, lost with their passages, checked and repaired."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import search
from search import Index, IndexLocked, InputError
from search.records.documents import Annotation, Mention
from search.store.annotating import annotating, annotators_of, remove_annotator
from search.store.files import writer_lock

ORIGIN = {"task": "ner", "model": "one", "command": "seewhy lab tag --task ner --model one"}
FIELDS = ["person", "city"]


def annotate(index: Path, *, name: str = "ner", most: int = 1000, **options: Any) -> int:
    """Say of each passage who is in it: the word "people" is a person, "key" the city "Key", "door" another."""
    count = 0
    with annotating(
        index, name, options.pop("made_with", ORIGIN), options.pop("fields", FIELDS), **options
    ) as run:
        for batch in run.batches(2):
            annotations = []
            for passage in batch:
                spans = []
                for field, word in (("person", "people"), ("city", "key"), ("city", "door")):
                    position = passage.text.find(word)
                    if position >= 0:
                        start = passage.start + position
                        spans.append(Mention(field, word, start, start + len(word), 0.5))
                values = {f: [span.text for span in spans if span.field == f] for f in ("person", "city")}
                annotations.append(
                    Annotation(passage.passage_id, {f: v for f, v in values.items() if v}, tuple(spans))
                )
            run.put(annotations)
            count += len(annotations)
            if count >= most:
                break
    return count


@pytest.fixture
def index(notes: Path, tiny_model: Path) -> Index:
    """Five passages: two of keys.md, one of time.txt, two of table.csv."""
    (notes / "table.csv").write_text(
        "name,text,colour\nfirst,the first side of the door,red\nsecond,a long sound,blue\n",
        encoding="utf-8",
    )
    keys = (notes / "keys.md").read_text(encoding="utf-8").replace("people", "water")
    (notes / "keys.md").write_text(keys, encoding="utf-8")
    return Index.build(notes, model=str(tiny_model))


def texts(index: Index, where: str) -> list[str]:
    return sorted(hit.document for hit in index.query("time", k=50, where=where))


def test_filters_find_annotations_and_hits_have_them(index: Index) -> None:
    assert annotate(index.path) == 5
    assert texts(index, "person=PEOPLE") == ["deep/time.txt"]
    assert texts(index, "city in (key, x)") == ["keys.md", "keys.md"]
    assert texts(index, "city=door and not city=key") == ["table.csv#1"]
    assert texts(index, "has city and path:keys.md") == ["keys.md", "keys.md"]
    assert texts(index, "not has city and kind!=csv") == ["deep/time.txt"]
    by_name = {hit.document: hit.annotations for hit in index.query("time", k=50)}
    assert by_name["deep/time.txt"] == {"person": ["people"]}
    assert by_name["table.csv#2"] == {}
    assert index.notes == ()
    (status,) = index.status().annotations
    assert (status.progress, status.complete, status.fields) == (
        "ner: all 5 passages",
        True,
        ("person", "city"),
    )


def test_filters_match_fields_of_documents_and_annotations(index: Index) -> None:
    with annotating(index.path, "colours", {}, ["Colour"]) as run:  # as a column of table.csv is called
        run.put([Annotation(id_, {"Colour": "blue" if id_ == run.todo[0] else 7}) for id_ in run.todo])
    assert texts(index, "colour=Blue") == ["deep/time.txt", "table.csv#2"]
    assert texts(index, "colour>6 and kind=csv") == ["table.csv#1", "table.csv#2"]
    assert texts(index, "colour>2020-01") == []


def test_an_unknown_field_is_refused_with_the_fields_of_annotators(index: Index) -> None:
    annotate(index.path)
    with pytest.raises(InputError, match="no document has a field 'persn'; did you mean 'person'"):
        texts(index, "persn=x")
    with pytest.raises(
        InputError,
        match="known fields are heading, kind, mtime, name, page, path, size, text, title, city, colour, person",
    ):
        texts(index, "zzzzzz=x")


def test_a_field_without_values_yet_is_no_error(index: Index) -> None:
    with annotating(index.path, "moods", {}, ["mood", "mood_score"]):
        pass
    assert texts(index, "mood_score>=0.8 or has mood") == []


def test_an_interrupted_run_is_continued(index: Index) -> None:
    with pytest.raises(KeyboardInterrupt), annotating(index.path, "ner", ORIGIN, FIELDS) as run:
        run.put([Annotation(run.todo[0], {}), Annotation(run.todo[1], {})])
        raise KeyboardInterrupt
    assert annotators_of(index.path)[0].annotated == 2
    again = {**ORIGIN, "command": "said otherwise"}  # which does not matter
    assert annotate(index.path, made_with=again) == 3
    assert annotate(index.path) == 0


def test_only_changed_passages_lose_their_annotations(index: Index, notes: Path) -> None:
    annotate(index.path)
    (notes / "keys.md").rename(notes / "moved.md")
    (notes / "deep" / "time.txt").write_text("Key people.\n", encoding="utf-8")
    report = index.update()
    assert report.renamed == 1
    assert texts(index, "has person") == []
    assert texts(index, "city=key") == ["moved.md", "moved.md"]
    assert annotate(index.path) == 1
    assert texts(index, "person=people") == ["deep/time.txt"]
    assert not index.update().notes


def test_a_rebuild_drops_annotations(index: Index, notes: Path) -> None:
    annotate(index.path)
    rebuilt = Index.build(notes, rebuild=True)
    assert annotators_of(index.path) == []
    with pytest.raises(InputError, match="no document has a field 'person'"):
        texts(rebuilt, "person=people")


def test_annotations_of_different_models_are_never_mixed(index: Index) -> None:
    annotate(index.path, most=2)
    for made_with, fields in (({"model": "two"}, FIELDS), (ORIGIN, ["person"])):
        with pytest.raises(InputError, match=r"'ner' from another model or settings .*--replace$"):
            annotate(index.path, made_with=made_with, fields=fields)
    assert annotators_of(index.path)[0].annotated == 2
    with annotating(index.path, "ner", {"model": "two"}, ["person"], replace=True) as run:
        assert len(run.todo) == 5
    (only,) = annotators_of(index.path)
    assert (only.made_with, only.fields, only.annotated) == ({"model": "two"}, ("person",), 0)


@pytest.mark.parametrize(
    ("name", "fields", "problem"),
    [
        ("other", ["Person"], "the field 'Person' already exists. Give another --name"),
        ("other", ["metadata"], "the field 'metadata' already"),
        ("other", ["a", "A"], "the field 'A' already"),
        ("", ["a"], "is not a valid name for annotations"),
        ("a\x1b", ["a"], "is not a valid name for annotations"),
    ],
)
def test_names_that_are_taken_or_invalid_are_refused(
    index: Index, name: str, fields: list[str], problem: str
) -> None:
    annotate(index.path)
    with pytest.raises(InputError, match=problem), annotating(index.path, name, {}, fields):
        pass
    assert [status.name for status in annotators_of(index.path)] == ["ner"]


def test_removing_an_annotator_deletes_its_annotations(index: Index) -> None:
    annotate(index.path)
    with annotating(index.path, "b", {}, ["b_city"]):
        pass
    with pytest.raises(InputError, match="no annotations named 'c'. Choose from: b, ner"):
        remove_annotator(index.path, "c")
    assert remove_annotator(index.path, "ner").annotated == 5
    assert [status.name for status in annotators_of(index.path)] == ["b"]
    with closing(sqlite3.connect(index.path / "index.db")) as connection:
        assert connection.execute(
            "SELECT count(*) FROM annotations WHERE annotator = 'ner'"
        ).fetchone() == (0,)


def test_annotating_excludes_other_writers_and_no_reader(index: Index) -> None:
    with writer_lock(index.path), pytest.raises(IndexLocked):
        annotate(index.path)
    with annotating(index.path, "ner", ORIGIN, FIELDS) as run:
        with pytest.raises(IndexLocked):
            index.update()
        assert len(index.query("time", k=9)) == 5  # readers never wait for a model
        assert not run.connection.in_transaction


def test_odd_characters_of_annotations_are_kept(index: Index) -> None:
    with annotating(index.path, "ner", ORIGIN, FIELDS) as run:
        first = run.todo[0]
        run.put([Annotation(first, {"city": ["K\ud800", "\x00"]})])
    assert search.bert.annotations_of(index, [first])[first][0].values == {"city": ["K\ud800", "\x00"]}
