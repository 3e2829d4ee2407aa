"""A conversion that fails: PyTorch takes over; the failure is reported, remembered, and can be forgotten."""

import importlib.metadata
import shutil
from pathlib import Path
from typing import Any

import pytest

from search import Encoder
from search.errors import ModelError
from tests.conftest import Run, save_tiny_bert
from tests.encoding.test_cache import manifests


@pytest.fixture
def tries(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the models that were converted in vain; every conversion fails."""
    names: list[str] = []

    def fails(model: Any, folder: Path) -> None:
        names.append(model.files.name)
        raise ModelError(f"cannot convert '{model.files.name}' for OpenVINO: no such operation")

    monkeypatch.setattr("search.encoding.engines.convert", fails)
    return names


@pytest.fixture
def model(tmp_path: Path) -> str:
    return str(save_tiny_bert(tmp_path / "model", seed=31))


def test_a_failed_conversion_is_tried_once_and_reported(tries: list[str], model: str) -> None:
    for _ in range(3):
        encoder = Encoder(model)
        assert encoder.encode(["key"]).shape == (1, 32)
        assert encoder.engine.name == "torch"
        assert "torch on cpu, fp32 (instead of OpenVINO: " in encoder.runs_on
        (note,) = encoder.notes
        assert note.startswith("PyTorch encodes instead of OpenVINO: ")
        assert "no such operation. To retry, delete the folder " in note
    assert len(tries) == 1
    for _ in range(2):  # who asks for it by name gets another attempt, and the reason
        with pytest.raises(ModelError, match="no such operation"):
            Encoder(model, engine="openvino").encode(["key"])
    assert len(tries) == 3


def test_an_update_of_a_package_tries_again(
    tries: list[str], model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    Encoder(model).encode(["key"])
    version = importlib.metadata.version
    monkeypatch.setattr(
        "importlib.metadata.version", lambda name: "9999" if name == "openvino" else version(name)
    )
    Encoder(model).encode(["key"])
    Encoder(model).encode(["key"])
    assert len(tries) == 2


def test_a_conversion_is_tried_again_when_its_folder_is_deleted(tries: list[str], model: str) -> None:
    encoder = Encoder(model)
    encoder.encode(["key"])
    (note,) = encoder.notes
    shutil.rmtree(note.rpartition("the folder ")[2].strip("'"))
    Encoder(model).encode(["key"])
    assert len(tries) == 2


def test_a_later_success_replaces_the_failure(
    tries: list[str], model: str, own_cache: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    Encoder(model).encode(["key"])
    assert [bool(model["problem"]) for model in manifests()] == [True]
    monkeypatch.undo()
    monkeypatch.setenv("SEEWHY_CACHE", str(own_cache))
    assert Encoder(model, engine="openvino").encode(["key"]).shape == (1, 32)
    assert not any(model["problem"] for model in manifests())


def test_a_model_that_torch_cannot_load_either_is_not_remembered(
    tries: list[str], tmp_path: Path, run: Run
) -> None:
    from safetensors.numpy import load_file, save_file

    folder = save_tiny_bert(tmp_path / "broken", seed=32)
    weights = load_file(folder / "model.safetensors")
    del weights["encoder.layer.1.output.dense.weight"]
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ModelError, match="incomplete"):
        Encoder(str(folder)).encode(["key"])
    assert not any(model["problem"] for model in manifests())
