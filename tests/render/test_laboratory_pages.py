"""Forms for texts of one's own, and what a model makes of them, as pages."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from search.records.contexts import ContextualCosines
from search.records.inspections import EmbeddingLayer, InputToken, InputWord, Inspection, Pooler
from search.records.models import ModelShape
from search.render import page
from search.render.page import laboratory
from search.render.page.inspection import in_contexts, inspection
from search.render.page.laboratory import Given
from tests.render.test_heatmap import sentences
from tests.render.test_page import EVIL, Parsed
from tests.render.test_why_pages import read

TOKENS = (
    InputToken("[CLS]", 101, 0, 0, None, 0, 1, True, None, False),
    InputToken("key", 9, 0, 3, 0, 0, 1, False, 0, False),
    InputToken("##s", 8, 3, 4, 0, 0, 1, False, 0, False),
    InputToken("[UNK]", 100, 0, 1, 1, 1, 1, False, 0, True),
)
WORDS = (InputWord("keys", 0, 4, 0, (1, 2), False), InputWord("☃", 0, 1, 1, (3,), True))
ROWS = np.array([[3.0, 4.0], [1.0, 0.0], [0.0, 2.0], [0.0, 1.0]])
STATES = np.stack([ROWS, ROWS[:, ::-1]]).astype(np.float32)
LOOKED = Inspection(
    ("keys", "☃"), TOKENS, WORDS,
    ModelShape("tiny", "bert", 1, 1, 2, 10, 16, 2, 8, ()),
    EmbeddingLayer(ROWS, ROWS, None, (0, 1, 2, 3), ROWS, None, STATES[0]), STATES, None, "it has none",
)  # fmt: skip
CONTEXTS = ContextualCosines(
    ("key", "key"), ("a key", "the key"), ((2, 5), (4, 7)), (1, 1), (("key",), ("key",)), ("lock",), (1,),
    np.stack([np.eye(2), np.full((2, 2), 0.5)]), np.full((2, 2, 1), 0.25), "tiny",
)  # fmt: skip
GIVEN = Given(("one", "two"), "two", ["a <b>\nc", "d"])


def test_tokens_lengths_and_what_layers_do() -> None:
    said = read(inspection(LOOKED))
    assert "4 tokens, 1 of them special [CLS] 101 key 9 ##s 8 [UNK] 100" in said
    assert "spelled with several: keys . Unknown: ☃ ." in said
    assert "key 9 0\u20133 0 0" in said  # id, characters, word, segment
    assert "[CLS] 5.000 5.000 10.000 5.000" in said  # word, position, their sum, LayerNorm: 3-4-5
    source = page.fragment(inspection(LOOKED))
    assert (
        '<td class="l0">0.960</td>' in source and '<td class="l9">0.000</td>' in source
    )  # 24/25; a right angle
    assert '<li class="unknown second"><bdi>[UNK]</bdi>' in source
    assert "There is none: it has none." in said


def test_a_word_in_contexts() -> None:
    said = read(in_contexts(CONTEXTS))
    assert "A a key B the key layer A ~ B A ~ lock B ~ lock 0 0.0000 0.2500 0.2500 1 0.5000" in said
    assert "a <b>key</b>" in page.fragment(in_contexts(CONTEXTS))


def test_forms_keep_what_was_typed() -> None:
    source = page.fragment(laboratory.sentences(GIVEN, 100, None))
    assert ">\na &lt;b&gt;\nc\nd</textarea>" in source and "At most 100" in source
    assert '<option value="two" selected>' in source
    source = page.fragment(laboratory.pair(replace(GIVEN, indexes=("two",)), 6, 2, "token", True, None))
    assert source.count("<textarea") == 2 and ">\nd</textarea>" in source
    assert '<input type="hidden" name="index" value="two">' in source and '<select name="index"' not in source
    assert '<option value="2" selected>layer 2</option>' in source and 'value="1" checked>' in source
    source = page.fragment(laboratory.inside(GIVEN, "word", "<w>", "x, y", None))
    assert '<option value="word" selected>' in source and 'name="word" value="&lt;w&gt;"' in source


@pytest.mark.parametrize("form", ["sentences", "pair", "inside"])
def test_what_came_of_it_or_why_nothing_did_stands_below_the_form(form: str) -> None:
    def shown(given: Given, answer: page.Page | None) -> str:
        made = {
            "sentences": lambda: laboratory.sentences(given, 100, answer),
            "pair": lambda: laboratory.pair(given, 6, 3, "word", False, answer),
            "inside": lambda: laboratory.inside(given, "tokens", "", "", answer),
        }
        return page.fragment(made[form]())

    answer = shown(GIVEN, page.sentences(sentences()))
    assert answer.index("</form>") < answer.index("<h2>How alike these sentences are</h2>")
    failed = shown(replace(GIVEN, problem="no <way>"), None)
    assert '</form><p role="alert">no &lt;way&gt;</p>' in failed


def test_every_text_is_inert() -> None:
    evil = tuple(replace(token, text=EVIL) for token in TOKENS)
    words = tuple(replace(word, text=EVIL) for word in WORDS)
    looked = replace(LOOKED, texts=(EVIL, EVIL), tokens=evil, words=words, no_pooler=EVIL)
    contexts = replace(CONTEXTS, texts=(EVIL, EVIL), against=(EVIL,), words=(EVIL, EVIL), model=EVIL)
    given = Given((EVIL, "b"), EVIL, [EVIL, EVIL], EVIL)
    for shown in (
        inspection(looked),
        in_contexts(contexts),
        laboratory.sentences(given, 100, None),
        laboratory.pair(given, 6, 3, "word", False, inspection(looked)),
        laboratory.inside(given, EVIL, EVIL, EVIL, in_contexts(contexts)),
    ):
        source = page.document(shown, page.Site("/inspect", EVIL))
        source.encode()
        parsed = Parsed(source)
        assert parsed.count("script") == sum(name.endswith(".js") for name in ("page.js", *shown.uses))
        assert parsed.count("img") == parsed.count("iframe") == parsed.count("style") == 0
        names = [name for _, attributes in parsed.elements for name in attributes]
        assert not [name for name in names if name.startswith("on") or name == "style"]
        visible = re.sub(r'value="[^"]*"|<textarea.*?</textarea>', "", source, flags=re.S)
        assert not {"\x1b", "\u202e", "\u2066"} & set(visible)


def test_a_pooler_is_compared() -> None:
    pooler = Pooler(np.array([0.5, -0.5], np.float32), np.array([0.5, -0.5]))
    assert "at most 0.0e+00. Length 0.707" in read(inspection(replace(LOOKED, pooler=pooler)))
