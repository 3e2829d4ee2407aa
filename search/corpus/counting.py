"""How many tokens texts have.

Nearly all of a text's words were counted before, in it or in another. Where a tokenizer never looks across white space,
as WordPiece does not, a text has as many tokens as its words, and only new words are given to the tokenizer: a tenth of
the time. Byte pairs and unigrams take the space into their tokens, so there every text is tokenised.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import islice

from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

# What stands between white space that every tokenizer takes for such; some drop other control characters.
_WORD = re.compile(r"[^ \t\n\r]+")

_WORDS_KEPT = 2**16
_LONGEST_WORD = 100  # characters, so that what is kept stays small

# Texts given to the tokenizer at a time: enough for all cores, and not all of a long file in memory.
_AT_ONCE = 512


class TokenCounter:
    """Counts the tokens of texts. Safe to share between threads.

    Args:
        tokenizer: a copy of it is used, without truncation and padding.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = Tokenizer.from_str(tokenizer.to_str())
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self.special = self._tokenizer.num_special_tokens_to_add(False)
        self._of_word = lru_cache(_WORDS_KEPT)(self._tokenised)
        self._longest = _LONGEST_WORD if goes_by_words(self._tokenizer) else 0

    def count(self, text: str) -> int:
        """The tokens of a text, without special ones."""
        found = self._by_words(text)
        return self._tokenised(text) if found is None else found

    def counts(self, texts: Iterable[str]) -> Iterator[int]:
        """The tokens of each text, without special ones; quicker than one by one."""
        remaining = iter(texts)
        while batch := list(islice(remaining, _AT_ONCE)):
            found = [self._by_words(text) for text in batch]
            others = [text for text, count in zip(batch, found, strict=True) if count is None]
            encodings = iter(self._tokenizer.encode_batch_fast(others, add_special_tokens=False))
            for count in found:
                yield len(next(encodings).ids) if count is None else count

    def _by_words(self, text: str) -> int | None:
        """The sum over its words; None where that may be another number, or they are too long to be kept."""
        words = _WORD.findall(text) if self._longest else [text]
        return sum(map(self._of_word, words)) if max(map(len, words), default=0) <= self._longest else None

    def _tokenised(self, text: str) -> int:
        (encoding,) = self._tokenizer.encode_batch_fast([text], add_special_tokens=False)
        return len(encoding.ids)


def goes_by_words(tokenizer: Tokenizer) -> bool:
    """Whether a text surely has as many tokens as the words in it that white space parts."""
    steps = [tokenizer.normalizer]
    if isinstance(steps[0], normalizers.Sequence):
        steps = list(steps[0])  # type: ignore[call-overload]
    return (
        isinstance(tokenizer.model, models.WordPiece)
        and isinstance(tokenizer.pre_tokenizer, pre_tokenizers.BertPreTokenizer)
        and all(
            isinstance(step, (normalizers.BertNormalizer, normalizers.Lowercase)) for step in steps if step
        )
        and not any(
            re.search(r"\s", token.content) for token in tokenizer.get_added_tokens_decoder().values()
        )
    )
