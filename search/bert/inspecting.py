"""A model taken apart while it reads a text: `inspect`, `work_through`, `in_contexts`, `equal_rows`; its tensors.

The embedding layer computes for each token

    LayerNorm( word[id] + position[place] + segment[0 or 1] )

(Devlin et al. 2018, "BERT", figure 2). DistilBERT and MPNet have no segments.

In a head of width h each token has a query, a key and a value, three linear maps of the vector that the layer reads.
A token with the query q reads token j with the weight

    softmax over j of ( q . k_j / sqrt(h) )

and hands on the sum of the values v_j, each times its weight (Vaswani et al. 2017, "Attention Is All You Need", 3.2.1).
"""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from search.bert.checkpoint import Checkpoint, load_checkpoint, softmax
from search.encoding.models import DEFAULT_MODEL
from search.errors import InputError
from search.records.inspections import (
    Attention,
    ContextualCosines,
    EmbeddingLayer,
    EqualRows,
    HeadAtWork,
    Inspection,
    ModelShape,
    Tokenization,
)

# Endings of the names of the linear maps in the families.
_PROJECTIONS = {
    "query": (".query", ".q_lin"),
    "key": (".key", ".k_lin"),
    "value": (".value", ".v_lin"),
}


def inspect(
    text: str, text2: str | None = None, *, model: str = DEFAULT_MODEL, offline: bool = False
) -> Inspection:
    """Tokens, the embedding layer taken apart, hidden states of every layer, attention, pooler, sizes of the model.

    Attention takes layers x heads x n x n numbers of 4 bytes: 19 MB for 256 tokens and 6 layers of 12 heads.

    Args:
        text2: the second text of a pair, which BERT reads as [CLS] text [SEP] text2 [SEP].
        model: a name or a folder of a checkpoint of one of `FAMILIES`. A checkpoint with a head (for masked words,
            classes, spans) is inspected without it.
        offline: never call out to the hub.

    Raises:
        InputError: a text is empty, or there are more tokens than the model reads; nothing is ever cut.
        ModelError: the model cannot be found, loaded or taken apart.

    Example:
        >>> found = inspect("Sinan loves a beautiful day")      # doctest: +SKIP
        >>> found.tokens[1].id, found.states.shape              # doctest: +SKIP
        (8254, (7, 8, 384))
    """
    checkpoint = load_checkpoint(model, offline)
    made = checkpoint.tokens(text, text2)
    output = checkpoint.run(made)
    states = np.stack([state[0].numpy() for state in output.hidden_states])
    weights = np.stack([layer[0].numpy() for layer in output.attentions])
    pooler = difference = None
    if not checkpoint.no_pooler:
        pooler = output.pooler_output[0].numpy()
        difference = float(
            abs(np.tanh(_linear(checkpoint.model.pooler.dense, states[-1, 0])) - pooler).max()
        )
    return Inspection(
        made.texts,
        made.tokens,
        made.words,
        _shape(checkpoint),
        _embedding(checkpoint, made, states[0]),
        states,
        Attention(made.texts, made.tokens, weights, checkpoint.name),
        pooler,
        difference,
        checkpoint.no_pooler,
    )


def parameters(
    model: str = DEFAULT_MODEL, *, offline: bool = False
) -> Mapping[str, NDArray[np.floating[Any]]]:
    """Every tensor of a model by name, in the order of the model; no copy is made.

    Args:
        model: a name or a folder of a checkpoint of one of `FAMILIES`.

    Raises:
        ModelError: the model cannot be found, loaded or taken apart.

    Example:
        >>> parameters()["embeddings.word_embeddings.weight"].shape          # doctest: +SKIP
        (30522, 384)
    """
    loaded = load_checkpoint(model, offline).model
    return {name: tensor.detach().numpy() for name, tensor in loaded.named_parameters()}


