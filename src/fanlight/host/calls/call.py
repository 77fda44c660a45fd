"""One tool call of the model, with the Views that show it."""

import anyio

from fanlight.host.calls.runner import CallRunner, CallView
from fanlight.host.errors import CallCancelledError
from fanlight.host.validation import check_arguments, shown
from fanlight.protocol.content import embeds_view
from fanlight.protocol.errors import ArgumentError, StateError
from fanlight.protocol.jsonrpc import JSONObject


class Call:
    """A tool call of the model, with the Views that show it. `Host.call_tool` and `Host.begin` create one.

    `feed` it the arguments while the model writes them, `run` it with the complete arguments, or `cancel` it.
    """

    def __init__(
        self,
        runner: CallRunner,
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
        self.cancelled: str | None = None
        """The reason if the call was cancelled, otherwise None."""
        self._runner = runner
        self._stream = runner.stream(self.view)
        self._scope: anyio.CancelScope | None = None
        self._complete = False

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
        return self._stream.arguments

    @property
    def is_streaming(self) -> bool:
        """Whether the model is still writing the arguments."""
        return self._stream.is_open

    def feed(self, delta: str) -> None:
        """Add the next piece of the model's JSON text. The View is shown the arguments as they grow."""
        if self._complete:
            raise StateError("feed() came after run() or cancel(): the arguments of this call are complete.")
        if not isinstance(delta, str):
            raise ArgumentError(
                f"feed() got {shown(delta)}, expected the next piece of the model's JSON text, a string."
            )
        self._stream.feed(delta)

    async def run(self, arguments: JSONObject) -> JSONObject:
        """Call the tool, pass the result to the View, and return it. Raise `CallCancelledError` if it is cancelled."""
        self._begin("run", arguments)
        with anyio.CancelScope() as self._scope:
            try:
                result = await self._runner.call_server(self.server, self.tool, arguments)
            except CallCancelledError as error:
                self._runner.show_cancelled(self.view, error.message)
                raise
            except anyio.get_cancelled_exc_class():
                self._runner.show_cancelled(self.view, self.cancelled or "The call was cancelled.")
                raise
            self._finish(arguments, result)
            return result
        raise CallCancelledError(self.server, self.cancelled or "The call was cancelled.")

    def show_result(self, arguments: JSONObject, result: JSONObject) -> None:
        """Pass a result to the View that the program got by other means, instead of running the call."""
        self._begin("show_result", arguments)
        self._finish(arguments, result)

    def _begin(self, method: str, arguments: JSONObject) -> None:
        """Show the View the complete arguments, once."""
        if self._complete:
            raise StateError(f"{method}() came after run() or cancel(): a call runs once.")
        check_arguments(arguments)
        self._stop_streaming()
        self._runner.show_input(self.view, arguments)

    def _finish(self, arguments: JSONObject, result: JSONObject) -> None:
        if self.view is None:
            self.views = self._runner.open_embedded(self.server, self.tool, self.conversation, arguments, result)
        else:
            self._runner.show_result(self.view, result)
        self.result = result

    async def cancel(self, reason: str | None = None) -> None:
        """Cancel the call, while its arguments are written or while it runs, and notify the View and the server."""
        if self.result is not None or self.cancelled is not None:
            return
        self.cancelled = reason or ""
        if self._scope is not None:
            self._scope.cancel()
        elif not self._complete:
            self._stop_streaming()
            self._runner.show_cancelled(self.view, reason)

    def _stop_streaming(self) -> None:
        self._complete = True
        self._stream.stop()
