"""An interface by which conformance suites control our host.

The methods are those of the host test interface that ext-apps' issue 743 proposes. The proposal's camelCase names are
used over HTTP:

    displayTestApp          display_test_app          open the app of a suite in a new conversation
    resetEnvironment        reset_environment         close all Views and reset the state
    getConversation         get_conversation          return the messages of the conversation
    getConversationContext  get_conversation_context  return the model's tools and model context
    changeHostContext       change_host_context       change the host context of open and future Views
    confirmAction           confirm_action            answer a question in the user's place
    sendMessage             send_message              send a message as the user
    callTool                call_tool                 call a tool as the model would

There is no model: a suite takes its place with `call_tool`.
"""

import contextlib
import html
import itertools
import json
import secrets
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import asdict, dataclass, field
from importlib.resources import files
from types import TracebackType
from typing import Any, Final, Self

import anyio
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from fanlight.host import (
    CallCancelledError,
    Conversation,
    Host,
    Message,
    ModelTool,
    Policy,
    Question,
    UnknownViewError,
)
from fanlight.host.calls.call import Call
from fanlight.host.calls.runner import CallView
from fanlight.host.documents.tool_link import view_uri
from fanlight.host.handlers import SamplingHandler
from fanlight.host.host import runtime_of
from fanlight.host.views.page.frames import Answer
from fanlight.host.views.records import Owner
from fanlight.protocol.errors import FanlightError, RemoteError
from fanlight.protocol.jsonrpc import JSONObject

__all__ = ["Displayed", "HostUnderTest", "Suite", "SuiteError"]


FRAME: Final = "mcp-app iframe"
"""Where the frame of the sandbox is in a page that shows an app; the View is the frame inside it."""

_PAGE: Final = "displayed.html"
_MAX_BODY: Final = 10_000_000


class SuiteError(RemoteError):
    """A request of a conformance suite cannot be served. The message says why."""


@dataclass(frozen=True)
class Suite:
    """What `display_test_app` opens: a tool with a View, and its arguments."""

    server: str
    """The server."""
    tool: str
    """The tool."""
    arguments: JSONObject = field(default_factory=dict)
    """The arguments of the call."""


@dataclass(frozen=True)
class Displayed:
    """An app that is displayed."""

    conversation: str
    """The conversation of the call."""
    view: str
    """The id of the View."""
    url: str
    """A page with the View, for any browser."""
    frame: str = FRAME
    """The CSS selector of the sandbox's frame in that page."""


