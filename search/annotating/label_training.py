"""Train a linear head on frozen embeddings, and say how good it is on examples that it has not seen.

scikit-learn's logistic regression (multinomial, L2), judged by stratified k-fold cross-validation. One division into
folds is a draw of luck: on 2,000 tweets accuracies of ten divisions lay between 0.610 and 0.625. So it is done
several times, and the figures are means over them. The head that is kept is trained on all examples.

How strongly to regularise, C, is chosen by the same divisions: by the log loss (the mean of -log of the probability
that the true class was given) on examples that were held out. What a fold is judged with was chosen by the other folds,
so that the figures stay honest; the head that is kept has the C that is best over all. Of the second division on, only
the best of the first and its two neighbours are tried.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from search.annotating.labelled_examples import (
    Embedded,
    Gathered,
    HeldOut,
    accuracy,
    calibration_error,
    check_classes,
    class_figures,
    embedded,
    gathered,
    macro_f1,
)
from search.bert.labelling import LinearHead
from search.encoding import Encoder, Fingerprint
from search.encoding.models import DEFAULT_MODEL
from search.errors import InputError
from search.records.predictions import Example, LabelReport, LabelTraining
from search.records.reports import Progress
from search.statistics import of_counts
from search.store.database import read_meta
from search.store.layout import DATABASE, find_index, is_own

_MOST_ITERATIONS = 1000
CS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0)  # those that are tried, from the strongest on
# Numbers; below, threads wait for each other: five fits of 1,600 x 384 took 18 s on two busy cores, in one thread 1.
_SMALL = 20_000_000


@dataclass(frozen=True)
class _Way:
    """How heads are fitted and judged."""

    folds: int
    repeats: int
    seed: int
    c: float | None


@dataclass(frozen=True, eq=False)
class TrainedHead:
    """A head, trained on all examples, and how good such heads are on examples that they have not seen."""

    head: LinearHead
    training: LabelTraining


def train_labels(
    examples: Sequence[Example] | Sequence[tuple[str, str]],
    *,
    index: str | Path | None = None,
    model: str | None = None,
    pooling: str | None = None,
    name: str = "label",
    folds: int = 5,
    repeats: int = 10,
    seed: int = 0,
    c: float | None = None,
    truncate: bool = False,
    source: str = "",
    offline: bool = False,
    engine: str = "auto",
    progress: Callable[[Progress], None] | None = None,
) -> TrainedHead:
    """Train a linear head on the frozen embeddings of labelled examples.

    A text that is there twice counts once; one with two labels is left out, and that is said in the notes. Passages of
    one document are never parted between training and test.

    Args:
        examples: with a text, or a passage or path of `index`; or pairs of text and label.
        index: whose embeddings are used, and whose encoder; a folder, path or name as for `Index.open`. Texts that it
            does not hold are encoded.
        model: the encoder without an index; None takes the default model.
        pooling: of the embeddings; None takes the index's or the model's own.
        name: of what is labelled, "sentiment".
        folds, repeats, seed: of the cross-validation.
        c: inverse strength of the regularisation, > 0; None chooses it by cross-validation, from 0.1 to 1,000.
        truncate: read the beginning of texts that are too long for the model, and say so.
        source: where the examples come from, to be remembered.
        offline, engine: as for `Encoder`.
        progress: called while texts are encoded and heads are fitted.

    Raises:
        InputError: fewer than two classes, a class with fewer examples than folds, an example without text or label,
            a text that is too long, or an index and another model.
    """
    way = _Way(folds, repeats, seed, c)
    if not name.strip():
        raise InputError("what is labelled needs a name, such as: sentiment")
    if index is not None and model is not None:
        raise InputError("an index has its own encoder. Leave the model out, or the index.")
    place = None if index is None else find_index(index)
    made = None if place is None else Fingerprint.from_dict(read_meta(place / DATABASE)["fingerprint"])
    named = [each if isinstance(each, Example) else Example(text=each[0], label=each[1]) for each in examples]
    found = gathered(named, place)
    check_classes(found, folds)
    trusted = place is not None and is_own(place)
    encoder = _encoder(made, trusted, model, pooling, offline, engine)
    same = made is not None and not encoder.fingerprint.differences(replace(made, passages=""))
    known = embedded(found.items, encoder, place if same else None, truncate=truncate, progress=progress)
    judged, losses = _judged(found, known.vectors, way, progress)
    report = _report(found, encoder, judged, losses, way)
    notes = tuple(_notes(found, known, report))
    training = LabelTraining(name, source, report, known.reused, known.encoded, notes)
    return TrainedHead(_kept(found, known.vectors, encoder, training), training)


def _encoder(
    made: Fingerprint | None,
    trusted: bool,
    model: str | None,
    pooling: str | None,
    offline: bool,
    engine: str,
) -> Encoder:
    """The encoder of an index, or of a model; with another pooling if that is asked for."""
    if made is None:
        return Encoder(model or DEFAULT_MODEL, pooling=pooling, offline=offline, engine=engine)
    made = replace(made, pooling=pooling or made.pooling)
    return Encoder.of(made, offline=offline, engine=engine, trusted=trusted)


def _judged(
    found: Gathered,
    vectors: NDArray[np.float32],
    way: _Way,
    progress: Callable[[Progress], None] | None,
) -> tuple[HeldOut, dict[float, list[float]]]:
    """What a head says of each example that it was not trained on; and C -> its log losses, one a division."""
    from sklearn.exceptions import ConvergenceWarning

    x, truth, groups = vectors.astype(np.float64), found.truth, found.groups
    probabilities = []
    losses: dict[float, list[float]] = {}
    cs: Sequence[float] = CS if way.c is None else (way.c,)
    with _threads(x), warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always", ConvergenceWarning)
        for repeat in range(way.repeats):
            folds = _folds(truth, groups, way.folds, way.seed + repeat)
            said = _said(x, truth, folds, cs)
            probabilities.append(_chosen(said, truth, folds))
            for c, one in said.items():
                losses.setdefault(c, []).append(float(_losses(one, truth).mean()))
            if repeat == 0:
                best = list(losses).index(_best(losses))
                cs = cs[max(0, best - 1) : best + 2]
            if progress:
                progress(Progress("fitting", repeat + 1, way.repeats, passages=len(x)))
    stopped = sum(issubclass(warning.category, ConvergenceWarning) for warning in warned)
    return HeldOut(truth, groups, np.stack(probabilities), stopped), losses


def _best(losses: Mapping[float, Sequence[float]]) -> float:
    """The C with the least mean, of those that every division has tried; of equal ones the smallest."""
    most = max(map(len, losses.values()))
    return min(losses, key=lambda c: (len(losses[c]) < most, float(np.mean(losses[c])), c))


_Division = list[tuple[NDArray[np.int64], NDArray[np.int64]]]


def _said(
    x: NDArray[np.float64], truth: NDArray[np.int64], folds: _Division, cs: Sequence[float]
) -> dict[float, NDArray[np.float64]]:
    """C -> (n, c) probabilities of examples that were held out; none of further Cs once two in a row were worse."""
    from sklearn.model_selection import cross_val_predict

    said: dict[float, NDArray[np.float64]] = {}
    losses: list[float] = []
    for c in cs:
        said[c] = cross_val_predict(_regression(c), x, truth, cv=folds, method="predict_proba")
        losses.append(float(_losses(said[c], truth).mean()))
        if len(losses) > 2 and losses[-1] > losses[-2] > losses[-3]:
            break
    return said


def _losses(probabilities: NDArray[np.float64], truth: NDArray[np.int64]) -> NDArray[np.float64]:
    """(n, c) probabilities -> (n,) -log of that of the true class."""
    given = probabilities[np.arange(len(truth)), truth]
    return np.asarray(-np.log(np.maximum(given, np.finfo(np.float64).tiny)))


def _chosen(
    said: dict[float, NDArray[np.float64]], truth: NDArray[np.int64], folds: _Division
) -> NDArray[np.float64]:
    """(n, c) probabilities, those of each fold with the C that is best on the other folds."""
    losses = {c: _losses(one, truth) for c, one in said.items()}
    found = np.empty_like(next(iter(said.values())))
    for train, test in folds:
        best = min(said, key=lambda c: (losses[c][train].mean(), c))
        found[test] = said[best][test]
    return found


def _folds(truth: NDArray[np.int64], groups: NDArray[np.int64], folds: int, seed: int) -> _Division:
    """Places to train on and to judge, fold by fold. What is of one group stays together."""
    from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

    apart = len(np.unique(groups)) == len(groups)
    kind = StratifiedKFold if apart else StratifiedGroupKFold
    division = kind(folds, shuffle=True, random_state=seed)
    found = list(division.split(np.zeros(len(truth)), truth, None if apart else groups))
    if any(len(np.unique(truth[train])) < len(np.unique(truth)) for train, _ in found):
        raise InputError(
            "a label stands in so few documents that a fold holds all of them. Use fewer --folds, or "
            "label more documents with it."
        )
    return found


def _regression(c: float) -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(C=c, max_iter=_MOST_ITERATIONS)


def _threads(x: NDArray[np.float64]) -> AbstractContextManager[Any]:
    """One thread for small matrices."""
    from threadpoolctl import threadpool_limits  # comes with scikit-learn

    return threadpool_limits(limits=1) if x.size < _SMALL else nullcontext()


def _report(
    found: Gathered, encoder: Encoder, judged: HeldOut, losses: dict[float, list[float]], way: _Way
) -> LabelReport:
    counts, confusion = judged.by_group(), judged.confusion()
    many = np.bincount(judged.truth)
    right = judged.predicted == judged.truth[None, :]
    return LabelReport(
        model=encoder.model,
        pooling=encoder.pooling,
        dimension=encoder.dimension,
        examples=len(found.items),
        groups=len(counts),
        classes=found.classes,
        folds=way.folds,
        repeats=way.repeats,
        seed=way.seed,
        c=_best(losses),
        log_losses={c: float(np.mean(each)) for c, each in losses.items()},
        accuracy=of_counts(counts, accuracy, seed=way.seed),
        macro_f1=of_counts(counts, macro_f1, seed=way.seed),
        majority=found.classes[int(many.argmax())],
        majority_accuracy=float(many.max() / many.sum()),
        by_class=class_figures(confusion, found.classes),
        confusion=confusion,
        calibration_error=calibration_error(judged.probabilities.max(axis=2).ravel(), right.ravel()),
        unconverged=judged.unconverged,
    )


def _notes(found: Gathered, vectors: Embedded, report: LabelReport) -> Iterator[str]:
    if found.repeated:
        many = "1 example repeats" if found.repeated == 1 else f"{found.repeated:,} examples repeat"
        yield f"{many} a text with the same label and {'counts' if found.repeated == 1 else 'count'} once"
    if found.contradictions:
        yield found.contradictions
    if vectors.cut:
        many = "1 text is" if vectors.cut == 1 else f"{vectors.cut:,} texts are"
        yield f"{many} longer than the model reads; the beginning of each was read"
    if report.unconverged:
        yield (
            f"{report.pooling}: {report.unconverged:,} fits stopped at "
            f"{_MOST_ITERATIONS:,} iterations before they had converged; take a smaller C"
        )
    if len(found.items) < 100:
        yield f"with only {len(found.items)} examples the intervals are rough"


def _kept(
    found: Gathered, vectors: NDArray[np.float32], encoder: Encoder, training: LabelTraining
) -> LinearHead:
    """The head, trained on all examples. Of two classes each gets half, so that softmax gives the same."""
    report = training.report
    x = vectors.astype(np.float64)
    with _threads(x), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it did not converge, which is noted
        fitted = _regression(report.c).fit(x, found.truth)
    weights, intercepts = np.asarray(fitted.coef_), np.asarray(fitted.intercept_)
    if len(weights) == 1:
        weights = np.vstack([-weights, weights]) / 2
        intercepts = np.concatenate([-intercepts, intercepts]) / 2
    trained = {
        "source": training.source,
        "converged": int(np.max(fitted.n_iter_)) < _MOST_ITERATIONS,
        "cross_validation": {**asdict(report), "confusion": report.confusion.tolist()},
        "notes": list(training.notes),
    }
    return LinearHead(training.name, report.classes, weights, intercepts, encoder.fingerprint, trained)
