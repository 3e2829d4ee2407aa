"""Evaluators of models on held-out rows: metrics with intervals, for the encoder and for task heads."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import eq
from typing import Any

import numpy as np
from numpy.typing import NDArray

from search.evaluating.formats import SquadQuestion
from search.evaluating.metrics import MetricPlan, ranking_values
from search.lab.annotating.labels import Item, class_report
from search.lab.bert.answering import answer_from
from search.lab.bert.labelling import Classifier
from search.lab.bert.tagging import Tagger, chunks
from search.lab.evaluating.formats import Sentence
from search.lab.evaluating.metrics import answer_values, share
from search.lab.evaluating.readers import ENTITY_FIGURES, best_answer, entity_counts, predicted_labels
from search.lab.records.training import ClassReport
from search.records.evaluations import Estimate
from search.statistics import MetricFn, accuracy, class_counts, estimated, macro_f1, pearson, spearman

_DEPTH = 100


Columns = Sequence[NDArray[Any]]


def key_of(text: str) -> str:
    """Return a key that is the same for texts that differ only in white space and case."""
    return " ".join(text.split()).casefold()


@dataclass(frozen=True)
class Figures:
    """Metrics with 95 % intervals, and the columns that they are computed from."""

    metrics: Mapping[str, Estimate]
    columns: Columns
    classes: ClassReport | None


@dataclass(frozen=True)
class Evaluator:
    """Functions that compute the metrics of a model on held-out rows.

    Attributes:
        figures: name -> function that computes a metric from columns; the first metric compares checkpoints.
        predict: returns a model's predictions for the rows.
        columns: converts predictions to columns, which are arrays with one value per row.
        report: converts predictions to a report by class; None if there are no classes.
        right: returns from the columns for each row whether its prediction is entirely right; None for an encoder.
        unanswerable: for each row, True if it is a question without an answer; None if rows are no questions.
    """

    figures: Mapping[str, MetricFn]
    predict: Callable[[Any], Any]
    columns: Callable[[Any], Columns] = lambda predictions: predictions
    report: Callable[[Any], ClassReport | None] = lambda predictions: None
    seed: int = 0
    right: Callable[[Columns], NDArray[np.bool_]] | None = None
    unanswerable: NDArray[np.bool_] | None = None

    @property
    def primary(self) -> str:
        return next(iter(self.figures))

    def score(self, model: Any) -> float:
        """Return the metric that compares checkpoints."""
        return float(self.figures[self.primary](*self.columns(self.predict(model)), axis=-1))

    def measured(self, model: Any) -> Figures:
        predictions = self.predict(model)
        columns = self.columns(predictions)
        metrics = {name: estimated(of, *columns, seed=self.seed) for name, of in self.figures.items()}
        return Figures(metrics, columns, self.report(predictions))

    def difference(self, before: Figures, after: Figures) -> dict[str, Estimate]:
        """Estimate each metric's change, after minus before; the bootstrap resamples a row's two values together."""
        both = (*before.columns, *after.columns)
        return {
            name: estimated(partial(_gap, of), *both, seed=self.seed) for name, of in self.figures.items()
        }


def _gap(figure: MetricFn, *both: NDArray[Any], axis: int = -1) -> Any:
    half = len(both) // 2
    return figure(*both[half:], axis=axis) - figure(*both[:half], axis=axis)


def _means(*names: str) -> dict[str, MetricFn]:
    """Return metrics by name, each the mean of one column: the first name belongs to the first column, and so on."""
    return {name: partial(_mean, i) for i, name in enumerate(names)}


def _mean(number: int, *columns: NDArray[Any], axis: int = -1) -> Any:
    return np.mean(columns[number], axis=axis)


def correlation(pairs: Sequence[tuple[str, str]], scores: Sequence[float], seed: int) -> Evaluator:
    """Return the `Evaluator` of graded pairs: correlation of cosines and scores (Cer et al. 2017, STS)."""
    texts = list(dict.fromkeys(text for pair in pairs for text in pair))

    def columns(model: Any) -> Columns:
        vectors = dict(zip(texts, _embeddings(model, texts, None), strict=True))
        return [np.array([vectors[a] @ vectors[b] for a, b in pairs]), np.array(scores)]

    return Evaluator({"spearman": spearman, "pearson": pearson}, columns, seed=seed)


def ranking(rows: Sequence[Sequence[str]], others: Sequence[Sequence[str]], seed: int) -> Evaluator:
    """Return the `Evaluator` of pairs and triplets: each query ranks all passages of the data.

    A query that is also a passage is not a hit for itself.

    Args:
        rows: held-out rows: query, passage, and a negative passage if there is one.
        others: training rows; their passages are ranked, too.
    """
    passages = list({key_of(text): text for row in (*rows, *others) for text in row[1:]}.values())
    places = {key_of(text): str(i) for i, text in enumerate(passages)}
    grades: dict[str, dict[str, int]] = {}
    for query, passage, *_ in rows:
        grades.setdefault(key_of(query), {})[places[key_of(passage)]] = 1
    queries = {key_of(row[0]): row[0] for row in rows}
    names = ("ndcg@10", "mrr@10", "recall@10")

    def columns(model: Any) -> Columns:
        scores = (
            _embeddings(model, list(queries.values()), "query")
            @ _embeddings(model, passages, "document").T
        )
        judged = []
        for query, row in zip(queries, scores, strict=True):
            best = map(str, np.argsort(-row, kind="stable")[: _DEPTH + 1].tolist())
            itself = {places.get(query)} - grades[query].keys()
            values = ranking_values([place for place in best if place not in itself], grades[query])
            judged.append([values[name] for name in names])
        return list(np.array(judged).T)

    return Evaluator(_means(*names), columns, seed=seed)


def _embeddings(model: Any, texts: list[str], role: str | None) -> NDArray[np.float64]:
    """Encode texts to (n, d) unit vectors; texts are truncated at the model's token limit."""
    encode = {
        "query": model.encode_query,
        "document": model.encode_document,
        None: partial(model.encode, prompt=""),
    }[role]
    vectors = encode(texts, batch_size=64, normalize_embeddings=True, show_progress_bar=False)
    return np.asarray(vectors, dtype=np.float64)


