"""Passages as they are stored, what a path means, what an index is and holds; all within a transaction.

*Annotations* are what models have said of passages, so that filters can ask for it. An annotator is a name, what made
its annotations, and the fields that they have. It has at most one annotation for each passage; a passage without one
has not been looked at yet, as after an update. Annotations go when their passage goes. annotating.py writes them.
"""

from __future__ import annotations

import json
import os
import re
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from search.encoding.fingerprint import Fingerprint
from search.errors import IndexDamaged, InputError, quoted
from search.files import bytes_in
from search.records.contents import StoredFile, StoredPassage
from search.records.documents import Annotation, Annotator, Mention
from search.records.reports import SkippedGroup, Status
from search.store.calibration import read_baseline
from search.store.checksums import hidden_of, name_of
from search.store.copies import copied_texts
from search.store.database import meta_of, one_meta
from search.store.files import is_being_written
from search.store.folders import Folders, stays_inside
from search.store.layout import DATABASE
from search.store.protocol import Place
from search.store.segments import after, read_segments

if TYPE_CHECKING:
    from search.corpus import Skipped


_EXAMPLES = 5
_PARTS = re.compile(r"(?P<path>.+?)(?:#(?P<record>\d+))?(?::(?P<line>\d+)(?:-\d+)?)?", re.DOTALL)


@dataclass(frozen=True)
class FileState:
    """A file as it was when it was read; see indexes/README.md for what the values mean."""

    size: int
    mtime_ns: int
    inode: int
    sha256: str | None
    status: str


def status_of(connection: sqlite3.Connection, index: Path, weight: float) -> Status:
    """What an index is and holds, within a transaction.

    Args:
        weight: what the cosine counts in the scores of random pairs.
    """
    meta = meta_of(connection, index / DATABASE)
    fingerprint = Fingerprint.from_dict(meta["fingerprint"])
    documents, passages, tokens = counts(connection)
    segments = read_segments(connection)
    partial = connection.execute("SELECT 1 FROM files WHERE status = 'partial'").fetchone()
    skipped = skipped_groups(connection)
    baseline = read_baseline(connection)
    annotated = tuple(annotators(connection))
    copies, texts = copied_texts(connection)
    tail = connection.execute(
        "SELECT count(*) FROM embeddings WHERE passage > ?", (after(segments),)
    ).fetchone()[0]
    held = f"{passages - tail} of {passages} passages in segments ({len(segments)})"
    return Status(
        name=index.name,
        index=str(index),
        folder=meta["root"],
        folders=Folders.from_meta(meta).several,
        model=fingerprint.model,
        pooling=fingerprint.pooling,
        dimension=int(fingerprint.dimension),
        max_tokens=int(fingerprint.max_tokens),
        documents=documents,
        passages=passages,
        tokens=tokens,
        bytes=bytes_in(index),
        updated=meta.get("updated", ""),
        engine=meta.get("engine", ""),
        vectors=held,
        skipped=skipped,
        fingerprint=fingerprint.as_dict(),
        complete=bool(meta.get("complete")) and partial is None,
        running=is_being_written(index),
        copies=copies,
        copied_texts=texts,
        random_pairs=baseline.spread(weight) if baseline else None,
        annotations=annotated,
    )


def counts(connection: sqlite3.Connection) -> tuple[int, int, int]:
    """Documents, passages and tokens in the index."""
    documents = connection.execute("SELECT count(*) FROM documents").fetchone()[0]
    passages, tokens = connection.execute(
        "SELECT count(*), coalesce(sum(n_tokens), 0) FROM passages"
    ).fetchone()
    return documents, passages, tokens


def skipped_groups(connection: sqlite3.Connection) -> tuple[SkippedGroup, ...]:
    """What was left out, by reason, the most frequent first."""
    rows = connection.execute("SELECT path, record, reason, detail FROM skipped ORDER BY path, record")
    return grouped((name_of(path, record), reason, detail) for path, record, reason, detail in rows)


