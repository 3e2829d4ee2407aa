"""How large is the code?

    python tests/size.py [FOLDER]

For each folder under search/ (or FOLDER) modules and lines of code: without blank lines, comments and docstrings. Then,
of all, the mean lines of a function and the mean characters of a line, so that fewer lines are not merely longer ones.
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SEARCH = Path(__file__).resolve().parent.parent / "search"
_NO_CODE = (
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
)


@dataclass(frozen=True)
class Size:
    """What was counted.

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
    size = measured(root)
    print("| folder | modules | lines of code |\n|---|---|---|")
    for folder, (modules, lines) in size.folders.items():
        print(f"| {folder} | {modules:,} | {lines:,} |")
    print(f"| all | {size.modules:,} | {size.lines:,} |\n")
    function = sum(size.functions) / len(size.functions)
    print(f"{function:.1f} lines a function, {sum(size.widths) / size.lines:.1f} characters a line")


def measured(root: Path) -> Size:
    """All Python files under a folder."""
    folders: dict[str, list[int]] = defaultdict(list)
    functions, widths = [], []
    for path in sorted(root.rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        tree = ast.parse(source)
        code = lines_of_code(source)
        folders[path.parent.relative_to(root.parent).as_posix()].append(len(code))
        rows = source.splitlines()
        widths += [len(rows[number - 1].strip()) for number in code]
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                functions.append(len(code.intersection(range(node.lineno, (node.end_lineno or 0) + 1))))
    return Size({name: (len(each), sum(each)) for name, each in folders.items()}, functions, widths)


def lines_of_code(source: str) -> set[int]:
    """Numbers of the lines on which a token stands that is neither a comment nor part of a docstring."""
    rows = source.splitlines()
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in _NO_CODE:
            lines.update(range(token.start[0], token.end[0] + 1))
    return {
        number for number in lines.difference(_docstrings(ast.parse(source))) if rows[number - 1].strip()
    }


def _docstrings(tree: ast.Module) -> Iterator[int]:
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
            and ast.get_docstring(node, clean=False) is not None
        ):
            yield from range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1)


if __name__ == "__main__":
    main()
