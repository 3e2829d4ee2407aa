"""MTEB: `SeewhySearch` and `SeewhyEncoder` are models that it evaluates.

    mteb.evaluate(SeewhySearch(), mteb.get_tasks(tasks=["SciFact"]))

A search ranks as `seewhy eval` does: passages, hybrid by default, a document as good as its best one. An encoder ranks
whole documents by cosine, as most published figures have it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from search.encoding.encoder import Encoder, Role
from search.encoding.models import DEFAULT_MODEL
from search.errors import InputError
from search.evaluating.evaluation import id_of_record, index_of_collection, ranked_documents
from search.evaluating.formats import CorpusEntry, Retrieval
from search.index import Index
from search.integrations import extra
from search.store.layout import home

with extra("mteb", "MTEB"):
    from datasets import Dataset
    from mteb import TaskMetadata
    from mteb.models import ModelMeta
    from mteb.models.abs_encoder import AbsEncoder

_LOOKED_AT = 10  # documents, as `seewhy eval` has it: where a rerank is asked for, it is of these


class SeewhySearch:
    """Searches an index of each collection, which is kept for the next time as those of `seewhy eval` are.

    Args:
        model, pooling, offline, engine: as for `search.Index.build`.
        options: as of `search.Index.query`: mode, weight, rerank ...

    Scores tell MTEB the order alone: where two documents have the same score, or the second of a rerank's list has a
    higher one, it is made smaller by as little as can be, as trec_eval would else sort them by name.
    """

    def __init__(
        self,
        model: str = DEFAULT_MODEL,
        *,
        pooling: str | None = None,
        offline: bool = False,
        engine: str = "auto",
        **options: Any,
    ) -> None:
        self._made: dict[str, Any] = {
            "model": model,
            "pooling": pooling,
            "offline": offline,
            "engine": engine,
        }
        self._options = options
        self._index: Index | None = None
        self.mteb_model_meta = _meta(Encoder(**self._made), "hybrid", options)

    def index(
        self,
        corpus: Dataset,
        *,
        task_metadata: TaskMetadata,
        hf_split: str,
        hf_subset: str,
        **others: Any,
    ) -> None:
        """Index a collection, or bring its index up to date."""
        source = home() / "evaluations" / "mteb" / f"{task_metadata.name}-{hf_subset}-{hf_split}"
        entries = {
            str(row["id"]): CorpusEntry(row.get("title") or "", row["text"] or "") for row in corpus
        }
        collection = Retrieval(task_metadata.name, source, hf_split, (), {}, entries)
        self._index = index_of_collection(collection, None, **self._made)

    def search(
        self, queries: Dataset, *, top_k: int, top_ranked: Any = None, **others: Any
    ) -> dict[str, dict[str, float]]:
        """The `top_k` best documents for each query, or all that are to be ranked again, with falling scores.

        Raises:
            InputError: nothing was indexed yet.
        """
        if self._index is None:
            raise InputError("there is nothing to search in. Call index before search.")
        depth = self._index.status().documents if top_ranked else top_k
        found = {}
        for query in queries:
            id_ = str(query["id"])
            scores = ranked_documents(
                self._index, query["text"], self._options, id_of_record, _LOOKED_AT, depth
            )
            among = set(top_ranked[id_]) if top_ranked else scores.keys()
            found[id_] = _falling({name: score for name, score in scores.items() if name in among})
        return found


def _falling(scores: dict[str, float]) -> dict[str, float]:
    """Scores in the same order, each less than the one before also in single precision, which trec_eval has."""
    falling, last = {}, np.float32(np.inf)
    for name, score in scores.items():
        last = min(np.float32(score), np.nextafter(last, np.float32(-np.inf)))
        falling[name] = float(last)
    return falling


class SeewhyEncoder(AbsEncoder):
    """Embeddings of texts, cut at what the model reads; the model's own prompts are put before queries and documents.

    Args:
        model: a name, a folder, or an Encoder that is already loaded.
        options: as of `search.Encoder`: pooling, layer, dim, offline ...
    """

    def __init__(self, model: str | Encoder = DEFAULT_MODEL, **options: Any) -> None:
        self.model = model if isinstance(model, Encoder) else Encoder(model, **options)
        self.mteb_model_meta = _meta(self.model, "dense", {})

    def encode(self, inputs: Any, *, prompt_type: Any = None, **others: Any) -> NDArray[np.float32]:
        """Embeddings (n, d) of the texts of batches, each of length 1."""
        role: Role | None = prompt_type.value if prompt_type else None
        texts = [text for batch in inputs for text in batch["text"]]
        return self.model.encode(texts, role=role, truncate=True)


def _meta(encoder: Encoder, kind: str, options: dict[str, Any]) -> ModelMeta:
    made = encoder.fingerprint
    said = {
        "name": f"seewhy/{Path(encoder.model).name}-{encoder.pooling}",
        "revision": made.weights,
        "max_tokens": encoder.max_tokens,
        "embed_dim": encoder.dimension,
        "framework": [],
        "similarity_fn_name": "cosine",
        "model_type": [kind],
        "experiment_kwargs": options or None,
    }
    return ModelMeta(**{**ModelMeta.create_empty().model_dump(), **said})
