"""Whether a text follows another: the head of BERT's second pre-training task.

Trained on pairs of spans, half of them neighbours in a document and half from two documents (Devlin et al. 2019,
section 3.1, task 2). To tell two documents apart it is enough to see that the topic changes, so the head says
little about order within one (Lan et al. 2019, ALBERT); leaving the task out cost RoBERTa nothing (Liu et al. 2019).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from search.bert.heads import load_head, softmax
from search.bert.tokenizing import check_text
from search.errors import InputError
from search.records.predictions import NextSentence


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
        check_text(text, f"text {number}")
    head = load_head("next", model, offline)
    pairs = list(pairwise(texts))
    inputs = [head.encoded(*pair) for one, two in pairs for pair in ((one, two), (two, one))]
    logits = np.stack([found["logits"] for found in head.run(inputs)]).astype(np.float64)
    likely = softmax(logits)[:, 0]  # label 0 is "is next"
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
