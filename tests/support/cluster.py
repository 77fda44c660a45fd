"""Several workers of one chat program, with real databases, behind a balancer; each part can fail on its own."""

import json
import multiprocessing
import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit, urlunsplit

import anyio
import httpx2
import uvicorn

from support import forkserver
from support.databases import PostgresServer, RedisServer
from support.ledger import Record, ledger
from support.network import Balancer, Forwarder, Network, Rule
from support.wire import serving

Kind = Literal["postgres", "redis"]
"""The store. The bus is always Redis."""

POLICY: dict[str, Any] = {
    "tools": "allow",
    "app_tools": "read-only",
    "messages": "allow",
    "tool": {"remove": "ask"},
}


LEASE = 2.0
TIMEOUTS = {"drain": 3.0, "lease": LEASE, "handover": 0.5, "app_tool": 5.0, "browser": 5.0}

_STARTUP = 60


class ControlError(Exception):
    """A worker answered a control request with an error."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(f"{kind}: {message}")
        self.kind = kind


def _serve(environment: dict[str, str], listener: socket.socket, log: str) -> None:
    """Run a worker in this process, which was forked."""
    number = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(number, 1)
    os.dup2(number, 2)
    os.environ.update(environment)
    parent = multiprocessing.parent_process()
    assert parent is not None

    def end_with_parent() -> None:
        parent.join()
        os.kill(os.getpid(), signal.SIGKILL)

    threading.Thread(target=end_with_parent, daemon=True).start()
    config = uvicorn.Config(
        "support.worker:app",
        factory=True,
        log_level="warning",
        ws="websockets-sansio",
        ws_per_message_deflate=False,
    )
    uvicorn.Server(config).run(sockets=[listener])
    sys.stdout.flush()


@dataclass
class WorkerProcess:
    """A worker: its process, and what lies between it and the databases."""

    name: str
    redis: Forwarder
    postgres: Forwarder | None
    config: dict[str, Any]
    folder: Path
    port: int = 0
    process: ForkServerProcess | None = None
    http: httpx2.AsyncClient = field(default_factory=lambda: httpx2.AsyncClient(timeout=60))

    @property
    def log(self) -> Path:
        """The file with all that the worker has printed."""
        return self.folder / f"worker-{self.name}.log"

    @property
    def pid(self) -> int:
        assert self.process is not None
        assert self.process.pid is not None
        return self.process.pid

    @property
    def is_alive(self) -> bool:
        return self.process is not None and self.process.is_alive()

    def start(self, port: int = 0) -> None:
        """Start the process. It serves as soon as it has started up; connections wait until then."""
        assert not self.is_alive
        with socket.create_server(("127.0.0.1", port), backlog=2048) as listener:
            self.port = listener.getsockname()[1]
            environment = {"FANLIGHT_WORKER": json.dumps(self.config)}
            self.process = forkserver.process(_serve, environment, listener, str(self.log))

    def kill(self) -> None:
        """End the process as a crash would, and wait for that."""
        self._end(signal.SIGKILL)

    def terminate(self) -> None:
        """Ask the process to stop. It drains first."""
        os.kill(self.pid, signal.SIGTERM)

    async def wait(self, seconds: float = 30) -> None:
        """Wait until the process has ended."""
        process = self.process
        assert process is not None
        await anyio.to_thread.run_sync(process.join, seconds)
        assert not process.is_alive(), f"worker {self.name} did not stop in {seconds} seconds"

    def _end(self, number: signal.Signals) -> None:
        if self.process is not None:
            if self.process.is_alive():
                os.kill(self.pid, number)
            self.process.join(20)
            assert not self.process.is_alive()

    def freeze(self) -> None:
        """Stop the process as an overloaded machine would. Its sockets stay open."""
        os.kill(self.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        """Let a frozen process go on."""
        os.kill(self.pid, signal.SIGCONT)

    async def control(self, operation: str, **arguments: Any) -> Any:
        """Let the program in this worker do something: an operation of `support.worker`."""
        url = f"http://127.0.0.1:{self.port}/control/{operation}"
        # On a connection of its own: a worker that stops closes those that are idle, and takes no new ones.
        answer = (await self.http.post(url, json=arguments, headers={"connection": "close"})).json()
        if "error" in answer:
            raise ControlError(answer["error"], answer["message"])
        return answer["result"]

    async def is_ready(self) -> bool:
        """Return whether the worker says that it can serve pages."""
        try:
            response = await self.http.get(f"http://127.0.0.1:{self.port}/apps/health/ready", timeout=_STARTUP)
        except httpx2.TransportError:
            return False
        return response.status_code == 200


@dataclass
class Cluster:
    """The workers of one program, all with the same store and bus."""

    kind: Kind
    folder: Path
    network: Network
    redis: RedisServer
    postgres: PostgresServer | None
    database: int
    servers: dict[str, Any]
    workers: dict[str, WorkerProcess] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.balancer = Balancer(self.network)
        self.record = Record(self.folder)

    def __getitem__(self, name: str) -> WorkerProcess:
        return self.workers[name]

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The messages of Views that handlers got, on all workers."""
        path = self.folder / "messages.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def _forward(self, url: str) -> tuple[Forwarder, str]:
        parts = urlsplit(url)
        assert parts.port is not None
        forwarder = Forwarder(self.network, parts.port)
        user = f"{parts.username}@" if parts.username else ""
        return forwarder, urlunsplit(parts._replace(netloc=f"{user}127.0.0.1:{forwarder.port}"))

    def add(self, name: str, **changes: Any) -> WorkerProcess:
        """Create a worker, which is not started yet. `changes` replace parts of its configuration."""
        redis, bus = self._forward(self.redis.url.removesuffix("/0") + f"/{self.database}")
        postgres, store = (None, bus) if self.postgres is None else self._forward(self.postgres.url)
        config = {
            "name": name,
            "folder": str(self.folder),
            "servers": self.servers,
            "store": store,
            "bus": bus,
            "policy": POLICY,
            "timeouts": TIMEOUTS,
            **changes,
        }
        worker = WorkerProcess(name, redis, postgres, config, self.folder)
        self.workers[name] = worker
        return worker

    async def start(self, *names: str) -> None:
        """Start those of these workers that do not run, and wait until all are ready."""
        for name in names:
            worker = self.workers.get(name) or self.add(name)
            for forwarder in (worker.redis, worker.postgres):
                if forwarder is not None:
                    forwarder.flow.go_on()
            if worker.is_alive:
                worker.thaw()
            else:
                worker.start()
            if name not in self.balancer.backends or self.balancer.backends[name].port != worker.port:
                self.balancer.add(name, worker.port)
            self.balancer.flow(name).go_on()
        with anyio.fail_after(_STARTUP):
            for name in names:
                while not await self.workers[name].is_ready():
                    assert self.workers[name].is_alive, self.workers[name].log.read_text()[-5000:]
                    await anyio.sleep(0.02)

    def route(self, *rules: Rule) -> None:
        """Set the rules of the balancer."""
        self.balancer.route(*rules)

    def databases(self, name: str | None = None) -> Iterator[Forwarder]:
        """Yield the ways of all workers, or of one, to Redis, and then to PostgreSQL if that is the store."""
        for worker in self.workers.values() if name is None else [self.workers[name]]:
            yield worker.redis
            if worker.postgres is not None:
                yield worker.postgres

    async def remove(self, *names: str) -> None:
        """End workers, and forget them."""
        for name in names:
            self.balancer.remove(name)
            worker = self.workers.pop(name)
            worker.kill()
            await worker.http.aclose()


@contextmanager
def cluster_parts(
    kind: Kind, folder: Path, redis: RedisServer, postgres: PostgresServer | None, database: int
) -> Iterator[Cluster]:
    """Run what workers need for a block: the network, and the server `ledger` over HTTP.

    `database` is the number of the database in Redis.
    """
    with Network.running() as network, serving(ledger(Record(folder)).streamable_http_app()) as address:
        yield Cluster(kind, folder, network, redis, postgres, database, {"ledger": f"{address}/mcp"})
