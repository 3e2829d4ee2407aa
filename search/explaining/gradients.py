"""Addends for embeddings that are not sums over tokens: integrated gradients (Sundararajan, Taly & Yan 2017).

With pooling `cls` or `pooler`, or with a Dense module that has an activation, the embedding e(x) of a text is a
non-linear function of its tokens' input embeddings x_1 .. x_n. On the straight path from a baseline b to x

    e(x) - e(b) = sum_i v_i    with    v_i = integral over t in [0, 1] of  de/dx_i (b + t (x - b)) (x_i - b_i)

so each token has a vector v_i as its addend. In the baseline every token except special tokens is [PAD]; special tokens
are the same as in x, so their v_i is 0. The embedding of the baseline, e(b), is added to the first special token, which
thus gets the cosine of the text without its words. From [MASK], the error is larger, and the strongest words matter
less (benchmarks/faithfulness.py, gradients.py).

The addends of the tokens of one text take the embedding of the other text as it is:

    query token i    v_i . e(p)        passage token j    w_j . e(q)

Either sum is e(q) . e(p), the cosine; each takes one pass through the model for each text. The pairs of tokens

    c_ij = v_i . w_j

(Moeller, Nikolaev & Pado 2023, "An Attribution Method for Siamese Encoders") have these addends as the sums of their
rows and columns, but take a pass for each query token. Integrals are computed at some Gauss-Legendre nodes, so a sum
differs a little from the cosine: the completeness error.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from search.encoding import Encoder
from search.encoding.description import KnownModel
from search.encoding.loading import cached_models
from search.encoding.pooling import pooled_layers
from search.encoding.tokenizer import Role, encode_ids, with_context
from search.errors import ModelError
from search.records.reports import Progress
from search.records.tokens import TokenVectors
from search.records.visible_text import visible

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from search.encoding.torch_engine import TorchEngine

NODES = (32, 64, 128)
_TOLERANCE = 5e-4  # of the cosine
_TOKENS_AT_ONCE = 2048
_FORWARD = threading.Lock()  # PyTorch differentiates forward in one thread of a process at a time


class Attribution:
    """Contributions of tokens to the cosine of a query and a passage, by integrated gradients.

    Args:
        model: from `differentiable`.
        query: the encoded query.
        role: role that the query was encoded with.
    """

    def __init__(self, model: Differentiable, query: TokenVectors, role: Role | None) -> None:
        self._model, self._query = model, model.path(query, role)
        self._embedding = query.embedding
        self._addends: NDArray[np.float64] | None = None

    def margins(
        self, passage: TokenVectors, role: Role | None
    ) -> tuple[tuple[NDArray[np.float64], NDArray[np.float64]], int]:
        """Return the (q,) and (p,) addends of the tokens of query and passage, and the number of nodes."""
        cosine = float(self._embedding @ passage.embedding)
        sides = (self._query, passage.embedding), (self._model.path(passage, role), self._embedding)
        (query, n), (tokens, m) = (self._margin(path, other, cosine) for path, other in sides)
        return (query, tokens), max(n, m)

    def _margin(self, path: Path, other: NDArray[Any], cosine: float) -> tuple[NDArray[np.float64], int]:
        """Return the addends of a text's tokens and the number of nodes, which is doubled until the error is small."""
        for nodes in NODES:
            (addends,) = self._model.products(path, other[None], nodes)
            if abs(addends.sum() - cosine) < _TOLERANCE * abs(cosine):
                break
        return addends, nodes

    def pairs(
        self,
        passage: TokenVectors,
        role: Role | None,
        progress: Callable[[Progress], None] | None = None,
    ) -> NDArray[np.float64]:
        """Return the (q, p) addends of the cosine with a passage."""
        if self._addends is None:
            self._addends = self._model.token_addends(self._query)
        return self._model.products(self._model.path(passage, role), self._addends, progress=progress)


