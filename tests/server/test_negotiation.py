import logging
from typing import Any

import mcp_types as types
import pytest
from fastmcp import FastMCP
from fastmcp.apps import AppConfig
from mcp.server import CacheHint, MCPServer
from mcp.server.apps import Apps as SdkApps
from mcp.server.lowlevel import Server
from mcp.server.mcpserver import Context

from fanlight import Apps, RegistrationError, View, negotiate
from fanlight.protocol.extension import EXTENSION_ID, MIME_TYPE
from support.forked import over_forked_stdio
from support.shop import ALL_KINDS, CART_HTML, CART_URI, HIGH_LEVEL, Kind, build
from support.wire import (
    NO_UI,
    UI,
    VERSIONS,
    Connect,
    Wire,
    WireError,
    at_url,
    in_memory,
    over_http,
    serving,
)

pytestmark = pytest.mark.anyio

versions = pytest.mark.parametrize("version", VERSIONS)
kinds = pytest.mark.parametrize("kind", ALL_KINDS)


async def assert_sees_everything(client: Wire) -> None:
    assert EXTENSION_ID in client.server_capabilities["extensions"]
    assert (await tools_of(client))["show_cart"]["_meta"]["ui"] == {"resourceUri": CART_URI}
    assert "pay" in await tools_of(client)
    assert CART_URI in await client.resources()
    assert (await client.read(CART_URI))["text"] == CART_HTML
    assert not (await client.call("pay", amount=1)).get("isError")


async def assert_sees_text_only(client: Wire) -> None:
    assert EXTENSION_ID not in client.server_capabilities.get("extensions", {})
    tools = await tools_of(client)
    assert "pay" not in tools
    assert "ui://" not in str(tools)
    assert set(await client.resources()) == {"note://hello"}
    with pytest.raises(WireError, match=CART_URI) as hidden:
        await client.read(CART_URI)
    with pytest.raises(WireError, match="ui://shop/nosuch") as unknown:
        await client.read("ui://shop/nosuch")
    assert str(hidden.value.error) == str(unknown.value.error).replace("ui://shop/nosuch", CART_URI)
    assert await outcome(client, "pay") == (await outcome(client, "nosuch")).replace("nosuch", "pay")
    assert (await client.call("show_cart"))["content"][0]["text"]


async def tools_of(client: Wire) -> dict[str, Any]:
    page = await client.request("tools/list")
    tools = page["tools"]
    if "nextCursor" in page:
        tools += (await client.request("tools/list", {"cursor": page["nextCursor"]}))["tools"]
    return {tool["name"]: tool for tool in tools}


async def outcome(client: Wire, tool: str) -> str:
    try:
        return str(await client.call(tool, amount=1))
    except WireError as error:
        return str(error.error)


@versions
@kinds
@pytest.mark.parametrize("connect", [in_memory, over_http], ids=["memory", "http"])
async def test_a_client_gets_all_of_the_apps_or_none_of_them(connect: Connect, kind: Kind, version: str) -> None:
    server = build(kind)
    async with connect(server, version, UI) as client:
        await assert_sees_everything(client)
    async with connect(build(kind) if connect is over_http else server, version, NO_UI) as client:
        await assert_sees_text_only(client)


@versions
@kinds
@pytest.mark.process
async def test_a_client_gets_all_of_the_apps_or_none_of_them_over_stdio(kind: Kind, version: str) -> None:
    async with over_forked_stdio(kind, version, UI) as client:
        await assert_sees_everything(client)
    async with over_forked_stdio(kind, version, NO_UI) as client:
        await assert_sees_text_only(client)


@versions
@kinds
async def test_the_capability_is_also_read_from_experimental(kind: Kind, version: str) -> None:
    older = {"experimental": {EXTENSION_ID: {"mimeTypes": [MIME_TYPE]}}}
    async with in_memory(build(kind), version, older) as client:
        await assert_sees_everything(client)


@pytest.mark.parametrize(
    "spelling", ["text/html; profile=mcp-app", "TEXT/HTML;PROFILE=mcp-app", 'text/html;profile="mcp-app"']
)
async def test_equivalent_spellings_of_the_mime_type_are_accepted(spelling: str) -> None:
    capabilities = {"extensions": {EXTENSION_ID: {"mimeTypes": ["text/plain", spelling]}}}
    async with in_memory(build("MCPServer"), "2025-11-25", capabilities) as client:
        await assert_sees_everything(client)


@versions
@kinds
async def test_always_sends_everything_to_everyone(kind: Kind, version: str) -> None:
    async with in_memory(build(kind, "always"), version, NO_UI) as client:
        await assert_sees_everything(client)


