"""`search.evaluate`: its figures are those of the rankings that the index gives; data well or badly made."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import search
from search import Encoder
from search.errors import FingerprintMismatch, IndexDamaged, IndexNotFound, InputError
from search.evaluating.metrics import ranking_values
from tests.evaluating.conftest import DOCUMENTS, QRELS, QUERIES, write_lines, write_qrels

DENSE = ["dense"]
JUDGED = {"q1": {"d1": 2, "d5": 1}, "q2": {"d2": 1}, "q4": {"d3": 1, "d1": 0}}


@pytest.fixture
def model(tiny_model: Path) -> str:
    return str(tiny_model)


def notes_of(evaluation: Any) -> str:
    return "\n".join(evaluation.notes)


def test_documents_are_ranked_by_their_best_passage(beir: Path, model: str, tiny: Encoder) -> None:
    """Long documents of many passages, against a ranking made here of every passage's own cosine."""
    chance = np.random.default_rng(0)
    words = " ".join(text for _, text in DOCUMENTS.values()).split()
    documents = [
        {"_id": f"d{number}", "title": "", "text": " ".join(chance.choice(words, 250)) + "."}
        for number in range(12)
    ]
    write_lines(beir / "corpus.jsonl", documents)
    write_qrels(
        beir, [(query, f"d{number % 12}", 1) for number, query in enumerate(["q1", "q2", "q4"] * 5)]
    )
    evaluation = search.evaluate(beir, settings=DENSE, model=model, k=3)
    assert evaluation.documents == 12
    assert evaluation.passages > 24
    index = search.Index.open(evaluation.index)
    for judged in evaluation.queries:
        best: dict[str, float] = {}
        for hit in index.query(judged.text, k=evaluation.passages, mode="dense"):
            name = hit.metadata["_id"]
            best[name] = max(best.get(name, -1), hit.score)
        ranked = sorted(best, key=lambda name: -best[name])
        grades = {f"d{n % 12}": 1 for n, query in enumerate(["q1", "q2", "q4"] * 5) if query == judged.id}
        assert judged.results == tuple(ranked[:3])
        assert judged.values == ranking_values(ranked, grades, 3)


def test_figures_are_means_over_judged_queries_and_settings_are_compared(
    beir: Path, model: str, own_home: Path
) -> None:
    updates: list[Any] = []
    evaluation = search.evaluate(
        beir, settings=["dense", "lexical"], model=model, progress=updates.append
    )
    counts = [(state.done, state.total) for state in updates if state.stage == "asking"]
    assert counts == [(1, 3), (2, 3), (3, 3)] * 2 and any(state.stage == "encoding" for state in updates)
    assert (evaluation.dataset, evaluation.task, evaluation.split, evaluation.primary) == (
        "tiny-set",
        "retrieval",
        "test",
        "ndcg@10",
    )
    assert (evaluation.documents, evaluation.judgements) == (5, len(QRELS))
    assert [query.id for query in evaluation.queries] == ["q1", "q2", "q4"]
    for metric, figure in evaluation.metrics.items():
        values = [query.values[metric] for query in evaluation.queries]
        assert figure.mean == pytest.approx(np.mean(values))
        assert figure.low <= figure.mean <= figure.high
    assert [result.setting.name for result in evaluation.settings] == ["dense", "lexical"]
    first, second = evaluation.settings
    for comparison in evaluation.comparisons:
        gaps = [
            b.values[comparison.metric] - a.values[comparison.metric]
            for a, b in zip(first.queries, second.queries, strict=True)
        ]
        assert comparison.difference.mean == pytest.approx(np.mean(gaps))
        assert comparison.better == sum(gap > 0 for gap in gaps)
    assert {comparison.metric for comparison in evaluation.comparisons} == set(evaluation.metrics)
    assert "queries without judgements, left out: 1 (q3)" in notes_of(evaluation)
    assert "only 3 queries" in notes_of(evaluation)
    assert Path(evaluation.index).is_relative_to(own_home / "evaluations")
    with pytest.raises(IndexNotFound):  # it is none of the user's own
        search.Index.open()


