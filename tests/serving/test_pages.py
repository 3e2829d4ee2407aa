"""Pages as answers: results of the library, links that can be followed, and errors shown in the page."""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from starlette.testclient import TestClient

import search
from search import Encoder, Index
from search.explaining import traced
from search.explaining.explanation import TracedHits
from search.explaining.traced import Traces
from search.explaining.xray import xray
from search.index import searcher_of
from search.ranking.question import Question
from search.serving import create_app
from tests.render.test_token_grid import decoded
from tests.serving.conftest import ADDRESS

QUERY = "turn the key"
PAGE = {"accept": "text/html"}
FRAGMENT = {"X-Seewhy-Fragment": "1", "accept": "text/html"}


def links(source: str, pattern: str) -> list[str]:
    """Addresses that a page links to."""
    return [address.replace("&amp;", "&") for address in re.findall(pattern, source)]


def test_the_search_page_has_the_hits_of_the_library_in_their_order(
    client: TestClient, index: Index
) -> None:
    page = client.get("/", params={"q": QUERY, "mode": "dense", "k": 2}).text
    ids = [int(number) for number in re.findall(r'<li class="hit" id="h\d+" data-passage="(\d+)"', page)]
    assert ids == [hit.passage_id for hit in index.query(QUERY, 2, mode="dense")]
    ways = links(
        page, r'(?:class="(?:open|why-link)" href|data-why|data-tool="(?:more|less)" href)="([^"]+)"'
    )
    assert len(ways) == 10 and not any("generation" in way for way in ways)
    for way in ways:
        assert client.get(way.partition("#")[0], headers=PAGE).status_code == 200
        assert "mode=dense" in way
    first, second = index.query(QUERY, 2, mode="dense")
    why_page = client.get(
        "/", params={"q": QUERY, "mode": "dense", "k": 2, "why": second.passage_id}
    ).text
    assert (
        why_page.count('aria-expanded="true"') == 1
        and f"<td>{second.score:.3f}</td></tr></tfoot>" in why_page
    )
    assert f"<td>{first.score:.3f}</td></tr></tfoot>" not in why_page


