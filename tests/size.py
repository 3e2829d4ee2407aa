"""How large the code is: modules and lines of code, without blank lines, comments and docstrings.

python tests/size.py [FOLDER]     FOLDER: search, if none is given
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from collections import Counter
from pathlib import Path

_NO_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}
_WITH_DOCSTRING = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def lines_of_code(source: str) -> int:
    """Lines on which a token stands that is neither a comment nor part of a docstring."""
    docstrings: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, _WITH_DOCSTRING) and ast.get_docstring(node, clean=False) is not None:
            docstrings.update(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in _NO_CODE:
            lines.update(range(token.start[0], token.end[0] + 1))
    text = source.split("\n")
    return sum(bool(text[line - 1].strip()) for line in lines - docstrings)


def main() -> None:
    root = Path(sys.argv[1] if len(sys.argv) > 1 else "search")
    modules: Counter[Path] = Counter()
    lines: Counter[Path] = Counter()
    for path in sorted(root.rglob("*.py")):
        modules[path.parent] += 1
        lines[path.parent] += lines_of_code(path.read_text(encoding="utf-8"))
    for folder in modules:
        print(f"{folder!s:32} {modules[folder]:4} modules {lines[folder]:7,} lines")
    print(f"{'together':32} {modules.total():4} modules {lines.total():7,} lines")


if __name__ == "__main__":
    main()
