"""A converted model that is not as it was written is dropped and made again; nothing outside the cache is touched."""

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from search import Fingerprint
from search.encoding import Encoder, cache, engine
from search.encoding.description import KnownModel
from search.encoding.models import find_model
from search.errors import ModelError
from search.files import read_sealed, write_sealed
from tests.conftest import Run, save_tiny_bert

TEXTS = ["find the key", "time and water"]
Damage = Callable[[Path], None]


@pytest.fixture(scope="module")
def whole(tiny_model: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Fingerprint, np.ndarray]:
    """A cache with a converted and compiled model, how it encodes, and what."""
    place = tmp_path_factory.mktemp("whole")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SEEWHY_CACHE", str(place))
        made = Encoder(str(tiny_model))
        return place, made.fingerprint, made.encode(TEXTS)


@pytest.fixture
def entry(
    whole: tuple[Path, Fingerprint, np.ndarray], own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """An entry of the test's own, as a new process finds it; its model is converted once and copied then."""
    shutil.copytree(whole[0], own_cache)
    (found,) = (path for path in (own_cache / "models").iterdir() if path.is_dir())
    source = whole[0] / "models" / found.name

    def copied(known: KnownModel, folder: Path) -> np.ndarray:
        assert known.files.folder == Path(whole[1].model)
        for name in ("encoder.xml", "encoder.bin"):
            shutil.copyfile(source / name, folder / name)
        return np.frombuffer(bytes.fromhex(read_sealed(source / "entry.json")["proof"]), dtype="<f4")

    monkeypatch.setattr("search.encoding.openvino_engine.convert", copied)
    cache.cached_model(*find_model(whole[1].model).hashes)  # its stamps are those of the copy now
    blobs = {path.name: cache._look(path, []) for path in cache._blobs(found)}
    write_sealed(found / "stamps.json", read_sealed(found / "stamps.json") | blobs)
    cache.dropped.clear()
    return found


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


def linked(name: str) -> Damage:
    def damage(entry: Path) -> None:
        shutil.move(entry / name, entry.parent / "elsewhere")
        (entry / name).symlink_to(entry.parent / "elsewhere")

    return damage


def edited(entry: Path) -> None:
    text = (entry / "tokenizer.json").read_text(encoding="utf-8")
    (entry / "tokenizer.json").write_text(text.replace('"key"', '"kex"'), encoding="utf-8")


def fewer_layers(entry: Path) -> None:
    said = (entry / "entry.json").read_text(encoding="utf-8")
    (entry / "entry.json").write_text(said.replace('"layers": 3', '"layers": 2'), encoding="utf-8")


def a_file(entry: Path) -> None:
    shutil.rmtree(entry)
    entry.write_text("x", encoding="utf-8")


def a_pipe(entry: Path) -> None:
    (entry / "entry.json").unlink()
    os.mkfifo(entry / "entry.json")


DAMAGES: dict[str, Damage] = {
    "zeros in the weights": zeros("encoder.bin"),
    "an edited tokenizer": edited,
    "fewer layers": fewer_layers,
    "an empty graph": cut("encoder.xml", 0),
    "a file": a_file,
    "links": linked("encoder.bin"),
    "a pipe": a_pipe,
}


def sound(whole: tuple[Path, Fingerprint, np.ndarray]) -> Encoder:
    """A query's encoder; it encodes as the model did."""
    encoder = Encoder.of(whole[1])
    np.testing.assert_allclose(encoder.encode(TEXTS), whole[2], atol=1e-5)
    return encoder


@pytest.mark.timeout(60)
@pytest.mark.skipif(os.name == "nt", reason="no links and pipes for everybody there")
@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_entry_is_made_again(
    whole: tuple[Path, Fingerprint, np.ndarray], entry: Path, name: str
) -> None:
    DAMAGES[name](entry)
    (listed,) = cache.listed()
    assert "made again" in listed.problem
    encoder = sound(whole)
    assert encoder.engine.name == "openvino"
    (remark,) = encoder.remarks
    assert "was damaged and has been dropped" in remark
    assert not any(model.problem for model in cache.listed())
    cache.dropped.clear()
    assert sound(whole).remarks == ()


def test_what_was_compiled_is_compiled_again(
    whole: tuple[Path, Fingerprint, np.ndarray], entry: Path
) -> None:
    for damage in (zeros("compiled/*.blob"), linked("compiled")):
        damage(entry)
        assert sound(whole).remarks == ()
        (blob,) = (entry / "compiled").iterdir()
        assert blob.stat().st_size > 1000


def test_what_stamps_do_not_tell_the_proof_does(
    whole: tuple[Path, Fingerprint, np.ndarray], entry: Path
) -> None:
    """All files are as they were written; what they compute is not what it was then."""
    content = read_sealed(entry / "entry.json")
    write_sealed(entry / "entry.json", content | {"proof": content["proof"][8:] + content["proof"][:8]})
    assert "a fixed text is encoded otherwise" in sound(whole).remarks[0]
    assert read_sealed(entry / "entry.json")["proof"] == content["proof"]


def test_the_proof_is_what_is_noticed_without_hashes(
    whole: tuple[Path, Fingerprint, np.ndarray], entry: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.rmtree(entry / "compiled")
    zeros("encoder.bin")(entry)
    monkeypatch.setattr(cache, "_require_as_written", lambda *_: None)
    assert "a fixed text is encoded otherwise" in sound(whole).remarks[0]
    zeros("encoder.bin")(entry)
    shutil.rmtree(entry / "compiled")
    monkeypatch.setitem(engine._PROOF_TOLERANCE, "fp32", 9)  # with neither, it would be a wrong answer
    with pytest.raises(AssertionError):
        sound(whole)


def test_a_cache_that_cannot_be_written(whole: tuple[Path, Fingerprint, np.ndarray], own_cache: Path) -> None:
    own_cache.write_text("a file", encoding="utf-8")
    encoder = sound(whole)
    (remark,) = encoder.remarks
    assert remark.startswith("PyTorch encodes instead of OpenVINO: its converted form cannot be kept in ")
    assert "SEEWHY_CACHE" in remark
    with pytest.raises(ModelError, match="SEEWHY_CACHE"):
        Encoder(whole[1].model, engine="openvino").encode(TEXTS)
    assert cache.listed() == []


def test_without_the_model_itself_it_is_named(tmp_path: Path, own_cache: Path) -> None:
    folder = save_tiny_bert(tmp_path / "gone", seed=41)
    made = Encoder(str(folder))
    made.encode(TEXTS)
    entry = cache.entry_folder(*made.files.hashes)
    cut("encoder.bin", 7)(entry)
    assert Encoder.of(made.fingerprint).encode(TEXTS).shape == (2, 32)  # converted anew
    folder.rename(tmp_path / "away")
    content = read_sealed(entry / "entry.json")
    write_sealed(entry / "entry.json", content | {"proof": content["proof"][8:] + content["proof"][:8]})
    with pytest.raises(ModelError, match=f"the converted model of '{folder}' cannot be used") as caught:
        Encoder.of(made.fingerprint).encode(TEXTS)
    assert "safetensors" not in str(caught.value)


@pytest.mark.skipif(os.name == "nt", reason="Windows lets only administrators make symbolic links")
@pytest.mark.parametrize(
    "name", ["models", "models/ENTRY", "models/ENTRY/compiled", "models/ENTRY.lock", "described"]
)
def test_nothing_is_followed_out_of_the_cache(
    whole: tuple[Path, Fingerprint, np.ndarray], entry: Path, own_cache: Path, tmp_path: Path, name: str
) -> None:
    place = own_cache / name.replace("ENTRY", entry.name)
    decoy = tmp_path / "decoy"
    if place.is_dir():
        shutil.copytree(place, decoy)
        shutil.rmtree(place)
    else:
        place.unlink()
        decoy.write_text("private", encoding="utf-8")
    place.symlink_to(decoy)
    if name == "models/ENTRY":
        (decoy / "encoder.bin").write_bytes(b"")
    before = {path: path.read_bytes() for path in [decoy, *decoy.rglob("*")] if path.is_file()}
    sound(whole)
    Encoder(whole[1].model).encode(TEXTS)
    for model in cache.listed():
        cache.remove(model)
    assert {path: path.read_bytes() for path in [decoy, *decoy.rglob("*")] if path.is_file()} == before


def test_what_others_keep_in_an_entry_stays(
    whole: tuple[Path, Fingerprint, np.ndarray], entry: Path, own_cache: Path
) -> None:
    (entry / "encoder.bin").unlink()
    (entry / "encoder.bin").mkdir()
    (entry / "encoder.bin" / "private.txt").write_text("private", encoding="utf-8")
    (entry / "private.txt").write_text("private", encoding="utf-8")
    sound(whole)
    assert len(list(own_cache.rglob("private.txt"))) == 2


def test_seewhy_models_lists_and_removes_damaged_ones(run: Run, entry: Path) -> None:
    cut("encoder.bin", 7)(entry)
    code, out, err = run("models")
    assert (code, err) == (0, "")
    assert "Not used: encoder.bin is not what was written; it is made again when it is needed" in " ".join(
        out.split()
    )
    assert run("models", "--remove", entry.name)[0] == 0
    assert not entry.exists()


def test_what_is_said_of_a_model_is_not_taken_from_another(
    own_cache: Path, tiny_model: Path, tmp_path: Path
) -> None:
    cls = save_tiny_bert(tmp_path / "cls", pooling="cls")
    assert (Encoder(str(tiny_model)).pooling, Encoder(str(cls)).pooling) == ("mean", "cls")
    one, two = (own_cache / "described").iterdir()
    shutil.copyfile(one, two)
    assert (Encoder(str(tiny_model)).pooling, Encoder(str(cls)).pooling) == ("mean", "cls")
    for path in (one, two):
        path.write_text(
            path.read_text(encoding="utf-8").replace('"mean"', '"max"').replace('"cls"', '"max"'),
            encoding="utf-8",
        )
    assert (Encoder(str(tiny_model)).pooling, Encoder(str(cls)).pooling) == ("mean", "cls")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes there")
@pytest.mark.timeout(30)
@pytest.mark.parametrize(
    "name", ["model.safetensors", "modules.json", "README.md", "1_Pooling/more.safetensors"]
)
def test_a_pipe_among_a_models_files(tmp_path: Path, name: str) -> None:
    folder = save_tiny_bert(tmp_path / "model")
    (folder / name).unlink(missing_ok=True)
    os.mkfifo(folder / name)
    with pytest.raises(ModelError, match="neither a file nor a folder"):
        find_model(str(folder))
    (folder / name).unlink()
    (folder / name).symlink_to("/dev/zero")
    with pytest.raises(ModelError, match="neither a file nor a folder"):
        find_model(str(folder))


def test_damage_is_noticed_by_a_process_of_its_own(
    whole: tuple[Path, Fingerprint, np.ndarray], entry: Path
) -> None:
    """What was loaded before plays no part: torch and transformers are not even imported for a sound entry."""
    import json
    import subprocess

    code = (
        "import json, sys\nfrom search import Encoder, Fingerprint\n"
        "e = Encoder.of(Fingerprint.from_dict(json.loads(sys.argv[1]))); e.encode(['key'])\n"
        "print(e.remarks, 'torch' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, json.dumps(whole[1].as_dict())],
        capture_output=True,
        text=True,
        check=True,
        encoding="utf-8",
    )
    assert done.stdout.strip() == "() False"
