"""A linear head: its numbers, its two files, and the embeddings that it may read."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from search.bert.checkpoint import softmax
from search.bert.labelling import LinearHead, load_linear_head
from search.encoding import Encoder
from search.errors import FingerprintMismatch, HeadMismatch, InputError


@pytest.fixture
def head(tiny: Encoder) -> LinearHead:
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
    np.testing.assert_allclose(head.probabilities(x), powers / powers.sum(axis=1, keepdims=True), atol=1e-12)
    np.testing.assert_allclose(softmax(np.array([[1000.0, 1000.0, -1000.0]])), [[0.5, 0.5, 0.0]])


def test_what_is_saved_is_loaded_to_the_last_bit(head: LinearHead, tmp_path: Path) -> None:
    head.save(tmp_path / "deep" / "head")
    assert sorted(path.name for path in (tmp_path / "deep" / "head").iterdir()) == [
        "head.json",
        "head.safetensors",
    ]
    found = load_linear_head(tmp_path / "deep" / "head")
    np.testing.assert_array_equal(found.coefficients, head.coefficients)
    np.testing.assert_array_equal(found.intercepts, head.intercepts)
    assert (found.name, found.classes, found.fingerprint) == (head.name, head.classes, head.fingerprint)
    assert found.trained == head.trained
    assert found.sha256 == head.sha256 != replace(head, intercepts=head.intercepts + 1e-9).sha256
    other = replace(head, classes=("a", "b", "c"))
    with pytest.raises(InputError, match="holds a head, and nothing is overwritten"):
        other.save(tmp_path / "deep" / "head")
    assert load_linear_head(tmp_path / "deep" / "head").classes == head.classes
    other.save(tmp_path / "deep" / "head", replace=True)
    assert load_linear_head(tmp_path / "deep" / "head").classes == ("a", "b", "c")


def test_only_embeddings_of_the_same_kind_are_read(head: LinearHead, other_model: Path) -> None:
    head.require_fits(replace(head.fingerprint, passages='{"tokens": 120}', model="elsewhere"), "the index")
    with pytest.raises(HeadMismatch, match=r"the head 'topic' cannot read .*the index 'max'"):
        head.require_fits(replace(head.fingerprint, pooling="max"), "the index")
    with pytest.raises(FingerprintMismatch, match="weights"):
        head.require_fits(Encoder(str(other_model)).fingerprint, "the index")


def changed(folder: Path, **values: object) -> None:
    file = folder / "head.json"
    found = json.loads(file.read_text(encoding="utf-8"))
    file.write_text(json.dumps({**found, **values}), encoding="utf-8")


def test_a_damaged_or_strange_head_is_refused(head: LinearHead, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no head in .*seewhy lab label train"):
        load_linear_head(tmp_path)
    head.save(tmp_path, replace=True)
    changed(tmp_path, version=2)
    with pytest.raises(InputError, match="has version 2 and this version of seewhy reads 1"):
        load_linear_head(tmp_path)
    changed(tmp_path, version=1, format="something else")
    with pytest.raises(InputError, match="does not describe a head"):
        load_linear_head(tmp_path)
    head.save(tmp_path, replace=True)
    changed(tmp_path, classes=["a", "b"])
    with pytest.raises(InputError, match="other shapes"):
        load_linear_head(tmp_path)
    head.save(tmp_path, replace=True)
    for wrong in (
        {"name": 3},
        {"classes": [1, 2, 3]},
        {"classes": ["a", "a", "b"]},
        {"classes": "abc"},
        {"trained": None},
    ):
        changed(tmp_path, **wrong)
        with pytest.raises(InputError, match=f"damaged: {next(iter(wrong))} in head.json is not"):
            load_linear_head(tmp_path)
        head.save(tmp_path, replace=True)
    changed(tmp_path, fingerprint={"model": "x"})
    with pytest.raises(InputError, match="something is missing"):
        load_linear_head(tmp_path)
    replace(head, intercepts=np.array([0.0, np.nan, 0.0])).save(tmp_path, replace=True)
    with pytest.raises(InputError, match="numbers that are none"):
        load_linear_head(tmp_path)
    head.save(tmp_path, replace=True)
    weights = tmp_path / "head.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"\0")
    with pytest.raises(InputError, match=r"not the file that head\.json was written with"):
        load_linear_head(tmp_path)
    (tmp_path / "head.json").write_text("{", encoding="utf-8")
    with pytest.raises(InputError, match="no JSON"):
        load_linear_head(tmp_path)
    with pytest.raises(InputError, match="cannot be written"):
        head.save(tmp_path / "head.json")
