"""Both engines, on every family of BERT-like models, against transformers; the cache of converted models."""

import json
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from search import Encoder
from search.errors import InputError, ModelError
from tests.conftest import REPOSITORY, Run, save_tiny_bert, save_tokenizer
from tests.encoding.test_cache import manifests

TEXTS = ["find the key", "", "time and water and the long way to the other side of the door", "a!"]
SMALL = {
    "vocab_size": 400,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "max_position_embeddings": 66,
    "pad_token_id": 0,
}


def save_family(folder: Path, family: str) -> Path:
    """A tiny model of another architecture, with the same tokenizer."""
    import torch
    import transformers

    torch.manual_seed(0)
    options: dict[str, Any] = dict(SMALL)
    if family == "distilbert":
        options = {
            "vocab_size": 400,
            "dim": 32,
            "n_layers": 2,
            "n_heads": 4,
            "hidden_dim": 64,
            "pad_token_id": 0,
        }
        options["max_position_embeddings"] = 66
        model = transformers.DistilBertModel(transformers.DistilBertConfig(**options))
    elif family == "roberta":
        model = transformers.RobertaModel(transformers.RobertaConfig(**options, type_vocab_size=1))
    else:
        options |= {"cls_token_id": 2, "sep_token_id": 3, "bos_token_id": 2, "eos_token_id": 3}
        model = transformers.ModernBertModel(transformers.ModernBertConfig(**options))
    folder.mkdir()
    model.save_pretrained(folder)
    save_tokenizer(folder)
    return folder


@pytest.mark.parametrize("family", ["distilbert", "roberta", "modernbert"])
def test_every_family_equals_sentence_transformers_with_both_engines(tmp_path: Path, family: str) -> None:
    from sentence_transformers import SentenceTransformer

    folder = save_family(tmp_path / family, family)
    reference = SentenceTransformer(str(folder), device="cpu").encode(TEXTS, normalize_embeddings=True)
    torch = Encoder(str(folder), engine="torch", device="cpu")
    np.testing.assert_allclose(torch.encode(TEXTS), reference, atol=1e-5)
    auto = Encoder(str(folder))
    np.testing.assert_allclose(auto.encode(TEXTS), reference, atol=1e-5)
    assert auto.engine.name == (
        "torch" if family == "modernbert" and auto.engine.name == "torch" else "openvino"
    )
    for torch_vectors, auto_vectors in zip(
        torch.tokens(TEXTS, layers=[0, 1, 2]), auto.tokens(TEXTS, layers=[0, 1, 2]), strict=True
    ):
        for layer in (0, 1, 2):
            np.testing.assert_allclose(torch_vectors.layers[layer], auto_vectors.layers[layer], atol=1e-4)


def test_real_model_is_the_same_with_both_engines(real: Encoder) -> None:
    texts = [*TEXTS, "Passages are half-open spans of characters. " * 20]
    torch = Encoder(engine="torch", device="cpu", offline=True)
    assert (real.engine.name, torch.engine.name) == ("openvino", "torch")
    np.testing.assert_allclose(real.encode(texts), torch.encode(texts), atol=2e-6)


def test_an_unknown_engine_is_refused() -> None:
    with pytest.raises(InputError, match="unknown engine 'onnx'. Choose one of: auto, openvino, torch"):
        Encoder(offline=True, engine="onnx")


@pytest.mark.parametrize("device", ["banana", "meta"])
def test_a_device_that_does_not_exist_is_named(tiny_model: Path, device: str) -> None:
    encoder = Encoder(str(tiny_model), engine="torch", device=device)
    with pytest.raises(
        InputError, match=f"cannot use the device '{device}': .* Use cpu, or leave the device out"
    ):
        encoder.encode(["key"])


