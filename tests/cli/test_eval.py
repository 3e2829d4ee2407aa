"""seewhy eval, as a person and a program see it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

# ruff: noqa: F811 (fixtures are imported)
from tests.conftest import Run
from tests.evaluating.conftest import beir  # noqa: F401


def test_one_setting_has_a_table_of_metrics(run: Run, beir: Path, tiny_model: Path) -> None:
    code, out, err = run("eval", beir, "--model", tiny_model, "--mode", "dense")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == "tiny-set (test)"
    assert " ".join(lines[1:3]).startswith("3 queries, 5 judgements; 5 documents, 5 passages; ")
    assert any(line.split()[:2] == ["metric", "mean"] for line in lines)
    assert sum(" to 0." in line or " to 1." in line for line in lines) == 7
    assert "note: queries without judgements, left out: 1 (q3)" in out
    assert max(map(len, lines[3:])) <= 80  # above is the model's folder
    assert "against" not in out


def test_json_of_one_setting_has_metrics_and_values_by_query(
    run: Run, beir: Path, tiny_model: Path
) -> None:
    code, out, err = run("eval", beir, "--model", tiny_model, "--mode", "dense", "--json")
    report = json.loads(out)
    assert (code, err) == (0, "")
    figure = report["metrics"]["ndcg@10"]
    assert 0 <= figure["low"] <= figure["mean"] <= figure["high"] <= 1
    assert set(report) == {
        "dataset", "source", "task", "split", "index", "model", "pooling", "documents", "passages", "judgements",
        "primary", "query_count", "setting", "metrics", "notes",
    }  # fmt: skip
    assert report["setting"] == {"name": "dense", "options": {"mode": "dense"}}
    queries = json.loads(
        run("eval", beir, "--model", tiny_model, "--mode", "dense", "--json", "--per-query")[1]
    )["queries"]
    assert [query["id"] for query in queries] == ["q1", "q2", "q4"]
    assert sum(query["values"]["ndcg@10"] for query in queries) / 3 == pytest.approx(figure["mean"])


def test_several_settings_are_compared(run: Run, beir: Path, tiny_model: Path) -> None:
    args = ("eval", beir, "--model", tiny_model, "--mode", "dense", "--mode", "hybrid,weight=0.5")
    code, out, _ = run(*args)
    assert code == 0
    assert "hybrid,weight=0.5 against dense, ndcg@10: " in out
    assert max(map(len, out.splitlines())) <= 80
    report = json.loads(run(*args, "--json")[1])
    assert [figures["setting"]["options"] for figures in report["settings"]] == [
        {"mode": "dense"},
        {"mode": "hybrid", "weight": 0.5},
    ]
    assert "metrics" not in report
    differences = {comparison["metric"]: comparison for comparison in report["comparisons"]}["ndcg@10"]
    means = [figures["metrics"]["ndcg@10"]["mean"] for figures in report["settings"]]
    assert differences["difference"]["mean"] == pytest.approx(means[1] - means[0])
    assert differences["better"] + differences["worse"] + differences["equal"] == 3


def test_pairs_of_sentences_are_measured_by_correlation(
    run: Run, tmp_path: Path, tiny_model: Path
) -> None:
    path = tmp_path / "sts.tsv"
    path.write_text(
        "sentence1\tsentence2\tscore\na key\tthe key\t5\na door\tlong time\t1\nwater\ta word\t2\n",
        encoding="utf-8",
    )
    code, out, err = run("eval", path, "--model", tiny_model)
    assert (code, err) == (0, "")
    assert "3 pairs of sentences" in out
    assert "with only 3 pairs, the confidence intervals are rough" in out
    assert "spearman" in out
    assert "ms" not in out
    report = json.loads(run("eval", path, "--model", tiny_model, "--json")[1])
    assert set(report["metrics"]) == {"spearman", "pearson"}


def test_judgements_may_be_a_csv_file_of_the_user(run: Run, indexed: Path, tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("query,path\nturn the lock,keys.md\nis time long,deep/time.txt\n", encoding="utf-8")
    code, out, _ = run("eval", path)
    assert code == 0
    assert out.startswith("mine\n2 queries, 2 judgements; 4 documents, 5 passages")
    code, out, _ = run("eval", path, "-i", indexed, "--json")
    assert json.loads(out)["metrics"]["recall@100"]["mean"] == 1


def test_whole_documents_are_ranked_as_one_text_each(run: Run, beir: Path, tiny_model: Path) -> None:
    code, out, _ = run("eval", beir, "--model", tiny_model, "--whole-documents")
    assert code == 0
    assert "5 documents, each ranked as one text" in out


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (["--mode", "nonsense"], 1, "nonsense"),
        (["--mode", "dense,wieght=1"], 1, "invalid option 'wieght=1' in the setting 'dense,wieght=1'"),
        (
            ["--split", "dev"],
            1,
            "has no judgements 'qrels/dev.tsv'. Available splits: test.",
        ),
        (["-k", "0"], 2, "--top-k"),
        (["--whole-documents", "--mode", "dense"], 1, "omit settings and index"),
    ],
)
def test_failures_name_the_option_and_the_remedy(
    run: Run,
    beir: Path,
    tiny_model: Path,
    args: list[str],
    code: int,
    message: str,
) -> None:
    actual, out, err = run("eval", beir, "--model", tiny_model, *args)
    assert (actual, out) == (code, "")
    assert message in " ".join(err.replace("│", " ").split())


def test_the_table_fits_a_narrow_terminal_and_has_colour_on_request(
    run: Run, beir: Path, tiny_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    args = ("eval", beir, "--model", tiny_model, "--mode", "dense", "--mode", "lexical")
    out = run(*args)[1]
    assert max(map(len, out.splitlines())) <= 40
    assert "\x1b" not in out
    assert "\x1b[" in run(*args, "--color", "always")[1]


def test_names_from_files_cannot_act_on_a_terminal(run: Run, beir: Path, tiny_model: Path) -> None:
    for file in ("queries.jsonl", "qrels/test.tsv"):
        path = beir / file
        evil = "q\\u001b[31m" if file.endswith("jsonl") else "q\x1b[31m"
        path.write_text(path.read_text(encoding="utf-8").replace("q1", evil), encoding="utf-8")
    for extra in ([], ["--json", "--per-query"]):
        code, out, err = run("eval", beir, "--model", tiny_model, *extra)
        assert code == 0
        assert "\x1b" not in out + err
