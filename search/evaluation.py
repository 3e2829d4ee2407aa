"""Judged data -> how well it is answered: `evaluate`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from search.encoding import Encoder
from search.encoding.models import DEFAULT_MODEL
from search.errors import FingerprintMismatch, IndexDamaged, InputError
from search.evaluating.asking import Plan
from search.evaluating.collection import place_of_collection, written_corpus
from search.evaluating.dataset import Retrieval, SentencePairs, Spans
from search.evaluating.formats import read_dataset
from search.evaluating.formats.beir import CORPUS
from search.evaluating.pairs import evaluate_pairs
from search.evaluating.retrieval import evaluate_retrieval
from search.evaluating.settings import settings_of
from search.evaluating.spans import evaluate_spans
from search.evaluating.whole import evaluate_whole
from search.library import Index
from search.records import Evaluation, Progress, Setting, Task


def evaluate(
    dataset: str | Path,
    *,
    settings: Sequence[str | Setting] = (),
    index: str | Path | None = None,
    model: str | None = None,
    pooling: str | None = None,
    split: str = "test",
    task: Task | None = None,
    k: int = 10,
    whole_documents: bool = False,
    allow_missing: bool = False,
    token_vectors: bool | None = None,
    seed: int = 0,
    offline: bool = False,
    engine: str = "auto",
    progress: Callable[[Progress], None] | None = None,
) -> Evaluation:
    """Ask every query of judged data, and say how good the answers are.

    A collection (a folder in BEIR layout, SQuAD's JSON, documents with gold spans) is indexed first, or its index
    brought up to date; that index is kept apart from the user's own. A CSV or TSV file with the columns query, path
    and, if wanted, relevance is about an index that there is. One with sentence1, sentence2 and score needs none.

    A document is as good as its best passage. The figures follow trec_eval and have 95 % bootstrap intervals; several
    settings are compared with the first by a paired randomization test.

    Args:
        dataset: the file or folder.
        settings: ways to ask: a mode, and after commas other keywords of `Index.query`: "hybrid,weight=0.7".
            None asks as `Index.query` does by itself.
        index: for a file of query and path which index, as for `Index.open`; for a collection where to keep its own.
        model, pooling: of a new index; None takes the default.
        split: which judgements of a folder in BEIR layout: qrels/SPLIT.tsv.
        task: only to make sure; None takes what the data is.
        k: how many documents or passages most figures look at; they carry it in their name ("ndcg@10").
        whole_documents: rank title and text as one, cut at what the model reads, as published figures have it, instead
            of passages. Needs no index.
        allow_missing: count relevant documents that are not in the index as not found, instead of refusing.
        token_vectors: as for `Index.build`, of a collection's index.
        seed: of the resampling.
        offline, engine, progress: as for `Index.build`.

    Raises:
        InputError: data that is malformed (with file and line) or of another task, nothing judged, an empty index,
            relevant documents that it does not hold, a query that cannot be asked, or no answer to any of them.
    """
    if k < 1:
        raise InputError(f"k is {k}, but at least 1 hit must be looked at.")
    plan = Plan(k, seed, progress)
    data = read_dataset(Path(dataset).expanduser(), task=task, split=split)
    own = isinstance(data, Retrieval) and not data.entries
    if whole_documents and (own or not isinstance(data, Retrieval)):
        raise InputError("whole documents can only be ranked of a folder in BEIR layout or of SQuAD's JSON.")
    if whole_documents or isinstance(data, SentencePairs):
        if settings or index:
            raise InputError(
                "nothing is indexed for this, so there are no ways to ask. Leave out settings and index."
            )
        encoder = Encoder(model or DEFAULT_MODEL, pooling=pooling, offline=offline, engine=engine)
        if isinstance(data, SentencePairs):
            return evaluate_pairs(data, encoder, plan)
        assert isinstance(data, Retrieval)
        return evaluate_whole(data, encoder, plan, allow_missing=allow_missing)
    keywords = {name: one.default for name, one in inspect.signature(Index.query).parameters.items()}
    asked = settings_of(settings, keywords)
    if own:
        opened = Index.open(index, model=model, pooling=pooling, offline=offline, engine=engine)
    else:
        opened = _collection(data, index, model, pooling, token_vectors, offline, engine, progress)
    if isinstance(data, Spans):
        return evaluate_spans(data, opened, asked, plan)
    return evaluate_retrieval(data, opened, asked, plan, allow_missing=allow_missing)


def _collection(
    data: Retrieval | Spans,
    index: str | Path | None,
    model: str | None,
    pooling: str | None,
    token_vectors: bool | None,
    offline: bool,
    engine: str,
    progress: Callable[[Progress], None] | None,
) -> Index:
    """The index of a collection, up to date."""
    place = place_of_collection(data.source, model, pooling)
    is_corpus = isinstance(data, Retrieval)
    folder = written_corpus(data, place) if isinstance(data, Retrieval) and not data.folder else data.folder
    assert folder is not None
    build = partial(
        Index.build,
        folder,
        index=str(index or place / "index"),
        model=model,
        pooling=pooling,
        include=[f"/{CORPUS}"] if is_corpus else None,
        text_field="text" if is_corpus else None,
        token_vectors=token_vectors,
        offline=offline,
        engine=engine,
        progress=progress,
    )
    try:
        return build()
    except (
        FingerprintMismatch,
        IndexDamaged,
    ):  # another model by now, or other passages; nothing of it is precious
        if index:
            raise
        return build(rebuild=True)
