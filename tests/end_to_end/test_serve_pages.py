"""The pages of the server in a real browser: one server for all, over folders of which one is hostile.

Skipped where Chromium, its driver or selenium is missing; where `CI` is set, that is a failure.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit
from urllib.request import Request, urlopen

import pytest

import search
from search import Index
from search.index import searcher_of
from search.store.pins import pins

if not os.environ.get("CI"):
    pytest.importorskip("selenium", reason="selenium is not installed")
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from tests.end_to_end.conftest import serving
from tests.end_to_end.test_browser import HOSTILE

RULES_OF_THE_SCREEN = [
    "color-contrast", "link-in-text-block", "target-size", "scrollable-region-focusable", "meta-viewport",
]  # fmt: skip
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
QUERY = "turn the key"


@pytest.fixture(scope="module")
def indexes(tmp_path_factory: pytest.TempPathFactory, tiny_model: Path) -> Iterator[list[Index]]:
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
def site(indexes: list[Index]) -> Iterator[str]:
    """The address of the server."""
    with serving(*indexes) as address:
        yield address


def set_screen(browser: webdriver.Chrome, width: int, scheme: str) -> None:
    """Set the width of the window, and the user's preference for light or dark pages."""
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    preferences = {"prefers-color-scheme": scheme, "prefers-reduced-motion": "reduce"}
    media = {"features": [{"name": name, "value": value} for name, value in preferences.items()]}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)


@pytest.fixture
def open_page(browser: webdriver.Chrome, site: str) -> Iterator[Callable[..., webdriver.Chrome]]:
    """Return a function that opens a page; at the end, no other server was asked and the console has no errors."""

    def open_path(
        path: str = "/", width: int = 1280, scheme: str = "light", script: bool = True
    ) -> webdriver.Chrome:
        set_screen(browser, width, scheme)
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": not script})
        browser.get(site + path)
        return browser

    browser.get("about:blank")
    browser.get_log("browser")
    browser.get_log("performance")
    yield open_path
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
    assert outside(browser, site) == []
    assert [entry for entry in browser.get_log("browser") if entry["source"] != "network"] == []
    browser.get(site + "/static/0/seewhy.css")  # a page without a script, to forget what was kept
    browser.execute_script("localStorage.clear()")
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def events(browser: webdriver.Chrome) -> list[dict[str, Any]]:
    return [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]


def outside(browser: webdriver.Chrome, site: str) -> list[str]:
    """Requests to anybody but the server."""
    urls = [
        event["params"]["request"]["url"]
        for event in events(browser)
        if event["method"] == "Network.requestWillBeSent"
    ]
    return [url for url in urls if not url.startswith((site, "data:", "about:", "chrome:"))]


def until(condition: Callable[[], Any], seconds: float = 60) -> Any:
    """Wait for a condition and return its value: on a busy machine the first explanation takes long."""
    end = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < end, "it never came"
        time.sleep(0.02)
    return value


def type_in(browser: webdriver.Chrome, *keys: str) -> None:
    browser.switch_to.active_element.send_keys(*keys)


def passages(browser: webdriver.Chrome) -> list[int]:
    """Ids of the passages of the hits, in their order."""
    script = "return [...document.querySelectorAll('.hit')].map((one) => Number(one.dataset.passage))"
    return browser.execute_script(script)


def focused_passage(browser: webdriver.Chrome) -> str | None:
    """The passage of the hit that has the focus."""
    return browser.execute_script(
        "return document.activeElement.closest('.hit')?.dataset.passage ?? null"
    )


def state(browser: webdriver.Chrome) -> dict[str, list[str]]:
    return parse_qs(urlsplit(browser.current_url).query)


def is_complete(browser: webdriver.Chrome) -> bool:
    """Return True once the hits by meaning have come, with their bars."""
    return bool(browser.find_elements(By.CSS_SELECTOR, ".hits:not([data-keywords]) .seg[data-w=rest]"))


def in_view(browser: webdriver.Chrome, css: str) -> float:
    """The upper edge of an element in the window."""
    return browser.execute_script(
        "return document.querySelector(arguments[0]).getBoundingClientRect().top", css
    )


@pytest.mark.parametrize(("width", "height", "limit"), [(1440, 900, 320), (390, 844, 260)])
def test_the_first_hit_is_in_view_and_why_opens_beside_it(
    open_page: Callable[..., webdriver.Chrome], width: int, height: int, limit: int
) -> None:
    browser = open_page(f"/?q={QUERY}", width=width)
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    assert 0 < in_view(browser, ".hit .passage") < limit
    for number in (2, 5):
        link = browser.find_element(By.CSS_SELECTOR, f".hit:nth-child({number}) .why-link")
        browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", link)
        before = in_view(browser, f".hit:nth-child({number})")
        link.click()
        beside = f".hit.is-shown:nth-child({number})"
        until(lambda css=beside: browser.find_elements(By.CSS_SELECTOR, css))
        until(lambda: browser.find_elements(By.CSS_SELECTOR, "[data-view=why]:not([aria-busy]) tfoot"))
        assert abs(in_view(browser, f".hit:nth-child({number})") - before) < 8
        assert browser.find_element(By.CSS_SELECTOR, "[data-view=why] tfoot").is_displayed()
        assert len(browser.find_elements(By.CSS_SELECTOR, ".tabview:not([hidden])")) == 1
        if width < 1088:  # the sheet lies over the hits
            browser.find_element(By.CSS_SELECTOR, ".pane .close").click()
            until(lambda: not browser.find_elements(By.CSS_SELECTOR, ".pane:popover-open"))
            assert "doc" not in state(browser)
    browser.execute_script("history.go(-2)")
    until(lambda: not browser.find_elements(By.CSS_SELECTOR, "[aria-expanded=true][data-why]"))
    assert len(passages(browser)) == 10 and browser.title == f"{QUERY} \u2013 seewhy"


