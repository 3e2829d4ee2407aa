"""Pages, as text: whole, inert, with the numbers in them that were computed."""

import base64
import hashlib
import html
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import search
from search import Encoder, InputError, bert
from search.explaining.xray import xray
from search.ranking.where import parse
from search.records.comparisons import Contrast, Difference, Similarities, WhyNot
from search.records.contents import DocumentText, StoredFile, StoredPassage
from search.records.documents import NamedDocument
from search.records.explanations import Highlight
from search.records.hits import Hit, Verdict
from search.records.option_tools import Ranking
from search.records.shares import Term
from search.render import page
from search.render.hits import Cut
from search.render.page import comparison
from search.render.page import why as draw
from search.render.page.document import data, text
from search.render.page.hit_list import HitView, PageRequest, viewed
from search.render.page.reading import reading
from search.render.page.score_bar import ScoreBar, full_width
from search.render.page.search import SearchView, picked
from search.render.page.search import search as search_page
from search.render.page.xray_page import Origin
from search.render.score_parts import Mark, Part
from tests.explaining.test_explanation import by_hand
from tests.render.test_render import HIT, sentences

EVIL = (
    "<script>alert(1)</script> \"'> <img src=x onerror=alert(2)> </script><!-- שלום مرحبا 🎉 "
    "\x1b[31m\x00\x07 \u202eevil\u2066 &amp; \udcff"
)
REQUEST = PageRequest("notes", "the <key>", weight=0.5, without=("a", "b"))
OTHER = replace(HIT, score=HIT.score - 0.25, rank=4, passage_id=77)
COMPARED = Contrast(
    "the key",
    HIT,
    OTHER,
    (
        Difference("the", "word", 0, 3, 0.0, 0.125),
        Difference("key", "word", 4, 7, 0.375, 0.0),
    ),
)
STATE = PageRequest("notes", "the key", generation=7)


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
    match = re.search(r'<script type="application/json">(.*?)</script>', source, re.S)
    assert match
    return json.loads(match[1])


def xray_page(**changes: Any) -> str:
    why = replace(by_hand(), **changes)
    return page.document(page.xray(xray(why), hit=replace(HIT, score=why.score)))


def visible_text(view: page.Page) -> str:
    """Text of a page that a reader sees."""
    source = re.sub(r"<script.*?</script>", " ", page.fragment(view), flags=re.S)
    return " ".join(re.sub(r"<[^>]+>", " ", source).split())


def test_the_numbers_are_in_the_page_without_any_script() -> None:
    source = xray_page()
    visible = " ".join(
        re.sub(r"<script.*?</script>|<style.*?</style>|<[^>]+>", " ", source, flags=re.S).split()
    )
    assert "1.250000 = 1.000000 by meaning, from 4 query tokens + 2.5e-01 residual" in visible
    assert "keys.md:3-5 (rank 1, p12)" in visible and "Rank 1 for this query." in visible
    assert "Query [CLS] key ##s [SEP] offset" in visible
    for layer, row in enumerate(by_hand().layers("query").tolist()):
        numbers = " ".join(f"{1000 * value:.0f}".replace("-", "\u2212") for value in row)
        assert f"layer {layer} {numbers}" in visible
    assert "Every row of either table sums to 1.0000" in visible


def test_an_xray_says_what_each_piece_is_and_how_other_poolings_differ(tiny: Encoder) -> None:
    why = search.explain("turn the key", "the key turns in the lock", model=tiny)
    of = xray(why)
    source = page.document(page.xray(of))
    key = why.query_tokens[3]
    lengths = of.lengths["query"][3]
    assert len(of.lengths["passage"]) == len(why.passage_tokens)
    note = (
        f"number {key.id} of the vocabulary; its vector begins as a sum of three, of these lengths: "
        f"word {lengths[0]:.2f}, position 3 {lengths[1]:.2f}, segment {lengths[2]:.2f}"
    )
    assert f'title="{note}"' in source
    assert next(iter(of.poolings)) == "mean" and of.poolings["mean"] == why.cosine
    for pooling in ("cls", "pooler"):
        other = Encoder(tiny.model, pooling=pooling)
        expected = search.similarity([why.query], [why.passage], model=other)[0, 0]
        assert of.poolings[pooling] == pytest.approx(expected, abs=1e-5)
    assert [f"{value:.3f}" in source for value in of.poolings.values()] == [True] * 3


