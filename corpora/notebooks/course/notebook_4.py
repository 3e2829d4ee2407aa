"""Questions and exercises of notebook 4, sentences as vectors."""

from __future__ import annotations

from typing import Any

import numpy as np

from .tools import Exercise, Prediction, cosine_of, encoder, require, require_near, topics, words_of

LOCKED = "The door is locked."
A_OR_B = {"A": "The door is not locked.", "B": "Someone has turned the key."}


def _nearer_to_locked() -> str:
    return max(A_OR_B, key=lambda name: cosine_of(LOCKED, A_OR_B[name]))


def _unrelated_by_pooler() -> float:
    return round(
        cosine_of("She baked bread with walnuts.", "The train to the coast was cancelled.", "pooler"), 1
    )


def _neighbours_with_a_topic() -> float:
    embeddings = encoder().encode([text for text, _ in topics()])
    cosines = embeddings @ embeddings.T
    np.fill_diagonal(cosines, -1)
    labels = np.array([label for _, label in topics()])
    return round(100 * float(np.mean(labels == labels[cosines.argmax(axis=1)])))


def _test_mean_pool(mean_pool: Any) -> None:
    random = np.random.default_rng(4)
    vectors, lengths = random.normal(size=(3, 7, 5)), np.array([7, 3, 1])
    mask = (np.arange(7) < lengths[:, None]).astype(int)
    means = np.array([rows[:length].mean(axis=0) for rows, length in zip(vectors, lengths, strict=True)])
    expected = means / np.linalg.norm(means, axis=1, keepdims=True)
    hint = (
        "Three texts of 7, 3 and 1 tokens: only rows with the mask 1 count, and each result has length 1."
    )
    require_near(mean_pool(vectors, mask), expected, hint, 1e-6)


def _test_other_words(work: Any) -> None:
    require(isinstance(work, tuple) and len(work) == 2, "Give two sentences: (text, text).")
    a, b = work
    shared = words_of(a) & words_of(b)
    require(not shared, f"Both have {', '.join(sorted(shared))}.")
    require(min(len(words_of(a)), len(words_of(b))) >= 4, "Each needs at least four different words.")
    cosine = cosine_of(a, b)
    require(cosine >= 0.6, f"Their cosine is {cosine:.2f}; 0.6 is asked.")


QUESTIONS: dict[str, Prediction | Exercise] = {
    "4.1": Prediction(
        _nearer_to_locked, "The vector is a mean over tokens, and a single 'not' moves it little."
    ),
    "4.2": Prediction(
        _unrelated_by_pooler,
        "This pooler was never trained: unrelated sentences get half of all there is. With mean pooling it is 0.06.",
        0.1,
    ),
    "4.3": Prediction(
        _neighbours_with_a_topic,
        "The model was given sentences without labels.",
        5,
    ),
    "4.A": Exercise(_test_mean_pool, "Without the mask, padding would be averaged, too."),
    "4.B": Exercise(
        _test_other_words, "Keywords would find nothing in common. That is what embeddings are for."
    ),
}
