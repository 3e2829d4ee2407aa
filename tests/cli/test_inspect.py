"""`seewhy lab inspect`."""

import json
from importlib import util
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from search.bert import attention, in_contexts, inspect, parameters, work_through
from tests.bert.conftest import save_tiny
from tests.conftest import Run

drawing = pytest.mark.skipif(
    util.find_spec("matplotlib") is None, reason="the extra 'pictures' is not installed"
)


@pytest.fixture
def run(run: Run, tiny_model: Path) -> Run:
    """Run `seewhy lab inspect ARGS...` in this process with a tiny model: exit code, stdout, stderr."""

    def command(*args: Any, model: Path = tiny_model) -> tuple[int, str, str]:
        return run("lab", "inspect", "--model", model, *args)

    return command


def test_one_text_and_a_pair(run: Run) -> None:
    code, out, err = run("turn the keys")
    assert (code, err) == (0, "")
    assert "keys is no entry: key ##s" in out
    assert "differs from the model's own output by at most" in out
    found = json.loads(run("turn the keys", "a door", "--json")[1])
    assert [token["text"] for token in found["tokens"]][-3:] == ["a", "door", "[SEP]"]
    assert found["tokens"][-1]["segment"] == 1
    assert found["embedding"]["difference"] < 1e-6
    whole = json.loads(run("turn the keys", "--json", "--vectors")[1])
    assert np.shape(whole["hidden_states"]) == (4, 6, 32)


def test_attention(run: Run, tiny_model: Path) -> None:
    code, out, _ = run("turn the key", "--attention")
    assert code == 0
    assert (
        out.startswith("Attention of 3 layers with 4 heads each") and "--png and --html draw them all" in out
    )
    assert run("turn the key", "--layer", 2)[1].startswith("Attention in layer 2, mean of 4 heads")
    assert run("turn the key", "--layer", 2, "--head", 4)[1].startswith("Attention in layer 2, head 4")
    assert run("turn the key", "--rollout")[1].startswith("Attention rollout, layers 1 to 3")
    expected = attention("turn the key", model=str(tiny_model))
    found = json.loads(run("turn the key", "--layer", 2, "--head", 4, "--json")[1])
    np.testing.assert_allclose(found["weights"], expected.matrix(2, 4), atol=1e-6)
    rolled = json.loads(run("turn the key", "--rollout", "--layer", 2, "--json")[1])
    np.testing.assert_allclose(rolled["weights"], expected.rollout(2), atol=1e-6)
    assert np.shape(json.loads(run("turn the key", "--attention", "--json")[1])["weights"]) == (3, 4, 5, 5)


def test_a_word_in_two_contexts(run: Run) -> None:
    code, out, err = run("--word", "key", "turn the key", "a key", "--against", "lock", "--against", "door")
    assert (code, err) == (0, "")
    assert "layer   A ~ B  A ~ lock  B ~ lock  A ~ door  B ~ door" in out
    for args in (
        ["turn the key", "a key", "--against", "lock", "--against", "door", "--json", "--word", "key"],
        ["--against", "lock", "--against", "door", "--json", "--word", "key", "--", "turn the key", "a key"],
    ):
        found = json.loads(run(*args)[1])
        assert (found["against"], found["texts"]) == (["lock", "door"], ["turn the key", "a key"])
        assert list(found["layers"]) == ["A ~ B", "A ~ lock", "B ~ lock", "A ~ door", "B ~ door"]
    assert run("--word", "key", "a key", "--against", "lock")[0] == 0


def test_words_in_their_own_sentences(run: Run, tiny_model: Path) -> None:
    """--word twice: the first of TEXT, the second of TEXT2."""
    code, out, err = run("turn the key", "a lock", "--word", "key", "--word", "lock", "--against", "a door")
    assert (code, err) == (0, "")
    assert "Cosines of 'key' in A and 'lock' in B" in out
    assert "The vector of 'a door' is the mean of its 2 tokens." in " ".join(out.split())
    found = json.loads(run("turn the key", "a lock", "--word", "key", "--word", "lock", "--json")[1])
    known = in_contexts(["key", "lock"], ["turn the key", "a lock"], model=str(tiny_model))
    np.testing.assert_allclose(found["layers"]["A ~ B"], known.between[:, 0, 1], atol=1e-6)


def test_one_head_worked_through(run: Run, tiny_model: Path) -> None:
    where = ["turn the key", "--layer", 2, "--head", 3, "--token", "key"]
    known = work_through("turn the key", layer=2, head=3, token="key", model=str(tiny_model))
    code, out, err = run(*where, "--values", 2)
    assert (code, err) == (0, "")
    assert out.startswith("Layer 2, head 3: what 'key' (token 3) reads")
    for i, token in enumerate(known.tokens):
        scores = f"{known.products[i]:.3f}", f"{known.scaled[i]:.3f}", f"{known.weights[i]:.4f}"
        assert any(line.split()[:5] == [str(i), token.text, *scores] for line in out.splitlines())
    assert "differ from those that the model returns by at most" in " ".join(out.split())
    assert (
        len([line for line in out.splitlines() if line.startswith(("q ", "v ", "sum ")) and "..." in line])
        == 7
    )
    found = json.loads(run(*where[:-1], "3", "--json")[1])
    np.testing.assert_allclose(found["output"], known.output, atol=1e-6)
    assert found["difference"] < 1e-6


