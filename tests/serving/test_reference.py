"""The page of the API: all that its document says is on it, its links lead somewhere, its examples run."""

import re
from html import unescape
from typing import Any

import pytest
from starlette.testclient import TestClient

from search.render.page.reference import reference
from search.serving.problems import CODES


@pytest.fixture
def page(client: TestClient) -> str:
    """The page, as a browser asks for it."""
    answer = client.get("/reference", headers={"accept": "text/html"})
    assert answer.status_code == 200
    return answer.text


def test_all_that_the_document_says_is_on_the_page(client: TestClient, page: str) -> None:
    described = client.get("/openapi.json").json()
    shown = unescape(re.sub(r"<[^>]+>", "", page))
    for path, operations in described["paths"].items():
        assert path in shown
        for parameter in operations["get"].get("parameters", ()):
            assert parameter["description"].replace("`", "") in shown
    assert all(f"<code>{code}</code>" in page for code in CODES)
    assert set(re.findall(r'href="#([^"]+)"', page)) <= set(re.findall(r'id="([^"]+)"', page))
    assert "<script>" not in page and "style=" not in page


def test_its_examples_run(client: TestClient, page: str, capsys: pytest.CaptureFixture[str]) -> None:
    examples = [
        unescape(one) for one in re.findall(r'<pre class="example">(.*?)</pre>', page, flags=re.DOTALL)
    ]
    addresses = [example.removeprefix("curl ").strip("'") for example in examples[1:]]
    assert len(addresses) == len(client.get("/openapi.json").json()["paths"])
    for address in addresses:
        assert client.get(address).status_code == 200, address
    code = examples[0].replace("from urllib.request import urlopen", "")

    class Answer:
        def __init__(self, address: str) -> None:
            self.text = client.get(address).text

        def __enter__(self) -> Any:
            return self

        def __exit__(self, *_: object) -> None: ...

        def read(self) -> str:
            return self.text

    exec(code, {"urlopen": Answer})
    assert re.match(r"-?0\.\d{3}  keys\.md:\d+\n", capsys.readouterr().out)


def test_what_a_document_says_stays_text() -> None:
    evil = "</p><script>alert(1)</script>`<img src=x>`"
    parameter = {"name": evil, "required": True, "schema": {"enum": [evil]}, "description": evil}
    answer = {"description": evil, "content": {evil: {"schema": {"$ref": "#/components/schemas/A"}}}}
    operation = {
        "summary": evil, "description": evil, "parameters": [parameter], "x-example": {"q": evil},
        "responses": {"200": answer, "400": {"description": f"{evil}\n- `{evil}`: {evil}"}},
    }  # fmt: skip
    described = {
        "info": {"description": evil, "version": evil},
        "paths": {f"/{evil}": {"get": operation}},
        "components": {"schemas": {"A": {"properties": {evil: {"type": evil}}, "description": evil}}},
    }
    page = reference(described, evil)
    shown = page.about + page.body
    assert "<script" not in shown and "<img" not in shown
