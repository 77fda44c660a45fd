"""A page with one View open, both played by a test: no browser, no socket."""

import asyncio
import json
from typing import Any

import anyio


class Page:
    """The page's end of the line. It acknowledges what it is asked to, as `<mcp-app>` does."""

    limit = 1_000_000
    attached = True

    def __init__(self) -> None:
        self.frames: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.link: Any = None
        self.shown: dict[str, Any] = {}
        self.seen = 0
        self.answer = "deny"
        self._last = 0

    async def question(self, frame: dict[str, Any]) -> str:
        """What a page answers that has no View yet."""
        return self.answer

    async def send(self, text: str) -> None:
        await self.frames.put(json.loads(text))

    async def next(self) -> dict[str, Any]:
        """Return the next frame, without its numbers."""
        with anyio.fail_after(10):
            frame = await self.frames.get()
            while frame["type"] == "ack":
                frame = await self.frames.get()
        self.seen = frame.pop("n", self.seen)
        frame.pop("ack", None)
        if frame.pop("prompt", False) and self.link is not None:
            await self.link.receive({"type": "ack", "ack": self.seen}, 10)
        return frame

    async def message(self) -> dict[str, Any]:
        frame = await self.next()
        assert frame["type"] == "message", frame
        message: dict[str, Any] = frame["message"]
        return message

    async def tell(self, frame: dict[str, Any]) -> None:
        """Send a frame with its numbers."""
        self._last += 1
        await self.link.receive({**frame, "n": self._last, "ack": self.seen}, 100)

    async def say(self, message: dict[str, Any]) -> None:
        """Say what the View says."""
        await self.tell({"type": "message", "message": {"jsonrpc": "2.0", **message}})

    async def ask(self, method: str, params: dict[str, Any], id: int = 7) -> dict[str, Any]:
        """Ask as the View, and return the answer."""
        await self.say({"id": id, "method": method, "params": params})
        return await self.message()
