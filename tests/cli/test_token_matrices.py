"""The matrix of a hit: `seewhy explain --matrix`."""

import json
import re
from importlib import util
from pathlib import Path

import numpy as np
import pytest

import search
from tests.cli.test_similarity import table
from tests.conftest import Run

QUERY = "find the key"


@pytest.fixture
def index(notes: Path, tiny_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> search.Index:
    made = search.Index.build(notes, index=str(tmp_path / "index"), model=str(tiny_model))
    monkeypatch.setenv("SEEWHY_INDEX", str(made.path))
    return made


def test_explain_prints_the_matrix_of_a_hit(run: Run, index: search.Index) -> None:
    (hit,) = index.query(QUERY, k=1)
    why = index.explain(QUERY, hit, layer="last")
    code, out, err = run("explain", QUERY, 1, "--matrix", "--layer", "last")
    assert (code, err) == (0, "")
    assert "layer 3 of 3, the last one" in out
    assert f"({len(why.query_tokens)} x {len(why.passage_tokens)} tokens.)" in out
    assert "Contributions" not in out
    numbers = [float(number) for number in re.findall(r"-?\d\.\d\d\b", out.partition("anything")[2])]
    assert sorted(numbers) == pytest.approx(sorted(why.similarity.ravel()), abs=0.00501)
    np.testing.assert_allclose(
        table(run("explain", QUERY, 1, "--csv", "--layer", "last")[1]), why.similarity, atol=5e-7
    )
    added = table(run("explain", QUERY, 1, "--csv", "--contributions")[1])
    np.testing.assert_allclose(added, why.weight * why.contributions, atol=1e-6)
    assert "Contributions" in run("explain", QUERY, 1, "--matrix", "--contributions")[1]
    found = json.loads(run("explain", QUERY, 1, "--matrix", "--json", "--layer", "0")[1])
    assert (found["similarity_layer"], found["n_layers"]) == (0, 3)
    assert {"text", "id", "start", "end", "special"} <= set(found["passage_tokens"][0])


def test_explain_as_it_was_names_the_layer(run: Run, index: search.Index) -> None:
    assert "layer 1 of 3, the middle one, which is the default" in run("explain", QUERY)[1].replace("\n", " ")
    assert "layer 0 of 3, the embedding layer" in run("explain", QUERY, "--layer", "0")[1].replace("\n", " ")


@pytest.mark.skipif(util.find_spec("matplotlib") is None, reason="the extra 'pictures' is not installed")
def test_pictures_have_the_same_choice(run: Run, index: search.Index, tmp_path: Path) -> None:
    pages = {}
    for name, options in {"words": [], "tokens": ["--matrix"], "bare": ["--matrix", "--no-special"]}.items():
        html, png = tmp_path / f"{name}.html", tmp_path / f"{name}.png"
        assert run("explain", QUERY, 1, *options, "--html", html, "--png", png, "-q")[:2] == (0, "")
        pages[name] = html.read_text(encoding="utf-8"), png.read_bytes()
    texts = {name: text.partition("</style>")[2] for name, (text, _) in pages.items()}
    assert "[CLS] and [SEP]" in texts["words"] and "[CLS] and" not in texts["tokens"]
    assert "[CLS]" in texts["tokens"] and "[CLS]" not in texts["bare"]
    assert ">left out<" in texts["bare"] and ">left out<" not in texts["tokens"]
    assert len({png for _, png in pages.values()}) == 3
    code, _, _ = run("explain", QUERY, 1, "--scale", "0..0.5", "--png", tmp_path / "scaled.png", "-q")
    assert (code, (tmp_path / "scaled.png").read_bytes() != pages["words"][1]) == (0, True)


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["explain", QUERY, "--words"], "--words is for a matrix of tokens. Give --matrix"),
        (["explain", QUERY, "1", "--scale", "0..0.8"], "--scale is for cosines in a matrix. Give --matrix"),
        (["explain", QUERY, "--csv", "--json"], "exclude each other"),
    ],
)  # fmt: skip
def test_what_means_nothing_is_refused(run: Run, index: search.Index, args: list[str], said: str) -> None:
    code, out, err = run(*args)
    assert (code, out) == (2, "")
    assert said in " ".join(err.replace("│", " ").split())
