"""Lines of a picture, matrices in a terminal, and CSV: sums, places, what is left out."""

import csv as standard_csv
import io
from dataclasses import replace
from typing import Literal

import numpy as np
import pytest

from search.records.comparisons import Similarities
from search.records.explanations import Explanation, Term
from search.render import csv, heatmap
from search.render.format import letters
from search.render.scale import COSINES, Ends
from search.render.units import largest_addend, left_out, part, units, word_lines
from tests.explaining.test_explanation import by_hand
from tests.render.test_render import HIT


def sentences(n: int = 3) -> Similarities:
    cosines = np.array([[1, 0.5, -0.25], [0.5, 1, 0.75], [-0.25, 0.75, 1]], dtype=np.float32)
    if n != 3:
        cosines = np.eye(n, dtype=np.float32)
    texts = tuple(f"sentence {i}" for i in range(n))
    return Similarities(texts, texts, cosines, True, "a-model", "mean")


def test_units_are_words_and_then_what_is_none() -> None:
    drawn = units(by_hand())
    assert [(unit.label, unit.kind) for unit in drawn.query] == [
        ("Keys", "word"),
        ("[CLS] and [SEP]", "special"),
    ]
    assert [unit.label for unit in drawn.passage] == ["Door", "lock", "Key", "punctuation", "[CLS] and [SEP]"]
    # Rows 1 and 2 of the tokens are "Keys"; columns 0 and 5 are the special tokens.
    assert (drawn.contributions[0] * 276).round().tolist() == [20, 22, 26, 24, 18 + 28]
    assert (drawn.contributions[1] * 276).round().tolist() == [20, 22, 26, 24, 0 + 5 + 18 + 23]
    assert drawn.contributions.sum() == pytest.approx(1.0)
    assert (drawn.similarity[0] * 24).round().tolist() == [13, 14, 16, 15, 17]
    assert word_lines(drawn) == (1, 3)
    assert largest_addend(drawn) == pytest.approx(26 / 276)  # Keys and Key; no sum of several


def test_units_by_token_are_the_tokens() -> None:
    drawn = units(by_hand(), "token")
    assert [unit.label for unit in drawn.query] == ["[CLS]", "key", "##s", "[SEP]"]
    assert [unit.kind for unit in drawn.passage][:4] == ["special", "context", "word", "punctuation"]
    np.testing.assert_array_equal(drawn.contributions, by_hand().contributions)
    assert word_lines(drawn) == (4, 6)


def test_units_are_weighted_as_in_the_score() -> None:
    assert units(replace(by_hand(), weight=0.5)).contributions.sum() == pytest.approx(0.5)


def test_the_part_that_matters_and_what_is_left_out_add_up() -> None:
    drawn = units(by_hand(), "token")
    shown = part(drawn, 2, 3)
    assert [unit.label for unit in shown.query] == ["##s", "[SEP]"]  # the largest sums, in order
    assert [unit.label for unit in shown.passage] == [",", "key", "[SEP]"]
    assert (shown.left, shown.total) == ((2, 3), pytest.approx(1.0))
    assert shown.query_added[0] == pytest.approx(sum(range(12, 18)) / 276)  # with columns that are not shown
    assert left_out(shown) == (
        "Lines left out: 2 of the query, which added +0.2391 in all; 3 of the passage, which added +0.4348 in all."
    )
    assert left_out(part(drawn, 4, 6)) == ""


@pytest.mark.parametrize(("by", "kept"), [("token", ["1:key", "2:##s"]), ("word", ["1:Keys"])])
def test_special_tokens_can_be_left_out(by: Literal["token", "word"], kept: list[str]) -> None:
    whole, drawn = units(by_hand(), by), units(by_hand(), by, special=False)
    assert [unit.numbered for unit in drawn.query] == kept
    assert not any("[" in unit.label for unit in drawn.passage)
    assert (
        drawn.query_added.tolist() == whole.query_added[[u.kind != "special" for u in whole.query]].tolist()
    )
    assert drawn.total == whole.total
    rest = 1 - sum(range(6, 18)) / 276
    assert f"{drawn.left[0]} of the query, which added {rest:+.4f} in all" in left_out(drawn)
    nothing = replace(
        by_hand(),
        query_tokens=by_hand().query_tokens[::3],
        similarity=np.eye(2, 6),
        contributions=np.eye(2, 6),
    )
    assert len(units(nothing, "token", special=False).query) == 2  # else there was no row


