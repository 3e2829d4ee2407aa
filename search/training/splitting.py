"""A part of the examples is held out to measure with. Nothing of it is learned from.

Rows with the same query stay together; graded rows that share a sentence, and those that share one with them, too.
Case and spaces make no difference.
"""

from __future__ import annotations

import random
from collections import defaultdict

from search.errors import InputError
from search.training.examples import FEWEST, Example, Examples, key_of, require_enough


def held_out(examples: Examples, share: float, seed: int) -> tuple[Examples, Examples]:
    """(to train on, to measure with).

    Args:
        share: of the rows that are held out, in (0, 1); groups that are held out whole make it a little more or less.

    Raises:
        InputError: too few rows, or they hang together so that no part can be held out.
    """
    groups = _groups(examples)
    order = sorted(groups)  # by the first row of each, so that the seed alone decides
    random.Random(seed).shuffle(order)
    wanted = max(FEWEST, round(share * len(examples)))
    most = max(wanted * 1.5, FEWEST)
    taken: set[int] = set()
    for group in order:
        if len(taken) >= wanted:
            break
        if len(taken) + len(groups[group]) <= most:
            taken.update(groups[group])
    if len(taken) < FEWEST or len(examples) - len(taken) < FEWEST:
        raise InputError(
            f"no {share:.0%} of the {len(examples):,} examples can be held out to measure with: they are too few, or "
            "share their texts. Give other examples to measure with: --dev FILE"
        )
    dev = examples.of(row for i, row in enumerate(examples.rows) if i in taken)
    require_enough(dev, "the part that is held out")
    return examples.of(row for i, row in enumerate(examples.rows) if i not in taken), dev


def apart_from(train: Examples, dev: Examples) -> tuple[Examples, int]:
    """The examples without those that are in `dev` too, and how many those were.

    Of a ranking, those with a query of `dev`; of graded sentences, those with both sentences of a row of `dev`.
    """
    known = {_identity(train, row) for row in dev.rows}
    kept = [row for row in train.rows if _identity(train, row) not in known]
    return train.of(kept), len(train) - len(kept)


def _identity(examples: Examples, row: Example) -> frozenset[str]:
    texts = row.texts[:2] if examples.shape == "graded" else row.texts[:1]
    return frozenset(map(key_of, texts))


def _groups(examples: Examples) -> dict[int, list[int]]:
    """Rows that must stay together, by the first of them."""
    parent = list(range(len(examples)))

    def root(i: int) -> int:
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        return i

    seen: dict[str, int] = {}
    for i, row in enumerate(examples.rows):
        for key in sorted(_identity(examples, row)):
            first, second = sorted((root(seen.setdefault(key, i)), root(i)))
            parent[second] = first
    groups: dict[int, list[int]] = defaultdict(list)
    for i in range(len(examples)):
        groups[root(i)].append(i)
    return groups
