"""One MCP server, connected for as long as the host runs, and reconnected when it is lost.

    connecting ──▶ ready ──▶ retrying ──▶ connecting ...      failed: no further attempt is possible
         └────────────────────▲                               closed: the host has stopped it

What a server sends is kept as it came: tools and results are wire objects, less the fields that only
the 2026-07-28 wire needs. What goes wrong is one of these:

    FanlightError
    ├── ServerError            the server answered with a JSON-RPC error: the call is finished (DESIGN, 5)
    │   └── BadAnswer          its answer is not what MCP allows
    └── Unfinished             the call never finished: to a View it is cancelled
        ├── CallTimeout
        └── ConnectionLost     while the call ran
            └── NotConnected   before it could be sent
"""

import itertools
import logging
import math
import os
import random
import re
import subprocess
import sys
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Final, Literal, Self, cast

import anyio
import httpx2
import mcp_types as types
from anyio.abc import Process
from mcp.client import Client, ClientRequestContext, IncomingMessage, Transport, advertise
from mcp.client.stdio import get_default_environment
from mcp.client.streamable_http import streamable_http_client
from mcp.client.subscriptions import SubscriptionLost
from mcp.os.posix.utilities import terminate_posix_process_tree
from mcp.os.win32.utilities import (
    FallbackProcess,
    close_process_job,
    create_windows_process,
    get_windows_executable_command,
    terminate_windows_process_tree,
)
from mcp.shared.dispatcher import ProgressFnT
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import TypeAdapter, ValidationError

from fanlight import __version__
from fanlight.host.config import Command, InProcess, Streams, Target, Url, target
from fanlight.protocol.errors import FanlightError
from fanlight.protocol.extension import EXTENSION_ID, SERVER_SETTINGS

logger = logging.getLogger(__name__)

JSONObject = dict[str, Any]
State = Literal["connecting", "ready", "retrying", "failed", "closed"]
TransportStreams = tuple[Any, Any]

STOP_LIMIT: Final = 6.0
"""Seconds within which a connection is closed and its child process gone, whatever the child does."""

_EXIT_WAIT: Final = 2.0  # for a child to leave by itself, after its stdin closed
_TERM_WAIT: Final = 1.5  # after SIGTERM, before SIGKILL
_REAP_WAIT: Final = 1.0
_LARGEST_EVENT: Final = 64 * 1024 * 1024  # the SDK's own limit of 1 MiB is less than many Views
_MOST_PAGES: Final = 1000
_MOST_ROUNDS: Final = 10
_LIST_LIMIT: Final = 60.0
_WORDS_KEPT: Final = 50

_RAW: Final[TypeAdapter[Any]] = TypeAdapter(JSONObject)
_WIRE_ONLY: Final = frozenset({"resultType", "ttlMs", "cacheScope"})
_LOST_SESSION: Final = re.compile(r"session (?:not found|terminated|expired)|no valid session", re.IGNORECASE)


class ServerError(FanlightError):
    """The server answered with a JSON-RPC error."""

    def __init__(self, server: str, code: int, message: str, data: Any = None) -> None:
        super().__init__(f"{server}: {message} ({code})")
        self.server = server
        self.code = code
        self.message = message
        self.data = data


class BadAnswer(ServerError):
    """The server answered with something that MCP does not allow."""


class Unfinished(FanlightError):
    """A call that never finished."""

    def __init__(self, server: str, message: str) -> None:
        super().__init__(f"{server}: {message}")
        self.server = server
        self.message = message


class CallTimeout(Unfinished):
    """The server did not answer in time; it was told to stop."""


class ConnectionLost(Unfinished):
    """The connection ended while the call ran."""


class NotConnected(ConnectionLost):
    """There was no connection to send the call over."""


@dataclass(frozen=True)
class Status:
    """Where a connection stands. `reason` is what went wrong last, in words a person can act on."""

    state: State
    reason: str | None = None
    attempt: int = 1
    delay: float | None = None
    """Seconds until the next attempt, while `retrying`."""


@dataclass(frozen=True)
class StatusChanged:
    server: str
    status: Status


@dataclass(frozen=True)
class ToolsChanged:
    """The tools were listed anew; `Connection.tools` has them."""

    server: str


@dataclass(frozen=True)
class ResourcesChanged:
    server: str


@dataclass(frozen=True)
class ResourceUpdated:
    server: str
    uri: str


