"""Entities: a case worked by hand, seqeval on the file that is written, mismatched types, malformed files."""

import importlib.util
import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from search import InputError, OptionalDependency
from search.evaluating.entities import as_conll, evaluate_entities, read_conll
from search.evaluating.formats import read_dataset
from search.records.predictions import TaggedWord
from tests.bert.conftest import BIO, save_tagger
from tests.conftest import DATA, Run

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("seqeval") is None, reason="the extra 'entities' is not installed"
)

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
PREDICTED = """Ada\tB-person
Lovelace\tI-person
wrote\tO
to\tO
Charles\tO
Babbage\tB-person

London\tB-person
is\tO
old\tO

Nobody\tB-group

Paris\tI-location
"""


@pytest.fixture
def run(run: Run) -> Run:
    """Run `seewhy eval-ner ARGS...` in this process: exit code, stdout, stderr."""
    return partial(run, "eval-ner")


def said(monkeypatch: pytest.MonkeyPatch, path: Path) -> None:
    """A tagger that says of every word what a file says of it."""
    sentences = {sentence.words: sentence.labels for sentence in read_conll(path)}

    def read(texts: list[str], words: list[list[tuple[int, int]]]) -> Iterator[tuple[TaggedWord, ...]]:
        for text, spans in zip(texts, words, strict=True):
            labels = sentences[tuple(text.split(" "))]
            yield tuple(
                TaggedWord(text[slice(*span)], *span, label, 1.0, (text[slice(*span)],))
                for span, label in zip(spans, labels, strict=True)
            )

    labels = tuple({label for labels in sentences.values() for label in labels})
    tagger = SimpleNamespace(head=SimpleNamespace(name="said", labels=labels), read=read)
    monkeypatch.setattr("search.evaluating.entities.load_tagger", lambda *_: tagger)


def files(folder: Path, **contents: str) -> list[Path]:
    paths = [folder / f"{name}.conll" for name in contents]
    for path, content in zip(paths, contents.values(), strict=True):
        path.write_text(content, encoding="utf-8")
    return paths


def test_a_case_worked_by_hand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gold, predicted = files(tmp_path, gold=GOLD, predicted=PREDICTED)
    said(monkeypatch, predicted)
    found = evaluate_entities(gold, model="said")
    by_type = {one.name: one for one in found.types}
    counts = {name: (one.gold, one.predicted, one.right) for name, one in by_type.items()}
    assert counts == {"group": (0, 1, 0), "location": (2, 1, 1), "person": (2, 3, 1)}
    figures = {
        name: (one.precision.mean, one.recall.mean, one.f1.mean)
        for name, one in {**by_type, "all": found.micro}.items()
    }
    assert figures["person"] == pytest.approx((1 / 3, 1 / 2, 2 / 5))
    assert figures["location"] == pytest.approx((1, 1 / 2, 2 / 3))
    assert figures["group"] == (0, 0, 0)
    assert figures["all"] == pytest.approx((2 / 5, 2 / 4, 4 / 9))
    assert found.macro_f1 == pytest.approx((2 / 5 + 2 / 3 + 0) / 3)
    assert (found.sentences, found.words, found.metrics["f1"]) == (4, 11, found.micro.f1)
    assert "all of it is wrong: group (1)" in found.notes[0]
    assert "only 4 sentences" in found.notes[-1]


def test_intervals_are_those_of_sentences_drawn_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Against a bootstrap written out here, over four sentences with the counts of the case above."""
    gold, predicted = files(tmp_path, gold=GOLD, predicted=PREDICTED)
    said(monkeypatch, predicted)
    found = evaluate_entities(gold, model="said")
    counts = np.array([(1, 2, 2), (0, 1, 1), (0, 1, 0), (1, 1, 1)])  # right, predicted, gold
    drawn = counts[np.random.default_rng(5).integers(0, 4, size=(20_000, 4))].sum(axis=1)
    f1 = 2 * drawn[:, 0] / (drawn[:, 1] + drawn[:, 2])
    assert (found.micro.f1.low, found.micro.f1.high) == pytest.approx(
        np.quantile(f1, [0.025, 0.975]), abs=0.02
    )
    assert found.types == evaluate_entities(gold, model="said").types  # by the same seed


@pytest.fixture(scope="module")
def tagger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tagger(tmp_path_factory.mktemp("models") / "ner", BIO)


def test_what_is_written_scores_the_same_with_seqeval(tagger: Path, tmp_path: Path, run: Run) -> None:
    """On WNUT-17: the command's JSON, the file of predictions read by hand, and the scorer."""
    from seqeval.metrics import classification_report

    gold = DATA / "ner" / "wnut17-dev.conll"
    if not gold.is_file():
        pytest.skip("WNUT-17 is not at hand")
    part = tmp_path / "part.conll"
    sentences = read_conll(gold)
    assert len(sentences) == 1009 and sum(label[0] == "B" for one in sentences for label in one.labels) == 836
    part.write_text(
        as_conll(list(zip(one.words, one.labels, strict=True)) for one in sentences[::5]), encoding="utf-8"
    )
    written = tmp_path / "predictions.conll"
    mapped = ("--map", "PER=person", "--map", "LOC=location")
    asked = (part, "--model", tagger, *mapped, "--predictions", written, "--json")
    shown = json.loads(run(*asked)[1])
    columns = [
        [
            [line.split("\t") for line in block.split("\n")]
            for block in path.read_text("utf-8").strip().split("\n\n")
        ]
        for path in (part, written)
    ]
    assert [[word for word, _ in one] for one in columns[0]] == [
        [word for word, _ in one] for one in columns[1]
    ]
    right, mine = ([[label for _, label in one] for one in of] for of in columns)
    report = classification_report(right, mine, output_dict=True, zero_division=0)
    assert shown["metrics"]["f1"]["mean"] == report["micro avg"]["f1-score"] > 0
    for one in shown["types"]:
        assert (one["precision"]["mean"], one["recall"]["mean"], one["f1"]["mean"], one["gold"]) == (
            report[one["name"]]["precision"],
            report[one["name"]]["recall"],
            report[one["name"]]["f1-score"],
            report[one["name"]]["support"],
        )
        assert one["f1"]["mean"] == pytest.approx(
            2 * one["right"] / max(one["gold"] + one["predicted"], 1), abs=1e-12
        )
    assert {one["name"] for one in shown["types"]} == {
        "person", "location", "creative-work", "corporation", "group", "product",
    }  # fmt: skip


