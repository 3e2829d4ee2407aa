from __future__ import annotations

import datetime
import json

import pytest

from search.corpus.values import json_values, whole_characters


def test_dates_sets_keys_and_odd_numbers() -> None:
    values = {
        1: datetime.date(2024, 2, 29),
        "at": datetime.datetime(2024, 2, 29, 12, 30),
        "clock": datetime.time(7, 5),
        "tags": {"b", "a"},
        "nested": {"pair": (1, 2.5), None: True},
        "odd": [float("nan"), float("inf")],
        "raw": b"\x00",
    }
    copy = json_values(values)
    assert copy == {
        "1": "2024-02-29",
        "at": "2024-02-29T12:30:00",
        "clock": "07:05:00",
        "tags": ["a", "b"],
        "nested": {"pair": [1, 2.5], "None": True},
        "odd": ["nan", "inf"],
        "raw": "b'\\x00'",
    }
    assert json.loads(json.dumps(copy, allow_nan=False)) == copy


def test_a_value_that_grows_without_end_is_refused() -> None:
    lol: list[object] = ["lol"] * 10
    for _ in range(9):
        lol = [lol] * 10  # a billion strings in a few hundred bytes, as YAML's anchors can spell it
    with pytest.raises(ValueError, match="more than 100,000 values"):
        json_values({"lol": lol})


def test_a_value_that_holds_itself_is_refused() -> None:
    ring: list[object] = []
    ring.append(ring)
    with pytest.raises((ValueError, RecursionError)):
        json_values({"ring": ring})


def test_lone_surrogates_are_replaced_one_for_one() -> None:
    assert whole_characters("a\ud800b\udfffc") == "a\ufffdb\ufffdc"
    assert json_values({"\ud800": "\ud800"}) == {"\ufffd": "\ufffd"}