def test_attention_is_that_of_the_model(tiny: Encoder) -> None:
    why = search.explain("turn the key", "the key turns in the lock", model=tiny)
    of = xray(why)
    expected = bert.inspect(why.passage, model=tiny.model).attention
    for layer in range(1, why.n_layers + 1):
        for head in (*range(1, of.heads + 1), None):
            weights = of.attention("passage", layer, head)
            np.testing.assert_allclose(weights, expected.matrix(layer, head), atol=1e-5)
            np.testing.assert_allclose(weights.sum(axis=1), 1, atol=1e-5)
    for layer, head, message in ((0, None, "no attention at layer 0"), (1, 99, "no head 99")):
        with pytest.raises(InputError, match=message):
            of.attention("query", layer, head)
    with pytest.raises(InputError, match="not known"):
        xray(by_hand()).attention("query", 1)


def test_the_embedded_data_are_those_of_the_explanation() -> None:
    data = data_of(xray_page())
    why = by_hand()
    np.testing.assert_allclose(data["added"], why.passage_sums, atol=1e-6)
    assert data["passage"]["tokens"] == [token.text for token in why.passage_tokens]


def stored_passage(number: int, text: str, start: int, **more: Any) -> StoredPassage:
    fields: dict[str, Any] = {"heading": "", "line_start": number, "line_end": number + text.count("\n")}
    return StoredPassage(
        passage_id=number, document_id=3, path="/notes/keys.md", document="keys.md", title="Keys", text=text,
        start=start, end=start + len(text), **(fields | more),
    )  # fmt: skip


def document_text(*passages: StoredPassage, kind: str = "markdown", **more: Any) -> DocumentText:
    fields: dict[str, Any] = {"title": "Keys", "metadata": {}, "changed": "", "gaps": (), "text": ""}
    return DocumentText(3, 7, "keys.md", "/notes/keys.md", kind, passages=passages, **(fields | more))


def hit_view(passage: StoredPassage, rank: int, *marks: Mark) -> HitView:
    return HitView(
        Hit(**vars(passage), rank=rank, score=0.5, cosine=0.5, lexical=0.5, ranking=Ranking.of()), marks
    )


EVIL_HIT = replace(HIT, path=f"/{EVIL}", document=EVIL, title=EVIL, heading=EVIL, text=EVIL)
EVIL_WHY = replace(
    by_hand(), query=EVIL, passage=EVIL, context=EVIL, terms=(Term(EVIL, 0.1),), pooling=EVIL
)


KINDS = ("markdown", "rst", "mail", "code")


def evil_pages() -> list[page.Page]:
    """Pages of all kinds in which every text is hostile."""
    others = Similarities((EVIL, "b"), (EVIL, EVIL), np.eye(2, dtype=np.float32), False, EVIL, EVIL)
    contrast = Contrast(EVIL, EVIL_HIT, EVIL_HIT, (Difference(EVIL, "word", 0, 3, 0.5, 0.25),))
    why_not = WhyNot(
        EVIL, EVIL, 3, 3, 20, "copy", detail=EVIL, hit=EVIL_HIT, last=EVIL_HIT, contrast=contrast
    )
    state = PageRequest(EVIL, EVIL, where=EVIL)
    document = replace(
        document_text(stored_passage(1, EVIL, 0, heading=EVIL)),
        document=EVIL,
        title=EVIL,
        changed="changed",
    )
    return [
        page.xray(xray(EVIL_WHY), hit=EVIL_HIT),
        page.sentences(others),
        page.xray(xray(EVIL_WHY), by="word", hit=EVIL_HIT, origin=Origin(state, (EVIL, EVIL), EVIL_HIT)),
        draw.alone(draw.panel(EVIL_WHY, EVIL_HIT, state), EVIL_HIT, state),
        draw.panel(EVIL_WHY, EVIL_HIT, state),
        draw.contrast(contrast, state),
        draw.why_not(why_not, state),
        draw.choice(EVIL, [NamedDocument(1, EVIL, EVIL)], 50, state),
        comparison.form(comparison.COMPARE, [EVIL, EVIL], EVIL, EVIL),
        *(reading(state, replace(document, kind=kind), 1, (), source=kind == "code") for kind in KINDS),
        reading(state, document, 1, viewed([replace(EVIL_HIT, passage_id=1)], [[Highlight(2, 9, 1.0)]])),
        search_page(
            state, SearchView(1, viewed([replace(EVIL_HIT, explanation=EVIL_WHY)]), words=(EVIL,))
        ),
    ]


