"""Pages about the tools for agents count and list those that the server offers."""

import re

import pytest

pytest.importorskip("mcp", reason="the extra 'mcp' is not installed")

from starlette.testclient import TestClient

from tests.conftest import REPOSITORY
from tests.serving.test_mcp import result_of

NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
PAGE = "corpora/handbook/70-agents-by-mcp.md"


def test_the_tools_are_counted_and_listed(client: TestClient) -> None:
    names = [tool["name"] for tool in result_of(client, "tools/list")["tools"]]
    for page in ("README.md", PAGE):
        text = (REPOSITORY / page).read_text(encoding="utf-8")
        assert re.findall(r"(?:has|the) (\w+) (?:read-only )?tools", text) == [NUMBERS[len(names)]], page
    table = text.partition("| tool | input | output |")[2].partition("\n\n")[0]
    assert sorted(re.findall(r"(?m)^\| `(\w+)` \|", table)) == sorted(names)
