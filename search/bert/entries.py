"""A vocabulary asked: numbers to entries and back, entries by their spelling, entries that are like a word.

Only `neighbours` loads weights. What it compares are rows of the table of word embeddings, which a model reads before
it has seen any context: "bank" has one row, whatever it means in a text.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import tokenizers

from search.bert.checkpoint import load_checkpoint
from search.bert.tokenizing import check_text, unknown_id
from search.encoding.models import DEFAULT_MODEL, find_model
from search.encoding.tokenizer import load_tokenizer
from search.errors import InputError
from search.records.models import Decoded, Entry, Neighbours, Vocabulary

_NO_ENTRY = "[no entry]"


def vocabulary(model: str = DEFAULT_MODEL, *, offline: bool = False) -> Vocabulary:
    """How many entries a model's tokenizer has, and of what kinds.

    Raises:
        ModelError: the model cannot be found, or has no fast tokenizer.
    """
    known = _load(model, offline)
    pieces = known.pieces
    special = {entry.id for entry in map(known.entry, pieces) if entry.special}
    ordinary = [piece for number, piece in pieces.items() if number not in special]
    wordpiece = is_wordpiece(known.tokenizer)
    longest = max(ordinary, key=len, default=None)
    return Vocabulary(
        model=known.name,
        kind=type(known.tokenizer.model).__name__,
        entries=len(pieces),
        special=tuple(known.entry(number) for number in sorted(special)),
        continuing=sum(map(_continues, ordinary)) if wordpiece else None,
        characters=sum(len(piece) == 1 for piece in ordinary),
        longest=None if longest is None else known.entry(known.number(longest)),
    )


def ids_of(pieces: Sequence[str], *, model: str = DEFAULT_MODEL, offline: bool = False) -> tuple[int, ...]:
    """The numbers of entries, each as it stands in the vocabulary: "key", "##ing", "[MASK]".

    Raises:
        InputError: one is no entry; the message says how a text spells it. It is one text, not a list.
        ModelError: as of `vocabulary`.
    """
    _refuse_text(pieces, "entries", "ids_of", ("key", "##ing"))
    known = _load(model, offline)
    return tuple(map(known.number, pieces))


def decode(ids: Sequence[int], *, model: str = DEFAULT_MODEL, offline: bool = False) -> Decoded:
    """The entries of numbers, and the text that they read as together.

    Raises:
        InputError: there is no such number, or it is a text, not a list.
        ModelError: as of `vocabulary`.

    Example:
        >>> decode([101, 8254, 2319, 102]).text      # doctest: +SKIP
        '[CLS] sinan [SEP]'
    """
    _refuse_text(ids, "numbers", "decode", (101, 102))
    known = _load(model, offline)
    for number in ids:
        if number not in known.pieces:
            most = max(known.pieces, default=0)
            raise InputError(
                f"the vocabulary of '{known.name}' has no number {number}: it has those from 0 to {most:,}."
            )
    text = known.tokenizer.decode(list(ids), skip_special_tokens=False)
    return Decoded(known.name, tuple(map(known.entry, ids)), text)


def _refuse_text(given: object, what: str, called: str, example: Sequence[object]) -> None:
    """
    Raises:
        InputError: a text was given where a list is meant: its letters would be taken one by one.
    """
    if isinstance(given, str):
        raise InputError(
            f"{called} takes a list of {what}, such as {called}({list(example)}), not the text '{given}'. "
            "For a text: search.bert.tokenize."
        )


def find_entries(
    *, begins: str = "", contains: str = "", model: str = DEFAULT_MODEL, offline: bool = False
) -> tuple[Entry, ...]:
    """Entries by how they are spelled, in the order of the vocabulary; exactly as written, upper and lower case.

    An entry of WordPiece is taken as it stands there, so that "ing" begins words and "##ing" goes on with one. Where
    the beginning of a word is marked instead, as in RoBERTa, it counts as it reads, too.

    Args:
        begins: what they begin with.
        contains: what they have anywhere.

    Raises:
        InputError: neither is given.
        ModelError: as of `vocabulary`.
    """
    if not begins and not contains:
        raise InputError("say what entries begin with, or what they contain.")
    known = _load(model, offline)

    def fits(entry: Entry) -> bool:
        spelled = {entry.piece} if is_wordpiece(known.tokenizer) else {entry.piece, entry.word}
        return any(text.startswith(begins) and contains in text for text in spelled)

    return tuple(entry for entry in map(known.entry, sorted(known.pieces)) if fits(entry))


def neighbours(word: str, *, k: int = 10, model: str = DEFAULT_MODEL, offline: bool = False) -> Neighbours:
    """The entries whose rows in the table of word embeddings have the highest cosines with a word's.

    Args:
        word: an entry ("##ing"), or a word; of one that is spelled with several entries their mean is taken.
        k: how many, at least 1.

    Raises:
        InputError: the word is empty or cannot be spelled.
        ModelError: the model cannot be found, loaded or taken apart.
    """
    if k < 1:
        raise InputError(f"k={k}, but at least 1 neighbour must be asked for.")
    check_text(word, "the word")
    known = _load(model, offline)
    checkpoint = load_checkpoint(model, offline)
    ids = known.spelled(word)
    table = checkpoint.model.embeddings.word_embeddings.weight.detach().numpy()
    unknown = unknown_id(known.tokenizer)
    if unknown in ids and word != known.pieces[ids[0]]:
        raise InputError(f"the vocabulary of '{known.name}' cannot spell '{word}'. Take another word.")
    if not ids or max(ids) >= len(table):
        raise InputError(f"the tokenizer of '{known.name}' leaves nothing of '{word}'. Take another word.")
    lengths = np.linalg.norm(table, axis=1)
    mean = table[ids].mean(axis=0, dtype=np.float64)
    # A row of zeros, as of padding, is like nothing.
    cosines = table @ mean / np.where(lengths == 0, np.inf, lengths) / (np.linalg.norm(mean) or 1.0)
    best = [
        int(i) for i in np.argsort(-cosines, kind="stable") if int(i) in known.pieces and int(i) not in ids
    ]
    return Neighbours(
        model=known.name,
        word=word,
        spelled=tuple(map(known.entry, ids)),
        entries=tuple(map(known.entry, best[:k])),
        cosines=tuple(float(cosines[i]) for i in best[:k]),
    )


class _Known(NamedTuple):
    """A tokenizer and its entries by number."""

    name: str
    tokenizer: tokenizers.Tokenizer
    pieces: dict[int, str]
    special: frozenset[int]

    def entry(self, number: int) -> Entry:
        piece = self.pieces[number]
        return Entry(number, piece, word_of(self.tokenizer, number), number in self.special)

    def number(self, piece: str) -> int:
        """
        Raises:
            InputError: there is no such entry.
        """
        found = self.tokenizer.token_to_id(piece)
        if found is not None:
            return int(found)
        alone = self.tokenizer.encode(piece, add_special_tokens=False).tokens
        raise InputError(
            f"the vocabulary of '{self.name}' has no entry '{piece}'. "
            f"A text spells it with {len(alone)}: {' '.join(alone) or '(nothing)'}."
        )

    def spelled(self, word: str) -> list[int]:
        """The entries of a word."""
        if is_wordpiece(self.tokenizer) and self.tokenizer.token_to_id(word) is not None:
            return [self.number(word)]
        return list(self.tokenizer.encode(word, add_special_tokens=False).ids)


@lru_cache(maxsize=1)
def _load(model: str, offline: bool) -> _Known:
    files = find_model(model, offline=offline)
    tokenizer = load_tokenizer(files.folder, files.name)
    pieces = {number: piece for piece, number in tokenizer.get_vocab(with_added_tokens=True).items()}
    special = {number for number, added in tokenizer.get_added_tokens_decoder().items() if added.special}
    ends = tokenizer.encode(
        ""
    )  # what the tokenizer puts around a text is special, whether or not it was added
    return _Known(files.name, tokenizer, pieces, frozenset(special | set(ends.ids)))


def piece_of(tokenizer: tokenizers.Tokenizer, number: int) -> str:
    """An entry as it stands in the vocabulary; "[no entry]" for a row of the model that has none."""
    return tokenizer.id_to_token(number) or _NO_ENTRY


def word_of(tokenizer: tokenizers.Tokenizer, number: int) -> str:
    """An entry as it reads in a text."""
    piece = piece_of(tokenizer, number)
    if is_wordpiece(tokenizer):
        return piece.removeprefix("##") if len(piece) > 2 else piece
    return tokenizer.decode([number], skip_special_tokens=False).strip() or piece


def is_wordpiece(tokenizer: tokenizers.Tokenizer) -> bool:
    return type(tokenizer.model).__name__ == "WordPiece"


def _continues(piece: str) -> bool:
    return piece.startswith("##") and len(piece) > 2
