"""The child that changes documents from memory until it is killed.

    python -m tests.faults.memory_worker

It says {"ready": true}, is told {"index": ..., "log": ..., "seed": ...}, and upserts and deletes at random without end.
Each call is written to the log before it begins and after it returned.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from random import Random

import filelock  # noqa: F401

from search import Document
from search.indexing import memory
from tests.conftest import WORDS
from tests.faults.history import Log
from tests.faults.oracle import ENCODER

_REBUILD = 0.15  # of the calls


def loop(index: Path, log: Log, seed: int) -> None:
    rng = Random(seed)
    while True:
        ids = [f"d{rng.randrange(30)}" for _ in range(rng.randint(1, 6))]
        if rng.random() < _REBUILD:
            memory.rebuild(index, ENCODER)
        elif rng.random() < 0.3:
            log.write(delete=ids)
            memory.delete(index, ids)
            log.write(done=True)
        else:
            texts = {id_: " ".join(rng.choices(WORDS, k=rng.randint(1, 40))) for id_ in ids}
            log.write(upsert=texts)
            memory.upsert(index, ENCODER, [Document(*item) for item in texts.items()])
            log.write(done=True)


def main() -> None:
    print(json.dumps({"ready": True}), flush=True)
    task = json.loads(sys.stdin.readline())
    loop(Path(task["index"]), Log(Path(task["log"])), task["seed"])


if __name__ == "__main__":
    main()
