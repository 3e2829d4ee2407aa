"""The house: which folder may import which, and who may speak to SQLite and FAISS."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import search

ROOT = Path(search.__file__).parent

# Each may import those before it; the public names at the top import what they show when they are first used.
ORDER = (
    "errors", "files", "records", "statistics", "corpus", "encoding", "store", "indexing", "ranking", "explaining",
    "bert", "annotating", "texts", "index", "evaluating", "training", "render", "cli",
)  # fmt: skip
MODULES = [path for path in ROOT.rglob("*.py") if path.parent != ROOT or not path.stem.startswith("__")]


def part_of(path: Path) -> str:
    return path.relative_to(ROOT).with_suffix("").parts[0]


def imported(path: Path) -> Iterator[tuple[str, bool]]:
    """The modules that a module imports, and whether only for the sake of types."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for_types = {
        id(node)
        for block in ast.walk(tree)
        if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING"
        for node in ast.walk(block)
    }
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        for name in names:
            yield name, id(node) in for_types


def test_every_part_has_its_place() -> None:
    assert {part_of(path) for path in MODULES} == set(ORDER)


@pytest.mark.parametrize("part", ORDER)
def test_imports_go_one_way(part: str) -> None:
    wrong = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in MODULES
        if part_of(path) == part
        for name, for_types in imported(path)
        if name.startswith("search.") and not for_types and name.split(".")[1] in ORDER
        if ORDER.index(name.split(".")[1]) > ORDER.index(part)
    ]
    assert wrong == []


def test_only_the_store_knows_sqlite_and_faiss() -> None:
    wrong = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in MODULES
        if part_of(path) != "store"
        for name, _ in imported(path)
        if name.split(".")[0] in ("sqlite3", "sqlite_utils", "faiss")
    ]
    assert wrong == []


def test_only_the_store_speaks_sql() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}, line {node.lineno}"
        for path in MODULES
        if part_of(path) != "store"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
        if isinstance(node.func, ast.Attribute)
        and node.func.attr in ("execute", "executemany", "executescript")
    ]
    assert wrong == []
