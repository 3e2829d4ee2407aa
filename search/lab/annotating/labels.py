"""Train and evaluate a linear head on frozen embeddings of labelled examples: `train_labels`.

An example is a text or a document of an index; each passage of the document becomes an example. The head is
scikit-learn's `LogisticRegressionCV` (multinomial, L2), which chooses the regularisation C by the log loss of held-out
examples. The metrics come from `cross_val_predict`: each fold is predicted by a head whose weights and C were
determined on the other folds only. Passages of one document are always in the same fold.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from search.encoding import Encoder
from search.encoding.models import DEFAULT_MODEL
from search.encoding.tokenizer import with_context
from search.errors import InputError
from search.lab.bert.labelling import LinearHead
from search.lab.records.predictions import Example, LabelReport, LabelTraining
from search.lab.records.training import ClassFigures, ClassReport
from search.records.options import EngineName, Pooling
from search.records.reports import Progress
from search.statistics import accuracy, class_counts, estimated, macro_f1
from search.store.database import read_meta
from search.store.home import is_own
from search.store.layout import DATABASE, find_index
from search.store.passages import content_key
from search.store.settings import fingerprint_of
from search.store.snapshot import Snapshot, Store

CS = (0.1, 1.0, 10.0, 100.0, 1000.0)


@dataclass(frozen=True)
class Item:
    """A text to train on.

    Attributes:
        context: a passage's headings, which are encoded before `text`; "" if there are none.
        group: name of the document, or the text itself; all items of a group are in the same fold.
    """

    context: str
    text: str
    label: str
    group: str


@dataclass(frozen=True, eq=False, repr=False)
class TrainedHead:
    """A head trained on all examples, and its cross-validated metrics, which a terminal and a notebook show."""

    head: LinearHead
    training: LabelTraining

    def __repr__(self) -> str:
        return repr(self.training)

    def _repr_html_(self) -> str:
        return str(self.training.drawer().html(self.training))


def train_labels(
    examples: Sequence[Example] | Sequence[tuple[str, str]],
    *,
    index: str | Path | None = None,
    model: str | None = None,
    pooling: Pooling | None = None,
    name: str = "label",
    folds: int = 5,
    seed: int = 0,
    source: str = "",
    offline: bool = False,
    engine: EngineName = "auto",
    progress: Callable[[Progress], None] | None = None,
) -> TrainedHead:
    """Train a linear head on the frozen embeddings of labelled examples.

    Duplicate texts count once, texts with contradictory labels are left out, and texts that are too long for the model
    are truncated. The notes in the result count these texts.

    Args:
        examples: examples with a text or with a path in `index`; or pairs of text and label.
        index: the index that provides the encoder and the documents; a folder, path or name as for `Index.open`.
        model: the encoder, if `index` is None; None takes the default model.
        pooling: pooling of the embeddings; None takes the pooling of the index or model.
        name: the attribute that the head predicts, such as "sentiment".
        folds: number of folds of the cross-validation, at least 2.
        seed: seed of the cross-validation, at least 0.
        source: file that contains the examples; its name is stored with the head.
        offline, engine: as for `Encoder`.
        progress: called while texts are encoded.

    Raises:
        InputError: there are fewer than two classes, a class has fewer examples than folds, an example has no text or
            no label, or both an index and a model are given.
    """
    if index is not None and model is not None:
        raise InputError("give either a model or an index: an index has its own model.")
    if folds < 2 or seed < 0:
        raise InputError("folds must be at least 2, seed at least 0.")
    place = None if index is None else find_index(index)
    samples = [
        example if isinstance(example, Example) else Example(text=example[0], label=example[1])
        for example in examples
    ]
    items, notes = gathered(samples, place)
    _check_classes(items, max(4, folds))
    if place is None:
        encoder = Encoder(model or DEFAULT_MODEL, pooling=pooling, offline=offline, engine=engine)
    else:
        recorded = fingerprint_of(read_meta(place / DATABASE))
        fingerprint = replace(recorded, pooling=pooling or recorded.pooling)
        encoder = Encoder.of(fingerprint, offline=offline, engine=engine, trusted=is_own(place))
    texts = [with_context(item.context, item.text) for item in items]

    def report_progress(done: int, total: int) -> None:
        if progress:
            progress(Progress("encoding", done, total, passages=len(texts), tokens=done))

    x = encoder.encode(texts, role="document", truncate=True, progress=report_progress)
    prompt = encoder.prompt("document")
    if cut := sum(
        len(encoder.tokenizer.encode(prompt + text).ids) > encoder.max_tokens for text in texts
    ):
        notes.append(f"{cut:,} texts were truncated to {encoder.max_tokens} tokens")
    weights, intercepts, report = _fitted(items, encoder, x.astype(np.float64), folds, seed)
    if len(items) < 100:
        notes.append(f"with only {len(items)} examples, the confidence intervals are rough")
    training = LabelTraining(name, source, report, tuple(notes))
    figures = {**asdict(report), "confusion": report.confusion.tolist()}
    trained = {"source": source, "cross_validation": figures, "notes": notes}
    head = LinearHead(name, report.classes, weights, intercepts, encoder.fingerprint, trained)
    return TrainedHead(head, training)


def _fitted(
    items: Sequence[Item], encoder: Encoder, x: NDArray[np.float64], folds: int, seed: int
) -> tuple[NDArray[np.float64], NDArray[np.float64], LabelReport]:
    """Return coefficients and intercepts of a head trained on all items, and its cross-validated metrics."""
    from sklearn import config_context
    from sklearn.linear_model import LogisticRegressionCV
    from sklearn.model_selection import StratifiedGroupKFold, cross_val_predict

    # A dependency of scikit-learn.
    from threadpoolctl import threadpool_limits

    classes, truth = np.unique([item.label for item in items], return_inverse=True)
    groups = np.unique([item.group for item in items], return_inverse=True)[1]
    division = StratifiedGroupKFold(folds, shuffle=True, random_state=seed)
    within = StratifiedGroupKFold(max(2, folds - 1), shuffle=True, random_state=seed)
    head = LogisticRegressionCV(Cs=list(CS), cv=within, scoring=_likelihood, max_iter=1000)
    # One thread is faster for small matrices.
    with threadpool_limits(1), warnings.catch_warnings(), config_context(enable_metadata_routing=True):
        warnings.simplefilter("ignore")
        probabilities = cross_val_predict(
            head, x, truth, cv=division, method="predict_proba", params={"groups": groups}
        )
        head.fit(x, truth, groups=groups)
    counts = class_counts(truth, probabilities.argmax(axis=1), len(classes), groups)
    report = LabelReport(
        model=encoder.model,
        pooling=encoder.pooling,
        examples=len(items),
        groups=int(groups.max()) + 1,
        folds=folds,
        seed=seed,
        c=float(np.ravel(head.C_)[0]),
        accuracy=estimated(accuracy, *counts, seed=seed),
        macro_f1=estimated(macro_f1, *counts, seed=seed),
        **vars(class_report(classes.tolist(), truth, probabilities)),
    )
    weights, intercepts = np.asarray(head.coef_), np.ravel(head.intercept_)
    # For two classes scikit-learn has one row; half of it for each class gives the same probabilities.
    if len(weights) == 1:
        weights = np.vstack([-weights, weights]) / 2
        intercepts = np.concatenate([-intercepts, intercepts]) / 2
    return weights, intercepts, report


def _likelihood(head: Any, x: NDArray[np.float64], truth: NDArray[np.float64]) -> float:
    """Return the mean log-likelihood; scikit-learn's own before 1.8 fails if all examples have one label."""
    from sklearn.metrics import log_loss

    return -log_loss(truth, head.predict_proba(x), labels=head.classes_)


