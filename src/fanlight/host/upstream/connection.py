"""One MCP server, connected for as long as the host runs, and reconnected when the connection is lost.

    connecting ──▶ ready ──▶ retrying ──▶ connecting ...      idle: it is opened on first use
         └────────────────────▲                               failed: no further attempt is possible
                                                              closed: the host has closed it

Tools and results are wire objects as the server sent them, without the fields that only the 2026-07-28 wire needs.
"""

import logging
import math
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from time import monotonic

import anyio
import mcp_types as types
from mcp.client import Client, IncomingMessage
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from fanlight.host.backoff import Backoff
from fanlight.host.errors import (
    CallTimeoutError,
    ConnectionLostError,
    CredentialsRejectedError,
    InvalidResponseError,
    NotConnectedError,
    SignInRequiredError,
)
from fanlight.host.json_text import sendable
from fanlight.host.upstream.auth.sign_in import SignIn
from fanlight.host.upstream.auth.sign_in_auth import Sending, SignInAuth, current_sending
from fanlight.host.upstream.callbacks import Handler
from fanlight.host.upstream.callers import Callers
from fanlight.host.upstream.config import Streams, Target, Url, parse_target
from fanlight.host.upstream.diagnostics import Failure, diagnose, explain_invalid, explain_silence, first_error
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
from fanlight.host.upstream.request_errors import lost_error, translate_error
from fanlight.host.upstream.requests import ServerRequests
from fanlight.host.upstream.subscriptions import Subscriptions, WatchedResources
from fanlight.host.upstream.transport.client import ClientFactory
from fanlight.host.upstream.transport.open import Attempt, MessageObserver
from fanlight.host.upstream.transport.process import KILL_TIMEOUT, Launcher
from fanlight.host.upstream.transport.wire import list_all_tools, to_wire, without_wire_fields
from fanlight.protocol.jsonrpc import JSONObject

logger = logging.getLogger(__name__)

Interceptor = Callable[[str, JSONObject], Awaitable[JSONObject | None]]
"""Receives a method and its params before they are sent; returns a result, or None to let the server answer."""


