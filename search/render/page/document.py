"""What is shown, and its two frames: a file that has all within it, and a page of the server that links to the same.

The policy of a file lets the browser load nothing and run only the scripts and styles whose hashes it names; that of
the server, which it sends as a header, only what it serves itself. So no text, whatever it holds, can do anything.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple
from urllib.parse import urlencode

from search.render.format import escape, one_line

LEVELS = 9
ALWAYS = ("page.css", "page.js")
_MEDIA = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8"}
SITE = "site.css"
_PLACES = {"/": "Search", "/similarity": "Similarity", "/inspect": "Inside a text"}


@dataclass(frozen=True)
class Page:
    """What one page shows.

    Attributes:
        title: shown in the browser's tab.
        heading: HTML, as are all the others: every text in them made harmless with `text`.
        about: names with what they stand for, and a line, below the heading; see `about`.
        body: all else. The data of a custom element stand in it; see `data`.
        uses: names of the scripts and styles that it needs besides those that every page has.
    """

    title: str
    heading: str
    about: str
    body: str
    uses: tuple[str, ...] = ()


@dataclass(frozen=True)
class Site:
    """What is around a page of the server.

    Attributes:
        here: its address; "/" for the search.
        index: the name of the index that is asked; "" for none.
    """

    here: str = "/"
    index: str = ""


class Asset(NamedTuple):
    """A script or style. The hash is part of its address, so a browser need never ask for it twice."""

    content: bytes
    media_type: str
    hash: str


@cache
def assets() -> dict[str, Asset]:
    """All scripts and styles by name."""
    found = {}
    for file in sorted(files(__package__).iterdir(), key=lambda file: file.name):
        if media_type := _MEDIA.get("." + file.name.rpartition(".")[2]):
            content = file.read_bytes()
            found[file.name] = Asset(content, media_type, hashlib.sha256(content).hexdigest()[:16])
    return found


def document(page: Page, site: Site | None = None) -> str:
    """A whole page: a file that stands for itself, or with `site` a page of the server."""
    names = dict.fromkeys((*ALWAYS, *((SITE,) if site else ()), *page.uses))
    styles, scripts = ([name for name in names if name.endswith(kind)] for kind in (".css", ".js"))
    head, last = _inlined(styles, scripts) if site is None else (_linked(styles, scripts), "")
    around = _bar(site) if site else ""
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>{text(one_line(page.title))}</title>
<link rel="icon" href="data:,">
{head}
</head>
<body>
{around}<main id="main">
<header class="title"><h1>{page.heading}</h1>{"" if site else "<theme-switch></theme-switch>"}</header>
{page.about}
{page.body}
</main>
{last}
</body>
</html>
"""


def fragment(page: Page) -> str:
    """A page without its frame, to be put into another that has the scripts and styles that it `uses`."""
    return f'<div class="fragment"><h2>{page.heading}</h2>\n{page.about}\n{page.body}</div>'


def link(path: str, **query: str | float | Sequence[str] | None) -> str:
    """An address of the server, for an attribute; of several values each is named. None, "" and () are left out."""
    given = _said(query)
    return html.escape(f"{path}?{urlencode(given, doseq=True, errors='replace')}" if given else path)


def _said(given: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: int(value) if isinstance(value, bool) else value
        for name, value in given.items()
        if value not in (None, "", (), [])
    }


def hidden(**fields: str | float | Sequence[str] | None) -> str:
    """What a form sends besides what its user chooses, as `link` does."""
    given = {
        name: value if isinstance(value, (list, tuple)) else [value]
        for name, value in _said(fields).items()
    }
    return "".join(
        f'<input type="hidden" name="{name}" value="{kept(str(one))}">'
        for name, all_ in given.items()
        for one in all_
    )


