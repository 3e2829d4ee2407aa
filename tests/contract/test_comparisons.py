"""Passages compared with each other and with a ranking: contrast, why-not, similar, duplicates."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import search
from tests.contract.oracle import (
    COPIED,
    NEW,
    QUERIES,
    SCORE,
    SINCE,
    TWICE,
    Oracle,
    assert_ranked,
    in_order,
)

ALL: dict[str, Any] = {"per_document": 0, "all_copies": True}


@pytest.mark.parametrize("mode", ["hybrid", "dense", "lexical"])
def test_a_contrast_splits_the_gap_of_two_hits(index: search.Index, mode: str) -> None:
    hits = index.query(QUERIES[0], k=20, mode=mode)
    for a, b in ((hits[0], hits[1]), (hits[2], hits[19]), (hits[9], hits[4])):
        contrast = index.contrast(QUERIES[0], a, b)
        assert contrast.gap == pytest.approx(a.score - b.score, abs=1e-12)
        assert sum(word.gap for word in contrast.words) + contrast.residual == pytest.approx(contrast.gap)
        assert abs(contrast.residual) < 2 * SCORE
        assert sum(word.in_a for word in contrast.words) == pytest.approx(a.score, abs=SCORE)
        assert sum(word.in_b for word in contrast.words) == pytest.approx(b.score, abs=SCORE)


def test_a_contrast_of_ids_and_paths_has_true_ranks(index: search.Index, oracle: Oracle) -> None:
    ranked = oracle.ranking(QUERIES[3], weight=0.4)
    rank_of = {row.id: rank for rank, (_, row) in enumerate(ranked, 1)}
    file = next(row for _, row in ranked[80:] if row.kind == "text")
    best = next(row for _, row in ranked if row.path == file.path)
    contrast = index.contrast(QUERIES[3], ranked[30][1].id, file.path, weight=0.4)
    assert (contrast.a.passage_id, contrast.a.rank) == (ranked[30][1].id, 31)
    assert (contrast.b.passage_id, contrast.b.rank) == (best.id, rank_of[best.id])
    assert contrast.b.score == pytest.approx(ranked[rank_of[best.id] - 1][0], abs=SCORE)
    dense = index.query(QUERIES[3], k=1, mode="dense")[0]
    with pytest.raises(search.InputError):
        index.contrast(QUERIES[3], dense, index.query(QUERIES[3], k=1)[0])


def test_why_not_knows_the_true_rank(index: search.Index, oracle: Oracle) -> None:
    for mode in ("hybrid", "dense"):
        ranked = oracle.ranking(QUERIES[0], mode)
        scores = np.array([score for score, _ in ranked])
        for score, row in ranked[::37]:
            why = index.why_not(QUERIES[0], row.id, k=10, mode=mode)
            assert why.hit is not None
            above = int((scores > score + SCORE).sum()), int((scores > score - SCORE).sum())
            assert above[0] < why.hit.rank <= above[1]
            assert why.hit.score == pytest.approx(score, abs=SCORE)
            if why.contrast:
                assert sum(word.in_b for word in why.contrast.words) == pytest.approx(score, abs=SCORE)
            assert why.passages == len(oracle.rows)


def test_why_not_of_a_file_takes_its_best_passage(
    index: search.Index, oracle: Oracle, folder: Path
) -> None:
    ranked = oracle.ranking(QUERIES[0])
    for name in ("md/m03.md", "txt/t05.txt", "table.csv"):
        rank, row = next(
            (n, row) for n, (_, row) in enumerate(ranked, 1) if row.path == str(folder / name)
        )
        for document in (folder / name, str(folder / name)):
            why = index.why_not(QUERIES[0], document, k=1)
            assert why.hit and (why.hit.rank, why.hit.passage_id) == (rank, row.id)


def test_why_not_names_the_cause(index: search.Index, oracle: Oracle, folder: Path) -> None:
    query = QUERIES[0]

    def cause(passage: Any, **options: Any) -> str:
        return index.why_not(options.pop("query", query), passage, **options).cause

    ranked = oracle.ranking(query)
    hits = index.query(query, k=10)
    assert {cause(hit.passage_id) for hit in hits} == {"found"}
    low = index.why_not(query, ranked[-1][1].id)
    assert low.cause == "lower" and low.hit and low.last is not None and low.contrast is not None
    assert low.last.passage_id == hits[-1].passage_id
    assert low.contrast.gap == pytest.approx(hits[-1].score - ranked[-1][0], abs=SCORE)
    assert cause(hits[0].passage_id, where=f"not kind={oracle[hits[0].passage_id].kind}") == "filtered"
    old = next(row for _, row in ranked if row.mtime != NEW)
    assert cause(old.id, since=SINCE) == "filtered"
    copies = [row.id for row in oracle.rows if row.text == COPIED]
    hit_id = index.query(COPIED, k=1)[0].passage_id
    assert [cause(id_, query=COPIED, k=3) for id_ in copies if id_ != hit_id] == ["copy"] * 6
    limited = oracle.selected(ranked, 60, per_document=1)
    over = [
        row for score, row in ranked if score > limited[-1][0] + SCORE and (score, row) not in limited
    ]
    over = [row for row in over if not oracle.is_copied(row)]
    assert over and {cause(row.id, k=60, per_document=1) for row in over} == {"limit"}
    assert cause(folder / "nothing.md") == "not indexed"
    near = f"{low.hit.document.partition('#')[0]}x"
    assert f"did you mean '{near[:-1]}'?" == index.why_not(query, folder / near).detail
    assert cause(folder.parent / "outside.md") == "not indexed"


def test_why_not_sees_files_that_changed_since(tmp_path: Path, tiny_model: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    for n in range(6):
        (folder / f"{n}.txt").write_text(f"Open the door number {n} of the water side.\n")
    index = search.Index.build(folder, index=str(tmp_path / "index"), model=str(tiny_model))
    last = index.query("open the door", k=6)[-1]
    Path(last.path).write_text("Quite another text about people.\n", encoding="utf-8")
    assert index.why_not("open the door", last.path, k=2).cause == "changed"
    assert index.query("open the door", k=6)[-1].changed == "changed"
    Path(last.path).unlink()
    assert index.why_not("open the door", last.path, k=2).cause == "gone"
    (folder / "new.txt").write_text("A new door.\n")
    assert index.why_not("open the door", folder / "new.txt").cause == "not indexed"
    assert last.text in {hit.text for hit in index.query("open the door")}  # as it was indexed


def similar(oracle: Oracle, rows: list[Any], own: bool) -> Any:
    mean = sum(oracle.vectors[oracle.position[row.id]].astype(float) for row in rows)
    cosines = oracle.cosines(mean / np.linalg.norm(mean))
    ids, documents = {row.id for row in rows}, {row.document_id for row in rows}
    return in_order(
        [
            (float(cosine), row)
            for cosine, row in zip(cosines, oracle.rows, strict=True)
            if row.id not in ids and (own or row.document_id not in documents)
        ]
    )


@pytest.mark.parametrize("own", [False, True])
def test_similar_passages_are_the_nearest(index: search.Index, oracle: Oracle, own: bool) -> None:
    for row in oracle.rows[::45]:
        expected = similar(oracle, [row], own)
        assert_ranked(index.similar(row.id, k=10_000, same_document=own, **ALL), expected)
        assert_ranked(
            index.similar(row.id, k=5, same_document=own), oracle.selected(expected, 5), ordered=False
        )
    for name in ("txt/t05.txt", "md/m03.md"):
        rows = [row for row in oracle.rows if row.document == name]
        expected = similar(oracle, rows, own)
        assert_ranked(index.similar(rows[0].path, k=20, same_document=own, **ALL), expected[:20])


def test_similar_takes_filters_and_is_explained(index: search.Index, oracle: Oracle) -> None:
    row = oracle.rows[100]
    expected = [item for item in similar(oracle, [row], False) if item[1].kind == "jsonl"]
    hits = index.similar(row.id, k=8, where="kind=jsonl", offset=2, **ALL)
    assert_ranked(hits, expected[2:10])
    why = index.explain_similar(row.id, hits[0])
    assert why.score == pytest.approx(hits[0].score, abs=SCORE)
    assert why.contributions.sum() == pytest.approx(hits[0].score, abs=SCORE)


def clusters(oracle: Oracle, threshold: float, rows: list[int]) -> set[frozenset[int]]:
    """Passages that are joined by pairs of at least this cosine."""
    near = oracle.vectors[rows] @ oracle.vectors[rows].T >= threshold
    groups = np.arange(len(rows))
    while not np.array_equal(joined := np.array([groups[row].min() for row in near]), groups):
        groups = joined
    components = [
        frozenset(oracle.rows[rows[i]].id for i in np.flatnonzero(groups == g))
        for g in set(groups.tolist())
    ]
    return {ids for ids in components if len(ids) > 1}


@pytest.mark.parametrize("pairs", [9, 40, 90, 400])
def test_duplicates_are_all_pairs_above_a_cosine(index: search.Index, oracle: Oracle, pairs: int) -> None:
    cosines = oracle.vectors @ oracle.vectors.T
    different = np.sort(np.unique(cosines[np.triu_indices(len(cosines), 1)].round(6)))[::-1]
    gap = (
        int(np.argmin(np.diff(different[pairs : pairs + 20]))) + pairs
    )  # no pair is near to this threshold
    threshold = float((different[gap] + different[gap + 1]) / 2)
    all_rows = list(range(len(oracle.rows)))
    text_rows = [number for number in all_rows if oracle.rows[number].kind in ("text", "csv")]
    for where, rows in ((None, all_rows), ("kind in (text, csv)", text_rows)):
        duplicates = index.duplicates(threshold, where=where)
        ids = [frozenset(passage.passage_id for passage in cluster.passages) for cluster in duplicates]
        assert set(ids) == clusters(oracle, threshold, rows)
        assert [len(group) for group in ids] == sorted(map(len, ids), reverse=True)
        for cluster in duplicates:
            texts = {passage.text for passage in cluster.passages}
            assert cluster.exact == (len(texts) == 1)
            assert cluster.lowest >= threshold - SCORE
    exact = [cluster for cluster in index.duplicates(0.999999) if cluster.exact]
    assert sorted((len(group.passages), group.passages[0].text) for group in exact) == [
        (2, TWICE),
        (7, COPIED),
    ]
