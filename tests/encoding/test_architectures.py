"""Models of many architectures, with random weights: by name, the same embeddings as sentence-transformers,
exact sums, and offsets in any script."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import search
from search import Encoder
from search.errors import InputError, ModelError
from tests.conftest import Run
from tests.encoding import zoo

# Models that OpenVINO cannot run, and why.
ONLY_PYTORCH = {
    "bert-mean+max": "the pooling mean+max",
    "bert-dense-gelu": "a Dense module with GELU",
    "bert-layernorm": "a module LayerNorm",
    "bert-layers": "a module WeightedLayerPooling",
    "gemma3": "cannot convert",
}


@pytest.mark.parametrize("name", zoo.MODELS)
def test_a_model_is_indexed_by_name_and_explained_exactly(tmp_path: Path, run: Run, name: str) -> None:
    model = zoo.save(name, tmp_path)
    path = str(tmp_path / "model")
    encoder = Encoder(path)
    for role, encode, texts in (
        ("document", model.encode_document, zoo.TEXTS),
        ("query", model.encode_query, zoo.QUERIES),
    ):
        reference = encode(texts, normalize_embeddings=True)
        embeddings = encoder.encode(texts, role=role, truncate=True)  # type: ignore[arg-type]
        np.testing.assert_allclose(embeddings, reference, atol=1e-5, err_msg=role)
        if name in ONLY_PYTORCH:
            assert encoder.engine.name == "torch" and ONLY_PYTORCH[name] in encoder.engine.instead
        else:
            assert encoder.engine.name == ("static" if name.startswith("static") else "openvino")
        for text in texts[:3]:
            assert_offsets_cover(encoder, text, role)

    folder, index = tmp_path / "texts", str(tmp_path / "index")
    folder.mkdir()
    for number, text in enumerate(zoo.TEXTS):
        (folder / f"{number}.txt").write_text(text, encoding="utf-8")
    code, _, err = run("index", str(folder), "-i", index, "--model", path, "-q")
    assert code == 0, err
    code, out, err = run("query", zoo.QUERIES[1], "-i", index, "--json")
    assert code == 0 and len(json.loads(out)) >= 3, err

    opened = search.Index.open(index)
    for mode in ("dense", "hybrid"):
        for hit in opened.query(zoo.QUERIES[1], k=3, mode=mode):  # type: ignore[arg-type]
            why = opened.explain(zoo.QUERIES[1], hit)
            assert abs(why.residual) < 1e-5
            for side in ("query", "passage"):
                rows = why.layers(side).sum(axis=1)  # type: ignore[arg-type]
                np.testing.assert_allclose(rows, why.cosine, atol=1e-5, err_msg=f"layers of the {side}")


def assert_offsets_cover(encoder: Encoder, text: str, role: str) -> None:
    """Every character but spaces belongs to a token, and no token leaves the text."""
    (read,) = encoder.inputs([text], role=role)  # type: ignore[arg-type]
    spans = [(token.start, token.end) for token in read.tokens if token.part == "text"]
    assert all(0 <= start <= end <= len(text) for start, end in spans)
    covered = {position for start, end in spans for position in range(start, end)}
    assert {i for i, char in enumerate(text) if not char.isspace()} <= covered


def test_a_static_model_needs_neither_pytorch_nor_openvino(tmp_path: Path) -> None:
    import subprocess
    import sys

    zoo.save("static-normalized", tmp_path)
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "a.txt").write_text(zoo.TEXTS[3], encoding="utf-8")
    program = (
        "import sys, search\n"
        "index = search.Index.build('texts', index='index', model='model')\n"
        "why = index.explain('which badge', index.query('which badge')[0])\n"
        "assert abs(why.residual) < 1e-6, why.residual\n"
        "assert not {'torch', 'openvino', 'transformers'} & sys.modules.keys()\n"
    )
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=True)


def test_a_text_without_tokens_of_a_static_model_has_a_cosine_of_zero(tmp_path: Path) -> None:
    zoo.save("static", tmp_path)
    encoder = Encoder(str(tmp_path / "model"))
    embeddings = encoder.encode(["", "the badge"])
    assert not embeddings[0].any() and embeddings[1].any()
    assert search.similarity(["", "the badge"], model=str(tmp_path / "model"))[0, 1] == 0


def test_a_model2vec_folder_is_a_static_model(tmp_path: Path) -> None:
    """With weights of tokens, shared vectors, and half precision."""
    from safetensors.numpy import save_file

    rng = np.random.default_rng(0)
    tokenizer = zoo.tokenizer("wordpiece")
    size = tokenizer.get_vocab_size()
    rows = rng.normal(size=(50, 16)).astype(np.float16)
    mapping, weights = rng.integers(0, 50, size), rng.uniform(0.1, 1, size)
    folder = tmp_path / "potion"
    folder.mkdir()
    save_file({"embeddings": rows, "mapping": mapping, "weights": weights}, folder / "model.safetensors")
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "config.json").write_text(
        '{"model_type": "model2vec", "normalize": true}', encoding="utf-8"
    )
    encoder = Encoder(str(folder))
    ids = tokenizer.encode("the badge opens", add_special_tokens=False).ids
    mean = (rows.astype(np.float64)[mapping[ids]] * weights[ids][:, None]).mean(axis=0)
    np.testing.assert_allclose(
        encoder.encode(["the badge opens"])[0], mean / np.linalg.norm(mean), atol=1e-5
    )


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"model_type": "new-kind", "auto_map": {"AutoModel": "code.Model"}}, "needs code of its own"),
        ({"model_type": "new-kind"}, "which transformers does not know"),
    ],
)
def test_a_model_with_code_of_its_own_says_which_way_is_left(
    tmp_path: Path, change: dict[str, object], problem: str
) -> None:
    zoo.save("bert", tmp_path)
    config = tmp_path / "model" / "config.json"
    config.write_text(json.dumps(json.loads(config.read_text()) | change), encoding="utf-8")
    with pytest.raises(ModelError, match=f"{problem}.*Index.build.*encoder=.*SentenceTransformer"):
        Encoder(str(tmp_path / "model"))


def test_an_unsupported_module_says_which_way_is_left(tmp_path: Path) -> None:
    zoo.save("bert", tmp_path)
    modules = tmp_path / "model" / "modules.json"
    modules.write_text(modules.read_text().replace("Pooling", "CNN"), encoding="utf-8")
    with pytest.raises(ModelError, match=r"unsupported module .*CNN.*encoder="):
        Encoder(str(tmp_path / "model"))


def test_the_pooling_of_queries_is_in_the_fingerprint_of_a_router(tmp_path: Path) -> None:
    zoo.save("router-of-two", tmp_path)
    before = Encoder(str(tmp_path / "model")).fingerprint
    config = tmp_path / "model" / "query_1_Pooling" / "config.json"
    config.write_text(config.read_text().replace('"mean"', '"cls"'), encoding="utf-8")
    assert Encoder(str(tmp_path / "model")).fingerprint.differences(before)


def test_a_part_of_a_router_keeps_its_own_name(tmp_path: Path) -> None:
    """An index that is not one's own finds a model by its hash."""
    zoo.save("static", tmp_path / "plain")
    plain = Encoder(str(tmp_path / "plain" / "model"))
    zoo.save("router", tmp_path / "routed")
    Encoder(str(tmp_path / "routed" / "model"))
    again = Encoder.of(plain.fingerprint, trusted=False)
    assert again.model == plain.model


