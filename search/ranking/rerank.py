"""Rerank the best passages of a ranking, by late interaction or with a cross-encoder.

*Late interaction* pairs each query token with the most similar passage token: the MaxSim of ColBERT (Khattab and
Zaharia 2020, section 3.3), with the vectors of the index's model, as a weighted mean: `late = sum_i w_i max_j cos(q_i,
p_j) / sum_i w_i`, over the tokens i of the query and the tokens j of the passage and its context; special tokens and
prompts are left out. The weight of a token is the idf of its word, log((N - n + 0.5) / (n + 0.5)) for a word in n of N
passages, and at least 0.05. The new score is the mean of the previous score and `late`, so it is still a sum of
addends.

A *cross-encoder* reads query and passage together. It is the most accurate and the slowest way to compare two texts,
and its score is not a sum over tokens: it is shown as one addend (Nogueira and Cho 2019).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from search.encoding.encoder import Encoder
from search.encoding.loading import alone, cached_models
from search.encoding.models import from_hub
from search.encoding.tokenizer import with_context
from search.errors import InputError, ModelError, TextTooLong, first_line
from search.ranking.fusion import Scored, in_order
from search.records.contents import StoredPassage
from search.records.options import LATE_SHARE
from search.records.tokens import TokenVectors
from search.store.bm25 import weight
from search.store.snapshot import Snapshot
from search.store.token_vectors import stored_positions, unit_rows

_MIN_TOKEN_WEIGHT = 0.05


@dataclass(frozen=True, eq=False)
class MaxSim:
    """Late interaction score of one passage.

    Attributes:
        value: the weighted mean.
        addends: (q,) addends of the query tokens, 0 for tokens that are left out; they sum to `value`.
        best: (q,) best match of each query token, as a position among the passage's tokens of text and context.
    """

    value: float
    addends: NDArray[np.float64]
    best: NDArray[np.int64]


# Data from the index: weights of the query tokens that are not left out, stored token vectors of the passages.
_Prepared: TypeAlias = tuple[NDArray[np.float64], dict[int, NDArray[np.float32]]]


class LateInteraction:
    """Late interaction of one query with passages of an index.

    Args:
        query: the query's token vectors of the last layer.
    """

    def __init__(self, encoder: Encoder, query: TokenVectors) -> None:
        self._encoder, self._query = encoder, query
        self._rows = unit_rows(query)
        self._positions = stored_positions(query.tokens)

    def prepare(self, snapshot: Snapshot, passages: Sequence[StoredPassage]) -> Any:
        """Read what `rerank` needs; the model runs after the snapshot is closed."""
        ids = [passage.passage_id for passage in passages]
        stored = snapshot.token_vectors(ids, self._rows.shape[1])
        return self._weights(snapshot), stored

    def rerank(
        self, best: Sequence[Scored], passages: Sequence[StoredPassage], prepared: _Prepared
    ) -> list[Scored]:
        """Return the passages by their new scores, best first, each with its previous rank."""
        reranked = []
        matches = zip(best, self.matches(passages, prepared), strict=True)
        for rank, (item, matched) in enumerate(matches, start=1):
            score = (1 - LATE_SHARE) * item.score + LATE_SHARE * matched.value
            reranked.append(replace(item, score=score, reranked=matched.value, before=rank))
        return in_order(reranked)

    def relevance(self, snapshot: Snapshot, texts: Sequence[str]) -> list[float]:
        """Return the score of each of some texts, which need not be in the index."""
        weights = self._weights(snapshot)
        encoded = self._encoder.tokens(texts, role="document")
        return [self._max_sim(unit_rows(tokens), weights).value for tokens in encoded]

    def matches(
        self,
        passages: Sequence[StoredPassage],
        prepared: _Prepared,
        encoded_before: Mapping[int, TokenVectors] | None = None,
    ) -> list[MaxSim]:
        """Score each passage with its stored token vectors; a passage without stored vectors is encoded."""
        weights, stored = prepared
        vectors = {id_: unit_rows(tokens) for id_, tokens in (encoded_before or {}).items()} | stored
        if missing := {
            passage.passage_id: passage for passage in passages if passage.passage_id not in vectors
        }:
            encoded = self._token_vectors(list(missing.values()))
            vectors |= {id_: unit_rows(tokens) for id_, tokens in zip(missing, encoded, strict=True)}
        return [self._max_sim(vectors[passage.passage_id], weights) for passage in passages]

    def _token_vectors(self, passages: Sequence[StoredPassage]) -> list[TokenVectors]:
        try:
            return self._encoder.tokens(
                [passage.text for passage in passages],
                contexts=[passage.context for passage in passages],
                hidden=[passage.hidden for passage in passages],
                role="document",
            )
        except TextTooLong as error:
            document = passages[error.position].document
            raise InputError(
                f"'{document}' brings its embedding, and a passage with more tokens ({error.n_tokens}) than the "
                f"model reads ({error.max_tokens}), so it cannot be reranked. Query without rerank, or cut it into "
                "`passages`."
            ) from None

    def _max_sim(self, passage: NDArray[np.float32], weights: NDArray[np.float64]) -> MaxSim:
        n = len(self._query.tokens)
        addends, best = np.zeros(n), np.zeros(n, dtype=np.int64)
        if len(self._positions) and len(passage):
            cosines = self._rows @ passage.T
            partner = cosines.argmax(axis=1)
            best[self._positions] = partner
            addends[self._positions] = weights * cosines[np.arange(len(partner)), partner]
        return MaxSim(float(addends.sum()), addends, best)

    def _weights(self, snapshot: Snapshot) -> NDArray[np.float64]:
        """Return the weights of the query tokens that are not left out; they sum to 1."""
        words = snapshot.tokenize(self._query.text)
        total = snapshot.facts.passages
        counts = zip(words, snapshot.counts(words), strict=True)
        weighted = [(word.start, word.end, weight(n, total)) for word, n in counts]
        weights = np.full(len(self._positions), _MIN_TOKEN_WEIGHT)
        for row, position in enumerate(self._positions):
            offset = self._query.tokens[position].start
            covering = (value for start, end, value in weighted if start <= offset < end)
            weights[row] = max(_MIN_TOKEN_WEIGHT, next(covering, _MIN_TOKEN_WEIGHT))
        return weights / weights.sum() if len(weights) else weights


class CrossEncoderReranker:
    """Reranks with a cross-encoder, for one query."""

    def __init__(self, model: Any, query: str) -> None:
        self._model, self._query = model, query

    def prepare(self, snapshot: Snapshot, passages: Sequence[StoredPassage]) -> Any:
        """Return None: a cross-encoder needs nothing from the index."""

    def rerank(
        self, best: Sequence[Scored], passages: Sequence[StoredPassage], prepared: Any
    ) -> list[Scored]:
        """Return the passages by the model's scores in [0, 1], best first."""
        if not passages:
            return []
        from torch.nn import Sigmoid

        pairs = [
            (self._query, with_context(passage.context, passage.visible_text)) for passage in passages
        ]
        scores = self._model.predict(pairs, activation_fn=Sigmoid(), show_progress_bar=False).tolist()
        rescored = zip(best, scores, strict=True)
        return in_order(
            replace(item, score=score, reranked=score, before=rank)
            for rank, (item, score) in enumerate(rescored, start=1)
        )


