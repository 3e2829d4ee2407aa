"""Pages and their two frames: a self-contained file, and a page of the server that links to scripts and styles.

Templates are in `templates/`. Jinja escapes every value that is not `Markup`, and control characters become visible
codes, so no text from an index can become HTML.

The content security policy of a file lets the browser load nothing and run only the scripts and styles whose hashes it
names; the server's policy, sent as a header, allows only its own files. So no indexed text can run as code.
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
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlencode

from markupsafe import Markup

from search.render.format import escape, one_line

if TYPE_CHECKING:
    from jinja2 import Environment

LEVELS = 9
ALWAYS = ("seewhy.css", "page.css", "page.js")
_MEDIA = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8"}


@dataclass(frozen=True)
class Page:
    """Content of a page.

    Attributes:
        title: title in the browser's tab, as plain text; all other attributes are HTML.
        heading: heading of the page.
        about: facts below the heading, from the function `about`.
        body: everything else, including the data of custom elements from the function `data`.
        uses: names of the scripts and styles that the page needs, in addition to those of every page.
    """

    title: str
    heading: str
    about: str
    body: str
    uses: tuple[str, ...] = ()


@dataclass(frozen=True)
class Site:
    """Navigation around a page of the server.

    Attributes:
        here: address of the page; "/" for the search.
        index: name of the index that is searched; "" for none.
    """

    here: str = "/"
    index: str = ""

    def link(self, path: str) -> Markup:
        """Return the address of another page for the same index."""
        return link(path, index=self.index)


class Asset(NamedTuple):
    """A script or style sheet. Its address contains its hash, so browsers can cache it without limit."""

    content: bytes
    media_type: str
    hash: str


@cache
def assets() -> dict[str, Asset]:
    """All scripts and styles by name."""
    by_name = {}
    for file in sorted(files(__package__).iterdir(), key=lambda file: file.name):
        if media_type := _MEDIA.get("." + file.name.rpartition(".")[2]):
            content = file.read_bytes()
            by_name[file.name] = Asset(content, media_type, hashlib.sha256(content).hexdigest()[:16])
    return by_name


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader(__package__ or ""),
        autoescape=True,
        finalize=lambda value: escape(value) if type(value) is str else value,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    environment.filters |= {"isolated": isolated, "kept": kept, "signed": signed}
    return environment


def drawn(template: str, **values: Any) -> Markup:
    """Return the HTML of a template; every value is escaped unless it is `Markup`."""
    return Markup(_environment().get_template(template).render(**values))


def document(page: Page, site: Site | None = None) -> str:
    """Return a whole page: a self-contained file, or with `site` a page of the server."""
    names = dict.fromkeys((*ALWAYS, *page.uses))
    styles, scripts = ([name for name in names if name.endswith(kind)] for kind in (".css", ".js"))
    head, last = _inlined(styles, scripts) if site is None else (_linked(styles, scripts), "")
    return drawn(
        "frame.html",
        page=page,
        site=site,
        head=Markup(head),
        last=Markup(last),
        title=one_line(page.title),
    )


def fragment(page: Page) -> str:
    """Return a page without a frame, to insert into an open page that already has its scripts and styles."""
    heading = f"<h2>{page.heading}</h2>\n{page.about}\n" if page.heading else ""
    return f'<div class="fragment">{heading}{page.body}</div>'


def link(path: str, **query: str | float | Sequence[str] | None) -> Markup:
    """Return an address of the server, escaped for an HTML attribute.

    A parameter with a list is repeated for each item; parameters that are None, "" or () are left out.
    """
    pairs = _parameters(query)
    address = f"{path}?{urlencode(pairs, doseq=True, errors='replace')}" if pairs else path
    return Markup(html.escape(address))


def _parameters(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: int(value) if isinstance(value, bool) else value
        for name, value in fields.items()
        if value not in (None, "", (), [])
    }


def hidden(**fields: str | float | Sequence[str] | None) -> Markup:
    """Return hidden fields for a form, with the values that `link` would send."""
    lists = {
        name: value if isinstance(value, (list, tuple)) else [value]
        for name, value in _parameters(fields).items()
    }
    return Markup("").join(
        Markup(f'<input type="hidden" name="{name}" value="{kept(str(value))}">')
        for name, values in lists.items()
        for value in values
    )


def _inlined(styles: Iterable[str], scripts: Iterable[str]) -> tuple[str, str]:
    """Return the head of a file, and the scripts at its end."""
    style = "".join(map(_source, styles))
    code = [_source(name) for name in scripts]
    policy = (
        f"default-src 'none'; img-src data:; style-src {_hash(style)}; script-src {' '.join(map(_hash, code))}; "
        "base-uri 'none'; form-action 'none'"
    )
    head = f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n<style>{style}</style>'
    return head, "\n".join(f"<script>{source}</script>" for source in code)


def _linked(styles: Iterable[str], scripts: Iterable[str]) -> str:
    """Return the head of a page of the server."""
    address = {name: f"/static/{name}?v={assets()[name].hash}" for name in (*styles, *scripts)}
    lines = [f'<link rel="stylesheet" href="{address[name]}">' for name in styles]
    # The first runs before anything is drawn, as it chooses the dark or the light theme.
    lines += [
        f'<script src="{address[name]}"{" defer" if i else ""}></script>'
        for i, name in enumerate(scripts)
    ]
    return "\n".join(lines)


def about(facts: Iterable[tuple[str, str]] = (), note: str = "") -> str:
    """Return a list of names and values, followed by a note, as HTML; the arguments are HTML, too."""
    listed = "".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in facts)
    return (f"<dl>{listed}</dl>" if listed else "") + (f'<p class="faint">{note}</p>' if note else "")


def data(values: dict[str, Any]) -> str:
    """Return the data for the script of a custom element, to be put inside the element."""
    return f'<script type="application/json">{embedded(values)}</script>'


def text(value: str) -> Markup:
    """Escape a text for HTML; control characters become visible codes."""
    return Markup(html.escape(escape(value), quote=True))


def kept(value: str) -> Markup:
    """Escape a text for an attribute whose value must be sent back unchanged."""
    return Markup(html.escape(value.encode("utf-8", "replace").decode("utf-8"), quote=True))


def isolated(value: str) -> Markup:
    """Escape one line of text, isolated so that it does not change the writing direction around it."""
    return Markup(f"<bdi>{text(one_line(value))}</bdi>")


def embedded(data: dict[str, Any]) -> str:
    """Return JSON that is safe in a script element: without `<`, `>` and `&`."""
    source = json.dumps(data, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return source.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def shade(value: float, end: float) -> str:
    """Return the CSS classes that colour a value on a scale that ends at `end`."""
    level = round(LEVELS * min(abs(value) / end, 1.0)) if end else 0
    return f"l{level}{' minus' if value < 0 and level else ''}"


def bar(value: float, end: float) -> Markup:
    """Return a bar for a value, which is printed beside it."""
    share = 100 * min(abs(value) / end, 1.0) if end else 0.0
    sign = "minus" if value < 0 else "plus"
    return Markup(
        f'<svg class="level" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">'
        f'<rect class="{sign}" width="{share:.1f}" height="10"/></svg>'
    )


def signed(value: float) -> str:
    """Format a number with four decimals and its sign; the minus sign is as wide as a plus sign."""
    return f"{value:+.4f}".replace("-", "\u2212")


def _source(name: str) -> str:
    return "\n" + assets()[name].content.decode("utf-8")


def _hash(content: str) -> str:
    digest = hashlib.sha256(content.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"
