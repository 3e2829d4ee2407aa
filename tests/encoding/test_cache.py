"""A converted model is converted again if it is damaged, and only then; nothing outside the cache is touched."""

import importlib
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from search import Encoder, Fingerprint
from search.errors import ModelError
from search.files import cache_home, read_sealed
from tests.conftest import Run, save_tiny_bert

TEXTS = ["find the key", "time and water"]
Damage = Callable[[Path], None]


def manifests() -> list[dict[str, Any]]:
    """The manifests of the converted models, and of those that could not be converted."""
    return [read_sealed(file) for file in (cache_home() / "models").glob("*-*-*/entry.json")]


@pytest.fixture(scope="module")
def whole(
    tiny_model: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, Fingerprint, np.ndarray]:
    """Cache with a converted and compiled model, the model's fingerprint, and its embeddings of TEXTS."""
    place = tmp_path_factory.mktemp("whole")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SEEWHY_CACHE", str(place))
        encoder = Encoder(str(tiny_model))
        return place, encoder.fingerprint, encoder.encode(TEXTS)


@pytest.fixture
def entry(
    whole: tuple[Path, Fingerprint, np.ndarray], own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """Entry of the test's own, as a new process finds it; conversion copies the model converted once."""
    shutil.copytree(whole[0], own_cache)
    (entry_folder,) = (path for path in (own_cache / "models").iterdir() if path.is_dir())
    source = whole[0] / "models" / entry_folder.name

    def copy_model(model: Any, folder: Path) -> list[str]:
        assert model.files.folder == Path(whole[1].model)
        for name in ("encoder.xml", "encoder.bin", *PARAMETERS):
            shutil.copyfile(source / name, folder / name)
        return PARAMETERS

    monkeypatch.setattr("search.encoding.engines.convert", copy_model)
    return entry_folder


def zeros(name: str) -> Damage:
    def damage(entry: Path) -> None:
        (path,) = entry.glob(name)
        data = path.read_bytes()
        path.unlink()
        start = len(data) // 2
        path.write_bytes(data[:start] + bytes(2000) + data[start + 2000 :])

    return damage


def cut(name: str, size: int) -> Damage:
    return lambda entry: os.truncate(entry / name, size)


def edit_tokenizer(entry: Path) -> None:
    text = (entry / "tokenizer.json").read_text(encoding="utf-8")
    (entry / "tokenizer.json").write_text(text.replace('"key"', '"kex"'), encoding="utf-8")


PARAMETERS = ["parameters.json", "parameters.safetensors"]
DAMAGES: dict[str, Damage] = {
    "zeros in the weights": zeros("encoder.bin"),
    "an edited tokenizer": edit_tokenizer,
    "an empty graph": cut("encoder.xml", 0),
    "parameters cut off": cut("parameters.safetensors", 9),
}


def sound_encoder(whole: tuple[Path, Fingerprint, np.ndarray]) -> Encoder:
    """Encoder of a query; it encodes as the model did, by OpenVINO if the cache can be written."""
    encoder = Encoder.of(whole[1])
    np.testing.assert_allclose(encoder.encode(TEXTS), whole[2], atol=1e-5)
    return encoder


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_entry_is_converted_again(
    whole: tuple[Path, Fingerprint, np.ndarray], entry: Path, run: Run, name: str
) -> None:
    DAMAGES[name](entry)
    assert sound_encoder(whole).remarks == ()  # what was compiled needs neither graph nor weights
    for blob in entry.glob("*.blob"):
        blob.unlink()
    encoder = sound_encoder(whole)
    assert (encoder.engine.name, encoder.remarks) == ("openvino", ())
    assert not any(model["problem"] for model in manifests())


def flip_bit(entry: Path) -> None:
    (path,) = entry.glob("*.blob")
    data = bytearray(path.read_bytes())
    data[len(data) * 2 // 3] ^= 1
    path.write_bytes(data)


def test_a_damaged_compiled_model_is_compiled_again(
    whole: tuple[Path, Fingerprint, np.ndarray], entry: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = (entry / "encoder.bin").stat().st_ino
    flip_bit(entry)
    assert sound_encoder(whole).remarks == ()
    monkeypatch.setattr("search.encoding.openvino_engine._compile", None)  # once
    assert sound_encoder(whole).remarks == ()
    assert (entry / "encoder.bin").stat().st_ino == before


@pytest.mark.parametrize(("failures", "engine"), [(1, "openvino"), (9, "torch")])
def test_a_failure_of_openvino_leaves_a_sound_entry_alone(
    whole: tuple[Path, Fingerprint, np.ndarray],
    entry: Path,
    monkeypatch: pytest.MonkeyPatch,
    failures: int,
    engine: str,
) -> None:
    """Another process may remove files that OpenVINO reads; the failure is not remembered."""
    import openvino

    compile_model, left = openvino.Core.compile_model, [failures]

    def fails(*args: Any) -> Any:
        if not left[0]:
            return compile_model(*args)
        left[0] -= 1
        raise RuntimeError("filesystem error: cannot set permissions: No such file or directory")

    for blob in entry.rglob("*.blob"):
        blob.unlink()
    before = (entry / "encoder.bin").stat().st_ino
    monkeypatch.setattr(openvino.Core, "compile_model", fails)
    encoder = sound_encoder(whole)
    assert encoder.engine.name == engine
    assert engine == "openvino" or "No such file or directory" in encoder.remarks[0]
    left[0] = 0
    assert sound_encoder(whole).engine.name == "openvino"
    assert (entry / "encoder.bin").stat().st_ino == before


def test_a_full_disk_is_not_remembered(
    own_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = str(save_tiny_bert(tmp_path / "model", seed=42))

    def fails(*args: Any, **options: Any) -> None:
        raise RuntimeError("basic_ios::clear: iostream error")

    with monkeypatch.context() as patch:
        patch.setattr("openvino.save_model", fails)
        encoder = Encoder(model)
        encoder.encode(TEXTS)
    assert encoder.engine.name == "torch"
    assert "iostream error" in encoder.remarks[0]
    assert "Set SEEWHY_CACHE to another folder" in encoder.remarks[0]
    assert Encoder(model).engine.name == "openvino"
    assert [path.suffix for path in (own_cache / "models").iterdir() if path.is_file()] == [".lock"]


def test_pytorch_encodes_where_the_cache_cannot_be_written(
    whole: tuple[Path, Fingerprint, np.ndarray], own_cache: Path, run: Run
) -> None:
    own_cache.write_text("a file", encoding="utf-8")
    encoder = sound_encoder(whole)
    (remark,) = encoder.remarks
    assert remark.startswith("PyTorch encodes instead of OpenVINO: cannot store the converted model in ")
    assert "SEEWHY_CACHE" in remark
    with pytest.raises(ModelError, match="SEEWHY_CACHE"):
        Encoder(whole[1].model, engine="openvino").encode(TEXTS)
    assert manifests() == []


def test_an_error_names_a_model_that_is_gone(tmp_path: Path, own_cache: Path) -> None:
    folder = save_tiny_bert(tmp_path / "gone", seed=41)
    encoder = Encoder(str(folder))
    encoder.encode(TEXTS)
    (entry,) = (path for path in (own_cache / "models").iterdir() if path.is_dir())
    next(entry.glob("*.blob")).unlink()
    zeros("encoder.bin")(entry)
    assert Encoder.of(encoder.fingerprint).encode(TEXTS).shape == (2, 32)  # converted again
    next(entry.glob("*.blob")).unlink()
    zeros("encoder.bin")(entry)
    folder.rename(tmp_path / "away")
    with pytest.raises(ModelError, match=f"cannot use the converted model '{folder}'") as caught:
        Encoder.of(encoder.fingerprint).encode(TEXTS)
    assert "safetensors" not in str(caught.value)


def test_a_description_is_not_taken_from_another_model(
    own_cache: Path, tiny_model: Path, tmp_path: Path
) -> None:
    cls = save_tiny_bert(tmp_path / "cls", pooling="cls")

    def poolings() -> tuple[str, str]:
        return Encoder(str(tiny_model)).pooling, Encoder(str(cls)).pooling

    assert poolings() == ("mean", "cls")
    first, second = (own_cache / "described").iterdir()
    shutil.copyfile(first, second)
    assert poolings() == ("mean", "cls")
    for path in (first, second):
        text = path.read_text(encoding="utf-8")
        path.write_text(text.replace('"mean"', '"max"').replace('"cls"', '"max"'), encoding="utf-8")
    assert poolings() == ("mean", "cls")


def test_conversion_reports_to_nobody(
    tiny_model: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the program had OpenVINO's tool, which reports its use, before."""
    telemetry = pytest.importorskip("openvino_telemetry")
    for name in [name for name in sys.modules if name.startswith("openvino.tools.ovc")]:
        monkeypatch.delitem(sys.modules, name)
    importlib.import_module("openvino.tools.ovc")
    events: list[object] = []
    for name in ("send_event", "start_session", "end_session"):
        monkeypatch.setattr(
            telemetry.Telemetry, name, lambda *arguments, **more: events.append(arguments)
        )
    Encoder(str(tiny_model), offline=True).encode(["key"])
    assert any(own_cache.rglob("*.bin")) and events == []


@pytest.mark.skipif(os.name == "nt", reason="Windows lets only administrators make symbolic links")
@pytest.mark.parametrize("name", ["models", "models/ENTRY", "models/ENTRY.lock", "described"])
def test_nothing_is_written_or_deleted_through_a_link_in_the_cache(
    whole: tuple[Path, Fingerprint, np.ndarray], entry: Path, own_cache: Path, tmp_path: Path, name: str
) -> None:
    place = own_cache / name.replace("ENTRY", entry.name)
    decoy = tmp_path / "decoy"
    if place.is_dir():
        shutil.copytree(place, decoy)
        shutil.rmtree(place)
    else:
        place.unlink(missing_ok=True)
        decoy.write_text("private", encoding="utf-8")
    place.symlink_to(decoy)
    if name == "models/ENTRY":
        (decoy / "encoder.bin").write_bytes(b"")

    def contents() -> dict[Path, bytes]:
        return {path: path.read_bytes() for path in [decoy, *decoy.rglob("*")] if path.is_file()}

    before = contents()
    sound_encoder(whole)
    Encoder(whole[1].model).encode(TEXTS)
    assert contents() == before
