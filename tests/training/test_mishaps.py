"""What a training refuses before it costs anything, and what it must not lose or leave unsaid."""

from __future__ import annotations

import json
import os
import stat
import sys
from pathlib import Path

import pytest

from search import Encoder
from search.errors import InputError
from search.training import train
from search.training.examples import read_examples
from search.training.run import require_numbers
from search.training.work import WorkFolder
from tests.conftest import save_tiny_bert
from tests.training.conftest import trainable, write_lines, write_pairs

QUICK = {"lr": 1e-3, "batch_size": 8}
PLAN = {"format": 1, "objective": "pairs"}


@pytest.mark.parametrize(("resume", "message"), [(False, "or delete that folder"), (True, "is in the way")])
def test_a_folder_that_no_training_left_is_never_deleted(tmp_path: Path, resume: bool, message: str) -> None:
    theirs = tmp_path / ".out.training"
    theirs.mkdir()
    (theirs / "diary.txt").write_text("kept", encoding="utf-8")
    with pytest.raises(InputError, match=f"(?i){message}"), WorkFolder(tmp_path / "out").held(PLAN, resume):
        pass
    assert (theirs / "diary.txt").read_text(encoding="utf-8") == "kept"


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
def test_nothing_is_deleted_through_a_link(tmp_path: Path) -> None:
    decoy = tmp_path / "decoy"
    (decoy / "result").mkdir(parents=True)
    (decoy / "plan.json").write_text(json.dumps(PLAN), encoding="utf-8")
    (tmp_path / ".out.training").symlink_to(decoy)
    with pytest.raises(InputError, match="is in the way"), WorkFolder(tmp_path / "out").held(PLAN, True):
        pass
    assert sorted(path.name for path in decoy.iterdir()) == ["plan.json", "result"]


def test_a_result_that_cannot_be_moved_is_kept_and_named(tmp_path: Path) -> None:
    work = WorkFolder(tmp_path / "out")
    (tmp_path / "out").mkdir()
    with (
        pytest.raises(InputError, match=r"the training is done.*It lies in .*result"),
        work.held(PLAN, False),
    ):
        work.result.mkdir()
        (work.result / "model").write_text("kept", encoding="utf-8")
        (tmp_path / "out" / "a.txt").write_text("another's", encoding="utf-8")
        work.finish()
    assert (work.path / "result" / "model").read_text(encoding="utf-8") == "kept"


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
def test_a_link_is_no_place(tmp_path: Path) -> None:
    (tmp_path / "out").symlink_to(tmp_path / "nowhere")
    with pytest.raises(InputError, match="there is something at"):
        WorkFolder(tmp_path / "out")


def test_a_place_that_may_not_be_written_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(InputError, match="nothing may be written to"):
        WorkFolder(tmp_path / "out")


@pytest.mark.parametrize(
    ("records", "message"),
    [
        ([{"query": "a", "passage": "b\ud800"}], ':1: "passage" holds half a character'),
    ],
)
def test_records_that_differ_or_are_no_text(tmp_path: Path, records: list[object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_examples(write_lines(tmp_path / "a.jsonl", *records))


def test_columns_that_come_later_and_mean_nothing_are_named(tmp_path: Path) -> None:
    found = read_examples(
        write_lines(
            tmp_path / "a.jsonl",
            {"query": "a", "passage": "b", "id": 1},
            {"query": "c", "passage": "d", "at": 2},
        )
    )
    assert found.notes == ("not used of a.jsonl: id, at",)


def test_no_number_is_refused_before_the_training() -> None:
    with pytest.raises(InputError, match="all held-out pairs the same cosine"):
        require_numbers(0.5, float("nan"))
    require_numbers(0.0, 0.5)


def _questions(path: Path, rows: int = 30, answers: int = 5) -> Path:
    lines = [
        {"query": f"key number {i} turn", "passage": f"the door {i % answers} opens"} for i in range(rows)
    ]
    return write_lines(path, *lines)


class _Stop(Exception):
    pass


@trainable
def test_answers_that_repeat_are_spread_and_a_stopped_run_goes_on(tiny_model: Path, tmp_path: Path) -> None:
    data = _questions(tmp_path / "faq.jsonl", 20)
    given = {"model": str(tiny_model), "epochs": 2, **QUICK}

    def kill(state: object) -> None:
        if state.done == 3:  # type: ignore[attr-defined]
            raise _Stop

    whole = train(data, tmp_path / "whole", **given)
    assert whole.steps == 2 * -(-whole.counts["train"] // 8)
    assert any("none may stand twice in a batch" in note for note in whole.notes)
    with pytest.raises(_Stop):
        train(data, tmp_path / "out", progress=kill, **given)
    found = train(data, tmp_path / "out", resume=True, **given)
    assert (found.resumed, found.sha256, found.steps) == (2, whole.sha256, whole.steps)


@trainable
def test_a_loss_that_does_not_fit(tiny_model: Path, tmp_path: Path) -> None:
    data = write_pairs(tmp_path / "a.csv")
    with pytest.raises(InputError, match="does not fit pairs"):
        train(data, tmp_path / "out", model=str(tiny_model), loss="cosine")


@trainable
def test_held_out_sentences_that_are_all_alike(tiny_model: Path, tmp_path: Path) -> None:
    lines = [{"sentence1": f"key {i}", "sentence2": f"door {i}", "score": i / 20} for i in range(20)]
    data = write_lines(tmp_path / "a.jsonl", *lines)
    same = [{"sentence1": "a key", "sentence2": "a key", "score": i / 4} for i in range(4)]
    with pytest.raises(InputError, match="the same cosine"):
        train(
            data,
            tmp_path / "out",
            model=str(tiny_model),
            dev=write_lines(tmp_path / "d.jsonl", *same),
            **QUICK,
        )


@trainable
def test_a_model_of_few_tokens_and_the_rights_of_its_files(graded: Path, tmp_path: Path) -> None:
    """It reads as few as before; the umask decides who reads it."""
    model = save_tiny_bert(tmp_path / "short")
    place = model / "sentence_bert_config.json"
    place.write_text(
        json.dumps({**json.loads(place.read_text(encoding="utf-8")), "max_seq_length": 8}), encoding="utf-8"
    )
    out = Path(train(graded, tmp_path / "out", model=str(model), **QUICK).out)
    assert Encoder(str(out), engine="torch", device="cpu").max_tokens == 8
    modes = {stat.S_IMODE((out / name).stat().st_mode) for name in ("model.safetensors", "config.json")}
    assert len(modes) == 1
