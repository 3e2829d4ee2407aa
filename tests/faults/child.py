"""A child process: a module of this folder, for which few passages are many.

python -m tests.faults.child MODULE ARGUMENT ...
"""

from __future__ import annotations

import runpy
import sys

from tests.faults.oracle import few_are_many

if __name__ == "__main__":
    del sys.argv[0]
    with few_are_many():
        runpy.run_module(f"tests.faults.{sys.argv[0]}", run_name="__main__", alter_sys=True)
