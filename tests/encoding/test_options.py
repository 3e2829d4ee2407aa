"""Layers, dimensions and Dense modules, against the reference implementation."""

import copy
import json
import pickle
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import search
from search import Encoder
from search.errors import FingerprintMismatch, InputError, ModelError
from tests.conftest import save_tiny_bert

TEXTS = ["find the key", "time and water and the long way", "a"]


def unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def states(encoder: Encoder, text: str) -> list[np.ndarray]:
    """Hidden states of a text, layer by layer, from transformers itself."""
    import torch
    from transformers import AutoModel

    model = AutoModel.from_pretrained(encoder.files.folder).eval()
    ids = torch.tensor([[token.id for token in encoder.tokens([text])[0].tokens]])
    with torch.no_grad():
        return [
            layer[0].numpy() for layer in model(input_ids=ids, output_hidden_states=True).hidden_states
        ]


@pytest.mark.parametrize(
    ("layer", "numbers", "pooling"),
    [
        (-2, [2], "mean"),
        (0, [0], "max"),
        ("mean:4", [0, 1, 2, 3], "cls"),
        ("sum:2", [2, 3], "mean"),
        ("concat:3", [1, 2, 3], "mean"),
        ("concat:2", [2, 3], "cls"),
    ],
)
def test_layers_and_their_combinations_are_pooled_as_by_hand(
    tiny: Encoder, layer: int | str, numbers: list[int], pooling: str
) -> None:
    encoder = Encoder(tiny.model, layer=layer, pooling=pooling)
    expected = []
    for text in TEXTS:
        hidden = states(tiny, text)
        rows = [hidden[i] for i in numbers]
        is_concat = str(layer).startswith("concat")
        mean = np.concatenate(rows, axis=1) if is_concat else np.mean(rows, axis=0)
        expected.append({"mean": mean.mean(axis=0), "max": mean.max(axis=0), "cls": mean[0]}[pooling])
    np.testing.assert_allclose(encoder.encode(TEXTS), unit(np.array(expected)), atol=1e-5)
    assert encoder.fingerprint.dimension == str(len(expected[0]))
    again = Encoder.of(encoder.fingerprint)
    assert (again.layer, again.dimension) == (encoder.layer, len(expected[0]))
    why = search.explain(
        TEXTS[0], TEXTS[1], model=encoder, layer=str(layer) if len(numbers) > 1 else None
    )
    assert abs(why.residual) < (1e-3 if pooling == "cls" else 1e-5)
    assert why.similarity.shape == (len(why.query_tokens), len(why.passage_tokens))
    if len(numbers) > 1:
        assert why.similarity_layer == layer
        first, second = (states(tiny, text) for text in TEXTS[:2])
        q, p = (
            np.concatenate([layer_states[i][1] for i in numbers])
            if is_concat
            else sum(layer_states[i][1] for i in numbers)
            for layer_states in (first, second)
        )
        assert why.similarity[1, 1] == pytest.approx(
            q @ p / np.linalg.norm(q) / np.linalg.norm(p), abs=1e-5
        )


def test_names_of_a_layer_are_recorded_alike(tiny: Encoder) -> None:
    names = [Encoder(tiny.model, layer=layer).layer for layer in (-1, "3", 0, "mean:2", " mean:04 ")]
    assert names == ["-1", "-1", "-4", "mean:2", "mean:4"]
    assert Encoder(tiny.model, layer=3).fingerprint == tiny.fingerprint
    with pytest.raises(FingerprintMismatch, match="layer: the index has '-1', you asked for '-2'"):
        tiny.fingerprint.require_equal(Encoder(tiny.model, layer=-2).fingerprint)
    for layer in (4, -5, "mean:5", "mean:0", "last", "max:2", ""):
        with pytest.raises(InputError, match=f"no layer '{layer}'"):
            Encoder(tiny.model, layer=layer)
    with pytest.raises(InputError, match="cannot pool the layer 'concat:2'"):
        Encoder(tiny.model, layer="concat:2", pooling="pooler")


