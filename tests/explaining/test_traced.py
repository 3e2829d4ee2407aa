"""Traced contributions: they sum to products with the embedding, whatever the architecture and the pooling."""

import itertools
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from search import Index
from search.encoding import Encoder
from search.encoding.openvino_engine import OpenVINOEngine
from search.encoding.parameters import Parameters
from search.encoding.tokenizer import Encoded, ModelInput
from search.errors import ModelError
from search.explaining import traced_numpy
from search.explaining.traced import Traces, WholeTexts, pairs
from search.explaining.traced_numpy import NumpyTracer
from search.explaining.traced_torch import TorchTracer
from search.explaining.tracers import can_trace, tracer
from search.records.tokens import Token
from tests.conftest import REPOSITORY, save_modules, save_tokenizer
from tests.encoding.test_options import save_dense

TEXTS = ["find the key", "the key is in the water, over and over", "people say time is long", "key"]
LAYERS, WIDTH = 3, 32
BERT_LIKE = ("bert", "roberta", "xlm-roberta", "camembert", "electra", "mpnet", "distilbert")
OTHERS = ("albert", "deberta-v2", "modernbert", "roformer", "roberta-prelayernorm")


def save_random(folder: Path, family: str, **options: Any) -> Path:
    """A small model of a family; all of its parameters are random, so that no bias is 0 and no norm is plain."""
    import torch
    from transformers import CONFIG_MAPPING, AutoModel

    sizes = {
        "vocab_size": 400, "hidden_size": WIDTH, "num_hidden_layers": LAYERS, "num_attention_heads": 4,
        "intermediate_size": 64, "max_position_embeddings": 66, "pad_token_id": 0,
    }  # fmt: skip
    if family == "distilbert":
        sizes = {
            "vocab_size": 400, "dim": WIDTH, "n_layers": LAYERS, "n_heads": 4, "hidden_dim": 64,
            "max_position_embeddings": 66, "pad_token_id": 0,
        }  # fmt: skip
    if family == "electra":
        options["embedding_size"] = 16
    if family == "deberta-v2":
        options |= {"relative_attention": True, "position_buckets": 8, "pos_att_type": ["c2p", "p2c"]}
    if family == "modernbert":
        options |= {"cls_token_id": 2, "sep_token_id": 3, "bos_token_id": 2, "eos_token_id": 3}
    torch.manual_seed(0)
    model = AutoModel.from_config(CONFIG_MAPPING[family](**sizes, **options))
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith("bias") or parameter.dim() == 1:
                parameter += 0.2 * torch.randn_like(parameter)
            else:
                parameter *= 5
    folder.mkdir(parents=True, exist_ok=True)
    model.save_pretrained(folder)
    save_tokenizer(folder)
    save_modules(folder, "mean")
    return folder


def traces_of(tracer: Any, encoder: Encoder, texts: list[str] = TEXTS) -> Traces:
    traces: Traces = tracer.trace(encoder.inputs(texts))
    return traces


def require_sums(encoder: Encoder, traces: Traces, atol: float) -> None:
    """Fail unless all contributions sum to the products of the encoder's embeddings, at each layer."""
    embeddings = encoder.encode(TEXTS)
    np.testing.assert_allclose(traces.embeddings, embeddings, atol=atol)
    tables = traces.products(np.stack([embeddings] * len(TEXTS)))
    for embedding, table in zip(embeddings, tables, strict=True):
        expected = np.repeat((embeddings @ embedding)[:, None], table.shape[1], axis=1)
        np.testing.assert_allclose(table.sum(axis=2), expected, atol=atol)
    for layer in range(encoder.n_layers + 1):
        addends = traces.addends(1, layer)
        np.testing.assert_allclose(addends.sum(axis=0), embeddings[1], atol=atol)
        np.testing.assert_allclose(tables[1][:, layer], embeddings @ addends.T, atol=atol)
        cells = pairs(traces.only(0), traces.only(1), layer)
        np.testing.assert_allclose(cells.sum(axis=1), tables[0][1, layer], atol=atol)
        np.testing.assert_allclose(cells.sum(axis=0), tables[1][0, layer], atol=atol)


