"""The pages of the server in a real browser: one server for all, over folders of which one is hostile.

Skipped where Chromium, its driver or selenium is missing; where `CI` is set, that is a failure.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

import search
from search import Index

if not os.environ.get("CI"):
    pytest.importorskip("selenium", reason="selenium is not installed")
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from tests.end_to_end.conftest import serving
from tests.end_to_end.test_browser import HOSTILE

TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
QUERY = "turn the key"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, tiny_model: Path) -> Iterator[list[Index]]:
    """Two indexes: of hostile text among harmless one, and of a few words."""
    hostile, few = tmp_path_factory.mktemp("hostile"), tmp_path_factory.mktemp("few")
    texts = {
        f"page{number:02}.md": f"# Page {number}\n\nTurn the key {number} times.\n"
        for number in range(12)
    }
    texts["keys.md"] = (
        "# Keys\n\n## Turn\n\nTo turn the key, open the door.\n\n## Find\n\nThe water is cold.\n"
    )
    texts["הערות & 'keys' 🎉.md"] = f"# <b onclick=alert(3)>Title</b> שלום\n\n{HOSTILE} turn the key\n"
    texts["bad.txt"] = f"{HOSTILE} turn the key\n"
    for name, text in texts.items():
        (hostile / name).write_text(text, encoding="utf-8")
    (few / "a.txt").write_text("Open the door.\n", encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SEEWHY_HOME", str(tmp_path_factory.mktemp("home")))
        yield [search.Index.build(folder, model=str(tiny_model)) for folder in (hostile, few)]


@pytest.fixture(scope="module")
def site(served: list[Index]) -> Iterator[str]:
    """The address of the server."""
    with serving(*served) as address:
        yield address


def shown_in(browser: webdriver.Chrome, width: int, scheme: str) -> None:
    """Give the window a width, and the user a liking for light or dark pages."""
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)


@pytest.fixture
def opened(browser: webdriver.Chrome, site: str) -> Iterator[Callable[..., webdriver.Chrome]]:
    """Opens a page of the server; afterwards nothing was asked of anybody else, and nothing complained."""

    def at(
        path: str = "/", width: int = 1280, scheme: str = "light", script: bool = True
    ) -> webdriver.Chrome:
        shown_in(browser, width, scheme)
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": not script})
        browser.get(site + path)
        return browser

    browser.get("about:blank")
    browser.get_log("browser")
    browser.get_log("performance")
    yield at
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
    assert outside(browser, site) == []
    assert [entry for entry in browser.get_log("browser") if entry["source"] != "network"] == []
    browser.get(site + "/static/page.css")  # a page without a script, to forget what was kept
    browser.execute_script("localStorage.clear()")
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def events(browser: webdriver.Chrome) -> list[dict[str, Any]]:
    return [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]


def outside(browser: webdriver.Chrome, site: str) -> list[str]:
    """Requests to anybody but the server."""
    asked = [
        one["params"]["request"]["url"]
        for one in events(browser)
        if one["method"] == "Network.requestWillBeSent"
    ]
    return [url for url in asked if not url.startswith((site, "data:", "about:", "chrome:"))]


def until(condition: Callable[[], Any], seconds: float = 60) -> Any:
    """What a condition gives as soon as it holds: on a busy machine the first explanation takes long."""
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, "it never came"
        time.sleep(0.02)
    return found


def type_in(browser: webdriver.Chrome, *keys: str) -> None:
    browser.switch_to.active_element.send_keys(*keys)


def passages(browser: webdriver.Chrome) -> list[int]:
    """Of the hits, as they stand."""
    script = "return [...document.querySelectorAll('.results .hit')].map((one) => Number(one.dataset.passage))"
    return browser.execute_script(script)


def focused(browser: webdriver.Chrome) -> str | None:
    """The passage of the hit that has the focus."""
    return browser.execute_script(
        "return document.activeElement.closest('.hit')?.dataset.passage ?? null"
    )


def state(browser: webdriver.Chrome) -> dict[str, list[str]]:
    return parse_qs(urlsplit(browser.current_url).query)


def shaded(browser: webdriver.Chrome) -> bool:
    """Whether the shades of all tokens have come."""
    return "every token" in browser.find_element(By.CSS_SELECTOR, ".results").text


def test_words_come_at_once_meaning_after_a_pause_and_then_what_every_token_counts(
    opened: Callable[..., webdriver.Chrome], served: list[Index]
) -> None:
    browser = opened()
    type_in(browser, QUERY)
    until(lambda: shaded(browser))
    assert passages(browser) == [hit.passage_id for hit in served[0].query(QUERY)]
    field = browser.switch_to.active_element
    assert (field.get_attribute("name"), field.get_property("selectionStart")) == ("q", len(QUERY))
    asked = browser.execute_script(
        "return performance.getEntriesByType('resource').map((one) => one.name)"
    )
    kinds = [parse_qs(urlsplit(url).query) for url in asked if "/?" in url]
    assert any(one.get("words") == ["1"] for one in kinds[:-2])
    assert "words" not in kinds[-2] and kinds[-1]["shades"] == ["1"]
    assert state(browser)["q"] == [QUERY] and "generation" in state(browser)


def test_the_keyboard_does_all(opened: Callable[..., webdriver.Chrome]) -> None:
    browser = opened(f"/?q={QUERY}")
    until(lambda: shaded(browser))
    ids = [str(one) for one in passages(browser)]
    type_in(browser, "j")
    assert focused(browser) == ids[0]
    type_in(browser, "j", Keys.ARROW_DOWN, "k")
    assert focused(browser) == ids[1]
    type_in(browser, "c", "j", "c")
    until(lambda: urlsplit(browser.current_url).fragment == f"contrast={ids[1]},{ids[2]}")
    type_in(browser, Keys.ESCAPE)
    assert urlsplit(browser.current_url).fragment == "" and focused(browser) == ids[2]
    type_in(browser, "e")
    until(lambda: urlsplit(browser.current_url).fragment == f"why={ids[2]}")
    assert until(lambda: browser.find_element(By.CSS_SELECTOR, ".beside").text)
    type_in(browser, Keys.ESCAPE, "?")
    assert "mark for contrast" in browser.find_element(By.TAG_NAME, "dialog").text
    type_in(browser, Keys.ESCAPE)
    type_in(browser, "/")
    type_in(browser, "jkecs")  # it is a field: these are letters
    until(lambda: state(browser)["q"] == ["jkecs"])
    until(lambda: browser.find_elements(By.CSS_SELECTOR, ".hit"))
    type_in(browser, Keys.ARROW_DOWN)
    first = browser.switch_to.active_element.get_attribute("href")
    type_in(browser, Keys.ENTER)
    assert until(lambda: browser.current_url == first)
    browser.back()
    until(lambda: browser.find_elements(By.CSS_SELECTOR, "search-page"))
    assert until(lambda: browser.switch_to.active_element.get_attribute("href")) == first


def test_the_address_is_the_state_and_back_goes_back(opened: Callable[..., webdriver.Chrome]) -> None:
    browser = opened()
    type_in(browser, "door", Keys.ENTER)
    until(lambda: shaded(browser))
    first = passages(browser)
    browser.find_element(By.CSS_SELECTOR, ".limits summary").click()
    where = browser.find_element(By.NAME, "where")
    where.send_keys("name=keys.md", Keys.ENTER)
    until(lambda: state(browser).get("where") == ["name=keys.md"] and len(passages(browser)) == 1)
    link = browser.current_url
    browser.back()
    until(lambda: passages(browser) == first)
    assert browser.find_element(By.NAME, "where").get_property("value") == ""
    browser.forward()
    until(lambda: len(passages(browser)) == 1)
    again = opened(urlsplit(link)._replace(scheme="", netloc="").geturl())
    assert len(passages(again)) == 1
    again.find_element(By.CSS_SELECTOR, ".later").click()
    until(lambda: again.find_elements(By.CSS_SELECTOR, ".narrow a"))[0].click()
    until(lambda: state(again)["where"][0].startswith("name=keys.md and "))
    where = again.find_element(By.NAME, "where")
    assert where.is_displayed() and where.get_property("value") == state(again)["where"][0]
    until(lambda: again.find_elements(By.CSS_SELECTOR, ".narrow [aria-current]"))
    again.find_element(By.CSS_SELECTOR, ".narrow [aria-current]").click()
    until(lambda: state(again)["where"] == ["name=keys.md"])
    stale = opened("/?q=door&generation=999999").find_element(By.CSS_SELECTOR, ".results").text
    assert "The index has changed since this address was made" in stale


def test_back_shows_what_stood_there(
    opened: Callable[..., webdriver.Chrome], served: list[Index]
) -> None:
    browser = opened(f"/?q={QUERY}&without=key")
    until(lambda: shaded(browser))
    first = passages(browser)
    browser.find_element(By.CSS_SELECTOR, ".hit .mark").click()
    browser.execute_script(
        "window.asked = []; const really = fetch;"
        "window.fetch = (address, how) => (asked.push(String(address)), really(address, how));"
    )
    field = browser.find_element(By.NAME, "q")
    field.send_keys(Keys.CONTROL + "a")
    field.send_keys("door")
    until(lambda: state(browser)["q"] == ["door"] and shaded(browser))
    assert not browser.find_elements(By.CSS_SELECTOR, ".mark[aria-pressed=true]")
    browser.find_element(By.CSS_SELECTOR, ".why").click()
    until(lambda: browser.find_element(By.CSS_SELECTOR, ".beside").is_displayed())
    browser.back()
    until(lambda: passages(browser) == first and field.get_property("value") == QUERY)
    assert not browser.find_element(By.CSS_SELECTOR, ".beside").is_displayed()
    assert until(lambda: browser.find_element(By.CSS_SELECTOR, "[value=key]").is_selected())
    asked = [parse_qs(urlsplit(one).query) for one in browser.execute_script("return asked")]
    assert next(one["without"] for one in asked if one["q"] == [QUERY]) == ["key"]


def test_a_passage_that_is_no_hit_is_explained_and_a_server_that_is_gone_is_said(
    opened: Callable[..., webdriver.Chrome], served: list[Index]
) -> None:
    last = served[0].query(QUERY, 100)[-1].passage_id
    browser = opened(f"/?q={QUERY}&k=1#why={last}")
    beside = browser.find_element(By.CSS_SELECTOR, ".beside")
    until(lambda: browser.find_elements(By.CSS_SELECTOR, f".beside a[href*='passage={last}']"))
    type_in(browser, Keys.ESCAPE)
    browser.execute_script("window.fetch = async () => { throw new TypeError('gone'); }")
    type_in(browser, "j", "e")
    until(lambda: "seewhy serve" in beside.text)


def test_a_filter_that_cannot_be_read_is_said_and_another_index_is_asked(
    opened: Callable[..., webdriver.Chrome], served: list[Index]
) -> None:
    browser = opened(f"/?q={QUERY}&where=(")
    assert "filter" in browser.find_element(By.CSS_SELECTOR, "[role=alert]").text
    browser.find_element(By.NAME, "where").clear()
    select = browser.find_element(By.NAME, "index")
    select.send_keys(served[1].path.name)
    until(lambda: len(passages(browser)) == 1)
    assert state(browser)["index"] == [served[1].path.name]


def test_what_is_kept_is_kept_here_and_can_be_forgotten(opened: Callable[..., webdriver.Chrome]) -> None:
    browser = opened()
    type_in(browser, "door", Keys.ENTER)
    until(lambda: shaded(browser))
    until(lambda: browser.execute_script("return localStorage.getItem('seewhy-queries')"))
    opened()
    last = browser.find_element(By.CSS_SELECTOR, ".last a")
    assert last.text == "door"
    browser.find_element(By.CSS_SELECTOR, "button.keys").click()
    browser.find_element(By.NAME, "keys").click()
    browser.find_element(By.CSS_SELECTOR, ".forget").click()
    type_in(browser, Keys.ESCAPE)
    assert not browser.find_element(By.CSS_SELECTOR, ".last").is_displayed()
    kept = browser.execute_script("return Object.keys(localStorage).sort()")
    assert kept == ["seewhy-keys"]
    opened("/?q=turn the key שלום")
    until(lambda: passages(browser))
    browser.execute_script("document.activeElement.blur()")
    type_in(browser, "j")
    assert focused(browser) is None


def test_it_works_without_scripts(opened: Callable[..., webdriver.Chrome], served: list[Index]) -> None:
    browser = opened(script=False)
    browser.find_element(By.NAME, "q").send_keys(QUERY, Keys.ENTER)
    until(lambda: "q=" in browser.current_url)
    places = [one.text for one in browser.find_elements(By.CSS_SELECTOR, ".place > bdi")]
    assert len(places) == len(served[0].query(QUERY))
    assert not [
        one for one in browser.find_elements(By.CSS_SELECTOR, "button") if one.text in ("Copy", "Keys")
    ]
    browser.find_element(By.CSS_SELECTOR, "a.similar").click()
    until(lambda: "/similar" in browser.current_url)
    assert browser.find_elements(By.CSS_SELECTOR, ".hit")


def test_hostile_text_is_text(opened: Callable[..., webdriver.Chrome]) -> None:
    browser = opened(f"/?q={QUERY}&where=not name:page*")
    until(lambda: shaded(browser))
    body = browser.find_element(By.TAG_NAME, "body").text
    assert "<script>document.title='owned';alert(1)</script>" in body and "\\x1b[31m" in body
    assert browser.title != "owned"
    assert browser.find_elements(By.CSS_SELECTOR, "img, iframe, .hit script, [onclick], [style]") == []


def pages(served: list[Index]) -> list[str]:
    """Every page of the server, with something on it."""
    index = served[0]
    one, other = (hit for hit in index.query(QUERY)[:2])
    asked = f"q={QUERY}&passage={one.passage_id}"
    return [
        "/",
        f"/?q={QUERY}&where=not name=page01.md&weight=0.5",
        f"/?q={QUERY}#why={one.passage_id}",
        f"/?q={QUERY}#contrast={one.passage_id},{other.passage_id}",
        "/?q=key&where=(",
        f"/similar?passage={one.passage_id}",
        f"/documents/{one.document_id}?{asked}",
        f"/explain?{asked}",
        f"/contrast?q={QUERY}&a={one.passage_id}&b={other.passage_id}",
        f"/why-not?q={QUERY}&document={other.document_id}&k=1",
        "/similarity?text=the key%0Athe lock%0Athe door",
        "/inspect?text=turn the key&text=open the lock",
        "/inspect?text=turn the key&show=attention",
        "/nothing",
    ]


def test_every_page_is_accessible_and_fits(
    opened: Callable[..., webdriver.Chrome], served: list[Index]
) -> None:
    """Wide and light, then narrow and dark: each page is loaded once."""
    axe = (files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")
    run = """
        const wanted = {runOnly: arguments[0], resultTypes: ["violations"], preload: false};
        axe.run(document, wanted).then((found) =>
          arguments[1](found.violations.map((one) => [one.id, one.nodes[0].html])));
    """
    for path in pages(served):
        browser = opened(path)
        if "#" in path:
            until(partial(browser.find_elements, By.CSS_SELECTOR, ".beside .fragment"))
        browser.execute_script(axe)
        for width, scheme in ((1280, "light"), (320, "dark")):
            shown_in(browser, width, scheme)
            assert browser.execute_async_script(run, TAGS) == [], (path, width)
            assert browser.execute_script("return document.documentElement.scrollWidth") <= width, path


def test_what_if_ranks_at_once_as_the_server_does(
    opened: Callable[..., webdriver.Chrome], served: list[Index]
) -> None:
    browser = opened(f"/?q={QUERY}&k=5")
    until(lambda: shaded(browser))
    browser.find_element(By.CSS_SELECTOR, "what-if summary").click()
    until(lambda: "Ranked by the page itself" in browser.find_element(By.CSS_SELECTOR, "what-if").text)
    asked = "return performance.getEntriesByType('resource').length"
    before = browser.execute_script(asked)
    move = """
        const slider = document.querySelector("[name=weight]");
        slider.value = arguments[0];
        slider.dispatchEvent(new Event("input", {bubbles: true}));
        return [...document.querySelectorAll(".results .score b")].map((one) => one.textContent);"""
    index = served[0]
    for weight in (0.3, 0.9, 0.1):
        scores = browser.execute_script(move, weight)
        hits = index.query(QUERY, 5, weight=weight)
        assert passages(browser) == [hit.passage_id for hit in hits]
        assert scores == [f"{hit.score:.3f}" for hit in hits]
    assert browser.execute_script(asked) == before  # of the server nothing
    assert "weight=0.1" in browser.find_element(By.CSS_SELECTOR, ".why").get_attribute("href")
    browser.execute_script(
        "document.querySelector('[name=weight]').dispatchEvent(new Event('change', {bubbles: true}))"
    )
    until(lambda: state(browser).get("weight") == ["0.1"])
    until(lambda: browser.find_elements(By.CSS_SELECTOR, ".results:not(.weighed)"))
    browser.find_element(By.CSS_SELECTOR, "[name=without][value=key]").click()
    until(lambda: state(browser).get("without") == ["key"])
    wanted = [hit.passage_id for hit in index.query(QUERY, 5, weight=0.1, without=["key"])]
    until(lambda: passages(browser) == wanted)
    until(lambda: shaded(browser))
    browser.find_element(By.NAME, "q").send_keys(Keys.CONTROL + "a")
    type_in(browser, "door")  # of which it cannot be left out
    until(
        lambda: "without" not in state(browser) and state(browser)["q"] == ["door"] and shaded(browser)
    )


def test_where_the_bound_no_longer_holds_the_server_is_asked(
    opened: Callable[..., webdriver.Chrome],
) -> None:
    browser = opened(f"/?q={QUERY}&k=5")
    until(lambda: shaded(browser))
    browser.execute_script("""
        const really = window.fetch;
        window.asked = [];
        window.fetch = async (address, how) => {
          const reply = await really(address, how);
          window.asked.push(String(address));
          if (!String(address).startsWith("/what-if")) return reply;
          const known = await reply.json();
          return new Response(JSON.stringify({...known, whole: false, bound: {...known.bound, cosine: 2, score: 2}}));
        };""")
    browser.find_element(By.CSS_SELECTOR, "what-if summary").click()
    until(lambda: browser.find_element(By.CSS_SELECTOR, "what-if [role=status]").text)
    said = browser.execute_script("""
        const slider = document.querySelector("[name=weight]");
        slider.value = 0.9;
        slider.dispatchEvent(new Event("input", {bubbles: true}));
        return document.querySelector("what-if [role=status]").textContent;""")
    assert "The bound no longer holds" in said
    until(
        lambda: any(
            "/?" in one and "weight=0.9" in one for one in browser.execute_script("return window.asked")
        )
    )


def test_a_busy_server_is_said_and_asked_again(opened: Callable[..., webdriver.Chrome]) -> None:
    browser = opened()
    browser.execute_script("""
        const really = window.fetch;
        const busy = {status: 503, headers: {"Retry-After": "1"}};
        window.fetch = async () => {
          window.fetch = really;
          return new Response('<p role="alert">too much is asked.</p>', busy);
        };
        document.querySelector("[name=mode]").value = "dense";""")
    type_in(browser, "d")
    until(lambda: "too much is asked" in browser.find_element(By.CSS_SELECTOR, ".results").text)
    assert until(lambda: passages(browser))
