from typing import Any

import pytest

from fanlight.protocol.bridge import Bridge, State
from fanlight.protocol.errors import LocalProtocolError
from fanlight.protocol.events import (
    AppToolsChanged,
    Cancelled,
    ContextUpdated,
    DisplayModeRequested,
    DownloadRequested,
    Event,
    HandshakeStarted,
    LinkRequested,
    Logged,
    MessageRequested,
    Ready,
    Rejected,
    ResponseReceived,
    SamplingRequested,
    ServerRequested,
    SizeChanged,
    StateSaved,
    TeardownRequested,
    ToolCalled,
)

INFO = {"name": "Host", "version": "1"}
EVERYTHING: dict[str, Any] = {
    "openLinks": {},
    "downloadFile": {},
    "serverTools": {"listChanged": True},
    "serverResources": {"listChanged": True},
    "logging": {},
    "sampling": {"tools": {}},
}
CONTEXT: dict[str, Any] = {"theme": "light", "displayMode": "inline", "availableDisplayModes": ["inline", "fullscreen"]}
HELLO = {"protocolVersion": "2026-01-26", "appInfo": {"name": "View", "version": "1"}, "appCapabilities": {}}


class Link:
    """A bridge, with short methods for the View's end of the link."""

    def __init__(self, capabilities: dict[str, Any] = EVERYTHING, **options: Any) -> None:
        self.bridge = Bridge(INFO, capabilities, CONTEXT, **{"tools": {"add"}, **options})

    def request(self, method: str, params: Any = None, id: Any = 7) -> Event | None:
        message = {"jsonrpc": "2.0", "id": id, "method": method}
        return self.bridge.receive(message if params is None else {**message, "params": params})

    def notify(self, method: str, params: Any = None) -> Event | None:
        message = {"jsonrpc": "2.0", "method": method}
        return self.bridge.receive(message if params is None else {**message, "params": params})

    def sent(self) -> list[dict[str, Any]]:
        return list(self.bridge.outgoing())

    def methods(self) -> list[str]:
        return [message["method"] for message in self.sent()]

    def error(self) -> tuple[Any, int]:
        (message,) = self.sent()
        return message["id"], message["error"]["code"]

    def initialize(self, **app_capabilities: Any) -> "Link":
        self.request("ui/initialize", {**HELLO, "appCapabilities": app_capabilities}, id=0)
        self.sent()
        return self

    def ready(self, **app_capabilities: Any) -> "Link":
        self.initialize(**app_capabilities)
        self.notify("ui/notifications/initialized")
        self.sent()
        return self


# The handshake


@pytest.mark.parametrize(
    ("version", "answered"),
    [("2026-01-26", "2026-01-26"), ("2025-11-21", "2026-01-26"), ("nonsense", "2026-01-26"), (None, "2026-01-26")],
)
def test_any_protocol_version_is_answered_with_ours(version: Any, answered: str) -> None:
    link = Link()
    event = link.request("ui/initialize", {**HELLO, "protocolVersion": version}, id=0)
    assert isinstance(event, HandshakeStarted)
    assert link.sent() == [
        {
            "jsonrpc": "2.0",
            "id": 0,
            "result": {
                "protocolVersion": answered,
                "hostInfo": INFO,
                "hostCapabilities": EVERYTHING,
                "hostContext": CONTEXT,
            },
        }
    ]


def test_a_second_handshake_is_answered_and_nothing_is_sent_twice() -> None:
    link = Link().ready()
    link.bridge.tool_input({"a": 1})
    assert link.methods() == ["ui/notifications/tool-input"]
    assert link.request("ui/initialize", HELLO) == HandshakeStarted(HELLO["appInfo"], {}, "2026-01-26", True)  # type: ignore[arg-type]
    assert link.notify("ui/notifications/initialized") is None
    assert len(link.sent()) == 1