@pytest.mark.parametrize("family", BERT_LIKE)
def test_numpy_and_pytorch_trace_the_same(tmp_path: Path, family: str) -> None:
    encoder = Encoder(str(save_random(tmp_path / family, family)))
    traced = tracer(encoder)
    assert isinstance(traced, NumpyTracer)
    in_numpy, in_torch = traces_of(traced, encoder), traces_of(TorchTracer(encoder), encoder)
    directions = np.random.default_rng(0).standard_normal((len(TEXTS), 2, WIDTH))
    for first, second in zip(in_numpy.products(directions), in_torch.products(directions), strict=True):
        np.testing.assert_allclose(first, second, atol=1e-5)
        assert np.abs(first[:, 0, -1]).max() > 0.01  # the offset
    require_sums(encoder, in_numpy, 1e-5)


@pytest.mark.parametrize("family", OTHERS)
def test_contributions_sum_to_the_cosine_in_other_architectures(tmp_path: Path, family: str) -> None:
    encoder = Encoder(str(save_random(tmp_path / family, family)))
    traced = tracer(encoder)
    assert isinstance(traced, TorchTracer)
    require_sums(encoder, traces_of(traced, encoder), 1e-5)


POOLINGS = [
    *itertools.product(["mean", "mean_sqrt_len", "max", "cls"], [-1, -2, "mean:2", "sum:3", "concat:2"]),
    ("pooler", -1),
]


@pytest.mark.parametrize(("pooling", "layer"), POOLINGS)
def test_contributions_sum_to_the_cosine_with_every_pooling(
    bert: Path, pooling: Any, layer: int | str
) -> None:
    encoder = Encoder(str(bert), pooling=pooling, layer=layer)
    require_sums(encoder, traces_of(tracer(encoder), encoder), 1e-5)
    require_sums(encoder, tracer(encoder).trace(encoder.inputs(TEXTS), precise=True), 1e-5)
    require_sums(encoder, traces_of(TorchTracer(encoder), encoder), 1e-5)


@pytest.mark.parametrize(
    ("activation", "options"),
    [
        *itertools.product(["Identity", "Tanh"], [{}, {"dim": 5}, {"pooling": "max"}]),
        ("GELU", {}),  # only sentence-transformers can run it, with its own pooling
        ("GELU", {"dim": 5}),
    ],
)
def test_contributions_sum_to_the_cosine_through_a_dense_module(
    tmp_path: Path, activation: str, options: dict[str, Any]
) -> None:
    encoder = Encoder(str(save_dense(tmp_path, activation)), **options)
    require_sums(encoder, traces_of(tracer(encoder), encoder), 1e-5)
    require_sums(encoder, traces_of(TorchTracer(encoder), encoder), 1e-5)


@pytest.mark.parametrize("engine", ["numpy", "torch"])
def test_two_tokens_have_the_contributions_that_were_worked_out_by_hand(
    tmp_path: Path, engine: str
) -> None:
    # A layer of two dimensions with equal attention and no feed-forward. A norm centres a vector (a, b) to
    # ((a - b) / 2, (b - a) / 2), so only d = (a - b) / 2 counts; it is 2 for the first token, -1 for the second.
    encoder = Encoder(str(save_two_dimensions(tmp_path)))
    chosen = tracer(encoder) if engine == "numpy" else TorchTracer(encoder)
    tokens = tuple(Token(str(id_), id_, 0, 0, False, None, "text") for id_ in (5, 6))
    traces = chosen.trace([ModelInput("5 6", "", (), "5 6", None, tokens, Encoded([5, 6], [0, 0]))])
    np.testing.assert_allclose(traces.states(0)[0], [[3, -1], [-1, 1]], atol=1e-6)
    np.testing.assert_allclose(traces.states(0)[1], [[2, -1], [0, 1]], atol=1e-6)
    np.testing.assert_allclose(traces.embeddings, [[1, 0]], atol=1e-6)
    (table,) = traces.products(np.array([[[1.0, 0.0]]]))
    # The first norm has scales 0.4 and 2, the second 2 and 2 / 3; their products are 0.8 and 4 / 3.
    first = (0.8 * (2 + 1) + 4 / 3 * 1) / 2
    second = (0.8 * -0.5 + 4 / 3 * (-1 - 0.5)) / 2
    offset = (2 * -0.5 + 2 / 3 * -0.5) / 2 + 1  # of the biases (0, 1) and (1, 0) of the two norms
    np.testing.assert_allclose(table[0, 0], [first, second, offset], atol=1e-6)
    np.testing.assert_allclose(table[0, 1], [1, 0, 0], atol=1e-6)  # half of (2, -1), and of (0, 1)
    np.testing.assert_allclose(traces.addends(0, 1), [[1, -0.5], [0, 0.5], [0, 0]], atol=1e-6)


