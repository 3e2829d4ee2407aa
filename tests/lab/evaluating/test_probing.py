"""Probes of layers: their vectors, accuracies, controls and errors."""

import csv
import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import search
from search import Encoder, InputError, bert
from search.lab.evaluating.probing import ProbeText, layer_vectors, read_labelled
from search.lab.records.probes import LayerProbes, LayerScore, ProbeTask
from tests.conftest import WORDS, Run
from tests.render.test_notebook import needs

FOLDS = 3
OTHERS = [word for word in WORDS if word not in ("key", "water")]


def table(path: Path, rows: Sequence[Sequence[str]], head: Sequence[str] = ("text", "label")) -> Path:
    with path.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows([head, *rows])
    return path


def texts_with_a_word(count: int = 60) -> list[tuple[str, str]]:
    """Texts of random words, labelled by the one that is in each of them."""
    chance = random.Random(1)
    rows = []
    for number in range(count):
        word = ("key", "water")[number % 2]
        words = [*chance.sample(OTHERS, 3), word]
        chance.shuffle(words)
        rows.append((" ".join(words), word))
    return rows


def sentences(path: Path, count: int = 40) -> Path:
    """Sentences in CoNLL format in which "turn" is a noun after "the", and a verb before it."""
    lines = []
    for number in range(count):
        noun = WORDS[number % 7 + 60]
        if number % 2:
            lines.append(f"turn VERB\nthe DET\n{noun} NOUN\n")
        else:
            lines.append(f"the DET\nturn NOUN\nand CCONJ\nthe DET\n{noun} NOUN\n")
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def probed(data: Any, model: Path, **options: Any) -> ProbeTask:
    (task,) = bert.probe(data, model=str(model), folds=FOLDS, **options).tasks
    return task


def test_vectors_are_those_of_an_inspection(tiny_model: Path) -> None:
    """A text has the mean of its tokens, a word its first token, which may be one of several pieces."""
    text = "Turn the doorkeys, you"
    word_spans = ((0, 4), (9, 17), (17, 18), (19, 22))
    look = bert.inspect(text, model=str(tiny_model))
    pieces = [token.text for token in look.tokens]
    first = [pieces.index(piece) for piece in ("turn", "door", ",", "you")]
    assert look.tokens[first[1]].word == look.tokens[first[1] + 1].word, "must be several pieces"
    encoder = Encoder(str(tiny_model))
    ((mean,), words) = layer_vectors(
        encoder, [ProbeText(text, ("a",)), ProbeText(text, ("a",) * 4, word_spans)]
    )
    assert mean is not None and mean.shape == look.states.mean(axis=1).shape
    np.testing.assert_allclose(mean, look.states.mean(axis=1), atol=1e-5)
    for vector, position in zip(words, first, strict=True):
        assert vector is not None
        np.testing.assert_allclose(vector, look.states[:, position], atol=1e-5)


def test_accuracies_are_those_of_scikit_learn(tmp_path: Path, tiny_model: Path) -> None:
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedGroupKFold, cross_val_predict
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    path = sentences(tmp_path / "words.conll")
    task = probed(path, tiny_model)
    read = read_labelled(path)
    labels = [label for text in read for label in text.labels]
    groups = [number for number, text in enumerate(read) for _ in text.labels]
    vectors = [vector for text in layer_vectors(Encoder(str(tiny_model)), read) for vector in text]
    # Groups are numbered in the order of their names, as strings.
    numbers = np.unique(list(map(str, groups)), return_inverse=True)[1]
    truth = np.unique(labels, return_inverse=True)[1]
    division = StratifiedGroupKFold(FOLDS, shuffle=True, random_state=0)
    splits = list(division.split(np.zeros(len(truth)), truth, numbers))
    for score in task.layers:
        x = np.array([vector[score.layer] for vector in vectors if vector is not None])
        head = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
        predicted = cross_val_predict(head, x, truth, cv=splits)
        assert score.accuracy.mean == pytest.approx((predicted == truth).mean())
        assert score.accuracy.low <= score.accuracy.mean <= score.accuracy.high
        assert score.selectivity == score.accuracy.mean - score.control.mean
    assert [score.layer for score in task.layers] == [0, 1, 2, 3]
    assert (task.unit, task.examples, task.groups) == ("word", len(labels), 40)
    assert task.classes == ("CCONJ", "DET", "NOUN", "VERB")
    most = max(task.classes, key=labels.count)
    assert (task.majority, task.majority_accuracy) == (most, labels.count(most) / len(labels))


