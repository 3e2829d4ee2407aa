"""Markup is hidden: what is explained lies on the words that it names, wherever marks stand, and still adds up."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import search
from search.corpus import Cutter, documents, load
from search.corpus.markup import markup
from search.encoding import Encoder
from search.encoding.tokenizer import tokens
from search.explaining.explanation import Layers, explain_pair
from search.records.documents import ParsedDocument
from search.records.explanations import Explanation
from search.records.hits import Hit
from search.records.tokens import merged
from search.records.visible_text import Spans, VisibleText
from tests.conftest import REPOSITORY
from tests.corpus.conftest import source_file
from tests.corpus.making import docx, epub, pdf, pptx, xlsx

QUERY = "find the key"
TEXTS = st.text(st.sampled_from("aekyt  .,-'*[]\n\u00e9\u0130\ufb01\u6f22\U0001f469\u200d"), max_size=60)


@st.composite
def with_markup(draw: st.DrawFn) -> tuple[str, Spans]:
    """A text, and spans of it that are increasing and disjoint, as `markup` gives them."""
    text = draw(TEXTS)
    ends = draw(st.lists(st.integers(0, len(text)), unique=True, max_size=12).map(sorted))
    return text, tuple(zip(ends[::2], ends[1::2], strict=False))


def visible_places(text: str, hidden: Spans) -> list[int]:
    """The places of the characters that are left."""
    hidden_places = {place for span in hidden for place in range(*span)}
    return [place for place in range(len(text)) if place not in hidden_places]


@given(with_markup(), st.data())
@settings(max_examples=150, deadline=None)
def test_offsets_map_to_the_source_and_back(source: tuple[str, Spans], data: st.DataObject) -> None:
    text, hidden = source
    visible, places = VisibleText(text, hidden), visible_places(text, hidden)
    assert visible.text == "".join(text[place] for place in places)
    assert [visible.source_offset(offset) for offset in range(len(places))] == places
    for place in range(len(text) + 1):
        assert visible.visible_offset(place) == sum(position < place for position in places)
    start, end = sorted((data.draw(st.integers(0, len(text))), data.draw(st.integers(0, len(text)))))
    inside = [place for place in places if start <= place < end]
    assert visible.between(start, end) == "".join(text[place] for place in inside)
    marks = visible.hidden(start, end)
    assert [start + place for place in visible_places(text[start:end], marks)] == inside
    if inside:
        first, last = places.index(inside[0]), places.index(inside[-1]) + 1
        assert visible.span(first, last) == (inside[0], inside[-1] + 1)
        after = data.draw(st.integers(0, len(text)))
        wider = visible.with_marks(text, inside[0], inside[-1] + 1, after)
        assert min(after, inside[0]) <= wider[0] <= inside[0] <= inside[-1] < wider[1]
        assert visible.between(*wider) == visible.between(inside[0], inside[-1] + 1)
        assert "\n" not in text[wider[0] : inside[0]] + text[inside[-1] + 1 : wider[1]]


@given(with_markup(), st.sampled_from(["", "key lock"]))
@settings(max_examples=50, deadline=None)
def test_a_text_with_marks_is_explained_as_the_one_without(
    tiny: Encoder, source: tuple[str, Spans], context: str
) -> None:
    text, hidden = source
    (query,) = tiny.inputs([QUERY])
    visible = "".join(text[place] for place in visible_places(text, hidden))
    whys = [
        explain_pair(
            query,
            *tiny.inputs([variant], contexts=[context], hidden=[spans]),
            encoder=tiny,
            layers=Layers.of(None, tiny.n_layers),
        )
        for variant, spans in ((text, hidden), (visible, ()))
    ]
    formatted, bare = whys
    assert formatted.cosine == pytest.approx(
        float(np.dot(*tiny.encode([QUERY, f"{context}\n{visible}" if context else visible]))), abs=1e-6
    )
    assert abs(formatted.residual) < 1e-6
    np.testing.assert_allclose(formatted.contributions, bare.contributions, atol=1e-6)
    assert [(word.text, word.kind) for word in formatted.words().passage] == [
        (word.text, word.kind) for word in bare.words().passage
    ]
    assert_highlights_lie_on_words(formatted, text, visible_places(text, hidden))
    total = sum(mark.weight for mark in formatted.highlights())
    assert total == pytest.approx(sum(mark.weight for mark in bare.highlights()), abs=1e-6)


def assert_highlights_lie_on_words(
    why: Explanation, text: str, places: list[int], start: int = 0
) -> None:
    """Check a passage that begins at `start` of a text, of which the `places` are read."""
    inside = set(places)
    words = [word for word in why.words().passage if word.kind in ("word", "punctuation")]
    highlights = why.highlights()
    assert len(highlights) == len(words)
    for word, highlight in zip(words, highlights, strict=True):
        first, last = start + highlight.start, start + highlight.end
        assert "".join(text[place] for place in range(first, last) if place in inside) == word.text
        if first < last:
            assert {first, last - 1} <= inside  # no mark at its ends
    assert all(left.end <= right.start for left, right in pairwise(highlights))


MARKDOWN = """---
title: The **key**
---
# Keys of the *door*

