"""What needs no index: documents ranked whole, and pairs of sentences that people gave a score.

A whole document is title and text as one, cut at what the model reads, compared in memory. This is how BEIR and most
published figures have it. An index cuts documents into passages instead, so its figures differ.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from search.encoding import Encoder
from search.encoding.encoder import Role
from search.encoding.tokenizer import encode_ids
from search.evaluating.asking import Found, Plan, Way, about_few, measure
from search.evaluating.dataset import Query, Retrieval, SentencePairs
from search.evaluating.metrics import DEPTH, ranking_values
from search.evaluating.retrieval import about_judgements, about_missing
from search.records.evaluations import Evaluation, JudgedQuery, Measured, Setting
from search.records.reports import Progress
from search.statistics import pearson, spearman


def evaluate_whole(
    data: Retrieval, encoder: Encoder, plan: Plan, *, allow_missing: bool = False
) -> Evaluation:
    """The documents of a collection with one embedding each, ranked by cosine; of equals the earlier one first.

    Raises:
        InputError: relevant documents are not in the collection.
    """
    missing = about_missing(set(data.entries), data.judgements, data.source, allow_missing)
    names = list(data.entries)
    texts = [
        entry.whole for entry in data.entries.values()
    ]  # one without title and text has an embedding, too

    def progress(done: int, total: int) -> None:
        if plan.progress:
            plan.progress(Progress("encoding", done, total, passages=len(names), tokens=done))

    vectors = encoder.encode(texts, role="document", truncate=True, progress=progress)

    def ranked(query: str, depth: int) -> tuple[str, ...]:
        scores = vectors @ encoder.encode([query], role="query", truncate=True)[0]
        return tuple(names[i] for i in np.argsort(-scores, kind="stable")[:depth].tolist())

    def find(query: Query) -> Found:
        documents = ranked(query.text, max(DEPTH, plan.k))
        return Found(ranking_values(documents, data.judgements[query.id], plan.k), documents)

    way = Way(Setting("whole documents"), find, lambda text: ranked(text, plan.k))
    measured, _, remarks = measure(data.queries, [way], plan, passages=len(names))
    cut = too_long(encoder, texts, "document")
    notes = [f"{cut:,} of {len(names):,} documents were cut at {encoder.max_tokens} tokens"]
    if asked := too_long(encoder, [query.text for query in data.queries], "query"):
        notes.append(f"{asked:,} queries were cut, too")
    return Evaluation(
        dataset=data.name,
        source=str(data.source),
        task="retrieval",
        split=data.split,
        model=encoder.model,
        pooling=encoder.pooling,
        documents=len(names),
        passages=len(names),
        judgements=sum(map(len, data.judgements.values())),
        primary=f"ndcg@{plan.k}",
        settings=measured,
        notes=(*notes, *missing, *about_judgements(data), *remarks),
    )


def evaluate_pairs(data: SentencePairs, encoder: Encoder, plan: Plan) -> Evaluation:
    """Spearman's and Pearson's correlation of cosines and scores, as the STS benchmark has it (Cer et al. 2017)."""
    sentences = list(dict.fromkeys(text for pair in data.pairs for text in (pair.first, pair.second)))
    vectors = dict(zip(sentences, encoder.encode(sentences, truncate=True).astype(np.float64), strict=True))
    cosines = np.array([vectors[pair.first] @ vectors[pair.second] for pair in data.pairs])
    scores = np.array([pair.score for pair in data.pairs])
    queries = tuple(
        JudgedQuery(str(number), f"{pair.first}\t{pair.second}", {"cosine": cosine, "score": pair.score})
        for number, (pair, cosine) in enumerate(zip(data.pairs, cosines.tolist(), strict=True), 1)
    )
    metrics = {
        "spearman": spearman(cosines, scores, seed=plan.seed),
        "pearson": pearson(cosines, scores, seed=plan.seed),
    }
    cut = too_long(encoder, sentences)
    notes = [f"{cut:,} sentences were cut at {encoder.max_tokens} tokens"] if cut else []
    notes += about_few(len(queries), "pairs")
    return Evaluation(
        dataset=data.name,
        source=str(data.source),
        task="sts",
        model=encoder.model,
        pooling=encoder.pooling,
        judgements=len(queries),
        primary="spearman",
        settings=(Measured(Setting("cosine"), metrics, queries),),
        notes=tuple(notes),
    )


def too_long(encoder: Encoder, texts: Sequence[str], role: Role | None = None) -> int:
    """How many of the texts have more tokens than the model reads."""
    prompt = encoder.prompt(role)
    encoded = encode_ids(encoder.tokenizer, [prompt + text for text in texts], encoder.max_tokens)
    return sum(text.dropped > 0 for text in encoded)
