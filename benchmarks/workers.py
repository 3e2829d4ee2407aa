"""How quick is indexing by workers on one machine, against indexing by one process?

    python benchmarks/workers.py FOLDER [--passages 2000] [--repeats 3] [--ways alone 1 2 ray-1 ray-2]

The first files of FOLDER that make so many passages are indexed by the real command: alone, by 1 and 2 processes, by 1
and 2 actors of a Ray cluster that runs already (its start is told apart). Ways take turns; the figures are medians, and
ratios are medians of the ratios within a turn. The whole command is timed, so the start of workers counts. Processor
time is that of the command and of its processes; Ray's are none of them.

On one machine a gain is not to be expected: one process uses all cores. This is what workers cost.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from encoder import copy_files
from machine import headline, process

from search.encoding import Encoder

WAYS = ("alone", "1", "2", "ray-1", "ray-2")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--passages", type=int, default=2000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=WAYS)
    args = parser.parse_args()
    print(headline("openvino", "ray"))
    with tempfile.TemporaryDirectory() as place:
        os.environ["SEEWHY_HOME"] = str(Path(place) / "home")
        files = Path(place) / "files"
        texts, lengths = copy_files(args.folder, files, args.passages, Encoder(offline=True))
        print(f"{len(texts):,} passages, {sum(lengths):,} tokens\n")
        turns = [{way: taken(files, way) for way in args.ways} for _ in range(args.repeats)]
    print("| way | seconds | ratio | range | processor time | passages/s |\n|---|---|---|---|---|---|")
    for way in args.ways:
        walls = [turn[way]["wall"] for turn in turns]
        ratio = statistics.median(turn[args.ways[0]]["wall"] / turn[way]["wall"] for turn in turns)
        middle = statistics.median(walls)
        cpu = statistics.median(turn[way]["cpu"] for turn in turns)
        print(
            f"| {way} | {middle:.1f} | {ratio:.2f} | {min(walls):.1f} to {max(walls):.1f} | "
            f"{'' if way.startswith('ray') else f'{cpu:.1f}'} | {len(texts) / middle:.0f} |"
        )
    if started := [turn[way]["start"] for turn in turns for way in args.ways if way.startswith("ray")]:
        print(f"\nA cluster takes {statistics.median(started):.1f} s to start.")


def taken(files: Path, way: str) -> dict[str, float]:
    """What one run of the command takes; "start" is what the start of a cluster took."""
    command = [sys.executable, "-m", "search", "index", str(files), "--rebuild", "--offline", "--quiet"]
    if way == "alone":
        return process(command)
    kind, _, nodes = way.rpartition("-")
    if not kind:
        return process([*command, "--workers", nodes])
    with cluster(int(nodes)) as seconds:
        return process([*command, "--workers", "ray"]) | {"start": seconds}


@contextmanager
def cluster(nodes: int) -> Iterator[float]:
    """A Ray cluster of nodes that share the cores of this machine; the seconds that its start took."""
    started = time.perf_counter()
    os.environ |= {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
    from ray.cluster_utils import Cluster

    cores = max(1, (os.cpu_count() or 1) // nodes)
    made = Cluster(initialize_head=True, head_node_args={"num_cpus": cores, "include_dashboard": False})
    try:
        for _ in range(nodes - 1):
            made.add_node(num_cpus=cores)
        os.environ["RAY_ADDRESS"] = str(made.address)
        yield time.perf_counter() - started
    finally:
        os.environ.pop("RAY_ADDRESS", None)
        made.shutdown()


if __name__ == "__main__":
    main()
