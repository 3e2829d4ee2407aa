"""Answers that a reader found: spans of passages, where they stand, and what they were ranked by."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from search.records.hits import Hit

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class ReadWindow:
    """What the model read at once: [CLS] question [SEP] some of a passage [SEP].

    Attributes:
        number, of: which of the windows of its passage, from 1.
        start, end: the span of the document's text that it holds.
        tokens: (t,) the vocabulary entries of the whole input.
        passage: positions (first, last + 1) of the passage's tokens among them.
        start_logits, end_logits: (t,) float32; position 0 is [CLS], which stands for no answer.
        first, last: positions of the answer's tokens, both included.
    """

    number: int
    of: int
    start: int
    end: int
    tokens: tuple[str, ...]
    passage: tuple[int, int]
    start_logits: NDArray[np.float32]
    end_logits: NDArray[np.float32]
    first: int
    last: int


@dataclass(frozen=True)
class AnswerPlace:
    """Where else an answer was found: the same text, or a span that shares characters with it.

    Attributes:
        start, end: `document.text[start:end] == text`.
        margin: see `Answer`.
    """

    text: str
    path: str
    document: str
    start: int
    end: int
    line_start: int
    line_end: int
    page: int | None
    passage_id: int | None
    margin: float


@dataclass(frozen=True, eq=False)
class Answer:
    """One span of a document that answers a question.

    Attributes:
        rank: 1 for the best; 0 for a span that scores too little to be an answer.
        text: as it is written; `document.text[start:end] == text`.
        path: absolute path of the source file; "" where a text was given.
        document: its name within the indexed folder.
        line_start, line_end: 1-based lines of the answer itself, both included; those of its passage where
            `Answers.notes` says so.
        page: on which the answer begins; None for a format without pages.
        passage: the text that was read, of which `passage_start` is the offset in the document.
        hit: the passage as the index returned it; None where a text was given.
        start_logit, end_logit: of the first and the last token.
        null_score: start and end logit of [CLS] in the same window: the score of "no answer".
        weight: what the probability counts in the score; the retrieval score counts the rest.
        readings: in how many windows this very span was chosen.
        also: where else it was found.
    """

    rank: int
    text: str
    start: int
    end: int
    path: str
    document: str
    line_start: int
    line_end: int
    page: int | None
    passage: str
    passage_start: int
    hit: Hit | None
    start_logit: float
    end_logit: float
    null_score: float
    window: ReadWindow
    weight: float = 1.0
    readings: int = 1
    also: tuple[AnswerPlace, ...] = ()

    @property
    def passage_id(self) -> int | None:
        """Of the passage that it was read in."""
        return self.hit.passage_id if self.hit else None

    @property
    def span_score(self) -> float:
        """`start_logit + end_logit` (Devlin et al. 2019, section 4.2)."""
        return self.start_logit + self.end_logit

    @property
    def margin(self) -> float:
        """`span_score - null_score`: the logarithm of how much likelier the span is than no answer.

        A softmax over the window divides both by the same sum, which cancels; so margins of different windows and
        passages can be compared, and the bare scores cannot.
        """
        return self.span_score - self.null_score

    @property
    def probability(self) -> float:
        """Of this span against no answer, in [0, 1]: `1 / (1 + exp(-margin))`; one half at a margin of 0."""
        if self.margin >= 0:
            return 1 / (1 + math.exp(-self.margin))
        return math.exp(max(self.margin, -700.0)) / (1 + math.exp(max(self.margin, -700.0)))

    @property
    def reader_part(self) -> float:
        """The addend of the score that comes from the reader: `weight * probability`."""
        return self.weight * self.probability

    @property
    def retrieval_part(self) -> float:
        """The addend that comes from the index: `(1 - weight) * hit.score`."""
        return (1 - self.weight) * self.hit.score if self.hit else 0.0

    @property
    def score(self) -> float:
        """What answers are ranked by, equal scores by their margin: `reader_part + retrieval_part`."""
        return self.reader_part + self.retrieval_part


@dataclass(frozen=True, eq=False)
class Answers:
    """What a reader says to a question.

    Attributes:
        model: the reader; `device` where it computed.
        answers: best first; empty for no answer.
        nearest: without an answer, the best of the spans that scored too little; None where no passage was read.
        more: how many further answers there are, which were not asked for.
        passages, windows: that were read.
        unanswered: in how many of the passages no span reaches the margin.
        no_answer_margin: by how much a span's score has to reach that of no answer.
        max_answer: most tokens of an answer.
        notes: sentences about what has to be known to read the answers.
    """

    question: str
    model: str
    device: str
    answers: tuple[Answer, ...]
    nearest: Answer | None
    more: int
    passages: int
    windows: int
    unanswered: int
    no_answer_margin: float
    max_answer: int
    weight: float
    notes: tuple[str, ...] = ()
