"""Where a command runs: streams that are full, arguments that are no text, no memory, no home, no folder."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY, Run

pytestmark = pytest.mark.skipif(os.name != "posix", reason="these are surroundings of POSIX")


def shell(script: str, cwd: Path = REPOSITORY, **environment: str) -> tuple[int, str, str]:
    """Run a script in which "seewhy" is the real command: exit code, stdout, stderr."""
    python = f'seewhy() {{ {shlex.quote(sys.executable)} -m search "$@"; }}\n'
    paths = os.pathsep.join(filter(None, [str(REPOSITORY), os.environ.get("PYTHONPATH", "")]))
    done = subprocess.run(
        ["sh", "-c", python + script],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": paths, "OPENBLAS_NUM_THREADS": "1", **environment},
        capture_output=True,
        timeout=120,
    )
    out, err = done.stdout.decode(), done.stderr.decode()
    assert "Traceback" not in err, err
    assert "Exception ignored" not in err, err
    return done.returncode, out, err


def test_a_query_that_is_no_text(run: Run, indexed: Path) -> None:
    odd = os.fsdecode(b"ab\xff")
    for command in (
        ("query", odd), ("query", odd, "-m", "lexical"), ("explain", odd),
        ("similarity", "a", odd),
    ):  # fmt: skip
        code, out, err = run(*command)
        assert (code, out) == (1, ""), command
        assert "contains bytes that are not valid text. Remove them." in err
        assert err.count("\n") == 1


def test_a_file_with_the_name_of_the_package(run: Run, indexed: Path, tmp_path: Path) -> None:
    (tmp_path / "search.py").write_text("raise SystemExit('shadowed')", encoding="utf-8")
    command = Path(sys.executable).with_name("seewhy")
    if not command.is_file():
        pytest.skip("the command is not installed")
    code, out, err = shell(f"{shlex.quote(str(command))} query key --json", tmp_path)
    assert (code, err) == (0, "") and json.loads(out)


def test_little_memory(run: Run, indexed: Path) -> None:
    code, out, err = shell("ulimit -c 0; ulimit -v 256000 && seewhy query key")
    assert (code, out) == (1, ""), err
    assert "seewhy: not enough memory. Close other programs, or raise the limit" in err
    assert err.count("\n") == 1
