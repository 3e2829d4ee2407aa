"""The server of the SDK with tools and documents, and over standard input and output."""

from __future__ import annotations

import signal
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Annotated, Any, TypeVar

from anyio.to_thread import run_sync
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ResourceNotFoundError, ToolError
from mcp.server.mcpserver.tools import Tool
from mcp_types import CallToolResult, ContentBlock, ResourceLink, TextContent, ToolAnnotations

import search
from search.errors import InputError, SearchError
from search.serving.mcp import fetching, tools
from search.serving.mcp.answers import SCHEME, Fetched, PassageId, uri_of, written
from search.serving.served import Served

Answer = TypeVar("Answer")
Work = Callable[[], Answer]
Run = Callable[[Work[Any]], Awaitable[Any]]

_LONGEST_DOCUMENT = 80_000  # characters; clients refuse answers that are much longer
_READS = ToolAnnotations(
    read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)


def server(served: Served, run: Run = run_sync) -> MCPServer[Any]:
    """A server of the protocol.

    Args:
        served: the indexes that can be asked.
        run: runs work in a thread.
    """

    async def answered(work: Callable[..., Answer], **arguments: Any) -> Answer:
        def answer() -> Answer:
            served.renew()
            return work(served, **arguments)

        found: Answer = await run(answer)
        return found

    made: MCPServer[Any] = MCPServer(
        "seewhy",
        version=search.__version__,
        title="seewhy",
        description="Semantic search that shows its working.",
        instructions=instructions_of(served),
        log_level="ERROR",
        tools=[_offered(tool, partial(answered, tool.function)) for tool in tools.TOOLS],
    )

    @made.resource(f"{SCHEME}://{{index}}/{{+path}}", name="document", title="A document of an index")
    async def document(index: str, path: str) -> str:
        """A whole document by its path within the indexed folder, as the index holds it."""
        try:
            return await answered(_document, index=index, path=path)
        except SearchError as error:
            raise ResourceNotFoundError(str(error)) from None

    return made


def answer(served: Served) -> None:
    """Answer a client that started this process, until standard input ends."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # the SDK would wait for a line that it has begun to read
    server(served).run()


def instructions_of(served: Served) -> str:
    """What a client is told of the indexes before it asks."""
    served.renew()
    lines = [
        f"- {one.name}: {one.problem}"
        if one.problem
        else f"- {one.name}: {one.documents:,} documents of {one.folder}, brought up to date {one.updated}"
        for one in (tools.status(served).indexes if served.indexes else [])
    ]
    return "\n".join(
        (
            "Search in folders of text by meaning and words. search finds passages, fetch reads them; answer from what "
            "fetch gives, with its `place`. explain and why_not say why a passage was found, or a document was not. "
            "Indexes, which are all asked where none is named:",
            *(lines or ["There is no index yet. Make one with: seewhy index FOLDER"]),
        )
    )


def _offered(tool: tools.Tool, answered: Callable[..., Awaitable[Any]]) -> Tool:
    """A tool as the SDK takes it; an argument that it does not know is refused."""

    async def call(**arguments: Any) -> CallToolResult:
        try:
            return _result(await answered(**arguments))
        except SearchError as error:
            raise ToolError(str(error)) from None

    returned: Any = Annotated[CallToolResult, tool.signature.return_annotation]
    call.__signature__ = tool.signature.replace(return_annotation=returned)  # type: ignore[attr-defined]
    made = Tool.from_function(
        call,
        name=tool.function.__name__,
        title=tool.title,
        description=" ".join((tool.function.__doc__ or "").split()),
        annotations=_READS,
    )
    model = made.fn_metadata.arg_model
    model.model_config["extra"] = "forbid"
    model.model_rebuild(force=True)
    made.parameters = _untitled(model.model_json_schema())
    made.fn_metadata.output_schema = _untitled(made.fn_metadata.output_schema)
    return made


def _untitled(schema: Any) -> Any:
    """A schema without titles, which only repeat names: models pay for each word."""
    if isinstance(schema, list):
        return list(map(_untitled, schema))
    if not isinstance(schema, dict):
        return schema
    kept = {name: _untitled(value) for name, value in schema.items()}
    if isinstance(kept.get("title"), str):
        del kept["title"]
    return kept


def _result(answer: Any) -> CallToolResult:
    """An answer as JSON, as text too; with a link to the document of a text."""
    content: list[ContentBlock] = [TextContent(type="text", text=written(answer))]
    if isinstance(answer, Fetched):
        document = answer.place.rpartition(":")[0]
        uri = uri_of(PassageId.of(answer.id).index, document)
        content.append(ResourceLink(uri=uri, name=document, title=answer.title))
    return CallToolResult(content=content, structured_content=answer.model_dump(exclude_none=True))


def _document(served: Served, index: str, path: str) -> str:
    """The text of a document.

    Raises:
        InputError: there is no such document, or it is too long to be sent whole.
    """
    there = served.index(index)
    for one in there.documents_named(path, 10_000):
        if one.name == path:
            document = fetching.document_of(there, one.id)
            text = fetching.readable(document, 0, len(document.text))
            if len(text) <= _LONGEST_DOCUMENT:
                return text
            raise InputError(
                f"'{path}' has {len(text):,} characters, more than are sent at once. Search in it, with "
                f"where=path:{path}, and fetch the lines that you need."
            )
    raise InputError(f"the index '{index}' has no document '{path}'. Take its path from `place` of a hit.")
