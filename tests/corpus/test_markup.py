from __future__ import annotations

import base64
import random
import re
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from docutils import nodes
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from search.corpus import html as html_reader
from search.corpus import markdown, rst
from search.corpus.markup import markup
from search.corpus.text import Decoded
from search.records.documents import Document, Section
from search.records.shown import Shown

from .conftest import parsed, shared

PARSERS = {"markdown": markdown.document, "rst": rst.document, "html": html_reader.document}
MARKDOWN = {
    "# A *bold* `co de` heading #\n": "A bold co de heading\n",
    "Two **lines\nof** it\n===\n": "Two lines\nof it\n\n",
    "un**frigging**real snake_case 2 * 3 * 4 a_b_c C++ **ptr |x| \\* \\a": (
        "unfriggingreal snake_case 2 * 3 * 4 a_b_c C++ **ptr |x| * \\a"
    ),
    '[link *text*](http://x.y/z "title") ![alt **x**](p.png) <http://a.b> [ref][1] [no ref]\n\n[1]: x\n  "T"\n': (
        "link text alt x http://a.b ref [no ref]\n\n\n\n"
    ),
    "![x](data:image/png;base64,AAAA)": "x",
    "a&nbsp;b R&amp;D caf&eacute; a<br>b <b>c</b>d x <!-- no -->": "a;b R&D cafe a>b cd x ",
    "> quote *a*\n> > deeper\nlazy\n": " quote a\n deeper\nlazy\n",
    "> [!note]- Title\n> text\n": " note Title\n text\n",
    "- [x] done\n- `a`\n\n  > in it\n\n1. ```py\n   *x* [a](b)\n   ```\n": (
        " done\n a\n\n in it\n\n\n   *x* [a](b)\n\n"
    ),
    "    *code* [a](b)\n": "    *code* [a](b)\n",
    "~~~ruby\n# *x*\n~~~\n---\n": "\n# *x*\n\n\n",
    "| a | b \\| c |\n|:--|---|\n|1|*2*|\n": " a  b | c \n\n1|2\n",
    "a\n\n%%\nb\n\n# c\n\n- d 5 % %%\n\ne\n\n```\n%%\nf\n\n%%\n```\n\n%% g\n\n%% h\n": (
        "a\n\n\n\ne\n\n\n%%\nf\n\n%%\n\n\n%% g\n\n%% h\n"
    ),
    "[[page|shown]] [[page]] ![[a.png]] ![[a.png|300]] ![[a.png|b]] ![[note]] %%no%% 5%% x[^1] [^a-z] e ^abc1": (
        "shown page   b note  5%% x[^1] [^a-z] e "
    ),
    "text[^1]\n\n[^1]: Note *one*.\n": "text\n\n Note one.\n",
    '<div class="a">\n<p>Para</p><script>x()</script>\n</div>\n': "\nPara\n\n",
}
RST = {
    "=====\n Top\n=====\n\nSub *x*\n-------\n\n::\n\n  *code*\n\n----\n": (
        "\n Top\n\n\nSub x\n\n\n\n\n  *code*\n\n\n"
    ),
    '*a* **b** ``c *d*`` `e <http://f.g>`_ `h`_ |i| [1]_ [#j]_ [Cit]_ snake_case 2 * 3 * 4 **kw "*" \\*no\\* `k`': (
        'a b c *d* e h i   Cit snake_case 2 * 3 * 4 **kw "*" *no* k'
    ),
    "name_ type_ re\\ `x`\\s :pep:`8` :rfc:`a <1>` :class:`~b.C` :ref:`two\nwords <d>`\n\n.. _name: http://e\n": (
        "name type_ rexs pep:8 a b.C two\nwords\n\n\n"
    ),
    ".. [1] A *note*\n   more\n.. [Cit] Cited\n.. |i| image:: j.png\n.. |k| replace:: *l*\n\n__ http://m\n": (
        " A note\n   more\nCit Cited\n\n l\n\n\n"
    ),
    ".. note:: *Careful*\n   :class: x\n\n   - a::\n\n       *code*\n\n     *b*\n": (
        "note Careful\n   \n\n    a:\n\n       *code*\n\n     b\n"
    ),
    ".. code-block:: py\n   :linenos:\n\n   x = *y*\n\n   z\n\n.. no\n   text\n\n   here\n\nText\n": (
        "\n   \n\n   x = *y*\n\n   z\n\n\n\nText\n"
    ),
    ".. other:: a *b*\n\n   *c*\n\n.. image:: d.png\n\n.. figure:: e.png\n   :alt: f\n   :width: 3\n\n   G\n": (
        " a b\n\n   c\n\n\n\n\n    f\n   \n\n   G\n"
    ),
    ":param x: the *value*\n    goes::\n\n      *on*\n\n>>> *a*\n\n| *b*\n| c\n\n1. d\n2. e\n\nA. Smith\nwrote\n": (
        "param x the value\n    goes:\n\n      *on*\n\n>>> *a*\n\n b\n c\n\n d\n e\n\nA. Smith\nwrote\n"
    ),
    "+-----+------+\n| *a* | b|c  |\n+=====+------+\n| d   | |e|  |\n+-----+------+\n": (
        "\n a  b|c  \n\n d    e  \n\n"
    ),
    "====  ===\n a    *b*\n====  ===\n1     2\n----  ---\n3     4\n====  ===\n": "\n a    b\n\n1     2\n\n3     4\n\n",
}
LINE_ENDS = ("\n", "\r\n", "\r")


