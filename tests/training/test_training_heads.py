"""Heads on a tiny model, a few steps each: what is learned from, what stays frozen, what the result is."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from search import bert
from search.annotating.labelled_examples import calibration_error
from search.bert.checkpoint import Head, load_head
from search.errors import InputError, OptionalDependency
from search.evaluating.entities import Sentence, evaluate_entities
from search.evaluating.evaluation import evaluate_answers
from search.records.evaluations import TrainingReport
from search.records.reports import Progress
from search.training.head_tasks import IGNORED, Questions, Sentences, Texts, parted
from tests.bert.conftest import save_tiny
from tests.conftest import save_tiny_bert
from tests.training.conftest import WORDS, trainable

pytestmark = trainable
QUICK: dict[str, Any] = {"lr": 3e-3, "epochs": 4, "batch_size": 8}


def write_texts(path: Path, rows: int = 60, seed: int = 0) -> Path:
    """Every third text is about people."""
    chance = random.Random(seed)
    lines = ["text,label"]
    for i in range(rows):
        about = "people people many" if i % 3 == 0 else "door lock key"
        lines.append(
            f"{' '.join(chance.choices(WORDS, k=2))} {about} {seed}{i},{'them' if i % 3 == 0 else 'it'}"
        )
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def write_sentences(path: Path, rows: int = 30, seed: int = 0) -> Path:
    """A name is a word that the tokenizer takes apart, and the word behind it."""
    chance = random.Random(seed)
    sentences = []
    for i in range(rows):
        words = [(word, "O") for word in chance.choices(WORDS, k=3)]
        words += [(chance.choice(["xyzq", "xzyq"]), "B-name"), ("sound", "I-name"), (str(i), "O")]
        sentences.append("".join(f"{word}\t{label}\n" for word, label in words))
    path.write_text("\n".join(sentences) + "\n", encoding="utf-8")
    return path


def write_questions(path: Path, rows: int = 20, seed: int = 0, unanswered: int = 0) -> Path:
    """The answer is the word between the two 'turn'; some paragraphs are longer than the model reads."""
    chance = random.Random(seed)
    data = []
    for i in range(rows):
        answer = chance.choice(["lock", "door"])
        text = f"{' '.join(chance.choices('water people time'.split(), k=i))} {seed}{i} turn {answer} turn say so"
        answers = (
            [] if i < unanswered else [{"text": answer, "answer_start": text.index(f"turn {answer}") + 5}]
        )
        question = {"id": f"{seed}-{i}", "question": "what will you turn", "answers": answers}
        data.append({"title": f"Page {i}", "paragraphs": [{"context": text, "qas": [question]}]})
    path.write_text(json.dumps({"data": data}), encoding="utf-8")
    return path


Made = tuple[TrainingReport, Path]
WRITERS: dict[str, tuple[str, Callable[..., Path], str]] = {
    "classify": ("train_classifier", write_texts, "csv"),
    "tag": ("train_tagger", write_sentences, "conll"),
    "read": ("train_reader", write_questions, "json"),
}


def trained(what: str, place: Path, model: Path, **more: Any) -> Made:
    """What training a head on made-up data told, and the file that it was measured with."""
    name, write, suffix = WRITERS[what]
    dev = write(place / f"dev.{suffix}", 12, seed=1)
    data = write(place / f"data.{suffix}")
    options = {"model": str(model), "dev": dev, "dev_share": 0.2, **QUICK, **more}
    return getattr(bert, name)(data, place / "out", **options), dev


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, tiny_model: Path) -> dict[str, Made]:
    pytest.importorskip("seqeval")
    more = {"tag": {"lr": 5e-3, "epochs": 16, "batch_size": 4}}
    return {
        what: trained(what, tmp_path_factory.mktemp(what), tiny_model, **more.get(what, {}))
        for what in WRITERS
    }


def weights(folder: Path | str) -> dict[str, np.ndarray]:
    from safetensors.numpy import load_file

    return load_file(Path(folder) / "model.safetensors")


def test_a_classifier_is_applied_at_once_and_as_good_as_was_said(made: dict[str, Made]) -> None:
    report, dev = made["classify"]
    rows = [line.split(",") for line in dev.read_text(encoding="utf-8").splitlines()[1:]]
    said = bert.label([text for text, _ in rows], model=report.out)
    assert said.classes == report.classes.classes == ("it", "them")
    right = np.array([one.label == label for one, (_, label) in zip(said.texts, rows, strict=True)])
    assert report.after["accuracy"].mean == right.mean() == 1.0
    assert report.before["accuracy"].mean < 1
    assert report.difference["accuracy"].mean == pytest.approx(1 - report.before["accuracy"].mean)
    assert report.classes.confusion.tolist() == [[8, 0], [0, 4]]
    assert report.classes.majority_accuracy == pytest.approx(8 / 12)
    confidences = np.array([one.score for one in said.texts])
    assert report.classes.calibration_error == pytest.approx(np.mean(1 - confidences), abs=1e-6)


def test_a_tagger_has_the_figures_of_eval_ner(made: dict[str, Made]) -> None:
    report, dev = made["tag"]
    found = evaluate_entities(dev, model=report.out)
    assert report.after == found.metrics
    assert report.after["f1"].mean > 0.6 > 0.3 > report.before["f1"].mean
    assert [(one.label, one.support) for one in report.classes.by_class] == [("name", 12)]
    assert report.classes.classes == ("O", "name") and report.classes.confusion.sum() == 12 * 6
    found = bert.tag("turn xyzq sound time 9", model=report.out)
    assert found.labels == ("O", "B-name", "I-name") and {one.field for one in found.mentions} == {"name"}


def test_a_reader_has_the_figures_of_eval_qa(made: dict[str, Made]) -> None:
    report, dev = made["read"]
    assert report.after == {
        name: one
        for name, one in evaluate_answers(dev, model=report.out).metrics.items()
        if name in report.after
    }
    assert report.after["f1"].mean > report.before["f1"].mean
    assert bert.answer("what will you turn", "so turn lock turn", model=report.out).passages == 1


def test_the_folder_is_whole_and_plain(made: dict[str, Made], tiny_model: Path) -> None:
    for what, (report, _) in made.items():
        out = Path(report.out)
        names = {path.name for path in out.iterdir()}
        assert names == {
            "README.md",
            "config.json",
            "model.safetensors",
            "tokenizer.json",
            "tokenizer_config.json",
        }
        assert (out / "tokenizer.json").read_bytes() == (tiny_model / "tokenizer.json").read_bytes()
        assert str(tiny_model.parent) not in (out / "config.json").read_text(encoding="utf-8") + (
            out / "README.md"
        ).read_text(encoding="utf-8")
        assert f"`seewhy lab train {what}`" in (out / "README.md").read_text(encoding="utf-8")
        assert not list(out.parent.glob(".*"))
        assert report.base_sha256 != report.sha256


def test_what_is_frozen_stays_as_it_was(made: dict[str, Made], tiny_model: Path, tmp_path: Path) -> None:
    """Of 3 layers: nothing, embeddings alone, these and a layer, all."""
    base = weights(tiny_model)

    def changed(out: str) -> set[str]:
        now = weights(out)
        return {
            ".".join(name.removeprefix("bert.").split(".")[:3]) if "layer" in name else name.split(".")[1]
            for name in now
            if name.startswith("bert.") and not np.array_equal(now[name], base[name.removeprefix("bert.")])
        }

    layers = {f"encoder.layer.{i}" for i in range(3)}
    assert changed(made["classify"][0].out) == {"embeddings", "pooler", *layers}
    for freeze, expected in (
        (0, {"pooler", *layers}),
        (1, {"pooler", *layers} - {"encoder.layer.0"}),
        ("all", set()),
    ):
        place = tmp_path / str(freeze)
        place.mkdir()
        report, _ = trained("classify", place, tiny_model, freeze=freeze, epochs=1)
        assert changed(report.out) == expected
        assert report.settings["freeze"] == freeze
        assert not np.array_equal(weights(report.out)["classifier.weight"], 0)


def test_a_pooler_that_the_base_lacks_learns_with_the_head(tmp_path: Path) -> None:
    model = save_tiny_bert(tmp_path / "model", pooler=False)
    parts = {}
    for epochs in (1, 2):
        place = tmp_path / str(epochs)
        place.mkdir()
        report, _ = trained("classify", place, model, freeze="all", epochs=epochs)
        parts[epochs] = weights(report.out)
    moved = [name for name in parts[1] if not np.array_equal(parts[1][name], parts[2][name])]
    assert sorted(moved) == [
        "bert.pooler.dense.bias", "bert.pooler.dense.weight", "classifier.bias", "classifier.weight",
    ]  # fmt: skip


@pytest.mark.parametrize("kind", ["albert", "distilbert", "roberta"])
def test_other_families(kind: str, tmp_path: Path) -> None:
    model = save_tiny(tmp_path / "model", kind)
    if kind == "albert":
        with pytest.raises(InputError, match="1 layers cannot be frozen: the model has layers that share"):
            trained("classify", tmp_path, model, freeze=1)
        assert not (tmp_path / ".out.training").exists()
    report, _ = trained("classify", tmp_path, model, freeze="all" if kind == "albert" else 1, epochs=1)
    assert bert.label(["the door"], model=report.out).classes == ("it", "them")


def test_a_head_for_the_very_classes_is_taken_on(made: dict[str, Made], tmp_path: Path) -> None:
    """So that more can be learned later; for other classes a new one begins."""
    first, _ = made["classify"]
    again, _ = trained("classify", tmp_path, Path(first.out), lr=1e-9, epochs=1)
    assert again.before["accuracy"].mean == first.after["accuracy"].mean
    assert any("keep that model" in note for note in again.notes)
    other = tmp_path / "other.csv"
    other.write_text(
        write_texts(tmp_path / "a.csv").read_text(encoding="utf-8").replace(",them", ",people"),
        encoding="utf-8",
    )
    fresh = bert.train_classifier(other, tmp_path / "fresh", model=first.out, lr=1e-9, epochs=1)
    assert fresh.classes and fresh.classes.classes == ("it", "people")
    old, new = (weights(one)["classifier.weight"] for one in (first.out, fresh.out))
    assert not np.allclose(old, new, atol=1e-3)


def test_a_stopped_run_goes_on_to_the_same_weights(
    made: dict[str, Made], tiny_model: Path, tmp_path: Path
) -> None:
    report, _ = made["classify"]

    def kill(state: Progress) -> None:
        if state.done == report.steps - 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        trained("classify", tmp_path, tiny_model, progress=kill)
    with pytest.raises(InputError, match="freeze was None and is 1"):
        trained("classify", tmp_path, tiny_model, resume=True, freeze=1)
    found, _ = trained("classify", tmp_path, tiny_model, resume=True)
    assert 0 < found.resumed < report.steps
    assert (found.sha256, found.scores) == (report.sha256, report.scores)


def test_it_ends_where_nothing_becomes_better(tiny_model: Path, tmp_path: Path) -> None:
    report, _ = trained("classify", tmp_path, tiny_model, lr=1e-12, epochs=9, patience=2)
    per_epoch = report.steps / 1.5
    assert report.steps < 9 * per_epoch and len(report.scores) == 1 + 3
    assert f"stopped at step {report.steps} of {9 * per_epoch:.0f}, as nothing had become better" in " ".join(
        report.notes
    )
    assert "no better than an untrained head: train longer, or with a higher --lr" in report.notes


def test_rare_classes_count_alike(tiny_model: Path) -> None:
    import torch

    from search.training.head_trainer import _weighted

    head = Head("label", load_files(tiny_model), None, None, ("a", "b"), 64, "cpu")  # type: ignore[arg-type]
    features = [{"labels": 0}, {"labels": 0}, {"labels": 0}, {"labels": 1}]
    logits = torch.tensor([[0.0, 0.0], [2.0, 0.0]])
    found = _weighted(features, head)({"logits": logits}, torch.tensor([0, 1]))
    losses = [np.log(2), np.log1p(np.exp(2))]
    of = [4 / (2 * 3), 4 / (2 * 1)]
    assert float(found) == pytest.approx(np.dot(losses, of) / sum(of))


def load_files(folder: Path) -> Any:
    from search.encoding.models import find_model

    return find_model(str(folder))


@pytest.fixture(scope="module")
def tagging(made: dict[str, Made]) -> Head:
    return load_head("tag", made["tag"][0].out)


def test_the_first_token_of_a_word_has_its_label(tagging: Head) -> None:
    """Also where a word has several, and where windows overlap; each word once a window."""
    row = Sentence(("the", "xyz", "lock"), ("O", "B-name", "I-name"))
    (one,) = Sentences().features(tagging, [row])
    assert one["encoding"].tokens == ["[CLS]", "the", "x", "##y", "##z", "lock", "[SEP]"]
    named = [tagging.labels[i] if i != IGNORED else "" for i in one["labels"]]
    assert named == ["", "O", "B-name", "", "", "I-name", ""]
    words = tuple(f"{'xyzq'[i % 4]}{'qzyx'[i % 4]}" for i in range(60))
    features = list(Sentences().features(tagging, [Sentence(words, ("B-name",) * 60)]))
    assert len(features) > 2
    for feature in features:
        tokens, labels = feature["encoding"].tokens, feature["labels"]
        assert all(
            (label == IGNORED) == (token[0] in "[#") for token, label in zip(tokens, labels, strict=True)
        )


def test_answers_are_found_in_the_window_that_holds_them(made: dict[str, Made], tmp_path: Path) -> None:
    reader = load_head("answer", made["read"][0].out)
    words = " ".join(f"water {i}" for i in range(40))
    text = f"{words} the long number. {words}"
    answers = [{"text": "long number", "answer_start": text.index("long")}]
    data = [
        {"title": "a", "paragraphs": [{"context": text, "qas": [
            {"id": "1", "question": "what", "answers": answers}, {"id": "2", "question": "who", "answers": []},
        ]}]}
    ]  # fmt: skip
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"data": data}), encoding="utf-8")
    answered, unanswered = Questions().read(path, "train").rows
    features = list(Questions().features(reader, [answered]))
    spans = [(one["encoding"], one["start_positions"], one["end_positions"]) for one in features]
    held = [encoding.tokens[start : end + 1] for encoding, start, end in spans if start]
    assert held and all(one == ["long", "number"] for one in held)
    assert [(start, end) for _, start, end in spans if not start] == [(0, 0)] * (len(spans) - len(held)) != []
    assert {
        (one["start_positions"], one["end_positions"]) for one in Questions().features(reader, [unanswered])
    } == {(0, 0)}


def test_questions_without_an_answer(tiny_model: Path, tmp_path: Path) -> None:
    """As in SQuAD 2.0: then no answer is an answer, as `eval-qa` counts it."""
    data = write_questions(tmp_path / "a.json", 12, unanswered=6)
    report = bert.train_reader(data, tmp_path / "out", model=str(tiny_model), dev=data_of(tmp_path), epochs=1)
    theirs = evaluate_answers(data_of(tmp_path), model=report.out).metrics
    assert report.after["f1"] == theirs["f1"]


def data_of(place: Path) -> Path:
    return write_questions(place / "dev.json", 8, seed=1, unanswered=4)


def test_parts_share_nothing(tmp_path: Path) -> None:
    """Each label has its share of what is held out; a paragraph is on one side with all its questions."""
    task = Texts()
    rows = task.read(write_texts(tmp_path / "a.csv", 60), "train").rows
    learn, held = parted(task, rows, 0.2, 0)
    assert [sum(row.label == label for row in held) for label in ("it", "them")] == [8, 4]
    assert {row.text for row in learn}.isdisjoint(row.text for row in held) and len(learn) == 48
    assert parted(task, rows, 0.2, 0) == (learn, held) != parted(task, rows, 0.2, 1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"freeze": 4}, "4 layers cannot be frozen: the model has 3 layers"),
        ({"freeze": "some"}, "freeze is 'some', but takes a number of layers, or all"),
        ({"class_weights": "odd"}, "no class weights 'odd'"),
        ({"patience": 0}, "the patience is 0"),
        ({"precision": "fp8"}, "the precision 'fp8' is not known"),
        ({"dev_share": 0.0}, "dev_share is 0.0"),
    ],
)
def test_settings_that_make_no_sense(
    options: dict[str, Any], message: str, tiny_model: Path, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=message):
        bert.train_classifier(
            write_texts(tmp_path / "a.csv"), tmp_path / "out", model=str(tiny_model), **options
        )
    assert not list(tmp_path.glob(".*"))


def test_data_that_nothing_can_be_learned_from(tiny_model: Path, tmp_path: Path) -> None:
    def refused(train: Callable[..., Any], content: str, message: str, **more: Any) -> None:
        path = tmp_path / "data"
        path.write_text(content, encoding="utf-8")
        with pytest.raises(InputError, match=message):
            train(path, tmp_path / "out", model=str(tiny_model), **more)

    few = "text,label\n" + "".join(f"a {i},x\n" for i in range(9)) + "b,rare\n"
    classify, tag, read = bert.train_classifier, bert.train_tagger, bert.train_reader
    refused(classify, few, "1 different texts with the label 'rare' left, and at least 3")
    refused(classify, "text,label\n" + "".join(f"a {i},x\n" for i in range(9)), "at least two labels")
    refused(classify, "path,label\na.md,x\n", "names passages or documents of an index")
    dev = tmp_path / "dev.csv"
    dev.write_text("text,label\nc,other\n", encoding="utf-8")
    refused(
        classify,
        write_texts(tmp_path / "a.csv").read_text(encoding="utf-8"),
        "nothing to learn from has the label 'other'",
        dev=dev,
    )
    refused(tag, "a\tO\n\nb\tO\n\nc\tO\n\nd\tO\n", "no word to learn from has a label but O")
    question = {"id": "q7", "question": "w", "answers": [{"text": "door", "answer_start": 3}]}
    wrong = {"data": [{"title": "a", "paragraphs": [{"context": "the door", "qas": [question]}]}]}
    refused(read, json.dumps(wrong), "the question 'q7': the paragraph has not 'door' at answer_start")
    with pytest.raises(InputError, match="leave class_weights out"):
        bert.train_reader(dev, tmp_path / "out", class_weights="balanced")


def test_a_classifier_does_not_learn_from_labels_of_words(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="train a tagger with seewhy lab train tag"):
        bert.train_classifier(tmp_path / "x.conll", tmp_path / "out")


def test_extras_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("search.training.heads.find_spec", lambda name: None)
    with pytest.raises(OptionalDependency, match=r"pip install 'seewhy\[entities\]'"):
        bert.train_tagger("a.conll", tmp_path / "out")


def test_figures_are_of_fp32_whatever_the_steps_are_of(tiny_model: Path, tmp_path: Path) -> None:
    report, dev = trained("classify", tmp_path, tiny_model, epochs=1, precision="bf16")
    rows = [line.split(",") for line in dev.read_text(encoding="utf-8").splitlines()[1:]]
    said = bert.label([text for text, _ in rows], model=report.out).texts
    right = np.array([one.label == label for one, (_, label) in zip(said, rows, strict=True)])
    error = calibration_error(np.array([one.score for one in said]), right)
    assert report.classes is not None
    assert report.classes.calibration_error == pytest.approx(error, abs=1e-6)


def test_nothing_is_printed(tiny_model: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    report, _ = trained(
        "classify", tmp_path, tiny_model, epochs=1, class_weights="balanced", precision="bf16"
    )
    assert capfd.readouterr() == ("", "")
    assert report.settings["class_weights"] == "balanced"
