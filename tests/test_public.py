"""The public names, what importing them costs, and which stage may know which."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import search
from tests.conftest import REPOSITORY
from tests.size import lines_of_code

HEAVY = (
    "torch",
    "transformers",
    "sentence_transformers",
    "faiss",
    "openvino",
    "numpy",
    "sqlite_utils",
    "pandas",
    "pydantic",
    "textual",
)
NEEDED_LATER = (  # our own, which a query does without
    "search.bert",
    "search.corpus",
    "search.evaluating",
    "search.explaining",
    "search.lab.training",
    "search.lab.records.inspections",
    "search.lab.records.predictions",
)


def modules_after(code: str) -> set[str]:
    script = f"import sys\n{code}\nprint(*(m for m in {HEAVY + NEEDED_LATER!r} if m in sys.modules))"
    process = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=True,
        cwd=REPOSITORY,
        encoding="utf-8",
    )
    return set(process.stdout.splitlines()[-1].split()) if process.stdout.strip() else set()


def test_dir_lists_the_names_that_are_loaded_later() -> None:
    """In a notebook, completion asks `dir`."""
    later = {
        "TrainedHead",
        "compare_encoders",
        "compare_texts",
        "label_index",
        "probe",
        "train",
        "train_classifier",
        "train_labels",
        "train_reader",
        "train_tagger",
    }
    assert later <= set(dir(search.bert))
    assert all(callable(getattr(search.bert, name)) for name in later)
    assert {"inspect", "tag", "fill"} <= set(dir(search.bert))


def test_an_index_has_these_public_names() -> None:
    """A name that users do not need is a method of `Searcher`, or a function."""
    assert {name for name in dir(search.Index) if not name.startswith("_")} == set(
        "build create open preview update watch check move remove close upsert add delete get ids count peek "
        "set_metadata export namespace namespaces on_change "
        "query query_many explain contrast why_not counterfactual similar occurrences explain_similar duplicates "
        "facets embeddings document passage status path name encoder fingerprint generation notes".split()
    )


def test_importing_search_loads_nothing_heavy() -> None:
    assert modules_after("import search") == set()


def test_the_library_loads_nothing_heavy_but_numpy() -> None:
    assert modules_after("import search; search.Index; search.Encoder") <= {"numpy", "sqlite_utils"}
    assert not modules_after("import search; search.similarity") & set(HEAVY) - {"numpy", "sqlite_utils"}


def test_importing_the_server_loads_nothing_heavy() -> None:
    assert modules_after("import search.serving; search.serving.create_app") == set()


def test_writing_loads_no_pandas() -> None:
    """sqlite-utils would import it where it is installed; it can be imported later."""
    assert modules_after("import search.store.writer") & {"sqlite_utils", "pandas"} == {"sqlite_utils"}


def test_options_are_read_without_pydantic(monkeypatch: pytest.MonkeyPatch) -> None:
    """Typer converts numbers, choices and variables with it, in a tenth of a query's time."""
    monkeypatch.delenv("SEEWHY_UPDATE")
    code = "import search.cli.app as a\ntry: a.main()\nexcept SystemExit: pass"
    arguments = "import sys; sys.argv = ['seewhy', 'query', 'a', '-i', 'none', '-q']"
    assert "pydantic" not in modules_after(f"{arguments}\n{code}")


def test_help_loads_nothing_heavy() -> None:
    code = "import search.cli.app as a\ntry: a.commands()(['--help'])\nexcept SystemExit: pass"
    assert modules_after(code) == set()


def test_the_public_names_are_these_and_documented() -> None:
    assert sorted(search.__all__) == [
        "Changes", "CheckReport", "Contrast", "Counterfactual", "Document", "DocumentChanges", "Encoder", "Evaluation",
        "Explanation",
        "Fingerprint", "FingerprintMismatch", "Hit", "Index", "IndexDamaged", "IndexLocked", "IndexNotFound",
        "IndexOutdated", "Indexes", "InputError", "ModelError", "OptionalDependency", "Progress", "Question",
        "ReadError",
        "Report", "SearchError", "Status", "StorageFull", "TextTooLong", "Token", "Upserted",
        "WhyNot", "compare", "evaluate", "explain", "similarity",
    ]  # fmt: skip
    for name in search.__all__:
        assert getattr(search, name).__doc__, f"{name} has no docstring"
    assert callable(search.evaluate)
    assert callable(search.explain)
    assert callable(search.similarity)
    assert {*search.__all__, "bert"} <= set(dir(search))


def modules() -> list[Path]:
    return sorted((REPOSITORY / "search").rglob("*.py"))


def test_only_the_command_line_prints() -> None:
    for path in modules():
        if "cli" in path.parts:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in ("print", "exit", "input"), f"{path} calls {node.func.id}"


SOURCE = '''"""A module."""

x = """a

b"""  # a text
# nothing
def f():
    """Nothing."""
    return (
        1
    )
'''


def test_lines_of_code_leave_out_blanks_comments_and_docstrings() -> None:
    assert lines_of_code(SOURCE)[0] == {3, 5, 7, 9, 10, 11}


def test_every_public_error_is_in_the_tree_drawn_above_them() -> None:
    from search import errors

    for name, value in vars(errors).items():
        if isinstance(value, type) and issubclass(value, Exception):
            assert issubclass(value, errors.SearchError)
            assert name in (errors.__doc__ or "")
