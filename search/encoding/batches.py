"""Many texts -> batches that waste little on padding.

Texts are sorted by length, longest first, and put together until a batch would hold more than
`budget` tokens, padding counted. Longest first, so that a machine with too little memory
fails at once and not at the end.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence


def batches(lengths: Sequence[int], budget: int) -> Iterator[list[int]]:
    """Yield lists of positions into `lengths`; each position comes once.

    Args:
        lengths: tokens of each text, all > 0.
        budget: most tokens in one batch, padding included; a longer text gets a batch of its own.
    """
    batch: list[int] = []
    longest = 0
    for position in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        if batch and longest * (len(batch) + 1) > budget:
            yield batch
            batch = []
        if not batch:
            longest = lengths[position]
        batch.append(position)
    if batch:
        yield batch
