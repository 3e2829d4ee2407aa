"""Traced contributions in PyTorch, for any architecture.

The model runs in a mode that replaces some functions by others with the same values and other derivatives:

    softmax                           a constant: attention is held
    layer norm, RMS norm              the scale is held
    GELU, SiLU, tanh, ...             f(x) = x * gate, and the gate f(x) / x is held
    product of two functions          each gets half of it
    bias                              b * 1, so that the derivative with respect to 1 is what all biases add

The model is then an affine map, and the contribution of a token is its vector times the gradient.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from search.encoding import Encoder
from search.encoding.description import KnownModel
from search.encoding.pooling import pooled_layers
from search.encoding.tokenizer import ModelInput
from search.encoding.torch_engine import TorchEngine
from search.errors import ModelError
from search.explaining.traced import Tracer, Traces

if TYPE_CHECKING:
    from numpy.typing import NDArray


class TorchTracer(Tracer):
    """Traces texts with an encoder's model in PyTorch and float32."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder, self._engine = encoder, _float32_engine(encoder)
        for module in (self._engine.model, *self._engine.mixing, *self._engine.modules):
            module.requires_grad_(False)
            _hold_activations(module)

    def trace(self, texts: Sequence[ModelInput], *, precise: bool = False) -> Traces:
        """Run the model on texts, singly."""
        return TorchTraces([self._trace(text) for text in texts])

    def _trace(self, text: ModelInput) -> _FrozenText:
        import torch

        engine, encoder, layers = self._engine, self._encoder, self._engine.n_layers
        inputs = {"input_ids": torch.tensor([text.encoded.ids], device=engine.device)}
        inputs["attention_mask"] = torch.ones_like(inputs["input_ids"])
        if engine.takes_types:
            inputs["token_type_ids"] = torch.tensor([text.encoded.types], device=engine.device)
        with torch.enable_grad(), _frozen(engine.device) as constant:
            output = engine.model(**inputs, output_hidden_states=True)
            states = engine.states(output)
            mixes = engine.mixing and encoder.layer == "-1"
            numbers = range(layers + 1) if mixes else pooled_layers(encoder.layer, layers)
            pooled = {layer: states[layer].clone() for layer in numbers}
            chosen = list(pooled.values())
            if mixes:
                hidden = engine.mixed(chosen)
            elif encoder.layer.startswith("concat:"):
                hidden = torch.cat(chosen, dim=-1)
            else:
                hidden = sum(chosen) / (1 if encoder.layer.startswith("sum:") else len(chosen))
            pooler = output.pooler_output if encoder.pooling == "pooler" else None
            skipped = encoder.skipped(text.role)
            vectors = engine.after(hidden, inputs["attention_mask"], encoder.pooling, pooler, skipped)
            vector = vectors[0, : encoder.dimension]
            vector = vector / torch.linalg.vector_norm(vector.detach())
        return _FrozenText(states, pooled, vector, constant)


class TorchTraces(Traces):
    """Traces of texts, each of which has a graph of its own."""

    def __init__(self, texts: Sequence[_FrozenText]) -> None:
        self._texts = texts
        self.embeddings = np.stack([_array(text.vector) for text in texts])

    def states(self, text: int) -> Sequence[NDArray[np.float32]]:
        return [_array(state[0]) for state in self._texts[text].states]

    def only(self, text: int) -> Traces:
        return TorchTraces([self._texts[text]])

    def products(self, directions: NDArray[Any]) -> list[NDArray[np.float64]]:
        return [
            np.stack([text.product(direction) for direction in some])
            for text, some in zip(self._texts, directions, strict=True)
        ]

    def addends(self, text: int, layer: int) -> NDArray[np.float64]:
        return self._texts[text].addends(layer)


