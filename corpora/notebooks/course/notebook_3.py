"""Questions and exercises of notebook 3, attention, one head at a time."""

from __future__ import annotations

from typing import Any

import numpy as np

from search import bert

from .tools import Exercise, Prediction, always, require, require_near

TROPHY = "the trophy did not fit because it was too large"


def _most_read() -> str:
    look = bert.inspect(TROPHY, offline=True)
    return look.tokens[int(look.attention.matrix(6).sum(axis=0).argmax())].text


def _test_head_weights(head_weights: Any) -> None:
    look = bert.inspect("Nobody has seen the parrot since the window was open.", offline=True)
    for layer, head in ((1, 12), (6, 3)):
        hint = f"Layer {layer}, head {head} of a sentence differs from the model's."
        expected = look.attention.matrix(layer, head).astype(np.float64)
        require_near(head_weights(look.states[layer - 1], layer, head), expected, hint)


def _test_resting_head(work: Any) -> None:
    require(isinstance(work, tuple) and len(work) == 2, "Give a layer and a head, such as (3, 7).")
    layer, head = map(int, work)
    require(
        1 <= layer <= 6 and 1 <= head <= 12, "There are the layers 1 to 6, each with the heads 1 to 12."
    )
    look = bert.inspect(TROPHY, offline=True)

    def rest(layer: int, head: int) -> float:
        return float(look.attention.matrix(layer, head)[1:-1, -1].mean())

    best = max(rest(l, h) for l in range(1, 7) for h in range(1, 13))  # noqa: E741
    own = rest(layer, head)
    require(own >= best - 1e-6, f"This head gives [SEP] {own:.2f} on average; another one gives more.")


QUESTIONS: dict[str, Prediction | Exercise] = {
    "3.1": Prediction(
        always("rows"), "Each token that reads shares out a weight of 1; a softmax runs along its row."
    ),
    "3.2": Prediction(
        always("sharper"),
        "Products grow with the width of the head, and the softmax turns them into one-hot rows.",
    ),
    "3.3": Prediction(
        _most_read,
        "Heads that find nothing to read rest there. It says little about what the sentence means.",
    ),
    "3.4": Prediction(
        None,
        "They split the very cosine that is measured; attention is one step on the way to it.",
    ),
    "3.A": Exercise(_test_head_weights, "Any head of any layer, from its input and two matrices."),
    "3.B": Exercise(
        _test_resting_head, "A head that rests on [SEP] has nothing to say about most words."
    ),
}
