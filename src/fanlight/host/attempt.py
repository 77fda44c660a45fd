"""One attempt at a connection: its client, its calls, and the streams by which it learns that its server is gone."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Final, Self

import anyio
import httpx2
import mcp_types as types
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

from fanlight.host.config import Command, Streams, Url
from fanlight.host.process import Child, open_child

TransportStreams = tuple[Any, Any]

_LARGEST_EVENT: Final = 64 * 1024 * 1024  # the SDK's own limit of 1 MiB is less than many Views


class Attempt:
    """What lives as long as one attempt: its client, its calls, and what is known of its other end."""

    def __init__(self) -> None:
        self.client: Client | None = None
        self.over = anyio.Event()
        """Set when the connection is lost or closed."""
        self.stale = anyio.Event()
        """Set when the tools may have changed."""
        self.reason: str | None = None
        """Why it is over, if that is known."""
        self.child: Child | None = None
        self.http_status: int | None = None
        """Of the last response."""
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


def is_loss(error: MCPError) -> bool:
    """Tell whether an error means that the connection was lost."""
    # -32000 is also the code of many servers' own errors; these messages are the SDK's.
    return error.code == types.CONNECTION_CLOSED and error.message.startswith(("Connection closed", "SSE stream "))


def open_transport(to: Command | Url | Streams, attempt: Attempt) -> Any:
    """Return the transport to a target, which tells the attempt what it learns."""
    match to:
        case Command():
            attempt.child = Child()
            return _watched(open_child(to, attempt.child, attempt.over), attempt)
        case Url():
            return _watched(_http(to, attempt), attempt)
        case Streams():
            return _watched(to.open(), attempt)


@asynccontextmanager
async def _watched(transport: Any, attempt: Attempt) -> AsyncIterator[TransportStreams]:
    """Open a transport and notice when its other end closes, which the SDK's client does not tell."""
    async with transport as (read, write):
        yield _Watched(read, attempt), write


class _Watched:
    """A read stream that tells its attempt when it ends."""

    def __init__(self, inner: Any, attempt: Attempt) -> None:
        self._inner = inner
        self._attempt = attempt

    @property
    def last_context(self) -> Any:
        return getattr(self._inner, "last_context", None)

    async def receive(self) -> Any:
        try:
            return await self._inner.receive()
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


@asynccontextmanager
async def _http(to: Url, attempt: Attempt) -> AsyncIterator[TransportStreams]:
    async def note(response: httpx2.Response) -> None:
        attempt.http_status = response.status_code

    timeout = httpx2.Timeout(30.0, read=300.0)  # a server may hold a response open while it works
    async with (
        httpx2.AsyncClient(headers=dict(to.headers or {}), timeout=timeout, event_hooks={"response": [note]}) as client,
        streamable_http_client(to.url, http_client=client, max_sse_event_size=_LARGEST_EVENT) as streams,
    ):
        yield streams
