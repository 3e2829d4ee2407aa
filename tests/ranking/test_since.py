"""Filters by time of change, size and name of files; tags within texts."""

from __future__ import annotations

import os
import time
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from search import Index, InputError
from tests.conftest import Run

DAY = 24 * 3600


@pytest.fixture
def aged(tmp_path: Path, tiny_model: Path) -> Index:
    """Files that changed just now, 3, 20 and 400 days ago, of 10, 1,500, 40 and 10 bytes."""
    folder = tmp_path / "aged"
    (folder / "deep").mkdir(parents=True)
    for name, days, size in (
        ("now.md", 0, 10),
        ("deep/new.md", 3, 1500),
        ("old.txt", 20, 40),
        ("oldest.md", 400, 10),
    ):
        (folder / name).write_text("a key".ljust(size), encoding="utf-8")
        if days:
            os.utime(folder / name, (time.time() - days * DAY,) * 2)
    return Index.build(folder, model=str(tiny_model))


def documents_of(index: Index, **options: str) -> set[str]:
    return {hit.document for hit in index.query("key", k=20, **options)}


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"since": "7d"}, {"now.md", "deep/new.md"}),
        ({"since": "2w"}, {"now.md", "deep/new.md"}),
        ({"since": "1month"}, {"now.md", "deep/new.md", "old.txt"}),
        ({"since": "12h"}, {"now.md"}),
        ({"since": "1 YEAR"}, {"now.md", "deep/new.md", "old.txt"}),
        ({"since": "7d", "where": "path:deep or path:old*"}, {"deep/new.md"}),
        ({"where": "mtime<7d"}, {"old.txt", "oldest.md"}),
        ({"where": "mtime>=7d and mtime<1d"}, {"deep/new.md"}),
        ({"where": "has mtime"}, {"now.md", "deep/new.md", "old.txt", "oldest.md"}),
        ({"where": "size>1000"}, {"deep/new.md"}),
        ({"where": "size<=40 and not size=10"}, {"old.txt"}),
        ({"where": "name:old*"}, {"old.txt", "oldest.md"}),
        ({"where": "name=NEW.md"}, {"deep/new.md"}),
        ({"where": "name:*.md and not name:n*"}, {"oldest.md"}),
    ],
)
def test_filters_pass_the_matching_files(
    aged: Index, options: dict[str, str], expected: set[str]
) -> None:
    assert documents_of(aged, **options) == expected


@pytest.mark.parametrize(
    ("age", "hours"),
    [
        ("12h", 12),
        ("1d", 24),
        ("7d", 7 * 24),
        ("1w", 7 * 24),
        ("2w", 14 * 24),
        ("2 weeks", 14 * 24),
        ("last week", 7 * 24),
        ("1month", 30 * 24),
        ("last month", 30 * 24),
        ("1y", 365 * 24),
        ("last year", 365 * 24),
    ],
)
def test_an_age_ends_after_its_hours(tmp_path: Path, tiny_model: Path, age: str, hours: int) -> None:
    folder = tmp_path / "two"
    folder.mkdir()
    for name, hours_ago in (("younger.md", hours - 0.1), ("older.md", hours + 0.1)):
        (folder / name).write_text(f"a key of the {name}", encoding="utf-8")
        os.utime(folder / name, (time.time() - hours_ago * 3600,) * 2)
    index = Index.build(folder, model=str(tiny_model))
    assert documents_of(index, since=age) == {"younger.md"}
    assert documents_of(index, where=f"mtime<{age.replace(' ', '')}") == {"older.md"}


