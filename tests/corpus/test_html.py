from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from .conftest import outline, parsed, parsed_text

PAGE = """\
<!doctype html>
<html><head><title>My
 page</title><meta name=Description content="About  it"><meta name=robots content=none>
<style>p { color: red }</style></head>
<body>
<nav><a href=x>Home</a> <a>Two</a></nav>
<h1>Top <em>one</em></h1>
<p>Some text &amp; more
spread   over lines<br>broken<br><br>twice</p>
<h3>Deep</h3><ul><li>alpha<li>beta</ul>
<table><tr><td>1</td><td>2</td></tr><tr><td>3<td>4</table>
<pre>
  kept
    as is
</pre>after a no-break&nbsp;space
<script>no()</script><div hidden>no</div><p style="display: none">no</p><noscript>no</noscript>
<template><p>no</p></template><svg><title>no</title><text>no</text></svg>
<h1></h1><h2>Last</h2>
</body></html>"""

SECTIONS = [
    (("Top one",), "Top one\n\nSome text & more spread over lines\nbroken\n\ntwice"),
    (
        ("Top one", "Deep"),
        "Deep\n\nalpha\nbeta\n\n1\t2\n3\t4\n\n  kept\n    as is\n\nafter a no-break\xa0space",
    ),
    (("Top one", "Last"), "Last"),
]


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_sections_have_the_visible_text_and_its_lines(tmp_path: Path, line_end: str) -> None:
    document = parsed(tmp_path, "page.html", PAGE.replace("\n", line_end))
    assert (document.title, document.metadata) == ("My page", {"description": "About it"})
    assert [(trail, text.rstrip("\n")) for trail, text in outline(document)] == SECTIONS
    lines = PAGE.split("\n")
    for word in re.finditer(r"[\w-]+", document.text):
        first, last = document.lines.span(*word.span())
        assert first == last
        assert word[0] in lines[first - 1]


@given(
    st.lists(
        st.sampled_from(
            ["<p>", "</p>", "<pre>", "</pre>", "<b>", "</b>", "\n", " ", "<br>", "&lt;", "<td>"]
        )
    )
)
def test_words_amid_any_markup_have_their_line(parts: list[str]) -> None:
    source, words = "", []
    for number, part in enumerate(parts):
        words.append((f"w{number}x", source.count("\n") + 1))
        source += f"w{number}x{part}"
    source += "end"
    document = parsed_text("html", source)
    for word, line in words:
        start = document.text.index(word)
        assert document.lines.span(start, start + len(word)) == (line, line)


def test_preformatted_text_is_kept_verbatim(tmp_path: Path) -> None:
    document = parsed(tmp_path, "a.html", "<p>x</p><pre>\n\n a\tb  c\n\n\n  <b>d</b>\n</pre>")
    assert document.text == "x\n\n\n a\tb  c\n\n\n  d"
    assert document.lines.span(document.text.index("d"), len(document.text)) == (6, 6)


def test_a_page_without_a_title_element_takes_its_heading_or_its_name(tmp_path: Path) -> None:
    assert parsed(tmp_path, "a.html", "<h2>Two</h2><h1>One</h1>").title == "One"
    assert parsed(tmp_path, "page.html", "text").title == "page"


@pytest.mark.parametrize("tag", ["div", "b", "ul", "table"])
def test_elements_may_be_nested_without_limit(tmp_path: Path, tag: str) -> None:
    assert parsed(tmp_path, "a.html", f"<{tag}>" * 20_000 + "word").text == "word"


def test_processing_instructions_are_no_text(tmp_path: Path) -> None:
    page = (
        '<?xml version="1.0"\nencoding="utf-8"?>\n<!DOCTYPE html>\n<p>One<?php echo 1 ?></p>\n<p>Two</p>'
    )
    document = parsed(tmp_path, "a.xhtml", page)
    assert document.text == "One\n\nTwo"
    assert document.lines.span(0, 3) == (4, 4)
    assert document.lines.span(5, 8) == (5, 5)


