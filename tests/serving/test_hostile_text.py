"""Hostile texts, of documents and of those who ask, on every page of the server: no element,
attribute or link is theirs."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import quote

import pytest
from justhtml import JustHTML
from starlette.testclient import TestClient

from search import Index
from search.serving import create_app
from tests.serving.conftest import ADDRESS

HOSTILE = (
    "<hostile-a onhostile=1 style=x>key</hostile-a> \" onhostile=2 x=\" ' onhostile=3 x=' --> ]]> </script></style>"
    "</title></textarea></option><script>hostile()</script><img src=x onerror=hostile()> javascript:hostile() "
    "\x1b[31m \u202e \x00 &lt;hostile-b&gt; <a href=javascript:hostile()>key</a> <base href=//hostile.example> "
    "<form action=//hostile.example>"
)
OURS = re.compile(r"/(?!/)|[?#]|data:image/svg\+xml,")
PAGES = (
    "/?q={q}", "/?q={q}&index={q}", "/?q=key&where={q}", "/?q=key&since={q}", "/?q=key&mode={q}", "/?q=key&k={q}",
    "/?q=key {q}&without={q}&where=path:**", "/documents/{n}", "/documents/{n}?q={q}",
    "/documents/{n}?q=key&passage={n}",
    "/documents/{q}", "/explain?q={q}&passage={n}", "/explain?q=key&passage={n}&by={q}",
    "/contrast?q={q}&a=1&b=2",
    "/why-not?q={q}", "/why-not?q={q}&name={q}", "/why-not?q={q}&document={n}", "/why-not?q=key&name=hostile",
    "/?more={n}", "/map?q=key&index={q}", "/map?q={q}", "/documents/{n}?q=key&source=1", "/what-if?q={q}",
    "/similarity?text={q}&text={q}",
    "/similarity?text={q}",
    "/similarity?text=key {q}&text={q}&text=key", "/xray?text=key&text={q}",
    "/{q}", "/static/0/{q}", "/session?{q}", "/api/{q}",
)  # fmt: skip


@pytest.fixture
def hostile(tmp_path: Path, tiny_model: Path, own_home: Path) -> TestClient:
    """A client of a server over an index of hostile names, headings, fields and texts."""
    folder = tmp_path / "hostile <i> & notes"
    folder.mkdir()
    front = f"---\ntitle: {HOSTILE[:60]!r}\ntags: ['<hostile-t>', 'a\" onhostile=4']\nauthor: <hostile-c>\n---\n"
    (folder / "key <hostile-d onhostile=5> 'a' \"b\" hostile.md").write_text(
        f"{front}# <hostile-h onhostile=6> {HOSTILE[:30]}\n\nTurn the key. {HOSTILE[30:200]}\n\n"
        f"## {HOSTILE[:40]}\n\n[key](javascript:hostile) ![key](//hostile.example/x)\n",
        encoding="utf-8",
    )
    (folder / "hostile.html").write_text(
        f"<title>{HOSTILE}</title><p>Turn the key {HOSTILE}</p>", encoding="utf-8"
    )
    (folder / "hostile.csv").write_text(
        f'name,text\n"<hostile-e>","key {HOSTILE[:40]}"\n', encoding="utf-8"
    )
    index = Index.build(folder, model=str(tiny_model))
    return TestClient(create_app(index), ADDRESS, raise_server_exceptions=False)


@pytest.mark.parametrize("accept", ["text/html", "fragment"])
def test_no_hostile_text_becomes_an_element_an_attribute_or_a_link(
    hostile: TestClient, accept: str
) -> None:
    headers = {"accept": "text/html"} | ({"X-Seewhy-Fragment": "1"} if accept == "fragment" else {})
    count = 0
    for number, page in enumerate(PAGES):
        text = quote(HOSTILE if number % 2 else HOSTILE[: 60 + number], safe="")
        for document in ("1", "2", "3"):
            address = page.format(q=text, n=document)
            answer = hostile.get(address, headers=headers, follow_redirects=False)
            assert answer.status_code != 500, page
            if "text/html" in answer.headers["content-type"]:
                assert foreign(answer.text) == [], page
                count += "hostile" in answer.text
            if "{n}" not in page:
                break
    assert count > len(PAGES) // 2


def foreign(source: str) -> list[str]:
    """Elements, attributes and links of a page that none of our templates makes."""
    findings = []
    for element in JustHTML(source, sanitize=False).query("*"):
        if element.name.startswith(("hostile", "base", "iframe", "object", "embed", "img")):
            findings.append(f"<{element.name}>")
        for name, value in element.attrs.items():
            if name.startswith(("on", "style", "srcdoc", "hostile")) or (
                name in ("href", "src", "action", "formaction") and not OURS.match(value or "?")
            ):
                findings.append(f"<{element.name} {name}={value!r}>")
        if (
            element.name == "script"
            and "src" not in element.attrs
            and element.attrs.get("type") != "application/json"
        ):
            findings.append("a script in the page")
    return findings


def test_foreign_elements_and_attributes_are_detected() -> None:
    for source in (
        "<hostile-a>",
        "<p onclick=x>",
        "<a href=javascript:x>",
        "<a href=//x>",
        "<script>x</script>",
        "<img>",
    ):
        assert foreign(source), source
    assert (
        foreign(
            "<a href='/documents/1?q=x'>a</a><a href='#b'>b</a><script src='/static/0/page.js'></script>"
        )
        == []
    )
