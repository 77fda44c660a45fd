"""The server cases of the project's test specification, by their ids, sections 1, 2, 3 and 8.

Each runs on every protocol version, on MCPServer and on FastMCP; those of negotiation on a lowlevel
server too.
"""

import base64
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any

import pytest
from fastmcp import FastMCP
from mcp.server import MCPServer

from fanlight import Apps, RegistrationError, negotiate
from fanlight.protocol.extension import EXTENSION_ID, MIME_TYPE
from support.shop import ALL_KINDS, BLOB_URI, CART_HTML, CART_URI, HIGH_LEVEL, Kind, build
from support.wire import NO_UI, UI, VERSIONS, Wire, WireError, in_memory

pytestmark = pytest.mark.anyio

Open = Callable[[dict[str, Any]], Awaitable[Wire]]

negotiation = pytest.mark.parametrize("kind", ALL_KINDS)
on_both = pytest.mark.parametrize("kind", HIGH_LEVEL)

IDS = [
    *(f"mcp-apps-cap-0{n}" for n in range(1, 6)),
    *(f"mcp-apps-res-0{n}" for n in range(1, 10)),
    *(f"mcp-apps-tool-0{n}" for n in range(1, 8)),
    *(f"mcp-apps-reg-0{n}" for n in range(1, 5)),
]


