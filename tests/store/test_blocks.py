"""Blocks of words: what is in them is found, however they were made, and no bit that flips goes unnoticed."""

import random
from collections import Counter

import numpy as np
import pytest

from search.store.composing import merged, written
from search.store.postings import Block
from search.store.terms import Stemmer, indexable

STEMMER = Stemmer()


def passages(n: int, seed: int = 0, first: int = 1) -> list[tuple[int, str]]:
    """Of few words and many, with ids that leave some out; some have no word."""
    rng = random.Random(seed)
    words = ["the", "keys", "Küste", "漢字", "getUserName", "x1", *(f"w{i:x}" for i in range(2000))]
    found, id_ = [], first
    for _ in range(n):
        chosen = rng.choices(
            words, weights=[1 / (i + 1) for i in range(len(words))], k=rng.choice((0, 3, 40))
        )
        found.append((id_, indexable("", " ".join(chosen))))
        id_ += rng.choice((1, 1, 1, 7))
    return found


def block(texts: list[tuple[int, str]]) -> Block:
    return Block(written(STEMMER, texts))


def content(found: Block) -> dict[str, tuple[list[int], list[int]] | None]:
    """What lookups say of all stems that it may have."""
    stems = {stem for text in ("the keys kuste user name", "漢 字") for stem in STEMMER.stems([text])[0]}
    stems |= {"getusernam", "x1", "nowher", "", "\x00", "zzzz", *(f"w{i:x}" for i in range(2000))}
    answers = {stem: found.find(stem) for stem in stems}
    return {stem: at and (at[0].tolist(), at[1].tolist()) for stem, at in answers.items()}


@pytest.mark.parametrize("n", [0, 1, 70, 600])
def test_a_block_has_what_fts5_makes_of_the_texts(n: int) -> None:
    texts = passages(n)
    made = block(texts)
    tokens = [Counter(stems) for stems in STEMMER.stems([text for _, text in texts])]
    assert made.ids.tolist() == [id_ for id_, _ in texts]
    assert made.lengths.tolist() == [count.total() for count in tokens]
    for stem, answer in content(made).items():
        rows = [row for row, count in enumerate(tokens) if stem in count]
        assert answer == ((rows, [tokens[row][stem] for row in rows]) if rows else None)
    everything = made.postings()
    assert everything.stems == sorted({stem.encode() for count in tokens for stem in count})
    assert everything.frequencies.sum() == sum(count.total() for count in tokens)


def test_merging_in_any_grouping_gives_the_bytes_of_writing_at_once() -> None:
    rng = np.random.default_rng(3)
    texts = passages(600)
    parts = [texts[start:end] for start, end in ((0, 1), (1, 250), (250, 250), (250, 420), (420, 600))]
    alive = [rng.random(len(part)) < share for part, share in zip(parts, (1, 0.5, 1, 0, 0.9), strict=True)]
    living = [
        row
        for part, its in zip(parts, alive, strict=True)
        for row, there in zip(part, its, strict=True)
        if there
    ]
    at_once = written(STEMMER, living)
    blocks = [block(part) for part in parts]
    assert merged(blocks, alive) == at_once
    halves = [merged(blocks[:2], alive[:2]), merged(blocks[2:], alive[2:])]
    again = [Block(half) for half in halves]
    assert merged(again, [np.ones(len(half), dtype=bool) for half in again]) == at_once
    none = [np.zeros(len(each.ids), dtype=bool) for each in blocks]
    assert merged(blocks, none) == written(STEMMER, [])


def test_what_is_rare_fits() -> None:
    texts = [(2**60, "a " * 70_000), (2**60 + 2**33, "x" * 40_000 + " a"), (2**62, "é" * 20_000 + " z")]
    made = block(texts)
    assert made.ids.tolist() == [id_ for id_, _ in texts]
    assert made.lengths.tolist() == [70_000, 2, 2]
    rows, frequencies = made.find("a") or pytest.fail("there")
    assert (rows.tolist(), frequencies.tolist()) == ([0, 1], [70_000, 1])
    assert merged([made], [np.ones(3, dtype=bool)]) == written(STEMMER, texts)
    every = [(id_, "a") for id_ in range(1, 65_537)]
    full = block(every)
    rows, _ = full.find("a") or pytest.fail("there")
    assert len(rows) == len(full) == 65_536
    both = [full, block([(70_000, "a")])]
    alive = [np.ones(65_536, dtype=bool), np.zeros(1, dtype=bool)]
    assert merged(both, alive) == written(STEMMER, every)
    with pytest.raises(ValueError, match="65,536 passages"):
        merged(both, [alive[0], ~alive[1]])
    for wrong in ([*every, (70_000, "a")], [(2, "a"), (1, "b")], [(1, "a"), (1, "a")]):
        with pytest.raises(ValueError, match="65,536 passages, with increasing ids"):
            block(wrong)