def test_a_query_needs_neither_torch_nor_the_models_folder(tmp_path: Path, tiny_model: Path) -> None:
    folder = save_tiny_bert(tmp_path / "gone", seed=3)
    encoder = Encoder(str(folder))
    expected = encoder.encode(TEXTS)
    for path in sorted(folder.rglob("*"), reverse=True):
        path.unlink() if path.is_file() else path.rmdir()
    again = Encoder.of(encoder.fingerprint)
    np.testing.assert_allclose(again.encode(TEXTS), expected, atol=1e-6)
    code = (
        "import json, sys\n"
        "from search import Encoder, Fingerprint\n"
        "Encoder.of(Fingerprint(**json.loads(sys.argv[1]))).encode(['key'])\n"
        "print([m for m in ('torch', 'transformers', 'sentence_transformers') if m in sys.modules])"
    )
    process = subprocess.run(
        [sys.executable, "-c", code, json.dumps(vars(encoder.fingerprint))],
        capture_output=True,
        text=True,
        check=True,
        cwd=REPOSITORY,
        encoding="utf-8",
    )
    assert process.stdout.strip() == "[]"


def test_models_that_are_converted_at_once_are_converted_once(
    tmp_path: Path, own_cache: Path, run: Run
) -> None:
    folder = save_tiny_bert(tmp_path / "model", seed=4)
    errors: list[Exception] = []

    def use() -> None:
        try:
            Encoder(str(folder)).encode(["key"])
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=use) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    (entry,) = manifests()
    assert (entry["files"]["name"], entry["description"]["layers"], entry["problem"]) == (
        str(folder),
        3,
        "",
    )
    assert not list((own_cache / "models").glob("*.new"))
    shutil.rmtree(own_cache / "models")
    assert Encoder(str(folder)).encode(["key"]).shape == (1, 32)


def test_a_model_that_openvino_cannot_convert_runs_in_torch(
    tmp_path: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = save_tiny_bert(tmp_path / "model", seed=6)

    def fails(*args: Any) -> None:
        raise ModelError("no")

    monkeypatch.setattr("search.encoding.engines.convert", fails)
    assert Encoder(str(folder)).engine.name == "torch"
    with pytest.raises(ModelError, match="no"):
        Encoder(str(folder), engine="openvino").encode(["key"])


def test_a_conversion_that_computes_something_else_is_not_used(
    tmp_path: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("search.encoding.openvino_engine._TOLERANCE", 0.0)
    encoder = Encoder(str(save_tiny_bert(tmp_path / "model", seed=7)))
    encoder.encode(["key"])
    assert encoder.engine.name == "torch"
    assert "OpenVINO and PyTorch disagree" in encoder.remarks[0]


def test_an_abandoned_run_leaves_the_engine_usable(tiny: Encoder) -> None:
    small = Encoder(tiny.model, batch_tokens=1)

    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        small.encode(TEXTS, progress=stop)
    np.testing.assert_allclose(small.encode(TEXTS), tiny.encode(TEXTS), atol=1e-6)


def test_threads_share_one_engine(tiny: Encoder) -> None:
    texts = ["find the key", "time and water", "a long sound"]
    expected, vectors = tiny.encode(texts), list[np.ndarray]()

    def encode() -> None:
        vectors.extend(tiny.encode(texts) for _ in range(10))

    threads = [threading.Thread(target=encode) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    np.testing.assert_allclose(vectors, np.repeat(expected[None], 40, axis=0), atol=1e-6)


def test_a_conversion_that_is_stopped_half_way_leaves_no_converted_model(
    tmp_path: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = str(save_tiny_bert(tmp_path / "model", seed=5))

    def stop(_: Any, folder: Path) -> None:
        (folder / "encoder.xml").write_text("half", encoding="utf-8")
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr("search.encoding.engines.convert", stop)
        Encoder(model).encode(["key"])
    assert manifests() == []
    encoder = Encoder(model)
    assert encoder.encode(["key"]).shape == (1, 32)
    assert (encoder.engine.name, encoder.remarks) == ("openvino", ())
