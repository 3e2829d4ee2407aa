"""The pages in a real browser: what they do by mouse and keyboard, and what hostile text in them does not.

Skipped where Chromium, its driver or selenium is missing; where `CI` is set, that is a failure.
"""

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import search
from search.explaining.xray import xray
from search.records.comparisons import Similarities
from search.render import page

if not os.environ.get("CI"):
    pytest.importorskip("selenium", reason="selenium is not installed")
from selenium import webdriver
from selenium.common.exceptions import NoAlertPresentException
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from tests.explaining.test_explanation import computed

HOSTILE = (
    "<script>document.title='owned';alert(1)</script> \"double\" 'single' </script></style> "
    "<img src=http://localhost:9/x onerror=alert(2)> שלום עולם مرحبا 🎉 \x1b[31mred\x07 \u202eevil &lt;b&gt; -->"
)


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory, tiny_model: Path) -> dict[str, Path]:
    """A page of an index of hostile text, asked a hostile question; a page of hostile sentences."""
    folder = tmp_path_factory.mktemp("hostile")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SEEWHY_HOME", str(tmp_path_factory.mktemp("home")))
        (folder / "הערות & 'keys' 🎉.md").write_text(
            f"# <b onclick=alert(3)>Title</b> שלום\n\n<i>turn</i> the lock \x1b[31m مرحبا 🎉 {HOSTILE[:8]}\n",
            encoding="utf-8",
        )
        index = search.Index.build(folder, model=str(tiny_model))
        query = '<script>alert(4)</script> "turn" key 🎉 שלום'
        hit = index.query(query)[0]
        why = index.explain(query, hit)
    assert "lock" in why.passage
    # What a random model adds is much the same everywhere; a reader wants to see differences, and signs.
    addends = np.random.default_rng(4).normal(0.01, 0.02, why.contributions.shape)
    numbers = computed(np.pad(addends, ((0, 1), (0, 1)), constant_values=0.01), why.similarity)
    why = replace(why, numbers=numbers, score=float(numbers.cells.sum()))
    hit = replace(hit, title=HOSTILE, heading=HOSTILE, path=f"/{HOSTILE}")
    output = tmp_path_factory.mktemp("pages")
    first, second = output / "why & 'b'.html", output / "sentences.html"
    first.write_text(
        page.document(page.xray(xray(why), by="word", hit=hit)), encoding="utf-8", newline="\n"
    )
    texts = (HOSTILE, "the key", "the lock")
    cosines = search.similarity(["the door", *texts[1:]], model=str(tiny_model))
    similarities = Similarities(texts, texts, cosines, True, HOSTILE, "mean")
    second.write_text(page.document(page.sentences(similarities)), encoding="utf-8", newline="\n")
    return {"why": first, "sentences": second}


def open_page(browser: webdriver.Chrome, path: Path, width: int = 1280, height: int = 1000) -> None:
    browser.get("about:blank")
    browser.get_log("browser")
    browser.get_log("performance")
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    browser.get(path.as_uri())
    leave(browser)


def leave(browser: webdriver.Chrome) -> None:
    """Take the mouse away from every word."""
    ActionChains(browser).move_to_element(browser.find_element(By.TAG_NAME, "h1")).perform()


def assert_inert(browser: webdriver.Chrome) -> None:
    """No alert, no console message, no request but for the page itself, no element that a text brought."""
    events = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    urls = [e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"]
    assert [url for url in urls if not url.startswith(("file:", "data:", "about:"))] == []
    assert len([url for url in urls if url.startswith("file:")]) == 1
    assert browser.get_log("browser") == []
    assert browser.title != "owned"
    for tag in ("img", "b[onclick]", "body i b", "body style", "iframe", "object"):
        assert browser.find_elements(By.CSS_SELECTOR, tag) == [], tag
    scripts = browser.find_elements(By.CSS_SELECTOR, "script:not([type='application/json'])")
    assert len(scripts) == 2  # the theme, and one module
    with pytest.raises(NoAlertPresentException):
        _ = browser.switch_to.alert


def unit(browser: webdriver.Chrome, side: str, text: str) -> Any:
    elements = browser.find_elements(By.CSS_SELECTOR, f"[data-side='{side}'] .unit")
    return next(element for element in elements if element.text == text)


def shades(browser: webdriver.Chrome, side: str) -> list[str]:
    """Background colours of the units of a side, as the user sees them."""
    script = "return [...document.querySelectorAll(arguments[0])].map(e => getComputedStyle(e).backgroundColor)"
    return browser.execute_script(script, f"[data-side='{side}'] .unit")


def detail(browser: webdriver.Chrome) -> str:
    return browser.find_element(By.CLASS_NAME, "detail").text


def test_hostile_text_is_shown_and_does_nothing(
    browser: webdriver.Chrome, pages: dict[str, Path]
) -> None:
    open_page(browser, pages["why"])
    body = browser.find_element(By.TAG_NAME, "body").text
    assert (
        "<script>document.title='owned';alert(1)</script> \"double\" 'single' </script></style>" in body
    )
    assert "\\x1b[31mred\\x07 \\u202eevil &lt;b&gt; -->" in body
    assert "<script>alert(4)</script> turn key 🎉 שלום" in body
    for element in browser.find_elements(By.CSS_SELECTOR, ".piece"):
        ActionChains(browser).move_to_element(element).perform()
    assert_inert(browser)


def test_the_theme_button_overrides_the_scheme_of_the_system(
    browser: webdriver.Chrome, pages: dict[str, Path]
) -> None:
    paper = "return getComputedStyle(document.body).backgroundColor"
    for scheme, other in (("light", "dark"), ("dark", "light")):
        browser.execute_cdp_cmd(
            "Emulation.setEmulatedMedia",
            {"features": [{"name": "prefers-color-scheme", "value": scheme}]},
        )
        open_page(browser, pages["why"])
        by_system = browser.execute_script(paper)
        assert by_system == {"light": "rgb(255, 255, 255)", "dark": "rgb(15, 18, 22)"}[scheme]
        for _ in range(["light", "dark"].index(other) + 1):  # as the system, light, dark
            browser.find_element(By.CSS_SELECTOR, "theme-switch button").click()
        assert browser.execute_script("return document.documentElement.dataset.theme") == other
        assert browser.execute_script(paper) != by_system
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_the_table_of_sentences_works_by_mouse_and_keyboard(
    browser: webdriver.Chrome, pages: dict[str, Path]
) -> None:
    open_page(browser, pages["sentences"])
    cells = browser.find_elements(By.CSS_SELECTOR, ".matrix td[data-row]")
    assert len(cells) == 9
    ActionChains(browser).move_to_element(cells[5]).perform()  # row 2, column 3
    assert cells[5].text.replace("\u2212", "-") in detail(browser).replace("\u2212", "-")
    assert "2 the key" in detail(browser) and "3 the lock" in detail(browser)
    cells[0].click()
    browser.switch_to.active_element.send_keys(Keys.ARROW_DOWN)
    assert (
        detail(browser).split("\n")[1].startswith("2 the key")
    )  # the keyboard, though the mouse rests elsewhere
    leave(browser)
    assert "2 the key" in detail(browser)
    assert "<script>document.title='owned'" in detail(browser)
    head = browser.find_element(By.CSS_SELECTOR, ".matrix th[data-row='1']")
    ActionChains(browser).move_to_element(head).perform()
    assert detail(browser).startswith("2 the key is most like:")
    assert_inert(browser)
