"""What is put into a model for a text: prompt, context, text; and checks of what was passed in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from search.encoding.tokenizer import Encoded
from search.errors import InputError, TextTooLong

Role = Literal["query", "document"]
_PROMPT_NAMES = {"query": ("query",), "document": ("document", "passage")}


def prompt_for(role: Role | None, prompts: Mapping[str, str]) -> str:
    """What a model's configuration puts before every query or document; usually nothing."""
    for name in _PROMPT_NAMES[role] if role else ():
        if name in prompts:
            return prompts[name]
    return ""


def with_context(context: str, text: str) -> str:
    """What is encoded for a passage: its headings, a line break, its text."""
    return f"{context}\n{text}" if context else text


def strings(texts: Sequence[str]) -> list[str]:
    """The texts as a list, or InputError if they are one string or hold something that is none."""
    if isinstance(texts, str):
        raise InputError("texts is one string; pass a list of strings.")
    found = list(texts)
    for text in found:
        if not isinstance(text, str):
            raise InputError(f"texts must be strings, but one is {type(text).__name__}.")
    return found


def require_whole(encoded: Sequence[Encoded], max_tokens: int) -> None:
    """Raise TextTooLong if a text did not fit."""
    for position, text in enumerate(encoded):
        if text.dropped:
            raise TextTooLong(position, len(text.ids) + text.dropped, max_tokens)
