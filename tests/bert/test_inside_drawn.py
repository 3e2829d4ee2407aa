"""How a look inside is drawn: terminal, JSON, PNG, page; and that no text does anything there."""

import json
import re
from dataclasses import replace
from importlib import util
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from search.bert import attention, in_contexts, inspect
from search.records.attention import Attention, View
from search.records.contexts import ContextualCosines
from search.records.inspections import Inspection
from search.render import heatmap as drawing
from search.render import inspection as tables
from search.render import page
from search.render.contexts import contexts as draw_contexts
from search.render.inspection import state_rows, turned_rows
from search.render.page.matrices import encoded
from tests.bert.test_attention import by_hand
from tests.render.test_page import Parsed, data_of

EVIL = "<script>a()</script> <img src=x onerror=b()> שלום 🎉 \x1b[31m\x00 \u202e&amp; keys"
drawing_png = pytest.mark.skipif(
    util.find_spec("matplotlib") is None, reason="the extra 'pictures' is not installed"
)


@pytest.fixture(scope="module")
def looked(tiny_model: Path) -> Inspection:
    return inspect("Turn the keys ☃", "a door", model=str(tiny_model))


@pytest.fixture(scope="module")
def evil(tiny_model: Path) -> tuple[Attention, Inspection, ContextualCosines]:
    model = str(tiny_model)
    hostile = replace(
        inspect(EVIL[:21], EVIL[45:], model=model), model=replace(inspect("a", model=model).model, name=EVIL)
    )
    weights = replace(attention(EVIL[:21], EVIL[45:], model=model), model=EVIL)
    tokens = tuple(replace(token, text=f"{token.text}{EVIL}") for token in hostile.tokens)
    return (
        replace(weights, tokens=tokens),
        replace(hostile, tokens=tokens),
        replace(
            in_contexts("keys", [EVIL[45:], "keys"], ["a <b>", "x"], model=model),
            model=EVIL,
            against=(EVIL, "x"),
        ),
    )


def test_an_inspection_in_the_terminal(looked: Inspection) -> None:
    drawn = tables.inspection(looked, width=100)
    lines = [" ".join(line.split()) for line in drawn.splitlines()]
    assert "Tokens: 10, 3 of them special" in lines
    key = looked.tokens[3]
    assert f"3 key {key.id} 9-12 2 0 1" in lines
    assert any(line.startswith("8 door ") and line.endswith(" 2-6 1 1 1") for line in lines)
    assert "keys is no entry: key ##s" in lines
    assert "unknown words: ☃" in lines
    assert "Embedding layer: word + position + segment, then LayerNorm" in lines
    word = np.linalg.norm(looked.embedding.words[3])
    assert any(line.startswith(f"3 key {word:.3f} ") for line in lines)
    assert "Hidden states: 4 x 10 tokens x 32 dimensions" in lines
    first = np.linalg.norm(looked.states[0].astype(float), axis=1)
    assert any(line.startswith(f"0 {first[0]:.3f} {first.mean():.3f} ") for line in lines)
    assert "Pooler: tanh(W [CLS] + b)" in lines
    assert f"{looked.model.parameters:,} in {looked.model.tensors} tensors" in drawn
    assert "400 x 32" in drawn
    assert "There is none: reasons." in tables.inspection(replace(looked, pooler=None, no_pooler="reasons"))
    assert "\x1b[" in tables.inspection(looked, colour=True)


def test_cosines_of_states_by_hand(looked: Inspection) -> None:
    states = np.array([[[1, 0], [0, 1], [1, 1]], [[2, 0], [3, 0], [0, 1]]], dtype=np.float32)
    rows = state_rows(replace(looked, states=states))
    root = 1 / np.sqrt(2)
    assert rows[0][1:3] == pytest.approx((1, (2 + np.sqrt(2)) / 3))
    assert rows[0][3] is None
    assert rows[0][4] == pytest.approx((0 + root + root) / 3)
    assert rows[1][3] == pytest.approx((1 + 0 + root) / 3)
    assert rows[1][4] == pytest.approx((1 + 0 + 0) / 3)
    turned = turned_rows(replace(looked, states=states))
    assert turned == [[pytest.approx(1)], [pytest.approx(0)], [pytest.approx(root)]]


