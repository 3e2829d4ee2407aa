"""An update is as good as a rebuild, one process writes, and readers see the index before it or after it."""

from __future__ import annotations

import random
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

import search
from tests.conftest import Run
from tests.contract.conftest import Answers, command, wait_for
from tests.contract.oracle import paragraphs

QUERIES = ("the door of the water", "rotate token key", "people")


def write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    """Twelve files, in place of those of other tests."""
    rng = random.Random(1)
    for n in range(12):
        kind = ("md", "txt", "rst")[n % 3]
        write(tmp_path / "notes" / f"{'deep/' * (n % 2)}f{n}.{kind}", paragraphs(rng, 3) + "\n")
    return tmp_path / "notes"


@pytest.fixture
def build(tmp_path: Path, notes: Path, tiny_model: Path) -> Any:
    """Builds an index of the notes, or brings it up to date."""

    def make(name: str = "index", **options: Any) -> search.Index:
        return search.Index.build(notes, index=str(tmp_path / name), model=str(tiny_model), **options)

    return make


def edit(rng: random.Random, folder: Path, step: int) -> None:
    """One step of a walk: add, edit, append, delete, rename, copy, swap, or touch."""
    files = sorted(file for file in folder.rglob("*") if file.is_file())
    file, other = rng.sample(files, 2)
    match rng.choice(
        ["add", "add", "edit", "append", "delete", "rename", "copy", "swap", "touch", "records"]
    ):
        case "add":
            write(
                folder / f"new/n{step}.md",
                f"# {rng.choice(['Keys', 'Doors'])}\n\n{paragraphs(rng, 2)}\n",
            )
        case "edit":
            write(file, paragraphs(rng, rng.randint(1, 4)) + "\n")
        case "append":
            write(file, file.read_text() + f"\n\n{paragraphs(rng, 1)}\n")
        case "delete":
            file.unlink()
        case "rename":
            file.rename(file.with_name(f"renamed{step}{file.suffix}"))
        case "copy":
            write(folder / f"copy{step}{file.suffix}", file.read_text())
        case "swap":
            text, other_text = file.read_text(), other.read_text()
            write(file, other_text)
            write(other, text)
        case "touch":
            file.touch()
        case "records":
            write(
                folder / "r.csv",
                "id,text\n" + "".join(f"{n},{paragraphs(rng, 1)[:30]}\n" for n in range(5)),
            )


@pytest.mark.parametrize("seed", [1, 2])
def test_updates_give_what_a_clean_build_gives(build: Any, notes: Path, seed: int) -> None:
    rng = random.Random(seed)
    index = build()
    for step in range(6):
        for _ in range(rng.randint(1, 4)):
            edit(rng, notes, step)
        if step % 2:
            build()
        else:
            index.update()
        clean = build(f"clean{step}")
        assert Answers(index, QUERIES) == Answers(clean, QUERIES), step
        status, expected = index.status(), clean.status()
        assert (status.documents, status.passages, status.tokens) == (
            expected.documents,
            expected.passages,
            expected.tokens,
        )
        assert index.check().ok


def test_unchanged_files_are_not_encoded_again(build: Any, notes: Path) -> None:
    first = build().report
    assert (first.added, first.encoded, first.passages) == (12, first.passages, first.passages)
    again = build().report
    assert again.nothing_changed
    assert (again.encoded, again.unchanged) == (0, 12)
    text = (notes / "f2.rst").read_text()
    write(notes / "f2.rst", f"{text}\n\nOne more paragraph about the door of the water side.\n")
    after_edit = build().report
    assert after_edit.changed == 1
    assert 0 < after_edit.encoded <= 2
    (notes / "f2.rst").unlink()
    after_deletion = build().report
    assert (after_deletion.removed, after_deletion.encoded) == (1, 0)


def test_a_rename_keeps_embeddings_and_ids_of_passages(build: Any, notes: Path) -> None:
    write(notes / "old.md", f"# A title of its own\n\n{paragraphs(random.Random(2), 6)}\n")
    index = build()
    before = {hit.text: hit.passage_id for hit in index.query("the", k=1000, where="name:old.md")}
    (notes / "old.md").rename(notes / "deep" / "elsewhere.md")
    report = index.update()
    assert (report.renamed, report.encoded) == (1, 0)
    after = {hit.text: hit.passage_id for hit in index.query("the", k=1000, where="name:elsewhere.md")}
    assert len(after) > 2 and after == before