@pytest.mark.parametrize("params", [[], "x", 7, True])
def test_a_handshake_with_malformed_params_is_rejected(params: Any) -> None:
    link = Link()
    assert isinstance(link.request("ui/initialize", params), Rejected)
    assert link.error() == (7, -32602)


def test_a_handshake_with_empty_params_succeeds() -> None:
    link = Link()
    assert link.request("ui/initialize", {"appInfo": 7, "appCapabilities": None}) == HandshakeStarted({}, {}, "", False)


def test_ping_is_answered_at_any_time() -> None:
    link = Link()
    assert link.request("ping", id=0) is None
    assert link.sent() == [{"jsonrpc": "2.0", "id": 0, "result": {}}]
    link.ready()
    link.bridge.teardown()
    link.sent()
    link.request("ping", id="x")
    assert link.sent() == [{"jsonrpc": "2.0", "id": "x", "result": {}}]


@pytest.mark.parametrize("method", ["tools/call", "ui/message", "resources/read", "nonsense"])
def test_nothing_is_served_before_the_handshake(method: str) -> None:
    link = Link()
    assert isinstance(link.request(method, {"name": "add"}), Rejected)
    assert link.error() == (7, -32600)


def test_messages_are_queued_until_initialized_and_then_sent_in_order() -> None:
    link = Link()
    link.bridge.tool_input_partial({"a": 1})
    link.bridge.tool_input_partial({"a": 12})
    link.bridge.tool_input({"a": 123})
    link.bridge.tool_result({"content": []})
    link.bridge.set_context({"theme": "dark"})
    link.bridge.list_changed("tools")
    assert link.sent() == []
    link.initialize()
    link.bridge.set_context({"locale": "de"})
    assert link.sent() == []
    assert link.notify("ui/notifications/initialized") == Ready()
    assert [(message["method"], message["params"]) for message in link.sent()] == [
        ("ui/notifications/tool-input", {"arguments": {"a": 123}}),
        ("ui/notifications/tool-result", {"content": []}),
        ("ui/notifications/host-context-changed", {"locale": "de"}),
    ]


def test_of_queued_partials_only_the_last_is_sent() -> None:
    link = Link()
    link.bridge.tool_input_partial({"a": 1})
    link.bridge.tool_input_partial({"a": 12})
    link.initialize()
    link.notify("ui/notifications/initialized")
    assert link.sent() == [
        {"jsonrpc": "2.0", "method": "ui/notifications/tool-input-partial", "params": {"arguments": {"a": 12}}}
    ]


# The order of a tool call


def test_input_is_sent_once() -> None:
    link = Link().ready()
    link.bridge.tool_input({})
    with pytest.raises(LocalProtocolError, match="TIN-02"):
        link.bridge.tool_input({})


def test_a_partial_after_the_input_raises() -> None:
    link = Link().ready()
    link.bridge.tool_input({})
    with pytest.raises(LocalProtocolError, match="TIP-04"):
        link.bridge.tool_input_partial({})


def test_a_result_needs_its_input_and_a_cancellation_does_not() -> None:
    link = Link().ready()
    with pytest.raises(LocalProtocolError, match="TIN-03"):
        link.bridge.tool_result({"content": []})
    link.bridge.tool_cancelled("the user stopped it")
    assert link.sent()[0]["params"] == {"reason": "the user stopped it"}
    with pytest.raises(LocalProtocolError, match="already has an outcome"):
        link.bridge.tool_cancelled()


def test_a_cancellation_without_reason_has_none() -> None:
    link = Link().ready()
    link.bridge.tool_cancelled()
    assert link.sent()[0]["params"] == {}


# The context


def test_only_changed_values_of_the_context_are_sent() -> None:
    link = Link().ready()
    link.bridge.set_context({"theme": "light", "styles": {"variables": {"--a": "1"}, "css": {"fonts": "x"}}})
    link.bridge.set_context({"styles": {"variables": {"--a": "2"}, "css": {"fonts": "x"}}})
    link.bridge.set_context({"theme": "light"})
    assert [message["params"] for message in link.sent()] == [
        {"styles": {"variables": {"--a": "1"}, "css": {"fonts": "x"}}},
        {"styles": {"variables": {"--a": "2"}, "css": {"fonts": "x"}}},
    ]


