"""How heavy is the search page, and how soon after the reply are its hits on the screen?

    python benchmarks/page.py FOLDER [--question TEXT] [--turns 5] [--picture FILE]

Indexes the folder, serves it, and opens the page with ten hits in headless Chromium, each time with an empty cache. The
weight is what the page loads, uncompressed: HTML, styles and scripts.
Times are of the browser's own clock (its Performance API): from the end of the reply, in which the hits stand, to the
first paint of the page, styles and all; and, where the query is typed into a page that is there, from the end of the
reply with the hits to the frame that shows them.

`--picture` also takes the picture of the README: the question, and its first hit explained.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any
from urllib.parse import quote

from machine import headline

from search import Index

sys.path.insert(0, str(Path(__file__).parent.parent))
from tests.end_to_end.conftest import chromium, serving

WEIGHT = """
const [page] = performance.getEntriesByType("navigation");
const loaded = performance.getEntriesByType("resource");
const sum = (kind) =>
  loaded.filter((one) => kind(new URL(one.name))).reduce((all, one) => all + one.decodedBodySize, 0);
const [paint] = performance.getEntriesByName("first-contentful-paint");
return {HTML: page.decodedBodySize, styles: sum((url) => url.pathname.endsWith(".css")),
  scripts: sum((url) => url.pathname.endsWith(".js")),
  milliseconds: paint.startTime - page.responseEnd, hits: document.querySelectorAll(".hit").length};
"""
TYPED = """
const [question, done] = arguments;
const results = document.querySelector(".hits");
const whole = () => performance.getEntriesByType("resource").filter((one) => {
  const {pathname, searchParams: asked} = new URL(one.name);
  return pathname === "/" && asked.get("q") === question && !asked.has("words") && !asked.has("facets");
});
new MutationObserver((_, seen) => {
  const [reply] = whole();
  if (!reply || !results.querySelector(".hit")) return;
  seen.disconnect();
  requestAnimationFrame(() => setTimeout(() => done(performance.now() - reply.responseEnd)));
}).observe(results, {childList: true});
const field = document.querySelector("[name=q]");
field.value = question;
field.dispatchEvent(new Event("input", {bubbles: true}));
"""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--question", default="Does a high cosine mean that two texts say the same?")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--picture", type=Path)
    args = parser.parse_args()
    print(headline("fastapi", "uvicorn", "selenium"))
    with tempfile.TemporaryDirectory() as place:
        os.environ |= {"SEEWHY_HOME": place, "HF_HUB_OFFLINE": "1"}
        index = Index.build(args.folder, offline=True)
        with serving(index) as address, chromium(watched=False) as browser:
            run(browser, address, args.question, args.turns)
            if args.picture:
                picture(browser, f"{address}/?q={quote(args.question)}", args.picture)


def run(browser: Any, address: str, question: str, turns: int) -> None:
    browser.get(f"{address}/?q={quote(question)}")  # the first query loads the model
    opened, typed = [], []
    for _ in range(turns):
        browser.execute_cdp_cmd("Network.clearBrowserCache", {})
        browser.get(f"{address}/?q={quote(question)}")
        until(browser)
        opened.append(browser.execute_script(WEIGHT))
        browser.get(f"{address}/?q=a")
        typed.append(browser.execute_async_script(TYPED, question))
        until(browser)
    parts = {name: opened[0][name] for name in ("HTML", "styles", "scripts")}
    weights = ", ".join(f"{name} {size / 1000:.1f} kB" for name, size in parts.items())
    print(f"{opened[0]['hits']} hits: {weights}; in all {sum(parts.values()) / 1000:.1f} kB")
    print("from the reply to the hits on the screen, median ms and range:")
    for name, times in (
        ("a page that is opened", [one["milliseconds"] for one in opened]),
        ("a query that is typed", typed),
    ):
        print(f"{name:24}{statistics.median(times):6.0f}   {min(times):.0f} to {max(times):.0f}")


def until(browser: Any, css: str = ".seg[data-w=rest]") -> None:
    time.sleep(0.5)  # to look at a page would hold it up
    while not browser.find_elements("css selector", css):
        time.sleep(0.05)


def picture(browser: Any, address: str, path: Path) -> None:
    size = {"width": 1360, "height": 850, "deviceScaleFactor": 1.3, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    browser.get(address)
    until(browser, ".doc .is-here")
    browser.find_element("css selector", ".hit .why-link").click()
    until(browser, ".hit .why tfoot")
    browser.execute_script("document.activeElement.blur()")
    time.sleep(0.5)
    browser.save_screenshot(str(path))


if __name__ == "__main__":
    main()
