"""How good a model is on held-out rows, before, at checkpoints and after, by the code that applies it later."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from search.annotating.labels import Item, class_report
from search.bert.answering import SpanOptions, answer_from
from search.bert.labelling import Classifier
from search.bert.tagging import Tagger, chunks
from search.evaluating.asking import Plan
from search.evaluating.formats import Question, Sentence
from search.evaluating.metrics import answer_values, ranking_values
from search.evaluating.readers import ENTITY_FIGURES, best_answer, entity_counts, predicted_labels
from search.records.evaluations import ClassReport, Estimate
from search.statistics import Figure, accuracy, class_counts, estimated, macro_f1, pearson, spearman

_DEPTH = 100
Columns = Sequence[NDArray[Any]]


def key_of(text: str) -> str:
    """What two texts share that differ in spaces or case alone."""
    return " ".join(text.split()).casefold()


@dataclass(frozen=True)
class Figures:
    """Metrics with 95 % intervals, and the columns that they are figures of."""

    metrics: Mapping[str, Estimate]
    columns: Columns
    classes: ClassReport | None


@dataclass(frozen=True)
class Measure:
    """Held-out rows to measure models with.

    Attributes:
        figures: by name, of columns with a value for each row; checkpoints are compared by the first.
        said: what a model says of the rows.
        columns: of what was said; `report` by class, where there are classes.
    """

    figures: Mapping[str, Figure]
    said: Callable[[Any], Any]
    columns: Callable[[Any], Columns] = lambda said: said
    report: Callable[[Any], ClassReport | None] = lambda said: None
    seed: int = 0

    @property
    def primary(self) -> str:
        return next(iter(self.figures))

    def score(self, model: Any) -> float:
        """The metric that checkpoints are compared by."""
        return float(self.figures[self.primary](*self.columns(self.said(model)), axis=-1))

    def measured(self, model: Any) -> Figures:
        said = self.said(model)
        columns = self.columns(said)
        metrics = {name: estimated(of, *columns, seed=self.seed) for name, of in self.figures.items()}
        return Figures(metrics, columns, self.report(said))

    def difference(self, before: Figures, after: Figures) -> dict[str, Estimate]:
        """After less before; rows are drawn again with what was said of them both times."""
        both = (*before.columns, *after.columns)
        return {
            name: estimated(partial(_gap, of), *both, seed=self.seed) for name, of in self.figures.items()
        }


def _gap(figure: Figure, *both: NDArray[Any], axis: int = -1) -> Any:
    half = len(both) // 2
    return figure(*both[half:], axis=axis) - figure(*both[:half], axis=axis)


def _means(*names: str) -> dict[str, Figure]:
    """Of each column its mean."""
    return {name: partial(_mean, i) for i, name in enumerate(names)}


def _mean(number: int, *columns: NDArray[Any], axis: int = -1) -> Any:
    return np.mean(columns[number], axis=axis)


def correlation(pairs: Sequence[tuple[str, str]], scores: Sequence[float], seed: int) -> Measure:
    """Cosines of graded sentences and their scores, as the STS benchmark has it (Cer et al. 2017)."""
    texts = list(dict.fromkeys(text for pair in pairs for text in pair))

    def columns(model: Any) -> Columns:
        vectors = dict(zip(texts, _embeddings(model, texts, None), strict=True))
        return [np.array([vectors[a] @ vectors[b] for a, b in pairs]), np.array(scores)]

    return Measure({"spearman": spearman, "pearson": pearson}, columns, seed=seed)


def ranking(rows: Sequence[Sequence[str]], others: Sequence[Sequence[str]], seed: int) -> Measure:
    """Queries with their passages, among all passages that the data names; a query is no hit of itself."""
    passages = list({key_of(text): text for row in (*rows, *others) for text in row[1:]}.values())
    places = {key_of(text): str(i) for i, text in enumerate(passages)}
    grades: dict[str, dict[str, int]] = {}
    for query, passage, *_ in rows:
        grades.setdefault(key_of(query), {})[places[key_of(passage)]] = 1
    queries = {key_of(row[0]): row[0] for row in rows}
    names = ("ndcg@10", "mrr@10", "recall@10", "success@1")

    def columns(model: Any) -> Columns:
        scores = (
            _embeddings(model, list(queries.values()), "query") @ _embeddings(model, passages, "document").T
        )
        judged = []
        for query, row in zip(queries, scores, strict=True):
            best = map(str, np.argsort(-row, kind="stable")[: _DEPTH + 1].tolist())
            itself = {places.get(query)} - grades[query].keys()
            values = ranking_values([place for place in best if place not in itself], grades[query])
            judged.append([values[name] for name in names])
        return list(np.array(judged).T)

    return Measure(_means(*names), columns, seed=seed)


def _embeddings(model: Any, texts: list[str], role: str | None) -> NDArray[np.float64]:
    """Unit vectors by sentence-transformers, (n, d); what does not fit the model is cut."""
    encode = {
        "query": model.encode_query,
        "document": model.encode_document,
        None: partial(model.encode, prompt=""),
    }[role]
    vectors = encode(texts, batch_size=64, normalize_embeddings=True, show_progress_bar=False)
    return np.asarray(vectors, dtype=np.float64)


def labels(items: Sequence[Item], classes: Sequence[str], seed: int) -> Measure:
    """Texts with their labels."""
    texts, truth = [item.text for item in items], np.array([classes.index(item.label) for item in items])

    def said(head: Any) -> NDArray[np.float64]:
        return np.array([one.scores for one in Classifier(head)(texts)])

    def columns(said: NDArray[np.float64]) -> Columns:
        return list(class_counts(truth, said.argmax(axis=1), len(classes)))

    report = partial(class_report, classes, truth)
    return Measure({"macro_f1": macro_f1, "accuracy": accuracy}, said, columns, report, seed)


def entities(sentences: Sequence[Sentence], seed: int) -> Measure:
    """Sentences with their labelled words."""
    gold = [list(chunks(sentence.labels)) for sentence in sentences]

    def columns(head: Any) -> Columns:
        found = predicted_labels(Tagger(head), sentences, Plan())
        return list(entity_counts(gold, [list(chunks(labels)) for labels in found]))

    return Measure(ENTITY_FIGURES, columns, seed=seed)


def answers(asked: Sequence[tuple[Question, str]], seed: int) -> Measure:
    """Questions about paragraphs; where every one has an answer, the best span counts, however little it scores."""
    forced = all(question.answers for question, _ in asked)
    how = SpanOptions(answers=1)

    def columns(head: Any) -> Columns:
        values = []
        for question, text in asked:
            said = answer_from(question.text, [text], head, how, lambda *_: (1, 1, None))
            values.append(list(answer_values(best_answer(said, forced), question.answers).values()))
        exact, f1 = np.array(values).T
        return [f1, exact]

    return Measure(_means("f1", "exact_match"), columns, seed=seed)