class Path:
    """Straight path from the baseline to a text, in the space of input embeddings.

    Attributes:
        inputs: other inputs of the model, such as the attention mask, as a batch of one text.
        start: (n, h) input embeddings of the baseline.
        way: (n, h) input embeddings of the text minus those of the baseline; zeros for special tokens.
        moving: positions of the tokens that are not special.
    """

    def __init__(self, inputs: dict[str, Any], start: Any, way: Any, moving: list[int]) -> None:
        self.inputs, self.start, self.way, self.moving = inputs, start, way, moving


class Differentiable:
    """An encoder in PyTorch and float32, whose output can be differentiated with respect to the input embeddings.

    Raises:
        ModelError: the model takes no input embeddings, only token IDs.
    """

    def __init__(self, encoder: Encoder, engine: TorchEngine) -> None:
        import inspect

        import torch

        self._torch, self._encoder, self._engine = torch, encoder, engine
        if "inputs_embeds" not in inspect.signature(engine.model.forward).parameters:
            raise ModelError(
                f"cannot explain scores of '{encoder.model}' with pooling '{encoder.pooling}': "
                "the model takes no input embeddings. Build the index with --pooling mean."
            )

    def path(self, text: TokenVectors, role: Role | None) -> Path:
        """Return the path from a baseline of [PAD] tokens to the text."""
        torch, engine = self._torch, self._engine
        whole = self._encoder.prompt(role) + with_context(text.context, visible(text.text, text.hidden))
        (encoded,) = encode_ids(self._encoder.tokenizer, [whole], self._encoder.max_tokens)
        table = engine.model.get_input_embeddings()
        ids = torch.tensor(encoded.ids, device=engine.device)
        special = torch.tensor([token.special for token in text.tokens], device=engine.device)
        with torch.no_grad():
            words, pad = table(ids), table(torch.tensor([engine.pad], device=engine.device))
            start = torch.where(special[:, None], words, pad)
        inputs = {"attention_mask": torch.ones_like(ids)[None]}
        if engine.takes_types:
            inputs["token_type_ids"] = torch.tensor([encoded.types], device=engine.device)
        moving = [i for i, token in enumerate(text.tokens) if not token.special]
        return Path(inputs, start, words - start, moving)

    def token_addends(self, path: Path, nodes: int = NODES[0]) -> NDArray[np.float64]:
        """Return the (n, d) addends v_i of a text's embedding, which is their sum up to the integration error.

        Uses forward differentiation, with one row per token.
        """
        torch = self._torch
        n = len(path.start)
        base = self._at(path, np.zeros(1))[0]
        addends = np.zeros((n, len(base)))
        rows = [(i, t, weight) for i in path.moving for t, weight in _points(nodes)]
        for some in _pieces(rows, n):
            parts = torch.zeros(len(some), n, path.start.shape[1], device=path.start.device)
            for row, (i, _, _) in enumerate(some):
                parts[row, i] = path.way[i]
            # The fused kernels of attention cannot be differentiated forward.
            with (
                _FORWARD,
                torch.no_grad(),
                torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH),
                torch.autograd.forward_ad.dual_level(),
            ):
                points = torch.autograd.forward_ad.make_dual(
                    _between(path, [t for _, t, _ in some]), parts
                )
                slopes = torch.autograd.forward_ad.unpack_dual(self._embed(path, points)).tangent
            for (i, _, weight), slope in zip(some, slopes.double().cpu().numpy(), strict=True):
                addends[i] += weight * slope
        addends[_first_special(path)] += base
        return addends

    def products(
        self,
        path: Path,
        directions: NDArray[Any],
        nodes: int = NODES[0],
        progress: Callable[[Progress], None] | None = None,
    ) -> NDArray[np.float64]:
        """Return the (q, n) inner products of q directions with the addends of the n tokens of an embedding.

        Uses backward differentiation, with one pass per non-zero direction.

        Args:
            directions: (q, d) vectors, such as the query's addends.
            progress: callback, called after each pass.
        """
        torch = self._torch
        products = np.zeros((len(directions), len(path.start)))
        rows = np.flatnonzero(directions.any(axis=1))
        towards = self._tensor(directions[rows])
        batches, passes = list(_pieces(list(_points(nodes)), len(path.start))), 0
        for some in batches:
            points = _between(path, [t for t, _ in some]).requires_grad_()
            with torch.enable_grad():
                projections = self._embed(path, points) @ towards.T
                weights = self._tensor(np.array([weight for _, weight in some]))
                for row, total in zip(rows, (projections * weights[:, None]).sum(dim=0), strict=True):
                    (slopes,) = torch.autograd.grad(total, points, retain_graph=True)
                    products[row] += (slopes * path.way).sum(dim=(0, 2)).double().cpu().numpy()
                    passes += 1
                    if progress:
                        progress(Progress("pairs of tokens", passes, len(batches) * len(rows)))
        products[:, _first_special(path)] += directions @ self._at(path, np.zeros(1))[0]
        return products

    def _at(self, path: Path, where: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the (m, d) embeddings at m points of a path, each a number from 0, its start, to 1, its end."""
        with self._torch.no_grad():
            return self._embed(path, _between(path, list(where))).double().cpu().numpy()

    def _embed(self, path: Path, points: Any) -> Any:
        """Compute embeddings (b, d) of unit length from input embeddings (b, n, h), like `Encoder.encode`."""
        torch, encoder, engine = self._torch, self._encoder, self._engine
        inputs = {name: value.expand(len(points), -1) for name, value in path.inputs.items()}
        output = engine.model(inputs_embeds=points, output_hidden_states=True, **inputs)
        states = (*output.hidden_states[:-1], output.last_hidden_state)
        chosen = [states[layer] for layer in pooled_layers(encoder.layer, engine.n_layers)]
        if encoder.layer.startswith("concat:"):
            hidden = torch.cat(chosen, dim=-1)
        else:
            hidden = sum(chosen) / (1 if encoder.layer.startswith("sum:") else len(chosen))
        pooler = output.pooler_output if encoder.pooling == "pooler" else None
        vectors = engine.after(hidden, inputs["attention_mask"], encoder.pooling, pooler)
        vectors = vectors[:, : encoder.dimension]
        return vectors / torch.linalg.vector_norm(vectors, dim=1, keepdim=True)

    def _tensor(self, array: NDArray[Any]) -> Any:
        return self._torch.from_numpy(array.astype(np.float32)).to(self._engine.device)


@cached_models
def differentiable(encoder: Encoder) -> Differentiable:
    """Return an encoder's model in PyTorch; load it if needed. The last three are cached."""
    from search.encoding.torch_engine import TorchEngine

    engine = encoder.engine
    if isinstance(engine, TorchEngine) and encoder.precision == "fp32":
        return Differentiable(encoder, engine)
    is_converted = not any(encoder.files.folder.glob("*.safetensors"))  # without weights for PyTorch
    files = encoder.whole.files if is_converted else encoder.files
    return Differentiable(encoder, TorchEngine(KnownModel(files, encoder.description)))


@cached_models
def attribution(encoder: Encoder, query: TokenVectors, role: Role | None) -> Attribution:
    """Return the attribution of a query; it is cached, because all hits share it."""
    return Attribution(differentiable(encoder), query, role)


def _points(nodes: int) -> Iterator[tuple[float, float]]:
    """Return Gauss-Legendre points on [0, 1] and their weights."""
    points, weights = np.polynomial.legendre.leggauss(nodes)
    return zip(((points + 1) / 2).tolist(), (weights / 2).tolist(), strict=True)


def _between(path: Path, where: list[float]) -> Any:
    """Return the (m, n, h) input embeddings at m points of a path, each a number from 0, its start, to 1, its end."""
    share = path.start.new_tensor(where)[:, None, None]
    return path.start + share * path.way


def _pieces(rows: list[Any], n: int) -> Iterator[list[Any]]:
    """Split rows, each a text of n tokens, into batches of at most `_TOKENS_AT_ONCE` tokens."""
    size = max(1, _TOKENS_AT_ONCE // n)
    return (rows[first : first + size] for first in range(0, len(rows), size))


def _first_special(path: Path) -> int:
    """Return the position of the first special token, which gets the baseline's embedding; 0 if there is none."""
    moving = set(path.moving)
    return next((i for i in range(len(path.start)) if i not in moving), 0)