def modules(model: str = DEFAULT_MODEL, *, offline: bool = False) -> str:
    """The tree of a model's modules, as PyTorch prints it; errors as of `parameters`."""
    return str(load_checkpoint(model, offline).model)


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
    """One head step by step for one token, beside the weights that the model itself computes.

    Args:
        text2: the second text of a pair.
        layer, head: from 1.
        token: the position of the token that reads, from 0; or the token ("##ing") or the word itself, of which the
            first one is taken, and of a word the first token.

    Raises:
        InputError: there is no such layer, head or token; MPNet, which also adds a number for the distance of two
            tokens; or as of `inspect`.
        ModelError: as of `inspect`.
    """
    looked = inspect(text, text2, model=model, offline=offline)
    own = looked.attention.matrix(layer, head)
    if looked.model.kind == "mpnet":
        raise InputError(f"'{looked.model.name}' is an MPNet, whose heads add positions. Name a BERT.")
    place = _place(looked, token)
    width = looked.model.dimension // looked.model.heads
    columns = slice((head - 1) * width, head * width)
    maps = _projections(load_checkpoint(model, offline).model, layer)
    queries, keys, values = (_linear(linear, looked.states[layer - 1])[:, columns] for linear in maps)
    products = keys @ queries[place]
    scaled = products / np.sqrt(width)
    weights = softmax(scaled)
    return HeadAtWork(
        texts=looked.texts,
        tokens=looked.tokens,
        model=looked.model.name,
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
    """Cosines of a word's vectors in several texts, and with other words, at every layer.

    In layer 0 a word's vector depends on the word and its position alone; each further layer mixes in its neighbours.
    "python" beside "pet" moves towards "snake", beside "coding" towards "programming".

    Args:
        word: found whatever its case, as a whole word; the first occurrence counts. Its vector is the mean of its
            tokens' vectors. Or a word for each text: "python" in the first, "snake" in the second.
        texts: the contexts. A single one needs `against`.
        against: words or phrases, each read by itself; the vector of a phrase is the mean of its tokens'.

    Raises:
        InputError: a text lacks its word, is empty or too long, or there is nothing to compare.
        ModelError: as of `inspect`.

    Example:
        >>> found = in_contexts(["python", "snake"], ["my pet python", "a snake bit me"])    # doctest: +SKIP
        >>> found.between[:, 0, 1]    # a cosine for each layer                             # doctest: +SKIP
    """
    if isinstance(texts, str) or isinstance(against, str):
        raise InputError("texts and against are lists of strings.")
    words = [word] * len(texts) if isinstance(word, str) else list(word)
    if len(words) != len(texts):
        raise InputError(f"words: {len(words)}, texts: {len(texts)}. Give one, or one each.")
    spans = [_span(word, text) for word, text in zip(words, texts, strict=True)]
    if len(texts) + len(against) < 2 or not texts:
        raise InputError("there is nothing to compare: give two texts, or a word to compare with.")
    looked, others = (
        [inspect(text, model=model, offline=offline) for text in side] for side in (texts, against)
    )
    places = [_tokens_in(one, *span) for one, span in zip(looked, spans, strict=True)]
    vectors = [_mean(one, at) for one, at in zip(looked, places, strict=True)]
    here = _unit(np.stack(vectors, axis=1))
    there = np.zeros((len(here), 0, here.shape[2]))
    if others:
        there = _unit(
            np.stack([_mean(one, _tokens_in(one, 0, len(one.texts[0]))) for one in others], axis=1)
        )
    return ContextualCosines(
        words=tuple(words),
        texts=tuple(texts),
        found=tuple(spans),
        pieces=tuple(
            tuple(one.tokens[i].text for i in at) for one, at in zip(looked, places, strict=True)
        ),
        against=tuple(against),
        between=here @ here.transpose(0, 2, 1),
        others=here @ there.transpose(0, 2, 1),
        model=looked[0].model.name,
    )


def equal_rows(text: str, text2: str, *, model: str = DEFAULT_MODEL, offline: bool = False) -> EqualRows:
    """Two texts, each read by itself: how alike the vectors at the same position are, part by part.

    In the tables a row depends on the entry, the position or the segment alone, so [CLS] has equal rows in any two
    texts. From layer 1 on it has not, as it has read the others. Errors as of `inspect`.
    """
    one, two = (inspect(each, model=model, offline=offline) for each in (text, text2))
    common = min(len(one.tokens), len(two.tokens))
    sides = [_vectors(each) for each in (one, two)]
    return EqualRows(
        texts=(text, text2),
        tokens=(one.tokens, two.tokens),
        cosines={
            part: (_unit(rows[:common]) * _unit(sides[1][part][:common])).sum(axis=1)
            for part, rows in sides[0].items()
        },
        model=one.model.name,
    )


def _vectors(looked: Inspection) -> dict[str, NDArray[np.float64]]:
    """(n, width) vectors of a text's tokens by the name of their part: rows of the tables, then the layers."""
    tables = {name: rows for name, rows in looked.embedding.parts.items() if name in _TABLES}
    return tables | {f"layer {i}": states.astype(np.float64) for i, states in enumerate(looked.states)}


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


def _embedding(checkpoint: Checkpoint, made: Tokenization, output: NDArray[np.float32]) -> EmbeddingLayer:
    """The parts, computed in float64 from the rows of the model's tables.

    Args:
        output: (n, d) the model's own input of its first layer.
    """
    import torch

    model = checkpoint.model
    positions = checkpoint.positions(made)
    rows = {"word": [token.id for token in made.tokens], "position": positions}
    if checkpoint.segment_rows:
        rows["segment"] = checkpoint.segments(made)
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
    """A linear layer in float64: (n, inputs) -> (n, outputs)."""
    return rows.astype(np.float64) @ _array(module.weight).T + _array(module.bias)


def _array(tensor: Any) -> NDArray[np.float64]:
    found: NDArray[np.float64] = tensor.detach().double().numpy()
    return found


def _projections(model: Any, layer: int) -> list[Any]:
    """The linear maps to query, key and value of a layer."""
    named = list(model.named_modules())
    found = [[module for name, module in named if name.endswith(ends)] for ends in _PROJECTIONS.values()]
    return [maps[layer - 1] for maps in found]


def _place(looked: Inspection, token: int | str) -> int:
    """Position of a token that is named by its position, its entry or the word that it begins.

    Raises:
        InputError: there is none.
    """
    if isinstance(token, int):
        found = [token] if 0 <= token < len(looked.tokens) else []
    else:
        found = [i for i, one in enumerate(looked.tokens) if one.text == token]
        found += [word.tokens[0] for word in looked.words if word.text.lower() == token.lower()]
    if not found:
        named = " ".join(f"{i} {one.text}" for i, one in enumerate(looked.tokens))
        raise InputError(f"there is no token '{token}'. Name one of these, or its number: {named}")
    return found[0]


def _span(word: str, text: str) -> tuple[int, int]:
    """Span of the first occurrence of a whole word.

    Raises:
        InputError: there is none.
    """
    # A sign such as "." or the end of "c++" may have a letter beside it.
    before, after = (r"\b" if re.match(r"\w", end) else "" for end in (word[:1], word[-1:]))
    found = re.search(before + re.escape(word) + after, text, re.IGNORECASE) if word.strip() else None
    if found is None:
        raise InputError(f"the word '{word}' does not stand in '{text}'. Give texts that have it.")
    return found.span()


def _tokens_in(looked: Inspection, start: int, end: int) -> list[int]:
    """Positions of the tokens within a span of the text.

    Raises:
        InputError: the tokenizer makes none of it.
    """
    found = [
        i
        for i, token in enumerate(looked.tokens)
        if not token.special and token.start < end and token.end > start
    ]
    if not found:
        text = looked.texts[0][start:end]
        raise InputError(f"'{looked.model.name}' has no tokens for '{text}'. Take another word.")
    return found


def _mean(looked: Inspection, at: list[int]) -> NDArray[np.float64]:
    """(layers + 1, d) the mean vector of some tokens in every layer."""
    found: NDArray[np.float64] = looked.states[:, at].mean(axis=1, dtype=np.float64)
    return found


def _unit(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    # a row of padding is 0
    return vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-300)