@dataclass(frozen=True)
class PromptsChanged:
    server: str


News = StatusChanged | ToolsChanged | ResourcesChanged | ResourceUpdated | PromptsChanged
Listener = Callable[[News], None]


@dataclass(frozen=True)
class Backoff:
    """How long to wait before each further attempt: doubling, with jitter, up to `most`."""

    first: float = 0.25
    most: float = 30.0
    steady: float = 10.0
    """A connection that held this long starts again at `first`."""

    def delay(self, attempt: int) -> float:
        # Half to all of it: servers that died together do not come back together.
        longest = min(self.most, self.first * 2.0 ** min(attempt - 1, 32))
        return longest * random.uniform(0.5, 1.0)  # noqa: S311 (not a secret)


class Connection:
    """The connection to one server. `run` keeps it; everything else may be called from any task.

    `patience` is how long a call waits for a connection that is not ready.
    """

    def __init__(
        self,
        name: str,
        given: object,
        *,
        mode: str = "auto",
        client_info: types.Implementation | None = None,
        patience: float = 10.0,
        connect_timeout: float = 60.0,
        backoff: Backoff | None = None,
    ) -> None:
        self.name = name
        self.target: Target = target(given, name)
        self.status = Status("connecting")
        self.tools: tuple[JSONObject, ...] = ()
        """The tools of all pages, as the server sent them; the last known ones while it is away."""
        self.info: JSONObject = {}
        """The server's own name and version, if it told them."""
        self.instructions: str | None = None
        self.capabilities: JSONObject = {}
        self.protocol_version: str | None = None
        self._mode = mode
        self._client_info = client_info or types.Implementation(name="fanlight", version=__version__)
        self._patience = patience
        self._connect_timeout = connect_timeout
        self._backoff = backoff or Backoff()
        self._listeners: list[Listener] = []
        self._link: _Link | None = None
        self._changed = anyio.Event()
        self._wanted = anyio.Event()
        self._closing = anyio.Event()
        self._waiting: anyio.CancelScope | None = None  # made where there is an event loop
        self._held = 0.0  # seconds that the last connection was ready
        self._hopeless = False  # waiting will not help: the command cannot even be started

    # What runs

    async def run(self) -> None:
        """Keep the connection until `close` is called or the task is cancelled."""
        attempt = 1
        try:
            while not self._closing.is_set():
                self._set(Status("connecting", self.status.reason, attempt))
                self._held = 0.0
                failure = await self._attempt()
                if self._closing.is_set():
                    return
                attempt = 1 if self._held > self._backoff.steady else attempt + 1
                await self._wait_after(failure, attempt)
        finally:
            self._set(Status("closed"))

    def close(self) -> None:
        """End the connection; `run` returns once the child process, if any, is gone."""
        self._closing.set()
        if self._waiting is not None:
            self._waiting.cancel()
        if self._link is not None:
            self._link.over.set()

    async def _attempt(self) -> str:
        """Connect once and stay connected; return why it ended."""
        link = _Link()
        self._hopeless = False
        try:
            with anyio.CancelScope() as self._waiting:
                await self._live(link)
            return _why_ended(self.target, link)
        except Exception as error:
            logger.debug("%s: the connection failed", self.name, exc_info=True)
            cause = _cause(error)
            self._hopeless = isinstance(cause, _CannotStart)
            return _words(cause, self.target, link, self._connect_timeout)

    async def _live(self, link: "_Link") -> None:
        with anyio.fail_after(self._connect_timeout) as limit:
            async with self._client(link) as client:
                await self._greet(client)
                limit.deadline = math.inf
                self._waiting = anyio.CancelScope()  # from here on, closing is asking politely
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(self._subscribe, client, link)
                    tasks.start_soon(self._keep_fresh, link)
                    link.client = client
                    self._link = link
                    if self._closing.is_set():
                        link.over.set()
                    self._set(Status("ready"))
                    began = anyio.current_time()
                    try:
                        await link.over.wait()
                    finally:
                        self._held = anyio.current_time() - began
                        self._link = None
                        if not self._closing.is_set():
                            # Told at once; the cause is known only when the other end is gone for good.
                            self._set(Status("retrying", "The connection was lost."))
                        link.cut()
                    tasks.cancel_scope.cancel()

    async def _greet(self, client: Client) -> None:
        info = client.server_info
        self.info = {} if info is None else _dumped(info)
        self.instructions = client.instructions
        self.capabilities = _dumped(client.server_capabilities)
        self.protocol_version = client.protocol_version
        self.tools = await self._all_tools(client)

    async def _wait_after(self, failure: str, attempt: int) -> None:
        if isinstance(self.target, Streams) and self.target.once:
            reason = f"{failure} A transport can be opened only once: give a function that opens one."
            self._set(Status("failed", reason, attempt))
            await self._closing.wait()
            return
        delay = self._backoff.delay(attempt - 1)
        self._wanted = anyio.Event()
        self._set(Status("retrying", failure, attempt, delay))
        with anyio.CancelScope() as self._waiting:
            least = min(delay, 1.0)
            await anyio.sleep(least)
            # Someone who calls the server now need not wait out a long pause.
            with anyio.move_on_after(delay - least):
                await self._wanted.wait()

    def _client(self, link: "_Link") -> Client:
        async def hear(message: IncomingMessage) -> None:
            self._hear(message, link)

        return Client(
            self.target.server if isinstance(self.target, InProcess) else cast(Transport, _open(self.target, link)),
            mode=self._mode,
            cache=None,  # we keep raw results, and know ourselves when they are stale
            client_info=self._client_info,
            extensions=[advertise(EXTENSION_ID, dict(SERVER_SETTINGS))],  # NEG-01
            message_handler=hear,
        )

    # News

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Call `listener` with all news from now on; return what stops it. It must not block."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def _tell(self, news: News) -> None:
        for listener in tuple(self._listeners):
            try:
                listener(news)
            except Exception:
                logger.exception("%s: a listener failed on %r", self.name, news)

    def _set(self, status: Status) -> None:
        self.status = status
        changed, self._changed = self._changed, anyio.Event()
        changed.set()
        self._tell(StatusChanged(self.name, status))

    def _hear(self, message: IncomingMessage, link: "_Link") -> None:
        match message:
            case types.ToolListChangedNotification():
                link.stale.set()
            case types.ResourceListChangedNotification():
                self._tell(ResourcesChanged(self.name))
            case types.ResourceUpdatedNotification():
                self._tell(ResourceUpdated(self.name, str(message.params.uri)))
            case types.PromptListChangedNotification():
                self._tell(PromptsChanged(self.name))

    async def _subscribe(self, client: Client, link: "_Link") -> None:
        """Ask for news where they must be asked for (2026-07-28); they reach `_hear` like all others."""
        if client.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            return
        for attempt in itertools.count(1):
            try:
                await self._follow(client, link, again=attempt > 1)
            except (SubscriptionLost, TimeoutError):
                pass
            except MCPError as error:
                if not _is_loss(error):
                    logger.debug("%s: cannot be asked for news: %s", self.name, error)
                    return
            await anyio.sleep(self._backoff.delay(attempt))

    async def _follow(self, client: Client, link: "_Link", again: bool) -> None:
        with anyio.fail_after(_LIST_LIMIT) as limit:
            async with client.listen(
                tools_list_changed=True, resources_list_changed=True, prompts_list_changed=True
            ) as changes:
                limit.deadline = math.inf
                # There is no replay: what changed before the server began to tell is found by asking.
                link.stale.set()
                if again:
                    self._tell(ResourcesChanged(self.name))
                    self._tell(PromptsChanged(self.name))
                async for _ in changes:
                    pass

    async def _keep_fresh(self, link: "_Link") -> None:
        while True:
            await link.stale.wait()
            link.stale = anyio.Event()
            assert link.client is not None
            try:
                with anyio.fail_after(_LIST_LIMIT):
                    tools = await self._all_tools(link.client)
            except (MCPError, ValidationError, TimeoutError) as error:
                logger.warning("%s: its tools changed, but cannot be listed: %s", self.name, error)
                continue
            if tools != self.tools:
                self.tools = tools
                self._tell(ToolsChanged(self.name))

    # What is asked

    async def ready(self, within: float | None = None) -> None:
        """Wait until the connection is ready, or raise `NotConnected` with the reason that it is not."""
        with anyio.move_on_after(self._patience if within is None else within):
            while not self._alive():
                if self.status.state in ("failed", "closed") or self._hopeless:
                    break
                self._wanted.set()
                await self._changed.wait()
        if not self._alive():
            reason = self.status.reason or f"it is {self.status.state}."
            raise NotConnected(self.name, f"not connected: {reason}")

    def _alive(self) -> bool:
        # A link that is over stays for a moment, until `run` has noticed.
        return self._link is not None and not self._link.over.is_set()

    async def settled(self) -> None:
        """Wait until the first attempt has succeeded or failed."""
        while self.status.state == "connecting" and self.status.reason is None:
            await self._changed.wait()

    async def call_tool(
        self,
        name: str,
        arguments: JSONObject | None = None,
        *,
        meta: Mapping[str, Any] | None = None,
        on_progress: ProgressFnT | None = None,
        timeout: float = 300.0,  # noqa: ASYNC109 (each View and tool has its own)
    ) -> JSONObject:
        """Call a tool and return its result as the server sent it; cancelling the task cancels the call."""
        # The progress token is ours: one that a View chose could be another request's.
        sent = {key: value for key, value in (meta or {}).items() if key != "progressToken"}

        def request(answers: Any, state: str | None) -> types.CallToolRequest:
            params = types.CallToolRequestParams(
                name=name,
                arguments=arguments,
                input_responses=answers,
                request_state=state,
                _meta=cast("types.RequestParamsMeta", sent) if sent else None,
            )
            return types.CallToolRequest(params=params)

        async def send(client: Client) -> JSONObject:
            try:
                return await _finished(client, request, on_progress)
            except MCPError as error:
                if error.code != types.HEADER_MISMATCH or client.protocol_version not in MODERN_PROTOCOL_VERSIONS:
                    raise
                # The server wants arguments in headers that we did not know of: its tools changed.
                self.tools = await self._all_tools(client)
                return await _finished(client, request, on_progress)

        return await self._ask(send, f"the tool {name}", timeout)

    async def read_resource(self, uri: str) -> JSONObject:
        """Read a resource; the URI is sent byte for byte."""

        def request(answers: Any, state: str | None) -> types.ReadResourceRequest:
            params = types.ReadResourceRequestParams(uri=uri, input_responses=answers, request_state=state)
            return types.ReadResourceRequest(params=params)

        return await self._ask(lambda client: _finished(client, request, None), f"the resource {uri}", _LIST_LIMIT)

    async def list_resources(self, cursor: str | None = None) -> JSONObject:
        """List one page of resources."""
        return await self._page(types.ListResourcesRequest(params=_cursor(cursor)))

    async def list_resource_templates(self, cursor: str | None = None) -> JSONObject:
        """List one page of resource templates."""
        return await self._page(types.ListResourceTemplatesRequest(params=_cursor(cursor)))

    async def list_prompts(self, cursor: str | None = None) -> JSONObject:
        """List one page of prompts."""
        return await self._page(types.ListPromptsRequest(params=_cursor(cursor)))

    async def _page(self, request: types.ClientRequest) -> JSONObject:
        return await self._ask(lambda client: _sent(client, request), request.method, _LIST_LIMIT)

    async def _ask(self, send: Callable[[Client], Awaitable[JSONObject]], what: str, seconds: float) -> JSONObject:
        """Send one request over a ready connection; turn what goes wrong into our errors."""
        await self.ready()
        link = self._link
        assert link is not None
        assert link.client is not None
        with anyio.move_on_after(seconds) as limit, link.call():
            try:
                return without_wire_fields(await send(link.client))
            except MCPError as error:
                raise self._translated(error, link, what) from error
            except ValidationError as error:
                raise BadAnswer(self.name, types.INTERNAL_ERROR, _not_mcp(what, error)) from error
        if limit.cancelled_caught:
            raise CallTimeout(self.name, f"{what} did not answer within {seconds:g} seconds.")
        raise ConnectionLost(self.name, f"the connection was lost before {what} answered.")

    def _translated(self, error: MCPError, link: "_Link", what: str) -> FanlightError:
        lost_session = isinstance(self.target, Url) and _LOST_SESSION.search(error.message)
        if lost_session:
            link.end("The server no longer knows our session; it was probably restarted.")
        if lost_session or _is_loss(error):
            return ConnectionLost(self.name, f"the connection was lost before {what} answered.")
        return ServerError(self.name, error.code, error.message, error.data)

    async def _all_tools(self, client: Client) -> tuple[JSONObject, ...]:
        if client.server_capabilities.tools is None:
            return ()
        tools: list[JSONObject] = []
        cursor: str | None = None
        for _ in range(_MOST_PAGES):
            page = await _sent(client, types.ListToolsRequest(params=_cursor(cursor)))
            tools += await _callable(client, page["tools"], cursor)
            before, cursor = cursor, page.get("nextCursor")
            if cursor is None or cursor == before:
                return tuple(tools)
        logger.warning("%s: it has more than %d pages of tools; the rest is left out", self.name, _MOST_PAGES)
        return tuple(tools)


