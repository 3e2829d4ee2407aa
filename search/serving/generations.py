"""What is found in one state of an index, while other processes write to it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from search.errors import SearchError
from search.index import Index
from search.several import Indexes

Found = TypeVar("Found")

_TRIES = 5  # of an index that is written to all the time


class GenerationGone(SearchError):
    """The index is not the one of the generation that is wanted any more."""


class IndexBusy(SearchError):
    """There was no generation that lasted as long as a question."""


def in_one_generation(
    index: Index | Indexes, wanted: int | None, work: Callable[[], Found]
) -> tuple[int, Found]:
    """What is found in one generation of an index, and its number; asked anew where the index changes meanwhile.

    Raises:
        GenerationGone: another generation is wanted.
        IndexBusy: there was none that lasted.
    """
    generation = index.generation
    for _ in range(_TRIES):
        if wanted not in (None, generation):
            raise GenerationGone(
                f"the index has changed: it is not the one of generation {wanted} any more, but of {generation}. "
                "Ask anew, without generation and next."
            )
        found, before = work(), generation
        generation = index.generation
        if generation == before:
            return generation, found
    raise IndexBusy("the index is being written to. Ask again in a moment.")
