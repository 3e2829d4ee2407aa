"""The two tasks that BERT was pre-trained for: fill masks, and predict whether one text follows another.

At a mask the last hidden state goes through the masked-language head, which gives a logit for each entry of the
vocabulary; a softmax turns them into probabilities (Devlin et al. 2019, section 3.1, task 1).

The head of the second task was trained on pairs of spans, half of them neighbours in a document, half from two
documents (Devlin et al. 2019, section 3.1, task 2). A change of topic is enough to tell two documents apart, so the
head says little about order within one (Lan et al. 2019, ALBERT); RoBERTa lost nothing without the task (Liu et al.
2019).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import numpy as np
import tokenizers
from numpy.typing import NDArray

from search.errors import InputError, ModelError
from search.lab.bert.checkpoint import Head, load_head, softmax
from search.lab.bert.tokenizing import check_length, check_text, is_wordpiece, unknown_id, word_of
from search.lab.records.predictions import Guess, Mask, MaskPredictions, NextSentence

# A mask as the user types it; RoBERTa's own token is "<mask>".
TYPED = "[MASK]"


def fill(
    text: str,
    *,
    model: str,
    k: int = 5,
    labels: Sequence[str] = (),
    offline: bool = False,
) -> MaskPredictions:
    """Return the most likely words for the masks of a text.

    All masks are predicted at once and independently, so the words need not fit together.

    Args:
        text: a text with [MASK], or the checkpoint's own mask token, in place of each missing word.
        model: name or folder of a checkpoint with a masked-language head, such as bert-base-uncased. Sentence encoders
            have none.
        k: number of guesses for each mask.
        labels: the correct word for each mask, in order, to compute the loss.

    Raises:
        InputError: there is no mask, the number of labels differs from the number of masks, a label is not a single
            token, or the text is empty, not valid Unicode or too long.
        ModelError: the model cannot be found or loaded, or has no such head or no mask token.
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
    return MaskPredictions(
        text=text,
        masks=tuple(masks),
        vocabulary=logits.shape[1],
        model=head.name,
        held_out=head.held_out,
    )


def _guesses(head: Head, logits: NDArray[np.float64], ids: Iterable[int]) -> tuple[Guess, ...]:
    """Return the vocabulary entries `ids` with their ranks and probabilities at one mask.

    Args:
        logits: (vocabulary,) logits of all entries.
    """
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
    """Return a tokenizer that never splits the mask token, and this token: "[MASK]", or "<mask>" for RoBERTa.

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
    """Return the ID of the single token that spells a word after the text `before`.

    Raises:
        InputError: the word has several tokens, or none.
    """
    check_text(word, "one of the words")
    tokenizer = head.tokenizer
    if is_wordpiece(tokenizer) and (number := tokenizer.token_to_id(word)) is not None:
        return int(number)
    # RoBERTa's entries include the space before a word.
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
    """Predict whether `second` follows `first`.

    Args:
        follows: the true answer, if known, to compute the loss.
        model: name or folder of a checkpoint with a next-sentence head, such as bert-base-uncased. Among the supported
            families, only BERT has such a head.

    Raises:
        InputError: a text is empty or not valid Unicode, or both together are too long for the model.
        ModelError: the model cannot be found or loaded, or has no such head.
    """
    for number, text in enumerate((first, second), 1):
        check_text(text, f"text {number}")
    head = load_head("next", model, offline)
    (output,) = head.run([head.encoded(first, second)])
    logits = output["logits"].astype(np.float64)
    # -ln of the probabilities, exact even where the softmax rounds to 1.
    losses = np.logaddexp.reduce(logits) - logits
    return NextSentence(
        first=first,
        second=second,
        probability=float(softmax(logits)[0]),  # label 0 is "is next"
        logits=(float(logits[0]), float(logits[1])),
        model=head.name,
        label=None if follows is None else "is-next" if follows else "not-next",
        loss=None if follows is None else float(losses[0 if follows else 1]),
        held_out=head.held_out,
    )