def test_passage_ids_are_never_reused(build: Any, notes: Path) -> None:
    index = build()
    ids = {hit.passage_id for hit in index.query("the", k=1000)}
    rng = random.Random(4)
    for _ in range(3):
        write(notes / "f0.md", paragraphs(rng, 4))
        old = {hit.passage_id for hit in index.query("the", k=1000, where="name:f0.md")}
        index.update()
        new = {hit.passage_id for hit in index.query("the", k=1000, where="name:f0.md")}
        assert not (new - old) & ids
        ids |= new


def test_a_preview_says_what_a_run_does(build: Any, notes: Path, tmp_path: Path) -> None:
    index = build()
    write(notes / "new.md", "A new door.\n")
    write(notes / "f0.md", "Another text.\n")
    (notes / "f3.md").unlink() if (notes / "f3.md").exists() else (notes / "deep" / "f3.md").unlink()
    before = Answers(index, QUERIES)
    changes = search.Index.preview(notes, index=str(tmp_path / "index"))
    assert (changes.added, changes.changed, len(changes.removed)) == (("new.md",), ("f0.md",), 1)
    assert Answers(index, QUERIES) == before
    report = build().report
    assert (report.added, report.changed, report.removed) == (1, 1, 1)


def test_a_folder_that_is_gone_deletes_nothing(build: Any, notes: Path, tmp_path: Path) -> None:
    index = build()
    before = Answers(index, QUERIES)
    notes.rename(tmp_path / "away")
    with pytest.raises(search.InputError):
        index.update()
    assert Answers(index, QUERIES) == before


def test_a_rebuild_gives_the_same_and_answers_meanwhile(build: Any) -> None:
    index = build()
    before, answers = Answers(index, QUERIES), []
    build(rebuild=True, progress=lambda _: answers.append(Answers(index, QUERIES) == before))
    assert answers and all(answers)
    assert Answers(index, QUERIES) == before


def state(folder: Path, number: int) -> None:
    """A folder in one of four states, each a step of one kind from the one before: a run commits batch by batch."""
    value = (0, 1, 1, 3)[number]
    for n in range(8):
        write(folder / f"s{n}.txt", f"The door of state number {value} file {n} is open to the water.\n")
    for n in range(4):
        if number == 1:
            write(folder / f"more{n}.txt", f"People say {n} times that the key is long.\n")
        if number == 2:
            (folder / f"more{n}.txt").unlink()


def test_readers_see_one_generation(tmp_path: Path, tiny_model: Path) -> None:
    folder = tmp_path / "notes"
    modes = ("hybrid", "dense", "lexical")
    expected = []
    for number in range(4):
        state(folder, number)
        index = search.Index.build(folder, index=str(tmp_path / "clean"), model=str(tiny_model))
        expected.append({(q, mode): Answers(index, (q,), (mode,)) for q in QUERIES for mode in modes})
    assert all(
        expected[n][QUERIES[0], "hybrid"] != expected[n + 1][QUERIES[0], "hybrid"] for n in range(3)
    )
    state(folder, 0)
    place = search.Index.build(folder, index=str(tmp_path / "index"), model=str(tiny_model)).path
    stop, wrong, generations = threading.Event(), [], set()

    def read() -> None:
        own = search.Index.open(place)
        while not stop.is_set():
            for query in QUERIES:
                for mode in modes:
                    answers = Answers(own, (query,), (mode,))
                    states = {number for number in range(4) if answers == expected[number][query, mode]}
                    generations.update(states)
                    if not states:
                        wrong.append(answers.passages)
                    stop.wait(0.03)

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    try:
        for number in (1, 2, 3):
            state(folder, number)
            assert command("index", folder, "-i", place, "-q").returncode == 0
    finally:
        stop.set()
        for reader in readers:
            reader.join()
    assert len(wrong) == 0
    assert {0, 3} <= generations


def test_a_second_writer_is_refused(
    build: Any, notes: Path, tmp_path: Path, tiny_model: Path, run: Run
) -> None:
    index = build()
    before = Answers(index, QUERIES)
    write(notes / "new.md", "A new door.\n")
    busy, release = threading.Event(), threading.Event()

    def wait(_: search.Progress) -> None:
        busy.set()
        assert release.wait(60)

    writer = threading.Thread(target=lambda: build(progress=wait))
    writer.start()
    try:
        assert busy.wait(60)
        with pytest.raises(search.IndexLocked):
            build()
        code, out, message = run("index", notes, "-i", tmp_path / "index")
        assert (code, out) == (1, "") and message.strip()
        second = command("index", notes, "-i", tmp_path / "index")
        assert (second.returncode, second.stdout) == (1, "") and "Traceback" not in second.stderr
        assert Answers(index, QUERIES) == before  # readers wait for nobody
    finally:
        release.set()
        writer.join()
    assert build().report.nothing_changed
    assert Answers(index, QUERIES) == Answers(build("clean"), QUERIES)