def assert_inert(view: page.Page) -> None:
    """Check that no text of a page became markup, as a file and on the server."""
    for source in (page.document(view), page.document(view, page.Site("/explain", EVIL))):
        source.encode()
        parsed = Parsed(source)
        assert "<script>alert" not in source
        assert parsed.count("img") == parsed.count("iframe") == 0
        names = [name for _, attributes in parsed.elements for name in attributes]
        assert not [name for name in names if name.startswith("on") or name == "style"]
        links = [attributes.get("href") or "#" for tag, attributes in parsed.elements if tag == "a"]
        assert all(re.match(r"[/#]", link) for link in links)
        visible = re.sub(r'value="[^"]*"|<textarea.*?</textarea>', "", source, flags=re.S)
        assert not {"\x1b", "\u202e", "\u2066"} & set(visible)


@pytest.mark.parametrize("view", evil_pages())
def test_no_text_of_a_page_becomes_markup(view: page.Page) -> None:
    assert_inert(view)


def test_the_policy_allows_this_page_and_nothing_else() -> None:
    for source in (xray_page(), page.document(page.sentences(sentences()))):
        (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', source)
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy and "http" not in policy
        style = re.findall(r"<style>(.*?)</style>", source, re.S)
        scripts = re.findall(r"<script(?: type=\"module\")?>(.*?)</script>", source, re.S)
        assert (len(style), len(scripts)) == (1, 2)
        for content in style + scripts:
            digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
            assert f"'sha256-{digest}'" in policy
        assert " style=" not in source
        for _, attributes in Parsed(source).elements:
            assert (attributes.get("href") or "data:").startswith("data:")
            assert "src" not in attributes


def test_a_page_of_the_server_links_to_what_a_file_embeds() -> None:
    view, assets = page.sentences(sentences()), page.assets()
    source = page.document(view, page.Site("/similarity", "my <notes>"))
    assert page.fragment(view).split("<dl")[1].removesuffix("</div>") in source and data_of(
        source
    ) == data_of(page.document(view))
    names = re.findall(r'(?:src|href)="/static/\w{16}/([\w.]+)"', source)
    assert names == ["seewhy.css", "theme.js", "page.js", "sentences.js"]
    assert set(names) <= assets.keys()
    kinds = {
        name.rpartition(".")[2]: media_type.split(";")[0] for name, (_, media_type) in assets.items()
    }
    assert kinds == {"css": "text/css", "js": "text/javascript"}
    parsed = Parsed(source)
    scripts = [attributes for name, attributes in parsed.elements if name == "script"]
    assert all(
        "src" in script or script["type"] == "application/json" for script in scripts
    )  # none runs that is not linked
    assert (
        parsed.count("style") == 0 and "Content-Security-Policy" not in source
    )  # the server sends its own
    assert '<a class="chip" href="/xray?index=my+%3Cnotes%3E" aria-current="true">Lab</a>' in source
    assert "<bdi>my &lt;notes&gt;</bdi>" in source


def test_a_table_of_cosines_has_signs_data_and_labels() -> None:
    source = page.document(page.sentences(sentences()))
    assert re.search(r'<td class="l2 minus" data-row="0" data-column="2"[^>]*>\u22120.25</td>', source)
    assert data_of(source)["cosine"][1] == [0.5, 1.0, 0.75]
    other = replace(sentences(), itself=False)
    assert "<dt>A</dt><dd><bdi>sentence 0</bdi></dd>" in page.fragment(page.sentences(other))


def test_too_many_sentences_are_refused() -> None:
    with pytest.raises(ValueError, match="201 x 201 cosines are too many: a page can show 40,000"):
        page.sentences(sentences(201))


@given(st.text(st.sampled_from("<>&'/!-s\\ \u2028\udcff")))
def test_embedded_json_cannot_leave_its_element(value: str) -> None:
    content = data({"a": value})[len('<script type="application/json">') : -len("</script>")]
    assert not {"<", ">", "&", "\u2028"} & set(content)
    assert json.loads(content) == {"a": value}
    assert not {"<", ">", '"', "'"} & set(text(value))


def test_a_gap_is_split_by_word_with_both_signs() -> None:
    view = draw.contrast(COMPARED, REQUEST)
    assert "ranks above" in view.heading
    visible = visible_text(view)
    assert "is 0.250 ahead, most by \u201ckey\u201d (+0.38)." in visible
    assert "gains 0.12 by \u201cother words\u201d" in visible or "gains 0.13 by" in visible
    assert "+0.3750 key +0.0000 +0.0000 other words +0.1250" in visible
    bars = re.findall(r'<rect class="(\w+)" width="([\d.]+)%"', page.fragment(view))
    assert [width for _, width in bars] == ["100.0", "0.0", "0.0", "33.3"]
    reverse = draw.contrast(replace(COMPARED, a=OTHER, b=HIT), REQUEST)
    assert reverse.heading == view.heading
    assert draw.contrast(replace(COMPARED, b=HIT), REQUEST).heading == "Both have equal scores"


@pytest.mark.parametrize(
    ("changes", "heading", "sentence"),
    [
        ({"cause": "found"}, "It is among the hits", "It is among the first 3 hits"),
        (
            {"cause": "lower", "contrast": COMPARED, "last": HIT},
            "Why it is not among the hits",
            "Beside the last hit The last hit is 0.250 ahead",
        ),
        (
            {"cause": "not indexed", "reason": "empty", "hit": None},
            "Why it is not among the hits",
            "nothing to search",
        ),
    ],
)
def test_a_page_says_why_a_document_is_not_among_the_hits(
    changes: dict[str, Any], heading: str, sentence: str
) -> None:
    why_not = WhyNot("the key", "keys.md", 3, 3, 20, "found", hit=OTHER)
    view = draw.why_not(replace(why_not, **changes), REQUEST)
    assert view.heading == heading and sentence in visible_text(view)
    assert "keys.md" in visible_text(view)


def hidden(text: str, markup: str) -> Hit:
    """A hit of Markdown, in which all that a pattern finds is markup."""
    spans = tuple(match.span() for match in re.finditer(markup, text, re.MULTILINE))
    return replace(HIT, text=text, hidden=spans, file=StoredFile("markdown"), heading="")


def passage_html(hit: Hit, *marks: Highlight) -> str:
    return viewed([hit], [marks])[0].passage


def test_a_passage_is_shown_without_markup_in_lines_as_wide_as_the_page() -> None:
    def plain(text: str) -> str:
        return passage_html(hidden(text, r"^## |\*|\[|\]\(a\.md\)"))

    assert plain("## Turn\n\nThe *lock*\nturns. See [doors](a.md).") == "Turn\nThe lock turns. See doors."
    assert plain("Do:\n\n- one\nmore\n- two") == "Do:\n- one more\n- two"
    assert "turn\nthe key" in plain("```\nturn\nthe key\n```")


def test_a_long_passage_is_cut_to_where_its_marks_are() -> None:
    text = "\n".join(
        f"Line {number} says this and that of the other side of the door." for number in range(40)
    )
    hit, start = replace(HIT, text=text, heading=""), text.index("Line 30")
    passage = passage_html(hit, Highlight(start, start + 4, 0.5))
    assert "</mark> 30" in passage and "Line 0 " not in passage
    assert passage.startswith("\u2026 ") and passage.endswith(" \u2026")


def test_the_parts_of_a_bar_sum_to_the_score_and_its_words_are_shaded() -> None:
    why = replace(by_hand(), terms=(Term("Keys", 0.25, 0, 4, ()),))
    why = replace(why, score=why.addends)
    views = viewed([replace(HIT, score=why.score, text=why.passage, explanation=why)])
    (view,) = views
    assert [part.word for part in view.parts] == ["keys", "rest"]
    assert sum(part.value for part in view.parts) == pytest.approx(why.score)
    assert (view.parts[0].meaning, view.parts[0].keyword) == (pytest.approx(0.5), 0.25)
    full = full_width([view.bar for view in views])
    assert full == 1.3 and full_width([ScoreBar(0.2, [Part("key", "key", 0.2)])]) == 1
    segments = view.bar.segments(full)
    assert segments[-1].x + segments[-1].width == pytest.approx(100 * why.score / full)
    page = search_page(PageRequest("notes", "keys"), SearchView(1, views)).body
    assert f'aria-label="Score {why.score:.3f} = Keys 0.750, other words' in page
    assert re.search(r'<mark class="s3" data-w="keys">', view.passage)
    down = replace(why, terms=(Term("Keys", -2.0, 0, 4, ()),), score=why.score - 2.25)
    less = viewed([replace(HIT, score=down.score, text=why.passage, explanation=down)])[0].bar.segments(
        1.0
    )
    assert [segment.part.word for segment in less] == ["rest", "keys"]  # what takes away comes last


def test_chosen_values_of_a_field_are_alternatives() -> None:
    both = picked(["kind=pdf", "kind=mail", "path:notes/**"])
    assert both == "(kind=pdf or kind=mail) and (path:notes/**)"
    parse(both)
    assert picked([]) == ""


def test_the_form_keeps_all_options_of_the_query() -> None:
    options = {"mode": "lexical", "where": "kind=pdf", "since": "7d", "k": 5}
    options |= {"without": ("b",), "pick": ("lang=de",), "more": (4,)}
    request = PageRequest("b", 'a "b"', generation=4, **options)
    page = search_page(
        request, SearchView(5, words=("a", "b"), without=("b",), no_hits='No "a" & "b".')
    ).body
    for part in (
        'value="a &quot;b&quot;"', 'name="index" value="b"', '<option value="lexical" selected>',
        'form="ask" value="kind=pdf"', 'form="ask" value="7d"', 'max="100" value="5"',
        'name="without" form="ask" value="b"', 'name="more" form="ask" value="4"', "Remove filter: lang=de",
        'data-word="b" role="button" aria-pressed="false"',
    ):  # fmt: skip
        assert part in page, part
    assert "The index has changed since this link was made" in page
    assert '<p role="status">No "a" & "b". <a' in html.unescape(page)


def test_source_has_line_numbers_and_faint_markup() -> None:
    text = "# Keys\nturn **the** key\n## Find"
    document = document_text(stored_passage(4, text, 0, hidden=((0, 2), (12, 14), (17, 19), (24, 27))))
    body = reading(STATE, document, source=True).body
    assert re.findall(r'<span class="line" data-n="(\d+)"', body) == ["4", "5", "6"]
    assert 'turn <span class="markup">**</span>the<span class="markup">**</span> key' in body


RST = """Keys
====

Use ``turn`` (see :pep:`8` and `docs <https://example.org/a>`_)::

   turn(key)

.. note:: It is *old*.
"""


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        ("markdown", "# Keys\n\n1. **turn**\n2. [a](b.md)", '<h2 class="h1">Keys</h2>\n<ol>\n<li><strong>turn'),
        ("markdown", "[a](javascript:b)", "[a](javascript:b)"),
        ("markdown", "[a](b.md) ![c](d)", "<a>a</a> c"),
        ("markdown", "|a|b|\n|-|-|\n|1|2|", "<td>1</td>"),
        ("markdown", "\U000f0001 \U00100000", "<p>\U000f0001 \ufffd</p>"),
        ("rst", RST, '<h2 class="h2">Keys</h2>\n<p>Use <code>turn</code> (see PEP 8 and <a href="https://'),
        ("rst", RST, "<pre><code>turn(key)\n</code></pre>\n<p>It is <em>old</em>."),
        ("mail", "Dear *B*,\n> no\n\n- one\n- two", "<p>Dear *B*,</p>\n<blockquote>\n<p>no</p>\n</blockquote>\n<ul>"),
        ("csv", "a\nb", '<span class="line" data-n="4">a</span>'),
    ],
)  # fmt: skip
def test_a_document_is_rendered_by_its_kind(kind: str, text: str, expected: str) -> None:
    assert expected in reading(STATE, document_text(stored_passage(4, text, 0), kind=kind)).body