async def test_a_modern_connection_negotiates_for_each_request() -> None:
    async with in_memory(build("MCPServer"), "2026-07-28", UI) as client:
        await assert_sees_everything(client)
        client._capabilities = NO_UI
        assert "pay" not in await client.tools()
        assert CART_URI not in await client.resources()


@versions
@pytest.mark.parametrize("kind", HIGH_LEVEL)
async def test_an_unlisted_view_is_read_but_never_listed(kind: Kind, version: str) -> None:
    async with in_memory(build(kind), version, UI) as client:
        assert "ui://shop/unlisted" not in await client.resources()
        assert (await client.read("ui://shop/unlisted"))["text"] == CART_HTML


@versions
async def test_negotiate_serves_a_server_built_with_the_sdks_own_apps(version: str) -> None:
    sdk = SdkApps()
    sdk.add_html_resource("ui://sdk/app", CART_HTML)

    @sdk.tool(resource_uri="ui://sdk/app", visibility=["app"])
    def secret() -> str:
        "Only for the View."
        return "secret"

    @sdk.tool(resource_uri="ui://sdk/app")
    def shown() -> str:
        "For everyone."
        return "shown"

    server = MCPServer("sdk", extensions=[sdk])
    negotiate(server)
    async with in_memory(server, version, UI) as client:
        assert set(await client.tools()) == {"secret", "shown"}
        assert (await client.tools())["shown"]["_meta"]["ui"]["resourceUri"] == "ui://sdk/app"
        assert EXTENSION_ID in client.server_capabilities["extensions"]
    async with in_memory(server, version, NO_UI) as client:
        assert EXTENSION_ID not in client.server_capabilities.get("extensions", {})
        assert await outcome(client, "secret") == (await outcome(client, "nosuch")).replace("nosuch", "secret")
        assert set(await client.tools()) == {"shown"}
        assert "_meta" not in (await client.tools())["shown"]
        assert await client.resources() == {}


@versions
async def test_negotiate_serves_a_fastmcp_server_built_with_app_config(version: str) -> None:
    server: FastMCP[Any] = FastMCP("own")

    @server.tool(app=AppConfig(resource_uri="ui://own/app", visibility=["app"]))
    def secret() -> str:
        "Only for the View."
        return "secret"

    @server.resource("ui://own/app", mime_type=MIME_TYPE)
    def app() -> str:
        return CART_HTML

    negotiate(server)
    async with in_memory(server, version, UI) as client:
        assert set(await client.tools()) == {"secret"}
        assert set(await client.resources()) == {"ui://own/app"}
    async with in_memory(server, version, NO_UI) as client:
        assert await client.tools() == {}
        assert await client.resources() == {}
        assert await outcome(client, "secret") == (await outcome(client, "nosuch")).replace("nosuch", "secret")


async def test_ui_resource_templates_are_hidden_with_the_rest() -> None:
    server = MCPServer("templates")
    negotiate(server)

    @server.resource("ui://templates/{page}", mime_type=MIME_TYPE)
    def page(page: str) -> str:
        return f"<!doctype html><title>{page}</title>"

    @server.resource("note://{id}")
    def note(id: str) -> str:
        return id

    async with in_memory(server, "2025-11-25", UI) as client:
        listed = (await client.request("resources/templates/list"))["resourceTemplates"]
        assert [entry["uriTemplate"] for entry in listed] == ["ui://templates/{page}", "note://{id}"]
        assert "<title>one" in (await client.read("ui://templates/one"))["text"]
    async with in_memory(server, "2025-11-25", NO_UI) as client:
        listed = (await client.request("resources/templates/list"))["resourceTemplates"]
        assert [entry["uriTemplate"] for entry in listed] == ["note://{id}"]
        with pytest.raises(WireError, match="ui://templates/one"):
            await client.read("ui://templates/one")


async def test_responses_that_differ_between_clients_are_not_publicly_cacheable() -> None:
    public = CacheHint(ttl_ms=60_000, scope="public")
    hints: Any = {"tools/list": public, "resources/list": public, "server/discover": public, "resources/read": public}
    for mode, scope in (("strict", "private"), ("always", "public")):
        server = MCPServer("cached", cache_hints=hints)
        apps = Apps(server, negotiate=mode)  # type: ignore[arg-type]
        apps.view(View.html(CART_HTML, uri="ui://cached/view"))
        async with in_memory(server, "2026-07-28", UI) as client:
            for method in ("server/discover", "tools/list", "resources/list"):
                assert (await client.request(method))["cacheScope"] == scope, method
            read = await client.request("resources/read", {"uri": "ui://cached/view"})
            assert read["cacheScope"] == scope