def grouped(skipped: Iterable[tuple[str, str, str]]) -> tuple[SkippedGroup, ...]:
    """Names, reasons and details of what was left out, by reason, the most frequent first."""
    groups: dict[str, list[str]] = defaultdict(list)
    for name, reason, detail in skipped:
        groups[reason].append(f"{name} ({detail})" if detail else name)
    return tuple(
        SkippedGroup(reason, len(names), tuple(names[:_EXAMPLES]))
        for reason, names in sorted(groups.items(), key=lambda item: (-len(item[1]), item[0]))
    )


_PASSAGE_COLUMNS = (
    "id", "context", "heading", "text", "start", "end", "line_start", "line_end", "page",
)  # fmt: skip


def stored_passages(connection: sqlite3.Connection, ids: Sequence[int]) -> dict[int, StoredPassage]:
    """Those of the passages that exist, by ID.

    Raises:
        IndexDamaged: a path leads out of the indexed folder.
    """
    root = one_meta(connection, "root")
    annotated = values_by_passage(connection, ids)
    columns = ", ".join(f'passages."{column}"' for column in _PASSAGE_COLUMNS)
    rows = connection.execute(
        f"""SELECT {columns}, hidden, documents.id, record, title, metadata, kind, path, size, mtime_ns, inode,
                   files.sha256
            FROM passages JOIN documents ON documents.id = document JOIN files ON files.id = file
            WHERE passages.id IN (SELECT value FROM json_each(?))""",
        (json.dumps(list(ids)),),
    )
    passages = {}
    for row in rows:
        mine = dict(zip(_PASSAGE_COLUMNS, row, strict=False))
        id_ = mine.pop("id")
        hidden, document, record, title, metadata, kind, path, *facts = row[len(_PASSAGE_COLUMNS) :]
        name = name_of(path)
        if not stays_inside(name):
            raise IndexDamaged(f"passage {id_} names '{name}', which is outside of the indexed folder.")
        passages[id_] = StoredPassage(
            passage_id=id_,
            **mine,
            path=os.path.join(root, *name.split("/")),  # noqa: PTH118 (quicker than Path)
            document=name_of(path, record),
            document_id=document,
            title=title,
            metadata=json.loads(metadata),
            file=StoredFile(kind, *facts),
            hidden=hidden_of(hidden),
            annotations=annotated.get(id_, {}),
        )
    return passages


def stored_files(connection: sqlite3.Connection) -> dict[str, FileState]:
    """What is known of every file that was opened, by its path, in the order of the bytes of paths."""
    rows = connection.execute("SELECT path, size, mtime_ns, inode, sha256, status FROM files ORDER BY path")
    return {name_of(path): FileState(*facts) for path, *facts in rows}


def stored_documents(connection: sqlite3.Connection, path: str) -> dict[int, str]:
    """record -> sha256 of the documents that are stored for a file."""
    rows = connection.execute(
        "SELECT record, documents.sha256 FROM documents JOIN files ON files.id = file WHERE path = ?",
        (os.fsencode(path),),
    )
    return dict(rows.fetchall())


def skipped_when_read(connection: sqlite3.Connection) -> Iterator[tuple[str, Skipped]]:
    """What was left out when files were read, each with the path of its file."""
    from search.corpus import Skipped  # which a query does not need

    rows = connection.execute("SELECT path, record, reason, detail FROM skipped WHERE stage = 'read'")
    for path, record, reason, detail in rows:
        yield name_of(path), Skipped(name_of(path, record), reason, detail)


def tokens_beyond(connection: sqlite3.Connection, most: int) -> int:
    """How many tokens of all passages are above `most` in their passage."""
    (over,) = connection.execute(
        "SELECT coalesce(sum(n_tokens - ?), 0) FROM passages WHERE n_tokens > ?", (most, most)
    ).fetchone()
    return int(over)