def test_a_large_negative_sum_is_kept() -> None:
    why = by_hand()
    drawn = units(replace(why, contributions=why.contributions * np.array([-10, 1, 1, 1])[:, None]), "token")
    assert [unit.label for unit in part(drawn, 1, 6).query] == ["[CLS]"]


def test_sentences_in_a_terminal() -> None:
    drawn = heatmap.sentences(sentences(), width=80)
    assert drawn.split("\n") == [
        "1  sentence 0",
        "2  sentence 1",
        "3  sentence 2",
        "",
        "       1      2      3",
        "1 ██1.00 ░░0.50 ·-0.25",
        "2 ░░0.50 ██1.00 ▓▓0.75",
        "3 ·-0.25 ▓▓0.75 ██1.00",
        "",
        "Closest pairs",
        "  0.750  2 ~ 3",
        "  0.500  1 ~ 2",
        "  -0.250  1 ~ 3",
        "  (3 x 3 cosines, mean pooling, a-model)",
    ]
    assert "\x1b[" in heatmap.sentences(sentences(), colour=True)


def test_other_sentences_have_letters() -> None:
    found = Similarities(("a",), ("x", "y"), np.array([[0.1, 0.9]], dtype=np.float32), False, "m", "mean")
    drawn = heatmap.sentences(found)
    assert "A  x\nB  y" in drawn
    assert "0.900  1 ~ B" in drawn
    assert [letters(i) for i in (0, 25, 26, 701, 702)] == ["A", "Z", "AA", "ZZ", "AAA"]


@pytest.mark.parametrize(("n", "width"), [(3, 40), (12, 40), (25, 80), (60, 100)])
def test_a_matrix_keeps_to_the_width(n: int, width: int) -> None:
    drawn = heatmap.sentences(sentences(n), width=width)
    assert max(map(len, drawn.split("\n"))) <= width
    assert drawn.count("█") == 2 * n
    shown = heatmap.matrices(by_hand(), units(by_hand(), "token"), width=width)
    assert max(map(len, shown.split("\n"))) <= width


def test_a_matrix_too_large_for_a_terminal_says_so() -> None:
    drawn = heatmap.sentences(sentences(61))
    assert "61 x 61 cosines are too many" in drawn
    assert drawn.count(" ~ ") == 20


def test_pairs_in_a_terminal() -> None:
    drawn = heatmap.matrices(by_hand(), units(by_hand(), "token"))
    assert "cosine 1.250000 = 1.000000 (all 24 pairs of tokens) + 2.5e-01 (residual)" in drawn
    assert "(mean pooling)" in drawn
    lines = drawn.split("\n")
    (first, second) = (i for i, line in enumerate(lines) if line.split()[:2] == ["[CLS]", "door"])
    assert lines[first].split() == ["[CLS]", "door", "lock", ",", "key", "[SEP]", "sum"]
    assert lines[first + 4].split()[-1] == "445.7"  # 18 + ... + 23 of 276, in thousandths
    assert "0.96" in lines[second + 4]
    assert "layer 3" in drawn
    assert "(4 x 6 tokens.)" in drawn