async def test_a_ui_key_in_a_tool_result_does_not_reach_a_client_without_ui() -> None:
    server = MCPServer("results")
    apps = Apps(server)

    @apps.tool()
    def chatty() -> types.CallToolResult:
        "Put UI metadata into its result."
        block = types.TextContent(type="text", text="hello")
        return types.CallToolResult(content=[block], _meta={"ui": {"resourceUri": "ui://x/y"}, "mine": 1})

    async with in_memory(server, "2025-11-25", UI) as client:
        assert (await client.call("chatty"))["_meta"] == {"ui": {"resourceUri": "ui://x/y"}, "mine": 1}
    async with in_memory(server, "2025-11-25", NO_UI) as client:
        assert (await client.call("chatty"))["_meta"] == {"mine": 1}


async def test_views_in_a_tool_result_do_not_reach_a_client_without_ui() -> None:
    server = MCPServer("results")
    apps = Apps(server)

    @apps.tool()
    def embeds() -> types.CallToolResult:
        "Hand Views over in its result."
        contents = types.TextResourceContents(uri="ui://x/y", text=CART_HTML, mime_type="text/html")
        blocks: list[types.ContentBlock] = [
            types.EmbeddedResource(type="resource", resource=contents),
            types.ResourceLink(type="resource_link", uri="ui://x/z", name="z"),
            types.ResourceLink(type="resource_link", uri="note://hello", name="note"),
        ]
        return types.CallToolResult(content=blocks)

    async with in_memory(server, "2025-11-25", UI) as client:
        assert len((await client.call("embeds"))["content"]) == 3
    async with in_memory(server, "2025-11-25", NO_UI) as client:
        assert [block["uri"] for block in (await client.call("embeds"))["content"]] == ["note://hello"]


@pytest.mark.parametrize("kind", HIGH_LEVEL)
async def test_hiding_follows_tools_that_are_replaced(kind: Kind) -> None:
    server: MCPServer[Any] | FastMCP[Any] = MCPServer("changing") if kind == "MCPServer" else FastMCP("changing")
    apps = Apps(server)

    def remove(name: str) -> None:
        server.remove_tool(name) if isinstance(server, MCPServer) else server.local_provider.remove_tool(name)

    apps.tool("one")(lambda: "1")
    apps.tool("two", visibility=["app"])(lambda: "2")
    async with in_memory(server, "2025-11-25", NO_UI) as client:
        assert set(await client.tools()) == {"one"}
        remove("one")
        remove("two")
        apps.tool("one", visibility=["app"])(lambda: "1")
        apps.tool("two")(lambda: "2")
        assert (await client.call("two"))["content"][0]["text"] == "2"
        assert await outcome(client, "one") == (await outcome(client, "nosuch")).replace("nosuch", "one")


async def test_the_first_of_two_tools_with_one_name_stays_hidden_if_the_server_keeps_it() -> None:
    server = MCPServer("twice")
    apps = Apps(server)
    apps.tool("pay", visibility=["app"])(lambda: "paid")
    server.tool("pay")(lambda: "paid otherwise")
    async with in_memory(server, "2025-11-25", NO_UI) as client:
        assert "paid" not in await outcome(client, "pay")


async def test_a_server_that_accepts_any_name_still_hides_apps() -> None:
    view = View.html(CART_HTML, uri="ui://any/view")
    hidden = types.Tool(name="poke", input_schema={"type": "object"}, _meta=view.tool_meta(visibility=["app"]))

    async def list_tools(ctx: Any, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[hidden])

    async def call_tool(ctx: Any, params: Any) -> types.CallToolResult:
        return types.CallToolResult(content=[types.TextContent(type="text", text="done")])

    async def read_resource(ctx: Any, params: Any) -> types.ReadResourceResult:
        return types.ReadResourceResult(contents=await view.contents())

    server: Server[Any] = Server(
        "any", on_list_tools=list_tools, on_call_tool=call_tool, on_read_resource=read_resource
    )
    negotiate(server)
    async with in_memory(server, "2025-11-25", UI) as client:
        assert (await client.call("poke"))["content"][0]["text"] == "done"
    async with in_memory(server, "2025-11-25", NO_UI) as client:
        with pytest.raises(WireError, match="Unknown tool: poke"):
            await client.call("poke")
        with pytest.raises(WireError, match="Unknown resource: ui://any/view"):
            await client.read("ui://any/view")


