"""`PageChannel`: numbered, acknowledged frames between a session and a page, across the sockets that carry them.

Each end numbers its frames (`n`, from 1) and says on every frame which of the other end's frames it has received
(`ack`). A frame is kept until it is acknowledged, and sent again on the next socket. So a lost socket neither loses a
frame nor delivers one twice. The numbers are those of one page, which proves with the epoch of its `show` frame that it
is the one that continues.
"""

from collections.abc import Coroutine
from typing import Any, Final, Protocol

from fanlight.host import metrics
from fanlight.host.json_text import encode_json
from fanlight.host.views.page.frames import Ack, HostFrame, PageAck, ReceivedFrame, Resumed, ShowView
from fanlight.protocol.jsonrpc import JSONObject

ACK_EVERY: Final = 32
"""After this many received frames without one to send, an end sends an `ack` frame. mcp-app.js uses the same number."""

_MAX_SAVED: Final = 1024 * 1024
"""How many characters of frames are stored for another process. With more, the page loads its View again."""


RESTARTING: Final = 1012
"""The close code of a socket whose process stops. The page connects again, and another process continues."""


class PageSocket(Protocol):
    """One WebSocket of a page."""

    async def close_socket(self, code: int) -> None:
        """Close the socket, if it is open."""

    async def send(self, text: str) -> None:
        """Send a text, or drop it if the socket is closed. The page asks for dropped frames on its next socket."""


