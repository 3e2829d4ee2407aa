"""Results of the laboratory as pandas tables; registers them with `search.render.notebook`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from search.lab.records.encoder_comparisons import EncoderComparison, TextComparison
from search.lab.records.inspections import (
    Attention,
    ContextualCosines,
    Decoding,
    EqualRows,
    HeadAtWork,
    InputToken,
    Inspection,
    PaddedBatch,
    Positions,
    Tokenization,
    Vocabulary,
)
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
from search.lab.render.attention import attention_grid
from search.lab.render.drawings import bars_of, grid_of, guesses_of
from search.lab.render.inspection import compared, embedding_lengths
from search.render.format import letters
from search.render.notebook import frame

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = ["frame"]


def _table(rows: Any, **how: Any) -> DataFrame:
    import pandas

    return pandas.DataFrame(rows, **how)


@frame.register(Attention)
def _(attention: Attention, *, layer: int | None, head: int | None) -> DataFrame:
    weights = attention_grid(attention, layer, head)
    names = [f"{i}:{name}" for i, name in enumerate(weights.rows)]
    return _table(weights.cells, index=names, columns=names)


@frame.register(ContextualCosines)
def _(cosines: ContextualCosines) -> DataFrame:
    return _table(dict(zip(*compared(cosines), strict=True))).rename_axis("layer")


@frame.register(Inspection)
def _(inspected: Inspection) -> DataFrame:
    names, lengths = embedding_lengths(inspected)
    table = _tokens(inspected.tokens)
    for name, column in zip(names, np.transpose(lengths), strict=True):
        table[f"|{name}|"] = column
    states = np.linalg.norm(inspected.states[1:].astype(np.float64), axis=2)
    for layer, column in enumerate(states, 1):
        table[f"|layer {layer}|"] = column
    return table


@frame.register(Tokenization)
def _(read: Tokenization) -> DataFrame:
    return _tokens(read.tokens)


def _tokens(tokens: tuple[InputToken, ...]) -> DataFrame:
    return _table([vars(token) for token in tokens])


@frame.register(Vocabulary)
def _(summary: Vocabulary) -> DataFrame:
    bars = bars_of(summary)
    return _table({bars.unit: bars.numbers}, index=bars.names)


@frame.register(Positions)
def _(
    rows: Positions, *, source: Literal["learned", "formula"], matrix: Literal["cosines", "vectors"]
) -> DataFrame:
    if matrix == "cosines":
        return _table(rows.cosines[source == "formula"])
    return _table(rows.formula if source == "formula" else rows.learned)


@frame.register(PaddedBatch)
def _(batch: PaddedBatch) -> DataFrame:
    return _table(
        [
            {
                "text": letters(i),
                "position": j,
                "token": batch.tokens[i][j],
                "id": id_,
                "mask": int(batch.mask[i, j]),
            }
            for i, ids in enumerate(batch.ids.tolist())
            for j, id_ in enumerate(ids)
        ]
    )


@frame.register(HeadAtWork)
def _(work: HeadAtWork) -> DataFrame:
    return _table(
        {
            "token": [token.text for token in work.tokens],
            "q.k": work.products,
            "scaled": work.scaled,
            "softmax": work.weights,
            "|v|": np.linalg.norm(work.values, axis=1),
        }
    )


@frame.register(EqualRows)
@frame.register(LabelExplanation)
def _(record: EqualRows | LabelExplanation) -> DataFrame:
    drawn = grid_of(record)
    return _table(drawn.cells, index=drawn.rows, columns=drawn.columns)


@frame.register(ModelParameters)
def _(tensors: ModelParameters) -> DataFrame:
    return _table(
        [
            {"shape": tensor.shape, "numbers": tensor.size, "type": str(tensor.dtype)}
            for tensor in tensors.values()
        ],
        index=list(tensors),
    )


@frame.register(ModuleTree)
def _(tree: ModuleTree) -> DataFrame:
    return _table([vars(module) for module in tree.modules])


@frame.register(Decoding)
def _(decoding: Decoding) -> DataFrame:
    return _table([vars(entry) for entry in decoding.entries])


@frame.register(LabelTraining)
def _(trained: LabelTraining) -> DataFrame:
    return _table([vars(figures) for figures in trained.report.by_class])


@frame.register(TrainingReport)
def _(done: TrainingReport) -> DataFrame:
    curves = {"loss": done.losses, done.primary: done.scores}
    return _table(
        [
            {"step": point.step, "figure": name, "value": point.value}
            for name, curve in curves.items()
            for point in curve
        ]
    )


@frame.register(EncoderComparison)
def _(comparison: EncoderComparison) -> DataFrame:
    return _table(
        [
            {
                "query": query.query,
                "overlap": query.overlap,
                "correlation": query.correlation,
                "gained": len(query.gained),
                "lost": len(query.lost),
            }
            for query in comparison.queries
        ]
    )


@frame.register(TextComparison)
def _(pair: TextComparison) -> DataFrame:
    return _table(
        [
            {"word": word.text, "first": word.first, "second": word.second, "difference": word.difference}
            for word in pair.shares.words
        ]
    )


@frame.register(LayerProbes)
def _(probes: LayerProbes) -> DataFrame:
    return _table(
        [
            {
                "task": task.name,
                "layer": score.layer,
                "accuracy": score.accuracy.mean,
                "low": score.accuracy.low,
                "high": score.accuracy.high,
                "control": score.control.mean,
                "selectivity": score.selectivity,
            }
            for task in probes.tasks
            for score in task.layers
        ]
    )


@frame.register(MaskPredictions)
def _(guessed: MaskPredictions) -> DataFrame:
    return _table([{"mask": mask, **vars(guess)} for mask, guess in guesses_of(guessed)])


@frame.register(NextSentence)
def _(pair: NextSentence) -> DataFrame:
    bars = bars_of(pair)
    return _table({"probability": bars.numbers, "logit": pair.logits}, index=bars.names)


@frame.register(Labelling)
def _(labelled: Labelling) -> DataFrame:
    texts = [text.text for text in labelled.texts]
    cells = np.array([text.scores for text in labelled.texts]).reshape(len(texts), -1)
    return _table(cells, index=texts, columns=list(labelled.classes))


@frame.register(Tagging)
def _(tagging: Tagging) -> DataFrame:
    return _table(
        [
            {"word": word.text, "token": piece.text, "first": i == 0}
            | {name: getattr(piece, name) for name in ("label", "score", "start", "end")}
            for word in tagging.words
            for i, piece in enumerate(word.pieces)
        ]
    )


@frame.register(LabelledIndex)
def _(done: LabelledIndex) -> DataFrame:
    return _table({"passages": done.counts})


@frame.register(TagReport)
def _(done: TagReport) -> DataFrame:
    return _table(
        [
            {"field": field.field, "value": value, "mentions": count}
            for field in done.fields
            for value, count in field.frequent
        ],
        columns=["field", "value", "mentions"],
    )


_OF_ANSWER = ("rank", "text", "score", "margin", "probability", "start_logit", "end_logit", "null_score")
_PLACE = ("path", "line_start", "start", "end")


@frame.register(Answers)
def _(reply: Answers, *, by: AnswerUnit, rank: int) -> DataFrame:
    if by == "answer":
        names = (*_OF_ANSWER, *_PLACE)
        return _table(
            [{name: getattr(span, name) for name in names} for span in reply.spans], columns=names
        )
    answer = reply.span(rank)
    window = answer.window
    return _table(
        {
            "token": window.tokens,
            "candidate": np.isin(np.arange(len(window.tokens)), window.candidates),
            "answer": [answer.first <= i <= answer.last for i in range(len(window.tokens))],
            "start_logit": window.start_logits,
            "end_logit": window.end_logits,
            "start_probability": window.start_probabilities,
            "end_probability": window.end_probabilities,
        }
    )
