"""Draw predictions of models for a terminal: answers, masked words, next sentences, labels, entities."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from rich.table import Column
from rich.text import Text

from search.lab.records.predictions import (
    Answer,
    Answers,
    Guess,
    LabelExplanation,
    LabelledIndex,
    Labelling,
    MaskPredictions,
    NextSentence,
    Tagging,
    TagReport,
)
from search.lab.records.training import HeldOut
from search.records.documents import Annotator, filter_argument, in_filter
from search.records.tokens import ANY_TEXT
from search.render import json
from search.render.format import (
    counted,
    escape,
    fixed,
    headings,
    one_line,
    shortened,
    since_indexed,
    where,
)
from search.render.terminal import Canvas, as_text, bar, folded, grid, number

NEXT_OR_NOT = ("is next", "is not next")  # names of the labels 0 and 1
_TOP = 2  # most likely classes to draw for a text


def right_for(held_out: HeldOut | None) -> str:
    """Return a sentence about how often a head is right, with the 95 % interval; "" if that is not known."""
    if held_out is None:
        return ""
    head = "Small head of make lab" if held_out.small else "Head trained with seewhy"
    low, high = (f"{100 * end:.0f}" for end in held_out.interval)
    refusals = ""
    if held_out.unanswerable:
        refusals = f"; it refused {held_out.refused:,} of {held_out.unanswerable:,} without an answer"
    right = f"right for {held_out.right:,} of {held_out.total:,} held-out {held_out.unit}"
    return f"{head}: {right} ({low} to {high} %){refusals}."


def _draw_right_for(canvas: Canvas, held_out: HeldOut | None) -> None:
    if held_out:
        canvas.line(right_for(held_out), style="yellow")


@as_text
def filled(canvas: Canvas, guessed: MaskPredictions) -> None:
    """Draw the most likely words for each mask."""
    canvas.facts((("text", one_line(guessed.text)), ("model", one_line(guessed.model))))
    for mask in guessed.masks:
        title = f"characters {mask.start}-{mask.end}"
        if mask.label:
            right = f"'{one_line(mask.label.word)}' has rank {mask.label.rank:,}"
            title += f": {right}, probability {probability(mask.label.probability)}, loss {mask.label.loss:.4f}"
        _draw_guesses(canvas, title, mask.guesses)
    canvas.gap()
    for line in lines_below_guesses(guessed):
        canvas.dim(line)
    _draw_right_for(canvas, guessed.held_out)


def lines_below_guesses(guessed: MaskPredictions) -> list[str]:
    """Return sentences about the probabilities, about the loss, and about several masks."""
    lines = [f"Probabilities are taken over all {guessed.vocabulary:,} entries of the vocabulary."]
    if guessed.loss is not None:
        at_random = math.log(guessed.vocabulary)
        lines.append(f"The mean loss is {guessed.loss:.4f}; random guesses have {at_random:.4f}.")
    if len(guessed.masks) > 1:
        lines.append("Each mask is predicted independently, so the words may not fit together.")
    return lines


def _draw_guesses(canvas: Canvas, title: str, guesses: Sequence[Guess]) -> None:
    canvas.title(title)
    table = grid(
        "word", *map(number, ("rank", "probability", "logit")), Column(no_wrap=True), header="dim"
    )
    for guess in guesses:
        table.add_row(*cells_of_guess(guess), bar(guess.probability))
    canvas.table(table)


def cells_of_guess(guess: Guess) -> tuple[str, str, str, str]:
    """Return the word of a guess, or its piece if it continues a word; its rank, probability and logit."""
    name = guess.piece if guess.piece.startswith("##") else guess.word
    return one_line(name), f"{guess.rank:,}", probability(guess.probability), f"{guess.logit:.3f}"


@as_text
def next_sentence(canvas: Canvas, pair: NextSentence) -> None:
    """Draw the probability that a text follows another."""
    named = {"first": pair.first, "second": pair.second, "model": pair.model}
    canvas.facts([(name, one_line(text)) for name, text in named.items()])
    canvas.gap()
    table = grid("", *map(number, ("probability", "logit")), Column(no_wrap=True), header="dim")
    probabilities = (pair.probability, 1 - pair.probability)
    for name, share, logit in zip(NEXT_OR_NOT, probabilities, pair.logits, strict=True):
        table.add_row(name, probability(share), f"{logit:.3f}", bar(share))
    canvas.table(table)
    canvas.gap()
    for line in lines_below_pair(pair):
        canvas.dim(line)
    _draw_right_for(canvas, pair.held_out)


def lines_below_pair(pair: NextSentence) -> list[str]:
    """Return sentences about the loss and about what the head detects."""
    loss = f"The loss, -ln of the probability of the label, is {pair.loss or 0:.4f}."
    topic = "This head detects a change of topic, rather than the order of sentences in a document."
    return [topic] if pair.loss is None else [loss, topic]


def probability(value: float) -> str:
    """Format a probability with four decimals; a very small one with two significant digits."""
    return f"{value:.4f}" if value >= 0.00005 or value == 0 else f"{value:.1e}"


@as_text
def labelling(canvas: Canvas, labelled: Labelling) -> None:
    """Draw a line for each text with its most likely classes, then the number of texts with each label."""
    table = grid(Column("classes", no_wrap=True), "text")
    for text in labelled.texts:
        best = sorted(zip(labelled.classes, text.scores, strict=True), key=lambda pair: -pair[1])[:_TOP]
        classes = (
            (f"{one_line(name)} {score:.3f}  ", "bold green" if name == text.label else "dim")
            for name, score in best
        )
        table.add_row(Text.assemble(*classes), one_line(text.text))
    canvas.table(table)
    canvas.gap()
    canvas.dim(line_below_labels(labelled))
    _draw_right_for(canvas, labelled.held_out)


def line_below_labels(labelled: Labelling) -> str:
    """Return a sentence about the number of texts with each label."""
    counts = Counter(text.label for text in labelled.texts).most_common()
    by_label = ", ".join(f"{one_line(label)} {count:,}" for label, count in counts)
    return f"{len(labelled.texts):,} texts by {one_line(labelled.classifier)}: {by_label}."


@as_text
def labelled_index(canvas: Canvas, done: LabelledIndex) -> None:
    """Draw the numbers of labelled passages, in total and by label."""
    before = f", {done.before:,} had a label before" if done.before else ""
    canvas.line(f"{one_line(done.name)}: {done.labelled:,} passages labelled{before}", style="bold")
    table = grid("", folded(), folded(), "", header="")
    for name, count in sorted(done.counts.items(), key=lambda pair: -pair[1]):
        share = count / max(done.passages, 1)
        table.add_row(f"  {one_line(name)}", f"{count:,}", f"{share:.0%}", bar(share))
    canvas.table(table)
    best = max(done.classes, key=lambda label: done.counts.get(label, 0))
    canvas.dim(f"To filter by label: --where {one_line(filter_argument(in_filter(done.name, best)))}")
    _draw_right_for(canvas, done.held_out)


@as_text
def label_explanations(canvas: Canvas, texts: Sequence[LabelExplanation]) -> None:
    """Draw for each text each word's contribution to the logit of each class, the sums, and the probabilities."""
    for why in texts:
        canvas.line(one_line(why.text))
        canvas.gap()
        table = grid("", *(folded(one_line(name)) for name in why.classes))
        rows = [(word.text, added) for word, added in zip(why.words, why.by_word, strict=True)]
        sums = ((ANY_TEXT, why.offsets), ("intercept", why.intercepts), ("logit", why.logits))
        for name, values in (*rows, *sums):
            table.add_row(one_line(name), *(fixed(value, 4, signed=True) for value in values.tolist()))
        table.add_row("probability", *(f"{value:.4f}" for value in why.probabilities.tolist()))
        canvas.table(table)
        canvas.gap()
        canvas.dim(line_below_explanation(why))
        canvas.gap()


