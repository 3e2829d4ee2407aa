"""Training of a tiny model for a few steps: its result, its figures, and the data that it refuses."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import search
from search import Encoder, bert
from search.errors import InputError, ModelError, OptionalDependency
from search.evaluating.formats import read_questions
from search.lab.bert.tagging import chunks, load_tagger
from search.lab.evaluating.formats import read_conll
from search.lab.records.training import HeldOut
from tests.conftest import Run, save_tiny_bert
from tests.lab.training.conftest import (
    WORDS,
    trainable,
    write_graded,
    write_lines,
    write_pairs,
    write_questions,
    write_sentences,
    write_texts,
)

pytestmark = trainable
QUICK: dict[str, Any] = {"lr": 1e-3, "batch_size": 8}
HEAD: dict[str, Any] = {"lr": 3e-3, "epochs": 4, "batch_size": 8}
KINDS: dict[str, tuple[Callable[..., Any], Callable[..., Path], str, dict[str, Any]]] = {
    "encoder": (bert.train, write_graded, "tsv", {**QUICK, "epochs": 2}),
    "classify": (bert.train_classifier, write_texts, "csv", HEAD),
    "tag": (
        bert.train_tagger,
        write_sentences,
        "conll",
        {**HEAD, "lr": 5e-3, "epochs": 16, "batch_size": 4},
    ),
    "read": (bert.train_reader, write_questions, "json", HEAD),
}


class Stop(Exception):
    """Stands for a kill."""


def train_tiny(task: str, place: Path, model: Path, **more: Any) -> tuple[Any, Path]:
    """Train on made-up data; return the report and the file that it was measured with."""
    train, write, suffix, options = KINDS[task]
    dev = write(place / f"dev.{suffix}", 12, seed=1)
    settings = {"model": str(model), "dev": dev, **options, **more}
    return train(write(place / f"data.{suffix}"), place / "out", **settings), dev


def weights(folder: Path | str) -> dict[str, np.ndarray]:
    from safetensors.numpy import load_file

    return load_file(Path(folder) / "model.safetensors")


@pytest.fixture(scope="module")
def dropping(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model with dropout, so that a training draws random numbers at every step."""
    folder = save_tiny_bert(tmp_path_factory.mktemp("models") / "dropping")
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    config |= {"hidden_dropout_prob": 0.2, "attention_probs_dropout_prob": 0.2}
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def bases(dropping: Path, tiny_model: Path) -> dict[str, Path]:
    return {**dict.fromkeys(KINDS, tiny_model), "encoder": dropping}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory, bases: dict[str, Path]) -> dict[str, tuple[Any, Path]]:
    return {task: train_tiny(task, tmp_path_factory.mktemp(task), bases[task]) for task in KINDS}


def test_an_encoder_has_the_figures_of_eval(runs: dict[str, Any], dropping: Path) -> None:
    """Before and after again, by the public evaluation; the result is a model like any other."""
    report, dev = runs["encoder"]
    for model, estimates in ((str(dropping), report.before), (report.out, report.after)):
        metrics = search.evaluate(dev, model=model, engine="torch").metrics
        assert estimates["spearman"].mean == pytest.approx(metrics["spearman"].mean, abs=1e-6)
    encoder = Encoder(report.out, engine="torch", device="cpu")
    assert (encoder.pooling, encoder.max_tokens) == ("mean", 64)
    assert encoder.files.weights_sha256 == report.sha256 != encoder.files.tokenizer_sha256


def test_heads_have_the_figures_of_eval(runs: dict[str, Any], run: Run) -> None:
    for kind, task in (("tag", "entities"), ("read", "answers")):
        report, dev = runs[kind]
        code, out, err = run("eval", dev, "--task", task, "--model", report.out, "--json")
        assert code == 0, err
        for name, figure in report.after.items():
            assert json.loads(out)["metrics"][name]["mean"] == pytest.approx(figure.mean)
        assert report.after["f1"].mean > report.before["f1"].mean
    assert bert.tag("turn xyzq sound time 9", model=runs["tag"][0].out).labels == (
        "O",
        "B-name",
        "I-name",
    )
    report, dev = runs["classify"]
    rows = [line.split(",") for line in dev.read_text(encoding="utf-8").splitlines()[1:]]
    result = bert.label([text for text, _ in rows], model=report.out)
    right = np.array(
        [prediction.label == label for prediction, (_, label) in zip(result.texts, rows, strict=True)]
    )
    assert report.after["accuracy"].mean == right.mean() > report.before["accuracy"].mean
    assert report.classes.classes == result.classes == ("it", "them")
    assert report.classes.confusion.sum(axis=1).tolist() == [8, 4]
    assert np.trace(report.classes.confusion) == right.sum()


