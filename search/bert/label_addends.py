"""Why a text has its label: what each token adds to the logit of each class.

A head's logit is W x + b, and with mean pooling x is the sum of the token vectors over n |mean|. So it is a sum over
tokens:

    logit_c = sum_i  W_c . h_i / (n |h_mean|)  +  b_c

The length |h_mean| is taken as it is; it depends on all tokens, as every h_i does on its neighbours. What is left out
and encoded again may thus change by more or less than its addend.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from search.bert.linear_head import LinearHead, encoder_of, load_linear_head, softmax
from search.encoding import Encoder
from search.errors import InputError, TextTooLong
from search.records.predictions import LabelExplanation
from search.records.tokens import TokenVectors, merged

if TYPE_CHECKING:
    from numpy.typing import NDArray


def explain_label(
    text: str,
    head: LinearHead | str | Path,
    *,
    encoder: Encoder | None = None,
    offline: bool = False,
    engine: str = "auto",
) -> LabelExplanation:
    """What each token of a text adds to the logits of a head; with the poolings mean, mean_sqrt_len and max.

    Args:
        encoder: that the head was trained for, if it is loaded; None finds it.

    Raises:
        InputError: an empty text or one that is too long; or a pooling that is no sum over tokens.
        HeadMismatch: `encoder` makes other embeddings than the head was trained on.
    """
    if not text.strip():
        raise InputError("the text is empty: there is nothing to explain.")
    head = head if isinstance(head, LinearHead) else load_linear_head(head)
    if encoder is None:
        encoder = encoder_of(head, offline=offline, engine=engine)
    head.require_fits(encoder.fingerprint, "the encoder")
    try:
        (found,) = encoder.tokens([text], role="document")
    except TextTooLong as error:
        raise InputError(
            f"the text has {error.n_tokens} tokens and the model reads {error.max_tokens}. Shorten it."
        ) from None
    logits = head.logits(found.embedding[None].astype(np.float32))[0]
    return LabelExplanation(
        text=text,
        tokens=found.tokens,
        words=merged(found.tokens, {"text": text}),
        classes=head.classes,
        logits=logits,
        probabilities=softmax(logits),
        contributions=_parts(found, encoder.pooling) @ head.coefficients.T,
        intercepts=head.intercepts,
        label=head.classes[int(logits.argmax())],
        head=head.name,
        model=encoder.model,
        pooling=encoder.pooling,
    )


def _parts(found: TokenVectors, pooling: str) -> NDArray[np.float64]:
    """(n, d) vectors, one a token, that sum to the embedding."""
    if found.addends is None:
        raise InputError(
            f"with pooling '{pooling}' an embedding is no sum over tokens, so its logits have no exact addends. "
            "Train the head on embeddings with the pooling mean, mean_sqrt_len or max."
        )
    vectors = found.addends.astype(np.float64)
    if pooling == "max":  # each dimension belongs to the token that has its largest value
        parts = np.zeros_like(vectors)
        dimensions = np.arange(vectors.shape[1])
        parts[vectors.argmax(axis=0), dimensions] = vectors.max(axis=0)
    else:
        parts = vectors / len(vectors)
    return np.asarray(parts / np.linalg.norm(parts.sum(axis=0)))
