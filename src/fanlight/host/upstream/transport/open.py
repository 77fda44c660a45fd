"""One attempt at a connection: its client, its calls, and the streams that show when its server is gone.

The SDK reports a lost response with an error code that servers also use for their own errors. The two are distinguished
where they happen: at the stream from the server and, over HTTP, at the response.
"""

import json
import math
import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Literal, Self

import anyio
import httpx2
import mcp_types as types
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

from fanlight.host.upstream.config import Command, Streams, Url
from fanlight.host.upstream.transport.malformed import (
    explain_parser_error,
    malformed_error,
    oversized_error,
    replace_failure,
)
from fanlight.host.upstream.transport.process import Child, Launcher, open_child
from fanlight.host.upstream.transport.sdk import is_http_failure, is_oversized_event, parse_failure
from fanlight.protocol.dialects import with_experimental

TransportStreams = tuple[Any, Any]
MessageObserver = Callable[[Literal["sent", "received"], dict[str, Any]], None]

_SESSION_HEADER: Final = "mcp-session-id"
_NO_SESSION: Final = re.compile(r"session|not initialized", re.IGNORECASE)

_SILENT_STREAM: Final = 300.0
"""How many seconds an event stream may be silent."""

_KEEP_ALIVE: Final = 3.0
"""How many seconds an idle HTTP connection is used again. Servers close theirs after 5 seconds or later, and a request
that is sent in that moment fails."""


@dataclass(frozen=True)
class ServerErrorData:
    """The data of an error that the server itself sent with the code that the SDK uses for a lost connection."""

    data: Any


@dataclass(frozen=True)
class HttpFailure:
    """The data of an error that stands for an HTTP response with an error status and no JSON-RPC error."""

    status: int
    request_size: int
    """The size of the request's body in bytes."""

    @property
    def is_gateway(self) -> bool:
        """Whether a gateway reports that it cannot reach the server behind it now."""
        return self.status in (502, 503, 504)


