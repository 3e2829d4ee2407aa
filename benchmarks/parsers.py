"""What does a file of the worst text cost, format by format: seconds and memory?

    python benchmarks/parsers.py [--size 5] [--only html md] [--texts items] [--no-cut] [--folder] [--any]

Each text is made to be hard on what reads it: brackets that never close, lists in lists, a million headings. A process
of its own reads the file and cuts it into passages, as `seewhy index` does; what it takes, and the child process that
it may ask, must stay below 60 seconds of the processor and 600 MB each for 5 MB. The program ends with exit code 1
where it does not.

With --folder all of them lie in one folder, which is indexed, with a stand-in for the encoder.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from machine import headline

from search.records.reports import Report

MOST_SECONDS, MOST_BYTES = 60.0, 600 * 10**6
GIVEN_UP = 300.0  # seconds after which a measurement ends
MEMORY = 4 * 2**30  # what a measurement may take of the machine

Make = Callable[[int], str]


def run(unit: str, before: str = "", after: str = "") -> Make:
    """The same again and again."""
    return lambda size: before + unit * (size // len(unit.encode())) + after


def nested(opening: str, closing: str = "", before: str = "") -> Make:
    """One within the other, as often as there is room."""

    def make(size: int) -> str:
        depth = size // len(opening + closing)
        return before + opening * depth + "a" + closing * depth

    return make


def numbered(pattern: str, before: str = "", after: str = "") -> Make:
    """The same again and again, with another number each time."""
    return lambda size: before + "".join(pattern % n for n in range(size // (len(pattern) + 4))) + after


def deeper(line: str, before: str = "") -> Make:
    """Each line further in than the one above it, and from the beginning where it is as deep as a hundred."""

    def make(size: int) -> str:
        lines = size // (len(line) + 100)
        return before + "".join(f"{'  ' * (n % 100)}{line}" for n in range(lines))

    return make


def one_heading(sub: str, mark: str = "# ") -> Make:
    """A long heading above many short ones."""
    return lambda size: mark + "long " * (size // 10) + "\n\n" + sub * (size // 2 // len(sub))


HTML: dict[str, Make] = {
    "brackets": run("<"),
    "nested blocks": nested("<div>", "</div>"),
    "unclosed blocks": nested("<div>"),
    "formatting": run("<b><p>"),
    "links": run("<a><p>"),
    "other attributes": numbered("<b a=%d>"),
    "other tags": numbered("<x%d>"),
    "tables": run("<table><tr><td>"),
    "text in tables": run("<table>a"),
    "rows": run("<tr><td>a", "<table>"),
    "equal attributes": run("a=b ", "<p "),
    "attributes": numbered("a%d=b ", "<p "),
    "entities": run("&amp;"),
    "no entities": run("&notit"),
    "numbers": run("&#65"),
    "headings": run("<h1>a</h1>"),
    "nested headings": nested("<h1>"),
    "items": run("<li>a"),
    "nested lists": nested("<ul><li>"),
    "comments": run("<!-- -- "),
    "sections of data": run("<![CDATA["),
    "instructions": run("<?"),
    "scripts": run("<script><!--"),
    "options": run("<select><option>"),
    "drawings": nested("<svg><desc>"),
    "formulas": nested("<math><mi>"),
    "templates": nested("<template>"),
    "paragraphs": run("<p>a"),
    "end tags": run("</p>"),
    "end tags of none": run("</x>"),
    "breaks": run("<br>a"),
    "words": run("a "),
    "lines": run("\n", "<pre>", "a"),
    "a long title": run("a ", "<title>", "</title><h1>a</h1>b" + "<h2>c</h2>d" * 1000),
}
MARKDOWN: dict[str, Make] = {
    "rows without a table": run("|a|b|\n"),
    "rows": run("|a|b|\n", "|a|b|\n|-|-|\n"),
    "cells": run("|a", "", "\n|-\n"),
    "items": run("- a\n"),
    "numbered items": run("1. a\n"),
    "nested lists": nested("- "),
    "deeper lists": deeper("- a\n"),
    "headings": run("# a\n"),
    "underlined headings": run("a\n=\n\n"),
    "headings and lines": run("# a\nb\n"),
    "emphasis": run("*a_ ", "# "),
    "strong": run("**a", "# "),
    "brackets": run("[", "# "),
    "links": run("[a](", "# "),
    "pictures": run("![", "# "),
    "pointed": run("<", "# "),
    "backticks": lambda size: "# " + "".join("`" * (n % 999 + 1) + " " for n in range(size // 500)),
    "entities": run("&amp;", "# "),
    "one heading": one_heading("## a\n"),
    "quotes": nested(">"),
    "quoted lines": run("> a\n"),
    "quoted lists": run("> - > - a\n"),
    "references": numbered("[a%d]: b\n"),
    "equal references": run("[a]: b\n"),
    "half references": run("[a]:\n"),
    "fences": run("```\n"),
    "code": run("    a\n"),
    "blocks of HTML": run("<div>\n\n"),
    "comments": run("<!--\n"),
    "rules": run("* * *\n"),
    "lines": run("a\n"),
    "tabs": run("\t"),
    "front matter": numbered("a%d: b\n", "---\n", "---\na"),
    "a list in front": run("[", "---\na: ", "\n---\na"),
    "dashes in front": run("- ", "---\n", "a\n---\na"),
    "merges": lambda size: f"---\n{_merges(min(size // 40, 40))}\n---\na",
    "aliases": run("*a, ", "---\na: &a [b]\nb: [", "*a]\n---\na"),
    "TOML": run("a.", "+++\n", "a=1\n+++\na"),
    "TOML tables": numbered("[a.b%d]\n", "+++\n", "+++\na"),
}
RST: dict[str, Make] = {
    "titles": run("a\n=\n\n"),
    "deep titles": lambda size: "".join(f"a\n{'=-~^'[n % 4]}\n\n" for n in range(size // 5)),
    "emphasis": run("*a "),
    "strong": run("**a "),
    "roles": run(":a:`b` "),
    "references": run("a_ "),
    "quoted references": run("`a`_ "),
    "substitutions": run("|a| "),
    "footnotes": run("[1]_ "),
    "backticks": run("`"),
    "stars": run("*"),
    "one long line": run("a"),
    "items": run("- a\n"),
    "nested lists": nested("- "),
    "deeper lists": deeper("- a\n\n"),
    "numbered items": run("#. a\n"),
    "definitions": run("a\n  b\n"),
    "fields": run(":a: b\n", "a\n\n"),
    "options": run("-a  b\n"),
    "header": numbered("a%d: b\n"),
    "equal header": run("a: b\n"),
    "a long header": run(" b\n", "a: b\nb: c\n"),
    "grids": run("+-+\n|a|\n+-+\n\n"),
    "one grid": run("|a|\n+-+\n", "+-+\n"),
    "tables": run("= =\na b\n= =\n\n"),
    "one table": run("a b\n", "= =\n", "= =\n"),
    "directives": run(".. note:: a\n\n"),
    "nested directives": deeper(".. note::\n\n"),
    "definitions of substitutions": numbered(".. |a%d| replace:: b\n"),
    "targets": numbered(".. _a%d:\n"),
    "equal targets": run(".. _a:\n\n"),
    "notes": run(".. [#] a\n"),
    "comments": run(".. a\n\n"),
    "code": run(".. code:: python\n\n  a = 1\n\n"),
    "CSV": run("  a,b\n", ".. csv-table::\n\n"),
    "line blocks": run("| a\n"),
    "quotes": deeper("a\n\n"),
    "literal": run("a::\n\n  b\n\n"),
    "sessions": run(">>> a\n\n"),
    "rules": run("----\n\n"),
}
CSV: dict[str, Make] = {
    "quotes": run('"'),
    "lines of quotes": run('"\n'),
    "stray quotes": run('a"b,"' + "c" * 5000 + "\n", "x,text\n", 'a"b'),
    "rows": run("a\n"),
    "rows without text": run("a,\n", "title,text\n"),
    "empty rows": run(",\n"),
    "delimiters": run(","),
    "wide rows": run("a," * 9_999 + "\n"),
    "surplus cells": run("ab," * 9_999 + "\n", "text,a\n"),
    "one cell": run("a"),
}
JSONL: dict[str, Make] = {
    "nested lists": nested("[", "]"),
    "unclosed lists": nested("["),
    "nested objects": nested('{"a":', "}"),
    "deep enough": run('{"a":' + "[" * 900 + "]" * 900 + "}\n"),
    "empty lists": run("[]\n"),
    "empty strings": run('""\n'),
    "texts": run('{"text":"a"}\n'),
    "keys": lambda size: "{" + ",".join(f'"a{n}":0' for n in range(size // 12)) + "}\n" + "{}\n" * 99,
    "halves of characters": run("\\ud800", '{"text":"', '"}'),
    "numbers": run("1", '{"text":"a","b":', "}"),
    "many values": run("[],", '{"text":"a","b":[', "0]}"),
}
TEXT: dict[str, Make] = {
    "one long word": run("a"),
    "words": run("a "),
    "lines": run("a\n"),
    "returns": run("a\r"),
    "empty lines": run("\n", "a", "a"),
    "spaces": run(" ", "a", "a"),
    "marks": run("!"),
    "sentences": run("a. "),
    "joined by nothing": run("a\u200b"),
    "accents": run("\u0301", "a"),
    "accented": run("a\u0301"),
    "both directions": run("\u202ea\u202c"),
    "families": run("\U0001f468\u200d"),
    "flags": run("\U0001f1e6"),
    "ideographs": run("字"),
    "one character for many": run("\ufdfa"),
    "unassigned": run("\U000e1000"),
    "form feeds": run("a\f"),
    "escapes": run("a\x1b(B"),
}
WORST = {"html": HTML, "md": MARKDOWN, "rst": RST, "csv": CSV, "jsonl": JSONL, "txt": TEXT}


def _merges(levels: int) -> str:
    """YAML's "<<", each level with twice as much in it as the one before."""
    lines = ["a0: &a0 {k: v}"]
    lines += [f"a{n}: &a{n} {{<<: [*a{n - 1}, *a{n - 1}]}}" for n in range(1, levels)]
    return "\n".join(lines)


