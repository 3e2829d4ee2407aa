"""`seewhy lab inspect`: text, JSON, arrays, pictures and pages, and what is refused."""

import json
import re
from importlib import util
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from search.bert import in_contexts, inspect, modules, parameters, work_through
from tests.conftest import Run
from tests.lab.bert.conftest import save_tiny

EVIL = "<script>a()</script> <img src=x onerror=b()> שלום 🎉 \x1b[31m\x00 \u202e&amp; keys"
drawing = pytest.mark.skipif(
    util.find_spec("matplotlib") is None, reason="the extra 'pictures' is not installed"
)


@pytest.fixture
def run(run: Run, tiny_model: Path) -> Run:
    """Run `seewhy lab inspect ARGS...` in this process with a tiny model: exit code, stdout, stderr."""

    def command(*args: Any, model: Path = tiny_model) -> tuple[int, str, str]:
        return run("lab", "inspect", "--model", model, *args)

    return command


def lines_of(out: str) -> list[str]:
    return [" ".join(line.split()) for line in out.splitlines()]


def test_a_pair_of_texts_is_printed_layer_by_layer(run: Run, tiny_model: Path) -> None:
    code, out, err = run("Turn the keys ☃", "a door")
    assert (code, err) == (0, "")
    inspection, lines = inspect("Turn the keys ☃", "a door", model=str(tiny_model)), lines_of(out)
    assert "Tokens: 10, 3 of them special" in lines
    assert f"3 key {inspection.tokens[3].id} 9-12 2 0 1" in lines
    assert any(line.startswith("8 door ") and line.endswith(" 2-6 1 1 1") for line in lines)
    assert "keys is not in the vocabulary: key ##s" in lines and "unknown words: ☃" in lines
    assert "Embedding layer: word, position, segment, sum, LayerNorm" in lines
    assert any(
        line.startswith(f"3 key {np.linalg.norm(inspection.embedding.parts['word'][3]):.3f} ")
        for line in lines
    )
    assert "Hidden states: 4 x 10 tokens x 32 dimensions" in lines
    first = np.linalg.norm(inspection.states[0].astype(float), axis=1)
    assert any(line.startswith(f"0 {first[0]:.3f} {first.mean():.3f}") for line in lines)
    assert (
        f"Parameters: {inspection.model.parameters:,} in {inspection.model.tensors} tensors"
        in " ".join(lines)
    )
    out = run("turn the key", "--values", 3)[1]
    single = inspect("turn the key", model=str(tiny_model))
    for rows in (single.embedding.parts["word"], single.states[0], single.states[-1]):
        assert " ".join(f"{value:.4f}" for value in rows[3][:3]) + " ..." in out
    assert "First values: 32 of 32" in run("turn the key", "--values", 10**30)[1]


def test_json_has_the_figures_of_the_inspection(run: Run, tiny_model: Path) -> None:
    inspection = inspect("turn the keys", "a door", model=str(tiny_model))
    output = json.loads(run("turn the keys", "a door", "--json")[1])
    assert [token["id"] for token in output["tokens"]] == [token.id for token in inspection.tokens]
    assert output["tokens"][-1]["segment"] == 1
    assert output["embedding"]["difference"] < 1e-6 and output["pooler"]["difference"] < 1e-6
    assert output["model"]["parameters"] == inspection.model.parameters
    assert "hidden_states" not in output
    states = inspection.states.astype(float)
    unit = states / np.linalg.norm(states, axis=2, keepdims=True)
    cosines = (unit[1:] * unit[:-1]).sum(axis=2)
    np.testing.assert_allclose(output["cosines_to_layer_before"], cosines.T, atol=1e-6)
    for layer, row in enumerate(output["states"]):
        if layer:
            assert row["cosine_to_layer_before"] == pytest.approx(cosines[layer - 1].mean())
    whole = json.loads(run("turn the keys", "a door", "--json", "--vectors")[1])
    np.testing.assert_allclose(whole["hidden_states"], inspection.states, atol=1e-7)
    np.testing.assert_allclose(whole["embedding"]["sum"], inspection.embedding.parts["sum"])


def test_attention_is_printed_by_layer_and_head(run: Run, tiny_model: Path) -> None:
    expected = inspect("turn the key", model=str(tiny_model)).attention
    for options, title, matrix in (
        (["--attention", "--layer", 2], "Attention in layer 2, mean of 4 heads", expected.matrix(2)),
        (["--layer", 2, "--head", 4], "Attention in layer 2, head 4", expected.matrix(2, 4)),
    ):
        out = run("turn the key", *options)[1]
        assert out.startswith(title) and "Rows sum to 1" in out and "Jain & Wallace 2019" in out
        numbers = [float(number) for number in re.findall(r"\d\.\d\d\b", out.partition("Every row")[0])]
        np.testing.assert_allclose(numbers, matrix.ravel(), atol=0.00501)
        output = json.loads(run("turn the key", *options, "--json")[1])
        np.testing.assert_allclose(output["weights"], matrix, atol=1e-6)
    assert np.shape(json.loads(run("turn the key", "--attention", "--json")[1])["weights"]) == (
        3,
        4,
        5,
        5,
    )
    assert run("turn the key", "--attention")[1] == run("turn the key", "--layer", 3)[1]


