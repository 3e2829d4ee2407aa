"""Evaluation of search on judged data (`evaluate`).

The score of a document is that of its best passage. A collection gets its own index, separate from the user's:
`home()/evaluations/NAME-HASH/` contains `index/` and, for formats other than BEIR, `corpus/corpus.jsonl`.

Whole documents and pairs of sentences need no index. A whole document is the concatenation of title and text, truncated
at the model's limit and compared in memory, as in BEIR and most published figures.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from search.encoding import Encoder
from search.encoding.encoder import Role
from search.encoding.models import DEFAULT_MODEL
from search.encoding.tokenizer import encode_ids
from search.errors import FingerprintMismatch, IndexDamaged, IndexOutdated, InputError
from search.evaluating.formats import CORPUS, Query, Retrieval, SentencePairs, read_dataset
from search.evaluating.metrics import (
    DEPTH,
    MetricPlan,
    about_few,
    comparisons,
    measure,
    named,
    ranking_values,
    settings_of,
)
from search.files import home, write_whole
from search.index import Index
from search.ranking.question import Question
from search.records.evaluations import Evaluation, JudgedQuery, Setting, SettingResult
from search.records.hits import Hit
from search.records.options import EngineName, Pooling
from search.records.reports import Progress
from search.statistics import estimated, pearson, spearman
from search.store.opening import opened

Judgements = Mapping[str, Mapping[str, int]]
QueryValues = tuple[Mapping[str, float], Sequence[str]]


def index_of_collection(data: Retrieval, index: str | Path | None, **options: Any) -> Index:
    """Return the index of a collection; build or update it first.

    Args:
        index: path of the index; None takes the default place.
        options: keywords of `Index.build`.
    """
    root = data.source.resolve()
    key = json.dumps([str(root), options.get("model") or DEFAULT_MODEL, options.get("pooling")])
    name = re.sub(r"[^\w.+-]+", "-", root.stem if root.is_file() else root.name).strip("-.")
    digest = hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()[:8]
    place = home() / "evaluations" / f"{name}-{digest}"
    folder = root if (root / CORPUS).is_file() else _written_corpus(data, place / "corpus")
    options |= {"index": str(index or place / "index"), "include": [f"/{CORPUS}"], "text_field": "text"}
    try:
        return Index.build(folder, **options)
    except (FingerprintMismatch, IndexDamaged, IndexOutdated):
        if index:
            raise
        return Index.build(folder, rebuild=True, **options)


def _written_corpus(data: Retrieval, folder: Path) -> Path:
    """Write a collection to `corpus.jsonl` in a folder, unless it is up to date; return the folder."""
    records = ({"_id": name, "title": doc.title, "text": doc.text} for name, doc in data.entries.items())
    text = "".join(json.dumps(record) + "\n" for record in records)
    path = folder / CORPUS
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(path, text)
    return folder


def evaluate_retrieval(
    data: Retrieval, index: Index, settings: Sequence[Setting], plan: MetricPlan
) -> Evaluation:
    """Evaluate retrieval from an index, which covers a collection or the user's own files.

    Raises:
        InputError: the index is empty or contains no relevant document, or no query has a hit.
    """
    status = index.status()
    if not status.passages:
        raise InputError(f"the index '{index.name}' is empty. Fill it with: seewhy index FOLDER")
    if data.entries:
        judgements, names = (
            data.judgements,
            {name for name, entry in data.entries.items() if entry.whole},
        )
        name: Callable[[Hit], str] = id_of_record
    else:
        judgements, names = _resolved(data, index)
        name = partial(_judged_name, judged={name for grades in judgements.values() for name in grades})
    notes = [*_about_judgements(data.unjudged, judgements, names), *index.notes]
    if not status.complete:
        notes.append("the last indexing run was interrupted, so the index is incomplete")

    def find(query: Query, setting: Setting) -> QueryValues:
        ranked = list(
            ranked_documents(index, query.text, setting.options, name, plan.k, max(DEPTH, plan.k))
        )
        return ranking_values(ranked, judgements[query.id], plan.k), ranked

    about = {"model": status.model, "pooling": status.pooling, "index": index.name}
    sizes = {"documents": status.documents, "passages": status.passages}
    return _evaluated(data, settings, find, plan, notes, **about, **sizes)


def _evaluated(
    data: Retrieval,
    settings: Sequence[Setting],
    find: Callable[[Query, Setting], QueryValues],
    plan: MetricPlan,
    notes: Sequence[str],
    **about: Any,
) -> Evaluation:
    measured = measure(data.queries, settings, find, plan)
    remarks = list(notes)
    for result in measured:
        without = [query.id for query in result.queries if not query.results]
        if len(without) == len(data.queries):
            name = result.setting.name
            raise InputError(f"no query has a hit in the setting '{name}'. Choose another setting.")
        remarks += named(without, f"queries without a hit in '{result.setting.name}', scored 0")
    if len(settings) > 2:
        remarks.append("the p-values are not corrected for multiple comparisons")
    return Evaluation(
        dataset=data.name,
        source=str(data.source),
        task="retrieval",
        split=data.split,
        judgements=sum(map(len, data.judgements.values())),
        primary=f"ndcg@{plan.k}",
        settings=measured,
        comparisons=comparisons(measured, plan.seed),
        notes=(*remarks, *about_few(len(data.queries), "queries")),
        **about,
    )


def id_of_record(hit: Hit) -> str:
    """Return the ID that the document of a hit has in its collection."""
    return str(hit.metadata["_id"])


def ranked_documents(
    index: Index, text: str, options: Mapping[str, Any], name: Callable[[Hit], str], k: int, depth: int
) -> dict[str, float]:
    """Return the `depth` best documents by name, best first, each with the score of its best passage.

    Args:
        options: options of `Index.query`.
        name: returns the name of the document of a hit.
        k: number of documents to rerank if `options` request it; those after them keep their order.
        depth: number of documents to return.
    """
    ask = partial(index.query, Question.of(text), **{"per_document": 1, "all_copies": True, **options})
    if not options.get("rerank"):
        return _best(ask, depth, name)
    ranked = _best(ask, k, name)
    rest = _best(partial(ask, rerank=None), depth, name)
    return dict(islice({**ranked, **rest, **ranked}.items(), depth))


def _best(ask: Callable[..., Sequence[Hit]], depth: int, name: Callable[[Hit], str]) -> dict[str, float]:
    """Return the `depth` best documents by name, best first, each with the score of its best hit.

    The number of requested hits is doubled until they belong to enough documents.

    Args:
        ask: returns the `k` best hits.
    """
    limit = depth
    while True:
        hits = ask(k=limit)
        scores: dict[str, float] = {}
        for hit in hits:
            scores.setdefault(name(hit), hit.score)
        if len(scores) >= depth or len(hits) < limit:
            return dict(islice(scores.items(), depth))
        limit *= 2


def _about_judgements(unjudged: Sequence[str], judgements: Judgements, names: set[str]) -> list[str]:
    """Return notes on queries that were not judged or have no relevant document, and on documents not in the index.

    Raises:
        InputError: none of the relevant documents is in the index.
    """
    hopeless = [query for query, grades in judgements.items() if max(grades.values()) < 1]
    relevant = {name for grades in judgements.values() for name, grade in grades.items() if grade > 0}
    if not relevant & names:
        raise InputError(
            f"none of the {len(relevant):,} relevant documents is in the index. Choose another index."
        )
    return [
        *named(unjudged, "queries without judgements, left out"),
        *named(hopeless, "queries without a relevant document, scored 0 as in trec_eval"),
        *named(
            sorted(relevant - names),
            "relevant documents missing from the index, counted as not found",
            f" of {len(relevant):,}",
        ),
    ]


def _judged_name(hit: Hit, judged: set[str]) -> str:
    """Return the name of a hit in the judgements: its document's, or its file's if only that is judged."""
    file, _, record = hit.document.rpartition("#")
    return file if hit.document not in judged and record.isdecimal() and file in judged else hit.document


def _resolved(data: Retrieval, index: Index) -> tuple[dict[str, dict[str, int]], set[str]]:
    """Return the judgements by document name instead of path, and the names that are in the index."""
    names, judgements = set(), {}
    with opened(index.name).reading() as snapshot:
        for query, grades in data.judgements.items():
            places = [(snapshot.resolve(path), grade) for path, grade in grades.items()]
            judgements[query] = {place.document: grade for place, grade in places}
            names |= {place.document for place, _ in places if place.passages}
    return judgements, names


def evaluate_whole(data: Retrieval, encoder: Encoder, plan: MetricPlan) -> Evaluation:
    """Evaluate the ranking of whole documents by cosine; ties keep the order of the data."""
    names = list(data.entries)
    texts = [entry.whole for entry in data.entries.values()]
    vectors = encoder.encode(
        texts, role="document", truncate=True, progress=partial(plan.report, "encoding")
    )

    def find(query: Query, setting: Setting) -> QueryValues:
        scores = vectors @ encoder.encode([query.text], role="query", truncate=True)[0]
        order = np.argsort(-scores, kind="stable")[: max(DEPTH, plan.k)]
        ranked = [names[i] for i in order.tolist()]
        return ranking_values(ranked, data.judgements[query.id], plan.k), ranked

    notes = [
        *_about_cut(encoder, texts, "documents", "document"),
        *_about_cut(encoder, [query.text for query in data.queries], "queries", "query"),
        *_about_judgements(data.unjudged, data.judgements, set(data.entries)),
    ]
    about = {"model": encoder.model, "pooling": encoder.pooling}
    sizes = {"documents": len(names), "passages": len(names)}
    return _evaluated(data, [Setting("whole documents")], find, plan, notes, **about, **sizes)


def evaluate_pairs(data: SentencePairs, encoder: Encoder, plan: MetricPlan) -> Evaluation:
    """Evaluate the correlation of cosines and gold scores, as in the STS benchmark (Cer et al. 2017)."""
    sentences = list(dict.fromkeys(text for pair in data.pairs for text in (pair.first, pair.second)))
    vectors = dict(
        zip(sentences, encoder.encode(sentences, truncate=True).astype(np.float64), strict=True)
    )
    cosines = np.array([vectors[pair.first] @ vectors[pair.second] for pair in data.pairs])
    scores = np.array([pair.score for pair in data.pairs])
    queries = tuple(
        JudgedQuery(str(number), f"{pair.first}\t{pair.second}", {"cosine": cosine, "score": pair.score})
        for number, (pair, cosine) in enumerate(zip(data.pairs, cosines.tolist(), strict=True), 1)
    )
    figures = {"spearman": spearman, "pearson": pearson}
    metrics = {name: estimated(of, cosines, scores, seed=plan.seed) for name, of in figures.items()}
    return Evaluation(
        dataset=data.name,
        source=str(data.source),
        task="sts",
        model=encoder.model,
        pooling=encoder.pooling,
        judgements=len(queries),
        primary="spearman",
        settings=(SettingResult(Setting("cosine"), metrics, queries),),
        notes=(*_about_cut(encoder, sentences, "sentences"), *about_few(len(queries), "pairs")),
    )


def _about_cut(encoder: Encoder, texts: Sequence[str], noun: str, role: Role | None = None) -> list[str]:
    cut = too_long(encoder, texts, role)
    return (
        [f"{cut:,} of {len(texts):,} {noun} were truncated to {encoder.max_tokens} tokens"] if cut else []
    )


def too_long(encoder: Encoder, texts: Sequence[str], role: Role | None = None) -> int:
    """Return the number of texts that exceed the model's token limit together with the prompt of `role`."""
    prompt = encoder.prompt(role)
    encoded = encode_ids(encoder.tokenizer, [prompt + text for text in texts], encoder.max_tokens)
    return sum(text.dropped > 0 for text in encoded)