def save_two_dimensions(folder: Path) -> Path:
    import torch
    from transformers import BertConfig, BertModel

    config = BertConfig(
        vocab_size=400, hidden_size=2, num_hidden_layers=1, num_attention_heads=1, intermediate_size=2,
        max_position_embeddings=66,
    )  # fmt: skip
    model = BertModel(config, add_pooling_layer=False)
    layer, words = model.encoder.layer[0], torch.tensor([[1.0, 0.0]]).repeat(400, 1)
    words[6] = torch.tensor([0.0, 1.0])
    values = {
        model.embeddings.word_embeddings.weight: words,
        model.embeddings.LayerNorm.weight: torch.tensor([2.0, 1.0]),
        model.embeddings.LayerNorm.bias: torch.tensor([1.0, 0.0]),
        layer.attention.self.value.weight: torch.eye(2),
        layer.attention.output.dense.weight: torch.eye(2),
        layer.attention.output.LayerNorm.weight: torch.ones(2),
        layer.attention.output.LayerNorm.bias: torch.tensor([0.0, 1.0]),
        layer.output.LayerNorm.weight: torch.ones(2),
        layer.output.LayerNorm.bias: torch.tensor([1.0, 0.0]),
    }
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(values.get(parameter, torch.zeros_like(parameter)))
    model.save_pretrained(folder)
    save_tokenizer(folder)
    save_modules(folder, "mean")
    return folder


def test_matrices_of_a_converted_model_are_used_where_they_are(bert: Path) -> None:
    engine = Encoder(str(bert)).engine
    assert isinstance(engine, OpenVINOEngine)
    parameters = Parameters(engine.folder)
    matrices = [values for name, values in parameters.items() if values.ndim == 2]
    assert len(matrices) == 3 + LAYERS * 6 + 1 and parameters.layers == LAYERS
    assert all(values.flags.aligned for values in matrices)
    assert sum(values.base is not None for values in matrices) >= LAYERS * 6
    assert (engine.folder / "parameters.safetensors").stat().st_size < 20_000


@pytest.mark.parametrize("make", [tracer, TorchTracer])
def test_a_text_is_traced_alike_alone_and_in_a_batch(bert: Path, make: Callable[..., Any]) -> None:
    encoder = Encoder(str(bert))
    traced = make(encoder)
    together = traces_of(traced, encoder)
    directions = np.random.default_rng(1).standard_normal((len(TEXTS), 3, WIDTH))
    tables = together.products(directions)
    for i, text in enumerate(TEXTS):
        alone = traces_of(traced, encoder, [text])
        np.testing.assert_allclose(alone.products(directions[[i]])[0], tables[i], atol=1e-5)
        np.testing.assert_allclose(alone.addends(0, 1), together.addends(i, 1), atol=1e-5)


