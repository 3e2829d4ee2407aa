"""The passages that a question encodes are those that would rank high."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from search import Encoder, Index
from search.ranking.on_demand import encode_for
from search.ranking.propose import Proposer
from search.ranking.question import EncodedQuery

TOPICS = {
    "boats": "anchor sail harbour mast rope captain",
    "bread": "oven flour dough yeast crust baker",
    "music": "violin chord melody rhythm choir piano",
}


def topical(texts: list[str]) -> np.ndarray:
    """Embeddings by topic: how many words of each a text has."""
    counts = [
        [sum(word in words.split() for word in text.split()) for words in TOPICS.values()]
        for text in texts
    ]
    return np.array(counts, dtype=float) + 0.01


@pytest.fixture
def index(tmp_path: Path) -> Index:
    """300 passages of random words, of which every fourth is about one topic."""
    folder, rng = tmp_path / "folder", np.random.default_rng(3)
    folder.mkdir()
    other = [f"word{number}" for number in range(200)]
    for number in range(300):
        words = [*rng.choice(other, 12)]
        if number % 4 == 0:
            topic = [*TOPICS][number // 4 % 3]
            words += [*rng.choice(TOPICS[topic].split(), 3, replace=False)]
        (folder / f"{number}.txt").write_text(" ".join(words), encoding="utf-8")
    return Index.build(folder, encoder=topical, encoder_name="topical", lazy=True)


def test_passages_without_a_word_of_the_query_are_found_by_what_others_teach(index: Index) -> None:
    hits = index.query("violin", k=20, mode="dense", pending=60)
    about_music = [hit for hit in hits if hit.cosine and hit.cosine > 0.9]
    assert len(about_music) == 20
    assert any("violin" not in hit.text for hit in about_music)


def test_all_are_proposed_if_there_are_few(index: Index) -> None:
    searcher = index._searcher
    query = EncodedQuery("violin", topical(["violin"])[0].astype(np.float32))
    with searcher.store.reading() as snapshot:
        among = snapshot.pending[:7]
        assert Proposer(query, 0.75).next(snapshot, 7, among) == among.tolist()


def test_only_passages_that_may_be_ranked_are_encoded(index: Index) -> None:
    hits = index.query("violin", where="path:1*.txt", pending=1000)
    assert hits and all(hit.document.startswith("1") for hit in hits)
    encoded, _ = index.embeddings()
    documents = {index.passage(int(id_)).document for id_ in encoded}
    assert documents and all(name.startswith("1") for name in documents)


def test_without_a_keyword_the_first_passages_are_spread(index: Index) -> None:
    searcher = index._searcher
    query = EncodedQuery("unheard", topical(["violin"])[0].astype(np.float32))
    with searcher.store.reading() as snapshot:
        first = Proposer(query, 0.75).next(snapshot, 20)
    assert len(set(first)) == 20 and max(first) - min(first) > 100


def test_no_more_is_encoded_than_is_allowed(index: Index) -> None:
    searcher = index._searcher
    query = EncodedQuery("violin", topical(["violin"])[0].astype(np.float32))
    for most in (0, 1, 20, 33):
        before = index.status().pending
        assert encode_for(searcher.store, searcher.encoder, query, 0.75, lambda _: None, most) == most
        assert index.status().pending == before - most


def test_a_keyword_ranking_encodes_nothing(index: Index) -> None:
    assert index.query("violin", mode="lexical")
    assert index.status().pending == index.status().passages
    assert isinstance(index.encoder, Encoder)
