"""Training a linear head: figures against scikit-learn's own, examples of every kind, and what is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import search
from search import Encoder
from search.bert import train_labels
from search.errors import InputError
from tests.conftest import WORDS, Run
from tests.render.test_notebook import Cells, needs

KINDS = ("door", "time", "water")


def texts_of(number: int, seed: int = 0) -> list[tuple[str, str]]:
    """Texts of a few words, labelled by a word that most of them hold."""
    chance = np.random.default_rng(seed)
    labels = {}
    while len(labels) < number:
        kind = KINDS[int(chance.integers(3))]
        words = list(chance.choice(WORDS, size=3))
        if chance.random() < 0.8:
            words += [kind] * 3
        labels[" ".join(words)] = kind
    return list(labels.items())


@pytest.fixture(scope="module")
def pairs() -> list[tuple[str, str]]:
    return texts_of(90)


def test_figures_are_those_of_scikit_learn(
    pairs: list[tuple[str, str]], tiny_model: Path, tiny: Encoder
) -> None:
    """The head that judges an example has not seen it, nor has the choice of its C."""
    from sklearn.linear_model import LogisticRegressionCV
    from sklearn.metrics import (
        accuracy_score,
        confusion_matrix,
        f1_score,
        precision_recall_fscore_support,
    )
    from sklearn.model_selection import StratifiedGroupKFold

    result = train_labels(pairs, model=str(tiny_model), folds=4, seed=5)
    report, x = result.training.report, tiny.encode([text for text, _ in pairs]).astype(np.float64)
    y = np.array([label for _, label in pairs])
    groups = np.unique([text for text, _ in pairs], return_inverse=True)[1]
    probabilities, within = np.zeros((90, 3)), StratifiedGroupKFold(3, shuffle=True, random_state=5)

    def fit(rows: np.ndarray) -> Any:
        folds = list(within.split(x[rows], y[rows], groups[rows]))
        head = LogisticRegressionCV(
            Cs=[0.1, 1, 10, 100, 1000], cv=folds, scoring="neg_log_loss", max_iter=1000
        )
        return head.fit(x[rows], y[rows])

    for rows, others in StratifiedGroupKFold(4, shuffle=True, random_state=5).split(x, y, groups):
        probabilities[others] = fit(rows).predict_proba(x[others])
    predictions = np.array(KINDS)[probabilities.argmax(axis=1)]
    direct = fit(np.arange(90))
    assert (report.classes, report.c, report.groups) == (KINDS, direct.C_[0], 90)
    assert report.accuracy.mean == pytest.approx(accuracy_score(y, predictions))
    assert report.accuracy.low < report.accuracy.mean < report.accuracy.high
    assert report.macro_f1.mean == pytest.approx(f1_score(y, predictions, average="macro"))
    np.testing.assert_allclose(report.confusion, confusion_matrix(y, predictions))
    whole = precision_recall_fscore_support(y, predictions, zero_division=0)
    for i, row in enumerate(report.by_class):
        actual = (row.precision, row.recall, row.f1, row.support)
        assert actual == pytest.approx(tuple(figures[i] for figures in whole))
    assert report.majority_accuracy == max(np.mean(y == kind) for kind in KINDS)
    np.testing.assert_allclose(result.head.coefficients, direct.coef_, atol=1e-4)
    np.testing.assert_allclose(result.head.probabilities(x), direct.predict_proba(x), atol=1e-4)
    assert result.head.trained["cross_validation"]["accuracy"]["mean"] == report.accuracy.mean


def test_a_head_of_two_classes_is_no_worse_than_the_majority(tiny_model: Path, tiny: Encoder) -> None:
    pairs = [(text, "yes" if label == "door" else "no") for text, label in texts_of(60, 1)]
    result = train_labels(pairs, model=str(tiny_model), folds=3)
    x = tiny.encode([text for text, _ in pairs])
    assert result.head.classes == ("no", "yes") and result.head.coefficients.shape == (2, 32)
    correct = result.head.probabilities(x).argmax(axis=1) == [label == "yes" for _, label in pairs]
    assert correct.mean() >= result.training.report.majority_accuracy


@needs("matplotlib")
@needs("pandas")
def test_the_figures_of_a_head_draw_themselves(pairs: list[tuple[str, str]], tiny_model: Path) -> None:
    trained = train_labels(pairs, model=str(tiny_model), folds=2)
    training, report = trained.training, trained.training.report
    assert repr(trained) == repr(training) and trained._repr_html_() == training._repr_html_()
    assert f"accuracy  {report.accuracy.mean:.4f}" in repr(training)
    rows = Cells(training._repr_html_()).rows
    assert [row[:2] for row in rows[1:4]] == [
        [row.label, f"{row.precision:.3f}"] for row in report.by_class
    ]
    assert [row[1:4] for row in rows[5:8]] == [[str(n) for n in row] for row in report.confusion.tolist()]
    axes = training.plot()
    np.testing.assert_array_equal(axes.collections[0].get_array(), report.confusion)
    assert [text.get_text() for text in axes.texts] == [str(n) for n in report.confusion.ravel()]
    assert training.to_pandas()["f1"].tolist() == [row.f1 for row in report.by_class]


def test_duplicate_texts_count_once_and_contradictory_ones_are_left_out(
    pairs: list[tuple[str, str]], tiny_model: Path
) -> None:
    first, second = pairs[0], pairs[1]
    other = next(kind for kind in KINDS if kind != second[1])
    training = train_labels(
        [*pairs, first, (f" {first[0]}\n", first[1]), (second[0], other)],
        model=str(tiny_model),
        folds=2,
    ).training
    assert training.report.examples == 89
    assert training.notes[:2] == (
        "3 duplicate examples; each text counts once",
        "1 texts with contradictory labels left out",
    )


def test_examples_that_cannot_be_learned_from_are_refused(
    pairs: list[tuple[str, str]], tiny_model: Path
) -> None:
    def train(examples: list[tuple[str, str]], **more: object) -> None:
        train_labels(examples, model=str(tiny_model), **more)  # type: ignore[arg-type]

    with pytest.raises(InputError, match="all examples have the label 'door'"):
        train([("the door", "door"), ("a door", "door")])
    with pytest.raises(InputError, match="there are no examples"):
        train([])
    with pytest.raises(
        InputError,
        match="'rare' occurs in 2 texts or documents, but 5 are needed. Use fewer --folds",
    ):
        train([*pairs, ("one rare", "rare"), ("two rare", "rare")])
    with pytest.raises(InputError, match="example 2 has no label"):
        train([("a", "b"), ("c", " ")])
    with pytest.raises(InputError, match="example 1 has no text"):
        train([(" ", "b")])
    with pytest.raises(InputError, match="unknown pooling 'median'"):
        train(pairs, pooling="median")
    for wrong in ({"folds": 1}, {"seed": -1}):
        with pytest.raises(InputError, match="folds must be at least 2, seed at least 0"):
            train(pairs, **wrong)


def test_a_note_counts_the_texts_that_were_truncated(
    pairs: list[tuple[str, str]], tiny_model: Path
) -> None:
    result = train_labels([*pairs, ("water " * 100, "water")], model=str(tiny_model), folds=2)
    assert "1 texts were truncated to 64 tokens" in result.training.notes


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
    rows = "".join(f"the door is open now {i}\n" for i in range(1, 5))
    (folder / "table.csv").write_text(f"text\n{rows}", encoding="utf-8")
    return search.Index.build(folder, model=str(tiny_model))


def train_table(run: Run, index: search.Index, rows: str, folds: int, code: int = 0) -> Any:
    """Run `seewhy lab label train` on a table: its JSON, or its error."""
    file = Path(index.path).parent / "rows.csv"
    file.write_text(rows, encoding="utf-8")
    args = ("lab", "label", "train", file, "-i", index.path, "--folds", folds, "--json")
    status, out, err = run(*args)
    assert status == code, err
    return err if code else json.loads(out)


def test_folds_keep_the_passages_of_a_document_together(index: search.Index, run: Run) -> None:
    rows = "path,label\n" + "".join(f"{i}.md,{('door', 'water')[i % 2]}\n" for i in range(6))
    rows += "".join(f"table.csv#{i},{('door', 'water')[i % 2]}\n" for i in range(1, 5))
    output = train_table(run, index, rows, 4)
    assert (output["report"]["examples"], output["report"]["groups"]) == (22, 10)
    assert "6 are needed. Use fewer --folds" in train_table(run, index, rows, 6, code=1)
    assert "line 12 names 'gone.md', which is not in the index" in train_table(
        run, index, f"{rows}gone.md,door\n", 4, code=1
    )


def test_passages_are_read_with_the_encoder_of_the_index(index: search.Index) -> None:
    texts = [(f"the door is open now {i}", "ab"[i % 2]) for i in range(1, 10)]
    mixed = train_labels(texts, index=index.path, folds=2)
    assert not mixed.head.fingerprint.differences(replace(index.fingerprint, passages=""))
    alone = train_labels(texts, model=index.encoder.files.name, folds=2)
    np.testing.assert_allclose(mixed.head.coefficients, alone.head.coefficients, atol=1e-4)
    other = train_labels(texts, index=index.path, folds=2, pooling="max")
    assert other.training.report.pooling == other.head.fingerprint.pooling == "max"
