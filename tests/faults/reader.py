"""The child that asks, again and again, and checks every answer; it stops when its stdin is closed.

    python -m tests.faults.reader INDEX SEED PAUSE VERSIONS

PAUSE: seconds between two questions. VERSIONS: how many passages the index always holds, if all of them carry the
same version of the folder (the word `versionN`); 0 if the folder is edited at random.
"""

from __future__ import annotations

import json
import re
import sys
import threading
import time
from pathlib import Path
from random import Random

from search import Index
from tests.faults import oracle

_REOPEN = 25  # questions


def main() -> None:
    index, seed, pause, versions = sys.argv[1:]
    stop = threading.Event()
    threading.Thread(target=_wait_for_the_end, args=[stop], daemon=True).start()
    print(json.dumps({"ready": True}), flush=True)
    report = ask(Path(index), Random(int(seed)), float(pause), int(versions), stop)
    print(json.dumps(report), flush=True)


def _wait_for_the_end(stop: threading.Event) -> None:
    sys.stdin.read()
    stop.set()


def ask(
    index: Path, rng: Random, pause: float, versions: int, stop: threading.Event
) -> dict[str, object]:
    errors: list[str] = []
    mixed, notes = 0, 0
    times: list[float] = []
    reader: Index | None = None
    while not stop.is_set():
        try:
            if len(times) % _REOPEN == 0 or reader is None:
                reader = oracle.opened(index)
            status = reader.status()
            if versions and not (status.complete or status.running):  # where no writer is killed
                errors.append("the index says that its run was stopped")
            query = rng.choice(oracle.QUERIES)
            k = versions + 10 if versions else rng.choice((1, 5, 50))
            started = time.perf_counter()
            hits = reader.query(query, k, all_copies=True, per_document=0, pending=1_000)
            times.append(time.perf_counter() - started)
            if wrong := oracle.inconsistent(hits, query):
                errors.append(wrong)
            notes += bool(reader.notes)
            if versions:
                words = {word for hit in hits for word in re.findall(r"version\w+", hit.text)}
                mixed += len(words) != 1 or len(hits) != versions
            elif not hits:
                errors.append(f"no hit for '{query}'")
        except Exception as error:
            errors.append(f"{type(error).__name__}: {error}")
            time.sleep(0.01)
        if len(errors) > 1000:
            break
        time.sleep(pause)
    return {"times": times, "errors": errors, "mixed": mixed, "notes": notes}


if __name__ == "__main__":
    main()