def test_a_word_alone_has_its_most_frequent_label(tmp_path: Path, tiny_model: Path) -> None:
    """Half of "turn" are nouns: this label, or the other one, is wrong for all of them in a fold."""
    task = probed(sentences(tmp_path / "words.conll"), tiny_model)
    wrong = 1 - (task.by_word or 0)
    share_of_turn = 40 / task.examples
    assert 0.3 * share_of_turn < wrong < 0.8 * share_of_turn
    assert task.best.accuracy.mean > 0.99, "the words beside it tell"


def test_labels_that_are_in_the_text_are_learnt_and_shuffled_ones_are_not(
    tmp_path: Path, tiny_model: Path
) -> None:
    rows = texts_with_a_word()
    task = probed(table(tmp_path / "words.csv", rows), tiny_model)
    assert task.majority_accuracy == 0.5
    assert task.by_word is None
    assert task.layers[0].accuracy.mean > 0.9
    assert task.layers[0].control.mean < 0.7
    labels = [label for _, label in rows]
    random.Random(2).shuffle(labels)
    shuffled = [(text, label) for (text, _), label in zip(rows, labels, strict=True)]
    task = probed(table(tmp_path / "shuffled.csv", shuffled), tiny_model)
    for score in task.layers:
        assert 0.25 < score.accuracy.mean < 0.75
        assert abs(score.selectivity) < 0.3


def test_random_labels_of_frequent_words_are_memorised(tmp_path: Path, tiny_model: Path) -> None:
    """All words occur in all folds, so the control task can be learnt from the embedding layer."""
    task = probed(sentences(tmp_path / "words.conll"), tiny_model)
    assert task.control == "types"
    assert task.layers[0].control.mean > 0.95


def test_texts_of_a_group_are_in_one_fold(tmp_path: Path, tiny_model: Path) -> None:
    """The label belongs to a word that only two texts have: whoever reads one of them knows the other."""
    chance = random.Random(3)
    rows = []
    for word in OTHERS[:50]:
        label = chance.choice(("yes", "no"))
        rows += [(f"{word} {word} {end}", label, word) for end in ("key", "water")]
    head = ("text", "label", "group")
    grouped = probed(table(tmp_path / "grouped.csv", rows, head), tiny_model)
    free = probed(table(tmp_path / "free.csv", [row[:2] for row in rows]), tiny_model)
    assert (grouped.groups, free.groups, grouped.examples) == (50, 100, 100)
    assert free.layers[0].accuracy.mean > grouped.layers[0].accuracy.mean + 0.15
    assert grouped.layers[0].accuracy.mean < 0.7


def test_a_sample_has_whole_groups(tmp_path: Path, tiny_model: Path) -> None:
    path = sentences(tmp_path / "words.conll")
    task = probed(path, tiny_model, most=60)
    assert 50 < task.examples <= 60 and task.groups < 40
    assert task == probed(path, tiny_model, most=60)
    assert task != probed(path, tiny_model, most=60, seed=1)


def test_words_without_a_token_are_counted(tmp_path: Path, tiny_model: Path) -> None:
    path = sentences(tmp_path / "words.conll")
    whole = probed(path, tiny_model)
    path.write_text(path.read_text(encoding="utf-8") + "\u200d NOUN\nkey NOUN\n", encoding="utf-8")
    task = probed(path, tiny_model)
    assert (task.left_out, task.examples) == (1, whole.examples + 1)
    drawn = " ".join(repr(LayerProbes("tiny", FOLDS, 0, (task,))).split())
    assert "1 word without a token left out" in drawn


def test_the_distance_from_the_best_layer_is_that_of_the_same_examples(
    tmp_path: Path, tiny_model: Path
) -> None:
    rows = texts_with_a_word()
    task = probed(table(tmp_path / "words.csv", rows), tiny_model)
    best = task.best.accuracy.mean
    for score in task.layers:
        assert score.behind.mean == pytest.approx(best - score.accuracy.mean)
    assert task.best.behind.high == 0
    others = [score for score in task.layers if score is not task.best]
    assert task.as_good == tuple(score.layer for score in others if score.behind.low <= 0)


