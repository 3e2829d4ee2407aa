"""Fill masks: what BERT was pre-trained to do.

At a masked place the last hidden state goes through the masked-language head, whose logits, one for each entry
of the vocabulary, a softmax makes into probabilities (Devlin et al. 2019, section 3.1, task 1).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from search.bert.contexts import occurrences
from search.bert.heads import Head, load_head, softmax
from search.bert.masks import (
    TYPED,
    Masked,
    begins_word,
    entry_at,
    joins,
    masked,
    piece_of,
    with_mask,
    without_masks,
    word_of,
)
from search.bert.tokenizing import check_text
from search.errors import InputError
from search.records.predictions import Filled, Guess, Mask

if TYPE_CHECKING:
    from numpy.typing import NDArray


def fill(
    text: str,
    *,
    model: str,
    k: int = 5,
    among: Sequence[str] = (),
    word: str | None = None,
    offline: bool = False,
) -> Filled:
    """The most likely words at the masked places of a text.

    Several masks are masked all at once, and each is guessed by itself: the guesses need not fit together.

    Args:
        text: with [MASK], or the checkpoint's own mask token, wherever a word is to be guessed.
        model: name or folder of a checkpoint with a masked-language head, such as bert-base-uncased. A sentence
            encoder has none.
        k: how many guesses, at least 1; no more than the vocabulary has.
        among: candidates to score besides. Each must be one entry of the vocabulary, as a mask stands for one;
            "##ing" is an entry that goes on with a word.
        word: hide every occurrence of this word, whatever its case, and say how likely the model finds it there.

    Raises:
        InputError: there is no mask and no such word, a candidate or the word is no single entry of the vocabulary,
            or the text is empty, no valid Unicode or too long.
        ModelError: the model cannot be found or loaded, has no such head or no mask token.
    """
    if k < 1:
        raise InputError(f"k={k}, but at least 1 guess must be asked for.")
    if isinstance(among, str):
        raise InputError("among is a list of strings.")
    check_text(text)
    for one in (*among, word or ""):
        check_text(one, "one of the words", may_be_empty=True)
    head, mask = with_mask(load_head("fill", model, offline))
    hidden = [] if word is None else occurrences(word, without_masks(text, mask), named=text)
    given = masked(text, mask, hidden)
    if not given.spans:
        own = "" if mask == TYPED else f" (or {mask}, as this model has it)"
        raise InputError(
            f"the text has no mask. Type {TYPED}{own} where a word is to be guessed, "
            "or hide one that stands there with --word WORD."
        )
    logits = _logits(head, given, mask)
    masks = []
    for number, (start, end) in enumerate(given.source):
        row = logits[number]
        own_id = entry_at(head, given, number, text[start:end]) if (start, end) in hidden else None
        asked = {entry_at(head, given, number, one.strip()): None for one in among}
        best = np.argsort(-row, kind="stable")[:k]
        masks.append(
            Mask(
                start=start,
                end=end,
                hidden=None if own_id is None else _guesses(head, row, [own_id])[0],
                guesses=_guesses(head, row, best.tolist()),
                among=tuple(sorted(_guesses(head, row, asked), key=lambda guess: guess.rank)),
            )
        )
    return Filled(
        text=text,
        filled=_filled(head, text, masks),
        masks=tuple(masks),
        word=word.strip() if word else "",
        mask_token=mask,
        vocabulary=logits.shape[1],
        model=head.name,
    )


def _logits(head: Head, given: Masked, mask: str) -> NDArray[np.float64]:
    """(masks, vocabulary)"""
    encoding = head.encoded(given.text)
    number = head.tokenizer.token_to_id(mask)
    at = [i for i, one in enumerate(encoding.ids) if one == number]
    if len(at) != len(given.spans):
        raise InputError(
            f"'{head.name}' reads {len(at)} masks where {len(given.spans)} are written as {mask}: it takes other "
            "writings for masks, too. Take them out of the text."
        )
    (found,) = head.run([encoding])
    return found["logits"][at].astype(np.float64)


def _guesses(head: Head, row: NDArray[np.float64], ids: Iterable[int]) -> tuple[Guess, ...]:
    """Entries with their ranks and probabilities by the logits of one place, (vocabulary,)."""
    likely = softmax(row)
    return tuple(
        Guess(
            word=word_of(head.tokenizer, number),
            piece=piece_of(head.tokenizer, number),
            id=number,
            rank=1 + int((row > row[number]).sum()),
            probability=float(likely[number]),
            logit=float(row[number]),
        )
        for number in ids
    )


def _filled(head: Head, text: str, masks: Sequence[Mask]) -> str:
    """The text with the best guess at each place; a piece that goes on with a word stands next to it."""
    parts, at = [], 0
    for mask in masks:
        before = text[at : mask.start]
        if joins(head.tokenizer, mask.best.piece):
            before = before.rstrip()
        elif begins_word(mask.best.piece) and before and not before[-1].isspace():
            before += " "
        parts += [before, mask.best.word]
        at = mask.end
    return "".join([*parts, text[at:]])
