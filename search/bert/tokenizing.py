"""A text or a pair -> tokens and words, as the model gets them; and two tokenizers side by side.

Only the tokenizer of a model is loaded for this, no weights.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from search.encoding.models import DEFAULT_MODEL, find_model
from search.encoding.tokenizer import load_tokenizer, require_characters
from search.errors import InputError
from search.records.inspections import (
    InputToken,
    InputWord,
    Tokenization,
)

if TYPE_CHECKING:
    import tokenizers

_UNKNOWN = ("[UNK]", "<unk>")


def check_text(text: str, name: str = "the text", *, may_be_empty: bool = False) -> None:
    """
    Raises:
        InputError: a text, which is called `name`, is empty or no valid Unicode.
    """
    if not text.strip() and not may_be_empty:
        raise InputError(f"{name} is empty. Give something to read.")
    require_characters(text, name)


def without_space(text: str, start: int, end: int) -> tuple[int, int]:
    """The span [start, end) without white space at its ends."""
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end


def tokenize(
    text: str, text2: str | None = None, *, model: str = DEFAULT_MODEL, offline: bool = False
) -> Tokenization:
    """What the tokenizer of a model makes of a text, or of a pair.

    Args:
        text2: the second text of a pair, which BERT reads as [CLS] text [SEP] text2 [SEP].
        model: a name or a folder; any fast tokenizer will do, whatever the model is.

    Raises:
        ModelError: the model cannot be found, or has no tokenizer with character offsets.
        InputError: a text is empty or no valid Unicode.
    """
    files = find_model(model, offline=offline)
    return tokenized(load_tokenizer(files.folder, files.name), text, text2, files.name)


def tokenized(
    tokenizer: tokenizers.Tokenizer, text: str, text2: str | None, name: str, max_tokens: int | None = None
) -> Tokenization:
    """As `tokenize`, with a tokenizer that is loaded already.

    Raises:
        InputError: a text is empty or no valid Unicode, or there are more tokens than `max_tokens`.
    """
    texts = (text,) if text2 is None else (text, text2)
    for number, one in enumerate(texts, 1):
        check_text(one, "the text" if len(texts) == 1 else f"text {number}")
    encoding = tokenizer.encode(*texts)
    if max_tokens is not None and len(encoding.ids) > max_tokens:
        what = "the text has" if len(texts) == 1 else "the two texts together have"
        raise InputError(
            f"{what} {len(encoding.ids):,} tokens, [CLS] and [SEP] included, and '{name}' reads {max_tokens:,}. "
            "Nothing is cut here: shorten it."
        )
    unknown = unknown_id(tokenizer)
    tokens = tuple(
        InputToken(
            text=piece,
            id=number,
            start=0 if special else start,
            end=0 if special else end,
            source=None if special else source,
            segment=segment,
            attended=attended,
            special=bool(special),
            word=None if special else word,
            unknown=not special and number == unknown,
        )
        for piece, number, (start, end), source, segment, attended, special, word in zip(
            encoding.tokens,
            encoding.ids,
            encoding.offsets,
            encoding.sequence_ids,
            encoding.type_ids,
            encoding.attention_mask,
            encoding.special_tokens_mask,
            encoding.word_ids,
            strict=True,
        )
    )
    return Tokenization(texts, tokens, _words(texts, tokens), tokenizer.get_vocab_size())


def _words(texts: tuple[str, ...], tokens: tuple[InputToken, ...]) -> tuple[InputWord, ...]:
    """The words of all texts, in order."""
    at: dict[tuple[int, int], list[int]] = {}
    for i, token in enumerate(tokens):
        if token.source is not None and token.word is not None:
            at.setdefault((token.source, token.word), []).append(i)
    found = []
    for (source, _), places in at.items():
        start = min(tokens[i].start for i in places)
        end = max(tokens[i].end for i in places)
        unknown = any(tokens[i].unknown for i in places)
        found.append(InputWord(texts[source][start:end], start, end, source, tuple(places), unknown))
    return tuple(found)


def unknown_id(tokenizer: tokenizers.Tokenizer) -> int | None:
    """The id that stands for what cannot be spelled; None where everything can."""
    named = getattr(tokenizer.model, "unk_token", None)
    for name in (named,) if named else _UNKNOWN:
        number: int | None = tokenizer.token_to_id(name)
        if number is not None:
            return number
    return None
