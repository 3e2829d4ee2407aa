"""One word in several contexts."""

from pathlib import Path

import numpy as np
import pytest

from search.bert import in_contexts, inspect
from search.bert.contexts import occurrences
from search.encoding import Encoder
from search.errors import InputError
from tests.bert.conftest import named_checkpoint
from tests.bert.test_inspecting import figures

PETS, CODE = "I love my pet python", "I love coding in python"


def test_cosines_are_those_of_the_hidden_states(tiny_model: Path) -> None:
    texts, other = ["find the keys", "turn keys"], "the lock"
    found = in_contexts("Keys", texts, [other], model=str(tiny_model))
    assert found.pieces == (("key", "##s"), ("key", "##s"))
    assert found.found == ((9, 13), (5, 9))
    states = [inspect(text, model=str(tiny_model)).states for text in (*texts, other)]
    a, b = states[0][:, 3:5].mean(axis=1), states[1][:, 2:4].mean(axis=1)
    c = states[2][:, 1:-1].mean(axis=1)
    for layer in range(4):
        for here, there, value in (
            (a, b, found.between[layer, 0, 1]),
            (a, c, found.others[layer, 0, 0]),
            (b, c, found.others[layer, 1, 0]),
        ):
            x, y = here[layer], there[layer]
            assert value == pytest.approx(float(x @ y / np.linalg.norm(x) / np.linalg.norm(y)), abs=1e-5)
    np.testing.assert_allclose(found.between[:, 0, 0], 1)
    np.testing.assert_array_equal(found.between, found.between.transpose(0, 2, 1))


def test_a_snake_and_a_language(real: Encoder) -> None:
    found = in_contexts("python", [PETS, CODE], ["snake", "programming"], offline=True)
    assert found.between.shape == (7, 2, 2) and found.others.shape == (7, 2, 2)
    assert found.between[0, 0, 1] == pytest.approx(1)  # the same word at the same place
    assert found.between[6, 0, 1] < 0.9
    snake, programming = found.others[6].T
    assert snake[0] - snake[1] > 0.1  # the pet is nearer to the snake than the language is
    assert programming[1] - programming[0] > 0.1


def test_whole_words_only_and_the_first_of_several(tiny_model: Path) -> None:
    found = in_contexts("key", ["keyed a key, the key", "a key"], model=str(tiny_model))
    assert found.found[0] == (8, 11)
    assert found.counts == (2, 1)
    assert found.others.shape == (4, 2, 0)
    assert in_contexts("key", ["(key).", "a key"], model=str(tiny_model)).pieces == (("key",), ("key",))


@pytest.mark.parametrize(
    ("word", "texts", "against", "said"),
    [
        ("lock", ["the key", "the lock"], [], "'lock' does not stand in 'the key'"),
        ("key", ["the keys", "a key"], [], "does not stand in 'the keys'"),
        ("key", ["a key"], [], "nothing to compare"),
        ("key", [], ["lock"], "nothing to compare"),
        (" ", ["a key", "b"], [], "the word is empty"),
        ("key", ["a key"], [" "], "the text is empty"),
        ("key", ["a key"], ["\x07"], "leaves nothing of"),
        ("key", ["key " * 80, "a key"], [], "Nothing is cut"),
    ],
)
def test_what_cannot_be_compared_is_said(
    tiny_model: Path, word: str, texts: list[str], against: list[str], said: str
) -> None:
    with pytest.raises(InputError, match=said):
        in_contexts(word, texts, against, model=str(tiny_model))


def test_strings_are_no_lists(tiny_model: Path) -> None:
    with pytest.raises(InputError, match="lists of strings"):
        in_contexts("key", "a key", model=str(tiny_model))


def test_published_cosines() -> None:
    """Those with a word that stands alone; of the others the source does not tell how they were made."""
    model = named_checkpoint("bert-base-uncased")
    for known in figures()["contextual_cosines"]:
        other = known["with"].removesuffix(" (alone)")
        if known["with"] != other:
            found = in_contexts(known["word"], [known["in"]], [other], model=model)
            assert found.others[-1, 0, 0] == pytest.approx(known["cosine"], abs=1e-4)


@pytest.mark.parametrize(
    ("word", "text", "expected"),
    [
        (".", "rotate the key.", [(14, 15)]),
        ("c++", "c++11 and c++", [(0, 3), (10, 13)]),
        ("cafe", "cafe cafe\u0301", [(0, 4)]),
        ("key", "key keys monkey Key", [(0, 3), (16, 19)]),
    ],
)
def test_where_a_word_stands(word: str, text: str, expected: list[tuple[int, int]]) -> None:
    assert occurrences(word, text) == expected