class _FrozenText:
    """The graph of a text, in which the model is an affine map.

    Attributes:
        states: (1, n, h) hidden states of the layers 0 to L.
        pooled: layer -> its hidden states as the pooling reads them, for the layers to pool.
        vector: (d,) pooled vector, divided by its length.
        constant: the number 1, by which all biases were multiplied.
    """

    def __init__(self, states: Sequence[Any], pooled: dict[int, Any], vector: Any, constant: Any) -> None:
        self.states, self.pooled, self.vector, self.constant = states, pooled, vector, constant

    def product(self, direction: NDArray[Any]) -> NDArray[np.float64]:
        """Return the (L + 1, n + 1) contributions to the product with a direction."""
        inputs = [*self.states, *self.pooled.values(), self.constant]
        *gradients, of_one = self._gradients(self.vector, inputs, self._tensor(direction))
        of_states, of_pooled = gradients[: len(self.states)], gradients[len(self.states) :]
        direct = {
            layer: self._by_token(gradient, layer)
            for layer, gradient in zip(self.pooled, of_pooled, strict=True)
        }
        rows = np.array(
            [
                # The tokens of a pooled layer below the traced layer keep their own vectors.
                sum((direct[other] for other in direct if other < layer), self._by_token(gradient, layer))
                for layer, gradient in enumerate(of_states)
            ]
        )
        # Biases of the embedding layer are a part of the states of layer 0.
        (inside,) = self._gradients((of_states[0] * self.states[0]).sum(), [self.constant])
        whole = rows[0].sum() + float(of_one - inside)
        return np.concatenate([rows, whole - rows.sum(axis=1, keepdims=True)], axis=1)

    def addends(self, layer: int) -> NDArray[np.float64]:
        """Return the (n + 1, d) addends of the vector, traced to a layer, by differentiating twice."""
        import torch

        towards = torch.zeros_like(self.vector, requires_grad=True)
        below = [other for other in self.pooled if other < layer]
        inputs = [self.states[layer], *(self.pooled[other] for other in below)]
        gradients = self._gradients(self.vector, inputs, towards, create_graph=True)
        added = sum(
            (gradient * self.states[number].detach()).sum(dim=-1)[0]
            for number, gradient in zip([layer, *below], gradients, strict=True)
        )
        rows = [_array(self._gradients(of_token, [towards])[0]) for of_token in added]
        whole = _array(self.vector).astype(np.float64)
        vectors = np.stack(rows).astype(np.float64)
        return np.concatenate([vectors, [whole - vectors.sum(axis=0)]])

    def _by_token(self, gradient: Any, layer: int) -> NDArray[np.float64]:
        products = (gradient[0] * self.states[layer][0].detach()).sum(dim=-1)
        return _array(products).astype(np.float64)

    def _gradients(
        self, of: Any, inputs: Sequence[Any], along: Any = None, create_graph: bool = False
    ) -> list[Any]:
        """Return the gradients with respect to some tensors; zeros for those that do not matter."""
        import torch

        with torch.enable_grad():
            gradients = torch.autograd.grad(
                of, inputs, along, retain_graph=True, create_graph=create_graph,
                allow_unused=True, materialize_grads=True,
            )  # fmt: skip
        return list(gradients)

    def _tensor(self, array: NDArray[Any]) -> Any:
        import torch

        return torch.from_numpy(array.astype(np.float32)).to(self.vector.device)


def _array(tensor: Any) -> NDArray[np.float32]:
    array: NDArray[np.float32] = tensor.detach().float().cpu().numpy()
    return array


def _float32_engine(encoder: Encoder) -> TorchEngine:
    """Return the encoder's engine if it is PyTorch in float32; else load its model in PyTorch."""
    engine = encoder.engine
    if isinstance(engine, TorchEngine) and encoder.precision == "fp32":
        return engine
    if find_spec("torch") is None:
        kind = encoder.files.config.get("model_type")
        raise ModelError(
            f"explaining scores of '{encoder.model}', a model of type '{kind}', needs PyTorch. Install it with: "
            "pip install torch"
        )
    return TorchEngine(KnownModel(encoder.whole.files, encoder.description))


_thread = threading.local()


@contextmanager
def _frozen(device: str) -> Iterator[Any]:
    """Run PyTorch with held functions, in this thread; yield the number by which biases are multiplied."""
    import torch

    constant = torch.ones((), device=device, requires_grad=True)
    _thread.holds = True
    try:
        with _mode(constant):
            yield constant
    finally:
        _thread.holds = False


def _hold_activations(model: Any) -> None:
    """Hold the gates of activations that consist of several functions, in threads that hold."""
    from transformers.activations import ACT2CLS

    classes = {entry[0] if isinstance(entry, tuple) else entry for entry in ACT2CLS.values()}
    composed = tuple(entry for entry in classes if entry.__module__ == "transformers.activations")

    def hold(module: Any, inputs: Any, output: Any) -> Any:
        return _gated(inputs[0], output) if getattr(_thread, "holds", False) else None

    for module in model.modules():
        if isinstance(module, composed):
            module.register_forward_hook(hold)


def _gated(x: Any, value: Any) -> Any:
    """Return f(x) as x times a held gate, f(x) / x."""
    import torch

    value, at = value.detach(), x.detach()
    return x * torch.where(at == 0, 0.0, value / torch.where(at == 0, 1.0, at))