def test_a_code_block_and_a_table_go_on_in_the_next_passage() -> None:
    file = "```\nturn *a*\n\nkey *b*\n```\n\n|c|\n|-|\n|d|\n\n|e|"
    parts = ("turn *a*", "key *b*", "|c|\n|-|\n|d|", "|e|")
    passages = [stored_passage(number, text, file.index(text)) for number, text in enumerate(parts)]
    body = reading(STATE, document_text(*passages), file_text=file).body
    assert [f"<pre><code>{text}</code>" in body for text in parts[:2]] == [True, True]
    assert body.count("<th>c</th>") == 2 and "<td>e</td>" in body and "<code></code>" not in body


def test_marks_of_a_table_head_are_not_repeated_with_it() -> None:
    head, rest = stored_passage(1, "|c|\n|-|\n|d|", 0), stored_passage(2, "|e|", 13)
    hits = [hit_view(head, 1, Mark(1, 2, 1))]
    body = reading(STATE, document_text(head, rest), hits=hits).body
    assert body.count("<mark") == body.count("<th>c</th>") == 1 and "<td>e</td>" in body


def test_hits_are_marked_and_linked_to() -> None:
    passages = [stored_passage(number, "turn the key", 20 * number) for number in range(1, 5)]
    mark = Mark(5, 8, 2)
    hits = [hit_view(passages[2], 1, mark), hit_view(passages[0], 9), hit_view(passages[3], 0)]
    view = reading(STATE, document_text(*passages), 3, hits, best=30)
    assert re.findall(r'<div class="([^"]+)" id="(p\d)"', view.body) == [
        ("read is-hit", "p1"), ("read", "p2"), ("read is-hit is-here", "p3"), ("read is-hit", "p4"),
    ]  # fmt: skip
    assert re.findall(r'<a href="(#p\d)">', view.body) == ["#p1", "#p3", "#p4"]
    assert view.body.count("<mark") == 1 and 'turn <mark class="s2" data-w="">the</mark> key' in view.body
    assert "Here:" in view.body and "hit 1 (line 3)" in view.body
    assert "/explain?index=notes&amp;q=the+key&amp;generation=7&amp;passage=3" in view.body
    assert 'data-passage="3"' in view.body and view.body.count("opacity") == 3
    nothing = reading(PageRequest("notes"), document_text(*passages))
    assert "<mark" not in nothing.body and "is-hit" not in nothing.body