def test_cosines_of_words_in_contexts_are_printed(run: Run, tiny_model: Path) -> None:
    args = ["turn the key", "a lock", "--word", "key", "--word", "lock", "--against", "a door"]
    contexts = in_contexts(["key", "lock"], ["turn the key", "a lock"], ["a door"], model=str(tiny_model))
    code, out, err = run(*args)
    assert (code, err) == (0, "")
    assert "A  turn the key\nB  a lock" in out and "layer A ~ B A ~ a door B ~ a door" in lines_of(out)
    cosines = contexts.between[3, 0, 1], contexts.others[3, 0, 0], contexts.others[3, 1, 0]
    assert f"3 {' '.join(f'{cosine:.4f}' for cosine in cosines)}" in lines_of(out)
    assert "Cosines of 'key' in A and 'lock' in B" in out
    output = json.loads(run(*args, "--json")[1])
    np.testing.assert_allclose(output["layers"]["A ~ B"], contexts.between[:, 0, 1], atol=1e-6)
    assert list(output["layers"]) == ["A ~ B", "A ~ a door", "B ~ a door"]


def test_one_head_is_worked_through(run: Run, tiny_model: Path) -> None:
    where = ["turn the key", "--layer", 2, "--head", 3, "--token"]
    work = work_through("turn the key", layer=2, head=3, token="key", model=str(tiny_model))
    code, out, err = run(*where, "key")
    assert (code, err) == (0, "")
    assert out.startswith("Layer 2, head 3: weights of 'key' (token 3)")
    for i, token in enumerate(work.tokens):
        scores = f"{work.products[i]:.3f}", f"{work.scaled[i]:.3f}", f"{work.weights[i]:.4f}"
        assert any(line.split()[:5] == [str(i), token.text, *scores] for line in out.splitlines())
    output = json.loads(run(*where, "3", "--json")[1])
    np.testing.assert_allclose(output["output"], work.output, atol=1e-6)
    assert output["difference"] < 1e-6


def test_equal_rows_are_marked(run: Run) -> None:
    code, out, err = run("turn the key", "find the lock", "--equal-rows")
    assert (code, err) == (0, "")
    table = [line.split() for line in out.splitlines()[3:9]]
    assert table[0] == [
        "#",
        "A",
        "B",
        "word",
        "position",
        "segment",
        "layer",
        "0",
        "layer",
        "1",
        "layer",
        "3",
    ]
    assert table[1][:7] == ["0", "[CLS]", "[CLS]", "=", "=", "=", "="] and table[2][3] != "="
    cosines = json.loads(run("turn the key", "find the lock", "--equal-rows", "--json")[1])["cosines"]
    assert [cosine > 1 - 1e-9 for cosine in cosines["layer 0"]] == [True, False, True, False, True]


def test_a_padded_batch_and_positions_are_printed(run: Run, tmp_path: Path) -> None:
    lines = lines_of(run("turn the key", "find the door and the keys", "--batch")[1])
    assert next(line for line in lines if line.startswith("7 ")).startswith("7 [PAD] 0 0 ##s")
    assert any(line.startswith("With mask 0, padding changes no vector") for line in lines)
    lines = lines_of(run("--positions")[1])
    assert lines[0] == "64 positions, 32 dimensions" and lines[3].split()[0] == "1"
    assert run("--positions", "--png", tmp_path / "p.png")[0] == 0
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")


def test_several_layers_are_shown_together(run: Run, tmp_path: Path, tiny_model: Path) -> None:
    out = run("turn the key", "--layer", 1, "--layer", 3, "--head", 2)[1]
    assert "Attention in layer 1, head 2" in out and "Attention in layer 3, head 2" in out
    output = json.loads(run("turn the key", "--layer", 1, "--layer", 3, "--json")[1])
    attention = inspect("turn the key", model=str(tiny_model)).attention
    np.testing.assert_allclose(
        output["weights"], [attention.matrix(layer) for layer in (1, 3)], atol=1e-6
    )
    assert output["layer"] == [1, 3]
    assert run("turn the key", "--layer", 1, "--layer", 3, "--png", tmp_path / "a.png")[0] == 0


def test_tensors_and_modules_of_the_model_are_listed(run: Run, tiny_model: Path) -> None:
    tensors = parameters(str(tiny_model))
    code, out, err = run("--parameters")
    assert (code, err) == (0, "")
    assert f"{len(tensors)} tensors, {sum(tensor.size for tensor in tensors.values()):,} numbers" in out
    assert "encoder.layer.2.attention.self.query.weight 32 x 32 1,024" in lines_of(out)
    output = json.loads(run("--parameters", "--json")[1])
    assert list(output) == list(tensors)
    assert output["pooler.dense.bias"] == {"shape": [32], "dtype": "float32"}
    assert f", {tensors.in_matrices:,} of them in matrices" in out
    tree = modules(str(tiny_model))
    assert run("--modules")[1] == f"{tree}\n" and "(0-2): 3 x BertLayer(" in str(tree)
    output = json.loads(run("--modules", "--json")[1])
    assert (output["text"], len(output["modules"])) == (str(tree), len(tree.modules))
    assert output["modules"][0]["numbers"] == tensors.numbers


