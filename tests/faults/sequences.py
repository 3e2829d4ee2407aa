"""Harness 7: random sequences of edits and runs, against brute force and a dict."""

from __future__ import annotations

from pathlib import Path
from random import Random

from search import Document, Index
from search.indexing import memory
from search.indexing.check import check
from search.records.reports import Progress
from tests.conftest import WORDS
from tests.faults import oracle
from tests.faults.contents import Editor, fill
from tests.faults.outcome import ENOUGH, Outcome

_ROUNDS = 8  # of a sequence


def of_a_folder(place: Path, *, seed: int, sequences: int) -> Outcome:
    """Edit a folder at random, index it in several ways, and compare with what its files give.

    Args:
        place: an empty folder to work in.
    """
    outcome = Outcome("random edits of a folder", seed)
    for number in range(sequences):
        rng = Random(f"{seed} {number}")
        folder, index = place / f"folder{number}", place / f"index{number}"
        editor = Editor(folder, fill(folder, rng), rng, f"s{number}")
        for _ in range(_ROUNDS):
            oracle.run(folder, index, rebuild=rng.random() < 0.1)
            if rng.random() < 0.1:
                oracle.repaired_without_faiss_files(index)
            wrong = oracle.different(index, oracle.on_disk(folder)) + oracle.problems(index)
            outcome.failures += [f"sequence {number}: {problem}" for problem in wrong]
            outcome.count("runs")
            for _ in range(rng.randint(1, 5)):
                editor.apply(editor.plan())
        outcome.runs += 1
        if len(outcome.failures) >= ENOUGH:
            break
    return outcome


def with_pending_passages(place: Path, *, seed: int, sequences: int) -> Outcome:
    """Edit a folder at random, run any part of an indexing run, and ask in between.

    Args:
        place: an empty folder to work in.
    """
    outcome = Outcome("random edits and incomplete runs", seed)
    for number in range(sequences):
        rng = Random(f"{seed} {number}")
        folder, index = place / f"folder{number}", place / f"index{number}"
        editor = Editor(folder, fill(folder, rng), rng, f"p{number}")
        for _ in range(2 * _ROUNDS):
            is_read = _part_of_a_run(folder, index, rng)
            wrong = oracle.different(index, oracle.on_disk(folder)) if is_read else []
            wrong += oracle.wrong_in_between(index)
            if rng.random() < 0.5:  # encodes what it looks at
                oracle.opened(index).query(rng.choice(oracle.QUERIES), pending=rng.randint(1, 30))
                wrong += oracle.wrong_in_between(index)
            outcome.failures += [f"sequence {number}: {problem}" for problem in wrong]
            outcome.count("runs")
            for _ in range(rng.randint(0, 3)):
                editor.apply(editor.plan())
        oracle.run(folder, index)
        wrong = oracle.different(index, oracle.on_disk(folder)) + oracle.problems(index)
        outcome.failures += [
            f"sequence {number}: {problem}" for problem in wrong + oracle.leftovers(index)
        ]
        outcome.runs += 1
        if len(outcome.failures) >= ENOUGH:
            break
    return outcome


def _part_of_a_run(folder: Path, index: Path, rng: Random) -> bool:
    """Run a lazy run, or one that is stopped at a random moment; return True if it has read all files."""
    if rng.random() < 0.4:
        oracle.run(folder, index, lazy=rng.choice([True, "once"]))
        return True
    stage, moment = rng.choice(["reading", "encoding"]), rng.randint(1, 12)
    calls = 0

    def stop(state: Progress) -> None:
        nonlocal calls
        calls += state.stage == stage and state.passages > 0
        if calls == moment:
            raise KeyboardInterrupt

    try:
        oracle.run(folder, index, progress=stop)
    except KeyboardInterrupt:
        return stage == "encoding"
    return True


def of_documents(place: Path, *, seed: int, sequences: int) -> Outcome:
    """Upsert and delete documents from memory at random, rebuild and export, and compare with a dict."""
    outcome = Outcome("random changes of documents from memory", seed)
    place.mkdir(parents=True, exist_ok=True)
    for number in range(sequences):
        rng = Random(f"{seed} {number}")
        index, texts = place / f"index{number}", dict[str, str]()
        memory.create(index, oracle.ENCODER)
        for _ in range(3 * _ROUNDS):
            ids = [f"d{rng.randrange(25)}" for _ in range(rng.randint(1, 8))]
            if rng.random() < 0.15:
                memory.rebuild(index, oracle.ENCODER)
            elif rng.random() < 0.3:
                memory.delete(index, ids)
                texts = {id_: text for id_, text in texts.items() if id_ not in ids}
            else:
                new = {id_: " ".join(rng.choices(WORDS, k=rng.randint(1, 60))) for id_ in ids}
                memory.upsert(index, oracle.ENCODER, [Document(*item) for item in new.items()])
                texts |= new
            exported = {document.id: document.text for document in Index.export(index)}
            if exported != texts:
                outcome.failures.append(f"sequence {number}: the export is not the dict")
            if not check(index).ok:
                outcome.failures.append(f"sequence {number}: the check finds damage")
            outcome.count("calls")
        outcome.runs += 1
        if len(outcome.failures) >= ENOUGH:
            break
    return outcome
