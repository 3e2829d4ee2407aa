"""Comparisons of encoders and probes of layers: in a terminal, in a notebook and as a plot."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from search.lab.records.encoder_comparisons import (
    CosineShares,
    EncoderComparison,
    EncoderSetting,
    EncoderShare,
    NeighbourChange,
    QueryComparison,
    TextComparison,
    UnrelatedPairs,
)
from search.lab.records.probes import LayerProbes, LayerScore, ProbeTask
from search.records.contents import StoredPassage
from search.records.evaluations import Estimate
from search.render.notebook import meter
from tests.render.test_notebook import EVIL, Cells, needs

SETTINGS = EncoderSetting("tiny", "mean", "3", 3), EncoderSetting("other", "cls", "mean:2", 3, 2)
WORDS = (
    EncoderShare("key", "word", 0, 3, 0.25, 0.125),
    EncoderShare("door", "word", 4, 8, -0.125, 0.5),
    EncoderShare("[CLS] and [SEP]", "special", 0, 0, 0.125, 0.0625),
)
SHARES = CosineShares((0.25, 0.6875), WORDS)
PAIR = TextComparison(
    ("key door", "lock"),
    *SETTINGS,
    SHARES,
    (UnrelatedPairs(1000, 0.0625, 0.975), UnrelatedPairs(1000, 0.5, 0.75)),
)
LONG = replace(
    PAIR,
    shares=CosineShares(
        (1.0, 2.0), tuple(EncoderShare(f"w{i}", "word", 3 * i, 3 * i + 2, i / 64, 0.0) for i in range(64))
    ),
)


def passage(id_: int, path: str) -> StoredPassage:
    return StoredPassage(
        path="",
        document=path,
        text=f"text of {path}",
        start=0,
        end=9,
        line_start=1,
        line_end=1,
        passage_id=id_,
    )


ABOVE = CosineShares((-0.25, 0.5), (EncoderShare("key door", "word", 0, 8, -0.25, 0.5),))
MOVED = NeighbourChange(passage(1, "moved.md"), 9, 1)
QUERY = QueryComparison(
    "key door",
    None,
    0.5,
    0.25,
    (MOVED,),
    (NeighbourChange(passage(2, "lost.md"), 2, 7),),
    MOVED,
    SHARES,
    ABOVE,
)
COMPARISON = EncoderComparison(
    *SETTINGS,
    passages=10,
    total=20,
    k=2,
    overlap=Estimate(0.75, 0.5, 1.0),
    by_chance=0.2,
    correlation=Estimate(0.5, 0.25, 0.75),
    queries=(QUERY, replace(QUERY, query="lock", overlap=1.0, gained=(), lost=(), most_changed=None)),
)


def score(layer: int, accuracy: float, control: float, behind: float) -> LayerScore:
    return LayerScore(
        layer,
        Estimate(accuracy, accuracy - 0.0625, accuracy + 0.03125),
        Estimate(control, control, control),
        Estimate(behind, behind - 0.0625, behind + 0.0625),
    )


SPEECH = ProbeTask(
    name="pos.conll",
    unit="word",
    examples=2000,
    groups=300,
    classes=("NOUN", "VERB"),
    majority="NOUN",
    majority_accuracy=0.625,
    by_word=0.75,
    control="types",
    layers=(score(0, 0.75, 0.6875, 0.125), score(1, 0.875, 0.5, 0.0), score(2, 0.8125, 0.5, 0.0625)),
)
TENSE = replace(SPEECH, name="tense.csv", unit="text", by_word=None, control="shuffled", groups=100)
PROBES = LayerProbes("tiny", 5, 0, (SPEECH, TENSE))


def rows_of(record: Any) -> list[list[str]]:
    return Cells(record._repr_html_()).rows


def test_words_with_two_encoders_have_both_addends_and_the_largest_difference_first() -> None:
    lines = [line.split() for line in repr(PAIR).splitlines()]
    table = [line for line in lines if line[-1:] and line[-1][0] in "+-" and line[0] != "cosine"]
    numbers = [[cell for cell in line if cell[0] in "+-"] for line in table]
    assert [line[0] for line in table] == ["door", "key", "[CLS]", "sum"]
    assert numbers == [
        ["-0.1250", "+0.5000", "+0.6250"],
        ["+0.2500", "+0.1250", "-0.1250"],
        ["+0.1250", "+0.0625", "-0.0625"],
        ["+0.2500", "+0.6875", "+0.4375"],
    ]
    assert "0.2500; higher than 97.5 % of 1,000 unrelated pairs" in " ".join(repr(PAIR).split())
    assert "other, cls pooling, layer mean:2 (2 passages truncated)" in repr(PAIR)
    rows = rows_of(PAIR)
    assert [row[0] for row in rows] == ["word", "door", "key", "[CLS] and [SEP]", "sum"]
    assert [[row[1], row[3], row[5][:7]] for row in rows[1:]] == numbers
    assert "0.6875; higher than 75.0 % of 1,000 unrelated pairs" in PAIR._repr_html_()


def test_words_of_a_long_text_are_counted_together() -> None:
    rows = rows_of(LONG)
    assert len(rows) == 23
    assert [row[0] for row in rows[1:3]] == ["w63", "w62"] and rows[-2][0] == "rest"
    rest = sum(range(44)) / 64
    assert rows[-2][1] == f"{rest:+.4f}" and rows[-1][1] == f"{sum(range(64)) / 64:+.4f}"
    assert len(repr(LONG).splitlines()) <= 60


def test_the_passage_that_moves_most_has_the_words_of_the_query() -> None:
    drawn = repr(COMPARISON)
    assert "only A  rank 2 in A, 7 in B  lost.md:1" in drawn
    assert drawn.count("most moved") == 1
    below = drawn[drawn.index("most moved  rank 9 in A, 1 in B  moved.md:1") :].splitlines()
    assert below[1].strip() == "above the mean of all passages by -0.250 in A, +0.500 in B"
    cells = [line.split() for line in below[2:5]]
    assert cells[0] == ["word", "in", "A", "in", "B", "B", "-", "A"]
    assert cells[1] == ["key", "door", "-0.2500", "+0.5000", "+0.7500"]
    assert cells[2] == ["sum", "-0.2500", "+0.5000", "+0.7500"]
    rows = rows_of(COMPARISON)
    assert rows[0] == ["query", "in both", "", "correlation", "only in B", "only in A"]
    assert rows[1] == ["key door", "0.50", "", "0.25", "moved.md:1", "lost.md:1"]
    assert rows[3:] == [
        ["word", "in A", "", "in B", "", "B - A"],
        ["key door", "-0.2500", "", "+0.5000", "", "+0.7500"],
        ["sum", "-0.2500", "", "+0.5000", "", "+0.7500"],
    ]
    html = COMPARISON._repr_html_()
    assert "first 2: 0.75 in both; by chance 0.20" in html
    assert (
        "Most moved: moved.md:1, rank 9 in A, 1 in B; above the mean of all passages by -0.250 in A"
        in html
    )


def test_a_bar_of_a_notebook_may_have_a_sign() -> None:
    """The bar of a negative number has another colour, or is empty."""
    assert meter(-0.5, signed=True) != meter(0.5, signed=True) == meter(0.5)
    assert "width:60px" in meter(-0.5, signed=True)
    assert "width:0px" in meter(-0.5)


@needs("matplotlib")
def test_queries_of_a_comparison_are_bars() -> None:
    from matplotlib.figure import Figure

    axes = COMPARISON.plot(Figure().subplots())
    assert [bar.get_width() for bar in axes.patches] == [0.5, 1.0]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["key door", "lock"]


def test_accuracies_by_layer_are_listed_for_each_task() -> None:
    lines = [line.split() for line in repr(PROBES).splitlines()]
    layers = [line for line in lines if line and line[0].isdigit()]
    assert [line[0] for line in layers] == ["0", "1", "2"] * 2
    assert layers[0][:7] == ["0", "0.750", "0.688", "to", "0.781", "0.688", "+0.062"]
    drawn = " ".join(repr(PROBES).split())
    assert "pos.conll 2,000 words of 300 sentences, 2 labels" in drawn
    assert "word alone 0.750: its most frequent label in the other folds" in drawn
    assert "control a random label for each word form" in drawn
    assert "tense.csv 2,000 texts in 100 groups, 2 labels" in drawn and "control shuffled labels" in drawn
    assert drawn.count("majority 0.625: always 'NOUN'") == 2
    assert "Highest: layer 1, 0.875. Within chance of it: layer 2." in drawn
    alone = replace(SPEECH, layers=(SPEECH.layers[0], SPEECH.layers[1]))
    assert "All others are lower by more than chance." in repr(replace(PROBES, tasks=(alone,)))
    rows = rows_of(PROBES)
    assert rows[0] == ["layer", "accuracy", "", "95 % interval", "control", "selectivity"]
    assert rows[1] == ["0", "0.750", "", "0.688 to 0.781", "0.688", "+0.062"]
    assert len(rows) == 8
    assert "Within chance of it: layer 2." in PROBES._repr_html_()


def test_many_tasks_have_sixty_lines() -> None:
    layers = tuple(score(layer, 0.5, 0.25, 0.0) for layer in range(25))
    probes = replace(PROBES, tasks=(replace(SPEECH, layers=layers),) * 4)
    assert len(rows_of(probes)) <= 64
    assert len(repr(probes).splitlines()) == 60
    assert "11 further lines are left out." in probes._repr_html_()


@needs("matplotlib")
def test_layers_are_lines_with_a_band_and_a_dashed_majority() -> None:
    from matplotlib.figure import Figure

    axes = PROBES.plot(Figure().subplots())
    lines = {line.get_label(): line for line in axes.lines}
    accuracies = lines["pos.conll"]
    np.testing.assert_array_equal(accuracies.get_xdata(), [0, 1, 2])
    np.testing.assert_array_equal(accuracies.get_ydata(), [0.75, 0.875, 0.8125])
    assert lines["pos.conll: majority"].get_linestyle() == "--"
    assert set(lines["pos.conll: majority"].get_ydata()) == {0.625}
    np.testing.assert_array_equal(lines["pos.conll: control"].get_ydata(), [0.6875, 0.5, 0.5])
    assert "tense.csv: control" not in lines
    band = axes.collections[0].get_paths()[0].vertices
    assert (band[:, 1].min(), band[:, 1].max()) == (0.6875, 0.90625)
    assert accuracies.get_color() != lines["tense.csv"].get_color()


@needs("matplotlib")
def test_words_have_two_bars() -> None:
    from matplotlib.figure import Figure

    axes = PAIR.plot(Figure().subplots())
    first, second = ([bar.get_width() for bar in container] for container in axes.containers)
    assert (first, second) == ([-0.125, 0.25, 0.125], [0.5, 0.125, 0.0625])
    assert [label.get_text() for label in axes.get_yticklabels()] == ["door", "key", "[CLS] and [SEP]"]
    legend = [text.get_text() for text in axes.get_legend().get_texts()]
    assert legend[0] == "A: tiny, mean pooling, layer 3 of 3; cosine 0.250"
    assert len(LONG.plot(Figure().subplots()).get_yticklabels()) == 21


@needs("pandas")
def test_words_and_layers_are_tables_of_pandas() -> None:
    words = PAIR.to_pandas()
    assert words["word"].tolist() == [word.text for word in PAIR.shares.words]
    assert words["difference"].tolist() == (words["second"] - words["first"]).tolist()
    layers = PROBES.to_pandas()
    assert layers[layers["task"] == "pos.conll"]["accuracy"].tolist() == [0.75, 0.875, 0.8125]
    assert ((layers["low"] <= layers["accuracy"]) & (layers["accuracy"] <= layers["high"])).all()


def test_names_from_files_control_neither_page_nor_terminal() -> None:
    evil = replace(SETTINGS[0], model=EVIL)
    word = EncoderShare(EVIL, "word", 0, 3, 0.5, 0.25)
    for record in (
        replace(PAIR, texts=(EVIL, EVIL), first=evil, shares=CosineShares((0.5, 0.25), (word,))),
        replace(
            COMPARISON,
            first=evil,
            queries=(replace(QUERY, query=EVIL, above_mean=CosineShares((1, 1), (word,))),),
        ),
        replace(PROBES, model=EVIL, tasks=(replace(SPEECH, name=EVIL, majority=EVIL),)),
    ):
        html = record._repr_html_()
        assert "script" not in Cells(html).tags
        assert not {"\x1b", "\u202e"} & {*html, *repr(record)}
