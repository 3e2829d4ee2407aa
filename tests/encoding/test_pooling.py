"""Poolings against sentence-transformers' own output, against BERT's pooler by hand, and by hand altogether."""

import json
from pathlib import Path

import numpy as np
import pytest

from search import Encoder
from search.errors import InputError, ModelError
from tests.conftest import Run, save_modules, save_tiny_bert

TEXTS = [
    "find the key",
    "",
    "a",
    "time and water and the long way to the other side of the door, which was open",
    "rotating keys don't turn!",
    "unknowable \N{SNOWMAN} words",
]


def reference(folder: Path, texts: list[str]) -> np.ndarray:
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(str(folder), device="cpu").encode(texts, normalize_embeddings=True)


@pytest.mark.parametrize("pooling", ["mean", "cls", "max", "mean_sqrt_len"])
def test_tiny_model_equals_sentence_transformers(tmp_path: Path, tiny_model: Path, pooling: str) -> None:
    folder = save_tiny_bert(tmp_path / "model", pooling=pooling)
    encoder = Encoder(str(folder))
    assert encoder.pooling == pooling
    np.testing.assert_allclose(encoder.encode(TEXTS), reference(folder, TEXTS), atol=1e-5)
    # an explicit pooling wins over the model's own
    np.testing.assert_array_equal(
        Encoder(str(tiny_model), pooling=pooling).encode(TEXTS), encoder.encode(TEXTS)
    )


def test_real_model_equals_sentence_transformers(real: Encoder) -> None:
    texts = [*TEXTS, "Passages are half-open spans. " * 20, "naïve café 東京 مرحبا"]
    np.testing.assert_allclose(real.encode(texts), reference(real.files.folder, texts), atol=1e-5)


def test_a_text_that_is_too_long_is_refused_unless_truncate_is_set(
    real: Encoder,
) -> None:
    texts = ["short", "long words " * 300]
    with pytest.raises(
        InputError, match=r"text 2 has 602 tokens, but the model reads at most 256.*truncate=True"
    ):
        real.encode(texts)
    np.testing.assert_allclose(
        real.encode(texts, truncate=True), reference(real.files.folder, texts), atol=1e-5
    )


@pytest.mark.parametrize("fixture", ["tiny", "real"])
def test_pooler_is_tanh_of_a_linear_layer_over_cls(fixture: str, request: pytest.FixtureRequest) -> None:
    from safetensors.numpy import load_file

    encoder: Encoder = request.getfixturevalue(fixture)
    weights = load_file(encoder.files.folder / "model.safetensors")
    by_hand = []
    for text in TEXTS:
        first = encoder.tokens([text])[0].vectors[0].astype(np.float64)
        by_hand.append(np.tanh(weights["pooler.dense.weight"] @ first + weights["pooler.dense.bias"]))
    expected = np.array(by_hand) / np.linalg.norm(by_hand, axis=1, keepdims=True)
    pooled = Encoder(encoder.model, pooling="pooler", offline=True).encode(TEXTS)
    np.testing.assert_allclose(pooled, expected, atol=1e-5)


def test_pooler_without_pooler_weights_is_refused(tmp_path: Path) -> None:
    folder = save_tiny_bert(tmp_path / "headless", pooler=False)
    assert Encoder(str(folder)).encode(["water"]).shape == (1, 32)
    with pytest.raises(ModelError, match="has no pooler weights"):
        Encoder(str(folder), pooling="pooler").encode(["water"])


@pytest.mark.parametrize("pooling", ["mean", "pooler"])
def test_padding_and_companions_change_nothing(tiny_model: Path, pooling: str) -> None:
    encoder = Encoder(str(tiny_model), pooling=pooling)
    alone = np.concatenate([encoder.encode([text]) for text in TEXTS])
    np.testing.assert_allclose(encoder.encode(TEXTS), alone, atol=1e-6)
    np.testing.assert_allclose(encoder.encode(TEXTS[::-1]), alone[::-1], atol=1e-6)
    small = Encoder(str(tiny_model), pooling=pooling, batch_tokens=1)
    np.testing.assert_allclose(small.encode(TEXTS), alone, atol=1e-6)


def test_an_unknown_pooling_or_limit_is_refused(tiny_model: Path) -> None:
    with pytest.raises(InputError, match=r"unknown pooling 'avg'. Choose one of: mean, cls"):
        Encoder(str(tiny_model), pooling="avg")
    with pytest.raises(InputError, match="choose from 3 to 64"):
        Encoder(str(tiny_model), max_tokens=65)


def test_plain_checkpoint_pools_by_the_mean_and_says_so(tmp_path: Path) -> None:
    folder = save_tiny_bert(tmp_path / "plain", pooling=None)
    plain = Encoder(str(folder))
    assert plain.pooling == "mean"
    assert len(plain.notes) == 1
    assert "mean pooling is a guess" in plain.notes[0]
    save_modules(folder, "mean")
    assert Encoder(str(folder)).notes == ()
    np.testing.assert_array_equal(plain.encode(TEXTS), Encoder(str(folder)).encode(TEXTS))


def test_an_untrained_pooler_is_noted_by_index_and_status(
    run: Run, notes: Path, own_home: Path, tmp_path: Path
) -> None:
    """Its bias is 0 everywhere; one that was trained, and the mean of the same model, get no note."""
    untrained, trained = save_tiny_bert(tmp_path / "new"), save_tiny_bert(tmp_path / "old", bias=0.1)
    command = ("index", notes, "--model", untrained, "--pooling", "pooler", "-i")
    code, _, err = run(*command, "a")
    assert code == 0 and "was never trained: its bias is 0 everywhere" in err
    assert "--pooling mean --rebuild" in " ".join(err.split())
    assert "was never trained" in " ".join(run("status", "-i", "a")[1].split())
    assert json.loads(run("status", "-i", "a", "--json")[1])["notes"]
    assert run("index", notes, "--model", untrained, "--pooling", "mean", "-i", "a", "--rebuild")[0] == 0
    assert "never" not in run("status", "-i", "a")[1]
    code, out, err = run("index", notes, "--model", trained, "--pooling", "pooler", "-i", "b")
    assert code == 0 and "never trained" not in out + err
