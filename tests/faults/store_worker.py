"""The child that stores documents in a namespace, and is killed while it does.

    python -m tests.faults.store_worker

It says {"ready": true}, is told {"index": ..., "namespace": ..., "documents": [...]}, says {"begins": true}, stores all
of them in one call, and says {"done": true}.
"""

from __future__ import annotations

import json
import sys

import filelock  # noqa: F401
import sqlite_utils  # noqa: F401

from search import Index
from search.indexing import memory  # noqa: F401
from tests.faults.oracle import ENCODER


def main() -> None:
    print(json.dumps({"ready": True}), flush=True)
    task = json.loads(sys.stdin.readline())
    index = Index.open(task["index"], encoder=ENCODER)
    print(json.dumps({"begins": True}), flush=True)
    index.upsert(task["documents"], namespace=task["namespace"])
    print(json.dumps({"done": True}), flush=True)


if __name__ == "__main__":
    main()
