"""Lines of a picture, matrices in a terminal, and CSV: sums, places, what is left out."""

import csv as standard_csv
import io
from dataclasses import replace

import numpy as np
import pytest

from search.records.comparisons import Similarities
from search.records.explanations import Explanation
from search.render import csv, heatmap
from search.render.format import letters
from search.render.units import largest_addend, left_out, part, units, word_lines
from tests.explaining.test_explanation import by_hand


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
    assert [unit.label for unit in shown.units.query] == ["##s", "[SEP]"]  # the largest sums, in order
    assert [unit.label for unit in shown.units.passage] == [",", "key", "[SEP]"]
    assert shown.query_added.sum() + shown.left_query[1] == pytest.approx(1.0)
    assert shown.passage_added.sum() + shown.left_passage[1] == pytest.approx(1.0)
    assert shown.query_added[0] == pytest.approx(sum(range(12, 18)) / 276)  # with columns that are not shown
    assert left_out(shown) == (
        "Lines left out: 2 of the query, which added +0.2391 in all; 3 of the passage, which added +0.4348 in all."
    )
    assert left_out(part(drawn, 4, 6)) == ""


def test_a_large_negative_sum_is_kept() -> None:
    why = by_hand()
    drawn = units(replace(why, contributions=why.contributions * np.array([-10, 1, 1, 1])[:, None]), "token")
    assert [unit.label for unit in part(drawn, 1, 6).units.query] == ["[CLS]"]


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
    shown = heatmap.pairs(by_hand(), units(by_hand(), "token"), width=width)
    assert max(map(len, shown.split("\n"))) <= width


def test_a_matrix_too_large_for_a_terminal_says_so() -> None:
    drawn = heatmap.sentences(sentences(61))
    assert "61 x 61 cosines are too many" in drawn
    assert drawn.count(" ~ ") == 20


def test_pairs_in_a_terminal() -> None:
    drawn = heatmap.pairs(by_hand(), units(by_hand(), "token"))
    assert "cosine 1.250000 = 1.000000 (the cells of the first matrix) + 2.5e-01 (residual)" in drawn
    lines = drawn.split("\n")
    (first, second) = (i for i, line in enumerate(lines) if line.split()[:2] == ["[CLS]", "door"])
    assert lines[first].split() == ["[CLS]", "door", "lock", ",", "key", "[SEP]", "sum"]
    assert lines[first + 4].split()[-1] == "445.7"  # 18 + ... + 23 of 276, in thousandths
    assert "0.96" in lines[second + 4]
    assert "layer 3" in drawn


def test_nothing_raw_reaches_the_terminal() -> None:
    evil = "\x1b[31mred\x07 \u202e"
    found = Similarities((evil, evil), (evil, evil), np.eye(2, dtype=np.float32), True, evil, "mean")
    why = replace(by_hand(), query=evil, passage=evil)
    for drawn in (heatmap.sentences(found), heatmap.pairs(why, units(why)), csv.sentences(found)):
        assert not {"\x1b", "\x07", "\u202e"} & set(drawn)
        assert "\\x1b[31mred" in drawn


def rows(text: str) -> list[list[str]]:
    return list(standard_csv.reader(io.StringIO(text)))


def test_csv_of_sentences() -> None:
    found = replace(sentences(), rows=('a "quoted", one', "b", "c"))
    (head, first, *_) = rows(csv.sentences(found))
    assert head == ["", "sentence 0", "sentence 1", "sentence 2"]
    assert first == ['a "quoted", one', "1", "0.5", "-0.25"]


def test_csv_of_pairs() -> None:
    why: Explanation = by_hand()
    head, *cells = rows(csv.pairs(units(why, "token")))
    assert head == ["row", "column", "first", "second", "contribution", "cosine"]
    assert len(cells) == 24
    assert cells[8] == ["2", "3", "key", "lock", f"{8 / 276:.7g}", f"{np.float32(8) / np.float32(24):.7g}"]
    assert sum(float(cell[4]) for cell in cells) == pytest.approx(1.0)
