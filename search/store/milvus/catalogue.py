"""What all documents of an index on Milvus have in common, and documents by a part of their name."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from search.records.contents import Facet, FacetValue
from search.records.documents import NamedDocument
from search.store.conditions import folded
from search.store.facets import annotated, counted
from search.store.milvus.filters import passing
from search.store.milvus.layout import DOCUMENT, PASSAGE
from search.store.milvus.rows import OF_DOCUMENT, OF_PASSAGE, document_content, said_of, stored_passage
from search.store.named import is_named

if TYPE_CHECKING:
    from search.store.conditions import Scalar, Where
    from search.store.facets import Said
    from search.store.milvus.generation import View

_ROWS_AT_ONCE = 250  # one may be as long as a text


def facets(view: View, where: Where | None) -> tuple[Facet, ...]:
    """The facets of all documents, which the generation has; or of those with a passage that passes a filter.

    Raises:
        InputError, IndexDamaged: as for `passing` and `stored_passage`.
    """
    if where is None:
        return tuple(map(_facet, view.generation.facets))
    return counted(_documents(view, passing(view, where)[0].expression))


def _facet(row: Mapping[str, Any]) -> Facet:
    return Facet(**{**row, "values": tuple(FacetValue(**value) for value in row["values"])})


def _documents(view: View, expression: str) -> Iterator[Said]:
    """Of the passages that pass an expression their documents, and what annotators say of those passages."""
    names = {folded(field) for one in view.generation.annotators for field in one["fields"]}
    found: dict[int, tuple[str, str, dict[str, Any], list[tuple[str, Scalar]]]] = {}
    rows = view.client.each(
        view.collection("passages"), view.there(expression), OF_PASSAGE, PASSAGE, _ROWS_AT_ONCE
    )
    for row in rows:
        stored = stored_passage(row, view.generation.root)
        path = os.path.relpath(stored.path, view.generation.root).replace(os.sep, "/")
        document = found.setdefault(stored.document_id, (path, stored.kind, stored.metadata, []))
        for said in said_of(row).values():
            document[3].extend(annotated(names, said.values))
    return (found[id_] for id_ in sorted(found))


def documents_named(view: View, part: str, most: int, offset: int = 0) -> list[NamedDocument]:
    """Documents that have all words of `part` in their name or title, in any case of letters, by name.

    Raises:
        IndexDamaged: the row of a document is damaged.
    """
    found = [
        (
            os.fsencode(content["name"]),
            content["record"],
            NamedDocument(id_, _name(content), content["title"]),
        )
        for id_, content in _contents(view)
        if is_named(f"{_name(content)} {content['title']}", part)
    ]
    return [document for _, _, document in sorted(found, key=lambda one: one[:2])[offset : offset + most]]


def document_metadata(view: View) -> Iterator[dict[str, Any]]:
    """What each document says of itself.

    Raises:
        IndexDamaged: the row of a document is damaged.
    """
    return (content["metadata"] for _, content in _contents(view))


def _contents(view: View) -> Iterator[tuple[int, dict[str, Any]]]:
    """What the rows of all documents say, by increasing numbers."""
    rows = view.client.each(view.collection("documents"), view.there(), OF_DOCUMENT, DOCUMENT, _ROWS_AT_ONCE)
    return ((int(row[DOCUMENT]), document_content(row)) for row in rows)


def _name(content: Mapping[str, Any]) -> str:
    return f"{content['name']}#{content['record']}" if content["record"] else str(content["name"])