def test_a_watch_follows_the_folder(build: Any, notes: Path) -> None:
    index, stop = build(), threading.Event()
    reports: list[Any] = []
    thread = threading.Thread(target=lambda: reports.extend(index.watch(stop)))
    thread.start()
    try:
        wait_for(lambda: bool(touch_again(notes)) and bool(index.query("xylophones", mode="lexical")), 60)
    finally:
        stop.set()
        thread.join()
    assert all(isinstance(report, search.Report) for report in reports)


def touch_again(folder: Path) -> bool:
    """Write again until it is seen: a watch may begin after the first time."""
    write(folder / "watched.txt", "Two xylophones" + " play" * random.randint(1, 9) + ".\n")
    threading.Event().wait(0.3)
    return True


CHILD = """
import os, resource, signal, sys, threading
import search
folder, place, model, fault, amount = sys.argv[1:]
if fault == "kill":
    threading.Timer(float(amount), os.kill, (os.getpid(), signal.SIGKILL)).start()
elif fault == "step":
    left = [int(amount)]
def progress(_):
    if fault == "step":
        left[0] -= 1
        if left[0] < 0:
            os.kill(os.getpid(), signal.SIGKILL)
if fault == "full":
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(amount), int(amount)))
try:
    search.Index.build(folder, index=place, model=model, progress=progress)
except (search.SearchError, OSError) as error:
    sys.exit(f"refused: {error}")
os._exit(0)
"""


def child(
    notes: Path, place: Path, model: Path, fault: str, amount: float
) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-c", CHILD, *map(str, (notes, place, model, fault, amount))]
    return subprocess.run(line, capture_output=True, text=True, timeout=120)


@pytest.mark.skipif(sys.platform == "win32", reason="signals and limits of POSIX")
@pytest.mark.parametrize("fresh", [False, True])
def test_a_killed_run_leaves_the_index_before_or_after(
    build: Any, notes: Path, tmp_path: Path, tiny_model: Path, fresh: bool
) -> None:
    rng, place = random.Random(9), tmp_path / "index"
    index = None if fresh else build()
    before = Answers(index, QUERIES) if index else None
    write(notes / "f0.md", paragraphs(rng, 3))
    write(notes / "new.md", paragraphs(rng, 3))
    between = Answers(build("clean"), QUERIES)  # what is gone goes last
    (notes / "f2.rst").unlink()
    after = Answers(build("clean"), QUERIES)
    ends = [("kill", rng.uniform(0, 0.5)), ("step", 0), ("step", 2)]
    for fault, amount in ends:
        process = child(notes, place, tiny_model, fault, amount)
        assert process.returncode in (0, -9), process.stderr
        try:
            answers = Answers(search.Index.open(str(place)), QUERIES)
        except search.SearchError:  # nothing was stored yet
            assert fresh
        else:
            assert answers in (before, between, after) or (
                fresh and answers.passages[0].keys() <= after.passages[0].keys()
            )
    report = build().report
    assert report.encoded <= 12 * 6
    assert Answers(build(), QUERIES) == after
    assert build().check().ok
    assert build().report.nothing_changed


@pytest.mark.skipif(sys.platform == "win32", reason="signals and limits of POSIX")
def test_a_full_disk_leaves_the_old_index(
    build: Any, notes: Path, tmp_path: Path, tiny_model: Path
) -> None:
    rng, place = random.Random(5), tmp_path / "index"
    index = build()
    before = Answers(index, QUERIES)
    for n in range(15):
        write(notes / f"more{n}.txt", paragraphs(rng, 3) + "\n")
    refused = 0
    for size in (0, 40_000, (place / "index.db").stat().st_size + 5_000):
        process = child(notes, place, tiny_model, "full", size)
        refused += process.returncode == 1
        if process.returncode:
            assert process.stderr.startswith("refused: ") and "Traceback" not in process.stderr
            assert Answers(search.Index.open(str(place)), QUERIES) == before
    assert refused >= 2
    report = build().report
    assert report.passages > len(before.passages[0])
    assert Answers(build(), QUERIES) == Answers(build("clean"), QUERIES)
    assert build().check().ok