def test_a_file_of_unknown_size_passes_no_comparison_of_sizes(
    aged: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The size of a file whose latest state could not be read is unknown."""
    folder = Path(aged.status().folder)
    (folder / "now.md").write_text("a key that is longer now", encoding="utf-8")
    real_open = os.open

    def deny(path: str, *arguments: int, **options: int) -> int:
        if os.fspath(path).endswith("now.md"):
            raise PermissionError(13, "Permission denied", path)
        return real_open(path, *arguments, **options)

    monkeypatch.setattr(os, "open", deny)
    aged.update()
    assert "now.md" in documents_of(aged)
    assert documents_of(aged, where="size<=40") == {"old.txt", "oldest.md"}
    assert documents_of(aged, where="size>=0") == {"deep/new.md", "old.txt", "oldest.md"}
    assert documents_of(aged, where="not size>=0") == {"now.md"}
    assert documents_of(aged, where="not has size") == {"now.md"}


def test_dates_are_in_the_time_zone_of_this_machine(aged: Index) -> None:
    three = datetime.now() - timedelta(3)
    assert documents_of(aged, where=f"mtime={three:%Y-%m-%d}") == {"deep/new.md"}
    assert documents_of(aged, since=f"{three:%Y-%m-%d}") == {"now.md", "deep/new.md"}
    assert {hit.document for hit in aged.similar("old.txt", since="7d")} == {"now.md", "deep/new.md"}


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="the zone cannot be changed here")
def test_a_time_with_a_zone_is_that_moment(aged: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    three = datetime.now(timezone.utc) - timedelta(3)
    before, after = (f"{three + timedelta(hours=hours):%Y-%m-%dT%H:%M}Z" for hours in (-2, 2))
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    try:
        assert documents_of(aged, where=f"mtime>={before} and mtime<{after}") == {"deep/new.md"}
        assert documents_of(aged, since=after) == {"now.md"}
    finally:
        monkeypatch.undo()
        time.tzset()


@pytest.mark.parametrize(
    ("where", "message"),
    [
        (
            "mtime>soon",
            "column 7: not a date; use 2024-05-01, 12h, 7d",
        ),
        ("mtime:2024", "not a date"),
        ("size>large", "column 6: not a number; write for example page>=3"),
        ("name:docs/*", "a file name contains no '/'; use path: for folders"),
    ],
)
def test_invalid_dates_sizes_and_names_are_refused(aged: Index, where: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        aged.query("key", where=where)
    with pytest.raises(InputError, match="'soon' is not a date"):
        aged.query("key", since="soon")


def test_the_command_takes_since(aged: Index, run: Run) -> None:
    assert run("query", "key", "--since", "2d", "-f", "paths")[1].strip().endswith("now.md")
    assert "seewhy explain key p1" in run("query", "key", "--since", "7d")[2]
    assert "rank 2" in run("explain", "key", "2", "--since", "7d")[1]
    assert run("explain", "key", "3", "--since", "7d")[0] == 1
    assert "No passage passes --since" in run("query", "key", "--since", "2100-01-01")[1]
    assert (
        run("similar", "old.txt", "--since", "2d", "-f", "paths", "--index", "aged")[1].count("\n") == 1
    )


TAGGED = """---
tags: [keys, Doors]
---

# A #heading and more

Words #rotation, #deep/er and #2024-plan. Not: a#b, #1, [x](#anchor), `#code`, \\#no, https://a.b/#c.
- #rotation #Keys #été

```
#fenced
```

    #indented
"""


def test_tags_of_a_text_are_added_to_those_of_its_header(tmp_path: Path, tiny_model: Path) -> None:
    (tmp_path / "tagged").mkdir()
    (tmp_path / "tagged" / "a.md").write_text(TAGGED, encoding="utf-8")
    (tmp_path / "tagged" / "b.md").write_text("no tag but #one", encoding="utf-8")
    (tmp_path / "tagged" / "c.md").write_text("---\ntags: one, two\n---\n\n#three\n", encoding="utf-8")
    index = Index.build(tmp_path / "tagged", model=str(tiny_model))
    tags = {hit.document: hit.metadata.get("tags") for hit in index.query("words", k=9)}
    assert tags == {
        "a.md": ["keys", "Doors", "rotation", "deep/er", "2024-plan", "été"],
        "b.md": ["one"],
        "c.md": ["one", "two", "three"],
    }
    assert documents_of(index, where="tags=one") == {"b.md", "c.md"}
    assert documents_of(index, where="tags:deep*") == {"a.md"}
