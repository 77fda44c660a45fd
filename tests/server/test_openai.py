"""ChatGPT's metadata keys next to those of the standard."""

from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from fastmcp import FastMCP
from mcp.server import MCPServer
from mcp.server.lowlevel import Server
from mcp.server.mcpserver import Context

from fanlight import Apps, Csp, RegistrationError, View, browser, negotiate
from support.shop import ALL_KINDS, HIGH_LEVEL, Kind
from support.wire import NO_UI, UI, VERSIONS, WireError, in_memory

pytestmark = pytest.mark.anyio

PAGE = "<!doctype html><title>Cart</title><script type=module>import { App } from 'fanlight';</script>"
CSP = Csp(
    connect_domains=["https://api.example.com"],
    resource_domains=["https://cdn.example.com"],
    frame_domains=["https://player.example.com"],
    base_uri_domains=["https://base.example.com"],
)
# What ChatGPT sends: today, and before it named the extension.
CHATGPT = {"experimental": {"openai/visibility": {"enabled": True}}, **UI}
OLDER_CHATGPT = {"experimental": {"openai/visibility": {"enabled": True}}}


def view(**options: Any) -> View:
    return View.html(PAGE, uri="ui://shop/cart", csp=CSP, domain="shop.example.com", prefers_border=False, **options)


def build(kind: Kind, mode: Any = "strict", also: Any = ("openai",)) -> Any:
    if kind == "lowlevel":
        return _lowlevel(mode, also)
    server: Any = MCPServer("shop") if kind == "MCPServer" else FastMCP("shop")
    apps = Apps(server, negotiate=mode, also=also)
    cart = view()
    options: Any = {"invoking": "Looking", "invoked": "Looked"} if also else {}

    @apps.tool(view=cart, **options)
    def show() -> str:
        return "shown"

    @apps.tool(view=cart, visibility=["app"])
    def pay() -> str:
        return "paid"

    @apps.tool(visibility=["model"], meta={"openai/fileParams": ["a"], "own": 1})
    def ask() -> str:
        return "asked"

    return server


def _lowlevel(mode: Any, also: Any) -> Server[Any]:
    cart = view(also=also)
    options: Any = {"invoking": "Looking", "invoked": "Looked"} if also else {}
    plain = View.html(PAGE, uri="ui://shop/plain", also=also)

    async def list_tools(ctx: Any, params: Any) -> types.ListToolsResult:
        def tool(name: str, meta: dict[str, Any]) -> types.Tool:
            return types.Tool(name=name, input_schema={"type": "object"}, _meta=meta)

        ask = {key: value for key, value in plain.tool_meta(["model"]).items() if "emplate" not in key}
        ask["ui"] = {"visibility": ["model"]}
        ask.pop("ui/resourceUri")
        return types.ListToolsResult(
            tools=[
                tool("show", cart.tool_meta(**options)),
                tool("pay", cart.tool_meta(["app"])),
                tool("ask", ask | {"openai/fileParams": ["a"], "own": 1}),
            ]
        )

    async def call_tool(ctx: Any, params: Any) -> types.CallToolResult:
        return types.CallToolResult(content=[types.TextContent(type="text", text=params.name)])

    async def list_resources(ctx: Any, params: Any) -> types.ListResourcesResult:
        return types.ListResourcesResult(resources=[cart.resource()])

    async def read_resource(ctx: Any, params: Any) -> types.ReadResourceResult:
        return types.ReadResourceResult(contents=await cart.contents())

    server: Server[Any] = Server(
        "shop",
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_read_resource=read_resource,
    )
    negotiate(server, mode, also)
    return server


kinds = pytest.mark.parametrize("kind", ALL_KINDS)


@kinds
@pytest.mark.parametrize(
    "client_capabilities", [UI, CHATGPT, OLDER_CHATGPT], ids=["any host", "ChatGPT", "older ChatGPT"]
)
@pytest.mark.parametrize("version", ["2025-11-25", "2026-07-28"])
async def test_tools_and_views_have_the_keys_of_the_standard_and_of_chatgpt(
    kind: Kind, client_capabilities: dict[str, Any], version: str
) -> None:
    async with in_memory(build(kind), version, client_capabilities) as client:
        tools = {name: tool["_meta"] for name, tool in (await client.tools()).items()}
        show, pay, ask = tools["show"], tools["pay"], tools["ask"]
        assert show["ui"] == {"resourceUri": "ui://shop/cart"}
        assert {key: value for key, value in show.items() if key.startswith("openai/")} == {
            "openai/outputTemplate": "ui://shop/cart",
            "openai/widgetAccessible": True,
            "openai/visibility": "public",
            "openai/toolInvocation/invoking": "Looking",
            "openai/toolInvocation/invoked": "Looked",
        }
        assert {key: value for key, value in pay.items() if key.startswith("openai/")} == {
            "openai/outputTemplate": "ui://shop/cart",
            "openai/widgetAccessible": True,
            "openai/visibility": "private",
        }
        assert {key: value for key, value in ask.items() if key.startswith("openai/")} == {
            "openai/widgetAccessible": False,
            "openai/visibility": "public",
            "openai/fileParams": ["a"],
        }
        for wire in ((await client.resources())["ui://shop/cart"], await client.read("ui://shop/cart")):
            assert {key: value for key, value in wire["_meta"].items() if key.startswith("openai/")} == {
                "openai/widgetCSP": {
                    "connect_domains": ["https://api.example.com"],
                    "resource_domains": ["https://cdn.example.com"],
                    "frame_domains": ["https://player.example.com"],
                },
                "openai/widgetDomain": "https://shop.example.com",
                "openai/widgetPrefersBorder": False,
            }
            assert wire["_meta"]["ui"]["csp"] == CSP.wire()
            assert wire["mimeType"] == "text/html;profile=mcp-app"
        assert (await client.read("ui://shop/cart"))["text"].count(browser.view_sdk(openai=True)) == 1


