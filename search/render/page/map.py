"""The map of an index: its groups with their marks, names and links."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from markupsafe import Markup

from search.records.document_map import OTHER, TOPIC_FIELD, DocumentMap
from search.records.hits import Hit
from search.render.format import one_line
from search.render.page.document import Page, drawn
from search.render.page.hit_list import HitView, PageRequest

WIDTH, HEIGHT = 640, 600
_MARGIN, _LINE, _LETTER = 24, 20, 7.6  # of the drawing, of a name and of its letters, on average
_KINDS = 4  # colours, and shapes; "other" has its own


@dataclass(frozen=True)
class MapGroup:
    """A group of documents on the map.

    Attributes:
        name: as in `DocumentMap.groups`.
        count: number of its documents.
        number: position in `DocumentMap.groups`, from 1.
        colour, shape: numbers of its mark, from 1; no other group has the same two.
        link: address of the query among its documents; None if there is none.
        is_chosen: True if the filter of the request is this topic.
        label: x and y of its name in the drawing; None if the name is only in the list.
    """

    name: str
    count: int
    number: int
    colour: int
    shape: int
    link: Markup | None = None
    is_chosen: bool = False
    label: tuple[int, int] | None = None


def map_groups(map_: DocumentMap, request: PageRequest | None = None) -> dict[str, MapGroup]:
    """Return name -> group of a map, largest first.

    Args:
        request: the request whose query and filter the links of topics add to; None for no links.
    """
    labels = dict(_labels(map_)) if map_.grouped_by == "topic" else {}
    groups = {}
    for number, (name, count) in enumerate(map_.groups.items()):
        is_chosen = request is not None and request.where == topic_filter(name)
        link = _link(map_, name, request)
        groups[name] = MapGroup(
            name, count, number + 1, *_mark(number, name), link, is_chosen, labels.get(name)
        )
    return groups


def _mark(number: int, name: str) -> tuple[int, int]:
    """Return colour and shape of a group: of the fifth group on, the colours return with other shapes."""
    if name == OTHER:
        return _KINDS + 1, _KINDS + 1
    return number % _KINDS + 1, (number + number // _KINDS) % _KINDS + 1


def _link(map_: DocumentMap, name: str, request: PageRequest | None) -> Markup | None:
    """Return the address of a topic: a filter, or on a map that does not show all documents, its name as a query."""
    if request is None or map_.grouped_by != "topic" or name == OTHER:
        return None
    if not map_.is_complete:
        return request.link("/", q=" ".join(name.split(" \u00b7 ")))
    return request.link("/", where=topic_filter(name))


def topic_filter(name: str) -> str:
    """Return the filter for the documents of a topic."""
    return f'{TOPIC_FIELD}="{name}"'


def position(x: float, y: float) -> tuple[int, int]:
    """Convert a position on the map to one in the drawing."""
    across, down = WIDTH - 2 * _MARGIN, HEIGHT - 2 * _MARGIN
    return round(_MARGIN + across / 2 * (x + 1)), round(_MARGIN + down / 2 * (1 - y))


def _labels(map_: DocumentMap) -> Iterator[tuple[str, tuple[int, int]]]:
    """Yield the names of topics with positions near their middle, so that no two names overlap."""
    taken: list[tuple[float, float, float]] = []
    for name in map_.groups:
        if name == OTHER:
            continue
        points = [position(point.x, point.y) for point in map_.points if point.group == name]
        half = len(name) * _LETTER / 2
        x = min(max(median(x for x, _ in points), half + 8), WIDTH - half - 8)
        middle = median(y for _, y in points)
        for step in range(2 * HEIGHT // _LINE):
            y = middle + _LINE / 2 * ((step + 1) // 2) * (-1) ** step
            is_free = all(
                abs(x - other_x) >= half + other_half or abs(y - other_y) >= _LINE
                for other_x, other_y, other_half in taken
            )
            if is_free and _LINE <= y <= HEIGHT - 8:
                taken.append((x, y, half))
                yield name, (round(x), round(y))
                break


def document_map(map_: DocumentMap, request: PageRequest, hits: Sequence[Hit] = ()) -> Page:
    """Return the page of a map.

    Args:
        request: index and query; the marks of a map without hits are no links, so it can be a file.
        hits: hits whose documents are emphasised and listed, best first.
    """
    title, best = f"Map of {one_line(request.index)}", dict[int, Hit]()
    for hit in hits:  # of a document the best one
        best.setdefault(hit.document_id, hit)
    body = drawn(
        "map.html",
        map=map_,
        request=request,
        hits=best,
        groups=map_groups(map_, request if hits else None),
        position=position,
        listed=[HitView(hit) for hit in best.values()],
    )
    return Page(title, title, body)
