"""Masked places in a text, and single entries of a vocabulary, for any tokenizer.

What is typed as [MASK] is handed to a checkpoint as its own mask token: "<mask>" in RoBERTa and its descendants.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from search.bert.heads import Head
from search.bert.tokenizing import unknown_id
from search.encoding.models import optional_json
from search.errors import InputError, ModelError

if TYPE_CHECKING:
    import tokenizers

TYPED = "[MASK]"
_USUAL = (TYPED, "<mask>")
_BEGINS_WORD = ("\u0120", "\u2581")  # byte-level BPE's and SentencePiece's mark of a space before
_NO_ENTRY = "[no entry]"


@dataclass(frozen=True)
class Masked:
    """A text with its masks in the model's own writing.

    Attributes:
        text: what the model reads.
        spans: of the masks in it; `source` are their spans in the text as it was given.
    """

    text: str
    spans: tuple[tuple[int, int], ...]
    source: tuple[tuple[int, int], ...]


def with_mask(head: Head) -> tuple[Head, str]:
    """The head with a tokenizer that knows the mask token as one token, and that token.

    Raises:
        ModelError: the checkpoint has no mask token.
    """
    import tokenizers

    name = _named(head) or next(
        (usual for usual in _USUAL if head.tokenizer.token_to_id(usual) is not None), ""
    )
    if not name or head.tokenizer.token_to_id(name) is None:
        raise ModelError(
            f"'{head.name}' has no mask token in its vocabulary, so no word can be masked for it. "
            "Name a checkpoint that has one, bert-base-uncased for instance."
        )
    if any(str(token) == name for token in head.tokenizer.get_added_tokens_decoder().values()):
        return head, name
    tokenizer = tokenizers.Tokenizer.from_str(head.tokenizer.to_str())
    tokenizer.add_special_tokens([tokenizers.AddedToken(name, lstrip=name == "<mask>", normalized=False)])
    return replace(head, tokenizer=tokenizer), name


def masked(text: str, mask: str, hidden: Sequence[tuple[int, int]] = ()) -> Masked:
    """A text whose masks, and the spans to hide, are written as the model's mask token."""
    typed = [match.span() for match in _masks(mask).finditer(text)]
    places = sorted({*typed, *hidden})
    parts, spans, at, length = [], [], 0, 0
    for start, end in places:
        parts += [text[at:start], mask]
        length += start - at
        spans.append((length, length + len(mask)))
        at, length = end, length + len(mask)
    return Masked("".join([*parts, text[at:]]), tuple(spans), tuple(places))


def without_masks(text: str, mask: str) -> str:
    """The text with spaces for its masks, so that no word is found in them; as long as before."""
    return _masks(mask).sub(lambda match: " " * len(match[0]), text)


def entry_at(head: Head, given: Masked, number: int, word: str) -> int:
    """The id of the one entry that spells a word at a masked place.

    Raises:
        InputError: it takes several entries, or none has it.
    """
    tokenizer = head.tokenizer
    literal = tokenizer.token_to_id(word) if is_wordpiece(tokenizer) and word.startswith("##") else None
    if literal is not None:
        return int(literal)
    start, end = given.spans[number]
    there = f"{given.text[:start]}{word}{given.text[end:]}"
    whole = tokenizer.encode(there, add_special_tokens=False)
    stop = start + len(word)
    at = [i for i, (first, last) in enumerate(whole.offsets) if first < stop and last > start]
    inside = all(whole.offsets[i][1] <= stop and not there[whole.offsets[i][0] : start].strip() for i in at)
    ids, pieces = [whole.ids[i] for i in at], [whole.tokens[i] for i in at]
    if len(ids) != 1 or not inside:  # as part of what stands beside it, or several
        alone = tokenizer.encode(word, add_special_tokens=False)
        ids, pieces = alone.ids, alone.tokens
    unknown = unknown_id(tokenizer)
    if not ids or unknown in ids:
        raise InputError(
            f"the vocabulary of '{head.name}' cannot spell '{word}', so it cannot be scored. Take another word."
        )
    if len(ids) > 1:
        raise InputError(
            f"'{word}' is no single entry of the vocabulary of '{head.name}' but {len(ids)}: {' '.join(pieces)}. "
            "A mask stands for one entry and cannot score several. Take a word that is one."
        )
    head.require_known(ids[0])
    return int(ids[0])


def piece_of(tokenizer: tokenizers.Tokenizer, number: int) -> str:
    """An entry as it stands in the vocabulary; "[no entry]" for a row of the model that has none."""
    return tokenizer.id_to_token(number) or _NO_ENTRY


def word_of(tokenizer: tokenizers.Tokenizer, number: int) -> str:
    """An entry as it reads in a text."""
    piece = piece_of(tokenizer, number)
    if is_wordpiece(tokenizer):
        return piece.removeprefix("##") if len(piece) > 2 else piece
    return tokenizer.decode([number], skip_special_tokens=False).strip() or piece


def joins(tokenizer: tokenizers.Tokenizer, piece: str) -> bool:
    """Whether an entry goes on with what stands before it, without a space."""
    if is_wordpiece(tokenizer):
        return piece.startswith("##") and len(piece) > 2
    return not begins_word(piece)


def begins_word(piece: str) -> bool:
    """Whether an entry holds the space before it."""
    return piece.startswith(_BEGINS_WORD)


def is_wordpiece(tokenizer: tokenizers.Tokenizer) -> bool:
    return type(tokenizer.model).__name__ == "WordPiece"


def _masks(mask: str) -> re.Pattern[str]:
    return re.compile(f"{re.escape(mask)}|{re.escape(TYPED)}")


def _named(head: Head) -> str:
    """The mask token that a checkpoint's tokenizer files name; "" if they name none."""
    for file in ("tokenizer_config.json", "special_tokens_map.json"):
        said = optional_json(head.files.folder / file, head.name).get("mask_token")
        name = said.get("content") if isinstance(said, dict) else said
        if isinstance(name, str) and name:
            return name
    return ""
