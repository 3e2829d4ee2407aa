"""What the page of the API shows is what a server answers, by the real model."""

import contextlib
import io
import os
import re
import shutil
import subprocess

import pytest
from markdown_it import MarkdownIt
from starlette.testclient import TestClient

from search import Encoder, Index
from tests.conftest import skip_or_fail
from tests.serving.conftest import started
from tests.transcripts import REPOSITORY, Transcript, differences, remade, write

PAGE = REPOSITORY / "corpora" / "handbook" / "64-the-api.md"
ADDRESS = "127.0.0.1:8765"


def blocks() -> list[tuple[int, str]]:
    fences = [one for one in MarkdownIt().parse(PAGE.read_text(encoding="utf-8")) if one.type == "fence"]
    return [(one.map[0] + 1, one.content) for one in fences if one.map]


@pytest.mark.skipif(os.name == "nt", reason="the page shows commands of other systems")
def test_what_is_asked_is_answered_as_it_is_shown(real: Encoder) -> None:
    if not shutil.which("curl"):
        skip_or_fail("curl is not installed")
    shown = [
        Transcript(PAGE, at, text.splitlines()) for at, text in blocks() if text.startswith("$ curl")
    ]
    (python,) = (text for _, text in blocks() if text.startswith("import"))
    Index.build(PAGE.parent, include=["2[2-5]*.md"], model=real.model, offline=True)
    with started("--index", "handbook", "--offline") as (url, _):
        here = url.removeprefix("http://").strip("/")

        def ask(line: str) -> list[str]:
            command = line.removeprefix("$ ").replace(ADDRESS, here)
            done = subprocess.run(
                ["bash", "-c", command], capture_output=True, text=True, check=True, encoding="utf-8"
            )
            text = done.stdout.replace(str(REPOSITORY), "…").replace(here, ADDRESS)
            text = text.replace("Unprocessable Content", "Unprocessable Entity")  # from Python 3.13 on
            return [one.rstrip() for one in text.splitlines()]

        remake = [(one, remade(one, ask)) for one in shown]
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(python.replace(ADDRESS, here).replace("100", "20"), {})
    if os.environ.get("SEEWHY_WRITE"):
        write(PAGE, remake)
    wrong = {one.place: found for one, lines in remake if (found := differences(one, lines))}
    assert wrong == {}, "if that is meant: SEEWHY_WRITE=1 pytest tests/serving/test_api_page.py"
    ranks = [int(line.split()[0]) for line in printed.getvalue().splitlines()]
    assert len(ranks) > 20
    assert ranks == list(range(1, len(ranks) + 1))


def test_its_table_is_complete(client: TestClient) -> None:
    text = PAGE.read_text(encoding="utf-8")
    addresses = re.findall(r"^\| `([a-zID/.-]+)` \| [^\d|][^|]* \|$", text, re.MULTILINE)
    paths = client.get("/openapi.json").json()["paths"]
    described = {f"/api/v1/{address.replace('ID', '{id}')}" for address in addresses}
    assert {*described, "/v1/embeddings"} == set(paths)
