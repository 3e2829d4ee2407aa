"""`seewhy inspect`."""

import json
from importlib import util
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from search.bert import attention
from tests.bert.conftest import save_tiny
from tests.conftest import Run

drawing = pytest.mark.skipif(
    util.find_spec("matplotlib") is None, reason="the extra 'pictures' is not installed"
)


@pytest.fixture
def run(run: Run, tiny_model: Path) -> Run:
    """Run `seewhy inspect ARGS...` in this process with a tiny model: exit code, stdout, stderr."""

    def command(*args: Any, model: Path = tiny_model) -> tuple[int, str, str]:
        return run("inspect", "--model", model, *args)

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
    """--against takes all words up to the next option."""
    code, out, err = run("--word", "key", "turn the key", "a key", "--against", "lock", "door")
    assert (code, err) == (0, "")
    assert "layer   A ~ B  A ~ lock  B ~ lock  A ~ door  B ~ door" in out
    for args in (
        ["turn the key", "a key", "--against", "lock", "door", "--json", "--word", "key"],
        ["--against", "lock", "--against", "door", "--json", "--word", "key", "--", "turn the key", "a key"],
    ):
        found = json.loads(run(*args)[1])
        assert (found["against"], found["texts"]) == (["lock", "door"], ["turn the key", "a key"])
        assert list(found["layers"]) == ["A ~ B", "A ~ lock", "B ~ lock", "A ~ door", "B ~ door"]
    assert run("--word", "key", "a key", "--against", "lock")[0] == 0


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
        ([], 2, "Missing argument"),
        (["key " * 80], 1, "has 82 tokens, [CLS] and [SEP] included, and"),
        (["key", "--head", "1"], 2, "--head needs --layer"),
        (["key", "--layer", "9"], 1, "has no layer 9. Give one from 1 to 3"),
        (["key", "--layer", "1", "--head", "5"], 1, "has no head 5. Give one from 1 to 4"),
        (["key", "--layer", "0"], 2, "Invalid value for '--layer'"),
        (["key", "--rollout", "--layer", "1", "--head", "1"], 2, "--rollout is of all heads"),
        (["key", "--attention", "--word", "key"], 2, "--attention and --word exclude each other"),
        (["key", "--word", "cat"], 1, "'cat' does not stand in 'key'"),
        (["key", "lock", "--against", "door"], 2, "--against needs --word"),
        (["key", "--word", "key"], 1, "there is nothing to compare"),
        (["key", "lock", "--word", "key"], 1, "'key' does not stand in 'lock'"),
        (["--word", "key", "a key", "--against"], 2, "--against needs a word at least"),
        (["--word", "key", "a key", "the key", "--against", "--json"], 2, "--against needs a word at least"),
        (["key", "--vectors"], 2, "--vectors goes with --json alone"),
        (["key", "--model", "/no/such/folder"], 1, "/no/such/folder"),
        (["key", "--attention", "--html", "no/folder/x.html"], 1, "there is no folder"),
        (["key", "--png", "x.png"], 2, "tables have no picture: --png and --html draw attention (--attention,"),
        (["key", "--word", "key", "--html", "x.html"], 2, "a word in its contexts has no page"),
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
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "model_type": "gpt2"}))
    code, out, err = run("key", model=folder)
    assert (code, out) == (1, "")
    assert "is a model of type 'gpt2'" in err
    assert "albert, bert, camembert, distilbert, electra, mpnet, roberta, xlm-roberta" in err


def test_hostile_text(run: Run) -> None:
    for args in (["a \x1b[31m\u202ekey 🎉 שלום"], ["a \x1b[31m\u202ekey", "--layer", "1"],
                 ["--word", "key", "a \x1b[31m\u202ekey", "key"]):  # fmt: skip
        code, out, _ = run(*args)
        assert code == 0
        assert "\x1b" not in out and "\u202e" not in out
