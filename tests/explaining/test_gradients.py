"""Integrated gradients, against PyTorch's own derivatives, and on the axiom that they add up."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import search
from search.encoding import Encoder
from search.errors import InputError, ModelError
from search.explaining.gradients import Differentiable, attribution, differentiable
from tests.conftest import save_modules, save_tiny_bert
from tests.encoding.test_engines import save_family
from tests.encoding.test_options import save_dense

QUERY, PASSAGE = "find the key", "the key is in the water"


def whole_jacobian(encoder: Encoder, text: str, steps: int = 400) -> tuple[np.ndarray, np.ndarray]:
    """Each token's addend of a [CLS] embedding, (n, d), and the baseline's embedding, (d,), the long way.

    With the model as transformers loads it, all derivatives of all dimensions, at the middles of many steps.
    """
    import torch
    from transformers import AutoModel

    model = AutoModel.from_pretrained(encoder.files.folder).eval()
    tokens = encoder.tokens([text])[0].tokens
    table = model.embeddings.word_embeddings.weight.detach()
    embeddings = table[[token.id for token in tokens]]
    start = torch.stack([embeddings[i] if token.special else table[0] for i, token in enumerate(tokens)])

    def embed(inputs: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.normalize(model(inputs_embeds=inputs).last_hidden_state[:, 0], dim=1)

    middles = (torch.arange(steps) + 0.5) / steps
    points = (start + middles[:, None, None] * (embeddings - start)).requires_grad_()
    out = embed(points)
    slopes = [
        torch.autograd.grad(out[:, k].sum(), points, retain_graph=True)[0].mean(dim=0)
        for k in range(out.shape[1])
    ]
    addends = torch.stack([(slope * (embeddings - start)).sum(dim=1) for slope in slopes], dim=1)
    return addends.double().numpy(), embed(start[None])[0].detach().double().numpy()


def test_cells_equal_products_of_all_derivatives(tiny: Encoder) -> None:
    encoder = Encoder(tiny.model, pooling="cls")
    why = search.explain(QUERY, PASSAGE, model=encoder, gradients="pairs")
    (of_query, base), (of_passage, other_base) = (
        whole_jacobian(encoder, text) for text in (QUERY, PASSAGE)
    )
    of_query[0] += base  # what the baseline says by itself counts as [CLS]'s
    of_passage[0] += other_base
    assert np.abs(of_query[1:-1]).max() > 0.01
    pairs = why.contributions
    np.testing.assert_allclose(pairs, of_query @ of_passage.T, atol=2e-3)
    sums = search.explain(QUERY, PASSAGE, model=encoder).sums
    np.testing.assert_allclose(sums[0], of_query @ encoder.encode([PASSAGE])[0], atol=2e-3)
    np.testing.assert_allclose(sums[1], of_passage @ encoder.encode([QUERY])[0], atol=2e-3)
    np.testing.assert_allclose(sums[0], pairs.sum(axis=1), atol=2e-3)


@pytest.mark.parametrize("pooling", ["cls", "pooler"])
def test_the_sum_misses_the_cosine_by_less_than_a_thousandth(tiny: Encoder, pooling: str) -> None:
    encoder = Encoder(tiny.model, pooling=pooling)
    for passage in (PASSAGE, "people say time is long", QUERY):
        for gradients in ("tokens", "pairs"):
            why = search.explain(QUERY, passage, model=encoder, gradients=gradients)
            assert [*map(len, why.sums)] == [len(why.query_tokens), len(why.passage_tokens)]
            assert why.steps in (32, 64) and 0 < abs(why.residual) < 0.001 * abs(why.score)
            assert sum(share.contribution for share in why.shares()) == pytest.approx(why.addends)


def test_the_cosine_stays_whole_without_gradients(tiny: Encoder) -> None:
    why = search.explain(QUERY, PASSAGE, model=Encoder(tiny.model, pooling="cls"), gradients="off")
    assert why.steps == 0 and why.contributions is None and not why.sums[0].any()
    assert [(term.term, term.contribution) for term in why.terms] == [
        ("cosine", pytest.approx(why.score))
    ]
    with pytest.raises(InputError, match='gradients="pairs"'):
        why.to_pandas("contributions")
    with pytest.raises(InputError, match="gradients is 'pair'. Choose one of: tokens, pairs, off"):
        search.explain(QUERY, PASSAGE, model=tiny, gradients="pair")  # type: ignore[arg-type]


def test_special_tokens_have_the_share_of_the_baseline(tiny: Encoder) -> None:
    encoder = Encoder(tiny.model, pooling="cls")
    contributions = search.explain(QUERY, PASSAGE, model=encoder, gradients="pairs").contributions
    assert np.abs(contributions[-1]).max() == 0  # [SEP] is in the baseline as it is in the text
    assert np.abs(contributions[:, -1]).max() == 0
    model = differentiable(encoder)
    bases = [
        model._at(model.path(text, None), np.zeros(1))[0] for text in encoder.tokens([QUERY, PASSAGE])
    ]
    assert contributions[0, 0] == pytest.approx(float(bases[0] @ bases[1]), abs=1e-6)


@pytest.mark.parametrize("pooling", ["mean", "mean_sqrt_len", "max", "cls"])
def test_addends_sum_through_a_dense_module_with_an_activation(tmp_path: Path, pooling: str) -> None:
    encoder = Encoder(str(save_dense(tmp_path, "Tanh")), pooling=pooling, layer="sum:2")
    assert not encoder.has_addends
    why = search.explain(QUERY, PASSAGE, model=encoder)
    first, second = encoder.encode([QUERY, PASSAGE])
    assert why.cosine == pytest.approx(float(first @ second), abs=1e-6)
    # A maximum has kinks, which no quadrature likes.
    assert why.sums[0].sum() == pytest.approx(why.cosine, abs=0.05 if pooling == "max" else 0.001)


@pytest.mark.parametrize("options", [{"layer": -2}, {"layer": "mean:2"}, {"dim": 5}])
def test_addends_sum_for_other_layers_and_fewer_dimensions(
    tiny: Encoder, options: dict[str, Any]
) -> None:
    encoder = Encoder(tiny.model, pooling="cls", **options)
    why = search.explain(QUERY, PASSAGE, model=encoder)
    assert abs(why.residual) < 0.001 * abs(why.cosine) + 1e-6


@pytest.mark.parametrize("family", ["bert", "distilbert", "roberta", "mpnet", "electra", "modernbert"])
def test_the_path_ends_at_the_embedding(tmp_path: Path, family: str) -> None:
    """Input embeddings and token ids must mean the same to every architecture."""
    folder = tmp_path / family
    folder = save_tiny_bert(folder) if family == "bert" else save_family(folder, family)
    save_modules(folder, "mean")
    (folder / "config_sentence_transformers.json").write_text(
        '{"prompts": {"query": "find: "}}', encoding="utf-8"
    )
    encoder = Encoder(str(folder), pooling="cls", engine="torch", device="cpu")
    (query,) = encoder.tokens([QUERY], role="query")
    assert "prompt" in {token.part for token in query.tokens}
    model = differentiable(encoder)
    path = model.path(query, "query")
    np.testing.assert_allclose(model._at(path, np.ones(1))[0], query.embedding, atol=1e-5)
    addends = model.token_addends(path)
    np.testing.assert_allclose(addends.sum(axis=0), query.embedding, atol=0.02)
    sums, _ = attribution(encoder, query, "query").margins(query, "query")
    assert [row.sum() for row in sums] == pytest.approx([1, 1], abs=0.001)


def test_a_model_without_input_embeddings_is_refused_by_name(tiny: Encoder) -> None:
    def forward(input_ids: Any) -> Any:
        raise AssertionError

    engine: Any = SimpleNamespace(model=SimpleNamespace(forward=forward), n_layers=3)
    with pytest.raises(ModelError, match="takes no input embeddings.*--pooling mean"):
        Differentiable(Encoder(tiny.model, pooling="cls"), engine)


def test_an_index_with_a_converted_model_is_explained(notes: Path, tiny_model: Path) -> None:
    """A query runs from the converted model, which has no weights for PyTorch; explaining finds them."""
    search.Index.build(notes, model=str(tiny_model), pooling="cls")
    index = search.Index.open(notes)
    assert index.encoder.engine.name == "openvino"
    (keyword,) = index.query("find the key", k=1, mode="lexical")
    assert index.explain("find the key", keyword).steps == 0  # nothing to split by gradients
    hits = index.query("find the key", k=2)
    for hit, why in zip(hits, index.explain("find the key", hits), strict=True):
        assert why.score == hit.score
        assert abs(why.residual) < 0.001 * abs(hit.score)
        assert abs(why.drift or 0) < 1e-5


@pytest.mark.parametrize("gradients", ["tokens", "pairs"])
def test_the_passage_is_traced_with_its_own_prompt(tmp_path: Path, gradients: Any) -> None:
    folder = save_tiny_bert(tmp_path / "model", pooling="cls")
    (folder / "config_sentence_transformers.json").write_text(
        json.dumps({"prompts": {"query": "find: ", "document": "the text says: "}}), encoding="utf-8"
    )
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "key.md").write_text(PASSAGE, encoding="utf-8")
    index = search.Index.build(tmp_path / "notes", model=str(folder))
    (hit,) = index.query(QUERY, mode="dense")
    why = index.explain(QUERY, hit, gradients=gradients)
    for tokens, prompt in ((why.query_tokens, "find"), (why.passage_tokens, "the text says")):
        words = "".join(token.text for token in tokens if token.part == "prompt").replace("##", "")
        assert prompt.replace(" ", "") in words.replace(" ", "")
    assert abs(why.residual) < 0.001 * abs(why.score)
    assert why.sums[0].sum() == pytest.approx(why.score, abs=2e-3)
    assert why.sums[1].sum() == pytest.approx(why.score, abs=2e-3)
