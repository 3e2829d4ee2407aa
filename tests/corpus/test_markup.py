"""Markup that is hidden, format by format; nothing that a reader sees is lost."""

from __future__ import annotations

import base64
import random
import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from search.corpus.markup import markup
from search.corpus.parsing import MARKUP_KINDS
from search.corpus.text import file_document
from search.records.documents import ParsedDocument, Section
from search.records.visible_text import VisibleText

from .conftest import parsed, parsed_text

MARKDOWN = {
    "# A *bold* `co de` heading #\n": "A bold co de heading\n",
    "Two **lines\nof** it\n===\n": "Two lines\nof it\n\n",
    "un**frigging**real snake_case 2 * 3 * 4 a_b_c C++ **ptr |x| \\* \\a": (
        "unfriggingreal snake_case 2 * 3 * 4 a_b_c C++ **ptr |x| * \\a"
    ),
    '[link *text*](http://x.y/z "title") ![alt **x**](p.png) <http://a.b> [ref][1] [no ref]\n\n[1]: x\n  "T"\n': (
        "link text alt x http://a.b ref [no ref]\n\n\n"
    ),
    "![x](data:image/png;base64,AAAA)": "x",
    "a<br>b <b>c</b>d x <!-- no -->": "a>b cd x ",
    "> quote *a*\n> > deeper\nlazy\n": "quote a\ndeeper\nlazy\n",
    "> [!note]- Title\n> text\n": "note Title\n text\n",
    "- [x] done\n- `a`\n\n1. ```py\n   *x* [a](b)\n   ```\n": "done\na\n\n\n   *x* [a](b)\n\n",
    "    *code* [a](b)\n": "    *code* [a](b)\n",
    "~~~ruby\n# *x*\n~~~\n---\n": "\n# *x*\n\n\n",
    "| a | b \\| c |\n|:--|---|\n|1|*2*|\n": " a  b | c \n\n1|2\n",
    "[[page|shown]] [[page]] ![[a.png]] ![[a.png|300]] ![[note]] %%no%% 5%% e ^abc1": "shown page   note  5%% e ",
    "text[^1]\n\n[^1]: Note *one*.\n": "text\n\n Note one.\n",
    '<div class="a">\n<p>Para</p><script>x()</script>\n</div>\n': "\nPara\n\n",
}
RST = {
    "=====\n Top\n=====\n\nSub *x*\n-------\n\n::\n\n  *code*\n\n----\n": (
        "\n Top\n\n\nSub x\n\n\n\n\n  *code*\n\n\n"
    ),
    "*a* **b** ``c *d*`` `e <http://f.g>`_ `h`_ [1]_ [#j]_ snake_case 2 * 3 * 4 **kw \\*no\\* `k`": (
        "a b c *d* e h   snake_case 2 * 3 * 4 **kw *no* k"
    ),
    "re\\ `x`\\s :pep:`8` :class:`~b.C` :ref:`two\nwords <d>`\n\n.. _name: http://e\n": (
        "rexs pep:8 b.C two\nwords\n\n\n"
    ),
    ".. [1] A *note*\n   more\n.. |k| replace:: *l*\n": " A note\n   more\n l\n",
    ".. note:: *Careful*\n   :class: x\n\n   - a::\n\n       *code*\n\n     *b*\n": (
        "note Careful\n   class x\n\n    a:\n\n       *code*\n\n     b\n"
    ),
    ".. code-block:: py\n\n   x = *y*\n\n   z\n\n..\n   no\n\nText\n": "\n\n   x = *y*\n\n   z\n\n\nText\n",
    ":param x: the *value*\n\n| *b*\n| c\n\n1. d\n2. e\n": "param x the value\n\n| b\n| c\n\n d\n e\n",
    "+-----+------+\n| *a* | b|c  |\n+=====+------+\n": "\n a  b|c  \n\n",
    "====  ===\n a    *b*\n====  ===\n1     2\n====  ===\n": "\n a    b\n\n1     2\n\n",
}
TEXT = {
    "Title\n=====\n\n---\n  *****\n-- x\n" + "a" * 300: "Title\n\n\n---\n\n-- x\n" + "a" * 300,
}
CODE = {"# ------\n/* ***** */\nx = 1  # ====\n#####\n": "\n\nx = 1  # ====\n\n"}
CASES = {"markdown": MARKDOWN, "rst": RST, "text": TEXT, "code": CODE}