def test_a_router_with_other_routes_is_refused(tmp_path: Path) -> None:
    zoo.save("router", tmp_path)
    config = tmp_path / "model" / "router_config.json"
    values = json.loads(config.read_text())
    values["types"]["image_0"] = "mine.Module"
    values["structure"]["image"] = ["image_0"]
    config.write_text(json.dumps(values), encoding="utf-8")
    with pytest.raises(ModelError, match="unsupported Router .*a route 'image'"):
        Encoder(str(tmp_path / "model"))


def test_a_static_model_has_one_pooling_and_one_precision(tmp_path: Path) -> None:
    zoo.save("static", tmp_path)
    with pytest.raises(InputError, match="its pooling is always 'mean'"):
        Encoder(str(tmp_path / "model"), pooling="cls")
    assert Encoder(str(tmp_path / "model"), precision="bf16").fingerprint.precision == "fp32"


def test_a_model_that_mixes_layers_has_no_other_mix(tmp_path: Path) -> None:
    zoo.save("bert-layers", tmp_path)
    with pytest.raises(InputError, match="mixes layers itself"):
        Encoder(str(tmp_path / "model"), layer="mean:2")


@pytest.mark.parametrize("prompts", ["[]", "no json", '{"query": 5}'])
def test_prompts_that_are_none_are_damage(tmp_path: Path, prompts: str) -> None:
    from search.errors import IndexDamaged
    from search.store.settings import fingerprint_of

    zoo.save("static", tmp_path)
    values = vars(Encoder(str(tmp_path / "model")).fingerprint)
    with pytest.raises(IndexDamaged):
        fingerprint_of({"fingerprint": values | {"prompts": prompts}})
