"""Inspect a model on a text: `inspect`, `work_through`, `in_contexts`, `equal_rows`, `padded`; its tensors and modules.

The embedding layer computes for each token

    LayerNorm( word[id] + position[place] + segment[0 or 1] )

(Devlin et al. 2018, "BERT", figure 2). DistilBERT and MPNet have no segments.

In a head of width h each token has a query, a key and a value, three linear maps of the layer's input vector. A token
with the query q reads token j with the weight

    softmax over j of ( q . k_j / sqrt(h) )

and its output is the sum of the values v_j times their weights (Vaswani et al. 2017, "Attention Is All You Need",
3.2.1).
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from search.encoding.engine import padded as padded_arrays
from search.encoding.models import DEFAULT_MODEL
from search.encoding.tokenizer import Encoded
from search.errors import InputError
from search.lab.bert.checkpoint import Checkpoint, load_checkpoint, softmax
from search.lab.records.inspections import (
    Attention,
    ContextualCosines,
    EmbeddingLayer,
    EqualRows,
    HeadAtWork,
    Inspection,
    ModelShape,
    PaddedBatch,
    Positions,
    Tokenization,
)
from search.lab.records.model_parts import ModelModule, ModelParameters, ModuleTree

# Endings of the names of these linear maps in BERT's and in DistilBERT's code.
_PROJECTIONS = {
    "query": (".query", ".q_lin"),
    "key": (".key", ".k_lin"),
    "value": (".value", ".v_lin"),
}


def inspect(
    text: str, text2: str | None = None, *, model: str = DEFAULT_MODEL, offline: bool = False
) -> Inspection:
    """Run a model on a text, and return its tokens, hidden states, attention and other internal values.

    The result also has the terms of the embedding layer, the pooler's output and the sizes of the model. Attention
    takes layers x heads x n x n numbers of 4 bytes: 19 MB for 256 tokens and 6 layers of 12 heads.

    Args:
        text2: the second text of a pair, which BERT reads as [CLS] text [SEP] text2 [SEP].
        model: name or folder of a checkpoint of one of `FAMILIES`. Its task head, if it has one, is ignored.
        offline: never download from the hub.

    Raises:
        InputError: a text is empty, or there are more tokens than the model reads; nothing is truncated.
        ModelError: the model cannot be found or loaded, or its family is not supported.

    Example:
        >>> result = inspect("Sinan loves a beautiful day")     # doctest: +SKIP
        >>> result.tokens[1].id, result.states.shape            # doctest: +SKIP
        (8254, (7, 8, 384))
    """
    checkpoint = load_checkpoint(model, offline)
    tokenization = checkpoint.tokens(text, text2)
    output = checkpoint.run(tokenization)
    states = np.stack([state[0].numpy() for state in output.hidden_states])
    weights = np.stack([layer[0].numpy() for layer in output.attentions])
    pooler = difference = None
    if not checkpoint.no_pooler:
        pooler = output.pooler_output[0].numpy()
        difference = float(
            abs(np.tanh(_linear(checkpoint.model.pooler.dense, states[-1, 0])) - pooler).max()
        )
    return Inspection(
        tokenization.texts,
        tokenization.tokens,
        tokenization.words,
        _shape(checkpoint),
        _embedding(checkpoint, tokenization, states[0]),
        states,
        Attention(tokenization.texts, tokenization.tokens, weights, checkpoint.name),
        pooler,
        difference,
        checkpoint.no_pooler,
    )


def parameters(model: str = DEFAULT_MODEL, *, offline: bool = False) -> ModelParameters:
    """Return the weights of a model, name -> array, in the order of the model, without copying them.

    The result is a mapping that shows itself as a table of names, shapes and sizes.

    Args:
        model: name or folder of a checkpoint of one of `FAMILIES`.

    Raises:
        ModelError: the model cannot be found or loaded, or its family is not supported.

    Example:
        >>> parameters()["embeddings.word_embeddings.weight"].shape          # doctest: +SKIP
        (30522, 384)
    """
    checkpoint = load_checkpoint(model, offline)
    tensors = {name: tensor.detach().numpy() for name, tensor in checkpoint.model.named_parameters()}
    return ModelParameters(checkpoint.name, tensors)


def modules(model: str = DEFAULT_MODEL, *, offline: bool = False) -> ModuleTree:
    """Return the tree of a model's modules; `str` of it is what PyTorch prints. Errors as for `parameters`."""
    checkpoint = load_checkpoint(model, offline)
    return ModuleTree(checkpoint.name, tuple(_module_rows(checkpoint.model)), str(checkpoint.model))


