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
    """A bridge and the View's side of it, in a few words."""

    def __init__(self, capabilities: dict[str, Any] = EVERYTHING, **options: Any) -> None:
        self.bridge = Bridge(INFO, capabilities, CONTEXT, **{"tools": {"add"}, **options})

    def ask(self, method: str, params: Any = None, id: Any = 7) -> Event | None:
        message = {"jsonrpc": "2.0", "id": id, "method": method}
        return self.bridge.receive(message if params is None else {**message, "params": params})

    def tell(self, method: str, params: Any = None) -> Event | None:
        message = {"jsonrpc": "2.0", "method": method}
        return self.bridge.receive(message if params is None else {**message, "params": params})

    def sent(self) -> list[dict[str, Any]]:
        return list(self.bridge.outgoing())

    def methods(self) -> list[str]:
        return [message["method"] for message in self.sent()]

    def error(self) -> tuple[Any, int]:
        (message,) = self.sent()
        return message["id"], message["error"]["code"]

    def greet(self, **app_capabilities: Any) -> "Link":
        self.ask("ui/initialize", {**HELLO, "appCapabilities": app_capabilities}, id=0)
        self.sent()
        return self

    def ready(self, **app_capabilities: Any) -> "Link":
        self.greet(**app_capabilities)
        self.tell("ui/notifications/initialized")
        self.sent()
        return self


# The handshake


@pytest.mark.parametrize(
    ("version", "answered"),
    [("2026-01-26", "2026-01-26"), ("2025-11-21", "2026-01-26"), ("nonsense", "2026-01-26"), (None, "2026-01-26")],
)
def test_any_version_is_answered_with_ours(version: Any, answered: str) -> None:
    link = Link()
    event = link.ask("ui/initialize", {**HELLO, "protocolVersion": version}, id=0)
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
    assert link.ask("ui/initialize", HELLO) == HandshakeStarted(HELLO["appInfo"], {}, "2026-01-26", True)  # type: ignore[arg-type]
    assert link.tell("ui/notifications/initialized") is None
    assert len(link.sent()) == 1


@pytest.mark.parametrize("params", [[], "x", 7, True])
def test_a_handshake_with_odd_params_is_refused(params: Any) -> None:
    link = Link()
    assert isinstance(link.ask("ui/initialize", params), Rejected)
    assert link.error() == (7, -32602)


def test_a_view_that_leaves_everything_out_is_still_greeted() -> None:
    link = Link()
    assert link.ask("ui/initialize", {"appInfo": 7, "appCapabilities": None}) == HandshakeStarted({}, {}, "", False)


def test_ping_is_answered_at_any_time() -> None:
    link = Link()
    assert link.ask("ping", id=0) is None
    assert link.sent() == [{"jsonrpc": "2.0", "id": 0, "result": {}}]
    link.ready()
    link.bridge.teardown()
    link.sent()
    link.ask("ping", id="x")
    assert link.sent() == [{"jsonrpc": "2.0", "id": "x", "result": {}}]


@pytest.mark.parametrize("method", ["tools/call", "ui/message", "resources/read", "nonsense"])
def test_nothing_is_served_before_the_handshake(method: str) -> None:
    link = Link()
    assert isinstance(link.ask(method, {"name": "add"}), Rejected)
    assert link.error() == (7, -32600)


def test_nothing_is_sent_before_initialized_and_then_all_of_it_in_order() -> None:
    link = Link()
    link.bridge.tool_input_partial({"a": 1})
    link.bridge.tool_input_partial({"a": 12})
    link.bridge.tool_input({"a": 123})
    link.bridge.tool_result({"content": []})
    link.bridge.set_context({"theme": "dark"})
    link.bridge.list_changed("tools")
    assert link.sent() == []
    link.greet()
    link.bridge.set_context({"locale": "de"})
    assert link.sent() == []
    assert link.tell("ui/notifications/initialized") == Ready()
    assert [(message["method"], message["params"]) for message in link.sent()] == [
        ("ui/notifications/tool-input", {"arguments": {"a": 123}}),
        ("ui/notifications/tool-result", {"content": []}),
        ("ui/notifications/host-context-changed", {"locale": "de"}),
    ]


