"""Results of the laboratory as HTML for a notebook; registers them with `search.render.notebook`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby

import numpy as np

from search.lab.records.encoder_comparisons import CosineShares, EncoderComparison, TextComparison
from search.lab.records.inspections import (
    Attention,
    ContextualCosines,
    Decoding,
    EqualRows,
    HeadAtWork,
    Inspection,
    PaddedBatch,
    Positions,
    Tokenization,
    Vocabulary,
)
from search.lab.records.model_parts import ModelParameters, ModuleTree
from search.lab.records.predictions import (
    Answers,
    LabelExplanation,
    LabelledIndex,
    Labelling,
    LabelTraining,
    MaskPredictions,
    NextSentence,
    Tagging,
    TagReport,
)
from search.lab.records.probes import LayerProbes
from search.lab.records.training import TrainingReport
from search.lab.render import probing, training
from search.lab.render.attention import attention_grid, rows_line
from search.lab.render.comparing import facts_of, moved_line, setting_line, share_rows, standings
from search.lab.render.drawings import bars_of, grid_of, guesses_of
from search.lab.render.inspection import (
    cosines_by_distance,
    embedding_lengths,
    lines_below_batch,
    lines_below_work,
    model_line,
    pooler_line,
    title_of_work,
    vocabulary_facts,
    what_was_compared,
    where_positions_come_from,
)
from search.lab.render.model_parts import is_in_further_layer, module_label, shape_of, sums_of_parameters
from search.lab.render.predictions import (
    LIKELIEST,
    around,
    cells_of_guess,
    class_of_a_word,
    likeliest_ends,
    line_below_explanation,
    line_below_labels,
    lines_below_guesses,
    lines_below_pair,
    no_answer,
    probability,
    right_for,
    tagged_line,
    title_of_window,
)
from search.render.evaluation import interval
from search.render.format import fixed, letters, where
from search.render.grid import Grid
from search.render.notebook import cell, html, matrix, meter, table
from search.render.page.document import isolated, text

__all__ = ["MOST_LINES", "MOST_WORDS", "html"]

MOST_WORDS = 20  # of a text with two encoders; the others are counted together
MOST_LINES = 60  # of a table


def _result(*parts: str, notes: Sequence[str] = ()) -> str:
    """Return parts of HTML, and below them a paragraph for each note."""
    return f"<div>{''.join(parts)}{''.join(f'<p>{text(note)}</p>' for note in notes if note)}</div>"


def _title(title: str) -> str:
    return f"<h4>{isolated(title)}</h4>"


def _texts(*texts: str) -> str:
    """Return texts as paragraphs, with letters if there are several."""
    names = [f"{letters(i)} " if len(texts) > 1 else "" for i in range(len(texts))]
    return "".join(
        f"<p><b>{name}</b>{isolated(value)}</p>" for name, value in zip(names, texts, strict=True)
    )


def _first(head: Sequence[str], rows: Sequence[Sequence[str]], most: int = MOST_LINES - 1) -> str:
    """Return a table of the first rows, and a line that counts the others."""
    rest = f"<p>{len(rows) - most:,} further lines are left out.</p>" if len(rows) > most else ""
    return table(head, rows[:most]) + rest


def _first_cells(drawn: Grid, title: bool = True) -> str:
    """Return the first rows and columns of a matrix, with its title, and a line that counts all."""
    rows, columns = MOST_LINES - 1, MOST_LINES
    visible = replace(
        drawn,
        rows=drawn.rows[:rows],
        columns=drawn.columns[:columns],
        cells=drawn.cells[:rows, :columns],
        texts=[texts[:columns] for texts in drawn.texts[:rows]],
    )
    n, m = drawn.cells.shape
    part = "" if visible.cells.shape == (n, m) else f"<p>The first of {n:,} rows x {m:,} columns.</p>"
    return f"{_title(drawn.title) if title else ''}{matrix(visible)}{part}"


@html.register
def _(inspected: Inspection) -> str:
    names, lengths = embedding_lengths(inspected)
    head = ("", *_TOKEN_HEAD, *(f"|{text(name)}|" for name in names))
    rows = [
        (*cells, *(f"{length:.3f}" for length in of_token))
        for cells, of_token in zip(_token_cells(inspected), lengths, strict=True)
    ]
    layers = _first_cells(grid_of(inspected))
    most = max(MOST_LINES - len(inspected.states) - 1, 10)
    shape = " x ".join(map(str, inspected.states.shape))
    return _result(
        _texts(*inspected.texts),
        _title("Tokens, and the lengths of their vectors in the embedding layer"),
        _first(head, rows, most),
        layers,
        notes=(
            f"Hidden states: {shape}; layer 0 is the embedding layer.",
            f"Pooler: {pooler_line(inspected)}",
            model_line(inspected.model),
        ),
    )


_TOKEN_HEAD = ("token", "id", "characters", "word", "segment")


def _token_cells(read: Inspection | Tokenization) -> list[tuple[str, ...]]:
    """Return a row of cells for each token: its position, and the columns of `_TOKEN_HEAD`."""
    return [
        (
            str(i),
            f"<small>{isolated(token.text)}</small>" if token.special else isolated(token.text),
            str(token.id),
            "" if token.special else f"{token.start}-{token.end}",
            cell(token.word),
            str(token.segment),
        )
        for i, token in enumerate(read.tokens)
    ]


@html.register
def _(read: Tokenization) -> str:
    words = [
        f"{word.text} is spelled by {' '.join(read.tokens[i].text for i in word.tokens)}."
        for word in read.words
        if word.split
    ]
    split = " ".join(words[:MOST_LINES])
    note = f"{len(read.tokens)} tokens of a vocabulary of {read.vocabulary:,} entries. {split}"
    return _result(_texts(*read.texts), _first(("", *_TOKEN_HEAD), _token_cells(read)), notes=(note,))


@html.register
def _(summary: Vocabulary) -> str:
    bars = bars_of(summary)
    counts = dict(zip(bars.names, bars.numbers, strict=True))
    rows = [
        (text(name), isolated(value), meter(counts.get(name, 0) / bars.full))
        for name, value in vocabulary_facts(summary)
    ]
    return _result(table(("", "", ""), rows))


@html.register
def _(rows: Positions) -> str:
    cells = [
        (distance, learned, meter(float(learned)), formula, meter(float(formula)))
        for distance, learned, formula in cosines_by_distance(rows)
    ]
    head = ("distance", "learned", "", "formula", "")
    n, d = rows.learned.shape
    return _result(
        _title(f"{n} positions, {d} dimensions"),
        table(head, cells),
        notes=(where_positions_come_from(rows), "The vectors and all cosines: .plot()"),
    )


@html.register
def _(batch: PaddedBatch) -> str:
    grid = grid_of(batch)
    texts = [
        [f"{piece} {id_}" for piece, id_ in zip(*row, strict=True)]
        for row in zip(batch.tokens, batch.ids.tolist(), strict=True)
    ]
    notes = (*lines_below_batch(batch), f"Last layer of {batch.model}.")
    return _result(_texts(*batch.texts), _first_cells(replace(grid, texts=texts)), notes=notes)


@html.register
def _(work: HeadAtWork) -> str:
    lengths = np.linalg.norm(work.values, axis=1)
    numbers = zip(work.tokens, work.products, work.scaled, work.weights, lengths, strict=True)
    rows = [
        (str(i), isolated(token.text), fixed(a, 3), fixed(b, 3), f"{c:.4f}", meter(c), f"{d:.3f}")
        for i, (token, a, b, c, d) in enumerate(numbers)
    ]
    head = ("", "token", "q.k", f"/ sqrt({work.query.size})", "softmax", "", "|v|")
    return _result(_title(title_of_work(work)), _first(head, rows), notes=lines_below_work(work))


@html.register
def _(pair: EqualRows) -> str:
    cells = grid_of(pair)
    return _result(_texts(*pair.texts), _first_cells(cells), notes=(f"By {pair.model}.",))


@html.register
def _(tensors: ModelParameters) -> str:
    full = max(tensor.size for tensor in tensors.values())
    parts = []
    # Layers have the same tensors, so those after the first one are folded in.
    for is_repeated, group in groupby(tensors, is_in_further_layer):
        rows = [
            (
                isolated(name),
                shape_of(tensors[name].shape),
                f"{tensors[name].size:,}",
                meter(tensors[name].size / full),
            )
            for name in group
        ]
        part = table(("tensor", "shape", "numbers", ""), rows)
        if is_repeated:
            part = f"<details><summary>{len(rows):,} tensors of further layers</summary>{part}</details>"
        parts.append(part)
    return _result(_title(sums_of_parameters(tensors)), *parts, notes=(f"By {tensors.model}.",))


@html.register
def _(tree: ModuleTree) -> str:
    rows = [
        (
            f'<span style="padding-left:{1.5 * module.depth:g}em">{isolated(module_label(module))}</span>',
            isolated(module.kind),
            isolated(module.settings),
            f"{module.numbers:,}" if module.numbers else "",
            meter(module.numbers / max(tree.modules[0].numbers, 1)) if module.numbers else "",
        )
        for module in tree.modules
    ]
    note = f"{tree.modules[0].numbers:,} numbers in {tree.model}; equal layers have one line."
    return _result(_first(("module", "class", "settings", "numbers", ""), rows), notes=(note,))


@html.register
def _(guessed: MaskPredictions) -> str:
    rows = [
        (str(mask), *map(text, cells_of_guess(guess)), meter(guess.probability))
        for mask, guess in guesses_of(guessed)
    ]
    labels = [
        f"Mask {i}: '{mask.label.word}' has rank {mask.label.rank:,}, probability "
        f"{probability(mask.label.probability)}, loss {mask.label.loss:.4f}."
        for i, mask in enumerate(guessed.masks, 1)
        if mask.label
    ]
    notes = (
        " ".join(labels),
        *lines_below_guesses(guessed),
        right_for(guessed.held_out),
        f"By {guessed.model}.",
    )
    head = ("mask", "word", "rank", "probability", "logit", "")
    return _result(_texts(guessed.text), _first(head, rows), notes=notes)


@html.register
def _(pair: NextSentence) -> str:
    bars = bars_of(pair)
    rows = [
        (name, probability(number), f"{logit:.3f}", meter(number))
        for name, number, logit in zip(bars.names, bars.numbers, pair.logits, strict=True)
    ]
    notes = (*lines_below_pair(pair), right_for(pair.held_out), f"By {pair.model}.")
    cells = table(("", "probability", "logit", ""), rows)
    return _result(_texts(pair.first, pair.second), cells, notes=notes)


@html.register
def _(tagging: Tagging) -> str:
    rows = [
        (
            "" if i else isolated(word.text),
            isolated(piece.text),
            f"<small>{isolated(piece.label)}</small>" if i else isolated(piece.label),
            f"{piece.score:.4f}",
            meter(piece.score),
            f"{piece.start}-{piece.end}",
        )
        for word in tagging.words
        for i, piece in enumerate(word.pieces)
    ]
    mentions = ", ".join(f"{mention.text} [{mention.field}]" for mention in tagging.mentions[:MOST_LINES])
    notes = (
        f"Entities: {mentions or 'none'}." if tagging.task == "ner" else "",
        f"By {tagging.model}. {class_of_a_word(tagging)}",
        right_for(tagging.held_out),
    )
    head = ("word", "token", "class", "score", "", "characters")
    return _result(_texts(tagging.text), _first(head, rows), notes=notes)


@html.register
def _(done: TagReport) -> str:
    rows = [
        (
            isolated(field.field),
            f"{field.mentions:,}",
            isolated(", ".join(f"{value} ({count:,})" for value, count in field.frequent)),
        )
        for field in done.fields
    ]
    head = ("field", "mentions", "most frequent")
    return _result(_first(head, rows), notes=(tagged_line(done), right_for(done.held_out)))


@html.register
def _(done: LabelledIndex) -> str:
    rows = [
        (isolated(name), f"{count:,}", meter(count / max(done.passages, 1)))
        for name, count in done.counts.items()
    ]
    note = f"{done.labelled:,} of {done.passages:,} passages labelled now, {done.before:,} before."
    return _result(
        _first((text(done.name), "passages", ""), rows), notes=(note, right_for(done.held_out))
    )


@html.register
def _(labelled: Labelling) -> str:
    grid = grid_of(labelled)
    return _result(_first_cells(grid), notes=(line_below_labels(labelled), right_for(labelled.held_out)))


@html.register
def _(why: LabelExplanation) -> str:
    sums = [
        (name, *(fixed(value, 4, signed=name == "logit") for value in values.tolist()))
        for name, values in (("logit", why.logits), ("probability", why.probabilities))
    ]
    return _result(
        _texts(why.text),
        _first_cells(grid_of(why)),
        table(("", *map(isolated, why.classes)), sums),
        notes=(line_below_explanation(why),),
    )


@html.register
def _(trained: LabelTraining) -> str:
    report = trained.report
    rows = [
        (
            isolated(row.label),
            *(f"{x:.3f}" for x in (row.precision, row.recall, row.f1)),
            f"{row.support:,.0f}",
        )
        for row in report.by_class
    ]
    head = ("label", "precision", "recall", "F1", "examples")
    figures = f"Accuracy {report.accuracy.mean:.4f}, macro F1 {report.macro_f1.mean:.4f}"
    notes = (f"{figures}: {training.examples_line(trained)}.", *trained.notes)
    return _result(_title(trained.name), _first(head, rows), _first_cells(grid_of(trained)), notes=notes)


@html.register
def _(done: TrainingReport) -> str:
    metrics = [
        (isolated(name), f"{before.mean:.4f}", f"{done.after[name].mean:.4f}", f"{gap.mean:+.4f}")
        for name, before in done.before.items()
        for gap in (done.difference[name],)
    ]
    epochs = [(str(epoch), f"{loss:.4f}", score) for epoch, loss, score in training.epochs(done)]
    return _result(
        _title(f"Trained {training.base_name(done)}"),
        table(("metric", "before", "after", "difference"), metrics),
        _first(("epoch", "mean training loss", f"held-out {done.primary}"), epochs),
        notes=(training.figures_line(done), f"Steps: {training.steps_line(done)}.", *done.notes),
    )


@html.register
def _(pair: TextComparison) -> str:
    settings = zip("AB", (pair.first, pair.second), strict=True)
    notes = (
        *(f"{name}: {setting_line(setting)}." for name, setting in settings),
        *(f"{name}: {standing}." for name, standing in standings(pair)),
    )
    return _result(
        *(f"<p><b>text {i} </b>{isolated(value)}</p>" for i, value in enumerate(pair.texts, 1)),
        _share_table(pair.shares, MOST_WORDS),
        notes=notes,
    )


def _share_table(shares: CosineShares, most: int) -> str:
    """Return a table of both addends of the words with the largest differences, and of their sums."""
    rows = share_rows(shares, most)
    largest = max((abs(addend) for _, *addends in rows for addend in addends), default=0.0) or 1.0
    cells: list[tuple[str, ...]] = [
        (
            isolated(name),
            f"{first:+.4f}",
            meter(first / largest, signed=True),
            f"{second:+.4f}",
            meter(second / largest, signed=True),
            f"{second - first:+.4f}",
        )
        for name, first, second in rows
    ]
    first, second = (sum(addends) for addends in zip(*(row[1:] for row in rows), strict=True))
    cells.append(("<b>sum</b>", f"{first:+.4f}", "", f"{second:+.4f}", "", f"{second - first:+.4f}"))
    return table(("word", "in A", "", "in B", "", "B - A"), cells)


@html.register
def _(comparison: EncoderComparison) -> str:
    rows = [
        (
            isolated(query.query),
            f"{query.overlap:.2f}",
            meter(query.overlap),
            f"{query.correlation:.2f}",
            isolated(", ".join(where(change.passage) for change in query.gained)),
            isolated(", ".join(where(change.passage) for change in query.lost)),
        )
        for query in comparison.queries
    ]
    head = ("query", "in both", "", "correlation", "only in B", "only in A")
    parts = [f"<p>{text(f'{name}: {value}')}</p>" for name, value in facts_of(comparison)]
    parts.append(_first(head, rows))
    for query in comparison.queries:
        if query.most_changed and query.above_mean:
            moved = moved_line(query.most_changed, query.above_mean)
            parts += [
                _title(query.query),
                f"<p>{text(moved)}</p>",
                _share_table(query.above_mean, MOST_WORDS),
            ]
    return _result(*parts)


@html.register
def _(probes: LayerProbes) -> str:
    parts = [_title(probing.probes_line(probes))]
    most = max(MOST_LINES // len(probes.tasks) - 1, 5)
    for task in probes.tasks:
        rows = [
            (
                str(score.layer),
                f"{score.accuracy.mean:.3f}",
                meter(score.accuracy.mean),
                interval(score.accuracy),
                f"{score.control.mean:.3f}",
                f"{score.selectivity:+.3f}",
            )
            for score in task.layers
        ]
        head = ("layer", "accuracy", "", "95 % interval", "control", "selectivity")
        facts = "; ".join(f"{name}: {value}" for name, value in probing.task_facts(task))
        parts.append(
            f"<p>{text(facts)}</p>{_first(head, rows, most)}<p>{text(probing.best_line(task))}</p>"
        )
    return _result(*parts, notes=("Lines by layer: .plot()",))


@html.register
def _(decoding: Decoding) -> str:
    rows = [(str(entry.id), isolated(entry.piece), isolated(entry.word)) for entry in decoding.entries]
    return _result(_first(("id", "entry", "text"), rows), notes=(f"Reads as: {decoding.text}",))


@html.register
def _(reply: Answers) -> str:
    rows = []
    for span in reply.spans:
        before, after = around(span)
        rows.append(
            (
                str(span.rank or ""),
                f"{span.score:.3f}",
                meter(span.score),
                f"{span.margin:+.2f}",
                isolated(where(span) if span.path else f"line {span.line_start}"),
                f"{text(before)}<b>{isolated(span.text)}</b>{text(after)}",
            )
        )
    head = ("rank", "score", "", 'margin over "no answer"', "place", "passage")
    notes = ("" if reply.answers else no_answer(reply), right_for(reply.held_out), f"By {reply.model}.")
    parts = [_texts(reply.question)]
    if rows:
        best = reply.span()
        ends = (map(isolated, cells) for cells in likeliest_ends(best))
        parts += [_first(head, rows), _title(title_of_window(best)), table(LIKELIEST, ends)]
    return _result(*parts, notes=notes)


@html.register
def _(attention: Attention) -> str:
    drawn = attention_grid(attention, None, None)
    title = f"{drawn.title}; all heads: .head_view()"
    return _result(_first_cells(replace(drawn, title=title)), notes=(rows_line(attention),))


@html.register
def _(cosines: ContextualCosines) -> str:
    cells = grid_of(cosines)
    return _result(_texts(*cosines.texts), _first_cells(cells), notes=(what_was_compared(cosines),))
