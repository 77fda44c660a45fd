"""Generated conversations with the bridge, and generated frames from a page."""

import asyncio
import json
import random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from attacks.arena import hostile
from attacks.catalogue import attack
from fanlight.host import Host, Limits, Policy
from fanlight.host.json_text import encode_json
from fanlight.host.views.page.channel import PageChannel
from fanlight.host.views.page.frames import Resize, decode_frame
from fanlight.protocol import jsonrpc
from fanlight.protocol.bridge import Bridge, State
from fanlight.protocol.dialects import ROWS
from support.calls import call_tool
from support.page import SHOW, Page

pytestmark = pytest.mark.anyio

CAPABILITIES = {"openLinks": {}, "downloadFile": {}, "serverTools": {"listChanged": True}, "sampling": {}}
CAPABILITIES |= {"serverResources": {"listChanged": True}, "logging": {}}
CONTEXT = {"displayMode": "inline", "availableDisplayModes": ["inline", "fullscreen"]}
METHODS = [
    *("ui/initialize", "ui/notifications/initialized", "initialize", "notifications/initialized", "ping"),
    *("ui/open-link", "ui/message", "ui/update-model-context", "ui/request-display-mode", "ui/download-file"),
    *("tools/call", "tools/list", "resources/read", "resources/list", "resources/templates/list", "prompts/list"),
    *("sampling/createMessage", "ui/notifications/size-changed", "ui/size-change", "ui/notifications/request-teardown"),
    *("notifications/message", "notifications/cancelled", "notifications/tools/list_changed", "notifications/progress"),
    *(
        "ui/notifications/sandbox-proxy-ready",
        "ui/notifications/sandbox-resource-ready",
        "ui/resource-teardown",
        "mcp-ui/initialize",
        "mcp-ui/size-change",
        "mcp-ui/sandbox-ready",
        "fanlight/save-state",
        "nope",
        "",
    ),
]
KEYS = [
    "name",
    "arguments",
    "url",
    "role",
    "content",
    "contents",
    "mode",
    "uri",
    "messages",
    "requestId",
    "height",
    "width",
]
KEYS += [
    "level",
    "data",
    "protocolVersion",
    "appInfo",
    "appCapabilities",
    "tools",
    "_meta",
    "progressToken",
    "__proto__",
]

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=6)
    | st.sampled_from(["add", "user", "inline"])
)
ANYTHING = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=3), inner, max_size=4)
    ),
    max_leaves=8,
)
IDS = st.sampled_from([0, 1, 2, 3, "1", "a", "", -1, 2**70, "\ud800"])
PARAMS = st.dictionaries(st.sampled_from(KEYS), ANYTHING | st.just("add") | st.just([]) | IDS, max_size=5)
MESSAGES = st.one_of(
    st.fixed_dictionaries({"jsonrpc": st.just("2.0"), "id": IDS, "method": st.sampled_from(METHODS), "params": PARAMS}),
    st.fixed_dictionaries({"jsonrpc": st.just("2.0"), "method": st.sampled_from(METHODS), "params": PARAMS}),
    st.fixed_dictionaries({"jsonrpc": st.just("2.0"), "id": IDS}, optional={"result": ANYTHING, "error": ANYTHING}),
    st.fixed_dictionaries(
        {},
        optional={
            "jsonrpc": st.sampled_from(["2.0", "1.0", 2]),
            "id": ANYTHING,
            "method": ANYTHING | st.sampled_from(METHODS),
            "params": ANYTHING,
            "result": ANYTHING,
            "error": ANYTHING,
        },
    ),
    ANYTHING,
)
HELLO = {"jsonrpc": "2.0", "id": "hello", "method": "ui/initialize", "params": {"appCapabilities": {"tools": {}}}}
READY = {"jsonrpc": "2.0", "method": "ui/notifications/initialized"}


