"""The two tasks that BERT was pre-trained for: fill masks, and tell whether a text follows another.

At a masked place the last hidden state goes through the masked-language head, whose logits, one for each entry of
the vocabulary, a softmax makes into probabilities (Devlin et al. 2019, section 3.1, task 1).

The head of the second task was trained on pairs of spans, half of them neighbours in a document and half from two
documents (Devlin et al. 2019, section 3.1, task 2). To tell two documents apart it is enough to see that the topic
changes, so the head says little about order within one (Lan et al. 2019, ALBERT); leaving the task out cost
RoBERTa nothing (Liu et al. 2019).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import numpy as np
import tokenizers
from numpy.typing import NDArray

from search.bert.checkpoint import Head, load_head, softmax
from search.bert.tokenizing import check_length, check_text, is_wordpiece, unknown_id, word_of
from search.errors import InputError, ModelError
from search.records.predictions import Guess, Mask, MaskPredictions, NextSentence

TYPED = "[MASK]"


def fill(
    text: str,
    *,
    model: str,
    k: int = 5,
    labels: Sequence[str] = (),
    offline: bool = False,
) -> MaskPredictions:
    """The most likely words at the masked places of a text.

    Several masks are masked all at once, and each is guessed by itself: the guesses need not fit together.

    Args:
        text: with [MASK], or the checkpoint's own mask token, wherever a word is missing.
        model: name or folder of a checkpoint with a masked-language head, such as bert-base-uncased. A sentence
            encoder has none.
        k: number of guesses.
        labels: the right word of each mask, in their order; the loss is taken of them.

    Raises:
        InputError: there is no mask, not a label for each mask, a label is no single entry of the vocabulary, or
            the text is empty, no valid Unicode or too long.
        ModelError: the model cannot be found or loaded, has no such head or no mask token.
    """
    check_text(text)
    head = load_head("fill", model, offline)
    tokenizer, mask = _with_mask(head)
    places = [match.span() for match in re.finditer(f"{re.escape(mask)}|{re.escape(TYPED)}", text)]
    if not places:
        raise InputError(f"the text has no mask. Write {TYPED} in place of a word.")
    if labels and len(labels) != len(places):
        raise InputError(f"{len(labels)} labels for {len(places)} masks. Give one label per mask.")
    encoding = tokenizer.encode(text.replace(TYPED, mask))
    check_length(encoding, head.name, head.max_tokens)
    number = tokenizer.token_to_id(mask)
    (output,) = head.run([encoding])
    logits = output["logits"][[i for i, id_ in enumerate(encoding.ids) if id_ == number]].astype(
        np.float64
    )
    masks = []
    for i, (start, end) in enumerate(places):
        before = text[:start]
        right = [_entry(head, before, labels[i])] if labels else []
        best = np.argsort(-logits[i], kind="stable")[:k]
        masks.append(
            Mask(
                start=start,
                end=end,
                label=next(iter(_guesses(head, logits[i], right)), None),
                guesses=_guesses(head, logits[i], best.tolist()),
            )
        )
    return MaskPredictions(text=text, masks=tuple(masks), vocabulary=logits.shape[1], model=head.name)


def _guesses(head: Head, logits: NDArray[np.float64], ids: Iterable[int]) -> tuple[Guess, ...]:
    """Entries with their ranks and probabilities by the logits of one place, (vocabulary,)."""
    likely = softmax(logits)
    return tuple(
        Guess(
            word=word_of(head.tokenizer, number),
            piece=head.tokenizer.id_to_token(number) or "[no entry]",
            id=number,
            rank=1 + int((logits > logits[number]).sum()),
            probability=float(likely[number]),
            logit=float(logits[number]),
        )
        for number in ids
    )


def _with_mask(head: Head) -> tuple[tokenizers.Tokenizer, str]:
    """A tokenizer that reads the mask token as one token, and that token: "<mask>" in RoBERTa and its descendants.

    Raises:
        ModelError: the checkpoint has no mask token.
    """
    mask = next(
        (name for name in (TYPED, "<mask>") if head.tokenizer.token_to_id(name) is not None), None
    )
    if mask is None:
        raise ModelError(f"'{head.name}' has no mask token in its vocabulary. Choose another model.")
    tokenizer = tokenizers.Tokenizer.from_str(head.tokenizer.to_str())
    tokenizer.add_special_tokens([tokenizers.AddedToken(mask, lstrip=mask == "<mask>", normalized=False)])
    return tokenizer, mask


def _entry(head: Head, before: str, word: str) -> int:
    """The id of the one entry that spells a word behind a text.

    Raises:
        InputError: it takes several entries, or none has it.
    """
    check_text(word, "one of the words")
    tokenizer = head.tokenizer
    if is_wordpiece(tokenizer) and (number := tokenizer.token_to_id(word)) is not None:
        return int(number)
    # RoBERTa's entries hold the space before a word.
    space = before[-1:].isspace() and not word.startswith(" ")
    spelled = tokenizer.encode(f" {word}" if space else word, add_special_tokens=False)
    if len(spelled.ids) != 1 or unknown_id(tokenizer) in spelled.ids:
        raise InputError(
            f"'{word}' must be a single token; '{head.name}' splits it into {len(spelled.ids)}: "
            f"{' '.join(spelled.tokens)}. Choose another word."
        )
    return int(spelled.ids[0])


def next_sentence(
    first: str, second: str, *, model: str, follows: bool | None = None, offline: bool = False
) -> NextSentence:
    """Probability that `second` follows `first`.

    Args:
        follows: the true answer, if known; adds the loss.
        model: name or folder of a checkpoint with a next-sentence head, such as bert-base-uncased. Of the families
            that are taken apart here only BERT has one.

    Raises:
        InputError: a text is empty or no valid Unicode, or both together are longer than the model reads.
        ModelError: the model cannot be found or loaded, or has no such head.
    """
    for number, text in enumerate((first, second), 1):
        check_text(text, f"text {number}")
    head = load_head("next", model, offline)
    (output,) = head.run([head.encoded(first, second)])
    logits = output["logits"].astype(np.float64)
    # -ln, exact where the softmax rounds to 1.
    losses = np.logaddexp.reduce(logits) - logits
    return NextSentence(
        first=first,
        second=second,
        probability=float(softmax(logits)[0]),  # label 0 is "is next"
        logits=(float(logits[0]), float(logits[1])),
        model=head.name,
        label=None if follows is None else "is-next" if follows else "not-next",
        loss=None if follows is None else float(losses[0 if follows else 1]),
    )
