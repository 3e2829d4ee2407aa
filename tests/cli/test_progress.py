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
        " 50%  5 passages  about 12 s left",
        " 30%  3 passages  about 21 s left",
    ]
    with output.progress_bar(quiet=True) as show:
        assert show is None