def test_few_stops_lead_from_the_field_to_the_first_hit(
    open_page: Callable[..., webdriver.Chrome],
) -> None:
    browser = open_page(f"/?q={QUERY}", width=1440)
    browser.find_element(By.NAME, "q").click()
    stops = 0
    while not focused_passage(browser):
        type_in(browser, Keys.TAB)
        stops += 1
        assert stops <= 15


def test_a_page_of_ten_hits_is_small(site: str) -> None:
    for address, limit in (
        (f"{site}/?q=turn+the+key", 12_000),
        (f"{site}/?q=turn+the+key&words=1", 6_000),
    ):
        request = Request(address, headers={"Accept": "text/html", "Accept-Encoding": "gzip"})
        with urlopen(request) as answer:
            assert len(answer.read()) < limit and answer.headers["Content-Encoding"] == "gzip"


def test_keywords_come_at_once_and_meaning_after_a_pause(
    open_page: Callable[..., webdriver.Chrome], indexes: list[Index]
) -> None:
    browser = open_page(f"/?q=door&index={indexes[0].path.name}")
    browser.execute_script(
        "window.asked = []; const really = fetch;"
        "window.fetch = (address, how) => (asked.push(String(address)), really(address, how));"
    )
    field = browser.find_element(By.NAME, "q")
    field.send_keys(Keys.CONTROL + "a")
    field.send_keys(QUERY)
    until(lambda: state(browser)["q"] == [QUERY] and is_complete(browser))
    until(lambda: passages(browser) == [hit.passage_id for hit in indexes[0].query(QUERY)])
    kinds = [
        parse_qs(urlsplit(url).query) for url in browser.execute_script("return asked") if "/?" in url
    ]
    words = [number for number, parameters in enumerate(kinds) if parameters.get("words") == ["1"]]
    assert words and any(
        "words" not in parameters and parameters["q"] == [QUERY] for parameters in kinds[words[-1] :]
    )
    assert "generation" not in state(browser)
    browser.back()
    until(lambda: state(browser)["q"] == ["door"] and field.get_property("value") == "door")
    assert browser.title == "door \u2013 seewhy"


def test_keys_select_explain_compare_and_search(open_page: Callable[..., webdriver.Chrome]) -> None:
    browser = open_page(f"/?q={QUERY}")
    ids = [str(passage) for passage in passages(browser)]
    type_in(browser, "j", "j")
    assert focused_passage(browser) == ids[1]
    type_in(browser, "e")
    until(lambda: browser.find_elements(By.CSS_SELECTOR, "[data-view=why] tfoot"))
    assert (state(browser)["doc"], state(browser)["tab"]) == ([ids[1]], ["why"])
    type_in(browser, Keys.ESCAPE)
    until(lambda: "tab" not in state(browser))
    type_in(browser, "c", "j", "c")
    until(lambda: state(browser).get("other") == [ids[2]])
    until(lambda: browser.find_elements(By.CSS_SELECTOR, "[data-view=compare] .mirror"))
    type_in(browser, "t")
    until(lambda: browser.find_elements(By.CSS_SELECTOR, "[data-view=tokens] x-ray .pieces"))
    type_in(browser, "?")
    assert "compare with the next hit" in browser.find_element(By.TAG_NAME, "dialog").text
    type_in(browser, Keys.ESCAPE, "/")
    type_in(browser, "jkecs")  # it is a field: these are letters
    until(lambda: "jkecs" in state(browser)["q"][0])


def test_filters_are_chosen_and_removed(
    open_page: Callable[..., webdriver.Chrome], indexes: list[Index]
) -> None:
    browser = open_page(f"/?q=door&where=name=keys.md&index={indexes[0].path.name}", width=1440)
    assert len(passages(browser)) < 3
    browser.find_element(By.CSS_SELECTOR, ".chosen a").click()
    until(lambda: "where" not in state(browser) and len(passages(browser)) == 10)
    box = until(lambda: browser.find_elements(By.CSS_SELECTOR, "[name=pick][value='kind=text']"))[0]
    browser.execute_script("arguments[0].click()", box)
    until(lambda: state(browser).get("pick") == ["kind=text"] and 0 < len(passages(browser)) < 10)
    browser.back()
    until(lambda: len(passages(browser)) == 10)
    more = browser.find_element(By.CSS_SELECTOR, ".hit:nth-child(3) [data-tool=more]")
    browser.execute_script("arguments[0].click()", more)
    until(
        lambda: (
            "more" in state(browser)
            and browser.find_elements(By.CSS_SELECTOR, ".chosen [data-name=more]")
        )
    )


