"""Two encoders on the passages of one index, against brute force with SciPy; and on a pair of texts."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.stats import spearmanr

import search
from search import Encoder, InputError
from search.indexing.sampling import foreign_questions
from search.lab.evaluating.encoder_shares import shares_of_both
from search.records.shares import Share
from tests.conftest import Run
from tests.render.test_notebook import Cells, needs

QUERIES = ["turn the key", "many people", "the water"]
K = 2
TEXT, TEXT2 = "turn the key of the door", "many people open the lock"


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
    rows = Cells(comparison._repr_html_()).rows[
        1 : 1 + len(comparison.queries)
    ]  # then words, query by query
    assert [row[:2] for row in rows] == [[q.query, f"{q.overlap:.2f}"] for q in comparison.queries]
    assert [float(row[3]) for row in rows] == pytest.approx(
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


@pytest.mark.parametrize("settings", [{"pooling": "pooler"}, {"pooling": "max"}, {"layer": 1}])
def test_shares_of_a_pair_are_those_of_both_explanations(
    tiny_model: Path, other_model: Path, settings: dict[str, Any]
) -> None:
    encoders = Encoder(str(tiny_model)), Encoder(str(other_model), **settings)
    compared = search.bert.compare_texts(TEXT, TEXT2, *encoders)
    explained = [search.explain(TEXT, TEXT2, model=encoder) for encoder in encoders]
    assert compared.shares.totals == tuple(why.cosine for why in explained)
    assert compared.shares.residuals == pytest.approx((0, 0), abs=4e-6)
    words = compared.shares.words
    assert [word.text for word in words[:6]] == TEXT.split()
    # These models have no biases, which would add to any text.
    assert [(word.kind, word.text) for word in words[6:]] == [("special", "[CLS] and [SEP]")]
    for number, why in enumerate(explained):
        shares = {(share.kind, share.start): share.contribution for share in why.shares(0)}
        for word in words:
            addend = (word.first, word.second)[number]
            assert addend == pytest.approx(shares[word.kind, word.start], abs=1e-12)
    gaps = [abs(word.second - word.first) for word in compared.shares.by_difference]
    assert gaps == sorted(gaps, reverse=True) and len(gaps) == len(words)
    assert (compared.first.pooling, compared.texts) == ("mean", (TEXT, TEXT2))


def test_a_cosine_is_placed_among_those_of_unrelated_pairs(tiny_model: Path) -> None:
    encoders = Encoder(str(tiny_model)), Encoder(str(tiny_model), pooling="cls")
    compared = search.bert.compare_texts(TEXT, TEXT2, *encoders)
    for encoder, cosine, place in zip(encoders, compared.shares.totals, compared.unrelated, strict=True):
        cosines = search.similarity(foreign_questions(), model=encoder)
        pairs = [cosines[i, j] for i in range(len(cosines)) for j in range(i)]
        assert place.pairs == len(pairs) == 124 * 123 // 2
        assert place.mean == pytest.approx(np.mean(pairs), abs=1e-5)
        assert place.below == pytest.approx(np.mean(np.array(pairs) < cosine), abs=0.001)


def test_words_of_different_tokenizers_are_counted_together() -> None:
    """One tokenizer splits "don't" at the apostrophe; their special tokens have other names."""

    def explanation(cosine: float, *shares: Share) -> Any:
        return SimpleNamespace(query="don't go", cosine=cosine, shares=lambda partners: shares)

    first = explanation(
        0.75,
        Share("don", "word", 0, 3, 0.125),
        Share("t", "word", 4, 5, 0.25),
        Share("go", "word", 6, 8, 0.0625),
        Share("[CLS] and [SEP]", "special", 0, 0, 0.1875),
        Share("punctuation", "punctuation", 0, 0, 0.125),
    )
    second = explanation(
        0.5,
        Share("don't", "word", 0, 5, 0.5),
        Share("go", "word", 6, 8, 0.25),
        Share("<s> and </s>", "special", 0, 0, -0.5),
        Share("any text", "offset", 0, 0, 0.25),
    )
    shares = shares_of_both(first, second)
    assert [(word.text, word.first, word.second) for word in shares.words] == [
        ("don't", 0.375, 0.5),
        ("go", 0.0625, 0.25),
        ("[CLS] and [SEP] or <s> and </s>", 0.1875, -0.5),
        ("punctuation", 0.125, 0.0),
        ("any text", 0.0, 0.25),
    ]
    assert shares.residuals == (0.0, 0.0)
    assert shares.by_difference[0].difference == -0.6875


def test_the_passage_that_moves_most_is_explained(
    index: search.Index, encoders: tuple[Encoder, Encoder]
) -> None:
    passages = passages_of(index)
    comparison = search.bert.compare_encoders(index, *encoders, QUERIES, k=K)
    explained = [query for query in comparison.queries if query.most_changed]
    assert explained
    for query in explained:
        sides = [rankings(encoder, passages, query.query) for encoder in encoders]
        first, second = (ranking for _, ranking in sides)
        moves = {id_: abs(first.index(id_) - second.index(id_)) for id_ in (*first[:K], *second[:K])}
        change = query.most_changed
        assert change and query.shares
        id_ = change.passage.passage_id
        assert moves[id_] == max(moves.values()) > 0
        assert (change.before, change.after) == (first.index(id_) + 1, second.index(id_) + 1)
        row = next(row for row, passage in enumerate(passages) if passage.passage_id == id_)
        assert query.shares.totals == pytest.approx([values[row] for values, _ in sides], abs=4e-6)
        assert query.shares.residuals == pytest.approx((0, 0), abs=4e-6)
        assert query.above_mean
        above = [values[row] - values.mean() for values, _ in sides]
        assert query.above_mean.totals == pytest.approx(above, abs=4e-6)
        assert query.above_mean.residuals == pytest.approx((0, 0), abs=4e-6)
        assert query.above_mean.words != query.shares.words
        assert " ".join(word.text for word in query.shares.words if word.kind == "word") == query.query


def test_so_many_queries_are_explained(index: search.Index, encoders: tuple[Encoder, Encoder]) -> None:
    compare = search.bert.compare_encoders
    for explained in (0, 1):
        comparison = compare(index, *encoders, k=1, explained=explained)
        assert sum(query.shares is not None for query in comparison.queries) == explained
    (query, *_) = comparison.queries
    assert query.passage and query.shares and query.most_changed
    kinds = {word.kind for word in query.shares.words}
    assert ("context" in kinds) == bool(query.passage.context)


def test_a_passage_that_an_encoder_truncates_is_not_explained(
    index: search.Index, tiny_model: Path
) -> None:
    short = Encoder(str(tiny_model), max_tokens=8)
    comparison = search.bert.compare_encoders(index, Encoder(str(tiny_model)), short, QUERIES, k=K)
    long = [query for query in comparison.queries if query.most_changed and not query.shares]
    assert long


def test_the_command_compares_two_texts(run: Run, tiny_model: Path) -> None:
    arguments = ["lab", "compare", "--model", tiny_model, "--pooling", "mean", "--pooling", "cls"]
    arguments += [TEXT, TEXT2]
    encoders = Encoder(str(tiny_model)), Encoder(str(tiny_model), pooling="cls")
    compared = search.bert.compare_texts(TEXT, TEXT2, *encoders)
    record = json.loads(run(*arguments, "--json")[1])
    assert record["shares"]["totals"] == list(compared.shares.totals)
    assert record["shares"]["residuals"] == list(compared.shares.residuals)
    assert [word["difference"] for word in record["shares"]["words"]] == [
        word.difference for word in compared.shares.words
    ]
    code, out, err = run(*arguments)
    assert (code, err) == (0, "")
    cosine_a, cosine_b = compared.shares.totals
    assert f"cosine A  {cosine_a:.4f}; higher than" in out
    assert f"cosine B  {cosine_b:.4f}; higher than" in out
    rows = [line.split() for line in out.splitlines() if line.startswith(("turn", "sum"))]
    turn = next(word for word in compared.shares.words if word.text == "turn")
    for row, first, second in zip(rows, (turn.first, cosine_a), (turn.second, cosine_b), strict=True):
        numbers = [cell for cell in row[1:] if cell[0] in "+-"]
        assert numbers == [f"{first:+.4f}", f"{second:+.4f}", f"{second - first:+.4f}"]


@needs("matplotlib")
def test_the_command_draws_the_words(run: Run, tmp_path: Path, tiny_model: Path) -> None:
    picture = tmp_path / "words.png"
    arguments = ["--model", tiny_model, "--layer", 1, "--layer", 2, "--png", picture]
    code, out, err = run("lab", "compare", TEXT, TEXT2, *arguments)
    assert (code, out, err.strip()) == (0, "", f"wrote {picture}")
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("typed", "reason"),
    [
        (["a text"], "give two texts, or none"),
        (["a text", "another", "-i", "notes"], "without an index: drop --index"),
        (["a text", "another", "--query", "a"], "without an index: drop --index and --query"),
        (["--png", "a.png"], "add TEXT and TEXT2"),
    ],
)
def test_wrong_usage_of_texts(run: Run, typed: list[str], reason: str) -> None:
    code, _, err = run("lab", "compare", "--layer", "1", "--layer", "2", *typed)
    assert code == 2
    assert reason in " ".join(err.split())


def test_texts_must_not_be_empty(tiny_model: Path) -> None:
    encoder = Encoder(str(tiny_model))
    with pytest.raises(InputError, match="a text is empty. Give two texts"):
        search.bert.compare_texts(TEXT, "  ", encoder, encoder)