def without_wire_fields(result: JSONObject) -> JSONObject:
    """Return a result without what only the 2026-07-28 wire needs."""
    plain = {key: value for key, value in result.items() if key not in _WIRE_ONLY}
    meta = plain.get("_meta")
    if isinstance(meta, Mapping) and types.SERVER_INFO_META_KEY in meta:
        rest = {key: value for key, value in meta.items() if key != types.SERVER_INFO_META_KEY}
        plain.pop("_meta")
        if rest:
            plain["_meta"] = rest
    return plain


_Build = Callable[[Any, str | None], types.CallToolRequest | types.ReadResourceRequest]


async def _sent(client: Client, request: types.ClientRequest, on_progress: ProgressFnT | None = None) -> JSONObject:
    result: JSONObject = await client.session.send_request(request, _RAW, progress_callback=on_progress)
    return result


async def _finished(client: Client, build: _Build, on_progress: ProgressFnT | None) -> JSONObject:
    """Send a request until the server needs no more input for it: no View may see `input_required`."""
    result = await _sent(client, build(None, None), on_progress)
    for _ in range(_MOST_ROUNDS):
        if result.get("resultType") != "input_required":
            return result
        wanted = types.InputRequiredResult.model_validate(result)
        answers = await _answers(client, wanted)
        if not answers:
            await anyio.sleep(0.1)  # the server only asks to be asked again
        result = await _sent(client, build(answers or None, wanted.request_state), on_progress)
    raise MCPError(types.INTERNAL_ERROR, f"The server asked for more input {_MOST_ROUNDS} times in a row.")


