"""The public `attention`: who reads whom."""

from __future__ import annotations

import numpy as np

from search.bert.checkpoint import load_checkpoint
from search.encoding.models import DEFAULT_MODEL
from search.records.attention import Attention


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
