"""Harness 5: damaged index files, damaged input files, and a damaged cache of models.

A damaged index gives the answers that it gave before, or an error that is ours. A damaged input file gives documents,
or is skipped for a reason. Never another exception, a crash, a hang, or a wrong answer. The work is done in
children, many files each; when one dies or says nothing, the file that it was at is to blame.

    python -m tests.faults.mutate KIND PLACE SEED FIRST STOP DEFECT

KIND: index, segment, run, tamper, input, package, model
"""

from __future__ import annotations

import contextlib
import json
import shutil
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from random import Random
from typing import Any

from search import ReadError, SearchError
from search.corpus import Skipped, SourceFile, documents, load, walk
from tests.faults import models, oracle, tamper
from tests.faults.contents import Editor, fill
from tests.faults.damage import ANYTHING, INPUTS, TEXT, damaged
from tests.faults.defects import defect
from tests.faults.outcome import ENOUGH, Outcome
from tests.faults.packages import damaged_package, packages
from tests.faults.processes import Child

_PATIENCE = 60.0  # seconds without a word that count as a hang; a file takes a few hundredths of one


def damaged_indexes(place: Path, *, seed: int, files: int, name: str = "", enough: int = ENOUGH) -> Outcome:
    """Query an index, one of whose files is damaged, `files` times; each time damaged in another way.

    Args:
        name: of a defect to plant in the child.
        enough: stop after so many failures.
    """
    _base(place, seed)
    return _in_children("index", place, Outcome("damaged index files", seed), files, name, enough)


def damaged_segments(place: Path, *, seed: int, files: int, name: str = "", enough: int = ENOUGH) -> Outcome:
    """The same with files of segments alone, of codes and of words."""
    _base(place, seed)
    return _in_children("segment", place, Outcome("damaged files of segments", seed), files, name, enough)


def damaged_indexes_updated(place: Path, *, seed: int, files: int, name: str = "") -> Outcome:
    """The same, but the folder is indexed again before the queries: damage is not made worse or hidden."""
    _base(place, seed)
    return _in_children("run", place, Outcome("damaged index files, then a run", seed), files, name)


def damaged_inputs(place: Path, *, seed: int, files: int, name: str = "") -> Outcome:
    """Read and cut a damaged file, `files` times."""
    place.mkdir(parents=True, exist_ok=True)
    return _in_children("input", place, Outcome("damaged input files", seed), files, name)


def damaged_packages(place: Path, *, seed: int, files: int, name: str = "") -> Outcome:
    """The same with PDF, Word, PowerPoint, Excel and EPUB files; none without the extra `documents`."""
    place.mkdir(parents=True, exist_ok=True)
    outcome = Outcome("damaged PDF, Word, ... files", seed)
    return _in_children("package", place, outcome, files if packages() else 0, name)


def damaged_models(place: Path, *, seed: int, files: int, name: str = "", enough: int = ENOUGH) -> Outcome:
    """Encode with a converted model of which something is damaged, `files` times."""
    models.base(place)
    return _in_children("model", place, Outcome("damaged converted models", seed), files, name, enough)


def tampered_indexes(place: Path, *, seed: int, files: int, name: str = "", enough: int = ENOUGH) -> Outcome:
    """Ask everything of an index that somebody changed to do harm, `files` times; see `tests.faults.tamper`."""
    _base(place, seed)
    return _in_children("tamper", place, Outcome("tampered indexes", seed), files, name, enough)


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


def _in_children(
    kind: str, place: Path, outcome: Outcome, files: int, name: str, enough: int = ENOUGH
) -> Outcome:
    at = 0
    while at < files and len(outcome.failures) < enough:
        arguments = (kind, str(place), str(outcome.seed), str(at), str(files), name)
        child = Child("mutate", *arguments)
        if child.hear() is None:
            raise RuntimeError(f"a child did not start: {child.last_words()}")
        at = _listen(child, outcome, at, enough)
    outcome.figures.setdefault("crashes", 0)
    outcome.figures.setdefault("hangs", 0)
    return outcome


def _listen(child: Child, outcome: Outcome, at: int, enough: int) -> int:
    """Hear what a child finds, until it ends or that is enough; the number of the file that comes next."""
    what = ""
    while True:
        try:
            said = child.hear(_PATIENCE)
        except TimeoutError:
            child.kill()
            outcome.count("hangs")
            outcome.failures.append(f"file {at} ({what}): hangs")
            return at + 1
        if said is None:
            status = child.wait()
            if status == 0:
                return at
            outcome.count("crashes")
            outcome.failures.append(f"file {at} ({what}): crash, status {status}: {child.last_words()}")
            return at + 1
        if "begins" in said:
            at, what = said["begins"], said["what"]
            continue
        outcome.runs += 1
        outcome.count(said["outcome"])
        if said["failure"]:
            outcome.failures.append(f"file {at} ({what}): {said['failure']}")
            if len(outcome.failures) >= enough:
                child.kill()
                return at + 1
        at += 1


Finding = tuple[str, str]  # the outcome to count, and why it is a failure


def _index_file(place: Path, rng: Random) -> tuple[str, Callable[[], Finding]]:
    what = _damage_one(place, rng)
    return what, lambda: _answers(place)


def _index_file_then_run(place: Path, rng: Random) -> tuple[str, Callable[[], Finding]]:
    what = _damage_one(place, rng)

    def tried() -> Finding:
        with contextlib.suppress(SearchError, OSError):
            oracle.run(place / "folder", place / "index")
        return _answers(place, another_sample=True)

    return what, tried


