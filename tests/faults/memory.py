"""Harness 6: kill the writer of documents from memory, of which its index is the only copy.

After each kill, and now and then beside a living writer, the documents are exported: they must equal a dict to which
the same calls were applied. Of the call that was killed, all is stored or nothing.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from random import Random

from search import Document, Index, StorageFull
from search.indexing import memory
from search.indexing.check import check
from tests.conftest import WORDS
from tests.faults.failing import limited
from tests.faults.kill import sample
from tests.faults.oracle import ENCODER
from tests.faults.outcome import ENOUGH, Outcome
from tests.faults.processes import Workers

_LONGEST = 0.4  # seconds that a writer is left alive

Texts = dict[str, str]


def kills(place: Path, *, seed: int, kills: int) -> Outcome:
    """Kill a writer that upserts, deletes and rebuilds, `kills` times.

    Args:
        place: an empty folder to work in.
    """
    outcome = Outcome("kill: documents from memory", seed)
    rng = Random(seed)
    index, log = place / "index", place / "log"
    place.mkdir(parents=True, exist_ok=True)
    log.touch()
    memory.create(index, ENCODER)
    workers = Workers("memory_worker")
    n_read = 0
    before: Texts = {}
    try:
        for number in range(kills):
            worker = workers.take()
            worker.say(index=str(index), log=str(log), seed=seed * 100_000 + number)
            time.sleep(rng.uniform(0.0, _LONGEST))
            if rng.random() < 0.3:
                list(Index.export(index))  # raises if a document is damaged
                outcome.count("exports beside a writer")
            by_itself = worker.ended
            worker.kill()
            outcome.runs += 1
            if by_itself:
                outcome.failures.append(f"kill {number}: the writer ended: {worker.last_words()}")
            lines = log.read_text(encoding="utf-8").splitlines(keepends=True)
            states = possible_states(before, [line for line in lines[n_read:] if line.endswith("\n")])
            n_read = len(lines)
            exported = {document.id: document.text for document in Index.export(index)}
            if exported not in states:
                outcome.failures.append(f"kill {number}: the export is no state of the documents")
            if not check(index).ok:
                outcome.failures.append(f"kill {number}: the check finds damage")
            before = exported
            if len(outcome.failures) >= ENOUGH:
                break
    finally:
        workers.close()
    outcome.figures["documents at the end"] = len(before)
    return outcome


def possible_states(before: Texts, lines: list[str]) -> list[Texts]:
    """Return the states that may follow: after the calls that returned, and after one more that was killed."""
    states = [before]
    for line in lines:
        call = json.loads(line)
        if "done" in call:
            states = states[-1:]
        elif "upsert" in call:
            states = [states[0], states[0] | call["upsert"]]
        else:
            states = [states[0], {id_: t for id_, t in states[0].items() if id_ not in call["delete"]}]
    return states


def no_room(place: Path, *, seed: int, most: int) -> Outcome:
    """Let the database of documents from memory grow by few pages, for an upsert and for a rebuild.

    The error is `StorageFull`, every document stays, and the same call works where there is room.

    Args:
        most: so many limits for each of the two.
    """
    outcome = Outcome("documents from memory: no room", seed)
    rng, base = Random(seed), place / "base"
    place.mkdir(parents=True, exist_ok=True)
    memory.create(base, ENCODER)
    texts = {f"d{n}": " ".join(rng.choices(WORDS, k=40)) for n in range(60)}
    memory.upsert(base, ENCODER, [Document(*item) for item in texts.items()])
    more = {f"e{n}": " ".join(rng.choices(WORDS, k=40)) for n in range(60)}
    calls: dict[str, Callable[[Path], object]] = {
        "upsert": lambda index: memory.upsert(index, ENCODER, [Document(*item) for item in more.items()]),
        "rebuild": lambda index: memory.rebuild(index, ENCODER),
    }
    pages = (base / "index.db").stat().st_size // 4096
    for name, call in calls.items():
        first = pages if name == "upsert" else 1
        for limit in sample(list(range(first, first + pages)), most, rng):
            index = place / f"{name}{limit}"
            shutil.copytree(base, index)
            outcome.runs += 1
            try:
                with limited(limit):
                    call(index)
                outcome.count("had room")
            except StorageFull:
                outcome.count("refused")
                if {document.id: document.text for document in Index.export(index)} != texts:
                    outcome.failures.append(f"{name}, at most {limit} pages: the export is not the dict")
            call(index)
            if not check(index).ok:
                outcome.failures.append(f"{name}, at most {limit} pages: the check finds damage")
    return outcome
