"""Static engine: token vectors from a table, without a transformer; needs neither OpenVINO nor PyTorch.

A static model has one vector for each token, whatever its context: layer 0 is its only layer. Files as model2vec or as
sentence-transformers' StaticEmbedding writes them:

    embedding.weight                  (v, d) vectors of v tokens (StaticEmbedding)
    embeddings, weights, mapping      token i has the vector embeddings[mapping[i]] * weights[i]; the last two may be
                                      absent (model2vec)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from search.encoding.engine import Hidden, padded
from search.encoding.models import ModelFiles
from search.encoding.tokenizer import Encoded
from search.errors import ModelError, first_line

if TYPE_CHECKING:
    from numpy.typing import NDArray

WEIGHTS = "model.safetensors"


class StaticEngine:
    """Looks the vectors of tokens up in a table.

    Attributes:
        table: (v, d) float32, the vector of each token.

    Raises:
        ModelError: the table cannot be read.
    """

    name = "static"
    device = "cpu"
    batch_tokens = 4096
    instead = ""
    has_pooler = False
    n_layers = 0

    def __init__(self, files: ModelFiles) -> None:
        self.table = load_table(files)

    def run(self, batches: Iterable[Sequence[Encoded]], layers: Sequence[int]) -> Iterator[Hidden]:
        """Yield the token vectors of each batch, in order."""
        for batch in batches:
            ids, _, mask = padded(batch, 0)
            yield Hidden(layers=dict.fromkeys(layers, self.table[ids]), mask=mask, pooler=None)


def table_width(files: ModelFiles) -> int:
    """Return the length of the vectors of a table, without reading them."""
    from safetensors import safe_open

    file = files.inputs_folder / WEIGHTS
    with readable(files), safe_open(file, "numpy") as tensors:
        name = "embedding.weight" if "embedding.weight" in tensors.keys() else "embeddings"  # noqa: SIM118
        _, width = tensors.get_slice(name).get_shape()
        return int(width)


@contextmanager
def readable(files: ModelFiles) -> Iterator[None]:
    """Convert errors of reading a table to ModelError."""
    try:
        yield
    except Exception as error:  # the library has a class of its own for a damaged file
        raise ModelError(
            f"the model '{files.name}' is damaged: {WEIGHTS} has no table of tokens ({first_line(error)})."
        ) from None


def load_table(files: ModelFiles) -> NDArray[np.float32]:
    """Return the (v, d) vectors of all tokens."""
    from safetensors.numpy import load_file

    with readable(files):
        tensors: dict[str, Any] = load_file(files.inputs_folder / WEIGHTS)
        if "embedding.weight" in tensors:
            table = tensors["embedding.weight"]
        else:
            table = tensors["embeddings"]
            if "mapping" in tensors:
                table = table[tensors["mapping"].astype(np.int64)]
            if "weights" in tensors:
                table = table.astype(np.float32) * tensors["weights"].astype(np.float32)[:, None]
        if table.ndim != 2:
            raise ValueError(f"an array of {table.ndim} dimensions")
    return np.ascontiguousarray(table, dtype=np.float32)
