"""Events that the program pushes to all open pages, as server-sent events."""

from collections.abc import AsyncIterator
from typing import Final

import anyio
import orjson
from anyio.streams.memory import MemoryObjectSendStream
from starlette.responses import Response, StreamingResponse

from fanlight.protocol.jsonrpc import JSONObject

_MAX_BUFFERED: Final = 5_000


class Events:
    """Sends events to every open page. A page that falls too far behind is disconnected, and starts over."""

    def __init__(self) -> None:
        self._listeners: set[MemoryObjectSendStream[JSONObject]] = set()

    def publish(self, kind: str, data: JSONObject) -> None:
        """Send an event to all pages."""
        for listener in tuple(self._listeners):
            try:
                listener.send_nowait({"kind": kind, **data})
            except (anyio.WouldBlock, anyio.BrokenResourceError, anyio.ClosedResourceError):
                self._listeners.discard(listener)
                listener.close()

    def close(self) -> None:
        """End all streams."""
        for listener in tuple(self._listeners):
            listener.close()
        self._listeners.clear()

    def stream(self, first: JSONObject) -> Response:
        """Return a response that sends `first`, the current state, and then every event."""
        send, receive = anyio.create_memory_object_stream[JSONObject](_MAX_BUFFERED)
        self._listeners.add(send)

        async def messages() -> AsyncIterator[bytes]:
            try:
                async with receive:
                    yield _encode(first)
                    async for event in receive:
                        yield _encode(event)
            finally:
                self._listeners.discard(send)
                send.close()

        headers = {"cache-control": "no-store", "x-content-type-options": "nosniff"}
        return StreamingResponse(messages(), media_type="text/event-stream", headers=headers)


def _encode(event: JSONObject) -> bytes:
    return b"data: " + orjson.dumps(event) + b"\n\n"
