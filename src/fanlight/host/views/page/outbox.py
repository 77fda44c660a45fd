"""The messages on their way to a View: recorded if they are responses, kept until acknowledged, sent in order."""

import logging
from collections.abc import Awaitable, Callable
from typing import Final

import anyio
import orjson

from fanlight.host.errors import StoreError
from fanlight.host.json_text import byte_length, encode_json
from fanlight.host.views.interfaces import Tasks
from fanlight.host.views.page.channel import PageChannel
from fanlight.host.views.page.frames import MessageToView
from fanlight.host.views.requests.open_requests import OpenRequests
from fanlight.protocol import jsonrpc
from fanlight.protocol.bridge import Bridge
from fanlight.protocol.jsonrpc import REFUSED, Message

logger = logging.getLogger(__name__)

_RETRY_PAUSE: Final = 1.0
"""How many seconds to wait before a response is recorded again, after that failed."""

_MILESTONES: Final = ("/tool-input", "/tool-result", "/tool-cancelled")


class Outbox:
    """Sends a View what its bridge has for it.

    Args:
        bridge: Makes the messages.
        channel: Takes them to the page.
        requests: Records the responses.
        tasks: Runs background tasks.
        max_result: The longest result that a View is given, in characters.
        observer: Called with each message.
        save: Called with the method and the frame number of the input and the outcome of the call, before each is sent.
    """

    def __init__(
        self,
        bridge: Bridge,
        channel: PageChannel,
        requests: OpenRequests,
        tasks: Tasks,
        max_result: int,
        observer: Callable[[Message], None] | None,
        save: Callable[[str, int], Awaitable[None]],
    ) -> None:
        self._bridge = bridge
        self._channel = channel
        self._requests = requests
        self._tasks = tasks
        self._max_result = max_result
        self._observer = observer
        self._save = save
        self._unsent: list[Message] = []  # an empty deque takes 760 bytes, for each View
        self._is_sending = False
        self._partial_frame = 0
        self._sent_one: anyio.Event | None = None

    @property
    def partial_in_flight(self) -> bool:
        """Whether the page has not acknowledged the last partial input yet."""
        return self._partial_frame > self._channel.acknowledged

    async def flush(self) -> None:
        """Send the bridge's outgoing messages, in order. A response is recorded before it is sent.

        If another task sends messages already, it sends these, too.
        """
        unsent, bridge = self._unsent, self._bridge
        if bridge.has_outgoing:
            unsent.extend(bridge.outgoing())
        if self._is_sending:
            return
        self._is_sending = True
        try:
            while unsent:
                await self._send(unsent[0])
                if bridge.has_outgoing:
                    unsent.extend(bridge.outgoing())
            self._is_sending = False
        except anyio.get_cancelled_exc_class():  # this task was cancelled, not those with the other messages
            self._continue_after(0.0)
            raise
        except StoreError as error:
            logger.warning("View %s: a response waits until it can be recorded: %s", self._requests.app.view, error)
            self._continue_after(_RETRY_PAUSE)
        except Exception:
            logger.exception("View %s: a response waits until it can be recorded", self._requests.app.view)
            self._continue_after(_RETRY_PAUSE)

    async def flush_all(self) -> None:
        """Send the bridge's outgoing messages, and wait until the channel has them all, whichever task sends them."""
        await self.flush()
        while self._unsent:
            self._sent_one = self._sent_one or anyio.Event()
            await self._sent_one.wait()

    def _continue_after(self, seconds: float) -> None:
        async def run() -> None:
            await anyio.sleep(seconds)
            await self._channel.drain()
            self._is_sending = False
            await self.flush()

        self._tasks.start_soon(run)

    async def _send(self, message: Message) -> None:
        """Send the first unsent message."""
        text = encode_json(message)
        method, is_partial = message.get("method"), False
        if method is None:
            if "result" in message and len(text) > self._max_result:
                reason = f"The result has {len(text):,} characters; a View is given at most {self._max_result:,}."
                message = jsonrpc.error(message["id"], REFUSED, reason)
                text = encode_json(message)
            await self._requests.record(message, byte_length(text))
        elif method.endswith(_MILESTONES):
            await self._save(method, self._channel.next_number)
        else:
            is_partial = method.endswith("/notifications/tool-input-partial")
        if not self._unsent:
            return  # the session ended in the meantime
        self._unsent.pop(0)
        # Only one partial input is in flight at a time, so the page acknowledges it at once.
        number, frame = self._channel.keep(MessageToView(orjson.Fragment(text), ack_now=is_partial or None))
        if self._sent_one is not None:
            self._announce_sent()
        if is_partial:
            self._partial_frame = number
        if self._observer is not None:
            self._observer(message)
        await self._channel.deliver(frame)

    def clear(self) -> None:
        """Discard what was not sent yet."""
        self._unsent.clear()
        self._announce_sent()

    def _announce_sent(self) -> None:
        if self._sent_one is not None:
            self._sent_one.set()
            self._sent_one = None
