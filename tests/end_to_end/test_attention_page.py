"""The page of attention in a real browser: hover, layer and head by mouse and keyboard, nothing that leaves.

Skipped where Chromium, its driver or selenium is missing; where `CI` is set, that is a failure.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from search.bert import inspect
from search.lab.records.inspections import Attention
from search.lab.render.pages import attention
from search.render import page
from tests.end_to_end import test_browser as shared
from tests.end_to_end.test_browser import ActionChains, By, Keys, assert_inert, detail, leave, open_page

TEXT = "turn <script>alert(1)</script> שלום 🎉 \x1b[31m"
TEXT2 = "the \u202ekey &lt;"


@pytest.fixture(scope="module")
def weights(tiny_model: Path) -> Attention:
    """Attention of hostile texts; its weights are random, as a random model's are much the same everywhere."""
    original = inspect(TEXT, TEXT2, model=str(tiny_model)).attention
    tokens = tuple(
        replace(t, text=f"{t.text}{shared.HOSTILE}") if i == 2 else t
        for i, t in enumerate(original.tokens)
    )
    n = len(tokens)
    random_weights = (
        np.random.default_rng(5).dirichlet(np.full(n, 0.2), size=(3, 4, n)).astype(np.float32)
    )
    return replace(original, tokens=tokens, weights=random_weights, model=shared.HOSTILE)


@pytest.fixture(scope="module")
def attention_file(tmp_path_factory: pytest.TempPathFactory, weights: Attention) -> Path:
    file = tmp_path_factory.mktemp("pages") / "attention & 'a'.html"
    file.write_text(page.document(attention(weights)), encoding="utf-8", newline="\n")
    return file


def tokens(browser: Any, side: str) -> list[Any]:
    return browser.find_elements(By.CSS_SELECTOR, f"[data-side='{side}'] .unit")


def point(browser: Any, element: Any) -> None:
    ActionChains(browser).move_to_element(element).perform()


def table_values(browser: Any) -> dict[int, float]:
    """Weights in the table beside, by the number of the token."""
    rows = browser.find_elements(By.CSS_SELECTOR, ".detail tr")
    cells = [
        (row.find_element(By.TAG_NAME, "th").text, row.find_element(By.TAG_NAME, "td").text)
        for row in rows
    ]
    return {int(name.split()[0]): float(value) for name, value in cells}


def strongest(values: Any) -> dict[int, float]:
    order = np.argsort(-np.asarray(values), kind="stable")[:8]
    return {int(i): float(values[i]) for i in order}


def lines(browser: Any) -> int:
    return len(browser.find_elements(By.CSS_SELECTOR, ".lines line"))


def test_hovering_shows_what_a_token_reads_and_which_tokens_read_it(
    browser: Any, attention_file: Path, weights: Attention
) -> None:
    open_page(browser, attention_file)
    mean = weights.matrix(3)
    assert detail(browser).startswith("Layer 3, mean of the heads\nPoint at a token")
    assert lines(browser) == int((np.rint(mean * 1000) >= 50).sum())
    at_rest = shared.shades(browser, "to")
    point(browser, tokens(browser, "from")[4])
    assert "reads most of:" in detail(browser) and "A row sums to 1." in detail(browser)
    assert table_values(browser) == pytest.approx(strongest(mean[4]), abs=0.00051)
    assert shared.shades(browser, "to") != at_rest
    assert lines(browser) == int((np.rint(mean[4] * 1000) >= 1).sum())
    point(browser, tokens(browser, "to")[6])
    assert "is read most by:" in detail(browser) and "a column need not sum to 1" in detail(browser)
    assert table_values(browser) == pytest.approx(strongest(mean[:, 6]), abs=0.00051)
    leave(browser)
    assert shared.shades(browser, "to") == at_rest
    assert_inert(browser)


def test_the_lists_choose_layer_and_head(browser: Any, attention_file: Path, weights: Attention) -> None:
    open_page(browser, attention_file)
    for layer, head, matrix in (
        (2, "head 3", weights.matrix(2, 3)),
        (1, "mean of the heads", weights.matrix(1)),
    ):
        browser.find_element(By.CSS_SELECTOR, "[data-part=layer]").send_keys(str(layer))  # by keyboard
        browser.find_element(By.XPATH, f"//select[@data-part='head']/option[.='{head}']").click()
        point(browser, tokens(browser, "from")[1])
        assert detail(browser).startswith(f"Layer {layer}, {head}\n1 turn reads")
        assert table_values(browser) == pytest.approx(strongest(matrix[1]), abs=0.00051)
        buttons = browser.find_elements(By.CSS_SELECTOR, "[data-part=all] button[aria-pressed=true]")
        assert [button.get_attribute("aria-label") for button in buttons] == [f"layer {layer}, {head}"]
        leave(browser)
    assert_inert(browser)


def test_the_keyboard_reaches_every_token(browser: Any, attention_file: Path) -> None:
    open_page(browser, attention_file)
    first = tokens(browser, "from")[0]
    for _ in range(5):  # the button, two lists, the tokens
        browser.switch_to.active_element.send_keys(Keys.TAB)
        if browser.switch_to.active_element == first:
            break
    assert browser.switch_to.active_element == first
    browser.switch_to.active_element.send_keys(Keys.ARROW_DOWN)
    assert "1 turn reads most of:" in detail(browser)
    browser.switch_to.active_element.send_keys(Keys.ARROW_RIGHT)
    assert "1 turn is read most by:" in detail(browser)
    assert tokens(browser, "to")[1].get_attribute("aria-pressed") == "true"
    browser.switch_to.active_element.send_keys(Keys.END)
    assert browser.switch_to.active_element == tokens(browser, "to")[-1]
    assert "[SEP] is read most by:" in detail(browser)
    browser.switch_to.active_element.send_keys(Keys.ESCAPE)
    assert "Point at a token" in detail(browser)
    point(browser, tokens(browser, "from")[2])
    assert_inert(browser)
