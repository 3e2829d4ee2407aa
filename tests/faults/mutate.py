"""Harness 5: flipped bits in files of segments and in index.db, damaged input files, and a damaged cache of models.

A damaged index gives the answers that it gave before, or an error that is ours; what a damaged index.db answers
wrongly, `check` finds, unless no hash covers it. A damaged input file gives documents, or is skipped for a reason.
Never another exception, a crash, a hang, or a wrong answer. The work is done in children, many files each; when one
dies or says nothing, the file that it was at is to blame.

    python -m tests.faults.mutate KIND PLACE SEED FIRST STOP

KIND: segment, folder, memory, input, package, model
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from search import Document, ReadError, SearchError
from search.corpus import Skipped, SourceFile, documents, load, walk
from search.indexing import memory
from search.indexing.check import check
from search.records.options import Mode
from tests.faults import models, oracle
from tests.faults.contents import Editor, fill
from tests.faults.damage import INPUTS, TEXT, damaged
from tests.faults.outcome import ENOUGH, Outcome
from tests.faults.packages import damaged_package, packages
from tests.faults.processes import Child

MODES: tuple[Mode, ...] = ("hybrid", "dense", "lexical")
_PATIENCE = 60.0  # seconds without a word that count as a hang; a file takes a few hundredths of one


def flipped_segments(place: Path, *, seed: int, files: int) -> Outcome:
    """Query an index, one bit of whose FAISS files and postings is flipped, `files` times."""
    _base(place, seed)
    return _in_children("segment", place, Outcome("flipped bits of segments", seed), files)


def flipped_databases(place: Path, *, seed: int, files: int) -> Outcome:
    """Query and check an index, one bit of whose index.db is flipped, `files` times for each kind of index.

    The figure "unnoticed" counts wrong answers of an index that `check` calls sound: headings, titles and the last bits
    of numbers have no hash.
    """
    _base(place, seed)
    outcome = Outcome("flipped bits of index.db", seed)
    for kind in ("folder", "memory"):
        _in_children(kind, place, outcome, files)
    return outcome


def damaged_inputs(place: Path, *, seed: int, files: int) -> Outcome:
    """Read and cut a damaged file, `files` times."""
    place.mkdir(parents=True, exist_ok=True)
    return _in_children("input", place, Outcome("damaged input files", seed), files)


def damaged_packages(place: Path, *, seed: int, files: int) -> Outcome:
    """The same with PDF, Word, PowerPoint, Excel and EPUB files; none without the extra `documents`."""
    place.mkdir(parents=True, exist_ok=True)
    outcome = Outcome("damaged PDF, Word, ... files", seed)
    return _in_children("package", place, outcome, files if packages() else 0)


def damaged_models(place: Path, *, seed: int, files: int) -> Outcome:
    """Encode with a converted model, a file of which is damaged, `files` times."""
    models.base(place)
    return _in_children("model", place, Outcome("damaged converted models", seed), files)


def _base(place: Path, seed: int) -> None:
    """An index with everything in it: segments, passages after them, and deleted ones in them."""
    rng = Random(seed)
    files = fill(place / "folder", rng, 60)
    oracle.run(place / "folder", place / "base")
    editor = Editor(place / "folder", files, rng, "e")
    for name in sorted(files)[:2]:
        editor.apply({name: None})
    editor.apply({"new.md": "# New\n\nA new door in the garden.\n"})
    oracle.run(place / "folder", place / "base")
    memory.create(place / "base-memory", oracle.ENCODER)
    texts = {
        path: raw.decode("utf-8", "replace") for path, raw in oracle.on_disk(place / "folder").items()
    }
    memory.upsert(place / "base-memory", oracle.ENCODER, [Document(*item) for item in texts.items()])


def _in_children(kind: str, place: Path, outcome: Outcome, files: int) -> Outcome:
    number = 0
    while number < files and len(outcome.failures) < ENOUGH:
        arguments = (kind, str(place), str(outcome.seed), str(number), str(files))
        child = Child("mutate", *arguments)
        if child.hear() is None:
            raise RuntimeError(f"a child did not start: {child.last_words()}")
        number = _listen(child, outcome, number)
    outcome.figures.setdefault("crashes", 0)
    outcome.figures.setdefault("hangs", 0)
    return outcome


def _listen(child: Child, outcome: Outcome, number: int) -> int:
    """Hear what a child finds, until it ends or that is enough; the number of the file that comes next."""
    description = ""
    while True:
        try:
            message = child.hear(_PATIENCE)
        except TimeoutError:
            child.kill()
            outcome.count("hangs")
            outcome.failures.append(f"file {number} ({description}): hangs")
            return number + 1
        if message is None:
            status = child.wait()
            if status == 0:
                return number
            outcome.count("crashes")
            outcome.failures.append(
                f"file {number} ({description}): crash, status {status}: {child.last_words()}"
            )
            return number + 1
        if "begins" in message:
            number, description = message["begins"], message["what"]
            continue
        outcome.runs += 1
        outcome.count(message["outcome"])
        if message["failure"]:
            outcome.failures.append(f"file {number} ({description}): {message['failure']}")
            if len(outcome.failures) >= ENOUGH:
                child.kill()
                return number + 1
        number += 1


Finding = tuple[str, str]  # the outcome to count, and why it is a failure


def _segment_file(place: Path, rng: Random) -> tuple[str, Callable[[], Finding]]:
    shutil.rmtree(place / "index", ignore_errors=True)
    shutil.copytree(place / "base", place / "index")
    target = rng.choice(sorted((place / "index").glob(f"ann/*.{rng.choice(('faiss', 'words'))}")))
    data = bytearray(target.read_bytes())
    bit = rng.randrange(8 * len(data))
    data[bit // 8] ^= 1 << bit % 8
    target.write_bytes(data)
    return f"bit {bit} of {target.name}", lambda: _answers(place)


def _folder_database(place: Path, rng: Random) -> tuple[str, Callable[[], Finding]]:
    return _database(place, "base", rng)


def _memory_database(place: Path, rng: Random) -> tuple[str, Callable[[], Finding]]:
    return _database(place, "base-memory", rng)


def _database(place: Path, base: str, rng: Random) -> tuple[str, Callable[[], Finding]]:
    shutil.rmtree(place / "index", ignore_errors=True)
    shutil.copytree(place / base, place / "index")
    database = place / "index" / "index.db"
    data = bytearray(database.read_bytes())
    bit = rng.randrange(8 * len(data))
    data[bit // 8] ^= 1 << bit % 8
    database.write_bytes(data)
    return f"bit {bit} of index.db", lambda: _noticed(place, base)


def _noticed(place: Path, base: str) -> Finding:
    """Outcome of queries: answered as before, refused, or wrong; and whether `check` finds the damage."""
    report = check(place / "index")
    outcomes = set()
    for mode in MODES:
        try:
            is_right = answers(place / "index", mode) == _right(place, mode, base)
        except SearchError:
            outcomes.add("refused")
            continue
        outcomes.add("right" if is_right else "wrong")
    outcome = next(name for name in ("wrong", "refused", "right") if name in outcomes)
    if outcome == "right":
        return outcome, ""
    return (f"{outcome}, found by check" if not report.ok else f"{outcome}, unnoticed"), ""


def _answers(place: Path) -> Finding:
    """Outcome of a query in each mode: answered as before, or refused."""
    refused = []
    for mode in MODES:
        try:
            actual = answers(place / "index", mode)
        except SearchError:
            refused.append(mode)
            continue
        if actual != _right(place, mode):
            return "wrong", f"{mode}: a wrong answer"
    return ("refused: " + ", ".join(refused) if refused else "right"), ""


def answers(index: Path, mode: Mode) -> list[Any]:
    """Hits of a few questions; scores without their last digits."""
    reader = oracle.opened(index)
    return [
        (
            hit.passage_id,
            hit.document,
            hit.start,
            hit.end,
            hit.text,
            round(hit.score, 5),
            round(hit.lexical or 0.0, 5),
        )
        for query in oracle.QUERIES
        for k in (3, 1000)
        for hit in reader.query(query, k, mode=mode, all_copies=True, per_document=0)
    ]


@cache
def _right(place: Path, mode: Mode, base: str = "base") -> list[Any]:
    return answers(place / base, mode)


def _input_file(place: Path, rng: Random) -> tuple[str, Callable[[], Finding]]:
    folder = place / "input"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    name = rng.choice(sorted(INPUTS))
    kind, data = damaged(INPUTS[name], rng, TEXT)
    (folder / name).write_bytes(data)
    return f"{name} {kind}", lambda: _read(folder)


def _package(place: Path, rng: Random) -> tuple[str, Callable[[], Finding]]:
    folder = place / "input"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    name = rng.choice(sorted(packages()))
    change, data = damaged_package(name, rng)
    (folder / name).write_bytes(data)
    return f"{name} {change}", lambda: _read(folder)


def _read(folder: Path) -> Finding:
    (file,) = walk(folder)
    if isinstance(file, Skipped):
        return "skipped", ""
    assert isinstance(file, SourceFile)
    n_passages = 0
    try:
        for item in documents(file, load(file)):
            if isinstance(item, Skipped):
                continue
            for passage in oracle.CUTTER.cut(item):
                n_passages += 1
                if item.text[passage.start : passage.end] != passage.text or not passage.text.strip():
                    return (
                        "wrong",
                        f"passage {passage.start}:{passage.end} is not what the text says there",
                    )
                if passage.n_tokens > oracle.CUTTER.max_tokens:
                    return (
                        "wrong",
                        f"passage {passage.start}:{passage.end} has {passage.n_tokens} tokens",
                    )
                if not 1 <= passage.line_start <= passage.line_end:
                    return "wrong", f"lines {passage.line_start} to {passage.line_end}"
    except ReadError:
        return "skipped", ""
    return ("read", "") if n_passages else ("read, no passage", "")


def _model(place: Path, rng: Random) -> tuple[str, Callable[[], Finding]]:
    return models.damage_one(place, rng), lambda: models.encodes(place)


_KINDS = {
    "segment": _segment_file,
    "folder": _folder_database,
    "memory": _memory_database,
    "input": _input_file,
    "package": _package,
    "model": _model,
}


def main() -> None:
    kind, folder, seed, first, stop = sys.argv[1:]
    place = Path(folder)
    print(json.dumps({"ready": True}), flush=True)
    for number in range(int(first), int(stop)):
        description, look = _KINDS[kind](place, Random(f"{kind} {seed} {number}"))
        print(json.dumps({"begins": number, "what": description}), flush=True)
        try:
            outcome, failure = look()
        except Exception as error:
            outcome, failure = "other exception", f"{type(error).__name__}: {error}"
        print(json.dumps({"outcome": outcome, "failure": failure[:300]}), flush=True)


if __name__ == "__main__":
    main()
