"""The index that a collection is ranked in: kept for the next time, apart from the user's own.

`home()/evaluations/NAME-HASH/` holds `index/` and, for a collection in a form that is not indexed as it is,
`corpus/corpus.jsonl`. It lies outside `home()/indexes`, so that no command takes it for an index of the user's.
"""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

from search.encoding.models import DEFAULT_MODEL
from search.errors import InputError, quoted
from search.evaluating.dataset import Retrieval
from search.evaluating.formats.beir import CORPUS
from search.files import write_whole
from search.store.layout import home
from search.store.sqlite import SQLiteStore


def place_of_collection(source: Path, model: str | None, pooling: str | None) -> Path:
    """The folder for the collection that lies at `source`, one for each model and pooling."""
    root = source.resolve()
    name = re.sub(r"[^\w.+-]+", "-", root.stem if root.is_file() else root.name).strip("-.") or "root"
    key = json.dumps([str(root), model or DEFAULT_MODEL, pooling])
    return home() / "evaluations" / f"{name}-{hashlib.sha256(key.encode('utf-8', 'replace')).hexdigest()[:8]}"


def written_corpus(data: Retrieval, place: Path) -> Path:
    """The folder with the collection as `corpus.jsonl`; the file is left alone where it is right already."""
    folder = place / "corpus"
    text = "".join(
        json.dumps({"_id": name, "title": entry.title, "text": entry.text}) + "\n"
        for name, entry in data.entries.items()
    )
    path = folder / CORPUS
    if not path.is_file() or path.read_bytes() != text.encode("utf-8"):
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(path, text)
    return folder


def indexed_names(index: Path) -> set[str]:
    """The names ("_id") of the documents of a collection that are in its index."""
    with SQLiteStore(index).reading() as snapshot:
        return {str(metadata.get("_id")) for metadata in snapshot.document_metadata()}


def require_documents(missing: list[str], relevant: int, index: Path, allowed: bool) -> str:
    """What is to be said of relevant documents that the index does not hold; "" if there are none.

    Args:
        relevant: how many documents are relevant to any query.

    Raises:
        InputError: there are some, and it is not `allowed`; or there are no others.
    """
    if not missing:
        return ""
    named = ", ".join(missing[:5]) + (f" and {len(missing) - 5:,} more" if len(missing) > 5 else "")
    said = f"{len(missing):,} of {relevant:,} relevant documents are not in the index ({named})"
    if len(missing) == relevant:
        raise InputError(f"{said}. Do the judgements belong to the index {quoted(index)}?")
    if not allowed:
        raise InputError(
            f"{said}, so that nothing could find them. Index them, or count them as not found with --allow-missing."
        )
    return f"{said}; they count as not found"