class Attempt:
    """The state of one attempt at a connection: its client, its calls, and what is known about its other end."""

    def __init__(
        self,
        on_message: MessageObserver | None = None,
        on_stderr: Callable[[str], None] | None = None,
        *,
        dialects: bool = False,
        exit_timeout: float = 2.0,
        http_timeout: float = 30.0,
        call_timeout: float = 300.0,
        max_bytes: int = 32_000_000,
    ) -> None:
        self.client: Client | None = None
        self.answered = False
        """Whether the server has answered; for programs that use another client than `client`."""
        self.ended = anyio.Event()
        """Set when the connection is lost or closed."""
        self.tools_changed = anyio.Event()
        """Set when the tools may have changed."""
        self.reason: str | None = None
        """Why the attempt ended, if that is known."""
        self.needs_sign_in = False
        """Whether it ended because the user has to sign in again."""
        self.child: Child | None = None
        self.http_status: int | None = None
        """The status of the last response."""
        self.unanswered: set[types.RequestId] = set()
        """Requests whose HTTP response ended without a JSON-RPC response."""
        self.http_failures: dict[types.RequestId, HttpFailure] = {}
        """Requests that got an HTTP error status."""
        self.oversized: set[types.RequestId] = set()
        """Requests whose HTTP response has too many bytes."""
        self._on_message = on_message
        self.on_stderr = on_stderr
        self.exit_timeout = exit_timeout
        self.http_timeout = http_timeout
        self.call_timeout = call_timeout
        self.max_bytes = max_bytes
        self._dialects = dialects
        self._has_streams = False
        self._calls: set[anyio.CancelScope] = set()

    def end(self, reason: str) -> None:
        """End the attempt; the first reason is kept."""
        self.reason = self.reason or reason
        self.ended.set()

    @property
    def has_calls(self) -> bool:
        """Whether a call has not finished."""
        return bool(self._calls)

    @contextmanager
    def call_scope(self) -> Iterator[None]:
        """Cancel the block when the connection ends, also in process, where no transport would end it."""
        with anyio.CancelScope() as scope:
            self._calls.add(scope)
            try:
                yield
            finally:
                self._calls.discard(scope)

    def cancel_calls(self) -> None:
        """Cancel the calls that still run."""
        for scope in tuple(self._calls):
            scope.cancel()

    def is_connection_loss(self, error: MCPError) -> bool:
        """Return whether an error means that no response can come any more, rather than being the response."""
        if error.code != types.CONNECTION_CLOSED or isinstance(error.data, ServerErrorData):
            return False
        # In process there is no stream to observe, and the only loss is that the connection was closed.
        return self._has_streams or self.ended.is_set()

    @asynccontextmanager
    async def observe(self, transport: Any) -> AsyncIterator[TransportStreams]:
        """Open a transport and set `ended` when its other end closes, which the SDK's client does not report."""
        self._has_streams = True
        async with transport as (read, write):
            yield _ObservedStream(read, self), _ObservedStream(write, self)

    def report_message(self, direction: Literal["sent", "received"], item: Any) -> None:
        """Pass a message to the observer, if there is one."""
        if self._on_message is not None and isinstance(item, SessionMessage):
            self._on_message(direction, item.message.model_dump(mode="json", by_alias=True, exclude_unset=True))

    def add_older_capabilities(self, item: Any) -> Any:
        """Return a message with our extension also where older servers look; the SDK only fills in `extensions`."""
        if not self._dialects:
            return item
        match item:
            case SessionMessage(message=types.JSONRPCRequest(method=method, params=dict(params)) as message):
                changed = with_experimental(method, params)
                return SessionMessage(message.model_copy(update={"params": changed}), item.metadata)
        return item

    def classify_error(self, item: Any) -> Any:
        """Return a received message; an error gets data that says whether the server or the SDK made it."""
        match item:
            case ValidationError():
                return replace_failure(item) or item
            case SessionMessage(message=types.JSONRPCError(id=id, error=error) as message) if id is not None:
                failure = self.http_failures.pop(id, None)
                if id in self.oversized or is_oversized_event(error):
                    self.oversized.discard(id)
                    return oversized_error(id, self.max_bytes)
                if error.code == types.CONNECTION_CLOSED and id not in self.unanswered:
                    data: object = ServerErrorData(error.data)
                elif (reason := parse_failure(error)) is not None:
                    return malformed_error(id, explain_parser_error(reason))
                elif failure is not None and is_http_failure(error):
                    data = failure
                else:
                    return item
                changed = message.model_copy(update={"error": error.model_copy(update={"data": data})})
                return SessionMessage(changed, item.metadata)
        return item


def open_transport(target: Command | Url | Streams, attempt: Attempt, launcher: Launcher | None = None) -> Any:
    """Return the transport to a target; what it learns goes to the attempt."""
    match target:
        case Command():
            attempt.child = Child(
                on_stderr=attempt.on_stderr, exit_timeout=attempt.exit_timeout, max_bytes=attempt.max_bytes
            )
            return attempt.observe(open_child(target, attempt.child, attempt.ended, launcher))
        case Url():
            return attempt.observe(_open_http(target, attempt))
        case Streams():
            return attempt.observe(target.open())


class _ObservedStream:
    """A stream of the SDK that reports its messages, and its end, to its attempt."""

    def __init__(self, inner: Any, attempt: Attempt) -> None:
        self._inner = inner
        self._attempt = attempt

    @property
    def last_context(self) -> Any:
        return getattr(self._inner, "last_context", None)

    async def receive(self) -> Any:
        with self._reporting_end():
            item = await self._inner.receive()
            self._attempt.report_message("received", item)
            return self._attempt.classify_error(item)

    async def send(self, item: Any) -> None:
        with self._reporting_end():
            item = self._attempt.add_older_capabilities(item)
            self._attempt.report_message("sent", item)
            await self._inner.send(item)

    @contextmanager
    def _reporting_end(self) -> Iterator[None]:
        try:
            yield
        except (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError):
            self._attempt.ended.set()
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


# HTTP


class _SessionLost(Exception):
    """Ends the transport of a session that the server no longer knows."""


