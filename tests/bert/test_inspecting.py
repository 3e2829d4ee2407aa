"""What `search.bert.inspect` finds: identities, shapes, counts; every family, and what is refused."""

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest

import search
from search.bert import FAMILIES, inspect
from search.bert.checkpoint import load_checkpoint
from search.bert.inspecting import layer_norm
from search.encoding import Encoder
from search.errors import InputError, ModelError
from tests.bert.conftest import named_checkpoint
from tests.conftest import REFERENCE, save_tiny_bert, save_tokenizer

FIGURES = REFERENCE / "bert_figures.json"
LONG = "Rotate the keys of the lock, ☃ and turn! " * 6


def figures() -> dict:  # type: ignore[type-arg]
    if not FIGURES.is_file():
        pytest.skip("the reference figures are not at hand")
    return json.loads(FIGURES.read_text(encoding="utf-8"))


def test_layer_norm_by_hand() -> None:
    # Mean 3, standard deviation 2: (-1, -1, 1, 1), times 2, plus 0.5.
    found = layer_norm(np.array([[1.0, 1.0, 5.0, 5.0]]), np.full(4, 2.0), np.full(4, 0.5), 0.0)
    np.testing.assert_allclose(found, [[-1.5, -1.5, 2.5, 2.5]])


@pytest.mark.parametrize("kind", FAMILIES)
def test_identities_in_every_family(families: dict[str, Path], kind: str) -> None:
    found = inspect("Rotate the keys ☃", "turn the lock", model=str(families[kind]))
    assert found.model.kind == kind
    assert found.embedding.difference < 1e-6
    n = len(found.tokens)
    assert found.states.shape == (3, n, 32)
    np.testing.assert_array_equal(found.states[0], found.embedding.output)
    assert (found.embedding.segments is None) == (kind in ("distilbert", "mpnet"))
    assert (found.embedding.projected is None) == (kind not in ("albert", "electra"))
    if kind in ("distilbert", "electra"):
        assert found.pooler is None
        assert found.no_pooler == f"models of type {kind} have none"
    else:
        assert found.pooler is not None
        assert found.pooler.difference < 1e-6
    model = load_checkpoint(str(families[kind])).model
    assert found.model.parameters == sum(p.numel() for p in model.parameters())
    assert found.model.tensors == len(list(model.named_parameters()))
    assert "other" not in {part.name for part in found.model.parts}


def test_the_check_sees_a_wrong_part(families: dict[str, Path]) -> None:
    """A difference of one position, one segment or one LayerNorm is no rounding."""
    from dataclasses import replace

    layer = inspect("turn the lock", model=str(families["bert"])).embedding
    for wrong in (layer.normalized[::-1], layer.normalized + 1e-4, layer.total):
        assert replace(layer, normalized=wrong).difference > 1e-5


def test_positions_of_roberta_begin_after_the_padding(families: dict[str, Path]) -> None:
    # In the tiny vocabulary [UNK] has the id that RoBERTa takes for padding, which has a place of its own.
    found = inspect("key ☃ lock", model=str(families["roberta"]))
    assert [token.text for token in found.tokens] == ["[CLS]", "key", "[UNK]", "lock", "[SEP]"]
    assert found.embedding.position_ids == (2, 3, 1, 4, 5)
    assert inspect("key", model=str(families["bert"])).embedding.position_ids == (0, 1, 2)


def test_parts_are_the_rows_of_the_tables(tiny_model: Path) -> None:
    from safetensors.numpy import load_file

    weights = load_file(tiny_model / "model.safetensors")
    found = inspect("turn the key", "find it", model=str(tiny_model))
    ids = [token.id for token in found.tokens]
    np.testing.assert_array_equal(found.embedding.words, weights["embeddings.word_embeddings.weight"][ids])
    np.testing.assert_array_equal(
        found.embedding.positions, weights["embeddings.position_embeddings.weight"][: len(ids)]
    )
    assert found.embedding.segments is not None
    types = [0, 0, 0, 0, 0, 1, 1, 1]
    assert [token.segment for token in found.tokens] == types
    np.testing.assert_array_equal(
        found.embedding.segments, weights["embeddings.token_type_embeddings.weight"][types]
    )
    assert found.pooler is not None
    expected = np.tanh(weights["pooler.dense.weight"] @ found.cls[-1] + weights["pooler.dense.bias"])
    np.testing.assert_allclose(found.pooler.output, expected, atol=1e-6)


def test_hidden_states_are_those_of_the_encoder(tiny: Encoder, tiny_model: Path) -> None:
    found = inspect("turn the key", model=str(tiny_model))
    (vectors,) = tiny.tokens(["turn the key"], layers=range(4))
    for layer in range(4):
        np.testing.assert_allclose(found.states[layer], vectors.layers[layer], atol=1e-5)


