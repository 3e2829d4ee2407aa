"""Near-identical passages; against brute force in tests/contract."""

from pathlib import Path

import pytest

from search import Index, InputError
from search.records.hits import Cluster


def ids_of(cluster: Cluster) -> list[int]:
    return [copy.passage_id for copy in cluster.passages]


def test_blocks_of_pairs_give_what_one_block_gives(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = index.duplicates(0.995)
    assert len(whole) > 5
    monkeypatch.setattr("search.store.vectors._BATCH_ROWS", 50)  # several blocks, also uneven ones
    monkeypatch.setattr("search.ranking.duplicates._BATCH_ROWS", 70)
    blocks = index.duplicates(0.995)
    assert [ids_of(cluster) for cluster in blocks] == [ids_of(cluster) for cluster in whole]
    assert [cluster.lowest for cluster in blocks] == pytest.approx([cluster.lowest for cluster in whole])


@pytest.mark.parametrize("threshold", [0.0, 1.1, float("nan")])
def test_invalid_thresholds_are_refused(index: Index, threshold: float) -> None:
    with pytest.raises(InputError, match="above 0 and at most 1"):
        index.duplicates(threshold)


def test_equal_texts_are_distinguished_from_near_ones(tmp_path: Path, tiny_model: Path) -> None:
    folder = tmp_path / "copies"
    folder.mkdir()
    for name in "abc":
        (folder / f"{name}.txt").write_text(
            "The key of the door is in the water, and the lock is open.\n", encoding="utf-8"
        )
    (folder / "d.txt").write_text(
        "The key of the door is in the water, and the lock is open!\n", encoding="utf-8"
    )
    (folder / "e.txt").write_text("9 8 7 6 5\n", encoding="utf-8")
    index = Index.build(folder, model=str(tiny_model))
    (cluster,) = index.duplicates(0.999999)
    assert [copy.document for copy in cluster.passages] == ["a.txt", "b.txt", "c.txt"]
    first = cluster.passages[0].passage_id
    assert cluster.exact
    assert [copy.same_text_as for copy in cluster.passages] == [None, first, first]
    assert cluster.lowest == pytest.approx(1, abs=1e-6)
    near = {hit.document: hit.score for hit in index.similar("a.txt")}["d.txt"]
    (cluster,) = index.duplicates(near - 1e-4)
    assert [copy.document for copy in cluster.passages][:4] == ["a.txt", "b.txt", "c.txt", "d.txt"]
    assert not cluster.exact
    assert cluster.passages[3].same_text_as is None
    assert cluster.passages[3].cosine == pytest.approx(near, abs=1e-5)
    (cluster,) = index.duplicates(0.999999, where="not path:a.txt")
    assert [copy.document for copy in cluster.passages] == ["b.txt", "c.txt"]
