"""What happens, told to the pages that are open."""

from collections.abc import AsyncIterator
from typing import Final

import anyio
import orjson
from anyio.streams.memory import MemoryObjectSendStream
from starlette.responses import Response, StreamingResponse

from fanlight.protocol.jsonrpc import JSONObject

_MOST_WAITING: Final = 5_000


class Events:
    """Passes events on to every page. One that does not keep up loses its stream, and asks for all anew."""

    def __init__(self) -> None:
        self._listeners: set[MemoryObjectSendStream[JSONObject]] = set()

    def publish(self, kind: str, data: JSONObject) -> None:
        """Tell all pages."""
        for listener in tuple(self._listeners):
            try:
                listener.send_nowait({"kind": kind, **data})
            except (anyio.WouldBlock, anyio.BrokenResourceError, anyio.ClosedResourceError):
                self._listeners.discard(listener)
                listener.close()

    def close(self) -> None:
        """End all streams, as when the program ends."""
        for listener in tuple(self._listeners):
            listener.close()
        self._listeners.clear()

    def stream(self, first: JSONObject) -> Response:
        """Answer a page with the events from now on, after a first one: what was before it listened."""
        send, receive = anyio.create_memory_object_stream[JSONObject](_MOST_WAITING)
        self._listeners.add(send)

        async def lines() -> AsyncIterator[bytes]:
            try:
                async with receive:
                    yield _line(first)
                    async for event in receive:
                        yield _line(event)
            finally:
                self._listeners.discard(send)
                send.close()

        return StreamingResponse(lines(), media_type="text/event-stream", headers={"cache-control": "no-store"})


def _line(event: JSONObject) -> bytes:
    return b"data: " + orjson.dumps(event) + b"\n\n"
