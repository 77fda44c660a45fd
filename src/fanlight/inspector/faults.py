"""Servers that misbehave when asked to: slow ones, failing ones, lost ones, and those that play a recording."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import anyio

from fanlight.host import ServerError
from fanlight.host.upstream.connection import Connection, NotConnected
from fanlight.inspector.recording import Recording
from fanlight.protocol.jsonrpc import JSONObject

_INTERNAL_ERROR = -32603


@dataclass
class Trial:
    """What is put between the host and one server."""

    slow: float = 0.0
    """Seconds that each request is kept back."""
    failing: bool = False
    lost: bool = False


class Trials:
    """The trials of all servers, by name."""

    def __init__(self, connections: Mapping[str, Connection]) -> None:
        self._connections = connections
        self._trials = {name: Trial() for name in connections}
        self._playing: dict[str, Recording] = {}
        for name, connection in connections.items():
            connection.stand_in = self._stand_in(name)

    def of(self, server: str) -> Trial:
        """Return what is set for a server."""
        return self._trials[server]

    def set(
        self, server: str, slow: float | None = None, failing: bool | None = None, lost: bool | None = None
    ) -> None:
        """Set some switches of a server. One that gets lost loses the calls that run, too."""
        before = self._trials[server]
        now = self._trials[server] = Trial(
            before.slow if slow is None else max(slow, 0.0),
            before.failing if failing is None else failing,
            before.lost if lost is None else lost,
        )
        if now.lost and not before.lost:
            self._connections[server].restart()

    def play(self, server: str, recording: Recording) -> None:
        """Answer from a recording from now on."""
        self._playing[server] = recording

    def stop(self, server: str) -> None:
        """Let the server answer again."""
        self._playing.pop(server, None)

    def _stand_in(self, server: str) -> Any:
        async def stand_in(method: str, params: JSONObject) -> JSONObject | None:
            trial = self._trials[server]
            if trial.slow:
                await anyio.sleep(trial.slow)
            if trial.lost:
                raise NotConnected(server, "not connected: the switch “lost” is on in fanlight dev.")
            if trial.failing:
                raise ServerError(server, _INTERNAL_ERROR, "The switch “failing” is on in fanlight dev.")
            recording = self._playing.get(server)
            if recording is None:
                return None
            error, result = recording.answer(method, params)
            if error is not None:
                code, message = error.get("code"), error.get("message")
                raise ServerError(server, code if isinstance(code, int) else _INTERNAL_ERROR, str(message))
            return result

        return stand_in