def options(names: Mapping[str, str], chosen: str) -> str:
    """The choices of a list: what is sent, and what is shown."""
    return "".join(
        f'<option value="{kept(value)}"{" selected" if value == chosen else ""}>{text(name)}</option>'
        for value, name in names.items()
    )


def _inlined(styles: Iterable[str], scripts: Iterable[str]) -> tuple[str, str]:
    """What stands in the head of a file, and at its end."""
    style = "".join(map(_source, styles))
    code = [_source(name) for name in scripts]
    policy = (
        f"default-src 'none'; img-src data:; style-src {_hash(style)}; script-src {' '.join(map(_hash, code))}; "
        "base-uri 'none'; form-action 'none'"
    )
    head = f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n<style>{style}</style>'
    return head, "\n".join(f"<script>{one}</script>" for one in code)


def _linked(styles: Iterable[str], scripts: Iterable[str]) -> str:
    """The head of a page of the server."""
    address = {name: f"/static/{name}?v={assets()[name].hash}" for name in (*styles, *scripts)}
    lines = [f'<link rel="stylesheet" href="{address[name]}">' for name in styles]
    # The first is there before anything is drawn, as it knows whether that is dark or light.
    lines += [
        f'<script src="{address[name]}"{" defer" if i else ""}></script>'
        for i, name in enumerate(scripts)
    ]
    return "\n".join(lines)


def _bar(site: Site) -> str:
    """The ways to all pages of the server, and which index is asked."""
    current = ' aria-current="page"'
    ways = "".join(
        f'<a href="{link(path, index=site.index)}"{current if path == site.here else ""}>{name}</a>'
        for path, name in _PLACES.items()
    )
    index = f'<span class="faint">Index {isolated(site.index)}</span>' if site.index else ""
    return (
        '<a class="skip" href="#main">To the content</a>\n'
        f'<header class="site"><nav aria-label="Pages">{ways}</nav>{index}<theme-switch></theme-switch></header>\n'
    )


def about(facts: Iterable[tuple[str, str]] = (), said: str = "") -> str:
    """Names with what they stand for, and a line, of HTML."""
    listed = "".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in facts)
    return (f"<dl>{listed}</dl>" if listed else "") + (f'<p class="faint">{said}</p>' if said else "")


def data(values: dict[str, Any]) -> str:
    """What the script of a custom element works on; stands within the element."""
    return f'<script type="application/json">{embedded(values)}</script>'


def text(value: str) -> str:
    """Text for a page: no markup, control characters as visible codes."""
    return html.escape(escape(value), quote=True)


def kept(value: str) -> str:
    """Text for an attribute that is sent back as it is."""
    return html.escape(value.encode("utf-8", "replace").decode("utf-8"), quote=True)


def isolated(value: str) -> str:
    """One line of text that does not disturb the direction of what stands around it."""
    return f"<bdi>{text(one_line(value))}</bdi>"


def embedded(data: dict[str, Any]) -> str:
    """JSON that can stand in a script element: it holds no `<`, `>` or `&`."""
    source = json.dumps(data, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return source.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def shade(value: float, end: float) -> str:
    """The classes that colour a value on a scale that ends at `end`."""
    level = round(LEVELS * min(abs(value) / end, 1.0)) if end else 0
    return f"l{level}{' minus' if value < 0 and level else ''}"


def bar(value: float, end: float) -> str:
    """A bar for a value; its number stands beside it."""
    share = 100 * min(abs(value) / end, 1.0) if end else 0.0
    sign = "minus" if value < 0 else "plus"
    return (
        f'<svg class="bar" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">'
        f'<rect class="{sign}" width="{share:.1f}" height="10"/></svg>'
    )


def signed(value: float) -> str:
    """+0.1234, or with a minus sign that is as wide."""
    return f"{value:+.4f}".replace("-", "\u2212")


def _source(name: str) -> str:
    return "\n" + assets()[name].content.decode("utf-8")


def _hash(content: str) -> str:
    digest = hashlib.sha256(content.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"
