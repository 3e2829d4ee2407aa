"""Results of the laboratory in a terminal and as plots; with their HTML and tables, what `LabRecord` needs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from html import escape
from typing import TYPE_CHECKING, Literal

from search.lab.records.encoder_comparisons import EncoderComparison, TextComparison
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
from search.lab.records.lab_record import LabRecord, TableRecord
from search.lab.records.model_parts import ModelParameters, ModuleTree
from search.lab.records.predictions import (
    Answers,
    AnswerUnit,
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
from search.lab.render import comparing, inspection, model_parts, predictions, probing, training
from search.lab.render.attention import attention_grid, last_layer
from search.lab.render.drawings import bars_of, grid_of, paired_bars_of
from search.lab.render.frames import frame
from search.lab.render.html_forms import MOST_LINES, MOST_WORDS, html
from search.lab.render.pages import attention as attention_page
from search.lab.render.predictions import label_explanation
from search.render.notebook import as_dict, plot
from search.render.page.document import document

if TYPE_CHECKING:
    from matplotlib.axes import Axes


__all__ = ["as_dict", "frame", "head_view", "html", "plot", "terminal"]

_LAST_LINES = 5  # of a result that is cut: the sentences below its table
_FEWEST_TOKENS = 5  # in a table of an inspection
_TERMINAL: dict[type[TableRecord], Callable[..., str]] = {
    Answers: predictions.answers,
    Attention: last_layer,
    ContextualCosines: inspection.contexts,
    Decoding: inspection.decoded,
    EncoderComparison: comparing.encoder_comparison,
    EqualRows: inspection.equal_rows,
    HeadAtWork: inspection.head_at_work,
    Inspection: inspection.inspection,
    LabelExplanation: label_explanation,
    LabelledIndex: predictions.labelled_index,
    LabelTraining: training.label_training,
    Labelling: predictions.labelling,
    LayerProbes: probing.layer_probes,
    MaskPredictions: predictions.filled,
    ModelParameters: model_parts.parameters,
    ModuleTree: model_parts.modules,
    NextSentence: predictions.next_sentence,
    PaddedBatch: inspection.padded,
    Positions: inspection.positions,
    Tagging: predictions.tagged,
    TagReport: predictions.tag_report,
    TextComparison: comparing.text_comparison,
    Tokenization: inspection.tokenization,
    TrainingReport: training.training,
    Vocabulary: inspection.vocabulary,
}


def terminal(record: TableRecord) -> str:
    """Return a result as the table of its command, at most `MOST_LINES` lines; a line counts what is left out."""
    lines = _TERMINAL[type(record)](record).splitlines()
    if isinstance(record, Inspection) and len(lines) > MOST_LINES:
        # Each token has a line in two tables, and each table gets a line for those that are left out.
        others = len(lines) - 2 * len(record.tokens) + 2
        most = max((MOST_LINES - others) // 2, _FEWEST_TOKENS)
        lines = inspection.inspection(record, most=most).splitlines()
    if len(lines) > MOST_LINES:
        first = MOST_LINES - _LAST_LINES - 1
        left_out = f"… {len(lines) - first - _LAST_LINES:,} lines are left out …"
        lines = [*lines[:first], left_out, *lines[-_LAST_LINES:]]
    return "\n".join(lines).strip("\n")


def head_view(attention: Attention, layer: int | None, head: int | None) -> str:
    """Return the page of attention in a frame of its own, so that its scripts and styles stay inside."""
    page = str(document(attention_page(attention, layer, head)))
    height = 420 + 26 * len(attention.tokens)
    return f'<iframe srcdoc="{escape(page)}" width="100%" height="{height}" style="border:0"></iframe>'


@plot.register(EqualRows)
@plot.register(Inspection)
@plot.register(LabelExplanation)
@plot.register(Labelling)
@plot.register(LabelTraining)
@plot.register(PaddedBatch)
def _(record: LabRecord, ax: Axes | None) -> Axes:
    from search.render.picture import heat_map

    return heat_map(ax, grid_of(record))


@plot.register(EncoderComparison)
@plot.register(HeadAtWork)
@plot.register(LabelledIndex)
@plot.register(MaskPredictions)
@plot.register(ModelParameters)
@plot.register(ModuleTree)
@plot.register(NextSentence)
@plot.register(Tagging)
@plot.register(TagReport)
@plot.register(Tokenization)
@plot.register(Vocabulary)
def _bars(record: LabRecord, ax: Axes | None) -> Axes:
    from search.render.picture import bar_chart

    bars = bars_of(record)
    if len(bars.names) > MOST_LINES:
        title = f"{bars.title} (the first {MOST_LINES} of {len(bars.names):,})"
        bars = replace(
            bars, title=title, names=bars.names[:MOST_LINES], numbers=bars.numbers[:MOST_LINES]
        )
    return bar_chart(ax, bars)


@plot.register(Answers)
def _(reply: Answers, ax: Axes | None, *, by: AnswerUnit, rank: int) -> Axes:
    if by == "answer":
        return _bars(reply, ax)
    from search.lab.render.picture import answer_chart

    return answer_chart(ax, reply.span(rank))


@plot.register(TrainingReport)
def _(done: TrainingReport, ax: Axes | None) -> Axes:
    from search.lab.render.picture import training_curves

    return training_curves(ax, done)


@plot.register(TextComparison)
def _(pair: TextComparison, ax: Axes | None) -> Axes:
    from search.lab.render.charts import paired_bar_chart

    return paired_bar_chart(ax, paired_bars_of(pair, MOST_WORDS))


@plot.register(LayerProbes)
def _(probes: LayerProbes, ax: Axes | None) -> Axes:
    from search.lab.render.charts import layer_curves

    return layer_curves(ax, probes)


@plot.register(ContextualCosines)
def _(cosines: ContextualCosines, ax: Axes | None) -> Axes:
    from search.render.picture import heat_map

    drawn = grid_of(cosines)  # layers from left to right, as there may be many
    layers = list(map(str, range(len(drawn.rows))))
    return heat_map(ax, replace(drawn, rows=drawn.columns, columns=layers, cells=drawn.cells.T))


@plot.register(Positions)
def _(
    rows: Positions,
    ax: Axes | None,
    *,
    source: Literal["learned", "formula"],
    matrix: Literal["cosines", "vectors"],
) -> Axes:
    from search.lab.render.picture import position_map

    return position_map(ax, rows, source, matrix)


@plot.register(Attention)
def _(
    attention: Attention, ax: Axes | None, *, layer: int | None, head: int | None, limit: float | None
) -> Axes:
    from search.render.picture import heat_map

    return heat_map(ax, attention_grid(attention, layer, head, limit or 0))