class _SignInNeededError(Exception):
    """A server rejected a request with an HTTP status, and the next connection lets the user sign in."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


class Connection(ServerRequests):
    """The connection to one server. `run` keeps it open; everything else may be called from any task.

    Args:
        name: The name of the server.
        server: What `Host` accepts for a server.
        user: The user that the connection belongs to. Default: all users share it.
        mode: The protocol version to begin with, for the SDK's client.
        client_info: The name and version that the server sees. Default: Fanlight's.
        call_wait: How many seconds a call waits for a connection that is not ready.
        slow_after: How many seconds a server may take for its first answer before its status says so.
        start_timeout: How many seconds one attempt to connect may take.
        sign_in_timeout: How many seconds longer it may take if a person may have to sign in.
        exit_timeout: How many seconds the process of a command may take to exit by itself.
        http_timeout: How many seconds the server may take to accept an HTTP connection, and each part of a request.
        call_timeout: How many seconds a response over HTTP may take at least.
        max_bytes: How many bytes a message of the server may have.
        request_timeout: How many seconds the server may take for a request that runs no tool.
        link_timeout: How many seconds a call waits longer than `call_wait` for the link of a sign-in.
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
        start_timeout: float = 60.0,
        sign_in_timeout: float = 600.0,
        exit_timeout: float = 2.0,
        http_timeout: float = 30.0,
        call_timeout: float = 300.0,
        max_bytes: int = 32_000_000,
        request_timeout: float = 60.0,
        link_timeout: float = 10.0,
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
        self.callers = Callers(user)
        """The users and conversations of the calls that run on this connection."""
        self._clients = ClientFactory(name, self.callers, mode, client_info, on_sampling, on_elicitation, dialects)
        self._dialects = dialects
        self._message_observer: MessageObserver | None = None
        self._stderr_observer: Callable[[str], None] | None = None
        self._interceptor: Interceptor | None = None
        self._retries_exits = True
        self._call_wait = call_wait
        self._slow_after = slow_after
        self._start_timeout = start_timeout + self._sign_in_time(sign_in_timeout)
        self._exit_timeout = exit_timeout
        self._http_timeout = http_timeout
        self._call_timeout = call_timeout
        self._max_bytes = max_bytes
        self._request_timeout = request_timeout
        self._link_timeout = link_timeout
        self._backoff = backoff or Backoff()
        self._listeners: list[Listener] = []
        self._watched = WatchedResources()
        self._current: Attempt | None = None
        self._ready_seconds = 0.0  # how long the last connection was ready
        self._rejected: Target | None = None  # with the credentials that were rejected, and reported
        self.reset()

    def _sign_in_time(self, longest: float) -> float:
        if (auth := self._sign_in_auth()) is not None:
            return auth.timeout
        has_auth = isinstance(self.target, Url) and self.target.auth is not None
        return longest if has_auth else 0.0

    def reset(self, target: Target | None = None, *, idle: bool = False) -> None:
        """Prepare to run, for the first time or again, possibly in another event loop or with another target.

        With `idle`, the status says that the connection is opened on first use.
        """
        self.target = target or self.target
        self._status = Status("idle" if idle else "connecting")
        self._connecting: tuple[Attempt, float] | None = None  # and when it began
        self._changed = anyio.Event()
        self._call_waits = anyio.Event()
        self._closing = anyio.Event()
        self._pause: anyio.CancelScope | None = None  # created in the event loop
        self._restarting = False
        self._expects_sign_in = False
        self._failure: Failure | None = None  # why the last attempt ended, or is about to
        self._watched.reset()

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
            self._set(Status("closed", self._close_reason()))

    def _close_reason(self) -> str | None:
        """Return why the connection of a user ended by itself, or None if it was closed."""
        failure = self._failure
        if failure is None or not self._is_final(failure):
            return None
        return self._rejection(failure).message if failure.needs == "credentials" else failure.reason

    def _is_final(self, failure: Failure) -> bool:
        """Return whether the connection ends: the next use asks the user's program for credentials or a sign-in."""
        return self.user is not None and failure.needs in ("credentials", "sign-in")

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
        if self._needs_restart():
            self._failure = None
        if self._current is not None:
            if self._current.child is not None:
                self._current.child.is_restarting = True
            self._current.end("It is being restarted.")
        elif self._pause is not None:
            self._pause.cancel()

    def _needs_restart(self) -> bool:
        return self._failure is not None and self._failure.needs == "restart"

    def show_views(self, shown: bool) -> None:
        """Set whether the extension is advertised to the server (NEG-01); reconnect if that changes it."""
        if shown != self._clients.shows_views:
            self._clients.shows_views = shown
            if self._pause is not None:
                self.restart()

    async def _attempt(self) -> Failure:
        """Connect once and stay connected; return why the connection ended."""
        attempt = Attempt(
            self._message_observer,
            self._stderr_observer,
            dialects=self._dialects,
            exit_timeout=self._exit_timeout,
            http_timeout=self._http_timeout,
            call_timeout=self._call_timeout,
            max_bytes=self._max_bytes,
        )
        self._connecting = (attempt, monotonic())
        self._failure = None
        auth = self._sign_in_auth()
        if auth is not None:
            auth.begin_only_if(partial(self._may_sign_in, attempt), self._on_sign_in)
        first: Exception | None = None
        try:
            with anyio.CancelScope() as self._pause:
                await self._stay_connected(attempt)
        except Exception as error:
            logger.debug("%s: the connection failed", self.name, exc_info=True)
            first = first_error(error)
        finally:
            if auth is not None:
                auth.settle(is_signed_in=False)
        if self._failure is None:  # otherwise a request found out first
            failure = diagnose(first, self.target, attempt, self._start_timeout, retries_exits=self._retries_exits)
            self._failure = failure
            if failure.needs == "credentials":
                self._report_rejection(self._rejection(failure))
        return self._failure

    def _may_sign_in(self, attempt: Attempt) -> bool:
        """Return whether a sign-in may begin: not for a call, which would run long after its caller gave up."""
        if attempt.client is not None:
            attempt.needs_sign_in = True
            attempt.end(f"{self.user} has to sign in again.")
            self._restarting = self._expects_sign_in = True  # the next connection begins it at once
            return False
        return True

    def _on_sign_in(self) -> None:
        self._expects_sign_in = False
        self._set(Status("connecting", f"{self.user} has to sign in."))

    async def _stay_connected(self, attempt: Attempt) -> None:
        with anyio.fail_after(self._start_timeout) as limit:
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
                    self._expects_sign_in = False
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

    async def _pause_after(self, failure: Failure, number: int) -> None:
        """Wait before the next attempt: for a while, for `restart`, or for `close`."""
        if self._is_final(failure):
            self._closing.set()
            return
        if isinstance(self.target, Streams) and self.target.once:
            reason = f"{failure.reason} A transport can be opened only once: give a function that opens one."
            self._set(Status("failed", reason, number))
            await self._closing.wait()
            return
        if failure.needs == "restart" and not self._retries_exits:
            self._set(Status("retrying", failure.reason, number))
            with anyio.CancelScope() as self._pause:
                await self._closing.wait()
            self._restarting = False
            return
        # A user who did not sign in is not asked again at once.
        delay = self._backoff.maximum if failure.needs == "sign-in" else self._backoff.delay(number - 1)
        self._call_waits = anyio.Event()
        self._set(Status("retrying", failure.reason, number, delay))
        with anyio.CancelScope() as self._pause:
            shortest = self._backoff.shortened(delay)
            await anyio.sleep(shortest)
            with anyio.move_on_after(delay - shortest):
                await self._call_waits.wait()

    def _client(self, attempt: Attempt) -> Client:
        async def handle(message: IncomingMessage) -> None:
            self._handle_notification(message, attempt)

        return self._clients.open(self.target, attempt, handle)

    def _subscriptions(self, client: Client, attempt: Attempt) -> Subscriptions:
        delay, timeout = self._backoff.delay, self._request_timeout
        return Subscriptions(self.name, self.user, client, attempt, self._watched, self._emit, delay, timeout)

    async def wait_while_closing(self) -> None:
        """Wait until the connection has closed, if it is closing: it may be closed because it was rejected."""
        with anyio.move_on_after(self._exit_timeout + KILL_TIMEOUT):
            while self._closing.is_set() and self.status.state != "closed":
                await self._changed.wait()

    # For developers

    def observe_messages(self, observer: MessageObserver) -> None:
        """Call `observer("sent" | "received", wire_object)` with each message of the next connections."""
        self._message_observer = observer

    def observe_stderr(self, observer: Callable[[str], None]) -> None:
        """Call `observer` with each line that the next processes of a command write to their stderr."""
        self._stderr_observer = observer

    def intercept(self, interceptor: Interceptor) -> None:
        """Call `interceptor` before each request: it can delay the request, raise, or answer in the server's place."""
        self._interceptor = interceptor

    def launch_with(self, launcher: Launcher) -> None:
        """Start the next processes of a command with a launcher."""
        self._clients.launcher = launcher

    def wait_after_exit(self) -> None:
        """Leave a process that exits before it is ready to `restart`, instead of starting it again after a pause."""
        self._retries_exits = False

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
        self._watched.add(sendable({"uri": uri})["uri"])

    async def _refresh_tools(self, attempt: Attempt) -> None:
        while True:
            await attempt.tools_changed.wait()
            attempt.tools_changed = anyio.Event()
            assert attempt.client is not None
            try:
                with anyio.fail_after(self._request_timeout):
                    await self._reload_tools(attempt.client)
            except (MCPError, ValidationError, TimeoutError) as error:
                logger.warning("%s: its tools changed, but cannot be listed: %s", self.name, error)

    async def _reload_tools(self, client: Client) -> None:
        tools = await list_all_tools(client, self.name)
        if tools != self.tools:
            self.tools = tools
            self._emit(ToolsChanged(self.name, user=self.user))

    # Requests

    async def ready(self, within: float | None = None) -> None:
        """Wait until the connection is ready. Raise `NotConnectedError` with the reason if it is not in time."""
        if self._is_connected():
            return
        with anyio.move_on_after(self._call_wait if within is None else within):
            await self._wait_until(self._is_connected)
        with anyio.move_on_after(self._link_timeout):  # the error is of use only with the link
            await self._wait_until(lambda: self._is_connected() or not self._expects_sign_in)
        if not self._is_connected():
            if (failure := self._failure) is not None and failure.needs == "credentials":
                raise self._rejection(failure)
            if (sign_in := self.sign_in) is not None:
                raise SignInRequiredError(self.name, sign_in.user, sign_in.url)
            reason = self.status.reason or f"it is {self.status.state}."
            raise NotConnectedError(self.name, f"not connected: {reason}")

    async def _wait_until(self, is_so: Callable[[], bool]) -> None:
        """Wait until something is so, or no further attempt is made."""
        while not is_so() and self.status.state not in ("failed", "closed") and not self._needs_restart():
            self._call_waits.set()
            await self._changed.wait()

    def _is_connected(self) -> bool:
        # An attempt that has ended stays current for a moment, until `run` proceeds.
        return self._current is not None and not self._current.ended.is_set()

    async def wait_until_settled(self) -> None:
        """Wait until the first attempt has succeeded or failed, or the server is slow."""
        while (status := self.status).state in ("idle", "connecting") and status.reason is None:
            began = monotonic() if self._connecting is None else self._connecting[1]
            with anyio.move_on_after(max(began + self._slow_after - monotonic(), 0.0)):
                await self._changed.wait()

    async def _request(
        self,
        method: str,
        params: JSONObject,
        send: Callable[[Client], Awaitable[JSONObject]],
        what: str,
        seconds: float,
    ) -> JSONObject:
        """Send one request over a ready connection; translate what goes wrong into errors of ours."""
        try:
            return await self._send_once(method, params, send, what, seconds)
        except _SignInNeededError:  # the next connection waits for the user, or says that they have to sign in
            pass
        try:
            return await self._send_once(method, params, send, what, seconds)
        except _SignInNeededError as error:
            rejection = CredentialsRejectedError(self.name, self.user, error.status)
            self._report_rejection(rejection)
            raise rejection from error

    async def _send_once(
        self,
        method: str,
        params: JSONObject,
        send: Callable[[Client], Awaitable[JSONObject]],
        what: str,
        seconds: float,
    ) -> JSONObject:
        """Send a request. Raise _SignInNeededError if the server rejected it and the user has to sign in again."""
        attempt = await self._ready_attempt()
        token = current_sending.set(sending := Sending())
        try:
            return await self._send(attempt, method, params, send, what, seconds)
        except ConnectionLostError as error:
            if attempt.needs_sign_in and sending.is_repeatable:
                raise _SignInNeededError(sending.status) from error
            raise
        finally:
            current_sending.reset(token)

    async def _ready_attempt(self) -> Attempt:
        await self.ready()
        assert self._current is not None
        return self._current

    async def _send(
        self,
        attempt: Attempt,
        method: str,
        params: JSONObject,
        send: Callable[[Client], Awaitable[JSONObject]],
        what: str,
        seconds: float,
    ) -> JSONObject:
        assert attempt.client is not None
        with anyio.move_on_after(seconds) as timeout, attempt.call_scope():
            if self._interceptor is not None and (result := await self._interceptor(method, params)) is not None:
                return result
            try:
                result = without_wire_fields(await send(attempt.client))
                self._rejected = None
                return result
            except MCPError as error:
                translated = translate_error(error, self.name, self.user, attempt, what)
                if isinstance(translated, CredentialsRejectedError):
                    self._reject(translated, attempt)
                raise translated from error
            except ValidationError as error:
                raise InvalidResponseError(self.name, types.INTERNAL_ERROR, explain_invalid(what, error)) from error
        if timeout.cancelled_caught:
            raise CallTimeoutError(self.name, f"{what} did not answer within {seconds:g} seconds.")
        if (failure := self._failure) is not None and failure.needs == "credentials":  # another request found out first
            raise self._rejection(failure)
        raise lost_error(self.name, attempt, what)

    def _reject(self, error: CredentialsRejectedError, attempt: Attempt) -> None:
        """Report credentials that the server no longer accepts. A user's own connection ends."""
        if self.user is not None:
            if self._failure is not None:
                return
            self._failure = Failure(error.message, "credentials", error.status)
            self._closing.set()
            attempt.ended.set()
        self._report_rejection(error)

    def _report_rejection(self, error: CredentialsRejectedError) -> None:
        """Emit an event, unless these credentials were rejected before and have not been accepted since."""
        if self._rejected != self.target:
            self._rejected = self.target
            self._emit(CredentialsRejected(self.name, self.user, error))

    def _rejection(self, failure: Failure) -> CredentialsRejectedError:
        """Return the error for credentials that were rejected. Without a user, the program has to change its own."""
        message = None if self.user is not None else f"not connected: {failure.reason}"
        return CredentialsRejectedError(self.name, self.user, failure.http_status, message)