def _mode(constant: Any) -> Any:
    """Return the mode in which functions of PyTorch are held; biases are multiplied by `constant`."""
    import torch
    from torch import Tensor
    from torch.nn import functional
    from torch.overrides import TorchFunctionMode

    def differ(*values: Any) -> bool:
        """Return True if all values are functions of the text."""
        return all(isinstance(value, Tensor) and value.requires_grad for value in values)

    def normed(x: Any, variance: Any, eps: float, weight: Any, bias: Any) -> Any:
        y = x * (variance.detach() + eps).rsqrt()
        y = y if weight is None else y * weight
        return y if bias is None else y + bias * constant

    def layer_norm(x: Any, shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
        dims = tuple(range(-len(shape), 0))
        centred = x - x.mean(dims, keepdim=True)
        return normed(centred, centred.detach().pow(2).mean(dims, keepdim=True), eps, weight, bias)

    def rms_norm(x: Any, shape: Any, weight: Any = None, eps: float | None = None) -> Any:
        dims = tuple(range(-len(shape), 0))
        eps = torch.finfo(x.dtype).eps if eps is None else eps
        return normed(x, x.detach().pow(2).mean(dims, keepdim=True), eps, weight, None)

    def linear(x: Any, weight: Any, bias: Any = None) -> Any:
        y = functional.linear(x, weight)
        return y if bias is None else y + bias * constant

    def attention(
        query: Any, key: Any, value: Any, attn_mask: Any = None, dropout_p: float = 0.0,
        is_causal: bool = False, scale: float | None = None, enable_gqa: bool = False,
    ) -> Any:  # fmt: skip
        if enable_gqa:
            key, value = (x.repeat_interleave(query.shape[1] // x.shape[1], 1) for x in (key, value))
        scale = query.shape[-1] ** -0.5 if scale is None else scale
        scores = query @ key.transpose(-1, -2) * scale
        if is_causal:
            after = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).triu(1)
            scores = scores.masked_fill(after, -torch.inf)
        if attn_mask is not None and attn_mask.dtype == torch.bool:
            scores = scores.masked_fill(~attn_mask, -torch.inf)
        elif attn_mask is not None:
            scores = scores + attn_mask
        return scores.softmax(-1).detach() @ value

    def normalize(x: Any, p: float = 2.0, dim: int = 1, eps: float = 1e-12, out: Any = None) -> Any:
        return x / torch.linalg.vector_norm(x.detach(), p, dim, keepdim=True).clamp_min(eps)

    replaced: dict[Any, Callable[..., Any]] = {
        functional.layer_norm: layer_norm,
        torch.layer_norm: layer_norm,
        functional.rms_norm: rms_norm,
        torch.rms_norm: rms_norm,
        functional.linear: linear,
        functional.scaled_dot_product_attention: attention,
        functional.normalize: normalize,
    }
    gates = {
        getattr(functional, name)
        for name in "gelu silu relu relu6 elu selu leaky_relu mish hardswish tanh".split()
    } | {torch.relu, Tensor.relu, torch.tanh, Tensor.tanh}
    attention_and_scales = {
        functional.softmax, torch.softmax, Tensor.softmax, torch.sigmoid, Tensor.sigmoid, functional.sigmoid,
        torch.rsqrt, Tensor.rsqrt,
    }  # fmt: skip
    products = {torch.mul, Tensor.mul, Tensor.__mul__, Tensor.__rmul__, torch.multiply, Tensor.multiply}
    quotients = {torch.div, Tensor.div, Tensor.__truediv__, torch.true_divide, Tensor.true_divide}
    embeddings = {functional.embedding, torch.embedding}

    class FrozenFunctions(TorchFunctionMode):  # type: ignore[misc]
        def __torch_function__(
            self, function: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            options = kwargs or {}
            if function in replaced:
                return replaced[function](*args, **options)
            if function in gates:
                return _gated(args[0], function(*args, **options))
            if function in attention_and_scales:
                return function(*args, **options).detach()
            if function in products and differ(*args[:2]):
                a, b = args[:2]
                return 0.5 * (function(a, b.detach()) + function(a.detach(), b))
            if function in quotients and differ(args[1]):
                return function(args[0], args[1].detach(), *args[2:], **options)
            result = function(*args, **options)
            if function in embeddings:  # from here on the graph begins
                result.requires_grad_()
            return result

    return FrozenFunctions()
