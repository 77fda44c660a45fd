"""All servers of a host: connected in parallel, independent of each other, closed together.

A server has one connection that all users share, unless the program returns credentials of a user for it: then that
user has a connection of their own.
"""

import logging
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from time import monotonic
from types import TracebackType
from typing import Any, Self

import anyio
from anyio.abc import TaskGroup

from fanlight.host.errors import NotConnectedError, UnknownServerError
from fanlight.host.shared_lock import SharedLock
from fanlight.host.upstream.auth.credentials import Credentials, with_credential
from fanlight.host.upstream.config import Command
from fanlight.host.upstream.connection import Connection
from fanlight.host.upstream.events import Listener
from fanlight.host.upstream.transport.process import KILL_TIMEOUT, Launcher
from fanlight.host.validation import shown
from fanlight.protocol.errors import ArgumentError, StateError
from fanlight.protocol.jsonrpc import JSONObject

logger = logging.getLogger(__name__)


@dataclass
class _Access:
    """How one user reaches one server: with a connection of their own, or with the shared one (None)."""

    own: Connection | None = None
    is_known: bool = False
    """Whether the program has been asked for credentials since the last connection was closed."""
    used: float = 0.0
    lock: SharedLock = field(default_factory=SharedLock)


class Servers(Mapping[str, Connection]):
    """The connections by name. They are open while the `async with` block is, which may be entered again after its end.

    A server that fails is retried and does not affect the others; its `status` has the reason. Entering the block does
    not wait for the servers: calls wait for their own, and `wait_until_settled` waits for all.

    Args:
        servers: What `Host` accepts.
        credentials: Returns the credentials of a user for a server. With it, shared connections are opened on first
            use, too, because a server may refuse to talk to anonymous clients.
        max_own: How many connections of single users are open at once. Beyond it, the least recently used is closed.
        credentials_timeout: How many seconds `credentials` may take.
        idle: After how many seconds without use a connection of a single user is closed.
        exit_timeout: How many seconds the process of a command may take to exit by itself.
        options: The options of each `Connection`.
    """

    def __init__(
        self,
        servers: Mapping[str, object],
        *,
        credentials: Credentials | None = None,
        max_own: int = 1000,
        credentials_timeout: float = 30.0,
        idle: float = 600.0,
        exit_timeout: float = 2.0,
        **options: Any,
    ) -> None:
        if not isinstance(servers, Mapping):
            raise ArgumentError(
                f'servers is {shown(servers)}, expected a dict by name. Write {{"clock": "python server.py"}}.'
            )
        for name in servers:
            if not isinstance(name, str) or not name:
                raise ArgumentError(f"servers has the name {shown(name)}, expected strings that are not empty.")
        options["exit_timeout"] = exit_timeout
        self._connections = {name: Connection(name, server, **options) for name, server in servers.items()}
        self._stop_timeout = exit_timeout + KILL_TIMEOUT
        self._credentials = credentials
        self._credentials_timeout = credentials_timeout
        self._max_own = max_own
        self._idle = idle
        self._options = options
        self._access: OrderedDict[tuple[str, str], _Access] = OrderedDict()
        self._listeners: list[Listener] = []
        self._launcher: Launcher | None = None
        self._turns: anyio.Semaphore | None = None
        self._shows_views = True
        self._started: set[str] = set()
        self._tasks: TaskGroup | None = None

    async def __aenter__(self) -> Self:
        if self._tasks is not None:
            raise StateError("These servers are running already.")
        self._tasks = await anyio.create_task_group().__aenter__()
        self._started.clear()
        for connection in self.values():
            connection.reset(idle=self._credentials is not None)
            if self._credentials is None:
                self._start_shared(connection)
        if self._credentials is not None:
            self._tasks.start_soon(self._close_idle)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        assert self._tasks is not None
        for connection in self._all():
            connection.close()
        self._access.clear()
        # A clean end comes first (an HTTP session is ended by a request); after the timeout it is cancelled.
        self._tasks.cancel_scope.deadline = anyio.current_time() + self._stop_timeout
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

    # Users

    async def connect(self, name: str, user: str | None) -> Connection:
        """Return the connection of a user to a server, opened if necessary. It may not be ready yet."""
        shared = self[name]
        if self._credentials is None or user is None:
            self._start_shared(shared)
            return shared
        access = self._access.setdefault((user, name), _Access())
        async with access.lock.hold():
            if access.is_known and access.own is not None:
                await access.own.wait_while_closing()  # it may have been rejected; then it is not known any more
            if not access.is_known:
                await self._open(shared, user, access)
        access.used = monotonic()
        if (user, name) in self._access:
            self._access.move_to_end((user, name))
        return access.own or shared

    def find(self, name: str, user: str | None) -> Connection:
        """Return the connection of a user to a server that `connect` has opened. Raise NotConnectedError otherwise."""
        shared = self[name]
        if self._credentials is None or user is None:
            return shared
        access = self._access.get((user, name))
        if access is None or not (access.is_known or access.own):
            raise NotConnectedError(name, f"{user} is not connected yet. Before begin(), `await chat.tools()`.")
        access.used = monotonic()
        return access.own or shared

    def uses(self, name: str, owner: str | None, user: str | None) -> bool:
        """Return whether a user reaches a server with the connection of an owner, or with the shared one (None)."""
        access = self._access.get((user or "", name))
        own = access is not None and access.own is not None
        return owner == user if own else owner is None

    async def _open(self, shared: Connection, user: str, access: _Access) -> None:
        """Ask for the credentials of a user, and open a connection with them, or the shared one if there are none."""
        assert self._credentials is not None
        name = shared.name
        credential = None
        with anyio.move_on_after(self._credentials_timeout) as timeout:
            credential = await self._credentials(user, name)
        if timeout.cancelled_caught:
            seconds = f"{self._credentials_timeout:g} seconds (Timeouts.credentials)"
            raise NotConnectedError(name, f"the credentials of {user} were not there within {seconds}.")
        if credential is None:
            access.own, access.is_known = None, True
            self._start_shared(shared)
            return
        target = with_credential(shared.target, credential, name)
        if access.own is None:
            self._make_room(name)
            access.own = connection = Connection(name, target, user=user, **self._options)
            for listener in self._listeners:
                connection.add_listener(listener)
            if self._launcher is not None:
                connection.launch_with(self._launcher)
            connection.show_views(self._shows_views)
        else:
            access.own.reset(target)
        access.is_known = True
        self._running().start_soon(self._run_own, (user, name), access)

    async def _run_own(self, key: tuple[str, str], access: _Access) -> None:
        assert access.own is not None
        try:
            await access.own.run()
        finally:
            access.is_known = False  # the next use asks for credentials again

    def _make_room(self, name: str) -> None:
        """Close the least recently used connection of a user if there are too many. Raise if all are in use."""
        own = [(key, access) for key, access in self._access.items() if access.own is not None]
        if len(own) < self._max_own:
            return
        for key, access in own:
            assert access.own is not None
            if not access.own.is_busy:
                access.own.close()
                del self._access[key]
                return
        raise NotConnectedError(
            name, f"all {self._max_own} connections of users are in use. Try again, or raise Limits.user_connections."
        )

    async def _close_idle(self) -> None:
        while True:
            await anyio.sleep(max(self._idle / 4, 0.05))
            now = monotonic()
            for key, access in tuple(self._access.items()):
                if access.own is not None and (access.own.is_busy or access.own.status.state == "connecting"):
                    access.used = now
                if now - access.used <= self._idle or access.lock.is_held:
                    continue
                if access.own is not None:
                    access.own.close()
                del self._access[key]

    def _start_shared(self, connection: Connection) -> None:
        if connection.name not in self._started and self._tasks is not None:
            self._started.add(connection.name)
            if self._turns is not None and isinstance(connection.target, Command):
                self._tasks.start_soon(self._start_in_turn, connection, self._turns, self._tasks)
            else:
                self._tasks.start_soon(connection.run)

    async def _start_in_turn(self, connection: Connection, turns: anyio.Semaphore, tasks: TaskGroup) -> None:
        async with turns:
            tasks.start_soon(connection.run)
            await connection.wait_until_settled()

    def _running(self) -> TaskGroup:
        if self._tasks is None:
            raise StateError("The servers are not running.")
        return self._tasks

    # All connections

    def _all(self) -> Iterator[Connection]:
        yield from self.values()
        yield from (access.own for access in self._access.values() if access.own is not None)

    def known_tools(self, user: str | None) -> dict[str, tuple[JSONObject, ...]]:
        """Return the tools of each server as far as they are known to a user, whether or not the server is ready."""
        return {name: connection.tools for name, connection in self._of(user) if connection.tools}

    def tools(self, user: str | None = None) -> dict[str, tuple[JSONObject, ...]]:
        """Return the tools of each server that is ready, as the servers sent them to a user."""
        return {name: each.tools for name, each in self._of(user) if each.status.state == "ready"}

    def _of(self, user: str | None) -> Iterator[tuple[str, Connection]]:
        """Yield the connections that a user has. With credentials, a user has none before `connect`."""
        for name, shared in self.items():
            if self._credentials is None or user is None:
                yield name, shared
            elif (access := self._access.get((user, name))) is not None and (access.is_known or access.own):
                yield name, access.own or shared

    async def connect_all(self, user: str | None) -> None:
        """Open the connections of a user to all servers, without waiting until they are ready."""
        if self._credentials is None or user is None:
            return
        async with anyio.create_task_group() as tasks:
            for name in self:
                tasks.start_soon(self._try_to_connect, name, user)

    async def _try_to_connect(self, name: str, user: str | None) -> Connection | None:
        try:
            return await self.connect(name, user)
        except Exception as error:
            # One server without credentials does not hide the tools of the others.
            level = logging.INFO if isinstance(error, NotConnectedError) else logging.ERROR
            logger.log(level, "%s: cannot be connected for %s: %s", name, user, error)
            return None

    async def wait_until_settled(self, within: float = 10.0, user: str | None = None) -> None:
        """Wait until each server is ready, has failed at least once, or is slow, for at most `within` seconds."""

        async def settle(name: str) -> None:
            if (connection := await self._try_to_connect(name, user)) is not None:
                await connection.wait_until_settled()

        with anyio.move_on_after(within):
            async with anyio.create_task_group() as waiting:
                for name in self:
                    waiting.start_soon(settle, name)

    def launch_with(self, launcher: Launcher) -> None:
        """Start the processes of all servers that are commands with a launcher, from their next start on."""
        self._launcher = launcher
        for connection in self._all():
            connection.launch_with(launcher)

    def start_in_turn(self, at_once: int) -> None:
        """Start at most so many programs at once, so that the first are ready before the last have begun.

        One that fails or is slow does not delay the others. This applies when the servers are entered the next time.
        """
        self._turns = anyio.Semaphore(at_once)

    def show_views(self, show: bool) -> None:
        """Set whether the extension is advertised to the servers; reconnect those for which that changes it."""
        self._shows_views = show
        for connection in self._all():
            connection.show_views(show)

    def add_listener(self, listener: Listener) -> None:
        """Call `listener` with the events of every server. It must not block."""
        self._listeners.append(listener)
        for connection in self._all():
            connection.add_listener(listener)

    def close_waiting(self, name: str, user: str) -> None:
        """Close the connection of a user that waits for a sign-in. The next use opens it with what is stored."""
        access = self._access.get((user, name))
        if access is not None and access.own is not None and access.own.sign_in is not None:
            del self._access[user, name]
            access.own.close()

    async def disconnect(self, user: str) -> None:
        """Close the connections of a user."""
        for key in [key for key in self._access if key[0] == user]:
            access = self._access.pop(key)
            if access.own is not None:
                access.own.close()