class Holder:
    """Does everything that can be done with a bridge, and checks its guarantees."""

    DEEDS = (
        "nothing",
        "respond",
        "refuse",
        "ask",
        "give up",
        "context",
        "progress",
        "list",
        "input",
        "result",
        "teardown",
    )

    def __init__(self, *, ready: bool) -> None:
        self.bridge = Bridge({"name": "H", "version": "1"}, CAPABILITIES, dict(CONTEXT), tools={"add"})
        self.unanswered: dict[tuple[type, object], int] = {}
        self.cancelled: tuple[type, object] | None = None
        """The requests that the View cancelled in its last message."""
        self.asked: list[int] = []
        if ready:
            self.hear(HELLO)
            self.hear(READY)
            assert self.bridge.state is State.READY

    def hear(self, message: Any) -> None:
        """Receive a message of the View."""
        before = self.bridge.state
        self.bridge.receive(message)
        is_request = (
            isinstance(message, dict) and message.get("jsonrpc") == "2.0" and isinstance(message.get("method"), str)
        )
        id = message.get("id") if isinstance(message, dict) else None
        if is_request and jsonrpc.is_id(id) and before is not State.CLOSED:
            key = (type(id), id)
            self.unanswered[key] = self.unanswered.get(key, 0) + 1
        self.read()

    def read(self) -> None:
        for message in self.bridge.outgoing():
            encode_json(message)
            assert message["jsonrpc"] == "2.0"
            if "method" in message:
                assert self.bridge.state in (State.READY, State.CLOSING)
                continue
            assert ("result" in message) != ("error" in message)
            if message["id"] is None:
                assert message["error"]["code"] == jsonrpc.INVALID_REQUEST
                continue
            # A response has the id of an open request, of the same type, that has had no response.
            key = (type(message["id"]), message["id"])
            assert self.unanswered.get(key, 0) > 0, message
            self.unanswered[key] -= 1
        waiting = {key for key, count in self.unanswered.items() if count > 0}
        open_ = {(type(id), id) for id in self.bridge.open_requests}
        if self.bridge.state is State.CLOSED:
            self.unanswered.clear()
        else:
            # A request that is neither answered nor open was cancelled by the View.
            for key in waiting - open_:
                assert key == self.cancelled
                del self.unanswered[key]
            assert open_ <= waiting

    def do(self, deed: str, chance: int) -> None:
        """Call a method of the host's side, if it is allowed now."""
        bridge = self.bridge
        opened = list(bridge.open_requests)
        one = opened[chance % len(opened)] if opened else 404
        match deed:
            case "respond":
                bridge.respond(one, {"ok": True})
            case "refuse":
                bridge.respond_error(one, "no")
            case "progress":
                bridge.progress(one, 1, 2)
            case "ask" if bridge.state is State.READY and "tools" in bridge.app_capabilities:
                self.asked.append(bridge.request("tools/list"))
            case "give up" if self.asked:
                bridge.cancel_request(self.asked.pop())
            case "context":
                bridge.set_context({"theme": "dark" if chance % 2 else "light"})
            case "list":
                bridge.list_changed("tools")
            case "input" if bridge._input is None:
                bridge.tool_input({"a": chance})
            case "result" if bridge._input is not None and bridge._outcome is None:
                bridge.tool_result({"content": []})
            case "teardown" if chance % 50 == 0:
                bridge.teardown()
        self.read()


@attack("word-fuzz-bridge")
@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    ready=st.booleans(),
    steps=st.lists(MESSAGES | st.tuples(st.sampled_from(Holder.DEEDS), st.integers(0, 99)), max_size=40),
)
def test_the_bridge_never_fails_and_never_loses_a_response(ready: bool, steps: list[Any]) -> None:
    """Fails if an answer is lost or made up: without `_open[id] = method`, or with an id taken as text."""
    host = Holder(ready=ready)
    for step in steps:
        if isinstance(step, tuple):
            host.do(*step)
            continue
        host.cancelled = None
        if (
            isinstance(step, dict)
            and step.get("method") == "notifications/cancelled"
            and isinstance(step.get("params"), dict)
        ):
            id = step["params"].get("requestId")
            host.cancelled = (type(id), id)
        host.hear(step)