MENU = "".join(
    f"<li><a href={n}.html>{word} page of this site</a></li>" for n, word in enumerate("abcdef")
)
SURROUNDINGS = [
    "<nav>A search form with more words than links have: in every page of this site {}</nav>".replace(
        "{}", "<p>of which it has so many that nobody can say how many there are</p>" * 3 + "{}"
    ),
    "<header><p>{}</header>",
    "<div role=contentinfo>words of no link {}</div>",
    "<div class=menu><ul>{}<li><a href=https://other.site>another site</a></ul></div>",
]


@pytest.mark.parametrize("around", SURROUNDINGS)
def test_menus_headers_and_footers_are_set_apart(tmp_path: Path, around: str) -> None:
    page = (
        f"<p>one</p>{around.format(MENU)}<main><p>two <a>three</a></p><ul><li>x<li><a>y</a></ul></main>"
    )
    document = parsed(tmp_path, "a.html", page)
    part = document.text[slice(*document.apart)]
    assert part.split() == parsed(tmp_path, "b.html", around.format(MENU)).text.split()


def test_lists_with_other_words_are_not_set_apart(tmp_path: Path) -> None:
    document = parsed(tmp_path, "a.html", f"<ul>{MENU}<li>and one word</ul><p>see <a>this</a></p>")
    assert document.apart == ()


def test_a_list_mostly_of_very_many_links_is_navigation(tmp_path: Path) -> None:
    def items(count: int, words: str) -> str:
        return "".join(f"<li>{words} <a href={n}.html>page {n}</a>" for n in range(count))

    keywords = f"<h1>Keywords</h1><p>All of them</p><ul>{items(60, 'key')}</ul>"
    document = parsed(tmp_path, "a.html", keywords)
    assert [text.strip() for _, text in outline(document)] == ["Keywords\n\nAll of them"]
    assert "page 7" in document.text
    for other in (
        items(40, "key"),
        items(60, "what it says of the key"),
        f"{items(60, 'key')}<li><a href=https://a.b>c</a>",
    ):
        document = parsed(tmp_path, "b.html", f"<p>one</p><ul>{other}</ul>")
        assert document.apart == () and "page 7" in "".join(text for _, text in outline(document))


@pytest.mark.parametrize(
    "around",
    [
        "<nav><h2>Menu</h2><ul>{}</ul></nav>",
        "<div role=navigation><h3>Menu</h3>{}</div>",
        "<div class=toc><ul>{}</ul></div>",
    ],
)
def test_navigation_is_in_no_passage(tmp_path: Path, around: str) -> None:
    page = f"<h1>Keys</h1><p>one{around.format(MENU)}<p>two<h2>Locks</h2>{around.format(MENU)}"
    document = parsed(tmp_path, "a.html", page)
    assert [(trail, text.strip()) for trail, text in outline(document)] == [
        (("Keys",), "Keys\n\none"),
        (("Keys",), "two"),
        (("Keys", "Locks"), "Locks"),
    ]
    assert document.text.count("a page of this site") == 2
    assert "page" in outline(parsed(tmp_path, "menu.html", around.format(MENU)))[0][1]


def test_permalinks_are_no_text(tmp_path: Path) -> None:
    page = "<h1>Keys<a class=headerlink href='#keys'>\u00b6</a></h1><p>See <a>C #</a> \u00b6 2"
    document = parsed(tmp_path, "a.html", page)
    assert (document.title, document.text) == ("Keys", "Keys\n\nSee C # \u00b6 2")


def test_a_term_begins_a_paragraph(tmp_path: Path) -> None:
    document = parsed(tmp_path, "a.html", "<dl><dt>-a<dd>All of them.<dt>-b<dd><p>None.</dl>")
    assert document.text == "-a\n\nAll of them.\n\n-b\n\nNone."


def test_a_declared_charset_beats_the_guess(tmp_path: Path) -> None:
    document = parsed(tmp_path, "a.html", "<meta charset=cp866><p>При".encode("cp866"))
    assert document.text == "При"