def test_dim_keeps_the_first_dimensions(tiny: Encoder) -> None:
    small = Encoder(tiny.model, dim=5)
    np.testing.assert_allclose(small.encode(TEXTS), unit(tiny.encode(TEXTS)[:, :5]), atol=1e-6)
    assert small.dimension == 5
    assert abs(search.explain(TEXTS[0], TEXTS[1], model=small).residual) < 1e-6
    with pytest.raises(InputError, match="dim is 33; for .*, choose from 1 to 32"):
        Encoder(tiny.model, dim=33)


def save_dense(folder: Path, activation: str) -> Path:
    """A sentence-transformers model with a Dense module from 32 to 7 dimensions, saved by itself."""
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Dense

    base = SentenceTransformer(str(save_tiny_bert(folder / "base")), device="cpu")
    torch.manual_seed(1)
    function = {"Identity": torch.nn.Identity(), "Tanh": torch.nn.Tanh(), "GELU": torch.nn.GELU()}[
        activation
    ]
    dense = Dense(in_features=32, out_features=7, activation_function=function)
    SentenceTransformer(modules=[base[0], base[1], dense, base[2]]).save(str(folder / "model"))
    return folder / "model"


@pytest.mark.parametrize("activation", ["Identity", "Tanh"])
def test_dense_modules_equal_sentence_transformers(tmp_path: Path, activation: str) -> None:
    from sentence_transformers import SentenceTransformer

    folder = save_dense(tmp_path, activation)
    encoder = Encoder(str(folder))
    reference = SentenceTransformer(str(folder), device="cpu").encode(TEXTS)
    np.testing.assert_allclose(encoder.encode(TEXTS), reference, atol=1e-5)
    assert encoder.dimension == 7
    np.testing.assert_allclose(Encoder.of(encoder.fingerprint).encode(TEXTS), reference, atol=1e-5)
    for pooling in ("mean", "mean_sqrt_len", "max", "cls"):
        why = search.explain(TEXTS[0], TEXTS[1], model=Encoder(str(folder), pooling=pooling))
        assert abs(why.residual) < 1e-6


def test_an_activation_that_sentence_transformers_does_not_trust_is_refused(tmp_path: Path) -> None:
    folder = save_dense(tmp_path, "Identity")
    (config,) = folder.glob("*_Dense/config.json")
    config.write_text(
        config.read_text(encoding="utf-8").replace(
            "torch.nn.modules.linear.Identity", "my.own.Identities"
        ),
        encoding="utf-8",
    )
    with pytest.raises(ModelError, match=r"uses the activation my\.own\.Identities"):
        Encoder(str(folder))


def save_only_torch(folder: Path, feature: str) -> Path:
    """A model with something that only sentence-transformers can do, saved by itself."""
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Dense, LayerNorm, Normalize, Pooling

    if feature == "a Dense module with GELU":
        return save_dense(folder, "GELU")
    base = SentenceTransformer(str(save_tiny_bert(folder / "base")), device="cpu")
    torch.manual_seed(1)
    pooling = Pooling(32, "mean")
    modules = {
        "the pooling cls+mean": [Pooling(32, ["cls", "mean"])],
        "a module LayerNorm": [pooling, LayerNorm(32), Normalize()],
        "a Dense module for token vectors": [
            Dense(32, 32, module_input_name="token_embeddings"),
            pooling,
        ],
    }[feature]
    SentenceTransformer(modules=[base[0], *modules]).save(str(folder / "model"))
    return folder / "model"


@pytest.mark.parametrize(
    "feature",
    [
        "the pooling cls+mean",
        "a module LayerNorm",
        "a Dense module with GELU",
        "a Dense module for token vectors",
    ],
)
def test_features_that_only_sentence_transformers_has_run_in_pytorch(
    tmp_path: Path, feature: str
) -> None:
    from sentence_transformers import SentenceTransformer

    folder = save_only_torch(tmp_path, feature)
    encoder = Encoder(str(folder))
    reference = SentenceTransformer(str(folder), device="cpu").encode(TEXTS, normalize_embeddings=True)
    np.testing.assert_allclose(encoder.encode(TEXTS), reference, atol=1e-5)
    assert encoder.dimension == reference.shape[1]
    assert encoder.notes == (f"PyTorch encodes instead of OpenVINO: {feature}",)
    again = Encoder.of(encoder.fingerprint)
    np.testing.assert_allclose(again.encode(TEXTS), reference, atol=1e-5)
    why = search.explain(TEXTS[0], TEXTS[1], model=encoder)
    assert abs(why.residual) < 1e-5
    with pytest.raises(InputError, match=f"has {re.escape(feature)}, so its pooling cannot be changed"):
        Encoder(str(folder), pooling="max")
    with pytest.raises(ModelError, match="OpenVINO cannot run"):
        Encoder(str(folder), engine="openvino").encode(TEXTS)


