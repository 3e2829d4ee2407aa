"""Every result of the laboratory has a table for a terminal, HTML for a notebook and a plot, with its numbers."""

from __future__ import annotations

import builtins
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest

from search import InputError, bert
from search.lab.records.lab_record import LabRecord
from search.lab.records.training import HeldOut
from search.lab.render.drawings import bars_of, grid_of
from tests.lab.bert.conftest import BIO, save_reader, save_tagger, save_tiny_head
from tests.lab.render.test_drawn_answers import ANSWERS, WITHOUT_ANSWER
from tests.render.test_notebook import EVIL, Cells, needs

TEXT = "turn the key in the lock"
LONG = " ".join(["turn", "the", "key", "in"] * 16)[
    : -len(" key in")
]  # 62 words: 64 tokens, which the model reads
GRIDS = ("inspect", "padded", "equal_rows", "label", "attention")
BARS = (
    "tokenize",
    "vocabulary",
    "work_through",
    "fill",
    "next",
    "tag",
    "answer",
    "parameters",
    "modules",
)
BY_ANSWER = {"answer": {"by": "answer"}}  # without it, the tokens of the best answer are drawn


def results(model: str, heads: Path, text: str) -> dict[str, LabRecord]:
    """Every result for a text, by the name of its function."""
    return {
        "inspect": bert.inspect(text, model=model),
        "tokenize": bert.tokenize(text, model=model),
        "attention": bert.inspect(text, model=model).attention,
        "contexts": bert.in_contexts("key", [text, "a key"], ["door"], model=model),
        "parameters": bert.parameters(model),
        "modules": bert.modules(model),
        "vocabulary": bert.vocabulary(model=model),
        "positions": bert.positions(40, model=model),
        "padded": bert.padded([text, "the door"], model=model),
        "work_through": bert.work_through(text, model=model, layer=1, head=2, token=1),
        "equal_rows": bert.equal_rows(text, text[5:], model=model),
        "fill": bert.fill(f"{text} [MASK]", model=str(heads / "fill"), k=3, labels=["key"]),
        "next": bert.next_sentence(text, "the door", model=str(heads / "next"), follows=True),
        "tag": bert.tag(text, model=str(heads / "tag")),
        "answer": bert.answer("what is open?", text, model=str(heads / "answer")),
        "label": bert.label([text, "no"] * (1 + len(text) // 40), model=str(heads / "label")),
    }


@pytest.fixture(scope="module")
def heads(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("heads")
    for task in ("fill", "next"):
        save_tiny_head(folder / task, task, positions=130)
    save_tagger(folder / "tag", BIO)
    save_reader(folder / "answer")
    save_tiny_head(folder / "label", "label", labels=("bad", "good", "neither"), positions=130)
    return folder


@pytest.fixture(scope="module")
def of_text(tiny_model: Path, heads: Path) -> dict[str, Any]:
    return results(str(tiny_model), heads, TEXT)


@pytest.fixture(scope="module")
def of_long_text(tiny_model: Path, heads: Path) -> dict[str, Any]:
    return results(str(tiny_model), heads, LONG)


def expected(of_text: dict[str, Any]) -> dict[str, list[str]]:
    """Numbers of each result, as its table in a terminal and in a notebook must have them."""
    look, work, batch = of_text["inspect"], of_text["work_through"], of_text["padded"]
    words = np.linalg.norm(look.embedding.parts["word"], axis=1)
    (mask,) = of_text["fill"].masks
    best = of_text["answer"].answers[0]
    return {
        "attention": [f"{weight:.2f}" for weight in of_text["attention"].matrix(3)[1]],
        "contexts": ["A ~ B", "A ~ door", "B ~ door"],  # its numbers: test_notebook_of_a_model.py
        "parameters": [f"{tensor.size:,}" for tensor in of_text["parameters"].values()],
        "modules": [module.kind for module in of_text["modules"].modules],
        "inspect": [*(f"{length:.3f}" for length in words), *(str(token.id) for token in look.tokens)],
        "tokenize": [str(token.id) for token in of_text["tokenize"].tokens],
        "vocabulary": [f"{of_text['vocabulary'].entries:,}", f"{of_text['vocabulary'].characters:,}"],
        "positions": [
            f"{np.diagonal(cosines, 4).mean():.3f}" for cosines in of_text["positions"].cosines
        ],
        "padded": [str(id_) for id_ in batch.ids.ravel()],
        "work_through": [f"{number:.4f}" for number in work.weights],
        "equal_rows": [f"{cosine:.2f}" for cosine in of_text["equal_rows"].cosines["word"][1:]],
        "fill": [f"{guess.probability:.4f}" for guess in (*mask.guesses, mask.label)],
        "next": [f"{of_text['next'].probability:.4f}", *(f"{x:.3f}" for x in of_text["next"].logits)],
        "tag": [f"{piece.score:.4f}" for word in of_text["tag"].words for piece in word.pieces],
        "answer": [f"{best.score:.3f}", f"{best.margin:+.2f}"],
        "label": [f"{max(text.scores):.2f}" for text in of_text["label"].texts],
    }


def numbers_in(text: str) -> str:
    return " ".join(text.replace("=", "1.00").split())


def test_a_terminal_and_a_notebook_have_the_numbers_of_every_result(of_text: dict[str, Any]) -> None:
    for name, numbers in expected(of_text).items():
        record = of_text[name]
        drawn = numbers_in(repr(record))
        cells = " ".join(cell for row in Cells(record._repr_html_()).rows for cell in row)
        for number in numbers:
            assert number in drawn, (name, number, drawn)
            assert number in cells, (name, number, cells)
        assert str(record) == repr(record) and "(" + "id=" not in drawn, name


@pytest.mark.parametrize(("right", "total"), [(0, 7), (7, 7), (1, 3), (71, 100), (5000, 9999)])
def test_the_interval_of_a_head_is_wilsons(right: int, total: int) -> None:
    expected = binomtest(right, total).proportion_ci(confidence_level=0.95, method="wilson")
    assert HeldOut(right, total, "texts").interval == pytest.approx(tuple(expected), abs=1e-7)


@pytest.mark.parametrize("name", ["fill", "next", "tag", "answer", "label"])
def test_a_terminal_and_a_notebook_say_how_often_a_head_is_right(
    of_text: dict[str, Any], name: str
) -> None:
    held_out = HeldOut(71, 100, "questions", small=True, unanswerable=33, refused=25)
    record = replace(of_text[name], held_out=held_out)
    sentence = (
        "Small head of make lab: right for 71 of 100 held-out questions (61 to 79 %); "
        "it refused 25 of 33 without an answer."
    )
    assert sentence in " ".join(repr(record).split())
    assert sentence in record._repr_html_()
    assert "held-out" not in repr(of_text[name]) + of_text[name]._repr_html_()


def test_no_result_is_longer_than_sixty_lines(of_long_text: dict[str, Any]) -> None:
    at_the_limit = 0
    for name, record in of_long_text.items():
        lines, rows = repr(record).splitlines(), Cells(record._repr_html_()).rows
        assert len(lines) <= 60 and len(rows) <= 60, (name, len(lines), len(rows))
        assert max(map(len, rows)) <= 61, name  # a name and 60 columns
        at_the_limit += len(lines) == 60
    assert at_the_limit > 3
    layers = repr(of_long_text["inspect"])
    assert "Hidden states" in layers and "\n    3 " in layers and "lines are left out" not in layers
    assert "… 13 lines are left out …" in repr(of_long_text["tokenize"])
    html = of_long_text["work_through"]._repr_html_()
    assert f"{len(of_long_text['work_through'].tokens) - 59} further lines are left out." in html
    assert "The first of 2 rows x" in of_long_text["padded"]._repr_html_()


@needs("matplotlib")
def test_matrices_and_bars_of_results_are_plotted(of_text: dict[str, Any]) -> None:
    from matplotlib.figure import Figure

    look, labels, batch = of_text["inspect"], of_text["label"], of_text["padded"]
    unit = look.states / np.linalg.norm(look.states, axis=2, keepdims=True)
    cells = {
        "inspect": (unit[1:] * unit[:-1]).sum(axis=2),
        "padded": batch.mask,
        "equal_rows": np.array([*of_text["equal_rows"].cosines.values()]).T,
        "label": [text.scores for text in labels.texts],
        "attention": of_text["attention"].matrix(3),
    }
    for name in GRIDS:
        axes = Figure().subplots()
        assert of_text[name].plot(axes) is axes
        np.testing.assert_allclose(axes.collections[0].get_array(), cells[name], atol=1e-6)
    drawn = [text.get_text() for text in batch.plot(Figure().subplots()).texts]
    assert drawn == [piece for row in batch.tokens for piece in row]
    lengths = {
        "tokenize": [len(word.tokens) for word in of_text["tokenize"].words],
        "work_through": of_text["work_through"].weights,
        "next": [of_text["next"].probability, 1 - of_text["next"].probability],
        "tag": [word.score for word in of_text["tag"].words],
        "answer": [answer.score for answer in of_text["answer"].answers],
        "fill": [guess.probability for guess in of_text["fill"].masks[0].guesses],
        "vocabulary": [of_text["vocabulary"].entries],
        "parameters": [
            of_text["parameters"]["embeddings.word_embeddings.weight"].size,
            of_text["parameters"]["embeddings.position_embeddings.weight"].size,
        ],
        "modules": [
            module.numbers for module in of_text["modules"].modules if module.is_leaf and module.numbers
        ],
    }
    for name in BARS:
        axes = of_text[name].plot(Figure().subplots(), **BY_ANSWER.get(name, {}))
        widths = [bar.get_width() for bar in axes.patches]
        np.testing.assert_allclose(widths[: len(lengths[name])], lengths[name])
        assert [label.get_text() for label in axes.get_yticklabels()] == list(
            bars_of(of_text[name]).names
        )
    assert set(of_text) == {*GRIDS, *BARS, "positions", "contexts"}


@needs("matplotlib")
def test_positions_are_plotted_as_vectors_or_cosines(of_text: dict[str, Any]) -> None:
    from matplotlib.figure import Figure

    rows = of_text["positions"]
    for source, cosines, vectors in zip(
        ("learned", "formula"), rows.cosines, (rows.learned, rows.formula), strict=True
    ):
        for matrix, numbers in (("cosines", cosines), ("vectors", vectors)):
            axes = rows.plot(Figure().subplots(), source=source, matrix=matrix)
            np.testing.assert_array_equal(axes.images[0].get_array(), numbers)
    assert rows.plot().get_title().startswith("Cosines learned by ")


@needs("matplotlib")
def test_long_bars_are_cut_and_say_so(of_long_text: dict[str, Any]) -> None:
    axes = of_long_text["work_through"].plot()
    n = len(of_long_text["work_through"].tokens)
    assert len(axes.patches) == 60 and f"(the first 60 of {n})" in axes.get_title(loc="left")


@needs("matplotlib")
def test_a_question_without_an_answer_has_the_nearest_span() -> None:
    html = WITHOUT_ANSWER._repr_html_()
    assert "No answer: no span of 4 passages scores higher" in html and "+2.50" in html
    axes = WITHOUT_ANSWER.plot(by="answer")
    assert "No answer" in axes.get_title(loc="left")
    assert [bar.get_width() for bar in axes.patches] == [pytest.approx(0.924, abs=1e-3)]
    title = WITHOUT_ANSWER.plot().get_title(loc="left")
    assert title == "Closest candidate: in the water" != ANSWERS.plot().get_title(loc="left")
    empty = replace(WITHOUT_ANSWER, nearest=None)
    assert Cells(empty._repr_html_()).rows == [] and "there are no passages to read" in repr(empty)
    assert len(empty.plot(by="answer").patches) == 0
    with pytest.raises(InputError, match="no passage was read"):
        empty.plot()


@needs("matplotlib")
def test_the_logits_of_an_answer_are_bars_over_the_tokens_of_its_passage(
    of_text: dict[str, Any],
) -> None:
    from matplotlib.figure import Figure

    reply = of_text["answer"]
    for rank in range(1, len(reply.answers) + 1):
        best = reply.answers[rank - 1]
        window, axes = best.window, reply.plot(Figure().subplots(), rank=rank)
        labels = [label.get_text() for label in axes.get_xticklabels()]
        assert labels == [window.tokens[i] for i in window.candidates]
        *_, span = (patch for patch in axes.patches if patch.get_zorder() == 0)
        inside = [i for i in range(len(labels)) if span.get_x() < i < span.get_x() + span.get_width()]
        assert [labels[i] for i in inside] == list(window.tokens[best.first : best.last + 1])
        bars = [patch for patch in axes.patches if patch.get_zorder() > 0]
        heights = [bar.get_height() for bar in bars]
        ends, starts = (
            row[window.candidates] for row in (window.end_probabilities, window.start_probabilities)
        )
        longest = max(*ends, *starts)
        np.testing.assert_allclose(heights, [*ends / longest, *starts / longest])
        texts = [text.get_text() for text in axes.texts]
        assert texts == [f"{row.max():.4f}" for row in (ends, starts)] or rank > 1
    for options, problem in (
        ({"rank": 99}, "no answer of rank 99"),
        ({"rank": 0}, "no answer of rank 0"),
        ({"by": "word"}, "by is 'word'. Choose one of: 'token', 'answer'"),
    ):
        with pytest.raises(InputError, match=problem):
            reply.plot(**options)


@needs("matplotlib")
def test_a_long_passage_is_drawn_around_the_answer(heads: Path) -> None:
    from matplotlib.figure import Figure

    reply = bert.answer("what is open?", f"{LONG} {LONG}", model=str(heads / "answer"), answers=9)
    assert len({answer.first for answer in reply.answers}) > 1
    for rank, best in enumerate(reply.answers, 1):
        axes, tokens = reply.plot(Figure().subplots(), rank=rank), best.window.candidates[1:]
        labels = [label.get_text() for label in axes.get_xticklabels()]
        assert len(tokens) > 60 and len([label for label in labels if label != "…"]) == 61
        begin = labels[1] == "…"
        drawn = [i for i in range(len(tokens) - 59) if [best.window.tokens[n] for n in tokens[i : i + 60]]
                 == labels[1 + begin : 61 + begin]]  # fmt: skip
        assert any(tokens[i] <= best.first <= best.last <= tokens[i + 59] for i in drawn)


@needs("pandas")
def test_every_result_becomes_a_data_frame(of_text: dict[str, Any]) -> None:
    look, batch, work = of_text["inspect"], of_text["padded"], of_text["work_through"]
    tables = {name: record.to_pandas() for name, record in of_text.items()}
    assert all(map(len, tables.values()))
    assert tables["tokenize"]["id"].tolist() == [token.id for token in look.tokens]
    lengths = np.linalg.norm(look.states, axis=2)
    np.testing.assert_allclose(tables["inspect"]["|layer 3|"], lengths[3], rtol=1e-6)
    np.testing.assert_allclose(tables["inspect"]["|LayerNorm|"], lengths[0], rtol=1e-6)
    assert tables["padded"]["id"].tolist() == batch.ids.ravel().tolist()
    assert tables["padded"]["mask"].tolist() == batch.mask.ravel().tolist()
    np.testing.assert_array_equal(tables["work_through"]["softmax"], work.weights)
    np.testing.assert_array_equal(tables["positions"], of_text["positions"].cosines[0])
    formula = of_text["positions"].to_pandas(source="formula", matrix="vectors")
    np.testing.assert_array_equal(formula, of_text["positions"].formula)
    np.testing.assert_array_equal(
        tables["equal_rows"]["layer 2"], of_text["equal_rows"].cosines["layer 2"]
    )
    assert tables["vocabulary"].loc["all", "entries"] == of_text["vocabulary"].entries
    guesses = of_text["fill"].masks[0].guesses
    assert tables["fill"]["logit"].tolist()[:3] == [guess.logit for guess in guesses]
    assert tables["next"]["logit"].tolist() == list(of_text["next"].logits)
    assert tables["next"]["probability"].sum() == pytest.approx(1)
    assert tables["label"].to_numpy().tolist() == [list(text.scores) for text in of_text["label"].texts]
    pieces = [piece for word in of_text["tag"].words for piece in word.pieces]
    assert tables["tag"]["score"].tolist() == [piece.score for piece in pieces]
    firsts = tables["tag"][tables["tag"]["first"]]
    assert firsts["word"].tolist() == [word.text for word in of_text["tag"].words]
    best = of_text["answer"].answers[0]
    assert tables["answer"]["start_logit"].tolist() == best.window.start_logits.tolist()
    inside = tables["answer"][tables["answer"]["answer"]]
    assert inside.index.tolist() == list(range(best.first, best.last + 1))
    assert tables["answer"]["end_probability"][tables["answer"]["candidate"]].sum() == pytest.approx(1)
    by_answer = of_text["answer"].to_pandas(by="answer")
    assert by_answer["score"].tolist() == [answer.score for answer in of_text["answer"].answers]
    tensors = of_text["parameters"]
    assert tables["parameters"]["numbers"].sum() == tensors.numbers
    assert list(tables["parameters"].index) == list(tensors)
    leaves = tables["modules"][tables["modules"]["is_leaf"]]
    assert leaves["numbers"].sum() == tensors.numbers


def test_no_text_of_a_result_becomes_markup(of_text: dict[str, Any]) -> None:
    piece = replace(of_text["tag"].words[0].pieces[0], text=EVIL, label=EVIL)
    word = replace(of_text["tag"].words[0], text=EVIL, label=EVIL, pieces=(piece,))
    module = replace(of_text["modules"].modules[0], kind=EVIL, settings=EVIL)
    tensors = replace(of_text["parameters"], model=EVIL, tensors={EVIL: np.ones((2, 2))})
    text = replace(of_text["label"].texts[0], text=EVIL)
    token = replace(of_text["inspect"].tokens[1], text=EVIL)
    inspection = of_text["inspect"]
    for record in (
        ANSWERS,
        replace(of_text["tag"], text=EVIL, words=(word,), model=EVIL),
        replace(of_text["label"], texts=(text,), classes=(EVIL,) * 3, classifier=EVIL),
        replace(of_text["next"], first=EVIL, second=EVIL, model=EVIL),
        replace(of_text["fill"], text=EVIL, model=EVIL),
        replace(of_text["tokenize"], texts=(EVIL,), tokens=(token,), words=()),
        replace(inspection, texts=(EVIL,), tokens=(token, *inspection.tokens[1:])),
        replace(of_text["padded"], texts=(EVIL, EVIL), model=EVIL),
        replace(of_text["equal_rows"], texts=(EVIL, EVIL), model=EVIL),
        replace(of_text["vocabulary"], model=EVIL),
        tensors,
        replace(of_text["modules"], model=EVIL, modules=(module,), text=EVIL),
    ):
        html = record._repr_html_()
        assert "script" not in Cells(html).tags
        assert not {"\x1b", "\u202e"} & {*html, *repr(record)}


@needs("pandas")
def test_decoded_entries_have_tables_and_no_plot(tiny_model: Path) -> None:
    decoding = bert.decode([2, 5, 6], model=str(tiny_model))
    rows = [[str(entry.id), entry.piece, entry.word] for entry in decoding.entries]
    assert Cells(decoding._repr_html_()).rows[1:] == rows
    assert decoding.to_pandas()["piece"].tolist() == [row[1] for row in rows]
    assert f"reads as: {decoding.text}" in repr(decoding) and not hasattr(decoding, "plot")


def test_other_records_are_neither_matrix_nor_bars() -> None:
    with pytest.raises(TypeError, match="int is no matrix"):
        grid_of(1)
    with pytest.raises(TypeError, match="int has no bars"):
        bars_of(1)


def test_a_kernel_gets_the_table_as_text(
    of_text: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kernel displays what rich prints there, unless rich is told that it writes to a file."""

    class ZMQInteractiveShell:
        pass

    text = repr(of_text["vocabulary"])
    monkeypatch.setattr(builtins, "get_ipython", ZMQInteractiveShell, raising=False)
    assert repr(of_text["vocabulary"]) == text
