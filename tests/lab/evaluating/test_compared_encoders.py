"""Two encoders on the passages of one index, against brute force with SciPy."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import spearmanr

import search
from search import Encoder, InputError
from tests.conftest import Run
from tests.render.test_notebook import Cells, needs

QUERIES = ["turn the key", "many people", "the water"]
K = 2


@pytest.fixture
def index(notes: Path, tiny_model: Path) -> search.Index:
    return search.Index.build(notes, index="notes", model=str(tiny_model))


@pytest.fixture
def encoders(tiny_model: Path) -> tuple[Encoder, Encoder]:
    return Encoder(str(tiny_model)), Encoder(str(tiny_model), pooling="cls", layer=1)


def passages_of(index: search.Index) -> list[Any]:
    return [index.passage(int(id_)) for id_ in index.embeddings()[0]]


def rankings(encoder: Encoder, passages: list[Any], query: str) -> tuple[np.ndarray, list[int]]:
    """The cosines of all passages, and their IDs, best first."""
    texts = [f"{p.context}\n{p.visible_text}" if p.context else p.visible_text for p in passages]
    cosines = encoder.encode(texts) @ encoder.encode([query])[0]
    return cosines, [passages[row].passage_id for row in np.argsort(-cosines, kind="stable")]


def test_overlap_correlation_and_changes_are_those_of_brute_force(
    index: search.Index, encoders: tuple[Encoder, Encoder]
) -> None:
    passages = passages_of(index)
    comparison = search.bert.compare_encoders(index, *encoders, QUERIES, k=K)
    assert {query.query for query in comparison.queries} == set(QUERIES)
    changes = 0
    for query in comparison.queries:
        (a, first), (b, second) = (rankings(encoder, passages, query.query) for encoder in encoders)
        assert query.overlap == len({*first[:K]} & {*second[:K]}) / K
        assert query.correlation == pytest.approx(spearmanr(a, b).statistic, abs=1e-6)
        gained = [(id_, first.index(id_) + 1, second.index(id_) + 1) for id_ in second[:K]]
        lost = [(id_, first.index(id_) + 1, second.index(id_) + 1) for id_ in first[:K]]
        for actual, expected in (
            (query.gained, [change for change in gained if change[1] > K]),
            (query.lost, [change for change in lost if change[2] > K]),
        ):
            assert [(c.passage.passage_id, c.before, c.after) for c in actual] == expected
            changes += len(expected)
        assert query.passage is None
    assert changes, "the encoders must differ"
    overlaps = [query.overlap for query in comparison.queries]
    assert overlaps == sorted(overlaps)
    assert comparison.overlap.mean == pytest.approx(np.mean(overlaps))
    assert comparison.by_chance == K / len(passages)
    assert (comparison.first.pooling, comparison.first.layer) == ("mean", "3")
    assert (comparison.second.pooling, comparison.second.layer) == ("cls", "1")


def test_an_encoder_agrees_with_itself(index: search.Index, encoders: tuple[Encoder, Encoder]) -> None:
    comparison = search.bert.compare_encoders(index, encoders[0], encoders[0], k=K)
    assert (comparison.overlap.mean, comparison.overlap.low) == (1, 1)
    assert comparison.correlation.mean == pytest.approx(1)
    assert all(query.gained == query.lost == () for query in comparison.queries)


def test_each_passage_looks_for_its_neighbours_among_the_others(
    index: search.Index, encoders: tuple[Encoder, Encoder]
) -> None:
    passages = passages_of(index)
    comparison = search.bert.compare_encoders(index, *encoders, k=1)
    assert sorted(query.passage.passage_id for query in comparison.queries if query.passage) == sorted(
        passage.passage_id for passage in passages
    )
    assert comparison.by_chance == 1 / (len(passages) - 1)
    _, vectors = index.embeddings()  # of the first encoder: this index has the same
    cosines = vectors @ vectors.T - 2 * np.eye(len(passages))
    nearest = {
        p.passage_id: passages[row].passage_id for p, row in zip(passages, cosines.argmax(1), strict=True)
    }
    changed = [query for query in comparison.queries if query.lost]
    assert changed
    for query in changed:
        assert query.passage is not None
        assert query.lost[0].passage.passage_id == nearest[query.passage.passage_id]
        assert query.passage.passage_id not in {c.passage.passage_id for c in query.gained + query.lost}


def test_a_sample_is_drawn_from_many_passages(
    index: search.Index, encoders: tuple[Encoder, Encoder]
) -> None:
    total = index.status().passages
    comparison = search.bert.compare_encoders("notes", *encoders, k=100, most=3)
    assert (comparison.passages, comparison.total, comparison.k) == (3, total, 1)
    assert search.bert.compare_encoders(index, *encoders, k=100, most=3) == comparison
    others = [search.bert.compare_encoders(index, *encoders, most=3, seed=seed) for seed in range(1, 6)]
    assert any(other.queries != comparison.queries for other in others)


def test_truncated_passages_are_counted(index: search.Index, tiny_model: Path) -> None:
    short = Encoder(str(tiny_model), max_tokens=8)
    comparison = search.bert.compare_encoders(index, Encoder(str(tiny_model)), short)
    lengths = [
        len(tokens.tokens)
        for p in passages_of(index)
        for tokens in Encoder(str(tiny_model)).tokens([p.visible_text], contexts=[p.context])
    ]
    assert comparison.first.truncated == 0
    assert comparison.second.truncated == sum(length > 8 for length in lengths) > 0


@pytest.mark.parametrize(
    ("queries", "options", "reason"),
    [
        ([], {}, "a query is empty"),
        (["a", " "], {}, "a query is empty"),
        (None, {"k": 0}, "k is 0"),
        (None, {"most": 2}, "most is 2"),
    ],
)
def test_wrong_arguments(
    index: search.Index,
    encoders: tuple[Encoder, Encoder],
    queries: list[str] | None,
    options: dict[str, int],
    reason: str,
) -> None:
    with pytest.raises(InputError, match=reason):
        search.bert.compare_encoders(index, *encoders, queries, **options)


def test_a_comparison_needs_three_passages(
    tmp_path: Path, tiny_model: Path, encoders: tuple[Encoder, Encoder]
) -> None:
    (tmp_path / "a.txt").write_text("the key", encoding="utf-8")
    index = search.Index.build(tmp_path, model=str(tiny_model))
    with pytest.raises(InputError, match="has 1 passages; a comparison needs 3"):
        search.bert.compare_encoders(index, *encoders)


def test_the_command_prints_the_record(
    run: Run, index: search.Index, encoders: tuple[Encoder, Encoder], tiny_model: Path
) -> None:
    arguments = ["lab", "compare", "--model", tiny_model, "--pooling", "mean", "--pooling", "cls"]
    arguments += ["--layer", "3", "--layer", "1", "-k", K]
    for query in QUERIES:
        arguments += ["--query", query]
    comparison = search.bert.compare_encoders(index, *encoders, QUERIES, k=K)
    record = json.loads(run(*arguments, "--json")[1])
    assert record["overlap"]["mean"] == comparison.overlap.mean
    assert [query["query"] for query in record["queries"]] == [q.query for q in comparison.queries]
    code, out, err = run(*arguments)
    assert (code, err) == (0, "")
    assert "mean pooling, layer 3 of 3" in out
    assert "cls pooling, layer 1 of 3" in out
    assert f"{comparison.overlap.mean:.2f} in both; by chance" in out
    first = comparison.queries[0]
    assert f"rank {first.lost[0].before} in A, {first.lost[0].after} in B" in out
    assert f"rank {first.gained[0].before} in A, {first.gained[0].after} in B" in out


@needs("matplotlib")
@needs("pandas")
def test_a_comparison_draws_itself(index: search.Index, encoders: tuple[Encoder, Encoder]) -> None:
    comparison = search.bert.compare_encoders(index, *encoders, QUERIES, k=K)
    assert "mean pooling, layer 3 of 3" in repr(comparison)
    rows = Cells(comparison._repr_html_()).rows
    assert [row[:2] for row in rows[1:]] == [[q.query, f"{q.overlap:.2f}"] for q in comparison.queries]
    assert [float(row[3]) for row in rows[1:]] == pytest.approx(
        [query.correlation for query in comparison.queries], abs=0.0051
    )
    widths = [bar.get_width() for bar in comparison.plot().patches]
    assert widths == [query.overlap for query in comparison.queries]
    table = comparison.to_pandas()
    assert table["correlation"].tolist() == [query.correlation for query in comparison.queries]
    assert table["gained"].tolist() == [len(query.gained) for query in comparison.queries]


@pytest.mark.parametrize(
    ("typed", "reason"),
    [
        ("", "both settings are the same"),
        ("--layer 1 --layer 1", "both settings are the same"),
        ("--layer 0 --layer 1 --layer 2", "--layer is given 3 times; give it once or twice"),
    ],
)
def test_wrong_usage(run: Run, typed: str, reason: str) -> None:
    code, _, err = run("lab", "compare", *typed.split())
    assert code == 2
    assert reason in err