def test_of_partials_held_back_only_the_last_is_sent() -> None:
    link = Link()
    link.bridge.tool_input_partial({"a": 1})
    link.bridge.tool_input_partial({"a": 12})
    link.greet()
    link.tell("ui/notifications/initialized")
    assert link.sent() == [
        {"jsonrpc": "2.0", "method": "ui/notifications/tool-input-partial", "params": {"arguments": {"a": 12}}}
    ]


# The order of a tool call


def test_input_is_sent_once() -> None:
    link = Link().ready()
    link.bridge.tool_input({})
    with pytest.raises(LocalProtocolError, match="TIN-02"):
        link.bridge.tool_input({})


def test_a_partial_after_the_input_is_our_own_mistake() -> None:
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


def test_only_what_changed_is_sent_and_whole() -> None:
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
def test_a_request_becomes_an_event_and_its_answer_goes_back(method: str, params: Any, event: Event) -> None:
    link = Link().ready()
    assert link.ask(method, params) == event
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
def test_params_of_the_wrong_shape_are_answered_with_what_was_expected(method: str, params: Any) -> None:
    link = Link().ready()
    assert isinstance(link.ask(method, params), Rejected)
    (message,) = link.sent()
    assert message["error"]["code"] == -32602
    assert "expected" in message["error"]["message"]
    assert link.bridge.open_requests == {}


@pytest.mark.parametrize("name", ["subtract", "", "ADD", "add ", "__proto__"])
def test_a_tool_that_the_view_may_not_call_is_refused(name: str) -> None:
    link = Link().ready()
    assert isinstance(link.ask("tools/call", {"name": name}), Rejected)
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
def test_what_the_host_does_not_offer_is_not_found(method: str, params: Any) -> None:
    link = Link({}).ready()
    assert isinstance(link.ask(method, params), Rejected)
    assert link.error() == (7, -32601)


def test_sampling_with_tools_needs_its_own_capability() -> None:
    link = Link({"sampling": {}}).ready()
    assert isinstance(link.ask("sampling/createMessage", {"messages": []}, id=1), SamplingRequested)
    link.ask("sampling/createMessage", {"messages": [], "tools": [{}]}, id=2)
    assert link.error() == (2, -32601)


@pytest.mark.parametrize(
    ("mode", "declared"),
    [("pip", None), ("fullscreen", ["inline"]), ("inline", None), ("nonsense", None), ("fullscreen", ["pip"])],
)
def test_a_mode_that_is_not_to_be_had_is_answered_with_the_current_one(mode: str, declared: list[str] | None) -> None:
    link = Link().ready(**({} if declared is None else {"availableDisplayModes": declared}))
    assert link.ask("ui/request-display-mode", {"mode": mode}) is None
    assert link.sent() == [{"jsonrpc": "2.0", "id": 7, "result": {"mode": "inline"}}]


def test_a_view_that_declared_no_modes_may_ask_for_any_that_is_offered() -> None:
    link = Link().ready(availableDisplayModes=[])
    assert link.ask("ui/request-display-mode", {"mode": "fullscreen"}) == DisplayModeRequested(7, "fullscreen")


def test_a_refusal_is_an_error_with_its_reason() -> None:
    link = Link().ready()
    link.ask("ui/open-link", {"url": "javascript:alert(1)"})
    link.bridge.respond_error(7, "Links of this kind are not opened.")
    (message,) = link.sent()
    assert message["error"] == {"code": -32000, "message": "Links of this kind are not opened."}


def test_an_id_in_use_is_refused_until_it_is_answered() -> None:
    link = Link().ready()
    link.ask("tools/call", {"name": "add"}, id=0)
    assert isinstance(link.ask("tools/call", {"name": "add"}, id=0), Rejected)
    assert link.error() == (0, -32600)
    link.bridge.respond(0, {})
    assert isinstance(link.ask("tools/call", {"name": "add"}, id=0), ToolCalled)


