"""Fault injection: servers made slow, failing or unreachable, and servers replaced by a recording."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import anyio

from fanlight.host import ServerError
from fanlight.host.errors import NotConnectedError
from fanlight.host.upstream.connection import Connection, Interceptor
from fanlight.inspector.panels.recording import Recording
from fanlight.protocol.jsonrpc import JSONObject

_INTERNAL_ERROR: Final = -32603


@dataclass
class Fault:
    """The faults that are switched on for one server."""

    slow: float = 0.0
    """Seconds by which each request is delayed."""
    failing: bool = False
    lost: bool = False


class Faults:
    """The faults of all servers, by name."""

    def __init__(self, connections: Mapping[str, Connection]) -> None:
        self._connections = connections
        self._faults = {name: Fault() for name in connections}
        self._recordings: dict[str, Recording] = {}
        for name, connection in connections.items():
            connection.intercept(self._interceptor(name))

    def of(self, server: str) -> Fault:
        """Return the faults of a server."""
        return self._faults[server]

    def set(
        self, server: str, slow: float | None = None, failing: bool | None = None, lost: bool | None = None
    ) -> None:
        """Change some faults of a server; None leaves one as it is. `lost` also drops the calls that run."""
        before = self._faults[server]
        after = self._faults[server] = Fault(
            before.slow if slow is None else max(slow, 0.0),
            before.failing if failing is None else failing,
            before.lost if lost is None else lost,
        )
        if after.lost and not before.lost:
            self._connections[server].restart()

    def replay(self, server: str, recording: Recording) -> None:
        """Answer the requests to a server from a recording."""
        self._recordings[server] = recording

    def stop_replay(self, server: str) -> None:
        """Send requests to the server again."""
        self._recordings.pop(server, None)

    def _interceptor(self, server: str) -> Interceptor:
        async def intercept(method: str, params: JSONObject) -> JSONObject | None:
            fault = self._faults[server]
            if fault.slow:
                await anyio.sleep(fault.slow)
            if fault.lost:
                raise NotConnectedError(server, "not connected: “lose connection” is switched on in fanlight dev.")
            if fault.failing:
                raise ServerError(server, _INTERNAL_ERROR, "“fail requests” is switched on in fanlight dev.")
            recording = self._recordings.get(server)
            if recording is None:
                return None
            error, result = recording.answer(method, params)
            if error is not None:
                code, message = error.get("code"), error.get("message")
                raise ServerError(server, code if isinstance(code, int) else _INTERNAL_ERROR, str(message))
            return result

        return intercept
