"""Do the tests notice a fault? Small changes of the code, one at a time, each judged by the tests that should fail.

    python benchmarks/mutants.py [--count 100] [--seed 1] [--rooms ranking explaining store] [--tests PATH] [--out FILE]

A mutant replaces a comparison, an operator, a boolean or a number in one function of a room. It is written into a copy
of the repository, and the tests of the room run on it, then those of the contract; the first failure ends the run. A
mutant that no test notices is printed with its line: a test is missing, or the change makes no difference.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
}  # fmt: skip
SECONDS = 300  # a mutant that loops is noticed, too
NOT_COPIED = (".git", ".venv", "__pycache__", ".*cache", ".hypothesis", "build", "*.egg-info")
LEFT_OUT = ("milvus",)  # needs a server, and takes minutes


@dataclass(frozen=True)
class Mutant:
    """A change of one line of a file."""

    path: Path
    line: int
    before: str
    after: str
    source: str

    @property
    def place(self) -> str:
        return f"{self.path.relative_to(ROOT)}:{self.line}"


def mutants_of(path: Path) -> Iterator[Mutant]:
    """Yield every mutant of a file."""
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    nodes = {id(node): node for function in functions for node in ast.walk(function)}
    for node in nodes.values():
        for changed in changes(node):
            before, after = ast.get_source_segment(text, node), ast.unparse(changed)
            if before and "\n" not in before:
                lines = text.encode().split(b"\n")
                line = lines[node.lineno - 1]  # type: ignore[attr-defined]
                start, end = node.col_offset, node.end_col_offset  # type: ignore[attr-defined]
                lines[node.lineno - 1] = line[:start] + f"({after})".encode() + line[end:]  # type: ignore[attr-defined]
                source = b"\n".join(lines).decode()
                yield Mutant(path, node.lineno, before, after, source)  # type: ignore[attr-defined]


def changes(node: ast.AST) -> Iterator[ast.expr]:
    """Yield the changes of an expression."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in COMPARISONS:
        other = COMPARISONS[type(node.ops[0])]()
        yield ast.Compare(node.left, [other, *node.ops[1:]], node.comparators)
    elif isinstance(node, ast.BinOp) and type(node.op) in OPERATORS and not is_text(node):
        yield ast.BinOp(node.left, OPERATORS[type(node.op)](), node.right)
    elif isinstance(node, ast.BoolOp):
        yield ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        yield node.operand
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield ast.Constant(not node.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        yield ast.Constant(node.value + 1)


def is_text(node: ast.BinOp) -> bool:
    """Return True if an operand is a text, a list or a tuple, so that most operators would raise an error."""
    kinds = ast.JoinedStr | ast.List | ast.Tuple | ast.ListComp
    sides = (node.left, node.right)
    return any(isinstance(side, kinds) or isinstance(getattr(side, "value", None), str) for side in sides)


def is_noticed(mutant: Mutant, copy: Path, folders: Sequence[str]) -> bool:
    """Return True if a test of some folders fails on a mutant."""
    place = copy / mutant.path.relative_to(ROOT)
    place.write_text(mutant.source, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-n", "0", "-p", "no:cacheprovider"]
    left_out = [f"--ignore-glob=*{name}*" for name in LEFT_OUT]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    try:
        for tests in folders:
            done = subprocess.run(
                [*command, *left_out, tests],
                cwd=copy,
                env=environment,
                capture_output=True,
                timeout=SECONDS,
                check=False,
            )
            if done.returncode not in (0, 5):
                return True
    except subprocess.TimeoutExpired:
        return True
    finally:
        shutil.copyfile(mutant.path, place)
    return False


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rooms", nargs="+", default=["ranking", "explaining", "store"])
    parser.add_argument(
        "--tests", help="the tests to run, instead of those of the room and of the contract"
    )
    parser.add_argument("--out", type=Path, help="write a JSON line for each mutant")
    arguments = parser.parse_args()
    draw = random.Random(arguments.seed)
    mutants = [
        (room, mutant)
        for room in arguments.rooms
        for path in sorted((ROOT / "search" / room).glob("*.py"))
        for mutant in mutants_of(path)
    ]
    chosen = draw.sample(mutants, min(arguments.count, len(mutants)))
    print(f"{len(chosen)} of {len(mutants):,} mutants, seed {arguments.seed}", flush=True)
    noticed = 0
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy"
        parts = shutil.ignore_patterns(*NOT_COPIED)
        shutil.copytree(ROOT, copy, ignore=parts)
        for number, (room, mutant) in enumerate(chosen, 1):
            began = time.perf_counter()
            folders = [arguments.tests] if arguments.tests else [f"tests/{room}", "tests/contract"]
            caught = is_noticed(mutant, copy, folders)
            noticed += caught
            word, seconds = "noticed" if caught else "ALIVE", time.perf_counter() - began
            change = f"{mutant.place}  {mutant.before}  ->  {mutant.after}"
            print(f"{number:3} {word:7} {seconds:4.0f} s  {change}", flush=True)
            if arguments.out:
                with arguments.out.open("a", encoding="utf-8") as stream:
                    stream.write(json.dumps({"place": change, "noticed": caught}) + "\n")
    print(f"{noticed} of {len(chosen)} noticed")


if __name__ == "__main__":
    main()
