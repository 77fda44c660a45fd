"""A server that stands in for the one that is checked, so that its Views are shown without asking it for them again."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import mcp_types as types
from mcp import MCPError
from mcp.server.lowlevel import Server

from fanlight.protocol.extension import MIME_TYPE

if TYPE_CHECKING:
    from fanlight.check.scripted_host import Part


def stand_in(parts: "Sequence[Part]") -> tuple[Server[Any], list[str]]:
    """Return a server with a tool for each View, and the tools' names. Other tools are asked of the real server."""
    names = [f"show-{i}" for i in range(len(parts))]
    by_name = dict(zip(names, parts, strict=True))
    by_uri = {part.document.uri: part for part in parts}

    async def list_tools(ctx: Any, params: Any) -> types.ListToolsResult:
        shown = [_tool(name, part) for name, part in by_name.items()]
        others = {str(tool.get("name")): tool for part in parts for tool in part.tools}
        return types.ListToolsResult(tools=[*shown, *(_other(tool) for tool in others.values())])

    async def call_tool(ctx: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        if (part := by_name.get(params.name)) is not None:
            return types.CallToolResult.model_validate(part.result)
        asked = {"name": params.name, "arguments": params.arguments or {}}
        answer = await parts[0].answers("tools/call", asked)
        if "error" in answer:
            raise MCPError(answer["error"]["code"], answer["error"]["message"])
        return types.CallToolResult.model_validate(answer["result"])

    async def read_resource(ctx: Any, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        part = by_uri.get(params.uri)
        if part is None:
            answer = await parts[0].answers("resources/read", {"uri": params.uri})
            if "error" in answer:
                raise MCPError(answer["error"]["code"], answer["error"]["message"])
            return types.ReadResourceResult.model_validate(answer["result"])
        meta = {"ui": part.document.ui} if part.document.ui else None
        item = types.TextResourceContents(uri=params.uri, mime_type=MIME_TYPE, text=part.document.html, _meta=meta)
        return types.ReadResourceResult(contents=[item])

    async def list_resources(ctx: Any, params: Any) -> types.ListResourcesResult:
        return types.ListResourcesResult(resources=[])

    server: Server[Any] = Server(
        "fanlight-check",
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_read_resource=read_resource,
        on_list_resources=list_resources,
    )
    return server, names


def _tool(name: str, part: "Part") -> types.Tool:
    return types.Tool(
        name=name,
        title=str(part.tool.get("name", name)),
        input_schema={"type": "object"},
        _meta={"ui": {"resourceUri": part.document.uri}},
    )


def _other(tool: dict[str, Any]) -> types.Tool:
    meta = tool.get("_meta")
    of_view = meta if isinstance(meta, dict) else None
    return types.Tool(name=str(tool.get("name")), input_schema={"type": "object"}, _meta=of_view)
