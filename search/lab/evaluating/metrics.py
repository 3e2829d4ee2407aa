"""Exact match and F1 of answers, and F1 of entities.

Those of answers are SQuAD's (Rajpurkar et al. 2016, section 6.1).
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def answer_values(predicted: str, gold: Sequence[str]) -> dict[str, float]:
    """Return exact match and F1 with the best matching gold answer.

    Args:
        predicted: the predicted answer, or "".
        gold: correct answers; if none contains a word, "" is correct.
    """
    right = [words for answer in gold if (words := _words(answer))] or [[]]
    normalised = _words(predicted)
    return {
        "exact_match": float(normalised in right),
        "f1": max(_f1(normalised, words) for words in right),
    }


def _words(text: str) -> list[str]:
    """Return the words in lower case, without ASCII punctuation and English articles, as in SQuAD's script."""
    plain = text.lower().translate(str.maketrans("", "", string.punctuation))
    return re.sub(r"\b(a|an|the)\b", " ", plain).split()


def _f1(predicted: list[str], gold: list[str]) -> float:
    """Return the F1 of two bags of words. As for SQuAD 2.0, it is 1 if both are empty, and 0 if only one is."""
    if not predicted or not gold:
        return float(predicted == gold)
    return 2 * (Counter(predicted) & Counter(gold)).total() / (len(predicted) + len(gold))


def entity_f1(
    right: NDArray[np.float64], predicted: NDArray[np.float64], gold: NDArray[np.float64], axis: int = -1
) -> NDArray[np.float64]:
    """Return the micro F1 of entities; 0 if there are none, as in seqeval.

    Args:
        right, predicted, gold: numbers of correct, predicted and gold entities, by sentence along `axis`.
    """
    return share(2 * right, predicted + gold, axis)


def share(part: NDArray[np.float64], whole: NDArray[np.float64], axis: int = -1) -> NDArray[np.float64]:
    """Return the sum of `part` divided by the sum of `whole`; 0 if the sum of `whole` is 0."""
    above, below = np.sum(part, axis=axis), np.sum(whole, axis=axis)
    return np.divide(above, below, out=np.zeros_like(below, dtype=np.float64), where=below > 0)