To find the k**e**y, open [the door](http://key.example/key "key"), then &amp; *turn* **keys**.

| key | lock |
|-----|------|
| the key | `key` |

> find ![a key](key.png) [[key|the key]]
"""
RST = """====
Keys
====

To find the *key*, open `the door <http://key.example>`_ and **turn** k\\ **e**\\ y.

.. _key: http://key.example

.. note:: The :ref:`key <keys>` is ``key``.

======  =====
 key    lock
======  =====
the     *keys*
======  =====
"""
HTML = """<html><head><title>Keys</title><style>key {}</style></head><body><h1>Keys</h1>
<p>To find the k<b>e</b>y, open <a href="http://key.example/key">the door</a> &amp; turn&nbsp;the <i>keys</i>.</p>
<ul><li>key</li><li>the <code>key</code></li></ul></body></html>"""
NOTEBOOK = json.dumps({
    "nbformat": 4,
    "metadata": {},
    "cells": [
        {"cell_type": "markdown", "source": "# Keys\n\nTo *find* the k**e**y, [open](http://key.example) it.\n"},
        {"cell_type": "code", "source": "key = find(the_key)  # *key*\n", "outputs": [
            {"output_type": "stream", "name": "stdout", "text": "the key\n"}]},
    ],
})  # fmt: skip
PAGES = [
    [
        "Head",
        "",
        f"To find {word} key, open the door and turn the keys un-",
        f"til it is {word}.",
        "",
        f"Page {n}",
    ]
    for n, word in enumerate(("the", "a", "my", "your"))
]
FILES: dict[str, str | bytes] = {
    "a.md": MARKDOWN,
    "a.rst": RST,
    "a.html": HTML,
    "a.ipynb": NOTEBOOK,
    "a.txt": "Keys\n====\n\nTo find the key\n--------------\n\nkey, keys and the key.\n",
    "a.py": "# ---- key ----\n# -------------\ndef find_key(key):\n    return key  # the key\n",
    "a.csv": 'id,text\n1,"find the *key*"\n2,"keys, and the key"\n',
    "a.jsonl": '{"title": "key", "text": "find the **key**"}\n',
    "a.pdf": pdf(PAGES, title="Keys"),
    "a.docx": docx(lambda document: document.add_paragraph("To find the key, turn the keys.")),
    "a.pptx": pptx(lambda deck: deck.slides.add_slide(deck.slide_layouts[0]).shapes.title.__setattr__(
        "text", "To find the key")),
    "a.xlsx": xlsx(lambda book: book.active.append(["key", "find the key"])),
    "a.epub": epub({"a.xhtml": "<h1>Keys</h1><p>To find the k<b>e</b>y, turn the keys.</p>"}),
}  # fmt: skip


@pytest.fixture(scope="module")
def formats(tmp_path_factory: pytest.TempPathFactory, tiny_model: Path) -> search.Index:
    folder = tmp_path_factory.mktemp("formats")
    for name, content in FILES.items():
        (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
    for number in range(40):  # so that no word of the query is in half of the passages
        (folder / f"{number}.txt").write_text("water and people", encoding="utf-8")
    return search.Index.build(folder, model=str(tiny_model), index=str(folder / "index"))


def documents_of(index: search.Index, name: str) -> dict[str, ParsedDocument]:
    file = source_file(index.path.parent / name)
    return {
        document.name: document
        for document in documents(file, load(file))
        if isinstance(document, ParsedDocument)
    }


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("options", [{}, {"rerank": "late"}])
def test_in_every_format_highlights_lie_on_the_words_they_name(
    formats: search.Index, name: str, options: dict[str, str]
) -> None:
    by_name = documents_of(formats, name)
    hits = [hit for hit in formats.query(QUERY, k=100, **options) if Path(hit.path).name == name]  # type: ignore[arg-type]
    assert hits
    n_occurrences = 0
    for hit, why in zip(hits, formats.explain(QUERY, hits), strict=True):
        document = by_name[hit.document]
        text, places = document.text, visible_places(document.text, tuple(markup(document)))
        assert text[hit.start : hit.end] == hit.text == why.passage
        assert_highlights_lie_on_words(why, text, places, hit.start)
        assert abs(why.residual) < 1e-6
        assert why.drift == pytest.approx(0, abs=1e-6)
        assert sum(share.contribution for share in why.shares()) == pytest.approx(hit.score, abs=1e-6)
        n_occurrences += len(list(assert_occurrences(hit, why, text, set(places))))
    assert n_occurrences


def assert_occurrences(hit: Hit, why: Explanation, text: str, places: set[int]) -> Iterator[str]:
    """Every term lies where its word is read, in the source or in the context, and everywhere where it is."""
    visible = "".join(text[place] for place in range(hit.start, hit.end) if place in places)
    for term in why.terms:
        for part, source in (("text", visible), ("context", hit.context)):
            expected = re.findall(rf"(?<![^\W_]){term.term}s?(?![^\W_])", source.lower())
            matches = []
            for place in (place for place in term.places if place.part == part):
                span = range(hit.start + place.start, hit.start + place.end)
                in_text = "".join(text[i] for i in span if i in places)
                matches.append(in_text if part == "text" else hit.context[place.start : place.end])
                assert part == "context" or {span[0], span[-1]} <= places
            assert [match.lower() for match in matches] == expected
            yield from matches


def test_the_tokens_of_real_texts_lie_on_their_words(tiny: Encoder) -> None:
    paths = [*REPOSITORY.glob("*.md"), *REPOSITORY.glob("corpora/handbook/3*.md")]
    cutter = Cutter(tiny.tokenizer, max_tokens=256)
    n_hidden = 0
    for path in paths:
        for document in documents(source_file(path), load(source_file(path))):
            assert isinstance(document, ParsedDocument)
            inside = set(visible_places(document.text, tuple(markup(document))))
            for passage in cutter.cut(document):
                passage_tokens = tokens(
                    tiny.tokenizer, "", passage.context, VisibleText(passage.text, passage.hidden)
                )
                words = merged(
                    passage_tokens, {"text": passage.text, "context": passage.context}, passage.hidden
                )
                own = [word for word in words if word.kind in ("word", "punctuation")]
                for word in own:
                    place = range(passage.start + word.start, passage.start + word.end)
                    assert (
                        "".join(document.text[position] for position in place if position in inside)
                        == word.text
                    )
                    assert {place[0], place[-1]} <= inside
                assert "".join("".join(word.text for word in own).split()) == "".join(
                    passage.visible_text.split()
                )
                n_hidden += len(passage.hidden)
    assert n_hidden