def test_json_of_an_inspection(looked: Inspection) -> None:
    found = json.loads(tables.as_json(looked))
    assert [token["id"] for token in found["tokens"]] == [token.id for token in looked.tokens]
    assert found["embedding"]["difference"] < 1e-6
    assert found["pooler"]["difference"] < 1e-6
    assert found["model"]["parameters"] == looked.model.parameters
    assert len(found["states"]) == 4
    assert np.shape(found["cosines_to_layer_before"]) == (10, 3)
    assert "hidden_states" not in found
    whole = json.loads(tables.as_json(looked, vectors=True))
    np.testing.assert_allclose(whole["hidden_states"], looked.states, atol=1e-7)
    np.testing.assert_allclose(whole["embedding"]["sum"], looked.embedding.total)


def test_json_of_attention() -> None:
    assert np.shape(json.loads(drawing.attention_json(by_hand()))["weights"]) == (2, 2, 2, 2)
    one = json.loads(drawing.attention_json(by_hand(), View(1, 2)))
    assert (one["layer"], one["head"], one["rollout"]) == (1, 2, False)
    np.testing.assert_allclose(one["weights"], [[0.8, 0.2], [0.1, 0.9]], atol=1e-6)
    np.testing.assert_allclose(
        json.loads(drawing.attention_json(by_hand(), View(rollout=True)))["weights"][0],
        [0.625, 0.375],
        atol=1e-6,
    )


def test_attention_in_the_terminal() -> None:
    drawn = drawing.attention(by_hand(), View(1, 2))
    lines = [" ".join(line.split()) for line in drawn.splitlines()]
    assert lines[0] == "Attention in layer 1, head 2"
    assert re.search(r"0 a +[░▒▓█]+0.80 +[·░]*0.20", drawn)
    assert (
        "Every row sums to 1" in drawn
        and "Jain & Wallace 2019" in drawn
        and "Wiegreffe & Pinter 2019" in drawn
    )
    assert drawing.attention(by_hand(), View(1)).startswith("Attention in layer 1, mean of 2 heads")
    assert drawing.attention(by_hand(), View(rollout=True)).startswith("Attention rollout, layers 1 to 2")
    assert "--png and --html draw them all; --layer, --head and --rollout show some" in drawing.attention(
        by_hand()
    )


def test_too_many_tokens_for_a_terminal_are_said(tiny_model: Path) -> None:
    found = attention("key " * 60, model=str(tiny_model))
    assert "62 tokens are too many to draw here; --html, --png and --json have them all" in drawing.attention(
        found, View(1)
    )


def test_contexts_in_the_terminal(tiny_model: Path) -> None:
    found = in_contexts("key", ["turn the key", "key  and key"], ["lock"], model=str(tiny_model))
    drawn = draw_contexts(found)
    assert "A  turn the key\nB  key and key" in drawn
    assert "layer   A ~ B  A ~ lock  B ~ lock" in drawn
    assert f"3  {found.between[3, 0, 1]:.4f}    {found.others[3, 0, 0]:.4f}" in drawn
    assert "more than once (B), the first is taken" in " ".join(drawn.split())


@pytest.mark.parametrize("colour", [False, True])
def test_nothing_from_a_text_reaches_the_terminal_raw(evil: Any, colour: bool) -> None:
    weights, inspection, contexts = evil
    few = replace(weights, weights=weights.weights[:, :, :5, :5], tokens=weights.tokens[:5])
    for drawn in (
        tables.inspection(inspection, colour=colour),
        draw_contexts(contexts, colour=colour),
        drawing.attention(weights, View(1), colour=colour),
        drawing.attention(few, colour=colour),
    ):
        assert "\x1b[31m\x00" not in drawn and "\x00" not in drawn and "\u202e" not in drawn
        drawn.encode()


