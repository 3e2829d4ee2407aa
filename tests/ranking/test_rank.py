"""Dense ranking against brute force, through the public `Index`."""

import re
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from search import Index, InputError
from search.records.options import Pooling


def test_hits_carry_place_title_heading_and_metadata(notes: Path, tiny_model: Path) -> None:
    hits = {hit.text: hit for hit in Index.build(notes, model=str(tiny_model)).query("a", k=100)}
    hit = hits["## Find\n\nThe key is in the water."]
    assert (hit.path, hit.document) == (str(notes / "keys.md"), "keys.md")
    assert (hit.title, hit.heading, hit.line_start, hit.line_end) == ("Keys", "Keys > Find", 7, 9)
    record = hits["a long sound"]
    assert (record.document, record.title, record.line_start) == ("table.csv#2", "second", 3)


@pytest.mark.parametrize(
    ("text", "k", "message"),
    [("", 1, "query is empty"), (" \n", 1, "query is empty"), ("a", 0, "k is 0")],
)
def test_invalid_queries_are_refused(
    notes: Path, tiny_model: Path, text: str, k: int, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        Index.build(notes, model=str(tiny_model)).query(text, k=k)


@pytest.mark.parametrize("pooling", ["cls", "pooler"])
def test_scores_of_other_poolings_add_up_as_exactly(
    notes: Path, tiny_model: Path, pooling: Pooling
) -> None:
    index = Index.build(notes, model=str(tiny_model), pooling=pooling)
    for hit in index.query("key", explain=True):
        assert hit.explanation is not None
        assert hit.explanation.addends == pytest.approx(hit.score, abs=1e-6)


def test_threads_share_an_index(notes: Path, tiny_model: Path) -> None:
    Index.build(notes, model=str(tiny_model))
    index = Index.open(notes)
    expected = index.query("find the key", k=5)
    answers, errors = [], []

    def ask() -> None:
        try:
            for _ in range(5):
                answers.append(index.query("find the key", k=5))
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert len(answers) == 20
    for hits in answers:
        assert [hit.passage_id for hit in hits] == [hit.passage_id for hit in expected]
        np.testing.assert_allclose(
            [hit.score for hit in hits], [hit.score for hit in expected], atol=1e-6
        )


def test_an_open_index_sees_updates(notes: Path, tiny_model: Path) -> None:
    Index.build(notes, model=str(tiny_model))
    index = Index.open(notes)
    before = {hit.document for hit in index.query("water", k=100)}
    (notes / "new.txt").write_text("water over water", encoding="utf-8")
    Index.build(notes)
    assert {hit.document for hit in index.query("water", k=100)} == before | {"new.txt"}


def test_representations_of_objects_are_short(notes: Path, tiny_model: Path) -> None:
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