class HostUnderTest:
    """A host with a conversation and no model, for conformance suites. Use it with `async with`.

    Questions to the user are answered with `confirm_action`.

    Args:
        servers: The servers, as for `Host`.
        suites: What `display_test_app` can open, by name. Default: each tool with a View, named `server/tool`.
        policy: Decides what Views may do, as for `Host`.
        sampling: Answers sampling requests of Views.
        patience: How many seconds `confirm_action` waits for a question.
        options: The options of `Host`.
    """

    def __init__(
        self,
        servers: Mapping[str, object],
        *,
        suites: Mapping[str, Suite] | None = None,
        policy: Policy | None = None,
        sampling: SamplingHandler | None = None,
        patience: float = 10.0,
        **options: Any,
    ) -> None:
        self.token = secrets.token_urlsafe(18)
        """The token that a suite sends with every request: `Authorization: Bearer <token>`."""
        self.url: str | None = None
        """The address of the pages while `serve` is open, otherwise None."""
        self.host: Host
        """The host."""
        self.host = Host(servers, policy=policy, **options)
        self.host.on_message(self._receive)
        self.host.on_question(self._ask_user, instead_of_pages=True)
        if sampling is not None:
            self.host.on_sampling(sampling)
        self._suites = suites
        self._patience = patience
        self._numbers = itertools.count(1)
        self._conversation = f"test-{next(self._numbers)}"
        self._messages: list[JSONObject] = []
        self._calls: dict[str, tuple[Call, CallView]] = {}
        self._pinned: set[str] = set()
        self._pending: list[_Pending] = []
        self._arrived = anyio.Event()
        self._stack = AsyncExitStack()
        routes = [
            Route("/views/{view}", self._page),
            Route("/test/{method}", self._method, methods=["POST"]),
        ]
        self.app: ASGIApp = self.host.wrap(Starlette(routes=routes))
        """The ASGI program with the pages and the interface."""

    async def __aenter__(self) -> Self:
        await self._stack.enter_async_context(runtime_of(self.host).lifetime())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._deny_all()
        await self._stack.aclose()

    @asynccontextmanager
    async def serve(self, port: int = 0) -> AsyncIterator[str]:
        """Serve the pages and the interface on loopback for a block, and return their address."""
        with socket.create_server(("127.0.0.1", port)) as listener:
            config = uvicorn.Config(
                self.app,
                log_level="warning",
                ws="websockets-sansio",
                ws_per_message_deflate=False,
                timeout_graceful_shutdown=1,
                lifespan="off",  # the host runs with this object
            )
            server = _Server(config)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(server.serve, [listener])
                # A name, not a number: the sandbox's origin is a name below it.
                self.url = f"http://localhost:{listener.getsockname()[1]}"
                try:
                    yield self.url
                finally:
                    self.url = None
                    server.should_exit = True

    # The interface

    async def display_test_app(self, suite: str, arguments: JSONObject | None = None) -> Displayed:
        """Open the app of a suite in a new conversation."""
        chosen = await self._suite(suite)
        self._begin_conversation()
        given = chosen.arguments if arguments is None else arguments
        called = await self._call(chosen.server, chosen.tool, given, None)
        return self._displayed(called)

    async def reset_environment(self) -> None:
        """Close all Views, deny pending questions, and reset conversation, grants and context."""
        self._deny_all()
        async with anyio.create_task_group() as tasks:
            for view in self._calls:
                tasks.start_soon(self._close, view)
        self._calls.clear()
        for grant in await self.host.grants():
            await self.host.revoke(grant)
        runtime_of(self.host).views.pin_context(dict.fromkeys(self._pinned))
        self._pinned.clear()
        self._begin_conversation()

    def get_conversation(self) -> list[JSONObject]:
        """Return the conversation: messages of the user and of Views, tool calls and their results."""
        return list(self._messages)

    async def get_conversation_context(self) -> JSONObject:
        """Return what the model would get with its next turn: `tools` and `modelContext`."""
        tools = [
            {
                "name": tool.name,
                "description": tool.description,
                "inputSchema": tool.input_schema,
                **({"server": tool.server} if tool.view is None else {"view": tool.view}),
            }
            for tool in await self._chat.tools()
        ]
        contexts = await runtime_of(self.host).records.contexts(Owner(None, self._conversation))
        context = [{"view": each.view, "server": each.server, **each.context} for each in contexts]
        return {"tools": tools, "modelContext": context}

    def change_host_context(self, **changes: Any) -> None:
        """Override keys of the host context, such as `theme`. None removes an override."""
        self._pinned |= changes.keys()
        runtime_of(self.host).views.pin_context(changes)

    async def confirm_action(self, kind: str | None = None, allow: bool = True, always: bool = False) -> JSONObject:
        """Answer the oldest question for the user, or the oldest of a kind. Wait for one if there is none yet.

        The kinds are those of `fanlight.host.Question`.
        """
        pending = await self._next_pending(kind)
        self._pending.remove(pending)
        pending.settle(("always" if always else "once") if allow else "deny")
        question = pending.question
        details = [list(detail) for detail in question.details]
        return {"kind": question.kind, "text": question.text, "details": details, "allowed": allow}

    async def send_message(self, text: str) -> JSONObject:
        """Say something as the user, and return what the model would be given: the conversation and its context."""
        self._messages.append({"role": "user", "content": [{"type": "text", "text": text}], "from": "user"})
        return {"conversation": self.get_conversation(), **await self.get_conversation_context()}

    async def call_tool(
        self, name: str, arguments: JSONObject | None = None, cancel_after: float | None = None
    ) -> JSONObject:
        """Call a tool as the model would, by a name of `get_conversation_context` or as `server/tool`.

        Its View is shown at the `url` of the response; if the result has several, `views` lists them all. With
        `cancel_after`, the call is cancelled after that many seconds.
        """
        given = arguments or {}
        tool = await self._tool(name)
        if tool.view is not None:
            session = runtime_of(self.host).views.live(tool.view)
            return {"result": await runtime_of(self.host).requests.call_app_tool(session, tool.tool, given)}
        called = await self._call(tool.server, tool.tool, given, cancel_after)
        answer: JSONObject = {"result": called.result} if called.cancelled is None else {"cancelled": called.cancelled}
        shown = [asdict(self._shown(view)) for view in called.views]
        return {**answer, **shown[0], "views": shown} if shown else answer

    # What happens behind it

    def _begin_conversation(self) -> None:
        self._conversation = f"test-{next(self._numbers)}"
        self._messages = []

    async def _suite(self, name: str) -> Suite:
        await self.host.servers.wait_until_settled()
        suites = self._suites
        if suites is None:
            suites = {
                f"{server}/{tool['name']}": Suite(server, tool["name"])
                for server, tools in self.host.servers.tools().items()
                for tool in tools
                if view_uri(tool) is not None
            }
        if name not in suites:
            raise SuiteError(f"There is no suite {name!r}. There are: {', '.join(suites) or 'none'}.{self._missing()}")
        return suites[name]

    @property
    def _chat(self) -> Conversation:
        return self.host.conversation(self._conversation)

    async def _tool(self, name: str) -> ModelTool:
        offered = await self._chat.tools()
        for tool in offered:
            if name == tool.name or (tool.view is None and name == f"{tool.server}/{tool.tool}"):
                return tool
        known = ", ".join(tool.name for tool in offered) or "none"
        raise SuiteError(f"The model has no tool {name!r}. It has: {known}.{self._missing()}")

    def _missing(self) -> str:
        """Return the servers that are not connected, and the reasons, for a message."""
        states = {name: connection.status for name, connection in self.host.servers.items()}
        return "".join(f" {name} is {at.state}: {at.reason}." for name, at in states.items() if at.state != "ready")

    async def _call(self, server: str, tool: str, arguments: JSONObject, cancel_after: float | None) -> Call:
        await self.host.servers[server].ready()
        call = await runtime_of(self.host).begin(server, tool, Owner(None, self._conversation))
        self._keep(call)
        messages = self._messages
        messages.append({"role": "assistant", "toolCall": {"server": server, "name": tool, "arguments": arguments}})
        async with anyio.create_task_group() as tasks:
            if cancel_after is not None:
                tasks.start_soon(_cancel_later, call, cancel_after)
            try:
                await call.run(arguments)
            except CallCancelledError as error:
                call.cancelled = error.message
            tasks.cancel_scope.cancel()
        if call.cancelled is None:
            views = [{"view": view, "uri": uri} for view, _, uri in call.views]
            messages.append({"role": "tool", "content": call.for_model, "views": views})
        else:
            messages.append({"role": "tool", "cancelled": call.cancelled})
        self._keep(call)
        return call

    def _keep(self, call: Call) -> None:
        self._calls |= {view.view: (call, view) for view in call.views}

    def _displayed(self, call: Call) -> Displayed:
        if not call.views:
            raise SuiteError(f"The tool {call.tool!r} has no View.")
        return self._shown(call.views[0])

    def _shown(self, view: CallView) -> Displayed:
        return Displayed(self._conversation, view.view, f"{self.url or ''}/views/{view.view}")

    async def _close(self, view: str) -> None:
        with contextlib.suppress(UnknownViewError):
            await self.host.close_view(view)

    def _receive(self, message: Message) -> None:
        if message.conversation == self._conversation:
            self._messages.append({"role": message.role, "content": message.content, "from": "view"})

    # What the host asks

    async def _ask_user(self, question: Question) -> Answer:
        pending = _Pending(question)
        self._pending.append(pending)
        self._arrived.set()
        self._arrived = anyio.Event()
        try:
            return await pending.wait()
        finally:
            if pending in self._pending:
                self._pending.remove(pending)

    async def _next_pending(self, kind: str | None) -> "_Pending":
        with anyio.move_on_after(self._patience):
            while True:
                arrived = self._arrived
                for pending in self._pending:
                    if kind is None or pending.question.kind == kind:
                        return pending
                await arrived.wait()
        asked = ", ".join(pending.question.kind for pending in self._pending) or "nothing"
        raise SuiteError(f"The host did not ask about {kind or 'anything'}. It asks about {asked}.")

    def _deny_all(self) -> None:
        for pending in self._pending:
            pending.settle("deny")
        self._pending.clear()

    # The web

    async def _page(self, request: Request) -> Response:
        called = self._calls.get(request.path_params["view"])
        if called is None:
            return HTMLResponse("<!doctype html><title>Closed</title><p>There is no such View.", 404)
        page = files("fanlight.testing").joinpath(_PAGE).read_text(encoding="utf-8")
        return HTMLResponse(page.format(title=html.escape(called[0].tool), view=called[1].view, token=called[1].token))

    async def _method(self, request: Request) -> Response:
        given = request.headers.get("authorization", "").removeprefix("Bearer ")
        if not secrets.compare_digest(given.encode(), self.token.encode()):
            return _failed("Send the token of this host: Authorization: Bearer <token>.", 401)
        method = self._methods().get(request.path_params["method"])
        if method is None:
            return _failed(f"There is no such method. There are: {', '.join(self._methods())}.", 404)
        try:
            body = b""
            async for chunk in request.stream():
                body += chunk
                if len(body) > _MAX_BODY:
                    return _failed("This is too long.", 413)
            arguments = _arguments(body)
            return JSONResponse({"result": await method(arguments)})
        except (FanlightError, KeyError, TypeError, ValueError) as error:
            return _failed(str(error), 400)

    def _methods(self) -> Mapping[str, Callable[[JSONObject], Awaitable[Any]]]:
        async def display(arguments: JSONObject) -> JSONObject:
            return asdict(await self.display_test_app(**arguments))

        async def conversation(arguments: JSONObject) -> list[JSONObject]:
            return self.get_conversation()

        async def change(arguments: JSONObject) -> None:
            self.change_host_context(**arguments)

        return {
            "displayTestApp": display,
            "resetEnvironment": lambda arguments: self.reset_environment(**arguments),
            "getConversation": conversation,
            "getConversationContext": lambda arguments: self.get_conversation_context(**arguments),
            "changeHostContext": change,
            "confirmAction": lambda arguments: self.confirm_action(**arguments),
            "sendMessage": lambda arguments: self.send_message(**arguments),
            "callTool": lambda arguments: self.call_tool(**_snake(arguments)),
        }


class _Pending:
    """A question that waits for its answer."""

    def __init__(self, question: Question) -> None:
        self.question = question
        self._answer: Answer = "deny"
        self._settled = anyio.Event()

    def settle(self, answer: Answer) -> None:
        self._answer = answer
        self._settled.set()

    async def wait(self) -> Answer:
        await self._settled.wait()
        return self._answer


class _Server(uvicorn.Server):
    """One that leaves signals to the program around it."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


async def _cancel_later(call: Call, seconds: float) -> None:
    await anyio.sleep(seconds)
    await call.cancel("The test cancelled it.")


def _arguments(body: bytes) -> JSONObject:
    arguments = json.loads(body or b"{}")
    if not isinstance(arguments, dict):
        raise SuiteError("The body is an object of arguments by name.")
    return arguments


def _snake(arguments: JSONObject) -> JSONObject:
    return {"cancel_after" if name == "cancelAfter" else name: value for name, value in arguments.items()}


def _failed(message: str, status: int) -> Response:
    return JSONResponse({"error": {"message": message}}, status)
