"""The calls that a developer makes: their arguments written at once or as a model would, paused, stepped, cancelled."""

import secrets
from typing import Final

import anyio
import anyio.lowlevel
import orjson

from fanlight.host import Call, Host, Unfinished
from fanlight.protocol.jsonrpc import JSONObject

_PIECE: Final = 4
"""Characters that are written at a time: about a token."""
_CANCELLED: Final = "The developer cancelled it."


class Writing:
    """Arguments that are being written, so many characters a second."""

    def __init__(self, text: str, pace: float, *, paused: bool) -> None:
        self.text = text
        self.written = 0
        self.pace = max(pace, 1.0)
        self.paused = paused
        self._steps = 0
        self._changed = anyio.Event()

    def change(self, pace: float | None = None, paused: bool | None = None, steps: int = 0) -> None:
        """Change the speed, pause or go on, or take single steps while paused."""
        self.pace = self.pace if pace is None else max(pace, 1.0)
        self.paused = self.paused if paused is None else paused
        self._steps += steps
        changed, self._changed = self._changed, anyio.Event()
        changed.set()

    async def stepped(self) -> None:
        """Wait until the steps that were asked for are taken, as far as that is possible."""
        for _ in range(10):
            await anyio.lowlevel.checkpoint()

    async def feed(self, call: Call) -> None:
        """Write to a call until all is written or the call is cancelled."""
        while self.written < len(self.text) and call.cancelled is None:
            if self.paused and not self._steps:
                await self._changed.wait()
                continue
            self._steps = max(self._steps - 1, 0)
            call.feed(self.text[self.written : self.written + _PIECE])
            self.written += _PIECE
            if not self.paused:
                with anyio.move_on_after(_PIECE / self.pace):
                    await self._changed.wait()


class Calls:
    """The calls by id."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._calls: dict[str, Call] = {}
        self._writing: dict[str, Writing] = {}
        self._waiting: dict[str, anyio.CancelScope] = {}

    async def begin(self, server: str, tool: str, conversation: str, key: str) -> tuple[str, Call]:
        """Begin a call, once its server is there. By its key, it can be cancelled while it waits."""
        with anyio.CancelScope() as scope:
            self._waiting[key] = scope
            try:
                await self._host.servers[server].ready()
            finally:
                self._waiting.pop(key, None)
        if scope.cancelled_caught:
            raise Unfinished(server, _CANCELLED)
        call = self._host.begin(server, tool, conversation)
        id = secrets.token_urlsafe(6)
        self._calls[id] = call
        return id, call

    async def finish(
        self, id: str, arguments: JSONObject, pace: float | None = None, *, paused: bool = False
    ) -> JSONObject:
        """Give a call its arguments, and return what came of it."""
        call = self._calls[id]
        try:
            if pace is not None:
                writing = self._writing[id] = Writing(orjson.dumps(arguments).decode(), pace, paused=paused)
                await writing.feed(call)
            if call.cancelled is not None:
                raise Unfinished(call.server, call.cancelled)
            await call.run(arguments)
        except Unfinished as error:
            came = "unfinished" if call.cancelled is None else "cancelled"
            return {"id": id, "view": call.view, came: error.message}
        finally:
            self._writing.pop(id, None)
        views = [{"view": view, "uri": uri} for view, _, uri in call.views]
        return {"id": id, "view": call.view, "views": views, "result": call.result, "model": call.for_model}

    def writing(self, id: str) -> Writing | None:
        """Return the arguments that are being written for a call, if they are."""
        return self._writing.get(id)

    def give_up(self, key: str) -> bool:
        """Cancel a call that waits for its server. False if none does."""
        scope = self._waiting.get(key)
        if scope is not None:
            scope.cancel()
        return scope is not None

    async def cancel(self, id: str) -> bool:
        """Cancel a call, while its arguments are written or while it runs. False if there is none."""
        call = self._calls.get(id)
        if call is None:
            return False
        await call.cancel(_CANCELLED)
        if (writing := self._writing.get(id)) is not None:
            writing.change(paused=False)
        return True
