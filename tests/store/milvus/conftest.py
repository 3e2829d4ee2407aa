"""Shared by the tests of what is published."""

from __future__ import annotations

import pytest

from search.indexing import copy
from search.store.milvus import terms


@pytest.fixture
def _published_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copy, "with_copy", lambda index, report, *_: report)


@pytest.fixture
def _any_mean(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terms, "_MOST_MOVED", 10.0)