def test_a_tagger_learns_parts_of_speech(tiny_model: Path, tmp_path: Path) -> None:
    verbs = WORDS[::2]
    data, dev = (
        tagged(tmp_path / f"{seed}.conll", seed, lambda word: "VERB" if word in verbs else "NOUN")
        for seed in (0, 1)
    )
    report = bert.train_tagger(
        data, tmp_path / "out", model=str(tiny_model), dev=dev, lr=5e-3, epochs=16, batch_size=4
    )
    right = [
        [word.label for word in bert.tag(sentence.text, task="pos", model=report.out).words]
        == list(sentence.labels)
        for sentence in read_conll(dev, entities=False)
    ]
    assert report.after["accuracy"].mean > report.before["accuracy"].mean
    assert report.held_out["tag"] == HeldOut(sum(right), len(right), "sentences")
    with pytest.raises(InputError, match="its classes are NOUN, VERB. Use --task pos"):
        bert.tag("turn the key", model=report.out)


def tagged(path: Path, seed: int, label: Callable[[str], str]) -> Path:
    """Write sentences of four words, each with its label."""
    chance = random.Random(seed)
    sentences = [chance.choices(WORDS, k=4) for _ in range(60)]
    lines = ("\n".join(f"{word}\t{label(word)}" for word in words) for words in sentences)
    path.write_text("\n\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_heads_know_how_often_they_are_right(runs: dict[str, Any]) -> None:
    """The figure is stored with the head, and every prediction comes with it."""
    report, dev = runs["classify"]
    texts = [line.partition(",")[0] for line in dev.read_text(encoding="utf-8").splitlines()[1:]]
    labels = bert.label(texts, model=report.out)
    right = int(np.trace(report.classes.confusion))
    assert labels.held_out == HeldOut(right, len(texts), "texts") == report.held_out["label"]

    report, dev = runs["tag"]
    sentences = read_conll(dev)
    tagger = load_tagger(report.out, "ner")
    words = tagger.read(
        [sentence.text for sentence in sentences], [sentence.spans for sentence in sentences]
    )
    entities = [list(chunks([word.label for word in row])) for row in words]
    right = sum(
        list(chunks(sentence.labels)) == spans
        for sentence, spans in zip(sentences, entities, strict=True)
    )
    assert bert.tag("the key", model=report.out).held_out == HeldOut(right, len(sentences), "sentences")

    report, _ = runs["read"]
    right = round(report.after["exact_match"].mean * report.counts["held_out"])
    answer = bert.answer("where is the key?", "The key is here.", model=report.out)
    assert answer.held_out == HeldOut(right, report.counts["held_out"], "questions")
    assert all(not runs[kind][0].held_out for kind in runs.keys() - {"classify", "tag", "read"})


def test_a_report_agrees_with_its_files_and_figures(runs: dict[str, Any], bases: dict[str, Path]) -> None:
    for kind, (report, _) in runs.items():
        out = Path(report.out)
        assert {"training.json", "config.json", "model.safetensors", "tokenizer.json"} <= {
            path.name for path in out.iterdir()
        }
        assert not list(out.parent.glob(".*"))
        for name, gap in report.difference.items():
            assert gap.mean == pytest.approx(report.after[name].mean - report.before[name].mean)
            assert gap.low <= gap.mean + 1e-9 and gap.mean <= gap.high + 1e-9
        best = max(report.scores[1:], key=lambda point: point.value)
        assert (
            next(point for point in report.scores if point.step == report.kept and point.step).value
            == best.value
        )
        counts = report.counts
        assert counts["train"] + counts["chosen_by"] + counts["duplicates"] == counts["read"], kind
        assert report.losses and report.steps <= 16 * counts["train"]
        record = (out / "training.json").read_text(encoding="utf-8")
        assert bases[kind].name in record
        assert str(bases[kind].parent) not in record and str(out.parent) not in record
        assert (
            report.sha256 in record
            and hashlib.sha256((out / "model.safetensors").read_bytes()).hexdigest() in record
        )
        for file in report.files:
            assert hashlib.sha256((out.parent / file.name).read_bytes()).hexdigest() == file.sha256
            assert file.sha256 in record


def test_training_neither_loses_its_model_nor_overwrites_a_folder(
    tiny_model: Path, tmp_path: Path
) -> None:
    graded, options = write_graded(tmp_path / "a.tsv"), {"model": str(tiny_model), **QUICK}

    def kill(state: Any) -> None:
        raise Stop

    with pytest.raises(Stop):
        bert.train(graded, tmp_path / "out", progress=kill, **options)
    assert not list(tmp_path.glob(".*"))

    def occupy(state: Any) -> None:
        (tmp_path / "out").mkdir(exist_ok=True)
        (tmp_path / "out" / "a.txt").write_text("another's", encoding="utf-8")

    with pytest.raises(InputError, match=r"training is done.*The model is in .*result"):
        bert.train(graded, tmp_path / "out", progress=occupy, **options)
    assert list(tmp_path.glob(".out.*/result/model.safetensors"))
    for place, message in (
        ("out", "already exists. Give another"),
        ("no/where", "does not exist. Create it first"),
    ):
        with pytest.raises(InputError, match=message):
            bert.train(graded, tmp_path / place, **options)


def test_pairs_and_triplets_have_their_own_objectives(
    tiny_model: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    options = {"model": str(tiny_model), "batch_size": 4}
    report = bert.train(write_pairs(tmp_path / "a.csv"), tmp_path / "pairs", lr=1e-12, **options)
    assert (report.objective, report.loss) == ("pairs", "MultipleNegativesRankingLoss")
    assert capfd.readouterr() == ("", "")
    assert (
        report.before == report.after and report.difference["ndcg@10"].mean == 0 and not report.improved
    )
    assert (
        "the metrics did not improve. Keep the original model, or train with other settings or examples"
        in report.notes
    )
    rows = [
        {"query": f"key {i}", "passage": f"door {i}", "negative": f"water {i % 9}", "id": i}
        for i in range(20)
    ]
    rows[0]["passage"] = "long " * 100
    dev = write_lines(
        tmp_path / "dev.jsonl", *({**row, "query": f"lock {i}"} for i, row in enumerate(rows))
    )
    data = write_lines(tmp_path / "a.jsonl", *rows, rows[1])
    report = bert.train(data, tmp_path / "triplets", dev=dev, **options)
    assert (report.objective, report.counts["duplicates"]) == ("triplets", 1)
    assert "unused columns of a.jsonl: id" in " ".join(report.notes)
    with pytest.raises(InputError, match="Use the same columns"):
        bert.train(write_graded(tmp_path / "g.tsv"), tmp_path / "out", dev=dev, **options)


def test_prompts_of_the_model_are_used(tmp_path: Path) -> None:
    """Training and measuring encode as an index would, with the model's prompts before the texts."""
    pairs, hashes = write_pairs(tmp_path / "a.csv", 20), []
    for prompts in ({"query": "find: ", "passage": "text: "}, {}):
        base = save_tiny_bert(tmp_path / f"base{len(prompts)}")
        settings = base / "config_sentence_transformers.json"
        settings.write_text(json.dumps({"prompts": prompts}), encoding="utf-8")
        report = bert.train(pairs, tmp_path / f"out{len(prompts)}", model=str(base), **QUICK)
        hashes.append(report.sha256)
        assert Encoder(report.out).prompt("query") == prompts.get("query", "")
    assert hashes[0] != hashes[1]


def test_frozen_layers_do_not_change(tiny_model: Path, tmp_path: Path) -> None:
    """First the embeddings and one of 3 layers are frozen, then all."""
    base, layers = weights(tiny_model), {f"encoder.layer.{i}" for i in range(3)}
    for freeze, expected in (
        (1, {"pooler", *layers} - {"encoder.layer.0"}),
        ("all", set()),
    ):
        place = tmp_path / str(freeze)
        place.mkdir()
        report, _ = train_tiny("classify", place, tiny_model, freeze=freeze, epochs=1)
        now = {name.removeprefix("bert."): rows for name, rows in weights(report.out).items()}
        changes = {name for name in now.keys() & base.keys() if not np.array_equal(now[name], base[name])}
        parts = {".".join(name.split(".")[: 3 if "layer." in name else 1]) for name in changes}
        assert parts == expected and report.settings["freeze"] == freeze
    bare = save_tiny_bert(tmp_path / "bare", pooler=False)
    results = []
    for epochs in (1, 2):  # a pooler that the base lacks learns with the head
        place = tmp_path / f"bare{epochs}"
        place.mkdir()
        report, _ = train_tiny("classify", place, bare, freeze="all", epochs=epochs)
        results.append(weights(report.out))
    changes = {name for name in results[0] if not np.array_equal(results[0][name], results[1][name])}
    assert {name.rpartition(".")[0] for name in changes} == {"bert.pooler.dense", "classifier"}


def test_a_head_for_the_same_classes_is_trained_further(runs: dict[str, Any], tmp_path: Path) -> None:
    """So that more can be learned later; for other classes a new one begins."""
    first, _ = runs["classify"]
    again, _ = train_tiny("classify", tmp_path, Path(first.out), lr=1e-9, epochs=9)
    assert again.before["accuracy"].mean == first.after["accuracy"].mean
    assert len(again.scores) == 1 + 4  # nothing became better, so it stopped after three evaluations more
    content = write_texts(tmp_path / "a.csv").read_text(encoding="utf-8").replace(",them", ",people")
    (tmp_path / "other.csv").write_text(content, encoding="utf-8")
    fresh = bert.train_classifier(
        tmp_path / "other.csv", tmp_path / "fresh", model=first.out, lr=1e-9, epochs=1
    )
    assert fresh.classes.classes == ("it", "people")
    old, new = (weights(folder)["classifier.weight"] for folder in (first.out, fresh.out))
    assert not np.allclose(old, new, atol=1e-3)


def test_a_reader_trained_in_bf16_has_the_figures_of_eval(
    tiny_model: Path, tmp_path: Path, run: Run
) -> None:
    """No answer counts as an answer, as in SQuAD 2.0; figures are measured in fp32."""
    dev = write_questions(tmp_path / "dev.json", 8, seed=1, unanswered=4)
    data = write_questions(tmp_path / "a.json", 24, unanswered=8)
    options = {"model": str(tiny_model), "dev": dev, "epochs": 1, "precision": "bf16"}
    report = bert.train_reader(data, tmp_path / "out", **options)
    out = run("eval", dev, "--task", "answers", "--model", report.out, "--json")[1]
    assert json.loads(out)["metrics"]["f1"]["mean"] == pytest.approx(report.after["f1"].mean)
    questions, paragraphs = read_questions(dev)
    refused = [
        not bert.answer(item.text, paragraphs.entries[item.paragraph].text, model=report.out).answers
        for item in questions
        if not item.answers
    ]
    held_out = report.held_out["answer"]
    assert (held_out.unanswerable, held_out.refused) == (len(refused), sum(refused)) == (4, sum(refused))
    stored = json.loads((Path(report.out) / "training.json").read_text(encoding="utf-8"))
    assert stored["held_out"]["answer"]["interval"] == list(held_out.interval)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"freeze": 4}, "cannot freeze 4 layers: the model has 3."),
        ({"freeze": "some"}, "freeze is 'some'; give a number of layers, or all"),
        ({"epochs": -1}, "epochs and batch size must be at least 1"),
        ({"precision": "fp8"}, "unknown precision 'fp8'"),
    ],
)
def test_settings_that_make_no_sense_are_refused(
    options: dict[str, Any], message: str, tiny_model: Path, tmp_path: Path
) -> None:
    data = write_texts(tmp_path / "a.csv")
    with pytest.raises(InputError, match=message):
        bert.train_classifier(data, tmp_path / "out", model=str(tiny_model), **options)
    assert not list(tmp_path.glob(".*"))


