"""All servers of a host: connected in parallel, independent of each other, closed together."""

from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import Any, Self

import anyio
from anyio.abc import TaskGroup

from fanlight.host.errors import UnknownServerError
from fanlight.host.upstream.connection import Connection
from fanlight.host.upstream.events import Listener
from fanlight.host.upstream.process import STOP_TIMEOUT, Launcher
from fanlight.host.validation import shown
from fanlight.protocol.errors import ArgumentError, StateError
from fanlight.protocol.jsonrpc import JSONObject


class Servers(Mapping[str, Connection]):
    """The connections by name. They are open while the `async with` block is, which may be entered again after its end.

    A server that fails is retried and does not affect the others; its `status` has the reason. Entering the block does
    not wait for the servers: calls wait for their own, and `settled` waits for all. `options` go to each `Connection`.
    """

    def __init__(self, servers: Mapping[str, object], **options: Any) -> None:
        if not isinstance(servers, Mapping):
            raise ArgumentError(
                f'servers is {shown(servers)}, expected a dict by name. Write {{"clock": "python server.py"}}.'
            )
        for name in servers:
            if not isinstance(name, str) or not name:
                raise ArgumentError(f"servers has the name {shown(name)}, expected strings that are not empty.")
        self._connections = {name: Connection(name, server, **options) for name, server in servers.items()}
        self._tasks: TaskGroup | None = None

    async def __aenter__(self) -> Self:
        if self._tasks is not None:
            raise StateError("These servers are running already.")
        self._tasks = await anyio.create_task_group().__aenter__()
        for connection in self.values():
            connection.reset()
            self._tasks.start_soon(connection.run)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        assert self._tasks is not None
        for connection in self.values():
            connection.close()
        # A clean end comes first (an HTTP session is ended by a request); after the timeout it is cancelled.
        self._tasks.cancel_scope.deadline = anyio.current_time() + STOP_TIMEOUT
        try:
            # The group does not get the block's own error, because it would wrap it.
            await self._tasks.__aexit__(None, None, None)
        finally:
            self._tasks = None

    def __getitem__(self, name: str) -> Connection:
        try:
            return self._connections[name]
        except KeyError:
            known = ", ".join(self._connections) or "none"
            raise UnknownServerError(f"There is no server {name!r}. The servers are: {known}.") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._connections)

    def __len__(self) -> int:
        return len(self._connections)

    def tools(self) -> dict[str, tuple[JSONObject, ...]]:
        """Return the tools of each server that is ready, as the servers sent them."""
        return {name: each.tools for name, each in self.items() if each.status.state == "ready"}

    async def settled(self, within: float = 10.0) -> None:
        """Wait until each server is ready, has failed at least once, or is slow, for at most `within` seconds."""
        with anyio.move_on_after(within):
            async with anyio.create_task_group() as waiting:
                for connection in self.values():
                    waiting.start_soon(connection.settled)

    def launch_with(self, launcher: Launcher) -> None:
        """Start the processes of all servers that are commands with a launcher, from their next start on."""
        for connection in self.values():
            connection.launch_with(launcher)

    def show_views(self, show: bool) -> None:
        """Set whether the extension is advertised to the servers; reconnect those for which that changes it."""
        for connection in self.values():
            connection.show_views(show)

    def add_listener(self, listener: Listener) -> None:
        """Call `listener` with the events of every server. It must not block."""
        for connection in self.values():
            connection.add_listener(listener)
