"""A linear head: its numbers, its file, and the embeddings that it may read."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

import search
from search.bert import LinearHead, load_linear_head
from search.errors import FingerprintMismatch, InputError


@pytest.fixture
def head(tiny: search.Encoder) -> LinearHead:
    chance = np.random.default_rng(0)
    return LinearHead(
        name="topic",
        classes=("keys", "water", "ünïcode"),
        coefficients=chance.normal(size=(3, 32)),
        intercepts=chance.normal(size=3),
        fingerprint=tiny.fingerprint,
        trained={"examples": 12, "source": "a.csv"},
    )


def test_probabilities_are_the_softmax_of_a_linear_function(head: LinearHead) -> None:
    x = np.random.default_rng(1).normal(size=(5, 32)).astype(np.float32)
    powers = np.exp(x.astype(np.float64) @ head.coefficients.T + head.intercepts)
    np.testing.assert_allclose(
        head.probabilities(x), powers / powers.sum(axis=1, keepdims=True), atol=1e-12
    )
    steep = replace(head, coefficients=head.coefficients * 1e5)
    assert np.isfinite(steep.probabilities(x)).all()


def test_a_saved_head_is_loaded_to_the_last_bit(head: LinearHead, tmp_path: Path) -> None:
    folder = head.save(tmp_path / "deep" / "head")
    assert [path.name for path in folder.iterdir()] == ["head.safetensors"]
    copy = load_linear_head(folder)
    np.testing.assert_array_equal(copy.coefficients, head.coefficients)
    np.testing.assert_array_equal(copy.intercepts, head.intercepts)
    assert (copy.name, copy.classes, copy.fingerprint) == (head.name, head.classes, head.fingerprint)
    assert copy.trained == head.trained
    assert copy.sha256 == head.sha256 != replace(head, intercepts=head.intercepts + 1e-9).sha256
    other = replace(head, classes=("a", "b", "c"))
    with pytest.raises(InputError, match="already contains a head. Give another folder"):
        other.save(folder)
    assert load_linear_head(folder).classes == head.classes


def test_only_embeddings_of_the_same_kind_are_read(head: LinearHead, other_model: Path) -> None:
    head.require_fits(
        replace(head.fingerprint, passages='{"tokens": 120}', model="elsewhere"), "the index"
    )
    with pytest.raises(FingerprintMismatch, match=r"the head 'topic' does not fit .*the index 'max'"):
        head.require_fits(replace(head.fingerprint, pooling="max"), "the index")
    with pytest.raises(FingerprintMismatch, match="weights"):
        head.require_fits(search.Encoder(str(other_model)).fingerprint, "the index")


def test_a_damaged_or_strange_head_is_refused(head: LinearHead, tmp_path: Path) -> None:
    file = tmp_path / "head.safetensors"
    with pytest.raises(InputError, match=r"no head.safetensors in .*seewhy lab label train"):
        load_linear_head(tmp_path)
    head.save(tmp_path)
    whole = file.read_bytes()
    for content in (b"", whole[:100], whole[:-1], whole.replace(b"classes", b"clashes")):
        file.write_bytes(content)
        with pytest.raises(InputError, match=r"head.safetensors' is damaged: .*seewhy lab label train"):
            load_linear_head(tmp_path)
    save_file({"coefficients": head.coefficients}, file)
    with pytest.raises(InputError, match="was written by another version"):
        load_linear_head(tmp_path)
    with pytest.raises(InputError, match="cannot be written"):
        head.save(file)
