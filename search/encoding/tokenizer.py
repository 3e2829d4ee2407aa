"""WordPiece tokens with character offsets, and token ids as a model's input.

Uses the `tokenizers` library with truncation and padding switched off, so that truncated tokens are counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from search.encoding.loading import alone
from search.encoding.prompts import Role
from search.errors import InputError, ModelError, TextTooLong
from search.records.tokens import Part, Token
from search.records.visible_text import Spans, VisibleText

if TYPE_CHECKING:
    import tokenizers


@dataclass(frozen=True)
class Encoded:
    """Token ids of a text, special tokens included, and the number of tokens that were truncated."""

    ids: list[int]
    types: list[int]
    dropped: int = 0


@dataclass(frozen=True)
class ModelInput:
    """A text as the model reads it.

    Attributes:
        text, context, hidden: the text, the text encoded before it, and its spans that are not encoded.
        whole: the encoded string: prompt, context and visible text.
        role: role of the text; None for none.
        tokens: n tokens of `whole`, special tokens included; `encoded` has their ids.
    """

    text: str
    context: str
    hidden: Spans
    whole: str
    role: Role | None
    tokens: tuple[Token, ...]
    encoded: Encoded


def load_tokenizer(
    folder: Path, name: str, lowercase: bool = False, special: bool = True
) -> tokenizers.Tokenizer:
    """Load the fast tokenizer of a model, with truncation and padding switched off.

    Args:
        lowercase: lower-case texts first, even if the tokenizer does not.
        special: False to add no special tokens.

    Raises:
        ModelError: there is no tokenizer, or it provides no character offsets.
    """
    import tokenizers

    file = folder / "tokenizer.json"
    try:
        tokenizer = tokenizers.Tokenizer.from_file(str(file)) if file.is_file() else _converted(folder)
    except Exception as error:  # the library raises bare Exception for a damaged file
        raise ModelError(f"cannot load the tokenizer of '{name}': {error}") from None
    tokenizer.no_truncation()
    tokenizer.no_padding()
    if not special:
        tokenizer.post_processor = tokenizers.processors.Sequence([])
    if lowercase:
        before, lower = tokenizer.normalizer, tokenizers.normalizers.Lowercase()
        steps = [lower] if before is None else [lower, before]
        tokenizer.normalizer = tokenizers.normalizers.Sequence(steps)
    return tokenizer


@alone
def _converted(folder: Path) -> tokenizers.Tokenizer:
    """Convert the vocabulary files of an older model to a fast tokenizer, with transformers."""
    from transformers import AutoTokenizer

    slow = AutoTokenizer.from_pretrained(str(folder), local_files_only=True, trust_remote_code=False)
    backend: tokenizers.Tokenizer | None = getattr(slow, "backend_tokenizer", None)
    if backend is None:
        raise ModelError("it provides no character offsets.")
    return backend


def encode_ids(
    tokenizer: tokenizers.Tokenizer, texts: Sequence[str], max_tokens: int, keep_last: int = 1
) -> list[Encoded]:
    """Return the token ids of each text, truncated to `max_tokens`.

    Like in sentence-transformers, truncation keeps the closing special tokens; `keep_last` is their number.
    """
    encoded = []
    for encoding in tokenizer.encode_batch_fast(list(texts)):
        ids, types = encoding.ids, encoding.type_ids
        over = len(ids) - max_tokens
        if over > 0:
            cut = len(ids) - keep_last
            ids = ids[: cut - over] + ids[cut:]
            types = types[: cut - over] + types[cut:]
        encoded.append(Encoded(ids, types, max(over, 0)))
    return encoded


def tokens(
    tokenizer: tokenizers.Tokenizer, prompt: str, context: str, text: VisibleText
) -> tuple[Token, ...]:
    """Return the tokens of `prompt + context + text`, each with its offsets in `prompt`, `context` or `text`.

    A non-empty `context` is followed by a line break, as in embeddings.
    """
    before_text = prompt + (f"{context}\n" if context else "")
    encoding = tokenizer.encode(before_text + text.text)
    of_tokens = encoding.tokens, encoding.ids, encoding.offsets
    of_words = encoding.special_tokens_mask, encoding.word_ids
    result = []
    for piece, id_, (start, end), special, word in zip(*of_tokens, *of_words, strict=True):
        part: Part
        if special:
            result.append(Token(piece, id_, 0, 0, True, None, "special"))
            continue
        if end <= len(prompt) and prompt:
            part, shift = "prompt", 0
        elif end <= len(before_text) and before_text:
            part, shift = "context", len(prompt)
        else:
            part, shift = "text", len(before_text)
        start, end = max(start - shift, 0), end - shift
        if part == "text":
            start, end = text.span(start, end) if start < end else (text.source_offset(start),) * 2
        result.append(Token(piece, id_, start, end, False, word, part))
    return tuple(result)


def with_context(context: str, text: str) -> str:
    """Return the text that is encoded for a passage: its headings, a line break, its text."""
    return f"{context}\n{text}" if context else text


def strings(texts: Sequence[str]) -> list[str]:
    """Return the texts as a list; raise InputError for a single string, or an item that is not a string."""
    if isinstance(texts, str):
        raise InputError("texts is a single string. Pass a list of strings.")
    items = list(texts)
    for text in items:
        if not isinstance(text, str):
            raise InputError(f"texts must be strings, but one of them is {type(text).__name__}.")
        require_characters(text)
    return items


def require_characters(text: str, name: str = "a text") -> None:
    """Raise InputError if a text contains lone surrogates, which stand for invalid bytes.

    Args:
        name: description of the text for the message.
    """
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise InputError(f"{name} contains bytes that are not valid text. Remove them.") from None


def require_whole(encoded: Sequence[Encoded], max_tokens: int) -> None:
    """Raise TextTooLong if a text was truncated."""
    for position, text in enumerate(encoded):
        if text.dropped:
            raise TextTooLong(position, len(text.ids) + text.dropped, max_tokens)
