from __future__ import annotations

import datetime
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from search.corpus import markdown
from search.errors import ReadError
from search.records.visible_text import visible

from .conftest import ParsedDocument, outline, parsed

GUIDE = """\
---
title: "The: guide"
date: 2024-01-02
tags: [a, b]
---
Intro.

# A `code` *and* [link][1]

Setext **two
lines**
===
```
# fenced
```
    # indented
> # quoted

- # listed

#hashtag

Sub
---
### Deep ###

| a | b |
|---|---|
| 1 | 2 |

[1]: http://example.org
# Ünïcode 🚀
"""
TRAILS = [
    (),
    ("A code and link",),
    ("Setext two lines",),
    ("Setext two lines", "Sub"),
    ("Setext two lines", "Sub", "Deep"),
    ("Ünïcode 🚀",),
]


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_sections_follow_headings_and_front_matter_is_metadata(tmp_path: Path, line_end: str) -> None:
    source = GUIDE.replace("\n", line_end)
    document = parsed(tmp_path, "guide.md", source)
    assert (document.kind, document.title, document.text) == ("markdown", "The: guide", source)
    assert document.metadata == {
        "title": "The: guide",
        "date": "2024-01-02",
        "tags": ["a", "b", "hashtag"],
    }
    assert [section.trail for section in document.sections] == TRAILS
    starts = [document.lines.span(section.start, section.start + 1)[0] for section in document.sections]
    assert starts == [6, 8, 10, 23, 25, 32]
    assert document.sections[0].start == source.index("Intro.")
    assert "".join(text for _, text in outline(document)) == source[source.index("Intro.") :]


def test_a_title_is_that_of_the_front_matter_the_top_heading_or_the_file(tmp_path: Path) -> None:
    assert parsed(tmp_path, "a.md", "## Two\n\n# One\n").title == "One"
    assert parsed(tmp_path, "my notes.md", "## Two\n").title == "my notes"
    assert parsed(tmp_path, "b.md", "---\ntitle: 2024\n---\n# One\n").title == "2024"


@pytest.mark.parametrize(
    ("source", "links"),
    [
        (
            "[a](b.md) and [c](<d e.md#f> 'title') and [g](../h.md?i)",
            ["/sub/b.md", "/sub/d e.md", "/h.md"],
        ),
        ("[a](/b.md) [c](../../d%20e.md) [f](G)", ["/b.md", "/d e.md", "/sub/G"]),
        ("[[Note|shown]] [a](b.md) [a](b.md)", ["Note", "/sub/b.md"]),
        ("[a](Rome_(city).md) [b](MAILTO:a@b.c) [c](HTTP://x.y/z)", ["/sub/Rome_(city).md"]),
        ("![image](b.png) `[code](c.md)` [site](https://example.org/d.md) [mail](mailto:a@b.c)", []),
        ("[here](#part) [here](a.md) [folder](b/) [empty]() [c]", []),
    ],
)
def test_links_to_files_are_the_field_links(source: str, links: list[str]) -> None:
    assert markdown.document("sub/a.md", source).metadata.get("links", []) == links


def test_toml_front_matter_is_metadata(tmp_path: Path) -> None:
    document = parsed(tmp_path, "a.md", "+++\ntitle = 'T'\nday = 2024-05-06\n+++\nText\n")
    assert document.metadata == {"title": "T", "day": datetime.date(2024, 5, 6).isoformat()}
    assert outline(document) == [((), "Text\n")]


@pytest.mark.parametrize(
    "source",
    [
        "---\nno closing: fence\n",
        "---\n: [broken\n---\ntext\n",
        "---\njust words\n---\ntext\n",
        "---\n---\ntext\n",
        "---\n" + "a: &a [" * 3000 + "\n---\ntext\n",
        "text\n---\ntitle: late\n---\n",
    ],
)
def test_lines_that_are_no_front_matter_stay_text(tmp_path: Path, source: str) -> None:
    document = parsed(tmp_path, "a.md", source)
    assert document.metadata == {}
    assert "".join(text for _, text in outline(document)) == source


