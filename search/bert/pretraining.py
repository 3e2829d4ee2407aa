"""What BERT was pre-trained to do: to fill masks, and to say whether a text follows another.

At a masked place the last hidden state goes through the masked-language head, whose logits, one for each entry of
the vocabulary, a softmax makes into probabilities (Devlin et al. 2019, section 3.1, task 1).

What is typed as [MASK] is handed to a checkpoint as its own mask token: "<mask>" in RoBERTa and its descendants.

The head of the second task was trained on pairs of spans, half of them neighbours in a document and half from two
documents (Devlin et al. 2019, section 3.1, task 2). To tell two documents apart it is enough to see that the topic
changes, so the head says little about order within one (Lan et al. 2019, ALBERT); leaving the task out cost
RoBERTa nothing (Liu et al. 2019).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import tokenizers
from numpy.typing import NDArray

from search.bert.checkpoint import Head, load_head, softmax
from search.bert.contexts import occurrences
from search.bert.entries import is_wordpiece, piece_of, word_of
from search.bert.tokenizing import check_text, unknown_id
from search.encoding.models import optional_json
from search.errors import InputError, ModelError
from search.records.predictions import Filled, Guess, Mask, NextSentence

TYPED = "[MASK]"
_USUAL = (TYPED, "<mask>")


def fill(
    text: str,
    *,
    model: str,
    k: int = 5,
    among: Sequence[str] = (),
    word: str | None = None,
    labels: Sequence[str] = (),
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
        labels: the right word of each mask, in their order; the loss is taken of them. Instead of `word`, whose
            occurrences are right themselves.

    Raises:
        InputError: there is no mask and no such word, not a label for each mask, a candidate, a label or the word is
            no single entry of the vocabulary, or the text is empty, no valid Unicode or too long.
        ModelError: the model cannot be found or loaded, has no such head or no mask token.
    """
    if k < 1:
        raise InputError(f"k={k}, but at least 1 guess must be asked for.")
    if isinstance(among, str) or isinstance(labels, str):
        raise InputError("among and labels are lists of strings.")
    if word is not None and labels:
        raise InputError("a hidden word is its own label: give the word or labels.")
    check_text(text)
    for one in (*among, *labels, word or ""):
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
    if labels and len(labels) != len(given.spans):
        raise InputError(
            f"masks: {len(given.spans)}, labels: {len(labels)}. Give the right word of each mask."
        )
    logits = _logits(head, given, mask)
    masks = []
    for number, (start, end) in enumerate(given.source):
        row = logits[number]
        right = labels[number].strip() if labels else text[start:end] if (start, end) in hidden else None
        own_id = None if right is None else entry_at(head, given, number, right)
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
        masks=tuple(masks),
        word=word.strip() if word else "",
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


def next_sentence(
    first: str, second: str, *, model: str, follows: bool | None = None, offline: bool = False
) -> NextSentence:
    """How likely `second` follows `first`, and the other way round.

    Args:
        follows: whether it does; then there is a loss.
        model: name or folder of a checkpoint with a next-sentence head, such as bert-base-uncased. Of the families
            that are taken apart here only BERT has one.

    Raises:
        InputError: a text is empty or no valid Unicode, or both together are longer than the model reads.
        ModelError: the model cannot be found or loaded, or has no such head.
    """
    given = None if follows is None else [follows]
    return next_sentences([first, second], model=model, follows=given, offline=offline)[0]


def next_sentences(
    texts: Sequence[str], *, model: str, follows: Sequence[bool] | None = None, offline: bool = False
) -> tuple[NextSentence, ...]:
    """As `next_sentence`, of each text and the one after it.

    Args:
        texts: at least 2.
        follows: of each neighbouring pair whether the second follows the first; then each has a loss.
    """
    if isinstance(texts, str):
        raise InputError("texts is a list of strings.")
    if len(texts) < 2:
        raise InputError("there is nothing to compare: give at least two texts.")
    if follows is not None and len(follows) != len(texts) - 1:
        raise InputError(f"pairs: {len(texts) - 1}, labels: {len(follows)}. Give one for each pair.")
    for number, text in enumerate(texts, 1):
        check_text(text, f"text {number}")
    head = load_head("next", model, offline)
    pairs = list(pairwise(texts))
    inputs = [head.encoded(*pair) for one, two in pairs for pair in ((one, two), (two, one))]
    logits = np.stack([found["logits"] for found in head.run(inputs)]).astype(np.float64)
    likely = softmax(logits)[:, 0]  # label 0 is "is next"
    given = [None] * len(pairs) if follows is None else follows
    return tuple(
        NextSentence(
            first=one,
            second=two,
            probability=float(likely[2 * i]),
            logits=(float(logits[2 * i, 0]), float(logits[2 * i, 1])),
            reverse_probability=float(likely[2 * i + 1]),
            reverse_logits=(float(logits[2 * i + 1, 0]), float(logits[2 * i + 1, 1])),
            model=head.name,
            label=None if given[i] is None else "is-next" if given[i] else "not-next",
            loss=None if given[i] is None else _loss(logits[2 * i], 0 if given[i] else 1),
        )
        for i, (one, two) in enumerate(pairs)
    )


def _loss(logits: NDArray[np.float64], right: int) -> float:
    """-ln of the softmax of the right one, exact also where that rounds to 1."""
    return float(np.logaddexp.reduce(logits) - logits[right])
