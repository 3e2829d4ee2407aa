"""Contributions of words to the cosine of two texts with two encoders, side by side.

The contributions are traced to the tokens as typed (see `search.explaining.traced`), which is exact for every pooling.
Encoders may have different tokenizers, so words are matched by their spans in the text.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from search.encoding import Encoder
from search.encoding.pooling import layer_number
from search.indexing.sampling import foreign_questions
from search.lab.records.encoder_comparisons import (
    CosineShares,
    EncoderSetting,
    EncoderShare,
    UnrelatedPairs,
)
from search.records.explanations import Explanation
from search.records.shares import Share


def setting_of(encoder: Encoder, truncated: int = 0) -> EncoderSetting:
    """Return the setting of an encoder; `truncated` is the number of passages whose end it does not read."""
    layers = encoder.n_layers
    layer = encoder.layer if ":" in encoder.layer else str(layer_number(int(encoder.layer), layers))
    return EncoderSetting(encoder.model, encoder.pooling, layer, layers, truncated)


def shares_of_both(first: Explanation, second: Explanation) -> CosineShares:
    """Return the contributions of a text's words to its cosine with another text, with both encoders.

    Args:
        first, second: explanations of the same two texts.
    """
    sides = first.shares(partners=0), second.shares(partners=0)
    spans = _spans([share for side in sides for share in side if share.kind == "word"])
    words = [
        EncoderShare(
            first.query[start:end], "word", start, end, *(_within(side, start, end) for side in sides)
        )
        for start, end in spans
    ]
    kinds = dict.fromkeys(share.kind for side in sides for share in side if share.kind != "word")
    for kind in sorted(kinds, key=lambda name: name == "offset"):
        names = dict.fromkeys(share.text for side in sides for share in side if share.kind == kind)
        name = " or ".join(names)
        words.append(EncoderShare(name, kind, 0, 0, *(_of_kind(side, kind) for side in sides)))
    return CosineShares((first.cosine, second.cosine), tuple(words))


def among_unrelated(encoder: Encoder, cosine: float) -> UnrelatedPairs:
    """Return where a cosine is among those of all pairs of the foreign questions with an encoder."""
    questions = encoder.encode(foreign_questions())
    rows, columns = np.triu_indices(len(questions), 1)
    cosines = (questions @ questions.T)[rows, columns]
    return UnrelatedPairs(len(cosines), float(cosines.mean()), float((cosines < cosine).mean()))


def _spans(words: Sequence[Share]) -> list[tuple[int, int]]:
    """Return the spans of words in the order of the text; spans that overlap become one."""
    merged: list[tuple[int, int]] = []
    for start, end in sorted({(word.start, word.end) for word in words}):
        if merged and start < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _within(shares: Sequence[Share], start: int, end: int) -> float:
    """Return the sum of the contributions of all words in a span."""
    return sum(
        share.contribution
        for share in shares
        if share.kind == "word" and start <= share.start and share.end <= end
    )


def _of_kind(shares: Sequence[Share], kind: str) -> float:
    return sum(share.contribution for share in shares if share.kind == kind)
