"""A look inside: identities in every family, transformers and PyTorch themselves as oracles, what is refused."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import search
from search.bert import (
    FAMILIES,
    equal_rows,
    in_contexts,
    inspect,
    modules,
    padded,
    parameters,
    positions,
    work_through,
)
from search.errors import InputError, ModelError
from tests.conftest import save_tiny_bert
from tests.lab.bert.conftest import figures, named_checkpoint, save_tiny_head

TEXTS = ("Rotate the keys ☃", "turn the lock")
TABLES = {
    "word": "word_embeddings",
    "position": "position_embeddings",
    "segment": "token_type_embeddings",
}


def reference_model(folder: object) -> Any:
    from transformers import AutoModel

    return AutoModel.from_pretrained(str(folder), attn_implementation="eager").eval()


@pytest.mark.parametrize("kind", FAMILIES)
def test_states_and_attention_of_every_family_are_those_of_transformers(
    families: dict[str, Path], kind: str
) -> None:
    import torch

    inspection = inspect(*TEXTS, model=str(families[kind]))
    n, model = len(inspection.tokens), reference_model(families[kind])
    ids = torch.tensor([[token.id for token in inspection.tokens]])
    types = torch.tensor([[token.segment for token in inspection.tokens]])
    more = (
        {}
        if kind in ("distilbert", "mpnet")
        else {"token_type_ids": types.clamp(max=inspection.model.segments - 1)}
    )
    with torch.inference_mode():
        reference = model(ids, **more, output_hidden_states=True, output_attentions=True)
    np.testing.assert_allclose(inspection.states, torch.stack(reference.hidden_states)[:, 0], atol=1e-6)
    np.testing.assert_allclose(
        inspection.attention.weights, torch.stack(reference.attentions)[:, 0], atol=1e-6
    )
    assert inspection.states.shape == (3, n, 32) and inspection.attention.weights.shape == (2, 4, n, n)
    assert abs(inspection.attention.weights.sum(axis=-1) - 1).max() < 1e-6
    assert inspection.embedding.difference < 1e-6
    assert ("segment" in inspection.embedding.parts) == (kind not in ("distilbert", "mpnet"))
    if kind == "distilbert":
        assert inspection.pooler is None
        assert inspection.no_pooler == f"models of type {kind} have no pooler"
    else:
        np.testing.assert_allclose(inspection.pooler, reference.pooler_output[0], atol=1e-6)
        assert inspection.pooler_difference is not None and inspection.pooler_difference < 1e-6
    tensors = dict(model.named_parameters())
    assert (inspection.model.kind, inspection.model.tensors) == (kind, len(tensors))
    assert inspection.model.parameters == sum(tensor.numel() for tensor in tensors.values())
    assert inspection.model.in_matrices == sum(
        tensor.numel() for tensor in tensors.values() if tensor.dim() > 1
    )
    own = parameters(str(families[kind]))
    assert list(own) == list(tensors)
    assert all(np.array_equal(own[name], tensor.detach()) for name, tensor in tensors.items())
    sums = (own.numbers, own.in_matrices)
    assert sums == (inspection.model.parameters, inspection.model.in_matrices)
    tree = modules(str(families[kind]))
    assert str(tree) == str(model)
    by_path = {module.path: module for module in tree.modules}
    assert by_path[""].numbers == own.numbers
    for path, module in by_path.items():
        own_module = model.get_submodule(path.replace("0-1", "0"))  # the layers, which are equal
        assert (module.kind, module.count) == (type(own_module).__name__, 2 if "0-1" in path else 1)
        assert module.numbers == module.count * sum(tensor.numel() for tensor in own_module.parameters())
        assert module.is_leaf == (not list(own_module.children()))
        assert module.depth == (path.count(".") + 1 if path else 0)
    assert {path.replace("0-1", "0") for path in by_path} == {
        path for path, _ in model.named_modules() if ".1." not in path and not path.endswith(".1")
    }


def test_a_bert_base_has_199_tensors(families: dict[str, Path]) -> None:
    """Shapes of transformers' own model without weights, as arrays of one zero."""
    import torch
    import transformers

    with torch.device("meta"):
        model = transformers.BertModel(transformers.BertConfig())
    zero = np.zeros((), np.float32)
    shapes = {name: tuple(tensor.shape) for name, tensor in model.named_parameters()}
    tensors = replace(
        parameters(str(families["bert"])),
        tensors={name: np.broadcast_to(zero, shape) for name, shape in shapes.items()},
    )
    assert (len(tensors), tensors.numbers, tensors.in_matrices) == (199, 109_482_240, 109_360_128)
    assert tensors.shapes == shapes
    sums = "199 tensors, 109,482,240 numbers, 109,360,128 of them in matrices"
    assert repr(tensors).startswith(sums) and len(repr(tensors).splitlines()) == 60
    html = tensors._repr_html_()
    assert sums in html and "176 tensors of further layers" in html
    assert [name for name in tensors if f">{name}<" not in html] == []
    keys = tensors.to_dict()
    assert set(keys) == {"model", "numbers", "in_matrices", "shapes"}