def test_a_document_is_read_beside_the_hits(open_page: Callable[..., webdriver.Chrome]) -> None:
    browser = open_page(f"/?q={QUERY}", width=1440)
    marks = until(lambda: browser.find_elements(By.CSS_SELECTOR, ".doc .is-here mark"))
    assert marks[0].is_displayed() and browser.execute_script("return scrollY") == 0
    browser.find_element(By.CSS_SELECTOR, ".hit:nth-child(3) .open").click()
    third = passages(browser)[2]
    until(lambda: browser.find_elements(By.CSS_SELECTOR, f".doc #p{third}.is-here"))
    assert browser.find_element(By.CSS_SELECTOR, ".is-shown").get_attribute("data-passage") == str(third)
    browser.find_element(By.XPATH, "//a[text()='Source']").click()
    until(lambda: browser.find_elements(By.CSS_SELECTOR, ".doc .is-source .line"))
    assert state(browser)["q"] == [QUERY]


def test_a_banner_reports_a_stopped_server_and_the_hits_stay(
    open_page: Callable[..., webdriver.Chrome],
) -> None:
    browser = open_page(f"/?q={QUERY}")
    browser.execute_script(
        "window.really = fetch; window.fetch = async () => { throw new TypeError('gone'); }"
    )
    field = browser.find_element(By.NAME, "q")
    field.send_keys(" again")
    until(lambda: "seewhy serve" in browser.find_element(By.CSS_SELECTOR, ".banner").text)
    assert len(passages(browser)) == 10
    browser.execute_script("window.fetch = window.really")
    until(lambda: not browser.find_element(By.CSS_SELECTOR, ".banner").is_displayed())


def test_a_banner_reports_a_busy_server_until_it_answers(
    open_page: Callable[..., webdriver.Chrome],
) -> None:
    browser = open_page("/?q=key&mode=dense")
    browser.execute_script("""
        const really = window.fetch;
        const busy = {status: 503, headers: {"Retry-After": "1"}};
        window.fetch = async () => {
          window.fetch = really;
          return new Response('<p role="alert">too much is asked.</p>', busy);
        };""")
    browser.find_element(By.NAME, "q").send_keys("s")
    until(lambda: "too much is asked" in browser.find_element(By.CSS_SELECTOR, ".banner").text)
    until(lambda: not browser.find_element(By.CSS_SELECTOR, ".banner").is_displayed())


def test_an_invalid_filter_is_reported_with_its_position(
    open_page: Callable[..., webdriver.Chrome], indexes: list[Index]
) -> None:
    browser = open_page(f"/?q={QUERY}&where=(")
    problem = browser.find_element(By.CSS_SELECTOR, "[role=alert].problem").text
    assert "filter" in problem and "^" in problem
    assert browser.find_element(By.NAME, "where").get_property("value") == "("


def test_recent_queries_stay_in_the_browser_and_can_be_deleted(
    open_page: Callable[..., webdriver.Chrome],
) -> None:
    browser = open_page()
    type_in(browser, "door", Keys.ENTER)
    until(lambda: is_complete(browser))
    until(lambda: browser.execute_script("return localStorage.getItem('seewhy-queries')"))
    open_page()
    last = browser.find_element(By.CSS_SELECTOR, "recent-queries a")
    assert last.text.startswith("door")
    browser.find_element(By.CSS_SELECTOR, "recent-queries button").click()
    assert not last.is_displayed()
    assert browser.execute_script("return localStorage.length") == 0


def test_a_star_pins_a_question_to_the_start_page_and_removes_it(
    open_page: Callable[..., webdriver.Chrome], indexes: list[Index]
) -> None:
    browser = open_page(f"/?q={QUERY}")
    star = ".verdict .star"
    until(lambda: is_complete(browser))
    browser.find_element(By.CSS_SELECTOR, star).click()
    until(lambda: browser.find_element(By.CSS_SELECTOR, star).get_attribute("aria-pressed") == "true")
    assert pins(indexes[0].path) == (QUERY,)
    open_page()
    pinned = browser.find_elements(By.CSS_SELECTOR, "ul.pins > li")
    assert next(item.text for item in pinned if item.is_displayed()) == QUERY
    browser.find_element(By.CSS_SELECTOR, "ul.pins .star[aria-pressed=true]").click()
    until(lambda: not pins(indexes[0].path))
    browser.find_element(By.CSS_SELECTOR, "ul.pins .star").click()
    until(lambda: pins(indexes[0].path) == (QUERY,))
    open_page(script=False)
    browser.find_element(By.CSS_SELECTOR, "ul.pins .star").click()
    until(
        lambda: not pins(indexes[0].path) and not browser.find_elements(By.CSS_SELECTOR, "ul.pins > li")
    )


