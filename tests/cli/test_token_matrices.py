"""The matrix of a hit: `seewhy explain --matrix`."""

import json
import re
from importlib import util
from pathlib import Path

import pytest

import search
from tests.conftest import Run

QUERY = "find the key"


@pytest.fixture
def index(notes: Path, tiny_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> search.Index:
    index = search.Index.build(notes, index=str(tmp_path / "index"), model=str(tiny_model))
    monkeypatch.setenv("SEEWHY_INDEX", str(index.path))
    return index


def test_explain_prints_the_matrix_of_a_hit(run: Run, index: search.Index) -> None:
    (hit,) = index.query(QUERY, k=1)
    why = index.explain(QUERY, hit, layer="last")
    code, out, err = run("explain", QUERY, 1, "--matrix", "--layer", "last")
    assert (code, err) == (0, "")
    assert "layer 3 of 3, the last one" in out
    assert f"({len(why.query_tokens)} x {len(why.passage_tokens)} tokens)" in out
    assert "Contributions" in out
    numbers = [float(number) for number in re.findall(r"-?\d\.\d\d\b", out.partition("do not sum")[2])]
    assert sorted(numbers) == pytest.approx(sorted(why.similarity.ravel()), abs=0.00501)
    assert re.search(r"\d words\)$", run("explain", QUERY, 1, "--words")[1])
    record = json.loads(run("explain", QUERY, 1, "--matrix", "--json", "--layer", "0")[1])
    assert (record["similarity_layer"], record["n_layers"]) == (0, 3)
    assert {"text", "id", "start", "end", "special"} <= set(record["passage_tokens"][0])


def test_explain_without_the_matrix_names_the_layer(run: Run, index: search.Index) -> None:
    assert "layer 1 of 3, the middle one, which is the default" in run("explain", QUERY)[1].replace(
        "\n", " "
    )
    assert "layer 0 of 3, the embedding layer" in run("explain", QUERY, "--layer", "0")[1].replace(
        "\n", " "
    )


@pytest.mark.skipif(util.find_spec("matplotlib") is None, reason="the extra 'pictures' is not installed")
def test_pages_and_pictures_show_words_or_tokens(run: Run, index: search.Index, tmp_path: Path) -> None:
    pages = {}
    for name, options in {"words": [], "tokens": ["--matrix"]}.items():
        html, png = tmp_path / f"{name}.html", tmp_path / f"{name}.png"
        assert run("explain", QUERY, 1, *options, "--html", html, "--png", png, "-q")[:2] == (0, "")
        pages[name] = html.read_text(encoding="utf-8").partition("</style>")[2], png.read_bytes()
    assert '"by":"word"' in pages["words"][0] and '"by":"token"' in pages["tokens"][0]
    assert pages["words"][1] != pages["tokens"][1]
