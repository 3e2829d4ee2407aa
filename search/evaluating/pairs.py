"""Pairs of sentences that people gave a score: how well cosines follow it."""

from __future__ import annotations

import numpy as np

from search.encoding import Encoder
from search.evaluating.asking import FEW, Plan
from search.evaluating.dataset import SentencePairs
from search.evaluating.statistics import pearson, spearman
from search.evaluating.whole import too_long
from search.records.evaluations import Evaluation, JudgedQuery, Measured, Setting


def evaluate_pairs(data: SentencePairs, encoder: Encoder, plan: Plan) -> Evaluation:
    """Spearman's and Pearson's correlation of cosines and scores, as the STS benchmark has it (Cer et al. 2017)."""
    firsts, seconds = [pair.first for pair in data.pairs], [pair.second for pair in data.pairs]
    sentences = list(dict.fromkeys([*firsts, *seconds]))
    vectors = encoder.encode(sentences, truncate=True)
    row = {sentence: i for i, sentence in enumerate(sentences)}
    first, second = vectors[[row[text] for text in firsts]], vectors[[row[text] for text in seconds]]
    cosines = np.sum(first.astype(np.float64) * second, axis=1)
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
    if len(queries) < FEW:
        notes.append(f"with only {len(queries)} pairs the intervals are rough")
    return Evaluation(
        dataset=data.name,
        source=str(data.source),
        task="sts",
        split="",
        index="",
        model=encoder.model,
        pooling=encoder.pooling,
        documents=0,
        passages=0,
        judgements=len(queries),
        primary="spearman",
        settings=(Measured(Setting("cosine"), metrics, queries),),
        notes=tuple(notes),
    )