def test_a_rerank_is_judged_by_the_hits_that_a_user_sees(beir: Path, model: str) -> None:
    evaluation = search.evaluate(
        beir, settings=["hybrid", "hybrid,rerank=late"], model=model, k=2, token_vectors=True
    )
    before, after = evaluation.settings
    index = search.Index.open(evaluation.index)
    for plain, again in zip(before.queries, after.queries, strict=True):
        expected = [
            hit.metadata["_id"] for hit in index.query(again.text, k=2, rerank="late", per_document=1)
        ]
        assert list(again.results) == expected
        assert again.values["recall@100"] == plain.values["recall@100"]  # nothing is lost behind them


def test_the_index_of_an_evaluation_is_kept_and_updated(beir: Path, model: str) -> None:
    first = search.evaluate(beir, settings=DENSE, model=model)
    ids = {hit.passage_id for hit in search.Index.open(first.index).query("key", k=50)}
    again = search.evaluate(beir, settings=DENSE, model=model)
    assert again.index == first.index
    assert {hit.passage_id for hit in search.Index.open(first.index).query("key", k=50)} == ids
    assert [query.results for query in again.queries] == [query.results for query in first.queries]
    documents = [{"_id": id_, "title": "", "text": text} for id_, (_, text) in DOCUMENTS.items()]
    write_lines(beir / "corpus.jsonl", [*documents, {"_id": "d6", "text": "turn the lock"}])
    after_change = search.evaluate(beir, settings=DENSE, model=model)
    assert (after_change.index, after_change.documents) == (first.index, 6)
    assert after_change.queries[0].results[0] == "d6"


def test_a_damaged_index_is_rebuilt_unless_it_was_named(beir: Path, model: str, tmp_path: Path) -> None:
    for index in (None, tmp_path / "kept"):
        first = search.evaluate(beir, settings=DENSE, model=model, index=index)
        (Path(first.index) / "index.db").write_bytes(b"no database at all" * 100)
        if index:
            with pytest.raises(IndexDamaged):
                search.evaluate(beir, settings=DENSE, model=model, index=index)
        else:
            again = search.evaluate(beir, settings=DENSE, model=model)
            assert again.metrics == first.metrics


def test_a_named_index_is_used_and_one_of_another_folder_is_refused(
    beir: Path, notes: Path, model: str, other_model: Path, tmp_path: Path
) -> None:
    place = tmp_path / "kept"
    assert search.evaluate(beir, settings=DENSE, model=model, index=place).index == str(place)
    with pytest.raises(FingerprintMismatch):
        search.evaluate(beir, settings=DENSE, model=str(other_model), index=place)
    own = search.Index.build(notes, index=str(tmp_path / "mine"), model=model)
    with pytest.raises(InputError, match="belongs to the folder"):
        search.evaluate(beir, settings=DENSE, model=model, index=own.path)
    assert len(own.query("key", k=50)) == 5


def test_documents_that_are_missing_or_empty_are_noted(beir: Path, model: str) -> None:
    documents = [{"_id": id_, "title": "", "text": text} for id_, (_, text) in DOCUMENTS.items()]
    write_lines(beir / "corpus.jsonl", [*documents, {"_id": "d6", "title": "", "text": " "}])
    write_qrels(beir, [*QRELS, ("q2", "d8", 1), ("q4", "d6", 1), ("q4", "d7", 0)])
    evaluation = search.evaluate(beir, settings=DENSE, model=model)
    assert "relevant documents missing from the index, counted as not found: 2 of 6 (d6, d8)" in notes_of(
        evaluation
    )
    values = {query.id: query.values for query in evaluation.queries}
    assert values["q2"]["recall@100"] == values["q4"]["recall@100"] == 0.5
    write_qrels(beir, [("q1", "d8", 1)])
    with pytest.raises(InputError, match="relevant documents is in the index. Choose another"):
        search.evaluate(beir, settings=DENSE, model=model)


def test_queries_without_a_relevant_document_score_zero(beir: Path, model: str) -> None:
    write_qrels(beir, [*QRELS, ("q3", "d1", 0)])
    evaluation = search.evaluate(beir, settings=DENSE, model=model)
    assert "queries without a relevant document, scored 0 as in trec_eval: 1 (q3)" in notes_of(evaluation)
    assert set(evaluation.queries[2].values.values()) == {0}
    write_qrels(beir, [("q3", "d1", 0)])
    with pytest.raises(InputError, match="none of the 0 relevant documents"):
        search.evaluate(beir, settings=DENSE, model=model)


