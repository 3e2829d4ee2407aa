"""The map of an index as a drawing: on the start page, and as a page of its own."""

from __future__ import annotations

from collections.abc import Callable

from markupsafe import Markup

from search.records.document_map import DocumentMap, MapPoint
from search.render.page.document import Page, about, drawn

_WIDTH, _HEIGHT, _EDGE = 640, 600, 24
_KINDS = 4  # of marks, besides that of other documents


def drawing(map_: DocumentMap, href: Callable[[MapPoint], str] | None = None) -> Markup:
    """Return the map as SVG, with a key.

    Args:
        href: returns the address of a document; None for a map without links.
    """
    kinds = {group: min(number, _KINDS) for number, group in enumerate(map_.groups)}
    points = [
        (
            point,
            kinds[point.group],
            round(_EDGE + (_WIDTH - 2 * _EDGE) * (point.x + 1) / 2),
            round(_EDGE + (_HEIGHT - 2 * _EDGE) * (1 - point.y) / 2),
            href(point) if href else "",
        )
        for point in map_.points
    ]
    return drawn("map.html", points=points, groups=map_.groups)


def page(map_: DocumentMap, name: str) -> Page:
    """Return the page of a map."""
    note = "Each mark is a document; documents with similar content are close to each other."
    title = f"Map of {name}"
    return Page(title, title, about(note=note), f'<figure class="map">{drawing(map_)}</figure>')
