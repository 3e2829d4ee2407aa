"""Loaded models that threads share: one thread loads at a time, and what it loaded is there for the others."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import lru_cache, wraps
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
Loaded = TypeVar("Loaded")

_KEPT = 3  # of each kind: indexes of a server may have different models
_ALONE = threading.RLock()


def alone(load: Callable[P, Loaded]) -> Callable[P, Loaded]:
    """A function that imports transformers: of all these one runs at a time.

    Its lazy imports and its settings are not safe between threads. The function waits for no other lock.
    """

    @wraps(load)
    def one_at_a_time(*args: P.args, **options: P.kwargs) -> Loaded:
        with _ALONE:
            return load(*args, **options)

    return one_at_a_time


def kept_loaded(load: Callable[P, Loaded]) -> Callable[P, Loaded]:
    """A function whose last three results are kept; threads that ask together wait for one loading."""
    found, lock = lru_cache(maxsize=_KEPT)(load), threading.RLock()

    @wraps(load)
    def loaded(*args: P.args, **options: P.kwargs) -> Loaded:
        with lock:
            return found(*args, **options)  # type: ignore[arg-type]

    return loaded
