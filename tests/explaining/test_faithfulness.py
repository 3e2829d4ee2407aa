"""Cutting out the words that count most: drops are those of an independent encoding, draws are fair and seeded."""

import itertools
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import search
from search.encoding import Encoder
from search.errors import InputError
from search.explaining.faithfulness import faithfulness, ranked_words, without
from search.records.comparisons import Faithfulness, Removal
from search.records.explanations import Explanation, Term
from search.records.tokens import Token, Word

VOCABULARY = ["key", "lock", "door", "turn", "water", "title"]


class Counting:
    """An encoder that can be worked out by hand: an embedding counts words, and is scaled to length 1."""

    def __init__(self) -> None:
        self.calls: list[tuple[list[str], str | None]] = []

    def encode(self, texts: Sequence[str], *, role: str | None = None) -> NDArray[np.float32]:
        self.calls.append((list(texts), role))
        counts = np.array(
            [[re.findall(r"\w+", text.lower()).count(w) for w in VOCABULARY] for text in texts], np.float32
        )
        lengths = np.linalg.norm(counts, axis=1, keepdims=True)
        return np.divide(counts, lengths, out=np.zeros_like(counts), where=lengths > 0)


def explained(query: str, passage: str, addends: Sequence[float], cosine: float) -> Explanation:
    """A passage whose words, and marks other than hyphens, have these addends, one after the other."""
    spans = [match.span() for match in re.finditer(r"\w+|[^\w\s]", passage)]
    tokens = tuple(Token(passage[a:b], 9, a, b, False, i, "text") for i, (a, b) in enumerate(spans))
    assert len(tokens) == len(addends)
    return Explanation(
        query=query,
        passage=passage,
        context="",
        query_tokens=(Token(query, 9, 0, len(query), False, 0, "text"),),
        passage_tokens=tokens,
        similarity=np.zeros((1, len(tokens)), np.float32),
        similarity_layer=0,
        contributions=np.array([addends], np.float64),
        terms=(),
        cosine=cosine,
        score=cosine,
        mode="dense",
        pooling="mean",
    )


def check(
    why: Explanation, encoder: Counting, counts: Sequence[int] = (1, 3, 5), **more: int
) -> Faithfulness:
    return faithfulness(why, encoder, counts=counts, **more)  # type: ignore[arg-type]


def own_without(why: Explanation, words: Sequence[Word]) -> str:
    """The passage with the characters of these words blanked, written without the code under test."""
    gone = {at for word in words for at in range(word.start, word.end)}
    return " ".join("".join(" " if i in gone else c for i, c in enumerate(why.passage)).split())


def test_the_drop_by_hand() -> None:
    """Of "key lock door" with "key" the cosine is 1/sqrt(3); without "key" it is 0, without both others 1."""
    encoder, why = Counting(), explained("key", "Key, lock door.", [0.6, 0.9, 0.1, 0.2, 0.9], 3**-0.5)
    found = check(why, encoder, (1, 2), draws=30)
    assert (found.words, found.is_score) == (3, True)
    assert found.cosine == pytest.approx(3**-0.5)
    assert [[word.text for word in removal.words] for removal in found.removals] == [["Key"], ["Key", "door"]]
    assert [removal.drop for removal in found.removals] == pytest.approx([3**-0.5, 3**-0.5])
    assert encoder.calls[0] == (["key"], "query")
    assert len(encoder.calls) == 2
    assert encoder.calls[1][1] == "document"
    texts = encoder.calls[1][0]
    assert texts[:2] == ["Key, lock door.", ", lock door."]
    assert ", lock ." in texts
    assert len(texts) == len(set(texts)) <= 1 + 3 + 3
    one, two = (sorted(set(np.round(removal.random, 4))) for removal in found.removals)
    assert one == pytest.approx([3**-0.5 - 2**-0.5, 3**-0.5], abs=1e-4)  # lock or door, key
    assert two == pytest.approx([3**-0.5 - 1, 3**-0.5], abs=1e-4)  # lock and door, key and one of them
    assert found.removals[0].as_much == sum(drop > 0.5 for drop in found.removals[0].random) > 0


