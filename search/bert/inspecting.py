"""The public `inspect` and `attention`: one pass of a model over a text or a pair.

The embedding layer is taken apart: for each token

    LayerNorm( word[id] + position[place] + segment[0 or 1] )

(Devlin et al. 2018, "BERT", figure 2). ELECTRA and ALBERT multiply the result by one more matrix where their
embeddings are narrower than their layers; DistilBERT and MPNet have no segments.

`in_contexts` follows one word through several texts: the same entry of the vocabulary, other vectors. In layer 0 a
word's vector depends on the word and its place alone; each further layer mixes in what stands around it. "python"
beside "pet" moves towards "snake", beside "coding" towards "programming".
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from search.bert.checkpoint import Checkpoint, load_checkpoint
from search.encoding.models import DEFAULT_MODEL
from search.errors import InputError
from search.records.inspections import (
    Attention,
    ContextualCosines,
    EmbeddingLayer,
    Inspection,
    ModelShape,
    ParameterPart,
    Pooler,
    Tokenization,
)

# Beginnings of parameter names, or parts of them, in the order they are tried in.
_PARTS = (
    ("word embeddings", re.compile(r"^embeddings\.word_embeddings\.")),
    ("position embeddings", re.compile(r"^embeddings\.position_embeddings\.")),
    ("segment embeddings", re.compile(r"^embeddings\.token_type_embeddings\.")),
    ("LayerNorm of the embeddings", re.compile(r"^embeddings\.LayerNorm\.")),
    ("projection of the embeddings", re.compile(r"embeddings_project|embedding_hidden_mapping_in")),
    ("relative positions", re.compile(r"relative_attention_bias")),
    ("pooler", re.compile(r"^pooler")),
    ("LayerNorms", re.compile(r"layer_?norm", re.IGNORECASE)),
    ("attention", re.compile(r"attention")),
    ("feed-forward", re.compile(r"intermediate|output\.dense|ffn")),
)
_LAYER = re.compile(r"\.layer\.(\d+)\.")


def inspect(
    text: str, text2: str | None = None, *, model: str = DEFAULT_MODEL, offline: bool = False
) -> Inspection:
    """Tokens, the embedding layer taken apart, hidden states of every layer, pooler, parameter counts.

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
    return Inspection(
        made.texts,
        made.tokens,
        made.words,
        _shape(checkpoint),
        taken_apart(checkpoint, made, states[0]),
        states,
        None if checkpoint.no_pooler else _pooler(checkpoint.model, states[-1, 0], output.pooler_output),
        checkpoint.no_pooler,
    )


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


def _pooler(model: Any, cls: NDArray[np.float32], output: Any) -> Pooler:
    dense = getattr(model.pooler, "dense", model.pooler)  # ALBERT's pooler is the layer itself
    computed = np.tanh(array(dense.weight) @ cls.astype(np.float64) + array(dense.bias))
    return Pooler(output[0].numpy(), computed)


def _shape(checkpoint: Checkpoint) -> ModelShape:
    tables, config = checkpoint.model.embeddings, checkpoint.model.config
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
        parts=parameter_parts(checkpoint.model, pooler=not checkpoint.no_pooler),
    )


def taken_apart(checkpoint: Checkpoint, made: Tokenization, output: NDArray[np.float32]) -> EmbeddingLayer:
    """The parts, computed in float64 from the rows of the model's tables.

    Args:
        output: (n, d) what the model itself handed to its first layer.
    """
    tables = checkpoint.model.embeddings
    positions = checkpoint.positions(made)
    words = _rows(tables.word_embeddings, [token.id for token in made.tokens])
    places = _rows(tables.position_embeddings, positions)
    segments = (
        _rows(tables.token_type_embeddings, checkpoint.segments(made)) if checkpoint.segment_rows else None
    )
    total = words + places if segments is None else words + places + segments
    normalized = layer_norm(
        total, array(tables.LayerNorm.weight), array(tables.LayerNorm.bias), float(tables.LayerNorm.eps)
    )
    projection = _projection(checkpoint.model)
    projected = None
    if projection is not None:
        projected = normalized @ array(projection.weight).T + array(projection.bias)
    return EmbeddingLayer(words, places, segments, tuple(positions), normalized, projected, output)


def layer_norm(
    rows: NDArray[np.float64], weight: NDArray[np.float64], bias: NDArray[np.float64], eps: float
) -> NDArray[np.float64]:
    """Each row less its mean, divided by its standard deviation, then scaled and shifted (Ba et al. 2016).

    Args:
        rows: (n, h).
        weight, bias: (h,).
        eps: added to the variance, against division by zero.
    """
    centred = rows - rows.mean(axis=1, keepdims=True)
    deviation = np.sqrt((centred**2).mean(axis=1, keepdims=True) + eps)
    return centred / deviation * weight + bias


def array(tensor: Any) -> NDArray[np.float64]:
    """A parameter as float64."""
    found: NDArray[np.float64] = tensor.detach().double().numpy()
    return found


def _rows(table: Any, numbers: list[int]) -> NDArray[np.float64]:
    """Rows of a table; of the table itself no copy is made."""
    return array(table.weight[numbers])


