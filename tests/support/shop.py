"""One small server with every kind of tool and View, built on each kind of server that Fanlight takes."""

from dataclasses import dataclass
from typing import Any, Literal

import mcp_types as types
from fastmcp import FastMCP
from mcp.server import MCPServer
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from fanlight import Apps, Csp, View, negotiate

Kind = Literal["MCPServer", "FastMCP", "lowlevel"]
HIGH_LEVEL: tuple[Kind, ...] = ("MCPServer", "FastMCP")
ALL_KINDS: tuple[Kind, ...] = ("MCPServer", "FastMCP", "lowlevel")

CART_URI = "ui://shop/cart"
BLOB_URI = "ui://shop/blob"
CART_HTML = "<!doctype html><html><head><title>Cart</title></head><body>Cärt</body></html>"


@dataclass
class Cart:
    items: list[str]
    total: int


CART = Cart(items=["tea", "milk"], total=7)


def cart_view() -> View:
    return View.html(
        CART_HTML,
        uri=CART_URI,
        name="cart",
        description="What is in the cart.",
        csp=Csp(
            connect_domains=["https://api.example.com", "wss://live.example.com"],
            resource_domains=["https://*.cdn.example.com"],
            frame_domains=["https://player.example.com"],
            base_uri_domains=["https://base.example.com"],
        ),
        permissions=["camera", "microphone", "geolocation", "clipboard-write"],
        domain="shop.example.com",
        prefers_border=True,
    )


def build(kind: Kind, mode: Literal["strict", "always"] = "strict") -> Any:
    if kind == "lowlevel":
        return _lowlevel(mode)
    server: MCPServer[Any] | FastMCP[Any] = MCPServer("shop") if kind == "MCPServer" else FastMCP("shop")
    apps = Apps(server, negotiate=mode)
    apps.view(cart_view())
    apps.view(View.html(CART_HTML, uri=BLOB_URI, name="blob", encoding="blob"))
    apps.view(View.html(CART_HTML, uri="ui://shop/unlisted", name="unlisted", listed=False))

    @apps.tool(view=CART_URI)
    def show_cart() -> Cart:
        "Show the cart."
        return CART

    @apps.tool(view=CART_URI, visibility=["app"])
    async def pay(amount: int) -> str:
        "Pay for the cart."
        return f"paid {amount}"

    @apps.tool(view=CART_URI, visibility=["model", "app"])
    def both() -> str:
        "Both may call this."
        return "both"

    @apps.tool(view=CART_URI, visibility=["model"])
    def ask() -> str:
        "Only the model may call this."
        return "asked"

    @server.tool()
    def plain(name: str = "you") -> str:
        "No UI at all."
        return f"hello {name}"

    @server.resource("note://hello", mime_type="text/plain")
    def note() -> str:
        return "a note"

    return server


def _lowlevel(mode: Literal["strict", "always"]) -> Server[Any]:
    view = cart_view()
    empty = {"type": "object"}
    tools = [
        types.Tool(name="show_cart", input_schema=empty, _meta=view.tool_meta()),
        types.Tool(name="pay", input_schema=empty, _meta=view.tool_meta(visibility=["app"])),
        types.Tool(name="plain", input_schema=empty),
    ]

    async def list_tools(ctx: Any, params: Any) -> types.ListToolsResult:
        # Two pages, so that a hidden tool on the second one is found too.
        if params.cursor is None:
            return types.ListToolsResult(tools=tools[:1], next_cursor="2")
        return types.ListToolsResult(tools=tools[1:])

    async def call_tool(ctx: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        if params.name not in {tool.name for tool in tools}:
            raise MCPError(types.INVALID_PARAMS, f"There is no tool {params.name!r}.", {"tool": params.name})
        return types.CallToolResult(content=[types.TextContent(type="text", text=f"called {params.name}")])

    async def list_resources(ctx: Any, params: Any) -> types.ListResourcesResult:
        return types.ListResourcesResult(resources=[view.resource(), types.Resource(uri="note://hello", name="note")])

    async def read_resource(ctx: Any, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        if params.uri == view.uri:
            return types.ReadResourceResult(contents=await view.contents())
        if params.uri == "note://hello":
            return types.ReadResourceResult(contents=[types.TextResourceContents(uri=params.uri, text="a note")])
        raise MCPError(types.INVALID_PARAMS, f"There is no resource {params.uri}.", {"uri": params.uri})

    server: Server[Any] = Server(
        "shop",
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_read_resource=read_resource,
    )
    negotiate(server, mode)
    return server
