"""Every row of the table is translated in its direction."""

import runpy
from pathlib import Path
from typing import Any

import pytest

from fanlight.browser import script
from fanlight.protocol.bridge import Bridge
from fanlight.protocol.dialects import ROWS, Row, Translator, older_type, translate_meta, with_experimental
from fanlight.protocol.events import HandshakeStarted, Ready, Rejected, SizeChanged
from fanlight.protocol.extension import MIME_TYPE, negotiated

CONTEXT = {"theme": "dark", "containerDimensions": {"width": 400, "maxHeight": 700}}
HELLO = {"protocolVersion": "2026-01-26", "appInfo": {"name": "View", "version": "1"}, "appCapabilities": {}}
OLD_HELLO = {"protocolVersion": "2025-06-18", "clientInfo": {"name": "Old", "version": "1"}, "capabilities": {}}


def rows(kind: str, sender: str) -> list[Any]:
    return [
        pytest.param(row, id=f"{row.dialect}: {row.older}") for row in ROWS if (row.kind, row.sender) == (kind, sender)
    ]


def rpc(method: str, params: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": method, "params": params or {}, **more}


def bridge(*first: dict[str, Any]) -> Bridge:
    """Return a bridge that has a tool result and has received these messages of a View."""
    made = Bridge({"name": "host", "version": "1"}, {"openLinks": {}}, dict(CONTEXT))
    made.tool_input({"a": 1})
    for message in first:
        made.receive(message)
    return made


def test_no_name_is_in_the_table_twice() -> None:
    assert len({(row.kind, row.sender, row.older) for row in ROWS}) == len(ROWS)


@pytest.mark.parametrize("row", rows("method", "view"))
def test_an_older_method_of_a_view_is_translated(row: Row) -> None:
    message, used = Translator().from_view(rpc(row.older, {"x": 1}, id=3))
    assert (message, used) == (rpc(row.today, {"x": 1}, id=3), row)


@pytest.mark.parametrize("row", rows("method", "view"))
def test_the_bridge_treats_older_and_current_methods_alike(row: Row) -> None:
    first = [] if row.today == "ui/initialize" else [rpc("ui/initialize", HELLO, id=1)]
    params = {"url": "https://a.example", "role": "user", "content": [], "mode": "inline", "contents": [], "height": 5}
    params |= HELLO if row.today == "ui/initialize" and row.older != "initialize" else {}
    ours = {} if row.today.startswith("ui/notifications/") else {"id": 2}
    one, other = bridge(*first), bridge(*first)
    assert one.receive(rpc(row.older, params, **ours)) == other.receive(rpc(row.today, params, **ours))
    assert one.state is other.state
    assert one.older_names == {row.older: row.today}
    assert other.older_names == {}


@pytest.mark.parametrize("row", [row for row in ROWS if "sandbox" in row.older], ids=lambda row: row.older)
def test_an_older_method_of_the_proxy_is_rejected_from_a_view(row: Row) -> None:
    made = bridge(rpc("ui/initialize", HELLO, id=1))
    event = made.receive(rpc(row.older))
    assert isinstance(event, Rejected)
    assert "reserved for the sandbox proxy" in event.reason


GIVEN_AWAY = {
    "first draft": rpc("mcp-ui/size-change", {"height": 5}),
    "early drafts": rpc("ui/size-change", {"height": 5}),
    "guides": rpc("ui/initialize", {**HELLO, "protocolVersion": "2025-01-01"}, id=9),
}


@pytest.mark.parametrize("row", rows("method", "host"))
def test_a_view_whose_dialect_is_detected_gets_its_names(row: Row) -> None:
    speech = Translator()
    message, used = speech.from_view(GIVEN_AWAY[row.dialect])
    speech.learn(message, used)
    assert speech.to_view(rpc(row.today, {"x": 1})) == rpc(row.older, {"x": 1})


@pytest.mark.parametrize(
    "row",
    [row for row in ROWS if row.sender == "host" and row.kind in ("method", "heard") and "mcp-ui/" not in row.older],
)
def test_view_js_knows_the_older_methods_of_hosts(row: Row) -> None:
    """tests/js/view.test.js tests the behaviour. A host of the first draft does not accept its handshake."""
    code = script("view.js")
    assert f'["{row.older}", ' in code or (row.today.endswith("teardown") and 'endsWith("teardown")' in code)


@pytest.mark.parametrize("row", rows("method", "host"))
def test_a_current_view_gets_current_names(row: Row) -> None:
    speech = Translator()
    speech.learn(*speech.from_view(rpc("ui/initialize", HELLO, id=1)))
    speech.learn(*speech.from_view(rpc("ui/notifications/size-changed", {"height": 1})))
    message = rpc(row.today, {"containerDimensions": {"width": 1}})
    assert speech.to_view(message) is message


def test_a_complete_conversation_in_the_first_draft() -> None:
    made = bridge()
    assert isinstance(made.receive(rpc("initialize", OLD_HELLO, id=0)), HandshakeStarted)
    made.receive(rpc("mcp-ui/size-change", {"height": 7}))
    assert made.receive(rpc("notifications/initialized")) == Ready()
    made.tool_result({"content": []})
    made.set_context({"theme": "light"})
    answer, *words = made.outgoing()
    assert answer["result"]["serverInfo"] == {"name": "host", "version": "1"}
    assert [word["method"] for word in words] == [
        "mcp-ui/notifications/tool-input",
        "mcp-ui/tool-result",
        "mcp-ui/host-context-change",
    ]
    assert made.receive(rpc("mcp-ui/size-change", {"height": 8})) == SizeChanged(None, 8)


def test_a_handshake_of_core_mcp_uses_the_dialect_of_the_server() -> None:
    """A View of the first draft may send nothing else before it gets its data."""
    for server_dialect, word in (("first draft", "mcp-ui/tool-result"), ("ChatGPT", TODAY), (None, TODAY)):
        made = Bridge({"name": "host", "version": "1"}, {}, {}, server_dialect=server_dialect)  # type: ignore[arg-type]
        made.tool_input({})
        made.receive(rpc("initialize", OLD_HELLO, id=0))
        made.receive(rpc("notifications/initialized"))
        made.tool_result({"content": []})
        assert [*made.outgoing()][-1]["method"] == word
    made = Bridge({"name": "host", "version": "1"}, {}, {}, server_dialect="first draft")
    made.receive(rpc("ui/initialize", HELLO, id=0))
    made.receive(rpc("ui/notifications/initialized"))
    made.tool_input({})
    assert [*made.outgoing()][-1]["method"] == "ui/notifications/tool-input", "a View of today says so itself"


TODAY = "ui/notifications/tool-result"


def test_a_handshake_of_core_mcp_is_answered_with_its_own_version() -> None:
    made = bridge(rpc("initialize", OLD_HELLO, id=0))
    (answer,) = made.outgoing()
    result = answer["result"]
    assert result["protocolVersion"] == "2025-06-18"
    assert (result["serverInfo"], set(result["capabilities"])) == (
        result["hostInfo"],
        {"tools", "resources", "logging"},
    )
    assert result["hostCapabilities"] == {"openLinks": {}}


def test_only_views_of_older_versions_get_the_viewport() -> None:
    for version, is_sent in (("2025-11-21", True), ("2026-01-26", False)):
        made = bridge(rpc("ui/initialize", {**HELLO, "protocolVersion": version}, id=0))
        made.receive(rpc("ui/notifications/initialized"))
        made.set_context({"containerDimensions": {"width": 9}})
        greeting, _, change = made.outgoing()
        first, then = greeting["result"]["hostContext"].get("viewport"), change["params"].get("viewport")
        assert (first, then) == ((CONTEXT["containerDimensions"], {"width": 9}) if is_sent else (None, None))


# Metadata

VALUES: dict[str, tuple[Any, Any]] = {
    "resourceUri": ("ui://a/b", "ui://a/b"),
    "csp": (
        {"connect_domains": ["https://a.example"], "resource_domains": [], "redirect_domains": ["https://b.example"]},
        {"connectDomains": ["https://a.example"], "resourceDomains": []},
    ),
    "domain": ("https://a.example", "a.example"),
    "prefersBorder": (False, False),
}


@pytest.mark.parametrize("row", [row for row in ROWS if row.kind == "key" and row.today != "ui.visibility"])
def test_an_older_key_is_translated_unless_there_is_a_current_one(row: Row) -> None:
    field = row.today.removeprefix("ui.")
    older, today = VALUES[field]
    ui, used = translate_meta({row.older: older})
    assert ui[field] == today
    assert used == (row.older,)
    ours = {field: "ours"}
    assert translate_meta({row.older: older, "ui": ours}) == (ours, ())


@pytest.mark.parametrize("row", rows("field", "server"))
def test_a_list_of_domains_in_snake_case_is_read(row: Row) -> None:
    ui, _ = translate_meta({"openai/widgetCSP": {row.older: ["https://a.example"]}})
    assert ui["csp"] == ({row.today: ["https://a.example"]} if row.today else {})


@pytest.mark.parametrize(
    ("meta", "who"),
    [
        ({"openai/outputTemplate": "ui://a/b"}, ["model"]),
        ({"openai/outputTemplate": "ui://a/b", "openai/widgetAccessible": True}, ["model", "app"]),
        ({"openai/widgetAccessible": True, "openai/visibility": "private"}, ["app"]),
        ({"openai/widgetAccessible": "yes"}, ["model"]),
        ({"openai/visibility": "public"}, ["model"]),
        ({"openai/visibility": "private"}, []),
        ({"openai/toolInvocation/invoking": "Wait"}, None),
        ({"openai/visibility": "private", "ui": {"resourceUri": "ui://a/b"}}, None),
    ],
)
def test_who_may_call_a_tool_of_a_chatgpt_app(meta: dict[str, Any], who: list[str] | None) -> None:
    assert translate_meta(meta)[0].get("visibility") == who


@pytest.mark.parametrize("row", rows("type", "server"))
def test_an_older_mime_type_is_recognised(row: Row) -> None:
    assert older_type(row.older) is row
    assert older_type(f"{row.older.upper()} ; framework=react") is row
    assert row.today == MIME_TYPE


@pytest.mark.parametrize("mime", [None, "", "text/plain", "text/htmlx", "application/vnd.mcp-ui", 7])
def test_any_other_mime_type_is_not_of_a_dialect(mime: object) -> None:
    assert older_type(mime) is None


@pytest.mark.parametrize("place", ["extensions", "experimental"])
@pytest.mark.parametrize("id", ["io.modelcontextprotocol/ui", "modelcontextprotocol.io/ui"])
def test_the_extension_is_found_by_either_name_in_either_place(place: str, id: str) -> None:
    assert negotiated({place: {id: {"mimeTypes": [MIME_TYPE]}}})
    assert not negotiated({place: {id: {"mimeTypes": ["text/html"]}}})


@pytest.mark.parametrize("id", ["io.modelcontextprotocol/ui", "modelcontextprotocol.io/ui"])
def test_the_extension_is_sent_to_servers_of_both_eras_in_both_places(id: str) -> None:
    ours = {id: {"mimeTypes": [MIME_TYPE]}}
    others: dict[str, Any] = {"com.example/x": {}}
    capabilities = {"extensions": {**ours, **others}, "sampling": {}}
    declared = {**capabilities, "experimental": ours}
    assert with_experimental("initialize", {"capabilities": capabilities}) == {"capabilities": declared}
    key = "io.modelcontextprotocol/clientCapabilities"
    assert with_experimental("tools/call", {"name": "a", "_meta": {"b": 1, key: capabilities}}) == {
        "name": "a",
        "_meta": {"b": 1, key: declared},
    }
    none: dict[str, Any] = {"capabilities": {"extensions": others}}
    assert with_experimental("initialize", none) == none
    assert with_experimental("initialize", {"capabilities": {}}) == {"capabilities": {}}
    assert with_experimental("tools/call", {"capabilities": capabilities}) == {"capabilities": capabilities}


def test_the_reference_page_has_the_current_table() -> None:
    """Write it with `python scripts/dialects_page.py`."""
    script = runpy.run_path(str(Path(__file__).parents[2] / "scripts" / "dialects_page.py"))
    page = script["PAGE"].read_text(encoding="utf-8")
    assert script["filled"](page) == page
    for row in ROWS:
        assert f"| `{row.older}` |" in page
