"""The two matrices: by hand, against NumPy, and at any layer beside what transformers computes."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import search
from search.encoding import Encoder
from search.errors import InputError
from search.explaining.explanation import similarity_layer, similarity_matrix

# Query tokens (1, 0) and (0, 2); passage tokens (3, 4), (0, 1) and (-1, 0).
QUERY = np.array([[1, 0], [0, 2]], dtype=np.float32)
PASSAGE = np.array([[3, 4], [0, 1], [-1, 0]], dtype=np.float32)


def test_similarities_are_those_worked_out_by_hand() -> None:
    expected = [[0.6, 0, -1], [0.8, 1, 0]]
    np.testing.assert_allclose(similarity_matrix(QUERY, PASSAGE), expected, atol=1e-7)


def test_no_cosine_is_above_one_and_a_vector_is_entirely_similar_to_itself() -> None:
    rows = np.random.default_rng(4).normal(size=(400, 384)).astype(np.float32)
    for vectors in (rows, -3 * rows):
        cosines = similarity_matrix(rows, vectors)
        assert np.abs(cosines).max() <= 1
        assert (np.abs(np.diag(cosines)) == 1).all()


def test_zero_vectors_have_no_similarity() -> None:
    assert similarity_matrix(np.zeros((1, 2)), PASSAGE).tolist() == [[0, 0, 0]]


A, B = "The cat sat on the mat.", "A kitten was sitting on the rug."


def by_transformers(folder: Path, *texts: str) -> list[np.ndarray]:
    """The cosines of the tokens of two texts, layer by layer."""
    import torch
    from transformers import AutoModel, AutoTokenizer

    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder).eval()
    with torch.no_grad():
        states = [
            model(**tokenizer(text, return_tensors="pt"), output_hidden_states=True).hidden_states
            for text in texts
        ]
    unit = [[layer[0].double().numpy() for layer in text] for text in states]
    unit = [[layer / np.linalg.norm(layer, axis=1, keepdims=True) for layer in text] for text in unit]
    return [first @ second.T for first, second in zip(*unit, strict=True)]


@pytest.mark.parametrize("encoder_name", ["tiny", "real"])
def test_every_layer_is_that_of_transformers(encoder_name: str, request: pytest.FixtureRequest) -> None:
    encoder: Encoder = request.getfixturevalue(encoder_name)
    expected = by_transformers(encoder.files.folder, A, B)
    assert len(expected) == encoder.n_layers + 1
    assert search.explain(A, B, layer=-1, model=encoder).similarity_layer == encoder.n_layers
    for layer, cosines in enumerate(expected):
        why = search.explain(A, B, layer=layer, model=encoder)
        np.testing.assert_allclose(why.similarity, cosines, atol=1e-6)
        assert (why.similarity_layer, why.layer, why.n_layers) == (layer, layer, encoder.n_layers)


@pytest.mark.parametrize("encoder_name", ["tiny", "real"])
def test_contributions_of_the_last_layer_are_products_of_its_vectors(
    encoder_name: str, request: pytest.FixtureRequest
) -> None:
    # With mean pooling: (q_i . p_j) / (n m |q_mean| |p_mean|)
    encoder: Encoder = request.getfixturevalue(encoder_name)
    query, passage = (text.vectors.astype(np.float64) for text in encoder.tokens([A, B]))
    expected = query @ passage.T / (len(query) * len(passage))
    expected /= np.linalg.norm(query.mean(axis=0)) * np.linalg.norm(passage.mean(axis=0))
    why = search.explain(A, B, layer="last", model=encoder)
    np.testing.assert_allclose(why.contributions, expected, atol=1e-6)
    assert (why.offset, why.passage_offset, why.offsets.both) == (0, 0, 0)


def test_one_option_names_the_layer_of_both_matrices(tiny: Encoder) -> None:
    layers = {
        layer: (why.layer, why.similarity_layer)
        for layer in (None, 0, 2, "middle", "last", "mean:2")
        if (why := search.explain(A, B, layer=layer, model=tiny))
    }
    assert layers == {
        None: (0, 1), 0: (0, 0), 2: (2, 2), "middle": (1, 1), "last": (3, 3), "mean:2": (0, "mean:2"),
    }  # fmt: skip
    why = search.explain(A, B, layer=2, model=tiny)
    np.testing.assert_array_equal(why.query_sums, why.layers("query")[2, :-1])
    np.testing.assert_allclose(
        why.contributions.sum(axis=1) + why.offsets.query, why.query_sums, atol=1e-6
    )
    with pytest.raises(InputError, match="text is 'words'. Choose one of: 'query', 'passage'"):
        why.layers("words")  # type: ignore[arg-type]


def test_layers_have_numbers_and_names() -> None:
    assert similarity_layer(None, 6) == similarity_layer("middle", 6) == 3
    assert similarity_layer("last", 6) == similarity_layer(-1, 6) == 6
    assert similarity_layer(0, 6) == similarity_layer(np.int64(0), 6) == 0  # type: ignore[arg-type]
    for wrong in (1.5, True, "first", [0]):
        with pytest.raises(InputError, match=r"no layer (1\.5|True|'first'|\[0\])\. Choose from"):
            similarity_layer(wrong, 6)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="no layer 7"):
        similarity_layer(7, 6)


@pytest.fixture
def index(notes: Path, tiny_model: Path, tmp_path: Path) -> Iterator[search.Index]:
    return search.Index.build(notes, index=str(tmp_path / "index"), model=str(tiny_model))


def test_an_index_explains_at_a_layer(index: search.Index) -> None:
    with pytest.raises(InputError, match="'layer' requires explain=True"):
        index.query("key", layer=1)
    (hit,) = index.query("find the key", k=1)
    middle = index.explain("find the key", hit)
    last = index.explain("find the key", hit, layer="last")
    assert (middle.similarity_layer, last.similarity_layer) == (1, 3)
    (query,) = index.encoder.tokens(["find the key"])
    (passage,) = index.encoder.tokens([hit.text], contexts=[hit.context], hidden=[hit.hidden])
    expected = similarity_matrix(query.vectors, passage.vectors)
    np.testing.assert_allclose(last.similarity, expected, atol=1e-6)
    assert not np.allclose(middle.similarity, expected, atol=1e-3)
    parts = index.explain(search.Question.of("find", ("the key", 0.5)), hit, layer="last")
    assert parts.similarity.shape == parts.contributions.shape


@pytest.mark.parametrize(
    "options", [{}, {"mode": "dense"}, {"mode": "lexical"}, {"rerank": "late"}, {"weight": 0.5}]
)
def test_hits_come_with_their_explanations(index: search.Index, options: dict[str, object]) -> None:
    plain = index.query("find the key", k=3, **options)  # type: ignore[arg-type]
    hits = index.query("find the key", k=3, explain=True, layer="last", **options)  # type: ignore[arg-type]
    assert hits == plain
    assert isinstance(hits, list)
    assert all(hit.explanation is None for hit in plain)
    whys = index.explain("find the key", plain, layer="last")
    for hit, why in zip(hits, whys, strict=True):
        explanation = hit.explanation
        assert explanation is not None
        assert abs(explanation.residual) < 1e-5
        assert explanation.score == hit.score
        np.testing.assert_allclose(explanation.contributions, why.contributions, atol=1e-6)
        np.testing.assert_allclose(explanation.similarity, why.similarity, atol=1e-6)
        assert explanation.similarity_layer == 3


def test_several_indexes_explain_their_hits(notes: Path, tiny_model: Path, tmp_path: Path) -> None:
    for name in ("a", "b"):
        search.Index.build(notes, index=str(tmp_path / name), model=str(tiny_model))
    last = search.Indexes.open([tmp_path / "a", tmp_path / "b"])
    hits = last.query("find the key", k=4, explain=True)
    assert {hit.index for hit in hits} == {str(tmp_path / "a"), str(tmp_path / "b")}
    for hit in hits:
        assert hit.explanation is not None
        assert (hit.explanation.passage, hit.explanation.score) == (hit.text, hit.score)