async def _answers(client: Client, wanted: types.InputRequiredResult) -> dict[str, Any]:
    answers: dict[str, Any] = {}
    for key, request in (wanted.input_requests or {}).items():
        context = ClientRequestContext(session=client.session, request_id=key)
        answer = await client.session.dispatch_input_request(context, request)
        if isinstance(answer, types.ErrorData):
            raise MCPError.from_error_data(answer)
        answers[key] = answer
    return answers


async def _callable(client: Client, tools: list[JSONObject], cursor: str | None) -> list[JSONObject]:
    """Return the tools of a page that may be called; let the SDK read those that want arguments in headers.

    It learns the headers, and drops tools that declare them wrongly (a MUST of 2026-07-28), in its own
    `list_tools` alone. Such tools are rare, so the page is listed once more only for them.
    """
    if client.protocol_version not in MODERN_PROTOCOL_VERSIONS or "x-mcp-header" not in repr(tools):
        return tools
    page = await client.session.list_tools(params=_cursor(cursor))
    names = {tool.name for tool in page.tools}
    return [tool for tool in tools if tool["name"] in names]


def _cursor(cursor: str | None) -> types.PaginatedRequestParams | None:
    return None if cursor is None else types.PaginatedRequestParams(cursor=cursor)


def _dumped(model: Any) -> JSONObject:
    dumped: JSONObject = model.model_dump(by_alias=True, mode="json", exclude_none=True)
    return dumped


