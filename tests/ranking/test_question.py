"""Queries of several parts, what is similar, and what stands around a hit."""

from pathlib import Path

import numpy as np
import pytest

from search import Index, InputError, Question
from search.encoding import Encoder
from tests.conftest import LONG


@pytest.fixture
def index(notes: Path, tiny_model: Path) -> Index:
    (notes / "long.md").write_text(
        "# Long\n\n"
        + "\n\n".join(f"## Part {i}\n\nThe word {i} turns the key {i * 7} times{LONG}." for i in range(6)),
        encoding="utf-8",
    )
    return Index.build(notes, model=str(tiny_model))


def stored(index: Index, *passages: int) -> np.ndarray:
    with index._store.reading() as snapshot:
        return snapshot.embeddings(passages).astype(np.float64)


def passages_of(index: Index, document: str) -> list[int]:
    return sorted(hit.passage_id for hit in index.query("the", k=100) if hit.document == document)


def normalised(vector: np.ndarray) -> np.ndarray:
    return np.asarray(vector / np.linalg.norm(vector))


def test_the_embedding_is_the_sum_of_the_parts(index: Index, tiny: Encoder) -> None:
    first, second = tiny.encode(["find the key", "open door"], role="query").astype(np.float64)
    long = normalised(stored(index, *passages_of(index, "long.md")).mean(axis=0))
    (one,) = stored(index, 1)
    expected = normalised(first + 0.5 * second + 2 * long - 0.5 * one)
    question = Question.of("find the key", ("open door", 0.5), like=[("long.md", 2)], unlike=[1])
    hits = index.query(question, k=100, mode="dense", per_document=0)
    assert len(hits) > 8
    for hit in hits:
        assert hit.score == pytest.approx(float(stored(index, hit.passage_id)[0] @ expected), abs=1e-5)
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


@pytest.mark.parametrize("mode", ["hybrid", "dense"])
def test_the_addends_sum_to_the_score(index: Index, mode: str) -> None:
    question = Question.of(
        "find the key", ("open door", 0.5), ("water", -0.25), like=["long.md"], unlike=[("keys.md:7", 0.3)]
    )
    for hit in index.query(question, k=100, mode=mode):
        why = index.explain(question, hit)
        assert abs(why.residual) < 1e-5
        assert why.audit.recomputed == pytest.approx(hit.score, abs=1e-5)
        assert sum(share.contribution for share in why.shares()) == pytest.approx(hit.score, abs=1e-5)
        named = {term.term for term in why.terms if term.kind == "like"}
        assert named == {"like long.md", "unlike keys.md:7"}
        for word in why.words().query:
            if word.kind == "word":
                assert why.query[word.start : word.end] == word.text
        for term in why.terms:
            if term.kind == "term":
                assert why.query[term.start : term.end] == term.term


def test_words_are_those_of_the_texts_that_are_wanted(index: Index) -> None:
    question = Question.of(("water", 0.1), ("sound", -1), ("door", 0.5))
    hits = index.query(question, mode="lexical")
    expected = index.query("water\ndoor", mode="lexical")
    assert [(hit.passage_id, hit.score) for hit in hits] == [(hit.passage_id, hit.score) for hit in expected]
    why = index.explain(question, hits[0])
    assert abs(why.residual) < 1e-6
    assert not any(term.kind == "like" for term in why.terms)


def test_pairs_are_a_question_and_one_text_is_itself(index: Index) -> None:
    pairs = index.query([("find the key", 1.0), ("door", 0.5)])
    assert pairs == index.query(Question.of("find the key", ("door", 0.5)))
    assert index.query([("find the key", 3.0)]) == index.query("find the key")
    a, b = pairs[:2]
    contrast = index.contrast([("find the key", 1.0), ("door", 0.5)], a, b)
    assert sum(word.gap for word in contrast.words) == pytest.approx(a.score - b.score, abs=1e-5)