def test_search_why_and_filters_work_without_scripts(
    open_page: Callable[..., webdriver.Chrome], indexes: list[Index]
) -> None:
    browser = open_page(script=False, width=1440)
    browser.find_element(By.NAME, "q").send_keys(QUERY, Keys.ENTER)
    until(lambda: "q=" in browser.current_url)
    assert len(browser.find_elements(By.CSS_SELECTOR, ".hit")) == len(indexes[0].query(QUERY))
    browser.find_element(By.CSS_SELECTOR, ".hit:nth-child(2) .why-link").send_keys(Keys.ENTER)
    until(lambda: browser.find_elements(By.CSS_SELECTOR, ".hit:nth-child(2) .why tfoot"))
    browser.find_element(By.CSS_SELECTOR, "a.word").send_keys(Keys.ENTER)
    until(lambda: browser.find_elements(By.CSS_SELECTOR, "a.word[aria-pressed=false]"))
    browser.find_element(By.CSS_SELECTOR, "a.later").click()
    box = until(lambda: browser.find_elements(By.NAME, "pick"))[0]
    browser.find_element(By.CSS_SELECTOR, ".tune .facet summary").click()
    box.click()
    browser.find_element(By.NAME, "q").send_keys(Keys.ENTER)
    until(lambda: "pick=" in browser.current_url and "without=" in browser.current_url)


def test_hostile_text_never_becomes_markup(open_page: Callable[..., webdriver.Chrome]) -> None:
    browser = open_page(f"/?q={QUERY}&where=not name:page*")
    until(lambda: is_complete(browser))
    body = browser.find_element(By.TAG_NAME, "body").text
    assert "<script>document.title='owned';alert(1)</script>" in body
    assert "red\\x07 \\u202eevil" in body and "[31m" not in body  # colours of a terminal are markup
    assert browser.title != "owned"
    assert browser.find_elements(By.CSS_SELECTOR, "img, iframe, .hit script, [onclick]") == []


def pages(indexes: list[Index]) -> list[str]:
    """Every page of the server, with something on it."""
    index = indexes[0]
    first, other = (hit for hit in index.query(QUERY)[:2])
    parameters = f"q={QUERY}&passage={first.passage_id}"
    return [
        "/",
        f"/?q={QUERY}&where=not name=page01.md&weight=0.5",
        f"/?q={QUERY}&why={first.passage_id}",
        f"/?q={QUERY}&facets=1&more={other.passage_id}&without=key",
        "/?q=key&where=(",
        f"/?more={first.passage_id}",
        f"/map?q={QUERY}",
        f"/documents/{first.document_id}?{parameters}&source=1",
        f"/documents/{first.document_id}?{parameters}",
        f"/explain?{parameters}",
        f"/contrast?q={QUERY}&a={first.passage_id}&b={other.passage_id}",
        f"/why-not?q={QUERY}&document={other.document_id}&k=1",
        f"/xray?{parameters}",
        f"/?{parameters}&doc={first.passage_id}&tab=tokens",
        "/xray",
        f"/all?q={QUERY}",
        "/similarity?text=the key%0Athe lock%0Athe door",
        "/similarity?text=turn the key%0Aopen the lock and the door",
        "/xray?text=turn the key&text=open the lock&side=passage&at=1&head=1",
        "/vocabulary?text=turn the keys",
        "/nothing",
    ]


