"""Why, why-not and the user's own texts in a real browser: details open in place, and all of it without scripts."""

from __future__ import annotations

from collections.abc import Callable

from search import Index
from tests.end_to_end import test_serve_pages as shared
from tests.end_to_end.test_serve_pages import QUERY, By, Keys, state, until, webdriver

indexes, site, open_page = shared.indexes, shared.site, shared.open_page
OpenPage = Callable[..., webdriver.Chrome]


def test_the_xray_opens_from_the_explanation_and_on_a_page_of_its_own(
    open_page: OpenPage, indexes: list[Index]
) -> None:
    hit = indexes[0].query(QUERY)[0].passage_id
    browser = open_page(f"/?q={QUERY}&doc={hit}&tab=why", width=1440)
    until(lambda: browser.find_elements(By.CSS_SELECTOR, "[data-view=why] a.x-ray"))[0].click()
    until(lambda: state(browser).get("tab") == ["tokens"])
    until(lambda: browser.find_elements(By.CSS_SELECTOR, "[data-view=tokens] .piece"))
    browser.execute_script("document.querySelector('.hit:nth-child(3) [data-tool=tokens]').click()")
    third = browser.find_element(By.CSS_SELECTOR, ".hit:nth-child(3)").get_attribute("data-passage")
    until(lambda: state(browser).get("doc") == [third])
    until(lambda: browser.find_elements(By.CSS_SELECTOR, f"x-ray[data-passage='{third}'] .piece"))
    browser.find_element(By.LINK_TEXT, "Own page").click()
    until(lambda: "/xray?" in browser.current_url)
    until(lambda: browser.find_elements(By.CSS_SELECTOR, "main .piece"))
    alone = open_page(f"/xray?q={QUERY}&passage={hit}", script=False)
    assert alone.find_element(By.CSS_SELECTOR, "table.strip td").is_displayed()
    assert len(alone.find_elements(By.CSS_SELECTOR, "noscript table td, #x-pairs table td")) > 3


def test_documents_are_listed_while_the_name_is_typed(open_page: OpenPage) -> None:
    browser = open_page(f"/why-not?q={QUERY}&k=1")
    field = browser.find_element(By.NAME, "name")
    field.send_keys("page03")
    is_single = until(lambda: len(browser.find_elements(By.CSS_SELECTOR, ".names a")) == 1)
    assert (
        is_single
        and browser.switch_to.active_element == field
        and field.get_property("value") == "page03"
    )
    browser.find_element(By.CSS_SELECTOR, ".names a").click()
    until(lambda: "document" in state(browser))
    assert "page03.md" in browser.find_element(By.TAG_NAME, "dl").text


def test_similarity_and_why_not_work_without_scripts(open_page: OpenPage) -> None:
    browser = open_page("/similarity", script=False)
    browser.find_element(By.NAME, "text").send_keys(
        "the key", Keys.ENTER, "the lock", Keys.ENTER, "a door"
    )
    browser.find_element(By.CSS_SELECTOR, "form button").click()
    until(lambda: len(browser.find_elements(By.CSS_SELECTOR, ".matrix td[data-row]")) == 9)
    assert browser.find_element(By.NAME, "text").get_property("value") == "the key\nthe lock\na door"
    browser = open_page(f"/why-not?q={QUERY}&name=page03", script=False)
    browser.find_element(By.CSS_SELECTOR, ".names a").click()
    until(lambda: browser.find_elements(By.CSS_SELECTOR, ".answer"))
    browser.find_element(By.LINK_TEXT, "Why this score").click()
    until(lambda: browser.find_elements(By.CSS_SELECTOR, ".why-body tfoot"))
    browser.find_element(By.LINK_TEXT, "X-ray").click()
    until(lambda: browser.find_elements(By.CSS_SELECTOR, ".equation"))


def test_the_theme_is_kept_from_page_to_page(open_page: OpenPage) -> None:
    browser = open_page("/similarity", scheme="light")
    for _ in "light", "dark":
        browser.find_element(By.CSS_SELECTOR, "theme-switch button").click()
    open_page("/vocabulary", scheme="light")
    assert (
        browser.execute_script("return getComputedStyle(document.body).backgroundColor")
        == "rgb(15, 18, 22)"
    )
