"""One word in several contexts."""

from pathlib import Path

import numpy as np
import pytest

from search.bert import equal_rows, in_contexts, inspect
from search.bert.contexts import occurrences
from search.encoding import Encoder
from search.errors import InputError
from search.render import contexts as draw
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


@pytest.mark.parametrize("kind", ["bert", "distilbert", "roberta"])
def test_a_word_each_in_its_own_sentence(families: dict[str, Path], kind: str) -> None:
    """By the hidden states of transformers."""
    import torch
    from transformers import AutoModel, AutoTokenizer

    name, texts = str(families[kind]), ["turn the key", "a lock and the door"]
    model, tokenizer = AutoModel.from_pretrained(name).eval(), AutoTokenizer.from_pretrained(name)
    found = in_contexts(["key", "lock"], texts, ["many people"], model=name)
    assert (found.words, found.pieces, found.lengths) == (("key", "lock"), (("key",), ("lock",)), (2,))
    vectors = []
    for text, place in zip(texts, (3, 2), strict=True):
        ids = torch.tensor([tokenizer.encode(text, truncation=False)])
        with torch.inference_mode():
            states = model(ids, output_hidden_states=True).hidden_states
        vectors.append(np.stack([state[0, place].numpy() for state in states]))
    one, two = (rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in vectors)
    np.testing.assert_allclose(found.between[:, 0, 1], (one * two).sum(axis=1), atol=1e-5)
    drawn = " ".join(draw.contexts(found).split())
    assert "Cosines of 'key' in A and 'lock' in B" in drawn
    assert "The vector of 'many people' is the mean of its 2 tokens." in drawn
    with pytest.raises(InputError, match="words: 2, texts: 3. Give"):
        in_contexts(["key", "lock"], [*texts, "a"], model=name)


@pytest.mark.parametrize("kind", ["bert", "distilbert", "roberta"])
def test_equal_rows_are_pointed_out(families: dict[str, Path], kind: str) -> None:
    name = str(families[kind])
    found = equal_rows("turn the key", "find the door the", model=name)
    segment = [] if kind == "distilbert" else ["segment"]
    assert list(found.parts) == ["word", "position", *segment, "layer 0", "layer 1", "layer 2"]
    columns = dict(zip(found.parts, found.equal.T.tolist(), strict=True))
    assert columns["word"] == columns["layer 0"] == [True, False, True, False, False]
    assert columns["position"] == [True] * 5
    assert columns["layer 1"] == [False] * 5
    assert found.elsewhere == ((2, 4), (4, 5))
    one, two = (inspect(text, model=name).states for text in found.texts)
    for layer in range(3):
        a, b = one[layer], two[layer][:5]
        cosines = (a * b).sum(axis=1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)
        np.testing.assert_allclose(found.cosines[:, len(found.parts) - 3 + layer], cosines, atol=1e-5)
    drawn = " ".join(draw.equal_rows(found).split())
    assert "Equal rows in layer 0, where entry and place are the same: 0 [CLS], 2 the." in drawn
    assert "at two places, in A and in B: the 2 and 4, [SEP] 4 and 5." in drawn
    assert "Equal in layer 2, where each has read its text: none." in drawn
    assert equal_rows("a key", "a key", model=name).equal.all()
    drawn = " ".join(draw.equal_rows(equal_rows("key " * 6, "the " + "key " * 6, model=name)).split())
    assert drawn.count("key ") > 20 and "and 12 more (--json)." in drawn


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
