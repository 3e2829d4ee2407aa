"""The core works without the folder of the laboratory."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import search

_PROGRAM = """
import sys

# The finder of an editable installation would find the folder where it is.
sys.meta_path = [finder for finder in sys.meta_path if "editable" not in repr(finder).lower()]
import search

assert search.__file__.startswith(sys.argv[1]), search.__file__
index = search.Index.build(sys.argv[2], model=sys.argv[3], offline=True)
(hit, *_) = index.query("turn the key", k=3)
why = index.explain("turn the key", hit)
assert abs(why.residual) < 1e-5
assert search.similarity(["a key", "a door"], model=sys.argv[3]).shape == (2, 2)

from starlette.testclient import TestClient
from search.serving import create_app

with TestClient(create_app(index), "http://127.0.0.1:8765") as client:
    page = client.get("/", params={"q": "turn the key"})
    assert page.status_code == 200 and hit.title in page.text
    assert client.get("/explain", params={"q": "turn the key", "passage": hit.passage_id}).status_code == 200
    compared = client.get("/similarity", params={"text": "a key\\na door\\nwater"})
    assert compared.status_code == 200 and "/vocabulary" not in compared.text
    assert client.get("/vocabulary").status_code == 404
    hits = client.get("/api/v1/search", params={"q": "turn the key"}).json()["hits"]
    assert hits[0]["passage_id"] == hit.passage_id
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {"name": "search", "arguments": {"query": "turn the key"}}}
    answer = client.post("/mcp", json=body, headers={"accept": "application/json, text/event-stream"})
    assert not answer.json()["result"].get("isError"), answer.text

from search.cli.app import commands, main

assert "query" in commands().commands and "lab" not in commands().commands
sys.argv = ["seewhy", "eval", "gold.conll", "--task", "entities", "--model", "any"]
main()
"""


def test_query_explain_page_api_and_mcp_work_without_the_laboratory(
    tmp_path: Path, notes: Path, tiny_model: Path
) -> None:
    package = Path(search.__file__).parent
    ignore = shutil.ignore_patterns("lab", "bert.py", "__pycache__")
    shutil.copytree(package, tmp_path / "search", ignore=ignore)
    process = subprocess.run(
        [sys.executable, "-c", _PROGRAM, tmp_path, notes, tiny_model],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    assert process.returncode == 2, process.stderr  # of the last line: a task that is missing
    assert "this installation cannot measure entities: it lacks the laboratory" in process.stderr
