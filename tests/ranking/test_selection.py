"""The part of a ranking that comes back, against brute force over the whole of it."""

from pathlib import Path

import pytest

from search import Hit, Index, InputError
from tests.conftest import LONG

TEXT = "word number 2 of b"


@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory, tiny_model: Path) -> Index:
    """Four documents of 60, 40, 3 and 1 passages."""
    folder = tmp_path_factory.mktemp("crowded")
    for name, n in (("a", 60), ("b", 40), ("c", 3), ("d", 1)):
        sections = [
            f"# Part {i}\n\nThe word number {i} of {name}, and more {i * i}{LONG}." for i in range(n)
        ]
        (folder / f"{name}.md").write_text("\n\n".join(sections), encoding="utf-8")
    return Index.build(folder, model=str(tiny_model), index=str(folder.parent / f"{folder.name}-index"))


def ids(hits: list[Hit]) -> list[int]:
    return [hit.passage_id for hit in hits]


@pytest.mark.parametrize("mode", ["hybrid", "lexical"])
@pytest.mark.parametrize("rerank", [None, "late"])
def test_a_rank_means_the_same_passage_on_every_page(
    crowded: Index, mode: str, rerank: str | None
) -> None:
    """Also where the limit of a document gives way: seven passages are within it."""
    options = {"mode": mode, "rerank": rerank, "per_document": 2}
    whole = ids(crowded.query(TEXT, k=30, **options))  # type: ignore[arg-type]
    assert len(set(whole)) == 30
    for k, offset in ((5, 0), (7, 0), (8, 0), (5, 5), (10, 10), (13, 17)):
        page = crowded.query(TEXT, k=k, offset=offset, **options)  # type: ignore[arg-type]
        assert ids(page) == whole[offset : offset + k]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"offset": -1}, "offset is -1"),
        ({"min_score": float("nan")}, "min_score is not a number"),
        ({"per_document": None}, "per_document is None. Leave it out for the default, 3"),
        ({"k": 0}, "k is 0"),
        ({"per_document": -2}, "per_document is -2"),
    ],
)
def test_invalid_selections_are_refused(crowded: Index, options: dict[str, float], message: str) -> None:
    with pytest.raises(InputError, match=message):
        crowded.query(TEXT, **options)  # type: ignore[arg-type]


def test_a_rerank_keeps_to_the_selection(crowded: Index) -> None:
    options = {"rerank": "late", "per_document": 2}
    longer = crowded.query(TEXT, k=9, **options)  # type: ignore[arg-type]
    assert crowded.query(TEXT, k=3, offset=6, **options) == longer[6:]  # type: ignore[arg-type]
    least = longer[3].score
    above = crowded.query(TEXT, k=50, rerank="late", min_score=least)
    assert above
    assert all(hit.score >= least for hit in above)
    grouped = crowded.query(TEXT, k=2, rerank="late", group=True, per_document=2)
    assert len({hit.document for hit in grouped}) == 2
    assert len(grouped) <= 4


def test_a_rerank_by_documents_finds_as_many_as_there_are(tmp_path: Path, tiny_model: Path) -> None:
    """Forty documents, of which the first has more passages than the pool."""
    for number in range(40):
        sections = [
            f"# Part {i}\n\nThe word number {i} of file {number}{LONG}."
            for i in range(50 if not number else 1)
        ]
        (tmp_path / f"{number}.md").write_text("\n\n".join(sections), encoding="utf-8")
    index = Index.build(tmp_path, model=str(tiny_model))
    assert index.status().passages == 89
    for k in (5, 25, 40):
        hits = index.query("the word number 0 of file 0", k=k, group=True, per_document=1, rerank="late")
        assert len({hit.document for hit in hits}) == len(hits) == k
