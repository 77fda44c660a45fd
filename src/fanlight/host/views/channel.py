"""The frames between a page and a session, across the sockets that carry them.

A frame is a JSON object. Each has a number `n`, counted from 1 in each direction, and `ack`, the number of the last
one that came from the other end. What is not acknowledged is kept, and goes out again on the next socket: so a
lost socket neither loses a frame nor delivers one twice. Most acknowledgements ride on frames that are sent anyway.
"""

import json
from collections import deque
from typing import Any, Final, Protocol

import orjson

Frame = dict[str, Any]

ACK_EVERY: Final = 32
"""After so many frames with nothing to say back, an end sends an acknowledgement alone."""

MOST_DEPTH: Final = 200
"""How deep a frame may be nested. Writing one that is much deeper fails, with whatever it is written for."""


class Channel(Protocol):
    """One socket. A text that cannot be delivered any more is dropped: its other end will ask for it."""

    async def send(self, text: str) -> None: ...


def encode(frame: Frame) -> str:
    """Write a frame as text."""
    try:
        return orjson.dumps(frame).decode()
    except TypeError:  # half a surrogate pair, or a number beyond 64 bits: JSON has both
        return _encode_any(frame)


def _encode_any(frame: Frame) -> str:
    try:
        return json.dumps(frame, separators=(",", ":"), allow_nan=False)
    except ValueError:  # a number beyond a float, such as 1e999, is null, as orjson has it
        return json.dumps(json.loads(json.dumps(frame), parse_constant=lambda _: None), separators=(",", ":"))


def decode(text: str) -> Frame | None:
    """Read a frame; None if the text is none, or one that is nested too deep."""
    try:
        frame = orjson.loads(text)
    except ValueError:
        try:
            # Half a surrogate pair can be written in JSON, and nowhere else: neither a server nor a store takes it.
            whole = json.dumps(json.loads(text), ensure_ascii=False).encode("utf-16", "surrogatepass")
            frame = json.loads(whole.decode("utf-16", "replace"))
        except (ValueError, RecursionError):
            return None
    return frame if isinstance(frame, dict) and _is_shallow(frame, text) else None


def _is_shallow(frame: Frame, text: str) -> bool:
    if text.count("[") + text.count("{") <= MOST_DEPTH:
        return True
    level: list[Any] = [frame]
    for _ in range(MOST_DEPTH):
        inner = (value for outer in level for value in (outer.values() if type(outer) is dict else outer))
        level = [value for value in inner if type(value) is dict or type(value) is list]
        if not level:
            return True
    return False


class Line:
    """One end of the line between a session and the page that shows its View."""

    def __init__(self, most_kept: int = 16 * 1024 * 1024) -> None:
        self.seen = 0
        """The number of the last frame that came from the page."""
        self.acknowledged = 0
        """The number of the last of our frames that the page has."""
        self._most_kept = most_kept
        self._channel: Channel | None = None
        self._queue: deque[str] = deque()
        self._is_sending = False
        self._last = 0
        self._kept: deque[tuple[int, str]] = deque()
        self._kept_size = 0
        self._broken = False
        self._told = 0

    @property
    def attached(self) -> bool:
        """Whether there is a page at the other end now."""
        return self._channel is not None

    def is_whole(self, seen: object) -> bool:
        """Tell whether a page that saw frames up to this number can be given all that came after it."""
        return type(seen) is int and not self._broken and 0 <= seen <= self._last

    async def attach(self, channel: Channel, seen: int) -> None:
        """Go on, on a new socket, with a page that saw frames up to a number."""
        self._forget(seen)
        self._told = self.seen
        await self._send_on(channel, encode({"type": "resumed", "seen": self.seen}), *(text for _, text in self._kept))

    async def begin(self, channel: Channel, frame: Frame) -> None:
        """Begin anew, with a page that is about to load the document that this frame names."""
        self.seen = self.acknowledged = self._told = self._last = self._kept_size = 0
        self._kept.clear()
        self._broken = False
        await self._send_on(channel, encode(frame))

    async def _send_on(self, channel: Channel, *texts: str) -> None:
        """Take a new socket, and send what it needs first."""
        self._channel = channel
        self._queue.clear()
        self._queue.extend(texts)
        self._is_sending = False
        await self._drain()

    def detach(self, channel: Channel) -> None:
        """Let a lost socket go."""
        if self._channel is channel:
            self._channel = None
            self._queue.clear()
            self._is_sending = False

    def keep(self, frame: Frame) -> tuple[int, str]:
        """Number a frame and keep it; return its number and its text, to be delivered."""
        self._last = number = self._last + 1
        text = encode({**frame, "n": number, "ack": self.seen})
        self._told = self.seen
        self._kept.append((number, text))
        self._kept_size += len(text)
        while self._kept_size > self._most_kept and self._kept:
            self._broken = True  # a page that was away so long loads its View anew
            self._kept_size -= len(self._kept.popleft()[1])
        return number, text

    async def deliver(self, text: str) -> None:
        """Send a text that is kept, if there is a page to send it to, after those before it."""
        if self._channel is not None:
            self._queue.append(text)
            await self._drain()

    async def _drain(self) -> None:
        """Send what waits, unless somebody does already: then it is done in order, and nobody else waits."""
        if self._is_sending:
            return
        channel = self._channel
        self._is_sending = True
        try:
            while self._queue and channel is not None and channel is self._channel:
                await channel.send(self._queue.popleft())
        finally:
            if channel is self._channel:
                self._is_sending = False

    async def send(self, frame: Frame) -> int:
        """Send a frame, or keep it for the next socket; return its number."""
        number, text = self.keep(frame)
        await self.deliver(text)
        return number

    def withdraw(self, number: int) -> None:
        """Keep a frame no longer: if it is not there yet, it must not come late."""
        for entry in self._kept:
            if entry[0] == number:
                self._kept.remove(entry)
                self._kept_size -= len(entry[1])
                return

    def take(self, frame: Frame) -> bool:
        """Read the numbers of a frame from the page; return whether the frame is news."""
        ack, number = frame.get("ack"), frame.get("n")
        if type(ack) is int:
            self._forget(ack)
        if type(number) is not int:
            return frame.get("type") != "ack"
        if number <= self.seen:
            return False
        self.seen = number
        return True

    async def acknowledge(self) -> None:
        """Tell the page what came, if it has not heard of it for long."""
        if self.seen - self._told >= ACK_EVERY:
            self._told = self.seen
            await self.deliver(encode({"type": "ack", "ack": self.seen}))

    def _forget(self, number: int) -> None:
        self.acknowledged = max(self.acknowledged, min(number, self._last))
        while self._kept and self._kept[0][0] <= number:
            self._kept_size -= len(self._kept.popleft()[1])