def test_queries_without_hits_score_zero(beir: Path, model: str) -> None:
    queries = {**QUERIES, "q1": "zzz"}
    write_lines(beir / "queries.jsonl", [{"_id": id_, "text": text} for id_, text in queries.items()])
    evaluation = search.evaluate(beir, settings=["lexical"], model=model)
    assert "queries without a hit in 'lexical', scored 0: 1 (q1)" in notes_of(evaluation)
    write_lines(beir / "queries.jsonl", [{"_id": id_, "text": "zzz"} for id_ in QUERIES])
    with pytest.raises(InputError, match="no query has a hit in the setting 'lexical'"):
        search.evaluate(beir, settings=["lexical"], model=model)


def test_a_query_that_fails_is_named(beir: Path, model: str) -> None:
    queries = {**QUERIES, "q4": "key " * 100}
    write_lines(beir / "queries.jsonl", [{"_id": id_, "text": text} for id_, text in queries.items()])
    with pytest.raises(InputError, match=r"query 'q4' failed \(dense\): .*tokens"):
        search.evaluate(beir, settings=DENSE, model=model)
    with pytest.raises(InputError, match="nonsense"):
        search.evaluate(beir, settings=["nonsense"], model=model)


def test_judgements_by_path_evaluate_an_existing_index(notes: Path, model: str, tmp_path: Path) -> None:
    index = search.Index.build(notes, model=model)
    path = tmp_path / "mine.csv"
    path.write_text(
        f"query,path,relevance\nturn the lock,keys.md,2\nis time long,{notes / 'deep' / 'time.txt'},1\n"
        "a sound,table.csv#2,1\nthe door,table.csv,1\nthe door,keys.md,1\nnothing,gone.md,0\n",
        encoding="utf-8",
    )
    evaluation = search.evaluate(path, index=str(index.path), settings=DENSE)
    assert (evaluation.dataset, evaluation.split, evaluation.index) == ("mine", "", str(index.path))
    assert (len(evaluation.queries), evaluation.judgements) == (5, 6)
    by_text = {query.text: query for query in evaluation.queries}
    for text, grades in {
        "turn the lock": {"keys.md": 2},
        "is time long": {"deep/time.txt": 1},
        "a sound": {"table.csv#2": 1},
    }.items():
        hits = index.query(text, k=50, mode="dense")
        # table.csv was judged as a whole, so its record 1 counts for it, and record 2 for itself.
        names = ["table.csv" if hit.document == "table.csv#1" else hit.document for hit in hits]
        ranked = list(dict.fromkeys(names))
        assert by_text[text].results == tuple(ranked)
        assert by_text[text].values == ranking_values(ranked, grades)
    assert len(by_text["the door"].results) == 4
    assert "queries without a relevant document" in notes_of(evaluation)


def test_an_empty_index_is_refused(notes: Path, model: str, tmp_path: Path) -> None:
    index = search.Index.build(notes, model=model)
    shutil.rmtree(notes / "deep")
    for path in notes.iterdir():
        path.write_text("", encoding="utf-8")
    with pytest.raises(InputError, match="skipped: "):
        index.update()
    assert index.status().passages == 0
    path = tmp_path / "mine.csv"
    path.write_text("query,path\na,keys.md\n", encoding="utf-8")
    with pytest.raises(InputError, match="is empty"):
        search.evaluate(path, index=index.path)


def test_judgements_are_read_from_tsv_jsonl_and_csv(notes: Path, model: str, tmp_path: Path) -> None:
    index = search.Index.build(notes, model=model)
    for name, content in (
        ("a.tsv", "Path\tquery\nkeys.md\tthe door\nkeys.md\tthe door\n"),
        ("a.jsonl", '{"query": "the door", "path": "keys.md", "relevance": 2}\n'),
        ("a.csv", '\ufeffquery,path\n"the door",keys.md\n'),
    ):
        (tmp_path / name).write_text(content, encoding="utf-8")
        evaluation = search.evaluate(tmp_path / name, index=index.path, settings=DENSE)
        assert (evaluation.judgements, evaluation.queries[0].text) == (1, "the door")
        assert evaluation.queries[0].values["recall@100"] == 1


