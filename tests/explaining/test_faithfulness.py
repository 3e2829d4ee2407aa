"""Does the cosine need the words that an explanation says count most? Against texts that are cut and encoded apart."""

import itertools
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import search
from search.errors import InputError

QUERY = "find the key, turn the lock"


def cut(why: search.Explanation, words: Sequence[Any]) -> str:
    """The passage with the characters of these words blanked."""
    gone = {at for word in words for at in range(word.start, word.end)}
    return " ".join("".join(" " if i in gone else c for i, c in enumerate(why.passage)).split())


@pytest.mark.parametrize("pooling", ["mean", "cls"])
def test_drops_are_those_of_an_independent_encoding(notes: Path, tiny_model: Path, pooling: str) -> None:
    (notes / "door.csv").write_text(
        "title,text\nDoor,To rotate the key (東京) open the door and turn the lock\n", encoding="utf-8"
    )
    index = search.Index.build(notes, model=str(tiny_model), pooling=pooling)
    encoder = search.Encoder(str(tiny_model), pooling=pooling)
    hit = next(hit for hit in index.query(QUERY) if hit.document.startswith("door.csv"))
    why = index.explain(QUERY, hit)
    found = index.faithfulness(why)
    assert found == index.faithfulness(why)
    assert found.cosine == pytest.approx(hit.cosine, abs=1e-5)
    assert [len(removal.words) for removal in found.removals] == [1, 3, 5]
    (query,) = encoder.encode([QUERY])

    def drop(words: Sequence[Any]) -> float:
        return found.cosine - float(query @ encoder.encode([f"{hit.context}\n{cut(why, words)}"])[0])

    words = why.words()
    added = dict(zip(words.passage, words.contributions.sum(axis=0).tolist(), strict=True))
    own = [word for word in words.passage if word.kind == "word"]
    assert found.words == len(own)
    for removal in found.removals:
        assert removal.drop == pytest.approx(drop(removal.words), abs=1e-5)
        others = [added[word] for word in own if word not in removal.words]
        assert min(added[word] for word in removal.words) >= max(others)
        assert removal.random_mean == pytest.approx(np.mean(removal.random))
        assert removal.as_much == sum(one >= removal.drop for one in removal.random)
    one, *_ = found.removals
    possible = np.array([drop(words) for words in itertools.combinations(own, 1)])
    assert all(np.abs(possible - random).min() < 1e-5 for random in one.random)
    assert len(one.random) == 20 and len(set(one.random)) > 1


def of_texts(tmp_path: Path, model: Path, *texts: str) -> search.Index:
    for number, text in enumerate(texts):
        (tmp_path / f"{number}.txt").write_text(text, encoding="utf-8")
    return search.Index.build(tmp_path, model=str(model), index=str(tmp_path / "index"))


def test_passages_of_few_words(tmp_path: Path, tiny_model: Path) -> None:
    index = of_texts(tmp_path, tiny_model, "key (lock)", "... !")
    two, none = (
        index.faithfulness(index.explain(QUERY, index.hit(QUERY, name))) for name in ("0.txt", "1.txt")
    )
    assert [len(removal.words) for removal in two.removals] == [1, 2]
    assert set(two.removals[1].random) == {two.removals[1].drop}
    assert two.holds is None
    assert (none.words, none.removals, none.holds) == (0, (), None)


@pytest.mark.parametrize(
    ("drops", "randoms", "words", "holds"),
    [
        ([0.1], [[0.2, *[0.01] * 19]], 30, True),  # one in twenty
        ([0.1], [[0.2, 0.2, *[0.01] * 18]], 30, False),
        ([0.0, 0.1], [[0.02] * 20, [0.01] * 20], 30, True),  # means of all counts
        ([-0.1], [[-0.2] * 20], 30, False),
        ([0.1], [[0.01] * 20], 19, None),
        ([0.1, 0.1], [[0.3] * 20, [0.01] * 20], 7, True),  # one of seven words tells nothing
    ],
)
def test_whether_it_holds(
    tmp_path: Path, tiny_model: Path, drops: list[float], randoms: Any, words: int, holds: bool | None
) -> None:
    index = of_texts(tmp_path, tiny_model, "the key is in the water")
    found = index.faithfulness(index.explain(QUERY, index.query(QUERY)[0]))
    removal = found.removals[0]
    removals = tuple(
        replace(removal, words=removal.words * (count + 1), drop=drop, random=tuple(random))
        for count, (drop, random) in enumerate(zip(drops, randoms, strict=True))
    )
    assert replace(found, words=words, removals=removals).holds is holds


def test_refusals(notes: Path, tiny_model: Path) -> None:
    index = search.Index.build(notes, model=str(tiny_model))
    lexical = index.explain(QUERY, index.query(QUERY, mode="lexical")[0])
    with pytest.raises(InputError, match="ranked by its words alone"):
        index.faithfulness(lexical)
    with pytest.raises(InputError, match=r"of a cosine of 0\.0101, but its two texts have"):
        index.faithfulness(replace(lexical, mode="dense", cosine=0.0101))
