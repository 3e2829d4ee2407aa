"""Progress where stderr is no terminal: a line now and then, with the time that is left."""

from __future__ import annotations

import pytest

from search.cli import output
from search.records.reports import Progress


def test_what_begins_again_is_timed_anew(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 0.0
    monkeypatch.setattr("search.cli.output._SECONDS_BETWEEN_LINES", 15)
    monkeypatch.setattr("search.cli.output.time.monotonic", lambda: now)
    with output.progress_bar(quiet=False) as show:
        assert show is not None
        for now, done in ((10, 1), (20, 5), (30, 1), (36, 3)):  # noqa: B007 (the clock reads it)
            show(Progress("asking", done, 10, passages=done))
    assert capsys.readouterr().err.splitlines() == [
        " 50%  5 passages  about 13 s left",
        " 30%  3 passages  about 21 s left",
    ]
    with output.progress_bar(quiet=True) as show:
        assert show is None


def test_the_time_left_is_that_of_all_batches(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 0.0
    monkeypatch.setattr("search.cli.output._SECONDS_BETWEEN_LINES", 1)
    monkeypatch.setattr("search.cli.output.time.monotonic", lambda: now)
    with output.progress_bar(quiet=False) as show:
        assert show is not None
        for batch in range(10):  # of 10 s each, whose first texts are quicker
            for seconds, part, stage in ((0, 0, "reading"), (1, 4, "encoding"), (9, 9, "encoding")):
                now = 10 * batch + seconds
                show(Progress(stage, 10 * batch + part, 100))
                line = capsys.readouterr().err
                if batch > 2 and "about" in line:
                    assert abs(int(line.split("about ")[1].split()[0]) - (100 - now)) < 10


def test_the_bar_goes_by_the_speed_of_minutes(monkeypatch: pytest.MonkeyPatch) -> None:
    import rich.progress

    made: dict[str, float] = {}
    seen: list[int] = []

    class Bar(rich.progress.Progress):
        def __init__(self, *columns: object, **options: float) -> None:
            made.update(options)
            super().__init__(*columns, **{**options, "disable": True})

        def update(self, *args: object, completed: int, **options: object) -> None:
            seen.append(completed)

    now = 0.0
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setattr("rich.progress.Progress", Bar)
    monkeypatch.setattr("search.cli.output.time.monotonic", lambda: now)
    with output.progress_bar(quiet=False) as show:
        assert show is not None
        for step in range(1, 1001):
            now += 0.01
            show(Progress("encoding", step, 1000))
    assert made["speed_estimate_period"] >= 100
    assert 30 <= len(seen) <= 40  # rich looks at the last 1,000 steps: these have to be minutes
    assert seen[-1] == 1000  # the end is always shown
