"""Labels of texts by a checkpoint of its own classes, against transformers' pipeline."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import search
from search.bert import LinearHead, explain_label, label, tokenize
from search.errors import FingerprintMismatch, InputError, ModelError
from tests.conftest import save_tiny_bert
from tests.lab.bert.conftest import save_tiny, save_tiny_head
from tests.render.test_notebook import Cells, needs

MOODS = ("bad", "good", "neither")
TEXTS = ["open the door", "the key is in the water", "no", "turn the lock and look for the people"]
LONG = "the key is in the water and the door of the first side is open now " * 12


def with_config(folder: Path, **values: object) -> Path:
    file = folder / "config.json"
    file.write_text(
        json.dumps({**json.loads(file.read_text(encoding="utf-8")), **values}), encoding="utf-8"
    )
    return folder


def pipeline_scores(folder: Path, texts: list[str], function: str) -> list[dict[str, float]]:
    from transformers import AutoTokenizer, pipeline

    tokenizer = AutoTokenizer.from_pretrained(folder)
    classify: Any = pipeline("text-classification", model=str(folder), tokenizer=tokenizer, device="cpu")
    return [
        {
            result["label"]: result["score"]
            for result in classify(text, top_k=None, function_to_apply=function)
        }
        for text in texts
    ]


@pytest.mark.parametrize("kind", ["bert", "roberta"])
def test_scores_are_those_of_transformers(tmp_path: Path, kind: str) -> None:
    folder = save_tiny_head(tmp_path, "label", kind=kind, labels=MOODS)
    result = label(TEXTS, model=str(folder))
    assert result.classes == MOODS
    for prediction, expected in zip(result.texts, pipeline_scores(folder, TEXTS, "softmax"), strict=True):
        assert dict(zip(MOODS, prediction.scores, strict=True)) == pytest.approx(expected, abs=1e-5)
        assert prediction.label == max(expected, key=lambda name: expected[name])
        assert prediction.score == pytest.approx(max(expected.values()), abs=1e-5)


def test_a_long_text_is_the_mean_of_its_windows(tmp_path: Path) -> None:
    """The logits of each window, by transformers alone, counted by its tokens."""
    import torch
    from transformers import AutoModelForSequenceClassification

    folder = save_tiny_head(tmp_path, "label", labels=MOODS)
    result = label([LONG, TEXTS[0]], model=str(folder))
    assert (result.texts[0].windows, result.texts[1].windows) == (6, 1)
    ids = [token.id for token in tokenize(LONG, model=str(folder)).tokens if not token.special]
    model = AutoModelForSequenceClassification.from_pretrained(folder)
    logits, weights, start = [], [], 0
    while True:
        part = ids[start : start + 62]
        with torch.inference_mode():
            logits.append(model(torch.tensor([[2, *part, 3]])).logits[0].numpy())
        weights.append(len(part))
        if start + 62 >= len(ids):
            break
        start += 31  # windows share half of their tokens where the model reads few
    assert len(logits) == 6 and weights[-1] < 62
    mean = np.average(logits, axis=0, weights=weights)
    np.testing.assert_allclose(result.texts[0].scores, np.exp(mean) / np.exp(mean).sum(), atol=1e-5)


def test_a_text_or_model_that_gives_no_label_is_refused(tmp_path: Path) -> None:
    folder = save_tiny_head(tmp_path / "head", "label", labels=MOODS)
    with pytest.raises(InputError, match="text 2 is empty"):
        label(["a", " "], model=str(folder))
    with pytest.raises(InputError, match="single string"):
        label("a", model=str(folder))
    with pytest.raises(InputError, match="either a model or a head"):
        label(["a"])
    with pytest.raises(ModelError, match="has no head for classes of texts"):
        label(["a"], model=str(save_tiny(tmp_path / "plain", "bert")))
    save_tiny_head(tmp_path / "number", "label", labels=("LABEL_0",))
    with_config(folder, problem_type="multi_label_classification")
    for other in (tmp_path / "number", folder):
        with pytest.raises(ModelError, match="does not assign one of several classes"):
            label(["a"], model=str(other))


def head_for(encoder: search.Encoder) -> LinearHead:
    chance = np.random.default_rng(0)
    return LinearHead(
        "mood", MOODS, chance.normal(size=(3, 32)), chance.normal(size=3), encoder.fingerprint, {}
    )


def test_a_trained_head_labels_texts(tiny: search.Encoder) -> None:
    head = head_for(tiny)
    result = label(TEXTS, head=head)
    np.testing.assert_allclose(
        [prediction.scores for prediction in result.texts],
        head.probabilities(tiny.encode(TEXTS)),
        atol=1e-6,
    )
    assert (result.classifier, result.model, result.pooling) == ("mood", tiny.model, "mean")


@pytest.mark.parametrize("pooling", ["mean", "mean_sqrt_len", "max", "cls", "pooler"])
def test_a_logit_is_the_sum_of_its_addends(tiny_model: Path, pooling: str) -> None:
    encoder = search.Encoder(str(tiny_model), pooling=pooling)
    head = head_for(encoder)
    why = explain_label(TEXTS[1], head, encoder=encoder)
    direct = encoder.encode([TEXTS[1]])[0].astype(np.float64) @ head.coefficients.T + head.intercepts
    np.testing.assert_allclose(why.logits, direct, atol=1e-5)
    added = why.contributions.sum(axis=0) + why.offsets + head.intercepts
    np.testing.assert_allclose(added, direct, atol=1e-5)
    assert abs(why.residual).max() < 1e-5
    np.testing.assert_allclose(why.by_word.sum(axis=0), why.contributions.sum(axis=0), atol=1e-12)
    assert [word.text for word in why.words][1:3] == ["the", "key"]
    assert why.label == MOODS[int(direct.argmax())]


@needs("matplotlib")
@needs("pandas")
def test_the_addends_of_a_label_draw_themselves(tiny: search.Encoder) -> None:
    why = explain_label(TEXTS[1], head_for(tiny), encoder=tiny)
    addends = np.vstack([why.by_word, why.offsets, why.intercepts])
    lines = [line.split() for line in repr(why).splitlines()]
    assert [why.words[2].text, *(f"{x:+.4f}" for x in why.by_word[2])] in lines
    rows = Cells(why._repr_html_()).rows
    assert rows[0] == ["", *MOODS] and [row[0] for row in rows[1:3]] == ["[CLS]", "the"]
    cells = np.array([[float(cell) for cell in row[1:]] for row in rows[1 : len(addends) + 1]])
    np.testing.assert_allclose(cells, addends, atol=0.00501)
    assert rows[-1] == ["probability", *(f"{x:.4f}" for x in why.probabilities)]
    np.testing.assert_allclose(why.plot().collections[0].get_array(), addends)
    table = why.to_pandas()
    np.testing.assert_allclose(table.sum(axis=0), why.logits - why.residual)
    assert list(table.columns) == list(MOODS) and list(table.index)[-2:] == ["any text", "intercept"]


def test_a_label_that_cannot_be_explained_is_refused(tiny: search.Encoder, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="the text is empty"):
        explain_label(" ", head_for(tiny), encoder=tiny)
    with pytest.raises(InputError, match="has 102 tokens, but the model reads at most 64"):
        explain_label("water " * 100, head_for(tiny), encoder=tiny)
    other = search.Encoder(str(save_tiny_bert(tmp_path, seed=5)))
    with pytest.raises(FingerprintMismatch):
        explain_label("the key", head_for(tiny), encoder=other)


def test_a_head_refuses_a_model_that_has_changed(tmp_path: Path) -> None:
    head = head_for(search.Encoder(str(save_tiny_bert(tmp_path, seed=5))))
    save_tiny_bert(tmp_path, seed=6)
    for work in (lambda: label(["the key"], head=head), lambda: explain_label("the key", head)):
        with pytest.raises(FingerprintMismatch, match=r"weights: .* the installed model has"):
            work()
