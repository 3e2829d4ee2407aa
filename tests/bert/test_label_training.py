"""Training a linear head: figures against scikit-learn's own, examples of every kind, and what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, confusion_matrix, f1_score, precision_recall_fscore_support
from sklearn.model_selection import StratifiedGroupKFold, cross_val_predict

import search
from search.bert import train_labels
from search.encoding import Encoder
from search.errors import InputError
from search.records.predictions import Example
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


def test_figures_are_those_of_scikit_learn(
    pairs: list[tuple[str, str]], tiny_model: Path, tiny: Encoder
) -> None:
    """A head of a given C, and its cross-validation; what each example is judged by has not seen it."""
    found = train_labels(pairs, model=str(tiny_model), folds=3, seed=5, c=1.0)
    report, x = found.training.report, tiny.encode([text for text, _ in pairs]).astype(np.float64)
    y = np.array([label for _, label in pairs])
    groups = np.unique([text for text, _ in pairs], return_inverse=True)[1]
    folds = list(StratifiedGroupKFold(3, shuffle=True, random_state=5).split(x, y, groups))
    plain = LogisticRegression(max_iter=1000)
    probabilities = cross_val_predict(plain, x, y, cv=folds, method="predict_proba")
    predicted = np.array(KINDS)[probabilities.argmax(axis=1)]
    assert (report.classes, report.c, report.groups) == (KINDS, 1.0, 90)
    assert report.accuracy.mean == pytest.approx(accuracy_score(y, predicted))
    assert report.accuracy.low < report.accuracy.mean < report.accuracy.high
    assert report.macro_f1.mean == pytest.approx(f1_score(y, predicted, average="macro"))
    np.testing.assert_allclose(report.confusion, confusion_matrix(y, predicted))
    whole = precision_recall_fscore_support(y, predicted, zero_division=0)
    for i, one in enumerate(report.by_class):
        shown = (one.precision, one.recall, one.f1, one.support)
        assert shown == pytest.approx(tuple(figures[i] for figures in whole))
    assert report.majority_accuracy == max(np.mean(y == kind) for kind in KINDS)
    confidences, error = probabilities.max(axis=1), 0.0
    for i in range(10):
        mine = (confidences >= i / 10) & (confidences < (i + 1) / 10)
        if mine.any():
            error += mine.mean() * abs(confidences[mine].mean() - (y == predicted)[mine].mean())
    assert report.calibration_error == pytest.approx(error, abs=1e-6)
    direct = plain.fit(x, y)
    np.testing.assert_allclose(found.head.coefficients, direct.coef_, atol=1e-4)
    np.testing.assert_allclose(found.head.probabilities(x), direct.predict_proba(x), atol=1e-4)
    assert found.head.trained["cross_validation"]["accuracy"]["mean"] == report.accuracy.mean


def test_c_is_chosen_and_the_seed_decides(pairs: list[tuple[str, str]], tiny_model: Path) -> None:
    one, same, other = (train_labels(pairs, model=str(tiny_model), folds=3, seed=seed) for seed in (5, 5, 6))
    assert one.training.report.c in (0.1, 1, 10, 100, 1000)
    assert one.training.report.accuracy == same.training.report.accuracy
    np.testing.assert_array_equal(one.head.coefficients, same.head.coefficients)
    assert one.training.report.accuracy != other.training.report.accuracy


def test_two_classes(tiny_model: Path, tiny: Encoder) -> None:
    pairs = [(text, "yes" if label == "door" else "no") for text, label in texts_of(60, 1)]
    found = train_labels(pairs, model=str(tiny_model), folds=2, c=1.0)
    x = tiny.encode([text for text, _ in pairs])
    direct = LogisticRegression(max_iter=1000).fit(x.astype(np.float64), [label for _, label in pairs])
    assert found.head.classes == ("no", "yes") and found.head.coefficients.shape == (2, 32)
    np.testing.assert_allclose(found.head.probabilities(x), direct.predict_proba(x), atol=1e-4)


def test_texts_that_are_there_twice(pairs: list[tuple[str, str]], tiny_model: Path) -> None:
    first, second = pairs[0], pairs[1]
    other = next(kind for kind in KINDS if kind != second[1])
    found = train_labels(
        [*pairs, first, (f" {first[0]}\n", first[1]), (second[0], other)],
        model=str(tiny_model),
        folds=2,
    ).training
    assert found.report.examples == 89
    assert found.notes[0] == "2 examples repeat a text with the same label; each text counts once"
    assert found.notes[1] == (
        f"1 texts (2 examples) have several labels and were left out ((example 2: {second[1]}; example 93: {other}))"
    )


def test_what_cannot_be_trained_on(pairs: list[tuple[str, str]], tiny_model: Path) -> None:
    def train(examples: list[tuple[str, str]], **more: object) -> None:
        train_labels(examples, model=str(tiny_model), **more)  # type: ignore[arg-type]

    with pytest.raises(InputError, match="all have the label 'door'"):
        train([("the door", "door"), ("a door", "door")])
    with pytest.raises(InputError, match="there is none"):
        train([])
    with pytest.raises(
        InputError,
        match="'rare' stands in 2 texts or documents, and the cross-validation needs 5: use fewer --folds",
    ):
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
    for wrong in ({"folds": 1}, {"c": 0.0}, {"c": float("nan")}, {"seed": -1}):
        with pytest.raises(InputError, match="there must be at least 2 folds"):
            train(pairs, **wrong)


def test_long_texts_may_be_cut_and_that_is_said(pairs: list[tuple[str, str]], tiny_model: Path) -> None:
    found = train_labels([*pairs, ("water " * 100, "water")], model=str(tiny_model), folds=2, truncate=True)
    assert "1 texts are longer than the model reads; the beginning of each was read" in found.training.notes


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
    found = train_labels(examples, index=index.path, folds=3)
    report = found.training.report
    assert (report.examples, report.groups, found.training.reused) == (18, 6, 18)
    assert found.head.fingerprint.pooling == "mean"
    with pytest.raises(
        InputError, match="'door' stands in 3 texts or documents, and the cross-validation needs 4"
    ):
        train_labels(examples, index=index.path, folds=4)
    with pytest.raises(InputError, match=r"line 9 names 'gone\.md', which the index does not hold"):
        train_labels([*examples, Example("door", path="gone.md", line=9)], index=index.path)


def test_passages_and_texts_that_an_index_holds(index: search.Index) -> None:
    hits = index.query("the door", k=19)
    examples = [Example("long" if hit.passage_id % 2 else "short", passage=hit.passage_id) for hit in hits]
    stored = train_labels(examples, index=index.path, folds=2).training
    assert (stored.reused, stored.encoded) == (19, 0)
    with pytest.raises(InputError, match="example 20 names passage 999, which the index does not hold"):
        train_labels([*examples, Example("short", passage=999)], index=index.path)
    texts = [("the door is open now", "a"), ("the water", "b"), ("the key", "a"), ("the lock", "b")]
    mixed = train_labels(texts, index=index.path, folds=2, c=1.0)
    assert (mixed.training.reused, mixed.training.encoded) == (1, 3)
    alone = train_labels(texts, model=index.encoder.files.name, folds=2, c=1.0)
    np.testing.assert_allclose(mixed.head.coefficients, alone.head.coefficients, atol=1e-5)
    other = train_labels(texts, index=index.path, folds=2, c=1.0, pooling="max")
    assert (other.training.reused, other.training.encoded) == (0, 4)


def test_tweets(real: Encoder) -> None:
    """A part of the tweets, with the real model: better than the majority class, and mean better than pooler."""
    folder = DATA / "sentiment"
    if not (folder / "val_text.txt").is_file():
        pytest.skip("the tweets are not at hand")
    texts = (folder / "val_text.txt").read_text(encoding="utf-8").split("\n")[:300]
    labels = (folder / "val_labels.txt").read_text(encoding="utf-8").split("\n")[:300]
    pairs = list(zip(texts, labels, strict=True))
    mean, pooler = (
        train_labels(pairs, pooling=pooling, offline=True).training.report for pooling in ("mean", "pooler")
    )
    assert mean.accuracy.low > mean.majority_accuracy
    assert mean.macro_f1.low > pooler.macro_f1.high