Reranker: TypeAlias = LateInteraction | CrossEncoderReranker


@cached_models
@alone
def cross_encoder(name: str, offline: bool) -> Any:
    """Load a cross-encoder with one output, in PyTorch; the last three are cached.

    Args:
        name: a name on the Hugging Face hub, NAME@REVISION to pin a revision, or a folder.

    Raises:
        ModelError: the model cannot be found or loaded, or is not a cross-encoder with one output.
    """
    folder = Path(name).expanduser()
    folder = folder if folder.is_dir() else from_hub(name, offline)
    try:
        _require_a_head(name, folder)
        from sentence_transformers import CrossEncoder

        model = CrossEncoder(
            str(folder),
            trust_remote_code=False,
            local_files_only=True,
            model_kwargs={"use_safetensors": True},
        )
    except (OSError, ValueError, KeyError) as error:
        raise ModelError(f"cannot load the cross-encoder '{name}': {first_line(error)}") from None
    if model.config.num_labels != 1:
        raise ModelError(
            f"'{name}' outputs {model.config.num_labels} scores per pair of texts. Use a model with one."
        )
    return model


def _require_a_head(name: str, folder: Path) -> None:
    """Raise ModelError for a model without weights for a classification head, which would be initialised at random."""
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    kinds = config.get("architectures") or ["unknown"]
    if not any(kind.endswith("ForSequenceClassification") for kind in kinds):
        raise ModelError(
            f"'{name}' is not a cross-encoder; its architecture is {' '.join(kinds)}. Use for "
            "example cross-encoder/ms-marco-MiniLM-L6-v2, or --rerank late."
        )
