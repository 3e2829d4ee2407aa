"""Where the time of a command goes."""

from __future__ import annotations

import time

_STARTED = time.perf_counter()


class Clock:
    """Laps since the one before, the first since this program's own code began to be loaded."""

    def __init__(self) -> None:
        self._laps = [("start", time.perf_counter() - _STARTED)]
        self._last = time.perf_counter()

    def lap(self, name: str, _done: object = None) -> None:
        """End a lap. `_done` is a place to write the expression that is timed."""
        now = time.perf_counter()
        self._laps.append((name, now - self._last))
        self._last = now

    def report(self) -> str:
        """One line a lap, and their sum; Python's own start, some hundredths of a second, comes on top."""
        total = ("together", sum(seconds for _, seconds in self._laps))
        return "\n".join(f"{seconds * 1000:8.1f} ms  {name}" for name, seconds in [*self._laps, total])