def test_equal_rows(run: Run) -> None:
    code, out, err = run("turn the key", "find the lock", "--equal-rows")
    assert (code, err) == (0, "")
    assert "Equal rows in layer 0, where entry and place are the same: 0 [CLS], 2 the, 4 [SEP]." in " ".join(
        out.split()
    )
    found = json.loads(run("turn the key", "find the lock", "--equal-rows", "--json")[1])
    assert np.array(found["equal"])[:, found["parts"].index("layer 0")].tolist() == [
        True,
        False,
        True,
        False,
        True,
    ]


def test_the_model_itself(run: Run, tiny_model: Path) -> None:
    known = parameters(str(tiny_model))
    code, out, err = run("--parameters")
    assert (code, err) == (0, "")
    said = f"{len(known.tensors)} tensors, {known.parameters:,} numbers, float32"
    assert "".join(said.split()) in "".join(out.split())  # lines wrap, the name of the model is a path
    assert "encoder.layer.0-2.attention.self.query.weight 32 x 32 3 x 1,024" in " ".join(out.split())
    lines = run("--parameters", "--all")[1].splitlines()
    assert [line.split()[0] for line in lines[-len(known.tensors) :]] == list(known.arrays)
    (row,) = (
        one
        for one in json.loads(run("--parameters", "--json")[1])["tensors"]
        if "pooler.dense.b" in one["name"]
    )
    assert row == {
        "name": "pooler.dense.bias",
        "shape": [32],
        "dtype": "float32",
        "layer": None,
        "parameters": 32,
    }
    assert "0-2  3 x BertLayer" in run("--modules")[1]
    assert json.loads(run("--modules", "--json")[1])["kind"] == "BertModel"


def test_first_values(run: Run, tiny_model: Path) -> None:
    out = run("turn the key", "--values", 3)[1]
    found = inspect("turn the key", model=str(tiny_model))
    for rows in (found.embedding.words, found.states[0], found.states[-1]):
        assert " ".join(f"{value:.4f}" for value in rows[3][:3]) + " ..." in out
    assert "First values" not in run("turn the key")[1]
    assert "First values: 32 of 32" in run("turn the key", "--values", 10**30)[1]


def test_whole_tensors(run: Run, tiny_model: Path, tmp_path: Path) -> None:
    name, one, all_ = str(tiny_model), tmp_path / "a.npy", tmp_path / "a.npz"
    code, out, err = run("turn the key", "--save", one)
    assert (code, out, err) == (0, "", f"wrote {one}: hidden_states (4, 5, 32)\n")
    states = inspect("turn the key", model=name).states
    np.testing.assert_array_equal(np.load(one), states)
    assert run("turn the key", "--save", all_)[2].startswith(
        f"wrote {all_}: input_ids, token_type_ids, word_emb"
    )
    np.testing.assert_array_equal(np.load(all_)["hidden_states"], states)
    assert np.load(all_)["pooler_output"].shape == (32,)
    run("--parameters", "--save", all_)
    assert dict(np.load(all_)).keys() == parameters(name).arrays.keys()
    assert run("--parameters", "--save", one)[2] == (
        f"seewhy: '{one}' holds one array, and there are {len(parameters(name).tensors)}. Save them as .npz.\n"
    )
    weights = attention("turn the key", model=name)
    for options, expected in (
        (["--attention"], weights.weights),
        (["--layer", 2], weights.matrix(2)),
        (["--layer", 2, "--head", 1], weights.matrix(2, 1)),
        (["--rollout"], weights.rollout()),
        (["--layer", 1, "--head", 1, "--token", 0], weights.matrix(1, 1)[0]),
    ):
        assert run("turn the key", *options, "--save", one)[0] == 0
        np.testing.assert_allclose(np.load(one), expected, atol=1e-6)
    assert run("turn the key", "a lock", "--equal-rows", "--save", one)[0] == 0
    assert np.load(one).shape == (4, 7)


