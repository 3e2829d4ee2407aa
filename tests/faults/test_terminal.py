"""A terminal never sees a control code of a document."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY

EVIL = "\x1b]0;owned\x07\x1b[5;31m\x9b5m\u202edne\u2066\x08\x7f"
OF_DOCUMENTS = re.compile(r"\x1b\]|\x07|\x1b\[5|\x9b|\u202e|\u2066|\x08|\x7f")
LINK = re.compile(r"\x1b\]8;[!-~]*\x1b\\")  # of this program, to a file; all of it harmless letters
COMMANDS = (
    ["index", "notes", "--model", "MODEL"], ["index", "notes", "--dry-run"], ["query", "key", "--where", "by:*"],
    ["query", "key", "--context", "2", "--group"], ["query", "key", "--json"], ["query", "key", "-f", "paths"],
    ["explain", "key"], ["explain", "key", "--json"], ["similar", "p1"], ["status"],
    ["list"],
    ["check"], ["duplicates", "-t", "0.1"], ["query", f"key {EVIL}"], ["list", EVIL],
)  # fmt: skip
CHILD = """
import json, sys
from search.cli.app import main
for command in json.loads(sys.argv[1]):
    sys.argv = ["seewhy", *command]
    try:
        main()
    except SystemExit as end:
        print("exit", end.code, flush=True)
"""


def evil_notes(folder: Path) -> None:
    """Documents that hold what a terminal would obey wherever there is text."""
    folder.mkdir()
    (folder / f"na{EVIL}me.md").write_text(
        f"---\nby: 'a'\n---\n\n# Key {EVIL}\n\n## Lock {EVIL}\n\nThe key {EVIL}.\n", encoding="utf-8"
    )
    (folder / "t.csv").write_text(
        f"title,text,by{EVIL}\nthe{EVIL},key {EVIL},{EVIL}\nb,{EVIL}key,a\n", encoding="utf-8"
    )
    (folder / "j.jsonl").write_text(
        json.dumps({"text": f"key {EVIL}", "by": EVIL, EVIL: [EVIL]}) + f"\n{EVIL}\n", encoding="utf-8"
    )
    (folder / f"bad{EVIL}.txt").write_bytes(bytes(range(256)))


@pytest.mark.skipif(os.name != "posix", reason="Windows has no pseudo-terminals")
def test_a_terminal_sees_no_control_code_of_a_document(tmp_path: Path, tiny_model: Path) -> None:
    import pty

    evil_notes(tmp_path / "notes")
    commands = [
        [str(tiny_model) if word == "MODEL" else word for word in command] for command in COMMANDS
    ]
    terminal, child_end = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "PYTHONPATH": str(REPOSITORY), "PYTHONUTF8": "1"}
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, json.dumps(commands)],
        stdin=child_end, stdout=child_end, stderr=child_end, cwd=tmp_path, env=environment,
    )  # fmt: skip
    os.close(child_end)
    output = b""
    try:
        while block := os.read(terminal, 1 << 16):
            output += block
    except OSError:  # Linux says so where the other side was closed
        pass
    finally:
        os.close(terminal)
        child.wait(60)
    text = output.decode("utf-8", "replace")
    assert [int(code) for code in re.findall(r"exit (\d+)", text)] == [0] * 14 + [2], text
    assert "\x1b[" in text  # colours
    match = OF_DOCUMENTS.search(LINK.sub("", text))
    assert not match, match and text[match.start() - 80 : match.end() + 20]