def assert_accessible(browser: webdriver.Chrome, path: str) -> None:
    """Try all rules on an open page that is wide and light, then those of colours and sizes, narrow and dark."""
    run = """
        const wanted = {runOnly: arguments[0], resultTypes: ["violations"], preload: false};
        axe.run(document, wanted).then((found) =>
          arguments[1](found.violations.map((one) => [one.id, one.nodes[0].html])));
    """
    browser.execute_script((files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8"))
    for width, scheme, rules in ((1280, "light", TAGS), (320, "dark", RULES_OF_THE_SCREEN)):
        set_screen(browser, width, scheme)
        assert browser.execute_async_script(run, rules) == [], (path, width)
        assert browser.execute_script("return document.documentElement.scrollWidth") <= width, path


def test_every_page_is_accessible_and_fits(
    open_page: Callable[..., webdriver.Chrome], indexes: list[Index]
) -> None:
    for path in pages(indexes):
        assert_accessible(open_page(path), path)


def test_printing_keeps_shades_and_sums(
    open_page: Callable[..., webdriver.Chrome], indexes: list[Index]
) -> None:
    first, other = (hit.passage_id for hit in indexes[0].query(QUERY)[:2])
    for path, css in (
        (f"/?q={QUERY}", "mark"),
        (f"/xray?q={QUERY}&passage={first}", ".strip td"),
        (f"/contrast?q={QUERY}&a={first}&b={other}", "tfoot"),
    ):
        browser = open_page(path)
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
        style = f"getComputedStyle(document.querySelector('{css}'))"
        expected = ("display", "table-row-group") if css == "tfoot" else ("printColorAdjust", "exact")
        assert browser.execute_script(f"return {style}.{expected[0]}") == expected[1], path
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


def test_an_explanation_is_saved_as_an_image(open_page: Callable[..., webdriver.Chrome]) -> None:
    browser = open_page(f"/?q={QUERY}")
    browser.execute_script(
        "URL.createObjectURL = (blob) => (blob.arrayBuffer().then((all) => (window.saved ="
        " [...new Uint8Array(all.slice(0, 24))])), 'blob:x'); HTMLAnchorElement.prototype.click = () => {}"
    )
    until(lambda: is_complete(browser))
    browser.find_element(By.CSS_SELECTOR, ".why-link").click()
    until(lambda: browser.find_elements(By.CSS_SELECTOR, ".picture"))[0].click()
    head = bytes(until(lambda: browser.execute_script("return window.saved")))
    assert head.startswith(b"\x89PNG") and int.from_bytes(head[16:20], "big") == 2400


MOVE_SLIDER = """
    const slider = document.querySelector("[name=weight]");
    slider.value = arguments[0];
    slider.dispatchEvent(new Event("input", {bubbles: true}));
    return document.querySelector(".changed").hidden;"""


def test_what_if_ranks_at_once_as_the_server_does(
    open_page: Callable[..., webdriver.Chrome], indexes: list[Index]
) -> None:
    browser = open_page(f"/?q={QUERY}&k=5", width=1440)
    until(lambda: browser.find_elements(By.CSS_SELECTOR, ".doc .is-here"))
    slider = browser.find_element(By.NAME, "weight")
    slider.send_keys("")
    until(
        lambda: browser.execute_script(
            "return performance.getEntriesByType('resource').some((one) => one.name.includes('what-if'))"
        )
    )
    until(lambda: not browser.execute_script(MOVE_SLIDER, 0.9))
    index = indexes[0]
    for weight in (0.5, 0.9, 0.65):
        browser.execute_script(MOVE_SLIDER, weight)
        hits = index.query(QUERY, 5, weight=weight)
        until(lambda hits=hits: passages(browser) == [hit.passage_id for hit in hits])
        for hit, card in zip(hits, browser.find_elements(By.CSS_SELECTOR, ".hit"), strict=True):
            script = (
                "return [...arguments[0].querySelectorAll('.seg')].reduce("
                "(sum, one) => sum + Number(one.dataset.m) + Number(one.dataset.k), 0)"
            )
            assert card.find_element(By.TAG_NAME, "data").text == f"{hit.score:.2f}"
            assert browser.execute_script(script, card) == pytest.approx(hit.score, abs=1e-4)
    assert "Ranked with your settings" in browser.find_element(By.CSS_SELECTOR, ".verdict").text
    browser.find_element(By.CSS_SELECTOR, ".changed button").click()
    until(lambda: passages(browser) == [hit.passage_id for hit in index.query(QUERY, 5)])
    browser.find_element(By.CSS_SELECTOR, "a.word[data-word=key]").click()
    until(lambda: state(browser).get("without") == ["key"])
    without = [hit.passage_id for hit in index.query(QUERY, 5, without=["key"])]
    until(lambda: passages(browser) == without)
    browser.find_element(By.CSS_SELECTOR, "a.word[data-word=key]").click()
    until(lambda: "without" not in state(browser))


def test_a_click_in_the_query_sets_the_caret_and_leaves_the_words_alone(
    open_page: Callable[..., webdriver.Chrome],
) -> None:
    browser = open_page(f"/?q={QUERY}", width=1440)
    field = browser.find_element(By.NAME, "q")
    until(lambda: browser.find_elements(By.CSS_SELECTOR, "a.word"))
    field.click()
    assert browser.switch_to.active_element == field and "without" not in state(browser)
    script = "return document.elementFromPoint(...arguments).id"
    box = field.rect
    for x in range(int(box["x"]) + 50, int(box["x"] + box["width"]) - 60, 40):
        assert browser.execute_script(script, x, box["y"] + box["height"] / 2) == "q"


def test_a_word_that_is_left_out_leaves_every_score_and_the_page_says_so(
    open_page: Callable[..., webdriver.Chrome], indexes: list[Index]
) -> None:
    browser = open_page(f"/?q={QUERY}&k=5", width=1440)
    until(lambda: browser.find_elements(By.CSS_SELECTOR, "a.word[data-word=key]"))
    browser.find_element(By.CSS_SELECTOR, "a.word[data-word=key]").click()
    until(lambda: "The scores are without “key”" in browser.find_element(By.CSS_SELECTOR, ".words").text)
    hits = indexes[0].query(QUERY, 5, without=["key"])
    values = "return [...document.querySelectorAll('.hit data')].map((cell) => Number(cell.value))"
    until(lambda: browser.execute_script(values) == [pytest.approx(hit.score, abs=1e-6) for hit in hits])
    added = (
        "return [...document.querySelectorAll('.seg[data-w=key]')].map((part) => Number(part.dataset.m))"
    )
    assert not any(browser.execute_script(added))
    assert hits[0].cosine != indexes[0].query(QUERY, 1)[0].cosine


def test_a_word_under_the_pointer_shows_each_score_without_it(
    open_page: Callable[..., webdriver.Chrome], indexes: list[Index]
) -> None:
    browser = open_page(f"/?q={QUERY}&k=5", width=1440)
    segment = until(lambda: browser.find_elements(By.CSS_SELECTOR, ".hit .seg[data-w=key]"))[0]
    browser.execute_script(
        "arguments[0].dispatchEvent(new PointerEvent('pointerover', {bubbles: true}))", segment
    )
    hit = searcher_of(indexes[0]).hit(QUERY, passages(browser)[0], without=["key"])
    less = browser.find_element(By.CSS_SELECTOR, ".hit .total").get_attribute("data-less")
    assert less == f"{hit.score:.2f} without it"


def test_why_says_what_would_change_the_rank_and_asking_that_does_it(
    open_page: Callable[..., webdriver.Chrome], indexes: list[Index]
) -> None:
    browser = open_page(f"/?q={QUERY}&k=3", width=1440)
    until(lambda: is_complete(browser))
    first = passages(browser)[0]
    browser.find_element(By.CSS_SELECTOR, ".hit .why-link").click()
    changes = until(lambda: browser.find_elements(By.CSS_SELECTOR, ".pane .changes li"))
    expected = indexes[0].counterfactual(QUERY, first, 3)
    assert expected.changes and changes[0].text.startswith(expected.changes[0].sentence)
    (way, *_) = browser.find_elements(By.CSS_SELECTOR, ".pane .changes a")
    browser.get(way.get_attribute("href"))
    until(lambda: is_complete(browser))
    assert first not in passages(browser)


def test_typing_on_the_start_page_brings_hits_and_keeps_the_caret(
    open_page: Callable[..., webdriver.Chrome], indexes: list[Index]
) -> None:
    browser = open_page(width=1440)
    browser.find_element(By.NAME, "q").send_keys("turn the")
    until(lambda: browser.find_elements(By.CSS_SELECTOR, "search-page .hit"))
    type_in(browser, " key")  # the field has the focus, and the caret is at the end
    until(lambda: state(browser).get("q") == [QUERY] and is_complete(browser))
    until(lambda: passages(browser) == [hit.passage_id for hit in indexes[0].query(QUERY)])
    browser.back()
    until(lambda: browser.find_elements(By.CSS_SELECTOR, "start-page, search-page"))


def test_another_index_keeps_the_query(
    open_page: Callable[..., webdriver.Chrome], indexes: list[Index]
) -> None:
    browser = open_page(f"/?q={QUERY}&mode=lexical&pick=kind%3Dmarkdown", width=1440)
    until(lambda: browser.find_elements(By.CSS_SELECTOR, ".hit"))
    browser.find_element(By.CSS_SELECTOR, ".menu summary").click()
    (other,) = browser.find_elements(By.CSS_SELECTOR, ".indexes a:not([aria-current], [href^='/all'])")
    other.click()
    until(lambda: state(browser).get("index") != [indexes[0].name] and state(browser).get("q") == [QUERY])
    assert state(browser)["mode"] == ["lexical"] and "pick" not in state(browser)
    assert browser.find_element(By.NAME, "q").get_attribute("value") == QUERY


@pytest.mark.parametrize("width", [1024, 1440])
def test_compare_begins_with_the_next_hit_and_takes_any_other(
    open_page: Callable[..., webdriver.Chrome], width: int
) -> None:
    browser = open_page(f"/?q={QUERY}&k=5", width=width)
    until(lambda: is_complete(browser))
    ids = [str(passage) for passage in passages(browser)]
    tools = browser.find_elements(By.CSS_SELECTOR, "[data-tool=compare]")
    browser.execute_script("arguments[0].click()", tools[0])
    rows = until(lambda: browser.find_elements(By.CSS_SELECTOR, ".pane .mirror tbody tr"))
    assert "key" in [row.text.split()[1] for row in rows]
    chosen = browser.find_element(By.CSS_SELECTOR, ".pane select")
    assert chosen.get_attribute("value") == ids[1]
    assert "another hit" in browser.find_element(By.CSS_SELECTOR, ".beside").text
    seen = "const b = document.querySelector('.mirror').getBoundingClientRect();"
    assert browser.execute_script(f"{seen} return b.top >= 0 && b.top < innerHeight")
    if width < 1088:  # the hits are below the sheet
        chosen.send_keys(Keys.ARROW_DOWN)
    else:
        browser.execute_script("arguments[0].click()", tools[2])
    until(lambda: state(browser).get("other") == [ids[2]])
    value = (
        "return document.querySelector('.pane .mirror') && document.querySelector('.pane select').value"
    )
    until(lambda: browser.execute_script(value) == ids[2])


def test_weaker_hits_are_folded_and_the_keys_open_them(
    open_page: Callable[..., webdriver.Chrome],
) -> None:
    browser = open_page("/?q=find+cold+water&k=10&weight=0.2", width=1440)
    until(lambda: is_complete(browser))
    weaker = browser.find_elements(By.CSS_SELECTOR, ".hit.is-weaker")
    assert weaker and not any(hit.is_displayed() for hit in weaker)
    summary = browser.find_element(By.CSS_SELECTOR, ".weaker summary")
    assert summary.text == f"{len(weaker)} weaker {'hit' if len(weaker) == 1 else 'hits'}"
    scores = [float(cell.get_attribute("value")) for cell in browser.find_elements(By.TAG_NAME, "data")]
    assert len(scores) - len(weaker) >= 3 and scores[-len(weaker)] < 0.6 * scores[0]
    browser.find_element(By.CSS_SELECTOR, f".hit:nth-child({len(scores) - len(weaker)}) .open").send_keys(
        "j"
    )
    until(lambda: weaker[0].is_displayed())
    assert focused_passage(browser) == weaker[0].get_attribute("data-passage")


def test_bars_have_one_scale_for_every_query(open_page: Callable[..., webdriver.Chrome]) -> None:
    for query in (QUERY, "door"):
        browser = open_page(f"/?q={query}&mode=dense", width=1440)
        until(lambda browser=browser: is_complete(browser))
        bar = browser.find_element(By.CSS_SELECTOR, ".hit .bar")
        widths = [
            float(seg.get_attribute("width").rstrip("%"))
            for seg in bar.find_elements(By.CSS_SELECTOR, ".seg")
        ]
        values = [
            abs(float(seg.get_attribute("data-m")) + float(seg.get_attribute("data-k")))
            for seg in bar.find_elements(By.CSS_SELECTOR, ".seg")
        ]
        assert widths == [pytest.approx(100 * value, abs=0.02) for value in values]


def test_a_late_answer_does_not_replace_the_hits_of_a_later_weight(
    open_page: Callable[..., webdriver.Chrome], indexes: list[Index]
) -> None:
    """The slider is moved on while an answer for its last place is on its way."""
    browser = open_page(f"/?q={QUERY}&k=5", width=1440)
    browser.find_element(By.NAME, "weight").send_keys("")
    until(lambda: not browser.execute_script(MOVE_SLIDER, 0.9))
    browser.execute_script("""
        const really = window.fetch;
        window.arrived = 0;
        window.fetch = async (address, how) => {
          const reply = await really(address, how);
          if (String(address).startsWith("/?")) {
            await new Promise((go) => setTimeout(go, 600));
            setTimeout(() => window.arrived++, 50);
          }
          return reply;
        };
        history.pushState(null, "", location.href + "&weight=0.3");
        dispatchEvent(new PopStateEvent("popstate"));""")  # asks the server for 0.3
    browser.execute_script(MOVE_SLIDER, 0.65)
    until(lambda: browser.execute_script("return window.arrived"))
    hits = indexes[0].query(QUERY, 5, weight=0.65)
    assert passages(browser) == [hit.passage_id for hit in hits]
    scores = [card.text for card in browser.find_elements(By.CSS_SELECTOR, ".hit data")]
    assert scores == [f"{hit.score:.2f}" for hit in hits]


def test_the_open_document_is_in_the_address(
    open_page: Callable[..., webdriver.Chrome], indexes: list[Index]
) -> None:
    browser = open_page(f"/?q={QUERY}&k=5", width=1440)
    until(lambda: browser.find_elements(By.CSS_SELECTOR, ".doc .is-here"))
    second = passages(browser)[1]
    browser.find_elements(By.CSS_SELECTOR, ".hit a.open")[1].click()
    until(lambda: state(browser).get("doc") == [str(second)])
    browser.refresh()
    until(lambda: browser.find_elements(By.CSS_SELECTOR, ".doc .is-here"))
    beside = "return document.querySelector('.hit.is-shown').dataset.passage"
    until(lambda: browser.execute_script(beside) == str(second))


def test_the_server_ranks_where_the_bound_does_not_hold(
    open_page: Callable[..., webdriver.Chrome], indexes: list[Index]
) -> None:
    browser = open_page(f"/?q={QUERY}&k=5", width=1440)
    browser.execute_script("""
        const really = window.fetch;
        window.fetch = async (address, how) => {
          const reply = await really(address, how);
          if (!String(address).startsWith("/what-if")) return reply;
          const known = await reply.json();
          return new Response(JSON.stringify({...known, whole: false, bound: {...known.bound, cosine: 2, score: 2}}));
        };
        const slider = document.querySelector("[name=weight]");
        slider.value = 0.9;
        slider.dispatchEvent(new Event("input", {bubbles: true}));""")
    until(lambda: state(browser).get("weight") == ["0.9"])
    until(lambda: passages(browser) == [hit.passage_id for hit in indexes[0].query(QUERY, 5, weight=0.9)])


def test_an_open_page_follows_a_change_of_the_index(
    tmp_path: Path, tiny_model: Path, browser: webdriver.Chrome
) -> None:
    (tmp_path / "a.md").write_text("# A\n\nOpen the door.\n", encoding="utf-8")
    index = search.Index.build(tmp_path, model=str(tiny_model))
    with serving(index) as address:
        browser.get(f"{address}/?q=key&why=1")
        assert len(passages(browser)) == 1
        for name in "ab":
            (tmp_path / f"{name}.md").write_text(f"# {name}\n\nTurn the key.\n", encoding="utf-8")
        time.sleep(1)
        index.update()
        until(lambda: len(passages(browser)) == 2)  # the explained passage is another one now
        where = until(lambda: browser.find_elements(By.CSS_SELECTOR, ".is-shown .where"))
        until(
            lambda: browser.find_elements(
                By.CSS_SELECTOR, "[data-view=why]:not([hidden], [aria-busy]) tfoot"
            )
        )
        assert "a.md" in where[0].text
        assert "Updated" in browser.find_element(By.CSS_SELECTOR, ".verdict").text
        browser.get("about:blank")


def test_eight_tabs_of_one_server_work_and_follow_the_index(
    browser: webdriver.Chrome, tmp_path: Path, tiny_model: Path
) -> None:
    """A browser opens six connections to a server, and a stream of events holds one of them."""
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.md").write_text("Turn the key.", encoding="utf-8")
    index = Index.build(tmp_path / "notes", model=str(tiny_model))

    def hits_in(tab: str) -> list[int]:
        browser.switch_to.window(tab)
        return passages(browser)

    def line() -> str:
        return browser.find_element(By.CSS_SELECTOR, ".verdict").text

    browser.set_page_load_timeout(20)
    first = browser.current_window_handle
    with serving(index) as address:
        tabs = []
        try:
            for _ in range(8):
                browser.switch_to.new_window("tab")
                tabs.append(browser.current_window_handle)
                browser.get(f"{address}/?q=turn+the+key")
                assert len(passages(browser)) == 1
            browser.find_element(By.ID, "q").send_keys(" twice", Keys.ENTER)
            until(lambda: state(browser)["q"] == ["turn the key twice"] and passages(browser), 10)
            (tmp_path / "notes" / "b.md").write_text("Turn the other key.", encoding="utf-8")
            index.update()
            until(lambda: len(passages(browser)) == 2 and "Updated" in line(), 10)
            until(lambda: len(hits_in(tabs[0])) == 2 and "Updated" in line(), 10)
            browser.switch_to.window(tabs[7])
            browser.switch_to.window(tabs[0])
            assert line().count("Updated") == 1
        finally:
            for tab in tabs:
                browser.switch_to.window(tab)
                browser.close()
            browser.switch_to.window(first)
            browser.set_page_load_timeout(300)


def test_back_and_forward_restore_query_and_hits(
    open_page: Callable[..., webdriver.Chrome], indexes: list[Index]
) -> None:
    browser = open_page(f"/?q={QUERY}")
    first = [hit.passage_id for hit in indexes[0].query(QUERY)]
    until(lambda: passages(browser) == first)
    field = browser.find_element(By.NAME, "q")
    field.send_keys(Keys.CONTROL + "a")
    field.send_keys("water", Keys.ENTER)
    second = [hit.passage_id for hit in indexes[0].query("water")]
    assert first != second
    until(lambda: state(browser)["q"] == ["water"] and passages(browser) == second)
    browser.back()
    until(lambda: passages(browser) == first)
    assert browser.find_element(By.NAME, "q").get_property("value") == QUERY
    browser.forward()
    until(lambda: passages(browser) == second)
    assert browser.find_element(By.NAME, "q").get_property("value") == "water"


def test_search_works_where_the_browser_stores_nothing(
    open_page: Callable[..., webdriver.Chrome], indexes: list[Index]
) -> None:
    browser = open_page()
    refusal = "Object.defineProperty(window, 'localStorage', {get() { throw new DOMException('no'); }})"
    script = browser.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": refusal})
    try:
        open_page(f"/?q={QUERY}")
        browser.find_element(By.CSS_SELECTOR, "theme-switch button").click()
        field = browser.find_element(By.NAME, "q")
        field.send_keys(Keys.CONTROL + "a")
        field.send_keys("water", Keys.ENTER)
        until(lambda: passages(browser) == [hit.passage_id for hit in indexes[0].query("water")])
    finally:
        browser.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", script)


def test_in_high_contrast_the_query_is_shown_once(open_page: Callable[..., webdriver.Chrome]) -> None:
    browser = open_page(f"/?q={QUERY}")
    until(lambda: browser.find_elements(By.CSS_SELECTOR, "a.word"))
    feature = {"features": [{"name": "forced-colors", "value": "active"}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", feature)
    try:
        assert browser.execute_script("return matchMedia('(forced-colors: active)').matches")
        # The text of the field is drawn by the field, and nothing lies over it.
        field = browser.find_element(By.NAME, "q")
        above = "const b = arguments[0].getBoundingClientRect();"
        above += "return document.elementFromPoint(b.x + 60, b.y + b.height / 2) === arguments[0]"
        assert browser.execute_script(above, field)
        assert field.value_of_css_property("color") == "rgba(0, 0, 0, 1)"
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_a_printed_list_of_hits_says_what_was_the_query(
    open_page: Callable[..., webdriver.Chrome],
) -> None:
    browser = open_page(f"/?q={QUERY}")
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        size = (
            "const b = document.querySelector('h1').getBoundingClientRect(); return [b.width, b.height]"
        )
        width, height = browser.execute_script(size)
        assert width > 100 and height > 10
        assert QUERY.replace("+", " ") in browser.find_element(By.TAG_NAME, "h1").text
        colours = "return getComputedStyle(document.querySelector('.key')).printColorAdjust"
        assert browser.execute_script(colours) == "exact"
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
