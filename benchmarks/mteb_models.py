"""MTEB: `SeewhySearch` and `SeewhyEncoder` are models that MTEB can evaluate.

    pip install 'mteb>=2.26'
    python benchmarks/mteb_models.py SciFact [MORE TASKS] [--encoder]

`SeewhySearch` ranks like `seewhy eval`: passages, hybrid by default; a document has the score of its best passage.
`SeewhyEncoder` ranks whole documents by cosine, as in most published results.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import mteb
import numpy as np
from datasets import Dataset
from mteb import TaskMetadata
from mteb.models import ModelMeta
from mteb.models.abs_encoder import AbsEncoder
from numpy.typing import NDArray

from search.encoding.encoder import Encoder, Role
from search.encoding.models import DEFAULT_MODEL
from search.errors import InputError
from search.evaluating.evaluation import id_of_record, index_of_collection, ranked_documents
from search.evaluating.formats import CorpusEntry, Retrieval
from search.files import home
from search.index import Index
from search.records.options import EngineName, Pooling

# Number of documents that a rerank applies to, as in `seewhy eval`.
_RERANKED = 10


class SeewhySearch:
    """Search model that indexes each collection; indexes are kept for later runs, as with `seewhy eval`.

    Args:
        model, pooling, offline, engine: as for `search.Index.build`.
        options: options of `search.Index.query`: mode, weight, rerank ...

    The returned scores only convey the order: if a score is not below the previous one (ties, reranking), it is lowered
    by the smallest possible amount, as trec_eval would otherwise sort these documents by name.
    """

    def __init__(
        self,
        model: str = DEFAULT_MODEL,
        *,
        pooling: Pooling | None = None,
        offline: bool = False,
        engine: EngineName = "auto",
        **options: Any,
    ) -> None:
        self._settings: dict[str, Any] = {
            "model": model,
            "pooling": pooling,
            "offline": offline,
            "engine": engine,
        }
        self._options = options
        self._index: Index | None = None
        self.mteb_model_meta = _meta(Encoder(**self._settings), "hybrid", options)

    def index(
        self,
        corpus: Dataset,
        *,
        task_metadata: TaskMetadata,
        hf_split: str,
        hf_subset: str,
        **others: Any,
    ) -> None:
        """Index a collection, or update its index."""
        source = home() / "evaluations" / "mteb" / f"{task_metadata.name}-{hf_subset}-{hf_split}"
        entries = {
            str(row["id"]): CorpusEntry(row.get("title") or "", row["text"] or "") for row in corpus
        }
        collection = Retrieval(task_metadata.name, source, hf_split, (), {}, entries)
        self._index = index_of_collection(collection, None, **self._settings)

    def search(
        self, queries: Dataset, *, top_k: int, top_ranked: Any = None, **others: Any
    ) -> dict[str, dict[str, float]]:
        """Return the `top_k` best documents for each query, with strictly decreasing scores.

        Args:
            top_ranked: query ID -> documents to rank; None ranks all documents.

        Returns:
            query ID -> document ID -> score.

        Raises:
            InputError: `index` was not called before.
        """
        if self._index is None:
            raise InputError("nothing has been indexed. Call index before search.")
        depth = self._index.status().documents if top_ranked else top_k
        results = {}
        for query in queries:
            id_ = str(query["id"])
            scores = ranked_documents(
                self._index, query["text"], self._options, id_of_record, _RERANKED, depth
            )
            among = set(top_ranked[id_]) if top_ranked else scores.keys()
            results[id_] = _falling({name: score for name, score in scores.items() if name in among})
        return results


def _falling(scores: dict[str, float]) -> dict[str, float]:
    """Lower scores until they strictly decrease in single precision, which trec_eval uses."""
    falling, last = {}, np.float32(np.inf)
    for name, score in scores.items():
        last = min(np.float32(score), np.nextafter(last, np.float32(-np.inf)))
        falling[name] = float(last)
    return falling


class SeewhyEncoder(AbsEncoder):
    """Embeddings of texts, with the model's own prompts; texts too long for the model are truncated.

    Args:
        model: a name, a folder, or a loaded Encoder.
        options: options of `search.Encoder`: pooling, layer, dim, offline ...
    """

    def __init__(self, model: str | Encoder = DEFAULT_MODEL, **options: Any) -> None:
        self.model = model if isinstance(model, Encoder) else Encoder(model, **options)
        self.mteb_model_meta = _meta(self.model, "dense", {})

    def encode(self, inputs: Any, *, prompt_type: Any = None, **others: Any) -> NDArray[np.float32]:
        """Return (n, d) float32 unit-length embeddings of the texts of all batches."""
        role: Role | None = prompt_type.value if prompt_type else None
        texts = [text for batch in inputs for text in batch["text"]]
        return self.model.encode(texts, role=role, truncate=True)


def _meta(encoder: Encoder, kind: str, options: dict[str, Any]) -> ModelMeta:
    fingerprint = encoder.fingerprint
    values = {
        "name": f"seewhy/{Path(encoder.model).name}-{encoder.pooling}",
        "revision": fingerprint.weights,
        "max_tokens": encoder.max_tokens,
        "embed_dim": encoder.dimension,
        "framework": [],
        "similarity_fn_name": "cosine",
        "model_type": [kind],
        "experiment_kwargs": options or None,
    }
    return ModelMeta(**{**ModelMeta.create_empty().model_dump(), **values})


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("tasks", nargs="+")
    parser.add_argument("--encoder", action="store_true", help="rank whole documents by cosine")
    args = parser.parse_args()
    model: Any = SeewhyEncoder() if args.encoder else SeewhySearch()
    print(mteb.evaluate(model, mteb.get_tasks(tasks=args.tasks)))


if __name__ == "__main__":
    main()