# What the View asks


@pytest.mark.parametrize(
    ("method", "params", "event"),
    [
        ("ui/open-link", {"url": "https://a.example"}, LinkRequested(7, "https://a.example")),
        (
            "ui/message",
            {"role": "user", "content": [{"type": "text", "text": "x"}]},
            MessageRequested(7, "user", ({"type": "text", "text": "x"},)),
        ),
        (
            "ui/message",
            {"role": "user", "content": {"type": "text", "text": "x"}},
            MessageRequested(7, "user", ({"type": "text", "text": "x"},)),
        ),
        ("ui/update-model-context", {}, ContextUpdated(7, (), None)),
        ("ui/update-model-context", {"structuredContent": {"a": 1}}, ContextUpdated(7, (), {"a": 1})),
        ("ui/download-file", {"contents": [{"type": "resource"}]}, DownloadRequested(7, ({"type": "resource"},))),
        ("ui/request-display-mode", {"mode": "fullscreen"}, DisplayModeRequested(7, "fullscreen")),
        ("tools/call", {"name": "add", "arguments": {"a": 1}}, ToolCalled(7, "add", {"a": 1}, {})),
        ("tools/call", {"name": "add"}, ToolCalled(7, "add", {}, {})),
        (
            "tools/call",
            {"name": "add", "_meta": {"progressToken": 7, "mine": 1}},
            ToolCalled(7, "add", {}, {"mine": 1}),
        ),
        ("tools/list", {"cursor": "x"}, ServerRequested(7, "tools/list", {"cursor": "x"})),
        ("resources/read", {"uri": "a://b"}, ServerRequested(7, "resources/read", {"uri": "a://b"})),
        ("resources/list", None, ServerRequested(7, "resources/list", {})),
        ("resources/templates/list", {}, ServerRequested(7, "resources/templates/list", {})),
        ("prompts/list", {"_meta": {"progressToken": 1}}, ServerRequested(7, "prompts/list", {})),
        (
            "sampling/createMessage",
            {"messages": [], "maxTokens": 5},
            SamplingRequested(7, {"messages": [], "maxTokens": 5}),
        ),
    ],
)
def test_a_request_becomes_an_event_and_its_response_is_sent(method: str, params: Any, event: Event) -> None:
    link = Link().ready()
    assert link.request(method, params) == event
    assert link.bridge.open_requests == {7: method}
    link.bridge.respond(7, {"x": 1})
    result = {} if method == "ui/update-model-context" else {"x": 1}
    assert link.sent() == [{"jsonrpc": "2.0", "id": 7, "result": result}]
    assert link.bridge.open_requests == {}


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("ui/open-link", {}),
        ("ui/open-link", {"url": 7}),
        ("ui/message", {"role": "user"}),
        ("ui/message", {"role": "assistant", "content": []}),
        ("ui/message", {"role": "user", "content": ["x"]}),
        ("ui/update-model-context", {"content": {}}),
        ("ui/update-model-context", {"structuredContent": []}),
        ("ui/request-display-mode", {}),
        ("ui/download-file", {"contents": None}),
        ("tools/call", {}),
        ("tools/call", {"name": "add", "arguments": []}),
        ("tools/call", {"name": ["add"]}),
        ("sampling/createMessage", {}),
        ("tools/call", []),
    ],
)
def test_malformed_params_are_answered_with_what_was_expected(method: str, params: Any) -> None:
    link = Link().ready()
    assert isinstance(link.request(method, params), Rejected)
    (message,) = link.sent()
    assert message["error"]["code"] == -32602
    assert "expected" in message["error"]["message"]
    assert link.bridge.open_requests == {}


