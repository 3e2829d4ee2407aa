"""Tokenize a text or a pair of texts, and convert between IDs and entries of the vocabulary.

Only the tokenizer of a model is loaded, not its weights.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby

import tokenizers

from search.encoding.models import DEFAULT_MODEL, find_model
from search.encoding.tokenizer import load_tokenizer, require_characters
from search.errors import InputError
from search.lab.records.inspections import (
    Decoding,
    Entry,
    InputToken,
    InputWord,
    Tokenization,
    Vocabulary,
)

_UNKNOWN = ("[UNK]", "<unk>")


def check_text(text: str, name: str = "the text") -> None:
    """Raise InputError if a text is empty or not valid Unicode; the message calls the text `name`."""
    if not text.strip():
        raise InputError(f"{name} is empty. Give some text.")
    require_characters(text, name)


def without_space(text: str, start: int, end: int) -> tuple[int, int]:
    """Strip whitespace from both ends of the span [start, end)."""
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end


def tokenize(
    text: str, text2: str | None = None, *, model: str = DEFAULT_MODEL, offline: bool = False
) -> Tokenization:
    """Tokenize a text, or a pair, with the tokenizer of a model.

    Args:
        text2: the second text of a pair, which BERT reads as [CLS] text [SEP] text2 [SEP].
        model: name or folder of any model with a fast tokenizer.

    Raises:
        ModelError: the model cannot be found, or has no tokenizer with character offsets.
        InputError: a text is empty or not valid Unicode.
    """
    name, tokenizer = named_tokenizer(model, offline)
    return tokenized(tokenizer, text, text2, name)


def tokenized(
    tokenizer: tokenizers.Tokenizer,
    text: str,
    text2: str | None,
    name: str,
    max_tokens: int | None = None,
) -> Tokenization:
    """Tokenize a text, or a pair, with a loaded tokenizer.

    Raises:
        InputError: a text is empty or not valid Unicode, or there are more tokens than `max_tokens`.
    """
    texts = (text,) if text2 is None else (text, text2)
    for number, part in enumerate(texts, 1):
        check_text(part, "the text" if text2 is None else f"text {number}")
    encoding = tokenizer.encode(*texts)
    check_length(encoding, name, max_tokens)
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


def check_length(encoding: tokenizers.Encoding, name: str, max_tokens: int | None) -> None:
    """Raise InputError if an input has more than `max_tokens` tokens; None sets no limit."""
    if max_tokens is not None and len(encoding.ids) > max_tokens:
        subject = "the two texts together have" if 1 in encoding.sequence_ids else "the text has"
        raise InputError(
            f"{subject} {len(encoding.ids):,} tokens, but '{name}' reads at most {max_tokens:,}. Shorten it."
        )


def _words(texts: tuple[str, ...], tokens: tuple[InputToken, ...]) -> tuple[InputWord, ...]:
    """Return the words of all texts, in order."""
    words = []
    for (source, word), group in groupby(
        range(len(tokens)), lambda i: (tokens[i].source, tokens[i].word)
    ):
        if source is not None and word is not None:
            positions = tuple(group)
            start, end = tokens[positions[0]].start, tokens[positions[-1]].end
            unknown = any(tokens[i].unknown for i in positions)
            words.append(InputWord(texts[source][start:end], start, end, source, positions, unknown))
    return tuple(words)


def unknown_id(tokenizer: tokenizers.Tokenizer) -> int | None:
    """Return the ID of the entry for unknown pieces; None if the tokenizer can spell everything."""
    named = getattr(tokenizer.model, "unk_token", None)
    ids = map(tokenizer.token_to_id, (named,) if named else _UNKNOWN)
    return next((number for number in ids if number is not None), None)


def vocabulary(model: str = DEFAULT_MODEL, *, offline: bool = False) -> Vocabulary:
    """Return the number of entries in a model's vocabulary, in total and by kind.

    Raises:
        ModelError: the model cannot be found, or has no fast tokenizer.
    """
    name, tokenizer = named_tokenizer(model, offline)
    entries = entries_of(tokenizer)
    pieces = [entry.piece for entry in entries if not entry.special]
    return Vocabulary(
        model=name,
        kind=type(tokenizer.model).__name__,
        entries=len(entries),
        special=tuple(entry for entry in entries if entry.special),
        continuing=sum(map(_continues, pieces)) if is_wordpiece(tokenizer) else None,
        characters=sum(len(piece) == 1 for piece in pieces),
    )


def ids_of(
    pieces: Sequence[str], *, model: str = DEFAULT_MODEL, offline: bool = False
) -> tuple[int, ...]:
    """Return the IDs of vocabulary entries, spelled exactly: "key", "##ing", "[MASK]".

    Raises:
        UnknownPieces: some pieces are no entries; the message shows how the tokenizer splits them.
        ModelError: as for `vocabulary`.
    """
    name, tokenizer = named_tokenizer(model, offline)
    ids = {piece: tokenizer.token_to_id(piece) for piece in pieces}
    entries = tuple(number for piece in pieces if (number := ids[piece]) is not None)
    splits = {
        piece: tokenizer.encode(piece, add_special_tokens=False).tokens
        for piece, number in ids.items()
        if number is None
    }
    if splits:
        raise UnknownPieces(name, splits, entries)
    return entries


class UnknownPieces(InputError):
    """Some texts are not entries of a vocabulary.

    Attributes:
        entries: IDs of the other texts.
    """

    def __init__(self, model: str, splits: Mapping[str, Sequence[str]], entries: tuple[int, ...]) -> None:
        missing = ", ".join(f"'{piece}'" for piece in splits)
        split = "; ".join(
            f"'{piece}' into {' '.join(tokens) or 'no tokens'}" for piece, tokens in splits.items()
        )
        super().__init__(
            f"the vocabulary of '{model}' has no entry {missing}. The tokenizer splits {split}."
        )
        self.entries = entries


def decode(ids: Sequence[int], *, model: str = DEFAULT_MODEL, offline: bool = False) -> Decoding:
    """Return the vocabulary entries with some IDs, and the text that the IDs decode to.

    Raises:
        InputError: the vocabulary has no such ID.
        ModelError: as for `vocabulary`.

    Example:
        >>> decode([101, 8254, 2319, 102]).text      # doctest: +SKIP
        '[CLS] sinan [SEP]'
    """
    name, tokenizer = named_tokenizer(model, offline)
    entries = {entry.id: entry for entry in entries_of(tokenizer)}
    for number in ids:
        if number not in entries:
            raise InputError(
                f"the vocabulary of '{name}' has no ID {number}. IDs range from 0 to {max(entries):,}."
            )
    text = tokenizer.decode(list(ids), skip_special_tokens=False)
    return Decoding(name, tuple(entries[number] for number in ids), text)


def named_tokenizer(model: str, offline: bool) -> tuple[str, tokenizers.Tokenizer]:
    """Return a model's name and tokenizer."""
    files = find_model(model, offline=offline)
    return files.name, load_tokenizer(files.folder, files.name)


def entries_of(tokenizer: tokenizers.Tokenizer) -> list[Entry]:
    """Return all vocabulary entries in the order of their IDs.

    Tokens that the tokenizer puts around a text count as special, even if the vocabulary does not mark them.
    """
    special = {number for number, added in tokenizer.get_added_tokens_decoder().items() if added.special}
    special.update(tokenizer.encode("").ids)
    pieces = sorted((number, piece) for piece, number in tokenizer.get_vocab().items())
    return [
        Entry(number, piece, word_of(tokenizer, number), number in special) for number, piece in pieces
    ]


def word_of(tokenizer: tokenizers.Tokenizer, number: int) -> str:
    """Return the text of a vocabulary entry: "ing" for "##ing"."""
    piece = tokenizer.id_to_token(number) or "[no entry]"
    if is_wordpiece(tokenizer):
        return piece.removeprefix("##") if _continues(piece) else piece
    return tokenizer.decode([number], skip_special_tokens=False).strip() or piece


def is_wordpiece(tokenizer: tokenizers.Tokenizer) -> bool:
    return type(tokenizer.model).__name__ == "WordPiece"


def _continues(piece: str) -> bool:
    return piece.startswith("##") and len(piece) > 2
