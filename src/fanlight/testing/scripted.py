"""A View written in Python: it talks to a real host over the real bridge, without a browser or a port.

async with scripted_view(server, "get_time", {"zone": "UTC"}) as view:
    assert view.result["structuredContent"]["zone"] == "UTC"
    answer = await view.call_tool("set_alarm", at="2030-01-01T00:00:00Z")
    await view.update_model_context("An alarm is set.")
    assert view.model_context["content"][0]["text"] == "An alarm is set."
"""

import itertools
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from time import monotonic
from typing import Any, Final, cast

import anyio
from anyio.abc import TaskGroup

from fanlight.dev.targets import resolve_server
from fanlight.host.calls.call import Call
from fanlight.host.consent.policy import Policy
from fanlight.host.host import Host, runtime_of
from fanlight.host.views.page.connection import PageConnection
from fanlight.host.views.page.frames import (
    Answer,
    AskUser,
    CommandResult,
    MessageFromView,
    OpenView,
    PageAck,
    PageFrame,
    ReceivedFrame,
)
from fanlight.host.views.records import Owner
from fanlight.host.web.origins import HostNames
from fanlight.host.web.page_socket import Socket
from fanlight.protocol import jsonrpc
from fanlight.protocol.bridge import PROTOCOL_VERSION
from fanlight.protocol.errors import LocalError, RemoteError
from fanlight.protocol.jsonrpc import JSONObject
from fanlight.protocol.transcript import RecordedMessage, Sender, json_lines
from fanlight.testing.permissive import ALLOW_ALL

__all__ = ["HostError", "ScriptedView", "app_host", "scripted_view"]

Handler = Callable[[JSONObject], JSONObject]

_ORIGINS: Final = HostNames().origins("http", "localhost")
_OUTCOMES: Final = ("ui/notifications/tool-result", "ui/notifications/tool-cancelled")


class HostError(RemoteError):
    """The host answered a request of the View with a JSON-RPC error."""

    def __init__(self, error: JSONObject) -> None:
        self.code: int = error["code"]
        """The JSON-RPC error code."""
        self.message: str = error["message"]
        """The message of the host."""
        self.data: Any = error.get("data")
        """The `data` of the JSON-RPC error, or None."""
        super().__init__(f"{self.message} ({self.code})")