def place_of(connection: sqlite3.Connection, what: str | Path) -> Place:
    """What a path means, within a transaction: absolute, from the current folder, or from the indexed folder.

    Args:
        what: also with a record or a line, as hits are listed: "table.csv#12", "keys.md:31-35".

    What is indexed is preferred to what is only there, and a whole string to one that is taken apart.

    Raises:
        InputError: it is a folder; or the index holds no passage at that line.
    """
    return placed(
        Path(one_meta(connection, "root")), what, partial(_rows, connection), partial(_near, connection)
    )


Rows: TypeAlias = "Callable[[Place], list[tuple[int, int, int]]]"
"""Id, first and last line of each passage that is stored of a place."""


def placed(root: Path, what: str | Path, rows: Rows, near: Callable[[str], tuple[str, ...]]) -> Place:
    """As `place_of`, whoever knows what is stored.

    Args:
        near: names of files that may have been meant by the last part of a path.
    """
    places = list(_meanings(root, str(what)))
    stored = [place for place in places if place.name is not None and rows(place)]
    there = [place for place in places if os.path.lexists(place.location)]
    inside = [place for place in places if place.name is not None]
    # Of the meanings that lead nowhere yet, the last ones have record and line taken off.
    place = (stored or there or inside[-1:] or places[-1:])[0]
    if place in there and not stored and place.location.is_dir() and not place.location.is_symlink():
        raise InputError(f"'{what}' is a folder. Name a file in it.")
    if not stored:
        return place if place in there else replace(place, near=near(place.location.name))
    return Place(place.name, place.record, place.line, place.location, _passages(place, rows))


def near_names(paths: Iterable[str], name: str, most: int = 3) -> tuple[str, ...]:
    """Those of some files with that last part, in any folder and any case of letters; else those with one like it."""
    from difflib import get_close_matches

    by_name = defaultdict[str, list[str]](list)
    for path in paths:
        by_name[path.rpartition("/")[2].lower()].append(path)
    names = [name.lower()] if name.lower() in by_name else get_close_matches(name.lower(), by_name, most, 0.7)
    return tuple(path for near in names for path in by_name[near])[:most]


def _near(connection: sqlite3.Connection, name: str) -> tuple[str, ...]:
    rows = connection.execute("SELECT path FROM files ORDER BY path")
    return near_names((name_of(path) for (path,) in rows), name)


def _meanings(root: Path, what: str) -> Iterator[Place]:
    """Every way to understand a path: whole, then without record and line; from here, then from the root."""
    match = _PARTS.fullmatch(what)
    parts: list[tuple[str, int | None, int | None]] = [(what, None, None)]
    if match and match["path"] != what:
        record, line = (int(digits) if digits else None for digits in match.group("record", "line"))
        parts.append((match["path"], record, line))
    for path, record, line in parts:
        for base in (Path.cwd(), root):
            location = Path(os.path.abspath(base / Path(path).expanduser()))  # noqa: PTH100 (keeps links)
            yield Place(_name(root, location), record, line, location)


def _name(root: Path, location: Path) -> str | None:
    """Relative to the root, also where the way there leads through links."""
    for candidate in (location, location.parent.resolve() / location.name):
        if candidate != root and candidate.is_relative_to(root):
            return candidate.relative_to(root).as_posix()
    return None


def _passages(place: Place, rows: Rows) -> tuple[int, ...]:
    if place.line is None:
        return tuple(id_ for id_, _, _ in rows(place))
    found = tuple(id_ for id_, first, last in rows(place) if first <= place.line <= last)
    if not found:
        raise InputError(
            f"no passage of '{place.document}' is at line {place.line}. Leave the line out for its best passage."
        )
    return found


def _rows(connection: sqlite3.Connection, place: Place) -> list[tuple[int, int, int]]:
    return connection.execute(
        """SELECT passages.id, line_start, line_end
           FROM passages JOIN documents ON documents.id = document JOIN files ON files.id = file
           WHERE path = ? AND (? IS NULL OR record = ?) ORDER BY passages.id""",
        (os.fsencode(place.name or ""), place.record, place.record),
    ).fetchall()


