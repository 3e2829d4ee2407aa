"""What a walk found, against what is stored: what is to be read, and what is gone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from search.corpus import Skipped, SourceFile, walk
from search.corpus.files import Reason
from search.store.layout import own_part
from search.store.settings import Folders, Source, as_text
from search.store.status import FileState

KEPT_WHEN_UNREADABLE = frozenset(
    {
        Reason.PERMISSION_DENIED, Reason.UNREADABLE_FOLDER, Reason.UNREADABLE_FILE, Reason.NEEDS_EXTRA,
        Reason.NOTHING_THERE,
    }
)  # fmt: skip

# Since the walk saw it, a file has become something else, maybe for a moment: what is stored is kept until the
# next walk has looked.
KEPT_UNTIL_SEEN = KEPT_WHEN_UNREADABLE | {Reason.VANISHED, Reason.NOT_REGULAR, Reason.SYMBOLIC_LINK}


@dataclass(frozen=True)
class Plan:
    """The work of one run.

    Attributes:
        changed: files to read, each with the sha256 of the content that is stored for it, None for a
            file that is new or was not finished.
        gone: paths to forget, each with the sha256 of its content where that is stored whole: a new file
            with the same content is the old one under another name.
        unchanged: how many files with documents need nothing.
        away: of several folders those that are gone or without text, though something of them is stored, which stays.
    """

    changed: list[tuple[SourceFile, str | None]]
    gone: dict[str, str | None]
    unchanged: int
    away: tuple[str, ...] = ()


def listed(folder: Path, index: Path, source: Source) -> tuple[list[SourceFile], list[Skipped]]:
    """The files of a folder and what is left out of it; an index that lies inside it is neither."""
    inside = own_part(folder, index)
    found = [
        item
        for item in _walked(folder, source)
        if inside is None or not f"{item.path}/".startswith(f"{inside}/")
    ]
    return (
        [item for item in found if isinstance(item, SourceFile)],
        [item for item in found if isinstance(item, Skipped)],
    )


def _walked(root: Path, source: Source) -> Iterator[SourceFile | Skipped]:
    """What a walk finds; of several folders one after the other, each with its own ignore files.

    One that is gone, a link now, or yields no file, may be a drive that is not there at the moment. So nothing is
    known about what lies beneath it.
    """
    if not source.folders:
        yield from walk(root, include=source.include, exclude=source.exclude)
    for name in source.folders:
        folder, found = root / name, []
        if folder.is_dir() and folder.resolve() == folder:
            found = list(walk(folder, include=source.include, exclude=source.exclude))
        yield from (replace(item, path=f"{name}/{item.path}") for item in found)
        if not any(isinstance(item, SourceFile) for item in found):
            yield Skipped(name, Reason.NOTHING_THERE, is_folder=True)


def compare(
    stored: Mapping[str, FileState],
    files: Sequence[SourceFile],
    skipped: Sequence[Skipped],
    *,
    verify: bool = False,
) -> Plan:
    """Compare with what is stored, by size, time stamp and inode; with `verify`, every file is to be read.

    A stored file is gone when the walk did not find it, unless the walk could not look where it was: what
    cannot be listed or read is kept as it was.
    """
    changed: list[tuple[SourceFile, str | None]] = []
    unchanged = 0
    for file in files:
        before = stored.get(file.path)
        if before is None or before.status == "partial":
            changed.append((file, None))
        elif verify or (before.size, before.mtime_ns, before.inode) != (file.size, file.mtime_ns, file.inode):
            changed.append((file, before.sha256))
        else:
            unchanged += before.status != "skipped"
    here = {file.path for file in files}
    unseen = [skip for skip in skipped if skip.reason in KEPT_WHEN_UNREADABLE]
    blind = {skip.path for skip in unseen}
    dark = tuple(f"{skip.path}/" for skip in unseen if skip.is_folder)
    gone = {
        path: before.sha256 if before.status == "indexed" else None
        for path, before in stored.items()
        if path not in here and path not in blind and not path.startswith(dark)
    }
    away = tuple(
        skip.path
        for skip in skipped
        if skip.reason == Reason.NOTHING_THERE and any(path.startswith(f"{skip.path}/") for path in stored)
    )
    return Plan(changed, gone, unchanged, away)


def nothing_to_index(folders: Folders, reasons: Counter[str], indexed_before: bool) -> str:
    """What to tell somebody whose folders yield no passage. `reasons` counts what was left out."""
    left_out = ", ".join(f"{count} {reason}" for reason, count in sorted(reasons.items()))
    why = f"everything was left out ({left_out})" if reasons else "it is empty"
    message = f"there is no text to index in {as_text(folders.paths)}: {why}."
    if indexed_before:
        return (
            f"{message} The index was left as it is. Is a drive not mounted? Was it moved: seewhy move INDEX FOLDER. "
            "To drop the index: seewhy remove INDEX"
        )
    return (
        f"{message} Name a folder with text, Markdown, reStructuredText, HTML, CSV or JSONL files, or, with "
        "seewhy[documents], PDF and Office files."
    )
