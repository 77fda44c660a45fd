"""One MCP server, connected for as long as the host runs, and reconnected when the connection is lost.

    connecting ──▶ ready ──▶ retrying ──▶ connecting ...      failed: no further attempt is possible
         └────────────────────▲                               closed: the host has closed it

Tools and results are wire objects as the server sent them, without the fields that only the 2026-07-28 wire needs.
"""

import logging
import math
import random
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from time import monotonic
from typing import Any, Final, cast

import anyio
import mcp_types as types
from mcp.client import Client, ClientExtension, IncomingMessage, Transport, advertise
from mcp.client.auth import OAuthFlowError
from mcp.shared.dispatcher import ProgressFnT
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from fanlight import __version__
from fanlight.host.errors import (
    CallTimeoutError,
    ConnectionLostError,
    CredentialsRejectedError,
    InvalidResponseError,
    NotConnectedError,
    ServerError,
    ServerStartError,
    SignInRequiredError,
)
from fanlight.host.upstream.callbacks import Handler, elicitation_callback, sampling_callback
from fanlight.host.upstream.config import InProcess, Streams, Target, Url, parse_target
from fanlight.host.upstream.diagnostics import (
    explain_end,
    explain_failure,
    explain_http_failure,
    explain_invalid,
    explain_silence,
    first_error,
)
from fanlight.host.upstream.events import (
    CredentialsRejected,
    Listener,
    PromptsChanged,
    ResourcesChanged,
    ResourceUpdated,
    ServerEvent,
    Status,
    StatusChanged,
    ToolsChanged,
)
from fanlight.host.upstream.malformed import MalformedResponse
from fanlight.host.upstream.oauth import SignIn, SignInAuth
from fanlight.host.upstream.process import Launcher
from fanlight.host.upstream.subscriptions import Subscriptions, WatchedResources
from fanlight.host.upstream.transport import Attempt, HttpFailure, MessageObserver, ServerErrorData, open_transport
from fanlight.host.upstream.wire import (
    InputRefusedError,
    list_all_tools,
    page_params,
    send_request,
    send_until_complete,
    to_wire,
    without_wire_fields,
)
from fanlight.protocol.errors import FanlightError
from fanlight.protocol.extension import EXTENSION_ID, OLDER_EXTENSION_ID, OLDER_SETTINGS, SERVER_SETTINGS
from fanlight.protocol.jsonrpc import JSONObject

logger = logging.getLogger(__name__)

Interceptor = Callable[[str, JSONObject], Awaitable[JSONObject | None]]
"""Receives a method and its params before they are sent; returns a result, or None to let the server answer."""

_CONNECT_TIMEOUT: Final = 60.0
_SIGN_IN_TIMEOUT: Final = 600.0  # a person may have to sign in
_LIST_TIMEOUT: Final = 60.0
_REJECTED: Final = (401, 403)


@dataclass(frozen=True)
class Backoff:
    """How long to wait before each further attempt: doubling, with jitter, up to `maximum`."""

    first: float = 0.25
    maximum: float = 30.0
    steady: float = 10.0
    """After a connection that was ready for this many seconds, the pauses start over."""

    def delay(self, attempt: int) -> float:
        """Return the pause in seconds after a number of failed attempts."""
        # Half to all of the full length, so that servers that failed together do not restart together.
        longest = min(self.maximum, self.first * 2.0 ** min(attempt - 1, 32))
        return longest * random.uniform(0.5, 1.0)  # noqa: S311 (not a secret)

    @staticmethod
    def shortened(delay: float) -> float:
        """Return the length of a pause while a call is waiting: a quarter of it, but at least one second."""
        return min(delay, max(1.0, delay / 4))


