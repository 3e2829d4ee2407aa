"""Pages that look into a model, as text."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from search.lab.records.inspections import (
    Attention,
    EmbeddingLayer,
    InputToken,
    InputWord,
    Inspection,
    ModelShape,
)
from search.lab.render import pages
from search.render import page
from search.render.page import comparison
from tests.render.test_page import EVIL, assert_inert, visible_text

TOKENS = (
    InputToken("[CLS]", 101, 0, 0, None, 0, 1, True, None, False),
    InputToken("key", 9, 0, 3, 0, 0, 1, False, 0, False),
    InputToken("##s", 8, 3, 4, 0, 0, 1, False, 0, False),
    InputToken("[UNK]", 100, 0, 1, 1, 1, 1, False, 0, True),
)
WORDS = (InputWord("keys", 0, 4, 0, (1, 2), False), InputWord("☃", 0, 1, 1, (3,), True))
ROWS = np.array([[3.0, 4.0], [1.0, 0.0], [0.0, 2.0], [0.0, 1.0]])
STATES = np.stack([ROWS, ROWS[:, ::-1]]).astype(np.float32)
INSPECTION = Inspection(
    ("keys", "☃"), TOKENS, WORDS, ModelShape("tiny", "bert", 1, 1, 2, 10, 16, 2, 8, 0, 0, 0),
    EmbeddingLayer((0, 1, 2, 3), {"word": ROWS, "position": ROWS, "sum": 2 * ROWS, "LayerNorm": ROWS}, 0.0), STATES,
    Attention(("keys", "☃"), TOKENS, np.full((1, 1, 4, 4), 0.25, np.float32), "tiny"), None, None, "it has none",
)  # fmt: skip


def evil_pages() -> list[page.Page]:
    """Pages in which every text is hostile."""
    words = tuple(replace(word, text=EVIL) for word in WORDS)
    tokens = tuple(replace(token, text=EVIL) for token in TOKENS)
    attention = replace(INSPECTION.attention, texts=(EVIL, EVIL), tokens=tokens, model=EVIL)
    inspection = replace(
        INSPECTION, texts=(EVIL, EVIL), tokens=tokens, words=words, attention=attention, no_pooler=EVIL
    )
    forms = [
        comparison.form(form, [EVIL, EVIL], EVIL, pages.inspection(inspection), EVIL)
        for form in (pages.VOCABULARY,)
    ]
    return [*forms, pages.attention(attention)]


@pytest.mark.parametrize("view", evil_pages())
def test_no_text_of_a_page_becomes_markup(view: page.Page) -> None:
    assert_inert(view)


def test_an_inspection_shows_tokens_and_the_cosines_of_layers() -> None:
    text = visible_text(pages.inspection(INSPECTION))
    assert "4 tokens, 1 of them special [CLS] 101 key 9 ##s 8 [UNK] 100" in text
    source = page.fragment(pages.inspection(INSPECTION))
    assert (
        '<td class="l0">0.960</td>' in source and '<td class="l9">0.000</td>' in source
    )  # 24/25; a right angle
    assert '<li class="unknown second"><bdi>[UNK]</bdi>' in source


def test_a_class_of_a_table_is_laid_out_in_one_section_of_the_style() -> None:
    """A rule for the words in the search field once took the vocabulary's table apart."""
    folder = Path(pages.__file__).parent / "templates"
    tables = {
        name
        for path in folder.glob("*.html")
        for name in re.findall(r'<table class="(\w+)"', path.read_text(encoding="utf-8"))
    }
    style = page.assets()["seewhy.css"][0].decode().partition("/* Breakpoints")[0]
    sections = re.split(r"(?m)^/\* .* -{3,}.*$", style)
    for name in tables:
        places = [section for section in sections if re.search(rf"(?m)^\.{name}\b", section)]
        assert tables and len(places) == 1, name
