"""Plainness of names and docstrings.

    python tests/wording.py [FOLDER]             what to improve
    python tests/wording.py --messages [FOLDER]  every sentence for a user, with its place
    python tests/wording.py --draw N [--seed S]  N messages and N docstrings at random, to be read by somebody else

Lists what a reader stumbles over under search/ (or FOLDER): docstrings whose first word is relative ("What an index
holds") instead of a noun or a verb, names of classes that are used twice, names of modules that are used more than
twice, and names of variables, parameters, functions and classes that are a participle ("found") or a pronoun ("one").
"""

from __future__ import annotations

import argparse
import ast
import random
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

SEARCH = Path(__file__).resolve().parent.parent / "search"
RELATIVE = {"What", "Whether", "How", "Where", "As", "Of", "Those", "That", "Which"}
PARTICIPLES = {
    "asked",
    "found",
    "given",
    "held",
    "known",
    "made",
    "placed",
    "said",
    "shown",
    "told",
    "wanted",
}
PRONOUNS = {"each", "here", "its", "meant", "mine", "one", "there", "what", "which"}
# SQL, or a regular expression
CODE = re.compile(
    r"\b(SELECT|FROM|WHERE|CREATE|PRAGMA|INSERT|UPDATE|DELETE|JOIN|SET|AND NOT|ORDER BY|NULL|INTEGER|TEXT)\b"
    r"|\(\?[:=!<P]|\[\^|\\[bsdwS]"
)
Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


@dataclass
class Wording:
    """Findings in a folder of modules.

    Attributes:
        docstrings: number of docstrings.
        relative: first line of each docstring that begins with a relative word, with its place.
        names: each name that is a participle or a pronoun, with its place.
        classes, modules: number of classes and modules by name.
    """

    docstrings: int = 0
    relative: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    classes: Counter[str] = field(default_factory=Counter)
    modules: Counter[str] = field(default_factory=Counter)

    @property
    def repeated_classes(self) -> list[str]:
        return sorted(name for name, count in self.classes.items() if count > 1)

    @property
    def repeated_modules(self) -> list[str]:
        return sorted(
            name for name, count in self.modules.items() if count > 2 and not name.startswith("__")
        )


NOT_NAMES = PARTICIPLES | PRONOUNS
Naming = ast.arg | ast.Name | ast.Attribute  # what binds a name, besides classes and functions


def measured(root: Path = SEARCH) -> Wording:
    """Read all modules of a folder."""
    wording = Wording()
    for path in sorted(root.rglob("*.py")):
        wording.modules[path.stem] += 1
        file = path.relative_to(root).as_posix()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, Documented | Naming):
                continue
            place = f"{file}:{getattr(node, 'lineno', 1)}"
            if isinstance(node, Documented) and (text := ast.get_docstring(node)):
                wording.docstrings += 1
                if text.split()[0].strip(",.:;") in RELATIVE:
                    wording.relative.append(f"{place}  {text.splitlines()[0]}")
            # Adapters have the names that their frameworks expect.
            if isinstance(node, ast.ClassDef) and not file.startswith("integrations/"):
                wording.classes[node.name] += 1
            names = [name for name in bound(node) if name.strip("_").lower() in NOT_NAMES]
            wording.names += [f"{place}  {name}" for name in names]
    return wording


def bound(node: ast.AST) -> Iterator[str]:
    """Names that a statement or an expression binds."""
    if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        yield node.name
    elif isinstance(node, ast.arg):
        yield node.arg
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield node.id
    elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
        yield node.attr


def messages(root: Path = SEARCH) -> list[str]:
    """Sentences for a user: string literals of four words or more but docstrings, SQL and patterns, by place."""
    lines = []
    for path in sorted(root.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        inner = {id(part) for node in ast.walk(tree) for part in not_messages(node)}
        for node in ast.walk(tree):
            text = written(node) if id(node) not in inner else ""
            words = re.findall(r"[A-Za-z]{2,}", re.sub(r"\{.*?\}", "", text))
            if len(words) >= 4 and not CODE.search(text):
                lines.append(
                    f"{path.relative_to(root).as_posix()}:{node.lineno}  {' '.join(text.split())}"
                )  # type: ignore[attr-defined]
    return lines


def not_messages(node: ast.AST) -> Iterator[ast.AST]:
    """Parts of an f-string, which are read with the whole, and docstrings."""
    if isinstance(node, ast.JoinedStr):
        yield from (part for child in ast.iter_child_nodes(node) for part in ast.walk(child))
        return
    if isinstance(node, Documented) and node.body and isinstance(node.body[0], ast.Expr):
        yield node.body[0].value


def written(node: ast.AST) -> str:
    """A string literal as written; a value in an f-string is its expression in braces."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(
            f"{{{ast.unparse(part.value)}}}" if isinstance(part, ast.FormattedValue) else written(part)
            for part in node.values
        )
    return ""


def docstrings(root: Path = SEARCH) -> list[str]:
    """Docstrings, whole, by place."""
    return [
        f"{path.relative_to(root).as_posix()}:{getattr(node, 'lineno', 1)}  {text}"
        for path in sorted(root.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, Documented) and (text := ast.get_docstring(node))
    ]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", nargs="?", type=Path, default=SEARCH)
    parser.add_argument("--messages", action="store_true")
    parser.add_argument("--draw", type=int, metavar="N")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    root = arguments.folder.resolve()
    if arguments.messages:
        print(*messages(root), sep="\n")
    elif arguments.draw:
        draw = random.Random(arguments.seed)
        print(*draw.sample(messages(root), arguments.draw), sep="\n")
        print("\n--- docstrings ---\n")
        print(*draw.sample(docstrings(root), arguments.draw), sep="\n")
    else:
        report(measured(root))


def report(wording: Wording) -> None:
    print(*wording.relative, *wording.names, sep="\n")
    share = len(wording.relative) / max(wording.docstrings, 1)
    print(
        f"\n{len(wording.relative):,} of {wording.docstrings:,} docstrings ({share:.1%}) begin with a relative word"
    )
    print(f"{len(wording.names):,} names are participles or pronouns")
    print(f"classes that share a name: {', '.join(wording.repeated_classes) or 'none'}")
    print(f"modules of which more than two share a name: {', '.join(wording.repeated_modules) or 'none'}")


if __name__ == "__main__":
    main()
