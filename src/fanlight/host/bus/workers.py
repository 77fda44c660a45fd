"""`Workers`: requests and notifications between the workers of a host, over its bus.

A message that is too large for the bus is kept in the store, and only its key travels. A host without a bus has no
worker id, finds no other workers, and sends nothing.
"""

import hashlib
import json
import logging
import math
import secrets
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from time import monotonic
from typing import Any, Final, Protocol

import anyio

from fanlight.host import metrics
from fanlight.host.bus.base import Bus
from fanlight.host.bus.messages import (
    PartialInput,
    RequestCancelled,
    RequestProgress,
    Response,
    WorkerJoined,
    WorkerMessage,
    from_json,
    to_json,
)
from fanlight.host.errors import BusError, RequestError, StoreError, WorkerLostError
from fanlight.host.json_text import decode_object, encode_json
from fanlight.host.store.base import Store
from fanlight.host.tasks import HostTasks
from fanlight.protocol.jsonrpc import INTERNAL_ERROR, JSONObject

logger = logging.getLogger(__name__)

_PAYLOAD_SECONDS: Final = 120.0
_OWNERSHIP_SECONDS: Final = 7 * 86_400.0
_LIVENESS_INTERVAL: Final = 0.5


class OnProgress(Protocol):
    """Receives the progress of a request."""

    async def __call__(self, progress: float, total: float | None, message: str | None) -> None: ...


class MessageHandler(Protocol):
    """Handles the messages of other workers."""

    async def notify(self, sender: str, message: WorkerMessage) -> None:
        """Handle a notification. Notifications of one worker come in order."""

    async def serve(self, sender: str, message: WorkerMessage, progress: OnProgress) -> JSONObject:
        """Return the result of a request, or raise RequestError."""

    async def disconnect_pages(self) -> None:
        """Disconnect all pages, which other workers may show now."""

    async def resynchronise(self) -> None:
        """Find out what has changed: messages may have been lost."""


@dataclass
class _Pending:
    """A request to another worker that has no response yet."""

    worker: str
    done: anyio.Event
    on_progress: OnProgress | None
    response: Response | None = None


