"""The encoder of a server: one thread at a time has the model, and embeddings of the last queries are kept."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from search.encoding import Encoder, Fingerprint

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

KEPT = 4096  # queries whose embeddings are kept: with d = 384, 6 MB
LONGEST_KEPT = 2_000  # characters of a query that is kept


class QueryEncoder(Encoder):
    """An encoder for one query at a time from each of many threads."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, NDArray[np.float32]] = OrderedDict()

    def encode(self, texts: Sequence[str], **options: Any) -> NDArray[np.float32]:
        """As `Encoder.encode`."""
        if len(texts) != 1 or options != {"role": "query"} or len(texts[0]) > LONGEST_KEPT:
            return super().encode(texts, **options)
        (text,) = texts
        with self._lock:
            if text not in self._kept:
                self._kept[text] = super().encode(texts, **options)
                if len(self._kept) > KEPT:
                    self._kept.popitem(last=False)
            self._kept.move_to_end(text)
            return self._kept[text].copy()


class Encoders:
    """The encoders of indexes, one for all that were made in the same way. What no index uses any more is dropped."""

    def __init__(self) -> None:
        self._held: WeakValueDictionary[Fingerprint, QueryEncoder] = WeakValueDictionary()
        self._lock = threading.Lock()

    def __call__(self, made: Fingerprint, **options: Any) -> QueryEncoder:
        """As `Encoder.of`."""
        key = replace(made, passages="")
        with self._lock:
            found = self._held.get(key) or QueryEncoder.of(made, **options)
            self._held[key] = found
            return found