def test_other_weights_in_a_dense_module_are_another_model(tmp_path: Path) -> None:
    from safetensors.numpy import load_file, save_file

    folder = save_dense(tmp_path, "Identity")
    before = Encoder(str(folder)).fingerprint
    (file,) = folder.glob("*_Dense/model.safetensors")
    weights = load_file(file)
    weights["linear.bias"] = weights["linear.bias"] + 1
    save_file(weights, file)
    assert Encoder(str(folder)).fingerprint.weights != before.weights


def test_a_model_made_for_dot_products_says_so(tmp_path: Path) -> None:
    folder = save_tiny_bert(tmp_path / "model")
    (folder / "config_sentence_transformers.json").write_text(
        json.dumps({"similarity_fn_name": "dot"}), encoding="utf-8"
    )
    assert "seewhy uses cosine" in Encoder(str(folder)).notes[0]


def test_settings_of_the_configuration_work_as_in_sentence_transformers(tmp_path: Path) -> None:
    from sentence_transformers import SentenceTransformer

    folder = save_tiny_bert(tmp_path / "model")
    (folder / "config_sentence_transformers.json").write_text(
        json.dumps({"truncate_dim": 7}), encoding="utf-8"
    )
    (folder / "sentence_bert_config.json").write_text(
        '{"max_seq_length": 40, "do_lower_case": true}', encoding="utf-8"
    )
    tokenizer = folder / "tokenizer.json"
    tokenizer.write_text(
        tokenizer.read_text(encoding="utf-8").replace('"lowercase": true', '"lowercase": false'),
        encoding="utf-8",
    )
    texts = ["Find The KEY", "word " * 50]
    reference = SentenceTransformer(str(folder), device="cpu").encode(texts, normalize_embeddings=True)
    encoder = Encoder(str(folder))
    assert (encoder.max_tokens, encoder.dimension) == (40, 7)
    np.testing.assert_allclose(encoder.encode(texts, truncate=True), reference, atol=1e-5)
    np.testing.assert_allclose(
        Encoder.of(encoder.fingerprint).encode(texts, truncate=True), reference, atol=1e-5
    )


def test_a_model_with_only_a_vocabulary_equals_sentence_transformers(tmp_path: Path) -> None:
    """Older models have no tokenizer.json; their converted models need nothing of transformers either."""
    from sentence_transformers import SentenceTransformer

    folder = save_tiny_bert(tmp_path / "model")
    entries = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))["model"]["vocab"]
    (folder / "tokenizer.json").unlink()
    (folder / "vocab.txt").write_text("\n".join(entries), encoding="utf-8")
    (folder / "tokenizer_config.json").write_text(
        '{"tokenizer_class": "BertTokenizer"}', encoding="utf-8"
    )
    reference = SentenceTransformer(str(folder), device="cpu").encode(TEXTS, normalize_embeddings=True)
    encoder = Encoder(str(folder))
    np.testing.assert_allclose(encoder.encode(TEXTS), reference, atol=1e-5)
    shutil.rmtree(folder)
    np.testing.assert_allclose(Encoder.of(encoder.fingerprint).encode(TEXTS), reference, atol=1e-5)


@pytest.mark.parametrize("copy_of", [copy.deepcopy, lambda encoder: pickle.loads(pickle.dumps(encoder))])
def test_a_copy_encodes_as_the_original_does(
    tiny: Encoder, copy_of: Callable[[Encoder], Encoder]
) -> None:
    encoder = Encoder(tiny.model, layer="mean:2", dim=8, max_tokens=17, pooling="max", batch_tokens=64)
    again = copy_of(encoder)
    assert (again.fingerprint, vars(again)["_batch_tokens"]) == (encoder.fingerprint, 64)
    np.testing.assert_array_equal(again.encode(TEXTS), encoder.encode(TEXTS))
