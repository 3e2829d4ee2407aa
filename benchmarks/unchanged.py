"""How long does `seewhy index` take on a folder in which nothing changed, against `git status`?

    python benchmarks/unchanged.py [--files 10000] [--repeats 5] [--wait 2.5]

The folder is made up: so many files of twenty words in 700 folders, under git. Both commands run in new
processes, in turn; the figures are medians, and the ratio is the median of the ratios within one turn.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from machine import headline

WORDS = (
    "the key lock door opens when water turns round people find words in long text about time and sound"
)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument(
        "--wait", type=float, default=2.5, help="files that changed just now are read once more"
    )
    args = parser.parse_args()
    print(headline("openvino", "numpy"))
    with tempfile.TemporaryDirectory() as place:
        os.environ["SEEWHY_HOME"] = str(Path(place) / "home")
        folder = Path(place) / "files"
        fill(folder, args.files)
        git = ["git", "-C", str(folder)]
        run([*git, "init", "-q"])
        run([*git, "add", "-A"])
        index = [sys.executable, "-m", "search", "index", str(folder), "--offline", "--quiet"]
        run(index)
        time.sleep(args.wait)
        run(index)
        run([*git, "status", "--short"])
        turns = [(run(index), run([*git, "status", "--short"])) for _ in range(args.repeats)]
    mine, theirs = (statistics.median(column) for column in zip(*turns, strict=True))
    ratio = statistics.median(a / b for a, b in turns)
    print(
        f"{args.files:,} files, unchanged: seewhy index {mine:.2f} s, git status {theirs:.3f} s, ratio {ratio:.1f}"
    )
    print(f"seewhy index: {min(a for a, _ in turns):.2f} to {max(a for a, _ in turns):.2f} s")


def fill(folder: Path, files: int) -> None:
    chosen, words = random.Random(0), WORDS.split()
    for number in range(files):
        place = folder / f"d{number % 100}" / f"e{number % 7}"
        place.mkdir(parents=True, exist_ok=True)
        text = " ".join(chosen.choice(words) for _ in range(20))
        (place / f"n{number}.txt").write_text(f"{text} {number}\n", encoding="utf-8")


def run(command: list[str]) -> float:
    started = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
