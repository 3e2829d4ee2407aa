"""What does an agent spend until it has read the lines that answer: by the tools of MCP, or by grep and reading?

    python benchmarks/agent.py FOLDER QUESTIONS.json [--index PATH] [--most 100000]

QUESTIONS: `[{"query": "...", "kind": "...", "answers": [{"path": "a.md", "says": "..."}, ...]}, ...]`, as in
benchmarks/spoken/peps-lines.json: `says` is in one line of the file, and a question is answered once one of its lines
has been read. Without a language model, by fixed strategies; each call costs what is asked and what comes back, four
characters a token.

search  `search` with the question: the sentences that it shows are read. Then `search` in each of the documents that it
        named, in order, with the question and `path:`, twice 10 hits; then the next hits.
files   `rg -i -w` for the words of the question that are no stop words: a list of 20 files, most different words first,
        then most lines. Each is read from its beginning, 200 lines a call; then the next 20 files.
lines   The same list; for each file `rg -n -i -w`, of which 100 lines are shown, then its 200 lines with most different
        words, then most lines, and two more such parts; then the next file. No line that rg shows counts as read.

Who has spent `--most` tokens gives up. A row for each question: tokens and calls; then medians, in which giving up is
more than anything else.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from machine import headline
from pydantic import BaseModel

from search import Index
from search.serving.app_state import AppState
from search.serving.mcp.answers import SearchAnswer, written
from search.serving.mcp.tools import search

CHARACTERS = 4  # a token
LISTED, SHOWN, READ, PARTS = 20, 100, 200, 3  # files, lines, lines, parts of a file
INSIDE, PAGES = 10, 2  # hits in one document, and calls for them
STOP = frozenset(
    """a about all an and any are as at be because been before but by called can could did do does doing down for from
    get had has have how i if in into is it its just like made make many may me more most much must my need no nobody
    not now of off on once one only or other our out over own same say should since so some somebody such take than
    that the their them then there these they thing things this those to too under until up us use used very want was
    way we what when where which while who whose why will with without would write wrote you your""".split()
)


@dataclass(frozen=True)
class Question:
    query: str
    kind: str
    answers: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Call:
    """What was asked and came back, in characters, and what was read by it."""

    characters: int
    path: str = ""
    text: str = ""
    is_new: bool = True  # False for a further part of an answer


@dataclass(frozen=True)
class Spent:
    """Infinite where it was given up."""

    tokens: float
    calls: float

    def __str__(self) -> str:
        return "gave up" if self.tokens == float("inf") else f"{self.tokens:,} ({self.calls})"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("questions", type=Path)
    parser.add_argument("--index", type=Path, default=None)
    parser.add_argument("--most", type=int, default=100_000, help="tokens")
    args = parser.parse_args()
    print(headline("openvino", "mcp") + "\n")
    questions = [
        Question(
            one["query"],
            one["kind"],
            tuple((answer["path"], answer["says"]) for answer in one["answers"]),
        )
        for one in json.loads(args.questions.read_text(encoding="utf-8"))
    ]
    with tempfile.TemporaryDirectory() as place:
        index = args.index or Path(place) / "index"
        if not index.exists():
            Index.build(args.folder, index=str(index), offline=True)
        served, files = AppState.open([index], offline=True), Files(args.folder)
        strategies: dict[str, Callable[[str], Iterator[Call]]] = {
            "search": lambda query: by_search(served, query),
            "files": files.by_files,
            "lines": files.by_lines,
        }
        rows = [
            (
                question,
                [spent(question, calls(question.query), args.most) for calls in strategies.values()],
            )
            for question in questions
        ]
    show(list(strategies), rows)


def spent(question: Question, calls: Iterator[Call], most: int) -> Spent:
    """What the calls cost up to the one that reads an answer."""
    characters = number = 0
    for call in calls:
        number += call.is_new
        characters += call.characters
        if characters > most * CHARACTERS:
            break
        if any(call.path == path and says in call.text for path, says in question.answers):
            return Spent(-(-characters // CHARACTERS), number)
    return Spent(float("inf"), float("inf"))


def by_search(served: AppState, query: str) -> Iterator[Call]:
    documents: dict[str, None] = {}
    more: str | None = None
    while True:
        answer = search(served, query, next=more)
        asks: dict[str, Any] = {"query": query, "next": more} if more else {"query": query}
        yield from reading(asks, answer)
        new = [document for document in documents_of(answer) if document not in documents]
        documents |= dict.fromkeys(new)
        for document in new:
            text = f'path:"{document}" {query}'
            further: str | None = None
            for _ in range(PAGES):
                inside = search(served, text, k=INSIDE, next=further, max_tokens=2_000)
                asks = {"query": text, "k": INSIDE, "max_tokens": 2_000, "next": further or ""}
                yield from reading(asks, inside)
                further = inside.next
                if not further:
                    break
        more = answer.next
        if not more:
            return


def reading(asks: dict[str, Any], answer: SearchAnswer) -> Iterator[Call]:
    """The call, whose cost counts once, and what each of its results shows."""
    characters = cost(asks, answer)
    for result in answer.results:
        yield Call(characters, result.place.rpartition(":")[0], result.text, is_new=bool(characters))
        characters = 0
    if not answer.results:
        yield Call(characters)


def documents_of(answer: SearchAnswer) -> list[str]:
    return list(dict.fromkeys(result.place.rpartition(":")[0] for result in answer.results))


def cost(asks: dict[str, Any], answer: BaseModel) -> int:
    return len(json.dumps(asks, ensure_ascii=False)) + len(written(answer))


class Files:
    """The files of a folder, as grep sees them."""

    def __init__(self, folder: Path) -> None:
        self.lines = {
            path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8", errors="replace").split(
                "\n"
            )
            for path in sorted(folder.rglob("*"))
            if path.is_file()
        }
        self.lowered = {path: "\n".join(lines).lower() for path, lines in self.lines.items()}

    def by_files(self, query: str) -> Iterator[Call]:
        for path, call in self._listed(self._matches(query), query):
            yield from call
            for start in range(0, len(self.lines[path]), READ):
                yield self._read(path, start)

    def by_lines(self, query: str) -> Iterator[Call]:
        matches = self._matches(query)
        for path, call in self._listed(matches, query):
            yield from call
            matched = matches[path]
            shown = [f"{at + 1}:{self.lines[path][at]}" for at in sorted(matched)[:SHOWN]]
            yield Call(len(f"rg -n -i -w {'|'.join(keywords(query))} {path}") + len("\n".join(shown)))
            parts: dict[int, list[set[str]]] = {}
            for at, words in matched.items():
                parts.setdefault(at // READ, []).append(words)
            best = sorted(parts, key=lambda part: (*telling(parts[part]), part))
            yield from (self._read(path, part * READ) for part in best[:PARTS])

    def _matches(self, query: str) -> dict[str, dict[int, set[str]]]:
        """File -> line, counted from 0 -> the words in it; of files with any."""
        patterns = {word: re.compile(rf"(?<!\w){re.escape(word)}(?!\w)") for word in keywords(query)}
        found: dict[str, dict[int, set[str]]] = {}
        for path, text in self.lowered.items():
            for word, pattern in patterns.items():
                if word in text:
                    for at, line in enumerate(text.split("\n")):
                        if word in line and pattern.search(line):
                            found.setdefault(path, {}).setdefault(at, set()).add(word)
        return found

    def _listed(
        self, matches: dict[str, dict[int, set[str]]], query: str
    ) -> Iterator[tuple[str, list[Call]]]:
        """The files, best first, each with the call that has to be made before it is known."""
        order = sorted(matches, key=lambda path: (*telling(list(matches[path].values())), path))
        for at, path in enumerate(order):
            names = [f"{name}:{len(matches[name])}" for name in order[at : at + LISTED]]
            asks = f"rg -c -i -w {'|'.join(keywords(query))}"
            yield path, [Call(len(asks) + len("\n".join(names)))] if at % LISTED == 0 else []

    def _read(self, path: str, start: int) -> Call:
        lines = self.lines[path][start : start + READ]
        shown = "\n".join(f"{number}\t{line}" for number, line in enumerate(lines, start + 1))
        return Call(len(f"read {path} {start + 1} {READ}") + len(shown), path, shown)


def keywords(query: str) -> list[str]:
    words = (word.strip(".-") for word in re.findall(r"[\w.-]+", query.lower()))
    return list(dict.fromkeys(word for word in words if len(word) > 1 and word not in STOP))


def telling(words: Sequence[set[str]]) -> tuple[int, int]:
    """To sort by: how many different words there are, then how many lines have some; most first."""
    return -len(set().union(*words)), -len(words)


def show(names: Sequence[str], rows: Sequence[tuple[Question, Sequence[Spent]]]) -> None:
    print(f"| question | {' | '.join(names)} |\n|---|{'--:|' * len(names)}")
    for question, ways in rows:
        print(f"| {question.query} | {' | '.join(map(str, ways))} |")
    kinds = list(dict.fromkeys(question.kind for question, _ in rows))
    for kind in [*kinds, "all"]:
        chosen = [ways for question, ways in rows if kind in (question.kind, "all")]
        columns = list(zip(*chosen, strict=True))
        print(f"\n{kind}, {len(chosen)} questions\n")
        print(f"| | {' | '.join(names)} |\n|---|{'--:|' * len(names)}")
        print(row("answered", [sum(one.tokens < float("inf") for one in column) for column in columns]))
        print(
            row("tokens, median", [statistics.median(one.tokens for one in column) for column in columns])
        )
        print(
            row("calls, median", [statistics.median(one.calls for one in column) for column in columns])
        )
        fewest = [
            sum(ways[at].tokens == min(one.tokens for one in ways) < float("inf") for ways in chosen)
            for at in range(len(names))
        ]
        print(row("fewest tokens", fewest))


def row(name: str, values: Sequence[float]) -> str:
    return f"| {name} | {' | '.join(f'{value:,.0f}' for value in values)} |"


if __name__ == "__main__":
    main()
