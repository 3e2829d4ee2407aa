"""The public `inspect` and `attention`: one pass of a model over a text or a pair."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from search.bert.checkpoint import Checkpoint, load_checkpoint
from search.bert.embedding_layer import array, taken_apart
from search.bert.parameters import parameter_parts
from search.encoding.models import DEFAULT_MODEL
from search.records.inspections import Attention, Inspection, ModelShape, Pooler

if TYPE_CHECKING:
    from numpy.typing import NDArray


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
    return Attention(made.texts, made.tokens, _stacked(output.attentions), checkpoint.name)


def _stacked(layers: Any) -> NDArray[np.float32]:
    """(layers, heads, n, n) from a tuple of (1, heads, n, n)."""
    return np.stack([layer[0].numpy() for layer in layers])


def _pooler(model: Any, cls: NDArray[np.float32], output: Any) -> Pooler:
    dense = getattr(model.pooler, "dense", model.pooler)  # ALBERT's pooler is the layer itself
    computed = np.tanh(array(dense.weight) @ cls.astype(np.float64) + array(dense.bias))
    return Pooler(output[0].numpy(), computed)


def _shape(checkpoint: Checkpoint) -> ModelShape:
    tables, config = checkpoint.model.embeddings, checkpoint.model.config
    segments = tables.token_type_embeddings.num_embeddings if checkpoint.takes_segments else 0
    return ModelShape(
        name=checkpoint.name,
        kind=checkpoint.kind,
        layers=checkpoint.layers,
        heads=checkpoint.heads,
        dimension=int(config.hidden_size),
        vocabulary=int(tables.word_embeddings.num_embeddings),
        positions=int(tables.position_embeddings.num_embeddings),
        segments=int(segments),
        max_tokens=checkpoint.max_tokens,
        parts=parameter_parts(checkpoint.model, pooler=not checkpoint.no_pooler),
    )