def label_explanation(why: LabelExplanation) -> str:
    """Return one explanation for a terminal."""
    return label_explanations([why])


def line_below_explanation(why: LabelExplanation) -> str:
    """Return two sentences: the label with its model, and the residual of the sums."""
    return (
        f"The label is '{one_line(why.label)}', by {one_line(why.model)} ({why.pooling}). "
        f"Each column sums to its logit; residual at most {abs(why.residual).max():.1e}."
    )


@as_text
def tagged(canvas: Canvas, tagging: Tagging) -> None:
    """Draw the text with its entities marked, a list of the entities, and every word with its class."""
    if tagging.task == "ner":
        text, end = Text(), 0
        for mention in tagging.mentions:
            text.append(escape(tagging.text[end : mention.start])).append(
                escape(mention.text), "bold green"
            )
            text.append(f" [{escape(mention.field)}]", "dim")
            end = mention.end
        canvas.line(text.append(escape(tagging.text[end:])))
        canvas.gap()
    table = grid("word", "token", "class", number("score"), number("offsets"))
    for word in tagging.words:
        for i, piece in enumerate(word.pieces):
            cells = "" if i else one_line(word.text), one_line(piece.text), one_line(piece.label)
            style = "dim" if i or piece.label.upper() == "O" else ""
            table.add_row(*cells, f"{piece.score:.4f}", f"{piece.start}-{piece.end}", style=style)
    canvas.table(table)
    canvas.gap()
    canvas.dim(class_of_a_word(tagging))
    canvas.dim(f"By {one_line(tagging.model)}.")
    _draw_right_for(canvas, tagging.held_out)