def _module_rows(module: Any, path: str = "", depth: int = 0, count: int = 1) -> Iterator[ModelModule]:
    """Yield a module, then those inside; equal modules that follow each other are yielded once.

    Args:
        count: number of modules that this one stands for.
    """
    inner = list(module.named_children())
    yield ModelModule(
        path=path,
        kind=type(module).__name__,
        settings="" if inner else str(module.extra_repr()),
        depth=depth,
        count=count,
        numbers=count * sum(tensor.numel() for tensor in module.parameters()),
        is_leaf=not inner,
    )
    # Only numbered modules, such as layers, are taken together: two norms with names of their own are not.
    groups = groupby(inner, lambda child: (str(child[1]), "" if child[0].isdigit() else child[0]))
    for _, group in groups:
        equal = list(group)
        first, last = equal[0][0], equal[-1][0]
        name = first if first == last else f"{first}-{last}"
        yield from _module_rows(
            equal[0][1], f"{path}.{name}" if path else name, depth + 1, count * len(equal)
        )


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
    """Compute one attention head step by step for one token, and compare its weights with the model's own.

    Args:
        text2: the second text of a pair.
        layer, head: number of the layer, and of the head in it; both count from 1.
        token: the token that attends: its position, from 0; its text ("##ing"); or a word, for its first token. If the
            text or word occurs several times, the first occurrence is used.

    Raises:
        InputError: there is no such layer, head or token; the model is an MPNet, whose attention has a further term for
            the distance between two tokens; or as for `inspect`.
        ModelError: as for `inspect`.
    """
    view = inspect(text, text2, model=model, offline=offline)
    own = view.attention.matrix(layer, head)
    if view.model.kind == "mpnet":
        raise InputError(
            f"'{view.model.name}' is an MPNet model, whose attention also depends on relative "
            "positions. Choose a BERT model."
        )
    place = _place(view, token)
    width = view.model.dimension // view.model.heads
    columns = slice((head - 1) * width, head * width)
    maps = _projections(load_checkpoint(model, offline).model, layer)
    queries, keys, values = (_linear(linear, view.states[layer - 1])[:, columns] for linear in maps)
    products = keys @ queries[place]
    scaled = products / np.sqrt(width)
    weights = softmax(scaled)
    return HeadAtWork(
        texts=view.texts,
        tokens=view.tokens,
        model=view.model.name,
        layer=layer,
        head=head,
        token=place,
        query=queries[place],
        keys=keys,
        values=values,
        products=products,
        scaled=scaled,
        weights=weights,
        output=weights @ values,
        difference=float(abs(weights - own[place]).max()),
    )


def in_contexts(
    word: str | Sequence[str],
    texts: Sequence[str],
    against: Sequence[str] = (),
    *,
    model: str = DEFAULT_MODEL,
    offline: bool = False,
) -> ContextualCosines:
    """Compare a word's vectors in several texts, and with other words, at every layer.

    In layer 0 a word's vector depends only on the word and its position; each further layer mixes in its neighbours.
    "python" near "pet" moves towards "snake", near "coding" towards "programming".

    Args:
        word: a whole word, or one word per text: "python" in the first, "snake" in the second. Case is ignored, and the
            first occurrence is used. A word's vector is the mean of its tokens' vectors.
        texts: the contexts; at least two, or one with `against`.
        against: words or phrases to compare with, each encoded on its own; a phrase's vector is the mean of its tokens'
            vectors.

    Raises:
        InputError: a text lacks its word, is empty or too long, or there is nothing to compare.
        ModelError: as for `inspect`.

    Example:
        >>> result = in_contexts(["python", "snake"], ["my pet python", "a snake bit me"])   # doctest: +SKIP
        >>> result.between[:, 0, 1]   # a cosine for each layer                             # doctest: +SKIP
    """
    if isinstance(texts, str) or isinstance(against, str):
        raise InputError("texts and against must be lists of strings.")
    words = [word] * len(texts) if isinstance(word, str) else list(word)
    if len(words) != len(texts):
        raise InputError(f"{len(words)} words for {len(texts)} texts. Give one word, or one per text.")
    spans = [_span(word, text) for word, text in zip(words, texts, strict=True)]
    if len(texts) + len(against) < 2 or not texts:
        raise InputError("nothing to compare. Give a second text, or a word to compare with.")
    views, others = (
        [inspect(text, model=model, offline=offline) for text in side] for side in (texts, against)
    )
    places = [_tokens_in(view, *span) for view, span in zip(views, spans, strict=True)]
    vectors = [_mean(view, idx) for view, idx in zip(views, places, strict=True)]
    units = _unit(np.stack(vectors, axis=1))
    other_units = np.zeros((len(units), 0, units.shape[2]))
    if others:
        other_units = _unit(
            np.stack([_mean(view, _tokens_in(view, 0, len(view.texts[0]))) for view in others], axis=1)
        )
    return ContextualCosines(
        words=tuple(words),
        texts=tuple(texts),
        spans=tuple(spans),
        pieces=tuple(
            tuple(view.tokens[i].text for i in idx) for view, idx in zip(views, places, strict=True)
        ),
        against=tuple(against),
        between=units @ units.transpose(0, 2, 1),
        others=units @ other_units.transpose(0, 2, 1),
        model=views[0].model.name,
    )


