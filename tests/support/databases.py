"""Real servers of Redis and PostgreSQL, on free loopback ports, that end with their block."""

import getpass
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest
import redis


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
    return port


def _program(name: str, package: str, pattern: str | None = None) -> str:
    """Return the path of a program, or fail with what to install."""
    found = shutil.which(name)
    if found is None and pattern is not None:
        installed = sorted(Path("/usr/lib/postgresql").glob(pattern))
        found = str(installed[-1]) if installed else None
    if found is None:
        pytest.fail(f"{name} is missing: apt-get install {package}", pytrace=False)
    return found


class RedisServer:
    """A Redis server that can be stopped and started again, with what it had."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._port = _free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self.url = f"redis://127.0.0.1:{self._port}/0"

    def start(self) -> None:
        """Start the server, and wait until it answers."""
        program = shutil.which("valkey-server") or _program("redis-server", "redis-server")
        options = ["--port", str(self._port), "--bind", "127.0.0.1", "--dir", str(self._folder)]
        durable = ["--save", "", "--appendonly", "yes", "--appendfsync", "always"]
        self._process = subprocess.Popen([program, *options, *durable], stdout=subprocess.DEVNULL)
        _wait(self._process, self._ping, program)

    @property
    def pid(self) -> int:
        """The id of its process."""
        assert self._process is not None
        return self._process.pid

    def _ping(self) -> bool:
        with redis.Redis.from_url(self.url) as client:
            return bool(client.ping())

    def stop(self, *, kill: bool = False) -> None:
        """Stop the server; with `kill`, as a crash would."""
        if self._process is not None:
            _end(self._process, kill=kill)
            self._process = None

    def clear(self) -> None:
        """Remove all data."""
        with redis.Redis.from_url(self.url) as client:
            client.flushall()


class PostgresServer:
    """A PostgreSQL server that can be stopped and started again, with what it had.

    Args:
        folder: Where its files are.
        fsync: Whether a commit waits for the disk. Without, what is committed survives a crash of the server only.
    """

    def __init__(self, folder: Path, *, fsync: bool = False) -> None:
        self._folder = folder
        self._fsync = fsync
        self._port = _free_port()
        self._process: subprocess.Popen[bytes] | None = None
        # It refuses to run as root.
        self._user = "postgres" if os.geteuid() == 0 else getpass.getuser()
        self.url = f"postgresql://{self._user}@127.0.0.1:{self._port}/postgres"

    def create(self) -> None:
        """Create the files of the server."""
        if self._folder.exists():
            shutil.rmtree(self._folder)
        self._folder.mkdir(mode=0o700)
        account = pwd.getpwnam(self._user)
        os.chown(self._folder, account.pw_uid, account.pw_gid)
        program = _program("initdb", "postgresql", "*/bin/initdb")
        command = [program, "-D", str(self._folder), "-A", "trust", "-U", self._user, "-E", "UTF8", "--no-sync"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, timeout=60, **self._as_user())

    def start(self) -> None:
        """Start the server, and wait until it answers."""
        program = _program("postgres", "postgresql", "*/bin/postgres")
        options = ["-p", str(self._port), "-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories="]
        sync = f"fsync={'on' if self._fsync else 'off'}"
        fast = ["-c", sync, "-c", "shared_buffers=16MB", "-c", "log_min_messages=fatal"]
        command = [program, "-D", str(self._folder), *options, *fast]
        self._process = subprocess.Popen(command, stderr=subprocess.DEVNULL, **self._as_user())
        _wait(self._process, self._ping, program)

    @property
    def pid(self) -> int:
        """The id of its process."""
        assert self._process is not None
        return self._process.pid

    def _as_user(self) -> dict[str, Any]:
        return {"user": self._user, "cwd": "/"} if os.geteuid() == 0 else {}

    def _ping(self) -> bool:
        with psycopg.connect(self.url, connect_timeout=2):
            return True

    def stop(self, *, kill: bool = False) -> None:
        """Stop the server; with `kill`, as a crash would."""
        if self._process is not None:
            # The processes of its connections notice that it was killed only when they run, and answer until then.
            connections = _children(self._process.pid) if kill else []
            _end(self._process, kill=kill)
            self._process = None
            for pid in connections:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    def clear(self) -> None:
        """Remove all data."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute("drop schema if exists fanlight cascade")


@contextmanager
def running_redis(folder: Path) -> Iterator[RedisServer]:
    """Run a Redis server for a block."""
    server = RedisServer(folder)
    server.start()
    try:
        yield server
    finally:
        server.stop(kill=True)


@contextmanager
def running_postgres(*, fsync: bool = False) -> Iterator[PostgresServer]:
    """Run a PostgreSQL server for a block."""
    # Not in a folder of pytest: each run of pytest by root, also a later one, makes those unreadable for other users.
    with tempfile.TemporaryDirectory(prefix="fanlight-postgres-") as folder:
        Path(folder).chmod(0o711)
        server = PostgresServer(Path(folder) / "data", fsync=fsync)
        server.create()
        server.start()
        try:
            yield server
        finally:
            server.stop()


def _wait(process: subprocess.Popen[bytes], is_up: Callable[[], bool], program: str, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise RuntimeError(f"{program} ended with the code {process.returncode}")
        try:
            if is_up():
                return
        except (redis.ConnectionError, psycopg.OperationalError):
            time.sleep(0.05)
    raise TimeoutError(f"{program} does not answer")


def _children(parent: int) -> list[int]:
    """Return the processes that a process has started."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has ended
            after_name = stat.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
            if int(after_name[1]) == parent:
                found.append(int(stat.parent.name))
    return found


def _end(process: subprocess.Popen[bytes], *, kill: bool) -> None:
    if kill:
        process.kill()
    else:
        process.send_signal(2)  # PostgreSQL: disconnect the clients
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(20)