@pytest.mark.parametrize("name", ["subtract", "", "ADD", "add ", "__proto__"])
def test_a_call_of_a_tool_that_the_view_may_not_call_is_rejected(name: str) -> None:
    link = Link().ready()
    assert isinstance(link.request("tools/call", {"name": name}), Rejected)
    assert link.error() == (7, -32602)


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("ui/open-link", {"url": "https://a.example"}),
        ("ui/download-file", {"contents": []}),
        ("tools/call", {"name": "add"}),
        ("tools/list", {}),
        ("resources/read", {"uri": "a://b"}),
        ("sampling/createMessage", {"messages": []}),
        ("ui/nonsense", {}),
        ("x/y/z", {}),
    ],
)
def test_a_request_for_a_missing_capability_is_answered_with_method_not_found(method: str, params: Any) -> None:
    link = Link({}).ready()
    assert isinstance(link.request(method, params), Rejected)
    assert link.error() == (7, -32601)


def test_sampling_with_tools_needs_its_own_capability() -> None:
    link = Link({"sampling": {}}).ready()
    assert isinstance(link.request("sampling/createMessage", {"messages": []}, id=1), SamplingRequested)
    link.request("sampling/createMessage", {"messages": [], "tools": [{}]}, id=2)
    assert link.error() == (2, -32601)


@pytest.mark.parametrize(
    ("mode", "declared"),
    [("pip", None), ("fullscreen", ["inline"]), ("inline", None), ("nonsense", None), ("fullscreen", ["pip"])],
)
def test_an_unavailable_display_mode_is_answered_with_the_current_one(mode: str, declared: list[str] | None) -> None:
    link = Link().ready(**({} if declared is None else {"availableDisplayModes": declared}))
    assert link.request("ui/request-display-mode", {"mode": mode}) is None
    assert link.sent() == [{"jsonrpc": "2.0", "id": 7, "result": {"mode": "inline"}}]


def test_a_view_without_declared_modes_may_request_any_offered_mode() -> None:
    link = Link().ready(availableDisplayModes=[])
    assert link.request("ui/request-display-mode", {"mode": "fullscreen"}) == DisplayModeRequested(7, "fullscreen")


def test_an_error_response_has_its_reason() -> None:
    link = Link().ready()
    link.request("ui/open-link", {"url": "javascript:alert(1)"})
    link.bridge.respond_error(7, "Links of this kind are not opened.")
    (message,) = link.sent()
    assert message["error"] == {"code": -32000, "message": "Links of this kind are not opened."}


def test_an_id_in_use_is_rejected_until_it_is_answered() -> None:
    link = Link().ready()
    link.request("tools/call", {"name": "add"}, id=0)
    assert isinstance(link.request("tools/call", {"name": "add"}, id=0), Rejected)
    assert link.error() == (0, -32600)
    link.bridge.respond(0, {})
    assert isinstance(link.request("tools/call", {"name": "add"}, id=0), ToolCalled)


def test_a_request_that_the_view_cancelled_gets_no_response() -> None:
    link = Link().ready()
    link.request("tools/call", {"name": "add", "_meta": {"progressToken": "t"}}, id="a")
    assert link.notify("notifications/cancelled", {"requestId": "a", "reason": "late"}) == Cancelled("a", "late")
    link.bridge.progress("a", 1)
    link.bridge.respond("a", {})
    link.bridge.respond_error("a", "no")
    assert link.sent() == []
    assert link.notify("notifications/cancelled", {"requestId": "a"}) is None
    assert link.notify("notifications/cancelled", {"requestId": [1]}) is None


def test_progress_is_sent_with_the_token_of_the_view() -> None:
    link = Link().ready()
    link.request("tools/call", {"name": "add", "_meta": {"progressToken": "mine"}})
    link.bridge.progress(7, 1, 2, "half")
    link.bridge.progress(8, 1)
    assert link.sent() == [
        {
            "jsonrpc": "2.0",
            "method": "notifications/progress",
            "params": {"progressToken": "mine", "progress": 1, "total": 2, "message": "half"},
        }
    ]


