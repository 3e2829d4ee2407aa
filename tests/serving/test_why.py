"""Why, contrast and why-not over HTTP: what the library says, for hits that are named by id."""

from __future__ import annotations

import re

import pytest
from starlette.testclient import TestClient

from search.serving.served import Served

QUERY = "turn the key"
FRAGMENT = {"X-Seewhy-Fragment": "1", "accept": "text/html"}


def test_a_score_is_explained_as_the_library_does(client: TestClient, served: Served) -> None:
    index = served.index()
    hit = index.query(QUERY)[0]
    address = {"q": QUERY, "passage": hit.passage_id}
    page = client.get("/explain", params=address)
    assert page.status_code == 200 and f"<b>{hit.score:.6f}</b> score" in page.text
    why = index.explain(QUERY, hit)
    assert f'<option value="{why.similarity_layer}" selected>' in page.text
    assert "Both matrices as tables" not in page.text
    layer = client.get("/explain", params={**address, "layer": 0, "by": "token", "tables": 1})
    assert '<option value="0" selected>the embedding layer</option>' in layer.text
    assert "Both matrices as tables" in layer.text
    dense = client.get("/explain", params={**address, "mode": "dense"})
    assert f"<b>{index.hit(QUERY, hit.passage_id, mode='dense').score:.6f}</b> score" in dense.text


def test_whether_an_explanation_is_faithful_is_found_out_on_request(client: TestClient) -> None:
    address = {"q": QUERY, "passage": 1}
    assert "without the words that count most" not in client.get("/explain", params=address).text
    assert "without the words that count most" in client.get("/explain", params={**address, "check": 1}).text


def test_two_hits_are_compared(client: TestClient, served: Served) -> None:
    first, second = served.index().query(QUERY)[:2]
    page = client.get("/contrast", params={"q": QUERY, "a": first.passage_id, "b": second.passage_id})
    assert "<h1>Why A stands above B</h1>" in page.text
    assert f"{first.score - second.score:+.4f}" in page.text
    turned = client.get("/contrast", params={"q": QUERY, "a": second.passage_id, "b": first.passage_id})
    assert "<h1>Why B stands above A</h1>" in turned.text


def test_a_missed_document_is_chosen_by_a_part_of_its_name(client: TestClient, served: Served) -> None:
    asked = {"q": QUERY, "k": 1, "per_document": 1}
    everything = client.get("/why-not", params=asked)
    assert everything.text.count('<a href="/why-not') == len(served.index().documents_named(""))
    found = client.get("/why-not", params={**asked, "name": "TIME"}, headers=FRAGMENT)
    (way,) = re.findall(r'<a href="(/why-not[^"]*document=\d+)"><bdi>deep/time.txt</bdi>', found.text)
    page = client.get(way.replace("&amp;", "&"))
    standing = served.index().why_not(QUERY, "deep/time.txt", 1, per_document=1)
    assert page.status_code == 200 and standing.cause == "lower"
    assert f"ranks {standing.rank} of {standing.passages} passages, and 1 hits were asked for" in page.text


def test_a_word_that_is_left_out_has_no_addend(client: TestClient, served: Served) -> None:
    address = {"q": QUERY, "passage": served.index().query(QUERY)[0].passage_id}
    assert "the word <bdi>key</bdi>" in client.get("/explain", params=address).text
    assert "the word <bdi>key</bdi>" not in client.get("/explain", params={**address, "without": "key"}).text


def test_a_document_is_of_the_generation_in_which_it_was_chosen(client: TestClient, served: Served) -> None:
    index = served.index()
    asked = {"q": QUERY, "document": index.documents_named("time")[0].id}
    assert client.get("/why-not", params={**asked, "generation": index.generation}).status_code == 200
    assert client.get("/why-not", params={**asked, "generation": index.generation + 1}).status_code == 410


@pytest.mark.parametrize(
    ("path", "params", "status", "said"),
    [
        ("/explain", {"q": QUERY}, 422, "passage"),
        ("/explain", {"q": QUERY, "passage": 999}, 404, "no passage 999"),
        ("/explain", {"q": QUERY, "passage": 1, "layer": 77}, 400, "77"),
        ("/explain", {"q": "", "passage": 1}, 400, "empty"),
        ("/explain", {"q": QUERY, "passage": 2**70}, 422, "passage"),
        ("/contrast", {"q": QUERY, "a": 1, "b": 999}, 404, "no passage 999"),
        ("/similar", {"passage": 999}, 404, "no passage 999"),
        ("/contrast", {"q": QUERY, "a": 1, "b": "x"}, 422, "b"),
        ("/why-not", {"q": QUERY, "document": 999}, 404, "no document 999"),
        ("/why-not", {"q": QUERY, "document": "../keys.md"}, 422, "document"),
        ("/why-not", {"q": QUERY, "name": "x" * 201}, 422, "name"),
    ],
)
def test_what_cannot_be_answered_is_said(
    client: TestClient, path: str, params: dict[str, str | int], status: int, said: str
) -> None:
    page = client.get(path, params=params, headers=FRAGMENT)
    assert (page.status_code, said in page.text) == (status, True)


@pytest.mark.parametrize(
    "address",
    [
        "/explain?q=turn+the+key&passage=1",
        "/contrast?q=turn+the+key&a=1&b=2",
        "/similar?passage=1",
        "/why-not?q=turn+the+key",
    ],
)
def test_an_old_link_says_that_the_index_has_changed_and_leads_on(
    client: TestClient, served: Served, address: str
) -> None:
    now = served.index().generation
    assert client.get(f"{address}&generation={now}").status_code == 200
    old = client.get(f"{address}&generation={now + 1}&document=1", headers=FRAGMENT)
    assert old.status_code == 410 and "the index has changed" in old.text
    (way,) = re.findall(r'<a href="([^"]+)">Ask the index as it is now', old.text)
    assert "generation" not in way and "document" not in way
    assert client.get(way.replace("&amp;", "&")).status_code == 200


def test_links_of_hits_name_the_generation_that_they_are_of(client: TestClient, served: Served) -> None:
    page = client.get("/", params={"q": QUERY}).text
    links = re.findall(r'<a class="(?:why|similar|contrast)" href="([^"]+)"', page)
    assert len(links) > 3 and all(f"generation={served.index().generation}" in one for one in links)


def test_why_a_passage_is_like_another(client: TestClient, served: Served) -> None:
    index = served.index()
    page = client.get("/similar", params={"passage": 1}).text
    ways = [one.replace("&amp;", "&") for one in re.findall(r'<a class="why" href="([^"]+)"', page)]
    assert len(ways) == len(index.similar(1))
    cosine = index.explain_similar(1, index.similar(1)[0]).score
    for more in ("", "&by=token&tables=1"):
        why = client.get(ways[0] + more)
        assert why.status_code == 200 and f"<b>{cosine:.6f}</b>" in why.text
        assert 'name="like" value="1"' in why.text and 'name="layer"' not in why.text
    assert client.get("/explain", params={"like": 999, "passage": 1}).status_code == 404
