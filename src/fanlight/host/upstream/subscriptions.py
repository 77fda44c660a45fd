"""Subscribes to the notifications of a server, in the way of its protocol version.

The notifications themselves reach the message handler of the client, as all others do.
"""

import itertools
import logging
import math
from collections.abc import Callable, Sequence
from typing import Any

import anyio
import mcp_types as types
from mcp.client import Client
from mcp.client.subscriptions import SubscriptionLost
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from fanlight.host.upstream.events import Listener, PromptsChanged, ResourcesChanged, ResourceUpdated
from fanlight.host.upstream.transport.open import Attempt
from fanlight.host.upstream.transport.wire import send_request

logger = logging.getLogger(__name__)


class WatchedResources:
    """The resources whose changes are of interest. Resources are only added."""

    def __init__(self) -> None:
        self.uris: list[str] = []
        self.added = anyio.Event()
        """Set when a resource is added, and then replaced by another event."""

    def reset(self) -> None:
        """Prepare for another event loop."""
        self.added = anyio.Event()

    def add(self, uri: str) -> None:
        """Watch a resource from now on."""
        if uri not in self.uris:
            self.uris.append(uri)
            added, self.added = self.added, anyio.Event()
            added.set()


class Subscriptions:
    """The subscriptions of one connection.

    Servers do not replay notifications, so each new stream begins with events for everything that may have changed
    before it.
    """

    def __init__(
        self,
        name: str,
        user: str | None,
        client: Client,
        attempt: Attempt,
        watched: WatchedResources,
        emit: Listener,
        delay: Callable[[int], float],
        timeout: float,
    ) -> None:
        self._name = name
        self._user = user
        self._client = client
        self._modern = client.protocol_version in MODERN_PROTOCOL_VERSIONS
        self._attempt = attempt
        self._watched = watched
        self._emit = emit
        self._delay = delay
        self._timeout = timeout

    async def run(self) -> None:
        """Stay subscribed until cancelled."""
        async with anyio.create_task_group() as tasks:
            if self._modern:  # older servers send changes of their lists without a subscription
                tasks.start_soon(self._watch_lists)
            resources = self._client.server_capabilities.resources
            if resources is not None and resources.subscribe:
                tasks.start_soon(self._watch_resources)

    async def _watch_lists(self) -> None:
        def opened(number: int) -> None:
            self._attempt.tools_changed.set()
            if number > 1:
                self._emit(ResourcesChanged(self._name, user=self._user))
                self._emit(PromptsChanged(self._name, user=self._user))

        await self._listen(opened, tools_list_changed=True, resources_list_changed=True, prompts_list_changed=True)

    async def _watch_resources(self) -> None:
        subscribed = 0
        async with anyio.create_task_group() as tasks:
            current: anyio.CancelScope | None = None
            while True:
                added = self._watched.added
                new, subscribed = self._watched.uris[subscribed:], len(self._watched.uris)
                if new and self._modern:
                    previous, current, is_open = current, anyio.CancelScope(), anyio.Event()
                    tasks.start_soon(self._listen_to, tuple(self._watched.uris), current, is_open)
                    await is_open.wait()
                    if previous is not None:
                        previous.cancel()  # only after its successor is open, so that nothing is missed in between
                else:
                    for uri in new:
                        tasks.start_soon(self._subscribe, uri)
                await added.wait()

    async def _listen_to(self, uris: Sequence[str], scope: anyio.CancelScope, is_open: anyio.Event) -> None:
        """Watch resources as of 2026-07-28: all of them with one stream."""

        def opened(number: int) -> None:
            is_open.set()
            if number > 1:
                for uri in uris:
                    self._emit(ResourceUpdated(self._name, uri, user=self._user))

        with scope:
            await self._listen(opened, resource_subscriptions=uris)
            is_open.set()  # refused; do not keep the caller waiting

    async def _subscribe(self, uri: str) -> None:
        """Watch a resource as before 2026-07-28: with one request each."""
        request = types.SubscribeRequest(params=types.SubscribeRequestParams(uri=uri))
        with anyio.move_on_after(self._timeout):
            try:
                await send_request(self._client, request)
            except MCPError as error:
                logger.debug("%s: cannot subscribe to %s: %s", self._name, uri, error)

    async def _listen(self, opened: Callable[[int], None], **kinds: Any) -> None:
        """Hold a stream of notifications open, and reopen it when it is lost, until the server refuses it."""
        for number in itertools.count(1):
            try:
                with anyio.fail_after(self._timeout) as timeout:
                    async with self._client.listen(**kinds) as changes:
                        timeout.deadline = math.inf
                        opened(number)
                        async for _ in changes:
                            pass
            except (SubscriptionLost, TimeoutError):
                pass
            except MCPError as error:
                if not self._attempt.is_connection_loss(error):
                    logger.debug("%s: the server does not support subscriptions: %s", self._name, error)
                    return
            await anyio.sleep(self._delay(number))
