"""Documents that bring their embedding, or are cut by their program."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from search import Document, Encoder, Index, InputError
from tests.conftest import Run

TEXT = "The key opens the door. The water is cold."
LONG = "A bird and a stone, a cup and a lamp. " * 60


def direction(seed: int, encoder: Encoder) -> np.ndarray[Any, Any]:
    vector: np.ndarray[Any, Any] = np.random.default_rng(seed).normal(size=encoder.dimension)
    return vector


@pytest.fixture
def index(tiny: Encoder, tmp_path: Path) -> Iterator[Index]:
    with Index.create(str(tmp_path / "own"), encoder=tiny) as index:
        yield index


def test_an_own_vector_is_ranked_by_its_cosine_and_not_encoded(index: Index, tiny: Encoder) -> None:
    vectors = [direction(seed, tiny) for seed in range(20)]
    report = index.upsert(
        [{"id": str(n), "text": LONG, "vector": 3 * vector} for n, vector in enumerate(vectors)]
    )
    assert report.encoded == 0
    query = direction(99, tiny)
    units = np.stack(vectors) / np.linalg.norm(vectors, axis=1, keepdims=True)
    cosines = units @ (query / np.linalg.norm(query))
    hits = index.query(vector=query, k=20, all_copies=True)
    assert [hit.document for hit in hits] == [str(n) for n in np.argsort(-cosines)]
    assert [hit.score for hit in hits] == pytest.approx(sorted(cosines, reverse=True), abs=1e-6)
    assert all(hit.text == LONG and hit.own_vector for hit in hits)


@pytest.mark.parametrize("kind", [list, tuple, np.array, lambda v: np.array(v, dtype=np.float64)])
def test_the_keys_vector_and_embedding_take_lists_and_arrays(
    index: Index, tiny: Encoder, kind: Any
) -> None:
    vector = kind(direction(1, tiny).astype(np.float32).tolist())
    for key in ("vector", "embedding"):
        index.upsert({"id": "a", "text": TEXT, key: vector})
        (document,) = index.get("a")
        assert document.metadata == {} and document.vector == pytest.approx(list(vector))


def test_a_text_under_embedding_is_metadata(index: Index) -> None:
    index.upsert({"id": "a", "text": TEXT, "embedding": "BERT"})
    assert index.get("a")[0].metadata == {"embedding": "BERT"}


def test_the_same_text_without_a_vector_is_encoded(index: Index, tiny: Encoder) -> None:
    index.upsert([{"id": "own", "text": TEXT, "vector": direction(1, tiny)}])
    assert index.upsert({"id": "read", "text": TEXT}).encoded == 1
    stored = {
        index.passage(int(id_)).document: vector for id_, vector in zip(*index.embeddings(), strict=True)
    }
    assert stored["read"] == pytest.approx(tiny.encode([TEXT])[0], abs=1e-5)
    assert stored["own"] @ stored["read"] < 0.9


def test_a_vector_is_changed_taken_away_and_kept_by_a_change_of_metadata(
    index: Index, tiny: Encoder
) -> None:
    document = {"id": "a", "text": TEXT, "vector": direction(1, tiny)}
    index.upsert(document)
    assert index.upsert(document).unchanged == 1
    index.set_metadata("a", {"colour": "red"})
    assert index.query(vector=direction(1, tiny), where={"colour": "red"})[0].score == pytest.approx(1)
    assert index.upsert({**document, "vector": direction(2, tiny)}).changed == 1
    assert index.query(vector=direction(2, tiny))[0].score == pytest.approx(1)
    report = index.upsert({"id": "a", "text": TEXT})
    assert (report.changed, report.encoded) == (1, 1)
    assert not index.query(TEXT)[0].own_vector


def test_own_passages_are_texts_spans_or_mappings(index: Index, tiny: Encoder) -> None:
    first, second = "The key opens the door.", "The water is cold."
    span = TEXT.index(second)
    for passages in (
        [first, second],
        [(0, len(first)), (span, len(TEXT))],
        [{"text": first}, {"start": span, "end": len(TEXT)}],
    ):
        index.upsert({"id": "a", "text": TEXT, "passages": passages})
        hits = index.query("water", k=9)
        assert {hit.text for hit in hits} == {first, second}
        assert all(TEXT[hit.start : hit.end] == hit.text for hit in hits)
    index.upsert({"id": "b", "passages": [first, {"text": second, "vector": direction(1, tiny)}]})
    (document,) = index.get("b")
    assert document.text == f"{first}\n\n{second}"
    own = index.query(vector=direction(1, tiny))[0]
    assert (own.document, own.text, own.own_vector) == ("b", second, True)


def test_overlapping_and_repeated_passages_keep_their_places(index: Index) -> None:
    text = "a key a key a key"
    index.upsert({"id": "a", "text": text, "passages": ["a key a key", "key a key", (0, 5)]})
    spans = sorted((hit.start, hit.end) for hit in index.query("key", k=9, all_copies=True))
    assert spans == [(0, 5), (0, 11), (2, 11)]


def test_windows_over_a_repeated_text_are_found_wherever_their_order_allows_it(index: Index) -> None:
    text = "one two one two one"
    index.upsert({"id": "a", "text": text, "passages": ["one two", "two one", "one two", "one"]})
    (document,) = index.get("a")
    assert [(span.start, span.end) for span in document.spans] == [(0, 7), (4, 11), (8, 15), (8, 11)]
    with pytest.raises(
        InputError, match="passage 5 of document 'b' is not in its text after the previous"
    ):
        index.upsert({"id": "b", "text": text, "passages": ["one", "two one two", "one two"] * 2})


def test_a_passage_longer_than_the_model_reads_is_cut_and_nothing_is_lost(
    index: Index, tiny: Encoder
) -> None:
    index.upsert({"id": "a", "text": f"{LONG}The end.", "passages": [LONG, "The end."]})
    hits = index.query("bird stone", k=99, all_copies=True)
    assert len(hits) > 2
    words = " ".join(hit.text for hit in sorted(hits, key=lambda hit: hit.start)).split()
    assert words == f"{LONG}The end.".split()


def test_a_chunker_cuts_documents_that_bring_neither_passages_nor_a_vector(index: Index) -> None:
    index.upsert(
        [{"id": "a", "text": TEXT}, {"id": "b", "text": TEXT, "passages": [TEXT]}],
        chunker=lambda text: text.split(". "),
    )
    texts = {(hit.document, hit.text) for hit in index.query("key water", k=9, all_copies=True)}
    assert texts == {("a", "The key opens the door"), ("a", "The water is cold."), ("b", TEXT)}
    assert [span.end for span in index.get("a")[0].spans] == [22, 42]


def test_explanations_split_the_score_by_the_words_of_the_query(index: Index, tiny: Encoder) -> None:
    index.upsert(
        [
            {"id": "own", "text": LONG, "vector": direction(1, tiny)},
            {"id": "read", "text": "A bird and a stone."},
        ]
    )
    for hit in index.query("a bird", k=9, explain=True):
        why = hit.explanation
        assert why is not None
        assert abs(why.residual) < 1e-5
        assert why.similarity.shape == (len(why.query_tokens), len(why.passage_tokens))
        assert {share.text for share in why.shares()} >= {"bird"}
        assert len(json.dumps(why.to_dict())) < 4096
    alike = index.explain_similar("read", index.similar("read")[0])
    assert alike.passage_tokens[0].text == "own vector" and abs(alike.residual) < 1e-5
    with pytest.raises(InputError, match="no text to explain, only embeddings .own"):
        index.explain_similar("own", index.similar("own")[0])


def test_a_rerank_of_a_passage_without_token_vectors_says_so(index: Index, tiny: Encoder) -> None:
    index.upsert({"id": "own", "text": LONG, "vector": direction(1, tiny)})
    with pytest.raises(InputError, match="'own' brings its embedding.*Query without rerank"):
        index.query("a bird", rerank="late")


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"text": "a", "vector": [1.0, 2.0]}, "has 2 numbers, but embeddings of this index have"),
        ({"text": "a", "vector": "no"}, "the vector of document 'a' is not a list of numbers"),
        ({"text": "a", "vector": [0.0, 0.0]}, "is zero"),
        ({"text": "a", "vector": [1.0, float("nan")]}, "not finite"),
        ({"text": "a", "passages": ["b"]}, "passage 1 of document 'a' is not in its text"),
        ({"text": "a", "passages": [(0, 2)]}, "nor a span of its 1 characters"),
        ({"text": "a", "passages": [3]}, "passage 1 of document 'a'"),
        ({"passages": [(0, 1)]}, "needs passages that are texts"),
        ({"text": "a", "vector": [1.0], "passages": ["a"]}, "Give each passage its vector"),
        ({"text": "abc", "passages": "abc"}, "the passages of document 'a' are no list"),
        ({"text": "abc", "passages": {"text": "abc"}}, "the passages of document 'a' are no list"),
        ({"text": " ", "vector": [1.0, 2.0]}, "neither a text nor a title by which it is shown"),
        ({"text": "a", "vector": [1e300, 1.0]}, "not finite"),
        ({"text": "a", "vector": [10**400, 1]}, "the vector of document 'a' is not a list of numbers"),
        ({"text": "a", "metadata": 5, "colour": "red"}, "the metadata of document 'a' are not a mapping"),
    ],
)
def test_what_is_no_vector_and_no_passage_is_refused(
    index: Index, document: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        index.upsert({"id": "a", **document})
    assert len(index) == 0


def test_own_vectors_are_checked_exported_and_rebuilt(
    tiny_model: Path, own_home: Path, run: Run, tmp_path: Path
) -> None:
    index = Index.create("own", model=str(tiny_model))
    vector = direction(1, index.encoder)
    documents = [
        {"id": "a", "text": LONG, "vector": vector},
        {"id": "b", "text": TEXT, "passages": [{"text": "The water is cold.", "vector": vector}]},
    ]
    index.upsert(documents)
    assert index.check().ok
    exported = list(Index.export("own"))
    assert exported == index.get()
    code, out, _ = run("export", "-i", "own")
    assert code == 0
    assert [Document.of(json.loads(line)) for line in out.splitlines()] == exported
    before = [(hit.document, hit.score) for hit in index.query(vector=vector)]
    index.close()
    report = Index.create("own", model=str(tiny_model), rebuild=True).report
    assert report is not None and report.encoded == 0
    assert [(hit.document, hit.score) for hit in Index.open("own").query(vector=vector)] == before


def test_a_rebuild_with_another_model_does_not_mix_embeddings(
    tiny_model: Path, own_home: Path, other_model: Path
) -> None:
    index = Index.create("own", model=str(tiny_model))
    index.upsert({"id": "a", "text": TEXT, "vector": direction(1, index.encoder)})
    with pytest.raises(InputError, match="bring embeddings of .* cannot be compared"):
        Index.create("own", model=str(other_model), rebuild=True)
    assert index.get("a")[0].vector is not None


def test_a_title_stands_for_a_missing_text_and_keeps_the_vector(index: Index, tiny: Encoder) -> None:
    vector = direction(1, tiny)
    report = index.upsert({"id": "picture", "text": "", "title": "A heron", "vector": vector})
    (hit,) = index.query(vector=vector)
    assert (report.encoded, hit.text, hit.own_vector) == (0, "A heron", True)
    assert hit.score == pytest.approx(1) and index.check().ok


def test_passages_may_be_missing_or_an_array(index: Index) -> None:
    assert index.upsert({"id": "a", "text": TEXT, "passages": None, "vector": None}).encoded == 1
    index.upsert({"id": "a", "text": TEXT, "passages": np.array([[0, 23], [24, 42]])})
    assert [(span.start, span.end) for span in index.get("a")[0].spans] == [(0, 23), (24, 42)]
    with pytest.raises(InputError, match="the chunker returned no list for document 'b'"):
        index.upsert({"id": "b", "text": TEXT}, chunker=lambda text: None)  # type: ignore[arg-type, return-value]


def test_passages_may_come_from_a_generator(index: Index) -> None:
    index.upsert({"id": "a", "text": TEXT, "passages": (part for part in TEXT.split(". "))})
    index.upsert({"id": "b", "passages": iter([TEXT, LONG])})
    assert [len(document.spans) for document in index.get()] == [2, 2]


def test_an_empty_vector_leaves_the_embedding(index: Index, tiny: Encoder) -> None:
    vector = direction(1, tiny).tolist()
    index.upsert({"id": "a", "text": TEXT, "vector": None, "embedding": vector, "metadata": None, "n": 1})
    (document,) = index.get("a")
    assert document.vector == pytest.approx(vector) and document.metadata == {"n": 1}


def test_a_repeated_text_is_sought_after_the_previous_passage(index: Index) -> None:
    index.upsert({"id": "a", "text": "Yes. No. Yes.", "passages": ["Yes.", "Yes."]})
    assert [(span.start, span.end) for span in index.get("a")[0].spans] == [(0, 4), (9, 13)]