def test_a_split_can_be_chosen_and_an_unknown_one_is_refused(beir: Path, model: str) -> None:
    write_qrels(beir, [("q3", "d4", 1)], "dev")
    evaluation = search.evaluate(beir, split="dev", settings=DENSE, model=model)
    assert (evaluation.split, [query.id for query in evaluation.queries]) == ("dev", ["q3"])
    with pytest.raises(InputError, match="Available splits: dev, test"):
        search.evaluate(beir, split="train")


@pytest.mark.parametrize(
    ("file", "line", "problem"),
    [
        ("corpus.jsonl", "{", ":6: not JSON"),
        ("corpus.jsonl", "[1]", ":6: expected a JSON object, got list"),
        ("corpus.jsonl", '{"_id": "", "text": "a"}', ':6: "_id" is empty'),
        ("corpus.jsonl", '{"_id": "d2", "text": "a"}', ":6: duplicate ID 'd2'"),
        ("corpus.jsonl", '{"_id": "d9", "title": 5}', ':6: "title" is missing or not a text'),
        ("queries.jsonl", '{"_id": "q9", "text": 3}', ':5: "text" is missing or not a text'),
        ("qrels/test.tsv", "q1\td2", ":7: more or fewer fields than the 3"),
        ("qrels/test.tsv", "q1\td2\tyes", ":7: \"score\" is 'yes', not a number"),
        ("qrels/test.tsv", "q1\td2\t1.5", ":7: '1.5' is not a relevance grade"),
        ("qrels/test.tsv", "q1\td1\t1", ":7: 'd1' has two different grades"),
        ("qrels/test.tsv", "q8\td1\t1", "judges the query 'q8', which is not in queries.jsonl"),
    ],
)
def test_malformed_beir_is_named_with_file_and_line(
    beir: Path, file: str, line: str, problem: str
) -> None:
    with (beir / file).open("a", encoding="utf-8") as stream:
        stream.write(line + "\n")
    with pytest.raises(InputError) as error:
        search.evaluate(beir)
    assert problem in str(error.value)


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        (
            "a.csv",
            "question,path\na,b\n",
            "a.csv:1: column query is missing. The first line must name the columns query, path",
        ),
        ("a.csv", "query,path\na\n", "a.csv:2: more or fewer fields than the 2"),
        ("a.csv", "query,path\na,\n", 'a.csv:2: "path" is empty'),
        ("a.csv", 'query,path\n"a"b,c\n', "a.csv:2: not a table"),
        ("a.csv", "query,path\n", "contains no judgements"),
        ("a.csv", "query,path\n\udcff,b\n", "is not UTF-8"),
        ("a.csv", "sentence1,sentence2\n", "must name the columns sentence1, sentence2, score"),
        (
            "a.tsv",
            "sentence1\tsentence2\tscore\na\tb\tnan\n",
            "a.tsv:2: \"score\" is 'nan', not a number",
        ),
        ("a.tsv", "sentence1\tsentence2\tscore\na\tb\t1\n", "pairs with different scores; it has"),
        ("a.json", "[]", "is not in SQuAD's format"),
        ("a.json", '{"data": [{"paragraphs": [{"context": "a", "qas": [{"id": "1"}]}]}]}', "'answers'"),
        ("a.json", '{"data": []}', "contains no questions"),
        ("a.json", '{\n"data": [}', "line 2"),
        ("a.txt", "a", "has an unsupported format. Supported"),
    ],
)
def test_malformed_data_is_refused(tmp_path: Path, name: str, text: str, problem: str) -> None:
    (tmp_path / name).write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(InputError) as error:
        search.evaluate(tmp_path / name)
    assert problem in str(error.value)
    with pytest.raises(InputError, match="no file or folder"):
        search.evaluate(tmp_path / "gone")
    with pytest.raises(InputError, match="k is 0"):
        search.evaluate(tmp_path / name, k=0)


def test_squad_is_evaluated_as_a_collection_of_its_paragraphs(squad: Path, model: str) -> None:
    evaluation = search.evaluate(squad, settings=DENSE, model=model)
    assert (evaluation.documents, len(evaluation.queries)) == (3, 5)
    corpus = Path(evaluation.index).parent / "corpus" / "corpus.jsonl"
    assert "the user's folder is left alone" and list(squad.parent.glob("*")) == [squad]
    before = corpus.stat().st_mtime_ns
    assert search.evaluate(squad, settings=DENSE, model=model).metrics == evaluation.metrics
    assert corpus.stat().st_mtime_ns == before


