"""Pages as answers: whole or as fragments, with scripts and styles that are kept."""

import re

from starlette.testclient import TestClient

from search.render.page import assets


def test_all_that_a_page_links_to_is_there_and_may_be_kept(client: TestClient) -> None:
    source = client.get("/", params={"q": "turn the key"}).text
    linked = re.findall(r'(?:src|href)="(/static/([\w.]+)\?v=\w+)"', source)
    assert {"page.css", "page.js"} <= {name for _, name in linked}
    for address, name in linked:
        answer = client.get(address)
        assert (answer.status_code, answer.content) == (200, assets()[name].content)
        assert answer.headers["content-type"] == assets()[name].media_type
        assert "immutable" in answer.headers["cache-control"]
        assert answer.headers["content-encoding"] == "gzip" or len(answer.content) < 500


def test_no_other_file_is_served(client: TestClient) -> None:
    for name in ("document.py", "..%2fdocument.py", "__init__.py", "page.css%00", ""):
        assert client.get(f"/static/{name}").status_code == 404


def test_a_fragment_is_the_page_without_its_frame(client: TestClient) -> None:
    whole = client.get("/", params={"q": "turn the key"})
    part = client.get("/", params={"q": "turn the key"}, headers={"X-Seewhy-Fragment": "1"})
    assert "<!doctype html>" in whole.text and "<html" not in part.text
    assert part.text.split("</h2>")[1].removesuffix("</div>").strip() in whole.text
    assert whole.headers["vary"] == part.headers["vary"] == "X-Seewhy-Fragment, Accept-Encoding"


def test_a_problem_is_a_page_or_a_fragment_too(client: TestClient) -> None:
    asked = {"params": {"q": "key", "index": "<none>"}}
    page = client.get("/", **asked, headers={"accept": "text/html"})
    assert page.status_code == 404 and "&lt;none&gt;" in page.text and "<nav" in page.text
    part = client.get("/", **asked, headers={"accept": "text/html", "X-Seewhy-Fragment": "1"})
    assert part.status_code == 404 and part.text.startswith('<div class="fragment"><h2>')
