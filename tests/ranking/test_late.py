"""Rerank by late interaction and by a cross-encoder."""

import json
import math
import re
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import search
from search import Encoder, InputError
from search.errors import ModelError
from search.index import searcher_of
from tests.conftest import LONG

LATE_SHARE = 0.5
QUERY = "turn the key in the water"


@pytest.fixture
def index(notes: Path, tiny_model: Path) -> search.Index:
    return search.Index.build(notes, model=str(tiny_model))


def text_of(hit: search.Hit) -> str:
    return f"{hit.context}\n{hit.visible_text}" if hit.context else hit.visible_text


def rows_of(encoder: Encoder, text: str, context: str = "") -> tuple[list[Any], np.ndarray]:
    """Tokens and unit vectors of the last layer, special tokens left out."""
    (tokens,) = encoder.tokens([text], contexts=[context], layers=[-1])
    positions = [i for i, token in enumerate(tokens.tokens) if not token.special]
    rows = tokens.layers[max(tokens.layers)][positions]
    return [tokens.tokens[i] for i in positions], rows / np.linalg.norm(rows, axis=1, keepdims=True)


def by_hand(index: search.Index, encoder: Encoder, hit: search.Hit) -> float:
    """The weighted mean of best cosines, worked out from the texts alone."""
    everything = index.query("a", k=100, mode="dense")
    texts = [text_of(h).lower() for h in everything]
    tokens, query = rows_of(encoder, QUERY)
    _, passage = rows_of(encoder, hit.visible_text, hit.context)
    weights = []
    for token in tokens:
        word = next(w[0] for w in re.finditer(r"\w+", QUERY) if w.start() <= token.start < w.end())
        n = sum(
            any(w.rstrip("s") == word for w in "".join(c if c.isalnum() else " " for c in t).split())
            for t in texts
        )
        weights.append(max(0.05, math.log(1 + (len(texts) - n + 0.5) / (n + 0.5))))
    best = (query @ passage.T).max(axis=1)
    return float(np.dot(weights, best) / np.sum(weights))


@pytest.mark.parametrize("mode", ["hybrid", "dense", "lexical"])
def test_the_score_is_half_the_old_one_and_half_the_weighted_mean(
    index: search.Index, tiny: Encoder, mode: str
) -> None:
    before = {hit.passage_id: hit for hit in index.query(QUERY, k=100, mode=mode)}
    hits = index.query(QUERY, k=100, mode=mode, rerank="late")
    assert {hit.passage_id for hit in hits} == before.keys()
    for hit in hits:
        old = before[hit.passage_id]
        assert hit.ranking.rerank == "late"
        assert hit.rank_before == old.rank
        assert hit.reranked == pytest.approx(by_hand(index, tiny, hit), abs=1e-5)
        assert hit.score == pytest.approx(
            (1 - LATE_SHARE) * old.score + LATE_SHARE * hit.reranked, abs=1e-6
        )
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert [hit.rank for hit in hits] == list(range(1, len(hits) + 1))