def equal_rows(text: str, text2: str, *, model: str = DEFAULT_MODEL, offline: bool = False) -> EqualRows:
    """Return the cosines of two texts' vectors at equal positions, from the embedding tables to the last layer.

    A row of an embedding table depends only on the token, the position or the segment, so [CLS] has equal rows in any
    two texts. From layer 1 on its vectors differ, because [CLS] attends to the other tokens. Errors as for `inspect`.
    """
    first, second = (inspect(side, model=model, offline=offline) for side in (text, text2))
    common = min(len(first.tokens), len(second.tokens))
    sides = [_vectors(side) for side in (first, second)]
    return EqualRows(
        texts=(text, text2),
        tokens=(first.tokens, second.tokens),
        cosines={
            part: (_unit(rows[:common]) * _unit(sides[1][part][:common])).sum(axis=1)
            for part, rows in sides[0].items()
        },
        model=first.model.name,
    )


def padded(texts: Sequence[str], *, model: str = DEFAULT_MODEL, offline: bool = False) -> PaddedBatch:
    """Return several texts as a padded batch, and compare it with the texts alone. Errors as for `inspect`."""
    import torch

    checkpoint = load_checkpoint(model, offline)
    views = [inspect(text, model=model, offline=offline) for text in texts]
    pad = int(checkpoint.files.config.get("pad_token_id") or 0)
    rows = [Encoded([token.id for token in view.tokens], [0] * len(view.tokens)) for view in views]
    ids, _, mask = padded_arrays(rows, pad)

    def last(seen: NDArray[np.int64]) -> NDArray[np.float64]:
        with torch.inference_mode():
            output = checkpoint.model(torch.from_numpy(ids), attention_mask=torch.from_numpy(seen))
        return _array(output.last_hidden_state)

    batch, ignored = last(mask), last(np.ones_like(mask))
    alone = [view.states[-1] for view in views]
    pairs = list(zip(alone, batch, strict=True))
    means = np.stack([states.mean(axis=0) for states in alone]).astype(np.float64)
    return PaddedBatch(
        texts=tuple(texts),
        tokens=tuple(tuple(str(checkpoint.tokenizer.id_to_token(id_)) for id_ in row) for row in ids),
        ids=ids,
        mask=mask,
        difference=max(float(abs(own - row[: len(own)]).max()) for own, row in pairs),
        unmasked=(_unit(means) * _unit(ignored.mean(axis=1))).sum(axis=1),
        model=checkpoint.name,
    )