def labels(items: Sequence[Item], classes: Sequence[str], seed: int) -> Evaluator:
    """Return the `Evaluator` of a classifier on labelled texts."""
    texts, truth = [item.text for item in items], np.array([classes.index(item.label) for item in items])

    def predict(head: Any) -> NDArray[np.float64]:
        return np.array([result.scores for result in Classifier(head)(texts)])

    def columns(scores: NDArray[np.float64]) -> Columns:
        return list(class_counts(truth, scores.argmax(axis=1), len(classes)))

    report = partial(class_report, classes, truth)

    def right(columns: Columns) -> NDArray[np.bool_]:
        # The first columns are the true positives of each class.
        return np.sum(columns[: len(classes)], axis=0) == 1

    return Evaluator({"macro_f1": macro_f1, "accuracy": accuracy}, predict, columns, report, seed, right)


def entities(sentences: Sequence[Sentence], seed: int) -> Evaluator:
    """Return the `Evaluator` of a tagger on sentences of labelled words."""
    gold = [list(chunks(sentence.labels)) for sentence in sentences]

    def columns(head: Any) -> Columns:
        predicted = predicted_labels(Tagger(head), sentences, MetricPlan())
        return list(entity_counts(gold, [list(chunks(labels)) for labels in predicted]))

    def right(columns: Columns) -> NDArray[np.bool_]:
        correct, predicted, expected = columns
        return np.asarray((correct == predicted) & (correct == expected))

    return Evaluator(ENTITY_FIGURES, columns, seed=seed, right=right)


def word_labels(sentences: Sequence[Sentence], seed: int) -> Evaluator:
    """Return the `Evaluator` of a tagger on sentences in which every word has a label: the share of right words."""

    def columns(head: Any) -> Columns:
        predicted = predicted_labels(Tagger(head), sentences, MetricPlan())
        counts = [
            (sum(map(eq, labels, sentence.labels)), len(sentence.labels))
            for labels, sentence in zip(predicted, sentences, strict=True)
        ]
        return list(np.array(counts).T)

    def right(columns: Columns) -> NDArray[np.bool_]:
        correct, words = columns
        return np.asarray(correct == words)

    figures: dict[str, MetricFn] = {"accuracy": lambda right, words, axis=-1: share(right, words, axis)}
    return Evaluator(figures, columns, seed=seed, right=right)


def answers(rows: Sequence[tuple[SquadQuestion, str]], seed: int) -> Evaluator:
    """Return the `Evaluator` of a reader on questions about paragraphs.

    If every question has an answer, the best span counts even if "no answer" scores higher.
    """
    forced = all(question.answers for question, _ in rows)

    def columns(head: Any) -> Columns:
        values = []
        for question, text in rows:
            predicted = answer_from(question.text, [text], head, 1, lambda *_: (1, 1, None))
            values.append(list(answer_values(best_answer(predicted, forced), question.answers).values()))
        exact, f1 = np.array(values).T
        return [f1, exact]

    def right(columns: Columns) -> NDArray[np.bool_]:
        _, exact = columns
        return np.asarray(exact == 1)

    unanswerable = np.array([not question.answers for question, _ in rows])
    figures = _means("f1", "exact_match")
    return Evaluator(figures, columns, seed=seed, right=right, unanswerable=unanswerable)
