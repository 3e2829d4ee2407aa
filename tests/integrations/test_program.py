"""A user's program, which mypy checks, runs."""

import runpy
from pathlib import Path

from tests.conftest import REPOSITORY


def test_a_typed_program_runs(tiny_model: Path, own_home: Path) -> None:
    runpy.run_path(str(REPOSITORY / "tests/integrations/typed.py"))["main"](str(tiny_model))
