"""A page with one View open, both played by a test: no browser, no socket."""

import asyncio
import json
from typing import Any, Self

import anyio

from fanlight.host import Host
from fanlight.host.host import runtime_of
from fanlight.host.json_text import encode_json
from fanlight.host.views.page.frames import (
    Answer,
    AskUser,
    MessageFromView,
    OpenView,
    ReceivedFrame,
    ShowView,
    decode_frame,
)
from fanlight.host.web.origins import HostNames, Origins

ORIGINS = HostNames().origins("http", "localhost:8000")
SHOW = ShowView(
    proxy=f"{ORIGINS.proxy}/proxy",
    document=f"{ORIGINS.view('abc')}/view",
    sandbox="allow-scripts",
    allow="",
    title="Clock",
    csp="default-src 'none'",
    network=(),
    max_bytes=1_000_000,
)
HELLO = {"protocolVersion": "2026-01-26", "appInfo": {"name": "V", "version": "1"}, "appCapabilities": {}}
"""The handshake of a View."""
WITH_TOOLS = {**HELLO, "appCapabilities": {"tools": {}}}
"""The handshake of a View that offers tools."""


class Page:
    """The page's end of the channel. It acknowledges a frame if the host asks for it, as `<mcp-app>` does."""

    max_bytes = 1_000_000
    attached = True

    def __init__(self) -> None:
        self.frames: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.connection: Any = None
        self.shown: dict[str, Any] = {}
        self.seen = 0
        self.epoch: str | None = None
        self.answer: Answer = "deny"
        self.closed: int | None = None
        self._last = 0

    async def open(
        self,
        host: Host,
        view: str | None,
        token: str | None,
        *,
        seen: Any = None,
        epoch: Any = None,
        context: dict[str, Any] | None = None,
        origins: Origins = ORIGINS,
        user: str | None = None,
        **resume: Any,
    ) -> Self:
        """Open a View, or resume it after frame `seen` of the `show` frame with an epoch."""
        frame = {"type": "open", "view": view, "token": token, "context": context or {}, "seen": seen, "epoch": epoch}
        frame |= resume
        received = decode_frame(encode_json(frame))
        assert received is not None
        assert isinstance(received.frame, OpenView)
        self.connection = await runtime_of(host).opener.open(
            received.frame,
            origins,
            self,  # type: ignore[arg-type]
            user,
        )
        return self

    def disconnect(self, *, closed: bool = False) -> None:
        """Lose the connection, or close the page."""
        self.connection.disconnect(closed=closed)

    async def question(self, question: AskUser) -> Answer:
        """Answer a question that comes before the View is shown."""
        return self.answer

    async def send_frame(self, frame: Any) -> None:
        await self.send(encode_json(frame.to_json()))

    async def close_socket(self, code: int) -> None:
        """Let the host close the socket."""
        self.closed = code

    async def send(self, text: str) -> None:
        await self.frames.put(json.loads(text))

    async def next(self) -> dict[str, Any]:
        """Return the next frame, without its numbers."""
        with anyio.fail_after(60):
            frame = await self.frames.get()
            while frame["type"] == "ack":
                frame = await self.frames.get()
        self.seen = frame.pop("n", self.seen)
        self.epoch = frame.get("epoch", self.epoch)
        frame.pop("ack", None)
        if frame.pop("ackNow", False) and self.connection is not None:
            await self.receive_by_host({"type": "ack", "ack": self.seen})
        return frame

    async def message(self) -> dict[str, Any]:
        """Return the next message for the View."""
        frame = await self.next()
        assert frame["type"] == "message", frame
        message: dict[str, Any] = frame["message"]
        return message

    async def tell(self, frame: dict[str, Any]) -> None:
        """Send a frame to the host, with its numbers."""
        self._last += 1
        await self.receive_by_host({**frame, "n": self._last, "ack": self.seen})

    async def receive_by_host(self, frame: dict[str, Any]) -> None:
        """Let the host receive a frame as it is."""
        received = decode_frame(encode_json(frame))
        assert received is not None
        await self.connection.receive(received)

    async def say(self, message: dict[str, Any]) -> None:
        """Send a message of the View, in a frame of 100 characters. It does not pass through JSON."""
        self._last += 1
        frame = MessageFromView({"jsonrpc": "2.0", **message})
        await self.connection.receive(ReceivedFrame(frame, self._last, self.seen, 100))

    async def ask(self, method: str, params: dict[str, Any], id: int = 7) -> dict[str, Any]:
        """Send a request of the View, and return the host's next message."""
        await self.say({"id": id, "method": method, "params": params})
        return await self.message()


async def shown(host: Host, view: str | None, token: str | None, hello: dict[str, Any] = HELLO) -> Page:
    """Open a View in a page, and let it finish the handshake."""
    page = await Page().open(host, view, token)
    assert (await page.next())["type"] == "show"
    await page.ask("ui/initialize", hello, id=0)
    await page.say({"method": "ui/notifications/initialized"})
    return page


async def continued(host: Host, page: Page, view: str | None, token: str | None, **changes: Any) -> Page:
    """Connect the page of a View to another process, with what the page knows."""
    again = Page()
    resume = {"seen": page.seen, "epoch": page.epoch, "sent": page._last, "mode": "inline", "requests": [], **changes}
    await again.open(host, view, token, **resume)
    again._last, again.seen, again.epoch = page._last, page.seen, page.epoch
    again.shown = await again.next()
    return again
