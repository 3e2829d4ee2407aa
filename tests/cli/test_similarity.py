"""`seewhy similarity`, and the files that `seewhy explain` writes."""

import io
import json
import re
from importlib import util
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import search
from tests.conftest import Run, save_tiny_bert

TEXTS = ["find the key", "turn the lock", "many people say that time is long"]
drawing = pytest.mark.skipif(
    util.find_spec("matplotlib") is None, reason="the extra 'pictures' is not installed"
)


@pytest.fixture
def run(run: Run, monkeypatch: pytest.MonkeyPatch, tiny_model: Path) -> Run:
    """Run `seewhy similarity ARGS...` in this process with a tiny model: exit code, stdout, stderr."""

    def command(*args: Any, stdin: bytes = b"", command: str = "similarity") -> tuple[int, str, str]:
        model = ["--model", tiny_model] if command == "similarity" and "--model" not in args else []
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8"))
        return run(command, *args, *model)

    return command


def test_sentences_are_compared_with_each_other(run: Run, tiny_model: Path) -> None:
    code, out, err = run(*TEXTS)
    assert (code, err) == (0, "")
    assert "1  find the key\n2  turn the lock" in out
    assert "(3 x 3 cosines, mean pooling," in out
    code, out, _ = run(*TEXTS, "--json")
    record = json.loads(out)
    expected = search.similarity(TEXTS, model=str(tiny_model))
    np.testing.assert_allclose(record["cosines"], expected, atol=1e-6)
    assert (record["rows"], record["columns"], record["itself"]) == (TEXTS, TEXTS, True)


def test_arguments_and_standard_input_give_the_same_output(run: Run) -> None:
    expected = run(*TEXTS)
    assert run("-", stdin="\n".join(TEXTS).encode()) == expected
    assert run("-", stdin="\r\n".join(TEXTS).encode("utf-16")) == expected


def test_a_file_to_compare_with_gives_n_by_m(run: Run, tmp_path: Path, tiny_model: Path) -> None:
    other = tmp_path / "other.txt"
    other.write_text("a door\nthe water", encoding="utf-8")
    code, out, _ = run(*TEXTS, "--against", other, "--json")
    record = json.loads(out)
    assert (code, record["itself"], np.shape(record["cosines"])) == (0, False, (3, 2))
    expected = search.similarity(TEXTS, ["a door", "the water"], model=str(tiny_model))
    np.testing.assert_allclose(record["cosines"], expected, atol=1e-6)
    assert "A  a door\nB  the water" in run("find the key", "--against", other)[1]


def test_two_texts_are_compared_token_by_token_or_word_by_word(run: Run) -> None:
    code, out, _ = run("find keys", "the key", "--tokens")
    assert code == 0
    assert "Contributions, in thousandths" in out
    assert "##s" in out
    assert "##s" not in run("find keys", "the key", "--words")[1]


@pytest.mark.parametrize("layer", ["0", "1", "-1", "middle", "last", "3"])
def test_any_layer_has_the_numbers_of_the_library(run: Run, tiny_model: Path, layer: str) -> None:
    value: Any = int(layer) if layer.lstrip("-").isdigit() else layer
    why = search.explain("find keys", "the key", layer=value, model=str(tiny_model))
    record = json.loads(run("find keys", "the key", "--tokens", "--json", "--layer", layer)[1])
    assert (record["similarity_layer"], record["n_layers"]) == (why.similarity_layer, 3)
    np.testing.assert_allclose(record["similarity"], why.similarity, atol=1e-7)
    assert (
        f"layer {why.similarity_layer} of 3"
        in run("find keys", "the key", "--tokens", "--layer", layer)[1]
    )


def test_matrix_is_another_name_of_tokens(run: Run) -> None:
    assert run("a key", "a door", "--matrix") == run("a key", "a door", "--tokens")


def test_the_pooling_can_be_chosen(run: Run) -> None:
    assert json.loads(run(*TEXTS, "--pooling", "cls", "--json")[1])["pooling"] == "cls"


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (["one"], 1, "give at least two sentences"),
        ([], 1, "give at least two sentences"),
        (["a", " "], 1, "one of the sentences is empty"),
        (["a", "b", "c", "--tokens"], 1, "compare two texts, not 3"),
        (["a", "--against", "no-such-file"], 1, "'no-such-file' cannot be read"),
        (["a", "--against", "GAP"], 1, "is empty. Give one sentence per line"),
        (["a", "--against", "EMPTY"], 1, "has no usable text: empty"),
        (["a", "b", "--tokens", "--layer", "4"], 1, "no layer 4. Choose from 0 to 3"),
        (["a", "b", "--tokens", "--layer", "first"], 1, "no layer 'first'"),
        (["a", "b", "--html", "no/folder/x.html"], 1, "cannot be written: No such file"),
        (["a", "b", "--html", "FOLDER"], 1, "cannot be written: Is a directory"),
        (["a " * 200, "b"], 1, "text 1 has 202 tokens, but the model reads at most 64. Shorten it"),
    ],
)  # fmt: skip
def test_failures_name_the_text_and_the_remedy(
    run: Run, tmp_path: Path, args: list[str], code: int, message: str
) -> None:
    (tmp_path / "gap.txt").write_text("a\n\nb\n", encoding="utf-8")
    (tmp_path / "empty.txt").write_text("", encoding="utf-8")
    places = {"GAP": tmp_path / "gap.txt", "EMPTY": tmp_path / "empty.txt", "FOLDER": tmp_path}
    actual, out, err = run(*[places.get(arg, arg) for arg in args])
    assert (actual, out) == (code, "")
    assert message in " ".join(err.replace("│", " ").split())
    assert "Traceback" not in err


