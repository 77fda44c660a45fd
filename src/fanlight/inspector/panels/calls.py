"""The tool calls of the page: started, streamed like a model's arguments, paused, stepped, cancelled and replayed."""

import secrets
from typing import Final

import anyio
import anyio.lowlevel
import orjson
from starlette.routing import Route

from fanlight.dev.api import BadRequestError, arguments, flag, number, post, text
from fanlight.dev.events import Events
from fanlight.host import Call, CallCancelledError, Host
from fanlight.host.errors import NotConnectedError
from fanlight.host.host import runtime_of
from fanlight.host.upstream.connection import Connection
from fanlight.host.upstream.events import ServerEvent
from fanlight.host.views.records import Owner
from fanlight.inspector.panel import conversation
from fanlight.inspector.panels.faults import Faults
from fanlight.inspector.panels.recording import Recording
from fanlight.protocol.jsonrpc import JSONObject

_CHUNK: Final = 4
"""Characters that are streamed at a time: about one token."""
_CANCELLED: Final = "Cancelled by the developer."


class Stream:
    """Arguments that are streamed to a call at `speed` characters per second."""

    def __init__(self, text: str, speed: float, *, paused: bool) -> None:
        self.text = text
        self.sent = 0
        self.speed = max(speed, 1.0)
        self.paused = paused
        self._steps = 0
        self._changed = anyio.Event()

    def change(self, speed: float | None = None, paused: bool | None = None, steps: int = 0) -> None:
        """Change the speed, pause or resume, or send single chunks while paused."""
        self.speed = self.speed if speed is None else max(speed, 1.0)
        self.paused = self.paused if paused is None else paused
        self._steps += steps
        changed, self._changed = self._changed, anyio.Event()
        changed.set()

    async def settle(self) -> None:
        """Let the task that runs `feed` take the steps that were requested."""
        for _ in range(10):
            await anyio.lowlevel.checkpoint()

    async def feed(self, call: Call) -> None:
        """Send chunks to a call until all are sent or the call is cancelled."""
        while self.sent < len(self.text) and call.cancelled is None:
            if self.paused and not self._steps:
                await self._changed.wait()
                continue
            self._steps = max(self._steps - 1, 0)
            call.feed(self.text[self.sent : self.sent + _CHUNK])
            self.sent += _CHUNK
            if not self.paused:
                with anyio.move_on_after(_CHUNK / self.speed):
                    await self._changed.wait()


class CallsPanel:
    """Runs tool calls for the page.

    A call has a key, which the page chooses, and an id from the moment that its server is ready.
    """

    def __init__(self, host: Host, faults: Faults, events: Events) -> None:
        self._host = host
        self._faults = faults
        self._events = events
        self._calls: dict[str, Call] = {}
        self._streams: dict[str, Stream] = {}
        self._waiting: dict[str, anyio.CancelScope] = {}

    def routes(self) -> list[Route]:
        """Return the routes of this panel."""
        return [
            post("call", self._call),
            post("stream", self._change_stream),
            post("cancel", self._cancel),
            post("replay", self._replay),
        ]

    async def _call(self, body: JSONObject) -> JSONObject:
        values = arguments(body)
        server = text(body, "server")
        self._faults.stop_replay(server)
        try:
            id = await self._begin(server, body)
        except CallCancelledError as error:
            return {"cancelled": error.message}
        return await self._finish(id, values, number(body, "speed"), paused=flag(body, "paused") is True)

    async def _replay(self, body: JSONObject) -> JSONObject:
        """Call a tool with the arguments, the result and the server's responses of a recording."""
        recording = Recording(text(body, "lines"))
        server = text(body, "server")
        try:
            id = await self._begin(server, body)
        except CallCancelledError as error:
            return {"cancelled": error.message}
        self._faults.replay(server, recording)
        response = await self._finish(id, recording.arguments)
        return {**response, "arguments": recording.arguments, "recorded": recording.view_methods}

    async def _change_stream(self, body: JSONObject) -> JSONObject:
        stream = self._streams.get(text(body, "id"))
        if stream is None:
            raise BadRequestError("The arguments of this call are complete.")
        steps = body.get("steps")
        stream.change(number(body, "speed"), flag(body, "paused"), steps if isinstance(steps, int) else 0)
        await stream.settle()
        return {"sent": stream.sent, "total": len(stream.text), "paused": stream.paused}

    async def _cancel(self, body: JSONObject) -> JSONObject:
        """Cancel a call by its id, or by its key while it waits for its server."""
        if "key" in body:
            scope = self._waiting.get(text(body, "key"))
            if scope is None:
                raise BadRequestError("There is no such call.")
            scope.cancel()
            return {}
        id = text(body, "id")
        call = self._calls.get(id)
        if call is None:
            raise BadRequestError("There is no such call.")
        await call.cancel(_CANCELLED)
        if (stream := self._streams.get(id)) is not None:
            stream.change(paused=False)
        return {}

    async def _begin(self, server: str, body: JSONObject) -> str:
        """Wait for the server, begin the call, and publish its id and its View."""
        tool, key = text(body, "tool"), text(body, "key") if "key" in body else ""
        with anyio.CancelScope() as scope:
            self._waiting[key] = scope
            try:
                await _wait_until_ready(self._host.servers[server])
            finally:
                self._waiting.pop(key, None)
        if scope.cancelled_caught:
            raise CallCancelledError(server, _CANCELLED)
        call = await runtime_of(self._host).begin(server, tool, Owner(None, conversation(body)))
        id = secrets.token_urlsafe(6)
        self._calls[id] = call
        self._events.publish("call", {"id": id, "key": key, "view": call.view, "token": call.token})
        return id

    async def _finish(
        self, id: str, values: JSONObject, speed: float | None = None, *, paused: bool = False
    ) -> JSONObject:
        """Send a call its arguments, at once or at a speed, and return its outcome."""
        call = self._calls[id]
        try:
            if speed is not None:
                stream = self._streams[id] = Stream(orjson.dumps(values).decode(), speed, paused=paused)
                await stream.feed(call)
            if call.cancelled is not None:
                raise CallCancelledError(call.server, call.cancelled)
            await call.run(values)
        except CallCancelledError as error:
            outcome = "unfinished" if call.cancelled is None else "cancelled"
            return {"id": id, "view": call.view, "token": call.token, outcome: error.message}
        finally:
            self._streams.pop(id, None)
        return {
            "id": id,
            "view": call.view,
            "token": call.token,
            "views": [each._asdict() for each in call.views],
            "result": call.result,
            "model": call.for_model,
        }


async def _wait_until_ready(connection: Connection) -> None:
    """Wait for a server, also if it starts slowly or only when its files change: the developer may be fixing it."""
    while True:
        try:
            await connection.ready()
        except NotConnectedError:
            status = connection.status
            waits_for_change = status.state == "retrying" and status.delay is None
            if status.state != "connecting" and not waits_for_change:
                raise
            await _wait_for_event(connection)
        else:
            return


async def _wait_for_event(connection: Connection) -> None:
    happened = anyio.Event()

    def listener(event: ServerEvent) -> None:
        happened.set()

    remove = connection.add_listener(listener)
    try:
        await happened.wait()
    finally:
        remove()