# What the View tells


@pytest.mark.parametrize(
    ("params", "event"),
    [
        ({"width": 100, "height": 50.5}, SizeChanged(100, 50.5)),
        ({"height": 0}, SizeChanged(None, 0)),
        ({"width": -1, "height": 10}, SizeChanged(None, 10)),
        ({"width": "100", "height": None}, None),
        ({"width": float("nan"), "height": float("inf")}, None),
        ({"height": 10**400}, None),
        ({"height": True}, None),
        ({}, None),
        ([], None),
    ],
)
def test_only_finite_sizes_become_events(params: Any, event: Event | None) -> None:
    assert Link().ready().notify("ui/notifications/size-changed", params) == event


def test_notifications_become_events() -> None:
    link = Link().ready(tools={})
    assert link.notify("ui/notifications/request-teardown") == TeardownRequested()
    assert link.notify("notifications/message", {"level": "error", "data": [1], "logger": "x"}) == Logged(
        "error", [1], "x"
    )
    assert link.notify("notifications/message", {"level": "loud"}) == Logged("info", None, None)
    assert link.notify("notifications/tools/list_changed") == AppToolsChanged()
    assert link.notify("notifications/nonsense") is None
    assert Link().ready().notify("notifications/tools/list_changed") is None


@pytest.mark.parametrize("name", ["sandbox-proxy-ready", "sandbox-resource-ready", "sandbox-anything"])
def test_a_view_cannot_send_messages_of_the_sandbox_proxy(name: str) -> None:
    link = Link().ready()
    assert isinstance(link.notify(f"ui/notifications/{name}", {"html": "<p>"}), Rejected)
    assert link.sent() == []


# Malformed messages


@pytest.mark.parametrize(
    "message",
    [
        *(None, 7, "x", [], {}, [{"jsonrpc": "2.0", "id": 1, "method": "ping"}]),
        *({"id": 1, "method": "ping", "jsonrpc": version} for version in ("1.0", 2.0, None)),
    ],
)
def test_a_message_that_is_not_json_rpc_is_rejected_without_a_response(message: Any) -> None:
    link = Link().ready()
    assert isinstance(link.bridge.receive(message), Rejected)
    assert link.sent() == []


@pytest.mark.parametrize(
    "message",
    [
        {"id": 1},
        {"method": 7},
        {"id": None, "method": "ping"},
        {"id": True, "method": "ping"},
        {"id": 1.5, "method": "ping"},
        {"id": {}, "method": "ping"},
        {"id": 1, "result": {}, "error": {}},
        {"id": None, "result": {}},
        {"method": None},
    ],
)
def test_a_malformed_message_is_answered_with_invalid_request(message: dict[str, Any]) -> None:
    link = Link().ready()
    assert isinstance(link.bridge.receive({"jsonrpc": "2.0", **message}), Rejected)
    assert link.error() == (None, -32600)


def test_a_response_to_no_request_is_rejected() -> None:
    link = Link().ready(tools={})
    id = link.bridge.request("tools/list")
    link.sent()
    for other in (id + 1, str(id), 0):
        assert isinstance(link.bridge.receive({"jsonrpc": "2.0", "id": other, "result": {}}), Rejected)
    answer = {"jsonrpc": "2.0", "id": id, "result": {"tools": []}}
    assert link.bridge.receive(answer) == ResponseReceived(id, "tools/list", {"tools": []}, None)
    assert isinstance(link.bridge.receive(answer), Rejected)


# What we ask


def test_request_ids_of_the_host_start_at_one() -> None:
    link = Link().ready(tools={})
    assert [link.bridge.request("tools/list"), link.bridge.request("ping")] == [1, 2]


def test_requesting_tools_of_a_view_without_tools_raises() -> None:
    link = Link().ready()
    with pytest.raises(LocalProtocolError, match="offers no tools"):
        link.bridge.request("tools/call", {"name": "x"})


