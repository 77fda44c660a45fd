"""One tool call of the model, with the Views that show it."""

from typing import TYPE_CHECKING, NamedTuple

import anyio

from fanlight.host.errors import CallCancelledError
from fanlight.host.validation import check_arguments, shown
from fanlight.host.views.throttle import Pace
from fanlight.protocol.content import embeds_view
from fanlight.protocol.errors import ArgumentError, StateError
from fanlight.protocol.jsonrpc import JSONObject
from fanlight.protocol.partial import PartialArguments

if TYPE_CHECKING:
    from fanlight.host.host import Host


class CallView(NamedTuple):
    """A View that a call opened."""

    view: str
    """The id for `<mcp-app view=...>`."""
    token: str
    """The token for `<mcp-app token=...>`, which lets a page open the View."""
    uri: str
    """The `ui://` URI of its document."""


class Call:
    """A tool call of the model, with the Views that show it. `Host.call_tool` and `Host.begin` create one.

    `feed` it the arguments while the model writes them, `run` it with the complete arguments, or `cancel` it.
    """

    def __init__(
        self,
        host: "Host",
        server: str,
        tool: str,
        views: tuple[CallView, ...] = (),
        conversation: str | None = None,
    ) -> None:
        self.server = server
        """The server that is called."""
        self.tool = tool
        """The tool that is called."""
        self.views = views
        """All Views of the call; empty if the tool has none.

        A tool has one View. The result of a tool can bring further ones, as with mcp-ui, which are here after `run`.
        """
        self.conversation = conversation
        """The conversation that the call belongs to, or None."""
        self.result: JSONObject | None = None
        """The result as the server returned it, or None before `run`."""
        self.is_streaming = False
        """Whether the model is still writing the arguments."""
        self.cancelled: str | None = None
        """The reason if the call was cancelled, otherwise None."""
        self._host = host
        self._partial = PartialArguments()
        self._pace = Pace()
        self._fed = 0
        self._scope: anyio.CancelScope | None = None
        self._over = False

    @property
    def view(self) -> str | None:
        """The id of the first View, for `<mcp-app view=...>`, or None if there is no View."""
        return self.views[0].view if self.views else None

    @property
    def token(self) -> str | None:
        """The token of the first View, or None if there is no View."""
        return self.views[0].token if self.views else None

    @property
    def for_model(self) -> list[JSONObject]:
        """The content of the result, for the model, without the documents of Views."""
        content = (self.result or {}).get("content", [])
        return [block for block in content if not self.views or not embeds_view(block)]

    @property
    def arguments(self) -> JSONObject:
        """The arguments as far as the model has written them, parsed again after each `feed`."""
        return self._partial.arguments

    def feed(self, delta: str) -> None:
        """Add the next piece of the model's JSON text. The View is shown the arguments as they grow."""
        if self._over:
            raise StateError("feed() came after run() or cancel(): the arguments of this call are complete.")
        if not isinstance(delta, str):
            raise ArgumentError(
                f"feed() got {shown(delta)}, expected the next piece of the model's JSON text, a string."
            )
        self._partial.feed(delta)
        self._fed += len(delta)
        if self.view is None:
            return
        if not self.is_streaming:
            self.is_streaming = True
            self._host.watch_pauses(self)
        self._host.show_partial(self)

    def is_due(self, now: float, *, under_way: bool) -> bool:
        """Tell whether the View is to be shown the arguments now; if so, it counts as done."""
        return self._pace.due(self._fed, now, under_way=under_way)

    async def run(self, arguments: JSONObject) -> JSONObject:
        """Call the tool, pass the result to the View, and return it. Raise `CallCancelledError` if it is cancelled."""
        if self._over:
            raise StateError("run() came after run() or cancel(): a call runs once.")
        check_arguments(arguments)
        self._over, self.is_streaming = True, False
        with anyio.CancelScope() as self._scope:
            self.result = await self._host.run_call(self, arguments)
            return self.result
        raise CallCancelledError(self.server, self.cancelled or "The call was cancelled.")

    async def cancel(self, reason: str | None = None) -> None:
        """Cancel the call, while its arguments are written or while it runs, and notify the View and the server."""
        if self.result is not None or self.cancelled is not None:
            return
        self.cancelled = reason or ""
        if self._scope is not None:
            self._scope.cancel()
        elif not self._over:
            self._over, self.is_streaming = True, False
            self._host.cancel_call(self, reason)
