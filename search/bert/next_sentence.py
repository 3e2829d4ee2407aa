"""Whether a text follows another: the head of BERT's second pre-training task.

Trained on pairs of spans, half of them neighbours in a document and half from two documents (Devlin et al. 2019,
section 3.1, task 2). To tell two documents apart it is enough to see that the topic changes, so the head says
little about order within one (Lan et al. 2019, ALBERT); leaving the task out cost RoBERTa nothing (Liu et al. 2019).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from search.bert.heads import Head, load_head
from search.errors import InputError, ModelError
from search.records.filling import NextSentence

if TYPE_CHECKING:
    import tokenizers
    from numpy.typing import NDArray

MOST_TOKENS = 64
"""Of each text beside a boundary, `BoundarySignal` reads at most so many: the nearest."""

_DECIMALS = 4  # of what decides where to cut: how texts are batched must not


def next_sentence(first: str, second: str, *, model: str, offline: bool = False) -> NextSentence:
    """How likely `second` follows `first`, and the other way round.

    Args:
        model: name or folder of a checkpoint with a next-sentence head, such as bert-base-uncased. Of the families
            that are taken apart here only BERT has one.

    Raises:
        InputError: a text is empty or no valid Unicode, or both together are longer than the model reads.
        ModelError: the model cannot be found or loaded, or has no such head.
    """
    return next_sentences([first, second], model=model, offline=offline)[0]


def next_sentences(texts: Sequence[str], *, model: str, offline: bool = False) -> tuple[NextSentence, ...]:
    """As `next_sentence`, of each text and the one after it.

    Args:
        texts: at least 2.
    """
    if isinstance(texts, str):
        raise InputError("texts is a list of strings.")
    if len(texts) < 2:
        raise InputError("there is nothing to compare: give at least two texts.")
    for number, text in enumerate(texts, 1):
        _check(text, number)
    head = load_head("next", model, offline)
    pairs = list(pairwise(texts))
    inputs = [head.encoded(*pair) for one, two in pairs for pair in ((one, two), (two, one))]
    logits = np.stack([found["logits"] for found in head.run(inputs)]).astype(np.float64)
    likely = _is_next(logits)
    return tuple(
        NextSentence(
            first=one,
            second=two,
            probability=float(likely[2 * i]),
            logits=(float(logits[2 * i, 0]), float(logits[2 * i, 1])),
            reverse_probability=float(likely[2 * i + 1]),
            reverse_logits=(float(logits[2 * i + 1, 0]), float(logits[2 * i + 1, 1])),
            model=head.name,
        )
        for i, (one, two) in enumerate(pairs)
    )


class BoundarySignal:
    """How surely a text goes on behind a boundary; what `search.corpus.Cutter` takes as its boundary signal.

    Call it with (text before, text behind) pairs. The model is loaded at the first call. Of each text the
    MOST_TOKENS tokens nearest to the boundary are read, or half of what the model reads.

    Args:
        model: as for `next_sentence`.
        files: sha256 of weights and tokenizer that an index was cut with; another model is refused.

    Attributes:
        weighed: how many boundaries so far.
    """

    def __init__(self, model: str, *, offline: bool = False, files: tuple[str, str] | None = None) -> None:
        self.weighed = 0
        self._model, self._offline, self._files = model, offline, files

    @cached_property
    def head(self) -> Head:
        """
        Raises:
            ModelError: as of `next_sentence`; for an index also if it is not what that was cut with.
        """
        if self._files is None:
            return load_head("next", self._model, self._offline)
        try:
            head = load_head("next", self._model, self._offline)
        except ModelError as error:
            raise ModelError(f"{error} {self._ways_out}") from error
        if (head.files.weights_sha256, head.files.tokenizer_sha256) != self._files:
            raise ModelError(f"'{self._model}' is not what it was when the index was made. {self._ways_out}")
        return head

    @property
    def _ways_out(self) -> str:
        return (
            f"This index cuts its passages where '{self._model}' says that the text goes on least. "
            "Say where it is with --boundaries next-sentence --boundary-model FOLDER, "
            "or cut by size alone with --boundaries none --rebuild."
        )

    def __call__(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """The logit of "is next" less that of "is not next", a number for each pair.

        It orders pairs as the probability does, and does not round to 1 where a model is sure.
        """
        tokenizer = self.head.tokenizer
        room = (self.head.files.max_tokens - tokenizer.num_special_tokens_to_add(True)) // 2
        most = min(MOST_TOKENS, room)
        inputs = [
            tokenizer.post_process(
                _nearest(tokenizer, before, most, "left"), _nearest(tokenizer, behind, most, "right")
            )
            for before, behind in pairs
        ]
        order = sorted(range(len(inputs)), key=lambda i: len(inputs[i].ids))  # so that little is padded
        found = [0.0] * len(inputs)
        for i, one in zip(order, self.head.run([inputs[i] for i in order]), strict=True):
            logits = one["logits"].astype(np.float64)
            found[i] = round(float(logits[0] - logits[1]), _DECIMALS)
        self.weighed += len(found)
        return found


def _nearest(tokenizer: tokenizers.Tokenizer, text: str, most: int, direction: str) -> tokenizers.Encoding:
    """The tokens of a text without special ones, cut on the side that is named."""
    encoding = tokenizer.encode(text, add_special_tokens=False)
    encoding.truncate(most, direction=direction)
    return encoding


def _is_next(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    """(n,) the softmax over (n, 2) logits at label 0, "is next"."""
    return np.exp(-np.logaddexp(0, logits[:, 1] - logits[:, 0]))


def _check(text: str, number: int) -> None:
    if not text.strip():
        raise InputError(f"text {number} is empty. Give something to read.")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise InputError(f"text {number} holds bytes that are no valid text. Take them out.") from None