def test_several_files_and_a_loaded_encoder(tmp_path: Path, tiny_model: Path) -> None:
    files = [table(tmp_path / "a.csv", texts_with_a_word()), sentences(tmp_path / "b.conll")]
    steps: list[search.Progress] = []
    encoder = Encoder(str(tiny_model))
    probes = bert.probe(files, model=encoder, folds=FOLDS, progress=steps.append)
    assert [task.name for task in probes.tasks] == ["a.csv", "b.conll"]
    assert probes.tasks == tuple(probed(file, tiny_model) for file in files)
    assert probes.model == encoder.model
    total = 2 * 4 * FOLDS
    assert [(step.done, step.total) for step in steps] == [(n, total) for n in range(1, total + 1)]


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.csv", "text,label\n", "has no rows after the header"),
        ("a.csv", "text,class\nkey,a\n", "column label is missing"),
        ("a.csv", "text,label\nkey,\n", '"label" is empty'),
        ("a.csv", "text,label\nkey,a\ndoor,a\n", "has only the label 'a'. A probe needs two"),
        ("a.csv", "text,label\nkey,a\ndoor,b\nlock,a\nthe,a\n", "'b' occurs in 1 texts or groups, but 3"),
        ("a.conll", "the DET\nkey NOUN\n", "occurs in 1 sentences, but 3 are needed"),
        ("a.conll", "the DET\nkey\n", "'key' is not a word with a label such as NOUN"),
        ("a.conll", "", "contains no sentences"),
    ],
)
def test_unfit_files(tmp_path: Path, tiny_model: Path, name: str, content: str, reason: str) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=reason):
        probed(tmp_path / name, tiny_model)


@pytest.mark.parametrize("options", [{"folds": 1}, {"most": 0}, {"seed": -1}])
def test_unfit_options(tmp_path: Path, options: dict[str, int]) -> None:
    with pytest.raises(InputError, match="they must be at least 2, 1 and 0"):
        bert.probe(tmp_path / "none.csv", **options)


def test_there_must_be_a_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="Give at least one"):
        bert.probe([])
    with pytest.raises(InputError, match=r"cannot read '.*none.csv': No such file"):
        bert.probe(tmp_path / "none.csv")


def test_the_command_prints_the_record(run: Run, tmp_path: Path, tiny_model: Path) -> None:
    path = table(tmp_path / "words.csv", texts_with_a_word())
    task = probed(path, tiny_model)
    arguments = ["lab", "probe", path, "--model", tiny_model, "--folds", FOLDS]
    (record,) = json.loads(run(*arguments, "--json")[1])["tasks"]
    assert [score["accuracy"]["mean"] for score in record["layers"]] == [
        score.accuracy.mean for score in task.layers
    ]
    assert record["layers"][1]["selectivity"] == task.layers[1].selectivity
    code, out, err = run(*arguments)
    assert (code, err) == (0, "")
    assert "words.csv  60 texts, 2 labels" in out
    assert "majority   0.500: always 'key'" in out
    rows = [line.split() for line in out.splitlines()]
    for score in task.layers:
        accuracy, control = f"{score.accuracy.mean:.3f}", f"{score.control.mean:.3f}"
        assert any(row[:2] == [str(score.layer), accuracy] and row[5] == control for row in rows if row)


@needs("matplotlib")
def test_the_command_draws_the_layers(run: Run, tmp_path: Path, tiny_model: Path) -> None:
    path, picture = table(tmp_path / "words.csv", texts_with_a_word()), tmp_path / "layers.png"
    arguments = ["lab", "probe", path, "--model", tiny_model, "--folds", FOLDS, "--png", picture]
    code, out, err = run(*arguments)
    assert (code, out) == (0, "")
    assert err.strip() == f"wrote {picture}"
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert json.loads(run(*arguments, "--json")[1])["folds"] == FOLDS


def test_a_picture_without_matplotlib_names_the_extra(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("search.cli.output.find_spec", lambda name: None)
    code, _, err = run("lab", "probe", tmp_path / "a.csv", "--png", tmp_path / "a.png")
    assert code == 1
    assert "pip install 'seewhy[pictures]'" in err


def test_the_command_refuses_what_it_cannot_read(run: Run, tmp_path: Path) -> None:
    code, out, err = run("lab", "probe", tmp_path / "none.csv")
    assert (code, out) == (1, "")
    assert "none.csv': No such file" in err
    assert run("lab", "probe")[0] == 2


def test_parts_of_speech_and_tense_are_easiest_to_read_in_the_middle(real: Encoder) -> None:
    """Page 48 says so of the default model."""
    lab = Path(__file__).parents[3] / "corpora" / "lab"
    speech, tense = bert.probe([lab / "pos.conll", lab / "tense.csv"], model=real, most=600).tasks
    for task in (speech, tense):
        assert task.best.layer in (2, 3, 4)
        assert {0, 6}.isdisjoint(task.as_good)
        assert task.best.accuracy.mean > 0.9
    assert speech.by_word is not None and speech.by_word < speech.layers[0].accuracy.low
    best: LayerScore = speech.best
    assert best.selectivity > speech.layers[0].selectivity + 0.1
