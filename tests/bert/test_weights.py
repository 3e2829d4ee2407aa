"""Tensors by name and the tree of modules, against transformers and PyTorch themselves."""

from pathlib import Path

import numpy as np
import pytest

from search.bert import FAMILIES, modules, parameters
from search.bert.checkpoint import load_checkpoint
from search.errors import ModelError
from search.records.models import Module
from search.render import models as draw
from tests.bert.conftest import save_tiny_head
from tests.conftest import save_tiny_bert


def every(module: Module, path: str = "") -> dict[str, Module]:
    """Each module by the name that PyTorch gives it."""
    found = {path: module}
    for part in module.modules:
        found |= every(part, f"{path}.{part.name}".strip("."))
    return found


@pytest.mark.parametrize("kind", FAMILIES)
def test_tensors_and_modules_are_those_of_pytorch(families: dict[str, Path], kind: str) -> None:
    from transformers import AutoModel

    model = AutoModel.from_pretrained(families[kind])
    found = parameters(str(families[kind]))
    known = dict(model.named_parameters())
    assert [tensor.name for tensor in found.tensors] == list(known)
    for tensor in found.tensors:
        assert tensor.shape == tuple(known[tensor.name].shape)
        assert (tensor.dtype, tensor.parameters) == ("float32", known[tensor.name].numel())
        np.testing.assert_array_equal(tensor.values, known[tensor.name].detach().numpy())
    assert found.parameters == sum(tensor.numel() for tensor in known.values())
    assert found.arrays.keys() == known.keys()
    tree = every(modules(str(families[kind])))
    assert list(tree) == [name for name, _ in model.named_modules()]
    for name, module in model.named_modules():
        assert tree[name].kind == type(module).__name__
        assert tree[name].parameters == sum(tensor.numel() for tensor in module.parameters())
        assert tree[name].settings == module.extra_repr()


def test_layers_that_are_alike_share_a_line(families: dict[str, Path]) -> None:
    name = str(families["distilbert"])
    found = parameters(name)
    drawn = draw.parameters(found, width=100)
    assert "transformer.layer.0-1.attention.q_lin.weight 32 x 32 2 x 1,024" in " ".join(drawn.split())
    assert len(draw.parameters(found, every=True, width=200).splitlines()) == len(found.tensors) + 3
    first = found.arrays["transformer.layer.0.attention.q_lin.weight"][0]
    assert f"  {first[0]:.4f} {first[1]:.4f} ...\n" in draw.parameters(found, values=2).replace(
        "-0.0000", "0.0000"
    )
    tree = draw.modules(modules(name), width=100)
    assert "0-1  2 x TransformerBlock" in tree and "2 x 8,544" in tree and "lin1  Linear(32 -> 64)" in tree
    assert "  1  TransformerBlock" in draw.modules(modules(name), every=True, width=100)


def test_layers_that_differ_have_their_own_lines() -> None:
    assert draw._ranges([0, 1, 2, 5, 7, 8]) == "0-2,5,7-8"


def test_a_pooler_without_weights_and_a_head_are_left_out(tmp_path: Path) -> None:
    folder = str(save_tiny_bert(tmp_path / "m", pooler=False))
    assert not [name for name in parameters(folder).arrays if name.startswith("pooler")]
    assert "pooler" not in every(modules(folder))
    folder = str(save_tiny_head(tmp_path / "h", "fill"))
    assert not [name for name in parameters(folder).arrays if name.startswith("cls")]
    assert parameters(folder).parameters == modules(folder).parameters
    assert load_checkpoint(folder).no_pooler


def test_a_model_that_is_not_there_is_said() -> None:
    for function in (parameters, modules):
        with pytest.raises(ModelError, match="/no/such"):
            function("/no/such", offline=True)
