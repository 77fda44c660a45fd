"""One tool call of the model, with the View that shows it."""

import math
from typing import TYPE_CHECKING, Any, Final

import anyio

from fanlight.protocol.partial import PartialArguments

if TYPE_CHECKING:
    from fanlight.host.host import Host

JSONObject = dict[str, Any]

_INTERVAL: Final = 1 / 60
_GROWTH: Final = 1.05


class Call:
    """A tool call: `feed` it what the model writes, `run` it with the whole, or `cancel` it.

    `view` is the id for `<mcp-app view=...>`, or None if the tool shows nothing; `token` goes with it.
    """

    def __init__(self, host: "Host", server: str, tool: str, view: str | None, token: str | None) -> None:
        self.server = server
        self.tool = tool
        self.view = view
        self.token = token
        self.result: JSONObject | None = None
        """What the server returned, unchanged."""
        self._host = host
        self._partial = PartialArguments()
        self._fed = 0
        self._shown = 0
        self._shown_at = -math.inf

    @property
    def for_model(self) -> list[JSONObject]:
        """What the model sees: the content and nothing else."""
        return list((self.result or {}).get("content", []))

    async def feed(self, delta: str) -> None:
        """Take the next piece of the arguments as the model writes them; the View sees them grow.

        The View is shown them at most sixty times a second, and only when they have grown by a twentieth: so
        all that is sent is at most some twenty times the whole, and not its square.
        """
        self._partial.feed(delta)
        self._fed += len(delta)
        now = anyio.current_time()
        if self.view is not None and self._fed > self._shown * _GROWTH and now - self._shown_at >= _INTERVAL:
            self._shown, self._shown_at = self._fed, now
            await self._host.show_partial(self, self._partial.arguments)

    async def run(self, arguments: JSONObject) -> JSONObject:
        """Call the tool and return the raw result, which the View gets too."""
        self.result = await self._host.run_call(self, arguments)
        return self.result

    async def cancel(self, reason: str | None = None) -> None:
        """Give the call up and tell the View."""
        await self._host.cancel_call(self, reason)