@pytest.mark.parametrize("kind", ["bert", "distilbert", "roberta"])
def test_the_steps_of_one_head_give_its_weights_and_output(families: dict[str, Path], kind: str) -> None:
    name = str(families[kind])
    attention = inspect(*TEXTS, model=name).attention
    for layer, head, token, place in ((1, 1, "keys", 3), (2, 4, 0, 0)):
        work = work_through(*TEXTS, layer=layer, head=head, token=token, model=name)
        assert work.token == place
        np.testing.assert_allclose(work.weights, attention.matrix(layer, head)[place], atol=1e-6)
        np.testing.assert_allclose(work.products, work.keys @ work.query)
        np.testing.assert_allclose(work.scaled, work.products / np.sqrt(8))
        np.testing.assert_allclose(work.output, work.weights @ work.values)
        assert work.difference < 1e-6
    if kind == "bert":
        weights = parameters(name)
        rows = inspect(*TEXTS, model=name).states[1]  # what layer 2 reads
        own = slice(24, 32)  # the last head of four, 8 wide
        for part, vectors in (("key", work.keys), ("value", work.values)):
            layer_name = f"encoder.layer.1.attention.self.{part}"
            linear = rows @ weights[f"{layer_name}.weight"].T + weights[f"{layer_name}.bias"]
            np.testing.assert_allclose(vectors, linear[:, own], atol=1e-5)


def test_a_token_is_given_by_its_place_its_entry_or_its_word(
    tiny_model: Path, families: dict[str, Path]
) -> None:
    name = str(tiny_model)
    for token, place in ((3, 3), ("##s", 3), ("Keys", 2), ("key", 2), ("[SEP]", 4)):
        assert work_through("the keys", layer=1, head=1, token=token, model=name).token == place
    for layer, head, token, message in (
        (1, 1, "lock", r"no token 'lock'. .* 0 \[CLS\] 1 the 2 key 3 ##s 4 \[SEP\]"),
        (1, 1, -1, "no token '-1'"),
        (1, 1, 5, "no token '5'"),
        (4, 1, 0, "no layer 4. Choose from 1 to 3"),
        (0, 1, 0, "no layer 0"),
        (1, 5, 0, "no head 5"),
    ):
        with pytest.raises(InputError, match=message):
            work_through("the keys", layer=layer, head=head, token=token, model=name)
    with pytest.raises(InputError, match="is an MPNet"):
        work_through("the keys", layer=1, head=1, token=0, model=str(families["mpnet"]))


