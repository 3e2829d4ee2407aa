"""Questions and exercises of notebook 2, one word, many vectors."""

from __future__ import annotations

from typing import Any

import numpy as np

import search
from search import bert

from .tools import Exercise, Prediction, as_mistake, encoder, require, tokens_of

SENSES = (
    "My pet python ate a mouse and slept for a week",
    "I wrote the script in python and fixed it in an hour",
)


def _python_at_layer_0() -> str:
    cosine = bert.in_contexts("python", list(SENSES), offline=True).to_pandas().iloc[0, 0]
    return "b" if 0.5 < cosine < 0.9999 else "a" if cosine >= 0.9999 else "c"


def _sum_and_mean() -> str:
    texts = ("he fed the python", "the snake got its food")
    mean, total = (
        search.explain(*texts, layer=layer, model=encoder()).similarity for layer in ("mean:4", "sum:4")
    )
    return "the same" if np.allclose(mean, total, atol=1e-5) else "different"


def _nearest_to_snake() -> str:
    why = search.explain("he fed the python", "the snake got its food", model=encoder())
    tokens = [token.text for token in why.query_tokens]
    return tokens[
        int(why.similarity[:, [token.text for token in why.passage_tokens].index("snake")].argmax())
    ]


def _test_place_of(place_of: Any) -> None:
    for word, text in (
        ("apprentices", "Her apprentices rebuilt Sinan's aqueduct."),
        ("library", "A chrysanthemum grew beside the library."),
        ("parrot", "Whoever marmalades a hippopotamus frightens the parrot!"),
    ):
        tokens = bert.inspect(text, offline=True)
        expected = next(item.tokens[0] for item in tokens.words if item.text.casefold() == word)
        place = place_of(word, text)
        require(place is not None, "Your function returns None: replace its body.")
        require(
            int(place) == expected,
            f"'{word}' in '{text}': you say token {place}, which is {tokens.tokens[int(place)].text!r}.",
        )


def _test_two_senses(work: Any) -> None:
    require(
        isinstance(work, tuple) and len(work) == 3, "Give a word and two sentences: (word, text, text)."
    )
    word, *texts = work
    require(word != "python", "Take another word than the one of the lesson.")
    with as_mistake("Each sentence needs the word once."):
        cosines = bert.in_contexts(word, texts, offline=True).to_pandas().iloc[:, 0]
    require(
        cosines.iloc[-1] < 0.6,
        f"In the last layer the two have a cosine of {cosines.iloc[-1]:.2f}; below 0.6 is asked.",
    )


QUESTIONS: dict[str, Prediction | Exercise] = {
    "2.1": Prediction(
        _python_at_layer_0, "The word is the same, its position is not, and layer 0 has both."
    ),
    "2.2": Prediction(
        lambda: tokens_of("Sinan writes python").index("python"),
        "[CLS] is token 0, and Sinan has two pieces.",
    ),
    "2.3": Prediction(_nearest_to_snake, "Other words, one meaning: the middle layers align words."),
    "2.4": Prediction(
        _sum_and_mean, "The sum is four times the mean, and a cosine does not depend on lengths."
    ),
    "2.A": Exercise(_test_place_of, "Offsets of characters never lie; counted words do."),
    "2.B": Exercise(_test_two_senses, "One entry of the vocabulary, two vectors."),
}
