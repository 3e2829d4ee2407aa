"""The encoder of a server: queries that come at the same time go through the model together, to the same bits."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

import numpy as np

from search.encoding import Encoder, Fingerprint
from search.encoding.engine import alike
from search.encoding.pooling import pooled_layers

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from search.encoding.tokenizer import Encoded, Role

KEPT = 4096  # queries whose embeddings are kept: with d = 384, 6 MB
LONGEST_KEPT = 2_000  # characters of a query that is kept


@dataclass(eq=False)
class _Asked:
    """A query that is to be encoded, by its own thread or by another that encodes at that time."""

    encoded: Encoded
    awake: threading.Event = field(default_factory=threading.Event)
    found: NDArray[np.float32] | None = None
    error: Exception | None = None


class QueryEncoder(Encoder):
    """An encoder for one query at a time from each of many threads.

    One thread at a time has the model, and takes all queries along that wait for it by then. Those with the same
    number of tokens go through it as one batch, where the engine then computes the very bits that each gives alone;
    others go apart. So a score never depends on what else was asked. Embeddings of the last queries are kept.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, NDArray[np.float32]] = OrderedDict()
        self._waiting: list[_Asked] = []
        self._one_encodes = False

    def encode(
        self,
        texts: Sequence[str],
        *,
        role: Role | None = None,
        truncate: bool = False,
        progress: Callable[[int, int], None] | None = None,
    ) -> NDArray[np.float32]:
        """As `Encoder.encode`, which does all but a single query."""
        if role != "query" or len(texts) != 1 or isinstance(texts, str) or truncate:
            return super().encode(texts, role=role, truncate=truncate, progress=progress)
        (text,) = texts
        with self._lock:
            if text in self._kept:
                self._kept.move_to_end(text)
                return self._kept[text][None].copy()
        (encoded,) = self._encoded([self.prompt(role) + text], False)
        found = self._together(_Asked(encoded))
        if len(text) <= LONGEST_KEPT:
            with self._lock:
                self._kept[text] = found
                while len(self._kept) > KEPT:
                    self._kept.popitem(last=False)
        return found[None].copy()

    def _together(self, mine: _Asked) -> NDArray[np.float32]:
        with self._lock:
            self._waiting.append(mine)
            turn, self._one_encodes = not self._one_encodes, True
        if not turn:
            mine.awake.wait()
        if mine.found is None and mine.error is None:  # it was woken to encode what waits
            self._encode_waiting()
        if mine.error:
            raise mine.error
        assert mine.found is not None
        return mine.found

    def _encode_waiting(self) -> None:
        with self._lock:
            asked, self._waiting = self._waiting, []
        try:
            lengths = [len(one.encoded.ids) for one in asked]
            plan = list(alike(lengths, self.engine.alike))
            layers = pooled_layers(self.layer, self.n_layers)
            for batch, hidden in self._run([one.encoded for one in asked], layers, plan):
                for place, row in zip(batch, self._embed(hidden), strict=True):
                    asked[place].found = row.copy()
        except Exception as error:  # each thread raises it
            for one in asked:
                one.error = None if one.found is not None else error
        finally:
            with self._lock:
                self._one_encodes = bool(self._waiting)
                following = self._waiting[:1]
            for one in (*following, *asked):
                one.awake.set()


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
