"""The frame of a page, and how text and numbers get into it.

The policy in the head lets the browser load nothing and run only the scripts and styles whose hashes it names, so
that no text, whatever it holds, can do anything.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
from collections.abc import Iterable, Sequence
from importlib.resources import files
from typing import Any

from search.render.escape import escape, one_line

LEVELS = 9


def document(title: str, body: str, data: dict[str, Any], script: str = "", style: str = "") -> str:
    """A whole page.

    Args:
        title: shown in the browser's tab.
        body: HTML, every text in it made harmless with `text`.
        data: what the script works on.
        script: name of the script file, if the page needs more than the one that all have.
        style: name of a style file, likewise.
    """
    styles = "".join(_asset(name) for name in ("page.css", style) if name)
    scripts = [_asset(name) for name in ("page.js", script) if name]
    hashes = " ".join(map(_hash, scripts))
    policy = (
        f"default-src 'none'; img-src data:; style-src {_hash(styles)}; script-src {hashes}; "
        "base-uri 'none'; form-action 'none'"
    )
    runs = "\n".join(f"<script>{code}</script>" for code in scripts)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>{text(one_line(title))}</title>
<link rel="icon" href="data:,">
<style>{styles}</style>
</head>
<body>
{body}
<script type="application/json" id="data">{embedded(data)}</script>
{runs}
</body>
</html>
"""


def header(title: str, facts: Iterable[tuple[str, str]] = (), said: str = "") -> str:
    """The head of a page, of HTML: its title, names with what they stand for, and a line about it."""
    listed = "".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in facts)
    listed = f"<dl>{listed}</dl>" if listed else ""
    about = f'<p class="faint">{said}</p>' if said else ""
    return (
        f'<header><div class="title"><h1>{title}</h1>\n'
        '<button type="button" id="theme" hidden>Dark or light</button></div>\n'
        f"{listed}{about}</header>"
    )


def matrix(columns: Sequence[str], rows: Iterable[tuple[str, Iterable[str]]]) -> str:
    """A table of cells under names, of HTML; a row is its name and its cells, each a whole <td>."""
    head = "".join(f'<th scope="col">{column}</th>' for column in columns)
    body = "".join(f'<tr><th scope="row">{name}</th>{"".join(cells)}</tr>' for name, cells in rows)
    return (
        '<div class="scroll"><table class="matrix narrow">'
        f"<thead><tr><td></td>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def text(value: str) -> str:
    """Text for a page: no markup, control characters as visible codes."""
    return html.escape(escape(value), quote=True)


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


def _asset(name: str) -> str:
    return "\n" + files(__package__).joinpath(name).read_text(encoding="utf-8")


def _hash(content: str) -> str:
    digest = hashlib.sha256(content.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"
