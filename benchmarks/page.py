"""How heavy is the search page, how soon after the reply are its hits on the screen, and what does the server compute?

    python benchmarks/page.py FOLDER [--question TEXT ...] [--turns 5] [--picture FILE] [--processor]

Indexes the folder, serves it, and opens the page with ten hits in headless Chromium, each time with an empty cache. The
weight is what the page loads, uncompressed: HTML, styles and scripts.
Times are of the browser's own clock (its Performance API): from the end of the reply, in which the hits stand, to the
first paint of the page, styles and all; and, where the query is typed into a page that is there, from the end of the
reply with the hits to the frame that shows them. Of the X-ray of two texts of 20 and 60 tokens: from the letter that is
typed to the frame that shows all of it again.

`--picture` also takes the picture of the README: the question, and its first hit explained.

`--processor` needs no browser. It measures the processor time of a process of `seewhy serve`, for the answers that a
page asks for one after the other, with ten hits: the first one has the hits with their bars, for the shaded one the
model has read the passages, the last one has the facets. They are compared with the search of the API in the same
process; the answers take turns, each with all questions.
"""

from __future__ import annotations

import argparse
import math
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode
from urllib.request import Request, urlopen

import psutil
from machine import headline

from search import Index
from search.serving.problems import FRAGMENT

sys.path.insert(0, str(Path(__file__).parent.parent))
from tests.end_to_end.conftest import chromium, serving
from tests.serving.conftest import server_process

# Answers of the server: the path, and the parameters besides the question.
ANSWERS: dict[str, tuple[str, dict[str, int]]] = {
    "search": ("/api/v1/search", {"k": 10}),
    "first answer": ("/", {"unshaded": 1}),
    "shaded answer": ("/", {}),
    "facets": ("/", {"facets": 1}),
}
QUESTION = "Does a high cosine mean that two texts say the same?"
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

TEXTS = (
    "when do we get the deposit back and what does the landlord keep if a window is broken",
    "He returns the deposit within six months after the tenants have moved out, less what is owed for damage or for "
    "unpaid service charges. Normal wear, such as faded paint or marks of furniture on the floor, is not damage. What "
    "was broken when the tenants moved in is on the handover list",
)
EDITED = """
const [done] = arguments;
const result = document.querySelector("x-ray [data-part=result]");
let begun = 0;
new MutationObserver((_, seen) => {
  seen.disconnect();
  requestAnimationFrame(() => setTimeout(() => done(performance.now() - begun)));
}).observe(result, {childList: true});
const field = document.querySelector("x-ray textarea");
field.value += "n";
begun = performance.now();
field.dispatchEvent(new Event("input", {bubbles: true}));
"""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--question", nargs="+", default=[QUESTION])
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--picture", type=Path)
    parser.add_argument("--processor", action="store_true", help="measure processor time only")
    args = parser.parse_args()
    print(headline("fastapi", "uvicorn", *([] if args.processor else ["selenium"])))
    with tempfile.TemporaryDirectory() as place:
        os.environ |= {"SEEWHY_HOME": place, "HF_HUB_OFFLINE": "1"}
        index = Index.build(args.folder, offline=True)
        if args.processor:
            print(f"{index.status().passages:,} passages, {len(args.question)} questions")
            processor_time(index, args.question, args.turns)
            return
        (question, *_) = args.question
        with serving(index) as address, chromium(watched=False) as browser:
            run(browser, address, question, args.turns)
            if args.picture:
                picture(browser, f"{address}/?q={quote(question)}", args.picture)


def processor_time(index: Index, questions: list[str], turns: int) -> None:
    """Print what an answer takes of the processor: milliseconds, and as a multiple of the search."""
    taken: dict[str, list[float]] = {name: [] for name in ANSWERS}
    with server_process("--index", index.path, "--offline") as (address, server):
        process = psutil.Process(server.pid)

        def milliseconds(path: str, options: dict[str, int]) -> float:
            before = sum(process.cpu_times()[:2])
            for question in questions:
                ask(address, path, q=question, **options)
            return 1000 * (sum(process.cpu_times()[:2]) - before) / len(questions)

        for turn in range(turns + 1):
            for name, answer in ANSWERS.items():
                spent = milliseconds(*answer)
                if turn:  # the first one loads the model
                    taken[name].append(spent)
    search = statistics.median(taken["search"])
    for name, times in taken.items():
        median = statistics.median(times)
        ratio = median / search if search else math.nan
        print(f"{name:14}{median:8.1f} ms{ratio:8.1f} times   {min(times):.0f} to {max(times):.0f} ms")


def ask(address: str, path: str, **query: Any) -> None:
    """Get an answer of the server, a page without its frame; raise HTTPError if it is none."""
    request = Request(f"{address.rstrip('/')}{path}?{urlencode(query)}", headers={FRAGMENT: "1"})
    with urlopen(request, timeout=60) as reply:
        reply.read()


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
    print("until it is on the screen, median ms and range:")
    for name, times in (
        ("a page that is opened", [one["milliseconds"] for one in opened]),
        ("a query that is typed", typed),
        ("an X-ray that is edited", edited(browser, address, turns)),
    ):
        print(f"{name:24}{statistics.median(times):6.0f}   {min(times):.0f} to {max(times):.0f}")


def edited(browser: Any, address: str, turns: int) -> list[float]:
    """Type a letter into the second text of an X-ray, again and again; return the milliseconds until it is drawn."""
    browser.get(f"{address}/xray?{urlencode({'text': TEXTS}, doseq=True)}")
    until(browser, "token-grid td")
    times = []
    for _ in range(turns + 1):  # the first one warms up
        times.append(browser.execute_async_script(EDITED))
        time.sleep(0.5)
    return times[1:]


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
    until(browser, ".pane .why-body tfoot")
    until(browser, ".pane .changes")
    browser.execute_script("document.activeElement.blur()")
    time.sleep(0.5)
    browser.save_screenshot(str(path))


if __name__ == "__main__":
    main()