def sizes(bridge: Bridge) -> dict[str, int]:
    """Return the size of each collection of a bridge, by name."""
    return {name: len(value) for name, value in vars(bridge).items() if hasattr(value, "__len__")}


@attack("word-fuzz-growth")
def test_a_bridge_does_not_grow_with_a_hundred_thousand_messages() -> None:
    """Fails without `_forget` in `respond`, or with a list of what was dropped."""
    chance = random.Random(7)
    host = Holder(ready=True)
    bridge = host.bridge
    before = sizes(bridge)
    odd: list[Any] = [
        None,
        [],
        {},
        {"jsonrpc": "2.0", "id": None, "method": "x"},
        {"jsonrpc": "2.0", "id": 5, "result": {}},
    ]
    for number in range(100_000):
        method = chance.choice(METHODS)
        if method in ("ui/resource-teardown", "ui/notifications/request-teardown"):
            continue
        params: dict[str, Any] = {
            "name": "add",
            "url": "https://a.example",
            "uri": "x://y",
            "mode": "inline",
            "content": [],
            "contents": [],
        }
        params |= {"messages": [], "role": "user", "requestId": f"{number - 3}", "_meta": {"progressToken": number}}
        message = {"jsonrpc": "2.0", "method": method, "params": params}
        if chance.random() < 0.7:
            message["id"] = str(number)
        bridge.receive(chance.choice(odd) if chance.random() < 0.1 else message)
        for id in list(bridge.open_requests)[:-5]:
            bridge.respond(id, {})
        for answer in bridge.outgoing():
            assert answer["jsonrpc"] == "2.0"
    for id in list(bridge.open_requests):
        bridge.respond_error(id, "over")
    list(bridge.outgoing())
    after = sizes(bridge)
    # The older names that a View used are kept; their number is bounded.
    assert {name for name in after if after[name] > before[name]} == {"older_names"}
    assert after["older_names"] <= len([row for row in ROWS if row.kind == "method"])


# Frames