class ScriptedView:
    """A View that a test plays in Python, with the page around it. `scripted_view` opens one."""

    max_bytes = 1_000_000
    attached = True

    def __init__(self, host: Host, call: Call, tasks: TaskGroup, within: float) -> None:
        self.host = host
        """The host."""
        self.call = call
        """The tool call that the View shows."""
        self.messages: list[RecordedMessage] = []
        """All messages in both directions, in order."""
        self.context: JSONObject = {}
        """The host context, with all changes."""
        self.capabilities: JSONObject = {}
        """The capabilities of the host."""
        self.links: list[str] = []
        """The links that the page was asked to open."""
        self.downloads: list[JSONObject] = []
        """The files that the page was asked to save."""
        self.questions: list[str] = []
        """The questions that the page asked the user."""
        self.decision: Answer = "deny"
        """What the user answers to questions: `"once"`, `"always"` or `"deny"`, which is the default."""
        self.handlers: dict[str, Handler] = {"ping": lambda params: {}, "ui/resource-teardown": lambda params: {}}
        """Handlers for requests of the host, by method: `handler(params)` returns the result."""
        self._tasks = tasks
        self._within = within
        self._started = monotonic()
        self._connection: PageConnection | None = None
        self._ids = itertools.count(1)
        self._last = 0
        self._seen = 0
        self._taken: set[int] = set()
        self._arrived = anyio.Event()

    # Sending

    async def initialize(self, capabilities: JSONObject | None = None, info: JSONObject | None = None) -> JSONObject:
        """Do the handshake, as every View does first, and return the host's response."""
        hello = {
            "protocolVersion": PROTOCOL_VERSION,
            "appInfo": info or {"name": "scripted", "version": "1"},
            "appCapabilities": capabilities or {},
        }
        answer = await self.request("ui/initialize", hello)
        self.context = dict(answer["hostContext"])
        self.capabilities = answer["hostCapabilities"]
        await self.notify("ui/notifications/initialized", {})
        return answer

    async def request(self, method: str, params: JSONObject | None = None) -> JSONObject:
        """Send a request and return the result. Raise `HostError` if the host answers with an error."""
        id = next(self._ids)
        await self.send_raw({"jsonrpc": "2.0", "id": id, "method": method, "params": params or {}})
        response = await self._next(lambda each: each.method is None and each.message.get("id") == id, method)
        if "error" in response.message:
            raise HostError(response.message["error"])
        result: JSONObject = response.message["result"]
        return result

    async def notify(self, method: str, params: JSONObject | None = None) -> None:
        """Send a notification."""
        await self.send_raw({"jsonrpc": "2.0", "method": method, "params": params or {}})

    async def send_raw(self, message: object) -> None:
        """Send any message that a View could post, also an invalid one."""
        self._record("view", message)
        await self._send_frame(MessageFromView(message))

    async def expect(self, method: str) -> JSONObject:
        """Wait for the next message with a method, and return its params. Each message is returned once.

        Raise an AssertionError that says what came instead.
        """
        return (await self._next(lambda each: each.method == method, method)).params

    async def call_tool(self, name: str, /, **arguments: Any) -> JSONObject:
        """Call a tool of the View's server."""
        return await self.request("tools/call", {"name": name, "arguments": arguments})

    async def update_model_context(self, text: str | None = None, **structured: Any) -> None:
        """Update the model context with text, structured content or both."""
        content = [] if text is None else [{"type": "text", "text": text}]
        update: JSONObject = {"content": content, **({"structuredContent": structured} if structured else {})}
        await self.request("ui/update-model-context", update)

    async def send_message(self, text: str) -> None:
        """Add a message to the conversation."""
        await self.request("ui/message", {"role": "user", "content": [{"type": "text", "text": text}]})

    async def open_link(self, url: str) -> None:
        """Request to open a link."""
        await self.request("ui/open-link", {"url": url})

    async def request_display_mode(self, mode: str) -> str:
        """Request a display mode, and return the resulting one."""
        now: str = (await self.request("ui/request-display-mode", {"mode": mode}))["mode"]
        return now

    # Reading

    def received(self, method: str) -> list[JSONObject]:
        """Return the params of each message with a method that the host sent."""
        return [each.params for each in self.messages if each.by == "host" and each.method == method]

    @property
    def arguments(self) -> JSONObject | None:
        """The arguments of the call, or None before the View got them."""
        inputs = self.received("ui/notifications/tool-input")
        return inputs[-1].get("arguments") if inputs else None

    @property
    def result(self) -> JSONObject:
        """The result of the call. Raise an AssertionError if the View has none."""
        results = self.received("ui/notifications/tool-result")
        assert results, f"The View has no result. {self._received_summary()}"
        return results[-1]

    @property
    def model_context(self) -> JSONObject | None:
        """The last model context update of the View, or None."""
        record = runtime_of(self.host).records.get(self.call.view)
        return None if record is None else record.context

    def log(self) -> str:
        """Return the messages as JSON lines."""
        return json_lines(self.messages)

    def _received_summary(self) -> str:
        methods = [each.method or "(response)" for each in self.messages if each.by == "host"]
        return f"The host sent: {', '.join(methods) or 'nothing'}."

    async def _next(self, matches: Callable[[RecordedMessage], bool], what: str) -> RecordedMessage:
        """Return the first message of the host that matches and was not returned before."""
        with anyio.move_on_after(self._within):
            while True:
                for number, each in enumerate(self.messages):
                    if each.by == "host" and number not in self._taken and matches(each):
                        self._taken.add(number)
                        return each
                await self._arrived.wait()
        raise AssertionError(
            f"The host did not send {what} within {self._within:g} seconds. {self._received_summary()}"
        )

    # The page's end of the channel

    async def open(self) -> None:
        """Open the View, as its page does. `scripted_view` calls it."""
        assert self.call.view is not None
        request = OpenView(self.call.view, self.call.token)
        self._connection = await runtime_of(self.host).opener.open(
            request, _ORIGINS, cast(Socket, self), self.call.user
        )

    async def close(self) -> None:
        """Close the page. `scripted_view` calls it at the end of its block."""
        if self._connection is not None:
            self._connection.disconnect()

    async def close_socket(self, code: int) -> None:
        """Lose the connection. The host calls it when it stops."""
        await self.close()

    async def send(self, text: str) -> None:
        """Receive a frame that the host sends to the page. The host calls it."""
        frame: JSONObject = json.loads(text)
        self._seen = frame.get("n", self._seen)
        match frame["type"]:
            case "message":
                self._receive(frame["message"])
            case "set-display-mode":
                self._done(frame["id"], {"mode": frame["mode"]})
            case "open-link":
                self.links.append(frame["url"])
                self._done(frame["id"], {})
            case "download":
                self.downloads += frame["files"]
                self._done(frame["id"], {})
            case "question":
                del frame["type"], frame["n"], frame["ack"]
                question = AskUser(**frame)
                self._done(question.id, {"answer": await self.question(question)})
        if frame.get("ackNow") and self._connection is not None:
            self._tasks.start_soon(self._connection.receive, ReceivedFrame(PageAck(), None, self._seen, 0))

    async def question(self, question: AskUser) -> Answer:
        """Answer a question for the user with `decision`. Override it to decide otherwise."""
        self.questions += [request["text"] for request in question.requests]
        return self.decision

    def _receive(self, message: JSONObject) -> None:
        recorded = self._record("host", message)
        if recorded.method == "ui/notifications/host-context-changed":
            self.context |= recorded.params
        if recorded.method is not None and "id" in message:
            self._tasks.start_soon(self.send_raw, self._answer(message["id"], recorded))
        self._arrived.set()
        self._arrived = anyio.Event()

    def _answer(self, id: Any, request: RecordedMessage) -> JSONObject:
        handler = self.handlers.get(request.method or "")
        if handler is None:
            return jsonrpc.error(id, jsonrpc.METHOD_NOT_FOUND, f"Method not found: {request.method}")
        return jsonrpc.result(id, handler(request.params))

    def _record(self, sender: Sender, message: object) -> RecordedMessage:
        fields = message if isinstance(message, dict) else {"(invalid)": message}
        recorded = RecordedMessage(sender, fields, monotonic() - self._started)
        self.messages.append(recorded)
        return recorded

    def _done(self, id: int, result: JSONObject) -> None:
        # In another task, because the host is waiting for this method to return.
        self._tasks.start_soon(self._send_frame, CommandResult(id, result))

    async def _send_frame(self, frame: PageFrame) -> None:
        assert self._connection is not None, "open() has not been called"
        self._last += 1
        await self._connection.receive(ReceivedFrame(frame, self._last, self._seen, len(str(frame))))


