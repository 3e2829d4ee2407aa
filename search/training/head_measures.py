"""How good a head is on held-out data: by the code that applies heads, and the figures that `seewhy eval` prints.

Labels     texts: accuracy, macro F1
Entities   sentences: F1, precision and recall of whole entities
Spans      questions: exact match and F1
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from search.annotating.labelled_examples import (
    HeldOut,
    Item,
    accuracy,
    calibration_error,
    class_figures,
    macro_f1,
)
from search.bert.answering import SpanOptions, answer_from
from search.bert.checkpoint import Head
from search.bert.labelling import Classifier
from search.bert.tagging import NO_ENTITY, Tagger, chunks, parsed
from search.evaluating.answering import answer_values
from search.evaluating.dataset import AnsweredQuestion
from search.evaluating.entities import Sentence, entity_counts, entity_figures, figure_of, words_said
from search.records.evaluations import ClassFigures, ClassReport, Estimate
from search.statistics import mean_of, of_counts
from search.training.measures import Figures

Figure = Callable[[NDArray[np.float64]], NDArray[np.float64]]  # (r, k) sums of counts -> (r,)


class _Counted(ABC):
    """Figures of counts that are summed over rows, (n, k)."""

    primary: str

    def __init__(self, named: Mapping[str, Figure], seed: int) -> None:
        self._named, self._seed = named, seed

    @abstractmethod
    def _said(self, head: Head) -> Any:
        """What the head says of the rows."""

    @abstractmethod
    def _counts(self, said: Any) -> NDArray[np.float64]: ...

    @abstractmethod
    def _classes(self, said: Any) -> ClassReport: ...

    def score(self, head: Head) -> float:
        sums = self._counts(self._said(head)).sum(axis=0)[None]
        return float(self._named[self.primary](sums)[0])

    def figures(self, head: Head) -> Figures:
        said = self._said(head)
        counts = self._counts(said)
        metrics = {name: of_counts(counts, figure, seed=self._seed) for name, figure in self._named.items()}
        return Figures(metrics, {"counts": counts}, self._classes(said))

    def difference(self, before: Figures, after: Figures) -> dict[str, Estimate]:
        """After less before; rows are drawn again with what was said of them both times."""
        both = np.hstack([before.values["counts"], after.values["counts"]])
        return {
            name: of_counts(both, partial(_gap, figure), seed=self._seed)
            for name, figure in self._named.items()
        }


def _gap(figure: Figure, sums: NDArray[np.float64]) -> NDArray[np.float64]:
    before, after = np.split(sums, 2, axis=1)
    return figure(after) - figure(before)


class Labels(_Counted):
    """Texts with their labels."""

    primary = "macro_f1"

    def __init__(self, items: Sequence[Item], classes: tuple[str, ...], seed: int) -> None:
        super().__init__({"accuracy": accuracy, "macro_f1": macro_f1}, seed)
        self._texts = [item.text for item in items]
        self._classes_of = classes
        self._truth = np.array([classes.index(item.label) for item in items])

    def _said(self, head: Head) -> HeldOut:
        probabilities = np.array([said.scores for said in Classifier(head)(self._texts)])
        return HeldOut(self._truth, np.arange(len(self._truth)), probabilities[None], 0)

    def _counts(self, said: HeldOut) -> NDArray[np.float64]:
        return said.by_group()

    def _classes(self, said: HeldOut) -> ClassReport:
        confusion = said.confusion()
        figures = class_figures(confusion, self._classes_of)
        (predicted,) = said.predicted
        return _report(
            self._classes_of, figures, confusion, said.probabilities[0].max(axis=1), predicted == self._truth
        )


class Entities(_Counted):
    """Sentences with their labelled words."""

    primary = "f1"

    def __init__(self, sentences: Sequence[Sentence], seed: int) -> None:
        names = {"f1": "f1-score", "precision": "precision", "recall": "recall"}
        super().__init__({name: partial(figure_of, theirs) for name, theirs in names.items()}, seed)
        self._sentences = sentences
        self._gold = [list(chunks(sentence.labels)) for sentence in sentences]

    def _said(self, head: Head) -> Any:
        return words_said(Tagger(head), self._sentences)[0]

    def _found(self, said: Any) -> list[list[tuple[str, int, int]]]:
        return [list(chunks([word.label for word in words])) for words in said]

    def _counts(self, said: Any) -> NDArray[np.float64]:
        return entity_counts(self._gold, self._found(said), None)

    def _classes(self, said: Any) -> ClassReport:
        lengths = [len(sentence.words) for sentence in self._sentences]
        _, types = entity_figures(self._gold, self._found(said), lengths, self._seed)
        figures = tuple(
            ClassFigures(one.name, one.precision.mean, one.recall.mean, one.f1.mean, one.gold)
            for one in types
        )
        names = (NO_ENTITY, *(one.name for one in types))
        gold = [names.index(_kind(label)) for sentence in self._sentences for label in sentence.labels]
        found = [names.index(_kind(word.label)) for words in said for word in words]
        confusion = np.zeros((len(names),) * 2)
        np.add.at(confusion, (gold, found), 1)
        confidences = np.array([word.score for words in said for word in words])
        return _report(names, figures, confusion, confidences, np.array(gold) == np.array(found))


def _kind(label: str) -> str:
    return parsed(label)[1] or NO_ENTITY


def _report(
    names: tuple[str, ...],
    figures: tuple[ClassFigures, ...],
    confusion: NDArray[np.float64],
    confidences: NDArray[np.float64],
    right: NDArray[np.bool_],
) -> ClassReport:
    there = confusion.sum(axis=1)
    return ClassReport(
        classes=names,
        by_class=figures,
        confusion=confusion.astype(np.int64),
        majority=names[int(there.argmax())],
        majority_accuracy=float(there.max() / there.sum()),
        calibration_error=calibration_error(confidences, right),
    )


@dataclass(frozen=True)
class Asked:
    """A question with the paragraph that it is about."""

    question: AnsweredQuestion
    text: str


class Spans:
    """Questions about paragraphs; where every one has an answer, the best span counts, however little it scores."""

    primary = "f1"

    def __init__(self, asked: Sequence[Asked], seed: int) -> None:
        self._asked, self._seed = asked, seed
        self._forced = all(one.question.answers for one in asked)

    def score(self, head: Head) -> float:
        return float(self._values(head)[self.primary].mean())

    def figures(self, head: Head) -> Figures:
        values = self._values(head)
        return Figures({name: mean_of(each, seed=self._seed) for name, each in values.items()}, values)

    def difference(self, before: Figures, after: Figures) -> dict[str, Estimate]:
        """After less before, of the same questions."""
        return {
            name: mean_of(after.values[name] - each, seed=self._seed) for name, each in before.values.items()
        }

    def _values(self, head: Head) -> dict[str, NDArray[np.float64]]:
        judged = [answer_values(self._answer(head, one), one.question.answers) for one in self._asked]
        return {name: np.array([values[name] for values in judged]) for name in ("exact_match", "f1")}

    def _answer(self, head: Head, asked: Asked) -> str:
        how = SpanOptions(answers=1)
        said = answer_from(asked.question.text, [asked.text], head, how, lambda *_: (1, 1, None, ""))
        best = said.answers[0] if said.answers else said.nearest if self._forced else None
        return best.text if best else ""
