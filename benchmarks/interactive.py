"""How long after the last key does `seewhy search` show its results?

    python benchmarks/interactive.py PLACE QUESTIONS.json [--questions 30] [--between 0.1]

PLACE is an index, or a folder, of which one is made in a temporary place; QUESTIONS are as in benchmarks/spoken. The
real command runs in a terminal of 100 x 30 of its own. Each question is typed key after key; the time goes from its
last key to what the terminal is sent: the text with that key, and behind it its hits by meaning and words.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import pty
import select
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import time
from pathlib import Path

from machine import headline

from search import Index

WIDTH, HEIGHT = 100, 30
LOADED, MEANING = b"type to search", b" by meaning and keywords in "
CLEAR = b"\x15"
PATIENCE = 60.0


class Terminal:
    """A terminal with `seewhy search` in it."""

    def __init__(self, index: Path) -> None:
        self._end, other = pty.openpty()
        fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", HEIGHT, WIDTH, 0, 0))
        command = [sys.executable, "-m", "search", "search", "--offline", "-i", str(index)]
        environment = {**os.environ, "TERM": "xterm-256color"}
        self._process = subprocess.Popen(
            command, stdin=other, stdout=other, stderr=other, env=environment, start_new_session=True
        )
        os.close(other)

    def press(self, keys: bytes) -> None:
        os.write(self._end, keys)

    def read(self, seconds: float) -> bytes:
        """What is shown within some seconds, as soon as there is anything."""
        ready, _, _ = select.select([self._end], [], [], max(0.0, seconds))
        return os.read(self._end, 1 << 16) if ready else b""

    def rest(self, seconds: float) -> None:
        """Let it go on, and read what it shows."""
        until = time.perf_counter() + seconds
        while (left := until - time.perf_counter()) > 0:
            self.read(left)

    def wait(self, *shown: bytes) -> list[float]:
        """Seconds until each of these is shown, one after the other."""
        started, seen, found = time.perf_counter(), b"", list[float]()
        while len(found) < len(shown):
            if time.perf_counter() - started > PATIENCE:
                raise SystemExit(f"'{shown[len(found)].decode()}' was not shown: {seen[-500:]!r}")
            seen += self.read(1.0)
            while len(found) < len(shown) and (at := seen.find(shown[len(found)])) >= 0:
                seen = seen[at:]
                found.append(time.perf_counter() - started)
        return found

    def leave(self) -> None:
        self._process.terminate()
        self._process.wait()
        os.close(self._end)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("place", type=Path)
    parser.add_argument("file", type=Path)
    parser.add_argument("--questions", type=int, default=30)
    parser.add_argument("--between", type=float, default=0.1, help="seconds from key to key")
    args = parser.parse_args()
    print(headline("openvino", "textual"))
    asked = [entry["query"] for entry in json.loads(args.file.read_text(encoding="utf-8"))][
        : args.questions
    ]
    with tempfile.TemporaryDirectory() as place:
        index = args.place
        if not (index / "index.db").exists():
            index = Path(place) / "index"
            Index.build(args.place, index=str(index), offline=True)
        print(f"{Index.open(index).status().passages} passages, {len(asked)} questions\n")
        terminal = Terminal(index)
        try:
            report(*timed(terminal, asked, args.between))
        finally:
            terminal.leave()


def timed(terminal: Terminal, questions: list[str], between: float) -> tuple[list[float], list[float]]:
    """Seconds from the last key of each question to its text and to its hits by meaning and words."""
    terminal.wait(LOADED)
    terminal.press(b"a")
    terminal.wait(MEANING)
    typed, meant = [], []
    for question in questions:
        terminal.press(CLEAR)
        terminal.rest(0.3)
        for key in question[:-1]:
            terminal.press(key.encode())
            terminal.rest(between)
        terminal.press(question[-1].encode())
        text, hits = terminal.wait(question[-40:].encode(), MEANING)
        typed.append(text)
        meant.append(hits)
    return typed, meant


def report(typed: list[float], meant: list[float]) -> None:
    print(f"{'ms after the last key':28}{'median':>8}{'95 %':>8}{'most':>8}")
    for name, seconds in (("its letter is shown", typed), ("hits by meaning and words", meant)):
        figures = (statistics.median(seconds), percentile(seconds), max(seconds))
        print(f"{name:28}" + "".join(f"{figure * 1e3:8.0f}" for figure in figures))


def percentile(seconds: list[float]) -> float:
    """Below which 95 in 100 are."""
    return statistics.quantiles(seconds, n=20, method="inclusive")[-1] if len(seconds) > 1 else seconds[0]


if __name__ == "__main__":
    main()