def test_questions_that_cannot_be_asked(index: Index) -> None:
    with pytest.raises(InputError, match="a text of the query is empty"):
        Question.of("find", " ")
    with pytest.raises(InputError, match="no text of the query has a weight above 0"):
        Question.of(("find", -1), like=[1])
    with pytest.raises(InputError, match="not a finite number"):
        Question.of(("find", float("inf")))
    with pytest.raises(InputError, match="'nothing.md' is not in the index"):
        index.query(Question.of("find", like=["nothing.md"]))
    with pytest.raises(InputError, match="no passage 999"):
        index.query(Question.of("find", like=[999]))
    with pytest.raises(InputError, match="cancel out"):
        index.query(Question.of("find", ("find", -1)))
    with pytest.raises(InputError, match="counts by meaning"):
        index.query(Question.of("find", like=[1]), mode="lexical")
    with pytest.raises(InputError, match="cannot be reranked"):
        index.query(Question.of("find", "door"), rerank="late")
    with pytest.raises(InputError, match="one of its|its two texts have|same query"):
        question = Question.of("find the key", like=["long.md"])
        index.faithfulness(index.explain(question, index.query(question)[0]))


def test_similar_passages_are_the_nearest(index: Index) -> None:
    everything = [hit.passage_id for hit in index.query("the", k=100)]
    mine = passages_of(index, "keys.md")
    (vector,) = stored(index, mine[0])
    for same, left_out in ((False, set(mine)), (True, {mine[0]})):
        hits = index.similar(mine[0], k=100, same_document=same, per_document=0)
        cosines = {id_: float(stored(index, id_)[0] @ vector) for id_ in everything if id_ not in left_out}
        assert [hit.passage_id for hit in hits] == sorted(cosines, key=lambda id_: -cosines[id_])
        for hit in hits:
            assert hit.score == pytest.approx(cosines[hit.passage_id], abs=1e-6)
            why = index.explain_similar(mine[0], hit)
            assert abs(why.residual) < 1e-5
            assert not why.terms
            assert hit.percentile is None
    assert (
        index.similar(mine[0], k=2, where="path:long.md")
        == index.similar(mine[0], k=100, where="path:long.md")[:2]
    )
    with pytest.raises(InputError, match="'nothing.md' is not in the index"):
        index.similar("nothing.md")


def test_documents_are_similar_by_the_mean_of_their_passages(index: Index) -> None:
    mine = passages_of(index, "long.md")
    assert len(mine) > 2
    mean = normalised(stored(index, *mine).mean(axis=0))
    hits = index.similar("long.md")
    assert not {hit.passage_id for hit in hits} & set(mine)
    for hit in hits:
        assert hit.score == pytest.approx(float(stored(index, hit.passage_id)[0] @ mean), abs=1e-6)
        why = index.explain_similar("long.md", hit)
        assert abs(why.residual) < 1e-5
        assert len(why.terms) == len(mine) - 1
        assert {term.kind for term in why.terms} == {"like"}
        assert index.explain_similar("long.md", hit.passage_id).score == pytest.approx(hit.score, abs=1e-6)


def test_lines_around(index: Index, notes: Path) -> None:
    mine = passages_of(index, "long.md")
    hits = {hit.passage_id: hit for hit in index.query("the", k=100)}
    lines = (notes / "long.md").read_text(encoding="utf-8").split("\n")
    for id_ in mine:
        hit = hits[id_]
        found = index.surroundings(hit, lines=3)
        first, last = hit.line_start, hit.line_end
        assert found.lines_before == tuple((n, lines[n - 1]) for n in range(max(1, first - 3), first))
        assert found.lines_after == tuple(
            (n, lines[n - 1]) for n in range(last + 1, min(len(lines), last + 3) + 1)
        )
        assert found.note == ""
    (notes / "long.md").write_text("changed", encoding="utf-8")
    changed = index.surroundings(hits[mine[0]], lines=3)
    assert (changed.lines_before, changed.lines_after) == ((), ())
    assert changed.note == "long.md has changed since it was indexed, so its lines are not shown"
    (notes / "long.md").unlink()
    assert "long.md is gone" in index.surroundings(hits[mine[0]], lines=1).note
    with pytest.raises(InputError, match="-1 is no number"):
        index.surroundings(hits[mine[0]], lines=-1)


def test_records_of_a_table_have_lines_too(index: Index) -> None:
    hit = next(hit for hit in index.query("sound", k=100) if hit.document == "table.csv#2")
    found = index.surroundings(hit, lines=1)
    assert found.lines_before == ((2, "first,the first side of the door"),)
    assert found.note == ""