# Of `made_with`: said to people, not compared.
COMMAND = "command"
CALLED = "called"  # the name of what made them, which may be a folder that was moved
NOT_COMPARED = (COMMAND, CALLED)


def annotators(connection: sqlite3.Connection) -> list[Annotator]:
    """Those that an index has, by name, within a transaction."""
    rows = connection.execute(
        """SELECT name, made_with, fields, (SELECT count(*) FROM annotations WHERE annotator = name)
           FROM annotators ORDER BY name"""
    ).fetchall()
    if not rows:
        return []
    total = int(one_meta(connection, "passages"))
    return [
        Annotator(name, json.loads(made_with), tuple(json.loads(fields)), done, total)
        for name, made_with, fields, done in rows
    ]


def annotations_of(connection: sqlite3.Connection, passages: Sequence[int]) -> dict[int, list[Annotation]]:
    """The annotations of passages that have any, in the order of the annotators' names, within a transaction."""
    by_name = annotations_by_name(connection, passages)
    return {passage: list(annotations.values()) for passage, annotations in by_name.items()}


def annotations_by_name(
    connection: sqlite3.Connection, passages: Sequence[int]
) -> dict[int, dict[str, Annotation]]:
    """As `annotations_of`, each by the name of its annotator."""
    by_passage: dict[int, dict[str, Annotation]] = {}
    for passage, annotator, values, spans in _annotation_rows(connection, passages):
        by_passage.setdefault(passage, {})[annotator] = _annotation(passage, values, spans)
    return by_passage


def values_by_passage(connection: sqlite3.Connection, passages: Sequence[int]) -> dict[int, dict[str, Any]]:
    """field -> value of each of the passages that has any annotation; quicker than with all spans.

    No two annotators have a field in common.
    """
    by_passage: dict[int, dict[str, Any]] = {}
    for passage, _, values, _ in _annotation_rows(connection, passages):
        by_passage.setdefault(passage, {}).update(json.loads(values))
    return by_passage


def _annotation_rows(
    connection: sqlite3.Connection, passages: Sequence[int]
) -> Iterable[tuple[int, str, str, str]]:
    """Annotations by passage and annotator; without annotators one look at an empty table."""
    if connection.execute("SELECT 1 FROM annotators LIMIT 1").fetchone() is None:
        return ()
    return connection.execute(
        """SELECT passage, annotator, "values", spans FROM annotations
           WHERE passage IN (SELECT value FROM json_each(?)) ORDER BY passage, annotator""",
        (json.dumps(list(passages)),),
    )


def each_annotation(connection: sqlite3.Connection, annotator: str) -> Iterator[Annotation]:
    """All annotations of an annotator, by passage, within a transaction."""
    rows = connection.execute(
        'SELECT passage, "values", spans FROM annotations WHERE annotator = ? ORDER BY passage', (annotator,)
    )
    return (_annotation(*row) for row in rows)


def _annotation(passage: int, values: str, spans: str) -> Annotation:
    return Annotation(passage, json.loads(values), tuple(Mention(**span) for span in json.loads(spans)))


def lacking(connection: sqlite3.Connection, annotator: str) -> list[int]:
    """The ids of the passages that an annotator has not looked at, increasing."""
    rows = connection.execute(
        """SELECT id FROM passages LEFT JOIN annotations ON passage = id AND annotator = ?
           WHERE passage IS NULL ORDER BY id""",
        (annotator,),
    )
    return [row[0] for row in rows]


def way_on(annotator: Annotator, index: Path | None = None) -> str:
    """The command that annotates what lacks an annotation, as far as it is known.

    Args:
        index: to be named in it; None where that is done elsewhere.
    """
    command = annotator.made_with.get(COMMAND)
    if not command:
        return "the command that made them"
    return f"{command} --index {quoted(index)}" if index else str(command)
