"""Answers and entities: cases worked by hand, and seqeval and SQuAD's figures of what a tiny model says."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from search import InputError, bert
from search.evaluating.formats import read_conll
from search.evaluating.readers import evaluate_answers, evaluate_entities
from search.records.predictions import Answer, Answers, TaggedWord
from tests.bert.conftest import BIO, save_tagger, save_tiny_head
from tests.conftest import Run

GOLD = """Ada\tB-person
Lovelace\tI-person
wrote\tO
to\tO
Charles\tB-person
Babbage\tI-person

London\tB-location
is\tO
old\tO

Nobody\tO
\t
Paris\tB-location
"""
# Ada Lovelace right; Babbage alone is a wrong span; London found as a person; Paris right, and one more.
PREDICTED = "B-person I-person O O O B-person B-person O O B-group I-location".split()


def words_of(folder: Path, content: str = GOLD) -> Path:
    path = folder / "gold.conll"
    path.write_text(content, encoding="utf-8")
    return path


def say(monkeypatch: pytest.MonkeyPatch, labels: list[str]) -> None:
    """A tagger that says these labels, word by word."""
    left = iter(labels)

    def read(texts: list[str], words: list[list[tuple[int, int]]]) -> Iterator[tuple[TaggedWord, ...]]:
        for text, spans in zip(texts, words, strict=True):
            yield tuple(TaggedWord(text[a:b], a, b, next(left), 1.0, (text[a:b],)) for a, b in spans)

    tagger = SimpleNamespace(head=SimpleNamespace(name="said", labels=tuple(set(labels))), read=read)
    monkeypatch.setattr("search.evaluating.readers.load_tagger", lambda *_: tagger)


def test_entities_worked_by_hand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    say(monkeypatch, PREDICTED)
    found = evaluate_entities(words_of(tmp_path), model="said")
    figures = {name: figure.mean for name, figure in found.metrics.items()}
    assert figures == pytest.approx(
        {
            "f1": 4 / 9, "precision": 2 / 5, "recall": 2 / 4,
            "f1 location": 2 / 3, "precision location": 1, "recall location": 1 / 2,
            "f1 person": 2 / 5, "precision person": 1 / 3, "recall person": 1 / 2,
            "f1 group": 0, "precision group": 0, "recall group": 0,
        }
    )  # fmt: skip
    assert found.queries[0].values == {"right": 1, "found": 2, "gold": 2}
    assert (found.task, found.documents, found.judgements) == ("entities", 4, 4)
    assert "no entity of the types group" in found.notes[0] and "only 4 sentences" in found.notes[-1]
    counts = np.array([(1, 2, 2), (0, 1, 1), (0, 1, 0), (1, 1, 1)])  # right, found, gold
    drawn = counts[np.random.default_rng(5).integers(0, 4, size=(20_000, 4))].sum(axis=1)
    ends = np.quantile(2 * drawn[:, 0] / (drawn[:, 1] + drawn[:, 2]), [0.025, 0.975])
    assert (found.metrics["f1"].low, found.metrics["f1"].high) == pytest.approx(ends, abs=0.02)
    say(monkeypatch, ["O"] * 2)
    none = evaluate_entities(words_of(tmp_path, "a\tO\nb\tO\n"), model="said")
    assert none.metrics["f1"].mean == 0 and set(none.metrics) == {"f1", "precision", "recall"}


@pytest.fixture(scope="module")
def tagger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tagger(tmp_path_factory.mktemp("models") / "ner", BIO)


def test_what_the_command_prints_is_what_seqeval_says(tagger: Path, tmp_path: Path, run: Run) -> None:
    """The figures as JSON, and the scorer on the labels that are printed sentence by sentence."""
    metrics = pytest.importorskip("seqeval.metrics")
    chance = np.random.default_rng(0)
    words = [f"{chance.choice(['ada', 'london', 'old', 'key'])}{i}" for i in range(400)]
    labels = [str(chance.choice(["O", "B-person", "B-location", "O"])) for _ in words]
    lines = [
        f"{word}\t{label}\n" + "\n" * (i % 8 == 7)
        for i, (word, label) in enumerate(zip(words, labels, strict=True))
    ]
    gold = words_of(tmp_path, "".join(lines))
    args = (
        "eval",
        gold,
        "--task",
        "entities",
        "--model",
        tagger,
        "--map",
        "PER=person",
        "--map",
        "LOC=location",
    )
    code, out, err = run(*args, "--json", "--per-query")
    assert code == 0, err
    found = json.loads(out)
    theirs = {"PER": "person", "LOC": "location"}
    said = [
        [label[:2] + theirs.get(label[2:], label[2:]) for label in query["found"]]
        for query in found["queries"]
    ]
    report = metrics.classification_report(
        [list(one.labels) for one in read_conll(gold)], said, output_dict=True, zero_division=0
    )
    assert found["metrics"]["f1"]["mean"] == pytest.approx(report["micro avg"]["f1-score"], abs=1e-12)
    for kind in ("person", "location"):
        for name, there in (("f1", "f1-score"), ("precision", "precision"), ("recall", "recall")):
            assert found["metrics"][f"{name} {kind}"]["mean"] == pytest.approx(report[kind][there], abs=1e-12)
    _, out, _ = run(*args)
    assert "50 sentences, " in out and f"f1 person {report['person']['f1-score']:.4f}" in " ".join(
        out.split()
    )
    rows = list(csv.DictReader(io.StringIO(run(*args, "--per-query", "--limit", 10)[1])))
    assert len(rows) == 10 and {"right", "found", "gold"} <= set(rows[0])


def test_types_of_other_names_and_long_sentences(tagger: Path, tmp_path: Path) -> None:
    gold = words_of(tmp_path)
    with pytest.raises(InputError, match=r"finds other types \(LOC, PER, creative-work\) than the gold file has "
                       r"\(location, person\).*--map LOC=location --map PER=person"):  # fmt: skip
        evaluate_entities(gold, model=str(tagger))
    found = evaluate_entities(gold, model=str(tagger), mapping={"PER": "person", "creative-work": "O"})
    assert "f1 creative-work" not in found.metrics
    assert any("knows no such type, so all of it is missed: location" in note for note in found.notes)
    words = [*(f"word{i}" for i in range(80)), "\u200d"]
    gold = words_of(tmp_path, "".join(f"{word}\tB-PER\n" for word in words))
    found = evaluate_entities(gold, model=str(tagger))
    assert len(found.queries[0].found) == len(words) and "makes nothing of 1 words" in found.notes[0]
    assert len(set(found.queries[0].found[-20:])) > 1  # far behind what one window holds


PARAGRAPHS = {
    "To rotate the key, open the door.": [
        ("what opens", ["the door", "door"]),
        ("what turns", ["key"]),
        ("red", []),
    ],
    "The water is long.": [("what is long", ["The water"]), ("who is he", [])],
}
SAID = {  # what the reader says, and how sure it is
    "what opens": ("the door", 2.0), "what turns": ("rotate the key", 1.0), "red": ("key", -0.5),
    "what is long": ("water", -1.0), "who is he": ("water", 3.0),
}  # fmt: skip


def squad(path: Path, unanswered: bool = True) -> Path:
    listed = []
    for context, asked in PARAGRAPHS.items():
        qas = [
            {"id": text, "question": text, "answers": [{"text": one} for one in golds]}
            for text, golds in asked
            if golds or unanswered
        ]
        listed.append({"context": context, "qas": qas})
    path.write_text(json.dumps({"data": [{"title": "Things", "paragraphs": listed}]}), encoding="utf-8")
    return path


def foreseen(question: str, text: str, **given: Any) -> Answers:
    said, margin = SAID[question]
    start = text.index(said)
    one = Answer(
        rank=1, text=said, start=start, end=start + len(said), path="", document="", line_start=1, line_end=1,
        passage=text, passage_start=0, hit=None, start_logit=margin, end_logit=0.0, null_score=0.0,
    )  # fmt: skip
    found = ((one,), None) if margin >= 0 else ((), one)
    return Answers(question, "foreseen", "cpu", *found, 0, 1, 1, 0, 0.0, 30, 1.0)


def test_answers_worked_by_hand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bert, "answer", foreseen)
    found = evaluate_answers(squad(tmp_path / "two.json"), model="foreseen")
    figures = {name: round(figure.mean, 4) for name, figure in found.metrics.items()}
    assert figures == {
        "exact_match": 0.4, "f1": 0.5333, "answered": 0.6, "has_answer_exact_match": 0.3333,
        "has_answer_f1": 0.5556, "no_answer_exact_match": 0.5,
    }  # fmt: skip
    assert [one.found for one in found.queries] == [("the door",), ("rotate the key",), (), (), ("water",)]
    assert (found.task, found.documents, found.judgements, found.primary) == ("answers", 2, 4, "f1")
    one = squad(tmp_path / "one.json", unanswered=False)
    found = evaluate_answers(one, model="foreseen")  # as in SQuAD 1.1 the best span always counts
    assert [one.found for one in found.queries] == [("the door",), ("rotate the key",), ("water",)]
    assert "the best span counts as the answer, however little it scores" in found.notes
    assert evaluate_answers(one, model="foreseen", no_answer_margin=0).queries[2].found == ()
    two = evaluate_answers(one, model="foreseen", limit=2)
    assert [one.id for one in two.queries] == ["what opens", "what turns"]
    assert "2 of 3 questions were asked, spread evenly" in two.notes
    with pytest.raises(InputError, match="limit is 0"):
        evaluate_answers(one, model="foreseen", limit=0)


def test_a_tiny_reader_alone_and_over_an_index(tmp_path: Path, tiny_model: Path) -> None:
    reader = str(save_tiny_head(tmp_path / "reader", "answer", positions=128))
    path, states = squad(tmp_path / "two.json"), []
    found = evaluate_answers(
        path, model=reader, settings=["lexical", "dense"], k=2, device="cpu", encoder=str(tiny_model),
        progress=lambda state: states.append(state.stage),
    )  # fmt: skip
    assert [one.setting.name for one in found.settings] == ["gold paragraph", "lexical", "dense"]
    assert {"exact_match", "f1", "answered"} <= {one.metric for one in found.comparisons}
    assert states.count("asking") == 15
    assert found.settings[2].metrics["retrieved"].mean == 1
    texts = {text: context for context, asked in PARAGRAPHS.items() for text, _ in asked}
    for query in found.queries:
        said = bert.answer(query.text, texts[query.text], model=reader, device="cpu").answers
        assert query.found == tuple(one.text for one in said[:1])


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (["--task", "entities"], 2, "--model is needed"),
        (["--task", "entities", "--model", "m", "--map", "PER"], 2, "--map takes A=B"),
        (["--task", "entities", "--model", "m", "--tune"], 2, "--tune goes with --task retrieval"),
        (["--task", "answers", "--model", "m", "--map", "A=B"], 2, "--map goes with --task entities"),
        (["--limit", "3"], 2, "--limit goes with --task answers or entities"),
        (["--task", "entities", "--model", "m", "no.conll"], 1, "'no.conll' cannot be read"),
        (["--task", "answers", "--model", "m", "no.json"], 1, "'no.json' cannot be read"),
        (["no.conll"], 1, "there is no 'no.conll'"),
    ],
)
def test_wrong_usage(run: Run, tmp_path: Path, args: list[str], code: int, message: str) -> None:
    if not args[-1].startswith("no."):
        args = [*args, str(words_of(tmp_path))]
    found, out, err = run("eval", *args)
    assert (found, out) == (code, "")
    assert message in " ".join(err.replace("│", " ").split())
    with pytest.raises(InputError, match="--task entities"):
        import search

        search.evaluate(words_of(tmp_path))