def test_whole_documents_are_ranked_by_their_own_embeddings(
    beir: Path, tiny: Encoder, model: str
) -> None:
    """Title and text as one, cut at what the model reads, against embeddings made here."""
    texts = {id_: f"{title} {text}".strip() for id_, (title, text) in DOCUMENTS.items()}
    texts["d4"] = "word " * 100
    write_lines(
        beir / "corpus.jsonl", [{"_id": id_, "title": "", "text": text} for id_, text in texts.items()]
    )
    evaluation = search.evaluate(beir, model=model, whole_documents=True)
    vectors = tiny.encode(list(texts.values()), truncate=True)
    for judged in evaluation.queries:
        scores = vectors @ tiny.encode([judged.text])[0]
        ranked = [list(texts)[place] for place in np.argsort(-scores)]
        assert judged.results == tuple(ranked)
        assert judged.values == ranking_values(ranked, JUDGED[judged.id])
    assert "1 of 5 documents were truncated to 64 tokens" in notes_of(evaluation)
    assert (evaluation.index, evaluation.documents) == ("", 5)
    with pytest.raises(InputError, match="omit settings and index"):
        search.evaluate(beir, model=model, whole_documents=True, settings=DENSE)


def test_cosines_of_sentence_pairs_are_correlated_with_their_scores(
    tmp_path: Path, tiny: Encoder, model: str
) -> None:
    from scipy.stats import pearsonr, spearmanr

    pairs = [
        ("turn the key", "turn the lock", 4.0),
        ("the water", "the long sound", 1.0),
        ("a door", "door", 4.5),
    ]
    pairs += [
        ("time", "time", 5.0),
        ("people say", "many people say", 3.0),
        ("the key", "not the key", 3.0),
    ]
    path = tmp_path / "sts.tsv"
    path.write_text(
        "sentence1\tsentence2\tscore\n" + "".join(f"{a}\t{b}\t{score}\n" for a, b, score in pairs),
        encoding="utf-8",
    )
    evaluation = search.evaluate(path, model=model)
    cosines = [float(x @ y) for x, y in (tiny.encode([a, b]) for a, b, _ in pairs)]
    scores = [score for *_, score in pairs]
    assert [query.values["cosine"] for query in evaluation.queries] == pytest.approx(cosines, abs=1e-6)
    assert evaluation.metrics["spearman"].mean == pytest.approx(spearmanr(cosines, scores).statistic)
    assert evaluation.metrics["pearson"].mean == pytest.approx(
        pearsonr(cosines, scores).statistic, abs=1e-6
    )
    assert (evaluation.task, evaluation.comparisons) == ("sts", ())
    with pytest.raises(InputError, match="omit settings and index"):
        search.evaluate(path, model=model, settings=DENSE)
    path.write_text(
        'sentence1\tsentence2\tscore\na "b" c\t"half\t1.5\r\nd\te\t5\nf\tg\t0\n', encoding="utf-8"
    )
    assert search.evaluate(path, model=model).queries[0].text == 'a "b" c\t"half'


def test_settings_are_parsed_and_invalid_ones_refused(beir: Path, model: str) -> None:
    settings = ["dense", "hybrid, weight=0.5,rerank=late", "dense", "lexical"]
    evaluation = search.evaluate(beir, settings=settings, model=model, k=2)
    assert [result.setting.options for result in evaluation.settings] == [
        {"mode": "dense"},
        {"mode": "hybrid", "weight": 0.5, "rerank": "late"},
        {"mode": "lexical"},
    ]
    for wrong, message in (
        ("dense,wieght=1", "invalid option 'wieght=1' in the setting 'dense,wieght=1'"),
        ("dense,per_document=1", "invalid option 'per_document=1'"),
        ("weight=1", "weight=1"),
        ("dense,weight", "'weight' in the setting"),
        ("dense,weight=foo", "a value in the setting 'dense,weight=foo' is not a number"),
        ("dense,weight=2", "weight is 2; the maximum is 1"),
    ):
        with pytest.raises(InputError, match=message):
            search.evaluate(beir, settings=[wrong], model=model)