def positions(count: int = 64, *, model: str = DEFAULT_MODEL, offline: bool = False) -> Positions:
    """Return the vectors of the first positions, learned and by formula; errors as for `parameters`."""
    checkpoint = load_checkpoint(model, offline)
    table = checkpoint.model.embeddings.position_embeddings
    first = 0 if table.padding_idx is None else int(table.padding_idx) + 1
    learned = _array(table.weight[first:][:count])
    n, d = learned.shape
    angles = np.arange(n)[:, None] / 10_000 ** (np.arange(d) // 2 * 2 / d)
    formula = np.where(np.arange(d) % 2, np.cos(angles), np.sin(angles))
    return Positions(learned, formula, checkpoint.name)


def _vectors(view: Inspection) -> dict[str, NDArray[np.float64]]:
    """Return name -> (n, width) vectors of a text's tokens: rows of the embedding tables, then each layer."""
    tables = {name: rows for name, rows in view.embedding.parts.items() if name in _TABLES}
    return tables | {f"layer {i}": states.astype(np.float64) for i, states in enumerate(view.states)}


_TABLES = {
    "word": "word_embeddings",
    "position": "position_embeddings",
    "segment": "token_type_embeddings",
}


def _shape(checkpoint: Checkpoint) -> ModelShape:
    tables, config = checkpoint.model.embeddings, checkpoint.model.config
    sizes = [(tensor.numel(), tensor.dim()) for tensor in checkpoint.model.parameters()]
    return ModelShape(
        name=checkpoint.name,
        kind=checkpoint.kind,
        layers=int(config.num_hidden_layers),
        heads=int(config.num_attention_heads),
        dimension=int(config.hidden_size),
        vocabulary=int(tables.word_embeddings.num_embeddings),
        positions=int(tables.position_embeddings.num_embeddings),
        segments=checkpoint.segment_rows,
        max_tokens=checkpoint.max_tokens,
        parameters=sum(size for size, _ in sizes),
        in_matrices=sum(size for size, dimensions in sizes if dimensions > 1),
        tensors=len(sizes),
    )


def _embedding(checkpoint: Checkpoint, text: Tokenization, output: NDArray[np.float32]) -> EmbeddingLayer:
    """Compute the parts of the embedding layer in float64, from the rows of the model's tables.

    Args:
        output: (n, d) output of the embedding layer, as the model computes it.
    """
    import torch

    model = checkpoint.model
    positions = checkpoint.positions(text)
    rows = {"word": [token.id for token in text.tokens], "position": positions}
    if checkpoint.segment_rows:
        rows["segment"] = checkpoint.segments(text)
    parts = {
        name: _array(getattr(model.embeddings, _TABLES[name]).weight[numbers])
        for name, numbers in rows.items()
    }
    parts["sum"] = np.sum(list(parts.values()), axis=0)
    norm = copy.deepcopy(model.embeddings.LayerNorm).double()
    own = parts["LayerNorm"] = _array(norm(torch.from_numpy(parts["sum"])))
    difference = np.abs(own - output) / np.maximum(np.abs(output), 1)
    return EmbeddingLayer(tuple(positions), parts, float(difference.max()))


def _linear(module: Any, rows: NDArray[Any]) -> NDArray[np.float64]:
    """Apply a linear layer in float64: (n, inputs) -> (n, outputs)."""
    return rows.astype(np.float64) @ _array(module.weight).T + _array(module.bias)


def _array(tensor: Any) -> NDArray[np.float64]:
    array: NDArray[np.float64] = tensor.detach().double().numpy()
    return array


def _projections(model: Any, layer: int) -> list[Any]:
    """Return the three linear maps of a layer, to query, key and value; the first layer above the embeddings is 1."""
    named = list(model.named_modules())
    kinds = [[module for name, module in named if name.endswith(ends)] for ends in _PROJECTIONS.values()]
    return [maps[layer - 1] for maps in kinds]


def _place(view: Inspection, token: int | str) -> int:
    """Return the position of a token.

    Args:
        token: the position itself, the token's text, or a word; a word means its first token.

    Raises:
        InputError: there is no such token.
    """
    if isinstance(token, int):
        positions = [token] if 0 <= token < len(view.tokens) else []
    else:
        positions = [i for i, entry in enumerate(view.tokens) if entry.text == token]
        positions += [word.tokens[0] for word in view.words if word.text.lower() == token.lower()]
    if not positions:
        named = " ".join(f"{i} {entry.text}" for i, entry in enumerate(view.tokens))
        raise InputError(f"no token '{token}'. Choose one of these, by text or number: {named}")
    return positions[0]


def _span(word: str, text: str) -> tuple[int, int]:
    """Return the span of the first occurrence of a whole word.

    Raises:
        InputError: the text does not contain the word.
    """
    # Only a letter or digit must be at a word boundary: not the "." of ".net" or the "+" of "c++".
    before, after = (r"\b" if re.match(r"\w", end) else "" for end in (word[:1], word[-1:]))
    match = re.search(before + re.escape(word) + after, text, re.IGNORECASE) if word.strip() else None
    if match is None:
        raise InputError(f"the word '{word}' does not occur in '{text}'. Give texts that contain it.")
    return match.span()


def _tokens_in(view: Inspection, start: int, end: int) -> list[int]:
    """Return the positions of the tokens within a span of the text.

    Raises:
        InputError: the span contains no token.
    """
    positions = [
        i
        for i, token in enumerate(view.tokens)
        if not token.special and token.start < end and token.end > start
    ]
    if not positions:
        text = view.texts[0][start:end]
        raise InputError(f"the tokenizer of '{view.model.name}' drops '{text}'. Choose another word.")
    return positions


def _mean(view: Inspection, positions: list[int]) -> NDArray[np.float64]:
    """Return the mean vector of some tokens in each layer: (layers + 1, d)."""
    mean: NDArray[np.float64] = view.states[:, positions].mean(axis=1, dtype=np.float64)
    return mean


def _unit(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    # Rows of zeros stay zeros.
    return vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-300)
