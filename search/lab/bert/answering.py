"""Extractive question answering: find the spans of passages that answer a question.

The passages are the hits of a query. The reader is a checkpoint with a head for answer spans. It reads the question
together with each passage; a long passage is split into overlapping windows. The spans of all passages are ranked
together:

    margin = start logit + end logit - null score of the same window
    score  = 1 / (1 + exp(-margin)), the probability of the span against "no answer"

The head gives each token a start logit and an end logit; a span uses the start logit of its first token and the end
logit of its last (Devlin et al. 2019, section 4.2). The null score is the sum of the two logits of [CLS]; since SQuAD
2.0, a span that begins and ends at [CLS] means "no answer" (Rajpurkar et al. 2018).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import tokenizers
from numpy.typing import NDArray

from search.corpus.text import line_map
from search.errors import InputError, ModelError
from search.lab.bert.checkpoint import Head, load_head
from search.lab.bert.tokenizing import check_text, without_space
from search.lab.records.predictions import Answer, Answers, ReaderWindow
from search.records.hits import Hit
from search.records.reports import Progress
from search.store.document_text import span_lines

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from search.index import Index
    from search.records.options import QueryOptions

READERS = "deepset/roberta-base-squad2, or bert-large-uncased-whole-word-masking-finetuned-squad"
_OVERLAP = 64
_LONGEST = 30  # tokens of an answer

# (hit, start, end in the document) -> first line, last line, page.
LinesOf = Callable[[Any, int, int], tuple[int, int, int | None]]


def answer(
    question: str,
    text: str,
    *,
    model: str,
    answers: int = 3,
    offline: bool = False,
    progress: Callable[[Progress], None] | None = None,
) -> Answers:
    """Return the spans of a text that answer a question, best first, with the logits of every token.

    Args:
        text: of any length; long texts are read in windows.
        model: a checkpoint with a head for answer spans, such as deepset/roberta-base-squad2.
        answers: maximum number of answers, at least 1; they do not overlap.
        offline: never download from the hub.
        progress: called after every passage.

    Raises:
        InputError: the question or the text is empty, the question leaves no room for the text, or `answers` is
            below 1.
        ModelError: the model cannot be found or loaded, or has no head for answer spans.
    """
    check_text(text)
    reader = load_head("answer", required(model), offline)
    lines = line_map(text)

    def place(_: None, start: int, end: int) -> tuple[int, int, None]:
        return (*lines.span(start, end), None)

    return answer_from(question, [text], reader, answers, place, progress)


def ask(
    index: Index,
    question: str,
    *,
    model: str,
    k: int = 10,
    answers: int = 3,
    offline: bool = False,
    progress: Callable[[Progress], None] | None = None,
    **options: Unpack[QueryOptions],
) -> Answers:
    """Answer a question with spans of the k best passages of an index, best first.

    Args:
        question: the question; it must leave room for a passage in the reader's input.
        model: the reader, a checkpoint with a head for answer spans, for instance deepset/roberta-base-squad2.
        k: number of passages to read, at least 1.
        answers: maximum number of answers, at least 1.
        offline: never download the reader from the hub.
        progress: callback, called after each passage.
        options: mode, weight, without, where, rerank, per_document, ...: as for `Index.query`; the index's own encoder
            retrieves the passages.

    Raises:
        InputError: as for `Index.query`; a question that is too long for the reader, or an invalid number.
        ModelError: the reader cannot be found or loaded, or has no head for answer spans.
    """
    reader = load_head("answer", required(model), offline)
    return answer_from(
        question, index.query(question, k, **options), reader, answers, span_lines, progress
    )


def answer_from(
    question: str,
    passages: Sequence[Hit | str],
    reader: Head,
    answers: int,
    place: LinesOf,
    progress: Callable[[Progress], None] | None = None,
) -> Answers:
    """Return the spans that answer a question, ranked over all passages, best first; see `search.Index.ask`.

    Args:
        passages: hits, or plain texts.
        answers: maximum number of answers.
        place: function that returns the lines and the page of a span in its document; for a plain text, the hit is None
            and the lines are those of the text.

    Raises:
        InputError: the question is empty or too long, or `answers` is below 1.
        ModelError: the model's logits are not finite.
    """
    check_text(question, "the question")
    if answers < 1:
        raise InputError(f"answers is {answers}; the minimum is 1.")
    windows = [
        reader.windows(item if isinstance(item, str) else item.text, first=question, overlap=_OVERLAP)
        for item in passages
    ]
    inputs = [window for some in windows for window in some]
    if any(len(some) > 1 and some[0].sequence_ids.count(1) < 2 * _LONGEST for some in windows):
        raise InputError(
            f"the question is too long: '{reader.name}' reads {reader.max_tokens:,} tokens in total. Shorten it."
        )
    logits = reader.run(inputs)
    candidates: list[Answer] = []
    for number, (passage, some) in enumerate(zip(passages, windows, strict=True), 1):
        for window in some:
            candidates += _of_window(passage, window, next(logits), reader.name)
        if progress:
            progress(Progress("reading", number, len(passages), passages=number))

    def located(span: Answer, rank: int = 0) -> Answer:
        first, last, page = place(span.hit, span.start, span.end)
        return replace(span, line_start=first, line_end=last, page=page, rank=rank)

    distinct = _distinct([span for span in candidates if span.margin >= 0])
    best = [located(span, rank) for rank, span in enumerate(distinct[:answers], 1)]
    nearest = None if best else max(candidates, key=lambda span: span.margin, default=None)
    return Answers(
        question=question,
        model=reader.name,
        answers=tuple(best),
        nearest=located(nearest) if nearest else None,
        more=len(distinct) - len(best),
        passages=len(passages),
        windows=len(inputs),
        held_out=reader.held_out,
    )


def required(model: str | None) -> str:
    """Return `model`, or raise InputError if none is given.

    Raises:
        InputError: `model` is None or empty.
    """
    if not model:
        raise InputError(f"no model given. Give one that was trained to answer questions: {READERS}.")
    return model


def _of_window(
    passage: Hit | str,
    window: tokenizers.Encoding,
    logits: dict[str, NDArray[np.float32]],
    model: str,
) -> Iterator[Answer]:
    """Yield the best span of a window, then every other span that scores at least the null score.

    Spans that overlap a better one are left out.
    """
    start, end = logits["start_logits"].astype(np.float64), logits["end_logits"].astype(np.float64)
    if not np.isfinite([start, end]).all():
        raise ModelError(f"the logits of '{model}' are NaN or infinite. Its weights may be damaged.")
    hit = None if isinstance(passage, str) else passage
    text, base = (hit.text, hit.start) if hit else (str(passage), 0)
    offsets = window.offsets  # each access makes a list
    allowed = [
        source == 1 and bool(text[slice(*offsets[i])].strip())
        for i, source in enumerate(window.sequence_ids)
    ]
    null = float(start[0] + end[0])
    read = ReaderWindow(
        tuple(window.tokens),
        tuple(
            span if source == 1 else None
            for span, source in zip(offsets, window.sequence_ids, strict=True)
        ),
        start,
        end,
    )
    begins, ends = read.start_probabilities, read.end_probabilities
    # Slightly less, so that rounding cannot hide a span that reaches the null score.
    least = null - 1e-6
    for first, last in _best_spans(start, end, np.array(allowed), least):
        a, b = without_space(text, offsets[first][0], offsets[last][1])
        yield Answer(
            rank=0,
            text=text[a:b],
            start=base + a,
            end=base + b,
            path=hit.path if hit else "",
            document=hit.document if hit else "",
            line_start=1,
            line_end=1,
            page=None,
            passage=text,
            passage_start=base,
            hit=hit,
            start_logit=float(start[first]),
            end_logit=float(end[last]),
            null_score=null,
            probability=float(begins[first] * ends[last]),
            window=read,
            first=first,
            last=last,
        )


def _best_spans(
    start: NDArray[np.float64],
    end: NDArray[np.float64],
    allowed: NDArray[np.bool_],
    least: float,
) -> Iterator[tuple[int, int]]:
    """Yield the first and last token of the best span, then of every other span that scores at least `least`.

    Spans that overlap a better one are left out. Every span is scored, so the result is exact. If scores are equal, the
    shorter span comes first, then the earlier one.

    Args:
        start, end: (t,) logits.
        allowed: (t,) mask of the tokens at which a span may start or end.
    """
    tokens = len(start)
    # Row r: scores of the spans of r + 1 tokens; column: first token.
    scores = np.full((min(_LONGEST, tokens), tokens), -np.inf)
    begins, ends = np.where(allowed, start, -np.inf), np.where(allowed, end, -np.inf)
    for row in range(len(scores)):
        scores[row, : tokens - row] = begins[: tokens - row] + ends[row:]
    while scores.max() > -np.inf:
        extra, first = map(int, np.unravel_index(scores.argmax(), scores.shape))
        yield first, first + extra
        # Exclude all spans that overlap it.
        for row in range(len(scores)):
            scores[row, max(0, first - row) : first + extra + 1] = -np.inf
        if scores.max() < least:
            return


def _distinct(spans: Sequence[Answer]) -> list[Answer]:
    """Sort answers by descending score, then margin, and drop repetitions of a better answer.

    An answer repeats a better one if the two overlap (because windows and passages do), or if they have the same text,
    ignoring case and whitespace.
    """
    kept: dict[str, Answer] = {}  # by text
    for new in sorted(spans, key=lambda new: (-new.score, -new.margin, new.document, new.start, new.end)):
        same = " ".join(new.text.casefold().split())
        if same not in kept and not any(_share(new, other) for other in kept.values()):
            kept[same] = new
    return list(kept.values())


def _share(a: Answer, b: Answer) -> bool:
    """Return True if two answers overlap in the same document."""
    same = (a.path, a.document) == (b.path, b.document)
    return same and a.start < b.end and a.end > b.start
