from __future__ import annotations

import re

import pytest

from search.errors import SearchError
from search.store.milvus.ranges import Rows, both, in_parts

_MOST = 3


def _asked(ids: list[int]) -> tuple[list[str], list[list[int]]]:
    """The ranges that were asked for, and the ids that came back uncut."""
    asked: list[str] = []

    def ask(part: str) -> Rows:
        asked.append(part)
        there = [
            id_
            for id_ in ids
            if all(
                id_ > int(number) if sign == ">" else id_ <= int(number)
                for sign, number in re.findall(r"n (>|<=) (\d+)", part)
            )
        ]
        return [{"n": id_} for id_ in there[:_MOST]]

    parts = list(in_parts(ask, "n", lambda rows: len(rows) >= _MOST))
    return asked, [[row["n"] for row in rows] for rows in parts]


@pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 7, 100])
def test_all_rows_come_once_and_in_the_order_of_ranges(count: int) -> None:
    ids = list(range(10, 10 + 3 * count, 3))
    asked, parts = _asked(ids)
    assert [id_ for part in parts for id_ in sorted(part)] == ids
    assert all(len(part) < _MOST for part in parts)
    assert len(asked) <= 2 * len(parts)


def test_more_rows_of_one_number_than_a_request_gives_are_no_endless_loop() -> None:
    with pytest.raises(SearchError, match="no more than 3 rows"):
        _asked([5, 5, 5, 5])


def test_expressions_are_joined() -> None:
    assert both("", "") == ""
    assert both("a == 1 or b == 2", "", "c") == "(a == 1 or b == 2) and (c)"
