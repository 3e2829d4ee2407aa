"""The page of a document, asked of a server."""

import re
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from search import Index
from search.serving.pages import FRAGMENT
from search.serving.served import Served

HTML = {"accept": "text/html"}


@pytest.fixture
def best(served: Served) -> dict[str, int]:
    """The best hit of a query: its document, its passage and the generation."""
    index = served.index()
    hit = index.query("turn the key")[0]
    return {"document": hit.document_id, "passage": hit.passage_id, "generation": index.generation}


def read(client: TestClient, document: int, **query: str | int) -> str:
    page = client.get(f"/documents/{document}", params=query, headers=HTML)
    assert page.status_code == 200, page.text
    return page.text


def test_a_document_is_opened_at_its_passage_with_its_hits(client: TestClient, best: dict[str, int]) -> None:
    page = read(
        client, best["document"], q="turn the key", passage=best["passage"], generation=best["generation"]
    )
    assert f'id="p{best["passage"]}"' in page
    assert f'data-passage="{best["passage"]}"' in page
    assert re.search(r"<mark[^>]*>turn</mark>", page)
    assert "2 of the 30 best passages for" in page
    assert '<h2 class="line" data-n="1"' in page
    assert "/static/reading.js?v=" in page
    assert f"generation={best['generation']}" in page
    plain = read(client, best["document"])
    assert "<mark" not in plain
    assert "To rotate the key, open the door" in plain


def test_the_text_comes_from_the_index_and_a_changed_file_is_said(
    client: TestClient, best: dict[str, int], indexed: Path
) -> None:
    (indexed / "keys.md").write_text("another text", encoding="utf-8")
    page = read(client, best["document"], passage=best["passage"])
    assert "To rotate the key, open the door" in page
    assert "another text" not in page
    assert "The file has changed since it was indexed" in page


def test_a_script_gets_the_fragment(client: TestClient, best: dict[str, int]) -> None:
    page = client.get(f"/documents/{best['document']}", headers=HTML | {FRAGMENT: "1"})
    assert "<html" not in page.text
    assert "<document-reading" in page.text


def test_links_of_the_search_page_lead_here(client: TestClient) -> None:
    page = client.get("/", params={"q": "turn the key"}, headers=HTML).text
    ways = [way.replace("&amp;", "&") for way in re.findall(r'href="(/documents/[^"]+)"', page)]
    assert ways
    for way in ways:
        found = client.get(way.partition("#")[0], headers=HTML)
        assert found.status_code == 200
        assert f'id="{way.partition("#")[2]}"' in found.text


def test_a_link_to_an_index_that_has_changed_says_so_and_leads_on(
    client: TestClient, best: dict[str, int], indexed: Path, served: Served
) -> None:
    (indexed / "new.md").write_text("# New\n\na new sound", encoding="utf-8")
    Index.build(indexed)
    page = client.get(
        f"/documents/{best['document']}",
        params={"q": "turn the key", "passage": best["passage"], "generation": best["generation"]},
        headers=HTML,
    )
    assert page.status_code == 410
    assert "The index has changed since this link was made" in page.text
    (there,) = [way.replace("&amp;", "&") for way in re.findall(r'href="(/documents/[^"]+)"', page.text)]
    assert f"generation={served.index().generation}" in there
    assert f'id="p{best["passage"]}"' in client.get(there.partition("#")[0], headers=HTML).text
    gone = client.get(
        f"/documents/{best['document']}", params={"passage": 999, "generation": 1}, headers=HTML
    )
    assert gone.status_code == 410
    assert "/documents/" not in gone.text


@pytest.mark.parametrize(
    "document", ["99", "0", "-1", "keys.md", "..%2f..%2fetc%2fpasswd", str(2**70), "1e3"]
)
def test_documents_are_named_by_number_alone(client: TestClient, document: str) -> None:
    page = client.get(f"/documents/{document}", headers=HTML)
    assert page.status_code in (404, 422)
    assert "root:" not in page.text


@pytest.mark.parametrize(
    "query", ["passage=0", "passage=x", "k=0", "generation=x", "index=none", "q=key&where=((("]
)
def test_what_cannot_be_understood_is_a_page_that_says_so(
    client: TestClient, best: dict[str, int], query: str
) -> None:
    page = client.get(f"/documents/{best['document']}?{query}", headers=HTML)
    assert page.status_code in (400, 404, 422)
    assert 'role="alert"' in page.text


def test_what_stands_in_a_file_stays_text(client: TestClient, served: Served, indexed: Path) -> None:
    (indexed / "<b>x&.md").write_text(
        "# <script>alert(1)</script>\n\nmy <img src=x onerror=alert(1)> sound </pre>\n", encoding="utf-8"
    )
    Index.build(indexed)
    (hit,) = served.index().query("sound", where="name:'<b>*'", mode="lexical")
    page = read(client, hit.document_id, q="sound <i>", mode="lexical", passage=hit.passage_id)
    assert "<script>alert" not in page
    assert "<img" not in page
    assert "<b>x" not in page
    assert "<i>" not in page
    assert "&lt;img src=x onerror=alert(1)&gt;" in page