def test_a_request_before_the_view_is_ready_raises() -> None:
    with pytest.raises(LocalProtocolError, match="SBX-09"):
        Link().initialize(tools={}).bridge.request("tools/list")


def test_cancelling_a_request_notifies_the_view_and_ignores_its_response() -> None:
    link = Link().ready(tools={})
    id = link.bridge.request("tools/call", {"name": "slow"})
    link.sent()
    link.bridge.cancel_request(id, "timed out")
    link.bridge.cancel_request(id)
    assert [message["params"] for message in link.sent()] == [{"requestId": id, "reason": "timed out"}]
    assert isinstance(link.bridge.receive({"jsonrpc": "2.0", "id": id, "result": {}}), Rejected)


def test_list_changes_are_sent_if_the_host_offers_them() -> None:
    link = Link().ready()
    for kind in ("tools", "resources", "prompts"):
        link.bridge.list_changed(kind)
    assert link.methods() == [f"notifications/{kind}/list_changed" for kind in ("tools", "resources", "prompts")]
    quiet = Link({"serverTools": {}}).ready()
    quiet.bridge.list_changed("tools")
    quiet.bridge.list_changed("resources")
    assert quiet.sent() == []


# The end


@pytest.mark.parametrize("answer", [{"result": {}}, {"error": {"code": -32601, "message": "Method not found"}}])
def test_any_response_to_teardown_closes_the_link(answer: dict[str, Any]) -> None:
    link = Link().ready()
    id = link.bridge.teardown("the user closed it")
    (message,) = link.sent()
    assert (message["method"], message["params"]) == ("ui/resource-teardown", {"reason": "the user closed it"})
    assert isinstance(link.request("ui/open-link", {"url": "https://example.com"}), Rejected)
    assert link.error() == (7, -32600)
    assert isinstance(link.bridge.receive({"jsonrpc": "2.0", "id": id, **answer}), ResponseReceived)
    assert link.bridge.state is State.CLOSED
    assert link.request("ping") is None
    assert link.sent() == []


def test_a_view_that_is_being_closed_can_save_its_data() -> None:
    link = Link().ready()
    id = link.bridge.teardown()
    link.sent()
    assert isinstance(link.request("tools/call", {"name": "add"}), ToolCalled)
    link.bridge.respond(7, {"content": []})
    assert link.sent() == [{"jsonrpc": "2.0", "id": 7, "result": {"content": []}}]
    link.bridge.receive({"jsonrpc": "2.0", "id": id, "result": {}})
    assert link.bridge.state is State.CLOSED


def test_a_view_that_was_never_ready_is_closed_without_teardown() -> None:
    link = Link().initialize()
    assert link.bridge.teardown() is None
    assert link.bridge.state is State.CLOSED
    assert link.sent() == []


# Older words


def test_older_names_are_accepted_and_recorded() -> None:
    link = Link()
    hello = {
        "protocolVersion": "2025-06-18",
        "clientInfo": {"name": "Old", "version": "1"},
        "capabilities": {"tools": {}},
    }
    assert link.request("initialize", hello) == HandshakeStarted(
        {"name": "Old", "version": "1"}, {"tools": {}}, "2025-06-18", False
    )
    assert link.notify("notifications/initialized") == Ready()
    assert link.notify("ui/size-change", {"height": 5}) == SizeChanged(None, 5)
    assert link.notify("ui/notifications/size-change", {"height": 6}) == SizeChanged(None, 6)
    assert set(link.bridge.older_names) == {
        "initialize",
        "notifications/initialized",
        "ui/size-change",
        "ui/notifications/size-change",
    }


def test_older_names_are_rejected_with_a_reason_without_dialects() -> None:
    link = Link(dialects=False)
    reason = "initialize belongs to an older dialect, which this host does not accept. Send ui/initialize."
    assert link.request("initialize", {}) == Rejected(reason)
    (answer,) = link.sent()
    assert answer["error"] == {"code": -32601, "message": reason}
    assert isinstance(link.ready().notify("ui/size-change", {"height": 5}), Rejected)
    assert link.bridge.older_names == {}
    assert link.sent() == []


