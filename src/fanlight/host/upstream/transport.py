"""One attempt at a connection: its client, its calls, and the streams by which it learns that its server is gone.

The SDK tells a lost answer by a code that servers also use for errors of their own, so which it was is seen where
it happens: at the stream from the server and, over HTTP, at the response.
"""

import json
import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
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
from fanlight.host.upstream.malformed import in_place_of_failure, in_words, unreadable
from fanlight.host.upstream.process import Child, Launcher, open_child
from fanlight.protocol.dialects import with_experimental

TransportStreams = tuple[Any, Any]
Tap = Callable[[Literal["sent", "received"], dict[str, Any]], None]

_LARGEST_EVENT: Final = 64 * 1024 * 1024  # the SDK's own limit of 1 MiB is less than many Views
_SESSION_HEADER: Final = "mcp-session-id"
_NO_SESSION: Final = re.compile(r"session|not initialized", re.IGNORECASE)
_GATEWAY: Final = (502, 503, 504)
# What the SDK says in place of an answer that it cannot read, or of a response that is no answer.
_NOT_READ: Final = re.compile(
    r"Failed to parse (?:JSON response|SSE message): (?:.*?Invalid JSON: (.*?) \[type=)?", re.DOTALL
)
_NO_ANSWER: Final = "Server returned an error response"


@dataclass(frozen=True)
class ServersOwn:
    """The data of an error that the server itself sent, with the code that the SDK has for a lost connection."""

    data: Any


@dataclass(frozen=True)
class Unavailable:
    """The data of an error that stands for a gateway's answer: the server behind it cannot be reached now."""

    status: int


class Attempt:
    """What lives as long as one attempt: its client, its calls, and what is known of its other end."""

    def __init__(
        self, tap: Tap | None = None, on_stderr: Callable[[str], None] | None = None, *, dialects: bool = False
    ) -> None:
        self.client: Client | None = None
        self.served = False
        """Whether its server has answered, where another client than that one asks."""
        self.over = anyio.Event()
        """Set when the connection is lost or closed."""
        self.stale = anyio.Event()
        """Set when the tools may have changed."""
        self.reason: str | None = None
        """Why it is over, if that is known."""
        self.child: Child | None = None
        self.http_status: int | None = None
        """Of the last response."""
        self.unanswered: set[types.RequestId] = set()
        """Requests whose response ended without an answer."""
        self.unavailable: dict[types.RequestId, int] = {}
        """Requests that a gateway answered, with its status."""
        self._tap = tap
        self.on_stderr = on_stderr
        self._dialects = dialects
        self._watched = False
        self._calls: set[anyio.CancelScope] = set()

    def end(self, reason: str) -> None:
        """End the attempt; the first reason is kept."""
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
        """End the calls that still run."""
        for scope in tuple(self._calls):
            scope.cancel()

    def is_loss(self, error: MCPError) -> bool:
        """Tell whether an error means that an answer can no longer come, rather than being the answer."""
        if error.code != types.CONNECTION_CLOSED or isinstance(error.data, ServersOwn):
            return False
        # There is no stream to watch in process, and no way to lose a server but to close the connection.
        return self._watched or self.over.is_set()

    @asynccontextmanager
    async def watch(self, transport: Any) -> AsyncIterator[TransportStreams]:
        """Open a transport and notice when its other end closes, which the SDK's client does not tell."""
        self._watched = True
        async with transport as (read, write):
            yield _Watched(read, self), _Watched(write, self)

    def overheard(self, direction: Literal["sent", "received"], item: Any) -> None:
        """Let whoever listens hear a message."""
        if self._tap is not None and isinstance(item, SessionMessage):
            self._tap(direction, item.message.model_dump(mode="json", by_alias=True, exclude_unset=True))

    def worded(self, item: Any) -> Any:
        """Return what is sent in words that older servers know, too. The SDK's client fills in `extensions` alone."""
        if not self._dialects:
            return item
        match item:
            case SessionMessage(message=types.JSONRPCRequest(method=method, params=dict(params)) as message):
                worded = with_experimental(method, params)
                return SessionMessage(message.model_copy(update={"params": worded}), item.metadata)
        return item

    def marked(self, item: Any) -> Any:
        """Mark an error with what it is: the server's own word, or the SDK's in place of an answer."""
        match item:
            case ValidationError():
                return in_place_of_failure(item) or item
            case SessionMessage(message=types.JSONRPCError(id=id, error=error) as message) if id is not None:
                status = self.unavailable.pop(id, None)
                if error.code == types.CONNECTION_CLOSED and id not in self.unanswered:
                    data: object = ServersOwn(error.data)
                elif error.code == types.PARSE_ERROR and (found := _NOT_READ.match(error.message)):
                    return unreadable(id, in_words(found[1] or "it is no JSON-RPC message"))
                elif status is not None and error.message == _NO_ANSWER:
                    data = Unavailable(status)
                else:
                    return item
                marked = message.model_copy(update={"error": error.model_copy(update={"data": data})})
                return SessionMessage(marked, item.metadata)
        return item


