"""The `Bus` protocol: how workers find each other and send messages."""

from collections.abc import Awaitable, Callable, Collection
from typing import Protocol

Receive = Callable[[str, float], None]
"""Takes a message to this worker, and how many seconds ago it was sent."""


class Bus(Protocol):
    """What connects the workers of a host: a lease for each worker, and a queue of messages to each.

    A message is delivered at most once, in the order in which one worker sent it. No worker gets messages to another.
    A method that fails raises `BusError`.
    """

    async def run(
        self,
        worker: str,
        receive: Receive,
        on_connected: Callable[[], Awaitable[None]],
        on_lost: Callable[[], Awaitable[None]],
    ) -> None:
        """Keep the lease of this worker and receive its messages, until cancelled.

        Reconnects by itself, and never raises because of the connection.

        Args:
            worker: The id of this worker.
            receive: Called with each message to this worker.
            on_connected: Called each time a connection was made, with a lease. Messages may have been lost before.
            on_lost: Called when the lease has ended because it could not be renewed.
        """

    async def send(self, worker: str, message: str) -> bool:
        """Send a message to a worker. Return False if the lease of that worker has ended."""

    async def workers(self) -> Collection[str]:
        """Return the workers that have a lease."""

    async def own(self, key: str, worker: str, seconds: float) -> str:
        """Return the worker that owns a key: the one that asked for it first and has a lease, otherwise this one.

        A key that no worker asks for within `seconds` loses its owner.
        """

    async def leave(self, worker: str) -> None:
        """End the lease of a worker that stops, and discard the messages to it."""

    async def close(self) -> None:
        """Release connections."""
