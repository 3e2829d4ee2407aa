"""What does the Model Context Protocol cost: a search by `seewhy mcp`, warm and cold, and how long answers are?

    python benchmarks/protocol.py INDEX [--queries 200] [--repeats 7] [--seed 0]

Warm: sentences of the passages, each asked of `index.query` in this process and of `search` over standard input and
output, where `seewhy mcp` hands on to a running `seewhy serve`; the two take turns, and no sentence comes twice. Cold:
from the start of a process to its first answer, `seewhy mcp` (initialize, then search) against
`seewhy query --no-server`, which take turns as well; and how long the protocol's SDK takes to be imported, which the
first must do. Medians; the ratio is the median of those within a turn.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from cold_start import QUESTION, serving
from machine import headline
from warm_query import sentences

from search import Index
from search.serving.nearby import sockets

SEEWHY = [sys.executable, "-m", "search"]
K = 5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("index", type=Path)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    print(headline("seewhy", "mcp", "openvino"))
    with tempfile.TemporaryDirectory() as home:
        os.environ |= {"SEEWHY_HOME": home, "HF_HUB_OFFLINE": "1"}
        index = Index.open(args.index, offline=True)
        print(f"{index.status().passages} passages")
        with serving([*SEEWHY, "serve", "--port", "0", "--offline", "--index", index.path]):
            while not sockets():
                time.sleep(0.1)
            warm(index, sentences(index, args.queries, args.seed))
        cold(index, args.repeats)


class Agent:
    """A client that starts `seewhy mcp`."""

    def __init__(self, index: Index) -> None:
        command = [*SEEWHY, "mcp", "--offline", "--index", str(index.path)]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8"
        )
        self._ids = itertools.count(1)
        about = {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "a", "version": "1"},
        }
        self._asked("initialize", about)
        self._send(method="notifications/initialized")

    def search(self, query: str) -> str:
        """The text of the answer."""
        result = self._asked("tools/call", {"name": "search", "arguments": {"query": query, "k": K}})
        assert not result.get("isError"), result
        return str(result["content"][0]["text"])

    def end(self) -> None:
        self._process.communicate()

    def _asked(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self._send(id=next(self._ids), method=method, params=params)
        assert self._process.stdout is not None
        return json.loads(self._process.stdout.readline())["result"]

    def _send(self, **message: Any) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self._process.stdin.flush()


def warm(index: Index, asked: list[str]) -> None:
    agent, lengths = Agent(index), []
    seconds: tuple[list[float], list[float]] = ([], [])
    for query in ("a", *asked):
        by_library, _ = timed(partial(index.query, query, K))
        by_agent, text = timed(partial(agent.search, query))
        seconds[0].append(by_library)
        seconds[1].append(by_agent)
        lengths.append(-(-len(text) // 4))
    agent.end()
    library, protocol = (1000 * statistics.median(found[1:]) for found in seconds)
    above = sorted(1000 * (b - a) for a, b in zip(*(found[1:] for found in seconds), strict=True))
    print(
        f"\nwarm: index.query {library:.1f} ms, search by seewhy mcp {protocol:.1f} ms; above the library "
        f"{statistics.median(above):.1f} ms, 95th percentile {above[int(0.95 * len(above))]:.1f} ms"
    )
    print(f"{K} hits: {statistics.median(lengths):.0f} tokens, at most {max(lengths)}")


def cold(index: Index, repeats: int) -> None:
    query = [
        *SEEWHY,
        "query",
        QUESTION,
        "--index",
        str(index.path),
        "--no-server",
        "--offline",
        "-q",
        "-k",
        str(K),
    ]
    ways: dict[str, Callable[[], None]] = {
        "seewhy mcp, first answer": partial(first_answer, index),
        "seewhy query --no-server": partial(run, query),
        "import of the SDK alone": partial(run, [sys.executable, "-c", "import mcp.server.lowlevel"]),
    }
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    unseen = repeats > 1  # turns that warm the file cache and are not counted
    for turn in range(repeats + unseen):
        for name, way in ways.items():
            took, _ = timed(way)
            if turn >= unseen:
                seconds[name].append(took)
    agent, plain, _ = seconds.values()
    print()
    for name, found in seconds.items():
        print(f"cold: {name:<26} {statistics.median(found):.2f} s")
    ratios = [a / b for a, b in zip(agent, plain, strict=True)]
    print(f"ratio of the first two {statistics.median(ratios):.2f}, {min(ratios):.2f} to {max(ratios):.2f}")


def first_answer(index: Index) -> None:
    agent = Agent(index)
    agent.search(QUESTION)
    agent.end()


def run(command: list[str]) -> None:
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    started = time.perf_counter()
    found = work()
    return time.perf_counter() - started, found


if __name__ == "__main__":
    main()
