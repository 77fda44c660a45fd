"""A server that replays recorded results and documents, so that Views can be shown without calling tools again."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import mcp_types as types
from mcp import MCPError
from mcp.server.lowlevel import Server

from fanlight.protocol.extension import MIME_TYPE

if TYPE_CHECKING:
    from fanlight.check.scripted_host import SceneSetup


def replay_server(setups: "Sequence[SceneSetup]") -> tuple[Server[Any], list[str]]:
    """Return a server with a tool for each View, and the names of these tools. The real server runs all other tools."""
    names = [f"show-{i}" for i in range(len(setups))]
    by_name = dict(zip(names, setups, strict=True))
    by_uri = {setup.document.uri: setup for setup in setups}

    async def list_tools(ctx: Any, params: Any) -> types.ListToolsResult:
        shown = [_tool(name, setup) for name, setup in by_name.items()]
        others = {str(tool.get("name")): tool for setup in setups for tool in setup.tools}
        return types.ListToolsResult(tools=[*shown, *(_other(tool) for tool in others.values())])

    async def call_tool(ctx: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        if (setup := by_name.get(params.name)) is not None:
            return types.CallToolResult.model_validate(setup.result)
        asked = {"name": params.name, "arguments": params.arguments or {}}
        response = await setups[0].respond("tools/call", asked)
        if "error" in response:
            raise MCPError(response["error"]["code"], response["error"]["message"])
        return types.CallToolResult.model_validate(response["result"])

    async def read_resource(ctx: Any, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        setup = by_uri.get(params.uri)
        if setup is None:
            response = await setups[0].respond("resources/read", {"uri": params.uri})
            if "error" in response:
                raise MCPError(response["error"]["code"], response["error"]["message"])
            return types.ReadResourceResult.model_validate(response["result"])
        meta = {"ui": setup.document.ui} if setup.document.ui else None
        item = types.TextResourceContents(uri=params.uri, mime_type=MIME_TYPE, text=setup.document.html, _meta=meta)
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


def _tool(name: str, setup: "SceneSetup") -> types.Tool:
    return types.Tool(
        name=name,
        title=str(setup.tool.get("name", name)),
        input_schema={"type": "object"},
        _meta={"ui": {"resourceUri": setup.document.uri}},
    )


def _other(tool: dict[str, Any]) -> types.Tool:
    meta = tool.get("_meta")
    of_view = meta if isinstance(meta, dict) else None
    return types.Tool(name=str(tool.get("name")), input_schema={"type": "object"}, _meta=of_view)