@pytest.mark.parametrize("pooling", ["mean", "max", "cls"])
def test_drops_are_those_of_an_independent_encoding(notes: Path, tiny_model: Path, pooling: str) -> None:
    (notes / "door.csv").write_text(
        "title,text\nDoor,To rotate the key open the door and turn the lock\n", encoding="utf-8"
    )
    index = search.Index.build(notes, model=str(tiny_model), pooling=pooling)
    encoder = Encoder(str(tiny_model), pooling=pooling)
    query = "find the key, turn the lock"
    hits = index.query(query)
    hit = next(hit for hit in hits if hit.document.startswith("door.csv"))
    assert hit.context
    why = index.explain(query, hit)
    found = index.faithfulness(why, counts=(2, 1, 4), draws=6)
    assert found.cosine == pytest.approx(hit.cosine, abs=1e-5)
    assert [len(removal.words) for removal in found.removals] == [1, 2, 4]
    asked = encoder.encode([query])[0]

    def drop(words: Sequence[Word]) -> float:
        return found.cosine - float(asked @ encoder.encode([f"{hit.context}\n{own_without(why, words)}"])[0])

    words, sums = why.words().passage, why.words().contributions.sum(axis=0).tolist()
    own = [word for word in words if word.kind == "word"]
    added = {(w.start, w.end): addend for w, addend in zip(words, sums, strict=True) if w.kind == "word"}
    assert {hit.text[word.start : word.end] for word in own} >= {"rotate", "door", "lock"}
    assert found.words == len(own)
    for removal in found.removals:
        assert removal.drop == pytest.approx(drop(removal.words), abs=1e-5)
        least = min(added[word.start, word.end] for word in removal.words)
        others = [added[word.start, word.end] for word in own if word not in removal.words]
        assert least >= max(others)
    for removal, count in zip(found.removals, (1, 2), strict=False):
        possible = np.array([drop(words) for words in itertools.combinations(own, count)])
        for random in removal.random:
            assert np.abs(possible - random).min() < 1e-5
        assert len(set(removal.random)) > 1


def test_draws_depend_on_the_seed_alone() -> None:
    why = explained("key", "key lock door turn water", [5, 4, 3, 2, 1], 5**-0.5)
    first = check(why, Counting(), (1, 2), seed=1)
    assert first == check(why, Counting(), (1, 2), seed=1)
    assert first.removals[1] == check(why, Counting(), (2,), seed=1).removals[0]
    assert first.removals[1].random != check(why, Counting(), (2,), seed=2).removals[0].random
    assert first.removals[1].random[:5] == check(why, Counting(), (2,), draws=5, seed=1).removals[0].random


def test_the_draws_are_not_the_words_that_count_most() -> None:
    why = explained("key", "key lock door turn water", [5, 4, 3, 2, 1], 5**-0.5)
    removals = [check(why, Counting(), (1,), draws=1, seed=seed).removals[0] for seed in range(20)]
    assert {removal.as_much for removal in removals} == {0, 1}
    assert sum(removal.as_much for removal in removals) < 10  # about a fifth


def test_equal_addends_are_taken_in_the_order_of_the_text() -> None:
    why = explained("key", "key lock door lock", [0.2, 0.3, -0.1, 0.3], 6**-0.5)
    assert [(word.text, word.start) for word in ranked_words(why)] == [
        ("lock", 4), ("lock", 14), ("key", 0), ("door", 9)
    ]  # fmt: skip


def test_fewer_words_than_asked_for() -> None:
    why = explained("key", "key (lock)", [0.5, 0, 0.2, 0], 2**-0.5)
    found = check(why, Counting(), (1, 3, 5))
    assert [len(removal.words) for removal in found.removals] == [1, 2]
    last = found.removals[-1]
    assert last.drop == found.cosine
    assert set(last.random) == {last.drop}
    assert found.holds is None


def test_a_passage_without_words() -> None:
    found = check(explained("key", "... !", [0.1, 0, 0, 0], 0.0), Counting())
    assert (found.words, found.removals, found.holds) == (0, (), None)


