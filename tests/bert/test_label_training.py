"""Training a linear head: figures against scikit-learn's own, examples of every kind, and what is refused."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import (
    accuracy_score,
    confusion_matrix,
    f1_score,
    log_loss,
    precision_recall_fscore_support,
)
from sklearn.model_selection import StratifiedKFold, cross_val_predict

import search
from search.annotating.labelled_examples import calibration_error, class_figures, macro_f1
from search.bert import TrainedHead, train_labels
from search.encoding import Encoder
from search.errors import InputError
from search.records.predictions import Example, LabelReport
from tests.conftest import DATA, WORDS

KINDS = ("door", "time", "water")


def texts_of(number: int, seed: int = 0) -> list[tuple[str, str]]:
    """Texts of a few words, labelled by a word that most of them hold."""
    chance = np.random.default_rng(seed)
    found = {}
    while len(found) < number:
        kind = KINDS[int(chance.integers(3))]
        words = list(chance.choice(WORDS, size=3))
        if chance.random() < 0.8:
            words += [kind] * 3
        found[" ".join(words)] = kind
    return list(found.items())


@pytest.fixture(scope="module")
def pairs() -> list[tuple[str, str]]:
    return texts_of(90)


@pytest.fixture(scope="module")
def trained(pairs: list[tuple[str, str]], tiny_model: Path) -> TrainedHead:
    return train_labels(pairs, model=str(tiny_model), folds=3, repeats=1, seed=5, c=1.0)


def reference(pairs: list[tuple[str, str]], encoder: Encoder) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Truth, predictions and probabilities of scikit-learn's own cross-validation."""
    x = encoder.encode([text for text, _ in pairs]).astype(np.float64)
    y = np.array([label for _, label in pairs])
    folds = StratifiedKFold(3, shuffle=True, random_state=5)
    probabilities = cross_val_predict(
        LogisticRegression(max_iter=1000), x, y, cv=folds, method="predict_proba"
    )
    return y, np.array(KINDS)[probabilities.argmax(axis=1)], probabilities


def test_figures_are_those_of_scikit_learn(
    trained: TrainedHead, pairs: list[tuple[str, str]], tiny: Encoder
) -> None:
    report = trained.training.report
    y, predicted, probabilities = reference(pairs, tiny)
    assert report.classes == KINDS
    assert report.accuracy.mean == pytest.approx(accuracy_score(y, predicted))
    assert report.accuracy.low < report.accuracy.mean < report.accuracy.high
    assert report.macro_f1.mean == pytest.approx(f1_score(y, predicted, average="macro"))
    np.testing.assert_allclose(report.confusion, confusion_matrix(y, predicted))
    whole = precision_recall_fscore_support(y, predicted, zero_division=0)
    for i, one in enumerate(report.by_class):
        assert (one.precision, one.recall, one.f1, one.support) == pytest.approx(
            tuple(figures[i] for figures in whole)
        )
    assert report.majority_accuracy == max(np.mean(y == kind) for kind in KINDS)
    confidences, error = probabilities.max(axis=1), 0.0
    for i in range(10):
        mine = (confidences >= i / 10) & (confidences < (i + 1) / 10)
        if mine.any():
            error += mine.mean() * abs(confidences[mine].mean() - (y == predicted)[mine].mean())
    assert report.calibration_error == pytest.approx(error)


def test_the_head_is_trained_on_all_examples(
    trained: TrainedHead, pairs: list[tuple[str, str]], tiny: Encoder
) -> None:
    x = tiny.encode([text for text, _ in pairs])
    direct = LogisticRegression(max_iter=1000).fit(x.astype(np.float64), [label for _, label in pairs])
    np.testing.assert_allclose(trained.head.coefficients, direct.coef_, atol=1e-6)
    np.testing.assert_allclose(trained.head.probabilities(x), direct.predict_proba(x), atol=1e-6)
    assert (
        trained.head.trained["cross_validation"]["accuracy"]["mean"] == trained.training.report.accuracy.mean
    )
    assert trained.head.trained["converged"] is True