def shown(document: Document) -> str:
    """A document's text without its markup."""
    spans, at = markup(document), -1
    for start, end in spans:
        assert at < start < end <= len(document.text)
        at = end
    return Shown(document.text, spans).text


def of(kind: str, text: str) -> Document:
    if kind in PARSERS:
        return PARSERS[kind]("name", Decoded(text, "utf-8"))
    return Decoded(text, "utf-8").document("name", kind, "", (Section(0, len(text)),))


@pytest.mark.parametrize("line_end", LINE_ENDS)
@pytest.mark.parametrize("text", MARKDOWN)
def test_markdown_shows_what_a_reader_sees(text: str, line_end: str) -> None:
    document = of("markdown", text.replace("\n", line_end))
    assert shown(document) == MARKDOWN[text].replace("\n", line_end)


def test_a_heading_in_a_comment_is_none() -> None:
    document = of("markdown", "# a\n\n%%\n# b\n\n%%\n\nc\n")
    assert [section.trail for section in document.sections] == [("a",)]


@pytest.mark.parametrize("line_end", LINE_ENDS)
@pytest.mark.parametrize("text", RST)
def test_restructured_text_shows_what_a_reader_sees(text: str, line_end: str) -> None:
    document = of("rst", text.replace("\n", line_end))
    assert shown(document) == RST[text].replace("\n", line_end)


def test_marks_of_a_text_that_another_process_parsed(tmp_path: Path) -> None:
    text = "# A *b*\n\n" + "c **d** [e](f)\n\n" * 5_000
    assert shown(parsed(tmp_path, "long.md", text)) == "A b\n\n" + "c d e\n\n" * 5_000


def test_rulers_and_data_in_any_text() -> None:
    data = base64.b64encode(random.Random(1).randbytes(300)).decode()
    assert shown(of("text", "Title\n=====\n\n---\n  *****\n-- x\n" + "a" * 300)) == (
        "Title\n\n\n---\n\n-- x\n" + "a" * 300
    )
    assert shown(of("code", "# ------\n/* ***** */\nx = 1  # ====\n#####\n")) == "\n\nx = 1  # ====\n\n"
    assert shown(of("text", f"a data:image/png;base64,{data} b\n{data}\n")) == "a  b\n\n"


@pytest.mark.parametrize("kind", ["docx", "xlsx", "epub", "html"])
def test_rulers_of_other_formats(kind: str) -> None:
    text = "A\n________\nb\n----\t----\nc\n* * * *\n\n* * *\n"
    document = replace(of("text", text), kind=kind)
    assert shown(document) == "A\n\nb\n\nc\n\n\n* * *\n"


