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
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from markupsafe import Markup

from search.plugins import plugins
from search.render import format
from search.render.format import escape, one_line

if TYPE_CHECKING:
    from jinja2 import Environment


ALWAYS = ("seewhy.css", "theme.js", "page.js")
_IMPORT = re.compile(r"(?m)^import .*\n|^export ")
_MEDIA = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8"}


@dataclass(frozen=True)
class Page:
    """Content of a page.

    Attributes:
        title: title in the browser's tab.
        heading: heading of the page; "" if the body has one.
        body: everything else.
        uses: names of the scripts and styles that the page needs, in addition to those of every page.
    """

    title: str
    heading: str | Markup
    body: Markup
    uses: tuple[str, ...] = ()


@dataclass(frozen=True)
class Site:
    """Navigation around a page of the server.

    Attributes:
        path: address of the page; "/" for the search.
        index: name of the index that is searched; "" for none.
        indexes: names of all indexes to choose from.
    """

    path: str = "/"
    index: str = ""
    indexes: tuple[str, ...] = ()

    def link(self, path: str) -> Markup:
        """Return the address of another page for the same index."""
        return link(path, index=self.index)


@cache
def assets() -> dict[str, tuple[bytes, str]]:
    """Return the content and media type of each script and style by name."""
    everything = [file for package in _packages() for file in files(package).iterdir()]
    return {
        file.name: (file.read_bytes(), media_type)
        for file in sorted(everything, key=lambda file: file.name)
        if (media_type := _MEDIA.get("." + file.name.rpartition(".")[2]))
    }


def _packages() -> list[str]:
    """Return the packages with templates, scripts and styles: this one, and those of plugins."""
    return [__package__ or "", *(plugin.assets for plugin in plugins() if plugin.assets)]


def laboratory_pages() -> dict[str, str]:
    """Return address -> title of the pages that compare texts and look into a model, in the order of their menu."""
    pages = {"/xray": "X-ray of two texts", "/similarity": "Compare sentences"}
    for plugin in plugins():
        pages |= plugin.pages
    return pages


@cache
def version() -> str:
    """Return a hash of all assets. It is part of their addresses, so browsers can cache them without limit."""
    contents = b"".join(content for content, _ in assets().values())
    return hashlib.sha256(contents).hexdigest()[:16]


@cache
def _environment() -> Environment:
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=ChoiceLoader([PackageLoader(package) for package in _packages()]),
        autoescape=True,
        finalize=lambda value: escape(value) if type(value) is str else value,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    environment.filters |= {"isolated": isolated, "kept": kept, "signed": signed, "data": data}
    environment.globals |= {
        "link": link,
        "shade": shade,
        "format": format,
        "parameters": parameters,
        "laboratory": laboratory_pages(),
    }
    return environment


def drawn(template: str, **values: Any) -> Markup:
    """Return the HTML of a template; every value is escaped unless it is `Markup`."""
    compiled = _environment().get_template(template)
    context = compiled.new_context(values)
    try:
        return Markup("".join(compiled.root_render_func(context)))
    finally:
        # The context keeps its macros, and they keep it: its values, such as traces of 100 MB, would stay in memory
        # until Python collects its garbage, as do those of an included template with macros.
        context.vars.clear()


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
    heading = Markup("<h2>{}</h2>\n").format(page.heading) if page.heading else ""
    return f'<div class="fragment">{heading}{page.body}</div>'


def link(path: str, **query: str | float | Sequence[str] | None) -> Markup:
    """Return an address of the server, escaped for an HTML attribute.

    A parameter with a list is repeated for each item; parameters that are None, "" or () are left out.
    """
    pairs = parameters(query)
    address = f"{path}?{urlencode(pairs, errors='replace')}" if pairs else path
    return Markup(html.escape(address))


def parameters(fields: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the parameters of an address: names with texts; see `link`."""
    return [
        (name, str(int(item) if isinstance(item, bool) else item))
        for name, value in fields.items()
        for item in (value if isinstance(value, list | tuple) else [value])
        if item not in (None, "")
    ]


def _inlined(styles: Iterable[str], scripts: Iterable[str]) -> tuple[str, str]:
    """Return the head of a file, and the scripts at its end: the modules are joined, as a file cannot import."""
    style, theme, *modules = "".join(map(_source, styles)), *map(_source, scripts)
    module = _IMPORT.sub("", "".join(modules))
    policy = (
        f"default-src 'none'; img-src data:; style-src {_hash(style)}; script-src {_hash(theme)} {_hash(module)}; "
        "base-uri 'none'; form-action 'none'"
    )
    head = f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n<style>{style}</style>'
    return f"{head}<script>{theme}</script>", f'<script type="module">{module}</script>'


def _linked(styles: Iterable[str], scripts: Iterable[str]) -> str:
    """Return the head of a page of the server."""
    place = f"/static/{version()}/"
    lines = [f'<link rel="stylesheet" href="{place}{name}">' for name in styles]
    theme, *modules = scripts  # the theme is chosen before anything is drawn, so its script is no module
    lines.append(f'<script src="{place}{theme}"></script>')
    lines += [f'<script type="module" src="{place}{name}"></script>' for name in modules]
    return "\n".join(lines)


def data(values: dict[str, Any]) -> Markup:
    """Return the data for the script of a custom element, to be put inside the element."""
    source = json.dumps(values, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for character in "<>&":  # none of these ends the element
        source = source.replace(character, f"\\u{ord(character):04x}")
    return Markup(f'<script type="application/json">{source}</script>')


def text(value: str) -> Markup:
    """Escape a text for HTML; control characters become visible codes."""
    return Markup(html.escape(escape(value), quote=True))


def shade(value: float, end: float) -> Markup:
    """Return the classes of a cell: its level from l0 to l9, where `end` has the deepest shade, and the sign."""
    level = round(9 * min(abs(value) / end, 1)) if end else 0
    return Markup(f"l{level} minus" if value < 0 and level else f"l{level}")


def kept(value: str) -> Markup:
    """Escape a text for an attribute whose value must be sent back unchanged."""
    return Markup(html.escape(value.encode("utf-8", "replace").decode("utf-8"), quote=True))


def isolated(value: str) -> Markup:
    """Escape one line of text, isolated so that it does not change the writing direction around it."""
    return Markup(f"<bdi>{text(one_line(value))}</bdi>")


def signed(value: float) -> str:
    """Format a number with four decimals and its sign; the minus sign is as wide as a plus sign."""
    return f"{value:+.4f}".replace("-", "\u2212")


def _source(name: str) -> str:
    return "\n" + assets()[name][0].decode("utf-8")


def _hash(content: str) -> str:
    digest = hashlib.sha256(content.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"
