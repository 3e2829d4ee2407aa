"""The code shrinks: ceilings that only ever fall until the budget is reached."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from tests.size import SEARCH, Size
from tests.size import measured as counted

TESTS = Path(__file__).parent
# folder: lines of code and modules now allowed, and the budget
CEILINGS = {
    SEARCH: ((26_451, 24_000), (200, 200)),
    TESTS: ((24_000, 24_000), (300, 300)),
}
measured: Callable[[Path], Size] = cache(counted)
SLACK = 100  # lines; below the ceiling by more, it is lowered


@pytest.mark.parametrize("folder", CEILINGS, ids=lambda folder: folder.name)
def test_the_code_stays_under_its_ceiling(folder: Path) -> None:
    size = measured(folder)
    (lines, line_budget), (modules, module_budget) = CEILINGS[folder]
    assert size.lines <= lines, (
        f"{folder.name}/ has {size.lines - lines} lines more than its ceiling allows"
    )
    assert size.modules <= modules, f"{folder.name}/ has {size.modules - modules} modules too many"
    lower = max(size.lines + SLACK, line_budget)
    assert lines <= lower, (
        f"lower the ceiling of {folder.name}/ to {size.lines}, so that it does not grow again"
    )
    assert modules <= max(size.modules, module_budget), (
        f"lower the modules of {folder.name}/ to {size.modules}"
    )


def test_lines_are_not_denser() -> None:
    size = measured(SEARCH)
    assert round(sum(size.functions) / len(size.functions), 1) <= 8.5
    assert round(sum(size.widths) / size.lines, 1) <= 40.0