FEW = "text,label\n" + "".join(f"a {i},x\n" for i in range(40))
WRONG = {
    "context": "the door",
    "qas": [{"id": "q7", "question": "w", "answers": [{"text": "door", "answer_start": 3}]}],
}


@pytest.mark.parametrize(
    ("task", "name", "content", "message"),
    [
        ("encoder", "a.csv", "one,two\na,b\n", "a.csv:1: cannot train on the columns one, two"),
        ("encoder", "a.csv", "query,passage\na,b\nc\n", "a.csv:3: more or fewer fields than the 2"),
        ("encoder", "a.csv", "sentence1,sentence2,score\na,b,nan\n", "a.csv:2: \"score\" is 'nan', not a number"),
        ("encoder", "a.csv", "sentence1,sentence2,score\na,b,-1\nc,d,1\n", "range from -1 to 1. Scale them to 0 to 1"),
        ("encoder", "a.jsonl", '{"query": "a", "passage": 1}\n', 'a.jsonl:1: "passage" is missing or not a text'),
        ("encoder", "a.jsonl", "[]\n", "a.jsonl:1: expected a JSON object"),
        ("encoder", "a.jsonl", "\n", "contains no examples"),
        ("encoder", "a.txt", "a\n", "is not a table"),
        ("encoder", "a.csv", "query,passage\na,b\nc,d\n", "too few examples to hold out a tenth"),
        ("encoder", "a.csv", "query,passage\n" + "q,b\n" * 9, "to hold out a tenth. Add more"),
        ("classify", "a.csv", FEW + "b,rare\n", "too few examples with the label 'rare' to hold out a tenth"),
        ("classify", "a.csv", FEW, "at least two labels"),
        ("classify", "a.csv", "path,label\na.md,x\n", "gives paths instead of texts"),
        ("tag", "a.conll", "".join(f"a{i}\tO\n\n" for i in range(20)), "every word has the label O"),
        ("tag", "a.conll", "a\tperson\nb\tO\n", "a.conll:1: .* is not a word with a label"),
        ("tag", "a.conll", "".join(f"a{i}\tNOUN\n\n" for i in range(20)), "at least two labels"),
        ("read", "a.json", json.dumps({"data": [{"title": "a", "paragraphs": [WRONG]}]}), "'door' is not at answer"),
    ],
)  # fmt: skip
def test_data_that_nothing_can_be_learned_from_is_refused(
    task: str, name: str, content: str, message: str, tiny_model: Path, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        KINDS[task][0](path, tmp_path / "out", model=str(tiny_model))
    assert not list(tmp_path.glob(".*"))


def test_mismatched_data_other_models_and_a_missing_extra_are_refused(
    tiny_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = {"model": str(tiny_model)}
    (tmp_path / "dev.csv").write_text("text,label\nc,other\n", encoding="utf-8")
    with pytest.raises(InputError, match="no training example has the label 'other'"):
        bert.train_classifier(
            write_texts(tmp_path / "a.csv"), tmp_path / "out", dev=tmp_path / "dev.csv", **options
        )
    same = [{"sentence1": "a key", "sentence2": "a key", "score": i / 4} for i in range(4)]
    dev = write_lines(tmp_path / "d.jsonl", *same)
    with pytest.raises(ModelError, match="all held-out examples have the same"):
        bert.train(write_graded(tmp_path / "a.tsv"), tmp_path / "out", dev=dev, **options)
    folder = save_tiny_bert(tmp_path / "m")
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    (folder / "config.json").write_text(json.dumps({**config, "model_type": "gpt2"}), encoding="utf-8")
    with pytest.raises(ModelError, match="is incomplete: no weights for"):
        bert.train(tmp_path / "a.tsv", tmp_path / "out", model=str(folder))
    assert not (tmp_path / ".out.training").exists()
    monkeypatch.setattr(
        "search.lab.training.run.find_spec", lambda name: None if name == "datasets" else object()
    )
    with pytest.raises(OptionalDependency, match=r"'datasets'.*pip install 'seewhy\[training\]'"):
        bert.train(tmp_path / "a.tsv", tmp_path / "out", **options)