def test_addends_sum_to_the_score_with_any_share_of_late_interaction(
    index: search.Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("records.option_tools", "ranking.rerank", "explaining.addends"):
        monkeypatch.setattr(f"search.{module}.LATE_SHARE", 0.125)
    hits = index.query(QUERY, k=100, rerank="late")
    for hit, why in zip(hits, index.explain(QUERY, hits), strict=True):
        assert sum(hit.addends.values()) == pytest.approx(hit.score, abs=1e-9)
        assert hit.addends["rerank"] == pytest.approx(hit.reranked / 8)
        assert abs(why.residual) < 1e-6


@pytest.mark.parametrize(
    ("mode", "token_vectors"), [("hybrid", True), ("dense", False), ("lexical", False)]
)
def test_addends_of_a_reranked_hit_sum_to_its_score(
    notes: Path, tiny_model: Path, mode: str, token_vectors: bool
) -> None:
    index = search.Index.build(notes, model=str(tiny_model), token_vectors=token_vectors)
    hits = index.query(QUERY, k=100, mode=mode, rerank="late")
    for hit, why in zip(hits, index.explain(QUERY, hits), strict=True):
        assert abs(why.residual) < 1e-6
        assert why.recomputed == pytest.approx(hit.score, abs=1e-6)
        assert sum(share.contribution for share in why.shares()) == pytest.approx(hit.score, abs=1e-6)
        assert why.late is not None and why.late.sum() == pytest.approx(
            LATE_SHARE * hit.reranked, abs=1e-9
        )
        assert np.count_nonzero(why.late, axis=1).max() == 1  # each token has one partner
        assert not why.late[[token.special for token in why.query_tokens]].any()
        assert why.passage_contributions.sum() == pytest.approx(hit.score, abs=1e-6)
        assert sum(hit.addends.values()) == pytest.approx(hit.score, abs=1e-9)
    contrast = index.contrast(QUERY, hits[0], hits[-1])
    assert contrast.gap == hits[0].score - hits[-1].score
    assert abs(contrast.residual) < 1e-6


def test_stored_token_vectors_give_nearly_the_same_scores(
    notes: Path, tiny_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fresh = {
        h.passage_id: h
        for h in search.Index.build(notes, model=str(tiny_model)).query(QUERY, rerank="late")
    }
    index = search.Index.build(notes, model=str(tiny_model), token_vectors=True)
    index.encoder.tokens(["a"])
    calls: list[int] = []
    tokens = Encoder.tokens

    def count_calls(self: Encoder, texts: list[str], **options: Any) -> Any:
        calls.append(len(texts))
        return tokens(self, texts, **options)

    monkeypatch.setattr(Encoder, "tokens", count_calls)
    hits = index.query(QUERY, rerank="late")
    assert calls == [1]  # the query alone
    for hit in hits:
        assert hit.reranked == pytest.approx(fresh[hit.passage_id].reranked, abs=5e-3)


def count(index: search.Index) -> tuple[int, int]:
    connection = sqlite3.connect(index.path / "index.db")
    return tuple(
        connection.execute(f"SELECT count(*) FROM {t}").fetchone()[0]
        for t in ("token_vectors", "passages")
    )  # type: ignore[return-value]


def test_token_vectors_follow_the_index(notes: Path, tiny_model: Path) -> None:
    index = search.Index.build(notes, model=str(tiny_model))
    assert count(index) == (0, 5)
    index = search.Index.build(notes, model=str(tiny_model), token_vectors=True)
    assert count(index) == (5, 5)
    (notes / "more.txt").write_text("One more file about a door.", encoding="utf-8")
    (notes / "keys.md").unlink()
    index.update()  # remembers
    assert count(index) == (4, 4)
    assert search.Index.build(notes, model=str(tiny_model), rebuild=True).report is not None
    assert count(index) == (4, 4)
    search.Index.build(notes, model=str(tiny_model), token_vectors=False)
    assert count(index) == (0, 4)


def test_a_rerank_keeps_to_the_pool_and_the_limits_of_documents(notes: Path, tiny_model: Path) -> None:
    (notes / "long.md").write_text(
        "".join(f"# Part {i}\n\nTurn the key {i}{LONG}.\n\n" for i in range(60)), encoding="utf-8"
    )
    index = search.Index.build(notes, model=str(tiny_model))
    pool = {hit.passage_id for hit in index.query(QUERY, k=30)}
    hits = index.query(QUERY, k=5, rerank="late")
    assert {hit.passage_id for hit in hits} <= pool
    assert len(index.query(QUERY, k=5, rerank="late", per_document=1)) == 5
    assert len(index.query(QUERY, k=4, rerank="late", per_document=1)) == 4
    assert len(index.query(QUERY, k=2, rerank="late", group=True)) >= 2
    documents = [hit.document for hit in index.query(QUERY, k=4, rerank="late", per_document=1)]
    assert len(set(documents)) == 4
    only = index.query(QUERY, k=3, rerank="late", where="path:long.md")
    assert {hit.document for hit in only} == {"long.md"}
    single = searcher_of(index).hit(QUERY, hits[0].passage_id, rerank="late")
    assert (single.rank, single.rank_before) == (0, None)
    assert single.score == pytest.approx(hits[0].score, abs=1e-6)


@pytest.fixture(scope="session")
def cross_encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny cross-encoder, saved by transformers itself."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification

    from tests.conftest import save_tokenizer

    folder = tmp_path_factory.mktemp("models") / "cross"
    folder.mkdir()
    torch.manual_seed(3)
    config = BertConfig(
        vocab_size=400, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64,
        max_position_embeddings=128, num_labels=1, initializer_range=0.4,
    )  # fmt: skip
    BertForSequenceClassification(config).save_pretrained(folder)
    save_tokenizer(folder)
    config_file = folder / "tokenizer_config.json"
    settings = json.loads(config_file.read_text(encoding="utf-8")) | {"model_max_length": 128}
    config_file.write_text(json.dumps(settings), encoding="utf-8")
    return folder


def test_a_cross_encoder_scores_the_hits(index: search.Index, cross_encoder: Path) -> None:
    from sentence_transformers import CrossEncoder

    hits = index.query(QUERY, rerank=str(cross_encoder))
    assert {hit.passage_id for hit in hits} == {hit.passage_id for hit in index.query(QUERY)}
    model = CrossEncoder(str(cross_encoder), local_files_only=True)
    pairs = [(QUERY, text_of(hit)) for hit in hits]
    expected = 1 / (1 + np.exp(-model.predict(pairs, activation_fn=__import__("torch").nn.Identity())))
    assert [hit.score for hit in hits] == pytest.approx(expected.tolist(), abs=1e-6)
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert {hit.rank_before for hit in hits} == set(range(1, len(hits) + 1))
    for hit, why in zip(hits, index.explain(QUERY, hits), strict=True):
        (term,) = why.terms
        assert (term.kind, term.contribution) == ("model", hit.score)
        assert (why.weight, why.residual) == (0.0, 0.0)


def test_rerankers_that_cannot_be_used_are_refused(
    index: search.Index, tiny_model: Path, tmp_path: Path
) -> None:
    with pytest.raises(ModelError, match="no model 'no/such-model'"):
        search.Index.open(index.path, offline=True).query(QUERY, rerank="no/such-model")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ModelError, match="cannot load"):
        index.query(QUERY, rerank=str(tmp_path / "empty"))
    with pytest.raises(ModelError, match=r"is not a cross-encoder; its architecture is BertModel"):
        index.query(QUERY, rerank=str(tiny_model))
    with pytest.raises(InputError, match="ranked with different options"):
        index.contrast(QUERY, index.query(QUERY)[0], index.query(QUERY, rerank="late")[0])
