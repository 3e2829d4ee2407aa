"""Topics of the map: groups of similar documents, named by their typical words, and the filter that uses them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from search import Encoder, Index, InputError
from search.index import searcher_of
from search.ranking.topics import groups_of, log_likelihood_ratios, names_of, number_of_topics
from search.records.document_map import MapPoint
from tests.conftest import WORDS, Run


def test_groups_are_those_of_the_directions_and_always_the_same() -> None:
    rng = np.random.default_rng(1)
    axes = np.eye(4, 16)
    rows = np.concatenate([axis + 0.1 * rng.normal(size=(10, 16)) for axis in axes]).astype(np.float32)
    order = rng.permutation(40)
    groups = groups_of(rows[order], 4)
    assert len({(int(row) // 10, int(group)) for row, group in zip(order, groups, strict=True)}) == 4
    assert (groups_of(rows[order], 4) == groups).all()
    assert groups[0] == 0  # groups are numbered in the order of the documents


def test_equal_documents_are_one_group() -> None:
    assert groups_of(np.ones((5, 3), dtype=np.float32), 3).tolist() == [0] * 5


def test_an_embedding_that_is_no_number_does_not_count() -> None:
    rows = np.array([[1, 0], [0, 1], [np.nan, 0], [1, 0], [np.inf, 1]], dtype=np.float32)
    groups = groups_of(rows, 2).tolist()
    assert groups[0] == groups[3] != groups[1]


@pytest.mark.parametrize(
    ("documents", "topics"), [(1, 1), (30, 4), (59, 5), (91, 7), (128, 8), (5000, 8)]
)
def test_the_number_of_topics_grows_with_the_root_of_the_documents(documents: int, topics: int) -> None:
    assert number_of_topics(documents) == topics


def test_the_log_likelihood_ratio_is_that_of_a_table_of_four() -> None:
    # 6 of 10 passages with the word inside, 2 of 30 outside; G2 by hand: 2 * sum(O ln(O / E)) over the four cells.
    observed, expected = (6, 2, 4, 28), (2, 6, 8, 24)
    by_hand = 2 * sum(o * np.log(o / e) for o, e in zip(observed, expected, strict=True))
    ratios = log_likelihood_ratios(np.array([[6, 2], [0, 0]]), np.array([10.0, 30.0]))
    assert ratios[0, 0] == pytest.approx(by_hand) and ratios[0, 1] == 0
    assert ratios[1].tolist() == [0, 0]


def test_a_name_has_the_most_typical_words_in_their_most_frequent_form() -> None:
    boiler = [[{"boiler": "boiler", "us": "use"}, {"boiler": "Boiler", "us": "use"}] for _ in range(4)]
    dough = [[{"dough": "dough", "us": "use"}] for _ in range(4)]
    boiler[0][0]["onc"] = "once"  # of one document only
    small = [[{"rare": "rare"}] for _ in range(2)]
    names = names_of([0] * 4 + [1] * 4 + [2] * 2, [*boiler, *dough, *small])
    assert names == {0: "Boiler · use", 1: "dough"}


@pytest.fixture
def index(tiny: Encoder, tmp_path: Path) -> Index:
    index = Index.create(tmp_path / "topics", encoder=tiny)
    texts = {f"k{i}": f"turn the key in the lock {WORDS[i]}" for i in range(18)}
    texts |= {f"w{i}": f"people call a number {WORDS[i]} people call" for i in range(18)}
    index.upsert({"id": name, "text": text} for name, text in texts.items())
    return index


def test_a_map_of_thirty_documents_has_topics_that_filter_to_their_documents(
    index: Index, run: Run
) -> None:
    map_ = searcher_of(index).map()
    assert map_.grouped_by == "topic" and map_.is_complete
    assert map_.groups == dict(Counter(point.group for point in map_.points))
    topics = [name for name in map_.groups if name != "other"]
    assert len(topics) > 1
    for name in topics:
        own = {point.document for point in map_.points if point.group == name}
        assert set(index.ids(where=f'map.topic="{name}"')) == own
        assert {hit.document for hit in index.query("key", k=50, where=f'MAP.topic="{name}"')} <= own
    every = {point.document for point in map_.points if point.group != "other"}
    assert set(index.ids(where="has map.topic")) == every
    assert set(index.ids(where="not has map.topic")) == set(index.ids()) - every
    first = topics[0].split(" ")[0]
    assert set(index.ids(where=f'map.topic:"{first}*" and not path=none')) <= every
    out = run("map", "-i", index.path)[1]
    assert (
        "36 documents, 36 on the map, by topic:" in out
        and f"{map_.groups[topics[0]]}  {topics[0]}\n" in out
    )
    with pytest.raises(InputError, match="no such topic") as raised:
        index.query("key", where="map.topic=none")
    assert all(name in str(raised.value) for name in topics)


def test_a_map_without_all_documents_does_not_filter(
    index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("search.ranking.document_map.MAX_POINTS", 32)
    assert len(searcher_of(index).map().points) < 36
    with pytest.raises(InputError, match="of 36 documents, so it filters none"):
        index.query("key", where="has map.topic")


def test_below_thirty_documents_there_are_no_topics(index: Index) -> None:
    index.delete([f"w{i}" for i in range(7)])
    map_ = searcher_of(index).map()
    assert map_.documents == 29 and map_.grouped_by == "kind"
    assert all(isinstance(point, MapPoint) and point.group == "text" for point in map_.points)
    with pytest.raises(InputError, match="Its topics: none"):
        index.query("key", where="has map.topic and map.topic=a")
