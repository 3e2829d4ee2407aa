"""A document in a real browser: opened at its passage, and read from hit to hit, also where it is long."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import search
from search import Index
from tests.end_to_end import test_serve_pages as shared
from tests.end_to_end.conftest import serving
from tests.end_to_end.test_serve_pages import By, Keys, until, webdriver

open_page = shared.open_page
OpenPage = Callable[..., webdriver.Chrome]
QUERY = "turn the key"
OTHER = "people of the other side say that time is long\n\n"


@pytest.fixture(scope="module")
def indexes(tmp_path_factory: pytest.TempPathFactory, tiny_model: Path) -> Iterator[list[Index]]:
    """An index of one long document, in which three places are about a query."""
    folder = tmp_path_factory.mktemp("long")
    hit = "To turn the key, turn the key.\n\n"
    text = f"# Long\n\n{hit}{OTHER * 60}{hit}{OTHER * 1500}{hit}"
    (folder / "long.md").write_text(text, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SEEWHY_HOME", str(tmp_path_factory.mktemp("home")))
        yield [search.Index.build(folder, model=str(tiny_model))]


@pytest.fixture(scope="module")
def site(indexes: list[Index]) -> Iterator[str]:
    with serving(*indexes) as address:
        yield address


def hits_of_document(indexes: list[Index]) -> tuple[int, list[int]]:
    """Id of the document, and of its passages that are hits, in its order."""
    index = indexes[0]
    (document, *_) = {hit.document_id for hit in index.query(QUERY)}
    hits = index.query(QUERY, 30, per_document=0, mode="lexical")
    return document, sorted(hit.passage_id for hit in hits)


def focused_id(browser: webdriver.Chrome) -> str:
    return str(browser.switch_to.active_element.get_attribute("id"))


def test_keys_go_from_hit_to_hit_across_parts_of_a_document(
    open_page: OpenPage, indexes: list[Index]
) -> None:
    document, (first, second, third) = hits_of_document(indexes)
    browser = open_page(f"/documents/{document}?q={QUERY}&mode=lexical&passage={second}")
    assert focused_id(browser) == f"p{second}"
    assert -5 <= browser.execute_script("return document.activeElement.getBoundingClientRect().top") < 450
    keys = webdriver.ActionChains(browser)
    keys.send_keys("p").perform()
    assert focused_id(browser) == f"p{first}"
    keys.send_keys("p").perform()
    assert focused_id(browser) == f"p{first}"
    keys.send_keys("n").perform()
    assert focused_id(browser) == f"p{second}"
    assert not browser.find_elements(By.ID, f"p{third}")
    keys.send_keys("n").perform()
    until(lambda: focused_id(browser) == f"p{third}")
    assert "are shown." in browser.find_element(By.TAG_NAME, "main").text
    keys.send_keys("p").perform()
    until(lambda: focused_id(browser) == f"p{second}")


def test_without_a_passage_keys_begin_at_the_first_hit_and_escape_leads_to_all(
    open_page: OpenPage, indexes: list[Index]
) -> None:
    document, (first, second, _) = hits_of_document(indexes)
    for key in "np":
        browser = open_page(f"/documents/{document}?q={QUERY}&mode=lexical")
        keys = webdriver.ActionChains(browser)
        keys.send_keys(key).perform()
        assert focused_id(browser) == f"p{first}"
    keys.send_keys("n").perform()
    assert focused_id(browser) == f"p{second}"
    keys.send_keys(Keys.ESCAPE).perform()
    until(lambda: browser.find_elements(By.TAG_NAME, "search-page"))


def test_links_go_from_hit_to_hit_without_scripts(open_page: OpenPage, indexes: list[Index]) -> None:
    document, (first, second, third) = hits_of_document(indexes)
    browser = open_page(f"/documents/{document}?q={QUERY}&mode=lexical&passage={first}", script=False)
    for number, passage in ((2, second), (3, third)):
        browser.find_element(By.CSS_SELECTOR, f".all-hits a:nth-of-type({number})").send_keys(Keys.ENTER)
        until(lambda passage=passage: browser.current_url.endswith(f"#p{passage}"))
        assert browser.find_elements(By.CSS_SELECTOR, f"#p{passage}.is-hit mark")
    browser.find_element(By.LINK_TEXT, "The beginning").send_keys(Keys.ENTER)
    until(lambda: browser.find_elements(By.CSS_SELECTOR, f"#p{first}"))