def evaluate(
    dataset: str | Path,
    *,
    settings: Sequence[str | Setting] = (),
    index: str | Path | None = None,
    model: str | None = None,
    pooling: Pooling | None = None,
    split: str = "test",
    k: int = 10,
    whole_documents: bool = False,
    token_vectors: bool | None = None,
    seed: int = 0,
    offline: bool = False,
    engine: EngineName = "auto",
    progress: Callable[[Progress], None] | None = None,
) -> Evaluation:
    """Evaluate search on judged data: run every query and compute metrics.

    A collection (a folder in BEIR layout, SQuAD's JSON) is indexed first, separately from the user's indexes. A CSV,
    TSV or JSONL file with query, path and optionally relevance is evaluated on an existing index. A file with
    sentence1, sentence2 and score needs no index.

    The score of a document is that of its best passage. The metrics follow trec_eval and have 95 % bootstrap intervals;
    each further setting is compared with the first by a paired randomization test.

    Args:
        dataset: the file or folder.
        settings: query settings to compare: a mode, followed by other keywords of `Index.query` after commas:
            "hybrid,weight=0.7". Without any, the defaults of `Index.query` are evaluated.
        index: for a file with query and path, the index to query, as for `Index.open`; for a collection, the path of
            the index to build.
        model, pooling: model and pooling of a new index; None takes the default.
        split: name of the judgements in a folder in BEIR layout, which are read from qrels/SPLIT.tsv.
        k: cut-off rank of most metrics; it is part of their names ("ndcg@10").
        whole_documents: instead of passages, rank documents (title and text together) truncated at the model's limit,
            as for published figures. Needs no index.
        token_vectors: as for `Index.build`, for a collection's index.
        seed: seed of the resampling.
        offline, engine, progress: as for `Index.build`.

    Raises:
        InputError: malformed data (with file and line), no judgements, an empty index, no relevant document in it, an
            invalid query, or no hit for any query.
    """
    if k < 1:
        raise InputError(f"k is {k}; the minimum is 1.")
    plan = MetricPlan(k, seed, progress)
    data = read_dataset(Path(dataset).expanduser(), split=split)
    of_encoder: dict[str, Any] = {
        "model": model,
        "pooling": pooling,
        "offline": offline,
        "engine": engine,
    }
    if whole_documents or isinstance(data, SentencePairs):
        if settings or index:
            raise InputError("whole documents and sentence pairs use no index: omit settings and index.")
        encoder = Encoder(**{**of_encoder, "model": model or DEFAULT_MODEL})
        if isinstance(data, SentencePairs):
            return evaluate_pairs(data, encoder, plan)
        if not data.entries:
            raise InputError("whole documents need a BEIR folder or SQuAD's JSON. Give one of these.")
        return evaluate_whole(data, encoder, plan)
    ways = settings_of(settings)
    if data.entries:
        built = {"token_vectors": token_vectors, "progress": progress, **of_encoder}
        opened = index_of_collection(data, index, **built)
    else:
        opened = Index.open(index, **of_encoder)
    return evaluate_retrieval(data, opened, ways, plan)