@asynccontextmanager
async def app_host(servers: object, *, policy: Policy | None = None, **options: Any) -> AsyncIterator[Host]:
    """Run a host in memory for a block.

    Args:
        servers: One server, which is named "server", or several by name.
        policy: Decides what Views may do. Default: everything is allowed.
        options: The options of `Host`.
    """
    given = servers if isinstance(servers, Mapping) and "command" not in servers and "url" not in servers else None
    named = {"server": servers} if given is None else given
    host = Host(
        {name: resolve_server(server) for name, server in named.items()}, policy=policy or Policy(ALLOW_ALL), **options
    )
    async with host:
        await host.servers.wait_until_settled()
        yield host


@asynccontextmanager
async def scripted_view(
    server: object,
    tool: str,
    arguments: JSONObject | None = None,
    *,
    name: str = "server",
    initialize: bool = True,
    run: bool = True,
    capabilities: JSONObject | None = None,
    within: float = 5.0,
    conversation: str | None = None,
    user: str | None = None,
    **options: Any,
) -> AsyncIterator[ScriptedView]:
    """Call a tool and open its View as a `ScriptedView` for a block.

    Args:
        server: A server, or a running `Host` that has a server called `name`.
        tool: The tool to call.
        arguments: The arguments of the call.
        name: The name of the server in the host.
        initialize: Whether to do the handshake.
        run: Whether to run the call. If not, it has only begun.
        capabilities: The capabilities of the View for the handshake.
        within: How many seconds to wait for a message of the host.
        conversation: The conversation of the call.
        user: The user of the call, and of the page that shows the View.
        options: The options of `Host`.
    """
    if not isinstance(server, Host):
        async with (
            app_host({name: server}, **options) as host,
            scripted_view(
                host,
                tool,
                arguments,
                name=name,
                initialize=initialize,
                run=run,
                capabilities=capabilities,
                within=within,
                conversation=conversation,
                user=user,
            ) as view,
        ):
            yield view
        return
    await (await runtime_of(server).servers.connect(name, user)).ready()
    call = await runtime_of(server).begin(name, tool, Owner(user, conversation))
    if call.view is None:
        raise LocalError(f"The tool {tool!r} has no View: there is no ui.resourceUri in its _meta.")
    tasks = await anyio.create_task_group().__aenter__()
    view = ScriptedView(server, call, tasks, within)
    try:
        await view.open()
        if initialize:
            await view.initialize(capabilities)
        if run:
            await call.run(arguments or {})
            if initialize:
                await view._next(lambda each: each.method in _OUTCOMES, "the outcome of the call")
        yield view
    finally:
        await view.close()
        tasks.cancel_scope.cancel()
        # The group does not get the test's own exception, because it would wrap it in a group.
        await tasks.__aexit__(None, None, None)