def test_what_is_left_of_a_text() -> None:
    def cut(text: str, *wanted: str) -> str:
        places = [text.index(word) for word in wanted]
        words = [Word(w, at, at + len(w), "word", (0, 1)) for w, at in zip(wanted, places, strict=True)]
        return without(text, words)

    assert cut("turn the\nkey  now") == "turn the\nkey  now"
    assert cut("turn the\nkey  now", "key") == "turn the now"
    assert cut("turn the key", "key", "turn") == "the"
    assert cut("東京都", "京") == "東 都"
    assert cut("a\U0001f511b cafe\u0301 שלום c", "b", "שלום") == "a\U0001f511 cafe\u0301 c"
    same = [Word("½", 2, 3, "word", (i, i + 1)) for i in range(2)]  # two words of one character
    assert without("a ½ b", same) == "a b"


def test_offsets_beyond_ascii(tiny: Encoder) -> None:
    passage = "\U0001f511 key 東京 cafe\u0301 \u202eDOOR\u202c a\u00adb ﬁle"
    why = search.explain("find the key", passage, model=tiny)
    words = ranked_words(why)
    assert {"key", "東", "京", "DOOR"} <= {word.text for word in words}
    found = faithfulness(why, tiny, counts=[1, len(words)], draws=2, roles=(None, None))
    asked, whole = tiny.encode(["find the key", passage])
    for removal in found.removals:
        rest = tiny.encode([own_without(why, removal.words)])[0]
        assert removal.drop == pytest.approx(float(asked @ whole) - float(asked @ rest), abs=1e-5)
    for word in words:
        assert without(passage, [word]).split() == own_without(why, [word]).split()


def test_whether_it_holds() -> None:
    def found(drops: Sequence[float], randoms: Sequence[Sequence[float]], words: int = 30) -> bool | None:
        some = [Word("a", i, i + 1, "word", (i, i + 1)) for i in range(len(drops))]
        removals = [
            Removal(tuple(some[: i + 1]), drop, tuple(random))
            for i, (drop, random) in enumerate(zip(drops, randoms, strict=True))
        ]
        return Faithfulness("q", "p", "", 0.5, True, words, tuple(removals), 0).holds

    low, high = [0.01] * 20, [0.2, *[0.01] * 19]
    assert found([0.1], [low]) is True
    assert found([0.1], [high]) is True  # one in twenty
    assert found([0.1], [[0.2, *high[:-1]]]) is False
    assert found([0.0, 0.1], [[0.02] * 20, low]) is True  # the mean of all numbers of words counts
    assert found([-0.1], [[-0.2] * 20]) is False
    assert found([0.1], [low], words=19) is None
    assert found([0.1, 0.1], [[0.3] * 20, low], words=7) is True  # one of seven words tells nothing
    removal = Removal((), 0.1, (0.0, 0.1, 0.2))
    assert (removal.random_mean, removal.as_much) == (pytest.approx(0.1), 2)
    assert removal.random_spread == pytest.approx((2 / 3) ** 0.5 / 10)


def test_scores_that_are_more_than_the_cosine() -> None:
    why = explained("key", "key lock", [0.5, 0.2], 2**-0.5)
    assert not check(replace(why, terms=(Term("key", 0.1),)), Counting()).is_score
    assert not check(replace(why, weight=0.8), Counting()).is_score


@pytest.mark.parametrize(
    ("counts", "more", "message"),
    [
        ((1, 0), {}, "the number of words to cut out is 0"),
        ((), {}, "the number of words to cut out is 0"),
        ((1,), {"draws": 0}, "the number of draws is 0"),
    ],
)
def test_refusals(counts: Sequence[int], more: dict[str, int], message: str) -> None:
    why = explained("key", "key lock", [0.5, 0.2], 2**-0.5)
    with pytest.raises(InputError, match=message):
        check(why, Counting(), counts, **more)


def test_scores_without_a_cosine_are_refused() -> None:
    why = replace(explained("key", "key lock", [0.5, 0.2], 2**-0.5), mode="lexical", weight=0.0)
    with pytest.raises(InputError, match="ranked by its words alone"):
        check(why, Counting())


def test_an_explanation_of_something_else_is_refused() -> None:
    why = explained("key", "key lock", [0.5, 0.2], 0.9)
    with pytest.raises(InputError, match=r"of a cosine of 0\.9000, but its two texts have 0\.7071"):
        check(why, Counting())