def _segment_file(place: Path, rng: Random) -> tuple[str, Callable[[], Finding]]:
    index = _restored(place)
    what = _damaged_at(_of_a_segment(index, rng), rng)
    return what, lambda: _answers(place)


def _restored(place: Path) -> Path:
    index = place / "index"
    shutil.rmtree(index, ignore_errors=True)
    shutil.copytree(place / "base", index)
    return index


def _of_a_segment(index: Path, rng: Random) -> Path:
    """A file of codes or one of words."""
    return rng.choice(sorted(index.glob(f"ann/*.{rng.choice(('faiss', 'words'))}")))


def _damage_one(place: Path, rng: Random) -> str:
    """Restore the index and damage one of its files; which, and how."""
    index = _restored(place)
    target = rng.choice(
        [*[index / "index.db"] * 8, *[_of_a_segment(index, rng)] * 2, index / "index.db-journal"]
    )
    if target.name.endswith("-journal"):  # what an older copy of the index, or a crash, may leave
        target.write_bytes(b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7" * rng.randrange(2) + rng.randbytes(5000))
        return "a journal of random bytes"
    return _damaged_at(target, rng)


def _damaged_at(target: Path, rng: Random) -> str:
    kind, data = damaged(target.read_bytes(), rng, ANYTHING)
    target.write_bytes(data)
    return f"{target.name} {kind}"


def _answers(place: Path, *, another_sample: bool = False) -> Finding:
    """Whether the answers are right. No answer rests on the sample of random pairs: percentiles may be missing.

    Args:
        another_sample: percentiles may be others, because a run may have taken another sample.
    """
    try:
        found = answers(place / "index")
    except SearchError:
        return "refused", ""
    right = _right(place)
    if another_sample:
        found = _without_sample(found)
    if found in (right, _without_sample(right)):
        return "right", ""
    return "wrong", f"a wrong answer: {_first_difference(right, found)}"


def _without_sample(hits: list[Any]) -> list[Any]:
    return [{**facts, "percentile": None, "random_pairs": 0, "hub": None} for facts in hits]


def answers(index: Path) -> list[Any]:
    """All that an index answers to a few questions, as JSON would have it; without ids."""
    reader = oracle.opened(index)
    reader.status()
    hits = [
        hit
        for query in oracle.QUERIES
        for k in (3, 1000)
        for hit in reader.query(query, k, all_copies=True, per_document=0)
    ]
    exact = [{**asdict(hit), "path": "", "passage_id": 0, "cosine": 0.0} for hit in hits]
    return [
        {**facts, "score": round(facts["score"], 5), "lexical": round(facts["lexical"], 5)} for facts in exact
    ]


_rights: dict[Path, list[Any]] = {}


def _right(place: Path) -> list[Any]:
    if place not in _rights:
        shutil.copytree(place / "base", place / "whole", dirs_exist_ok=True)
        _rights[place] = answers(place / "whole")
    return _rights[place]


def _first_difference(right: list[Any], found: list[Any]) -> str:
    if len(right) != len(found):
        return f"{len(found)} hits in place of {len(right)}"
    one, two = next((a, b) for a, b in zip(right, found, strict=True) if a != b)
    return next(f"{key} {two[key]!r:.60} in place of {one[key]!r:.60}" for key in one if one[key] != two[key])


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
    what, data = damaged_package(name, rng)
    (folder / name).write_bytes(data)
    return f"{name} {what}", lambda: _read(folder)


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
                    return "wrong", f"passage {passage.start}:{passage.end} is not what the text says there"
                if passage.n_tokens > oracle.CUTTER.max_tokens:
                    return "wrong", f"passage {passage.start}:{passage.end} has {passage.n_tokens} tokens"
                if not 1 <= passage.line_start <= passage.line_end:
                    return "wrong", f"lines {passage.line_start} to {passage.line_end}"
    except ReadError:
        return "skipped", ""
    return ("read", "") if n_passages else ("read, no passage", "")


def _model(place: Path, rng: Random) -> tuple[str, Callable[[], Finding]]:
    what = models.damage_one(place, rng)
    return what, lambda: models.encodes(place)


def _limited() -> None:
    """Let this process take no more memory than it has and a gigabyte; where the system can."""
    with contextlib.suppress(ImportError):
        import resource

        pages = (
            int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[0])
            if Path("/proc/self/statm").exists()
            else 0
        )
        if pages:
            most = pages * resource.getpagesize() + tamper.MOST_BYTES
            resource.setrlimit(resource.RLIMIT_AS, (most, most))


_KINDS = {
    "index": _index_file,
    "segment": _segment_file,
    "run": _index_file_then_run,
    "input": _input_file,
    "package": _package,
    "model": _model,
    "tamper": tamper.tampered,
}


def main() -> None:
    kind, folder, seed, first, stop, name = sys.argv[1:]
    place = Path(folder)
    if kind in ("index", "segment", "run", "tamper"):
        _right(place)
    if kind == "tamper":
        _limited()
    print(json.dumps({"ready": True}), flush=True)
    for at in range(int(first), int(stop)):
        what, look = _KINDS[kind](place, Random(f"{kind} {seed} {at}"))
        print(json.dumps({"begins": at, "what": what}), flush=True)
        try:
            with defect(name):
                outcome, failure = look()
        except Exception as error:
            outcome, failure = "other exception", f"{type(error).__name__}: {error}"
        print(json.dumps({"outcome": outcome, "failure": failure[:300]}), flush=True)


if __name__ == "__main__":
    main()