def test_long_texts_are_traced_in_pieces(bert: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = Encoder(str(bert))
    traces = traces_of(tracer(encoder), encoder)
    directions = np.random.default_rng(1).standard_normal((len(TEXTS), 7, WIDTH))
    whole, addends = traces.products(directions), traces.addends(1, 0)
    monkeypatch.setattr(traced_numpy, "_ROWS", 1)
    for table, expected in zip(traces.products(directions), whole, strict=True):
        np.testing.assert_allclose(table, expected, atol=1e-6)
    np.testing.assert_allclose(traces.addends(1, 0), addends, atol=1e-6)


def test_the_gate_of_gelu_is_the_normal_distribution_function() -> None:
    from scipy.special import ndtr

    x = np.concatenate([np.linspace(-12, 12, 100_001), [0.0, -100.0, 100.0]]).astype(np.float32)
    gate = traced_numpy._gelu_gate(x)
    assert np.abs(gate - ndtr(x.astype(np.float64))).max() < 3e-7
    assert (gate[x == 0] == 0.5).all()


def test_distances_of_tokens_have_the_buckets_of_transformers() -> None:
    import torch
    from transformers.models.mpnet.modeling_mpnet import MPNetEncoder

    n = 300
    distances = torch.arange(n)[None, :] - torch.arange(n)[:, None]
    buckets = MPNetEncoder.relative_position_bucket(distances, num_buckets=32)
    table = np.arange(32, dtype=np.float32)[:, None]
    ours = traced_numpy._bias_of_distances(table, n)[0]
    np.testing.assert_array_equal(ours, buckets.numpy())


def test_a_text_without_tokens_has_one_addend() -> None:
    vectors = np.array([[0.6, 0.8], [1.0, 0.0]], dtype=np.float32)
    first, second = WholeTexts(vectors[:1]), WholeTexts(vectors[1:])
    (table,) = first.products(vectors[1:][None])
    np.testing.assert_allclose(table, [[[0.6, 0.0], [0.6, 0.0]]])
    np.testing.assert_allclose(pairs(first, second, 0), [[0.6, 0.0], [0.0, 0.0]])


@pytest.mark.parametrize("pooling", ["mean", "cls", "pooler"])
def test_a_score_of_the_real_model_misses_its_addends_by_less_than_a_millionth(
    real: Encoder, pooling: Any
) -> None:
    encoder = Encoder(offline=True, pooling=pooling)
    assert encoder.fingerprint.weights == real.fingerprint.weights
    with Index.create(encoder=encoder) as index:
        index.upsert([{"id": str(i), "text": f"{text} {TEXTS[1]}"} for i, text in enumerate(TEXTS)])
        for query in ("where do I find the key to the water tank", "how long do people talk"):
            for hit in index.query(query, k=4, explain=True):
                assert hit.explanation is not None
                assert abs(hit.explanation.residual) < 1e-6


def test_tracing_leaves_the_model_as_it_was(bert: Path) -> None:
    encoder = Encoder(str(bert), engine="torch", device="cpu")
    before = encoder.encode(TEXTS)
    traces_of(tracer(encoder), encoder)
    np.testing.assert_array_equal(encoder.encode(TEXTS), before)


@pytest.mark.parametrize("pooling", ["mean", "cls", "pooler"])
def test_explaining_in_a_new_process_imports_no_pytorch(
    notes: Path, tiny_model: Path, tmp_path: Path, pooling: Any
) -> None:
    Index.build(notes, index=str(tmp_path / "index"), model=str(tiny_model), pooling=pooling)
    program = f"""
import sys, search
index = search.Index.open({str(tmp_path / "index")!r})
why = index.explain("turn the key", index.query("turn the key")[0])
assert why.contributions.shape == why.similarity.shape and abs(why.residual) < 1e-6
index.contrast("turn the key", 1, 2)
print(sorted({{"torch", "transformers", "sentence_transformers", "scipy"}} & sys.modules.keys()))
"""
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, cwd=REPOSITORY, check=False
    )
    assert (result.stdout, result.stderr) == ("[]\n", "")


def test_without_pytorch_other_architectures_are_searched_and_not_explained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoder = Encoder(str(save_random(tmp_path / "albert", "albert")))
    assert encoder.engine.name == "openvino" and can_trace(encoder)
    for module in ("tracers", "traced_torch"):
        monkeypatch.setattr(f"search.explaining.{module}.find_spec", lambda name: None)
    assert not can_trace(encoder)
    with pytest.raises(ModelError, match="of type 'albert', needs PyTorch. Install it with: pip install"):
        tracer(encoder)
    assert encoder.encode(TEXTS).shape == (len(TEXTS), WIDTH)


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_random(tmp_path_factory.mktemp("bert") / "model", "bert")