def test_the_table(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    gold, predicted = files(tmp_path, gold=GOLD, predicted=PREDICTED)
    said(monkeypatch, predicted)
    _, shown, _ = run(gold, "--model", "said")
    assert "4 sentences, 11 words, 4 entities" in shown
    (line,) = [line for line in shown.splitlines() if line.startswith("person")]
    assert line.split()[1:4] == ["0.3333", "0.5000", "0.4000"]
    assert line.split()[-3:] == ["2", "3", "1"]


def test_types_of_other_names(tagger: Path, tmp_path: Path) -> None:
    (gold,) = files(tmp_path, gold=GOLD)
    with pytest.raises(InputError, match=r"finds other types \(LOC, PER, creative-work\) than the gold file has "
                       r"\(location, person\).*--map LOC=location --map PER=person"):  # fmt: skip
        evaluate_entities(gold, model=str(tagger))
    found = evaluate_entities(gold, model=str(tagger), mapping={"PER": "person", "creative-work": "O"})
    types = {one.name: one for one in found.types}
    assert types["person"].gold == 2 and "creative-work" not in types
    assert any("know no such type, so all of it is missed: location (2)" in note for note in found.notes)
    for mapping in ({"ORG": "person"}, {"PER": "people"}):
        with pytest.raises(InputError, match="finds other types"):
            evaluate_entities(gold, model=str(tagger), mapping=mapping)


def test_long_sentences_are_read_whole(tagger: Path, tmp_path: Path) -> None:
    words = [f"word{i}" for i in range(80)]
    (gold,) = files(tmp_path, gold="".join(f"{word}\tB-PER\n" for word in [*words, "\u200d"]))
    found = evaluate_entities(gold, model=str(tagger))
    assert [word for word, _ in found.predictions[0]] == [*words, "\u200d"]
    assert "makes nothing of 1 word," in found.notes[0]
    assert len({label for _, label in found.predictions[0][-20:]}) > 1  # far behind what one window holds


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("", "holds no sentence"),
        ("\n \n", "holds no sentence"),
        ("a\tO\nb\n", r"x.conll:2: 'b' is not a word and its label"),
        ("a\tO\n\tO\n", r"x.conll:2: 'O' is not a word and its label"),
        ("a\tO\nb\tperson\n", r"x.conll:2: 'person' is no label of an entity"),
    ],
)
def test_malformed_files(tmp_path: Path, content: str, problem: str) -> None:
    (path,) = files(tmp_path, x=content)
    with pytest.raises(InputError, match=problem):
        evaluate_entities(path, model="said")


def test_other_forms_of_the_format(tmp_path: Path) -> None:
    old = "-DOCSTART- -X- -X- O\r\n\r\nEU NNP B-NP S-ORG\r\nrejects VBZ B-VP O\r\n"
    (path,) = files(tmp_path, old=old)
    (sentence,) = read_conll(path)
    assert (sentence.words, sentence.labels) == (("EU", "rejects"), ("S-ORG", "O"))
    path.write_bytes(b"a\tO\n\xff\tO\n")
    with pytest.raises(InputError, match="old.conll:1: this line or one soon after it is not UTF-8"):
        read_conll(path)
    with pytest.raises(InputError, match="cannot be read"):
        read_conll(tmp_path / "none")


def test_a_sentence_without_any_entity(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (path,) = files(tmp_path, none="a\tO\nb\tO\n")
    said(monkeypatch, path)
    found = evaluate_entities(path, model="said")
    assert (found.types, found.micro.f1.mean, found.macro_f1) == ((), 0.0, 0.0)
    assert found.notes[0] == "there is no entity in the file, and none was found; the figures mean nothing"


def test_without_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (path,) = files(tmp_path, gold=GOLD)
    monkeypatch.setattr("search.evaluating.entities.find_spec", lambda _: None)
    with pytest.raises(OptionalDependency, match=r"pip install 'seewhy\[entities\]'"):
        evaluate_entities(path, model="said")


def test_wrong_usage(tmp_path: Path, run: Run) -> None:
    (path,) = files(tmp_path, gold=GOLD)
    for options in (
        (),
        ("--model", "m", "--map", "PER"),
        ("--model", "m", "--map", "a=person", "--map", "a=location"),
    ):
        code, out, err = run(path, *options)
        assert (code, out) == (2, "") and err
    code, _, err = run(tmp_path / "none", "--model", "m")
    assert code == 1 and err.startswith("seewhy: ") and err.count("\n") == 1


def test_a_file_in_conll_format_has_a_command_of_its_own(tmp_path: Path) -> None:
    (path,) = files(tmp_path, gold=GOLD)
    with pytest.raises(InputError, match="seewhy eval-ner"):
        read_dataset(path)
