"""Rerank by a cross-encoder: a model that reads query and passage together.

It is the most exact and the slowest way to compare two texts, and its score is no sum over their tokens: it
is shown as one addend (Nogueira and Cho 2019).
"""

from __future__ import annotations

import json
import math
import sqlite3
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from search.encoding.encoder import with_context
from search.encoding.hub import from_hub
from search.errors import ModelError
from search.ranking.ranking import Scored
from search.store.snapshot import StoredPassage


class CrossEncoder:
    """A cross-encoder that gives one number for two texts. It is loaded at its first use, in PyTorch.

    Args:
        name: on the Hugging Face hub, NAME@REVISION to pin one, or a folder.

    Raises:
        ModelError: it cannot be found, or is no cross-encoder with one output.
    """

    def __init__(self, name: str, offline: bool) -> None:
        self.name = name
        folder = Path(name).expanduser()
        self._folder = folder if folder.is_dir() else from_hub(name, offline)
        self._model: Any = None
        self._lock = threading.Lock()

    def of(self, query: str) -> Judge:
        """The reranker of one query."""
        return Judge(self, query)

    def scores(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """How well each second text answers the first, from 0 to 1.

        Raises:
            ModelError: the model gave no finite number.
        """
        if not pairs:
            return []
        from torch.nn import Sigmoid

        found = self._loaded().predict(list(pairs), activation_fn=Sigmoid(), show_progress_bar=False)
        scores = [float(score) for score in found]
        if not all(map(math.isfinite, scores)):
            raise ModelError(
                f"the cross-encoder '{self.name}' gave no number for a passage. Use another one."
            )
        return scores

    def _require_a_head(self) -> None:
        """A model without a head for classification would get a random one."""
        try:
            config = json.loads((self._folder / "config.json").read_text(encoding="utf-8"))
            kinds = [str(kind) for kind in config.get("architectures") or ()]
        except (OSError, ValueError, AttributeError) as error:
            raise ModelError(f"the cross-encoder '{self.name}' cannot be loaded: {error}") from None
        if not any(kind.endswith("ForSequenceClassification") for kind in kinds):
            raise ModelError(
                f"'{self.name}' is no cross-encoder, but {' '.join(kinds) or 'of no known kind'}: it has no head that "
                "scores two texts. Use one such as cross-encoder/ms-marco-MiniLM-L6-v2, or --rerank late."
            )

    def _loaded(self) -> Any:
        with self._lock:
            return self._found()

    def _found(self) -> Any:
        if self._model is None:
            self._require_a_head()
            from sentence_transformers import CrossEncoder as Loaded

            try:
                model = Loaded(
                    str(self._folder),
                    trust_remote_code=False,
                    local_files_only=True,
                    model_kwargs={"use_safetensors": True},
                )
            except (OSError, ValueError, KeyError) as error:
                raise ModelError(
                    f"the cross-encoder '{self.name}' cannot be loaded: {str(error).partition(chr(10))[0]}"
                ) from None
            if model.config.num_labels != 1:
                raise ModelError(
                    f"'{self.name}' gives {model.config.num_labels} numbers for two texts; a model to rerank with "
                    "gives one, as cross-encoder/ms-marco-MiniLM-L6-v2 does."
                )
            self._model = model
        return self._model


class Judge:
    """A cross-encoder and a query; see `search.ranking.rank.Reranker`."""

    def __init__(self, model: CrossEncoder, query: str) -> None:
        self._model, self._query = model, query

    def prepare(self, connection: sqlite3.Connection, passages: Sequence[StoredPassage]) -> None:
        """Nothing more is needed of the index."""

    def rerank(
        self, best: Sequence[Scored], passages: Sequence[StoredPassage], prepared: None
    ) -> list[Scored]:
        """The same passages by what the model says of them, a number from 0 to 1, best first."""
        scores = self._model.scores([(self._query, with_context(p.context, p.text)) for p in passages])
        found = [
            replace(item, score=score, reranked=score, before=rank)
            for rank, (item, score) in enumerate(zip(best, scores, strict=True), start=1)
        ]
        return sorted(found, key=lambda item: (-item.score, item.passage))
