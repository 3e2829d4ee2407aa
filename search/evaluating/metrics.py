"""How good the answer to a query is: a ranking, an answer, entities.

Rankings follow trec_eval, which BEIR uses: a grade of 1 or more is relevant, a document without judgement is not, gains
of nDCG are the grades themselves, and a query without any relevant document scores 0 everywhere. One thing differs: the
order is that of the ranking, ties included, where trec_eval sorts equal scores anew by the name of the document.

Exact match and F1 of answers are SQuAD's (Rajpurkar et al. 2016, section 6.1).
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

DEPTH = 100  # documents that are ranked for a query, at least


def ranking_values(ranked: Sequence[str], grades: Mapping[str, int], k: int = 10) -> dict[str, float]:
    """All metrics of one query.

    Args:
        ranked: documents, best first, none twice.
        grades: of the documents that were judged; 0 or less is not relevant.
        k: the depth of most metrics; recall and MAP look also at `DEPTH`, or at k if that is more.

    Example:
        >>> ranking_values(["a", "b"], {"b": 1})["mrr@10"]
        0.5
    """
    deep = max(DEPTH, k)
    gains = np.maximum([grades.get(document, 0) for document in ranked], 0).astype(np.float64)
    ideal = np.sort([grade for grade in grades.values() if grade > 0])[::-1]
    total = max(1, len(ideal))
    ranks = np.flatnonzero(gains) + 1
    near, far = ranks[ranks <= k], ranks[ranks <= deep]
    best = _discounted(ideal[:k])
    return {
        f"ndcg@{k}": _discounted(gains[:k]) / best if best else 0.0,
        f"mrr@{k}": float(1 / near[0]) if len(near) else 0.0,
        f"mrr@{deep}": float(1 / far[0]) if len(far) else 0.0,
        f"map@{deep}": float((np.arange(1, len(far) + 1) / far).sum()) / total,
        f"recall@{k}": len(near) / total,
        f"recall@{deep}": len(far) / total,
        "success@1": float(1 in near),
        f"success@{k}": float(len(near) > 0),
        f"precision@{k}": len(near) / k,
    }


def _discounted(gains: NDArray[np.float64]) -> float:
    return float((gains / np.log2(np.arange(2, len(gains) + 2))).sum())


def answer_values(predicted: str, gold: Sequence[str]) -> dict[str, float]:
    """Exact match and F1 with the gold answer that suits best.

    Args:
        predicted: "" for no answer.
        gold: those that count as right; none with a word means that no answer is right.
    """
    right = [words for answer in gold if (words := _words(answer))] or [[]]
    given = _words(predicted)
    return {
        "exact_match": float(given in right),
        "f1": max(_f1(given, words) for words in right),
    }


def _words(text: str) -> list[str]:
    """Lower case, without ASCII punctuation and English articles, as SQuAD's script has it."""
    plain = text.lower().translate(str.maketrans("", "", string.punctuation))
    return re.sub(r"\b(a|an|the)\b", " ", plain).split()


def _f1(given: list[str], gold: list[str]) -> float:
    """F1 of words as bags; of no word 1 if both have none, else 0, as for SQuAD 2.0."""
    if not given or not gold:
        return float(given == gold)
    return 2 * (Counter(given) & Counter(gold)).total() / (len(given) + len(gold))


def entity_f1(
    right: NDArray[np.float64], found: NDArray[np.float64], gold: NDArray[np.float64], axis: int = -1
) -> NDArray[np.float64]:
    """Micro F1 of counts by sentence; 0 where there is no entity, as in seqeval."""
    return share(2 * right, found + gold, axis)


def share(part: NDArray[np.float64], whole: NDArray[np.float64], axis: int = -1) -> NDArray[np.float64]:
    """The sum of one divided by the sum of the other; 0 where there is nothing to divide by."""
    above, below = np.sum(part, axis=axis), np.sum(whole, axis=axis)
    return np.divide(above, below, out=np.zeros_like(below, dtype=np.float64), where=below > 0)
