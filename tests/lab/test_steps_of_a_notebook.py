"""The page of a notebook's steps: every command runs, and every call returns what the library promises."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest

import search
from tests.conftest import REPOSITORY, Run
from tests.render.test_notebook import needs
from tests.transcripts import BY_HAND, save_by_hand, save_random_bert

PAGE = REPOSITORY / "corpora" / "handbook" / "49-steps-of-a-notebook.md"
_ROW = re.compile(r"^\| (.+) \| `(seewhy .+)` \| `((?:bert|search)\..+)` \|$", re.MULTILINE)
STEPS = [match.groups() for match in _ROW.finditer(PAGE.read_text(encoding="utf-8"))]
# The checkpoints of the page cannot be downloaded here; these have the same heads.
STAND_INS = {
    "bert-base-uncased": "tiny-bert",
    "ProsusAI/finbert": "tiny-classifier",
    "dslim/bert-base-NER": "tiny-ner",
    "vblagoje/bert-english-uncased-finetuned-pos": "tiny-pos",
    "deepset/roberta-base-squad2": "tiny-reader",
}


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory, real: search.Encoder) -> Path:
    folder = tmp_path_factory.mktemp("models")
    save_random_bert(folder / "tiny-bert")
    for name, how in BY_HAND.items():
        save_by_hand(folder / name, *how)
    return folder


@pytest.fixture
def stand_in(models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Function that puts the folders of the small models into a text; files are written to an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    (tmp_path / "club.txt").write_text("Monday until 16.00, Friday until 14.30.", encoding="utf-8")

    def replaced(text: str) -> str:
        for name, small in STAND_INS.items():
            text = text.replace(name, (models / small).as_posix())
        return text

    return replaced


def test_every_row_of_the_page_has_a_command_and_a_call() -> None:
    rows = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    heads = [row for row in rows if row == "| step | command | call |"]
    assert len(rows) - len(heads) == len(STEPS) and len(heads) == 5


@needs("matplotlib")
@needs("pandas")
@pytest.mark.parametrize(("step", "command", "call"), STEPS)
def test_a_step_works_as_a_command_and_as_a_call(
    run: Run, stand_in: Any, tmp_path: Path, step: str, command: str, call: str
) -> None:
    arguments = shlex.split(stand_in(command))[1:]
    code, out, err = run(*arguments)
    assert code == 0, err
    files = [arguments[i + 1] for i, name in enumerate(arguments) if name in ("--png", "--csv")]
    assert all((tmp_path / file).exists() for file in files)
    assert bool(out) != bool(files)
    result = eval(stand_in(call), {"bert": search.bert, "search": search})
    assert result is not None
    if hasattr(result, "_repr_html_"):
        assert result._repr_html_() and repr(result)
