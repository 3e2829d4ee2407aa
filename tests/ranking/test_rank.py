"""Dense ranking against brute force, through the public `Index`."""

import re
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from search import Index, InputError
from tests.conftest import LONG


def test_hits_carry_place_title_heading_and_metadata(notes: Path, tiny_model: Path) -> None:
    hits = {hit.text: hit for hit in Index.build(notes, model=str(tiny_model)).query("a", k=100)}
    hit = hits["## Find\n\nThe key is in the water."]
    assert (hit.path, hit.document) == (str(notes / "keys.md"), "keys.md")
    assert (hit.title, hit.heading, hit.line_start, hit.line_end) == ("Keys", "Keys > Find", 7, 9)
    record = hits["a long sound"]
    assert (record.document, record.title, record.line_start) == ("table.csv#2", "second", 3)


@pytest.mark.parametrize(
    ("text", "k", "message"), [("", 1, "query is empty"), (" \n", 1, "query is empty"), ("a", 0, "k is 0")]
)
def test_questions_that_cannot_be_asked(
    notes: Path, tiny_model: Path, text: str, k: int, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        Index.build(notes, model=str(tiny_model)).query(text, k=k)


def test_pooler_ranks_and_has_addends_that_are_not_exact(notes: Path, tiny_model: Path) -> None:
    index = Index.build(notes, model=str(tiny_model), pooling="pooler")
    hit = index.query("key")[0]
    why = index.explain("key", hit)
    assert why.steps > 0
    assert why.audit.addends == pytest.approx(hit.score, abs=0.02)


def test_threads_share_an_index(notes: Path, tiny_model: Path) -> None:
    Index.build(notes, model=str(tiny_model))
    index = Index.open(notes)
    expected = index.query("find the key", k=5)
    found, errors = [], []

    def ask() -> None:
        try:
            for _ in range(5):
                found.append(index.query("find the key", k=5))
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert len(found) == 20
    for hits in found:
        assert [hit.passage_id for hit in hits] == [hit.passage_id for hit in expected]
        np.testing.assert_allclose([hit.score for hit in hits], [hit.score for hit in expected], atol=1e-6)


def test_an_open_index_sees_updates(notes: Path, tiny_model: Path) -> None:
    Index.build(notes, model=str(tiny_model))
    index = Index.open(notes)
    before = {hit.document for hit in index.query("water", k=100)}
    (notes / "new.txt").write_text("water over water", encoding="utf-8")
    Index.build(notes)
    assert {hit.document for hit in index.query("water", k=100)} == before | {"new.txt"}


@pytest.fixture
def crowded(tmp_path: Path, tiny_model: Path) -> Index:
    """Three documents of 30, 4 and 3 passages."""
    folder = tmp_path / "crowded"
    folder.mkdir()
    for name, n in (("a", 30), ("b", 4), ("c", 3)):
        sections = [f"# Part {i}\n\nThe word number {i} of {name}{LONG}." for i in range(n)]
        (folder / f"{name}.md").write_text("\n\n".join(sections), encoding="utf-8")
    return Index.build(folder, model=str(tiny_model))


@pytest.mark.parametrize("k", [1, 5, 9, 12, 20, 37, 50])
@pytest.mark.parametrize("most", [1, 3])
def test_hits_of_one_document_are_limited_as_far_as_k_allows(crowded: Index, k: int, most: int) -> None:
    everything = crowded.query("word number", k=100, per_document=0)
    assert len(everything) == 37
    hits = crowded.query("word number", k=k, per_document=most)
    if most == 3:
        assert crowded.query("word number", k=k) == hits  # as the command does
    assert len(hits) == min(k, 37)
    seen: dict[str, int] = {}
    first, others = [], []
    for hit in everything:
        seen[hit.document] = seen.get(hit.document, 0) + 1
        (first if seen[hit.document] <= most else others).append(hit.passage_id)
    expected = first + others
    assert [hit.passage_id for hit in hits] == expected[:k]
    assert [hit.rank for hit in hits] == list(range(1, len(hits) + 1))


def test_a_negative_limit_is_refused(crowded: Index) -> None:
    with pytest.raises(InputError, match="per_document is -1; it must be at least 0"):
        crowded.query("word", per_document=-1)


def test_what_is_shown_of_objects_is_short(notes: Path, tiny_model: Path) -> None:
    index = Index.build(notes, model=str(tiny_model), index="mine")
    hit = index.query("find the key")[0]
    assert re.fullmatch(rf"<Hit 1: \d\.\d{{3}} '{hit.document}' \d+-\d+ p{hit.passage_id}>", repr(hit))
    assert repr(index).startswith("<Index 'mine' in '")
    why = repr(index.explain("find the key", hit))
    shape = r"<Explanation of \d\.\d{3}: 'find the key', \d+ x \d+ tokens, residual [+-]\d\.\de[+-]\d\d>"
    assert re.fullmatch(shape, why)
    place = f"#L{hit.line_start}-L{hit.line_end}"
    assert hit.uri == Path(hit.path).as_uri() + place and hit.uri.startswith("file:///")
    assert replace(hit, page=3, path="/a b/ü.pdf").uri.endswith("/a%20b/%C3%BC.pdf#page=3")
