"""An analyser of a program: texts are found by the further words of their words."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from search import Encoder, Index, InputError
from tests.conftest import Run

DOCUMENTS = [
    {"id": "mice", "text": "Two mice live below the floor."},
    {"id": "went", "text": "They went to the river."},
    {"id": "other", "text": "Nothing of that sort."},
]
LEMMAS = {"mice": "mouse", "went": "go", "goes": "go", "gone": "go"}


def lemmas(word: str) -> Iterator[str]:
    yield LEMMAS.get(word, word)


@pytest.fixture
def index(tiny: Encoder, tmp_path: Path) -> Iterator[Index]:
    with Index.create(str(tmp_path / "store"), encoder=tiny, analyzer=lemmas) as index:
        index.upsert(DOCUMENTS)
        yield index


def ids(index: Index, query: str, **options: Any) -> list[str]:
    return [hit.document for hit in index.query(query, mode="lexical", **options)]


def test_a_word_finds_texts_with_another_form_of_it(index: Index, tiny: Encoder) -> None:
    assert ids(index, "mouse") == ["mice"] and ids(index, "gone") == ["went"]
    assert ids(index, "mice") == ["mice"] and ids(index, "elephant") == []
    assert ids(index, '"mouse"') == []  # a phrase in quotes has no further words
    plain = Index.create(encoder=tiny)
    plain.upsert(DOCUMENTS)
    assert ids(plain, "mouse") == []
    plain.close()


@pytest.mark.parametrize(
    ("query", "expected"),
    [("car", ["1", "3"]), ("vehicle", ["1", "3"]), ("auto", ["1"]), ("boat", []), ('"vehicle"', ["3"])],
)
def test_a_further_word_counts_in_both_directions(tiny: Encoder, query: str, expected: list[str]) -> None:
    def synonyms(word: str) -> list[str]:
        return {"car": ["auto", "vehicle"]}.get(word, [])

    with Index.create(encoder=tiny, analyzer=synonyms) as index:
        index.upsert(
            [
                {"id": "1", "text": "A red car."},
                {"id": "2", "text": "A bird."},
                {"id": "3", "text": "Any vehicle."},
            ]
        )
        hits = index.query(query, mode="lexical")
        assert sorted(hit.document for hit in hits) == expected
        for hit in hits:
            assert abs(index.explain(query, hit).residual) < 1e-9


@pytest.mark.parametrize("words", [None, 5, [5], [None]])
def test_an_analyser_that_returns_no_words_is_named(tiny: Encoder, words: Any) -> None:
    def broken(word: str) -> Any:
        return words

    with Index.create(encoder=tiny, analyzer=broken) as index:
        with pytest.raises(InputError, match="the analyser 'broken' returned .* for the word 'Two'"):
            index.upsert(DOCUMENTS)
        assert len(index) == 0


def test_the_score_is_split_by_the_words_that_were_typed_and_found(index: Index) -> None:
    (hit,) = index.query("mouse", mode="lexical")
    why = index.explain("mouse", hit)
    assert [(share.text, share.kind) for share in why.shares()] == [("mouse", "term")]
    assert abs(why.residual) < 1e-9
    from search.index import searcher_of

    ((mark,),) = searcher_of(index).highlights("mouse", [hit])
    assert hit.text[mark.start : mark.end] == "mice"


def test_an_index_keeps_the_further_words_without_the_program(
    index: Index, tiny: Encoder, tmp_path: Path
) -> None:
    again = Index.open(tmp_path / "store", encoder=tiny)
    assert any("the analyser 'lemmas' is missing" in note for note in again.notes)
    assert ids(again, "mouse") == [] and ids(again, "mice") == ["mice"]
    with pytest.raises(
        InputError, match="created with the analyser 'lemmas'. Open it with analyzer=lemmas"
    ):
        again.upsert({"id": "new", "text": "A goose."})
    assert again.check().ok
    postings = list((tmp_path / "store" / "ann").glob("*.words"))
    for file in postings:
        file.unlink()
    again.check(repair=True)
    whole = Index.open(tmp_path / "store", encoder=tiny, analyzer=lemmas)
    assert ids(whole, "mouse") == ["mice"] and whole.notes == ()
    whole.set_metadata("mice", {"n": 1})
    assert ids(whole, "mouse", where={"n": 1}) == ["mice"]


def test_many_documents_are_merged_and_deleted_with_their_further_words(index: Index) -> None:
    index.upsert([{"id": str(n), "text": f"Text {n} about mice."} for n in range(300)])
    index.delete([str(n) for n in range(0, 300, 2)])
    assert len(ids(index, "mouse", k=1_000, all_copies=True)) == 151
    assert index.check().ok


def test_namespaces_and_a_rebuild_keep_the_analyser(index: Index, tiny: Encoder, tmp_path: Path) -> None:
    index.upsert(DOCUMENTS, namespace="acme")
    assert ids(index, "mouse", namespace="acme") == ["mice"]
    with pytest.raises(InputError, match="analyser 'lemmas'"):
        Index.create(str(tmp_path / "store"), encoder=tiny, rebuild=True)
    again = Index.create(str(tmp_path / "store"), encoder=tiny, analyzer=lemmas, rebuild=True)
    assert ids(again, "mouse") == ids(again, "mouse", namespace="acme") == ["mice"]


def test_a_namespace_is_created_with_the_analyser_of_its_index_or_not_at_all(
    index: Index, tiny: Encoder
) -> None:
    without = Index.open(index.path, encoder=tiny)
    with pytest.raises(InputError, match="analyser 'lemmas'"):
        without.upsert(DOCUMENTS, namespace="acme")
    assert index.namespaces() == []
    index.upsert(DOCUMENTS, namespace="acme")
    assert ids(index, "mouse", namespace="acme") == ["mice"]
    assert "the analyser 'lemmas' is missing" in " ".join(without.namespace("acme").notes)


def test_another_analyser_and_one_without_a_name_are_refused(
    index: Index, tiny: Encoder, tmp_path: Path
) -> None:
    def synonyms(word: str) -> list[str]:
        return [word]

    with pytest.raises(InputError, match="analyser 'lemmas', not 'synonyms'"):
        Index.open(tmp_path / "store", encoder=tiny, analyzer=synonyms)
    with pytest.raises(InputError, match="function with a name"):
        Index.create(encoder=tiny, analyzer=lambda word: [word])
    with Index.create(str(tmp_path / "plain"), encoder=tiny) as plain:
        plain.upsert(DOCUMENTS)
    with pytest.raises(InputError, match="created without an analyser"):
        Index.open(tmp_path / "plain", encoder=tiny, analyzer=lemmas)


def test_the_command_says_that_the_analyser_is_missing(
    run: Run, tiny_model: Path, own_home: Path
) -> None:
    Index.create("store", model=str(tiny_model), analyzer=lemmas).upsert(DOCUMENTS)
    code, out, err = run("query", "-i", "store", "mice", "--mode", "lexical")
    assert code == 0 and "mice" in out and "the analyser 'lemmas' is missing" in err