def test_a_matrix_is_one_head_or_the_mean_of_heads(tiny_model: Path) -> None:
    template = inspect("a key", model=str(tiny_model)).attention
    first = [[[0.4, 0.6], [0.3, 0.7]], [[0.8, 0.2], [0.1, 0.9]]]  # mean 0.6 0.4 / 0.2 0.8
    second = [[[0.5, 0.5], [1.0, 0.0]], [[0.5, 0.5], [0.8, 0.2]]]  # mean 0.5 0.5 / 0.9 0.1
    attention = replace(
        template, tokens=template.tokens[:2], weights=np.array([first, second], dtype=np.float32)
    )
    np.testing.assert_allclose(attention.matrix(1), [[0.6, 0.4], [0.2, 0.8]], atol=1e-7)
    np.testing.assert_allclose(attention.matrix(2, 2), [[0.5, 0.5], [0.8, 0.2]], atol=1e-7)
    for layer, head in ((0, None), (3, None), (1, 0), (1, 3)):
        with pytest.raises(InputError, match="Choose from 1 to 2"):
            attention.matrix(layer, head)


def test_parts_are_the_rows_of_the_tables(tiny_model: Path, families: dict[str, Path]) -> None:
    inspection, weights = (
        inspect("turn the key", "find it", model=str(tiny_model)),
        parameters(str(tiny_model)),
    )
    types = [0, 0, 0, 0, 0, 1, 1, 1]
    assert [token.segment for token in inspection.tokens] == types
    rows = {
        "word": [token.id for token in inspection.tokens],
        "position": list(range(8)),
        "segment": types,
    }
    parts = inspection.embedding.parts
    for part, numbers in rows.items():
        np.testing.assert_array_equal(parts[part], weights[f"embeddings.{TABLES[part]}.weight"][numbers])
    total = parts["word"] + parts["position"] + parts["segment"]
    np.testing.assert_array_equal(parts["sum"], total)
    centred = total - total.mean(axis=1, keepdims=True)
    norm = centred / np.sqrt(total.var(axis=1, keepdims=True) + 1e-12)
    scale_and_bias = [weights[f"embeddings.LayerNorm.{end}"].astype(float) for end in ("weight", "bias")]
    np.testing.assert_allclose(parts["LayerNorm"], norm * scale_and_bias[0] + scale_and_bias[1])
    # In the tiny vocabulary [UNK] has the id that RoBERTa takes for padding, which has a position of its own.
    roberta = inspect("key ☃ lock", model=str(families["roberta"]))
    assert roberta.embedding.position_ids == (2, 3, 1, 4, 5)


def test_the_real_model_is_taken_apart_exactly(real: search.Encoder) -> None:
    inspection = inspect("Sinan loves a beautiful day", offline=True)
    assert inspection.tokens[1].id == 8254
    assert (inspection.states.shape, inspection.attention.weights.shape) == ((7, 8, 384), (6, 12, 8, 8))
    assert (inspection.model.parameters, inspection.model.tensors, inspection.model.in_matrices) == (
        22_713_216,
        103,
        22_682_112,
    )
    for text in ("☃", "x" * 300, "Rotate the keys of the lock, ☃ and turn! " * 6):
        inspection = inspect(text, offline=True)
        assert inspection.embedding.difference < 1e-6
        assert inspection.pooler_difference is not None and inspection.pooler_difference < 1e-6


def test_a_pooler_without_weights_and_a_head_are_left_out(tmp_path: Path) -> None:
    name = str(save_tiny_bert(tmp_path / "m", pooler=False))
    inspection = inspect("key", model=name)
    assert (inspection.pooler, inspection.no_pooler) == (
        None,
        "the checkpoint contains no pooler weights",
    )
    assert not [tensor for tensor in parameters(name) if tensor.startswith("pooler")]
    name = str(save_tiny_head(tmp_path / "h", "fill"))
    assert not [tensor for tensor in parameters(name) if tensor.startswith(("cls", "pooler"))]
    assert inspect("key", model=name).embedding.difference < 1e-6