def texts(size: int, suffixes: list[str], wanted: Sequence[str] = ()) -> Iterator[tuple[str, str, bytes]]:
    """Suffix, name and bytes of every worst text of about so many bytes, or of those wanted."""
    for suffix in suffixes:
        for name, make in WORST[suffix].items():
            if not wanted or name in wanted:
                yield suffix, name, make(size).encode()
    if "txt" in suffixes and not wanted:
        yield "txt", "an older encoding", b"caf\xe9 " * (size // 5)
        yield "txt", "two bytes", "ab ".encode("utf-16-le") * (size // 6)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", type=float, default=5, help="MB of each file")
    parser.add_argument("--only", nargs="*", default=list(WORST), choices=WORST, help="formats")
    parser.add_argument("--texts", nargs="*", default=(), help="only those of these names")
    parser.add_argument("--no-cut", action="store_true", help="read alone")
    parser.add_argument("--folder", action="store_true", help="index a folder of them")
    parser.add_argument("--any", action="store_true", help="going over the bounds is no failure")
    parser.add_argument("--one", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        print(json.dumps(cost(args.one, cut=not args.no_cut)))
        return
    print(headline("justhtml", "markdown-it-py", "semantic-text-splitter", "tokenizers"))
    made = texts(round(args.size * 10**6), args.only, args.texts)
    with tempfile.TemporaryDirectory() as place:
        over = indexed(Path(place), made) if args.folder else table(Path(place), made, args.no_cut)
    if over and not args.any:
        sys.exit(f"over {MOST_SECONDS:.0f} s or {MOST_BYTES / 1e6:.0f} MB: {', '.join(over)}")


def table(place: Path, made: Iterator[tuple[str, str, bytes]], no_cut: bool) -> list[str]:
    """Print what each costs; returns those that cost too much."""
    print("\n| format | text | MB | seconds to read | to cut | MB of memory | of the child | passages | |")
    print("|---|---|---|---|---|---|---|---|---|", flush=True)
    over = []
    for suffix, name, raw in made:
        file = place / f"a.{suffix}"
        file.write_bytes(raw)
        found = measured(file, *(["--no-cut"] if no_cut else []))
        told = [f"{found[key]:.1f}" for key in ("reading", "cutting")]
        told += [f"{found[key] / 1e6:.0f}" for key in ("memory", "child")]
        cells = [suffix, name, f"{len(raw) / 1e6:.1f}", *told, f"{found['passages']:,}", found["said"]]
        print(f"| {' | '.join(cells)} |", flush=True)
        if found["reading"] > MOST_SECONDS or max(found["memory"], found["child"]) > MOST_BYTES:
            over.append(f"{suffix}: {name}")
    return over


def measured(file: Path, *options: str) -> dict[str, Any]:
    """What `cost` says of a file, in a process of its own; as much as there is if that did not end well."""
    command = [sys.executable, __file__, "--one", str(file), *options]
    said = "no end"
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=GIVEN_UP, encoding="utf-8")
        if done.returncode == 0:
            return json.loads(done.stdout)
        said = (done.stderr.strip().splitlines() or [f"ended with {done.returncode}"])[-1]
    except subprocess.TimeoutExpired:
        pass
    times = {"reading": GIVEN_UP, "cutting": GIVEN_UP}
    return {**times, "memory": MEMORY, "child": MEMORY, "passages": 0, "said": said}


def cost(file: Path, *, cut: bool) -> dict[str, Any]:
    """Seconds, peak memory of this process and its child, and what came of the file."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    from search.corpus import Cutter, Skipped, SourceFile, documents, load
    from search.corpus.reader import own_reader
    from search.encoding.models import DEFAULT_MODEL, find_model
    from search.encoding.tokenizer import load_tokenizer
    from search.errors import ReadError

    folder = find_model(DEFAULT_MODEL, offline=True).folder
    cutter = Cutter(load_tokenizer(folder, DEFAULT_MODEL), max_tokens=256)
    status = file.stat()
    source = SourceFile(file.name, file, status.st_size, status.st_mtime_ns, status.st_ino)
    reading = cutting = 0.0
    passages, said = 0, list[str]()
    started = spent()
    try:
        for item in documents(source, load(source)):
            reading += spent() - started
            started = spent()
            if isinstance(item, Skipped):
                said.append(f"{item.reason}: {item.detail}")
            elif cut:
                passages += len(cutter.cut(item))
            cutting += spent() - started
            started = spent()
    except ReadError as error:
        said.append(f"{error.reason}: {error.detail}")
    own_reader().close()
    reading += spent() - started
    return {
        "reading": reading,
        "cutting": cutting,
        "memory": peak(),
        "child": peak_of_children(),
        "passages": passages,
        "said": f"{len(said):,} skipped, {said[-1][:80]}" if said else "",
    }


def spent() -> float:
    """Seconds of the processor, in this process and in children that have ended."""
    return sum(os.times()[:4])


def peak() -> int:
    """Bytes of memory that this process ever had."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def peak_of_children() -> int:
    """The most bytes of memory that a process had which this one started, and which has ended."""
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024


def indexed(place: Path, made: Iterator[tuple[str, str, bytes]]) -> list[str]:
    """Index a folder of them all, twice; returns the files that were not reached."""
    from search.store.database import reading
    from search.store.layout import DATABASE
    from search.store.status import stored_files

    os.environ["SEEWHY_HOME"] = str(place / "home")
    folder = place / "files"
    folder.mkdir()
    for suffix, name, raw in made:
        (folder / f"{name.replace(' ', '-')}.{suffix}").write_bytes(raw)
    first, again = (update_of(folder, place / "index") for _ in range(2))
    for report in (first, again):
        left_out = ", ".join(f"{group.count:,} {group.reason}" for group in report.skipped)
        changed = f"{report.added} files added, {report.unchanged} unchanged"
        print(f"{changed}, {report.passages:,} passages in {report.seconds:.0f} s; {left_out}")
    print(
        f"at most {peak() / 1e6:.0f} MB in the process that indexes, {peak_of_children() / 1e6:.0f} in its children"
    )
    with reading(place / "index" / DATABASE) as connection:
        known = stored_files(connection)
    return [file.name for file in folder.iterdir() if file.name not in known]


def update_of(folder: Path, index: Path) -> Report:
    """A run of indexing with a stand-in for the encoder."""
    from search.indexing.update import update
    from search.store.settings import PassageSettings, Source
    from tests.faults.double import WordEncoder

    return update(folder, index, WordEncoder(), settings=PassageSettings(), source=Source())


if __name__ == "__main__":
    main()
