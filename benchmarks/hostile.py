"""What a hostile client gets from `seewhy serve`: a table of what was tried, and thousands of odd queries.

    python benchmarks/hostile.py [--queries 10000] [--seed 1] [--quick]

Everything goes over raw sockets to a server process of its own, which serves a small folder; decoys lie beside it. The
attacks are those of tests/serving/, which the suite runs, too; --quick leaves out those that wait for a time limit.
Exits with 1 if an answer was not what it should be, an odd query got 500 or no answer, or the server said anything.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import psutil
from machine import headline

from search.index import Index
from tests.serving.attacks import attacks, with_token
from tests.serving.hostile import SECRET, Answer, Attack, Target, request, table, wrong_with
from tests.serving.oddities import odd

TOKEN = "the-token-of-the-benchmark"
SIDE_BY_SIDE = 8
LONGEST = 60.0  # seconds for one odd query


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--queries", type=int, default=10_000, help="odd queries")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="without attacks that wait")
    args = parser.parse_args()
    print(headline("fastapi", "uvicorn", "h11"), "\n")
    place = Path(tempfile.mkdtemp(prefix="seewhy-hostile-")).resolve()
    try:
        sys.exit(not tried(place, args.queries, args.seed, args.quick))
    finally:
        shutil.rmtree(place, ignore_errors=True)


def tried(place: Path, queries: int, seed: int, quick: bool) -> bool:
    """Try everything, and print what came of it; whether all was as it should be."""
    os.environ["SEEWHY_HOME"] = str(place / "home")
    decoys = prepared(place)
    with serving(place, "open") as (port, server):
        target = Target("127.0.0.1", port, **decoys)
        done = judged(target, list(attacks(0.0 if quick else 10.0)))
        fine = odd_queries(target, queries, seed, server)
    with serving(place, "token", SEEWHY_TOKEN=TOKEN) as (port, _):
        done += judged(Target("127.0.0.1", port), list(with_token(TOKEN)))
    print("\n".join(table(done)))
    for attack, wrong in done:
        if wrong:
            print(f"\n{attack.group}, {attack.name}: {wrong}")
    said = [
        line
        for log in sorted(place.glob("*.log"))
        for line in log.read_text(encoding="utf-8").splitlines()[1:]
    ]
    print("\n".join(["\nThe servers said nothing." if not said else "\nThe servers said:", *said]))
    return fine and not said and not any(wrong for _, wrong in done)


def prepared(place: Path) -> dict[str, str]:
    """A folder that is indexed, and the decoys that lie beside it and in it."""
    notes, other = place / "notes", place / "other"
    notes.mkdir()
    other.mkdir()
    texts = (
        "Turn the key to open the lock.",
        "A door has a lock.",
        "How to open a door: with a key, or a kick.",
    )
    for number, text in enumerate(texts):
        (notes / f"keys{number}.md").write_text(f"# <b>Keys</b> {number}\n\n{text}\n", encoding="utf-8")
    for decoy in (notes / ".hidden.md", other / "a.md", place / "decoy.txt"):
        decoy.write_text(f"the key is {SECRET}\n", encoding="utf-8")
    Index.build(notes, offline=True)
    path = Index.build(other, offline=True).path
    return {"decoy": str(place / "decoy.txt"), "other": str(path), "hidden": ".hidden.md"}


@contextmanager
def serving(place: Path, name: str, **environment: str) -> Iterator[tuple[int, psutil.Process]]:
    """A server process of its own: its port, and the process."""
    command = [
        sys.executable,
        "-m",
        "search",
        "serve",
        "--port",
        "0",
        "--index",
        str(place / "notes"),
        "--offline",
    ]
    log = place / f"{name}.log"
    with log.open("w", encoding="utf-8") as stream:
        child = subprocess.Popen(command, stderr=stream, stdout=stream, env={**os.environ, **environment})
    try:
        while "http://" not in (said := log.read_text(encoding="utf-8")):
            if child.poll() is not None:
                raise RuntimeError(f"the server ended: {said}")
            time.sleep(0.1)
        yield int(said.split("http://")[1].split("/")[0].rpartition(":")[2]), psutil.Process(child.pid)
    finally:
        child.terminate()
        child.wait(30)


def judged(target: Target, which: list[Attack]) -> list[tuple[Attack, str]]:
    """Attacks, each with what is wrong with its answer."""
    with ThreadPoolExecutor(SIDE_BY_SIDE) as threads:
        answers = threads.map(lambda attack: target.send(attack.sent, attack.seconds), which)
        return [(attack, wrong_with(attack, answer)) for attack, answer in zip(which, answers, strict=True)]


def odd_queries(target: Target, queries: int, seed: int, server: psutil.Process) -> bool:
    """Send odd queries, and print how they were answered; whether each was."""
    random = Random(seed)
    loading = target.send(request("/inspect?text=key"), LONGEST).seconds
    memory = [server.memory_info().rss]
    failed: list[tuple[bytes, Answer]] = []
    statuses: Counter[int] = Counter()
    slowest = 0.0
    with ThreadPoolExecutor(SIDE_BY_SIDE) as threads:
        for start in range(0, queries, 1_000):
            asked = [odd(random) for _ in range(min(1_000, queries - start))]
            for sent, answer in zip(
                asked, threads.map(lambda one: target.send(one, LONGEST), asked), strict=True
            ):
                status = answer.statuses[0]
                statuses[status] += 1
                slowest = max(slowest, answer.seconds)
                if not answer.ended or status in (0, 500) or b"Traceback" in answer.received:
                    failed.append((sent, answer))
            memory.append(server.memory_info().rss)
    shown = ", ".join(f"{number:,} of {status}" for status, number in sorted(statuses.items()))
    print(f"The first look inside a model, which loads PyTorch, took {loading:.1f} s.")
    print(f"{queries:,} odd queries (seed {seed}): answers {shown}; the slowest after {slowest:.1f} s;")
    took = ", ".join(f"{held / 2**20:.0f}" for held in memory)
    print(f"{len(failed)} failed; MB of the server before, and after each 1,000: {took}\n")
    for sent, answer in failed[:20]:
        print(f"failed: {sent[:300]!r}\n    {answer.statuses}, {answer.received[-300:]!r}\n")
    return not failed


if __name__ == "__main__":
    main()
