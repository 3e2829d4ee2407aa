"""Do commands that start together leave the converted model alone?

    python benchmarks/cache_race.py FOLDER [--rounds 40] [--commands 4] [--model NAME]

Makes an index of a folder, and a cache that has its model converted but not compiled. Each round starts some
`seewhy query` within a second over a copy of that cache. Counts the rounds in which the converted model was replaced
or a failure was remembered, the commands that failed, and those that PyTorch answered. Exits with 1 if there are any.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from random import Random

from machine import headline

SEEWHY = [sys.executable, "-m", "search"]
COUNTED = ("models replaced", "failures remembered", "commands failed", "answered by PyTorch")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--commands", type=int, default=4, help="that start together")
    parser.add_argument("--model", default="all-MiniLM-L6-v2")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    print(headline("openvino"))
    with tempfile.TemporaryDirectory() as place:
        counts = race(Path(place), args)
    print(f"\n{args.rounds} rounds of {args.commands} commands:")
    for name, count in counts.items():
        print(f"{name:24}{count:>5}")
    sys.exit(any(counts.values()))


def race(place: Path, args: argparse.Namespace) -> dict[str, int]:
    """The counts of all rounds."""
    index, cache = place / "index", place / "cache"
    own = {"SEEWHY_HOME": str(place / "home"), "SEEWHY_CACHE": str(cache), "HF_HUB_OFFLINE": "1"}
    environment = os.environ | own
    made = [*SEEWHY, "index", args.folder, "--index", index, "--model", args.model]
    subprocess.run(list(map(str, made)), check=True, capture_output=True, env=environment)
    cache.rename(place / "converted")
    random, counts = Random(args.seed), dict.fromkeys(COUNTED, 0)
    for number in range(args.rounds):
        shutil.rmtree(cache, ignore_errors=True)
        shutil.copytree(place / "converted", cache, ignore=shutil.ignore_patterns("*.blob"))
        (weights,) = cache.glob("models/*/encoder.bin")
        before = weights.stat().st_ino
        running = []
        for _ in range(args.commands):
            query = [*SEEWHY, "query", f"question {number}", "--index", index, "--no-server"]
            running.append(
                subprocess.Popen(
                    list(map(str, query)),
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.PIPE,
                    text=True,
                    env=environment,
                )
            )
            time.sleep(random.random() / args.commands)
        for process in running:
            said = process.communicate()[1]
            counts["commands failed"] += process.returncode != 0
            counts["answered by PyTorch"] += "PyTorch" in said
            if process.returncode:
                print(f"round {number + 1}: {said.strip()[-300:]}")
        counts["models replaced"] += not weights.exists() or weights.stat().st_ino != before
        counts["failures remembered"] += (weights.parent / "failed.json").exists()
    return counts


if __name__ == "__main__":
    main()
