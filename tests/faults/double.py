"""An encoder that can be predicted: each word has a fixed random direction, a text is the sum of its words.

It starts in no time, which matters to a harness that starts thousands of processes, and what a query must
find can be worked out by hand. All else is the real `Encoder`, so an index cannot tell it from a model.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from search.encoding import Encoder
from search.encoding.description import Description, KnownModel
from search.encoding.encoder import Role
from search.encoding.models import ModelFiles
from search.errors import TextTooLong

D = 32
MAX_TOKENS = 64


class WordEncoder(Encoder):
    """Embeddings of 32 dimensions that are sums of words; a token is a word."""

    def __init__(self) -> None:
        super().__init__(
            KnownModel(
                ModelFiles("words", Path("words"), "folder", {}, "1" * 64, "2" * 64, "3" * 64),
                Description(
                    layers=1,
                    positions=MAX_TOKENS,
                    max_tokens=MAX_TOKENS,
                    has_pooler=False,
                    pooling="mean",
                    dimension=D,
                    prompts={},
                ),
            )
        )

    @cached_property
    def tokenizer(self) -> Tokenizer:  # type: ignore[override]
        vocabulary = {"[UNK]": 0, "[CLS]": 1, "[SEP]": 2}
        tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
        tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        tokenizer.post_processor = processors.TemplateProcessing(
            single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
        )
        return tokenizer

    @property
    def engine(self) -> Any:
        return SimpleNamespace(name="words", device="cpu", instead="")

    def encode(
        self,
        texts: Sequence[str],
        *,
        role: Role | None = None,
        truncate: bool = False,
        progress: Callable[[int, int], None] | None = None,
    ) -> NDArray[np.float32]:
        """(n, 32) float32 of unit length; the same for a text in whatever company it comes."""
        for position, text in enumerate(texts):
            n_tokens = len(self.tokenizer.encode(text).ids)
            if n_tokens > self.max_tokens and not truncate:
                raise TextTooLong(position, n_tokens, self.max_tokens)
        if progress:
            progress(1, 1)
        return np.array([_embedding(text) for text in texts], dtype=np.float32).reshape(-1, D)


@lru_cache(maxsize=50_000)
def _embedding(text: str) -> NDArray[np.float32]:
    words = re.findall(r"\w+", text.lower()) or [""]
    total = np.sum([_direction(word) for word in words], axis=0)
    return (total / np.linalg.norm(total)).astype(np.float32)


@lru_cache(maxsize=50_000)
def _direction(word: str) -> NDArray[np.float64]:
    return np.random.default_rng(zlib.crc32(word.encode("utf-8", "surrogatepass"))).normal(size=D)
