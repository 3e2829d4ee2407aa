"""The real command, the real model, the handbook: what a user does, in new processes."""

import csv
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import search
from search import Encoder
from tests.conftest import DATA, REPOSITORY

HANDBOOK = REPOSITORY / "corpora" / "handbook"
QUESTION = "how does WordPiece split a word it does not know"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, handbook_home: Path) -> Path:
    """A user's data folder with pages 01 to 28 of the handbook indexed."""
    home = shutil.copytree(handbook_home, tmp_path_factory.mktemp("data") / "home")
    [status] = json.loads(seewhy(home, "list", "--json").stdout)
    assert status["documents"] == 28
    return home


def seewhy(home: Path, *args: Any, code: int = 0) -> subprocess.CompletedProcess[str]:
    process = subprocess.run(
        [sys.executable, "-m", "search", *map(str, args)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        cwd=REPOSITORY,
        env={**os.environ, "SEEWHY_HOME": str(home), "PYTHONIOENCODING": "utf-8"},
    )
    assert process.returncode == code, process.stderr
    return process


def test_a_question_finds_its_page(home: Path) -> None:
    hits = json.loads(seewhy(home, "query", QUESTION, "-k", "3", "--json").stdout)
    assert "02-wordpiece.md" in [Path(hit["path"]).name for hit in hits]
    for hit in hits:
        lines = Path(hit["path"]).read_text(encoding="utf-8").split("\n")
        before, passage, _ = "\n".join(lines[hit["line_start"] - 1 : hit["line_end"]]).partition(
            hit["text"]
        )
        assert passage and not before.strip()


def test_a_second_run_changes_nothing_and_a_hit_is_explained(home: Path) -> None:
    assert "Nothing changed in corpora/handbook." in seewhy(
        home, "index", "corpora/handbook"
    ).stdout.replace(os.sep, "/")
    output = seewhy(home, "explain", QUESTION, "1", "--details").stdout
    assert "(residual)" in output
    assert "Most similar words" in output


def test_spearman_on_sts_b_equals_sentence_transformers(real: Encoder) -> None:
    """By OpenVINO on every thirtieth pair; by PyTorch, which sentence-transformers uses too, on a fifth of these."""
    file = DATA / "sts" / "stsb_dev.tsv"
    if not file.is_file():
        pytest.skip("STS-B is not at hand")
    from scipy.stats import spearmanr
    from sentence_transformers import SentenceTransformer

    with file.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE))
    assert len(rows) == 1500
    rows = rows[::30]
    first, second = [row["sentence1"] for row in rows], [row["sentence2"] for row in rows]
    model = SentenceTransformer(str(real.files.folder), device="cpu")
    first_vectors, second_vectors = (
        model.encode(texts, normalize_embeddings=True) for texts in (first, second)
    )
    reference = (first_vectors * second_vectors).sum(axis=1)

    encoder = Encoder(offline=True, engine="openvino")
    assert encoder.engine.name == "openvino"
    cosines = search.similarity(first, second, model=encoder).diagonal()
    np.testing.assert_allclose(cosines, reference, atol=1e-5)
    gold = [float(row["score"]) for row in rows]
    assert round(spearmanr(cosines, gold).statistic, 4) == round(spearmanr(reference, gold).statistic, 4)

    encoder = Encoder(offline=True, engine="torch", device="cpu")
    assert encoder.engine.name == "torch"
    cosines = search.similarity(first[::5], second[::5], model=encoder).diagonal()
    np.testing.assert_allclose(cosines, reference[::5], atol=1e-5)


def test_the_table_of_pages_has_each_page_once() -> None:
    table = (HANDBOOK.parent / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d\d)(?:(?: to|,) (\d\d))? \|", table, re.MULTILINE)
    pages = [page for first, last in rows for page in range(int(first), int(last or first) + 1)]
    assert pages == sorted(int(path.name[:2]) for path in HANDBOOK.glob("*.md"))
