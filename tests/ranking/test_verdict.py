"""Answerability verdict: the figures it is computed from, worked by hand, and where there is none."""

import json
import math
import random
from dataclasses import replace
from pathlib import Path
from statistics import median

import pytest

from search import Document, Index, Question
from search.index import searcher_of
from search.indexes import Indexes
from search.render.format import verdict_line
from search.store.database import read_meta
from search.store.files import DATABASE
from tests.conftest import Run
from tests.encoding import zoo

TEXTS = {
    "key.md": "# The key\n\nThe key opens the door of the house.\n\n# A lock\n\nWater is in the lock.\n",
    "water.md": "The water of the river is cold.",
    "number.md": "People call a number.",
    "sun.md": "Look at the sun.",
    **{
        f"{word}.md": f"The {word} is here."
        for word in ("paper", "bird", "stone", "tree", "cup", "shoe", "road")
    },
}


@pytest.fixture
def index(tmp_path: Path, tiny_model: Path, monkeypatch: pytest.MonkeyPatch) -> Index:
    return calibrated_index(tmp_path / "notes", TEXTS, tiny_model, monkeypatch)


def calibrated_index(
    folder: Path, texts: dict[str, str], model: Path, monkeypatch: pytest.MonkeyPatch
) -> Index:
    """An index whose model is taken for the default one; foreign questions were not asked when it was made."""
    folder.mkdir()
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    index = Index.build(folder, model=str(model), pooling="mean")
    monkeypatch.setattr("search.ranking.verdict.DEFAULT_WEIGHTS", index.fingerprint.weights)
    monkeypatch.setattr("search.ranking.verdict.DEFAULT_DIMENSION", index.fingerprint.dimension)
    return index


WORDS = "bird shoe cup road paper tree stone".split()


def random_texts(choose: random.Random) -> dict[str, str]:
    """Sixteen texts of different lengths, each with two of the words."""
    return {
        f"{number}.md": f"{' '.join(choose.sample(WORDS, 2))} {'long ' * choose.randint(0, 6)}here."
        for number in range(16)
    }


def idf(passages: int, count: int) -> float:
    return math.log(1 + (passages - count + 0.5) / (count + 0.5))


def foreign(index: Index) -> dict[str, float]:
    return dict(read_meta(index.path / DATABASE)["foreign"])


def odds(probability: float) -> float:
    return math.log(probability / (1 - probability))


def test_a_verdict_is_a_logistic_of_excess_coverage_and_lead(index: Index) -> None:
    hits = index.query("key cold xylophone", k=10)
    passages, verdict = index.status().passages, hits[0].verdict
    assert passages == 11
    assert verdict is not None
    share = idf(passages, 1) / (2 * idf(passages, 1) + idf(passages, 0))
    assert verdict.coverage == pytest.approx(share)
    assert verdict.score == hits[0].score
    assert hits[0].cosine is not None
    excess, lead = min(hits[0].cosine - 0.18, 0.25), min(verdict.score - hits[9].score, 0.25)
    assert odds(verdict.probability) == pytest.approx(-4 + 11.95 * excess + 2.42 * share + 6.9 * lead)
    assert {hit.verdict for hit in hits} == {verdict}


def test_words_in_more_than_half_of_the_passages_do_not_count(index: Index) -> None:
    (hit, *_) = index.query("is the key")
    assert hit.verdict and hit.verdict.coverage == pytest.approx(1)


def test_words_of_different_passages_are_not_added_to_the_coverage(index: Index) -> None:
    (hit, *_) = index.query("door cold")
    assert hit.verdict and hit.verdict.coverage == pytest.approx(0.5)


