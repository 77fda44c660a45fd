"""One tool call of the model, with the Views that show it."""

from collections.abc import Awaitable, Callable
from time import monotonic

import anyio

from fanlight.host import metrics
from fanlight.host.calls.runner import CallRunner, CallView
from fanlight.host.errors import CallCancelledError, StoreError
from fanlight.host.validation import check_arguments, shown
from fanlight.host.views.records import Owner
from fanlight.protocol.content import embeds_view, joined_text
from fanlight.protocol.errors import ArgumentError, StateError
from fanlight.protocol.jsonrpc import JSONObject

_NOT_RUN = "The call was begun but never run."
NOT_STORED = "The host could not store the call."
"""Why a call is cancelled if the store fails."""


class Call:
    """A tool call of the model, with its Views. `Conversation.call_tool`, `begin` and `Turn.run` return one.

    `feed` it the arguments while the model writes them, `run` it with the complete arguments, or `cancel` it. A call
    that is neither run nor cancelled is cancelled at the end of its turn, or after `Timeouts.begun`.
    """

    def __init__(
        self,
        runner: CallRunner,
        server: str,
        tool: str,
        owner: Owner,
        execute: Callable[[JSONObject], Awaitable[JSONObject]],
        views: tuple[CallView, ...] = (),
        *,
        brings_views: bool = True,
    ) -> None:
        self.server = server
        """The server that is called, or the server of the View that is called; empty if there is no such tool."""
        self.tool = tool
        """The tool that is called, by the name that the server or the View has for it."""
        self.views = views
        """All Views of the call; empty if the tool has none.

        A tool has one View. The result of a tool can bring further ones, as with mcp-ui, which are here after `run`.
        """
        self.conversation = owner.conversation
        """The conversation that the call belongs to, or None."""
        self.user = owner.user
        """The user that the call belongs to, or None in a program with one user."""
        self.result: JSONObject | None = None
        """The result as the server returned it, or None before `run`."""
        self.cancelled: str | None = None
        """The reason if the call was cancelled, otherwise None."""
        self._owner = owner
        self._runner = runner
        self._execute = execute
        self._brings_views = brings_views
        self._stream = runner.stream(self.view)
        self._scope: anyio.CancelScope | None = None
        self._is_running = False
        self._complete = False
        self._touched = monotonic()

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
    def text(self) -> str:
        """The text blocks of `for_model`, one below the other."""
        return joined_text(self.for_model)

    @property
    def arguments(self) -> JSONObject:
        """The arguments as far as the model has written them, parsed again after each `feed`."""
        return self._stream.arguments

    @property
    def is_begun(self) -> bool:
        """Whether the call waits for `run` or `cancel`."""
        return not self._complete

    @property
    def is_running(self) -> bool:
        """Whether `run` was called, and has not returned."""
        return self._is_running

    @property
    def waiting_since(self) -> float:
        """When the call was begun or fed last, by `time.monotonic`."""
        return self._touched

    def feed(self, delta: str) -> None:
        """Add the next piece of the model's JSON text. The View is shown the arguments as they grow."""
        if self._complete:
            raise StateError("feed() came after run() or cancel(): the arguments of this call are complete.")
        if not isinstance(delta, str):
            raise ArgumentError(
                f"feed() got {shown(delta)}, expected the next piece of the model's JSON text, a string."
            )
        self._touched = monotonic()
        self._stream.feed(delta)

    async def run(self, arguments: JSONObject) -> JSONObject:
        """Call the tool, pass the result to the View, and return it. Raise `CallCancelledError` if it is cancelled."""
        self._complete_arguments("run", arguments)
        start, outcome = monotonic(), "cancelled"
        self._is_running = True
        try:
            result = await self._run(arguments)
            outcome = "error" if result.get("isError") is True else "ok"
        except CallCancelledError as error:
            self.cancelled = error.message if self.cancelled is None else self.cancelled
            raise
        finally:
            self._is_running = False
            metrics.calls.record(monotonic() - start, {"server": self.server, "outcome": outcome})
        return result

    async def _run(self, arguments: JSONObject) -> JSONObject:
        with anyio.CancelScope() as self._scope:
            try:
                await self._runner.show_input(self.view, arguments)
                result = await self._execute(arguments)
                await self._finish(arguments, result)
                return result
            except CallCancelledError as error:
                await self._runner.show_cancelled(self.view, error.user_message)
                raise
            except StoreError:
                await self._runner.show_cancelled(self.view, NOT_STORED)
                raise
            except anyio.get_cancelled_exc_class():
                with anyio.CancelScope(shield=True):
                    await self._runner.show_cancelled(self.view, self.cancelled or "The call was cancelled.")
                raise
        raise CallCancelledError(self.server, self.cancelled or "The call was cancelled.")

    async def show_result(self, arguments: JSONObject, result: JSONObject) -> None:
        """Pass a result to the View that the program got by other means, instead of running the call."""
        self._complete_arguments("show_result", arguments)
        await self._runner.show_input(self.view, arguments)
        await self._finish(arguments, result)

    def _complete_arguments(self, method: str, arguments: JSONObject) -> None:
        """Check the complete arguments, once, and stop sending partial ones."""
        if self._complete:
            raise StateError(f"{method}() came after run() or cancel(): a call runs once.")
        check_arguments(arguments)
        self._stop_streaming()

    async def _finish(self, arguments: JSONObject, result: JSONObject) -> None:
        if self.view is not None:
            await self._runner.show_result(self.view, result)
        elif self._brings_views:
            with anyio.CancelScope(shield=True):  # the server has done it, so it is too late to cancel
                self.views = await self._runner.open_embedded(self.server, self.tool, self._owner, arguments, result)
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
            await self._runner.show_cancelled(self.view, reason)

    async def cancel_if_begun(self) -> None:
        """Cancel the call if it was neither run nor cancelled."""
        if not self._complete:
            await self.cancel(_NOT_RUN)

    def _stop_streaming(self) -> None:
        self._complete = True
        self._stream.stop()
