"""Predicted and gold answers -> exact match and F1, as SQuAD defines them."""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Sequence

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)


def normalized(text: str) -> str:
    """Lower case, without ASCII punctuation and English articles, single spaces (Rajpurkar et al. 2016, section 6.1).

    Example:
        >>> normalized("The  Denver Broncos.")
        'denver broncos'
    """
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def exact_match(predicted: str, gold: str) -> float:
    """1 if both are the same once normalised, else 0."""
    return float(normalized(predicted) == normalized(gold))


def f1(predicted: str, gold: str) -> float:
    """Harmonic mean of precision and recall over the words of both, as bags; in [0, 1].

    Where one of the two has no word it is 1 if both have none, else 0, as for SQuAD 2.0.
    """
    ours, theirs = normalized(predicted).split(), normalized(gold).split()
    if not ours or not theirs:
        return float(ours == theirs)
    shared = sum((Counter(ours) & Counter(theirs)).values())
    return 2 * shared / (len(ours) + len(theirs))


def answer_values(predicted: str, gold: Sequence[str]) -> dict[str, float]:
    """Exact match and F1 with the gold answer that suits best.

    Args:
        predicted: "" for no answer.
        gold: those that count as right; none with a word means that no answer is right.
    """
    right = [one for one in gold if normalized(one)] or [""]
    return {
        "exact_match": max(exact_match(predicted, one) for one in right),
        "f1": max(f1(predicted, one) for one in right),
    }
