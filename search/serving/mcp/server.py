"""Tools and resources, as the SDK takes them. All are for reading, and stand in an order that never changes."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from pydantic import BaseModel, ValidationError

import search
from search.errors import InputError, SearchError, is_of_memory
from search.serving.fields import Given
from search.serving.mcp import answers, asked, tools
from search.serving.mcp.answers import SCHEME, PassageId, of_uri, uri_of, written
from search.serving.mcp.fetching import document_of, fetch, readable
from search.serving.problems import about_parameters
from search.serving.served import Served

Answer = TypeVar("Answer")
Work = Callable[[], Answer]
Run = Callable[[Work[Any]], Awaitable[Any]]

_LONGEST_DOCUMENT = 80_000  # characters; clients refuse answers that are much longer

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Tool:
    """A tool.

    Attributes:
        about: what a model is told of it: what it is for, and how its answer is read.
        asked, answered: the records of its arguments and its answer.
    """

    name: str
    title: str
    about: str
    asked: type[Given]
    answered: type[BaseModel]
    work: Callable[[Served, Any], BaseModel]


TOOLS = (
    Tool(
        "search",
        "Search by meaning and words",
        "Find the passages of the indexed documents that answer a question best, asked in your own words. Better than "
        "grep where the wording is not known; for an exact name or string grep is better. Read `verdict` first: "
        "'nothing' means that probably nothing here answers this, so say that or ask otherwise. `text` is a part of a "
        "passage: fetch it before you answer from it.",
        asked.Search,
        answers.Found,
        tools.search,
    ),
    Tool(
        "fetch",
        "Read a passage or lines",
        "Read a passage that search found with the lines around it, or any lines of its document. If the document "
        "is right but the answer does not stand here, read on there with `lines`. Answer from this, and cite `place`.",
        asked.Fetch,
        answers.Fetched,
        fetch,
    ),
    Tool(
        "explain",
        "Why a passage has its score",
        "Say why a passage has its score for a query: what each word of the query added, by its meaning and because it "
        "stands there. The addends sum to the score.",
        asked.Explain,
        answers.Explained,
        tools.explain,
    ),
    Tool(
        "why_not",
        "Why a document was not found",
        "Say where a document stands for a query and why it is not among the hits: others score higher, it is not "
        "indexed, its file has changed, a filter leaves it out.",
        asked.WhyNot,
        answers.Why,
        tools.why_not,
    ),
    Tool(
        "status",
        "What the indexes hold",
        "List the indexes: their folders, how much they hold, when they were brought up to date.",
        asked.Status,
        answers.Indexes,
        tools.status,
    ),
)


def server(served: Served, run: Run) -> Server[Any]:
    """A server of the protocol.

    Args:
        served: the indexes that can be asked.
        run: has work done in a thread.
    """
    handlers = _Handlers(served, run)
    made: Server[Any] = Server(
        "seewhy",
        version=search.__version__,
        title="seewhy",
        description="Semantic search that shows its working.",
        instructions=instructions_of(served),
        on_list_tools=handlers.list_tools,
        on_call_tool=handlers.call_tool,
        on_list_resources=handlers.list_resources,
        on_list_resource_templates=handlers.list_templates,
        on_read_resource=handlers.read_resource,
    )
    return made


def instructions_of(served: Served) -> str:
    """What a client is told of the indexes before it asks."""
    served.renew()
    listed = tools.status(served, asked.Status()).indexes if served.indexes else []
    lines = [
        f"- {one.name}: {one.problem}"
        if one.problem
        else f"- {one.name}: {one.documents:,} documents of {one.folder}, brought up to date {one.updated}"
        for one in listed
    ]
    return "\n".join(
        (
            "Search in folders of text by meaning and words. search finds passages, fetch reads them; answer from what "
            "fetch gives, with its `place`. explain and why_not say why a passage was found, or a document was not. "
            "Indexes, which are all asked where none is named:",
            *(lines or ["There is no index yet. Make one with: seewhy index FOLDER"]),
        )
    )


class _Handlers:
    """What the SDK calls."""

    def __init__(self, served: Served, run: Run) -> None:
        self._served, self._run = served, run
        self._tools = {tool.name: tool for tool in TOOLS}

    async def list_tools(self, context: Any, given: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_described(tool) for tool in TOOLS])

    async def call_tool(self, context: Any, given: types.CallToolRequestParams) -> types.CallToolResult:
        tool = self._tools.get(given.name)
        if tool is None:
            raise MCPError(types.INVALID_PARAMS, f"there is no tool '{given.name}'.")
        try:
            arguments = tool.asked.model_validate(given.arguments or {})
            answer = await self._run(partial(self._answer, tool.work, arguments))
        except Exception as error:
            said = types.TextContent(type="text", text=_said(error))
            return types.CallToolResult(content=[said], is_error=True)
        return _answered(answer)

    def _answer(self, work: Callable[[Served, Any], Answer], given: Any) -> Answer:
        self._served.renew()
        return work(self._served, given)

    async def list_resources(self, context: Any, given: Any) -> types.ListResourcesResult:
        """None by itself: documents are found by search, and read by the template."""
        return types.ListResourcesResult(resources=[])

    async def list_templates(self, context: Any, given: Any) -> types.ListResourceTemplatesResult:
        template = types.ResourceTemplate(
            uri_template=f"{SCHEME}://{{index}}/{{+path}}",
            name="document",
            title="A document of an index",
            description="A whole document by its path within the indexed folder, as the index holds it.",
            mime_type="text/plain",
        )
        return types.ListResourceTemplatesResult(resource_templates=[template])

    async def read_resource(
        self, context: Any, given: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        uri = str(given.uri)
        try:
            text = await self._run(partial(self._answer, _document, uri))
        except SearchError as error:
            raise MCPError(types.INVALID_PARAMS, str(error), {"uri": uri}) from None
        content = types.TextResourceContents(uri=uri, mime_type="text/plain", text=text)
        return types.ReadResourceResult(contents=[content])


def _described(tool: Tool) -> types.Tool:
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.about,
        input_schema=_schema(tool.asked),
        output_schema=_schema(tool.answered),
        annotations=types.ToolAnnotations(
            read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
        ),
    )


def _schema(record: type[BaseModel]) -> dict[str, Any]:
    """The JSON Schema of a record, without the titles that only say its names again: models pay for each word."""
    return _untitled(record.model_json_schema())


def _untitled(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_untitled(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        name: _untitled(value)
        for name, value in schema.items()
        if name != "title" or not isinstance(value, str)
    }


def _answered(answer: BaseModel) -> types.CallToolResult:
    """An answer as JSON, as text too; with a link to the document of a text."""
    content: list[types.ContentBlock] = [types.TextContent(type="text", text=written(answer))]
    if isinstance(answer, answers.Fetched):
        document = answer.place.rpartition(":")[0]
        uri = uri_of(PassageId.of(answer.id).index, document)
        content.append(types.ResourceLink(uri=uri, name=document, title=answer.title))
    structured = answer.model_dump(exclude_none=True)
    return types.CallToolResult(content=content, structured_content=structured)


def _said(error: Exception) -> str:
    """An error in plain English, with the way out."""
    if isinstance(error, ValidationError):
        return about_parameters([{**one, "loc": ("arguments", *one["loc"])} for one in error.errors()])
    if is_of_memory(error):
        return "there is not enough memory for that now; try again later."
    if isinstance(error, SearchError):
        return str(error)
    _log.error("a tool failed", exc_info=error)
    return "the server failed at that; what it prints to standard error says how."


def _document(served: Served, uri: str) -> str:
    """The text of a document.

    Raises:
        InputError: there is no such document, or it is too long to be sent whole.
    """
    name, path = of_uri(uri)
    index = served.index(name)
    for one in index.documents_named(path, 10_000):
        if one.name == path:
            document = document_of(index, one.id)
            text = readable(document, 0, len(document.text))
            if len(text) <= _LONGEST_DOCUMENT:
                return text
            raise InputError(
                f"'{path}' has {len(text):,} characters, more than are sent at once. Search in it, with "
                f"where=path:{path}, and fetch the lines that you need."
            )
    raise InputError(f"the index '{name}' has no document '{path}'. Take its path from `place` of a hit.")
