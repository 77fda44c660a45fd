"""What lies between pages, workers and databases: a load balancer, and forwarders that can be cut, slowed or stopped.

They run in a thread with an event loop of its own, so that they go on whatever a test does.
"""

import asyncio
import itertools
import threading
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Self, TypeVar

T = TypeVar("T")

_CHUNK = 65_536
_HEAD_LIMIT = 262_144


class Flow:
    """The state of all connections to one address: whether bytes flow in each direction, and how late they are."""

    def __init__(self, network: "Network") -> None:
        self._network = network
        self._there, self._back = asyncio.Event(), asyncio.Event()
        self._there.set()
        self._back.set()
        self._delay = 0.0
        self._refuses = False
        self._links: set[asyncio.Task[None]] = set()

    def pause(self, *, there: bool = True, back: bool = True) -> None:
        """Hold back the bytes to the address, those that come back, or both. Connections stay open."""

        def change() -> None:
            for event, held in ((self._there, there), (self._back, back)):
                if held:
                    event.clear()

        self._network.do(change)

    def go_on(self) -> None:
        """Accept connections, and let all bytes flow without delay."""

        def change() -> None:
            self._refuses, self._delay = False, 0.0
            self._there.set()
            self._back.set()

        self._network.do(change)

    def cut(self) -> None:
        """Close all connections as a lost network would. What is held back is lost."""
        self._network.run(self._cut)

    def refuse(self) -> None:
        """Cut all connections, and refuse new ones until `go_on`."""

        def change() -> None:
            self._refuses = True

        self._network.do(change)
        self.cut()

    def slow(self, seconds: float) -> None:
        """Delay what is sent to the address, each piece by so many seconds."""

        def change() -> None:
            self._delay = seconds

        self._network.do(change)

    @property
    def refuses(self) -> bool:
        return self._refuses

    async def _cut(self) -> None:
        links = list(self._links)
        for link in links:
            link.cancel()
        await asyncio.gather(*links, return_exceptions=True)

    async def join(
        self,
        ours: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        theirs: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        first: bytes = b"",
    ) -> None:
        """Pass bytes between a connection of ours and one to the address until one of them ends. `first` goes first."""
        task = asyncio.current_task()
        assert task is not None
        self._links.add(task)
        there = asyncio.ensure_future(self._pass(ours[0], theirs[1], self._there, first, late=True))
        back = asyncio.ensure_future(self._pass(theirs[0], ours[1], self._back))
        try:
            await asyncio.wait([there, back], return_when=asyncio.FIRST_COMPLETED)
            for _, writer in (ours, theirs):
                writer.close()
        except asyncio.CancelledError:
            for _, writer in (ours, theirs):
                writer.transport.abort()
        finally:
            self._links.discard(task)
            for pump in (there, back):
                pump.cancel()
            await asyncio.gather(there, back, return_exceptions=True)

    async def _pass(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        flows: asyncio.Event,
        chunk: bytes = b"",
        *,
        late: bool = False,
    ) -> None:
        with suppress(OSError):
            while chunk or (chunk := await reader.read(_CHUNK)):
                if late and self._delay:
                    await asyncio.sleep(self._delay)
                await flows.wait()
                writer.write(chunk)
                await writer.drain()
                chunk = b""


class Forwarder:
    """A port that leads to another one, such as that of a database."""

    def __init__(self, network: "Network", target: int) -> None:
        self.flow = Flow(network)
        self.target = target
        self.port: int = network.run(lambda: network.listen(self._serve))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            if self.flow.refuses:
                raise ConnectionRefusedError
            theirs = await asyncio.open_connection("127.0.0.1", self.target)
        except OSError:
            writer.transport.abort()
            return
        await self.flow.join((reader, writer), theirs)


@dataclass(frozen=True)
class Request:
    """The head of a request, which a rule decides by."""

    method: str
    path: str
    headers: dict[str, str]

    @property
    def is_socket(self) -> bool:
        """Whether a page opens its WebSocket."""
        return "upgrade" in self.headers

    @property
    def is_sandbox(self) -> bool:
        """Whether it is for the sandbox proxy or the document of a View."""
        return "sandbox." in self.headers.get("host", "")

    @classmethod
    def parse(cls, head: bytes) -> Self:
        first, *lines = head.decode("latin-1").rstrip("\r\n").split("\r\n")
        method, path, _ = first.split(" ", 2)
        pairs = (line.partition(":") for line in lines)
        return cls(method, path, {name.strip().lower(): value.strip() for name, _, value in pairs})