@pytest.mark.parametrize("line_end", LINE_ENDS)
def test_a_word_that_goes_on_in_the_next_line(line_end: str) -> None:
    text = "the infor-\n  mation and a well-\nknown Infor-\nmation; INFORMATION x-\n1"
    said = "the information and a well-\nknown Information; INFORMATION x-\n1"
    assert shown(of("text", text.replace("\n", line_end))) == said.replace("\n", line_end)
    alone = "the infor-\nmation"
    assert shown(of("text", alone)) == alone


PIECES = st.sampled_from(
    "a|b|*| |  |    |**|_|`|```|~~~|~~|[|]|(|)|![|](x)|[[|]]|\\||\n|\n\n|\r\n|#|##|=|-|---|>|<|<b>|<!--|-->|&|&amp;|"
    "^|%|%%|[^1]|[^1]:|[y]:|:|+|\t|é|漢|a\\||-|-\n|::|..|.. note::|.. _a:|`a`_|===|+--+|====".split("|")
)


@pytest.mark.parametrize("kind", ["markdown", "rst"])
@given(st.lists(PIECES, max_size=40).map("".join))
@settings(max_examples=150, deadline=None)
def test_any_text_has_marks_in_order(kind: str, text: str) -> None:
    shown(of(kind, text))


@pytest.mark.parametrize("kind", ["text", "code"])
@pytest.mark.parametrize("unit", ["<", "[", "*", "|", "`", "-", " ", "data:a/b;", "/* ", "a1B"])
def test_a_long_line_takes_no_long_time(kind: str, unit: str) -> None:
    began = time.process_time()
    shown(of(kind, unit * (10**6 // len(unit))))
    assert time.process_time() - began < 2


WORD = re.compile(r"[^\W_]+")
SILENT = (
    nodes.comment,
    nodes.substitution_definition,
    nodes.system_message,
    nodes.footnote_reference,
    nodes.label,
)


def words(text: str) -> list[str]:
    return WORD.findall(text.casefold())


def body(document: Document) -> str:
    """What is shown of a document from its first section on."""
    read = Shown(document.text, markup(document))
    return read.text[read.offset(document.sections[0].start) :]


@pytest.mark.parametrize("path", sorted(Path("corpora/handbook").glob("*.md")), ids=lambda path: path.stem)
def test_all_that_markdown_renders_is_shown(path: Path) -> None:
    document = of("markdown", path.read_text(encoding="utf-8"))
    html = MarkdownIt("commonmark").enable("table").render(document.text[document.sections[0].start :])
    rendered = PARSERS["html"]("a.html", Decoded(html, "utf-8")).text
    found = iter(words(body(document)))
    assert all(word in found for word in words(rendered))  # in this order
    assert not re.search(r"\]\([\w./]+\)|\|--|^#{2}", body(document), re.MULTILINE)


OTHERS = (
    "[[",
    "]]",
    "^",
    "%",
    "%%",
    "[^1]",
    "[^1]:",
    "<!--",
    "\r\n",
)  # that CommonMark doesn't know, or reads to the end


@given(st.lists(PIECES.filter(lambda piece: piece not in OTHERS), max_size=30).map("".join))
@settings(max_examples=200, deadline=None)
def test_all_that_any_markdown_renders_is_shown(text: str) -> None:
    document = of("markdown", f"Title\n\n{text}")
    html = MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(document.text)
    found = iter(words(body(document)))
    assert all(word in found for word in words(PARSERS["html"]("a.html", Decoded(html, "utf-8")).text))


def test_all_that_restructured_text_renders_is_shown() -> None:
    rendered, shown_too = Counter[str](), Counter[str]()
    for path in sorted(shared("folders", "peps").glob("pep-0*.rst"))[5::60]:
        document = of("rst", path.read_text(encoding="utf-8"))
        tree = rst._parsed(document.text[document.sections[0].start :].split("\n"))
        for node in [node for node in tree.findall() if isinstance(node, SILENT)]:
            node.parent.remove(node)
        rendered.update(words(tree.astext()))
        shown_too.update(words(body(document)))
        assert not re.search(r"^(=|-)\1{3,}$|`_$|^\.\. _", body(document), re.MULTILINE)
    # docutils does not know all roles, and shows those that it doesn't know as they are written.
    assert (rendered - shown_too).total() < 0.005 * rendered.total()
    assert (shown_too - rendered).total() < 0.01 * rendered.total()