def test_weights_in_a_page_are_rounded_to_thousandths() -> None:
    digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    weights = np.random.default_rng(0).dirichlet(np.ones(7), 5)
    text = encoded(weights)
    assert len(text) == 2 * 35
    found = [
        (64 * digits.index(a) + digits.index(b)) / 1000 for a, b in zip(text[::2], text[1::2], strict=True)
    ]
    np.testing.assert_allclose(np.reshape(found, (5, 7)), weights, atol=0.0005001)
    assert encoded(np.array([[0.0, 1.0]])) == "AAPo"


def test_the_page(looked: Inspection, tiny_model: Path) -> None:
    weights = attention("Turn the keys ☃", "a door", model=str(tiny_model))
    source = page.document(page.attention(weights))
    data = data_of(source)
    assert data["tokens"] == [token.text for token in looked.tokens]
    assert np.shape(data["weights"]) == (3, 4 + 2)
    assert data["opened"] == [3, 5]
    assert data["weights"][1][2] == encoded(weights.matrix(2, 3))
    assert data["weights"][1][4] == encoded(weights.matrix(2))
    assert data["weights"][2][5] == encoded(weights.rollout())
    said = re.sub(r"<[^>]+>", " ", source)
    assert "What attention does not tell" in said
    for name in (
        "Jain &amp; Wallace 2019",
        "Wiegreffe &amp; Pinter 2019",
        "Abnar &amp; Zuidema 2020",
        "Clark et al. 2019",
    ):
        assert name in said
    assert "rounded to thousandths" in said
    assert "keys" in said and "[UNK]" in said
    assert data_of(page.fragment(page.attention(weights, View(2, 1))))["opened"] == [2, 1]
    assert data_of(page.fragment(page.attention(weights, View(2, rollout=True))))["opened"] == [2, 6]


def test_twelve_by_twelve_heads_and_sixty_tokens_are_a_page_of_reasonable_size(looked: Inspection) -> None:
    tokens = tuple(replace(looked.tokens[1], text=f"w{i}") for i in range(60))
    weights = np.full((12, 12, 60, 60), 1 / 60, dtype=np.float32)
    source = page.document(page.attention(Attention(("w",), tokens, weights, "m")))
    assert len(source.encode()) < 1_500_000
    large = Attention(("w",), tokens * 4, np.broadcast_to(np.float32(1 / 240), (12, 12, 240, 240)), "m")
    with pytest.raises(ValueError, match="8,294,400 weights are more than the 5,000,000"):
        page.attention(large)


def test_the_page_is_inert(evil: Any) -> None:
    source = page.document(page.attention(evil[0]))
    source.encode()
    parsed = Parsed(source)
    assert parsed.count("script") == 3
    assert parsed.count("img") == parsed.count("iframe") == 0
    assert not [name for _, attributes in parsed.elements for name in attributes if name.startswith("on")]
    assert not {"\x1b", "\x00", "\u202e"} & set(source)
    assert " style=" not in source and "unsafe" not in source.split("</head>")[0].split("<style>")[0]


@drawing_png
@pytest.mark.filterwarnings("error")
def test_pictures(evil: Any, tiny_model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from matplotlib.figure import Figure
    from matplotlib.text import Text

    from search.render import picture

    written: list[str] = []
    save = Figure.savefig

    def saved(figure: Figure, *args: Any, **options: Any) -> None:
        save(figure, *args, **options)
        written.extend(text.get_text() for text in figure.findobj(Text))

    monkeypatch.setattr(Figure, "savefig", saved)
    weights, _, contexts = evil
    long = attention("key " * 62, model=str(tiny_model))
    for png in (
        picture.attention(by_hand()),
        picture.attention(by_hand(), View(1, 2)),
        picture.attention(weights),
        picture.attention(weights, View(rollout=True)),
        picture.attention(long),
        picture.attention(long, View(2)),
        picture.contexts(contexts),
        picture.contexts(
            in_contexts("a", ["a", "a", "a key", "the a", "a a"], list("bcdefg"), model=str(tiny_model))
        ),
    ):
        assert png.startswith(b"\x89PNG")
    assert {".80", "layer 2", "head 4", "A ~ B"} <= {text.split("  ")[-1] for text in written}
    whole = " ".join(written)
    assert "Attention in layer 1, head 2" in whole and "Jain & Wallace 2019" in whole
