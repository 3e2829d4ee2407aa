"""The house: which folder may import which, and who may speak to SQLite and FAISS."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import search

ROOT = Path(search.__file__).parent

# Each may import those before it; `search/__init__.py` imports public names when they are first used.
ORDER = (
    "errors", "files", "plugins", "records", "languages", "statistics", "corpus", "encoding", "store", "indexing",
    "ranking",
    "explaining", "texts", "searcher", "index", "indexes", "export", "evaluating", "render", "serving", "cli",
    "integrations", "lab", "bert",
)  # fmt: skip
LAB = ("records", "bert", "annotating", "evaluating", "training", "render", "cli", "serving", "plugin")
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
def imports_of(path: Path) -> tuple[str, ...]:
    """The modules that a module imports, also those that it needs for types alone."""
    return tuple(_import_names(ast.parse(path.read_text(encoding="utf-8"))))


def _import_names(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                module = f"{node.module}.{alias.name}"
                yield module if module in NAMES else node.module
        elif isinstance(node, ast.Call) and "import_module" in ast.unparse(node.func):
            yield from (argument.value for argument in node.args if isinstance(argument, ast.Constant))


def test_every_folder_and_module_is_in_the_order() -> None:
    assert {part_of(path) for path in MODULES} == set(ORDER)


def test_imports_go_one_way() -> None:
    wrong = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in MODULES
        for name in imports_of(path)
        if name.startswith("search.") and name.split(".")[1] in ORDER
        if ORDER.index(name.split(".")[1]) > ORDER.index(part_of(path))
    ]
    assert wrong == []


# Modules that still import each other, also in functions or for types alone. The list may only become shorter.
CIRCLES: set[str] = set()


def test_no_modules_import_each_other() -> None:
    imports = {name: set(imports_of(path)) & NAMES.keys() - {name} for name, path in NAMES.items()}
    indirect = {name: reachable(name, imports) for name in imports}
    circles = {
        " ".join(sorted(n for n in imports[name] | indirect[name] if name in indirect[n]))
        for name in imports
    }
    assert circles - {""} == CIRCLES, "shorten CIRCLES where a circle is gone"


def reachable(start: str, imports: dict[str, set[str]]) -> set[str]:
    reached: set[str] = set()
    ahead = [start]
    while ahead:
        new = imports[ahead.pop()] - reached
        reached |= new
        ahead += new
    return reached


def test_rendering_imports_only_records_and_plugins() -> None:
    parts = {
        name.split(".")[1]
        for path in (ROOT / "render").rglob("*.py")
        for name in imports_of(path)
        if "search." in name
    }
    assert parts == {"plugins", "records", "render"}


def lab_part(name: str) -> str:
    """The folder or module of the laboratory that a module name belongs to."""
    return name.split(".")[2]


def test_imports_inside_the_laboratory_go_one_way() -> None:
    wrong = [
        f"{name} imports {other}"
        for name, path in NAMES.items()
        if name.startswith("search.lab.")
        for other in imports_of(path)
        if other.startswith("search.lab.") and LAB.index(lab_part(other)) > LAB.index(lab_part(name))
    ]
    assert wrong == []


def test_rendering_of_the_laboratory_imports_only_records_and_rendering() -> None:
    parts = {
        name.removeprefix("search.").split(".")[0 if "search.lab." not in name else 1]
        for path in (ROOT / "lab" / "render").rglob("*.py")
        for name in imports_of(path)
        if name.startswith("search.")
    }
    assert parts == {"records", "render"}


def test_only_the_table_of_plugins_knows_the_laboratory() -> None:
    """`search.bert` is its public name."""
    core = [path for path in MODULES if part_of(path) not in ("lab", "bert")]
    files = [path.name for path in core if "search.lab" in path.read_text(encoding="utf-8")]
    assert files == ["plugins.py"]


def test_only_the_store_knows_sqlite_and_faiss() -> None:
    wrong = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in MODULES
        if part_of(path) != "store"
        for name in imports_of(path)
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


def test_only_its_adaptor_imports_a_framework() -> None:
    wrong = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in MODULES
        for name in imports_of(path)
        if (framework := name.split(".")[0]) in FRAMEWORKS
        if (part_of(path), path.stem) != ("integrations", FRAMEWORKS[framework])
    ]
    assert wrong == []


def test_adaptors_import_only_the_library() -> None:
    wrong = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in (ROOT / "integrations").rglob("*.py")
        for name in imports_of(path)
        if re.match(r"search\.(serving|cli|render|lab|bert)\b", name)
    ]
    assert wrong == []


# What users import; a test that goes by these alone stays when a module moves.
PUBLIC = ("bert", "errors", "index", "serving", "integrations", "cli.app")


def test_the_map_of_a_folder_names_each_of_its_modules() -> None:
    missing = [
        str(path.relative_to(ROOT))
        for path in ROOT.rglob("*.py")
        if not path.stem.startswith("__")
        if not re.search(rf"\b{path.stem}\b", (path.parent / "__init__.py").read_text(encoding="utf-8"))
    ]
    assert missing == []


def test_most_tests_use_public_names() -> None:
    modules = [
        path
        for path in Path(__file__).parent.rglob("test_*.py")
        if path.parent.name != "faults"  # its harnesses break what is inside
    ]
    inside = [
        path.name
        for path in modules
        if any(name.split(".")[0] == "search" and not _is_public(name) for name in imports_of(path))
    ]
    assert len(inside) <= 0.55 * len(modules), sorted(inside)


def _is_public(module: str) -> bool:
    return module in ("search", *(f"search.{name}" for name in PUBLIC)) or module.startswith(
        "search.integrations."
    )


def foreign_private_names(path: Path) -> Iterator[str]:
    """Private names of other packages in a module: modules, imported names, and attributes of either."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    foreign: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if not alias.name.startswith("search"):
                    foreign.add(alias.asname or alias.name.split(".")[0])
                    yield from [alias.name] if is_private(alias.name) else []
        elif isinstance(node, ast.ImportFrom) and not (node.module or "").startswith("search"):
            foreign |= {alias.asname or alias.name for alias in node.names}
            names = (f"{node.module}.{alias.name}" for alias in node.names)
            yield from filter(is_private, names)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and is_private(node.attr):
            name = ast.unparse(node)
            is_of_attribute = name.startswith("self.") and name.count(".") > 1  # self.pool._processes
            if (name.split(".")[0] in foreign or is_of_attribute) and name != "os._exit":  # documented
                yield name


def is_private(name: str) -> bool:
    return any(re.match(r"_[a-z]", part) for part in name.split(".") if part != "__future__")


def test_private_names_of_other_packages_are_not_used() -> None:
    """They may change with any release. `ray._private` as a text in `getattr` would be no better."""
    wrong = [
        f"{path.relative_to(ROOT)}: {name}" for path in MODULES for name in foreign_private_names(path)
    ]
    assert wrong == []