@pytest.mark.parametrize("name", ["back\\slash", "new\nline", "quo'te"])
async def test_the_response_for_a_hidden_name_with_escapes_does_not_reveal_the_decoy(name: str) -> None:
    server: FastMCP[Any] = FastMCP("odd")
    apps = Apps(server)
    apps.tool(name, visibility=["app"])(lambda: "x")
    async with in_memory(server, "2025-11-25", NO_UI) as client:
        assert "hidden" not in await outcome(client, name)


async def test_a_stateless_server_warns_once_that_it_does_not_know_the_client(caplog: pytest.LogCaptureFixture) -> None:
    server = build("MCPServer")
    app = server.streamable_http_app(stateless_http=True)
    with serving(app) as address, caplog.at_level(logging.WARNING, logger="fanlight"):
        async with at_url(f"{address}/mcp", "2025-11-25", UI) as client:
            assert "pay" not in await client.tools()
            assert "pay" not in await client.tools()
    ours = [record.message for record in caplog.records if record.name.startswith("fanlight")]
    assert len(ours) == 1
    assert "negotiate='always'" in ours[0]


async def test_endless_pagination_does_not_hang_a_call() -> None:
    async def list_tools(ctx: Any, params: Any) -> types.ListToolsResult:
        number = int(params.cursor or 0)
        tool = types.Tool(name=f"tool{number}", input_schema={"type": "object"})
        return types.ListToolsResult(tools=[tool], next_cursor=str(number + 1))

    async def call_tool(ctx: Any, params: Any) -> types.CallToolResult:
        return types.CallToolResult(content=[types.TextContent(type="text", text=params.name)])

    server: Server[Any] = Server("endless", on_list_tools=list_tools, on_call_tool=call_tool)
    negotiate(server)
    async with in_memory(server, "2025-11-25", NO_UI) as client:
        assert (await client.call("unlisted"))["content"][0]["text"] == "unlisted"


async def test_a_later_call_of_negotiate_adds_chatgpt_and_keeps_the_apps() -> None:
    server = MCPServer("twice")
    apps = Apps(server)
    apps.view(View.html(CART_HTML, uri=CART_URI, listed=False))
    negotiate(server, also=["openai"])

    @apps.tool(view=CART_URI)
    def show_cart(ctx: Context) -> bool:
        return apps.supported(ctx)

    async with in_memory(server, "2025-11-25", {"experimental": {"openai/visibility": {"enabled": True}}}) as client:
        assert CART_URI not in await client.resources()
        assert (await client.read(CART_URI))["text"] == CART_HTML
        assert (await client.call("show_cart"))["structuredContent"] == {"result": True}


async def test_the_log_says_why_a_hidden_view_is_not_found(caplog: pytest.LogCaptureFixture) -> None:
    server = MCPServer("shop")
    Apps(server).view(View.html(CART_HTML, uri=CART_URI))
    caplog.set_level(logging.INFO)
    async with in_memory(server, "2025-11-25", NO_UI) as client:
        with pytest.raises(WireError) as caught:
            await client.read(CART_URI)

    assert "hidden-because-the-client-did-not-negotiate-mcp-apps-" + CART_URI in caplog.text
    assert "hidden" not in str(caught.value.error)


def test_a_server_negotiates_once_and_in_one_mode() -> None:
    server = MCPServer("twice")
    Apps(server)
    negotiate(server)
    assert len([entry for entry in server.middleware if type(entry).__name__ == "Negotiation"]) == 1
    with pytest.raises(RegistrationError, match="already negotiates 'strict'"):
        negotiate(server, "always")


@pytest.mark.parametrize("mode", ["lax", "", None])
def test_an_unknown_mode_raises(mode: Any) -> None:
    with pytest.raises(RegistrationError, match='expected "strict" or "always"'):
        negotiate(MCPServer("x"), mode)


@pytest.mark.parametrize("server", [None, "server.py", object()])
def test_an_object_that_is_not_a_server_raises_with_the_accepted_types(server: Any) -> None:
    with pytest.raises(RegistrationError, match=r"Expected an mcp\.server\.MCPServer"):
        negotiate(server)
    with pytest.raises(RegistrationError, match=r"Expected an mcp\.server\.MCPServer"):
        Apps(server)


def test_apps_for_a_lowlevel_server_raises_with_a_reference_to_negotiate() -> None:
    with pytest.raises(RegistrationError, match=r"Call negotiate\(server\)"):
        Apps(Server("low"))  # type: ignore[arg-type]
