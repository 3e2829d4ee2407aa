"""Examples of the page on the API: a server answers them as shown, with the real model."""

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
from tests.serving.conftest import server_process
from tests.transcripts import REPOSITORY, Transcript, differences, rerun, write

PAGE = REPOSITORY / "corpora" / "handbook" / "64-the-api.md"
ADDRESS = "127.0.0.1:8765"


def blocks() -> list[tuple[int, str]]:
    fences = [
        fence for fence in MarkdownIt().parse(PAGE.read_text(encoding="utf-8")) if fence.type == "fence"
    ]
    return [(fence.map[0] + 1, fence.content) for fence in fences if fence.map]


@pytest.mark.skipif(os.name == "nt", reason="the page shows commands of other systems")
def test_examples_of_the_page_are_answered_as_shown(real: Encoder) -> None:
    if not shutil.which("curl"):
        skip_or_fail("curl is not installed")
    examples = [
        Transcript(PAGE, start, text.splitlines())
        for start, text in blocks()
        if text.startswith("$ curl")
    ]
    (python,) = (text for _, text in blocks() if text.startswith("import"))
    Index.build(PAGE.parent, include=["2[2-5]*.md"], model=real.model, offline=True)
    with server_process("--index", "handbook", "--offline") as (url, _):
        host = url.removeprefix("http://").strip("/")

        def ask(line: str) -> list[str]:
            command = line.removeprefix("$ ").replace(ADDRESS, host)
            process = subprocess.run(
                ["bash", "-c", command], capture_output=True, text=True, check=True, encoding="utf-8"
            )
            text = process.stdout.replace(str(REPOSITORY), "…").replace(host, ADDRESS)
            text = text.replace("Unprocessable Content", "Unprocessable Entity")  # from Python 3.13 on
            return [row.rstrip() for row in text.splitlines()]

        remake = [(example, rerun(example, ask)) for example in examples]
        with contextlib.redirect_stdout(io.StringIO()) as output:
            exec(python.replace(ADDRESS, host).replace("100", "20"), {})
    if os.environ.get("SEEWHY_WRITE"):
        write(PAGE, remake)
    wrong = {
        example.place: errors for example, lines in remake if (errors := differences(example, lines))
    }
    assert wrong == {}, "if that is meant: SEEWHY_WRITE=1 pytest tests/serving/test_api_page.py"
    ranks = [int(line.split()[0]) for line in output.getvalue().splitlines()]
    assert len(ranks) > 20
    assert ranks == list(range(1, len(ranks) + 1))


def test_the_table_of_addresses_is_complete(client: TestClient) -> None:
    text = PAGE.read_text(encoding="utf-8")
    addresses = re.findall(r"^\| `([a-zID/.-]+)` \| [^\d|][^|]* \|$", text, re.MULTILINE)
    paths = client.get("/openapi.json").json()["paths"]
    expected = {f"/api/v1/{address.replace('ID', '{id}')}" for address in addresses}
    of_others = {path for path in paths if path.startswith("/v1/")}
    assert expected | of_others == set(paths)
    assert all(f"{path}`" in text for path in of_others)