# One attempt


class _Link:
    """What lives as long as one attempt: its client, its calls, and what is known of its other end."""

    def __init__(self) -> None:
        self.client: Client | None = None
        self.over = anyio.Event()
        self.stale = anyio.Event()
        self.reason: str | None = None
        self.child: _Child | None = None
        self.http_status: int | None = None
        self._calls: set[anyio.CancelScope] = set()

    def end(self, reason: str) -> None:
        self.reason = self.reason or reason
        self.over.set()

    @contextmanager
    def call(self) -> Iterator[None]:
        """Hold a call that ends with the connection, even where no transport would end it (in process)."""
        with anyio.CancelScope() as scope:
            self._calls.add(scope)
            try:
                yield
            finally:
                self._calls.discard(scope)

    def cut(self) -> None:
        for scope in tuple(self._calls):
            scope.cancel()


def _open(to: Command | Url | Streams, link: _Link) -> Any:
    match to:
        case Command():
            return _watched(_child(to, link), link)
        case Url():
            return _watched(_http(to, link), link)
        case Streams():
            return _watched(to.open(), link)


@asynccontextmanager
async def _watched(transport: Any, link: _Link) -> AsyncIterator[TransportStreams]:
    """Open a transport and notice when its other end closes, which the SDK's client does not tell."""
    async with transport as (read, write):
        yield _Watched(read, link), write