@asynccontextmanager
async def _open_http(target: Url, attempt: Attempt) -> AsyncIterator[TransportStreams]:
    async def inspect(response: httpx2.Response) -> None:
        request = response.request
        attempt.http_status = response.status_code
        id = _request_id(request)
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        if not _is_event_stream(response):
            report = (lambda: None) if id is None else partial(attempt.oversized.add, id)
            response.stream = _LimitedBody(response.stream, attempt.max_bytes, report)
        if await _is_session_lost(response):
            attempt.end("The server no longer knows our session; it was probably restarted.")
            raise _SessionLost
        if id is None:
            return
        if response.status_code >= httpx2.codes.BAD_REQUEST:
            attempt.http_failures[id] = HttpFailure(response.status_code, len(request.content))
        elif _is_event_stream(response):
            response.stream = _ObservedBody(response.stream, lambda: attempt.unanswered.add(id))

    # A server may hold a response open while it works, and an event stream may be silent for longer than a call takes.
    silence = max(attempt.call_timeout, _SILENT_STREAM)
    timeout = httpx2.Timeout(_bounded(attempt.http_timeout), read=_bounded(silence))
    async with (
        httpx2.AsyncClient(
            headers=target.headers,
            auth=target.auth,
            timeout=timeout,
            limits=httpx2.Limits(max_connections=100, max_keepalive_connections=20, keepalive_expiry=_KEEP_ALIVE),
            event_hooks={"response": [inspect]},
        ) as client,
        streamable_http_client(target.url, http_client=client, max_sse_event_size=attempt.max_bytes) as streams,
    ):
        yield streams


def _bounded(seconds: float) -> float | None:
    """Return a timeout as httpx wants it: None means without a limit."""
    return seconds if math.isfinite(seconds) else None


async def _is_session_lost(response: httpx2.Response) -> bool:
    """Return whether our session is gone: 404 according to the standard, 400 with a message at many servers."""
    if response.request.method == "DELETE" or _SESSION_HEADER not in response.request.headers:
        return False
    if response.status_code != httpx2.codes.BAD_REQUEST:
        return response.status_code == httpx2.codes.NOT_FOUND
    try:
        body = json.loads(await response.aread())
    except (ValueError, httpx2.StreamError):
        return False
    # An error without an id was made before the server read the request itself.
    match body:
        case {"id": None, "error": {"message": str(message)}}:
            return _NO_SESSION.search(message) is not None
    return False


def _is_event_stream(response: httpx2.Response) -> bool:
    kind = response.headers.get("content-type", "").partition(";")[0]
    return kind.strip().lower() == "text/event-stream"


def _request_id(request: httpx2.Request) -> types.RequestId | None:
    """Return the id of the JSON-RPC request in an HTTP request; None for others, such as those of a sign-in."""
    if request.method != "POST" or request.headers.get("content-type") != "application/json":
        return None
    match json.loads(request.content):
        case {"method": str(), "id": int() | str() as id}:
            return id
    return None


@asynccontextmanager
async def _reading(body: httpx2.AsyncByteStream) -> AsyncIterator[AsyncIterator[bytes]]:
    """Read a body, and close what yields its pieces, even if it is not read to its end."""
    pieces = body.__aiter__()
    try:
        yield pieces
    finally:
        if isinstance(pieces, AsyncGenerator):
            await pieces.aclose()


class _LimitedBody(httpx2.AsyncByteStream):
    """A body that is read up to a limit."""

    def __init__(self, inner: httpx2.AsyncByteStream, max_bytes: int, on_excess: Callable[[], None]) -> None:
        self._inner = inner
        self._max_bytes = max_bytes
        self._on_excess = on_excess

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async with _reading(self._inner) as pieces:
            async for piece in pieces:
                size += len(piece)
                if size > self._max_bytes:
                    self._on_excess()
                    raise httpx2.StreamError(f"The response has more than {self._max_bytes} bytes.")
                yield piece

    async def aclose(self) -> None:
        await self._inner.aclose()


class _ObservedBody(httpx2.AsyncByteStream):
    """The body of an event stream. The SDK stops reading once it has its response, so at the end there was none."""

    def __init__(self, inner: httpx2.AsyncByteStream, on_end: Callable[[], None]) -> None:
        self._inner = inner
        self._on_end = on_end

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async with _reading(self._inner) as pieces:
            try:
                async for piece in pieces:
                    yield piece
            except Exception:
                self._on_end()
                raise
            else:
                self._on_end()

    async def aclose(self) -> None:
        await self._inner.aclose()
