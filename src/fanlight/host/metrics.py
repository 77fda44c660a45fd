"""OpenTelemetry metrics of a host. Without an SDK that the program configures, recording them does nothing."""

from collections.abc import AsyncIterator
from time import monotonic
from typing import Any, Final, cast

import anyio
from opentelemetry.metrics import get_meter

from fanlight.host.store.base import AuditQuery, AuditRecord, Store
from fanlight.host.store.memory import MemoryStore

_meter = get_meter("fanlight")

sessions: Final = _meter.create_up_down_counter(
    "fanlight.sessions", unit="{session}", description="Views that are alive in this process, with or without a page"
)
pages: Final = _meter.create_up_down_counter(
    "fanlight.pages", unit="{page}", description="Pages that show a View by this process"
)
messages: Final = _meter.create_counter(
    "fanlight.messages", unit="{message}", description="Messages that Views sent to this process"
)
requests: Final = _meter.create_histogram(
    "fanlight.request.duration", unit="s", description="Time between a View's request and its response"
)
calls: Final = _meter.create_histogram(
    "fanlight.call.duration", unit="s", description="Time that the model's tool calls took"
)
decisions: Final = _meter.create_counter(
    "fanlight.decisions", unit="{decision}", description="Decisions of the policy and of users about requests of Views"
)
dropped_frames: Final = _meter.create_counter(
    "fanlight.frames.dropped",
    unit="{frame}",
    description="Frames for pages that were away for too long",
)
store_time: Final = _meter.create_histogram(
    "fanlight.store.duration", unit="s", description="Time that operations of the store took"
)
bus_time: Final = _meter.create_histogram(
    "fanlight.bus.duration", unit="s", description="Time that requests to other workers took"
)
loop_delay: Final = _meter.create_histogram(
    "fanlight.event_loop.delay", unit="s", description="How much later than planned a task of the event loop ran"
)

_LOOP_INTERVAL: Final = 1.0


async def measure_loop_delay() -> None:
    """Record the delay of the event loop at intervals, until cancelled."""
    while True:
        planned = monotonic() + _LOOP_INTERVAL
        await anyio.sleep(_LOOP_INTERVAL)
        loop_delay.record(max(monotonic() - planned, 0.0))


def measured(store: Store) -> Store:
    """Return a store that records how long each operation of another one takes. A store in memory takes no time."""
    return store if isinstance(store, MemoryStore) else cast(Store, _MeasuredStore(store))


class _MeasuredStore:
    def __init__(self, store: Store) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Any:
        operation = getattr(self._store, name)

        async def run(*arguments: Any) -> Any:
            start, outcome = monotonic(), "error"
            try:
                result = await operation(*arguments)
                outcome = "ok"
            finally:
                store_time.record(monotonic() - start, {"operation": name, "outcome": outcome})
            return result

        setattr(self, name, run)  # found without `__getattr__` the next time
        return run

    def records(self, query: AuditQuery) -> AsyncIterator[AuditRecord]:
        return self._store.records(query)  # in pages, between which the program works
