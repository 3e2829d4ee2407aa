"""The house: which folder may import which, and who may speak to SQLite and FAISS."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import search

ROOT = Path(search.__file__).parent

# Each may import those before it. `search/__init__` imports lazily.
ORDER = (
    "errors", "files", "records", "statistics", "corpus", "encoding", "store", "indexing", "ranking", "explaining",
    "bert", "annotating", "texts", "index", "indexes", "evaluating", "training", "render", "serving", "cli",
    "integrations",
)  # fmt: skip
SQL = re.compile(
    r"\b(SELECT .+ FROM|INSERT INTO|DELETE FROM|UPDATE \w+ SET|CREATE TABLE|PRAGMA)\b", re.DOTALL
)
MODULES = [path for path in ROOT.rglob("*.py") if path.parent != ROOT or not path.stem.startswith("__")]
NAMES = {
    ".".join(path.relative_to(ROOT.parent).with_suffix("").parts).removesuffix(".__init__"): path
    for path in MODULES
}


def part_of(path: Path) -> str:
    return path.relative_to(ROOT).with_suffix("").parts[0]


@cache
def imported(path: Path) -> tuple[str, ...]:
    """The modules that a module imports, also those that it needs for types alone."""
    return tuple(_imported(ast.parse(path.read_text(encoding="utf-8"))))


def _imported(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                module = f"{node.module}.{alias.name}"
                yield module if module in NAMES else node.module
        elif isinstance(node, ast.Call) and "import_module" in ast.unparse(node.func):
            yield from (argument.value for argument in node.args if isinstance(argument, ast.Constant))


def test_every_part_has_its_place() -> None:
    assert {part_of(path) for path in MODULES} == set(ORDER)


def test_imports_go_one_way() -> None:
    wrong = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in MODULES
        for name in imported(path)
        if name.startswith("search.") and name.split(".")[1] in ORDER
        if ORDER.index(name.split(".")[1]) > ORDER.index(part_of(path))
    ]
    assert wrong == []


# Modules that still import each other, also in functions or for types alone. The list may only become shorter.
CIRCLES: set[str] = set()


def test_no_modules_import_each_other() -> None:
    ways = {name: set(imported(path)) & NAMES.keys() - {name} for name, path in NAMES.items()}
    reached = {name: reachable(name, ways) for name in ways}
    circles = {
        " ".join(sorted(n for n in ways[name] | reached[name] if name in reached[n])) for name in ways
    }
    assert circles - {""} == CIRCLES, "shorten CIRCLES where a circle is gone"


def reachable(start: str, ways: dict[str, set[str]]) -> set[str]:
    seen: set[str] = set()
    ahead = [start]
    while ahead:
        new = ways[ahead.pop()] - seen
        seen |= new
        ahead += new
    return seen


def test_rendering_sees_records_alone() -> None:
    seen = {
        name.split(".")[1]
        for path in (ROOT / "render").rglob("*.py")
        for name in imported(path)
        if "search." in name
    }
    assert seen == {"records", "render"}


def test_only_the_store_knows_sqlite_and_faiss() -> None:
    wrong = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in MODULES
        if part_of(path) != "store"
        for name in imported(path)
        if name.split(".")[0] in ("sqlite3", "sqlite_utils", "faiss")
    ]
    assert wrong == []


def test_only_the_store_speaks_sql() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}, line {node.lineno}: {node.value[:40]}"
        for path in MODULES
        if part_of(path) != "store"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and SQL.search(node.value)
    ]
    assert wrong == []


# Each is an extra, and the adaptor for it has its name.
FRAMEWORKS = {
    "langchain_core": "langchain", "llama_index": "llama_index", "haystack": "haystack",
}  # fmt: skip


def test_a_framework_is_known_to_its_adaptor_alone() -> None:
    wrong = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in MODULES
        for name in imported(path)
        if (framework := name.split(".")[0]) in FRAMEWORKS
        if (part_of(path), path.stem) != ("integrations", FRAMEWORKS[framework])
    ]
    assert wrong == []


def test_adaptors_are_of_the_library_alone() -> None:
    wrong = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in (ROOT / "integrations").rglob("*.py")
        for name in imported(path)
        if re.match(r"search\.(serving|cli|render)\b", name)
    ]
    assert wrong == []


# What users import; a test that goes by these alone stays when a module moves.
PUBLIC = ("bert", "errors", "serving", "integrations", "cli.app")


def test_most_tests_use_public_names() -> None:
    inside = [
        path.name
        for path in Path(__file__).parent.rglob("*.py")
        if path.parent.name != "faults"  # its harnesses break what is inside
        if any(name.split(".")[0] == "search" and not _is_public(name) for name in imported(path))
    ]
    assert len(inside) <= 60, sorted(inside)


def _is_public(module: str) -> bool:
    return module in ("search", *(f"search.{name}" for name in PUBLIC)) or module.startswith(
        "search.integrations."
    )
