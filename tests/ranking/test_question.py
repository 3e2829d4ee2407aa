"""Queries of several parts, similar passages, and the lines around a hit."""

from pathlib import Path

import numpy as np
import pytest

from search import Index, InputError, Question
from search.index import searcher_of
from search.ranking.question import without_operators
from search.store.document_text import surroundings
from tests.conftest import LONG


@pytest.fixture
def index(notes: Path, tiny_model: Path) -> Index:
    (notes / "long.md").write_text(
        "# Long\n\n"
        + "\n\n".join(
            f"## Part {i}\n\nThe word {i} turns the key {i * 7} times{LONG}." for i in range(6)
        ),
        encoding="utf-8",
    )
    return Index.build(notes, model=str(tiny_model))


def vectors_of(index: Index, *passages: int) -> np.ndarray:
    with searcher_of(index).store.reading() as snapshot:
        return snapshot.embeddings(passages).astype(np.float64)


def passages_of(index: Index, document: str) -> list[int]:
    return sorted(hit.passage_id for hit in index.query("the", k=100) if hit.document == document)


def normalised(vector: np.ndarray) -> np.ndarray:
    return np.asarray(vector / np.linalg.norm(vector))


def test_keywords_come_from_texts_of_positive_weight(index: Index) -> None:
    question = Question.of(("water", 0.1), ("sound", -1), ("door", 0.5))
    hits = index.query(question, mode="lexical")
    expected = index.query("water\ndoor", mode="lexical")
    assert [(hit.passage_id, hit.score) for hit in hits] == [
        (hit.passage_id, hit.score) for hit in expected
    ]
    why = index.explain(question, hits[0])
    assert abs(why.residual) < 1e-6
    assert not any(term.kind == "like" for term in why.terms)


def test_pairs_are_a_question_and_the_weight_of_a_single_text_does_not_matter(index: Index) -> None:
    pairs = index.query([("find the key", 1.0), ("door", 0.5)])
    assert pairs == index.query(Question.of("find the key", ("door", 0.5)))
    assert index.query([("find the key", 3.0)]) == index.query("find the key")
    a, b = pairs[:2]
    contrast = index.contrast([("find the key", 1.0), ("door", 0.5)], a, b)
    assert sum(word.gap for word in contrast.words) == pytest.approx(a.score - b.score, abs=1e-5)


def test_invalid_questions_are_refused(index: Index) -> None:
    with pytest.raises(InputError, match="one text of the query is empty"):
        Question.of("find", " ")
    with pytest.raises(InputError, match="no text of the query has a positive weight"):
        Question.of(("find", -1), like=[1])
    with pytest.raises(InputError, match="not a finite number"):
        Question.of(("find", float("inf")))
    with pytest.raises(InputError, match="'nothing.md' is not in the index"):
        index.query(Question.of("find", like=["nothing.md"]))
    with pytest.raises(InputError, match="no passage 999"):
        index.query(Question.of("find", like=[999]))
    with pytest.raises(InputError, match="cancel each other out"):
        index.query(Question.of("find", ("find", -1)))
    with pytest.raises(InputError, match="need embeddings"):
        index.query(Question.of("find", like=[1]), mode="lexical")
    with pytest.raises(InputError, match="cannot be reranked"):
        index.query(Question.of("find", "door"), rerank="late")


def test_documents_are_similar_by_the_mean_of_their_passages(index: Index) -> None:
    ids = passages_of(index, "long.md")
    assert len(ids) > 2
    mean = normalised(vectors_of(index, *ids).mean(axis=0))
    hits = index.similar("long.md")
    assert not {hit.passage_id for hit in hits} & set(ids)
    for hit in hits:
        assert hit.score == pytest.approx(float(vectors_of(index, hit.passage_id)[0] @ mean), abs=1e-6)
        why = index.explain_similar("long.md", hit)
        assert abs(why.residual) < 1e-5
        assert len(why.terms) == len(ids) - 1
        assert {term.kind for term in why.terms} == {"like"}
        assert index.explain_similar("long.md", hit.passage_id).score == pytest.approx(
            hit.score, abs=1e-6
        )


def test_surroundings_are_the_lines_around_a_hit(index: Index, notes: Path) -> None:
    ids = passages_of(index, "long.md")
    hits = {hit.passage_id: hit for hit in index.query("the", k=100)}
    lines = (notes / "long.md").read_text(encoding="utf-8").split("\n")
    for id_ in ids:
        hit = hits[id_]
        context = surroundings(hit, 3)
        first, last = hit.line_start, hit.line_end
        assert context.lines_before == tuple((n, lines[n - 1]) for n in range(max(1, first - 3), first))
        assert context.lines_after == tuple(
            (n, lines[n - 1]) for n in range(last + 1, min(len(lines), last + 3) + 1)
        )
        assert context.note == ""
    (notes / "long.md").write_text("changed", encoding="utf-8")
    after_edit = surroundings(hits[ids[0]], 3)
    assert (after_edit.lines_before, after_edit.lines_after) == ((), ())
    assert after_edit.note == "long.md has changed since it was indexed, so its lines are not shown"
    (notes / "long.md").unlink()
    assert "long.md is gone" in surroundings(hits[ids[0]], 1).note
    with pytest.raises(InputError, match="the number of lines is -1"):
        surroundings(hits[ids[0]], -1)


def test_records_of_a_table_have_surroundings(index: Index) -> None:
    hit = next(hit for hit in index.query("sound", k=100) if hit.document == "table.csv#2")
    context = surroundings(hit, 1)
    assert context.lines_before == ((2, "first,the first side of the door"),)
    assert context.note == ""


@pytest.mark.parametrize(
    ("query", "words", "restricts"),
    [
        ("open the door", "open the door", False),
        ("lang=de open the door", "open the door", True),
        ("door -path:mail/**", "door", True),
        ('the "red door" -window', "the red door", True),
        (" ", "", False),
    ],
)
def test_operators_are_no_words_of_a_query(query: str, words: str, restricts: bool) -> None:
    text, has_operators = without_operators(query)
    assert (" ".join(text.split()), has_operators) == (words, restricts)