def open_transport(to: Command | Url | Streams, attempt: Attempt, launcher: Launcher | None = None) -> Any:
    """Return the transport to a target, which tells the attempt what it learns."""
    match to:
        case Command():
            attempt.child = Child(listener=attempt.on_stderr)
            return attempt.watch(open_child(to, attempt.child, attempt.over, launcher))
        case Url():
            return attempt.watch(_http(to, attempt))
        case Streams():
            return attempt.watch(to.open())


class _Watched:
    """A stream of the SDK that tells its attempt when the other end is gone."""

    def __init__(self, inner: Any, attempt: Attempt) -> None:
        self._inner = inner
        self._attempt = attempt

    @property
    def last_context(self) -> Any:
        return getattr(self._inner, "last_context", None)

    async def receive(self) -> Any:
        with self._noticing():
            item = await self._inner.receive()
            self._attempt.overheard("received", item)
            return self._attempt.marked(item)

    async def send(self, item: Any) -> None:
        with self._noticing():
            worded = self._attempt.worded(item)
            self._attempt.overheard("sent", worded)
            await self._inner.send(worded)

    @contextmanager
    def _noticing(self) -> Iterator[None]:
        try:
            yield
        except (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError):
            self._attempt.over.set()
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
async def _http(to: Url, attempt: Attempt) -> AsyncIterator[TransportStreams]:
    async def note(response: httpx2.Response) -> None:
        attempt.http_status = response.status_code
        if await _forgot_session(response):
            attempt.end("The server no longer knows our session; it was probably restarted.")
            raise _SessionLost
        if response.status_code in _GATEWAY and response.request.method == "POST":
            attempt.unavailable[_request_id(response.request)] = response.status_code
        if response.request.method == "POST" and _is_event_stream(response):
            assert isinstance(response.stream, httpx2.AsyncByteStream)
            response.stream = _Noted(response.stream, lambda: attempt.unanswered.add(_request_id(response.request)))

    timeout = httpx2.Timeout(30.0, read=300.0)  # a server may hold a response open while it works
    hooks = {"response": [note]}
    async with (
        httpx2.AsyncClient(headers=to.headers, auth=to.auth, timeout=timeout, event_hooks=hooks) as client,
        streamable_http_client(to.url, http_client=client, max_sse_event_size=_LARGEST_EVENT) as streams,
    ):
        yield streams


async def _forgot_session(response: httpx2.Response) -> bool:
    """Tell whether a response says that our session is gone: 404 by the standard, 400 and words at many servers."""
    if response.request.method == "DELETE" or _SESSION_HEADER not in response.request.headers:
        return False
    if response.status_code != httpx2.codes.BAD_REQUEST:
        return response.status_code == httpx2.codes.NOT_FOUND
    try:
        answer = json.loads(await response.aread())
    except ValueError:
        return False
    # An error without an id was given before the request itself was looked at.
    match answer:
        case {"id": None, "error": {"message": str(message)}}:
            return _NO_SESSION.search(message) is not None
    return False


def _is_event_stream(response: httpx2.Response) -> bool:
    kind = response.headers.get("content-type", "").partition(";")[0]
    return kind.strip().lower() == "text/event-stream"


def _request_id(request: httpx2.Request) -> types.RequestId:
    id: types.RequestId = json.loads(request.content).get("id")
    return id


class _Noted(httpx2.AsyncByteStream):
    """The body of a response that is a stream of events. Who has found an answer in it never reads to its end."""

    def __init__(self, inner: httpx2.AsyncByteStream, at_end: Callable[[], None]) -> None:
        self._inner = inner
        self._at_end = at_end

    async def __aiter__(self) -> AsyncIterator[bytes]:
        pieces = self._inner.__aiter__()
        try:
            async for piece in pieces:
                yield piece
        except Exception:
            self._at_end()
            raise
        else:
            self._at_end()
        finally:
            if isinstance(pieces, AsyncGenerator):
                await pieces.aclose()

    async def aclose(self) -> None:
        await self._inner.aclose()