def test_c_is_chosen_on_what_was_held_out(
    pairs: list[tuple[str, str]], tiny_model: Path, tiny: Encoder
) -> None:
    """By the log loss; what a fold is judged with, by the other folds. All of it again with scikit-learn."""
    report = train_labels(pairs, model=str(tiny_model), folds=3, repeats=1, seed=5).training.report
    x = tiny.encode([text for text, _ in pairs]).astype(np.float64)
    y = np.array([label for _, label in pairs])
    folds = list(StratifiedKFold(3, shuffle=True, random_state=5).split(x, y))
    said = {
        c: cross_val_predict(LogisticRegression(C=c, max_iter=1000), x, y, cv=folds, method="predict_proba")
        for c in report.log_losses
    }
    assert report.log_losses == pytest.approx({c: log_loss(y, one) for c, one in said.items()})
    assert report.c == min(said, key=lambda c: log_loss(y, said[c])) != 1.0
    chosen = np.empty_like(said[1.0])
    for train, test in folds:
        best = min(said, key=lambda c: log_loss(y[train], said[c][train]))
        chosen[test] = said[best][test]
    assert report.accuracy.mean == accuracy_score(y, np.array(KINDS)[chosen.argmax(axis=1)])
    losses = list(report.log_losses.values())
    assert report.c in list(report.log_losses)[:-2]  # two that are worse end the search
    assert losses[-1] > losses[-2] > losses[-3]