@kinds
async def test_a_client_without_apps_sees_neither_kind_of_keys(kind: Kind) -> None:
    async with in_memory(build(kind), "2025-11-25", NO_UI) as client:
        tools = await client.tools()
        assert set(tools) == {"show", "ask"}
        assert "_meta" not in tools["show"] or not set(tools["show"]["_meta"]) & {"ui", "openai/outputTemplate"}
        assert {key: value for key, value in tools["ask"]["_meta"].items() if key in ("openai/fileParams", "own")} == {
            "openai/fileParams": ["a"],
            "own": 1,
        }
        assert not {key for key in tools["ask"]["_meta"] if "isib" in key or "widget" in key}
        assert await client.resources() == {}
        with pytest.raises(WireError):
            await client.read("ui://shop/cart")
        assert "extensions" not in client.server_capabilities


@kinds
async def test_always_shows_the_keys_to_every_client(kind: Kind) -> None:
    async with in_memory(build(kind, "always"), "2025-11-25", NO_UI) as client:
        assert (await client.tools())["show"]["_meta"]["openai/outputTemplate"] == "ui://shop/cart"
        assert "openai/widgetCSP" in (await client.read("ui://shop/cart"))["_meta"]


@kinds
async def test_without_also_there_are_no_keys_for_chatgpt_and_it_is_an_ordinary_client(kind: Kind) -> None:
    async with in_memory(build(kind, also=()), "2025-11-25", UI) as client:
        tools = await client.tools()
        assert not [key for name in ("show", "pay") for key in tools[name]["_meta"] if key.startswith("openai/")]
        read = await client.read("ui://shop/cart")
        assert set(read["_meta"]) == {"ui"}
        assert browser.view_sdk() in read["text"]
        assert "window.openai" not in read["text"]
    async with in_memory(build(kind, also=()), "2025-11-25", OLDER_CHATGPT) as client:
        assert set(await client.tools()) == {"show", "ask"}


@pytest.mark.parametrize("version", VERSIONS)
async def test_supported_is_true_for_chatgpt(version: str) -> None:
    server: MCPServer[Any] = MCPServer("shop")
    apps = Apps(server, also=["openai"])

    @apps.tool()
    def shows(ctx: Context) -> bool:
        return apps.supported(ctx)

    for capabilities, expected in ((OLDER_CHATGPT, "true"), (UI, "true"), (NO_UI, "false")):
        async with in_memory(server, version, capabilities) as client:
            assert (await client.call("shows"))["content"][0]["text"] == expected


@pytest.mark.parametrize("kind", HIGH_LEVEL)
async def test_files_folders_functions_and_existing_views_run_on_window_openai(kind: Kind, tmp_path: Path) -> None:
    server: Any = MCPServer("shop") if kind == "MCPServer" else FastMCP("shop")
    apps = Apps(server, also=["openai"])
    (tmp_path / "file.html").write_text(PAGE, encoding="utf-8")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "index.html").write_text(PAGE, encoding="utf-8")

    def made() -> str:
        return PAGE

    ready = View(tmp_path / "file.html", uri="ui://shop/ready")
    for source in (tmp_path / "file.html", tmp_path / "folder", made, ready):
        apps.view(source)
    async with in_memory(server, "2025-11-25", UI) as client:
        for name in ("file", "folder", "made", "ready"):
            read = await client.read(f"ui://shop/{name}")
            assert browser.view_sdk(openai=True) in read["text"]
            assert read["_meta"]["openai/widgetCSP"] == {"connect_domains": [], "resource_domains": []}


@pytest.mark.parametrize("also", ["openai", ["chatgpt"], None, ["openai", 1]])
def test_an_unknown_dialect_raises(also: Any) -> None:
    for make in (lambda: Apps(MCPServer("a"), also=also), lambda: View.html(PAGE, uri="ui://a/b", also=also)):
        with pytest.raises(RegistrationError, match=r'Write also=\["openai"\]'):
            make()


def test_keys_that_view_and_visibility_imply_cannot_be_given() -> None:
    apps = Apps(MCPServer("a"), also=["openai"])
    for key in ("openai/outputTemplate", "openai/widgetAccessible", "openai/visibility"):
        with pytest.raises(RegistrationError, match=f"{key}.* itself"):
            apps.tool(meta={key: "x"})
    for invalid in ("", "x" * 65, 1):
        with pytest.raises(RegistrationError, match="1 to 64"):
            apps.tool(invoking=invalid)  # type: ignore[arg-type]
    with pytest.raises(RegistrationError, match="options for ChatGPT"):
        Apps(MCPServer("a")).tool(invoked="Done")
    with pytest.raises(RegistrationError, match="options for ChatGPT"):
        View.html(PAGE, uri="ui://a/b").tool_meta(invoking="Doing")