@drawing
def test_pictures_and_pages_are_written(run: Run, tmp_path: Path, tiny_model: Path) -> None:
    png, html = tmp_path / "a.png", tmp_path / "a.html"
    for options in (["--attention"], ["--layer", "2"]):
        code, out, err = run("turn the key", *options, "--png", png, "--html", html)
        assert (code, out, err) == (0, "", f"wrote {png}\nwrote {html}\n")
        assert png.read_bytes().startswith(b"\x89PNG")
        png.unlink()
    code, out, err = run("turn the key", "--attention", "--png", png, "--json", "-q")
    assert (code, err) == (0, "")
    assert json.loads(out)["texts"] == ["turn the key"]


def test_the_page_of_attention_has_all_weights_and_no_markup_of_a_text(
    run: Run, tmp_path: Path, tiny_model: Path
) -> None:
    html = tmp_path / "a.html"
    assert run(EVIL[:21], EVIL[45:], "--layer", 2, "--head", 1, "--html", html)[0] == 0
    source = html.read_text(encoding="utf-8")
    match = re.search(r'<script type="application/json">(.*?)</script>', source, re.S)
    assert match
    data = json.loads(match[1])
    attention = inspect(EVIL[:21], EVIL[45:], model=str(tiny_model)).attention
    assert data["tokens"] == [token.text for token in attention.tokens]
    n = len(attention.tokens)
    assert (data["opened"], np.shape(data["weights"])) == ([2, 1], (3, 4 + 1, n * n))
    for place, matrix in ((2, attention.matrix(2, 3)), (4, attention.matrix(2))):
        thousandths = np.array(data["weights"][1][place])
        np.testing.assert_allclose(thousandths / 1000, matrix.ravel(), atol=0.000501)
    assert len(re.findall("<script", source)) == 3 and "<img" not in source
    assert not {"\x1b", "\x00", "\u202e"} & set(source)
    assert "What attention does not tell" in source


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        ([""], 1, "the text is empty"),
        ([], 2, "give a text, or --positions, --parameters or --modules alone"),
        (["key", "--modules"], 2, "give a text, or --positions, --parameters or --modules alone"),
        (["--modules", "--parameters"], 2, "--parameters and --modules cannot be combined"),
        (["key", "--equal-rows"], 2, "--equal-rows compares two texts"),
        (["key", "--equal-rows", "--word", "key"], 2, "--word and --equal-rows cannot be combined"),
        (["key", "--token", "key"], 2, "--head and --token also need --layer"),
        (["key", "--head", "1"], 2, "--head and --token also need --layer"),
        (["key", "--layer", "9"], 1, "has no layer 9. Choose from 1 to 3"),
        (["key", "--layer", "1", "--head", "5"], 1, "has no head 5. Choose from 1 to 4"),
        (["key", "--attention", "--word", "key"], 2, "--word and --attention cannot be combined"),
        (["key", "--word", "cat"], 1, "'cat' does not occur in 'key'"),
        (["key", "--word", "key"], 1, "nothing to compare"),
        (["key " * 80], 1, "has 82 tokens, but"),
        (["key", "--model", "/no/such/folder"], 1, "/no/such/folder"),
        (["key", "--png", "x.png"], 2, "--png and --html draw attention"),
    ],
)
def test_an_impossible_request_is_refused_with_a_reason(
    run: Run, args: list[str], code: int, message: str
) -> None:
    status, out, err = run(*args)
    assert (status, out) == (code, "")
    assert message in " ".join(err.replace("│", " ").split())
    assert "Traceback" not in err


def test_models_that_cannot_be_taken_apart_are_refused(run: Run, tmp_path: Path) -> None:
    folder = save_tiny(tmp_path / "m", "bert")
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    (folder / "config.json").write_text(json.dumps({**config, "model_type": "gpt2"}), encoding="utf-8")
    for args in (["key"], ["--parameters"], ["key", "--layer", "1"]):
        code, out, err = run(*args, model=folder)
        assert (code, out) == (1, "")
        assert "is of type 'gpt2'" in err and "bert, camembert, distilbert" in err


def test_nothing_from_a_text_reaches_the_terminal_raw(run: Run) -> None:
    for options in (["--values", 3], ["--layer", 1], ["--word", "keys"], ["--equal-rows"]):
        for colour in ("always", "never"):
            code, out, err = run(EVIL[45:], "keys", *options, "--color", colour)
            assert (code, err) == (0, "")
            assert not {"\x00", "\u202e"} & set(out) and "\x1b[31m\x00" not in out
            assert ("\x1b[" in out) == (colour == "always")