def visible_text(document: ParsedDocument) -> str:
    """A document's text without its markup."""
    spans, previous = markup(document), -1
    for start, end in spans:
        assert previous < start < end <= len(document.text)
        previous = end
    return VisibleText(document.text, spans).text


def document_of(kind: str, text: str) -> ParsedDocument:
    if kind not in MARKUP_KINDS:
        return file_document("name", kind, text, "", sections=(Section(0, len(text)),))
    return parsed_text(kind, text)


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize(("kind", "text"), [(kind, text) for kind in CASES for text in CASES[kind]])
def test_the_visible_text_is_what_a_reader_sees(kind: str, text: str, line_end: str) -> None:
    document = document_of(kind, text.replace("\n", line_end))
    assert re.sub("\r\n?", "\n", visible_text(document)) == CASES[kind][text]


def test_a_text_that_another_process_parsed_has_its_marks(tmp_path: Path) -> None:
    text = "# A *b*\n\n" + "c **d** [e](f)\n\n" * 5_000
    assert visible_text(parsed(tmp_path, "long.md", text)) == "A b\n\n" + "c d e\n\n" * 5_000


@pytest.mark.parametrize("kind", ["text", "code"])
def test_overstruck_text_and_colours_are_plain_text(kind: str) -> None:
    text = "C\bCr\bre\bed\bdits\n_\bu_\bs_\be it, b\bb\bbold\n\x1b[1;31mred\x1b[0m lines\n"
    assert visible_text(document_of(kind, text)) == "Credits\nuse it, bold\nred lines\n"


def test_base64_data_is_hidden() -> None:
    data = base64.b64encode(random.Random(1).randbytes(300)).decode()
    assert visible_text(document_of("text", f"a data:image/png;base64,{data} b\n{data}\n")) == "a  b\n\n"


PIECES = st.sampled_from(
    "a|b|*| |  |    |**|_|`|```|~~~|~~|[|]|(|)|![|](x)|[[|]]|\\||\n|\n\n|\r\n|#|##|=|-|---|>|<|<b>|<!--|-->|&|&amp;|"
    "^|%|%%|[^1]|[^1]:|[y]:|:|+|\t|é|漢|a\\||-|-\n|::|..|.. note::|.. _a:|`a`_|===|+--+|====".split("|")
)


@pytest.mark.parametrize("kind", ["markdown", "rst"])
@given(st.lists(PIECES, max_size=40).map("".join))
@settings(max_examples=60, deadline=None)
def test_any_text_has_marks_in_order(kind: str, text: str) -> None:
    visible_text(document_of(kind, text))


UNITS = ["<", "[a](", "*a ", "`a\n", "a1B", "![", "<!--", "[[a|", ":a:`", ".. a::\n", " "]


@pytest.mark.parametrize("kind", ["text", "markdown", "rst"])
def test_repeated_marks_are_parsed_quickly(kind: str) -> None:
    for unit in UNITS:
        began = time.process_time()
        visible_text(document_of(kind, unit * (2**14 // len(unit))))
        assert time.process_time() - began < 2


@pytest.mark.parametrize(
    "path", sorted(Path("corpora/handbook").glob("*.md"))[::18], ids=lambda path: path.stem
)
def test_all_that_markdown_renders_is_shown(
    path: Path, parse: Callable[[str, bytes], ParsedDocument]
) -> None:
    """In the same order; and none of the marks of links, tables and headings is left."""
    document = parse("a.md", path.read_bytes())
    source = document.text[document.sections[0].start :]
    html = parse("a.html", MarkdownIt("commonmark").enable("table").render(source).encode())
    read = VisibleText(document.text, markup(document))
    body = read.text[read.visible_offset(document.sections[0].start) :]
    words = iter(re.findall(r"[^\W_]+", body))
    assert [word for word in re.findall(r"[^\W_]+", html.text) if word not in words] == []
    assert not re.search(r"\]\([\w./]+\)|\|--|^#{2}", body, re.MULTILINE)
