"""Counterfactuals: each change is tried by the model, is true when asked again, and is the smallest one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import search
from search.encoding import Encoder
from search.errors import InputError
from search.explaining.counterfactual import strongest_first
from search.index import searcher_of
from search.ranking.list_rank import ListRanks
from search.ranking.selection import Selection
from search.records.counterfactuals import ChangedPart, Counterfactual, RankChange
from tests.conftest import REPOSITORY

VOCABULARY = "the key opens a door water is cold people call number long sun sky lock".split()
TEXTS = {
    "key": "The key opens the door. Water is cold. The lock is cold.",
    "door": "The door is long. People call the door.",
    "water": "Water is cold. The sun is long.",
    "lock": "The lock opens. People call a number. The key is long.",
    "sky": "The sky is cold. The sun opens the sky.",
    "call": "People call the number. The number is long.",
    "sun": "The sun is cold. A long sun. The sky.",
    "people": "People open the key. People call.",
}
QUERY = "key opens cold lock door"


class WordCounts:
    """An encoder whose embeddings are counts of words, so that ranks can be checked by hand.

    Attributes:
        texts: number of texts that it has encoded.
    """

    def __init__(self) -> None:
        self.texts = 0

    def __call__(self, texts: Sequence[str]) -> Any:
        self.texts += len(texts)
        vectors = np.full((len(texts), len(VOCABULARY)), 0.01)
        for row, text in enumerate(texts):
            counts = Counter(text.casefold().replace(".", " ").split())
            vectors[row] += [counts[word] for word in VOCABULARY]
        return vectors


@pytest.fixture
def counted() -> WordCounts:
    return WordCounts()


@pytest.fixture
def index(counted: WordCounts) -> search.Index:
    index = search.Index.create(encoder=counted, encoder_name="counts")
    index.upsert([{"id": name, "text": text} for name, text in TEXTS.items()])
    return index


def change_of(answer: Counterfactual, kind: str) -> RankChange:
    (change,) = [change for change in answer.changes if change.kind == kind]
    return change


def rank_in(hits: Sequence[search.Hit], document: str) -> int | None:
    return next((hit.rank for hit in hits if hit.document == document), None)


@pytest.mark.parametrize("mode", ["hybrid", "dense", "lexical"])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_the_fewest_words_are_found_and_the_rank_is_that_of_the_changed_query(
    index: search.Index, mode: Any, k: int
) -> None:
    words = QUERY.split()
    for hit in index.query(QUERY, k, mode=mode):
        answer = index.counterfactual(QUERY, hit, k)

        def rank_without(chosen: Sequence[int], name: str = hit.document) -> int | None:
            query = " ".join(word for i, word in enumerate(words) if i not in chosen)
            return rank_in(index.query(query, 100, mode=mode), name)

        sets = [s for size in (1, 2, 3) for s in combinations(range(len(words)), size)]
        out = [s for s in sets if (rank := rank_without(s)) is None or rank > k]
        changes = [change for change in answer.changes if change.kind == "query words"]
        assert bool(changes) == bool(out)
        for change in changes:
            assert len(change.parts) == min(map(len, out))
            assert [QUERY[part.start : part.end] for part in change.parts] == [
                p.text for p in change.parts
            ]
            assert tuple(words.index(part.text) for part in change.parts) in out
            assert change.new_rank == rank_in(index.query(change.query, 100, mode=mode), hit.document)
            assert (change.rank, change.k) == (hit.rank, k)


@pytest.mark.parametrize("mode", ["dense", "hybrid"])
def test_the_fewest_sentences_are_found_as_in_an_index_without_them(
    index: search.Index, counted: WordCounts, mode: Any
) -> None:
    def rank_without(name: str, sentences: Sequence[str]) -> int:
        text = TEXTS[name]
        for sentence in sentences:
            text = text.replace(sentence, "", 1)
        other = search.Index.create(encoder=counted, encoder_name="counts")
        other.upsert([{"id": n, "text": text if n == name else t} for n, t in TEXTS.items()])
        return rank_in(other.query(QUERY, 100, mode=mode), name) or 0

    sizes = []
    for hit in index.query(QUERY, 4, mode=mode):
        k = hit.rank
        answer = index.counterfactual(QUERY, hit, k)
        sentences = [f"{sentence.strip(' .')}." for sentence in hit.text.split(". ")]
        sets = [s for size in range(1, len(sentences)) for s in combinations(sentences, size)]
        out = [s for s in sets if rank_without(hit.document, s) > k]
        changes = [change for change in answer.changes if change.kind == "sentences"]
        assert bool(changes) == bool(out)
        for change in changes:
            texts = [part.text for part in change.parts]
            assert [hit.text[part.start : part.end] for part in change.parts] == texts
            assert len(texts) == min(map(len, out))
            assert change.new_rank == rank_without(hit.document, texts) > k
            sizes.append(len(texts))
    assert len(sizes) >= 2


def test_a_word_of_the_passage_makes_it_a_hit(index: search.Index) -> None:
    last = index.query("key", 100)[-1]
    answer = index.counterfactual("key", last.document, 1)
    (change,) = answer.changes
    (part,) = change.parts
    assert (change.kind, change.query) == ("added word", f"key {part.text}")
    assert TEXTS[last.document][part.start : part.end] == part.text
    assert change.rank == last.rank
    assert rank_in(index.query(change.query, 1), last.document) == change.new_rank == 1
    assert answer.sentence == f'With "{part.text}" in your question it would be first.'
    assert not answer.is_hit


def test_a_passage_with_its_own_text_has_its_own_keyword_score(index: search.Index) -> None:
    hits = index.query(QUERY, 100)
    with searcher_of(index).store.reading() as snapshot:
        for hit in hits:
            terms = snapshot.terms(QUERY)
            scores = snapshot.keyword_scores(terms)
            texts = [hit.text, "", f"{hit.text} key"]
            own, empty, more = snapshot.keyword_sums_of_texts(terms, hit, texts)
            assert own / scores.scale == pytest.approx(hit.lexical, abs=1e-12)
            assert empty == 0 and more > own


def test_a_second_call_encodes_nothing_until_the_index_changes(
    index: search.Index, counted: WordCounts
) -> None:
    hit = index.query(QUERY, 1)[0]
    before = counted.texts
    answer = index.counterfactual(QUERY, hit, 2)
    assert 0 < counted.texts - before <= answer.encodings <= 200
    before = counted.texts
    assert index.counterfactual(QUERY, hit, 2) is answer
    assert counted.texts == before
    assert index.counterfactual(QUERY, hit, 1) is not answer
    index.upsert({"id": "new", "text": "The key opens the lock and the door."})
    assert index.counterfactual(QUERY, hit, 2) is not answer


def test_no_more_texts_are_encoded_than_allowed(index: search.Index, counted: WordCounts) -> None:
    query = " ".join(["key opens cold lock door the a is long sun sky number call people water"] * 3)
    hit = index.query(query, 1)[0]
    for most in (10, 15, 60):
        before = counted.texts
        answer = index.counterfactual(query, hit, 6, most_encodings=most)
        assert counted.texts - before <= answer.encodings <= most
        if not answer.changes:
            expected = f"None of {answer.tries} changes that were tried moves it out of the first 6 hits."
            assert answer.sentence == expected
    with pytest.raises(InputError, match="the minimum is 10"):
        index.counterfactual(query, hit, most_encodings=9)


def test_nothing_is_tried_where_nothing_can_change(index: search.Index) -> None:
    hit = index.query(QUERY, 1)[0]
    answer = index.counterfactual(QUERY, hit, 8)
    assert (answer.changes, answer.tries) == ((), 0)
    assert answer.sentence == "No word or sentence can be left out to move it out of the first 8 hits."
    filtered = index.counterfactual(QUERY, hit, 1, where=f"not path:{hit.document}")
    assert (filtered.rank, filtered.tries) == (None, 0)
    assert filtered.sentence == "No word of this passage can bring it among the first hit."


def test_conditions_stay_and_phrases_are_left_out_as_a_whole(index: search.Index) -> None:
    query = 'path:* "the number" people -sky'
    hit = index.query(query, 1)[0]
    answer = index.counterfactual(query, hit, 1)
    for change in answer.changes:
        if change.kind == "query words":
            assert {part.text for part in change.parts} <= {'"the number"', "people", "path:*"}
            assert change.query.endswith("-sky")
            assert change.new_rank == rank_in(index.query(change.query, 100), hit.document)


def test_a_hit_has_its_own_ranking(index: search.Index) -> None:
    for options in ({"mode": "lexical"}, {"weight": 0.2}, {"without": ["key"]}):
        hit = index.query(QUERY, 1, **options)[0]  # type: ignore[arg-type]
        answer = index.counterfactual(QUERY, hit, 1)
        assert answer.rank == 1
        for change in answer.changes:
            if change.kind == "query words":
                again = index.query(change.query, 100, **options)  # type: ignore[arg-type]
                assert change.new_rank == rank_in(again, hit.document)
        by_id = index.counterfactual(QUERY, hit.passage_id, 1, **options)  # type: ignore[arg-type]
        assert [change.new_rank for change in by_id.changes] == [c.new_rank for c in answer.changes]


def test_without_its_only_keyword_a_passage_is_no_hit(index: search.Index) -> None:
    hit = index.query("key sun", 100, mode="lexical")[0]
    only = next(word for word in ("key", "sun") if word in TEXTS[hit.document].casefold())
    change = change_of(index.counterfactual("key sun", hit, 9), "query words")
    assert change.new_rank is None
    assert change.sentence == f'Without "{only}" this is no hit.'


def test_what_cannot_be_answered_is_an_error(index: search.Index, tmp_path: Path) -> None:
    hit = index.query(QUERY, 1)[0]
    question = search.Question.of("key", like=[hit.passage_id])
    with pytest.raises(InputError, match="a query of a single text"):
        index.counterfactual(question, hit)
    with pytest.raises(InputError, match="no passage 99"):
        index.counterfactual(QUERY, 99)
    with pytest.raises(InputError, match="'nothing' is not in the index"):
        index.counterfactual(QUERY, "nothing")
    with pytest.raises(InputError, match="empty"):
        index.counterfactual(" ", hit)


def test_reranked_hits_and_incomplete_indexes_have_none(notes: Path, tiny_model: Path) -> None:
    index = search.Index.build(notes, model=str(tiny_model))
    hit = index.query("turn the key", 1, rerank="late")[0]
    with pytest.raises(InputError, match="without rerank"):
        index.counterfactual("turn the key", hit)
    lazy = search.Index.build(notes, index="lazy", model=str(tiny_model), lazy=True)
    with pytest.raises(InputError, match="not encoded yet, so a counterfactual"):
        lazy.counterfactual("turn the key", 1)


def test_ranks_are_those_of_the_list_also_with_copies_and_limits(
    tmp_path: Path, tiny_model: Path
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    for i in range(12):
        text = "Turn the key in the lock." if i < 3 else f"Turn the key {i} in the lock, {'so ' * i}."
        (folder / f"{i}.txt").write_text(text, encoding="utf-8")
    parts = (f"# Part {i}\n\nThe people turn the key {i}, and look at the door.\n\n" for i in range(8))
    (folder / "long.md").write_text("".join(parts), encoding="utf-8")
    index = search.Index.build(folder, model=str(tiny_model))
    searcher = searcher_of(index)
    for limit in (0, 1, 3):
        listed = index.query("turn the key", 100, per_document=limit)
        expected = {hit.passage_id: hit.rank for hit in listed}
        question, _ = searcher.parse("turn the key")
        ranking = searcher.ranking(question, {})
        encoded = searcher.encode(question, ranking)
        selection = Selection.of(3, per_document=limit)
        passages = index.embeddings()[0].tolist()
        with searcher.store.reading() as snapshot:
            ranks = ListRanks(snapshot, encoded, ranking, selection)
            for passage in passages:
                rank = ranks.rank([passage])
                assert passage not in expected or rank == expected[passage]
                assert passage in expected or listed[(rank or 0) - 1].copies
                assert ranks.rank([passage], 3) == (rank if rank and rank <= 3 else None)


def test_sets_come_by_size_then_by_contribution() -> None:
    assert list(strongest_first([1.0, 3.0, 2.0], 2)) == [(1,), (2,), (0,), (1, 2), (1, 0), (2, 0)]
    assert len(list(strongest_first([1.0] * 30, 3))) == 30 + 190 + 1140


def part(text: str) -> ChangedPart:
    return ChangedPart(text, 0, len(text))


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (RankChange("query words", (part("deposit"),), "", 10, 1, 14, 0), 'Without "deposit" this falls to rank 14.'),
        (RankChange("query words", (part("a"), part("b"), part("c")), "", 10, 1, 14, 0),
         'Without "a", "b" and "c" this falls to rank 14.'),
        (RankChange("query words", (part('"two words"'),), "", 10, 1, None, 0), 'Without "two words" this is no hit.'),
        (RankChange("sentences", (part("We agreed."),), "", 1, 1, 2, 0),
         'The sentence "We agreed." keeps it first: without it, this falls to rank 2.'),
        (RankChange("sentences", (part("We\nagreed."), part("b " * 40)), "", 3, 1, 4, 0),
         f'The sentences "We agreed." and "{("b " * 30).strip()} …" keep it among the first 3: without them, this '
         "falls to rank 4."),
        (RankChange("added word", (part("landlord"),), "", 10, 30, 3, 0),
         'With "landlord" in your question it would be third.'),
        (RankChange("added word", (part("landlord"),), "", 20, 30, 12, 0),
         'With "landlord" in your question it would be at rank 12.'),
    ],
)  # fmt: skip
def test_a_change_is_one_plain_sentence(change: RankChange, sentence: str) -> None:
    assert change.sentence == sentence
    answer = Counterfactual("", 1, 10, 1, (change,), 1, 1)
    assert answer.sentence == sentence
    assert answer.to_dict()["changes"][0]["sentence"] == sentence


def test_of_the_household_a_word_and_three_sentences_decide(
    real: Encoder, tmp_path: Path, own_home: Path
) -> None:
    folder = REPOSITORY / "corpora" / "household"
    index = search.Index.build(folder, index=str(tmp_path / "household"), encoder=real)
    query = "when do we get the deposit back"
    hit = index.query(query, 1)[0]
    answer = index.counterfactual(query, hit)
    words, sentences = answer.changes
    assert [part.text for part in words.parts] == ["deposit"]
    again = index.query(words.query, words.new_rank or 0)
    assert again[-1].passage_id == hit.passage_id
    assert [part.text.split()[0] for part in sentences.parts] == ["3", "We", "He"]
    assert answer.encodings <= 60
    missing = index.query(query, 30)[-1]
    (change,) = index.counterfactual(query, missing).changes
    assert missing.passage_id in [h.passage_id for h in index.query(change.query)]


@pytest.mark.parametrize("mode", ["hybrid", "dense"])
def test_a_query_without_a_word_is_changed_without_it(tiny_model: Path, mode: Any) -> None:
    """The ranks are those of the changed query when it leaves out the same word, in meaning, too."""
    query, options = "open the water door", {"mode": mode, "without": ["door"]}
    with search.Index.create(model=str(tiny_model)) as index:
        index.upsert([{"id": name, "text": text} for name, text in TEXTS.items()])
        seen = set()
        for hit in index.query(query, 8, **options):
            answer = index.counterfactual(query, hit.passage_id, 2, **options)
            assert answer.rank == hit.rank and answer.encodings <= 200
            for change in answer.changes:
                if change.kind != "sentences":
                    hits = index.query(change.query, 8, **options)
                    assert change.new_rank == rank_in(hits, hit.document)
                    seen.add(change.kind)
        assert seen == {"query words", "added word"}