@pytest.mark.parametrize("odd", [[], {}, [[]], None, 7])
def test_a_value_of_another_type_than_a_string_falls_back_to_the_default(odd: Any) -> None:
    link = Link()
    assert isinstance(link.request("ui/initialize", {**HELLO, "protocolVersion": odd}), HandshakeStarted)
    assert link.sent()[0]["result"]["protocolVersion"] == "2026-01-26"
    assert link.notify("notifications/message", {"level": odd}) == Logged("info", None, None)


def test_a_rejected_request_is_answered_without_being_processed() -> None:
    link = Link().ready()
    link.bridge.reject({"jsonrpc": "2.0", "id": 5, "method": "ui/open-link", "params": {}}, "Too many requests.")
    assert link.sent() == [{"jsonrpc": "2.0", "id": 5, "error": {"code": -32000, "message": "Too many requests."}}]
    for other in (7, {"method": "ui/open-link"}, {"id": 5, "result": {}}, {"id": None, "method": "ping"}):
        link.bridge.reject(other, "Too many requests.")
    link.request("tools/call", {"name": "add"}, id=6)
    link.bridge.reject({"jsonrpc": "2.0", "id": 6, "method": "ping"}, "Too many requests.")
    assert link.sent() == []
    link.bridge.close()
    link.bridge.reject({"jsonrpc": "2.0", "id": 5, "method": "ping"}, "Too many requests.")
    assert link.sent() == []


def test_a_closed_link_ignores_messages() -> None:
    link = Link().ready()
    link.bridge.close()
    assert link.request("ping") is None
    assert link.sent() == []


def test_a_state_is_saved_only_if_the_view_may_save_one() -> None:
    link = Link().ready()
    assert isinstance(link.request("fanlight/save-state", {"state": 1}), Rejected)
    assert link.error() == (7, -32601)
    link.bridge.allow_state()
    assert link.request("fanlight/save-state", {"state": 1}) == StateSaved(7, 1)


def test_suppressed_methods_are_not_sent() -> None:
    link = Link(suppressed={"ui/notifications/tool-input"}).ready()
    link.bridge.tool_input({})
    link.bridge.tool_result({"content": []})
    assert link.methods() == ["ui/notifications/tool-result"]


def test_an_error_response_has_its_data() -> None:
    link = Link().ready()
    link.request("tools/call", {"name": "add"})
    link.bridge.respond_error(7, "It failed.", -32001, {"retry": True})
    assert link.sent()[0]["error"] == {"code": -32001, "message": "It failed.", "data": {"retry": True}}


def test_pinned_context_overrides_the_context_of_the_host() -> None:
    pinned = {"theme": "light"}
    link = Link(pinned=pinned).ready()
    link.bridge.set_context({"theme": "dark", "locale": "de"})
    assert link.sent()[0]["params"] == {"locale": "de"}
    pinned["theme"] = "dark"
    link.bridge.refresh_context()
    assert link.sent()[0]["params"] == {"theme": "dark"}


def test_the_capabilities_describe_the_sandbox_of_the_view_if_they_have_one() -> None:
    sandbox = {"csp": {"connectDomains": ["https://a.example"]}}
    described = Link({**EVERYTHING, "sandbox": {}})
    described.bridge.describe_sandbox(sandbox)
    assert described.bridge.capabilities["sandbox"] == sandbox
    other = Link({"openLinks": {}})
    other.bridge.describe_sandbox(sandbox)
    assert "sandbox" not in other.bridge.capabilities


def test_a_notification_before_the_handshake_is_rejected_and_an_unknown_one_ignored() -> None:
    link = Link()
    assert isinstance(link.notify("ui/notifications/size-changed", {"height": 5}), Rejected)
    assert link.notify("notifications/unknown") is None
    assert link.sent() == []