def class_of_a_word(tagging: Tagging) -> str:
    """Return a sentence about the class of a word; if words are split, also about those of their other tokens."""
    if any(len(word.pieces) > 1 for word in tagging.words):
        return "A word has the class of its first token; the classes of its other tokens do not count."
    return "A word has the class of its first token."


@as_text
def tag_report(canvas: Canvas, done: TagReport) -> None:
    """Draw the number of tagged passages, and the most frequent values by field."""
    canvas.line(tagged_line(done), style="bold", whole=True)
    if any(field.mentions for field in done.fields):
        table = grid(Column("field", no_wrap=True), number("mentions"), "most frequent")
        for field in done.fields:
            frequent = ", ".join(f"{one_line(value)} ({count:,})" for value, count in field.frequent)
            table.add_row(one_line(field.field), f"{field.mentions:,}", Text(frequent, style="dim"))
        canvas.table(table)
        first = next(field for field in done.fields if field.mentions)
        typed = one_line(filter_argument(in_filter(first.field, first.frequent[0][0])))
        canvas.line(f"To filter by tag: --where {typed}", style="dim", whole=True)
    _draw_right_for(canvas, done.held_out)


def tagged_line(done: TagReport) -> str:
    """Return a summary of a tagging run, in one line."""
    kind = "entities" if done.task == "ner" else "parts of speech"
    if not done.tagged:
        return f"{done.name}: nothing new to tag; all {done.passages:,} passages have {kind}."
    new = "all" if done.tagged == done.passages else f"{done.tagged:,} new ones of"
    return f"{done.name}: tagged {new} {done.passages:,} passages, with {one_line(done.model)}."


@as_text
def removed(canvas: Canvas, was: Annotator) -> None:
    """Draw a summary of the removed annotations, in one line."""
    fields = ", ".join(map(one_line, was.fields))
    passages = counted(was.annotated, "passage")
    canvas.line(
        f"Removed the annotations '{one_line(was.name)}' from {passages}. Their fields were: {fields}.",
        whole=True,
    )


def answers_json(reply: Answers) -> str:
    """Return the answers as JSON, and the logits and probabilities of the tokens of each answer's window."""
    logits = [_logits(answer) for answer in reply.spans]
    return json.document(reply, logits=logits)


def _logits(answer: Answer) -> dict[str, Any]:
    window = answer.window
    names = ("start_logits", "end_logits", "start_probabilities", "end_probabilities")
    return {
        "tokens": window.tokens,
        "spans": window.spans,
        "first": answer.first,
        "last": answer.last,
        **{name: getattr(window, name) for name in names},
    }


_AROUND = 150  # characters of the passage on each side of an answer


@as_text
def answers(canvas: Canvas, reply: Answers, *, logits: bool = False) -> None:
    """Draw each answer with its place, the parts of its score, and the passage around it.

    Args:
        logits: draw the likeliest first and last tokens of the best span, too.
    """
    for answer in reply.answers:
        _draw_answer(canvas, answer)
    if not reply.answers:
        canvas.line(no_answer(reply), style="bold")
        if reply.nearest:
            canvas.title("Closest candidate:")
            _draw_answer(canvas, reply.nearest)
    if logits and reply.spans:
        _draw_ends(canvas, reply.span())
    if reply.passages:
        passages, windows = counted(reply.passages, "passage"), counted(reply.windows, "window")
        more = f"; {counted(reply.more, 'further answer')} not shown" if reply.more else ""
        canvas.dim(f"{passages} in {windows} read by {one_line(reply.model)}{more}.")
        _draw_right_for(canvas, reply.held_out)


