"""The map on the start page in a real browser: topics light their documents and filter, a frame selects documents."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

import search
from search import Index
from search.index import searcher_of
from search.records.document_map import DocumentMap
from search.store.pins import pin
from tests.conftest import WORDS
from tests.end_to_end import test_serve_pages as shared
from tests.end_to_end.conftest import serving
from tests.end_to_end.test_serve_pages import By, Keys, assert_accessible, type_in, until, webdriver

open_page = shared.open_page
OpenPage = Callable[..., webdriver.Chrome]
FOCUS = "return [...document.querySelectorAll('.map use.is-focus')].map((mark) => mark.dataset.document)"


@pytest.fixture(scope="module")
def indexes(tmp_path_factory: pytest.TempPathFactory, tiny_model: Path) -> Iterator[list[Index]]:
    """An index of 36 documents about two things, and one that a question is made of."""
    folder = tmp_path_factory.mktemp("topics")
    for i in range(18):
        (folder / f"key{i}.txt").write_text(f"turn the key in the lock {WORDS[i]}\n", encoding="utf-8")
        (folder / f"call{i}.txt").write_text(
            f"people call a number {WORDS[i]} people call\n", encoding="utf-8"
        )
    (folder / "lost.txt").write_text("If the key is lost, call a number.\n", encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SEEWHY_HOME", str(tmp_path_factory.mktemp("home")))
        yield [search.Index.build(folder, model=str(tiny_model))]


@pytest.fixture(scope="module")
def site(indexes: list[Index]) -> Iterator[str]:
    with serving(*indexes) as address:
        yield address


@pytest.fixture(scope="module")
def drawn(indexes: list[Index]) -> DocumentMap:
    return searcher_of(indexes[0]).map()


def documents_of(map_: DocumentMap, name: str) -> set[str]:
    return {point.document for point in map_.points if point.group == name}


def test_a_topic_lights_its_documents_and_filters_the_next_query(
    open_page: OpenPage, drawn: DocumentMap
) -> None:
    browser = open_page(width=1440)
    (name, *_) = drawn.groups
    link = browser.find_element(By.CSS_SELECTOR, ".map .groups a")
    assert link.text == name and browser.execute_script(FOCUS) == []
    webdriver.ActionChains(browser).move_to_element(link).perform()
    assert set(browser.execute_script(FOCUS)) == documents_of(drawn, name)
    webdriver.ActionChains(browser).move_to_element(browser.find_element(By.ID, "q")).perform()
    assert browser.execute_script(FOCUS) == []
    browser.execute_script("arguments[0].focus()", link)
    assert set(browser.execute_script(FOCUS)) == documents_of(drawn, name)
    link.send_keys(Keys.ENTER)
    until(lambda: browser.find_elements(By.CSS_SELECTOR, ".map [aria-current]"))
    listed = browser.find_elements(By.CSS_SELECTOR, ".start > div:first-child .list li")
    assert len(listed) == drawn.groups[name]
    type_in(browser, "people")
    until(lambda: browser.find_elements(By.CSS_SELECTOR, "search-page .hit"))
    assert parse_qs(urlsplit(browser.current_url).query)["where"] == [f'map.topic="{name}"']
    places = {place.text for place in browser.find_elements(By.CSS_SELECTOR, ".hit .where")}
    assert all(any(document in place for document in documents_of(drawn, name)) for place in places)


def test_a_frame_selects_documents_to_open_and_to_search_in(
    open_page: OpenPage, drawn: DocumentMap
) -> None:
    browser = open_page(width=1440)
    until(lambda: browser.find_elements(By.CSS_SELECTOR, ".questions"))  # they come later
    svg = browser.find_element(By.CSS_SELECTOR, ".map > svg")
    box = svg.rect
    left = {point.document for point in drawn.points if point.x < 0}
    drag = webdriver.ActionChains(browser)
    drag.move_to_element_with_offset(
        svg, 14 - box["width"] // 2, 14 - box["height"] // 2
    ).click_and_hold()
    drag.move_to_element_with_offset(svg, 0, box["height"] // 2 - 14).release().perform()
    assert set(browser.execute_script(FOCUS)) == left
    chosen = browser.find_element(By.CSS_SELECTOR, ".selected")
    assert chosen.text.startswith(f"{len(left)} selected")
    names = {link.text for link in chosen.find_elements(By.CSS_SELECTOR, "li a")}
    assert len(names) == len(left)
    search_in = chosen.find_element(By.CSS_SELECTOR, "h2 a").get_attribute("href")
    where = parse_qs(urlsplit(search_in).query)["where"][0]
    assert set(where.removeprefix("path in (").removesuffix(")").split(", ")) == {
        f'"{name}"' for name in left
    }
    assert browser.current_url.endswith("/")  # dragging followed no link
    chosen.find_element(By.CSS_SELECTOR, "button").click()
    assert not chosen.text and browser.execute_script(FOCUS) == []


def test_the_start_page_with_everything_is_accessible_and_fits(
    open_page: OpenPage, indexes: list[Index], drawn: DocumentMap
) -> None:
    pin(indexes[0].path, "who has the key?")
    name = next(iter(drawn.groups))
    try:
        browser = open_page()
        until(lambda: browser.find_elements(By.CSS_SELECTOR, ".sample .bar .seg"))
        for path in ("/", "/?" + urlencode({"where": f'map.topic="{name}"'}), "/map?q=key"):
            assert_accessible(open_page(path), path)
    finally:
        pin(indexes[0].path, "who has the key?", keep=False)
