"""Batches in which no text stands twice, every example once an epoch.

The sampler of sentence-transformers puts off an example whose text is already in the batch, so where passages repeat
there are more and smaller batches than rows / batch size. The trainer stops an epoch at the length that the sampler
names; here that is how many there really are.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from search.training.model import part_of


def unique_batches(dataset: Any, batch_size: int, epochs: int, seed: int) -> Any:
    """A sampler for the trainer, of row numbers; `plan` holds the batches of each epoch, equally many."""
    import torch

    theirs: Any = part_of("base.sampler", "sampler").NoDuplicatesBatchSampler

    class Batches(theirs):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__(
                dataset, batch_size=batch_size, drop_last=False, generator=torch.Generator(), seed=seed
            )
            self.plan: list[list[list[int]]] = []
            found = []
            for epoch in range(epochs):
                self.set_epoch(epoch)
                found.append([list(batch) for batch in super().__iter__()])
            self.set_epoch(0)
            most = max(map(len, found))
            self.plan = [parted(batches, most) for batches in found]

        def __iter__(self) -> Iterator[list[int]]:
            yield from self.plan[self.epoch]

        def __len__(self) -> int:
            return len(self.plan[0]) if self.plan else int(super().__len__())

    return Batches()


def parted(batches: list[list[int]], wanted: int) -> list[list[int]]:
    """So many batches, by halving the largest one as often as needed."""
    found = list(batches)
    while len(found) < wanted:
        place = max(range(len(found)), key=lambda i: len(found[i]))
        half = (len(found[place]) + 1) // 2
        found[place : place + 1] = [found[place][:half], found[place][half:]]
    return found


def remarks(batches: Any, batch_size: int, columns: int) -> tuple[str, ...]:
    """What has to be known of the batches, as sentences.

    Args:
        batches: what `unique_batches` made.
        columns: how many texts a row has; with 2 it has no negative of its own.
    """
    first = batches.plan[0]
    rows = sum(map(len, first))
    if len(first) <= -(-rows // batch_size):
        return ()
    note = (
        f"texts repeat, and none may stand twice in a batch: an epoch has {len(first):,} batches of "
        f"{rows / len(first):.1f} examples on average"
    )
    alone = sum(len(batch) == 1 for batch in first)
    if alone and columns == 2:
        note += f"; {alone:,} examples of the first epoch were alone in theirs, from which nothing is learned"
    return (note,)