def test_a_request_that_the_view_gave_up_is_not_answered() -> None:
    link = Link().ready()
    link.ask("tools/call", {"name": "add", "_meta": {"progressToken": "t"}}, id="a")
    assert link.tell("notifications/cancelled", {"requestId": "a", "reason": "late"}) == Cancelled("a", "late")
    link.bridge.progress("a", 1)
    link.bridge.respond("a", {})
    link.bridge.respond_error("a", "no")
    assert link.sent() == []
    assert link.tell("notifications/cancelled", {"requestId": "a"}) is None
    assert link.tell("notifications/cancelled", {"requestId": [1]}) is None


def test_progress_goes_back_under_the_views_own_token() -> None:
    link = Link().ready()
    link.ask("tools/call", {"name": "add", "_meta": {"progressToken": "mine"}})
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
def test_only_sizes_that_make_sense_are_news(params: Any, event: Event | None) -> None:
    assert Link().ready().tell("ui/notifications/size-changed", params) == event


def test_notifications_become_events() -> None:
    link = Link().ready(tools={})
    assert link.tell("ui/notifications/request-teardown") == TeardownRequested()
    assert link.tell("notifications/message", {"level": "error", "data": [1], "logger": "x"}) == Logged(
        "error", [1], "x"
    )
    assert link.tell("notifications/message", {"level": "loud"}) == Logged("info", None, None)
    assert link.tell("notifications/tools/list_changed") == AppToolsChanged()
    assert link.tell("notifications/nonsense") is None
    assert Link().ready().tell("notifications/tools/list_changed") is None


@pytest.mark.parametrize("name", ["sandbox-proxy-ready", "sandbox-resource-ready", "sandbox-anything"])
def test_a_view_cannot_speak_for_the_sandbox_proxy(name: str) -> None:
    link = Link().ready()
    assert isinstance(link.tell(f"ui/notifications/{name}", {"html": "<p>"}), Rejected)
    assert link.sent() == []


# Malformed messages


@pytest.mark.parametrize(
    "message",
    [
        *(None, 7, "x", [], {}, [{"jsonrpc": "2.0", "id": 1, "method": "ping"}]),
        *({"id": 1, "method": "ping", "jsonrpc": version} for version in ("1.0", 2.0, None)),
    ],
)
def test_what_is_no_json_rpc_is_dropped_without_an_answer(message: Any) -> None:
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
def test_what_is_no_message_is_answered_as_invalid(message: dict[str, Any]) -> None:
    link = Link().ready()
    assert isinstance(link.bridge.receive({"jsonrpc": "2.0", **message}), Rejected)
    assert link.error() == (None, -32600)


def test_an_answer_to_what_was_never_asked_is_dropped() -> None:
    link = Link().ready(tools={})
    id = link.bridge.request("tools/list")
    link.sent()
    for other in (id + 1, str(id), 0):
        assert isinstance(link.bridge.receive({"jsonrpc": "2.0", "id": other, "result": {}}), Rejected)
    answer = {"jsonrpc": "2.0", "id": id, "result": {"tools": []}}
    assert link.bridge.receive(answer) == ResponseReceived(id, "tools/list", {"tools": []}, None)
    assert isinstance(link.bridge.receive(answer), Rejected)


# What we ask


def test_our_ids_start_at_one() -> None:
    link = Link().ready(tools={})
    assert [link.bridge.request("tools/list"), link.bridge.request("ping")] == [1, 2]


def test_a_view_without_tools_is_not_asked_for_them() -> None:
    link = Link().ready()
    with pytest.raises(LocalProtocolError, match="offers no tools"):
        link.bridge.request("tools/call", {"name": "x"})


def test_nothing_is_asked_before_the_view_is_ready() -> None:
    with pytest.raises(LocalProtocolError, match="SBX-09"):
        Link().greet(tools={}).bridge.request("tools/list")


