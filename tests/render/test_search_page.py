"""The search page: hits as they are read and shaded, links that hold the state, filters that are narrowed down."""

import re
from dataclasses import replace

import pytest

from search.ranking.where import parse
from search.records.contents import Facet, FacetValue, StoredFile
from search.records.explanations import Highlight
from search.records.hits import Hit
from search.records.options import Ranking
from search.render.page.hits import Asked, Marked, listed, passage
from search.render.page.search import Found, search, toggled
from tests.render.test_render import HIT


def hidden(text: str, markup: str) -> Hit:
    """A hit of Markdown, in which all that a pattern finds is markup."""
    spans = tuple(found.span() for found in re.finditer(markup, text, re.MULTILINE))
    return replace(HIT, text=text, hidden=spans, file=StoredFile("markdown"), heading="")


def read(hit: Hit, *marks: Highlight) -> str:
    return passage(Marked(hit, marks), 1.0).split(">", 1)[1].removesuffix("</p>")


def test_hits_that_were_looked_at_again_say_so_to_the_script() -> None:
    assert "data-reranked" not in listed(Asked("a", "key"), [Marked(HIT)])
    assert "data-reranked" in listed(
        Asked("a", "key"), [Marked(replace(HIT, ranking=Ranking.of(rerank="late"), reranked=0.5))]
    )


def test_a_passage_is_shown_as_it_is_read() -> None:
    def shown(text: str) -> str:
        return read(hidden(text, r"^## |\*|\[|\]\(a\.md\)|^- |^\|---\|---\|$|\|"))

    assert (
        shown("## Turn\n\nThe *lock*\nturns. See [doors](a.md).") == "<b>Turn</b>\nThe lock turns. See doors."
    )
    assert shown("Do:\n\n- one\n  more\n- two") == "Do:\n\n\u2022 one more\n\u2022 two"
    assert shown("| a | b |\n|---|---|\n| c | d |") == "a \u2502 b\nc \u2502 d"


def test_code_is_shown_as_it_stands() -> None:
    assert (
        read(replace(HIT, text="if a:\n    b < c", file=StoredFile("code"), heading=""))
        == "if a:\n    b &lt; c"
    )


def test_what_counts_is_shaded_by_what_it_added_and_what_hardly_counts_is_not() -> None:
    hit = replace(HIT, text="turn the lock now", heading="")
    marks = (Highlight(0, 4, 1.0), Highlight(5, 8, 0.1), Highlight(9, 13, -0.5))
    assert read(hit, *marks) == '<mark class="l9">turn</mark> the <mark class="l4 minus">lock</mark> now'


def test_a_long_passage_is_cut_to_where_its_marks_are_and_stays_there() -> None:
    text = "\n".join(
        f"Line {number} says this and that of the other side of the door." for number in range(40)
    )
    hit, at = replace(HIT, text=text, heading=""), text.index("Line 30")
    words = (Highlight(at, at + 4, 0.5),)
    assert "</mark> 30" in read(hit, *words) and "Line 0 " not in read(hit, *words)
    assert read(hit, *words).startswith("\u2026 ") and read(hit, *words).endswith(" \u2026")
    everything = [Highlight(0, 4, 0.9), *words]
    assert "</mark> 30" in passage(Marked(hit, everything, words), 1.0)


def test_text_of_documents_stays_text() -> None:
    bad = "<script>alert(1)</script>\" onclick='x' \u202e"
    hit = replace(HIT, text=bad, title=bad, heading=bad, path=f"/{bad}", document=bad, document_id=3)
    page = listed(Asked("a", bad), [Marked(hit, (Highlight(2, 9, 1.0),))])
    assert "<script" not in page and "\u202e" not in page
    assert set(re.findall(r"<(\w+)", page)) <= set("ol li h2 span a bdi p mark svg rect b button".split())
    assert re.findall(r'data-path="([^"]*)"', page) == [
        "/%3Cscript%3Ealert%281%29%3C/script%3E%22%20onclick%3D%27x%27%20%E2%80%AE"
    ]


def test_links_say_all_that_was_asked_and_nothing_that_is_as_by_default() -> None:
    asked = Asked("a", "key & lock", mode="hybrid", weight=0.0, where="kind=pdf", without=("key", "lock"))
    assert asked.link("/") == (
        "/?index=a&amp;q=key+%26+lock&amp;weight=0.0&amp;without=key&amp;without=lock&amp;where=kind%3Dpdf"
    )
    assert Asked("a").link("/", passage=3) == "/?index=a&amp;passage=3"


@pytest.mark.parametrize("where", ["", "kind=pdf", "kind=pdf or lang=de", "(a=1 or b=2) and c=3"])
def test_a_condition_comes_and_goes(where: str) -> None:
    more, was_set = toggled(where, "tags=door")
    parse(more)
    assert not was_set
    assert toggled(more, "tags=door") in ((where, True), (f"({where})", True))


def test_a_condition_goes_from_the_middle() -> None:
    assert toggled("kind=pdf and tags=door and lang=de", "tags=door") == ("kind=pdf and lang=de", True)
    for where in ('tags="a and tags=door and b"', "(kind=pdf and tags=door) or tags=lock", "not tags=door"):
        assert not toggled(where, "tags=door")[1]


@pytest.mark.parametrize(
    ("where", "condition", "then"),
    [
        ("Status=Final", "Status=Rejected", "(Status=Final or Status=Rejected)"),
        (
            "kind=rst and (Status=Final or Status=Rejected)",
            'Status="Not yet"',
            'kind=rst and (Status=Final or Status=Rejected or Status="Not yet")',
        ),
        ("(Status=Final or Status=Rejected) and kind=rst", "Status=Final", "Status=Rejected and kind=rst"),
        ("path:a/**", "path:b/**", "(path:a/** or path:b/**)"),
        ('"a or b"=1 and "a or b"', '"a or b"=2', '("a or b"=1 or "a or b"=2) and "a or b"'),
    ],
)
def test_values_of_one_field_are_alternatives(where: str, condition: str, then: str) -> None:
    assert toggled(where, condition)[0] == then


def test_facets_write_the_filter_and_take_it_back() -> None:
    values = (FacetValue("pdf", 1200, "kind=pdf"), FacetValue("text", 3, "kind=text"))
    facets = (Facet("kind", 1203, values, 2),)
    page = search(Asked("a", "key", where="kind=pdf"), ("a",), Found(1, facets=facets)).body
    assert 'data-where="" aria-current="true"><bdi>pdf</bdi></a> <span class="faint">1,200</span>' in page
    assert 'data-where="(kind=pdf or kind=text)"' in page and "and 2 more" in page


def test_the_form_holds_the_state() -> None:
    chosen = {
        "mode": "lexical",
        "where": "kind=pdf",
        "since": "7d",
        "k": 5,
        "per_document": 0,
        "without": ("b",),
    }
    asked = Asked("b", 'a "b"', 4, **chosen)
    page = search(asked, ("a", "b"), Found(5, words=("a", "b"), without=("b",))).body
    for part in (
        'value="a &quot;b&quot;"', '<option value="b" selected>', '<option value="lexical" selected>',
        'name="where" value="kind=pdf"', 'name="since" value="7d"', 'value="5"', '<details class="limits" open>',
        'value="b" checked>',
    ):  # fmt: skip
        assert part in page
    assert "generation 4, now 5" in page
    assert "No passage that passes the filter has a word of the query." in page