def test_coverage_is_the_highest_of_the_first_three_hits(
    tmp_path: Path, tiny_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    choose = random.Random(1)
    texts = random_texts(choose)
    index = calibrated_index(tmp_path / "others", texts, tiny_model, monkeypatch)
    counts = {word: sum(word in text.split() for text in texts.values()) for word in WORDS}
    ranks = set()  # the rank of the hit with the highest coverage
    for _ in range(150):
        query = choose.sample(WORDS, 4)
        hits = index.query(" ".join(query))
        idfs = {word: idf(16, counts[word]) for word in query}
        shares = [
            sum(idfs[word] for word in query if word in hit.text.split()) / sum(idfs.values())
            for hit in hits
        ]
        assert hits[0].verdict and hits[0].verdict.coverage == pytest.approx(max(shares[:3]))
        ranks.add(shares.index(max(shares)) + 1)
    assert {1, 3, 4} <= ranks


def test_there_is_no_verdict_below_ten_passages(
    tmp_path: Path, tiny_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = dict(list(TEXTS.items())[:9])
    index = calibrated_index(tmp_path / "few", texts, tiny_model, monkeypatch)
    assert index.status().passages == 9
    assert index.query("key")[0].verdict is None


def test_excess_is_over_the_median_of_the_highest_cosines_of_foreign_questions(
    index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("search.indexing.sampling.DEFAULT_WEIGHTS", index.fingerprint.weights)
    monkeypatch.setattr("search.indexing.sampling._FOREIGN", tmp_path / "foreign.txt")
    questions = ["who found the river", "cold water", "a bird and a stone"]
    (tmp_path / "foreign.txt").write_text("\n".join(questions), encoding="utf-8")
    index.update()
    median_cosine = foreign(index)["cosine"]
    cosines = [index.query(question, mode="dense")[0].cosine for question in questions]
    assert median_cosine == pytest.approx(median(filter(None, cosines)), abs=1e-4)
    monkeypatch.setattr("search.ranking.verdict.MOST_EXCESS", 2.0)
    (hit, *_) = index.query("cold")
    monkeypatch.setattr("search.ranking.verdict.EXCESS", 0)
    (plain, *_) = index.query("cold")
    assert hit.verdict and plain.verdict and hit.cosine and median_cosine
    difference = odds(hit.verdict.probability) - odds(plain.verdict.probability)
    assert difference == pytest.approx(11.95 * (hit.cosine - median_cosine))


def test_foreign_questions_are_asked_again_when_the_size_has_changed(
    index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("search.indexing.sampling.DEFAULT_WEIGHTS", index.fingerprint.weights)
    folder, sizes = Path(index.status().folder), []
    for number in range(7):
        index.update()
        sizes.append(foreign(index)["passages"])
        (folder / f"new{number}.md").write_text(f"Number {number}.", encoding="utf-8")
    assert sizes == [11, 11, 11, 11, 11, 11, 17]  # 16 is at most 1.5 times 11


def test_of_several_indexes_the_most_probable_answer_counts(
    index: Index, tmp_path: Path, tiny_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other_texts = {name: text.replace("key", "hat") for name, text in TEXTS.items()}
    other_index = calibrated_index(tmp_path / "others", other_texts, tiny_model, monkeypatch)
    verdicts = [part.query("key cold")[0].verdict for part in (index, other_index)]
    best = max(filter(None, verdicts), key=lambda verdict: verdict.probability)
    assert Indexes([other_index, index]).query("key cold")[0].verdict == best


@pytest.mark.parametrize(
    ("constant", "line"),
    [
        (9, "Answered (100 %); see also hit 2"),
        (0, "Probably answered (50 %)"),
        (-1, "Perhaps (27 %)"),
        (-9, "Probably not here (0 %)"),
    ],
)
def test_the_line_says_four_things_and_names_a_hit_with_more_of_the_words(
    index: Index, monkeypatch: pytest.MonkeyPatch, constant: float, line: str
) -> None:
    for name, value in {"CONSTANT": constant, "EXCESS": 0, "COVERAGE": 0, "LEAD": 0}.items():
        monkeypatch.setattr(f"search.ranking.verdict.{name}", value)
    hits = index.query("key")
    verdict = hits[0].verdict
    assert verdict and verdict.evidence is None
    drawn = [replace(hit, verdict=replace(verdict, evidence=hits[1].passage_id)) for hit in hits]
    assert verdict_line(drawn) == line
    assert verdict_line(drawn[:1]) == line.partition(";")[0]  # the other hit is not shown


def test_the_evidence_is_a_hit_with_much_more_of_the_words_than_the_first(
    tmp_path: Path, tiny_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    choose = random.Random(1)
    texts = random_texts(choose)
    index = calibrated_index(tmp_path / "others", texts, tiny_model, monkeypatch)
    counts = {word: sum(word in text.split() for text in texts.values()) for word in WORDS}
    evidence = set[int | None]()
    for _ in range(150):
        query = choose.sample(WORDS, 4)
        hits = index.query(" ".join(query))
        total = sum(idf(16, counts[word]) for word in query)
        shares = [
            sum(idf(16, counts[word]) for word in query if word in hit.text.split()) / total
            for hit in hits[:3]
        ]
        most = max(shares[1:])
        rank = 2 + shares[1:].index(most) if most - shares[0] >= 0.2 else None
        verdict = hits[0].verdict
        assert verdict and verdict.evidence == (rank and hits[rank - 1].passage_id)
        evidence.add(rank)
    assert evidence >= {None, 2}


def test_a_verdict_is_the_same_whatever_part_of_the_ranking_is_shown(index: Index) -> None:
    whole = index.query("key cold xylophone")[0].verdict
    for options in ({"k": 1}, {"offset": 2}, {"per_document": 1}, {"group": True}, {"weight": 0.75}):
        assert index.query("key cold xylophone", **options)[0].verdict == whole


def test_a_verdict_is_of_the_passages_that_pass_a_filter(index: Index) -> None:
    (hit, *_) = index.query("key", where="not path:key.md")
    assert hit.verdict and hit.verdict.coverage == 0
    assert index.query("key", where="path:water.md")[0].verdict is None


@pytest.mark.parametrize(
    "options",
    [{"mode": "dense"}, {"mode": "lexical"}, {"weight": 0.5}, {"rerank": "late"}],
)
def test_there_is_no_verdict_for_other_rankings(index: Index, options: dict[str, object]) -> None:
    assert {hit.verdict for hit in index.query("key", **options)} == {None}


def test_there_is_no_verdict_for_several_texts_and_for_single_passages(index: Index) -> None:
    assert index.query(Question.of("key", "cold"))[0].verdict is None
    assert searcher_of(index).hit("key", index.query("key")[0].passage_id).verdict is None
    assert index.similar("key.md")[0].verdict is None


def test_there_is_no_verdict_for_a_model_that_it_was_not_fitted_for(
    index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    hit = index.query("key")[0]
    assert hit.verdict is None


@pytest.mark.parametrize(
    "options",
    [
        {"query_prompt": "find "},
        {"document_prompt": "text: "},
        {"dim": 16},
        {"pooling": "cls"},
        {"layer": 1},
    ],
)
def test_there_is_no_verdict_for_other_embeddings_of_the_same_model(
    tmp_path: Path, tiny_model: Path, index: Index, options: dict[str, object]
) -> None:
    assert index.query("key")[0].verdict
    other = Index.build(
        tmp_path / "notes", index=str(tmp_path / "other"), model=str(tiny_model), **options
    )  # type: ignore[arg-type]
    hits = other.query("key")
    assert len(hits) == 10 and {hit.verdict for hit in hits} == {None}


@pytest.mark.parametrize("name", ["static", "bert-cls", "qwen3"])
def test_another_kind_of_model_never_says_whether_there_is_an_answer(
    tmp_path: Path, name: str, run: Run
) -> None:
    zoo.save(name, tmp_path)
    (tmp_path / "notes").mkdir()
    for file, text in TEXTS.items():
        (tmp_path / "notes" / file).write_text(text, encoding="utf-8")
    place = str(tmp_path / "index")
    index = Index.build(tmp_path / "notes", index=place, model=str(tmp_path / "model"))
    assert {hit.verdict for hit in index.query("who opens the door")} == {None}
    _, out, err = run("query", "who opens the door", "-i", place)
    assert "nswer" not in out + err.replace("answers.", "")
    _, out, _ = run("query", "who opens the door", "-i", place, "--json")
    assert {hit["verdict"] for hit in json.loads(out)} == {None}


def test_a_query_without_words_has_no_coverage(index: Index) -> None:
    (hit, *_) = index.query("???")
    assert hit.verdict and hit.verdict.coverage == 0


@pytest.mark.parametrize(
    ("probability", "says"),
    [
        (0.9, "answered"),
        (0.6, "probably answered"),
        (0.4, "perhaps"),
        (0.05, "probably not here"),
    ],
)
def test_a_verdict_says_how_probable_an_answer_is(
    index: Index, monkeypatch: pytest.MonkeyPatch, probability: float, says: str
) -> None:
    constants = {"CONSTANT": odds(probability), "EXCESS": 0, "COVERAGE": 0, "LEAD": 0}
    for name, value in constants.items():
        monkeypatch.setattr(f"search.ranking.verdict.{name}", value)
    (hit, *_) = index.query("key")
    assert hit.verdict and hit.verdict.says == says


CODES = TEXTS | {
    "number.md": "Call NLF-88301-Q, or write to FST_ERR_HERE.",
    "sun.md": "The sun is NLF-88301-Q, too. And again: NLF-88301-Q.",
}


@pytest.mark.parametrize(
    ("query", "options", "line"),
    [
        ("NLF-88301-Q", {}, "NLF-88301-Q: found in 2 files"),
        ("what is NLF-88301-Q?", {"mode": "dense"}, "NLF-88301-Q: found in 2 files"),
        ("NLF-88301-Q", {"mode": "lexical"}, "NLF-88301-Q: found in 2 files"),
        ("the sun and NLF-88301-Q", {"rerank": "late"}, "NLF-88301-Q: found in 2 files"),
        ('"NLF-88301-Q" or nlf-88301-q', {}, "NLF-88301-Q: found in 2 files"),
        ('"NLF-88301-Q"', {"where": "path:sun.md"}, "NLF-88301-Q: found in 1 file"),
        ("key FST_ERR_NOT_THERE", {}, "FST_ERR_NOT_THERE: not in your files"),
        (
            "FST_ERR_HERE or FST_ERR_NOT_THERE",
            {},
            "FST_ERR_HERE: found in 1 file; FST_ERR_NOT_THERE: not in your files",
        ),
    ],
)
def test_an_identifier_is_counted_instead_of_a_probability(
    tmp_path: Path, tiny_model: Path, query: str, options: dict[str, object], line: str
) -> None:
    (tmp_path / "notes").mkdir()
    for name, text in CODES.items():
        (tmp_path / "notes" / name).write_text(text, encoding="utf-8")
    hits = Index.build(tmp_path / "notes", model=str(tiny_model)).query(query, **options)  # type: ignore[arg-type]
    assert verdict_line(hits) == line
    verdict = hits[0].verdict
    assert verdict and verdict.says == ("found" if "found" in line else "not found")
    assert (verdict.probability, verdict.coverage) == (None, None)


def test_identifiers_in_documents_from_memory_are_in_documents(tiny_model: Path) -> None:
    index = Index.create(model=str(tiny_model))
    index.upsert([Document(name, text) for name, text in CODES.items()])
    assert verdict_line(index.query("NLF-88301-Q")) == "NLF-88301-Q: found in 2 documents"
    assert verdict_line(index.query("NLF-88302-Q")) == "NLF-88302-Q: not in your documents"


def test_identifiers_are_counted_in_several_indexes_and_come_first(
    tmp_path: Path, tiny_model: Path
) -> None:
    indexes = []
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        for file, text in CODES.items():
            text = text.replace("88301", "88302") if name == "second" and file == "sun.md" else text
            (tmp_path / name / file).write_text(text, encoding="utf-8")
        indexes.append(Index.build(tmp_path / name, model=str(tiny_model)))
    several = Indexes(indexes)
    for query, count in (("NLF-88301-Q", 3), ("NLF-88302-Q", 1)):
        hits = several.query(query)
        assert verdict_line(hits) == f"{query}: found in {count} file{'s' if count > 1 else ''}"
        assert [query in hit.text for hit in hits[: count + 1]] == [True] * count + [False]
        assert len({hit.weight for hit in hits}) == 1
    assert verdict_line(several.query("NLF-88303-Q")) == "NLF-88303-Q: not in your files"
