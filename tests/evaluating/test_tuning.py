"""The weight that answers judged queries best: cross-validated, shown, written into an index and used by it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from search import Index, InputError
from search.evaluating.tuning import cross_validated, settings, tune
from tests.conftest import Run


def test_a_choice_is_judged_where_it_was_not_made() -> None:
    values = np.array([[0.5, 0.5, 0.5, 0.5], [1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 1.0]])
    folds = np.array([0, 0, 1, 1])
    # Of each half the other half's best is taken, which is the worst there.
    assert cross_validated(values, folds).tolist() == [0.0, 0.0, 0.0, 0.0]
    assert cross_validated(values[:1], folds).tolist() == [0.5] * 4


@pytest.fixture
def judged(notes: Path, tiny_model: Path) -> tuple[Path, Index]:
    index = Index.build(notes, model=str(tiny_model))
    rows = ["query,path"]
    rows += ["turn the lock,keys.md", "is time long,deep/time.txt", "the first side,table.csv#1"]
    rows += ["a long sound,table.csv#2", "the key in the water,keys.md", "people say,deep/time.txt"]
    path = notes.parent / "judged.csv"
    path.write_text("\n".join(rows), encoding="utf-8")
    return path, index


def test_the_best_is_found_written_and_used(judged: tuple[Path, Index], run: Run) -> None:
    path, index = judged
    found = tune(path, index=str(index.path))
    means = [one.metrics[found.evaluation.primary].mean for one in found.evaluation.settings]
    assert [one.setting for one in found.evaluation.settings] == settings()
    assert found.best == settings()[int(np.argmax(means))]
    assert not found.saved
    assert index.query("turn the lock")[0].weight == 0.75

    code, out, _ = run("eval", path, "--index", index.path, "--tune", "--save", "--json")
    told = json.loads(out)
    assert (code, told["saved"], told["best"]["name"]) == (0, True, found.best.name)
    weight = found.best.options["weight"]
    hit = Index.open(index.path).query("turn the lock")[0]
    assert (hit.weight, hit.ranking.rerank) == (weight, found.best.options.get("rerank") or "")
    assert index.query("turn the lock", weight=0.3)[0].weight == 0.3
    assert index.query("turn the lock", mode="lexical")[0].weight == 0
    assert (
        Index.build(index.status().folder, index=str(index.path), rebuild=True).query("lock")[0].weight
        == weight
    )

    code, out, _ = run("eval", path, "--index", index.path, "--tune")
    assert code == 0
    assert found.best.name in out
    assert "chance" in out


def test_what_cannot_be_tuned(judged: tuple[Path, Index], run: Run) -> None:
    path, index = judged
    path.write_text("query,path\nturn the lock,keys.md\n", encoding="utf-8")
    with pytest.raises(InputError, match="too few to choose by"):
        tune(path, index=str(index.path))
    for options in (["--save"], ["--tune", "--mode", "dense"]):
        code, _, err = run("eval", path, *options)
        assert code == 2, err
