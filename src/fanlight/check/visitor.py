"""A client that reconnects after a request that ended or blocked the server."""

from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Final, Self

import anyio
from anyio.abc import TaskStatus

from fanlight.check.client import Client, ConnectError, OtherVersionError, open_client
from fanlight.host.upstream.config import InProcess, Target
from fanlight.host.upstream.diagnostics import explain_end, quote_output
from fanlight.protocol.jsonrpc import JSONObject
from fanlight.rules.observation import Response, ToolCall

_NO_CONNECTION: Final = Response(error={"code": 0, "message": "the server did not restart"})


@dataclass
class _HeldConnection:
    """A connection that another task holds until `leave` is set."""

    client: Client
    leave: anyio.Event
    gone: anyio.Event
    reason: str | None = None
    """Why the connection ended, if the server ended it."""
    in_flight: list[str] = field(default_factory=list)
    """The tools that are being called."""
    blamed: str | None = None
    """The tool that was being called when the connection failed, if it was the only one."""


class Visitor:
    """A client that reconnects after a request that ended or blocked the server. Use it with `async with`."""

    def __init__(self, target: Target, version: str, *, ui: bool, response_timeout: float) -> None:
        self.noise: str | None = None
        """The first line on the server's stdout that is not MCP."""
        self.failed: dict[str, ToolCall] = {}
        """Calls that failed or got an invalid response, by tool."""
        self._target = target
        self._how = (version, ui, response_timeout)
        self._held: _HeldConnection | None = None
        self._connecting = anyio.Lock()
        self._tasks = anyio.create_task_group()

    async def __aenter__(self) -> Self:
        await self._tasks.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            if self._held is not None:
                self._held.leave.set()
                await self._held.gone.wait()
        finally:
            self._tasks.cancel_scope.cancel()
            # The group does not get the exception, because it would wrap it in a group.
            await self._tasks.__aexit__(None, None, None)

    async def connect(self) -> Client:
        """Connect. Raise `ConnectError` or `OtherVersionError`."""
        self._held = await self._tasks.start(self._hold)
        return self._held.client

    def connect_in_background(self) -> None:
        """Start to connect, so that the first request waits less."""
        self._tasks.start_soon(self._ready)

    async def reconnect(self) -> bool:
        """Connect if there is no connection, and return whether there is one."""
        return await self._ready() is not None

    async def _ready(self) -> _HeldConnection | None:
        async with self._connecting:
            if self._held is None or self._held.gone.is_set():
                try:
                    await self.connect()
                except (ConnectError, OtherVersionError):
                    return None
            return self._held

    async def _hold(self, *, task_status: TaskStatus[_HeldConnection]) -> None:
        """Hold a connection in a task of its own, because a transport that fails cancels its task."""
        version, ui, response_timeout = self._how
        held: _HeldConnection | None = None
        try:
            async with open_client(self._target, version, ui=ui, response_timeout=response_timeout) as client:
                held = _HeldConnection(client, anyio.Event(), anyio.Event())
                task_status.started(held)
                await held.leave.wait()
        except ConnectError as error:
            if held is None:
                raise
            held.reason = str(error)
        finally:
            if held is not None:
                held.client.attempt.cancel_calls()
                held.gone.set()

    async def read(self, uri: str) -> Response:
        held = await self._ready()
        return _NO_CONNECTION if held is None else await self._after(held, await held.client.read(uri))

    async def call(self, name: str, arguments: JSONObject) -> Response:
        held = await self._ready()
        if held is None:
            return _NO_CONNECTION
        held.in_flight.append(name)
        try:
            answer = await self._after(held, await held.client.call(name, arguments))
        finally:
            held.in_flight.remove(name)
        if answer.schema_errors or ((answer.disconnected is not None or answer.timed_out) and held.blamed == name):
            self.failed.setdefault(name, ToolCall(arguments, answer))
        return answer

    async def _after(self, held: _HeldConnection, answer: Response) -> Response:
        """Disconnect from a server that ended or may be blocked."""
        child = held.client.attempt.child
        self.noise = self.noise or (child.invalid_output if child else None)
        if answer.disconnected is None and (not answer.timed_out or isinstance(self._target, InProcess)):
            return answer
        if self._held is held:
            self._held = None
            held.blamed = held.in_flight[0] if len({*held.in_flight}) == 1 else None
            held.leave.set()
        await held.gone.wait()
        if answer.disconnected is None:
            return replace(answer, last_output=quote_output(held.client.attempt))
        return replace(answer, disconnected=held.reason or explain_end(self._target, held.client.attempt))
