"""The result of a harness."""

from __future__ import annotations

from dataclasses import dataclass, field

ENOUGH = 50  # failures after which a harness stops


@dataclass
class Outcome:
    """The result of one harness.

    Attributes:
        name: of the harness.
        seed: what it was started with; the same seed does the same again, but for the timing of kills.
        runs: how often the fault was made.
        failures: what should not have been, one sentence each.
        figures: what else was counted or measured.
    """

    name: str
    seed: int
    runs: int = 0
    failures: list[str] = field(default_factory=list)
    figures: dict[str, str | int | float] = field(default_factory=dict)

    def count(self, figure: str, by: int = 1) -> None:
        self.figures[figure] = int(self.figures.get(figure, 0)) + by

    def require_clean(self) -> None:
        """Fail a test with all that was found."""
        lines = "\n".join(f"- {failure}" for failure in self.failures[:20])
        assert not self.failures, f"{self.name}, seed {self.seed}: {len(self.failures)} failures\n{lines}"