class PageChannel:
    """The host's end of the channel between a session and the page that shows its View."""

    def __init__(self, max_kept: int = 16 * 1024 * 1024) -> None:
        self.received = 0
        """The number of the last frame from the page."""
        self.acknowledged = 0
        """The number of the last frame that the page has acknowledged."""
        self.epoch: str | None = None
        """The epoch of the last `show` frame, or None before the first one."""
        self._max_kept = max_kept
        self._socket: PageSocket | None = None
        # Lists, because an empty deque takes 760 bytes, for each View.
        self._queue: list[str] = []
        self._is_sending = False
        self._last_number = 0
        self._last_ack = 0
        self._kept: list[tuple[int, str]] = []
        self._kept_size = 0
        self._has_dropped = False

    @property
    def attached(self) -> bool:
        """Whether a page is connected now."""
        return self._socket is not None

    def is_current(self, socket: PageSocket) -> bool:
        """Return True if this is the socket of the page that shows the View now."""
        return self._socket is socket

    def can_resume(self, epoch: str | None, seen: int | None) -> bool:
        """Return True if the page with this epoch can be sent all frames after number `seen`."""
        is_known = epoch is not None and epoch == self.epoch
        return is_known and seen is not None and not self._has_dropped and 0 <= seen <= self._last_number

    async def resume(self, socket: PageSocket, seen: int) -> None:
        """Continue on a new socket, with a page that has received frames up to `seen`."""
        self._discard(seen)
        self._last_ack = self.received
        resumed = encode_json(Resumed(self.received).to_json())
        await self._replace_socket(socket, resumed, *(text for _, text in self._kept))

    async def take_over(self, socket: PageSocket, epoch: str, seen: int) -> None:
        """Continue for a process that ended, with a page that has received its frames up to `seen`.

        Which frames of the page that process has received is not known, so the page sends all that were not
        acknowledged.
        """
        self.epoch = epoch
        self._last_number = self.acknowledged = seen
        await self._replace_socket(socket, encode_json(Resumed(0, restarted=True).to_json()))

    def snapshot(self) -> JSONObject | None:
        """Return what another process needs to continue, as JSON; None if frames were dropped, or are too large."""
        if self._has_dropped or self._kept_size > _MAX_SAVED:
            return None
        return {"received": self.received, "last": self._last_number, "kept": [list(each) for each in self._kept]}

    def restore(self, epoch: str, snapshot: JSONObject) -> None:
        """Continue where the channel of another process ended."""
        self.epoch = epoch
        self.received, self._last_number = snapshot["received"], snapshot["last"]
        self._kept.extend((number, text) for number, text in snapshot["kept"])
        self._kept_size = sum(len(text) for _, text in self._kept)

    async def begin(self, socket: PageSocket, show: ShowView) -> None:
        """Start over on a new socket, with a page that is about to load the View."""
        self.received = self.acknowledged = self._last_ack = self._last_number = self._kept_size = 0
        self._kept.clear()
        self._has_dropped = False
        self.epoch = show.epoch
        await self._replace_socket(socket, encode_json(show.to_json()))

    async def _replace_socket(self, socket: PageSocket, *texts: str) -> None:
        """Use a new socket, and send these texts on it first."""
        if self._socket is None:
            metrics.pages.add(1)
        self._socket = socket
        self._queue.clear()
        self._queue.extend(texts)
        self._is_sending = False
        await self.drain()

    def detach(self, socket: PageSocket) -> None:
        """Stop using a socket that was lost. Does nothing if another one has replaced it."""
        if self._socket is socket:
            self.release()

    def release(self) -> PageSocket | None:
        """Stop using the current socket, and return it. None if no page is connected."""
        socket, self._socket = self._socket, None
        if socket is not None:
            metrics.pages.add(-1)
        self._queue.clear()
        self._is_sending = False
        return socket

    def keep(self, frame: HostFrame) -> tuple[int, str]:
        """Number a frame and keep it until it is acknowledged. Return its number, and the text for `deliver`."""
        self._last_number = number = self._last_number + 1
        fields = frame.to_json()
        fields["n"], fields["ack"] = number, self.received
        text = encode_json(fields)
        self._last_ack = self.received
        self._kept.append((number, text))
        self._kept_size += len(text)
        while self._kept_size > self._max_kept and self._kept:
            self._has_dropped = True  # a page that reconnects now has to load its View again
            metrics.dropped_frames.add(1)
            self._kept_size -= len(self._kept.pop(0)[1])
        return number, text

    def deliver(self, text: str) -> Coroutine[Any, Any, None]:
        """Send a text after those before it, if a page is connected."""
        if self._socket is not None:
            self._queue.append(text)
        return self.drain()

    async def drain(self) -> None:
        """Send what is queued. If another task is sending, leave it to that task, which keeps the order."""
        if self._is_sending:
            return
        socket = self._socket
        self._is_sending = True
        try:
            while self._queue and socket is not None and socket is self._socket:
                await socket.send(self._queue[0])
                if socket is self._socket:
                    self._queue.pop(0)
        finally:
            if socket is self._socket:
                self._is_sending = False

    async def send(self, frame: HostFrame) -> int:
        """Send a frame, now or on the next socket. Return its number."""
        number, text = self.keep(frame)
        await self.deliver(text)
        return number

    @property
    def next_number(self) -> int:
        """The number of the next frame for the page."""
        return self._last_number + 1

    def withdraw(self, number: int) -> None:
        """Do not send a frame again, if the page has not received it yet."""
        for entry in self._kept:
            if entry[0] == number:
                self._kept.remove(entry)
                self._kept_size -= len(entry[1])
                return

    def receive(self, received: ReceivedFrame) -> bool:
        """Process the numbers of a frame from the page. Return False for a duplicate or an acknowledgement."""
        frame, number, ack, _ = received
        if ack is not None and ack > self.acknowledged:
            self._discard(ack)
        if number is None:
            return not isinstance(frame, PageAck)
        if number <= self.received:
            return False
        self.received = number
        return True

    @property
    def owes_ack(self) -> bool:
        """Whether the page has waited for an acknowledgement for `ACK_EVERY` frames."""
        return self.received - self._last_ack >= ACK_EVERY

    async def acknowledge(self) -> None:
        """Send an `ack` frame if it is due."""
        if self.owes_ack:
            self._last_ack = self.received
            await self.deliver(encode_json(Ack(self.received).to_json()))

    def _discard(self, number: int) -> None:
        """Drop the kept frames up to a number: the page has them."""
        self.acknowledged = max(self.acknowledged, min(number, self._last_number))
        count = 0
        for kept, text in self._kept:
            if kept > number:
                break
            self._kept_size -= len(text)
            count += 1
        del self._kept[:count]
