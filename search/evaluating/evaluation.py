"""Judged data -> how well it is answered (`evaluate`), and the weight that answers it best (`tune`).

Whatever is best of several settings on some queries is better there than it will be on others. So a choice is
cross-validated: the queries are dealt into five parts, for each part the best setting of the other four is taken, and
what it reaches on the part counts. That is compared with the default, by query.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from search.encoding import Encoder
from search.encoding.models import DEFAULT_MODEL
from search.errors import InputError
from search.evaluating.asking import Plan, settings_of, values_of
from search.evaluating.formats import SentencePairs, read_dataset
from search.evaluating.retrieval import (
    evaluate_pairs,
    evaluate_retrieval,
    evaluate_whole,
    index_of_collection,
)
from search.index import Index
from search.records.evaluations import Evaluation, Setting, Tuning
from search.records.options import WEIGHT
from search.records.reports import Progress
from search.statistics import compared
from search.store.writer import put_choice

# The default first: of equals the earlier is taken.
_WEIGHTS = (WEIGHT, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 1.0)
_FOLDS = 5


def evaluate(
    dataset: str | Path,
    *,
    settings: Sequence[str | Setting] = (),
    index: str | Path | None = None,
    model: str | None = None,
    pooling: str | None = None,
    split: str = "test",
    k: int = 10,
    whole_documents: bool = False,
    token_vectors: bool | None = None,
    seed: int = 0,
    offline: bool = False,
    engine: str = "auto",
    progress: Callable[[Progress], None] | None = None,
) -> Evaluation:
    """Ask every query of judged data, and say how good the answers are.

    A collection (a folder in BEIR layout, SQuAD's JSON) is indexed first, or its index
    brought up to date; that index is kept apart from the user's own. A CSV, TSV or JSONL file with query, path
    and, if wanted, relevance is about an index that there is. One with sentence1, sentence2 and score needs none.

    A document is as good as its best passage. The metrics follow trec_eval and have 95 % bootstrap intervals; several
    settings are compared with the first by a paired randomization test.

    Args:
        dataset: the file or folder.
        settings: ways to ask: a mode, and after commas other keywords of `Index.query`: "hybrid,weight=0.7".
            None asks as `Index.query` does by itself.
        index: for a file of query and path which index, as for `Index.open`; for a collection where to keep its own.
        model, pooling: of a new index; None takes the default.
        split: which judgements of a folder in BEIR layout: qrels/SPLIT.tsv.
        k: how many documents or passages most metrics look at; they carry it in their name ("ndcg@10").
        whole_documents: rank title and text as one, cut at what the model reads, as published figures have it, instead
            of passages. Needs no index.
        token_vectors: as for `Index.build`, of a collection's index.
        seed: of the resampling.
        offline, engine, progress: as for `Index.build`.

    Raises:
        InputError: data that is malformed (with file and line), nothing judged, an empty index,
            no relevant document in it, a query that cannot be asked, or no hit for any of them.
    """
    if k < 1:
        raise InputError(f"k is {k}, but at least 1 hit must be looked at.")
    plan = Plan(k, seed, progress)
    data = read_dataset(Path(dataset).expanduser(), split=split)
    of_encoder: dict[str, Any] = {"model": model, "pooling": pooling, "offline": offline, "engine": engine}
    if whole_documents or isinstance(data, SentencePairs):
        if settings or index:
            raise InputError("nothing is indexed for this: leave out settings and index.")
        encoder = Encoder(**{**of_encoder, "model": model or DEFAULT_MODEL})
        if isinstance(data, SentencePairs):
            return evaluate_pairs(data, encoder, plan)
        if not data.entries:
            raise InputError(
                "whole documents can only be ranked of a folder in BEIR layout or of SQuAD's JSON."
            )
        return evaluate_whole(data, encoder, plan)
    ways = settings_of(settings)
    if data.entries:
        built = {"token_vectors": token_vectors, "progress": progress, **of_encoder}
        opened = index_of_collection(data, index, **built)
    else:
        opened = Index.open(index, **of_encoder)
    return evaluate_retrieval(data, opened, ways, plan)


def tune(dataset: str | Path, *, save: bool = False, seed: int = 0, **options: Any) -> Tuning:
    """Find the weight and rerank that answer judged queries best.

    Args:
        dataset, seed, options: as for `search.evaluate`.
        save: write the best into the index's settings, so that it is asked with them where nothing else is said.

    Raises:
        InputError: what `search.evaluate` raises; fewer than five queries.
    """
    tried = [{"mode": "hybrid", "weight": weight} for weight in _WEIGHTS]
    tried.append({"mode": "hybrid", "weight": WEIGHT, "rerank": "late"})
    settings = [Setting(",".join(f"{key}={value}" for key, value in one.items())[5:], one) for one in tried]
    evaluation = evaluate(dataset, settings=settings, seed=seed, **options)
    if len(evaluation.queries) < _FOLDS:
        raise InputError(
            f"there are {len(evaluation.queries)} judged queries, too few to choose by. Judge {_FOLDS} or more."
        )
    values = np.stack([values_of(one.queries, evaluation.primary) for one in evaluation.settings])
    folds = np.random.default_rng(seed).permutation(values.shape[1]) % _FOLDS
    chosen = cross_validated(values, folds)
    best = evaluation.settings[int(values.mean(axis=1).argmax())]
    comparison = compared(evaluation.primary, ("default", "tuned"), values[0], chosen, seed=seed)
    if save:
        put_choice(Path(evaluation.index), best.setting.options)
    return Tuning(evaluation, best.setting, comparison, _FOLDS, save)


def cross_validated(values: NDArray[np.float64], folds: NDArray[np.int64]) -> NDArray[np.float64]:
    """(queries,) what the setting that is best elsewhere reaches on each query.

    Args:
        values: (settings, queries).
        folds: (queries,) the part that each query is in.
    """
    chosen = np.empty(values.shape[1])
    for fold in np.unique(folds):
        here = folds == fold
        chosen[here] = values[values[:, ~here].mean(axis=1).argmax(), here]
    return chosen
