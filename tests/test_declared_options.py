"""Options are declared once: the library, the command, the HTTP API and MCP say the same of each."""

from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

import search
from search.cli.app import commands
from search.records.option_tools import declared
from search.records.options import CandidateOptions, OccurrenceOptions, QueryOptions, SimilarOptions
from search.searcher import Searcher
from search.serving import create_app
from tests.conftest import Run

PYTHON_ONLY = {"explain"}  # the command has it in another form: --matrices


def test_an_option_has_one_help_text_everywhere(run: Run, notes: Path, tiny_model: Path) -> None:
    command: Any = commands().commands["query"]
    command.load()
    help_texts = {parameter.name: parameter.help for parameter in command.params}
    index = search.Index.build(notes, model=str(tiny_model))
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    headers = {"accept": "application/json, text/event-stream"}
    with TestClient(create_app(index), "http://localhost") as client:
        operation = client.get("/openapi.json").json()["paths"]["/api/v1/search"]["get"]
        tool_list = client.post("/mcp", json=request, headers=headers).json()["result"]["tools"]
    api = {parameter["name"]: parameter["description"] for parameter in operation["parameters"]}
    tools = {tool["name"]: tool for tool in tool_list}
    tool = tools["search"]["inputSchema"]["properties"]
    for name, (_, option) in declared(QueryOptions).items():
        assert api[name] == option.help
        assert f"    {name}: {option.help}" in (search.Index.query.__doc__ or "")
        assert name in PYTHON_ONLY or help_texts[name].startswith(option.help.rstrip(".")), name
        assert name not in tool or tool[name]["description"] == option.help


def test_methods_document_their_options() -> None:
    for method, kind in (
        (search.Index.similar, SimilarOptions),
        (search.Index.occurrences, OccurrenceOptions),
        (Searcher.candidates, CandidateOptions),
    ):
        for name, (_, option) in declared(kind).items():
            assert f"    {name}: {option.help}" in (method.__doc__ or "")