def test_the_real_model(real: Encoder) -> None:
    found = inspect("Sinan loves a beautiful day", offline=True)
    assert found.tokens[1].id == 8254
    assert found.states.shape == (7, 8, 384)
    assert found.model.heads == 12 and found.model.segments == 2
    for text in ("Sinan loves a beautiful day", LONG, "☃", "x" * 300):
        found = inspect(text, offline=True)
        assert found.embedding.difference < 1e-6
        assert found.pooler is not None and found.pooler.difference < 1e-6


def test_counts_of_the_real_model(real: Encoder) -> None:
    model = inspect("a", offline=True).model
    assert model.parameters == 22_713_216
    parts = {(part.name, part.layer): part for part in model.parts}
    assert parts["word embeddings", None].shape == (30522, 384)
    assert parts["attention", 6].parameters == 4 * (384 * 384 + 384)
    assert parts["feed-forward", 1].parameters == 2 * 384 * 1536 + 1536 + 384
    assert parts["LayerNorms", 2].parameters == 4 * 384
    assert parts["pooler", None].in_matrices == 384 * 384
    assert model.parameters - model.in_matrices == sum(p.parameters - p.in_matrices for p in model.parts)


def test_a_file_without_weights_for_the_pooler(tmp_path: Path) -> None:
    found = inspect("key", model=str(save_tiny_bert(tmp_path / "m", pooler=False)))
    assert found.pooler is None
    assert found.no_pooler == "the model's file holds no weights for it"
    assert "pooler" not in {part.name for part in found.model.parts}


def test_a_checkpoint_with_a_head_is_inspected_without_it(tmp_path: Path) -> None:
    import torch
    from transformers import BertConfig, BertForMaskedLM

    torch.manual_seed(0)
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}
    model = BertForMaskedLM(BertConfig(vocab_size=400, **sizes))
    model.save_pretrained(tmp_path)
    save_tokenizer(tmp_path)
    found = inspect("the key", model=str(tmp_path))
    assert found.embedding.difference < 1e-6
    assert found.pooler is None
    expected = sum(p.numel() for name, p in model.named_parameters() if name.startswith("bert."))
    assert found.model.parameters == expected


def test_other_models_are_refused_by_name(families: dict[str, Path], tmp_path: Path) -> None:
    for kind, said in (("gpt2", "type 'gpt2'"), ("modernbert", "type 'modernbert'"), (None, "unknown type")):
        config = json.loads((families["bert"] / "config.json").read_text(encoding="utf-8"))
        folder = tmp_path / str(kind)
        folder.mkdir()
        for file in families["bert"].iterdir():
            (folder / file.name).write_bytes(file.read_bytes())
        config["model_type"] = kind
        (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
        with pytest.raises(ModelError, match=f"{said}.*albert, bert, camembert") as caught:
            inspect("key", model=str(folder))
        assert str(folder) in str(caught.value)
    config["model_type"], config["position_embedding_type"] = "bert", "relative_key"
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    with pytest.raises(ModelError, match="relative positions"):
        inspect("key", model=str(folder))


def test_too_long_texts_are_refused_never_cut(tiny_model: Path) -> None:
    fits = inspect("key " * 62, model=str(tiny_model))
    assert len(fits.tokens) == 64
    with pytest.raises(InputError, match="has 65 tokens, .* reads 64. Nothing is cut"):
        inspect("key " * 63, model=str(tiny_model))
    with pytest.raises(InputError, match="the two texts together have 83 tokens"):
        inspect("key " * 40, "lock " * 40, model=str(tiny_model))


@pytest.mark.parametrize(("texts", "said"), [((" \n",), "the text is empty"), (("key", ""), "text 2 is empty"),
                                             (("a\udcff",), "no valid text")])  # fmt: skip
def test_what_cannot_be_read_is_said(tiny_model: Path, texts: tuple[str, ...], said: str) -> None:
    with pytest.raises(InputError, match=said):
        inspect(*texts, model=str(tiny_model))


def test_control_characters_leave_only_special_tokens(tiny_model: Path) -> None:
    found = inspect("\x07\x00", model=str(tiny_model))
    assert [token.text for token in found.tokens] == ["[CLS]", "[SEP]"]
    assert found.words == ()


def test_the_stage_is_public_and_cheap_to_ask_for() -> None:
    assert search.bert.inspect is inspect
    assert importlib.util.find_spec("search.bert") is not None


def test_published_counts() -> None:
    expected = figures()["parameters"]
    model = inspect("a", model=named_checkpoint("bert-base-uncased")).model
    assert model.tensors == expected["bert-base-uncased named parameters"]
    assert model.in_matrices == expected["weights in matrices"]
    assert model.vocabulary == expected["vocabulary"]
    found = (model.positions, model.segments, model.dimension, model.layers, model.heads)
    assert found == tuple(expected[name] for name in ("positions", "segments", "hidden", "layers", "heads"))
