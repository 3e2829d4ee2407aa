"""What do files cost that are made to take long, to need much memory, or to grow in the index?

    python benchmarks/hostile.py [--full] [--patterns] [--honest FOLDER ...]

Makes a folder of files that repeat one token of their format, and of hostile files (bombs, loops, floods, deep
nesting), and indexes it with a predictable encoder, so that reading, cutting and storing are measured. Small without
--full. Names every file that was left out, and exits with 1 if a file is neither in the index nor among those, or if
all took more than 120 s of processor time, children included.

--patterns parses each token of each format at two sizes instead, and names those that are not linear.
--honest reads folders instead, and prints how much their files give for each byte.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from machine import headline

from search.corpus import Skipped, SourceFile, documents, load, walk
from search.errors import ReadError
from search.indexing.read import PASSAGES_IN_A_BATCH
from search.records.documents import ParsedDocument
from search.store.database import connect_to_read
from search.store.file_states import skipped_when_read, stored_files
from search.store.files import DATABASE
from search.store.settings import PassageSettings
from tests.faults import hostile, oracle

MOST_SECONDS = 120
PATTERNS_OF_A_FORMAT = 6


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--full", action="store_true", help="files that break limits")
    parser.add_argument("--patterns", action="store_true", help="parse each token at two sizes instead")
    parser.add_argument("--honest", nargs="+", type=Path, metavar="FOLDER", help="read these instead")
    args = parser.parse_args()
    print(headline("justhtml", "markdown-it-py", "semantic-text-splitter"))
    if args.honest:
        print_growth(args.honest)
    elif args.patterns:
        sys.exit(not all_linear(100_000 if args.full else 2_000, everything=args.full))
    else:
        with tempfile.TemporaryDirectory() as place:
            sys.exit(not indexed(Path(place), args.full))


def indexed(place: Path, is_full: bool) -> bool:
    """Index a folder of hostile files; return True if none is missing, and the time is within the limit."""
    folder, index = place / "folder", place / "index"
    folder.mkdir()
    n_patterns = write(folder, dict(patterns(60_000 if is_full else 2_000)))
    n_files = write(folder, dict(hostile.files(1.0 if is_full else 0.0001)))
    n_bytes = sum(path.stat().st_size for path in folder.iterdir())
    before, started = processor_seconds(), time.monotonic()
    report = oracle.run(folder, index, batch=PASSAGES_IN_A_BATCH, settings=PassageSettings())
    seconds, elapsed = processor_seconds() - before, time.monotonic() - started
    with closing(connect_to_read(index / DATABASE)) as connection:
        states = {path: state.status for path, state in stored_files(connection).items()}
        skipped = sorted(
            (skip.path, skip.reason, skip.detail) for _, skip in skipped_when_read(connection)
        )
    skipped += [
        (skip.path, skip.reason, skip.detail) for skip in walk(folder) if isinstance(skip, Skipped)
    ]
    named = {path.partition("#")[0] for path, _, _ in skipped}
    missing = {path.name for path in folder.iterdir()} - named
    missing -= {path for path, status in states.items() if status == "indexed"}
    size = sum(path.stat().st_size for path in index.rglob("*") if path.is_file())
    print(
        f"{n_patterns} files of one token and {n_files} hostile files, {n_bytes / 1e6:.1f} MB: "
        f"{seconds:.1f} s of processor time, {elapsed:.1f} s; "
        f"{report.passages:,} passages, index of {size / 1e6:.1f} MB"
    )
    for reason, number in Counter(reason for _, reason, _ in skipped).most_common():
        print(f"{number:5} {reason}")
    first = {path.partition("#")[0]: (path, reason, detail) for path, reason, detail in reversed(skipped)}
    for path, reason, detail in first.values():
        print(f"  {path}: {reason}" + (f" ({detail[:100]})" if detail else ""))
    for path in sorted(missing):
        print(f"  {path}: MISSING")
    return not missing and seconds <= MOST_SECONDS


def patterns(n_bytes: int) -> Iterator[tuple[str, bytes]]:
    """Files of some patterns of each format."""
    for name in hostile.FORMATS:
        own = list(hostile.patterns(name))
        for number, pattern in enumerate(own[:: max(1, len(own) // PATTERNS_OF_A_FORMAT)]):
            yield f"pattern{number}-{name}", pattern.content(n_bytes)


def write(folder: Path, contents: dict[str, bytes]) -> int:
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    return len(contents)


def processor_seconds() -> float:
    """Of this process, and of its children that have ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def all_linear(n_bytes: int, *, everything: bool) -> bool:
    """Parse each pattern; print those that take more than 2.5 times as long for twice the bytes."""
    number, slowest, failures = 0, (0.0, ""), 0
    for pattern in (
        each for name in hostile.FORMATS for each in hostile.patterns(name, everything=everything)
    ):
        number += 1
        large = hostile.parse_seconds(pattern, n_bytes)
        slowest = max(slowest, (large, f"{pattern.name} {pattern.head!r} {pattern.token!r}"))
        if large > hostile.FLOOR:
            small = min(hostile.parse_seconds(pattern, n_bytes // 2) for _ in range(3))
            large = min(large, hostile.parse_seconds(pattern, n_bytes))
            if large > hostile.MOST_GROWTH * small:
                failures += 1
                print(f"  {pattern}: {small:.2f} s, {large:.2f} s", flush=True)
    print(
        f"{number} patterns of {n_bytes:,} bytes: {failures} not linear; slowest {slowest[0]:.2f} s, {slowest[1]}"
    )
    return not failures


def print_growth(folders: list[Path]) -> None:
    print("| folder | files | MB | most characters per byte | file |")
    print("|---|---|---|---|---|")
    for folder in folders:
        files = [item for item in walk(folder) if isinstance(item, SourceFile)]
        most = max((characters(file) / max(file.size, 1), file.path) for file in files)
        size = sum(file.size for file in files) / 1e6
        print(f"| {folder.name} | {len(files):,} | {size:.1f} | {most[0]:.1f} | {most[1]} |", flush=True)


def characters(file: SourceFile) -> int:
    """Characters of the documents of a file, as the limit counts them."""
    total = 0
    try:
        for item in documents(file, load(file)):
            if isinstance(item, ParsedDocument):
                total += len(item.text) + len(item.title) + len(str([*item.metadata.values()]))
    except ReadError:
        pass
    return total


if __name__ == "__main__":
    main()
