"""The child that edits a folder at random, with hardly a rest; it stops when its stdin is closed.

python -m tests.faults.editor FOLDER SEED
"""

from __future__ import annotations

import json
import sys
import threading
from pathlib import Path
from random import Random

from tests.faults import oracle
from tests.faults.contents import Editor

_REST = 0.01  # seconds at most between two edits


def main() -> None:
    folder, rng, stop = Path(sys.argv[1]), Random(sys.argv[2]), threading.Event()
    editor = Editor(folder, {name: raw.decode() for name, raw in oracle.on_disk(folder).items()}, rng, "e")
    threading.Thread(target=lambda: (sys.stdin.read(), stop.set()), daemon=True).start()
    print(json.dumps({"ready": True}), flush=True)
    edits = 0
    while not stop.wait(rng.random() * _REST):
        editor.apply(editor.plan())
        edits += 1
    print(json.dumps({"edits": edits}), flush=True)


if __name__ == "__main__":
    main()