class Connection:
    """The connection to one server. `run` keeps it open; everything else may be called from any task.

    Args:
        name: The name of the server.
        server: What `Host` accepts for a server.
        user: The user that the connection belongs to. Default: all users share it.
        mode: The protocol version to begin with, for the SDK's client.
        client_info: The name and version that the server sees. Default: Fanlight's.
        call_wait: How many seconds a call waits for a connection that is not ready.
        slow_after: How many seconds a server may take for its first answer before its status says so.
        connect_timeout: How many seconds one attempt may take. Default: 60, or 600 if a user may have to sign in.
        backoff: The pauses between attempts.
        on_sampling: Answers the server's sampling requests. Default: sampling is not offered.
        on_elicitation: Answers the server's elicitation requests. Default: elicitation is not offered.
        dialects: Whether to announce MCP Apps also as older drafts of the standard did.
    """

    def __init__(
        self,
        name: str,
        server: object,
        *,
        user: str | None = None,
        mode: str = "auto",
        client_info: types.Implementation | None = None,
        call_wait: float = 10.0,
        slow_after: float = 5.0,
        connect_timeout: float | None = None,
        backoff: Backoff | None = None,
        on_sampling: Handler | None = None,
        on_elicitation: Handler | None = None,
        dialects: bool = True,
    ) -> None:
        self.name = name
        self.user = user
        """The user that the connection belongs to, or None if all users share it."""
        self.target: Target = parse_target(server, name)
        self.tools: tuple[JSONObject, ...] = ()
        """The tools of all pages, as the server sent them; while it is not connected, the last known ones."""
        self.info: JSONObject = {}
        """The server's own name and version, if it sent them."""
        self.instructions: str | None = None
        self.capabilities: JSONObject = {}
        self.protocol_version: str | None = None
        self.on_message: MessageObserver | None = None
        """Receives each message of the next connections: `on_message("sent" | "received", wire_object)`."""
        self.on_stderr: Callable[[str], None] | None = None
        """Receives each line that the next processes of a command write to their stderr."""
        self.intercept: Interceptor | None = None
        """Is called before each request is sent: it can delay the request, raise, or answer in the server's place."""
        self.retries = True
        """Whether a process that exits before it is ready is started again. If not, only `restart` starts it again."""
        self._launcher: Launcher | None = None
        self._shows_views = True
        self._dialects = dialects
        self._mode = mode
        self._client_info = client_info or types.Implementation(name="fanlight", version=__version__)
        self._call_wait = call_wait
        self._slow_after = slow_after
        self._connect_timeout = connect_timeout or self._default_timeout()
        self._backoff = backoff or Backoff()
        self._on_sampling = on_sampling and sampling_callback(name, user, on_sampling)
        self._on_elicitation = on_elicitation and elicitation_callback(name, user, on_elicitation)
        self._listeners: list[Listener] = []
        self._watched = WatchedResources()
        self._current: Attempt | None = None
        self._ready_seconds = 0.0  # how long the last connection was ready
        self._needs_change = False  # waiting does not help: the command cannot be started, or exits at once
        self._sign_in_failed = False
        self._end_reason: str | None = None  # why the user did not sign in
        self._rejected: int | None = None  # the HTTP status with which the server rejected the credentials
        self.reset()

    def _default_timeout(self) -> float:
        auth = self.target.auth if isinstance(self.target, Url) else None
        if isinstance(auth, SignInAuth):
            return _CONNECT_TIMEOUT + auth.timeout
        return _CONNECT_TIMEOUT if auth is None else _SIGN_IN_TIMEOUT

    def reset(self) -> None:
        """Prepare to run, for the first time or again, possibly in another event loop."""
        self._status = Status("connecting")
        self._connecting: tuple[Attempt, float] | None = None  # and when it began
        self._changed = anyio.Event()
        self._call_waits = anyio.Event()
        self._closing = anyio.Event()
        self._pause: anyio.CancelScope | None = None  # created in the event loop
        self._restarting = False
        self._end_reason = None
        self._rejected = None
        self._watched.added = anyio.Event()

    @property
    def status(self) -> Status:
        """The current status."""
        status = self._status
        if status.state == "connecting" and status.reason is None and self._connecting is not None:
            attempt, began = self._connecting
            silent = monotonic() - began
            if silent >= self._slow_after:
                return replace(status, reason=explain_silence(self.target, attempt, silent))
        return status

    @property
    def is_busy(self) -> bool:
        """Whether a request to the server has no response yet."""
        return self._current is not None and self._current.has_calls

    @property
    def sign_in(self) -> SignIn | None:
        """The sign-in that the connection waits for, if there is one."""
        auth = self._sign_in_auth()
        return None if auth is None else auth.sign_in

    def _sign_in_auth(self) -> SignInAuth | None:
        auth = self.target.auth if isinstance(self.target, Url) else None
        return auth if isinstance(auth, SignInAuth) else None

    # Staying connected

    async def run(self) -> None:
        """Keep the connection open until `close` is called or the task is cancelled."""
        number = 1
        try:
            while not self._closing.is_set():
                self._set(Status("connecting", self.status.reason, number))
                self._ready_seconds = 0.0
                failure = await self._attempt()
                if self._closing.is_set():
                    return
                if self._restarting:
                    self._restarting, number = False, 1
                    continue
                number = 1 if self._ready_seconds > self._backoff.steady else number + 1
                await self._pause_after(failure, number)
        finally:
            self._set(Status("closed", self._end_reason if self._rejected is None else self._rejection().message))

    def close(self) -> None:
        """Close the connection; `run` returns once the child process, if any, is gone."""
        self._closing.set()
        if self._pause is not None:
            self._pause.cancel()
        if self._current is not None:
            self._current.ended.set()

    def restart(self) -> None:
        """Close the connection and open it again at once, for example because the server's code has changed."""
        self._restarting = True
        self._needs_change = False
        if self._current is not None:
            if self._current.child is not None:
                self._current.child.is_restarting = True
            self._current.end("It is being restarted.")
        elif self._pause is not None:
            self._pause.cancel()

    def launch_with(self, launcher: Launcher) -> None:
        """Start the next processes of a command with a launcher."""
        self._launcher = launcher

    def show_views(self, shown: bool) -> None:
        """Set whether the extension is advertised to the server (NEG-01); reconnect if that changes it."""
        if shown != self._shows_views:
            self._shows_views = shown
            if self._pause is not None:
                self.restart()

    async def _attempt(self) -> str:
        """Connect once and stay connected; return why the connection ended."""
        attempt = Attempt(self.on_message, self.on_stderr, dialects=self._dialects)
        self._connecting = (attempt, monotonic())
        self._needs_change = self._sign_in_failed = False
        self._rejected = None
        auth = self._sign_in_auth()
        if auth is not None:
            auth.may_begin = partial(self._may_sign_in, attempt)
        try:
            with anyio.CancelScope() as self._pause:
                await self._stay_connected(attempt)
            failure = explain_end(self.target, attempt)
        except Exception as error:
            logger.debug("%s: the connection failed", self.name, exc_info=True)
            first = first_error(error)
            self._needs_change = isinstance(first, ServerStartError)
            self._sign_in_failed = isinstance(first, OAuthFlowError) and attempt.client is None
            if isinstance(first, MCPError) and attempt.http_status in _REJECTED:
                self._rejected = attempt.http_status
                self._emit(CredentialsRejected(self.name, self.user, self._rejection()))
            failure = explain_failure(first, self.target, attempt, self._connect_timeout)
        finally:
            if auth is not None:
                auth.settle(is_signed_in=False)
        if not self.retries and attempt.client is None and attempt.child is not None:
            self._needs_change = self._needs_change or attempt.child.exit_code is not None
        return failure

    def _may_sign_in(self, attempt: Attempt) -> bool:
        """Return whether a sign-in may begin: not for a call, which would run long after its caller gave up."""
        if attempt.client is not None:
            attempt.end(f"{self.user} has to sign in again.")
            return False
        self._set(Status("connecting", f"{self.user} has to sign in."))
        return True

    async def _stay_connected(self, attempt: Attempt) -> None:
        with anyio.fail_after(self._connect_timeout) as limit:
            async with self._client(attempt) as client:
                events = await self._learn(client)
                limit.deadline = math.inf
                self._pause = (
                    anyio.CancelScope()
                )  # from here on, closing does not cancel but lets the session end cleanly
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(self._subscriptions(client, attempt).run)
                    tasks.start_soon(self._refresh_tools, attempt)
                    attempt.client = client
                    if (auth := self._sign_in_auth()) is not None:
                        auth.settle(is_signed_in=True)
                    self._current = attempt
                    if self._closing.is_set():
                        attempt.ended.set()
                    self._set(Status("ready"))
                    for event in events:
                        self._emit(event)
                    began = anyio.current_time()
                    try:
                        await attempt.ended.wait()
                    finally:
                        self._ready_seconds = anyio.current_time() - began
                        self._current = None
                        if not self._closing.is_set():
                            # Set at once; the cause is known only when the other end is closed.
                            again = Status("connecting", "It is being restarted.")
                            self._set(again if self._restarting else Status("retrying", "The connection was lost."))
                        attempt.cancel_calls()
                    tasks.cancel_scope.cancel()

    async def _learn(self, client: Client) -> list[ServerEvent]:
        """Read what the server is and offers; return events for what may have changed since the last connection."""
        known = self.protocol_version is not None
        info = client.server_info
        self.info = {} if info is None else to_wire(info)
        self.instructions = client.instructions
        self.capabilities = to_wire(client.server_capabilities)
        self.protocol_version = client.protocol_version
        before, self.tools = self.tools, await list_all_tools(client, self.name)
        if not known:
            return []
        tools = [ToolsChanged(self.name, user=self.user)] if self.tools != before else []
        return [*tools, ResourcesChanged(self.name, user=self.user), PromptsChanged(self.name, user=self.user)]

    async def _pause_after(self, failure: str, number: int) -> None:
        """Wait before the next attempt: for a while, for `restart`, or for `close`."""
        if self._rejected is not None and self.user is not None:
            self._closing.set()  # the next use of the connection asks for other credentials
            return
        if self._sign_in_failed and self.user is not None:
            self._end_reason = failure
            self._closing.set()  # the next use begins another sign-in
            return
        if isinstance(self.target, Streams) and self.target.once:
            reason = f"{failure} A transport can be opened only once: give a function that opens one."
            self._set(Status("failed", reason, number))
            await self._closing.wait()
            return
        if self._needs_change and not self.retries:
            self._set(Status("retrying", failure, number))
            with anyio.CancelScope() as self._pause:
                await self._closing.wait()
            self._restarting = False
            return
        # A user who did not sign in is not asked again at once.
        delay = self._backoff.maximum if self._sign_in_failed else self._backoff.delay(number - 1)
        self._call_waits = anyio.Event()
        self._set(Status("retrying", failure, number, delay))
        with anyio.CancelScope() as self._pause:
            shortest = self._backoff.shortened(delay)
            await anyio.sleep(shortest)
            with anyio.move_on_after(delay - shortest):
                await self._call_waits.wait()

    def _client(self, attempt: Attempt) -> Client:
        async def handle(message: IncomingMessage) -> None:
            self._handle_notification(message, attempt)

        target = self.target
        return Client(
            target.server
            if isinstance(target, InProcess)
            else cast(Transport, open_transport(target, attempt, self._launcher)),
            mode=self._mode,
            cache=None,  # the connection keeps raw results, and knows when they are stale
            client_info=self._client_info,
            extensions=self._extensions(),
            message_handler=handle,
            sampling_callback=self._on_sampling,
            sampling_capabilities=types.SamplingCapability(tools=types.SamplingToolsCapability()),
            elicitation_callback=self._on_elicitation,
        )

    def _extensions(self) -> list[ClientExtension]:
        """Return the extensions to advertise (NEG-01): ours, also under the name of its first draft."""
        if not self._shows_views:
            return []
        own = advertise(EXTENSION_ID, dict(SERVER_SETTINGS))
        return [own, advertise(OLDER_EXTENSION_ID, dict(OLDER_SETTINGS))] if self._dialects else [own]

    def _subscriptions(self, client: Client, attempt: Attempt) -> Subscriptions:
        return Subscriptions(self.name, client, attempt, self._watched, self._emit, self._backoff.delay)

    # Events

    def add_listener(self, listener: Listener) -> Callable[[], None]:
        """Call `listener` with all events from now on; return a function that removes it. It must not block."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def _emit(self, event: ServerEvent) -> None:
        for listener in tuple(self._listeners):
            try:
                listener(event)
            except Exception:
                logger.exception("%s: a listener failed on %r", self.name, event)

    def _set(self, status: Status) -> None:
        self._status = status
        changed, self._changed = self._changed, anyio.Event()
        changed.set()
        self._emit(StatusChanged(self.name, status, user=self.user))

    def _handle_notification(self, message: IncomingMessage, attempt: Attempt) -> None:
        match message:
            case types.ToolListChangedNotification():
                attempt.tools_changed.set()
            case types.ResourceListChangedNotification():
                self._emit(ResourcesChanged(self.name, user=self.user))
            case types.ResourceUpdatedNotification():
                self._emit(ResourceUpdated(self.name, str(message.params.uri), user=self.user))
            case types.PromptListChangedNotification():
                self._emit(PromptsChanged(self.name, user=self.user))

    def watch_resource(self, uri: str) -> None:
        """Subscribe to changes of a resource, if the server supports that; also on the next connections."""
        self._watched.add(uri)

    async def _refresh_tools(self, attempt: Attempt) -> None:
        while True:
            await attempt.tools_changed.wait()
            attempt.tools_changed = anyio.Event()
            assert attempt.client is not None
            try:
                with anyio.fail_after(_LIST_TIMEOUT):
                    tools = await list_all_tools(attempt.client, self.name)
            except (MCPError, ValidationError, TimeoutError) as error:
                logger.warning("%s: its tools changed, but cannot be listed: %s", self.name, error)
                continue
            if tools != self.tools:
                self.tools = tools
                self._emit(ToolsChanged(self.name, user=self.user))

    # Requests

    async def ready(self, within: float | None = None) -> None:
        """Wait until the connection is ready. Raise `NotConnectedError` with the reason if it is not in time."""
        if self._is_connected():
            return
        with anyio.move_on_after(self._call_wait if within is None else within):
            while not self._is_connected():
                if self.status.state in ("failed", "closed") or self._needs_change:
                    break
                self._call_waits.set()
                await self._changed.wait()
        if not self._is_connected():
            if self._rejected is not None:
                raise self._rejection()
            if (sign_in := self.sign_in) is not None:
                raise SignInRequiredError(self.name, sign_in.user, sign_in.url)
            reason = self.status.reason or f"it is {self.status.state}."
            raise NotConnectedError(self.name, f"not connected: {reason}")

    def _is_connected(self) -> bool:
        # An attempt that has ended stays current for a moment, until `run` proceeds.
        return self._current is not None and not self._current.ended.is_set()

    async def settled(self) -> None:
        """Wait until the first attempt has succeeded or failed, or the server is slow."""
        while (status := self.status).state == "connecting" and status.reason is None:
            began = monotonic() if self._connecting is None else self._connecting[1]
            with anyio.move_on_after(max(began + self._slow_after - monotonic(), 0.0)):
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
        # A progress token that a View chose could be that of another request.
        kept = {key: value for key, value in (meta or {}).items() if key != "progressToken"}

        def build(responses: Any, state: str | None) -> types.CallToolRequest:
            params = types.CallToolRequestParams(
                name=name,
                arguments=arguments,
                input_responses=responses,
                request_state=state,
                _meta=cast("types.RequestParamsMeta", kept) if kept else None,
            )
            return types.CallToolRequest(params=params)

        async def send(client: Client) -> JSONObject:
            try:
                return await send_until_complete(client, build, on_progress)
            except MCPError as error:
                if error.code != types.HEADER_MISMATCH or client.protocol_version not in MODERN_PROTOCOL_VERSIONS:
                    raise
                # The server wants arguments in headers that were not known: its tools changed.
                self.tools = await list_all_tools(client, self.name)
                return await send_until_complete(client, build, on_progress)

        params = {"name": name, "arguments": arguments or {}}
        return await self._request("tools/call", params, send, f"the tool {name}", timeout)

    async def read_resource(self, uri: str) -> JSONObject:
        """Read a resource; the URI is sent byte for byte."""

        def build(responses: Any, state: str | None) -> types.ReadResourceRequest:
            params = types.ReadResourceRequestParams(uri=uri, input_responses=responses, request_state=state)
            return types.ReadResourceRequest(params=params)

        async def send(client: Client) -> JSONObject:
            return await send_until_complete(client, build, None)

        return await self._request("resources/read", {"uri": uri}, send, f"the resource {uri}", _LIST_TIMEOUT)

    async def list_resources(self, cursor: str | None = None) -> JSONObject:
        """List one page of resources."""
        return await self._page(types.ListResourcesRequest(params=page_params(cursor)))

    async def list_resource_templates(self, cursor: str | None = None) -> JSONObject:
        """List one page of resource templates."""
        return await self._page(types.ListResourceTemplatesRequest(params=page_params(cursor)))

    async def list_prompts(self, cursor: str | None = None) -> JSONObject:
        """List one page of prompts."""
        return await self._page(types.ListPromptsRequest(params=page_params(cursor)))

    async def _page(self, request: types.ClientRequest) -> JSONObject:
        async def send(client: Client) -> JSONObject:
            return await send_request(client, request)

        return await self._request(request.method, {}, send, request.method, _LIST_TIMEOUT)

    async def _request(
        self,
        method: str,
        params: JSONObject,
        send: Callable[[Client], Awaitable[JSONObject]],
        what: str,
        seconds: float,
    ) -> JSONObject:
        """Send one request over a ready connection; translate what goes wrong into errors of ours."""
        await self.ready()
        attempt = self._current
        assert attempt is not None
        assert attempt.client is not None
        with anyio.move_on_after(seconds) as timeout, attempt.call_scope():
            if self.intercept is not None and (result := await self.intercept(method, params)) is not None:
                return result
            try:
                return without_wire_fields(await send(attempt.client))
            except MCPError as error:
                raise self._translate(error, attempt, what) from error
            except ValidationError as error:
                raise InvalidResponseError(self.name, types.INTERNAL_ERROR, explain_invalid(what, error)) from error
        if timeout.cancelled_caught:
            raise CallTimeoutError(self.name, f"{what} did not answer within {seconds:g} seconds.")
        if self._rejected is not None:  # another request found out first
            raise self._rejection()
        raise self._lost(attempt, what)

    def _lost(self, attempt: Attempt, what: str) -> ConnectionLostError:
        reason = "." if attempt.reason is None else f": {attempt.reason}"
        return ConnectionLostError(self.name, f"the connection was lost before {what} answered{reason}")

    def _reject(self, status: int, attempt: Attempt) -> FanlightError:
        """Return the error for credentials that the server no longer accepts. A user's own connection ends."""
        if self.user is None:
            error = CredentialsRejectedError(self.name, None, status)
            self._emit(CredentialsRejected(self.name, None, error))
            return error
        is_first = self._rejected is None
        self._rejected = status
        if is_first:
            self._closing.set()
            attempt.ended.set()
            self._emit(CredentialsRejected(self.name, self.user, self._rejection()))
        return self._rejection()

    def _rejection(self) -> CredentialsRejectedError:
        """Return the error for credentials that were rejected. Without a user, the program has to change its own."""
        assert self._rejected is not None
        reason = self.status.reason if self.user is None else None
        return CredentialsRejectedError(self.name, self.user, self._rejected, reason and f"not connected: {reason}")

    def _translate(self, error: MCPError, attempt: Attempt, what: str) -> FanlightError:
        if attempt.is_connection_loss(error) and not isinstance(error, InputRefusedError):
            return self._lost(attempt, what)
        match error.data:
            case HttpFailure() as failure:
                if failure.status in _REJECTED:
                    return self._reject(failure.status, attempt)
                reason = explain_http_failure(what, failure)
                if failure.is_gateway:
                    return ConnectionLostError(self.name, reason)
                return ServerError(self.name, error.code, reason)
            case MalformedResponse(reason):
                message = f"The response of {what} cannot be parsed: {reason}."
                return InvalidResponseError(self.name, error.code, message)
            case ServerErrorData(data):
                return ServerError(self.name, error.code, error.message, data)
        return ServerError(self.name, error.code, error.message, error.data)
