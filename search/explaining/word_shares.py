"""Shares of a query's words in the scores of its hits, for bars.

The contributions of tokens to a cosine are products of what they add to the query's embedding with the passage's
embedding. So the query is traced once, whatever the number of hits, and no passage is read. Stop words and tokens that
are no words count together, which halves the work: the words side by side go through the model as one batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from search.encoding import Encoder
from search.explaining.explanation import TextPart, concatenated
from search.explaining.tracers import tracer
from search.records.explanations import STOP_WORDS
from search.records.shares import OTHERS, Share
from search.records.tokens import ANY_TEXT, Word, merged

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from search.records.tokens import Matrix


@dataclass(frozen=True, eq=False)
class WordAddends:
    """Contributions of W words of a query to its cosines with K passages, traced to the words as typed.

    Attributes:
        words: words that are no stop words; all words if there are no others.
        of_words: (K, W) contributions.
        of_others: (K,) contributions of stop words, punctuation and special tokens.
        offset: (K,) contributions of no token.
    """

    words: Sequence[Word]
    of_words: NDArray[np.float64]
    of_others: NDArray[np.float64]
    offset: NDArray[np.float64]

    @classmethod
    def of(cls, encoder: Encoder, parts: Sequence[TextPart], embeddings: Matrix) -> WordAddends:
        """Trace a query.

        Args:
            parts: parts of the query that have a text.
            embeddings: (K, d) embeddings of the passages.
        """
        texts = [part.input.text for part in parts]
        tokens = concatenated([part.input.tokens for part in parts], texts)
        words = [word for word in merged(tokens, {"text": "\n".join(texts)}) if word.kind == "word"]
        words = [word for word in words if word.text.casefold() not in STOP_WORDS] or words
        of_words = np.zeros((len(embeddings), len(words)))
        of_others, offset = np.zeros(len(embeddings)), np.zeros(len(embeddings))
        first = 0
        for part in parts:
            n = len(part.input.tokens)
            inside = [i for i, word in enumerate(words) if first <= word.tokens[0] < first + n]
            left_out = set(part.left_out)
            groups = [
                [at - first for at in range(*words[i].tokens) if at - first not in left_out]
                for i in inside
            ]
            grouped = {at for group in groups for at in group} | left_out
            others = [at for at in range(n) if at not in grouped]
            dropped = [sorted(left_out)] if left_out else []
            rows = tracer(encoder).group_addends(part.input, [*groups, others, *dropped])
            added = part.factor * (embeddings @ rows.T)
            of_words[:, inside] += added[:, : len(inside)]
            of_others += added[:, len(inside)]
            offset += added[:, -1]
            first += n
        return cls(words, of_words, of_others, offset)

    def shares(self, passage: int, weight: float) -> list[Share]:
        """Return the shares of the words in a score, then that of other tokens, then that of the offset.

        Args:
            passage: number of the passage.
            weight: weight of the cosine in the score.
        """
        added = (weight * self.of_words[passage]).tolist()
        shares = [
            Share(word.text, word.kind, word.start, word.end, value)
            for word, value in zip(self.words, added, strict=True)
        ]
        shares.append(Share(OTHERS, "others", 0, 0, weight * float(self.of_others[passage])))
        if offset := float(self.offset[passage]):
            shares.append(Share(ANY_TEXT, "offset", 0, 0, weight * offset))
        return shares
