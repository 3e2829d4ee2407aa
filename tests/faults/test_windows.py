"""Differences of Windows and macOS, simulated here.

| there | who copes with it |
|---|---|
| a file that is open is not deleted or replaced | `patiently` waits for it; a mapped segment stays until the next run |
| a folder with an open file is not renamed | `patiently`, in `move` and in the cache of models |
| a folder cannot be opened, so not forced to disk | `sync_folder` |
| no O_NOFOLLOW, O_NONBLOCK, sched_getaffinity, register_at_fork | each is asked for before use |
| files are hidden by an attribute or a flag | the walk skips them |
| a pipe has an encoding of 256 characters | bars are spelled in ASCII, JSON is escaped |

`mypy --platform win32` and `--platform darwin` find calls that these systems lack.
"""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from search import Index, files
from search.corpus.walk import walk
from tests.conftest import Run

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or sys.version_info < (3, 11),
    reason="looks in /proc; pathlib calls functions of os",
)


def in_use() -> set[str]:
    """The files that this process has open or mapped."""
    opened = [os.path.realpath(link) for link in Path("/proc/self/fd").iterdir()]
    mapped = [
        line.split(maxsplit=5)[5:]
        for line in Path("/proc/self/maps").read_text(encoding="utf-8").splitlines()
    ]
    return {*opened, *(path[0] for path in mapped if path)}


@pytest.fixture
def windows(monkeypatch: pytest.MonkeyPatch) -> None:
    def refusing(real: Callable[..., Any]) -> Callable[..., Any]:
        def change(*paths: Any, **more: Any) -> Any:
            if not more:
                targets = [os.path.realpath(path) for path in paths]
                if any(
                    path_in_use == path or path_in_use.startswith(f"{path}/")
                    for path in targets
                    for path_in_use in in_use()
                ):
                    raise PermissionError(13, "it is being used by another process", targets[-1])
            return real(*paths, **more)

        return change

    def open_file(path: Any, *args: Any, real: Callable[..., int] = os.open) -> int:
        assert not Path(path).is_dir()
        return real(path, *args)

    for name in ("unlink", "replace", "rename"):
        monkeypatch.setattr(os, name, refusing(getattr(os, name)))
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "open", open_file)
    monkeypatch.setattr(files, "WINDOWS", True)


@pytest.mark.usefixtures("windows")
def test_an_index_is_built_updated_moved_and_removed(
    notes: Path, tiny_model: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("search.store.files._MAX_READ", 0)  # files of segments are mapped
    index = Index.build(notes, model=str(tiny_model))
    first = index.query("turn the key")
    (notes / "new.md").write_text("A key that nobody has turned yet.", encoding="utf-8")
    index.update()
    assert index.query("nobody has turned")[0].document == "new.md" and index.check().ok
    (notes / "new.md").unlink()
    again = Index.build(notes, model=str(tiny_model), rebuild=True)
    assert [hit.score for hit in again.query("turn the key")] == [hit.score for hit in first]
    notes.rename(moved := notes.with_name("moved"))
    # The index keeps its name, as `index` has mapped a file of it.
    assert run("move", "notes", moved)[0] == 0
    assert json.loads(run("query", "turn the key", "--json")[1])[0]["path"] == str(moved / "keys.md")
    assert run("remove", "notes", "--yes")[0] == 0
    assert not list(index.path.parent.glob("*/index.db"))


@pytest.mark.usefixtures("windows")
def test_writing_waits_for_a_reader_and_names_a_file_that_stays_in_use(
    tmp_path: Path, run: Run, own_home: Path
) -> None:
    assert run("config", "k", "3")[0] == 0
    (settings,) = own_home.rglob("*.toml")
    reader = settings.open(encoding="utf-8")
    threading.Timer(0.2, reader.close).start()
    assert run("config", "k", "4")[0] == 0 and reader.closed
    with settings.open(encoding="utf-8"):
        code, out, err = run("config", "k", "5")
    assert (code, out) == (1, "") and f"'{settings}' cannot be written: it is being used" in err
    assert settings.read_text(encoding="utf-8").split() == ["k", "=", "4"]


@pytest.mark.parametrize("hidden", [{"st_file_attributes": 2}, {"st_flags": 0x8000}])
def test_files_hidden_by_an_attribute_are_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hidden: dict[str, int]
) -> None:
    for name in ("Library", "Documents"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.txt").write_text("a", encoding="utf-8")
    real = os.lstat

    def lstat(path: str) -> Any:
        fields = {name: getattr(real(path), name) for name in dir(real(path)) if name.startswith("st_")}
        return SimpleNamespace(**fields, **hidden if path.endswith("Library") else {})

    monkeypatch.setattr(os, "lstat", lstat)
    items = [(item.path, getattr(item, "reason", "")) for item in walk(tmp_path)]
    monkeypatch.undo()
    assert items == [("Documents/a.txt", ""), ("Library", "hidden")]


@pytest.mark.parametrize("encoding", ["cp1252", "cp437"])
def test_output_to_a_pipe_with_few_characters_stays_readable(indexed: Path, encoding: str) -> None:
    (indexed / "keys.md").write_text("Türschlüssel: turn the key … 漢字 🙂", encoding="utf-8")

    def output_of(*command: str) -> str:
        environment = {**os.environ, "PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"}
        argv = [sys.executable, "-m", "search", *command, "turn the key", "-i", str(indexed)]
        return subprocess.run(argv, env=environment, capture_output=True, check=True).stdout.decode(
            encoding
        )

    lines = output_of("explain").splitlines()
    assert any("█" in line or " ##" in line for line in lines) and not any(
        "u2588" in line for line in lines
    )
    texts = [hit["text"] for hit in json.loads(output_of("query", "--update", "--json"))]
    assert "Türschlüssel: turn the key … 漢字 🙂" in texts
    assert [json.loads(line)["text"] for line in output_of("query", "--jsonl").splitlines()] == texts
