"""Blocks of words (postings.py), made of passages or of other blocks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from search.store.postings import GROUP, MOST, Block, Postings, laid_out

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from search.store.postings import Unsigned
    from search.store.terms import Stemmer


def written(stemmer: Stemmer, passages: Sequence[tuple[int, str]]) -> bytes:
    """The block of some thousand passages, given by increasing ids and what is `indexable` of them."""
    ids = np.array([id_ for id_, _ in passages], dtype=np.int64)
    tokens = stemmer.inverted(text for _, text in passages)
    everywhere = ",".join(numbers for _, numbers in tokens)
    rows = np.fromstring(everywhere, dtype=np.int64, sep=",") if tokens else np.empty(0, dtype=np.int64)
    times = np.array([numbers.count(",") + 1 for _, numbers in tokens], dtype=np.int64)
    lengths = np.bincount(rows, minlength=len(ids))
    found, frequencies = np.unique(_numbers(times) * len(ids) + rows, return_counts=True)
    terms, rows = np.divmod(found, max(1, len(ids)))
    counts = np.bincount(terms, minlength=len(tokens))
    return _composed(ids, lengths, Postings([stem for stem, _ in tokens], counts, rows, frequencies))


def merged(blocks: Sequence[Block], alive: Sequence[NDArray[np.bool_]]) -> bytes:
    """The block of the living passages of blocks whose ids follow each other: what `written` makes of them.

    Args:
        alive: (n,) of each block, of its passages.
    """
    each = [_living(block.postings(), there) for block, there in zip(blocks, alive, strict=True)]
    ids = [block.ids[there] for block, there in zip(blocks, alive, strict=True)]
    lengths = [block.lengths[there] for block, there in zip(blocks, alive, strict=True)]
    return _composed(np.concatenate(ids), np.concatenate(lengths), _joined(each, [len(part) for part in ids]))


def _living(postings: Postings, alive: NDArray[np.bool_]) -> Postings:
    """Those of the living passages, by their positions among these."""
    kept = alive[postings.rows]
    counts = np.bincount(_numbers(postings.counts)[kept], minlength=len(postings.stems))
    stems = [stem for stem, count in zip(postings.stems, counts.tolist(), strict=True) if count]
    rows = (np.cumsum(alive) - 1).astype(np.uint16)[postings.rows[kept]]
    return Postings(stems, counts[counts > 0], rows, postings.frequencies[kept])


def _joined(each: Sequence[Postings], passages: Sequence[int]) -> Postings:
    """One after the other.

    Args:
        passages: how many each is of.
    """
    stems = sorted(set().union(*(part.stems for part in each)))
    number = {stem: number for number, stem in enumerate(stems)}
    numbers = [np.array([number[stem] for stem in part.stems], dtype=np.int64) for part in each]
    counts = np.zeros(len(stems), dtype=np.int64)
    for part, its in zip(each, numbers, strict=True):
        counts[its] += part.counts
    rows = np.empty(counts.sum(), dtype=np.uint16)
    frequencies = np.empty(len(rows), dtype=np.result_type(np.uint8, *(part.frequencies for part in each)))
    free = _starts(counts)  # where the next of each stem goes
    before = 0
    for part, its, size in zip(each, numbers, passages, strict=True):
        places = np.repeat(free[its] - _starts(part.counts), part.counts) + np.arange(len(part.rows))
        rows[places] = part.rows.astype(np.int64) + before
        frequencies[places] = part.frequencies
        free[its] += part.counts
        before += size
    return Postings(stems, counts, rows, frequencies)


def _composed(ids: NDArray[np.int64], lengths: NDArray[Any], postings: Postings) -> bytes:
    """The block of passages with these ids and lengths."""
    if len(ids) > MOST or (ids[1:] <= ids[:-1]).any():
        raise ValueError(f"a block has at most {MOST:,} passages, with increasing ids")
    first_id = int(ids[0]) if len(ids) else 0
    stems = _lines(postings.stems)
    counts, rows, frequencies = map(_smallest, postings[1:])
    stem_starts = _of_groups(np.array([len(stem) + 1 for stem in postings.stems], dtype=np.int64))
    arrays = {
        "ids": _smallest(ids - first_id),
        "lengths": _smallest(lengths),
        "stem_starts": _smallest(stem_starts),
        "posting_starts": _smallest(_of_groups(postings.counts)),
        "firsts": _lines(postings.stems[::GROUP]),
        "stems": stems,
        "counts": counts,
        "rows": rows,
        "frequencies": frequencies,
    }
    return laid_out(first_id, arrays)


def _numbers(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """The number of each stem, as often as it counts."""
    return np.repeat(np.arange(len(counts)), counts)


def _starts(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.cumsum(counts) - counts


def _of_groups(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where each group of stems begins, given the size of each stem, and where the last ends."""
    return np.append(_starts(sizes)[::GROUP], sizes.sum())


def _lines(stems: Sequence[bytes]) -> Unsigned:
    return np.frombuffer(b"".join(stem + b"\n" for stem in stems), dtype=np.uint8)


def _smallest(values: NDArray[Any]) -> Unsigned:
    """Values in the smallest type that holds them."""
    most = int(values.max()) if len(values) else 0
    return values.astype(np.min_scalar_type(most).newbyteorder("<"))