def test_other_models_are_refused_by_name(families: dict[str, Path], tmp_path: Path) -> None:
    config = json.loads((families["bert"] / "config.json").read_text(encoding="utf-8"))
    for file in families["bert"].iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    for change, message in (
        ({"model_type": "gpt2"}, "type 'gpt2'"),
        ({"position_embedding_type": "relative_key"}, "relative positions"),
    ):
        (tmp_path / "config.json").write_text(json.dumps({**config, **change}), encoding="utf-8")
        with pytest.raises(ModelError, match=f"{message}.*bert, camembert, distilbert"):
            inspect("key", model=str(tmp_path))
    for function in (parameters, modules):
        with pytest.raises(ModelError, match="/no/such"):
            function("/no/such", offline=True)


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ((" \n",), "the text is empty"),
        (("key", ""), "text 2 is empty"),
        (("a\udcff",), "not valid text"),
        (("key " * 63,), "has 65 tokens, .* reads at most 64"),
        (("key " * 40, "lock " * 40), "the two texts together have 83 tokens"),
    ],
)
def test_a_text_that_cannot_be_read_is_refused_with_a_reason(
    tiny_model: Path, texts: tuple[str, ...], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        inspect(*texts, model=str(tiny_model))
    assert inspect("\x07\x00", model=str(tiny_model)).words == ()


def test_cosines_are_those_of_the_hidden_states(tiny_model: Path) -> None:
    texts, other = ["find the keys", "turn keys"], "the lock"
    contexts = in_contexts("Keys", texts, [other], model=str(tiny_model))
    assert contexts.pieces == (("key", "##s"), ("key", "##s"))
    assert contexts.spans == ((9, 13), (5, 9))
    states = [inspect(text, model=str(tiny_model)).states for text in (*texts, other)]
    a, b = states[0][:, 3:5].mean(axis=1), states[1][:, 2:4].mean(axis=1)
    c = states[2][:, 1:-1].mean(axis=1)
    for x, y, cosines in ((a, b, contexts.between[:, 0, 1]), (a, c, contexts.others[:, 0, 0])):
        expected = (x * y).sum(axis=1) / np.linalg.norm(x, axis=1) / np.linalg.norm(y, axis=1)
        np.testing.assert_allclose(cosines, expected, atol=1e-5)
    mixed = in_contexts(["key", "lock"], ["keyed (key), key", "a lock"], model=str(tiny_model))
    assert (mixed.pieces, mixed.spans) == ((("key",), ("lock",)), ((7, 10), (2, 6)))
    for word, where in (("c++", "use c++now"), ("the key", "turn the key")):
        assert in_contexts(word, [where], ["lock"], model=str(tiny_model)).spans[0][0] in (4, 5)


def test_a_word_is_nearer_to_the_meaning_of_its_context(real: search.Encoder) -> None:
    texts = ["I love my pet python", "I love coding in python"]
    contexts = in_contexts("python", texts, ["snake", "programming"], offline=True)
    assert contexts.between[0, 0, 1] == pytest.approx(1)  # the same word at the same position
    assert contexts.between[6, 0, 1] < 0.9
    snake, programming = contexts.others[6].T
    assert snake[0] - snake[1] > 0.1  # the pet is nearer to the snake than the language is
    assert programming[1] - programming[0] > 0.1


@pytest.mark.parametrize(
    ("word", "texts", "against", "message"),
    [
        ("lock", ["the key", "the lock"], [], "'lock' does not occur in 'the key'"),
        ("key", ["the keys", "a key"], [], "does not occur in 'the keys'"),
        ("key", ["a key"], [], "nothing to compare"),
        ("key", [], ["lock"], "nothing to compare"),
        (" ", ["a key", "b"], [], "does not occur in"),
        ("key", ["a key"], ["\x07"], "drops"),
        (["key", "lock"], ["a", "b", "c"], [], "2 words for 3 texts. Give"),
        ("key", "a key", [], "lists of strings"),
    ],
)
def test_words_that_cannot_be_compared_are_refused_with_a_reason(
    tiny_model: Path, word: Any, texts: Any, against: list[str], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        in_contexts(word, texts, against, model=str(tiny_model))


@pytest.mark.parametrize("kind", ["bert", "distilbert", "roberta"])
def test_equal_rows_are_pointed_out(families: dict[str, Path], kind: str) -> None:
    name = str(families[kind])
    comparison = equal_rows("turn the key", "find the door the", model=name)
    segment = [] if kind == "distilbert" else ["segment"]
    assert list(comparison.cosines) == ["word", "position", *segment, "layer 0", "layer 1", "layer 2"]
    equal = {part: (cosines > 1 - 1e-9).tolist() for part, cosines in comparison.cosines.items()}
    assert equal["word"] == equal["layer 0"] == [True, False, True, False, False]
    assert equal["position"] == [True] * 5
    assert equal["layer 1"] == [False] * 5
    first, second = (inspect(text, model=name).states[2] for text in comparison.texts)
    cosines = (
        (first * second[:5]).sum(axis=1)
        / np.linalg.norm(first, axis=1)
        / np.linalg.norm(second[:5], axis=1)
    )
    np.testing.assert_allclose(comparison.cosines["layer 2"], cosines, atol=1e-5)


@pytest.mark.parametrize("kind", ["bert", "distilbert", "roberta"])
def test_padding_changes_a_vector_only_without_its_mask(families: dict[str, Path], kind: str) -> None:
    name, texts = str(families[kind]), ("turn the key", "find the door of the house, and the key")
    batch = padded(texts, model=name)
    alone = [inspect(text, model=name) for text in texts]
    lengths = [len(view.tokens) for view in alone]
    assert batch.mask.tolist() == [[1] * n + [0] * (max(lengths) - n) for n in lengths]
    assert kind == "roberta" or batch.tokens[0][-1] == "[PAD]"
    assert batch.ids[0].tolist()[: lengths[0]] == [token.id for token in alone[0].tokens]
    assert batch.difference < 1e-5
    assert batch.unmasked[1] == pytest.approx(1) and batch.unmasked[0] < 0.999


def test_positions_are_those_of_the_table_and_of_the_formula(families: dict[str, Path]) -> None:
    rows = positions(8, model=str(families["roberta"]))
    table = reference_model(families["roberta"]).embeddings.position_embeddings
    own = table.weight.detach().numpy()[table.padding_idx + 1 :][:8]
    np.testing.assert_allclose(rows.learned, own, atol=1e-6)
    assert rows.formula[0, :4].tolist() == [0, 1, 0, 1]
    assert rows.formula[3, 4:6] == pytest.approx([f(3 / 10_000 ** (4 / 32)) for f in (np.sin, np.cos)])
    assert rows.cosines[1][2, 5] == pytest.approx(rows.cosines[1][0, 3])  # only the distance counts


def test_published_figures_are_reproduced() -> None:
    """Figures of the notebooks; cosines only with a word by itself."""
    name, expected = named_checkpoint("bert-base-uncased"), figures()["parameters"]
    model = inspect("a", model=name).model
    assert model.tensors == expected["bert-base-uncased named parameters"]
    assert model.in_matrices == expected["weights in matrices"]
    sizes = (
        model.vocabulary,
        model.positions,
        model.segments,
        model.dimension,
        model.layers,
        model.heads,
    )
    assert sizes == tuple(
        expected[size] for size in ("vocabulary", "positions", "segments", "hidden", "layers", "heads")
    )
    example = figures()["attention_last_layer_mean_of_heads"]
    weights = inspect(example["text"], model=name).attention
    np.testing.assert_allclose(weights.matrix(12), example["rows sum to 1"], atol=2e-4)
    expected_matrix = np.array(figures()["attention_layer_8_head_10"]["rows sum to 1"])
    # The source does not say whether it counts from 0 or from 1.
    assert (
        min(
            float(abs(weights.matrix(8 + k, 10 + m) - expected_matrix).max())
            for k in (0, 1)
            for m in (0, 1)
        )
        < 2e-4
    )
    for cosine in figures()["contextual_cosines"]:
        other = cosine["with"].removesuffix(" (alone)")
        if cosine["with"] != other:
            contexts = in_contexts(cosine["word"], [cosine["in"]], [other], model=name)
            assert contexts.others[-1, 0, 0] == pytest.approx(cosine["cosine"], abs=1e-4)
