"""The public `attention` and `work_through`: who reads whom, and how one head comes by its weights.

In a head of width h each token has a query, a key and a value, three linear maps of the vector that the layer reads.
A token with the query q reads token j with the weight

    softmax over j of ( q . k_j / sqrt(h) )

and hands on the sum of the values v_j, each times its weight (Vaswani et al. 2017, "Attention Is All You Need", 3.2.1).
MPNet adds to each product, once divided, a number for the distance of the two places.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from search.bert.checkpoint import Checkpoint, load_checkpoint, softmax
from search.bert.inspecting import array
from search.encoding.models import DEFAULT_MODEL
from search.errors import InputError
from search.records.attention import Attention, HeadAtWork
from search.records.inspections import Tokenization

# What the linear maps are called in the families, and what follows on the heads of a layer.
_CALLED = {
    "query": (".query", ".q_lin", ".attn.q"),
    "key": (".key", ".k_lin", ".attn.k"),
    "value": (".value", ".v_lin", ".attn.v"),
    "after": (".attention.output.dense", ".out_lin", ".attn.o", ".attention.dense"),
}


def attention(
    text: str, text2: str | None = None, *, model: str = DEFAULT_MODEL, offline: bool = False
) -> Attention:
    """The attention weights of every layer and head; arguments and errors as of `inspect`.

    They take layers x heads x n x n numbers of 4 bytes: 19 MB for 256 tokens and 6 layers of 12 heads.
    """
    checkpoint = load_checkpoint(model, offline)
    made = checkpoint.tokens(text, text2)
    output = checkpoint.run(made, attentions=True)
    weights = np.stack([layer[0].numpy() for layer in output.attentions])
    return Attention(made.texts, made.tokens, weights, checkpoint.name)


def work_through(
    text: str,
    text2: str | None = None,
    *,
    layer: int,
    head: int,
    token: int | str,
    model: str = DEFAULT_MODEL,
    offline: bool = False,
) -> HeadAtWork:
    """What one head does for one token, step by step, beside what the model itself computes.

    Args:
        text2: the second text of a pair.
        layer, head: from 1.
        token: the place of the token that reads, from 0; or the token ("##ing") or the word itself, of which the first
            one is taken, and of a word the first token.

    Raises:
        InputError: there is no such layer, head or token, or as of `inspect`.
        ModelError: as of `inspect`.

    Example:
        >>> found = work_through("the dog bites", layer=1, head=3, token="dog")    # doctest: +SKIP
        >>> found.products / found.query.size**0.5                                # doctest: +SKIP
    """
    checkpoint = load_checkpoint(model, offline)
    made = checkpoint.tokens(text, text2)
    config = checkpoint.model.config
    require_there("layer", layer, int(config.num_hidden_layers), checkpoint.name)
    require_there("head", head, int(config.num_attention_heads), checkpoint.name)
    place = place_of(made, token)
    with _read_by(checkpoint.model) as read:
        output = checkpoint.run(made, attentions=True)
    whose = slice((head - 1) * (width := _width(checkpoint)), head * width)
    queries, keys, values = (
        (linear(rows))[:, whose]
        for linear, rows in (read[name][layer - 1] for name in ("query", "key", "value"))
    )
    products = keys @ queries[place]
    bias = _bias(checkpoint, made, head, place)
    scaled = products / np.sqrt(width) + (0 if bias is None else bias)
    weights = softmax(scaled)
    return HeadAtWork(
        texts=made.texts,
        tokens=made.tokens,
        model=checkpoint.name,
        layer=layer,
        head=head,
        token=place,
        query=queries[place],
        keys=keys,
        values=values,
        products=products,
        bias=bias,
        scaled=scaled,
        weights=weights,
        output=weights @ values,
        own_weights=output.attentions[layer - 1][0, head - 1, place].numpy(),
        own_output=read["after"][layer - 1][1][place, whose],
    )


def require_there(name: str, number: int, most: int, model: str) -> None:
    """
    Raises:
        InputError: a model has no layer or head of that number, counted from 1.
    """
    if not 1 <= number <= most:
        raise InputError(f"'{model}' has no {name} {number}. Give one from 1 to {most}.")


def place_of(made: Tokenization, token: int | str) -> int:
    """Where a token stands, by its place, its entry or the word that it begins.

    Raises:
        InputError: there is none.
    """
    if isinstance(token, int):
        found = [token] if 0 <= token < len(made.tokens) else []
    else:
        found = [i for i, one in enumerate(made.tokens) if one.text == token]
        found += [word.tokens[0] for word in made.words if word.text.lower() == token.lower()]
    if not found:
        named = " ".join(f"{i} {one.text}" for i, one in enumerate(made.tokens))
        raise InputError(f"there is no token '{token}'. Name one of these, or its number: {named}")
    return found[0]


@contextmanager
def _read_by(model: Any) -> Iterator[dict[str, list[tuple[_Linear, NDArray[np.float32]]]]]:
    """What the linear maps of attention read while a model runs, and the maps, a pair for each layer.

    A layer that stands in several places, as in ALBERT, runs once for each.
    """
    read: dict[str, list[tuple[_Linear, NDArray[np.float32]]]] = {name: [] for name in _CALLED}
    hooks = []

    def remember(name: str) -> Callable[..., None]:
        return lambda module, given: read[name].append((_linear(module), given[0][0].numpy()))

    for path, module in model.named_modules():
        for name, endings in _CALLED.items():
            if path.endswith(endings):
                hooks.append(module.register_forward_pre_hook(remember(name)))
    try:
        yield read
    finally:
        for hook in hooks:
            hook.remove()


_Linear = Callable[[NDArray[Any]], NDArray[np.float64]]


def _linear(module: Any) -> _Linear:
    """A linear layer as a function in float64: (n, inputs) -> (n, outputs)."""
    return lambda rows: rows.astype(np.float64) @ array(module.weight).T + array(module.bias)


def _width(checkpoint: Checkpoint) -> int:
    return int(checkpoint.model.config.hidden_size) // int(checkpoint.model.config.num_attention_heads)


def _bias(checkpoint: Checkpoint, made: Tokenization, head: int, place: int) -> NDArray[np.float64] | None:
    """(n,) what is added to the products of a token by the distance of two places; None where nothing is."""
    if checkpoint.kind != "mpnet":
        return None
    import torch

    biases = checkpoint.model.encoder.compute_position_bias(torch.zeros(1, len(made.tokens)))
    return array(biases[0, head - 1, place])
