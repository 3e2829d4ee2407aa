"""`seewhy lab train`."""

import json
import re
from importlib import util
from pathlib import Path
from typing import Any

import pytest

from search import Index
from search.lab.records.training import CurvePoint, TrainingFile, TrainingReport
from search.lab.render import training as draw
from search.records.evaluations import Estimate
from tests.conftest import Run
from tests.lab.training.conftest import trainable, write_graded, write_pairs, write_texts
from tests.render.test_notebook import Cells, needs

QUICK = ("--lr", "0.001", "--batch-size", "8")


@pytest.fixture
def run(run: Run, tiny_model: Path, tmp_path: Path) -> Run:
    """Run `seewhy lab train ARGS... --out out` in this process with a tiny model: exit code, stdout, stderr."""

    def command(*args: Any, out: Any = tmp_path / "out") -> tuple[int, str, str]:
        return run("lab", "train", *args, "--model", tiny_model, "--out", out)

    return command


@trainable
def test_training_on_graded_sentences_prints_its_figures(run: Run, tmp_path: Path) -> None:
    data = write_graded(tmp_path / "a.tsv")
    code, out, err = run("encoder", data, *QUICK)
    assert (code, err) == (0, "")
    lines = [line.split() for line in out.splitlines()]
    assert ["metric", "before", "after", "difference", "95", "%", "interval"] in lines
    assert (tmp_path / "out" / "model.safetensors").is_file()
    code, out, err = run("encoder", data, *QUICK)
    assert (code, out) == (1, "") and "already exists" in err


@trainable
def test_an_encoder_trained_on_pairs_builds_an_index(run: Run, tmp_path: Path, notes: Path) -> None:
    code, out, err = run(
        "encoder", write_pairs(tmp_path / "a.csv"), "--json", "-q", "--seed", "7", *QUICK
    )
    assert (code, err) == (0, "")
    output = json.loads(out)
    assert (output["objective"], output["settings"]["seed"], output["loss"]) == (
        "pairs",
        7,
        "MultipleNegativesRankingLoss",
    )
    gap = output["difference"]["ndcg@10"]["mean"]
    assert gap == pytest.approx(output["after"]["ndcg@10"]["mean"] - output["before"]["ndcg@10"]["mean"])
    assert output["improved"] == (gap > 0)
    index = Index.build(notes, model=str(tmp_path / "out"), engine="torch")
    assert index.status().fingerprint["weights"] == output["sha256"]


@trainable
def test_a_classifier_has_its_figures_by_class(run: Run, tmp_path: Path) -> None:
    """The report counts the examples and has figures by label."""
    data = write_texts(tmp_path / "a.csv")
    options = ("--freeze", "1", "--epochs", "3", "--lr", "0.003")
    code, out, err = run("classify", data, *options)
    assert code == 0, err
    text = " ".join(out.split())
    for expected in (
        "48 examples to train on, 6 to measure with, 6 to choose",
        "label precision recall F1 examples",
    ):
        assert expected in text


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (
            ["classify", "a.csv", "--freeze", "half"],
            2,
            "--freeze takes a number of layers or 'all', not 'half'",
        ),
        (["tag", "no.conll"], 1, "cannot read 'no.conll'"),
        (["encoder"], 2, "give either DATA or --dataset NAME"),
        (["encoder", "no.csv"], 1, "cannot read 'no.csv'"),
        (["encoder", "a.csv", "--lr", "-1"], 2, "--lr"),
    ],
)
def test_an_impossible_request_is_refused_with_a_reason(
    run: Run, args: list[str], code: int, message: str
) -> None:
    if code == 1 and util.find_spec("accelerate") is None:
        pytest.skip("the extra 'training' is not installed")
    status, out, err = run(*args)
    assert (status, out) == (code, "")
    assert message in " ".join(err.replace("│", " ").split())
    assert "Traceback" not in err


def report(**changed: Any) -> TrainingReport:
    return TrainingReport(
        **{
            "out": "out", "base": "all-MiniLM-L6-v2", "base_sha256": "b" * 64, "sha256": "a" * 64,
            "objective": "graded", "loss": "CoSENTLoss",
            "files": (TrainingFile("train", "x/\x1b[31mdata<b>.tsv", "\x1b[31mdata<b>.tsv", "c" * 64, 1234),),
            "counts": {"read": 1234, "duplicates": 4, "train": 1000, "held_out": 230, "chosen_by": 9, "cut": 3},
            "settings": {"epochs": 1, "batch_size": 16, "lr": 2e-5, "seed": 0},
            "primary": "spearman",
            "before": {"spearman": Estimate(0.8, 0.75, 0.85)}, "after": {"spearman": Estimate(0.85, 0.8, 0.9)},
            "difference": {"spearman": Estimate(0.05, 0.04, 0.06)},
            "losses": (CurvePoint(10, 5.0), CurvePoint(20, 4.0)),
            "scores": (CurvePoint(0, 0.8), CurvePoint(10, 0.85), CurvePoint(20, 0.84)),
            "steps": 20, "kept": 10, "seconds": 61.0, "device": "cpu, 2 threads",
            "notes": ("a note with \u202e in it",),
            **changed,
        }
    )  # fmt: skip


def test_a_report_as_text_has_every_figure_and_is_harmless() -> None:
    """Every figure where it belongs, and nothing of a file's name or a note can do anything to the terminal."""
    out = draw.training(report(), width=100)
    assert out.splitlines()[0] == "Trained all-MiniLM-L6-v2, saved in out"
    assert "spearman  0.8000  0.8500     +0.0500  +0.040 to +0.060" in out
    assert "20; the weights of step 10 were kept" in out
    assert "1 min 1 s on cpu, 2 threads" in out
    assert "epoch  mean training loss  held-out spearman" in out and "    1              4.5000" in out
    assert "\x1b" not in out and "\u202e" not in out
    assert re.search("\x1b\\[1;32m *\\+0.0500", draw.training(report(), width=100, colour=True))
    worse = report(
        after={"spearman": Estimate(0.7, 0.6, 0.8)}, difference={"spearman": Estimate(-0.1, -0.2, 0.0)}
    )
    assert re.search("\x1b\\[1;31m *-0.1000", draw.training(worse, width=100, colour=True))


@needs("matplotlib")
@needs("pandas")
def test_a_report_draws_itself_in_a_notebook_and_as_curves() -> None:
    done = report()
    assert repr(done) == draw.training(done)
    html = done._repr_html_()
    rows = Cells(html).rows
    assert ["spearman", "0.8000", "0.8500", "+0.0500"] in rows and ["1", "4.5000", "0.8400"] in rows
    assert not {"\x1b", "\u202e"} & set(html) and "the weights of step 10 were kept" in html
    losses = done.plot()
    (scores,) = [axes for axes in losses.figure.axes if axes is not losses]
    for axes, curve in ((losses, done.losses), (scores, done.scores)):
        assert axes.lines[0].get_xydata().tolist() == [[point.step, point.value] for point in curve]
    assert (losses.get_ylabel(), scores.get_ylabel()) == ("training loss", "spearman")
    table = done.to_pandas()
    assert table[table["figure"] == "loss"]["value"].tolist() == [5.0, 4.0]
    assert table[table["figure"] == "spearman"]["step"].tolist() == [0, 10, 20]