def class_report(
    classes: Sequence[str], truth: NDArray[np.int64], probabilities: NDArray[np.float64]
) -> ClassReport:
    """Return scikit-learn's metrics by class, from the (n, c) probabilities of c classes."""
    from sklearn.metrics import classification_report, confusion_matrix

    predicted, numbers = probabilities.argmax(axis=1), range(len(classes))
    report = classification_report(
        truth, predicted, labels=numbers, target_names=classes, output_dict=True, zero_division=0
    )
    by_class = [
        ClassFigures(name, *(report[name][key] for key in ("precision", "recall", "f1-score", "support")))
        for name in classes
    ]
    many = np.bincount(truth, minlength=len(classes))
    return ClassReport(
        classes=tuple(classes),
        by_class=tuple(by_class),
        confusion=confusion_matrix(truth, predicted, labels=numbers),
        majority=classes[int(many.argmax())],
        majority_accuracy=float(many.max() / many.sum()),
    )


def gathered(examples: Sequence[Example], index: Path | None) -> tuple[list[Item], list[str]]:
    """Convert examples to distinct items, and return them with notes on the examples left out.

    Raises:
        InputError: an example has no text or label, or names a document but there is no index or no such
            document in it.
    """
    by_key: dict[bytes, list[Item]] = {}
    with nullcontext() if index is None else Store(index).reading() as snapshot:
        for number, example in enumerate(examples, 1):
            where = f"line {example.line}" if example.line else f"example {number}"
            for item in _items(snapshot, example, where):
                by_key.setdefault(content_key(item.context, item.text), []).append(item)
    kept = [same[0] for same in by_key.values() if len({item.label for item in same}) == 1]
    notes = []
    if repeated := sum(map(len, by_key.values())) - len(by_key):
        notes.append(f"{repeated:,} duplicate examples; each text counts once")
    if several := len(by_key) - len(kept):
        notes.append(f"{several:,} texts with contradictory labels left out")
    return kept, notes


def _items(snapshot: Snapshot | None, example: Example, where: str) -> list[Item]:
    """Convert an example to items: one for its text, or one for each passage of its document."""
    if not (label := example.label.strip()):
        raise InputError(f"{where} has no label. Add one, or delete the example.")
    if example.text is not None:
        if not (text := example.text.strip()):
            raise InputError(f"{where} has no text. Add one, or delete the example.")
        return [Item("", text, label, text)]
    if snapshot is None:
        raise InputError(f"{where} names a document of an index. Give the index with --index.")
    ids = snapshot.resolve(example.path or "").passages
    stored = snapshot.stored(ids)
    if not stored:
        raise InputError(f"{where} names '{example.path}', which is not in the index. Check the path.")
    passages = [stored[id_] for id_ in ids]
    return [Item(passage.context, passage.visible_text, label, passage.document) for passage in passages]


def _check_classes(items: Sequence[Item], least: int) -> None:
    """Raise InputError if there are fewer than two classes, or if a class has fewer than `least` groups."""
    groups: dict[str, set[str]] = {}
    for item in items:
        groups.setdefault(item.label, set()).add(item.group)
    if len(groups) < 2:
        has = f"all examples have the label '{next(iter(groups))}'" if groups else "there are no examples"
        raise InputError(f"at least two labels are needed, but {has}.")
    label, fewest = min(groups.items(), key=lambda pair: (len(pair[1]), pair[0]))
    if len(fewest) < least:
        raise InputError(
            f"the label '{label}' occurs in {len(fewest)} texts or documents, but {least} are "
            "needed. Use fewer --folds."
        )