def _projection(model: Any) -> Any:
    """The linear layer from the width of the embeddings to that of the layers; None where there is none."""
    if hasattr(model, "embeddings_project"):  # ELECTRA
        return model.embeddings_project
    return getattr(getattr(model, "encoder", None), "embedding_hidden_mapping_in", None)  # ALBERT


def parameter_parts(model: Any, *, pooler: bool = True) -> tuple[ParameterPart, ...]:
    """Every parameter of a transformers model, counted once, in the order of the model.

    Args:
        pooler: False leaves out a pooler whose weights the model's file does not hold.
    """
    found: dict[tuple[str, int | None], list[tuple[int, ...]]] = {}
    for name, tensor in model.named_parameters():
        part = next((part for part, pattern in _PARTS if pattern.search(name)), "other")
        layer = _LAYER.search(name)
        if part != "pooler" or pooler:
            found.setdefault((part, int(layer[1]) + 1 if layer else None), []).append(tuple(tensor.shape))
    return tuple(
        ParameterPart(
            name=part,
            layer=layer,
            tensors=len(shapes),
            parameters=sum(map(prod, shapes)),
            in_matrices=sum(prod(shape) for shape in shapes if len(shape) > 1),
            shape=shapes[0] if len(shapes) == 1 else (),
        )
        for (part, layer), shapes in found.items()
    )


def in_contexts(
    word: str,
    texts: Sequence[str],
    against: Sequence[str] = (),
    *,
    model: str = DEFAULT_MODEL,
    offline: bool = False,
) -> ContextualCosines:
    """Cosines of a word's vectors in several texts, and with other words, at every layer.

    Args:
        word: what to look for, whatever its case; as a whole word, the first one where there are several. Its
            vector is the mean of its tokens' vectors.
        texts: the contexts. One will do where there is something to compare with.
        against: words or phrases, each read by itself.

    Raises:
        InputError: a text lacks the word, is empty or too long, or there is nothing to compare.
        ModelError: the model cannot be found, loaded or taken apart.
    """
    if isinstance(texts, str) or isinstance(against, str):
        raise InputError("texts and against are lists of strings.")
    places = [occurrences(word, text) for text in texts]
    if not texts or (len(texts) == 1 and not against):
        raise InputError(
            "there is nothing to compare: give two texts, or something to compare the word with."
        )
    checkpoint = load_checkpoint(model, offline)
    vectors, pieces = zip(
        *(_word(checkpoint, text, word, *spans[0]) for text, spans in zip(texts, places, strict=True)),
        strict=True,
    )
    others = [_whole(checkpoint, text) for text in against]
    here = _unit(np.stack(vectors, axis=1))
    there = _unit(np.stack(others, axis=1)) if others else np.zeros((len(here), 0, here.shape[2]))
    return ContextualCosines(
        word=word,
        texts=tuple(texts),
        found=tuple(spans[0] for spans in places),
        counts=tuple(len(spans) for spans in places),
        pieces=pieces,
        against=tuple(against),
        between=here @ here.transpose(0, 2, 1),
        others=here @ there.transpose(0, 2, 1),
        model=checkpoint.name,
    )


def occurrences(word: str, text: str, named: str | None = None) -> list[tuple[int, int]]:
    """Spans of a whole word in a text, which an error calls `named`."""
    word = word.strip()
    if not word:
        raise InputError("the word is empty. Give one that stands in the texts.")
    # A sign such as "." or the end of "c++" may have a letter beside it; an accent belongs to the letter before it.
    before = r"(?<!\w)" if re.match(r"\w", word) else ""
    behind = r"(?![\w\u0300-\u036f])" if re.search(r"\w$", word) else r"(?![\u0300-\u036f])"
    pattern = before + re.escape(word) + behind
    found = [match.span() for match in re.finditer(pattern, text, re.IGNORECASE)]
    if not found:
        raise InputError(f"the word '{word}' does not stand in '{named or text}'. Give texts that have it.")
    return found


def _word(
    checkpoint: Checkpoint, text: str, word: str, start: int, end: int
) -> tuple[NDArray[np.float64], tuple[str, ...]]:
    """(layers + 1, d) the vectors of the tokens within a span of a text, and those tokens."""
    made = checkpoint.tokens(text)
    at = [
        i
        for i, token in enumerate(made.tokens)
        if token.source is not None and token.start < end and token.end > start
    ]
    if not at:
        raise InputError(
            f"the tokenizer of '{checkpoint.name}' leaves nothing of '{word}'. Take another word."
        )
    return _mean(checkpoint.run(made), at), tuple(made.tokens[i].text for i in at)


def _whole(checkpoint: Checkpoint, text: str) -> NDArray[np.float64]:
    """(layers + 1, d) the mean vector of a text's own tokens, read by itself."""
    made = checkpoint.tokens(text)
    at = [i for i, token in enumerate(made.tokens) if not token.special]
    if not at:
        raise InputError(f"the tokenizer of '{checkpoint.name}' leaves nothing of '{text}'. Leave it out.")
    return _mean(checkpoint.run(made), at)


def _mean(output: object, at: list[int]) -> NDArray[np.float64]:
    states = getattr(output, "hidden_states")  # noqa: B009 - transformers has no types
    return np.stack([state[0, at].double().numpy().mean(axis=0) for state in states])


def _unit(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)
