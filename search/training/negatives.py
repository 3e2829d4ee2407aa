"""Hard negatives: passages of an index that look like an answer and are none.

Each query is asked, by meaning alone, and the best passages are taken that are not one of its own. Two rules keep
answers that nobody has marked from being taught as wrong:

- a passage whose text is that of one of the query's passages, holds it or is held by it, is one of its own;
- a passage whose cosine is more than 95 % of that of the query's own passage is too near (the rule TopK-PercPos of
  Moreira et al. 2024, "NV-Retriever").
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import replace

from search.errors import InputError
from search.evaluating.retrieval import too_long
from search.index import Index
from search.records.evaluations import TrainingFile
from search.records.reports import Progress
from search.training.examples import Example, Examples, key_of

NEAREST = 0.95  # of the cosine of the query's own passage
_DEPTHS = (50, 1000)  # hits that are looked at; more only where the first are too near


def with_negatives(
    examples: Examples,
    index: Index,
    per_pair: int = 1,
    *,
    progress: Callable[[Progress], None] | None = None,
) -> tuple[Examples, Mapping[str, int]]:
    """Pairs or triplets with `per_pair` more negatives each, taken from an index; and what was passed over.

    Returns:
        The examples, and counts: passages that were passed over as the query's own and as too near, examples that were
        left out as too few passages were left and as the model cannot read their query whole.

    Raises:
        InputError: no example has enough passages that can serve.
    """
    own = defaultdict(set)
    for row in examples.rows:
        own[key_of(row.texts[0])].add(key_of(row.texts[1]))
    nearness = _nearness(examples, index)
    long = {text for text in examples.texts(0) if too_long(index.encoder, [text], "query")}
    mined = []
    counts = Counter(passed_over_as_own=0, passed_over_as_too_near=0, without_negative=0, query_too_long=0)
    for number, (row, nearest) in enumerate(zip(examples.rows, nearness, strict=True), 1):
        if row.texts[0] in long:
            counts["query_too_long"] += 1
            continue
        texts, passed = _negatives(row, index, per_pair, nearest, own[key_of(row.texts[0])])
        if len(texts) == per_pair:
            counts.update(passed)
            mined.append(Example((*row.texts, *texts)))
        else:
            counts["without_negative"] += 1
        if progress:
            progress(Progress("looking for negatives", number, len(examples)))
    if counts["query_too_long"] == len(examples):
        raise InputError(
            f"the queries of all {len(examples):,} examples are longer than the model of the index reads, so none can "
            "be asked. Shorten them, or leave --negatives out."
        )
    if not mined:
        raise InputError(
            f"the index holds no passage that could serve as a negative for any of the {len(examples):,} examples: "
            f"all are their own or too near. Is it an index of '{index.encoder.model}' with other texts?"
        )
    digest = hashlib.sha256("\0".join(text for row in mined for text in row.texts).encode()).hexdigest()
    file = TrainingFile("negatives", str(index.path), index.path.name, digest, len(mined) * per_pair)
    return replace(examples, shape="triplets", rows=tuple(mined), files=(*examples.files, file)), counts


def _nearness(examples: Examples, index: Index) -> list[float]:
    """The highest cosine that a negative of each example may have."""
    queries, passages = examples.texts(0), examples.texts(1)
    vectors = (
        dict(zip(queries, index.encoder.encode(queries, role="query", truncate=True), strict=True)),
        dict(zip(passages, index.encoder.encode(passages, role="document", truncate=True), strict=True)),
    )
    return [NEAREST * float(vectors[0][row.texts[0]] @ vectors[1][row.texts[1]]) for row in examples.rows]


def _negatives(
    row: Example, index: Index, wanted: int, nearest: float, own: set[str]
) -> tuple[list[str], Counter[str]]:
    """Texts of passages, best first, and how many were passed over as the query's own, and as too near."""
    known = {key_of(text) for text in row.texts[2:]}
    for depth in _DEPTHS:
        hits = index.query(row.texts[0], depth, mode="dense")
        texts: dict[str, str] = {}
        passed: Counter[str] = Counter()
        for hit in hits:
            key = key_of(hit.text)
            if any(key in text or text in key for text in own):
                passed["passed_over_as_own"] += 1
            elif hit.cosine is None or hit.cosine > nearest:
                passed["passed_over_as_too_near"] += 1
            elif key not in known:
                texts.setdefault(key, hit.text)
            if len(texts) == wanted:
                return list(texts.values()), passed
        if len(hits) < depth:
            break
    return list(texts.values()), passed
