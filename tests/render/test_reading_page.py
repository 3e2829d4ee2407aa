"""The page of a document: what is shown of it, and how its hits are linked."""

import re
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser
from typing import Any

import pytest

from search.records.contents import DocumentText, Gap, StoredPassage
from search.records.explanations import Highlight
from search.records.hits import Hit
from search.records.options import Ranking
from search.render.page.document import document as whole_page
from search.render.page.hits import Asked, Marked
from search.render.page.reading import AFTER, BEFORE, index_changed, reading

HOSTILE = (
    '</pre></div><script>alert(1)</script><img src=x onerror=alert(1)> " onclick="x" \u202e \x1b[31m &lt;'
)
ASKED = Asked("notes", "the key", generation=7)


class Attributes(HTMLParser):
    """The names of all attributes of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.update(name for name, _ in attrs)


def passage(number: int, text: str, start: int, **more: Any) -> StoredPassage:
    told: dict[str, Any] = {"heading": "", "line_start": number, "line_end": number + text.count("\n")}
    return StoredPassage(
        passage_id=number, document_id=3, path="/notes/keys.md", document="keys.md", title="Keys", text=text,
        start=start, end=start + len(text), **(told | more),
    )  # fmt: skip


def made(*passages: StoredPassage, kind: str = "markdown", **more: Any) -> DocumentText:
    told: dict[str, Any] = {"title": "Keys", "metadata": {}, "changed": "", "gaps": (), "text": ""}
    return DocumentText(3, 7, "keys.md", "/notes/keys.md", kind, passages=passages, **(told | more))


def hit(one: StoredPassage, rank: int, *marks: Highlight) -> Marked:
    return Marked(
        Hit(**vars(one), rank=rank, score=0.5, cosine=0.5, lexical=0.5, ranking=Ranking.of()), marks
    )


def test_lines_headings_and_markup() -> None:
    text = "# Keys\nturn **the** key\n```\n# Keys\n```\n## Find"
    hidden = ((0, 2), (12, 14), (17, 19), (39, 42))
    page = reading(ASKED, made(passage(4, text, 0, heading="Keys", hidden=hidden)))
    assert re.findall(r'<(\w+) class="line( mono)?" data-n="(\d+)"', page.body) == [
        ("h2", "", "4"), ("span", "", "5"), ("span", " mono", "6"), ("span", " mono", "7"), ("span", " mono", "8"),
        ("h3", "", "9"),
    ]  # fmt: skip
    assert '<h2 class="line" data-n="4" dir="auto">Keys</h2>' in page.body
    assert 'turn <span class="faint">**</span>the<span class="faint">**</span> key' in page.body


def test_code_keeps_its_indentation_and_pages_are_named() -> None:
    one, two = passage(1, "def a():", 0), passage(3, "return 1\n    # no", 14)
    gaps = (Gap(8, 14, 2, True),)
    page = reading(Asked(), made(one, two, kind="code", gaps=gaps, text="def a():\n\n    return 1\n    # no"))
    shown = unescape(re.sub("<[^>]+>", "", page.body.partition('class="reading">')[2]))
    assert "def a():" in shown
    assert "    return 1" in shown
    assert page.body.count("<pre>") == 2
    assert re.findall(r'data-n="(\d+)"', page.body) == ["1", "2", "3", "4"]
    assert "is not in the index" not in page.body
    unknown = made(one, two, kind="html", gaps=(Gap(8, 14, None, False),))
    assert '</div>\n<span class="line"></span><div' in reading(Asked(), unknown).body
    assert "is not in the index" in reading(Asked(), unknown).body
    slides = made(
        passage(1, "a", 0, page=1), passage(2, "b", 2, page=1), passage(3, "c", 4, page=2), kind="pptx"
    )
    page = reading(Asked(), slides, 3)
    assert re.findall(r'<h2 class="page">([^<]+)', page.body) == ["Slide 1", "Slide 2"]
    assert "data-n" not in page.body
    assert "keys.md slide 2" in page.about


def test_hits_are_marked_and_linked_to_each_other() -> None:
    passages = [passage(number, "turn the key", 20 * number) for number in range(1, 5)]
    found = [hit(passages[2], 1, Highlight(5, 8, 0.2)), hit(passages[0], 9), hit(passages[3], 0)]
    page = reading(ASKED, made(*passages), 3, found, 30)
    assert re.findall(r'<div class="([^"]+)" id="(p\d)"', page.body) == [
        ("read is-hit", "p1"), ("read", "p2"), ("read is-hit is-here", "p3"), ("read is-hit", "p4"),
    ]  # fmt: skip
    assert re.findall(r'class="(next|previous)" href="(#p\d)"', page.body) == [
        ("next", "#p3"), ("previous", "#p1"), ("next", "#p4"), ("previous", "#p3"),
    ]  # fmt: skip
    assert page.body.count("<mark") == 1
    assert 'turn <mark class="l9">the</mark> key' in page.body
    assert "2 of the 30 best passages for <q><bdi>the key</bdi></q> in this document" in page.body
    assert "line 3, rank 1" in page.body
    assert "/explain?index=notes&amp;q=the+key&amp;generation=7&amp;passage=3" in page.body
    assert 'data-passage="3"' in page.body
    nothing = reading(Asked("notes"), made(*passages))
    assert "<mark" not in nothing.body
    assert "hit" not in nothing.body


def test_of_a_long_document_a_part_is_shown_with_the_ways_to_the_rest() -> None:
    passages = [passage(number, "x" * 999, 1000 * number) for number in range(1, 5001)]
    found = [hit(passages[at], at) for at in (9, 2500, 4000)]
    document = made(*passages)
    page = reading(ASKED, document, 2501, found)
    shown = [int(number) for number in re.findall(r'id="p(\d+)"', page.body)]
    assert shown == list(range(2501 - BEFORE // 999, 2501 + AFTER // 999 + 1))
    assert len(whole_page(page)) < 200_000
    assert f"Passages {shown[0]:,} to {shown[-1]:,} of 5,000 are shown" in page.body
    assert (
        'class="next" href="/documents/3?index=notes&amp;q=the+key&amp;generation=7&amp;passage=4001#p4001"'
        in page.body
    )
    seen = set(shown)
    while later := re.search(r'passage=(\d+)#p\d+">Later<', page.body):
        page = reading(ASKED, document, int(later[1]), found)
        seen |= {int(number) for number in re.findall(r'id="p(\d+)"', page.body)}
    page = reading(ASKED, document, 2501, found)
    while earlier := re.search(r'passage=(\d+)#p\d+">Earlier<', page.body):
        page = reading(ASKED, document, int(earlier[1]), found)
        seen |= {int(number) for number in re.findall(r'id="p(\d+)"', page.body)}
    assert seen == set(range(1, 5001))


def test_markup_of_a_megabyte_is_not_shown_whole() -> None:
    text = f"![key](data:{'A' * 1_000_000}) turn"
    page = reading(Asked(), made(passage(1, text, 0, hidden=((0, 2), (5, 5 + 1_000_008)))))
    assert len(page.body) < 2_000
    assert "(1,000,008 characters)" in page.body
    assert " turn" in page.body


@pytest.mark.parametrize("kind", ["markdown", "code", "pdf", "csv"])
def test_text_stays_text(kind: str) -> None:
    one = passage(1, HOSTILE, 0, heading=HOSTILE, hidden=((0, 6),), annotations={"a": HOSTILE})
    document = made(one, kind=kind, title=HOSTILE, metadata={HOSTILE: [HOSTILE]}, changed="changed")
    document = replace(document, document=HOSTILE, path=f"/{HOSTILE}")
    asked = Asked(HOSTILE, HOSTILE, where=HOSTILE, without=(HOSTILE,))
    page = reading(asked, document, 1, [hit(one, 1, Highlight(3, 9, 0.5), Highlight(5, 10**9, -0.2))])
    for made_page in (whole_page(page), whole_page(index_changed(asked, 3, 1))):
        assert "<script>alert" not in made_page
        assert "<img" not in made_page
        attributes = Attributes()
        attributes.feed(made_page)
        assert not [name for name in attributes.found if name.startswith("on") or name == "style"]
        assert "\u202e" not in made_page
        assert "\x1b" not in made_page
    assert "The file has changed since it was indexed" in page.body


def test_a_link_to_another_state_has_ways_on() -> None:
    page = index_changed(ASKED, 5, 12)
    assert "The index has changed" in page.body
    assert re.findall(r'href="([^"]+)"', page.body) == [
        "/documents/5?index=notes&amp;q=the+key&amp;generation=7&amp;passage=12#p12",
        "/?index=notes&amp;q=the+key&amp;generation=7",
    ]
    assert re.findall(r'href="([^"]+)"', index_changed(Asked("notes"), None, 12).body) == ["/?index=notes"]