class Wire:
    """The page's end of a socket."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    async def close_socket(self, code: int) -> None: ...

    async def send(self, text: str) -> None:
        self.texts.append(text)


NUMBERS: st.SearchStrategy[Any] = st.integers(-3, 40) | st.sampled_from(
    [2**63, 2**70, 10**400, 1.5, True, None, "3", [], {}]
)
FRAMES = st.dictionaries(
    st.sampled_from(["type", "n", "ack", "message", "id", "result", "error", "mode", "context", "directive", "seen"]),
    st.sampled_from(
        [
            "message",
            "context",
            "display-mode",
            "command-result",
            "ack",
            "load-failed",
            "csp-violation",
            "fullscreen",
        ]
    )
    | NUMBERS
    | ANYTHING,
    max_size=6,
)


@attack("word-fuzz-line")
@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(["send", "send", "read", "lose", "resume"]) | FRAMES, max_size=60))
def test_every_frame_arrives_once_and_in_order_despite_other_frames(steps: list[Any]) -> None:
    """Fails without the numbers: with nothing kept, or with `_discard` of what was only claimed in a wrong type."""
    asyncio.run(_talk(steps))


async def _talk(steps: list[Any]) -> None:
    channel, wire = PageChannel(), Wire()
    await channel.begin(wire, SHOW)
    sent, got, seen, whole = 0, [], 0, True

    def read() -> None:
        nonlocal seen
        for text in wire.texts:
            frame = json.loads(text)
            if frame.get("n", 0) > seen:
                seen = frame["n"]
                got.append(frame["height"])
        wire.texts.clear()

    for step in steps:
        match step:
            case "send":
                sent += 1
                await channel.send(Resize(sent))
            case "read":
                read()
            case "lose":
                channel.detach(wire)
                wire = Wire()
            case "resume":
                read()
                channel.detach(wire)
                wire = Wire()
                if channel.can_resume(SHOW.epoch, seen):
                    await channel.resume(wire, seen)
            case dict():
                ack = step.get("ack")
                whole = whole and not (
                    type(ack) is int and ack > seen
                )  # a page that lies about what it received loses its own frames
                before = channel.received
                received = decode_frame(json.dumps(step))
                if received is not None:
                    channel.receive(received)
                    await channel.acknowledge()
                assert channel.received >= before
    read()
    if whole and channel.can_resume(SHOW.epoch, seen):
        channel.detach(wire)
        wire = Wire()
        await channel.resume(wire, seen)
        read()
        assert got == list(range(1, sent + 1))
    assert got == sorted(set(got))


@attack("word-fuzz-frames")
@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(
        FRAMES | MESSAGES.map(lambda message: {"type": "message", "message": message}),
        max_size=30,
    )
)
def test_no_frame_breaks_a_view_of_a_real_host(frames: list[dict[str, Any]]) -> None:
    """Fails without any of the checks of types in frames.py and Session."""
    asyncio.run(_with_host(frames))


async def _with_host(frames: list[dict[str, Any]]) -> None:
    async with hosted() as page:
        for frame in frames:
            if frame.get("type") == "close" or "teardown" in repr(frame):
                continue
            received = decode_frame(json.dumps(frame))
            if received is not None:
                await page.connection.receive(received)
        await asyncio.sleep(0)
        await page.receive_by_host({"type": "message", "message": {"jsonrpc": "2.0", "id": "last", "method": "ping"}})
        while True:
            heard = await asyncio.wait_for(page.frames.get(), 10)
            if heard.get("message", {}).get("id") == "last":
                assert heard["message"]["result"] == {}
                return


class hosted:
    """A host with one View, opened by a simulated page, and without rate limits."""

    async def __aenter__(self) -> Page:
        limits = Limits(messages_per_second=1e9, size_changes_per_second=1e9)
        self.host = Host({"strict": hostile("strict")[0]}, policy=Policy({"tools": "allow"}), limits=limits)
        await self.host.__aenter__()
        await self.host.servers["strict"].ready()
        call = await call_tool(self.host, "strict", "show", {})
        page = await Page().open(self.host, call.view, call.token)
        for message in ({**HELLO, "params": {}}, READY):
            await page.receive_by_host({"type": "message", "message": message})
        return page

    async def __aexit__(self, *_: object) -> None:
        await self.host.__aexit__(None, None, None)


@attack("word-fuzz-session")
async def test_a_session_keeps_nothing_of_twenty_thousand_messages() -> None:
    """Fails without `_messages.pop` in OpenRequests, where a request is answered or cancelled."""
    chance = random.Random(7)
    async with hosted() as page:
        session = page.connection._session
        for number in range(1, 20_001):
            method = chance.choice(["ping", "tools/call", "nope", "notifications/cancelled", "notifications/message"])
            params = {"name": "look", "arguments": {}, "requestId": str(number - 1), "data": number}
            message = {"jsonrpc": "2.0", "method": method, "params": params}
            if not method.startswith("notifications/"):
                message["id"] = str(number)
            await page.receive_by_host(
                {"type": "message", "message": message, "n": number, "ack": session._channel._last_number}
            )
            while not page.frames.empty():
                page.frames.get_nowait()
        async with asyncio.timeout(20):
            while session.has_open_requests:  # noqa: ASYNC110  there is no event for it
                await asyncio.sleep(0.01)
        await page.receive_by_host({"type": "ack", "ack": session._channel._last_number})
        requests = session._open_requests
        parts = (session, requests, session._host_requests, session._outbox)
        held = {name: value for part in parts for name, value in vars(part).items() if hasattr(value, "__len__")}
        assert {"_messages", "_scopes", "_pending"} <= held.keys()
        assert {name for name, value in held.items() if len(value)} == {"id", "_labels", "_reached"}
        assert len(session._reached) <= 2  # the input and the outcome
        assert len(session._channel._kept) == 0
