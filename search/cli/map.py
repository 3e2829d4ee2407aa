"""seewhy map"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from search.cli.options import (
    IndexOption,
)
from search.cli.output import DrawnOutput

if TYPE_CHECKING:
    from search.records.document_map import DocumentMap


def document_map(output: DrawnOutput, index: IndexOption = None) -> None:
    """Draw a map of an index: similar documents are close together.

    Without --png and --html, prints its topics with their numbers of documents: groups of similar documents, named by
    their typical words. Fewer than 30 documents have their folders or kinds instead.
    """
    from search.index import Index, searcher_of
    from search.render import hits as draw

    opened = Index.open(index)
    map_ = searcher_of(opened).map()
    output.result(
        map_,
        draw.document_map,
        png=lambda: _drawn(map_, opened.name, "png"),
        html=lambda: _drawn(map_, opened.name, "html"),
    )


def _drawn(map_: DocumentMap, name: str, kind: str) -> Any:
    from search.render import page, picture
    from search.render.page.hit_list import PageRequest
    from search.render.page.map import document_map as page_of

    return (
        picture.document_map(map_, name)
        if kind == "png"
        else page.document(page_of(map_, PageRequest(name)))
    )
