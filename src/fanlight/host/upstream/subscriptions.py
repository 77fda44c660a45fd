"""Ask a server for its news, in the way of its era. They reach the client's message handler like all others."""

import itertools
import logging
import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import anyio
import mcp_types as types
from mcp.client import Client
from mcp.client.subscriptions import SubscriptionLost
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from fanlight.host.upstream.events import Listener, PromptsChanged, ResourcesChanged, ResourceUpdated
from fanlight.host.upstream.transport import Attempt
from fanlight.host.upstream.wire import sent

logger = logging.getLogger(__name__)

_ANSWER_LIMIT: Final = 60.0


class Followed:
    """The resources whose changes are of interest. They only become more."""

    def __init__(self) -> None:
        self.uris: list[str] = []
        self.more = anyio.Event()
        """Set when there are more; then there is another event."""

    def add(self, uri: str) -> None:
        """Follow a resource from now on."""
        if uri not in self.uris:
            self.uris.append(uri)
            more, self.more = self.more, anyio.Event()
            more.set()


class Subscriptions:
    """What one connection asks for. There is no replay: what changed before the server began to tell is told anew."""

    def __init__(
        self,
        name: str,
        client: Client,
        attempt: Attempt,
        followed: Followed,
        tell: Listener,
        delay: Callable[[int], float],
    ) -> None:
        self._name = name
        self._client = client
        self._modern = client.protocol_version in MODERN_PROTOCOL_VERSIONS
        self._attempt = attempt
        self._followed = followed
        self._tell = tell
        self._delay = delay

    async def run(self) -> None:
        """Ask for as long as the connection lives."""
        async with anyio.create_task_group() as tasks:
            if self._modern:  # older servers tell of their lists unasked
                tasks.start_soon(self._follow_lists)
            resources = self._client.server_capabilities.resources
            if resources is not None and resources.subscribe:
                tasks.start_soon(self._follow_resources)

    async def _follow_lists(self) -> None:
        def begun(turn: int) -> None:
            self._attempt.stale.set()
            if turn > 1:
                self._tell(ResourcesChanged(self._name))
                self._tell(PromptsChanged(self._name))

        await self._listen(begun, tools_list_changed=True, resources_list_changed=True, prompts_list_changed=True)

    async def _follow_resources(self) -> None:
        asked = 0
        async with anyio.create_task_group() as tasks:
            last: anyio.CancelScope | None = None
            while True:
                more = self._followed.more
                new, asked = self._followed.uris[asked:], len(self._followed.uris)
                if new and self._modern:
                    before, last, opened = last, anyio.CancelScope(), anyio.Event()
                    tasks.start_soon(self._listen_to, tuple(self._followed.uris), last, opened)
                    await opened.wait()
                    if before is not None:
                        before.cancel()  # only now, so that nothing is missed in between
                else:
                    for uri in new:
                        tasks.start_soon(self._subscribe, uri)
                await more.wait()

    async def _listen_to(self, uris: Sequence[str], scope: anyio.CancelScope, opened: anyio.Event) -> None:
        """Follow resources in 2026-07-28: all of them with one stream."""

        def begun(turn: int) -> None:
            opened.set()
            if turn > 1:
                for uri in uris:
                    self._tell(ResourceUpdated(self._name, uri))

        with scope:
            await self._listen(begun, resource_subscriptions=uris)
            opened.set()  # refused, but nobody need wait for it

    async def _subscribe(self, uri: str) -> None:
        """Follow a resource in the handshake era: each with a request."""
        request = types.SubscribeRequest(params=types.SubscribeRequestParams(uri=uri))
        with anyio.move_on_after(_ANSWER_LIMIT):
            try:
                await sent(self._client, request)
            except MCPError as error:
                logger.debug("%s: does not tell when %s changes: %s", self._name, uri, error)

    async def _listen(self, begun: Callable[[int], None], **kinds: Any) -> None:
        """Hold a stream of news open, until the server refuses to."""
        for turn in itertools.count(1):
            try:
                with anyio.fail_after(_ANSWER_LIMIT) as limit:
                    async with self._client.listen(**kinds) as changes:
                        limit.deadline = math.inf
                        begun(turn)
                        async for _ in changes:
                            pass
            except (SubscriptionLost, TimeoutError):
                pass
            except MCPError as error:
                if not self._attempt.is_loss(error):
                    logger.debug("%s: cannot be asked for news: %s", self._name, error)
                    return
            await anyio.sleep(self._delay(turn))