class Workers:
    """The other workers of a host.

    Args:
        bus: Connects the workers, or None in a program with one process.
        store: Keeps large messages.
        tasks: Runs background tasks.
        max_bytes: The length of the longest message that travels over the bus.
        servers: The names of the servers, which are the same at all workers of a program.
    """

    def __init__(
        self, bus: Bus | None, store: Store, tasks: HostTasks, max_bytes: int, servers: Sequence[str] = ()
    ) -> None:
        self.id: str | None = None
        """The id of this worker while the host runs, or None without a bus."""
        self.is_cut_off = False
        """Whether this worker has lost its lease, so that others may take its Views and calls."""
        self._bus = bus
        self._store = store
        self._tasks = tasks
        self._max_bytes = max_bytes
        self._servers = list(servers)
        self._group = ""
        self._warned: set[str] = set()
        self._pending: dict[str, _Pending] = {}
        self._served: dict[str, anyio.CancelScope] = {}
        self._handler: MessageHandler | None = None
        self._connected_at = math.inf
        self._inbox: dict[str, list[WorkerMessage]] = {}

    @property
    def has_bus(self) -> bool:
        """Whether there can be other workers."""
        return self._bus is not None

    async def start(self, handler: MessageHandler) -> None:
        """Join the other workers: get an id and a lease, and receive messages from now on."""
        if self._bus is None:
            return
        # Programs with other stores may use the same bus. They have nothing to say to each other.
        secret = await self._store.secret()
        self._group = f"{hashlib.sha256(f'bus {secret}'.encode()).hexdigest()[:12]}-"
        # A new id for each start, so that two processes that were forked from one never have the same.
        self.id = f"{self._group}{secrets.token_hex(8)}"
        self._handler = handler
        self._tasks.start_soon(self._bus.run, self.id, self._receive, self._on_connected, self._on_lost)

    async def leave(self) -> None:
        """Leave the other workers, when this one stops."""
        if self._bus is not None and self.id is not None:
            with suppress(BusError):
                await self._bus.leave(self.id)
            await self._bus.close()
            self.id = None

    @property
    def connected_for(self) -> float:
        """For how many seconds this worker has been connected. Before that, it may have missed leases and messages."""
        return monotonic() - self._connected_at

    async def _on_lost(self) -> None:
        logger.warning("The lease of this worker has ended, because the bus cannot be reached. Pages are disconnected")
        self.is_cut_off = True
        assert self._handler is not None
        self._tasks.start_soon(self._handler.disconnect_pages)

    async def _on_connected(self) -> None:
        self.is_cut_off = False
        self._connected_at = monotonic()
        assert self._handler is not None
        self._tasks.start_soon(self._handler.resynchronise)
        if self._servers:
            self._tasks.start_soon(self._introduce)

    async def _introduce(self) -> None:
        """Send the other workers the servers of this one, so that both notice if they are of different programs."""
        with suppress(BusError, StoreError):  # it is sent again after the next connection
            await self.broadcast(WorkerJoined(self._servers))

    async def compare(self, worker: str, servers: Sequence[str]) -> None:
        """Warn if another worker has other servers than this one, once for each worker, and let it warn, too."""
        if list(servers) == self._servers or worker in self._warned:
            return
        self._warned.add(worker)
        logger.warning(
            "A worker with the same store has other servers: %s instead of %s. Give all workers of a program the same, "
            "and each program a database of its own, or another namespace in Redis: redis://host:6379/0?namespace=chat",
            ", ".join(servers) or "none",
            ", ".join(self._servers) or "none",
        )
        await self.notify(worker, WorkerJoined(self._servers))

    async def alive(self) -> Collection[str]:
        """Return the ids of the workers that are alive, this one among them. Raise BusError if that is not known."""
        return () if self._bus is None else await self._alive()

    async def _alive(self) -> Collection[str]:
        """Return the workers of this program: those whose ids begin like that of this one."""
        assert self._bus is not None
        return [worker for worker in await self._bus.workers() if worker.startswith(self._group)]

    async def owner(self, *key: str | None) -> str | None:
        """Return the worker that owns a key, if it is another one. Raise BusError if that is not known."""
        if self._bus is None or self.id is None:
            return None
        owner = await self._bus.own(json.dumps([self._group, *key]), self.id, _OWNERSHIP_SECONDS)
        return None if owner == self.id else owner

    async def check(self) -> None:
        """Raise BusError if the bus cannot be used now."""
        if self._bus is not None:
            await self._bus.workers()

    # Sending

    async def notify(self, worker: str | None, message: WorkerMessage) -> bool:
        """Send a message that needs no response. Return whether the worker is alive and the bus works."""
        if worker is None or worker == self.id or self._bus is None:
            return False
        try:
            return await self._send(worker, secrets.token_hex(8), message, is_request=False)
        except (BusError, StoreError) as error:
            logger.warning("A %s message was not sent: %s", type(message).__name__, error)
            return False

    async def broadcast(self, message: WorkerMessage) -> None:
        """Send all other workers a message that needs no response. Raise BusError if that fails."""
        for worker in await self.alive():
            if worker != self.id:
                await self._send(worker, secrets.token_hex(8), message, is_request=False)

    async def request_all(self, message: Callable[[str], WorkerMessage], seconds: float) -> None:
        """Send each other worker the request that `message` returns for it, and wait until all have answered.

        A worker that fails to answer is logged. Raise BusError if it is not known which workers there are.
        """

        async def ask(worker: str) -> None:
            try:
                await self.request(worker, message(worker), seconds)
            except RequestError as error:
                logger.warning("A worker did not answer a %s: %s", type(message(worker)).__name__, error)

        alive = await self.alive()  # not in the task group, which would wrap the BusError
        async with anyio.create_task_group() as group:
            for worker in alive:
                if worker != self.id:
                    group.start_soon(ask, worker)

    async def request(
        self, worker: str, message: WorkerMessage, seconds: float, on_progress: OnProgress | None = None
    ) -> JSONObject:
        """Send a request and return its result. Raise RequestError if it failed, and WorkerLostError if none came."""
        if worker == self.id:
            raise WorkerLostError("This process has no such session any more.")
        id = secrets.token_hex(8)
        pending = self._pending[id] = _Pending(worker, anyio.Event(), on_progress)
        started = monotonic()
        try:
            if not await self._send(worker, id, message, is_request=True, seconds=seconds):
                raise WorkerLostError("The process that has this View has ended.")
            with anyio.move_on_after(seconds):
                await self._wait(pending)
        except BusError as error:
            raise WorkerLostError(f"The process that has this View cannot be reached: {error}") from error
        finally:
            del self._pending[id]
            if pending.response is None:
                with anyio.CancelScope(shield=True), anyio.move_on_after(1.0):
                    await self.notify(worker, RequestCancelled(id))
        if pending.response is None:
            raise WorkerLostError(f"The process that has this View did not answer in {seconds:g} seconds.")
        metrics.bus_time.record(monotonic() - started, {"message": type(message).__name__})
        if (failure := pending.response.error) is not None:
            raise RequestError(failure["message"], failure["code"], failure.get("data"))
        return pending.response.result or {}

    async def _wait(self, pending: _Pending) -> None:
        """Wait for a response, as long as the worker is alive."""
        while not pending.done.is_set():
            with anyio.move_on_after(_LIVENESS_INTERVAL):
                await pending.done.wait()
            if not pending.done.is_set() and self._bus is not None:
                with suppress(BusError):  # whether the worker is alive is not known now
                    if pending.worker not in await self._alive():
                        raise WorkerLostError("The process that has this View has ended.")

    async def _send(
        self, worker: str, id: str, message: WorkerMessage, *, is_request: bool, seconds: float | None = None
    ) -> bool:
        assert self._bus is not None
        envelope: JSONObject = {"id": id, "from": self.id, "request": is_request}
        if seconds is not None:
            envelope["seconds"] = seconds
        body = to_json(message)
        text = encode_json({**envelope, "body": body})
        if len(text) > self._max_bytes:
            if isinstance(message, PartialInput):
                return True  # the View is sent the complete input
            await self._store.put_payload(id, encode_json(body).encode(), time.time() + _PAYLOAD_SECONDS)
            text = encode_json({**envelope, "payload": id})
        return await self._bus.send(worker, text)

    # Receiving

    def _receive(self, text: str, age: float) -> None:
        envelope = decode_object(text) or {}
        seconds = envelope.get("seconds")
        if seconds is None or age <= seconds:
            self._tasks.start_soon(self._dispatch, envelope)

    async def _dispatch(self, envelope: JSONObject) -> None:
        sender, id = envelope["from"], envelope["id"]
        message = from_json(envelope.get("body") or await self._payload(envelope["payload"]))
        match message:
            case None:
                if envelope["request"]:
                    error = {"message": "The other process is of another version of Fanlight.", "code": INTERNAL_ERROR}
                    await self.notify(sender, Response(id, error=error))
            case Response(request=request):
                if (pending := self._pending.get(request)) is not None:
                    pending.response = message
                    pending.done.set()
            case RequestProgress(request, progress, total, text):
                if (pending := self._pending.get(request)) is not None and pending.on_progress is not None:
                    await pending.on_progress(progress, total, text)
            case RequestCancelled(request):
                if (scope := self._served.get(request)) is not None:
                    scope.cancel()
            case _ if envelope["request"]:
                await self._serve(sender, id, message, envelope.get("seconds"))
            case _:
                await self._handle(sender, message)

    async def _payload(self, key: str) -> JSONObject:
        body = await self._store.take_payload(key)
        return {} if body is None else decode_object(body.decode()) or {}

    async def _handle(self, sender: str, message: WorkerMessage) -> None:
        """Handle the notifications of one worker in order."""
        assert self._handler is not None
        if sender in self._inbox:
            self._inbox[sender].append(message)
            return
        waiting = self._inbox[sender] = [message]
        try:
            while waiting:
                try:
                    await self._handler.notify(sender, waiting.pop(0))
                except Exception:  # the next message may have nothing to do with it
                    logger.exception("Unhandled error in a notification of another worker")
        finally:
            del self._inbox[sender]

    async def _serve(self, sender: str, id: str, message: WorkerMessage, seconds: float | None) -> None:
        assert self._handler is not None

        async def report(progress: float, total: float | None, message: str | None) -> None:
            await self.notify(sender, RequestProgress(id, progress, total, message))

        with anyio.CancelScope() as scope:
            self._served[id] = scope
            try:
                with anyio.move_on_after(seconds):
                    response = Response(id, await self._handler.serve(sender, message, report))
                    await self.notify(sender, response)
            except RequestError as error:
                await self.notify(sender, Response(id, error=_error(str(error), error.code, error.data)))
            except Exception:
                logger.exception("Unhandled error while serving a %s of another worker", type(message).__name__)
                await self.notify(sender, Response(id, error=_error("The host failed to answer.", INTERNAL_ERROR)))
            finally:
                del self._served[id]


def _error(message: str, code: int, data: Any = None) -> JSONObject:
    return {"message": message, "code": code, "data": data}
