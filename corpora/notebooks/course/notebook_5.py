"""Questions and exercises of notebook 5, task heads and fine-tuning."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

import search
from search import bert

from .tools import Exercise, Prediction, encoder, number_of, require, softmax, topics, words_of


def _deciding_word() -> str:
    head = _topic_head()
    why = bert.explain_label("The bill for the new greenhouse heater arrived.", head)
    return why.words[int(why.by_word[:, int(why.logits.argmax())].argmax())].text


@cache
def _topic_head() -> Any:
    return bert.train_labels(topics(), name="topic", offline=True).head


def _guessing_loss() -> float:
    return round(-float(np.log(1 / len(_topic_head().classes))), 2)


def _missing_head() -> str:
    try:
        bert.fill("The train was [MASK].", model="all-MiniLM-L6-v2", offline=True)
    except search.SearchError:
        return "it refuses"
    return "it answers"


def _test_cross_entropy(cross_entropy: Any) -> None:
    logits = np.random.default_rng(5).normal(scale=3, size=(6, 4))
    labels = [0, 3, 1, 1, 2, 0]
    expected = -float(np.log(softmax(logits)[range(6), labels]).mean())
    loss = cross_entropy(logits, labels)
    require(loss is not None, "Your function returns None: replace its body.")
    off = abs(number_of(loss, "Return one number: the mean over all examples.") - expected)
    require(off < 1e-6, f"Six random examples: your loss is off by {off:.3g}.")
    huge = number_of(cross_entropy(np.array([[1000.0, 0.0]]), [0]), "Return one number.")
    require(huge == 0, "Logits of 1,000 overflow: subtract the largest logit of a row first.")


def _test_unsure(text: Any) -> None:
    require(isinstance(text, str) and len(words_of(text)) >= 4, "Give a sentence of at least four words.")
    head = _topic_head()
    probabilities = softmax(encoder().encode([text])[0] @ head.coefficients.T + head.intercepts)
    largest = float(probabilities.max())
    require(largest < 0.5, f"The head gives {head.classes[int(probabilities.argmax())]} {largest:.2f}.")


QUESTIONS: dict[str, Prediction | Exercise] = {
    "5.1": Prediction(
        _guessing_loss,
        "The negative logarithm of 1/6. A model is better than chance as far as it stays below.",
    ),
    "5.2": Prediction(_deciding_word, "The addends of the logit say so, and they sum to it exactly."),
    "5.3": Prediction(
        _missing_head, "A layer of random weights would answer, too. It would mean nothing."
    ),
    "5.A": Exercise(_test_cross_entropy, "The loss of every classifier here, masked words included."),
    "5.B": Exercise(
        _test_unsure, "A head that hesitates is worth knowing: ask it where it does, and label that."
    ),
}
