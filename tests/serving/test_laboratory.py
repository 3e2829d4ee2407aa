"""Pages that compare texts and look inside them: what the library says, and limits."""

from __future__ import annotations

import re

import pytest
from starlette.testclient import TestClient

from search.serving.served import Served
from search.texts import compare, explain

SENTENCES = "turn the key\nopen the lock\n\nmany people"


def test_sentences_are_compared_by_the_model_of_the_index(client: TestClient, served: Served) -> None:
    page = client.get("/similarity", params={"text": SENTENCES})
    cosines = compare(SENTENCES.replace("\n\n", "\n").split("\n"), model=served.index().encoder).cosines
    cells = re.findall(r"<td class=\"l[^>]*>([^<]*)</td>", page.text)
    assert cells == [f"{value:.2f}".replace("-", "\u2212") for value in cosines.ravel()]
    assert client.get("/similarity").status_code == 200  # the form alone


def test_two_texts_are_compared_token_by_token(client: TestClient, served: Served) -> None:
    texts = ["turn the key", "open the lock"]
    page = client.get("/similarity", params={"text": texts, "tokens": 1, "layer": 1, "tables": 1})
    why = explain(*texts, layer=1, model=served.index().encoder)
    assert f"<b>{why.score:.6f}</b> score" in page.text
    assert "Cosines at layer 1" in page.text and '<option value="token" selected>' in page.text


def test_a_look_inside(client: TestClient) -> None:
    tokens = client.get("/inspect", params={"text": "turn the key", "text2": "open it"})
    assert tokens.status_code == 200
    assert "<bdi>turn</bdi>" in tokens.text and '<li class="second">' in tokens.text
    attention = client.get("/inspect", params={"text": "turn the key", "show": "attention"})
    assert "<attention-view>" in attention.text
    word = {
        "text": "turn the key",
        "text2": "key of the door",
        "show": "word",
        "word": "key",
        "against": "lock, ",
    }
    assert "B ~ lock" in client.get("/inspect", params=word).text
    assert client.get("/inspect").status_code == 200


@pytest.mark.parametrize(
    ("path", "params", "status", "said"),
    [
        ("/similarity", {"text": "alone"}, 400, "two sentences at least"),
        ("/similarity", {"text": "a\n" * 101}, 400, "there are 101 sentences, and 100 are compared here"),
        ("/similarity", {"text": ["a"] * 101}, 422, "text"),
        ("/similarity", {"text": "a" * 8001}, 422, "text"),
        ("/similarity", {"text": "key " * 300 + "\nlock"}, 400, "tokens and the model reads"),
        ("/similarity", {"text": "one", "tokens": 1}, 400, "Fill in both"),
        ("/similarity", {"text": ["a", "b"], "tokens": 1, "layer": 99}, 400, "99"),
        ("/inspect", {"text": "key " * 300}, 400, "tokens"),
        ("/inspect", {"text": "the key", "show": "word", "word": "lion"}, 400, "lion"),
        ("/inspect", {"text": "the key", "show": "weights"}, 422, "show"),
        ("/inspect", {"text": "the key", "index": "none"}, 404, "none"),
    ],
)
def test_what_cannot_be_answered_is_said(
    client: TestClient, path: str, params: dict[str, str | int | list[str]], status: int, said: str
) -> None:
    page = client.get(path, params=params, headers={"accept": "text/html"})
    assert (page.status_code, said in page.text) == (status, True)


def test_too_much_attention_is_refused(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("search.render.page.MOST_WEIGHTS", 100)
    page = client.get("/inspect", params={"text": "turn the key", "show": "attention"})
    assert page.status_code == 400 and "Shorten the text" in page.text
