"""Judged data -> how well it is answered: `evaluate`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from search.encoding import Encoder
from search.encoding.models import DEFAULT_MODEL
from search.errors import FingerprintMismatch, IndexDamaged, IndexOutdated, InputError
from search.evaluating.answering import Retrieved, evaluate_reader
from search.evaluating.asking import Plan, settings_of
from search.evaluating.dataset import Retrieval, SentencePairs, Spans
from search.evaluating.formats import CORPUS, read_dataset, read_questions
from search.evaluating.retrieval import (
    evaluate_pairs,
    evaluate_retrieval,
    evaluate_spans,
    evaluate_whole,
    place_of_collection,
    written_corpus,
)
from search.index import Index
from search.records.evaluations import Evaluation, Setting
from search.records.options import QueryOptions, RerankOptions
from search.records.predictions import Answers
from search.records.reports import Progress


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
        k: how many documents or passages most figures look at; they carry it in their name ("ndcg@10").
        whole_documents: rank title and text as one, cut at what the model reads, as published figures have it, instead
            of passages. Needs no index.
        allow_missing: count relevant documents that are not in the index as not found, instead of refusing.
        token_vectors: as for `Index.build`, of a collection's index.
        seed: of the resampling.
        offline, engine, progress: as for `Index.build`.

    Raises:
        InputError: data that is malformed (with file and line), nothing judged, an empty index,
            relevant documents that it does not hold, a query that cannot be asked, or no answer to any of them.
    """
    if k < 1:
        raise InputError(f"k is {k}, but at least 1 hit must be looked at.")
    plan = Plan(k, seed, progress)
    data = read_dataset(Path(dataset).expanduser(), split=split)
    own = isinstance(data, Retrieval) and not data.entries
    if whole_documents and (own or not isinstance(data, Retrieval)):
        raise InputError("whole documents can only be ranked of a folder in BEIR layout or of SQuAD's JSON.")
    of_encoder: dict[str, Any] = {"model": model, "pooling": pooling, "offline": offline, "engine": engine}
    if whole_documents or isinstance(data, SentencePairs):
        if settings or index:
            raise InputError(
                "nothing is indexed for this, so there are no ways to ask. Leave out settings and index."
            )
        encoder = Encoder(**{**of_encoder, "model": model or DEFAULT_MODEL})
        if isinstance(data, SentencePairs):
            return evaluate_pairs(data, encoder, plan)
        assert isinstance(data, Retrieval)
        return evaluate_whole(data, encoder, plan, allow_missing=allow_missing)
    asked = settings_of(settings, QueryOptions.__annotations__)
    if own:
        opened = Index.open(index, **of_encoder)
    else:
        opened = index_of_collection(
            data, index, token_vectors=token_vectors, progress=progress, **of_encoder
        )
    if isinstance(data, Spans):
        return evaluate_spans(data, opened, asked, plan)
    return evaluate_retrieval(data, opened, asked, plan, allow_missing=allow_missing)


def evaluate_answers(
    dataset: str | Path,
    *,
    model: str | None,
    retrieve: bool = False,
    encoder: str | None = None,
    settings: Sequence[str | Setting] = (),
    index: str | Path | None = None,
    k: int = 10,
    limit: int | None = None,
    no_answer_margin: float | None = None,
    max_answer: int = 30,
    seed: int = 0,
    offline: bool = False,
    engine: str = "auto",
    device: str | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Evaluation:
    """Ask a reader the questions of a file in SQuAD's format: exact match and F1 with their 95 % intervals.

    Args:
        model: the reader, a checkpoint with a head for answer spans.
        retrieve: also answer from an index of all paragraphs, the k best passages for each question; compared with
            the reader that is given the right paragraph.
        encoder: the model of a new index of the paragraphs; None takes the default.
        settings: ways to retrieve, as for `evaluate`.
        index: where to keep the index of the paragraphs.
        limit: how many questions are asked, spread evenly over the data; None for all.
        no_answer_margin: by how much a span's score has to reach that of no answer. None is 0 for data with questions
            that have no answer, as SQuAD 2.0; where all have one, as in SQuAD 1.1, the best span always counts.
        max_answer: most tokens of an answer.
        seed, offline, engine, device, progress: as for `evaluate` and `Index.ask`.

    Raises:
        InputError: data that is malformed, a question that is too long, or a number that cannot be worked with.
        ModelError: the reader cannot be loaded, or has no head for answer spans.
    """
    from search.bert import answer
    from search.bert.answering import required

    reader = required(model)
    data = read_questions(Path(dataset).expanduser())
    margin = 0.0 if no_answer_margin is None else no_answer_margin
    how: dict[str, Any] = {
        "model": reader,
        "no_answer_margin": margin,
        "max_answer": max_answer,
        "device": device,
    }
    ways: list[Retrieved] = []
    opened = None
    if retrieve:
        asked = settings_of(settings, (*RerankOptions.__annotations__, "where"))
        opened = index_of_collection(
            data.paragraphs, index, model=encoder, offline=offline, engine=engine, progress=progress
        )
        for one in asked:
            ask: Callable[[str], Answers] = partial(opened.ask, k=k, answers=1, **how, **one.options)
            ways.append(Retrieved(one, ask, partial(opened.query, k=k, **one.options)))
    elif settings or index:
        raise InputError("an index is only asked with retrieve; leave out settings and index, or ask for it.")
    return evaluate_reader(
        data,
        reader,
        partial(answer, answers=1, offline=offline, **how),
        Plan(k, seed, progress),
        limit=limit,
        forced=False if no_answer_margin is not None else None,
        retrieved=ways,
        status=opened.status() if opened else None,
    )


def index_of_collection(data: Retrieval | Spans, index: str | Path | None, **options: Any) -> Index:
    """The index of a collection, up to date, made with options of `Index.build`."""
    place = place_of_collection(data.source, options.get("model"), options.get("pooling"))
    options["index"] = str(index or place / "index")
    folder = data.folder
    if isinstance(data, Retrieval):
        folder = folder or written_corpus(data, place)
        options |= {"include": [f"/{CORPUS}"], "text_field": "text"}
    assert folder is not None
    try:
        return Index.build(folder, **options)
    except (FingerprintMismatch, IndexDamaged, IndexOutdated):
        # Another model by now, other passages or another format; none of it is precious.
        if index:
            raise
        return Index.build(folder, rebuild=True, **options)