def _draw_answer(canvas: Canvas, answer: Answer) -> None:
    text = one_line(answer.text)
    rank = f"{answer.rank:>2}  " if answer.rank else "    "
    place = where(answer) if answer.path else f"line {answer.line_start}"
    passage = f"  p{answer.hit.passage_id}" if answer.hit else ""
    canvas.line(rank, (text, "green"), style="bold", whole=True)
    canvas.line(
        f"    {answer.score:.3f}",
        (f"  {place}", "cyan"),
        (passage, "dim"),
        (f"  {since_indexed(answer.hit)}" if answer.hit and answer.hit.changed else "", "yellow"),
        style="bold",
        whole=True,
    )
    if answer.hit and (title := headings(answer.hit)):
        canvas.line(title, style="bold", indent=4)
    before, after = around(answer)
    canvas.line(before, (text if canvas.colour else f"«{text}»", "bold green"), after, indent=4)
    canvas.dim(_sum_line(answer), indent=4)
    canvas.gap()


# Head of a table of tokens at which an answer may begin and end.
LIKELIEST = ("first token", "logit", "probability", "last token", "logit", "probability")
_ENDS = 5  # tokens in this table


def _draw_ends(canvas: Canvas, answer: Answer) -> None:
    canvas.line(title_of_window(answer), style="bold")
    columns = (name if "token" in name else number(name) for name in LIKELIEST)
    canvas.table(grid(*columns, header="dim"), likeliest_ends(answer))
    canvas.gap()


def title_of_window(answer: Answer) -> str:
    """Return the title of a table of the likeliest tokens, with the number of tokens that it chooses from."""
    tokens, none = len(answer.window.candidates) - 1, one_line(answer.window.tokens[0])
    return f"Likeliest first and last tokens: of {tokens:,} in the passage, and {none} for no answer"


def likeliest_ends(answer: Answer) -> list[tuple[str, ...]]:
    """Return the tokens at which the answer most likely begins and ends: logit and probability, likeliest first."""
    window = answer.window
    columns: list[list[str]] = []
    for logits, probabilities in (
        (window.start_logits, window.start_probabilities),
        (window.end_logits, window.end_probabilities),
    ):
        best = sorted(window.candidates, key=lambda i: -logits[i])[:_ENDS]
        columns += [
            [f"{i}:{one_line(window.tokens[i])}" for i in best],
            [f"{logits[i]:+.2f}" for i in best],
            [probability(float(probabilities[i])) for i in best],
        ]
    return list(zip(*columns, strict=True))


def around(answer: Answer) -> tuple[str, str]:
    """Return the text before and after an answer in its passage, without line breaks."""
    start, end = answer.start - answer.passage_start, answer.end - answer.passage_start
    before, after = (
        escape(re.sub(r"\s+", " ", text)) for text in (answer.passage[:start], answer.passage[end:])
    )
    if len(before) > _AROUND:
        before = "… " + before[-_AROUND:].partition(" ")[2]
    return before.lstrip(), shortened(after.rstrip(), _AROUND)


def _sum_line(answer: Answer) -> str:
    """Return the parts of an answer's score."""
    spans = f"{answer.start_logit:+.2f} start, {answer.end_logit:+.2f} end"
    parts = [
        f"margin {answer.margin:+.2f} over 'no answer' (answer {spans}; 'no answer' {answer.null_score:+.2f}); "
        f"p(start) x p(end) {answer.probability:.3f}"
    ]
    if answer.hit:
        parts.append(f"its passage ranks {answer.hit.rank}, score {answer.hit.score:.3f}")
    return "; ".join(parts)


def no_answer(reply: Answers) -> str:
    """Return the message that there is no answer, with the reason."""
    if reply.nearest is None:
        return "No answer: there are no passages to read."
    return f'No answer: no span of {counted(reply.passages, "passage")} scores higher than "no answer".'
