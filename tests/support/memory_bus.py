"""A bus between the hosts of one test, in memory, which can fail as one in Redis does."""

from collections.abc import Awaitable, Callable, Collection

import anyio

from fanlight.host.bus.base import Receive
from fanlight.host.errors import BusError


class Network:
    """What the buses of several hosts share."""

    def __init__(self) -> None:
        self.leases: dict[str, Receive] = {}
        self.owners: dict[str, str] = {}
        self.sent: list[tuple[str, str]] = []
        """Each message, with the worker that it was sent to."""
        self.is_down = False
        """Whether every operation fails."""
        self.failures = 0
        """How many operations have failed."""

    def bus(self) -> "MemoryBus":
        return MemoryBus(self)


class MemoryBus:
    """The bus of one host."""

    def __init__(self, network: Network) -> None:
        self._network = network
        self.lose: Callable[[], Awaitable[None]] | None = None
        """Ends the lease of the worker, as if the bus could not be reached for too long."""
        self.return_: Callable[[], Awaitable[None]] | None = None
        """Connects the worker again, with a lease."""

    def _check(self) -> None:
        if self._network.is_down:
            self._network.failures += 1
            raise BusError("The network is down.")

    async def run(
        self,
        worker: str,
        receive: Receive,
        on_connected: Callable[[], Awaitable[None]],
        on_lost: Callable[[], Awaitable[None]],
    ) -> None:
        self._network.leases[worker] = receive
        self.lose, self.return_ = on_lost, on_connected
        await on_connected()
        await anyio.sleep_forever()

    async def send(self, worker: str, message: str) -> bool:
        self._check()
        self._network.sent.append((worker, message))
        receive = self._network.leases.get(worker)
        if receive is not None:
            receive(message, 0.0)
        return receive is not None

    async def workers(self) -> Collection[str]:
        self._check()
        return set(self._network.leases)

    async def own(self, key: str, worker: str, seconds: float) -> str:
        self._check()
        owner = self._network.owners.get(key)
        if owner not in self._network.leases:
            owner = self._network.owners[key] = worker
        return owner

    async def leave(self, worker: str) -> None:
        self._network.leases.pop(worker, None)
        self._check()

    async def close(self) -> None:
        pass