def test_one_matrix_of_a_hit() -> None:
    why = replace(by_hand(), weight=0.5, terms=(Term("key", 0.25),), n_layers=6, steps=32, pooling="pooler")
    drawn = heatmap.matrices(why, units(why, "token"), HIT, contributions=False)
    assert drawn.startswith("query    Keys\npassage  /notes/keys.md:3-5")
    assert "Cosines of token vectors at layer 3 of 6, the middle one, which is the default" in drawn
    assert "Contributions" not in drawn
    drawn = heatmap.matrices(why, units(why, "token", special=False), HIT, cosines=False)
    assert "score 1.250000 = 0.500000 (all 24 pairs of tokens) + 0.250000 (words and others)" in drawn
    assert "integrated gradients in 32 steps" in drawn
    assert "Cosines" not in drawn
    assert "(2 x 4 tokens. Lines left out: 2 of the query" in drawn


def test_every_token_of_a_long_passage_is_in_a_block() -> None:
    passage = tuple(replace(by_hand().passage_tokens[2], text=f"w{i}") for i in range(99))
    cells = np.arange(396).reshape(4, 99) / 396
    why = replace(by_hand(), passage_tokens=passage, similarity=cells, contributions=cells)
    drawn = heatmap.matrices(why, units(why, "token"), contributions=False, width=60)
    assert [word for word in drawn.split() if word.startswith("w")] == [f"w{i}" for i in range(99)]
    assert drawn.count(" key ") == len(range(0, 99, 7))


@pytest.mark.parametrize(
    ("ends", "shares"),
    [
        (COSINES, [-1, -0.5, 0, 0.4, 1]),
        (Ends(0, 0.8), [0, 0, 0, 0.5, 1]),
        (Ends(0.2, 0.6), [0, 0, 0, 0.5, 1]),
        (Ends(-0.25, 0.5), [-1, -1, 0, 0.8, 1]),
    ],
)
def test_a_scale_ends_where_it_is_said_to(ends: Ends, shares: list[float]) -> None:
    with pytest.raises(ValueError, match="colours from"):
        Ends(ends.high, ends.low)
    values = np.array([-1, -0.5, 0, 0.4, 1])
    np.testing.assert_allclose(ends.share(values), shares)
    assert [float(ends.share(value)) for value in values] == pytest.approx(shares)
    assert heatmap.sentences(sentences(), ends=Ends(0.5, 1)).count("█") == 6  # the diagonal
    assert " 0.50" in heatmap.sentences(sentences(), ends=Ends(0.5, 1))


def test_nothing_raw_reaches_the_terminal() -> None:
    evil = "\x1b[31mred\x07 \u202e"
    found = Similarities((evil, evil), (evil, evil), np.eye(2, dtype=np.float32), True, evil, "mean")
    why = replace(by_hand(), query=evil, passage=evil)
    for drawn in (
        heatmap.sentences(found),
        heatmap.matrices(why, units(why)),
        csv.sentences(found),
    ):
        assert not {"\x1b", "\x07", "\u202e"} & set(drawn)
        assert "\\x1b[31mred" in drawn


def rows(text: str) -> list[list[str]]:
    return list(standard_csv.reader(io.StringIO(text)))


def test_csv_of_sentences() -> None:
    found = replace(sentences(), rows=('a "quoted", one', "b", "c"))
    (head, first, *_) = rows(csv.sentences(found))
    assert head == ["", "sentence 0", "sentence 1", "sentence 2"]
    assert first == ['a "quoted", one', "1", "0.5", "-0.25"]


def test_csv_of_two_texts() -> None:
    why: Explanation = by_hand()
    head, *lines = rows(csv.matrix(units(why, "token")))
    assert head == ["", "0:[CLS]", "1:door", "2:lock", "3:,", "4:key", "5:[SEP]"]
    assert [line[0] for line in lines] == ["0:[CLS]", "1:key", "2:##s", "3:[SEP]"]
    np.testing.assert_allclose(np.array([line[1:] for line in lines], dtype=float), why.similarity, atol=1e-6)
    _, *lines = rows(csv.matrix(units(why, "token"), contributions=True))
    assert sum(float(cell) for line in lines for cell in line[1:]) == pytest.approx(1.0)
