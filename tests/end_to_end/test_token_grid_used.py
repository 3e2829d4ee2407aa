"""The token grid in a real browser: in a file without a server, inside a hit, and in the laboratory."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import search
from search import Encoder, Explanation, Index
from search.explaining.xray import xray
from search.render import page
from tests.end_to_end import test_serve_pages as shared
from tests.end_to_end.test_serve_pages import QUERY, By, Keys, set_screen, until, webdriver

indexes, site, open_page = shared.indexes, shared.site, shared.open_page
OpenPage = Callable[..., webdriver.Chrome]
LONG = "To turn the key, open the door of the water and people say that the lock is cold. " * 2


@pytest.fixture(scope="module")
def why(tiny_model: Path) -> Explanation:
    """Layer 0 is the one that an X-ray begins with."""
    return search.explain("turn the key", LONG, model=Encoder(str(tiny_model)), layer=0)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory, why: Explanation) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("grids")
    for by in ("word", "token"):
        content = page.document(page.xray(xray(why), by=by))
        (folder / f"{by}.html").write_text(content, encoding="utf-8")
    return {by: folder / f"{by}.html" for by in ("word", "token")}


@pytest.fixture
def open_file(browser: webdriver.Chrome, files: dict[str, Path]) -> Callable[..., webdriver.Chrome]:
    def open_by(by: str = "word", width: int = 1280, scheme: str = "light") -> webdriver.Chrome:
        set_screen(browser, width, scheme)
        browser.get(files[by].as_uri())
        return browser

    return open_by


def cells(browser: webdriver.Chrome) -> list[list[str]]:
    """Text of the cells, row by row."""
    script = """return [...document.querySelectorAll("token-grid tbody tr")].map((row) =>
        [...row.querySelectorAll("td:not(.between)")].map((cell) => cell.textContent))"""
    return browser.execute_script(script)


def head(browser: webdriver.Chrome, part: str) -> list[str]:
    script = (
        f"return [...document.querySelectorAll('token-grid {part} th')].map((one) => one.textContent)"
    )
    return browser.execute_script(script)


def choose(browser: webdriver.Chrome, label: str) -> None:
    xpath = f"//token-grid//label[normalize-space()='{label}']/input"
    browser.find_element(By.XPATH, xpath).click()


def slide(browser: webdriver.Chrome, key: str) -> None:
    browser.find_element(By.CSS_SELECTOR, "x-ray [data-part=layer]").send_keys(key)


def reading(browser: webdriver.Chrome) -> str:
    return browser.find_element(By.CSS_SELECTOR, "token-grid .said").text


def marked(browser: webdriver.Chrome) -> list[str]:
    script = "return [...document.querySelectorAll('.piece.paired')].map((one) => one.textContent.trim())"
    return browser.execute_script(script)


def as_text(values: Any, places: int) -> list[str]:
    return [
        f"{value + 0.0:.{places}f}".replace("-0.00", "0.00").replace("-", "\u2212") for value in values
    ]


def test_the_cells_are_the_numbers_of_the_explanation(open_file: OpenPage, why: Explanation) -> None:
    browser = open_file()
    words = why.words()
    content = [i for i, word in enumerate(words.query) if word.kind == "word"]
    assert head(browser, "tbody") == [words.query[i].text for i in content]
    table = np.array(cells(browser))
    assert table.shape[0] == 3 and 6 <= table.shape[1] <= 24
    sums = np.abs(words.contributions.sum(axis=0))
    usable = [j for j, word in enumerate(words.passage) if word.kind == "word"]
    best = sorted(sorted(usable, key=lambda j: -sums[j])[: table.shape[1]])
    assert [name for name in head(browser, "thead") if name != "…"] == [
        words.passage[j].text for j in best
    ]
    for row, i in zip(table, content, strict=True):
        assert list(row) == as_text(words.similarity[i, best], 2)
    choose(browser, "tokens")
    choose(browser, "special tokens and punctuation")
    assert head(browser, "tbody") == [token.text for token in why.query_tokens]
    choose(browser, "contribution")
    largest = max(float(cell.replace("\u2212", "-")) for row in cells(browser) for cell in row)
    assert largest <= 1000 * why.contributions.max() + 0.051
    caption = browser.find_element(By.CSS_SELECTOR, "token-grid caption").text
    assert caption.startswith("Contributions to the score in thousandths, traced to layer 0 of 3: 5 × ")


def test_the_slider_shows_every_layer_without_a_server(open_file: OpenPage, why: Explanation) -> None:
    browser = open_file("token")
    output = browser.find_element(By.CSS_SELECTOR, ".slide output")
    assert output.text == "0: as typed"
    seen = [cells(browser)]
    for name in ("1", "2", "3: mixed"):
        slide(browser, Keys.ARROW_RIGHT)
        assert output.text == name
        row = browser.find_element(By.CSS_SELECTOR, "table[data-side=passage] .is-at th").text
        assert row == f"layer {name[0]}"
        seen.append(cells(browser))
    assert seen[0] != seen[1] != seen[2] != seen[3]
    choose(browser, "contribution")
    before = cells(browser)
    slide(browser, Keys.HOME)
    assert cells(browser) != before
    caption = browser.find_element(By.CSS_SELECTOR, "token-grid caption").text
    assert "traced to layer 0 of 3" in caption
    choose(browser, "cosine")
    assert cells(browser) == seen[0]


def test_pointing_at_a_piece_says_what_it_is_and_shades_the_other_text(open_file: OpenPage) -> None:
    browser = open_file("token")
    shades = """return [...document.querySelectorAll('.piece[data-side=passage]')]
        .map((piece) => getComputedStyle(piece).backgroundColor)"""
    at_rest = browser.execute_script(shades)
    piece = browser.find_elements(By.CSS_SELECTOR, ".piece[data-side=query]")[3]
    webdriver.ActionChains(browser).move_to_element(piece).perform()
    note = browser.find_element(By.CSS_SELECTOR, "[data-part=note]")
    assert note.text.startswith("“key” is number ") and "segment" in note.text
    assert browser.execute_script(shades) != at_rest
    same = browser.find_elements(By.CSS_SELECTOR, "table .is-on")
    columns = "return arguments[0].map((cell) => cell.cellIndex)"
    assert set(browser.execute_script(columns, [cell for cell in same if cell.tag_name == "td"])) == {4}
    assert len(same) >= 5  # the name of its column, and a cell at each layer
    webdriver.ActionChains(browser).move_to_element(browser.find_element(By.TAG_NAME, "h1")).perform()
    assert browser.execute_script(shades) == at_rest
    first = browser.find_element(By.CSS_SELECTOR, ".piece[data-side=query]")
    browser.execute_script("arguments[0].focus()", first)
    browser.switch_to.active_element.send_keys(Keys.ARROW_RIGHT)
    assert browser.switch_to.active_element.text == "turn"
    assert note.text.startswith("“turn” is number ")


def test_a_tour_of_eight_steps_goes_through_all_sections(open_file: OpenPage) -> None:
    browser = open_file("token")
    browser.find_element(By.CSS_SELECTOR, ".tour summary").click()
    steps = []
    for number in range(1, 9):
        caption = browser.find_element(By.CSS_SELECTOR, ".caption")
        assert f"{number} of 8" in caption.text
        steps.append(browser.find_element(By.CSS_SELECTOR, ".is-toured").get_attribute("data-step"))
        caption.find_element(By.XPATH, ".//button[.='Next' or .='Done']").click()
    assert list(dict.fromkeys(steps)) == ["texts", "layers", "pairs", "heads", "score"]
    assert browser.find_elements(By.CSS_SELECTOR, ".caption, .is-toured") == []


@pytest.mark.parametrize("by", ["word", "token"])
def test_a_cell_marks_both_words_in_the_texts(open_file: OpenPage, by: str) -> None:
    browser = open_file(by)
    rows, columns = head(browser, "tbody"), [name for name in head(browser, "thead") if name != "…"]
    cell = browser.find_elements(By.CSS_SELECTOR, "token-grid tbody tr:nth-child(3) td:not(.between)")[1]
    webdriver.ActionChains(browser).move_to_element(cell).perform()
    assert marked(browser) == [rows[2], columns[1]]
    assert reading(browser).startswith(f"{rows[2]} × {columns[1]} cosine {cell.text[:3]}")
    webdriver.ActionChains(browser).move_to_element(browser.find_element(By.TAG_NAME, "h1")).perform()
    assert marked(browser) == [] and reading(browser).startswith("Point at a cell")
    choose(browser, "special tokens and punctuation")
    (row,) = browser.find_elements(By.XPATH, "//token-grid//tbody//th[.='[CLS]']")
    webdriver.ActionChains(browser).move_to_element(row).perform()
    assert marked(browser) == ["[CLS]"]


def test_the_arrow_keys_move_between_cells_and_open_gaps(open_file: OpenPage) -> None:
    browser = open_file()
    focused = browser.execute_script("document.querySelector('token-grid [tabindex=\"0\"]').focus()")
    rows = head(browser, "tbody")
    assert focused is None and reading(browser).startswith(f"{rows[0]} × ")
    for key, row in (
        (Keys.ARROW_DOWN, 1),
        (Keys.ARROW_DOWN, 2),
        (Keys.ARROW_DOWN, 2),
        (Keys.ARROW_UP, 1),
    ):
        browser.switch_to.active_element.send_keys(key)
        assert reading(browser).startswith(f"{rows[row]} × ")
    columns = set()
    for _ in range(40):
        columns.add(reading(browser))
        browser.switch_to.active_element.send_keys(Keys.ARROW_RIGHT)
    assert len(columns) == len(cells(browser)[0])  # gaps are skipped
    browser.switch_to.active_element.send_keys(Keys.HOME)
    assert browser.switch_to.active_element.text == rows[1]
    assert marked(browser)[0] == rows[1] and "most with" in reading(browser)
    browser.switch_to.active_element.send_keys(Keys.ESCAPE)
    assert marked(browser) == []
    assert len(browser.find_elements(By.CSS_SELECTOR, "token-grid table [tabindex='0']")) == 1
    button = browser.find_element(By.CSS_SELECTOR, "token-grid .between button")
    count = int(button.get_attribute("aria-label").split()[1])
    before = len(cells(browser)[0])
    browser.execute_script("arguments[0].focus()", button)
    browser.switch_to.active_element.send_keys(Keys.ENTER)
    assert len(cells(browser)[0]) == before + count
    assert browser.switch_to.active_element.tag_name == "th"


def test_the_strip_shows_the_whole_passage_and_adds_a_word(open_file: OpenPage, why: Explanation) -> None:
    browser = open_file()
    strip = browser.find_element(By.CSS_SELECTOR, "token-grid .overview")
    words = [word for word in why.words().passage if word.kind == "word"]
    bars = strip.find_elements(By.CSS_SELECTOR, "rect:not(.shown)")
    assert len(bars) == len(words)
    before = len(cells(browser)[0])
    assert len(strip.find_elements(By.CSS_SELECTOR, ".shown")) == before
    hidden = browser.execute_script(
        """const bars = [...document.querySelectorAll(".overview rect")];
        return bars.findIndex((one, i) => !one.matches(".shown") && !bars[i + 1]?.matches(".shown"))"""
    )
    bar = strip.find_elements(By.CSS_SELECTOR, "rect")[hidden]
    webdriver.ActionChains(browser).move_to_element(bar).perform()
    assert len(marked(browser)) == 1
    webdriver.ActionChains(browser).click(bar).perform()
    assert len(cells(browser)[0]) == before + 1


def test_a_phone_shows_fewer_columns_and_nothing_beyond_the_screen(open_file: OpenPage) -> None:
    wide = len(cells(open_file())[0])
    browser = open_file(width=390, scheme="dark")
    assert 6 <= len(cells(browser)[0]) < wide
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 390


def test_layers_come_from_the_server(open_page: OpenPage, indexes: list[Index]) -> None:
    hit = indexes[0].query(QUERY)[0]
    browser = open_page(f"/xray?q={QUERY}&passage={hit.passage_id}&by=word")
    until(lambda: browser.find_elements(By.CSS_SELECTOR, "token-grid td"))
    cosines = cells(browser)
    choose(browser, "contribution")
    until(lambda: cells(browser) != cosines)
    before = cells(browser)
    slide(browser, Keys.END)
    until(lambda: cells(browser) != before)
    why = indexes[0].explain(QUERY, hit, layer="last")
    largest = 1000 * why.weight * np.abs(why.words().contributions).max()
    caption = browser.find_element(By.CSS_SELECTOR, "token-grid caption").text
    assert "traced to layer 3, the last one" in caption
    numbers = [float(cell.replace("\u2212", "-")) for row in cells(browser) for cell in row]
    assert max(map(abs, numbers)) <= largest + 0.051


def test_an_xray_follows_what_is_typed(open_page: OpenPage, indexes: list[Index]) -> None:
    browser = open_page("/xray?text=turn the key&text=open the lock&by=word")
    until(lambda: browser.find_elements(By.CSS_SELECTOR, "token-grid td"))
    assert head(browser, "tbody") == ["turn", "the", "key"]
    assert head(browser, "thead") == ["open", "the", "lock"]
    slide(browser, Keys.END)
    before = cells(browser)
    field = browser.find_element(By.CSS_SELECTOR, "x-ray textarea")
    field.send_keys(" and the door")
    until(lambda: head(browser, "thead")[-1] == "door")
    why = search.explain("turn the key", "open the lock and the door", model=indexes[0].encoder)
    score = browser.find_element(By.CSS_SELECTOR, ".equation b").text
    assert score == f"{why.score:.6f}" and cells(browser) != before
    at = browser.find_element(By.CSS_SELECTOR, ".slide output").text
    assert at == "3: mixed"  # the layer stays
    assert browser.switch_to.active_element == field
    assert "door" in browser.current_url
    browser.find_element(By.CSS_SELECTOR, "[name=head] option:nth-child(3)").click()
    weights = xray(why).attention("query", why.n_layers, 2)
    script = (
        "return [...document.querySelectorAll('table.heads td[class]')].map((cell) => cell.textContent)"
    )
    expected = [f"{100 * value:.0f}" for value in weights.ravel()]
    until(lambda: browser.execute_script(script) == expected)
