"""The search page as an answer: its state is its address, and what is wrong is said where the hits would be."""

import re
import threading
from typing import Any, cast

import pytest
from starlette.testclient import TestClient

from search.index import Index
from search.records.contents import Facet
from search.records.hits import Hits
from search.serving.served import Faceting, Served
from search.store.writer import put_choice

PAGE = {"accept": "text/html"}


def test_the_page_has_the_hits_of_the_library_in_their_order(client: TestClient, served: Served) -> None:
    page = client.get("/", params={"q": "turn the key", "mode": "dense", "k": 2}).text
    ids = [int(one) for one in re.findall(r'<li class="hit" data-passage="(\d+)"', page)]
    assert ids == [hit.passage_id for hit in served.index().query("turn the key", 2, mode="dense")]
    documents = re.findall(r'class="open" href="([^"]+)"', page)
    assert all(f"generation={served.index().generation}" in one for one in documents)
    assert client.get(documents[0].replace("&amp;", "&")).status_code == 200
    assert "mode=dense" in re.findall(r'class="why" href="([^"]+)"', page)[0]


def test_marks_of_all_tokens_are_asked_for(client: TestClient) -> None:
    words, tokens = (
        client.get("/", params={"q": "turn the key", "shades": shades}).text for shades in ("0", "1")
    )
    assert "what the query&#x27;s words" in words or "what the query's words" in words
    assert "what every token" in tokens


def test_what_is_wrong_stands_in_the_page_and_the_form_keeps_what_was_typed(client: TestClient) -> None:
    answer = client.get("/", params={"q": "key", "where": "kind=("}, headers=PAGE)
    assert answer.status_code == 400
    assert 'role="alert"' in answer.text and 'name="where" value="kind=("' in answer.text


def test_an_address_of_another_generation_says_so(client: TestClient, served: Served) -> None:
    now = served.index().generation
    said = "The index has changed since this address was made"
    assert said not in client.get("/", params={"q": "key", "generation": now}).text
    assert said in client.get("/", params={"q": "key", "generation": now + 1}).text


def test_more_like_a_hit(client: TestClient, served: Served) -> None:
    hit = served.index().query("turn the key")[0]
    page = client.get("/similar", params={"passage": hit.passage_id})
    assert page.status_code == 200 and 'class="hit"' in page.text
    assert client.get("/similar", params={"passage": 10**6}, headers=PAGE).status_code == 404


def test_all_that_the_page_loads_is_light(client: TestClient) -> None:
    page = client.get("/", params={"q": "turn the key", "shades": 1}).text
    linked = re.findall(r'"(/static/[^"]+)"', page)
    assert len(linked) > 5
    assert (
        sum(len(client.get(address).content) for address in linked) < 90_000
    )  # ten hits are some 30,000 more


def test_what_a_filter_could_not_know_is_said(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    really = Index.query

    def query(self: Index, *args: Any, **options: Any) -> Hits:
        hits = really(self, *args, **options)
        self._store.mine.remarks = ("what the filter could not know",)
        return hits

    monkeypatch.setattr(Index, "query", query)
    page = client.get("/", params={"q": "key", "where": "kind=text"}).text
    assert "what the filter could not know" in page


def test_a_page_does_not_wait_for_facets_which_are_found_once(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on, really, asked = threading.Event(), Index.facets, []

    def facets(self: Index, *args: Any) -> tuple[Facet, ...]:
        asked.append(args)
        assert go_on.wait(20)
        return really(self, *args)

    monkeypatch.setattr(Index, "facets", facets)
    first = client.get("/", params={"q": "turn the key"}).text
    assert 'class="hit"' in first and 'class="narrow"' not in first
    (link,) = re.findall(r'<a class="later" href="([^"]+)"', first)
    go_on.set()
    waited = client.get(link.replace("&amp;", "&")).text
    assert 'class="hit"' in waited and 'class="narrow"' in waited
    part = client.get(link.replace("&amp;", "&"), headers={"X-Seewhy-Fragment": "1"}).text
    assert 'class="narrow"' in part and 'class="hit"' not in part
    assert 'class="narrow"' in client.get("/", params={"q": "door"}).text
    assert len(asked) == 1


def test_quoted_words_are_a_phrase_if_that_is_asked_for(client: TestClient, served: Served) -> None:
    asked = {"q": '"turn the key"', "phrases": "1", "mode": "lexical"}
    page = client.get("/", params=asked).text
    hits = served.index().query('"turn the key"', mode="lexical", phrases=True)
    assert re.findall(r'data-passage="(\d+)"', page) == [str(hit.passage_id) for hit in hits]
    assert hits[0].score != served.index().query('"turn the key"', mode="lexical")[0].score
    assert 'name="phrases" value="1" checked' in page and '<details class="limits" open>' in page
    for way in ("open", "why", "contrast"):
        assert all("phrases=1" in one for one in re.findall(f'class="{way}" href="([^"]+)"', page)), way


def test_a_weight_that_a_form_sends_by_itself_is_none_that_was_chosen(
    client: TestClient, served: Served
) -> None:
    """So an index that was tuned to a rerank reranks, and what-if stays closed."""
    put_choice(served.index().path, {"weight": 0.5, "rerank": "late"})
    sent = {"q": "turn the key", "mode": "hybrid", "where": "", "since": "", "k": 10, "weight": 0.5}
    page = client.get("/", params=sent).text
    assert served.index().query("turn the key")[0].ranking.rerank == "late"
    assert "weight=0.5" not in page  # in no link
    by_hand = client.get("/", params=sent | {"weight": 0.4}).text
    assert "weight=0.4" in by_hand


def test_a_search_leads_to_why_a_document_is_not_among_its_hits(client: TestClient) -> None:
    for query in ("turn the key", "zzz"):
        page = client.get("/", params={"q": query, "mode": "lexical"}).text
        (way,) = re.findall(r'<a href="(/why-not[^"]+)">', page)
        assert client.get(way.replace("&amp;", "&")).status_code == 200


def test_facets_are_looked_for_in_one_state_at_a_time() -> None:
    go_on, begun = threading.Event(), []

    class Changing:
        generation = 1

        def facets(self) -> tuple[Facet, ...]:
            begun.append(self.generation)
            assert go_on.wait(20)
            return (Facet(str(begun[-1]), 1, (), 0),)

    index = Changing()
    faceting = Faceting(cast(Index, index))
    assert faceting.facets(0) is None
    index.generation = 2
    assert faceting.facets(0) is None and begun == [1]
    go_on.set()
    found = faceting.facets()
    assert found and found[0].field == "2" and begun == [1, 2]
