"""What models say of texts, for a terminal: masked words, next sentences, labels, entities and parts of speech."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from rich.table import Column
from rich.text import Text

from search.records.documents import Annotator, field_in_filter, filter_argument, in_filter
from search.records.predictions import (
    Filled,
    Guess,
    LabelExplanation,
    LabelledIndex,
    LabelledText,
    Labelling,
    NextSentence,
    Tagged,
    TagReport,
)
from search.render.format import counted, duration, escape, fixed, letters, one_line
from search.render.terminal import Canvas, as_text, bar, folded, grid, number

_TOGETHER = "All masks are masked at once, and each is guessed by itself: the guesses need not fit together."
_TRAINED = (
    "The head was trained to tell a text's neighbour from a text of another document, so a change of topic is what it "
    "sees; it says little about order or sense within one document."
)
_NAMELESS = "(no name)"
_COLOURS = ("cyan", "green", "magenta", "yellow", "blue", "red")


@as_text
def filled(canvas: Canvas, guessed: Filled) -> None:
    """The words at each masked place; where candidates were asked about, these and the best one besides."""
    canvas.facts((("text", one_line(guessed.text)), ("model", one_line(guessed.model))))
    for place, mask in enumerate(guessed.masks, 1):
        which = title = f"mask {place} of {len(guessed.masks)}, " if len(guessed.masks) > 1 else ""
        if mask.hidden:
            right = guessed.text[mask.start : mask.end] if guessed.word else mask.hidden.word
            title += f"'{one_line(right)}', "
        title += f"characters {mask.start}-{mask.end}"
        if mask.hidden:
            likely = probability(mask.hidden.probability)
            title += f": rank {mask.hidden.rank:,} of {guessed.vocabulary:,}, probability {likely}"
            title += f", loss {mask.hidden.loss:.4f}"
        _draw_guesses(canvas, title, mask.guesses)
        if mask.among:
            _draw_guesses(canvas, f"{which}of the words that were asked about", mask.among)
    canvas.gap()
    canvas.dim(f"Probabilities are taken over all {guessed.vocabulary:,} entries of the vocabulary.")
    if guessed.loss is not None:
        mean = f" Their mean is {guessed.loss:.4f}." if len(guessed.masks) > 1 else ""
        random = math.log(guessed.vocabulary)
        canvas.dim(f"The loss is -ln of the probability; a guess at random has {random:.4f}.{mean}")
    if len(guessed.masks) > 1:
        canvas.dim(_TOGETHER)
    if any(guess.piece.startswith("##") for mask in guessed.masks for guess in (*mask.guesses, *mask.among)):
        canvas.dim("## goes on with the word before it.")


def _draw_guesses(canvas: Canvas, title: str, guesses: Sequence[Guess]) -> None:
    canvas.title(title)
    table = grid("word", *map(number, ("rank", "probability", "logit")), Column(no_wrap=True), header="dim")
    for guess in guesses:
        name = guess.piece if guess.piece.startswith("##") else guess.word
        numbers = (f"{guess.rank:,}", probability(guess.probability), f"{guess.logit:.3f}")
        table.add_row(one_line(name), *numbers, bar(guess.probability))
    canvas.table(table)


@as_text
def next_sentences(canvas: Canvas, pairs: Sequence[NextSentence]) -> None:
    """How likely each text follows the one before it, and the other way round."""
    texts = [pairs[0].first, *(pair.second for pair in pairs)]
    names = [letters(i) for i in range(len(texts))]
    facts = zip((*names, "model"), map(one_line, (*texts, pairs[0].model)), strict=True)
    canvas.facts(facts)
    canvas.gap()
    table = grid(
        "", *map(number, ("probability", "is next", "is not next")), Column(no_wrap=True), header="dim"
    )
    for first, second, pair in zip(names, names[1:], pairs, strict=False):
        for name, likely, logits, style in (
            (f"{second} after {first}", pair.probability, pair.logits, ""),
            (f"{first} after {second}", pair.reverse_probability, pair.reverse_logits, "dim"),
        ):
            numbers = (f"{logit:.3f}" for logit in logits)
            table.add_row(name, probability(likely), *numbers, bar(likely), style=style)
    canvas.table(table)
    canvas.gap()
    canvas.dim("Probability is the softmax of the two logits beside it.")
    if losses := [pair.loss for pair in pairs if pair.loss is not None]:
        for first, second, pair in zip(names, names[1:], pairs, strict=False):
            canvas.line(f"{second} after {first}, label '{pair.label}': loss {pair.loss:.4f}")
        mean = f" The mean is {sum(losses) / len(losses):.4f}." if len(losses) > 1 else ""
        canvas.dim(f"The loss is -ln of the probability of the label.{mean}")
    canvas.dim(_TRAINED)


def probability(value: float) -> str:
    """Four decimals, or two digits where these would be zeros."""
    return f"{value:.4f}" if value >= 0.00005 or value == 0 else f"{value:.1e}"


@as_text
def labelling(canvas: Canvas, labelled: Labelling) -> None:
    """Texts with the probabilities of their classes, the best first."""
    for text in labelled.texts:
        canvas.line(one_line(text.text))
        _draw_classes(canvas, labelled.classes, text)
        if text.windows > 1:
            canvas.dim(f"  read in {text.windows} windows; the mean of their logits counts")
        canvas.gap()
    who = one_line(labelled.classifier)
    if labelled.pooling:
        who += f", a linear head over {one_line(labelled.model)} ({labelled.pooling})"
    rest = "They sum to 1." if labelled.exclusive else "Each class has its own; from 0.5 on it is a label."
    canvas.dim(f"Probabilities by {who}. {rest}")


@as_text
def label_rows(canvas: Canvas, labelled: Labelling) -> None:
    """Many texts: a row each with its label and the probability of that, and how many have each label."""
    table = grid(Column("label", no_wrap=True), number("probability"), "text")
    many: Counter[str] = Counter()
    for text in labelled.texts:
        many[", ".join(text.labels)] += 1
        table.add_row(one_line(", ".join(text.labels)) or "-", f"{text.score:.3f}", one_line(text.text))
    canvas.table(table)
    canvas.gap()
    listed = ", ".join(f"{one_line(label) or 'none'} {count:,}" for label, count in many.most_common())
    canvas.dim(f"{len(labelled.texts):,} texts by {one_line(labelled.classifier)}: {listed}")


def _draw_classes(canvas: Canvas, classes: Sequence[str], text: LabelledText) -> None:
    table = grid("", folded(), "", header="")
    for name, score in sorted(zip(classes, text.scores, strict=True), key=lambda pair: -pair[1]):
        style = "bold green" if name in text.labels else "dim"
        table.add_row(Text(f"  {one_line(name) or _NAMELESS}", style=style), f"{score:.3f}", bar(score))
    canvas.table(table)


@as_text
def labelled_index(canvas: Canvas, done: LabelledIndex) -> None:
    """What was labelled, and how many passages have each label."""
    before = f", {done.before:,} had been before" if done.before else ""
    canvas.line(f"{one_line(done.name)}: {done.labelled:,} passages labelled{before}", style="bold")
    table = grid("", folded(), folded(), "", header="")
    for name, count in sorted(done.counts.items(), key=lambda pair: -pair[1]):
        share = count / max(done.passages, 1)
        table.add_row(f"  {one_line(name) if name else '(none)'}", f"{count:,}", f"{share:.0%}", bar(share))
    canvas.table(table)
    best = max(done.classes, key=lambda label: done.counts.get(label, 0))
    condition = in_filter(done.name, best)
    if done.exclusive:  # of several labels it would be the highest one's
        condition += f" and {field_in_filter(f'{done.name}_score')}>=0.8"
    canvas.dim(f"Filter by it: --where {one_line(filter_argument(condition))}")


@as_text
def label_explanations(canvas: Canvas, texts: Sequence[LabelExplanation]) -> None:
    """Of each text, what each word adds to the logit of each class, the sums, and the probabilities."""
    for why in texts:
        _draw_logits(canvas, why)
        canvas.gap()


def _draw_logits(canvas: Canvas, why: LabelExplanation) -> None:
    canvas.line(one_line(why.text))
    canvas.gap()
    table = grid("", *(folded(one_line(name)) for name in why.classes))
    largest = float(abs(why.by_word).max()) or 1.0
    for word, added in zip(why.words, why.by_word.tolist(), strict=True):
        style = "" if word.kind == "word" else "dim"
        cells = (Text(_addend(value), style=_tone(value, largest)) for value in added)
        table.add_row(Text(one_line(word.text), style=style), *cells)
    table.add_row(Text("intercept", style="dim"), *map(_addend, why.intercepts.tolist()))
    logits = (Text(_addend(value), style="bold") for value in why.logits.tolist())
    table.add_row(Text("logit", style="bold"), *logits)
    table.add_row("probability", *(f"{value:.4f}" for value in why.probabilities.tolist()))
    canvas.table(table)
    canvas.gap()
    residual = float(abs(why.residual).max())
    canvas.dim(
        f"The label is '{one_line(why.label)}', by the head '{one_line(why.head)}' over {one_line(why.model)} "
        f"({why.pooling}). Each column adds up to its logit; residual at most {residual:.1e}. The vectors of words "
        "depend on their neighbours: an addend is no effect of leaving the word out."
    )


def _addend(value: float) -> str:
    return fixed(value, 4, signed=True)


def _tone(value: float, largest: float) -> str:
    if abs(value) < largest / 4:
        return ""
    return "blue" if value > 0 else "yellow"


@as_text
def tagged(canvas: Canvas, tagging: Tagged) -> None:
    """The text with its entities marked, each with its place, and every word with its class."""
    if tagging.task == "ner":
        canvas.line(_marked(tagging, canvas.colour))
        canvas.gap()
        if not tagging.mentions:
            canvas.line("No entity.")
        for mention in tagging.mentions:
            place = f"{mention.start}-{mention.end}, {mention.score:.4f}"
            canvas.line(f"{mention.field}: {one_line(mention.text)}  ({place})", whole=True)
        canvas.gap()
    table = grid("word", "tokens", "class", number("score"), number("offsets"))
    for word in tagging.words:
        style = "" if word.label.upper() != "O" else "dim"
        table.add_row(
            Text(one_line(word.text), style=style),
            Text(" ".join(map(one_line, word.tokens)), style="dim"),
            Text(one_line(word.label), style=style),
            Text(f"{word.score:.4f}", style=style),
            Text(f"{word.start}-{word.end}", style="dim"),
        )
    canvas.table(table)
    many = any(len(word.tokens) > 1 for word in tagging.words)
    rule = " A word has the class of its first token." if many else ""
    canvas.dim(f"{one_line(tagging.model)}, {len(tagging.labels)} classes.{rule}")


def _marked(tagging: Tagged, colour: bool) -> Text:
    """The text; each entity in the colour of its field, or in brackets."""
    fields = list(dict.fromkeys(mention.field for mention in tagging.mentions))
    text, at = Text(), 0
    for mention in tagging.mentions:
        text.append(escape(tagging.text[at : mention.start]))
        inside = escape(mention.text)
        style = _COLOURS[fields.index(mention.field) % len(_COLOURS)]
        text.append(inside if colour else f"«{inside}»", style=f"bold {style}")
        text.append(f" {escape(mention.field)} ", style=f"{style} dim")
        at = mention.end + (tagging.text[mention.end : mention.end + 1] == " ")
    return text.append(escape(tagging.text[at:]))


@as_text
def tag_report(canvas: Canvas, done: TagReport) -> None:
    """How many passages were tagged, and what was found, by field."""
    canvas.line(_tagged_line(done), style="bold", whole=True)
    if any(field.mentions for field in done.fields):
        table = grid(
            Column("field", no_wrap=True),
            *map(number, ("mentions", "different", "passages")),
            "most frequent",
        )
        for field in done.fields:
            frequent = ", ".join(f"{one_line(value)} ({count:,})" for value, count in field.frequent)
            counts = (f"{count:,}" for count in (field.mentions, field.values, field.passages))
            table.add_row(one_line(field.field), *counts, Text(frequent, style="dim"))
        canvas.table(table)
        first = next(field for field in done.fields if field.mentions)
        typed = one_line(filter_argument(in_filter(first.field, first.frequent[0][0])))
        canvas.line(f"Filter by them: --where {typed}", style="dim", whole=True)
    canvas.notes(done.notes)


def _tagged_line(done: TagReport) -> str:
    """What was done, in one line."""
    what = "entities" if done.task == "ner" else "parts of speech"
    if not done.tagged:
        return f"{done.name}: nothing new to tag; all {done.passages:,} passages have {what}."
    new = "all" if done.tagged == done.passages else f"{done.tagged:,} new ones of"
    took = duration(done.seconds)
    return f"{one_line(done.name)}: tagged {new} {done.passages:,} passages, {one_line(done.model)}, {took}."


@as_text
def removed(canvas: Canvas, was: Annotator) -> None:
    """What was taken away."""
    fields = ", ".join(map(one_line, was.fields))
    passages = counted(was.annotated, "passage")
    canvas.line(
        f"Removed the annotations '{one_line(was.name)}' of {passages}, with the fields {fields}.", whole=True
    )
