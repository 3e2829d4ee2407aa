"""The labelled sets of `make lab`, and its training on a few of their texts."""

import importlib.util
import random
from itertools import pairwise
from typing import Any

import pytest

from search.evaluating.formats import read_conll, read_examples, read_questions
from tests.conftest import REPOSITORY

LAB = REPOSITORY / "corpora" / "lab"


@pytest.fixture
def script() -> Any:
    spec = importlib.util.spec_from_file_location("lab_train", LAB / "train.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_labelled_sets_are_whole() -> None:
    topics = read_examples(LAB / "topics.csv")
    assert len({one.text for one in topics}) == 300 and len({one.label for one in topics}) == 6
    sentences = read_conll(LAB / "entities.conll")
    assert len(sentences) == 200 and {label[2:] for one in sentences for label in one.labels} == {
        "",
        "PER",
        "LOC",
        "ORG",
    }
    questions, paragraphs = read_questions(LAB / "questions.json")
    assert len(questions) == 150
    for one in questions:
        text = paragraphs.entries[one.paragraph].text
        assert text[one.starts[0] :].startswith(one.answers[0])


def test_pairs_and_masks(script: Any) -> None:
    from transformers import AutoTokenizer

    from search.encoding.models import DEFAULT_MODEL, find_model

    texts = script.documents()
    assert len(texts) > 100 and all("```" not in one for sentences in texts for one in sentences)
    pairs = script.pairs_of(texts, random.Random(0))
    followed = {pair for sentences in texts for pair in pairwise(sentences)}
    assert all((first, second) in followed for first, second, is_other in pairs if not is_other)
    assert 0.4 < sum(is_other for *_, is_other in pairs) / len(pairs) < 0.6
    tokenizer = AutoTokenizer.from_pretrained(find_model(DEFAULT_MODEL, offline=True).folder)
    batch = next(script.batches(pairs[:16], tokenizer, random.Random(0)))
    chosen = batch["labels"] != script.IGNORED
    assert 0.08 < chosen.sum() / batch["attention_mask"].sum() < 0.22
    assert (batch["input_ids"][chosen] == tokenizer.mask_token_id).float().mean() > 0.6
    assert not (chosen & (batch["attention_mask"] == 0)).any()
