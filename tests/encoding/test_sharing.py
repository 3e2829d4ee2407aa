"""Threads that need a model at the same time wait for one loading; no two threads are in transformers at once."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from search.bert import checkpoint, inspect
from search.encoding import loading
from search.encoding.loading import alone, kept_loaded
from tests.conftest import save_tiny_bert


def test_looks_inside_at_the_same_time_load_a_model_once_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    models = [str(save_tiny_bert(tmp_path / name)) for name in "ab"]
    texts = [f"turn the key {'of the lock ' * n}" for n in range(4)]
    loads, load = [], checkpoint.load_transformer
    monkeypatch.setattr(
        checkpoint, "load_transformer", lambda files, **how: loads.append(files.name) or load(files, **how)
    )
    with ThreadPoolExecutor(8) as threads:
        asked = [(text, model) for text in texts for model in models]
        found = list(threads.map(lambda one: inspect(one[0], model=one[1]), asked))
    assert sorted(loads) == sorted(models)
    for (text, model), one in zip(asked, found, strict=True):
        np.testing.assert_array_equal(one.states, inspect(text, model=model).states)
    assert len(loads) == 2


def test_one_loads_at_a_time() -> None:
    inside, most = 0, 0

    def load(_: int) -> threading.Thread:
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        time.sleep(0.01)
        inside -= 1
        return threading.current_thread()

    with ThreadPoolExecutor(4) as threads:
        assert len(set(threads.map(kept_loaded(load), [1] * 4))) == 1
        most = 0
        list(threads.map(alone(load), range(4)))
        assert most == 1
    assert most == 1
    for uses in (loading.load_encoder, loading.load_transformer):
        assert hasattr(uses, "__wrapped__")