@pytest.fixture(params=VERSIONS)
def version(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
async def connect(kind: Kind, version: str) -> AsyncIterator[Open]:
    server = build(kind)
    async with AsyncExitStack() as stack:

        async def open_with(capabilities: dict[str, Any]) -> Wire:
            return await stack.enter_async_context(in_memory(server, version, capabilities))

        yield open_with


def test_every_case_of_the_specification_is_here() -> None:
    found = {
        mark.args[0]
        for test in globals().values()
        for mark in getattr(test, "pytestmark", [])
        if callable(test) and mark.name == "case"
    }
    assert found == set(IDS)


@pytest.mark.case("mcp-apps-cap-01")
@negotiation
async def test_a_client_with_the_extension_finds_it_in_the_servers_capabilities(connect: Open) -> None:
    client = await connect(UI)
    assert MIME_TYPE in client.server_capabilities["extensions"][EXTENSION_ID]["mimeTypes"]


@pytest.mark.case("mcp-apps-cap-02")
@negotiation
async def test_a_client_without_the_extension_does_not_find_it(connect: Open) -> None:
    client = await connect(NO_UI)
    assert EXTENSION_ID not in client.server_capabilities.get("extensions", {})


@pytest.mark.case("mcp-apps-cap-03")
@negotiation
async def test_our_mime_type_makes_ui_resources_available(connect: Open) -> None:
    client = await connect(UI)
    assert CART_URI in await client.resources()
    assert (await client.read(CART_URI))["text"] == CART_HTML


@pytest.mark.case("mcp-apps-cap-04")
@negotiation
@pytest.mark.parametrize(
    "settings",
    [{"mimeTypes": ["application/vnd.custom"]}, {"mimeTypes": []}, {}, {"mimeTypes": MIME_TYPE}, {"mimeTypes": [7]}],
)
async def test_another_mime_type_degrades_silently(connect: Open, settings: dict[str, Any]) -> None:
    client = await connect({"extensions": {EXTENSION_ID: settings}})
    assert EXTENSION_ID not in client.server_capabilities.get("extensions", {})
    assert CART_URI not in await client.resources()
    assert "ui" not in (await client.tools())["show_cart"].get("_meta", {})


@pytest.mark.case("mcp-apps-cap-05")
@negotiation
async def test_a_ui_tool_returns_text_to_a_client_without_ui(connect: Open) -> None:
    client = await connect(NO_UI)
    result = await client.call("show_cart")
    assert not result.get("isError")
    assert [block["type"] for block in result["content"]]
    assert all(block["type"] == "text" and block["text"] for block in result["content"])
    assert "ui://" not in str(result)


@pytest.mark.case("mcp-apps-res-01")
@on_both
async def test_ui_resources_are_listed_for_a_client_with_ui(connect: Open) -> None:
    entries = {uri: entry for uri, entry in (await (await connect(UI)).resources()).items() if uri.startswith("ui://")}
    assert set(entries) == {CART_URI, BLOB_URI}
    for entry in entries.values():
        assert entry["name"]
        assert entry["description"]
        assert entry["mimeType"] == "text/html;profile=mcp-app"


@pytest.mark.case("mcp-apps-res-02")
@negotiation
async def test_ui_resources_are_not_listed_for_a_client_without_ui(connect: Open) -> None:
    assert set(await (await connect(NO_UI)).resources()) == {"note://hello"}


@pytest.mark.case("mcp-apps-res-03")
@on_both
async def test_a_view_is_read_as_text(connect: Open) -> None:
    item = await (await connect(UI)).read(CART_URI)
    assert (item["uri"], item["mimeType"], item["text"]) == (CART_URI, "text/html;profile=mcp-app", CART_HTML)
    assert "blob" not in item


@pytest.mark.case("mcp-apps-res-04")
@on_both
async def test_a_view_is_read_as_a_blob(connect: Open) -> None:
    item = await (await connect(UI)).read(BLOB_URI)
    assert (item["uri"], item["mimeType"]) == (BLOB_URI, "text/html;profile=mcp-app")
    assert base64.b64decode(item["blob"], validate=True).decode("utf-8") == CART_HTML
    assert "text" not in item


async def ui_meta(client: Wire) -> dict[str, Any]:
    on_item = (await client.read(CART_URI))["_meta"]["ui"]
    on_entry = (await client.resources())[CART_URI]["_meta"]["ui"]
    assert on_item == on_entry
    meta: dict[str, Any] = on_item
    return meta


@pytest.mark.case("mcp-apps-res-05")
@on_both
async def test_declared_domains_are_on_the_content_and_on_the_list_entry(connect: Open) -> None:
    assert (await ui_meta(await connect(UI)))["csp"] == {
        "connectDomains": ["https://api.example.com", "wss://live.example.com"],
        "resourceDomains": ["https://*.cdn.example.com"],
        "frameDomains": ["https://player.example.com"],
        "baseUriDomains": ["https://base.example.com"],
    }


@pytest.mark.case("mcp-apps-res-06")
@on_both
async def test_permissions_are_objects_under_their_wire_names(connect: Open) -> None:
    permissions = (await ui_meta(await connect(UI)))["permissions"]
    assert permissions == {"camera": {}, "microphone": {}, "geolocation": {}, "clipboardWrite": {}}


@pytest.mark.case("mcp-apps-res-07")
@on_both
async def test_the_dedicated_domain_is_a_string(connect: Open) -> None:
    assert (await ui_meta(await connect(UI)))["domain"] == "shop.example.com"


@pytest.mark.case("mcp-apps-res-08")
@on_both
async def test_the_border_preference_is_a_boolean(connect: Open) -> None:
    assert (await ui_meta(await connect(UI)))["prefersBorder"] is True


@pytest.mark.case("mcp-apps-res-09")
@on_both
async def test_an_unknown_view_is_an_error_that_names_it(connect: Open) -> None:
    with pytest.raises(WireError, match="ui://shop/nothing") as caught:
        await (await connect(UI)).read("ui://shop/nothing")
    assert caught.value.code in (-32002, -32602)


@pytest.mark.case("mcp-apps-tool-01")
@negotiation
async def test_a_tool_is_linked_to_its_view_for_a_client_with_ui(connect: Open) -> None:
    meta = (await all_tools(await connect(UI)))["show_cart"]["_meta"]
    assert meta["ui"]["resourceUri"] == CART_URI
    assert meta["ui/resourceUri"] == CART_URI


@pytest.mark.case("mcp-apps-tool-02")
@negotiation
async def test_a_tool_has_no_ui_metadata_for_a_client_without_ui(connect: Open) -> None:
    meta = (await all_tools(await connect(NO_UI)))["show_cart"].get("_meta", {})
    assert "ui" not in meta
    assert "ui/resourceUri" not in meta


@pytest.mark.case("mcp-apps-tool-03")
@on_both
async def test_a_tool_for_model_and_app_is_listed_and_called(connect: Open) -> None:
    client = await connect(UI)
    assert (await client.tools())["both"]["_meta"]["ui"]["visibility"] == ["model", "app"]
    assert (await client.call("both"))["content"][0]["text"] == "both"


@pytest.mark.case("mcp-apps-tool-04")
@negotiation
async def test_an_app_only_tool_exists_only_for_clients_with_ui(connect: Open) -> None:
    with_ui, without = await connect(UI), await connect(NO_UI)
    assert (await all_tools(with_ui))["pay"]["_meta"]["ui"]["visibility"] == ["app"]
    assert not (await with_ui.call("pay", amount=3)).get("isError")
    assert "pay" not in await all_tools(without)
    assert await answer(without, "pay") == (await answer(without, "nosuch")).replace("nosuch", "pay")


@pytest.mark.case("mcp-apps-tool-05")
@on_both
async def test_a_model_only_tool_is_listed_with_its_visibility(connect: Open) -> None:
    assert (await (await connect(UI)).tools())["ask"]["_meta"]["ui"]["visibility"] == ["model"]
    without = await connect(NO_UI)
    assert "ask" in await without.tools()
    assert (await without.call("ask"))["content"][0]["text"] == "asked"


@pytest.mark.case("mcp-apps-tool-06")
@on_both
async def test_a_tool_without_visibility_has_no_visibility_key(connect: Open) -> None:
    client = await connect(UI)
    assert "visibility" not in (await client.tools())["show_cart"]["_meta"]["ui"]
    assert not (await client.call("show_cart")).get("isError")


@pytest.mark.case("mcp-apps-tool-07")
@on_both
@pytest.mark.parametrize("visibility", [["everyone"], "app", 7, [["app"]], {"app": True}, None])
async def test_invalid_visibility_raises_here_and_is_tolerated_from_other_code(
    kind: Kind, version: str, visibility: Any
) -> None:
    server: MCPServer[Any] | FastMCP[Any] = MCPServer("odd") if kind == "MCPServer" else FastMCP("odd")
    if visibility is not None:
        with pytest.raises(RegistrationError, match="visibility"):
            Apps(server).tool(visibility=visibility)

    @server.tool(meta={"ui": {"visibility": visibility}})
    def odd() -> str:
        "A tool that another library registered."
        return "odd"

    negotiate(server)
    async with in_memory(server, version, UI) as client:
        assert "odd" in await client.tools()
    async with in_memory(server, version, NO_UI) as client:
        # Only what names the model shows it the tool.
        assert ("odd" in await client.tools()) is (visibility is None)


@pytest.mark.case("mcp-apps-reg-01")
@negotiation
async def test_a_client_without_ui_uses_the_server_as_plain_text(connect: Open) -> None:
    client = await connect(NO_UI)
    tools = await all_tools(client)
    assert "ui://" not in str(tools)
    assert "ui/resourceUri" not in str(tools)
    for name in tools:
        assert (await client.call(name))["content"]


@pytest.mark.case("mcp-apps-reg-02")
@negotiation
@pytest.mark.parametrize("capabilities", [UI, NO_UI], ids=["ui", "no ui"])
async def test_every_protocol_version_works(connect: Open, capabilities: dict[str, Any]) -> None:
    client = await connect(capabilities)
    assert "tools" in client.server_capabilities
    assert "plain" in await all_tools(client)
    assert (await client.call("plain"))["content"]
    assert "note://hello" in await client.resources()


@pytest.mark.case("mcp-apps-reg-03")
@on_both
async def test_tools_with_and_without_ui_live_side_by_side(connect: Open) -> None:
    client = await connect(UI)
    tools = await client.tools()
    assert tools["show_cart"]["_meta"]["ui"]["resourceUri"] == CART_URI
    assert "ui" not in tools["plain"].get("_meta", {})
    assert (await client.call("show_cart"))["structuredContent"] == {"items": ["tea", "milk"], "total": 7}
    assert (await client.call("plain", name="Ada"))["content"][0]["text"] == "hello Ada"


@pytest.mark.case("mcp-apps-reg-04")
@negotiation
async def test_an_ordinary_resource_can_be_read(connect: Open) -> None:
    for capabilities in (UI, NO_UI):
        assert (await (await connect(capabilities)).read("note://hello"))["text"] == "a note"


async def all_tools(client: Wire) -> dict[str, dict[str, Any]]:
    tools: dict[str, dict[str, Any]] = {}
    cursor: dict[str, Any] = {}
    while True:
        page = await client.request("tools/list", cursor)
        tools |= {tool["name"]: tool for tool in page["tools"]}
        if "nextCursor" not in page:
            return tools
        cursor = {"cursor": page["nextCursor"]}


async def answer(client: Wire, tool: str) -> str:
    try:
        return str(await client.call(tool, amount=3))
    except WireError as error:
        return str(error.error)
