"""Whether a text follows another, against transformers' own class."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from search.bert import next_sentence, next_sentences
from search.bert.checkpoint import load_head
from search.errors import InputError, ModelError
from tests.bert.conftest import named_checkpoint, save_tiny, save_tiny_head

TEXTS = ["open the door", "turn the lock and look", "the water"]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(save_tiny_head(tmp_path_factory.mktemp("next"), "next"))


def by_hand(model: str, first: list[int], second: list[int]) -> tuple[float, float, float]:
    """Both logits and the probability of "is next", of [CLS] first [SEP] second [SEP]."""
    import torch
    from transformers import BertForNextSentencePrediction

    loaded = BertForNextSentencePrediction.from_pretrained(model).eval()
    ids = torch.tensor([[2, *first, 3, *second, 3]])
    types = torch.tensor([[0] * (len(first) + 2) + [1] * (len(second) + 1)])
    with torch.inference_mode():
        output = loaded(ids, token_type_ids=types, labels=torch.tensor([0]))
    is_next, is_not = output.logits[0].tolist()
    return is_next, is_not, float(torch.exp(-output.loss))  # label 0 is "is next": its loss is -ln p


def ids_of(model: str, text: str) -> list[int]:
    return load_head("next", model).tokenizer.encode(text, add_special_tokens=False).ids


def test_probabilities_are_those_of_transformers(model: str) -> None:
    found = next_sentences(TEXTS, model=model)
    assert [(pair.first, pair.second) for pair in found] == [(TEXTS[0], TEXTS[1]), (TEXTS[1], TEXTS[2])]
    for pair in found:
        one, two = ids_of(model, pair.first), ids_of(model, pair.second)
        np.testing.assert_allclose((*pair.logits, pair.probability), by_hand(model, one, two), atol=1e-5)
        np.testing.assert_allclose(
            (*pair.reverse_logits, pair.reverse_probability), by_hand(model, two, one), atol=1e-5
        )
    assert next_sentence(TEXTS[0], TEXTS[1], model=model).probability == pytest.approx(
        found[0].probability, abs=1e-6
    )


def test_the_loss_of_a_label_is_that_of_transformers(model: str) -> None:
    import torch
    from transformers import BertForNextSentencePrediction

    loaded = BertForNextSentencePrediction.from_pretrained(model).eval()
    found = next_sentences(TEXTS, model=model, follows=[True, False])
    for pair, label in zip(found, (0, 1), strict=True):
        one, two = ids_of(model, pair.first), ids_of(model, pair.second)
        ids = torch.tensor([[2, *one, 3, *two, 3]])
        types = torch.tensor([[0] * (len(one) + 2) + [1] * (len(two) + 1)])
        with torch.inference_mode():
            known = loaded(ids, token_type_ids=types, labels=torch.tensor([label])).loss
        assert pair.label == ("is-next", "not-next")[label]
        assert pair.loss == pytest.approx(float(known), abs=1e-5)
    assert next_sentence(TEXTS[0], TEXTS[1], model=model, follows=True).loss == pytest.approx(found[0].loss)
    assert next_sentence(TEXTS[0], TEXTS[1], model=model).loss is None
    with pytest.raises(InputError, match="pairs: 2, labels: 1. Give"):
        next_sentences(TEXTS, model=model, follows=[True])


def test_what_cannot_be_told_is_said(model: str, tmp_path: Path) -> None:
    for texts, said in (
        (["one"], "at least two texts"),
        (["one", " "], "text 2 is empty"),
        (["\udcff", "one"], "text 1 holds bytes"),
        (["key " * 40, "key " * 40], "the two texts together have 83 tokens"),
    ):
        with pytest.raises(InputError, match=said):
            next_sentences(texts, model=model)
    with pytest.raises(InputError, match="list of strings"):
        next_sentences("ab", model=model)
    with pytest.raises(ModelError, match="has no head for the next sentence.*such as bert-base-uncased"):
        next_sentence("a", "b", model=str(save_tiny(tmp_path, "bert")))


def test_published_logits() -> None:
    """The handbook's example."""
    found = next_sentence(
        "I like cookies!", "Do you like them too?", model=named_checkpoint("bert-base-uncased")
    )
    assert found.logits == pytest.approx((6.0661, -5.6789), abs=1e-3)