def test_pairs_of_tokens_are_computed_only_when_the_grid_shows_contributions(
    client: TestClient, index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They take longer than all other numbers of a page."""
    layers: list[int] = []

    def counted(query: Traces, passage: Traces, layer: int) -> Any:
        layers.append(layer)
        return traced.pairs(query, passage, layer)

    monkeypatch.setattr("search.explaining.explanation.pairs", counted)
    (hit, *_) = index.query(QUERY)
    opened = {"q": QUERY, "doc": hit.passage_id, "tab": "why"}
    assert client.get("/", params=opened).status_code == 200
    address = {"q": QUERY, "passage": hit.passage_id}
    assert client.get("/explain", params=address, headers=FRAGMENT).status_code == 200
    assert client.get("/xray", params=address, headers=FRAGMENT).status_code == 200
    assert layers == []
    assert client.get("/token-grid", params={**address, "layer": 1}).status_code == 200
    assert layers == [1]
    assert client.get("/xray", params={**address, "file": 1}).status_code == 200
    assert sorted(layers[1:]) == [*range(index.encoder.n_layers + 1)]


def test_the_matrices_of_another_layer_are_those_of_the_library(client: TestClient, index: Index) -> None:
    (hit, *_) = index.query(QUERY)
    page = client.get("/xray", params={"q": QUERY, "passage": hit.passage_id}).text
    (source,) = set(re.findall(r'"source":"([^"]+)"', page))
    source = source.replace("\\u0026", "&")
    for layer in (0, 2, 3):
        numbers = client.get(f"{source}&layer={layer}").json()
        why = index.explain(QUERY, hit, layer=layer)
        np.testing.assert_allclose(decoded(numbers["cosine"], why), why.similarity, atol=2e-5)
        largest = np.abs(why.weight * why.contributions).max()
        np.testing.assert_allclose(
            decoded(numbers["contribution"], why), why.weight * why.contributions, atol=2e-5 * largest
        )
    assert client.get(f"{source}&layer=9").status_code == 400
    page = client.get("/xray", params={"text": ["the key", "the lock"]}).text
    (source,) = re.findall(r'"source":"([^"]+)"', page)
    numbers = client.get(source.replace("\\u0026", "&") + "&layer=1").json()
    why = search.explain("the key", "the lock", model=index.encoder, layer=1)
    np.testing.assert_allclose(decoded(numbers["cosine"], why), why.similarity, atol=2e-5)
    assert client.get("/token-grid", params={"text": "the key"}).status_code == 400


def test_a_query_is_steered_by_passages(client: TestClient, index: Index) -> None:
    page = client.get("/", params={"q": QUERY, "more": 5, "less": 3}).text
    ids = [int(number) for number in re.findall(r'data-passage="(\d+)"', page)]
    assert ids == [hit.passage_id for hit in index.query(Question.of(QUERY, like=[5], unlike=[3]))]
    like, unlike = (Path(index.passage(id_).document).stem for id_ in (5, 3))
    assert f"Remove: like {like}" in page and f"Remove: unlike {unlike}" in page


def test_a_hit_shows_its_score_as_a_bar_that_sums_to_it(client: TestClient, index: Index) -> None:
    page = client.get("/", params={"q": QUERY}).text
    bars = re.findall(r'aria-label="Score ([\d.]+) = ([^"]+)"', page)
    hits = index.query(QUERY)
    assert [float(score) for score, _ in bars] == [round(hit.score, 3) for hit in hits]
    for score, parts in bars:
        addends = [float(part.rpartition(" ")[2].replace("\u2212", "-")) for part in parts.split(", ")]
        assert sum(addends) == pytest.approx(float(score), abs=0.0005 * len(addends) + 0.0005)
    assert "keyword" not in client.get("/", params={"q": QUERY, "mode": "dense"}).text.split("<title>")[2]


def test_a_misspelt_word_is_a_link_to_the_corrected_query(client: TestClient) -> None:
    page = client.get("/", params={"q": "open the doorr", "k": 3}).text
    match = re.search(
        r'No passage has “doorr”\. Did you mean <a href="([^"]+)">open the door</a>\?', page
    )
    assert match
    corrected = client.get(match[1].replace("&amp;", "&")).text
    assert "Hits for “open the door”" in corrected and "No passage has" not in corrected


def test_an_identifier_that_no_passage_has_is_no_hit(client: TestClient) -> None:
    page = client.get("/", params={"q": "ZQX_VJK", "mode": "lexical"}).text
    assert "No passage has “ZQX_VJK”." in page
    assert "<b>ZQX_VJK: not in your files</b>" in client.get("/", params={"q": "ZQX_VJK"}).text


def test_a_document_lists_near_ones_that_it_is_not_linked_with(client: TestClient, index: Index) -> None:
    hit = index.query(QUERY, 1)[0]
    address = f"/documents/{hit.document_id}"
    assert "Near documents that this is not linked with" in client.get(address).text
    page = client.get(address, params={"near": "true"}).text
    near = index.similar(searcher_of(index).location(hit.document_id), 8, unlinked=True, per_document=1)
    assert near and all(f"/documents/{other.document_id}?" in page for other in near)
    assert "Near, and not linked" in page


def test_the_start_page_says_what_is_indexed(client: TestClient, index: Index) -> None:
    page = client.get("/", headers=PAGE).text
    assert f"{index.status().documents} documents in <b><bdi>notes</bdi></b>, updated" in page
    assert page.count('class="hit"') == 0


def test_the_start_page_has_questions_and_the_hit_of_the_first_one(
    client: TestClient, index: Index, indexed: Path
) -> None:
    (indexed / "lost.md").write_text("# Lost\n\nIf the key is lost, call a number.\n", encoding="utf-8")
    index.update()
    first = client.get("/").text
    assert 'data-address="/questions?' in first and "Questions these files answer" not in first
    part = client.get("/questions", headers=FRAGMENT).text
    start = client.get("/").text
    assert "data-address" not in start
    hit = index.query("What if the key is lost?", k=1)[0]
    for source in (part, start):
        assert links(source, r'href="(/\?[^"]+)"[^\n]+What if the key is lost') == [
            "/?index=notes&q=What+if+the+key+is+lost%3F"
        ]
        (value,) = re.findall(r'<data value="([\d.]+)"', source)
        assert float(value) == pytest.approx(hit.score, abs=1e-6)
        parts = re.findall(r'data-m="([-\d.]+)" data-k="([-\d.]+)"', source)
        assert sum(float(a) + float(b) for a, b in parts) == pytest.approx(hit.score, abs=1e-5)
        assert links(source, r'class="open" href="([^"#]+)')[0].startswith(
            f"/documents/{hit.document_id}?"
        )


def test_a_small_index_has_its_folders_and_newest_files_instead_of_a_map(
    client: TestClient, index: Index
) -> None:
    start = client.get("/").text
    assert '<figure class="map">' not in start
    newest = index.query("", 6, where="size>=0", sort="date")
    part = start.partition("Newest files")[2]
    assert links(part, r'href="/documents/(\d+)') == [str(hit.document_id) for hit in newest]
    (folder,) = [facet for facet in index.facets() if facet.field == "folder"]
    addresses = links(start, r'href="(/\?[^"]*where=[^"]+)"')
    assert len(addresses) == len(folder.values) == 1
    for address, value in zip(addresses, folder.values, strict=True):
        listed = client.get(address).text
        assert f"{value.documents} document" in listed and "All documents</a>" in listed
        own = {hit.document_id for hit in index.query("", 50, where=value.where)}
        ids = links(listed.partition("All documents")[2].partition("</ul>")[0], r'href="/documents/(\d+)')
        assert {int(id_) for id_ in ids} == own
        assert f'type="hidden" name="where" value="{html.escape(value.where)}"' in listed


def test_a_map_with_topics_names_them_and_the_chosen_one_lists_its_documents(
    tmp_path: Path, tiny: Encoder
) -> None:
    index = Index.create(tmp_path / "topics", encoder=tiny)
    texts = [f"turn the key in the lock {i}" for i in range(18)] + [
        f"people call a number {i}" for i in range(18)
    ]
    index.upsert({"id": f"d{i}", "text": text} for i, text in enumerate(texts))
    map_ = searcher_of(index).map()
    name = next(name for name in map_.groups if name != "other")
    with TestClient(create_app(index), base_url=ADDRESS) as client:
        start = client.get("/").text
        assert start.count('<use href="#m') == 36 + len(map_.groups)
        address = links(start, rf'<a href="(/\?[^"]+)"[^>]*><svg[^\n]+</svg><bdi>{name}</bdi>')[0]
        chosen = client.get(address).text
        assert f"{map_.groups[name]} documents in <b><bdi>{name}</bdi></b>" in chosen
        assert (
            chosen.count('class="f1 is-chosen"') == map_.groups[name] and 'aria-current="true"' in chosen
        )
        of_topic = client.get("/", params={"q": "key", "where": f'map.topic="{name}"', "k": 50}).text
    own = {point.document for point in map_.points if point.group == name}
    hits = {int(id_) for id_ in re.findall(r'<li class="hit[^"]*" id="h(\d+)"', of_topic)}
    assert hits and {index.passage(id_).document for id_ in hits} <= own


def test_the_map_of_a_query_lists_the_documents_of_its_hits_beside_it(
    client: TestClient, index: Index
) -> None:
    page = client.get("/map", params={"q": QUERY}).text
    best = {}
    for hit in index.query(QUERY):
        best.setdefault(hit.document_id, hit)
    drawing, _, listed = page.partition("</figure>")
    assert len(best) > 1 and drawing.count("is-hit") == len(best)
    ranks = re.findall(r'href="/documents/(\d+)\?[^"]*"><b>(\d+)</b>', listed)
    assert ranks == [(str(id_), str(hit.rank)) for id_, hit in best.items()]


def test_a_question_is_pinned_and_removed_by_a_form(client: TestClient, index: Index) -> None:
    fields = {"index": "notes", "q": "where is the <key>?", "keep": "1", "to": "start"}
    answer = client.post("/pins", data=fields, follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (303, "/?index=notes")
    start, hits = client.get("/").text, client.get("/", params={"q": fields["q"]}).text
    assert "where is the &lt;key&gt;?</bdi>" in start and start.count('aria-pressed="true"') == 1
    assert 'aria-label="Pin: where is the &lt;key&gt;?"' in hits and 'name="keep" value="0"' in hits
    assert 'name="keep" value="1"' in client.get("/", params={"q": QUERY}).text
    answer = client.post("/pins", data=fields | {"keep": "0"}, headers=FRAGMENT)
    assert (answer.status_code, answer.content) == (204, b"")
    assert "&lt;key&gt;" not in client.get("/").text
    assert client.post("/pins", data={"q": " "}).status_code == 400
    assert client.post("/pins", data={"q": "a", "index": "none"}).status_code == 404
    back = client.post("/pins", data={"q": "a b", "to": "hits"}, follow_redirects=False)
    assert back.headers["location"] == "/?index=notes&q=a+b"


def test_an_error_is_shown_in_the_page_and_the_form_keeps_its_input(client: TestClient) -> None:
    page = client.get("/", params={"q": "key", "where": "kind=("}, headers=PAGE).text
    assert 'role="alert"' in page and 'name="where" form="ask" value="kind=("' in page and "\n" in page
    for params in ({"q": "key", "k": 1000}, {"q": "x" * 3000}, {"q": "key", "index": "none"}):
        page = client.get("/", params=params, headers=PAGE).text
        assert 'role="alert"' in page and '<input id="q"' in page


def test_a_link_to_another_generation_says_that_the_index_has_changed(
    client: TestClient, index: Index
) -> None:
    sentence = "The index has changed since this link was made"
    assert sentence not in client.get("/", params={"q": "key", "generation": index.generation}).text
    assert sentence in client.get("/", params={"q": "key", "generation": index.generation + 1}).text


def test_static_files_are_small_and_may_be_cached(client: TestClient) -> None:
    addresses = links(client.get("/", params={"q": QUERY}).text, r'(?:src|href)="(/static/[^"]+)"')
    answers = [client.get(address) for address in addresses]
    assert len(answers) > 5 and sum(len(answer.content) for answer in answers) < 120_000
    assert all("immutable" in answer.headers["cache-control"] for answer in answers)
    for name in ("document.py", "..%2fdocument.py", "page.css%00", ""):
        assert client.get(f"/static/0/{name}").status_code == 404


def test_a_page_does_not_wait_for_facets(client: TestClient, index: Index) -> None:
    first = client.get("/", params={"q": QUERY}).text
    assert 'class="hit"' in first and 'name="pick"' not in first
    (link,) = links(first, r'<a class="chip later" href="([^"]+)"')
    facet_page = client.get(link).text
    assert 'class="hit"' in facet_page and 'name="pick"' in facet_page
    (csv,) = links(facet_page, r'name="pick" form="ask" value="(kind=csv)"')
    filter_page = client.get("/", params={"q": QUERY, "pick": [csv, "kind=text"]}).text
    kinds = {hit.kind for hit in index.query(QUERY, where="kind=csv or kind=text")}
    assert kinds == {"csv", "text"} and filter_page.count('<li class="hit"') == len(
        index.query(QUERY, where="kind=csv or kind=text")
    )


def test_the_default_weight_of_the_form_is_in_no_link(client: TestClient) -> None:
    params = {"q": QUERY, "mode": "hybrid", "where": "", "since": "", "k": 10, "weight": 0.75}
    assert "weight=0.75" not in client.get("/", params=params).text  # in no link
    assert "weight=0.4" in client.get("/", params=params | {"weight": 0.4}).text


def test_a_score_is_explained_as_the_library_does(client: TestClient, index: Index) -> None:
    hit = index.query(QUERY)[0]
    address = {"q": QUERY, "passage": hit.passage_id}
    page = client.get("/explain", params=address).text
    assert f"<td>{hit.score:.3f}</td></tr></tfoot>" in page
    (way,) = links(page, r'class="x-ray" href="([^"]+)"')
    page = client.get(way).text
    assert (
        f"<b>{hit.score:.6f}</b> =" in page
        and "keyword &quot;key&quot;" not in page
        and "<bdi>key</bdi>" in page
    )
    page = client.get("/xray", params={**address, "without": "key"}).text
    assert f"<b>{hit.score:.6f}</b> =" not in page
    assert "Test: without" in client.get("/xray", params={**address, "test": 1, "layer": 1}).text
    download = client.get("/xray", params={**address, "file": 1})
    assert download.headers["Content-Disposition"].startswith("attachment")
    assert f"<b>{hit.score:.6f}</b> =" in download.text
    assert not links(download.text, r'(?:href|src)="(/[^"]*)"')


def test_an_xray_of_a_passage_begins_with_its_text_and_follows_what_is_typed(
    client: TestClient, index: Index
) -> None:
    hit = index.query(QUERY, mode="dense")[0]
    address = {"q": QUERY, "passage": hit.passage_id, "mode": "dense"}
    page = client.get("/xray", params=address).text
    (typed,) = re.findall(r"<textarea[^>]*>\n(.*?)</textarea>", page, re.S)
    same = client.get("/xray", params={**address, "text": [QUERY, html.unescape(typed)]}).text
    assert f"<b>{hit.score:.6f}</b> =" in same and "Back to the passage" not in same
    edited = "Open the door with the key."
    page = client.get("/xray", params={**address, "text": [QUERY, edited]}).text
    why = search.explain(QUERY, edited, model=index.encoder)
    assert f"<b>{why.score:.6f}</b> =" in page and "Back to the passage" in page
    others = [
        other.cosine for other in index.query(QUERY, k=50, mode="dense", all_copies=True, per_document=0)
    ]
    others.remove(hit.cosine)
    rank = 1 + sum(cosine > why.score for cosine in others)
    assert f"Rank {rank} by meaning, among the {len(others) + 1} passages of the index" in page


def test_attention_of_an_xray_comes_head_by_head(client: TestClient, index: Index) -> None:
    texts = {"text": ["turn the key", "the lock"]}
    answer = client.get(
        "/xray",
        params={**texts, "part": "heads", "side": "passage", "at": 2, "head": 1},
        headers=FRAGMENT,
    )
    of = xray(search.explain(*texts["text"], model=index.encoder))
    weights = of.attention("passage", 2, 1)
    cells = re.findall(r"<td class=\"l[^>]*>([^<]*)</td>", answer.text)
    assert cells == [f"{100 * value:.0f}" for value in weights.ravel()]
    assert "<select" in client.get("/xray", params=texts).text
    assert client.get("/xray", params={**texts, "at": 99}).status_code == 400


def test_two_hits_are_compared(client: TestClient, index: Index) -> None:
    first, second = index.query(QUERY)[:2]
    page = client.get("/contrast", params={"q": QUERY, "a": first.passage_id, "b": second.passage_id})
    assert "ranks above" in page.text
    assert f"is {first.score - second.score:.3f} ahead" in page.text


def test_a_missed_document_is_chosen_by_a_part_of_its_name(client: TestClient, index: Index) -> None:
    params = {"q": QUERY, "k": 1, "per_document": 1}
    everything = client.get("/why-not", params=params)
    assert everything.text.count('<a href="/why-not') == len(searcher_of(index).documents_named(""))
    answer = client.get("/why-not", params={**params, "name": "TIME"}, headers=FRAGMENT)
    (way,) = links(answer.text, r'<a href="(/why-not[^"]*document=\d+)"><bdi>deep/time.txt</bdi>')
    why_not = index.why_not(QUERY, "deep/time.txt", 1, per_document=1)
    page = client.get(way).text
    assert (
        f"ranks {why_not.hit and why_not.hit.rank} of {why_not.passages} passages; the limit is 1 hit"
        in page
    )


@pytest.mark.parametrize("address", ["/explain?q=turn+the+key&passage=1", "/why-not?q=turn+the+key"])
def test_an_old_link_says_that_the_index_has_changed_and_leads_on(
    client: TestClient, index: Index, address: str
) -> None:
    assert client.get(f"{address}&generation={index.generation}").status_code == 200
    old = client.get(f"{address}&generation={index.generation + 1}&document=1", headers=FRAGMENT)
    assert old.status_code == 410 and "the index has changed" in old.text
    (way,) = links(old.text, r'<a href="([^"]+)">Repeat the query on the current index')
    assert "generation" not in way and "document" not in way
    assert client.get(way).status_code == 200


def test_a_document_is_opened_at_its_passage_with_its_hits(
    client: TestClient, index: Index, indexed: Path
) -> None:
    hit = index.query(QUERY)[0]
    address = f"/documents/{hit.document_id}"
    page = client.get(address, params={"q": QUERY, "passage": hit.passage_id}, headers=PAGE).text
    assert f'id="p{hit.passage_id}"' in page and f'data-passage="{hit.passage_id}"' in page
    assert re.search(r"<mark[^>]*>turn</mark>", page) and page.count(">hit ") == 2
    (indexed / "keys.md").write_text("another text", encoding="utf-8")
    plain = client.get(address, headers=FRAGMENT).text
    assert "<html" not in plain and "<mark" not in plain
    assert "To rotate the key, open the door" in plain and "another text" not in plain
    assert "The file has changed since it was indexed" in plain


def test_a_link_to_a_passage_holds_as_long_as_the_passage_does(
    client: TestClient, index: Index, indexed: Path
) -> None:
    hit, params = index.query(QUERY)[0], {"generation": index.generation}
    (indexed / "new.md").write_text("# New\n\na new sound", encoding="utf-8")
    index.update()
    page = client.get("/documents/99", params={**params, "passage": hit.passage_id}, headers=PAGE)
    assert page.status_code == 200 and f'id="p{hit.passage_id}"' in page.text
    for outdated in (params, {**params, "passage": 999}):
        page = client.get("/documents/1", params=outdated, headers=PAGE)
        assert page.status_code == 410 and "changed since this link was made" in page.text


def test_sentences_are_compared_by_the_model_of_the_index(client: TestClient, index: Index) -> None:
    sentences = [QUERY, "open the lock", "many people"]
    page = client.get("/similarity", params={"text": "\n".join([*sentences, ""])}).text
    cosines = search.compare(sentences, model=index.encoder).cosines
    cells = re.findall(r"<td class=\"l[^>]*>([^<]*)</td>", page)
    assert cells == [f"{value:.2f}".replace("-", "\u2212") for value in cosines.ravel()]
    page = client.get("/similarity", params={"text": sentences[:2]}).text
    (way,) = links(page, r'href="(/xray\?[^"]+)">X-ray of the two')
    why = search.explain(*sentences[:2], model=index.encoder)
    assert f"<b>{why.score:.6f}</b> =" in client.get(way).text


def test_the_laboratory_has_an_xray_similarities_and_the_vocabulary(client: TestClient) -> None:
    assert "##ing" in client.get("/vocabulary", params={"text": "turning"}).text
    for path in ("/xray", "/similarity", "/vocabulary"):
        page = client.get(path)  # the form, of the X-ray with an example
        assert page.status_code == 200 and "<textarea" in page.text
        assert f'href="{path}' in client.get("/xray").text


@pytest.mark.parametrize(
    ("path", "params", "status", "message"),
    [
        ("/explain", {"q": QUERY}, 422, "passage"),
        ("/explain", {"q": "", "passage": 1}, 400, "empty"),
        ("/explain", {"q": QUERY, "passage": 999}, 404, "no passage 999"),
        ("/xray", {"q": QUERY, "passage": 999}, 404, "no passage 999"),
        ("/xray", {"text": "alone"}, 400, "give two texts; there is 1"),
        ("/xray", {"text": ["a", "key " * 300]}, 400, "tokens"),
        ("/contrast", {"q": QUERY, "a": 1, "b": 999}, 404, "no passage 999"),
        ("/why-not", {"q": QUERY, "document": "../keys.md"}, 422, "document"),
        ("/documents/99", {}, 404, "no document 99"),
        ("/documents/..%2fkeys.md", {}, 404, "Not Found"),
        (f"/documents/{2**70}", {}, 404, "Not Found"),
        ("/documents/1", {"q": "key", "where": "((("}, 400, "filter"),
        ("/", {"q": "key", "index": "<none>"}, 404, "&lt;none&gt;"),
        ("/similarity", {"text": "alone"}, 200, "give 2 to 100 sentences"),
        ("/similarity", {"text": "a\n" * 101}, 200, "there are 101"),
        ("/similarity", {"text": "a" * 8001}, 422, "text"),
    ],
)
def test_a_page_alerts_to_a_request_that_cannot_be_answered(
    client: TestClient, path: str, params: dict[str, str | int], status: int, message: str
) -> None:
    page = client.get(path, params=params, headers=PAGE)
    assert (page.status_code, message in page.text, 'role="alert"' in page.text) == (status, True, True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mode": "lexical"}, 'No passage contains "zzzqqq".'),
        ({"weight": 0}, 'No passage contains "zzzqqq".'),
        ({"where": "kind=pdf"}, "No passage passes the filters."),
        ({"q": '"zzzqqq"'}, "No passage passes the query's quotes, minus signs or filters."),
    ],
    ids=str,
)
def test_a_page_without_hits_says_why(client: TestClient, options: dict[str, Any], message: str) -> None:
    page = client.get("/", params={"q": "zzzqqq", **options}, headers={"accept": "text/html"}).text
    assert f'<p role="status">{message}' in html.unescape(page)
    by_meaning = links(page, r'href="([^"]+)">Search by meaning instead')
    assert len(by_meaning) == (options.get("mode") == "lexical")
    assert all('class="hit"' in client.get(way).text for way in by_meaning)


def test_the_menu_leads_to_a_reference_of_every_operation_and_parameter(client: TestClient) -> None:
    assert 'href="/api/v1/docs"' in client.get("/").text
    page = client.get("/api/v1/docs")
    assert page.status_code == 200 and page.headers["content-type"].startswith("text/html")
    text = html.unescape(re.sub(r"<[^>]+>", "", page.text))
    paths = client.get("/openapi.json").json()["paths"]
    for path, methods in paths.items():
        for method, about in methods.items():
            assert f"{method.upper()} {path}" in text and about["summary"].replace("`", "") in text
            assert all(parameter["name"] in text for parameter in about.get("parameters", ()))
    assert "Answer: object with complete, encoded, passages, index, generation, hits, next, notes" in text
    assert "hybrid | dense | lexical" in text and "whole number from 1 to 100, default 10" in text


def test_an_example_is_named_by_its_document(client: TestClient, index: Index) -> None:
    hit = index.query(QUERY)[0]
    page = client.get("/", params={"q": QUERY, "more": hit.passage_id, "why": hit.passage_id}).text
    text = html.unescape(re.sub(r"<[^>]+>", "", page))
    assert f"like {Path(hit.document).stem}" in text and f"like p{hit.passage_id}" not in text
    assert not re.search(r"like [\w-]+\u201d, most like", text)  # an example stands for no word


def test_an_error_of_a_filter_shows_it_as_it_was_typed(client: TestClient) -> None:
    for more in ({}, {"pick": "kind=markdown"}):
        page = client.get("/", params={"q": QUERY, "where": "foo ==", **more}).text
        text = html.unescape(page)
        assert "column 6" in text and "foo ==" in text and "(foo ==" not in text


def test_no_page_shows_a_path_of_the_server(client: TestClient, index: Index) -> None:
    hits = index.query(QUERY)
    first, second = (hit.passage_id for hit in hits[:2])
    pages = [
        client.get("/explain", params={"q": QUERY, "passage": first}),
        client.get("/explain", params={"q": QUERY, "passage": first, "by": "word", "file": 1}),
        client.get("/contrast", params={"q": QUERY, "a": first, "b": second}),
        client.get("/why-not", params={"q": QUERY, "document": hits[1].document_id}),
        client.get(f"/documents/{hits[0].document_id}", params={"q": QUERY}),
        client.get("/", params={"q": QUERY, "why": first}),
    ]
    folder = str(Path(hits[0].path).parent)
    for page in pages:
        assert page.status_code == 200 and folder not in html.unescape(page.text)
    assert Path(hits[0].path).name in pages[0].text


def test_text_that_is_not_encoded_leaves_a_sign_in_the_document(notes: Path, tiny_model: Path) -> None:
    (notes / "data.txt").write_text(
        f"The key is {'a1B2' * 120} and it must be rotated.\n", encoding="utf-8"
    )
    index = Index.build(notes, index="with-data", model=str(tiny_model))
    (hit,) = index.query("key rotated", k=1, where="name=data.txt")
    with TestClient(create_app(index), base_url=ADDRESS) as client:
        page = client.get(f"/documents/{hit.document_id}").text
    assert "The key is [\u2026 480 characters \u2026] and it must be rotated" in re.sub(
        r"<[^>]+>", "", page
    )


def test_a_script_gets_facets_without_the_hits_that_it_has(client: TestClient) -> None:
    params: dict[str, Any] = {"q": QUERY, "facets": 1}
    whole, part = (
        client.get("/", params=params).text,
        client.get("/", params=params, headers=FRAGMENT).text,
    )
    facets = re.compile(r'<div class="facets" data-part="facets">.*?<span class="chosen"', re.DOTALL)
    (expected,), (actual,) = facets.findall(whole), facets.findall(part)
    assert actual == expected and "checkbox" in actual
    assert 'class="hit' in whole and 'class="hit ' not in part and "<article" not in part


def test_hits_without_shades_have_the_same_bars_and_read_no_passage(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    segment = re.compile(r'data-w="([^"]*)" data-m="([^"]*)" data-k="([^"]*)"')

    def bars(**options: Any) -> tuple[list[str], list[float]]:
        page = client.get("/", params={"q": QUERY, **options}, headers=FRAGMENT).text
        segments = segment.findall(page)
        return [word for word, *_ in segments], [float(value) for _, *both in segments for value in both]

    words, values = bars()
    read: list[str] = []
    for name in ("similarity", "pairs"):
        method = getattr(TracedHits, name)

        def noted(*arguments: Any, method: Any = method) -> Any:
            read.append(method.__name__)
            return method(*arguments)

        monkeypatch.setattr(TracedHits, name, noted)
    unshaded, parts = bars(unshaded=1)
    assert not read and unshaded == words != []
    assert parts == pytest.approx(values, abs=2e-6)  # as printed, to 6 digits
    bars()
    assert read


def test_all_indexes_are_searched_as_one_and_each_hit_leads_to_its_own(
    index: Index, notes: Path, tiny_model: Path, tmp_path: Path
) -> None:
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "lock.md").write_text(
        "# Lock\n\nTurn the key in the lock twice.\n", encoding="utf-8"
    )
    other = Index.build(tmp_path / "more", index="more", model=str(tiny_model))
    expected = search.Indexes([index, other]).query(QUERY, 10)
    assert {hit.index for hit in expected} == {"notes", "more"}
    with TestClient(create_app(index, other), base_url=ADDRESS) as client:
        page = client.get("/all", params={"q": QUERY}).text
        ids = re.findall(r'<li class="hit[^"]*" id="h\d+-(\d+)"', page)
        assert ids == [str(hit.passage_id) for hit in expected]
        scores = re.findall(r'<data value="([^"]+)"', page)
        assert [float(score) for score in scores] == [hit.score for hit in expected]
        for way, hit in zip(links(page, r'class="why-link" href="([^"#]+)'), expected, strict=True):
            assert f"index={hit.index}" in way
            assert f"<td>{hit.score:.3f}</td></tr></tfoot>" in client.get(way).text
        (menu,) = links(client.get("/", params={"q": QUERY}).text, r'href="(/all[^"]*)"')
        assert "q=turn+the+key" in menu and client.get(menu).text == page
        assert "Ask all indexes at once." in client.get("/all").text
        assert 'role="alert"' in client.get("/all", params={"q": "key", "where": "((("}).text