def test_a_mail_has_its_people_and_a_row_its_columns() -> None:
    mail_file = replace(HIT.file, kind="mail")
    about = {"from": "Anna", "to": ["Viktor", "Tom", "Olga"], "date": "2024-02-12"}
    mail = HitView(replace(HIT, file=mail_file, metadata=about))
    assert mail.correspondents == "Anna \u2192 Viktor, Tom, \u2026, 12 February 2024" and not mail.columns
    assert HitView(replace(HIT, file=mail_file, metadata={"date": "soon"})).correspondents == "soon"
    row = HitView(
        replace(
            HIT,
            file=replace(HIT.file, kind="csv"),
            document="a.csv#3",
            metadata={"who": "Anna", "amount": 21.5},
        )
    )
    assert row.columns == [("who", "Anna"), ("amount", "21.5")] and not row.correspondents
    page = search_page(PageRequest("notes", "keys"), SearchView(1, [mail, row])).body
    assert "12 February 2024" in page and "<dt><bdi>amount</bdi></dt><dd><bdi>21.5</bdi></dd>" in page


def test_labels_of_a_bar_do_not_overlap_and_say_what_a_word_meets() -> None:
    parts = [Part("back", "back", 0.3, met="returns"), Part("of", "of", 0.01), Part("key", "key", 0.2)]
    segments = ScoreBar(HIT.score, [*parts, Part("offset", "any text", 0.3)]).segments(1.0)
    assert [(s.fits, s.met_fits) for s in segments] == [("all", "all"), ("", ""), ("wide", ""), ("", "")]


def test_verdicts_have_words_and_identifiers_are_counted() -> None:
    says = {"answered": "Good match", "perhaps": "Weak match", "probably not here": "No match"}
    for verdict, words in says.items():
        hit = replace(HIT, verdict=Verdict(verdict, 0.4, 0.5, 0.5))  # type: ignore[arg-type]
        page = search_page(PageRequest("notes", "keys"), SearchView(1, [HitView(hit)], passages=91)).body
        assert f"<b>{words}" in page and "%" not in page.split("</b>")[0].split("<b>")[-1]
        assert "1 best of 91 passages" in page


def test_lines_are_joined_unless_they_are_of_a_program() -> None:
    text = "One line\nand another.\n\n```\na = 1\nb = 2\n```\n"
    prose, code = Cut(0, 21, False, True), Cut(text.index("a ="), text.index("b =") + 5, True, True)
    hit = replace(HIT, text=text)
    assert HitView(hit, excerpt=prose).passage == "One line and another. \u2026"
    assert "a = 1\nb = 2" in HitView(hit, excerpt=code).passage
