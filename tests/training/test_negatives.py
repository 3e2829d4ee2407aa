"""Hard negatives from an index."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from search import Encoder, Index
from search.errors import InputError
from search.evaluating.retrieval import too_long
from search.training import train
from search.training.examples import Example, Examples, key_of
from search.training.negatives import NEAREST, with_negatives
from tests.training.conftest import trainable, write_lines


@dataclass
class _Hit:
    text: str
    cosine: float | None


class _Index:
    """Passages in one dimension more than a circle: a text's cosine with every query is the number it holds."""

    path = Path("fake")

    def __init__(self, *passages: tuple[str, float]) -> None:
        self.hits = sorted((_Hit(*one) for one in passages), key=lambda hit: -(hit.cosine or 0))
        self.asked: list[int] = []

    @property
    def encoder(self) -> _Index:
        return self

    model = "fake"

    def encode(self, texts: list[str], *, role: str, truncate: bool) -> np.ndarray:
        assert truncate
        if role == "query":
            return np.array([[1.0, 0.0]] * len(texts))
        cosines = [float(text.rpartition("=")[2]) for text in texts]
        return np.array([[cosine, np.sqrt(1 - cosine**2)] for cosine in cosines])

    def query(self, text: str, k: int, *, mode: str) -> list[_Hit]:
        assert mode == "dense"
        assert text != "too long"
        self.asked.append(k)
        return self.hits[:k]


@pytest.fixture(autouse=True)
def _known_length(monkeypatch: pytest.MonkeyPatch) -> None:
    """The length of a query of the fake index is in what it says."""

    def length(encoder: Any, texts: list[str], role: str) -> int:
        return texts.count("too long") if isinstance(encoder, _Index) else too_long(encoder, texts, role)

    monkeypatch.setattr("search.training.negatives.too_long", length)


def mined(index: Any, *rows: tuple[str, ...], per_pair: int = 1) -> Any:
    shape = "triplets" if len(rows[0]) > 2 else "pairs"
    return with_negatives(Examples(shape, tuple(map(Example, rows))), index, per_pair)


def test_own_passages_and_those_too_near_are_passed_over() -> None:
    """0.95 * 0.8 = 0.76: 0.77 is too near; another passage of the query is its own, in whole or in part."""
    index = _Index(
        ("The own  ONE =0.8", 0.8), ("the own one =0.8 and more", 0.79), ("other own", 0.785), ("near", 0.77),
        ("first", 0.75), ("FIRST", 0.74), ("second", 0.7),
    )  # fmt: skip
    found = mined(index, ("q", "the own one =0.8"), ("q", "my other own =0.8"), per_pair=2)
    examples, passed = found
    assert [row.texts[2:] for row in examples.rows] == [("first", "second")] * 2
    assert passed == {
        "passed_over_as_own": 6, "passed_over_as_too_near": 2, "without_negative": 0, "query_too_long": 0,
    }  # fmt: skip
    assert examples.shape == "triplets"
    assert examples.columns == ("anchor", "positive", "negative_1", "negative_2")
    assert (examples.files[-1].role, examples.files[-1].rows) == ("negatives", 4)


def test_it_looks_deeper_where_the_first_are_too_near_and_counts_what_finds_none() -> None:
    index = _Index(*((f"near {i}", 0.7) for i in range(60)), ("far", 0.1))
    found = mined(index, ("q", "a =0.5"), ("r", "b =0.1"), ("too long", "c =0.5"))
    examples, passed = found
    assert [row.texts for row in examples.rows] == [("q", "a =0.5", "far")]
    assert (passed["without_negative"], passed["query_too_long"], index.asked[:2]) == (1, 1, [50, 1000])
    with pytest.raises(InputError, match="longer than the model of the index reads"):
        mined(index, ("too long", "c =0.5"))
    with pytest.raises(
        InputError, match="no passage that could serve as a negative for any of the 1 examples"
    ):
        mined(index, ("r", "b =0.1"))
    assert NEAREST == 0.95


def test_negatives_that_are_there_are_not_taken_again() -> None:
    index = _Index(("given", 0.3), ("new", 0.2))
    found = mined(index, ("q", "a =0.5", "Given"))
    assert found[0].rows[0].texts == ("q", "a =0.5", "Given", "new")


# A random model finds all texts much alike; a text's cosine with itself is 1, so that 0.95 is the limit.
TEXTS = "a long sound|a sound|the long day|a number|first people|water|say a word|the sun|look more|no|1, 2".split(
    "|"
)


@trainable
def test_a_real_index(notes: Path, tiny: Encoder, tmp_path: Path) -> None:
    """Every negative is a passage of the index, never the query's own, and no nearer than the rule allows."""
    index = Index.build(notes, model=tiny.model, engine="torch")
    passages = {hit.text for hit in index.query("key", 50, mode="dense")}
    rows = [{"query": text, "passage": text} for text in TEXTS]
    data = write_lines(tmp_path / "a.jsonl", *rows)
    found = with_negatives(
        Examples("pairs", tuple(Example((r["query"], r["passage"])) for r in rows)), index, 1
    )
    examples, passed = found
    assert len(examples) + passed["without_negative"] == len(TEXTS) and passed["without_negative"]
    assert passed["passed_over_as_too_near"]
    for row in examples.rows:
        query, passage, negative = row.texts
        assert negative in passages
        assert key_of(passage) not in key_of(negative)
        vectors = index.encoder.encode([query, passage, negative])
        cosines = [hit.cosine for hit in index.query(query, 50, mode="dense") if hit.text == negative]
        assert max(filter(None, cosines)) <= NEAREST * float(vectors[0] @ vectors[1]) + 1e-5
    done = train(data, tmp_path / "out", model=tiny.model, negatives=index, dev_share=0.3, batch_size=4)
    assert done.objective == "triplets"
    assert done.counts["negatives"] == done.counts["train"]
    assert any("negatives are the passages of the index nearest to a query" in note for note in done.notes)
