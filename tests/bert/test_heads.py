"""Checkpoints with task heads: loaded by transformers' own classes, run in batches, in windows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from search.bert.checkpoint import load_head
from search.errors import InputError, ModelError
from tests.bert.conftest import save_tiny, save_tiny_head

LONG = "the key is in the water and the door of the first side is open now " * 20


@pytest.mark.parametrize("kind", ["bert", "distilbert", "roberta", "electra"])
@pytest.mark.parametrize("task", ["fill", "answer", "tag", "label"])
def test_batches_say_what_single_inputs_say(tmp_path: Path, task: str, kind: str) -> None:
    head = load_head(task, str(save_tiny_head(tmp_path, task, kind=kind)), device="cpu")  # type: ignore[arg-type]
    texts = ["open the door", "the key", "turn the lock and look for the people in the water"]
    inputs = [head.encoded(text) for text in texts]
    together = list(head.run(inputs))
    for one, found in zip(inputs, together, strict=True):
        (alone,) = head.run([one])
        for name, values in alone.items():
            assert found[name].shape == values.shape
            np.testing.assert_allclose(found[name], values, atol=1e-5)


def test_next_sentence_head_reads_segments(tmp_path: Path) -> None:
    head = load_head("next", str(save_tiny_head(tmp_path, "next")), device="cpu")
    (one,) = head.run([head.encoded("open the door", "turn the lock")])
    (other,) = head.run([head.encoded("turn the lock", "open the door")])
    assert one["logits"].shape == (2,) and not np.allclose(one["logits"], other["logits"])


def test_labels_are_those_of_the_checkpoint(tmp_path: Path) -> None:
    folder = save_tiny_head(tmp_path, "tag", labels=("O", "B-PER", "I-PER"))
    assert load_head("tag", str(folder), device="cpu").labels == ("O", "B-PER", "I-PER")


@pytest.mark.parametrize("first", [None, "what is in the water?"])
def test_windows_hold_every_token(tmp_path: Path, first: str | None) -> None:
    head = load_head("answer", str(save_tiny_head(tmp_path, "answer")), device="cpu")
    windows = head.windows(LONG, first=first, overlap=8)
    assert len(windows) > 5 and max(len(one.ids) for one in windows) == 64
    held = set()
    for one in windows:
        assert one.ids[0] == 2 and one.ids[-1] == 3
        for sequence, offsets in zip(one.sequence_ids, one.offsets, strict=True):
            if sequence == (0 if first is None else 1):
                held.add(offsets)
    assert held == set(head.tokenizer.encode(LONG, add_special_tokens=False).offsets)


def test_a_question_that_fills_the_model_is_refused(tmp_path: Path) -> None:
    head = load_head("answer", str(save_tiny_head(tmp_path, "answer")), device="cpu")
    with pytest.raises(InputError, match="no room for a text"):
        head.windows("the key", first="word " * 70)


def test_a_text_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    head = load_head("label", str(save_tiny_head(tmp_path, "label")), device="cpu")
    with pytest.raises(InputError, match="tokens, special tokens included"):
        head.encoded(LONG)


def test_a_checkpoint_without_the_head_is_refused(tmp_path: Path) -> None:
    plain = str(save_tiny(tmp_path / "plain", "bert"))
    for task in ("fill", "next", "answer", "tag", "label"):
        with pytest.raises(ModelError, match="has no head for"):
            load_head(task, plain)  # type: ignore[arg-type]
    with pytest.raises(ModelError, match="type 'roberta', which has no head for the next sentence"):
        load_head("next", str(save_tiny(tmp_path / "roberta", "roberta")))


def test_damaged_weights_are_an_error_that_names_the_model(tmp_path: Path) -> None:
    folder = save_tiny_head(tmp_path, "fill")
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:9000])
    with pytest.raises(ModelError, match=r"is damaged: .*model\.safetensors cannot be read"):
        load_head("fill", str(folder))


def test_a_tokenizer_that_is_larger_than_the_model_is_an_error(tmp_path: Path) -> None:
    from tokenizers import Tokenizer

    folder = save_tiny_head(tmp_path, "label")
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.add_tokens([f"entry{number}" for number in range(400)])
    tokenizer.save(str(folder / "tokenizer.json"))
    head = load_head("label", str(folder), device="cpu")
    with pytest.raises(ModelError, match="the model knows 400 entries"):
        list(head.run([head.encoded("the entry399")]))
