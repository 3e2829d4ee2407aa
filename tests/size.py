"""Count modules and lines of code.

    python tests/size.py [FOLDER]

For each folder under search/ (or FOLDER) modules and lines of code: without blank lines, comments and docstrings. Then,
of all, the mean lines of a function and the mean characters of a line, so that fewer lines are not merely longer ones.
"""

from __future__ import annotations

import ast
import sys
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

SEARCH = Path(__file__).resolve().parent.parent / "search"


@dataclass(frozen=True)
class Size:
    """Counts of a folder.

    Attributes:
        folders: (modules, lines) by folder.
        functions: lines of code of each function, with those of the functions in it.
        widths: characters of each line of code, without what it is indented by.
    """

    folders: dict[str, tuple[int, int]]
    functions: list[int]
    widths: list[int]

    @property
    def modules(self) -> int:
        return sum(modules for modules, _ in self.folders.values())

    @property
    def lines(self) -> int:
        return len(self.widths)


def main() -> None:
    root = Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else SEARCH
    size = measure(root)
    print("| folder | modules | lines of code |\n|---|---|---|")
    for folder, (modules, lines) in size.folders.items():
        print(f"| {folder} | {modules:,} | {lines:,} |")
    print(f"| all | {size.modules:,} | {size.lines:,} |\n")
    function = sum(size.functions) / len(size.functions)
    print(f"{function:.1f} lines a function, {sum(size.widths) / size.lines:.1f} characters a line")


def measure(root: Path) -> Size:
    """All Python files under a folder."""
    folders: dict[str, list[int]] = defaultdict(list)
    functions, widths = [], []
    for path in sorted(root.rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        code, spans = lines_of_code(source)
        folders[path.parent.relative_to(root.parent).as_posix()].append(len(code))
        rows = source.splitlines()
        widths += [len(rows[number - 1].strip()) for number in code]
        functions += [len(code.intersection(lines)) for lines in spans]
    return Size({name: (len(counts), sum(counts)) for name, counts in folders.items()}, functions, widths)


def lines_of_code(source: str) -> tuple[set[int], list[range]]:
    """Numbers of the lines that are neither blank, nor a comment, nor part of a docstring, and the functions' lines."""
    docstrings: set[int] = set()
    strings: set[int] = set()  # a line in a long one may begin with "#"
    functions = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant | ast.JoinedStr) and node.end_lineno != node.lineno:
            strings.update(_lines(node)[1:])
        elif isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            if ast.get_docstring(node, clean=False) is not None:
                docstrings.update(_lines(node.body[0]))
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                functions.append(_lines(node))
    code = {
        number
        for number, row in enumerate(map(str.strip, source.splitlines()), 1)
        if row and number not in docstrings and (number in strings or not row.startswith("#"))
    }
    return code, functions


def _lines(node: ast.expr | ast.stmt) -> range:
    return range(node.lineno, (node.end_lineno or 0) + 1)


if __name__ == "__main__":
    main()
