"""Passages of an index that look like an answer and are none: hard negatives.

Each query is asked, by meaning alone, and the best passages are taken that are not one of its own. Two rules keep
answers that nobody has marked from being taught as wrong:

- a passage whose text is that of one of the query's passages, holds it or is held by it, is one of its own;
- a passage whose cosine is more than 95 % of that of the query's own passage is too near (the rule TopK-PercPos of
  Moreira et al. 2024, "NV-Retriever").
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from search.errors import InputError
from search.evaluating.asking import OpenIndex
from search.evaluating.whole import too_long
from search.records.evaluations import TrainingFile
from search.records.reports import Progress
from search.training.examples import Example, Examples, key_of

NEAREST = 0.95  # of the cosine of the query's own passage
_DEPTHS = (50, 1000)  # hits that are looked at; more only where the first are too near


@dataclass(frozen=True)
class Mined:
    """Examples with negatives.

    Attributes:
        own: passages that were passed over as the query's own; `near` those that were too near.
        without: examples that were left out because too few passages were left.
        too_long: examples that were left out because the model cannot read their query whole.
    """

    examples: Examples
    own: int
    near: int
    without: int
    too_long: int = 0


def with_negatives(
    examples: Examples,
    index: OpenIndex,
    per_pair: int = 1,
    *,
    progress: Callable[[Progress], None] | None = None,
) -> Mined:
    """Pairs or triplets with `per_pair` more negatives each, taken from an index.

    Raises:
        InputError: the examples are graded, or no example has enough passages that can serve.
    """
    if examples.shape == "graded":
        raise InputError("graded sentences have no negatives. Leave --negatives out.")
    encoder = index.encoder
    own = defaultdict(set)
    for row in examples.rows:
        own[key_of(row.texts[0])].add(key_of(row.texts[1]))
    long = {text for text in {row.texts[0] for row in examples.rows} if _is_too_long(index, text)}
    nearness = _nearness(examples, index)
    found, counts = [], np.zeros(4, dtype=int)  # own, near, without, too long
    for number, (row, nearest) in enumerate(zip(examples.rows, nearness, strict=True), 1):
        known = {key_of(text) for text in row.texts[2:]}
        if row.texts[0] in long:
            counts[3] += 1
            continue
        texts, passed = _negatives(row, index, per_pair, nearest, own[key_of(row.texts[0])], known)
        if len(texts) == per_pair:
            counts += (*passed, 0, 0)
            found.append(Example((*row.texts, *texts)))
        else:
            counts[2] += 1
        if progress:
            progress(Progress("looking for negatives", number, len(examples)))
    if len(long) and counts[3] == len(examples):
        raise InputError(
            f"the queries of all {len(examples):,} examples are longer than the model of the index reads, so none can "
            "be asked. Shorten them, or leave --negatives out."
        )
    if not found:
        raise InputError(
            f"the index holds no passage that could serve as a negative for any of the {len(examples):,} examples: "
            f"all are their own or too near. Is it an index of '{encoder.model}' with other texts?"
        )
    digest = hashlib.sha256("\0".join(text for row in found for text in row.texts).encode())
    file = TrainingFile(
        "negatives", str(index.path), index.path.name, digest.hexdigest(), len(found) * per_pair
    )
    done = replace(examples, shape="triplets", rows=tuple(found), files=(*examples.files, file))
    return Mined(done, *map(int, counts))


def _is_too_long(index: OpenIndex, query: str) -> bool:
    return too_long(index.encoder, [query], "query") > 0


def _nearness(examples: Examples, index: OpenIndex) -> list[float]:
    """The highest cosine that a negative of each example may have."""
    queries = list(dict.fromkeys(row.texts[0] for row in examples.rows))
    passages = list(dict.fromkeys(row.texts[1] for row in examples.rows))
    first = index.encoder.encode(queries, role="query", truncate=True)
    second = index.encoder.encode(passages, role="document", truncate=True)
    place = {text: i for i, text in enumerate(queries)}, {text: i for i, text in enumerate(passages)}
    return [
        NEAREST * float(first[place[0][row.texts[0]]] @ second[place[1][row.texts[1]]])
        for row in examples.rows
    ]


def _negatives(
    row: Example, index: OpenIndex, wanted: int, nearest: float, own: set[str], known: set[str]
) -> tuple[list[str], tuple[int, int]]:
    """Texts of passages, best first, and how many were passed over as the query's own, and as too near."""
    for depth in _DEPTHS:
        hits = index.query(row.texts[0], depth, mode="dense")
        texts: dict[str, str] = {}
        mine = near = 0
        for hit in hits:
            key = key_of(hit.text)
            if any(key in text or text in key for text in own):
                mine += 1
            elif hit.cosine is None or hit.cosine > nearest:
                near += 1
            elif key not in known:
                texts.setdefault(key, hit.text)
            if len(texts) == wanted:
                return list(texts.values()), (mine, near)
        if len(hits) < depth:
            break
    return list(texts.values()), (mine, near)