def test_an_error_names_the_empty_line(run: Run, tmp_path: Path) -> None:
    (tmp_path / "gap.txt").write_text("a\n\nb\n", encoding="utf-8")
    assert "line 2 of '" in run("a", "--against", tmp_path / "gap.txt")[2]
    assert "line 1 of '-' is empty" in run("-", stdin=b"\na\nb")[2]


def test_a_missing_extra_is_named_before_any_work(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("search.cli.output.find_spec", lambda name: None)
    code, out, err = run(*TEXTS, "--png", tmp_path / "x.png")
    assert (code, out) == (1, "")
    assert "drawing a PNG needs the package 'matplotlib'" in err
    assert "pip install 'seewhy[pictures]'" in err
    assert run(*TEXTS, "--html", tmp_path / "x.html")[0] == 0  # needs no extra


@drawing
def test_files_are_written_and_nothing_else_is_printed(run: Run, tmp_path: Path) -> None:
    png, html = tmp_path / "x.png", tmp_path / "x.html"
    png.write_text("an older file", encoding="utf-8")
    code, out, err = run(*TEXTS, "--png", png, "--html", html)
    assert (code, out) == (0, "")
    assert err == f"wrote {png}\nwrote {html}\n"
    assert png.read_bytes().startswith(b"\x89PNG")
    assert html.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x.html", "x.png"]
    code, out, err = run("find keys", "the key", "--tokens", "--png", png, "--html", html, "--json", "-q")
    assert (code, err) == (0, "")
    assert json.loads(out)["query"] == "find keys"
    page = re.sub(r"<(style|script).*?</\1>", "", html.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert "find" in page and "##" not in page.split("<details")[0]


@drawing
def test_explain_writes_a_picture_and_a_page(
    run: Run, notes: Path, tiny_model: Path, tmp_path: Path
) -> None:
    assert run(notes, "--model", tiny_model, "-q", command="index")[0] == 0
    png, html = tmp_path / "why.png", tmp_path / "why.html"
    code, out, err = run("find the key", 1, "--png", png, "--html", html, command="explain")
    assert (code, out, err) == (0, "", f"wrote {png}\nwrote {html}\n")
    assert png.read_bytes().startswith(b"\x89PNG")
    assert "find the key" in html.read_text(encoding="utf-8")


def test_a_vector_with_itself_has_the_cosine_1(run: Run) -> None:
    cosines = json.loads(run(*TEXTS, *TEXTS, "--json")[1])["cosines"]
    assert all(cosines[i][i] == cosines[i][(i + 3) % 6] == 1 for i in range(6))


@pytest.mark.parametrize("pooling", ["mean", "pooler"])
def test_both_matrices_are_printed_for_every_pooling(run: Run, pooling: str) -> None:
    code, out, _ = run("find keys", "the key", "--tokens", "--pooling", pooling)
    text = " ".join(out.split())
    assert code == 0 and "Contributions, in thousandths: they sum to the cosine" in text
    assert f"({pooling} pooling, contributions traced to layer 0 of 3)" in text
    assert "Cosines of token vectors at layer 1 of 3" in text


def test_layers_are_printed_and_drawn(run: Run, tmp_path: Path) -> None:
    code, out, _ = run("find keys", "the key", "--layers")
    assert code == 0 and out.count("layer 0") == 3 and out.count("layer 3") == 2
    code, out, _ = run("find keys", "the key", "--layers", "--png", str(tmp_path / "layers.png"))
    assert code == 0 and (tmp_path / "layers.png").read_bytes().startswith(b"\x89PNG")


def test_a_note_says_that_the_model_is_not_for_sentences(run: Run, tmp_path: Path) -> None:
    plain = save_tiny_bert(tmp_path / "plain", pooling=None)
    for options in (TEXTS, [*TEXTS[:2], "--tokens"]):
        _, _, err = run(*options, "--model", plain)
        assert "note: " in err and "is not a sentence embedding model, so mean pooling is a guess" in err
    assert run(*TEXTS, "--model", plain, "-q")[2] == ""
    assert "not a sentence embedding model" not in run(*TEXTS, "--model", plain, "--pooling", "cls")[2]