class _Watched:
    """A read stream that tells its link when it ends."""

    def __init__(self, inner: Any, link: _Link) -> None:
        self._inner = inner
        self._link = link

    @property
    def last_context(self) -> Any:
        return getattr(self._inner, "last_context", None)

    async def receive(self) -> Any:
        try:
            return await self._inner.receive()
        except (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError):
            self._link.over.set()
            raise

    async def aclose(self) -> None:
        await self._inner.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


@asynccontextmanager
async def _http(to: Url, link: _Link) -> AsyncIterator[TransportStreams]:
    async def note(response: httpx2.Response) -> None:
        link.http_status = response.status_code

    timeout = httpx2.Timeout(30.0, read=300.0)  # a server may hold a response open while it works
    async with (
        httpx2.AsyncClient(headers=dict(to.headers or {}), timeout=timeout, event_hooks={"response": [note]}) as client,
        streamable_http_client(to.url, http_client=client, max_sse_event_size=_LARGEST_EVENT) as streams,
    ):
        yield streams


# Child processes. The SDK's own stdio client tells neither the exit code nor the last words of a child,
# and leaves behind what a child started if the child itself leaves in time.

_AnyProcess = Process | FallbackProcess


@dataclass
class _Child:
    left: bool = False
    """It closed its stdout, as a process does that ends, before we asked it to."""
    exit_code: int | None = None
    """Set if it left by itself."""
    said: deque[str] = field(default_factory=lambda: deque(maxlen=_WORDS_KEPT))
    """The last lines of its stderr."""
    noise: str | None = None
    """The first line on its stdout that is not JSON-RPC."""


class _CannotStart(Exception):
    """A command that cannot be started; says why."""


@asynccontextmanager
async def _child(to: Command, link: _Link) -> AsyncIterator[TransportStreams]:
    """Start a command and speak newline-delimited JSON with it; leave no process behind."""
    link.child = child = _Child()
    process = await _started(to)
    # No await until the task group holds the process, or a cancellation here would leak it.
    received, read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    write, to_send = anyio.create_memory_object_stream[SessionMessage](0)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_pump_out, process, received, child)
        tasks.start_soon(_pump_in, process, to_send, link)
        tasks.start_soon(_pump_words, process, child)
        try:
            with received, read, write, to_send:
                yield read, write
        finally:
            with anyio.CancelScope(shield=True):
                await _stop(process, child)
            tasks.cancel_scope.cancel()


async def _started(to: Command) -> _AnyProcess:
    if to.cwd is not None and not to.cwd.is_dir():
        raise _CannotStart(f"The folder {to.cwd} does not exist, so {to.command!r} cannot be started in it.")
    environment = get_default_environment() | dict(to.env or {})
    try:
        if sys.platform == "win32":
            command = await anyio.to_thread.run_sync(get_windows_executable_command, to.command)
            return await create_windows_process(command, list(to.args), environment, sys.stderr, to.cwd)
        return await anyio.open_process(
            [to.command, *to.args],
            env=environment,
            cwd=to.cwd,
            stderr=subprocess.PIPE,
            start_new_session=True,  # its own process group, so that what it starts can be ended with it
        )
    except FileNotFoundError:
        raise _CannotStart(f"The command {to.command!r} was not found. {_hint(to.command)}") from None
    except (OSError, ValueError) as error:
        raise _CannotStart(f"The command {to.command!r} cannot be started: {error}.") from None


def _hint(command: str) -> str:
    if command in ("python", "python3"):
        return f"Write {sys.executable!r}, the Python that runs this program."
    return "Install it, or write its full path."


async def _pump_out(process: _AnyProcess, received: Any, child: _Child) -> None:
    """Hand on each line of stdout, and drain what nobody reads any more: a child stuck in a write cannot exit."""
    assert process.stdout is not None
    pieces: list[bytes] = []
    with received, suppress(anyio.ClosedResourceError, anyio.BrokenResourceError, OSError):
        async for piece in process.stdout:
            *ends, rest = piece.split(b"\n")
            for end in ends:
                await _hand_on(b"".join((*pieces, end)), received, child)
                pieces.clear()
            pieces.append(rest)
    child.left = True


