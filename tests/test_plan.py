"""Predictions of benchmarks/plan.py: within 15 % of what was measured, and consistent."""

import json
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
PAGE = BENCHMARKS.parent / "corpora" / "handbook" / "69-planning-past-one-machine.md"


@pytest.fixture
def plan(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import plan  # type: ignore[import-not-found]

    return plan


@pytest.fixture
def assumptions(plan: ModuleType) -> SimpleNamespace:
    return SimpleNamespace(
        **{name.replace("-", "_"): assumption.value for name, assumption in plan.ASSUMED.items()}
    )


def run_plan(
    plan: ModuleType, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *options: str
) -> str:
    monkeypatch.setattr(sys, "argv", ["plan.py", *options])
    plan.main()
    return capsys.readouterr().out


def test_measurements_are_predicted_within_15_percent(
    plan: ModuleType, assumptions: SimpleNamespace
) -> None:
    rows = plan.checked(assumptions)
    assert {row["passages"] for row in rows} >= {50_000, 200_000, 1_000_000}
    for row in rows:
        assert abs(row["off"]) < 0.15, row


def test_the_page_on_planning_shows_what_the_script_prints(
    plan: ModuleType, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    page = PAGE.read_text(encoding="utf-8")
    for line in run_plan(plan, capsys, monkeypatch).splitlines():
        assert line in page


def test_sizes_are_those_computed_by_hand(plan: ModuleType, assumptions: SimpleNamespace) -> None:
    """Ten million of 384 numbers: two embeddings fill a page of SQLite, and 69 words take 8 bytes each on Milvus."""
    whole, read = plan.local_bytes(assumptions)
    assert (whole, read) == (2048 + 690 + 219 + 390 + 207, 390 + 207)
    assert plan.milvus("FLAT", 1e7, assumptions).memory == 1e7 * (1536 + 8 * 69 + 64)
    assert plan.milvus("DISKANN", 1e7, assumptions).disk == 1e7 * (1536 + 8 * 69 + 690 + 600 + 2048)
    assert plan.encoding(1e7, assumptions) == {
        "workers": 1,
        "days": pytest.approx(1e7 / (29 * 16 * 86_400)),
    }
    work = plan.encoding(1e11, assumptions)
    assert work["days"] <= assumptions.days < work["days"] * work["workers"] / (work["workers"] - 1)


def test_a_larger_corpus_never_needs_less(plan: ModuleType, assumptions: SimpleNamespace) -> None:
    for kind in plan.KINDS:
        sizes = [plan.milvus(kind, n, assumptions) for n in (1e6, 1e7, 1e9, 1e11)]
        for attribute in ("memory", "disk", "machines"):
            values = [getattr(size, attribute) for size in sizes]
            assert values == sorted(values)
        assert all(size.ms <= assumptions.wanted_ms for size in sizes)
    wider = SimpleNamespace(**{**vars(assumptions), "dimension": 1024})
    assert plan.local_bytes(wider)[0] > plan.local_bytes(assumptions)[0]


def test_one_machine_holds_the_break_even_and_no_more(
    plan: ModuleType, assumptions: SimpleNamespace
) -> None:
    for name, limit in plan.break_even(assumptions).items():
        kind = name.removeprefix("Milvus, ")
        fits = [
            (
                plan.local(n, assumptions) if kind == "folder" else plan.milvus(kind, n, assumptions, 1)
            ).fits
            for n in (limit * 0.99, limit * 1.01)
        ]
        assert fits == [True, False], name
    assert plan.advice(1e6, assumptions).name == "folder"
    assert plan.advice(1e9, assumptions).recall < 1


def test_assumptions_are_replaced_by_options(
    plan: ModuleType, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    report = json.loads(
        run_plan(plan, capsys, monkeypatch, "5e7", "--rate", "500", "--hnsw-recall", "0.99", "--json")
    )
    (prediction,) = report["plans"]
    assert report["assumed"]["rate"] == 500
    assert prediction["encoding"]["days"] == pytest.approx(5e7 / (500 * 16 * 86_400))
    assert {store["name"]: store["recall"] for store in prediction["stores"]}["HNSW"] == 0.99
