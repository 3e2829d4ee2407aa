"""Parameters of a converted model under common names, for a backward pass, which OpenVINO does not compute.

Models of the BERT family (post-norm layers: BERT, RoBERTa, XLM-R, ELECTRA, DistilBERT, MPNet) differ in the names of
their parameters, not in what they compute. OpenVINO's `encoder.bin` contains most matrices byte for byte; biases and
the parameters of norms are often folded into other constants. So a converted model of this family has two more files:

    parameters.json         the settings, and name -> shape and offset in `encoder.bin` of each parameter that is there
    parameters.safetensors  all other parameters

A parameter is named "words.weight", "3.value.bias" (of layer 4) and the like: a key of `_BERT` below, after the number
of its layer.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

PLACES, OTHERS = "parameters.json", "parameters.safetensors"

# Common name -> transformers' name; "{}" is the number of a layer.
_BERT = {
    "words": "embeddings.word_embeddings",
    "positions": "embeddings.position_embeddings",
    "types": "embeddings.token_type_embeddings",
    "norm": "embeddings.LayerNorm",
    "projection": "embeddings_project",
    "pooler": "pooler.dense",
    "{}.query": "encoder.layer.{}.attention.self.query",
    "{}.key": "encoder.layer.{}.attention.self.key",
    "{}.value": "encoder.layer.{}.attention.self.value",
    "{}.output": "encoder.layer.{}.attention.output.dense",
    "{}.attention_norm": "encoder.layer.{}.attention.output.LayerNorm",
    "{}.up": "encoder.layer.{}.intermediate.dense",
    "{}.down": "encoder.layer.{}.output.dense",
    "{}.norm": "encoder.layer.{}.output.LayerNorm",
}
_MPNET = _BERT | {
    "{}.query": "encoder.layer.{}.attention.attn.q",
    "{}.key": "encoder.layer.{}.attention.attn.k",
    "{}.value": "encoder.layer.{}.attention.attn.v",
    "{}.output": "encoder.layer.{}.attention.attn.o",
    "{}.attention_norm": "encoder.layer.{}.attention.LayerNorm",
    "distances": "encoder.relative_attention_bias",
}
_DISTILBERT = {
    "words": "embeddings.word_embeddings",
    "positions": "embeddings.position_embeddings",
    "norm": "embeddings.LayerNorm",
    "{}.query": "transformer.layer.{}.attention.q_lin",
    "{}.key": "transformer.layer.{}.attention.k_lin",
    "{}.value": "transformer.layer.{}.attention.v_lin",
    "{}.output": "transformer.layer.{}.attention.out_lin",
    "{}.attention_norm": "transformer.layer.{}.sa_layer_norm",
    "{}.up": "transformer.layer.{}.ffn.lin1",
    "{}.down": "transformer.layer.{}.ffn.lin2",
    "{}.norm": "transformer.layer.{}.output_layer_norm",
}
_NAMES = {
    "bert": _BERT,
    "roberta": _BERT,
    "xlm-roberta": _BERT,
    "camembert": _BERT,
    "electra": _BERT,
    "mpnet": _MPNET,
    "distilbert": _DISTILBERT,
}
ACTIVATIONS = ("gelu", "relu")
_ALIGNMENT = 64  # bytes; no number of a model is larger


class Parameters(Mapping[str, "NDArray[np.float32]"]):
    """Parameters of the converted model in a folder; `encoder.bin` is mapped, so that only what is used is read.

    Attributes:
        layers, heads: numbers of layers and of attention heads.
        eps: addend to the variance in a norm.
        activation: one of ACTIVATIONS.
        first_position: row of the first token in the table of positions.

    Raises:
        OSError, ValueError, KeyError: the model is not of the BERT family, or a file is missing or damaged.
    """

    def __init__(self, folder: Path) -> None:
        from safetensors.numpy import load_file

        written = json.loads((folder / PLACES).read_bytes())
        self._places: dict[str, tuple[list[int], int]] = written["places"]
        self._others: dict[str, Any] = load_file(folder / OTHERS)
        self._binary = np.memmap(folder / "encoder.bin", np.uint8, "r")
        self.layers, self.heads = int(written["layers"]), int(written["heads"])
        self.eps, self.activation = float(written["eps"]), str(written["activation"])
        self.first_position = int(written["first_position"])

    def __iter__(self) -> Iterator[str]:
        return iter((*self._others, *self._places))

    def __len__(self) -> int:
        return len(self._others) + len(self._places)

    def __getitem__(self, name: str) -> NDArray[np.float32]:
        if name in self._others:
            values: NDArray[np.float32] = self._others[name]
            return values
        shape, offset = self._places[name]
        size = 4 * int(np.prod(shape))
        return self._binary[offset : offset + size].view(np.float32).reshape(shape)


def align_constants(folder: Path) -> None:
    """Move each constant of a converted model to a multiple of 64 bytes, so that NumPy can use it where it is.

    OpenVINO writes constants one after the other, and after one of a single byte all others are unaligned.
    """
    description, binary = folder / "encoder.xml", folder / "encoder.bin"
    tree = ElementTree.parse(description)
    moved: dict[tuple[int, int], int] = {}
    source = np.memmap(binary, np.uint8, "r")
    aligned = binary.with_suffix(".aligned")
    with aligned.open("wb") as stream:
        for element, offset, size in _constants(tree):
            if (offset, size) not in moved:
                stream.write(bytes(-stream.tell() % _ALIGNMENT))
                moved[offset, size] = stream.tell()
                stream.write(source[offset : offset + size].data)
            element.set("offset", str(moved[offset, size]))
    del source  # Windows does not replace a file that is mapped
    aligned.replace(binary)
    tree.write(description)


def write_parameters(model: Any, folder: Path) -> list[str]:
    """Write the parameters of a model of the BERT family that was converted to `folder`.

    Args:
        model: the model as transformers loads it.

    Returns:
        Names of the files; none for another architecture.
    """
    from safetensors.numpy import save_file

    config = model.config
    activation = str(getattr(config, "hidden_act", "") or getattr(config, "activation", ""))
    if config.model_type not in _NAMES or activation not in ACTIVATIONS:
        return []
    layers = int(config.num_hidden_layers)
    binary = np.memmap(folder / "encoder.bin", np.uint8, "r")
    offsets: dict[int, list[int]] = defaultdict(list)
    for _, offset, size in _constants(ElementTree.parse(folder / "encoder.xml")):
        offsets[size].append(offset)
    places, others = {}, {}
    for name, values in _named(model.state_dict(), _NAMES[config.model_type], layers).items():
        content = values.view(np.uint8).ravel()
        for offset in offsets[content.nbytes]:
            if np.array_equal(binary[offset : offset + content.nbytes], content):
                places[name] = (values.shape, offset)
                break
        else:
            others[name] = values
    padding = model.embeddings.position_embeddings.padding_idx
    settings = {
        "layers": layers,
        "heads": int(config.num_attention_heads),
        "eps": float(getattr(config, "layer_norm_eps", 1e-12)),
        "activation": activation,
        "first_position": 0 if padding is None else padding + 1,
        "places": places,
    }
    (folder / PLACES).write_text(json.dumps(settings))
    save_file(others, folder / OTHERS)
    return [PLACES, OTHERS]


def _named(state: Any, names: dict[str, str], layers: int) -> dict[str, NDArray[np.float32]]:
    """Return the weights and biases of a model under their common names."""
    named = {}
    for ours, theirs in names.items():
        for layer in range(layers if "{}" in ours else 1):
            for kind in ("weight", "bias"):
                if (key := f"{theirs.format(layer)}.{kind}") in state:
                    values = state[key].float().contiguous().numpy()
                    named[f"{ours.format(layer)}.{kind}"] = values
    return named


def _constants(tree: ElementTree.ElementTree[Any]) -> Iterator[tuple[ElementTree.Element, int, int]]:
    """Yield the element of each constant, its offset in `encoder.bin`, and its size in bytes."""
    for element in tree.iter("data"):
        if "offset" in element.attrib:
            yield element, int(element.attrib["offset"]), int(element.attrib["size"])
