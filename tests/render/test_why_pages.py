"""Pages of the server about one hit, two hits and a missed document: the numbers in them, and that they are inert."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from search.records.comparisons import Contrast, Difference, Faithfulness, Removal, WhyNot
from search.records.documents import NamedDocument
from search.records.explanations import Partner, Share
from search.records.tokens import Word
from search.render import page
from search.render.page import contrast as draw
from search.render.page.why import why
from tests.explaining.test_explanation import by_hand
from tests.render.test_page import EVIL, Parsed
from tests.render.test_render import HIT

ASKED = {"index": "notes", "q": "the <key>", "weight": 0.5, "without": ["a", "b"]}
OTHER = replace(HIT, score=HIT.score - 0.25, rank=4, passage_id=77)
COMPARED = Contrast(
    "the key",
    HIT,
    OTHER,
    (
        Difference("the", "word", 0, 3, 0.0, 0.125, (), (Partner("lock", 0.1),)),
        Difference("key", "word", 4, 7, 0.375, 0.0, (Partner("key", 0.3),), ()),
    ),
)
TESTED = Faithfulness(
    "Keys", "lock, Key", "", 0.9, False, 2,
    (Removal((Word("key", 6, 9, "word", (4, 5)),), 0.25, (0.0, 0.125)),), 0,
)  # fmt: skip


def read(found: page.Page) -> str:
    """What a reader sees."""
    source = re.sub(r"<script.*?</script>", " ", page.fragment(found), flags=re.S)
    return " ".join(re.sub(r"<[^>]+>", " ", source).split())


def test_a_hit_is_explained_with_choices_that_keep_the_question() -> None:
    source = page.fragment(why(replace(by_hand(), n_layers=6), HIT, ASKED, by="token"))
    assert '<option value="token" selected>tokens</option>' in source
    assert '<option value="3" selected>layer 3, the middle</option>' in source
    assert source.count("<option") == 2 + 7
    for name, value in (("index", "notes"), ("q", "the &lt;key&gt;"), ("without", "b"), ("passage", "12")):
        assert f'<input type="hidden" name="{name}" value="{value}">' in source
    again = "weight=0.5&amp;without=a&amp;without=b&amp;passage=12&amp;by=token&amp;layer=3&amp;check=1"
    assert f'href="/explain?index=notes&amp;q=the+%3Ckey%3E&amp;{again}"' in source
    assert (
        f'href="/documents/{HIT.document_id}?index=notes&amp;q=the+%3Ckey%3E&amp;weight=0.5&amp;without=a&amp;without=b&amp;passage=12"'
        in source
    )


def test_both_matrices_are_tables_where_they_are_asked_for() -> None:
    assert "<h3>" not in page.fragment(why(by_hand(), HIT, ASKED))
    said = read(why(by_hand(), HIT, ASKED, tables=True))
    assert "Contributions, which add up to 1.0000 Passage Keys [CLS] and [SEP]" in said
    assert "lock +0.07971 +0.07971" in said  # (8 + 14) / 276 of the word, (2 + 20) / 276 of what is none
    assert "Cosines at layer 3, which add up to nothing" in said and "lock 0.58 0.83" in said


def test_where_the_score_stands_is_said() -> None:
    hit = replace(HIT, score=0.5, percentile=99.0, random_pairs=2000)
    assert "Score 0.500, above 99 % of 2,000 random pairs" in read(why(by_hand(), hit, ASKED))


def test_what_a_test_of_the_explanation_found() -> None:
    said = read(why(by_hand(), HIT, ASKED, checked=TESTED))
    assert "What the cosine loses without the words that count most key \u22120.2500" in said
    assert "1 random: mean of 2, \u00b1 0.062 \u22120.0625" in said
    assert "too few words to tell" in said


def test_a_gap_is_split_by_word_with_both_signs() -> None:
    found = draw.contrast(COMPARED, ASKED)
    assert found.heading == "Why A stands above B"
    said = read(found)
    assert "+0.2500 gap of the scores, A less B = +0.2500 all lines below + 0.0e+00 residual" in said
    assert (
        "key +0.3750 +0.3750 with key +0.0000 the \u22120.1250 +0.0000 +0.1250 with lock sum +0.2500" in said
    )
    bars = re.findall(r'<rect class="(\w+)" x="([\d.]+)" width="([\d.]+)"', page.fragment(found))
    assert bars == [("plus", "100.0", "100.0"), ("minus", "66.7", "33.3")]
    turned = draw.contrast(replace(COMPARED, a=OTHER, b=HIT), ASKED)
    assert turned.heading == "Why B stands above A"
    assert draw.contrast(replace(COMPARED, b=HIT), ASKED).heading == "A and B have equal scores"


@pytest.mark.parametrize(
    ("changes", "heading", "said"),
    [
        ({"cause": "found"}, "It is among the hits", "It is among the first 3 hits"),
        (
            {"cause": "lower", "contrast": COMPARED, "last": HIT},
            "Why it is not among the hits",
            "What it lacks against the last hit +0.2500 gap of the scores, last less it",
        ),
        (
            {"cause": "not indexed", "reason": "empty", "hit": None},
            "Why it is not among the hits",
            "nothing in it to find",
        ),
    ],
)
def test_where_a_document_stands(changes: dict[str, Any], heading: str, said: str) -> None:
    shares = (Share("key", "word", 4, 7, 0.5, (Partner("lock", 0.1),)),)
    standing = WhyNot("the key", "keys.md", 3, 3, 20, "found", hit=OTHER, shares=shares)
    found = draw.why_not(replace(standing, **changes), ASKED)
    assert found.heading == heading and said in read(found)
    assert "keys.md" in read(found)
    if standing.hit is not None and changes["cause"] != "not indexed":
        assert "key with lock +0.5000" in read(found)


def test_documents_are_chosen_by_id() -> None:
    named = [NamedDocument(7, "a <b>.md", "Of & on")]
    source = page.fragment(draw.choice("a <", named, 50, ASKED))
    way = "/why-not?index=notes&amp;q=the+%3Ckey%3E&amp;weight=0.5&amp;without=a&amp;without=b&amp;document=7"
    assert (
        f'<a href="{way}"><bdi>a &lt;b&gt;.md</bdi></a> <span class="faint"><bdi>Of &amp; on</bdi></span>'
        in source
    )
    assert 'name="name" value="a &lt;"' in source and ">1 document<" in source
    assert "type more of the name" in read(draw.choice("a", named, 1, ASKED))
    assert "No document of the index has that" in read(draw.choice("zz", [], 50, ASKED))


def test_every_text_is_inert() -> None:
    hit = replace(HIT, path=f"/{EVIL}", title=EVIL, heading=EVIL, text=EVIL)
    words = (Difference(EVIL, "word", 0, 3, 0.5, 0.25, (Partner(EVIL, 0.1),), (Partner(EVIL, 0.1),)),)
    compared = Contrast(EVIL, hit, hit, words)
    shares = (Share(EVIL, "word", 0, 3, 0.5, (Partner(EVIL, 0.1),)),)
    standing = WhyNot(
        EVIL, EVIL, 3, 3, 20, "copy", detail=EVIL, hit=hit, last=hit, contrast=compared, shares=shares
    )
    evil_why = replace(by_hand(), query=EVIL, passage=EVIL, context=EVIL, pooling=EVIL)
    tested = replace(TESTED, removals=(Removal((Word(EVIL, 0, 3, "word", (1, 2)),), 0.25, (0.0,)),))
    asked = {"index": EVIL, "q": EVIL, "where": EVIL}
    for found in (
        why(evil_why, hit, asked, tables=True, checked=tested),
        draw.contrast(compared, asked),
        draw.why_not(standing, asked),
        draw.choice(EVIL, [NamedDocument(1, EVIL, EVIL)], 50, asked),
    ):
        source = page.document(found, page.Site("/explain", EVIL))
        source.encode()
        parsed = Parsed(source)
        data = sum(attributes.get("type") == "application/json" for _, attributes in parsed.elements)
        assert parsed.count("script") == data + sum(name.endswith(".js") for name in ("page.js", *found.uses))
        assert parsed.count("img") == parsed.count("iframe") == parsed.count("style") == 0
        names = [name for _, attributes in parsed.elements for name in attributes]
        assert not [name for name in names if name.startswith("on") or name == "style"]
        links = [attributes["href"] or "" for tag, attributes in parsed.elements if tag == "a"]
        assert all(re.match(r"[/#]", one) for one in links)
        assert not {"\x1b", "\u202e", "\u2066"} & set(re.sub(r'value="[^"]*"', "", source))