Rule = Callable[[Request], str | None]
"""Returns the worker that gets a request, or None to leave the choice to the next rule."""


def sockets_to(worker: str) -> Rule:
    """Send the sockets of pages to one worker."""
    return lambda request: worker if request.is_socket else None


def sandbox_to(worker: str) -> Rule:
    """Send the requests for the sandbox, such as for the documents of Views, to one worker."""
    return lambda request: worker if request.is_sandbox else None


def all_to(worker: str) -> Rule:
    """Send everything to one worker."""
    return lambda request: worker


@dataclass
class Backend:
    """A worker as the balancer knows it."""

    port: int
    flow: Flow


@dataclass
class Balancer:
    """A load balancer: one port for all workers. Without a rule that matches, workers take turns.

    A worker that refuses the connection is passed over, as with any balancer, whatever the rules say. Each request that
    is not for a socket gets a connection of its own, so each is routed.
    """

    network: "Network"
    backends: dict[str, Backend] = field(default_factory=dict)
    rules: Sequence[Rule] = ()
    served: list[tuple[Request, str]] = field(default_factory=list)
    """Each request, with the worker that got it."""

    def __post_init__(self) -> None:
        self._turn = itertools.count()
        self.port: int = self.network.run(lambda: self.network.listen(self._serve))
        self.address = f"http://localhost:{self.port}"

    def add(self, name: str, port: int) -> None:
        """Add a worker, or change where it is. Its former connections are cut."""
        if name in self.backends:
            self.backends[name].flow.cut()
        self.backends[name] = Backend(port, Flow(self.network))

    def remove(self, name: str) -> None:
        """Send no more requests to a worker. Its connections stay."""
        self.backends.pop(name, None)

    def flow(self, name: str) -> Flow:
        """Return the state of the connections between pages and a worker."""
        return self.backends[name].flow

    def route(self, *rules: Rule) -> None:
        """Replace the rules. The first one that matches decides."""
        self.rules = rules

    def sockets(self, name: str) -> int:
        """Return how often a worker got the socket of a page."""
        return sum(request.is_socket and worker == name for request, worker in self.served)

    def _candidates(self, request: Request) -> Iterator[str]:
        chosen = next((name for rule in self.rules if (name := rule(request)) is not None), None)
        names = list(self.backends)
        if chosen in names:
            yield chosen
        start = next(self._turn)
        yield from (name for i in range(len(names)) if (name := names[(start + i) % len(names)]) != chosen)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            writer.close()
            return
        request = Request.parse(head)
        if not request.is_socket:
            lines = [line for line in head[:-4].split(b"\r\n") if not line.lower().startswith(b"connection:")]
            head = b"\r\n".join([*lines, b"connection: close", b"", b""])
        for name in self._candidates(request):
            backend = self.backends.get(name)
            if backend is None or backend.flow.refuses:
                continue
            with suppress(OSError):
                theirs = await asyncio.open_connection("127.0.0.1", backend.port)
                self.served.append((request, name))
                await backend.flow.join((reader, writer), theirs, head)
                return
        with suppress(OSError):
            writer.write(b"HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
            await writer.drain()
        writer.close()


class Network:
    """The thread in which forwarders and balancers run."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._servers: list[asyncio.Server] = []
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True, name="network")

    def run(self, work: Callable[[], Awaitable[T]]) -> T:
        """Await something in the thread of the network."""

        async def task() -> T:
            return await work()

        return asyncio.run_coroutine_threadsafe(task(), self._loop).result(10)

    def do(self, work: Callable[[], Any]) -> None:
        """Call something in the thread of the network."""

        async def task() -> None:
            work()

        self.run(task)

    async def listen(self, serve: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]) -> int:
        """Serve connections to a free loopback port, and return it."""
        server = await asyncio.start_server(serve, "127.0.0.1", 0, limit=_HEAD_LIMIT)
        self._servers.append(server)
        port: int = server.sockets[0].getsockname()[1]
        return port

    async def _close(self) -> None:
        for server in self._servers:
            server.close()
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    @classmethod
    @contextmanager
    def running(cls) -> Iterator[Self]:
        """Run the thread for a block."""
        network = cls()
        network._thread.start()
        try:
            yield network
        finally:
            network.run(network._close)
            network._loop.call_soon_threadsafe(network._loop.stop)
            network._thread.join(10)
            network._loop.close()
