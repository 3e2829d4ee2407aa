"""Lower precision: its choice, record and inheritance, and its distance from fp32."""

from pathlib import Path
from typing import Any

import numpy as np
import openvino
import pytest

from search import Encoder, Fingerprint, Index
from search.errors import FingerprintMismatch, InputError, ModelError

TEXTS = ["find the key", "", "time and water and the long way to the other side of the door", "a!"]
# Ten times the largest 1 - cosine to fp32 that was measured: 2.1e-4 and 2.0e-6.
LOSS = {"bf16": 2e-3, "fp16": 2e-5}
_CAPABILITIES = openvino.Core().get_property("CPU", "OPTIMIZATION_CAPABILITIES")
BF16_INSTALLED = "openvino" if "BF16" in _CAPABILITIES else "torch"
"""The engine that encodes in bf16 where there is no GPU."""
needs_units = pytest.mark.skipif(BF16_INSTALLED == "torch", reason="this processor does not support bf16")
ENGINES = [("torch", "bf16"), ("torch", "fp16"), pytest.param("openvino", "bf16", marks=needs_units)]


def lower(model: str, precision: str, **options: Any) -> Encoder:
    return Encoder(model, precision=precision, device="cpu", offline=True, **options)


def largest_loss(first: np.ndarray, second: np.ndarray) -> float:
    """The largest 1 - cosine of rows."""
    return float((1 - (first.astype(np.float64) * second).sum(axis=1)).max())


@pytest.mark.parametrize(("engine", "precision"), ENGINES)
@pytest.mark.parametrize("pooling", ["mean", "pooler"])
def test_embeddings_of_lower_precision_are_near_fp32_and_not_equal(
    tiny: Encoder, engine: str, precision: str, pooling: str
) -> None:
    expected = Encoder(tiny.model, pooling=pooling).encode(TEXTS)
    encoder = lower(tiny.model, precision, engine=engine, pooling=pooling)
    embeddings = encoder.encode(TEXTS)
    assert (embeddings.dtype, encoder.engine.name) == (np.dtype("float32"), engine)
    assert 1e-9 < largest_loss(embeddings, expected) < LOSS[precision]
    np.testing.assert_allclose(np.linalg.norm(embeddings, axis=1), 1, atol=1e-6)  # normalised in float32
    alone = np.concatenate([encoder.encode([text]) for text in TEXTS])
    # Padding and company change it by rounding only.
    assert largest_loss(embeddings, alone) < LOSS[precision]


def test_pooling_is_computed_in_float32(tiny: Encoder) -> None:
    (vectors,) = lower(tiny.model, "bf16").tokens([TEXTS[2]])
    states = vectors.layers[3]
    assert states.dtype == np.float32
    mean = states.mean(axis=0, dtype=np.float64)
    np.testing.assert_allclose(vectors.embedding, mean / np.linalg.norm(mean), atol=1e-6)


def test_an_unknown_precision_and_one_that_the_engine_lacks_are_refused(tiny: Encoder) -> None:
    with pytest.raises(InputError, match="unknown precision 'int8'. Choose one of: fp32, bf16, fp16"):
        Encoder(tiny.model, precision="int8")
    with pytest.raises(
        InputError, match="'openvino' supports fp32 and bf16, not fp16. Use engine 'torch'"
    ):
        Encoder(tiny.model, engine="openvino", precision="fp16")


def test_a_processor_without_bf16_encodes_in_torch(
    tiny: Encoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("search.encoding.engines.computes_in", lambda precision: False)
    monkeypatch.setattr("search.encoding.engines._may_have_gpu", lambda: False)
    encoder = Encoder(tiny.model, precision="bf16")
    assert (
        encoder.runs_on
        == "torch on cpu, bf16 (instead of OpenVINO: this processor does not support bf16)"
    )
    assert encoder.remarks == (
        "PyTorch encodes instead of OpenVINO: this processor does not support bf16",
    )
    openvino_encoder = Encoder(tiny.model, precision="bf16", engine="openvino")
    with pytest.raises(ModelError, match="this processor does not support bf16.*choose 'torch'"):
        openvino_encoder.encode(TEXTS)


def test_precision_is_part_of_the_fingerprint(tiny: Encoder) -> None:
    encoder = lower(tiny.model, "bf16")
    fingerprint = encoder.fingerprint
    assert encoder.engine.name == BF16_INSTALLED
    assert (tiny.fingerprint.precision, fingerprint.precision) == ("fp32", "bf16")
    with pytest.raises(
        FingerprintMismatch, match="precision: the index has 'fp32', you asked for 'bf16'"
    ):
        tiny.fingerprint.require_equal(fingerprint)
    tiny.encode(TEXTS)  # its model is in the cache, which lacks the weights that PyTorch needs
    again = Encoder.of(fingerprint)
    assert (again.precision, again.engine.name) == ("bf16", BF16_INSTALLED)
    assert largest_loss(again.encode(TEXTS), tiny.encode(TEXTS)) < LOSS["bf16"]
    with pytest.raises(FingerprintMismatch, match="precision"):
        Encoder.of(fingerprint, precision="fp32")


def test_an_index_keeps_its_precision(notes: Path, tiny: Encoder) -> None:
    first = Index.build(notes, model=tiny.model, precision="bf16")
    assert ", bf16" in first.status().engine
    index = Index.open(notes)
    assert index.status().fingerprint["precision"] == "bf16"
    (hit,) = index.query("find the key", k=1)
    why = index.explain("find the key", hit)
    assert why.drift == pytest.approx(0, abs=1e-6)  # by the embedding that is stored
    assert abs(why.residual) < 5e-3  # of the passage as it was encoded again
    assert index.encoder.precision == "bf16"
    (notes / "more.txt").write_text("more water", encoding="utf-8")
    assert Index.build(notes).encoder.precision == "bf16"
    with pytest.raises(
        FingerprintMismatch, match="precision: the index has 'bf16', you asked for 'fp32'"
    ):
        Index.build(notes, precision="fp32")
    rebuilt = Index.build(notes, precision="fp32", rebuild=True)
    assert rebuilt.status().fingerprint["precision"] == "fp32"


def test_a_fingerprint_of_an_older_version_loads(tiny: Encoder) -> None:
    old = {k: v for k, v in vars(tiny.fingerprint).items() if k not in ("precision", "revision", "layer")}
    fingerprint = Fingerprint(**old)
    assert (fingerprint.precision, fingerprint.revision) == ("fp32", "")
    fingerprint.require_equal(tiny.fingerprint)
