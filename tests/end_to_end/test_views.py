"""Every view as a picture and as a page of links: no text lies over another, and every link leads somewhere."""

from __future__ import annotations

import io
from base64 import b64decode
from collections.abc import Callable
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from PIL import Image

from search import Index
from tests.end_to_end import test_serve_pages as shared
from tests.end_to_end.test_serve_pages import QUERY, By, is_complete, pages, set_screen, until, webdriver

indexes, site, open_page = shared.indexes, shared.site, shared.open_page
OpenPage = Callable[..., webdriver.Chrome]

# Pairs of texts of which one covers more than a third of the other. What scrolls away below a fixed head, or is cut off
# by its box, is not seen.
OVERLAPS = """
const seen = [];
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const text = walker.currentNode;
  const element = text.parentElement;
  if (!text.textContent.trim() || element.closest(".unseen, script, option, textarea")) continue;
  if (!element.checkVisibility({opacityProperty: true, visibilityProperty: true})) continue;
  let box = null;
  let fixed = false;
  for (let at = element; at; at = at.parentElement) {
    const style = getComputedStyle(at);
    if (["fixed", "sticky"].includes(style.position)) fixed = true;
    if (style.overflowX === "visible" && style.overflowY === "visible") continue;
    const one = at.getBoundingClientRect();
    box = box ? {left: Math.max(box.left, one.left), right: Math.min(box.right, one.right),
      top: Math.max(box.top, one.top), bottom: Math.min(box.bottom, one.bottom)} : one;
  }
  if (fixed) continue;
  const range = document.createRange();
  range.selectNodeContents(text);
  for (const line of range.getClientRects()) {
    const left = Math.max(line.left, box?.left ?? -1e9), right = Math.min(line.right, box?.right ?? 1e9);
    const top = Math.max(line.top, box?.top ?? -1e9), bottom = Math.min(line.bottom, box?.bottom ?? 1e9);
    const isDrawn = right - left > 3 && bottom - top > 5;
    if (isDrawn) seen.push({element, left, right, top, bottom, text: text.textContent.trim()});
  }
}
const overlaps = [];
seen.forEach((a, i) => seen.slice(i + 1).forEach((b) => {
  if (a.element === b.element || a.element.contains(b.element) || b.element.contains(a.element)) return;
  const width = Math.min(a.right, b.right) - Math.max(a.left, b.left);
  const height = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
  if (width <= 2 || height <= 2) return;
  const size = (one) => (one.right - one.left) * (one.bottom - one.top);
  if (width * height > Math.min(size(a), size(b)) / 3) overlaps.push([a.text.slice(0, 40), b.text.slice(0, 40)]);
}));
return overlaps;
"""
WIDTHS = (1440, 1024, 390)


def views(indexes: list[Index]) -> list[str]:
    """All pages, and the tabs of the pane."""
    hit = indexes[0].query(QUERY)[0].passage_id
    tabs = [f"/?q={QUERY}&doc={hit}&tab={tab}" for tab in ("why", "compare", "tokens")]
    return [*pages(indexes), *tabs]


def at_rest(browser: webdriver.Chrome) -> webdriver.Chrome:
    """Wait until nothing more is asked of the server."""
    until(lambda: not browser.find_elements(By.CSS_SELECTOR, "[aria-busy=true], .busy, .skeleton"))
    return browser


def test_a_text_over_another_is_noticed(open_page: OpenPage) -> None:
    browser = at_rest(open_page("/similarity?text=the key%0Athe lock%0Athe door"))
    assert browser.execute_script(OVERLAPS) == []
    browser.execute_script("document.querySelector('h1').style.cssText = 'position: relative; top: 40px'")
    assert browser.execute_script(OVERLAPS) != []


def picture(browser: webdriver.Chrome) -> Image.Image:
    content = browser.execute_cdp_cmd("Page.captureScreenshot", {"format": "png"})["data"]
    return Image.open(io.BytesIO(b64decode(content))).convert("RGB")


def test_no_text_lies_over_another_in_any_view(open_page: OpenPage, indexes: list[Index]) -> None:
    for path in views(indexes):
        browser = at_rest(open_page(path))
        for width in WIDTHS:
            set_screen(browser, width, "light")
            assert browser.execute_script(OVERLAPS) == [], (path, width)
            colours = picture(browser).getcolors(1 << 24) or []
            assert len(colours) > 20, (path, width)  # a page of text, not an empty one


def test_the_bars_of_a_picture_have_the_colours_of_the_legend(open_page: OpenPage) -> None:
    browser = open_page(f"/?q={QUERY}", width=1440)
    until(lambda: is_complete(browser))
    for scheme in ("light", "dark"):
        set_screen(browser, 1440, scheme)
        drawn = picture(browser)
        for kind, key in (("m", ".key.meaning"), ("k", ".key.keyword")):
            spot = browser.execute_script(
                """const [css, key] = arguments;
                const large = (one) => one.getBoundingClientRect().width > 4;
                const [bar] = [...document.querySelectorAll(css)].filter(large);
                const at = (one, share) => {
                  const box = one.getBoundingClientRect();
                  return [box.left + share * box.width, box.top + box.height / 2];
                };
                return [at(bar, 0.5), at(document.querySelector(key), 0.9)].flat().map(Math.round);""",
                f".bar .{kind}",
                key,
            )
            assert drawn.getpixel((spot[0], spot[1])) == drawn.getpixel((spot[2], spot[3])), (
                scheme,
                kind,
            )


def test_every_link_of_every_view_leads_somewhere(
    open_page: OpenPage, site: str, indexes: list[Index]
) -> None:
    ways: dict[str, str] = {}
    for path in views(indexes):
        browser = at_rest(open_page(path))
        script = """return [...document.querySelectorAll("a[href]:not([href^='#'], svg a)")]
            .map((way) => way.href.split("#")[0])"""
        for way in browser.execute_script(script):
            ways.setdefault(way, path)
    assert len(ways) > 50 and all(way.startswith(site) for way in ways)
    for way, path in ways.items():
        try:
            with urlopen(Request(way, headers={"Accept": "text/html"}), timeout=60) as reply:
                assert reply.status == 200
        except HTTPError as error:
            raise AssertionError(f"{way} on {path}: {error.code}") from None