MERGES = "".join(f"a{n + 1}: &a{n + 1} {{<<: [*a{n}, *a{n}]}}\n" for n in range(14))
LEVELS = "".join(f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 9))
ODD = {
    "a bomb": f"---\na0: &a0 [lol]\n{LEVELS}---\n",
    "merges": f"---\na0: &a0 {{k: v}}\n{MERGES}---\n",
    "a base-60 number beyond floats": f"---\na: !!float 1{':1' * 200}.5\n---\n",
    "no integer": '---\na: !!int ""\n---\n',
    "no truth value": "---\na: !!bool maybe\n---\n",
    "no time": "---\na: !!timestamp never\n---\n",
    "a number that cannot be written": f"---\na: 0x{'f' * 5000}\n---\n",
    "the same in TOML": f"+++\na = 0x{'f' * 5000}\n+++\n",
    "a key with too many dots": f"+++\n{'a.' * 2000}a = 1\n+++\n",
    "deep lists": f"---\na: {'[' * 2000}\n---\n",
    "a long one": "---\n" + "a: b\n" * 25_000 + "---\n",
}


@pytest.mark.parametrize("name", ODD)
def test_odd_front_matter_stays_text_and_stops_nothing(tmp_path: Path, name: str) -> None:
    document = parsed(tmp_path, "a.md", ODD[name] + "text")
    assert document.metadata == {}
    assert document.sections[0].start == 0


def test_a_very_long_heading_is_shortened_in_the_trail(tmp_path: Path) -> None:
    words = "[a](" * 2000
    first, second = parsed(tmp_path, "a.md", f"# {words}\n\n## b\n\ntext\n").sections
    assert [len(part) for part in second.trail] == [500, 1]
    assert first.trail == (words[:500],)


def cell(kind: str, source: Any, *outputs: dict[str, Any]) -> dict[str, Any]:
    return {"cell_type": kind, "source": source, "outputs": list(outputs)}


def display_output(**data: Any) -> dict[str, Any]:
    return {
        "output_type": "display_data",
        "data": {name.replace("_", "/"): text for name, text in data.items()},
    }


CELLS = [
    cell(
        "markdown",
        ["# A *first* look\n", "\n", "At [data](http://x), ![p](attachment:p.png).\n\nSub\n---\n- one"],
    ),
    cell("raw", "left out"),
    cell(
        "code",
        "x = *y*\nprint(x)",
        {"output_type": "stream", "name": "stdout", "text": ["\x1b[31mred\x1b[0m\n", "line"]},
        display_output(text_plain="<Figure size 1x1>", image_png="iVBORw0KGgo" * 9_000),
        display_output(text_plain="a" * 3_000),
        {"output_type": "error", "ename": "ValueError", "evalue": "no", "traceback": ["long"]},
    ),
    cell("markdown", "## Last"),
    cell("code", ""),
]


def notebook(**parts: Any) -> bytes:
    return json.dumps(
        {"nbformat": 4, "metadata": {"language_info": {"name": "python"}}, **parts}
    ).encode()


def test_cells_are_pages_and_their_headings_sections(
    parse: Callable[[str, bytes], ParsedDocument],
) -> None:
    document = parse("a.ipynb", notebook(cells=CELLS))
    assert (document.kind, document.title, document.metadata) == (
        "notebook",
        "A first look",
        {"language": "python"},
    )
    trails = [section.trail for section in document.sections]
    assert trails == [("A first look",), ("A first look", "Sub"), ("A first look", "Last")]
    read = visible(document.text, list(zip(document.marks[::2], document.marks[1::2], strict=True)))
    assert read.split() == [
        *"A first look At data, p. Sub one x = *y* print(x) red line".split(),
        "a" * 2_000,
        *"ValueError: no Last".split(),
    ]
    assert [document.text[start : start + 9] for start in document.pages] == [
        "# A *firs", "~~~~~\nx =", "~~~~~\nx =", "## Last", "",
    ]  # fmt: skip


@pytest.mark.parametrize("raw", [b"no JSON", b"[" * 100_000, b"[]", notebook(), notebook(cells=[1])])
def test_a_malformed_notebook_is_damaged(failure: Callable[[str, bytes], ReadError], raw: bytes) -> None:
    assert failure("a.ipynb", raw).reason == "damaged"


def test_a_yaml_bomb_stays_text(tmp_path: Path) -> None:
    levels = "".join(f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 9))
    document = parsed(tmp_path, "a.md", f"---\na0: &a0 [lol]\n{levels}---\ntext\n")
    assert document.metadata == {}
    assert document.sections[0].start == 0


def test_a_heading_in_a_comment_is_no_heading(tmp_path: Path) -> None:
    document = parsed(tmp_path, "a.md", "# a\n\n<!--\n# d\n-->\n\nc\n")
    assert [section.trail for section in document.sections] == [("a",)]