async def _hand_on(line: bytes, received: Any, child: _Child) -> None:
    try:
        message = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValueError:
        if line.strip():
            child.noise = child.noise or line[:200].decode("utf-8", "replace")
            logger.warning("A server wrote to its stdout what is not JSON-RPC: %r", line[:200])
        return
    with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
        await received.send(SessionMessage(message))


async def _pump_in(process: _AnyProcess, to_send: Any, link: _Link) -> None:
    assert process.stdin is not None
    with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError, OSError):
        async for item in to_send:
            text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
            await process.stdin.send(text.encode() + b"\n")
    link.over.set()  # a child that no longer listens is lost, even if it lives


async def _pump_words(process: _AnyProcess, child: _Child) -> None:
    stderr = getattr(process, "stderr", None)
    if stderr is None:
        return
    rest = b""
    with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError, OSError):
        async for piece in stderr:
            *lines, rest = (rest + piece)[-65536:].split(b"\n")
            child.said.extend(line.decode("utf-8", "replace").rstrip() for line in lines)
    if rest:
        child.said.append(rest.decode("utf-8", "replace"))


async def _stop(process: _AnyProcess, child: _Child) -> None:
    """End a child and all that it started: close its stdin, then SIGTERM, then SIGKILL; every wait is bounded."""
    assert process.stdin is not None
    assert process.stdout is not None
    left = child.left
    with suppress(OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
        await process.stdin.aclose()
    with anyio.move_on_after(_EXIT_WAIT):
        await process.wait()
    child.exit_code = process.returncode if left else None
    if isinstance(process, FallbackProcess) or os.name == "nt":
        await terminate_windows_process_tree(process)
    else:
        # Also after a child that left in time: what it started may have stayed.
        await terminate_posix_process_tree(process, _TERM_WAIT)
    with anyio.move_on_after(_REAP_WAIT):
        await process.wait()
    close_process_job(process)
    for stream in (process.stdout, getattr(process, "stderr", None)):
        if stream is not None:
            with suppress(OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
                await stream.aclose()


# What went wrong, in words


def _is_loss(error: MCPError) -> bool:
    # -32000 is also the code of many servers' own errors; these messages are the SDK's.
    return error.code == types.CONNECTION_CLOSED and error.message.startswith(("Connection closed", "SSE stream "))


def _not_mcp(what: str, error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(str(part) for part in first["loc"])
    return f"The answer of {what} is not what MCP allows: {place}: {first['msg']}."


def _cause(error: Exception) -> Exception:
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    return error


def _words(error: Exception, to: Target, link: _Link, patience: float) -> str:
    match error:
        case _CannotStart():
            return str(error)
        case _ if link.child is not None and link.child.exit_code is not None:
            return _why_ended(to, link)
        case httpx2.ConnectError():
            return f"{to} refused the connection or cannot be found ({error}). Is the server running?"
        case httpx2.HTTPError():
            return f"{to} cannot be reached: {type(error).__name__} {error}".rstrip() + "."
        case TimeoutError():
            return f"{to} did not answer as an MCP server within {patience:g} seconds.{_said(link)}"
        case MCPError() if link.http_status in (401, 403):
            return f"{to} asks for authorization (HTTP {link.http_status}). Give the headers that it expects."
        case MCPError() if link.http_status is not None and link.http_status >= 400:
            return f"{to} answers HTTP {link.http_status}, not MCP. Is the path right? It is often /mcp."
        case MCPError() | ValidationError():
            return f"{to} does not answer as an MCP server: {error}{_said(link)}"
    return f"{to} cannot be used: {type(error).__name__}: {error}{_said(link)}"


def _why_ended(to: Target, link: _Link) -> str:
    if link.reason is not None:
        return link.reason
    if link.child is not None and link.child.exit_code is not None:
        code = link.child.exit_code
        how = f"was ended by signal {-code}" if code < 0 else f"exited with code {code}"
        return f"{to} {how}.{_said(link)}"
    return f"{to} closed the connection.{_said(link)}"


def _said(link: _Link) -> str:
    """Quote the last words of a child, which usually name the cause."""
    if link.child is None:
        return ""
    last = [line for line in link.child.said if line][-5:]
    quoted = " It last wrote: " + " | ".join(last) if last else ""
    noise = f" It wrote to stdout what is not MCP: {link.child.noise}" if link.child.noise else ""
    return quoted + noise
