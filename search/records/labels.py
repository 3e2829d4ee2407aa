"""Texts and their labels: what a classifier says, how good it is, and what its logits are made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from search.records.evaluations import Comparison, Estimate
    from search.records.tokens import Token
    from search.records.words import Word


@dataclass(frozen=True)
class LabelledText:
    """One text and what a classifier says of it.

    Attributes:
        label: the class with the highest probability, `score`.
        labels: (label,); where classes do not exclude each other all with a probability of 0.5 or more, best first,
            none perhaps.
        scores: the probability of every class, in the order of `Labelling.classes`.
        windows: how many inputs the text was read in; 1 where it fits the model.
    """

    text: str
    label: str
    score: float
    labels: tuple[str, ...]
    scores: tuple[float, ...]
    windows: int = 1


@dataclass(frozen=True)
class Labelling:
    """Texts and their labels.

    Attributes:
        classifier: name of the checkpoint, or of the head.
        model, pooling: of the embeddings that a head reads; the checkpoint and "" without a head.
        classes: c names.
        exclusive: the probabilities of a text sum to 1 (softmax); otherwise each class has its own (sigmoid).
    """

    classifier: str
    model: str
    pooling: str
    classes: tuple[str, ...]
    exclusive: bool
    texts: tuple[LabelledText, ...]


@dataclass(frozen=True)
class LabelledIndex:
    """What labelling an index did.

    Attributes:
        index: its folder.
        name: of the field that filters can use; its score is in the field `name`_score.
        classifier: the checkpoint or the head.
        passages: in the index.
        labelled: in this run; `before` had been labelled already.
        counts: label -> passages of the whole index that have it; "" counts those with none.
        windowed: passages of this run that did not fit the classifier and were read in several windows.
        notes: sentences about what has to be known.
    """

    index: str
    name: str
    classifier: str
    classes: tuple[str, ...]
    exclusive: bool
    passages: int
    labelled: int
    before: int
    counts: Mapping[str, int]
    windowed: int = 0
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Example:
    """A labelled example to train on: a text, or a passage or a document of an index.

    Attributes:
        text: the text; None where `passage` or `path` names what is meant.
        passage: id of a passage of the index.
        path: of a document of the index; each of its passages is an example.
        line: where it stands in a file, 0 for none.
    """

    label: str
    text: str | None = None
    passage: int | None = None
    path: str | None = None
    line: int = 0


@dataclass(frozen=True)
class ClassFigures:
    """One class: precision, recall and F1 in [0, 1], and how many examples there are of it."""

    label: str
    precision: float
    recall: float
    f1: float
    support: int


@dataclass(frozen=True)
class CalibrationBin:
    """Predictions whose probability lies in [low, high) (the last bin holds 1, too).

    Attributes:
        count: how many predictions.
        confidence: mean of their probabilities.
        accuracy: share of them that are right.
    """

    low: float
    high: float
    count: int
    confidence: float
    accuracy: float


@dataclass(frozen=True)
class Calibration:
    """Whether what is said with 80 % is right in 80 % of the cases (Guo et al. 2017, "On Calibration of Modern Neural
    Networks").

    Attributes:
        bins: those that hold predictions, low ones first.
        error: the expected calibration error, in [0, 1]: mean of |accuracy - confidence| over predictions, by bins.
    """

    bins: tuple[CalibrationBin, ...]
    error: float


@dataclass(frozen=True, eq=False)
class LabelReport:
    """How good a linear head is on examples that it was not trained on.

    Attributes:
        model, pooling, dimension: of the embeddings.
        examples: n; in `groups` that were never parted between training and test.
        classes: c names.
        folds, repeats, seed: of the cross-validation, which divides the examples anew `repeats` times.
        c: inverse strength of the L2 regularisation, as scikit-learn has it.
        accuracy, macro_f1: over all examples, each judged by heads that had not seen it.
        majority: the most frequent class; `majority_accuracy` is what always saying it reaches.
        by_class: in the order of `classes`.
        confusion: (c, c) examples by true class (rows) and predicted class (columns), means over the repeats.
        calibration: of the predictions on examples that were not trained on.
        iterations: most that a fit took; `unconverged` fits stopped at the limit instead.
    """

    model: str
    pooling: str
    dimension: int
    examples: int
    groups: int
    classes: tuple[str, ...]
    folds: int
    repeats: int
    seed: int
    c: float
    accuracy: Estimate
    macro_f1: Estimate
    majority: str
    majority_accuracy: float
    by_class: tuple[ClassFigures, ...]
    confusion: NDArray[np.float64]
    calibration: Calibration
    iterations: int
    unconverged: int


@dataclass(frozen=True, eq=False)
class LabelTraining:
    """What training a linear head found.

    Attributes:
        name: of the label.
        source: where the examples come from, "" for none.
        reports: one a pooling; the head was trained on the embeddings of the first.
        comparisons: every later pooling with the first, accuracy and macro F1.
        reused: embeddings that were taken from the index; `encoded` went through the model. Of the first pooling.
        notes: sentences about what has to be known to read the figures.
    """

    name: str
    source: str
    reports: tuple[LabelReport, ...]
    comparisons: tuple[Comparison, ...]
    reused: int
    encoded: int
    notes: tuple[str, ...] = ()

    @property
    def report(self) -> LabelReport:
        """Of the first pooling."""
        return self.reports[0]


@dataclass(frozen=True, eq=False)
class LabelExplanation:
    """The logits of a text, taken apart into what each token adds.

    Attributes:
        text, tokens, words: n tokens, special ones included; words are merged tokens.
        classes: c names.
        logits: (c,) as they were computed from the embedding; `probabilities` their softmax.
        contributions: (n, c) what each token adds to the logit of each class.
        intercepts: (c,) what a class has before anything is read.
        label: the class with the highest logit.
    """

    text: str
    tokens: tuple[Token, ...]
    words: tuple[Word, ...]
    classes: tuple[str, ...]
    logits: NDArray[np.float64]
    probabilities: NDArray[np.float64]
    contributions: NDArray[np.float64]
    intercepts: NDArray[np.float64]
    label: str
    head: str
    model: str
    pooling: str

    @property
    def residual(self) -> NDArray[np.float64]:
        """(c,) the logits less all their addends: rounding, when everything is right."""
        return self.logits - self.contributions.sum(axis=0) - self.intercepts

    @property
    def by_word(self) -> NDArray[np.float64]:
        """(words, c) sums of the tokens' addends."""
        import numpy as np

        return np.array([self.contributions[slice(*word.tokens)].sum(axis=0) for word in self.words])
