"""The child that edits a folder and indexes it, until it is killed.

It says {"ready": true}, is told what to do in one line of JSON, and does it:

    loop   edit at random, index, and so on without end
    step   index once, and die before or after a step
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any, Protocol
from unittest import mock

import filelock  # noqa: F401

from search.store.writer import Writer
from tests.faults import oracle, steps
from tests.faults.contents import Editor
from tests.faults.history import Log

_REBUILD = 0.1  # of the runs of a loop


class Reports(Protocol):
    """Receiver of reports of commits."""

    def write(self, **line: Any) -> None: ...


@contextmanager
def reported(log: Reports, *, at_once: bool) -> Iterator[None]:
    """Report every commit, once it has returned; in a rebuild nothing is committed before the end."""
    store, remove = Writer.store, Writer.remove

    def store_and_report(self: Writer, batch: Any, *args: Any, **options: Any) -> None:
        store(self, batch, *args, **options)
        if at_once:
            log.write(
                stored=[(work.file.path, work.sha256) for work in batch if work.last],
                removed=[work.renamed_from for work in batch if work.renamed_from is not None],
            )

    def remove_and_report(self: Writer, paths: Any) -> None:
        paths = list(paths)
        remove(self, paths)
        if at_once:
            log.write(removed=paths)

    with (
        mock.patch.object(Writer, "store", store_and_report),
        mock.patch.object(Writer, "remove", remove_and_report),
    ):
        yield


def loop(folder: Path, index: Path, log: Log, seed: int) -> None:
    rng = Random(seed)
    files = {name: raw.decode() for name, raw in oracle.on_disk(folder).items()}
    editor = Editor(folder, files, rng, f"s{seed}")
    while True:
        for _ in range(rng.randint(1, 4)):
            changes = editor.plan()
            log.write(edit=changes)
            editor.apply(changes)
        rebuild = rng.random() < _REBUILD
        with reported(log, at_once=not rebuild):
            oracle.run(folder, index, rebuild=rebuild)
        log.write(done=True)


def step(folder: Path, index: Path, log: Log, number: int, moment: str, rebuild: bool) -> None:
    counter = steps.Steps(index, steps.die_at(number, moment))
    with reported(log, at_once=not rebuild), counter.patched():
        oracle.run(folder, index, rebuild=rebuild)
    log.write(done=True)


def main() -> None:
    print(json.dumps({"ready": True}), flush=True)
    task = json.loads(sys.stdin.readline())
    place = (Path(task["folder"]), Path(task["index"]), Log(Path(task["log"])))
    if task["do"] == "loop":
        loop(*place, task["seed"])
    else:
        step(*place, task["at"], task["when"], task["rebuild"])


if __name__ == "__main__":
    main()
