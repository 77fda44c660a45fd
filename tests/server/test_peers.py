"""Servers that use Fanlight, with the clients of the SDK and of FastMCP."""

from collections.abc import Sequence
from typing import Any

import pytest
from fastmcp import Client as FastMCPClient
from mcp import Client
from mcp.client.extension import ClientExtension, advertise
from mcp_types import TextResourceContents

from fanlight.protocol.extension import EXTENSION_ID, MIME_TYPE
from support.shop import ALL_KINDS, CART_HTML, CART_URI, HIGH_LEVEL, Kind, build

pytestmark = pytest.mark.anyio

WITH_APPS: Sequence[ClientExtension] = [advertise(EXTENSION_ID, {"mimeTypes": [MIME_TYPE]})]


@pytest.mark.parametrize("kind", ALL_KINDS)
@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_the_client_of_the_sdk_gets_apps_if_it_negotiates_them(kind: Kind, mode: Any) -> None:
    server = build(kind)
    core = server if kind != "FastMCP" else server._mcp_server
    async with Client(core, mode=mode, extensions=WITH_APPS) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert (tools["show_cart"].meta or {})["ui"]["resourceUri"] == CART_URI
        (item,) = (await client.read_resource(CART_URI)).contents
        assert isinstance(item, TextResourceContents)
        assert item.text == CART_HTML
    async with Client(core, mode=mode) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert "ui" not in (tools["show_cart"].meta or {})
        assert (await client.call_tool("show_cart", {})).content
        assert [str(entry.uri) for entry in (await client.list_resources()).resources] == ["note://hello"]


@pytest.mark.parametrize("kind", HIGH_LEVEL)
async def test_the_client_of_fastmcp_gets_apps_if_it_negotiates_them(kind: Kind) -> None:
    server = build(kind)
    async with FastMCPClient(server, extensions=WITH_APPS) as client:
        assert "pay" in [tool.name for tool in await client.list_tools()]
        assert [item.text for item in await client.read_resource(CART_URI)] == [CART_HTML]
    async with FastMCPClient(server) as client:
        assert "pay" not in [tool.name for tool in await client.list_tools()]
        with pytest.raises(Exception, match=r"Unknown tool: '?pay'?"):
            await client.call_tool("pay", {"amount": 1})
