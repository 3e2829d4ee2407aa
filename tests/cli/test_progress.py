"""Progress where stderr is no terminal: a line now and then."""

from __future__ import annotations

import pytest

from search.cli.output import progress_bar
from search.records.reports import Progress


def test_progress_in_a_log_is_a_line_now_and_then(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 0.0
    monkeypatch.setattr("search.cli.output._SECONDS_BETWEEN_LINES", 15)
    monkeypatch.setattr("search.cli.output.time.monotonic", lambda: now)
    with progress_bar(quiet=False) as show:
        assert show is not None
        for now, done in ((10, 1), (20, 5), (27, 6), (40, 9)):  # noqa: B007 (the clock reads it)
            show(Progress("encoding", done, 10, passages=done))
    assert capsys.readouterr().err.splitlines() == [
        " 60%  encoding 6 passages",
    ]
    with progress_bar(quiet=True) as show:
        assert show is None
