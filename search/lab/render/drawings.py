"""Results of the laboratory as matrices and bars, which a notebook and a plot draw alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import numpy as np

from search.lab.records.encoder_comparisons import EncoderComparison, TextComparison
from search.lab.records.inspections import (
    ContextualCosines,
    EqualRows,
    HeadAtWork,
    Inspection,
    PaddedBatch,
    Tokenization,
    Vocabulary,
)
from search.lab.records.model_parts import ModelParameters, ModuleTree
from search.lab.records.predictions import (
    Answers,
    Guess,
    LabelExplanation,
    LabelledIndex,
    Labelling,
    LabelTraining,
    MaskPredictions,
    NextSentence,
    Tagging,
    TagReport,
)
from search.lab.render.comparing import setting_line, share_rows
from search.lab.render.inspection import compared, title_of_work, turned_rows
from search.lab.render.model_parts import leaves, module_path, numbers_by_part
from search.lab.render.predictions import NEXT_OR_NOT, cells_of_guess, no_answer
from search.records.tokens import ANY_TEXT
from search.render.format import letters, one_line
from search.render.grid import Bars, Grid


@dataclass(frozen=True)
class PairedBars:
    """Names with two numbers each, which are drawn as two bars side by side.

    Attributes:
        title: what is drawn.
        unit: what the numbers are.
        names: a name for each pair of numbers.
        first, second: the numbers, which may be negative.
        labels: what the first and the second numbers belong to.
    """

    title: str
    unit: str
    names: Sequence[str]
    first: Sequence[float]
    second: Sequence[float]
    labels: tuple[str, str]


def paired_bars_of(compared: TextComparison, most: int) -> PairedBars:
    """Return the contributions of the words of a text with both encoders; beyond `most` words, the rest together."""
    names, first, second = zip(*share_rows(compared.shares, most), strict=True)
    settings = zip("AB", (compared.first, compared.second), compared.shares.totals, strict=True)
    labels = [
        f"{name}: {setting_line(setting)}; cosine {cosine:.3f}" for name, setting, cosine in settings
    ]
    return PairedBars(
        f'"{one_line(compared.texts[0])}"',
        "contribution to the cosine",
        names,
        first,
        second,
        (labels[0], labels[1]),
    )


@singledispatch
def grid_of(record: Any) -> Grid:
    """Return a result as a matrix."""
    raise TypeError(f"{type(record).__name__} is no matrix")


@singledispatch
def bars_of(record: Any) -> Bars:
    """Return a result as bars."""
    raise TypeError(f"{type(record).__name__} has no bars")


@grid_of.register
def _(inspected: Inspection) -> Grid:
    layers = [f"layer {layer}" for layer in range(1, len(inspected.states))]
    tokens = [one_line(token.text) for token in inspected.tokens]
    return Grid("Cosine to layer before", layers, tokens, np.array(turned_rows(inspected)).T)


@grid_of.register
def _(cosines: ContextualCosines) -> Grid:
    names, values = compared(cosines)
    layers = [f"layer {layer}" for layer in range(len(cosines.between))]
    return Grid("Cosines by layer", layers, names, np.array(values).T)


@grid_of.register
def _(pair: EqualRows) -> Grid:
    both = zip(*pair.tokens, strict=False)
    names = [f"{i} {one_line(a.text)} | {one_line(b.text)}" for i, (a, b) in enumerate(both)]
    cells = np.array([*pair.cosines.values()]).T
    return Grid("Cosines of vectors at equal positions", names, list(pair.cosines), cells)


@grid_of.register
def _(batch: PaddedBatch) -> Grid:
    names, columns = (
        [letters(i) for i in range(len(batch.texts))],
        list(map(str, range(batch.ids.shape[1]))),
    )
    title = "Attention mask: 1 is coloured"
    return Grid(title, names, columns, batch.mask.astype(float), "attention", texts=batch.tokens)


@grid_of.register
def _(labelled: Labelling) -> Grid:
    names = [f"{i + 1} {one_line(text.text)}" for i, text in enumerate(labelled.texts)]
    cells = np.array([text.scores for text in labelled.texts]).reshape(len(names), -1)
    return Grid("Probability of each class", names, labelled.classes, cells, "attention")


@grid_of.register
def _(why: LabelExplanation) -> Grid:
    rows = [*(one_line(word.text) for word in why.words), ANY_TEXT, "intercept"]
    cells = np.vstack([why.by_word, why.offsets, why.intercepts])
    limit = float(np.abs(cells[:-2]).max(initial=0)) or 1.0
    names = list(map(one_line, why.classes))
    return Grid("Contributions to the logits", rows, names, cells, "contribution", limit, decimals=2)


@grid_of.register
def _(trained: LabelTraining) -> Grid:
    report = trained.report
    names = list(map(one_line, report.classes))
    cells, rows = report.confusion.astype(float), [f"true: {name}" for name in names]
    texts = [list(map(str, row)) for row in report.confusion.tolist()]
    title = "Texts by true class (rows) and predicted class"
    return Grid(title, rows, names, cells, "attention", float(cells.max()) or 1.0, texts=texts)


@bars_of.register
def _(comparison: EncoderComparison) -> Bars:
    names = [one_line(query.query) for query in comparison.queries]
    overlaps = [query.overlap for query in comparison.queries]
    title = f"Share of the first {comparison.k} passages that both encoders find"
    return Bars(title, "share", names, overlaps, 1.0)


@bars_of.register
def _(work: HeadAtWork) -> Bars:
    names = [f"{i} {one_line(token.text)}" for i, token in enumerate(work.tokens)]
    return Bars(title_of_work(work), "softmax", names, work.weights.tolist())


@bars_of.register
def _(read: Tokenization) -> Bars:
    names = [one_line(word.text) for word in read.words]
    return Bars("Tokens of each word", "tokens", names, [len(word.tokens) for word in read.words])


@bars_of.register
def _(summary: Vocabulary) -> Bars:
    counts = {
        "all": summary.entries,
        "one character": summary.characters,
        "special": len(summary.special),
    }
    if summary.continuing is not None:
        counts["begin with ##"] = summary.continuing
    title = f"{summary.kind} vocabulary of {one_line(summary.model)}"
    return Bars(title, "entries", list(counts), list(counts.values()))


@bars_of.register
def _(tensors: ModelParameters) -> Bars:
    parts = numbers_by_part(tensors)
    title = f"{tensors.numbers:,} numbers in {len(tensors)} tensors"
    return Bars(title, "numbers", list(map(one_line, parts)), list(parts.values()))


@bars_of.register
def _(tree: ModuleTree) -> Bars:
    modules = leaves(tree)
    names = [module_path(module) for module in modules]
    title = f"{tree.modules[0].numbers:,} numbers, by module"
    return Bars(title, "numbers", names, [module.numbers for module in modules])


@bars_of.register
def _(guessed: MaskPredictions) -> Bars:
    rows = guesses_of(guessed)
    several = len(guessed.masks) > 1
    names = [f"{f'mask {mask}: ' if several else ''}{cells_of_guess(guess)[0]}" for mask, guess in rows]
    return Bars(
        "Words for each mask", "probability", names, [guess.probability for _, guess in rows], 1.0
    )


@bars_of.register
def _(comparison: EncoderComparison) -> Bars:
    names = [one_line(query.query) for query in comparison.queries]
    overlaps = [query.overlap for query in comparison.queries]
    return Bars(
        f"First {comparison.k} passages by query", "share that both encoders have", names, overlaps, 1.0
    )


@bars_of.register
def _(pair: NextSentence) -> Bars:
    numbers = (pair.probability, 1 - pair.probability)
    title = "Does the second text follow the first?"
    return Bars(title, "probability", NEXT_OR_NOT, numbers, 1.0)


@bars_of.register
def _(tagging: Tagging) -> Bars:
    names = [f"{one_line(word.text)}: {one_line(word.label)}" for word in tagging.words]
    scores = [word.score for word in tagging.words]
    return Bars("Class of each word", "probability", names, scores, 1.0)


@bars_of.register
def _(done: LabelledIndex) -> Bars:
    names, numbers = list(map(one_line, done.counts)), list(done.counts.values())
    return Bars(f"Passages by {one_line(done.name)}", "passages", names, numbers)


@bars_of.register
def _(done: TagReport) -> Bars:
    names = [one_line(field.field) for field in done.fields]
    title = f"Mentions in {done.annotated:,} passages"
    return Bars(title, "mentions", names, [field.mentions for field in done.fields])


@bars_of.register
def _(reply: Answers) -> Bars:
    names = [one_line(span.text) for span in reply.spans]
    scores = [span.score for span in reply.spans]
    title = one_line(reply.question) if reply.answers else no_answer(reply)
    return Bars(title, 'probability against "no answer"', names, scores, 1.0)


def guesses_of(guessed: MaskPredictions) -> list[tuple[int, Guess]]:
    """Return the guesses of all masks, each with the number of its mask, from 1; a label of low rank is last."""
    rows = []
    for number, mask in enumerate(guessed.masks, 1):
        ids = {guess.id for guess in mask.guesses}
        label = [mask.label] if mask.label and mask.label.id not in ids else []
        rows += [(number, guess) for guess in (*mask.guesses, *label)]
    return rows
