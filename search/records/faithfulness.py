"""An explanation put to the test: what the cosine loses without the words that are said to count most."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass

from search.records.words import Word

CHANCES = 20  # one in so many random draws may lose as much


@dataclass(frozen=True)
class Removal:
    """What a cosine loses when words are cut out of the passage and the rest is encoded again.

    Attributes:
        words: those that were cut out, the one that added most first.
        drop: the whole passage's cosine less the cosine of what is left; negative where it rises.
        random: the same for as many words drawn at random, one number a draw. Draw i of more words cuts out those
            of draw i of fewer words and others.
    """

    words: tuple[Word, ...]
    drop: float
    random: tuple[float, ...]

    @property
    def random_mean(self) -> float:
        """The mean drop of the random draws."""
        return statistics.fmean(self.random)

    @property
    def random_spread(self) -> float:
        """Their standard deviation."""
        return statistics.pstdev(self.random)

    @property
    def as_much(self) -> int:
        """How many random draws lost as much or more."""
        return sum(drop >= self.drop for drop in self.random)


@dataclass(frozen=True)
class Faithfulness:
    """Whether the words that an explanation says count most are those that the cosine needs.

    Attributes:
        query, passage, context: as of the explanation.
        cosine: of query and whole passage, encoded now.
        is_score: the cosine is all that the hit was ranked by.
        words: how many words the passage has; only these are cut out, not those of title and headings.
        removals: one for each number of words, in rising order; empty when the passage has no word.
        seed: of the draws.
    """

    query: str
    passage: str
    context: str
    cosine: float
    is_score: bool
    words: int
    removals: tuple[Removal, ...]
    seed: int

    @property
    def holds(self) -> bool | None:
        """The cosine falls, and by more than with 19 of 20 random draws: means over all numbers of words.

        None where the passage has too few words to tell: fewer than 20 different ones could be drawn.
        """
        telling = [r for r in self.removals if math.comb(self.words, len(r.words)) >= CHANCES]
        if not telling:
            return None
        drop = statistics.fmean(r.drop for r in telling)
        by_draw = [statistics.fmean(drops) for drops in zip(*(r.random for r in telling), strict=True)]
        return drop > 0 and sum(random >= drop for random in by_draw) * CHANCES <= len(by_draw)
