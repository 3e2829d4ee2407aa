"""Harness 6: kill the writer of documents from memory, of which its index is the only copy.

After each kill, and now and then beside a living writer, the documents are exported: they must equal a dict to which
the same calls were applied. Of the call that was killed, all is stored or nothing.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from random import Random

from search import Index
from search.indexing import memory
from search.indexing.check import check
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
    read = 0
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
            states = possible_states(before, [line for line in lines[read:] if line.endswith("\n")])
            read = len(lines)
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
