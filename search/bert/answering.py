"""Extractive question answering: a question and passages -> the spans that answer it.

The passages come from the query layer with their scores; the reader, a checkpoint with a head for answer spans, reads
the question with each of them, long ones in windows, and all spans are ranked together:

    margin      = start logit + end logit - null score of the same window
    probability = 1 / (1 + exp(-margin))                             of the span against "no answer"
    score       = weight * probability + (1 - weight) * retrieval score

The null score is the sum of the two logits of [CLS], to which SQuAD 2.0 (Rajpurkar et al. 2018) lets a model point
where a passage holds no answer. The mixture is that of BERTserini (Yang et al. 2019), over a probability instead of a
logit, as that has a scale.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from search.bert.answer_spans import best_spans, merged, tidy
from search.bert.heads import Head, load_head
from search.bert.tokenizing import check_text
from search.corpus.text import line_map
from search.errors import InputError, ModelError
from search.records.hits import Hit
from search.records.predictions import Answer, Answers, ReadWindow
from search.records.reports import Progress

if TYPE_CHECKING:
    import tokenizers
    from numpy.typing import NDArray

READERS = "deepset/roberta-base-squad2, or bert-large-uncased-whole-word-masking-finetuned-squad"
_OVERLAP = 64

# (hit, start, end in the document) -> first line, last line, page; and what has to be said of them.
Placing = Callable[[Hit, int, int], tuple[int, int, int | None, str]]


@dataclass(frozen=True)
class Reading:
    """How passages are read and spans are ranked; InputError for a number that cannot be worked with."""

    answers: int = 3
    weight: float = 1.0
    no_answer_margin: float = 0.0
    max_answer: int = 30

    def __post_init__(self) -> None:
        if self.answers < 1:
            raise InputError(f"answers is {self.answers}, but at least 1 must be asked for.")
        if not 0 <= self.weight <= 1:
            raise InputError(f"the weight of the reader is {self.weight}; use a number from 0 to 1.")
        if not math.isfinite(self.no_answer_margin):
            raise InputError("the margin to no answer must be a number, -1000 for one that all spans reach.")
        if self.max_answer < 1:
            raise InputError(f"max_answer is {self.max_answer}, but an answer has at least 1 token.")

    def check_scale(self, rerank: str | None) -> None:
        """
        Raises:
            InputError: retrieval scores are to be mixed in that have another scale than a probability.
        """
        if self.weight < 1 and rerank not in (None, "", "late"):
            raise InputError(
                f"a score of '{rerank}' has another scale than a probability, so the two cannot be mixed. "
                "Leave the reader's weight at 1, or rank in another way."
            )


def answer(
    question: str,
    text: str,
    *,
    model: str,
    answers: int = 3,
    no_answer_margin: float = 0.0,
    max_answer: int = 30,
    offline: bool = False,
    device: str | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Answers:
    """The spans of a text that answer a question, best first.

    Args:
        text: of any length; what is longer than the model reads is read in windows.
        model: a checkpoint with a head for answer spans, such as deepset/roberta-base-squad2.
        answers: most answers that come back, at least 1; none shares a character with another.
        no_answer_margin: by how much a span's score has to reach that of no answer.
        max_answer: most tokens of an answer.
        offline, device: as for `load_head`.
        progress: called after every window.

    Raises:
        InputError: the question or the text is empty, the question leaves no room for the text, or a number cannot be
            worked with.
        ModelError: the model cannot be found or loaded, or has no head for answer spans.
    """
    how = Reading(answers, 1.0, no_answer_margin, max_answer)
    check_text(text)
    reader = load_head("answer", required(model), offline, device)
    lines = line_map(text)

    def placed(one: Answer) -> Answer:
        first, last = lines.span(one.start, one.end)
        return replace(one, line_start=first, line_end=last)

    return ranked(question, reader, read(reader, question, [text], how, progress), how, placed)


def answer_from(
    question: str,
    hits: Sequence[Hit],
    reader: Head,
    how: Reading,
    place: Placing,
    progress: Callable[[Progress], None] | None = None,
) -> Answers:
    """The spans of passages that answer a question, all ranked together; see `search.Index.ask`.

    Args:
        place: tells the lines and the page of a span of a hit's document.
    """
    notes: dict[str, None] = {}

    def placed(one: Answer) -> Answer:
        hit = one.hit
        assert hit is not None
        first, last, page, note = place(hit, one.start, one.end)
        if note:
            notes[note] = None
        return replace(one, line_start=first, line_end=last, page=page)

    return ranked(question, reader, read(reader, question, hits, how, progress), how, placed, notes)


@dataclass(frozen=True)
class Read:
    """The candidates of each passage, and how many windows were read."""

    candidates: tuple[tuple[Answer, ...], ...]
    windows: int


def ranked(
    question: str,
    reader: Head,
    found: Read,
    how: Reading,
    placed: Callable[[Answer], Answer],
    notes: Iterable[str] = (),
) -> Answers:
    """Candidates of all passages -> the answers that were asked for, with what was merged into each.

    Args:
        placed: fills in lines and page; called for what is shown.
        notes: looked at when all is placed.
    """
    enough = [[one for one in passage if one.margin >= how.no_answer_margin] for passage in found.candidates]
    answers = merged([one for passage in enough for one in passage], how.answers, placed)
    every = [one for passage in found.candidates for one in passage]
    best = max(every, key=lambda one: one.margin, default=None)
    return Answers(
        question=question,
        model=reader.name,
        device=reader.device,
        answers=answers.shown,
        nearest=placed(best) if best is not None and not answers.shown else None,
        more=answers.more,
        passages=len(found.candidates),
        windows=found.windows,
        unanswered=sum(not passage for passage in enough),
        no_answer_margin=how.no_answer_margin,
        max_answer=how.max_answer,
        weight=how.weight,
        notes=tuple(notes),
    )


def read(
    reader: Head,
    question: str,
    passages: Sequence[Hit | str],
    how: Reading,
    progress: Callable[[Progress], None] | None = None,
) -> Read:
    """The candidates of every window of every passage: its best span, and all others that reach the margin.

    Spans of one window share no token. Lines are not filled in yet.

    Raises:
        InputError: the question is empty or too long.
        ModelError: the model's output is of no use.
    """
    check_text(question, "the question")
    made = [(passage, _windows(reader, question, _text(passage), how)) for passage in passages]
    inputs = [one for _, windows in made for one in windows]
    logits = reader.run(inputs)
    candidates: list[tuple[Answer, ...]] = []
    done = 0
    for passage, windows in made:
        mine: list[Answer] = []
        for number, window in enumerate(windows, 1):
            mine += _of_window(passage, window, (number, len(windows)), next(logits), how, reader.name)
            done += 1
            if progress:
                progress(Progress("reading", done, len(inputs), passages=len(passages)))
        candidates.append(tuple(mine))
    return Read(tuple(candidates), len(inputs))


def required(model: str | None) -> str:
    """
    Raises:
        InputError: no model was named.
    """
    if not model:
        raise InputError(f"no reader is named. Give the model of one that was trained for it: {READERS}.")
    return model


def _text(passage: Hit | str) -> str:
    return passage if isinstance(passage, str) else passage.text


def _windows(reader: Head, question: str, text: str, how: Reading) -> list[tokenizers.Encoding]:
    """The inputs for a passage; every span of so many tokens lies within one of them.

    Raises:
        InputError: the question leaves too little room.
    """
    windows = reader.windows(text, first=question, overlap=max(_OVERLAP, how.max_answer))
    if len(windows) > 1:
        room = sum(source == 1 for source in windows[0].sequence_ids)
        shared = min(max(_OVERLAP, how.max_answer), room // 2)
        if shared < how.max_answer - 1:
            raise InputError(
                f"the question leaves room for {room} tokens of a passage, too few to find every answer of "
                f"{how.max_answer} tokens: '{reader.name}' reads {reader.max_tokens:,} in all. "
                f"Shorten it, or allow answers of {shared + 1} tokens at most."
            )
    return windows


def _of_window(
    passage: Hit | str,
    window: tokenizers.Encoding,
    which: tuple[int, int],
    logits: dict[str, NDArray[np.float32]],
    how: Reading,
    model: str,
) -> list[Answer]:
    start, end = logits["start_logits"], logits["end_logits"]
    if not (np.isfinite(start).all() and np.isfinite(end).all()):
        raise ModelError(f"'{model}' gives logits that are no numbers. Is its file damaged?")
    if not window.special_tokens_mask[0]:
        raise ModelError(f"'{model}' reads no [CLS] first, which stands for no answer. Name another reader.")
    text, offsets = _text(passage), window.offsets  # each access of the library's own makes a list
    inside = [i for i, source in enumerate(window.sequence_ids) if source == 1]
    if not inside:
        return []
    allowed = np.zeros(len(start), dtype=np.bool_)
    allowed[inside] = [bool(text[slice(*offsets[i])].strip()) for i in inside]
    null = float(start[0]) + float(end[0])
    base = 0 if isinstance(passage, str) else passage.start
    seen = ReadWindow(
        number=which[0],
        of=which[1],
        start=base + offsets[inside[0]][0],
        end=base + offsets[inside[-1]][1],
        tokens=tuple(window.tokens),
        passage=(inside[0], inside[-1] + 1),
        start_logits=start,
        end_logits=end,
        first=0,
        last=0,
    )
    found = []
    least = null + how.no_answer_margin - 1e-6  # a little less: rounding must not hide one that reaches it
    spans = best_spans(start, end, allowed, longest=how.max_answer, least=least)
    for span in spans:
        first, last = tidy(text, offsets[span.first][0], offsets[span.last][1])
        found.append(
            Answer(
                rank=0,
                text=text[first:last],
                start=base + first,
                end=base + last,
                path="" if isinstance(passage, str) else passage.path,
                document="" if isinstance(passage, str) else passage.document,
                line_start=1,
                line_end=1,
                page=None,
                passage=text,
                passage_start=base,
                hit=None if isinstance(passage, str) else passage,
                start_logit=float(start[span.first]),
                end_logit=float(end[span.last]),
                null_score=null,
                window=replace(seen, first=span.first, last=span.last),
                weight=how.weight,
            )
        )
    return found