def test_later_divisions_try_what_is_near(
    pairs: list[tuple[str, str]], tiny_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The best of the first and its neighbours; the C that is kept is one that all have tried."""
    import search.annotating.label_training as module

    tried: list[list[float]] = []
    really = module._said

    def said(x: np.ndarray, truth: np.ndarray, folds: list, cs: tuple[float, ...]) -> dict:
        tried.append(list(cs))
        return really(x, truth, folds, cs)

    monkeypatch.setattr(module, "_said", said)
    report = train_labels(pairs, model=str(tiny_model), folds=3, repeats=3).training.report
    assert tried[0] == list(module.CS) and tried[1] == tried[2] and len(tried[1]) <= 3
    assert report.c in tried[1]


def test_two_classes(tiny_model: Path, tiny: Encoder) -> None:
    pairs = [(text, "yes" if label == "door" else "no") for text, label in texts_of(60, 1)]
    found = train_labels(pairs, model=str(tiny_model), folds=2, repeats=1, c=1.0)
    x = tiny.encode([text for text, _ in pairs])
    direct = LogisticRegression(max_iter=1000).fit(x.astype(np.float64), [label for _, label in pairs])
    assert found.head.classes == ("no", "yes") and found.head.coefficients.shape == (2, 32)
    np.testing.assert_allclose(found.head.probabilities(x), direct.predict_proba(x), atol=1e-6)


def test_repeats_are_means_over_divisions(pairs: list[tuple[str, str]], tiny_model: Path) -> None:
    def report(repeats: int, seed: int) -> LabelReport:
        return train_labels(pairs, model=str(tiny_model), folds=3, repeats=repeats, seed=seed).training.report

    both, one, two = report(2, 0), report(1, 0), report(1, 1)
    assert both.accuracy.mean == pytest.approx((one.accuracy.mean + two.accuracy.mean) / 2)
    np.testing.assert_allclose(both.confusion, (one.confusion + two.confusion) / 2)
    assert report(1, 0).accuracy == one.accuracy


def test_texts_that_are_there_twice(pairs: list[tuple[str, str]], tiny_model: Path) -> None:
    first, second = pairs[0], pairs[1]
    other = next(kind for kind in KINDS if kind != second[1])
    found = train_labels(
        [*pairs, first, (f" {first[0]}\n", first[1]), (second[0], other)],
        model=str(tiny_model),
        folds=2,
        repeats=1,
    ).training
    assert found.report.examples == 89
    assert found.notes[0] == "2 examples repeat a text with the same label and count once"
    assert found.notes[1] == (
        f"1 text (2 examples) has several labels and was left out ((example 2: {second[1]}; example 93: {other}))"
    )


def test_what_cannot_be_trained_on(pairs: list[tuple[str, str]], tiny_model: Path) -> None:
    def train(examples: list[tuple[str, str]], **more: object) -> None:
        train_labels(examples, model=str(tiny_model), **{"repeats": 1, **more})  # type: ignore[arg-type]

    with pytest.raises(InputError, match="all have the label 'door'"):
        train([("the door", "door"), ("a door", "door")])
    with pytest.raises(InputError, match="there is none"):
        train([])
    with pytest.raises(InputError, match=r"'rare' has 2 examples, fewer than the 5 folds .* --folds 2"):
        train([*pairs, ("one rare", "rare"), ("two rare", "rare")])
    with pytest.raises(InputError, match="example 2 has no label"):
        train([("a", "b"), ("c", " ")])
    with pytest.raises(InputError, match="example 1 has no text"):
        train([(" ", "b")])
    with pytest.raises(InputError, match=r"example 91 has 102 tokens and the model reads 64\. Shorten it"):
        train([*pairs, ("water " * 100, "water")])
    with pytest.raises(InputError, match="no index is given"):
        train([Example("a", passage=3)])  # type: ignore[list-item]
    with pytest.raises(InputError, match="pooling 'median' is not known"):
        train(pairs, pooling="median")
    with pytest.raises(InputError, match="needs a name"):
        train(pairs, name=" ")
    for wrong in ({"folds": 1}, {"repeats": 0}, {"c": 0.0}, {"c": float("nan")}, {"seed": -1}):
        with pytest.raises(ValueError):
            train(pairs, **wrong)


def test_long_texts_may_be_cut_and_that_is_said(pairs: list[tuple[str, str]], tiny_model: Path) -> None:
    found = train_labels(
        [*pairs, ("water " * 100, "water")], model=str(tiny_model), folds=2, repeats=1, truncate=True
    )
    assert "1 text is longer than the model reads; the beginning of each was read" in found.training.notes


def test_fits_that_do_not_converge_are_counted(
    pairs: list[tuple[str, str]], tiny_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("search.annotating.label_training._MOST_ITERATIONS", 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = train_labels(pairs, model=str(tiny_model), folds=3, repeats=2, c=1.0)
    assert found.training.report.unconverged == 6
    assert "mean: 6 fits stopped at 2 iterations" in " ".join(found.training.notes)
    assert found.head.trained["converged"] is False


@pytest.fixture
def index(tmp_path: Path, tiny_model: Path) -> search.Index:
    """Six documents of three passages each, and a table."""
    folder = tmp_path / "docs"
    folder.mkdir()
    for i in range(6):
        kind = ("door", "water")[i % 2]
        parts = [
            f"## Part {j}\n\n" + f"the {kind} is {WORDS[9 * i + j]} {WORDS[60 - 5 * i - j]}\n" * 4
            for j in range(3)
        ]
        (folder / f"{i}.md").write_text(f"# About {kind}\n\n" + "\n".join(parts), encoding="utf-8")
    (folder / "table.csv").write_text("text\nthe door is open now\n", encoding="utf-8")
    return search.Index.build(folder, model=str(tiny_model))


def test_documents_of_an_index_are_not_parted(index: search.Index, monkeypatch: pytest.MonkeyPatch) -> None:
    examples = [Example(("door", "water")[i % 2], path=f"{i}.md", line=i + 2) for i in range(6)]
    monkeypatch.setattr(Encoder, "encode", None)  # everything is in the index
    found = train_labels(examples, index=index.path, folds=3, repeats=2)
    report = found.training.report
    assert (report.examples, report.groups, found.training.reused) == (18, 6, 18)
    assert found.head.fingerprint.pooling == "mean"
    with pytest.raises(InputError, match=r"'door' has 3 documents, fewer than the 4 folds"):
        train_labels(examples, index=index.path, folds=4)
    with pytest.raises(InputError, match=r"line 9 names 'gone\.md', which the index does not hold"):
        train_labels([*examples, Example("door", path="gone.md", line=9)], index=index.path)


def test_records_of_a_table_are_documents(notes: Path, tiny_model: Path) -> None:
    from search.annotating.labelled_examples import gathered

    index = search.Index.build(notes, model=str(tiny_model))
    hits = index.query("the", k=50)
    found = gathered([Example("a", passage=hit.passage_id) for hit in hits], index.path)
    documents = [hit.document for hit in hits]
    assert len(set(documents)) < len(documents) and sum("table.csv#" in one for one in documents) == 2
    assert found.groups.tolist() == [
        sorted(set(documents), key=documents.index).index(one) for one in documents
    ]


def test_a_document_is_in_training_or_in_test() -> None:
    from search.annotating.label_training import _folds

    truth, groups = np.array([0, 0, 1, 1, 0, 0, 1, 1]), np.array([0, 0, 1, 1, 2, 2, 3, 3])
    for train, test in (fold for seed in range(3) for fold in _folds(truth, groups, 2, seed)):
        assert not set(groups[train]) & set(groups[test])
        assert set(truth[train]) == {0, 1}


def test_passages_and_texts_that_an_index_holds(index: search.Index) -> None:
    hits = index.query("the door", k=19)
    examples = [Example("long" if hit.passage_id % 2 else "short", passage=hit.passage_id) for hit in hits]
    stored = train_labels(examples, index=index.path, folds=2, repeats=1).training
    assert (stored.reused, stored.encoded) == (19, 0)
    with pytest.raises(InputError, match="example 20 names passage 999, which the index does not hold"):
        train_labels([*examples, Example("short", passage=999)], index=index.path)
    texts = [("the door is open now", "a"), ("the water", "b"), ("the key", "a"), ("the lock", "b")]
    mixed = train_labels(texts, index=index.path, folds=2, repeats=1)
    assert (mixed.training.reused, mixed.training.encoded) == (1, 3)
    alone = train_labels(texts, model=index.encoder.files.name, folds=2, repeats=1)
    np.testing.assert_allclose(mixed.head.coefficients, alone.head.coefficients, atol=1e-5)
    other = train_labels(texts, index=index.path, folds=2, repeats=1, pooling="max")
    assert (other.training.reused, other.training.encoded) == (0, 4)


def test_calibration_by_hand() -> None:
    found = calibration_error(
        np.array([0.55, 0.58, 0.91, 1.0, 0.97]), np.array([True, False, True, True, False])
    )
    assert found == pytest.approx(0.4 * 0.065 + 0.6 * (0.96 - 2 / 3))


def test_figures_of_a_class_that_is_never_said() -> None:
    first, second = class_figures(np.array([[3.0, 0.0], [2.0, 0.0]]), ["a", "b"])
    assert (first.precision, first.recall, first.f1) == pytest.approx((0.6, 1.0, 0.75))
    assert (second.precision, second.recall, second.f1, second.support) == (0.0, 0.0, 0.0, 2)
    np.testing.assert_allclose(
        macro_f1(np.array([[3.0, 0.0, 5.0, 0.0, 3.0, 2.0], [4.0, 0.0, 4.0, 0.0, 4.0, 0.0]])), [0.375, 1.0]
    )


def test_tweets(real: Encoder) -> None:
    """A part of the tweets, with the real model: better than the majority class, and mean better than pooler."""
    folder = DATA / "sentiment"
    if not (folder / "val_text.txt").is_file():
        pytest.skip("the tweets are not at hand")
    texts = (folder / "val_text.txt").read_text(encoding="utf-8").split("\n")[:300]
    labels = (folder / "val_labels.txt").read_text(encoding="utf-8").split("\n")[:300]
    pairs = list(zip(texts, labels, strict=True))
    mean, pooler = (
        train_labels(pairs, repeats=1, pooling=pooling, offline=True).training.report
        for pooling in ("mean", "pooler")
    )
    assert mean.accuracy.low > mean.majority_accuracy
    assert mean.macro_f1.low > pooler.macro_f1.high