def test_giving_up_tells_the_view_and_forgets_the_answer() -> None:
    link = Link().ready(tools={})
    id = link.bridge.request("tools/call", {"name": "slow"})
    link.sent()
    link.bridge.cancel_request(id, "timed out")
    link.bridge.cancel_request(id)
    assert [message["params"] for message in link.sent()] == [{"requestId": id, "reason": "timed out"}]
    assert isinstance(link.bridge.receive({"jsonrpc": "2.0", "id": id, "result": {}}), Rejected)


def test_list_changes_are_relayed_where_the_host_offers_them() -> None:
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
def test_teardown_is_asked_and_any_answer_means_go_ahead(answer: dict[str, Any]) -> None:
    link = Link().ready()
    id = link.bridge.teardown("the user closed it")
    (message,) = link.sent()
    assert (message["method"], message["params"]) == ("ui/resource-teardown", {"reason": "the user closed it"})
    assert isinstance(link.ask("ui/open-link", {"url": "https://example.com"}), Rejected)
    assert link.error() == (7, -32600)
    assert isinstance(link.bridge.receive({"jsonrpc": "2.0", "id": id, **answer}), ResponseReceived)
    assert link.bridge.state is State.CLOSED
    assert link.ask("ping") is None
    assert link.sent() == []


def test_a_view_that_is_about_to_go_can_save_what_it_has() -> None:
    link = Link().ready()
    id = link.bridge.teardown()
    link.sent()
    assert isinstance(link.ask("tools/call", {"name": "add"}), ToolCalled)
    link.bridge.respond(7, {"content": []})
    assert link.sent() == [{"jsonrpc": "2.0", "id": 7, "result": {"content": []}}]
    link.bridge.receive({"jsonrpc": "2.0", "id": id, "result": {}})
    assert link.bridge.state is State.CLOSED


def test_a_view_that_never_was_ready_is_closed_without_being_asked() -> None:
    link = Link().greet()
    assert link.bridge.teardown() is None
    assert link.bridge.state is State.CLOSED
    assert link.sent() == []


# Older words


def test_older_words_are_understood_and_remembered() -> None:
    link = Link()
    hello = {
        "protocolVersion": "2025-06-18",
        "clientInfo": {"name": "Old", "version": "1"},
        "capabilities": {"tools": {}},
    }
    assert link.ask("initialize", hello) == HandshakeStarted(
        {"name": "Old", "version": "1"}, {"tools": {}}, "2025-06-18", False
    )
    assert link.tell("notifications/initialized") == Ready()
    assert link.tell("ui/size-change", {"height": 5}) == SizeChanged(None, 5)
    assert link.tell("ui/notifications/size-change", {"height": 6}) == SizeChanged(None, 6)
    assert set(link.bridge.older_names) == {
        "initialize",
        "notifications/initialized",
        "ui/size-change",
        "ui/notifications/size-change",
    }


def test_older_words_can_be_turned_off_and_are_refused_with_the_reason() -> None:
    link = Link(dialects=False)
    reason = "initialize belongs to an older dialect, which this host does not accept. Send ui/initialize."
    assert link.ask("initialize", {}) == Rejected(reason)
    (answer,) = link.sent()
    assert answer["error"] == {"code": -32601, "message": reason}
    assert isinstance(link.ready().tell("ui/size-change", {"height": 5}), Rejected)
    assert link.bridge.older_names == {}
    assert link.sent() == []


@pytest.mark.parametrize("odd", [[], {}, [[]], None, 7])
def test_a_word_from_a_list_that_is_no_word_is_none(odd: Any) -> None:
    link = Link()
    assert isinstance(link.ask("ui/initialize", {**HELLO, "protocolVersion": odd}), HandshakeStarted)
    assert link.sent()[0]["result"]["protocolVersion"] == "2026-01-26"
    assert link.tell("notifications/message", {"level": odd}) == Logged("info", None, None)