@drawing
def test_files(run: Run, tmp_path: Path) -> None:
    png, html = tmp_path / "a.png", tmp_path / "a.html"
    for args in (
        ["turn the key", "--attention"],
        ["turn the key", "--layer", "2"],
        ["turn the key", "--rollout"],
    ):
        code, out, err = run(*args, "--png", png, "--html", html)
        assert (code, out, err) == (0, "", f"wrote {png}\nwrote {html}\n")
        assert png.read_bytes().startswith(b"\x89PNG")
        assert html.read_text(encoding="utf-8").startswith("<!doctype html>")
        png.unlink()
        html.unlink()
    assert run("--word", "key", "turn the key", "a key", "--png", png) == (0, "", f"wrote {png}\n")
    code, out, err = run("turn the key", "--attention", "--png", png, "--json", "-q")
    assert (code, err) == (0, "")
    assert json.loads(out)["texts"] == ["turn the key"]


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        ([""], 1, "the text is empty"),
        ([], 2, "Missing argument: give a text, or --parameters or --modules"),
        (["key", "--modules"], 2, "--modules is about the model alone: leave the text out"),
        (["--modules", "--parameters"], 2, "--parameters and --modules exclude each other"),
        (["--modules", "--save", "x.npz"], 2, "--save goes with a text or --parameters or"),
        (["key", "--save", "x.txt"], 1, "'x.txt' is not a NumPy file. End it with .npz"),
        (["key", "--save", "no/folder/x.npz"], 1, "there is no folder"),
        (["key", "--all"], 2, "--all goes with --parameters or --modules alone"),
        (["key", "--attention", "--values", "3"], 2, "--values goes with a text or --parameters or --token alone"),
        (["key", "--equal-rows"], 2, "--equal-rows compares two texts"),
        (["key", "--equal-rows", "--word", "key"], 2, "--word and --equal-rows exclude each other"),
        (["key", "--token", "key"], 2, "--token needs --layer and --head"),
        (["key", "--token", "key", "--layer", "1", "--head", "1", "--rollout"], 2, "--rollout is of all heads"),
        (["key", "--token", "key", "--layer", "9", "--head", "1"], 1, "has no layer 9. Give one from 1 to 3"),
        (["key", "lock", "--word", "key", "--word", "lock", "--word", "a"], 1, "words: 3, texts: 2. Give"),
        (["key " * 80], 1, "has 82 tokens, [CLS] and [SEP] included, and"),
        (["key", "--head", "1"], 2, "--head needs --layer"),
        (["key", "--layer", "9"], 1, "has no layer 9. Give one from 1 to 3"),
        (["key", "--layer", "1", "--head", "5"], 1, "has no head 5. Give one from 1 to 4"),
        (["key", "--layer", "0"], 2, "Invalid value for '--layer'"),
        (["key", "--rollout", "--layer", "1", "--head", "1"], 2, "--rollout is of all heads"),
        (["key", "--attention", "--word", "key"], 2, "--attention and --word exclude each other"),
        (["key", "--word", "cat"], 1, "'cat' does not stand in 'key'"),
        (["key", "lock", "--against", "door"], 2, "--against goes with --word alone"),
        (["key", "--word", "key"], 1, "there is nothing to compare"),
        (["key", "lock", "--word", "key"], 1, "for each text, in their order: --word key --word snake"),
        (["--word", "key", "a key", "--against"], 2, "'--against' requires an argument"),
        (["key", "--vectors"], 2, "--vectors goes with --json alone"),
        (["key", "--model", "/no/such/folder"], 1, "/no/such/folder"),
        (["key", "--attention", "--html", "no/folder/x.html"], 1, "there is no folder"),
        (["key", "--png", "x.png"], 2, "tables have no picture: --png and --html draw attention (--attention,"),
        (["key", "--word", "key", "--html", "x.html"], 2, "words in their contexts have no page"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_said(run: Run, args: list[str], code: int, message: str) -> None:
    found, out, err = run(*args)
    assert (found, out) == (code, "")
    assert message in " ".join(err.replace("│", " ").split())
    assert "Traceback" not in err


def test_a_text_that_is_too_long_for_a_page(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("search.render.page.MOST_WEIGHTS", 100)
    code, _, err = run("turn the key", "--attention", "--html", tmp_path / "x.html")
    assert code == 1
    assert "300 weights are more than the 100 that a page can hold" in err
    assert not list(tmp_path.iterdir())


def test_models_that_cannot_be_taken_apart(run: Run, tmp_path: Path) -> None:
    folder = save_tiny(tmp_path / "m", "bert")
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    (folder / "config.json").write_text(json.dumps({**config, "model_type": "gpt2"}), encoding="utf-8")
    code, out, err = run("key", model=folder)
    assert (code, out) == (1, "")
    assert "is a model of type 'gpt2'" in err
    assert "albert, bert, camembert, distilbert, electra, mpnet, roberta, xlm-roberta" in err
    for args in (["--parameters"], ["--modules"], ["key", "--layer", "1", "--head", "1", "--token", "key"]):
        assert run(*args, model=folder) == (1, "", err.splitlines()[-1] + "\n")


def test_hostile_text(run: Run) -> None:
    for args in (["a \x1b[31m\u202ekey 🎉 שלום"], ["a \x1b[31m\u202ekey", "--layer", "1"],
                 ["--word", "key", "a \x1b[31m\u202ekey", "key"], ["a \x1b[31m\u202ekey", "key", "--equal-rows"],
                 ["a \x1b[31m\u202ekey", "--layer", "1", "--head", "1", "--token", "a", "--values", "3"]):  # fmt: skip
        code, out, _ = run(*args)
        assert code == 0
        assert "\x1b" not in out and "\u202e" not in out
