"""What a path means in an index on Milvus: its documents are found by their files' names."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from search.store.milvus.layout import DOCUMENT, FILE, PASSAGE
from search.store.milvus.rows import OF_DOCUMENT, OF_PASSAGE, document_content, file_key, stored_passage
from search.store.passages import near_names, placed

if TYPE_CHECKING:
    from search.store.milvus.generation import View
    from search.store.protocol import Place

_MOST = 500  # rows of a request: one may be as long as a text


def place_of(view: View, what: str | Path) -> Place:
    """What a path means, in one state of an index.

    Raises:
        InputError: it is a folder; or the index holds no passage at that line.
    """
    root, known = view.generation.root, dict[tuple[str, int | None], list[tuple[int, int, int]]]()

    def rows(place: Place) -> list[tuple[int, int, int]]:
        asked = place.name or "", place.record
        if asked not in known:
            known[asked] = _rows(view, root, *asked)
        return known[asked]

    return placed(Path(root), what, rows, lambda name: near_names(_names(view), name))


def _rows(view: View, root: str, name: str, record: int | None) -> list[tuple[int, int, int]]:
    """Id, first and last line of each passage of a file, or of a record of it."""
    where = view.there(f'{FILE} == "{file_key(name)}"')
    documents = [
        int(row[DOCUMENT])
        for row in view.client.each(view.collection("documents"), where, OF_DOCUMENT, DOCUMENT, _MOST)
        if record in (None, document_content(row)["record"])
    ]
    passages = [
        stored_passage(row, root)
        for start in range(0, len(documents), _MOST)
        for row in view.client.each(
            view.collection("passages"),
            view.there(f"{DOCUMENT} in {documents[start : start + _MOST]}"),
            OF_PASSAGE,
            PASSAGE,
            _MOST,
        )
    ]
    return sorted((one.id, one.line_start, one.line_end) for one in passages)


def _names(view: View) -> list[str]:
    """Of all files, in their order."""
    rows = view.client.each(view.collection("documents"), view.there(), OF_DOCUMENT, DOCUMENT, _MOST)
    return sorted({document_content(row)["name"] for row in rows})
