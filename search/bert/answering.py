"""Extractive question answering: a question and passages -> the spans that answer it.

The passages come from the query layer with their scores; the reader, a checkpoint with a head for answer spans, reads
the question with each of them, long ones in windows, and all spans are ranked together:

    margin = start logit + end logit - null score of the same window
    score  = 1 / (1 + exp(-margin)), the probability of the span against "no answer"

The head gives each token a number for "the answer begins here" and one for "it ends here"; a span's logits are those of
its first and its last token (Devlin et al. 2019, section 4.2).

The null score is the sum of the two logits of [CLS], to which SQuAD 2.0 (Rajpurkar et al. 2018) lets a model point
where a passage holds no answer.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import tokenizers
from numpy.typing import NDArray

from search.bert.checkpoint import Head, load_head
from search.bert.tokenizing import check_text, without_space
from search.corpus.text import line_map
from search.errors import InputError, ModelError
from search.records.hits import Hit
from search.records.predictions import Answer, Answers
from search.records.reports import Progress

READERS = "deepset/roberta-base-squad2, or bert-large-uncased-whole-word-masking-finetuned-squad"
_OVERLAP = 64

# (hit, start, end in the document) -> first line, last line, page; and what has to be said of them.
LinesOf = Callable[[Any, int, int], tuple[int, int, int | None, str]]


@dataclass(frozen=True)
class SpanOptions:
    """How many spans are wanted, and which are answers; InputError for a number that cannot be worked with."""

    answers: int = 3
    no_answer_margin: float = 0.0
    max_answer: int = 30

    def __post_init__(self) -> None:
        if self.answers < 1:
            raise InputError(f"answers is {self.answers}, but at least 1 must be asked for.")
        if not math.isfinite(self.no_answer_margin):
            raise InputError("the margin to no answer must be a number, -1000 for one that all spans reach.")
        if self.max_answer < 1:
            raise InputError(f"max_answer is {self.max_answer}, but an answer has at least 1 token.")


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
    check_text(text)
    reader = load_head("answer", required(model), offline, device)
    lines = line_map(text)

    def place(_: None, start: int, end: int) -> tuple[int, int, None, str]:
        return (*lines.span(start, end), None, "")

    how = SpanOptions(answers, no_answer_margin, max_answer)
    return answer_from(question, [text], reader, how, place, progress)


def answer_from(
    question: str,
    passages: Sequence[Hit | str],
    reader: Head,
    how: SpanOptions,
    place: LinesOf,
    progress: Callable[[Progress], None] | None = None,
) -> Answers:
    """The spans of passages that answer a question, all ranked together; see `search.Index.ask`.

    Args:
        place: tells the lines and the page of a span of a hit's document, or of a text, whose hit is None.

    Raises:
        InputError: the question is empty or too long.
        ModelError: the model's output is of no use.
    """
    notes: dict[str, None] = {}

    def placed(one: Answer) -> Answer:
        first, last, page, note = place(one.hit, one.start, one.end)
        if note:
            notes[note] = None
        return replace(one, line_start=first, line_end=last, page=page)

    check_text(question, "the question")
    made = [(passage, _windows(reader, question, _text(passage), how)) for passage in passages]
    inputs = [one for _, windows in made for one in windows]
    logits = reader.run(inputs)
    found: list[Answer] = []
    unanswered = done = 0
    for passage, windows in made:
        mine: list[Answer] = []
        for number, window in enumerate(windows, 1):
            mine += _of_window(passage, window, (number, len(windows)), next(logits), how, reader.name)
            done += 1
            if progress:
                progress(Progress("reading", done, len(inputs), passages=len(passages)))
        unanswered += all(one.margin < how.no_answer_margin for one in mine)
        found += mine
    groups = merged([one for one in found if one.margin >= how.no_answer_margin])
    answers = tuple(
        replace(placed(best), rank=rank, also=len(others))
        for rank, (best, *others) in enumerate(groups[: how.answers], 1)
    )
    best = max(found, key=lambda one: one.margin, default=None)
    return Answers(
        question=question,
        model=reader.name,
        device=reader.device,
        answers=answers,
        nearest=placed(best) if best is not None and not answers else None,
        more=len(groups) - len(answers),
        passages=len(passages),
        windows=len(inputs),
        unanswered=unanswered,
        no_answer_margin=how.no_answer_margin,
        max_answer=how.max_answer,
        notes=tuple(notes),
    )


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


def _windows(reader: Head, question: str, text: str, how: SpanOptions) -> list[tokenizers.Encoding]:
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
    how: SpanOptions,
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
                window=which,
            )
        )
    return found


@dataclass(frozen=True)
class TokenSpan:
    """Tokens `first` to `last`, both included, and the sum of their two logits."""

    first: int
    last: int
    score: float


def best_spans(
    start: NDArray[np.float32],
    end: NDArray[np.float32],
    allowed: NDArray[np.bool_],
    *,
    longest: int,
    least: float,
) -> list[TokenSpan]:
    """The best span, and every other one that scores `least` and shares no token with a better one; best first.

    Exact: all spans are looked at. Of equal scores the shorter goes first, then the earlier.

    Args:
        start, end: (t,) logits.
        allowed: (t,) where a span may begin and end: tokens of the passage that hold a character.
        longest: most tokens of a span, at least 1.
        least: least score of a second and any further span.

    Returns:
        Nothing if nothing is allowed.

    Example:
        >>> best_spans(np.array([0, 3, 1]), np.array([0, 1, 2]), np.array([False, True, True]), longest=2, least=9)
        [TokenSpan(first=1, last=2, score=5.0)]
    """
    scores = _scores(start, end, allowed, longest)
    found: list[TokenSpan] = []
    while scores.size:
        extra, first = np.unravel_index(int(np.argmax(scores)), scores.shape)
        score = float(scores[extra, first])
        if score == -np.inf or (found and score < least):
            break
        one = TokenSpan(int(first), int(first + extra), score)
        found.append(one)
        for row in range(len(scores)):  # spans of row + 1 tokens that share one with it
            scores[row, max(0, one.first - row) : one.last + 1] = -np.inf
    return found


def _scores(
    start: NDArray[np.float32], end: NDArray[np.float32], allowed: NDArray[np.bool_], longest: int
) -> NDArray[np.float64]:
    """(rows, t): in row r and column i the score of the span of r + 1 tokens that begins at i; -inf for none."""
    tokens = len(start)
    rows = min(longest, tokens)
    found = np.full((rows, tokens), -np.inf)
    begins = np.where(allowed, start.astype(np.float64), -np.inf)
    ends = np.where(allowed, end.astype(np.float64), -np.inf)
    for row in range(rows):
        found[row, : tokens - row] = begins[: tokens - row] + ends[row:]
    return found


def tidy(text: str, start: int, end: int) -> tuple[int, int]:
    """The span [start, end) without white space at its ends, and with the marks of its first and last letter.

    A tokenizer may count the space before a word to its token, and drop the accent that follows a letter as a
    character of its own.

    Example:
        >>> tidy("a cafe\\u0301 here", 1, 6)
        (2, 7)
    """
    start, end = without_space(text, start, end)
    while 0 < start < end and _is_mark(text[start]) and not text[start - 1].isspace():
        start -= 1
    while end < len(text) and _is_mark(text[end]):
        end += 1
    return start, end


def _is_mark(character: str) -> bool:
    return unicodedata.category(character).startswith("M")


def merged(found: Sequence[Answer]) -> list[list[Answer]]:
    """Rank candidates by their scores, equal ones by margin; put each with a better one that it repeats.

    It repeats one if it is the same span (read in another window, or in a passage that overlaps; that counts once), if
    it shares characters with its span or with a place where its text stands once more, or if it is the same text
    elsewhere, whatever its case and white space.
    """
    order = sorted(found, key=lambda one: (-one.score, -one.margin, one.document, one.start, one.end))
    different: dict[tuple[str, str, int, int], Answer] = {}
    for one in order:
        different.setdefault((one.path, one.document, one.start, one.end), one)
    groups: dict[str, list[Answer]] = {}  # by text
    places: list[tuple[Answer, list[Answer]]] = []
    for one in different.values():
        same = " ".join(one.text.casefold().split())
        sharing = [group for place, group in places if _share(place, one)]
        if sharing:
            max(sharing, key=lambda group: (group[0].score, group[0].margin)).append(one)
        else:
            group = groups.setdefault(same, [])
            group.append(one)
            places.append((one, group))
    return list(groups.values())


def _share(one: Answer, other: Answer) -> bool:
    """Whether two answers have characters of a document in common."""
    same = (one.path, one.document) == (other.path, other.document)
    return same and one.start < other.end and one.end > other.start
