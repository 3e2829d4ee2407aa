"""Pages, as text: whole, self-contained, inert, with the numbers in them that were computed."""

import base64
import hashlib
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from search.records.comparisons import Similarities
from search.records.explanations import Term
from search.render import page
from search.render.page.document import embedded, link, shade, text
from search.render.units import units
from tests.explaining.test_explanation import by_hand
from tests.render.test_heatmap import sentences
from tests.render.test_render import HIT

EVIL = (
    "<script>alert(1)</script> \"'> <img src=x onerror=alert(2)> </script><!-- שלום مرحبا 🎉 "
    "\x1b[31m\x00\x07 \u202eevil\u2066 &amp; \udcff"
)


class Parsed(HTMLParser):
    """The elements of a page, and its texts."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.inside: dict[str, list[str]] = {}
        self._open: list[str] = []
        self.feed(source)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if self._open:
            self.inside.setdefault(self._open[-1], []).append(data)

    def count(self, tag: str) -> int:
        return sum(name == tag for name, _ in self.elements)


def data_of(source: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json">(.*?)</script>', source, re.S)
    assert found
    return json.loads(found[1])


def explained(**changes: Any) -> str:
    why = replace(by_hand(), **changes)
    return page.document(page.explanation(why, units(why), HIT))


def test_the_numbers_are_in_the_page_without_any_script() -> None:
    source = explained()
    found = " ".join(
        re.sub(r"<script.*?</script>|<style.*?</style>|<[^>]+>", " ", source, flags=re.S).split()
    )
    assert "1.250000 score = 1.000000 24 token pairs + 2.5e-01 residual" in found
    assert "Keys +0.5000" in found
    assert "Query: what each part added Keys +0.5000 [CLS] and [SEP] +0.5000 sum +1.0000" in found
    assert "Passage: what each part added Door in title and headings +0.1449 lock +0.1594" in found
    assert "/notes/keys.md:3-5 (rank 1, p12)" in found
    assert "lock, Key" in re.sub(r"<[^>]+>", "", source)


def test_data_are_the_units() -> None:
    data = data_of(explained())
    drawn = units(by_hand())
    np.testing.assert_allclose(data["contribution"], drawn.contributions, atol=1e-8)
    np.testing.assert_allclose(data["cosine"], drawn.similarity, atol=1e-4)
    assert [unit["label"] for unit in data["passage"]] == [unit.label for unit in drawn.passage]


def test_negative_addends_are_shown_as_negative() -> None:
    source = explained(contributions=-by_hand().contributions)
    assert "\u22120.5000" in source
    assert re.search(r'class="unit l9 minus" data-unit="0"[^>]*>Keys<', source)


def test_terms_and_completeness_error_are_in_the_sum() -> None:
    source = explained(terms=(Term("<key>", 0.125),), steps=64)
    assert "0.125000</b> <bdi>&lt;key&gt;</bdi>" in source
    assert "completeness error, 64 steps" in source


def test_two_texts_without_a_hit() -> None:
    source = page.document(page.explanation(by_hand(), units(by_hand(), "token")))
    assert "<h2>First</h2>" in source
    assert re.search(r'data-unit="2"[^>]*>s</span>', source)  # a WordPiece is a place of its own


def test_every_text_is_inert_and_visible() -> None:
    hit = replace(HIT, path=f"/{EVIL}", title=EVIL, heading=EVIL, text=EVIL)
    why = replace(by_hand(), query=EVIL, passage=EVIL, context=EVIL, terms=(Term(EVIL, 0.1),), pooling=EVIL)
    others = Similarities((EVIL, "b"), (EVIL, EVIL), np.eye(2, dtype=np.float32), False, EVIL, EVIL)
    for shown in (
        page.explanation(why, units(why), hit),
        page.explanation(why, units(why, "token")),
        page.sentences(others),
        page.sentences(replace(others, itself=True)),
    ):
        source = page.document(shown)
        source.encode()
        parsed = Parsed(source)
        assert parsed.count("script") == 3
        assert parsed.count("img") == parsed.count("iframe") == 0
        assert not [name for _, attributes in parsed.elements for name in attributes if name.startswith("on")]
        assert not {"\x1b", "\x00", "\x07", "\u202e", "\u2066"} & set(source)
        assert "\\x1b[31m\\x00\\x07 \\u202eevil\\u2066 &amp;amp; \\xff" in source
        assert "<title>Why: &lt;script&gt;" in source or "<title>How alike" in source


def test_the_policy_allows_this_page_and_nothing_else() -> None:
    for source in (explained(), page.document(page.sentences(sentences()))):
        (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', source)
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy and "http" not in policy
        style = re.findall(r"<style>(.*?)</style>", source, re.S)
        scripts = re.findall(r"<script>(.*?)</script>", source, re.S)
        assert (len(style), len(scripts)) == (1, 2)
        for content in style + scripts:
            digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
            assert f"'sha256-{digest}'" in policy
        assert " style=" not in source
        for _, attributes in Parsed(source).elements:
            assert (attributes.get("href") or "data:,") == "data:,"
            assert "src" not in attributes


def test_the_server_links_to_what_a_file_holds() -> None:
    found, assets = page.sentences(sentences()), page.assets()
    source = page.document(found, page.Site("/similarity", "my <notes>"))
    assert page.fragment(found).split("<p")[1] in source and data_of(source) == data_of(page.document(found))
    linked = re.findall(r'(?:src|href)="/static/([\w.]+)\?v=(\w+)"', source)
    assert [name for name, _ in linked] == ["page.css", "site.css", "page.js", "sentences.js"]
    for name, digest in linked:
        assert hashlib.sha256(assets[name].content).hexdigest().startswith(digest)
    kinds = {name.rpartition(".")[2]: asset.media_type.split(";")[0] for name, asset in assets.items()}
    assert kinds == {"css": "text/css", "js": "text/javascript"}
    parsed = Parsed(source)
    scripts = [attributes for name, attributes in parsed.elements if name == "script"]
    assert all(
        "src" in one or one["type"] == "application/json" for one in scripts
    )  # none runs that is not linked
    assert parsed.count("style") == 0 and "Content-Security-Policy" not in source  # the server sends its own
    assert '<a href="/similarity?index=my+%3Cnotes%3E" aria-current="page">Similarity</a>' in source
    assert "Index <bdi>my &lt;notes&gt;</bdi>" in source


def test_nothing_in_a_page_has_an_id_that_another_could_have() -> None:
    why = by_hand()
    for found in (page.explanation(why, units(why), HIT), page.sentences(sentences())):
        assert not [one for _, one in Parsed(page.fragment(found)).elements if "id" in one]


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ({"q": 'a "b" & <c>'}, "/x?q=a+%22b%22+%26+%3Cc%3E"),
        ({"q": "\udcff", "without": ["a", "b"]}, "/x?q=%3F&amp;without=a&amp;without=b"),
        ({"q": "", "k": None, "without": []}, "/x"),
    ],
)
def test_links(query: dict[str, Any], shown: str) -> None:
    assert link("/x", **query) == shown


def test_sentences() -> None:
    source = page.document(page.sentences(sentences()))
    assert re.search(r'<td class="l2 minus" data-row="0" data-column="2"[^>]*>\u22120.25</td>', source)
    assert data_of(source)["cosine"][1] == [0.5, 1.0, 0.75]
    other = replace(sentences(), itself=False)
    assert "<dt>A</dt><dd><bdi>sentence 0</bdi></dd>" in page.fragment(page.sentences(other))


def test_too_many_sentences_are_refused() -> None:
    with pytest.raises(ValueError, match="201 x 201 cosines are more than the 40,000"):
        page.sentences(sentences(201))


@given(st.text(st.sampled_from("<>&'/!-s\\ \u2028\udcff")))
def test_embedded_json_cannot_leave_its_element(value: str) -> None:
    found = embedded({"a": value})
    assert not {"<", ">", "&", "\u2028"} & set(found)
    assert json.loads(found) == {"a": value}
    assert not {"<", ">", '"', "'"} & set(text(value))


@pytest.mark.parametrize(
    ("value", "classes"),
    [(0.0, "l0"), (1.0, "l9"), (-1.0, "l9 minus"), (2.0, "l9"), (-0.01, "l0"), (0.5, "l4")],
)
def test_shades(value: float, classes: str) -> None:
    assert shade(value, 1.0) == classes
