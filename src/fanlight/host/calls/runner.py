"""Runs the model's tool calls: calls the server, and shows input and result in Views."""

import contextlib
import itertools
import logging
from collections.abc import Mapping
from time import monotonic
from typing import Any, Final, NamedTuple

import anyio

from fanlight.host.backoff import Backoff
from fanlight.host.calls.model_tools import find_tool
from fanlight.host.calls.stream import ArgumentStream
from fanlight.host.documents.reader import DocumentReader
from fanlight.host.documents.tool_link import link_row, view_uri
from fanlight.host.errors import CallCancelledError, ServerError, StoreError
from fanlight.host.settings import Limits
from fanlight.host.store.base import ViewRecord
from fanlight.host.tasks import HostTasks
from fanlight.host.upstream.router import ServerRouter
from fanlight.host.upstream.servers import Servers
from fanlight.host.views.audit_trail import AuditTrail
from fanlight.host.views.holders import ViewHolders
from fanlight.host.views.records import Owner, ViewRecords, app_of
from fanlight.host.views.registry import ViewRegistry
from fanlight.host.views.tokens import ViewTokens
from fanlight.protocol.content import embedded_views
from fanlight.protocol.dialects import EMBEDDED
from fanlight.protocol.jsonrpc import JSONObject

logger = logging.getLogger(__name__)

_MAX_ATTEMPTS: Final = 400
_BACKOFF: Final = Backoff(first=0.25, maximum=5.0)
_OTHER_DIALECT: Final = "A result that brings its own View is of another dialect."
_DUPLICATE: Final = "The result has another resource of this URI before it, and a URI is one View."


class CallView(NamedTuple):
    """A View that a call opened."""

    view: str
    """The id for `<mcp-app view=...>`."""
    token: str
    """The token for `<mcp-app token=...>`, which lets a page open the View."""
    uri: str
    """The `ui://` URI of its document."""


class CallRunner:
    """Opens the Views of tool calls, calls servers, and shows the Views what came of it. `Call` uses it."""

    def __init__(
        self,
        servers: Servers,
        router: ServerRouter,
        records: ViewRecords,
        views: ViewRegistry,
        holders: ViewHolders,
        reader: DocumentReader,
        log: AuditTrail,
        tasks: HostTasks,
        *,
        limits: Limits,
        dialects: bool,
        tokens: ViewTokens,
        outcome_timeout: float,
    ) -> None:
        self._outcome_timeout = outcome_timeout
        self._servers = servers
        self._router = router
        self._records = records
        self._views = views
        self._holders = holders
        self._reader = reader
        self._log = log
        self._tasks = tasks
        self._limits = limits
        self._dialects = dialects
        self._tokens = tokens
        self.unstored: set[str] = set()
        """The Views whose calls have an outcome that waits until it can be stored."""

    async def open_linked(self, server: str, name: str, owner: Owner) -> tuple[CallView, ...]:
        """Open the View that a tool links to, if any, and read its document in the background (DSC-03)."""
        self._tasks.check_running()
        tool = find_tool(self._servers.find(server, owner.user), name)
        uri = view_uri(tool, dialects=self._dialects)
        row = link_row(tool)
        older = None if row is None else row.older
        if uri is None:
            if older is not None and not self._dialects:
                reason = "The tool's link is of another dialect."
                self._log.log_refused_dialect(server, owner, older, reason)
            return ()
        record = await self._views.create(server, name, uri, owner)
        if older is not None:
            self._log.log_dialect(app_of(record), older, "ui.resourceUri")
        self._tasks.start_soon(self._prefetch, record)
        return (await self._view_of(record),)

    async def _prefetch(self, record: ViewRecord) -> None:
        # Opening the View reports whatever fails here.
        with contextlib.suppress(Exception):
            await self._reader.read(await self._servers.connect(record.server, record.user), record.uri)

    def stream(self, view: str | None) -> ArgumentStream:
        """Return a stream that sends a View the arguments while the model writes them."""
        return ArgumentStream(self._views, self._holders, self._tasks, view)

    async def call_server(self, server: str, tool: str, owner: Owner, arguments: JSONObject) -> JSONObject:
        """Call a tool. A JSON-RPC error of the server becomes a result with `isError`."""
        try:
            return await self._router.call_tool(server, owner.user, owner.conversation, tool, arguments)
        except ServerError as error:
            return {"content": [{"type": "text", "text": error.message}], "isError": True}

    async def show_input(self, view: str | None, arguments: JSONObject) -> None:
        """Store the arguments of a call, and send them to its View. Raise CallCancelledError if it is cancelled."""
        if view is None:
            return
        if not await self._change(view, arguments=arguments):
            await self._check_not_cancelled(view)
        if (session := self._views.session(view)) is not None:
            session.tool_input(arguments)

    async def show_result(self, view: str, result: JSONObject) -> None:
        """Store the result of a call, and send it to its View. Raise CallCancelledError if it is cancelled.

        With several workers, wait until it is stored: before that, another worker may cancel the call, because this one
        seems to be dead. Raise StoreError after `Timeouts.outcome`.
        """
        give_up = monotonic() + self._outcome_timeout
        for attempt in itertools.count(1):
            try:
                with anyio.CancelScope(shield=True):  # the server has done it, so it is too late to cancel
                    return await self._store_result(view, result)
            except StoreError as error:
                delay = _BACKOFF.delay(attempt)
                if monotonic() + delay > give_up:
                    raise
                if attempt == 1:
                    logger.warning("View %s: the result of its call waits until it can be stored: %s", view, error)
            await anyio.sleep(delay)

    async def _store_result(self, view: str, result: JSONObject) -> None:
        if self._records.is_shared:
            is_stored = await self._change(view, result=result)
        else:
            is_stored = await self._finish(view, result=result)
        if not is_stored:
            record = await self._check_not_cancelled(view)
            if record is None or record.result != result:
                return
            # An attempt before this one seemed to fail, and did not.
        # Looked up again, because the View may have been loaded again while the tool ran.
        if (session := self._views.session(view)) is not None:
            session.tool_result(result)

    async def show_cancelled(self, view: str | None, reason: str | None) -> None:
        """Store that a call was cancelled, and notify its View (TCX-01)."""
        if view is None:
            return
        await self._finish(view, cancelled=reason or "")
        if (session := self._views.session(view)) is not None:
            session.tool_cancelled(reason)

    async def _check_not_cancelled(self, view: str) -> ViewRecord | None:
        """Return the record of a View. Raise CallCancelledError if its call was cancelled: this worker was cut off."""
        record = await self._records.refresh(view)
        if record is not None and record.cancelled is not None:
            raise CallCancelledError(record.server, record.cancelled)
        return record

    async def _finish(self, view: str, **outcome: Any) -> bool:
        """Store the outcome of a call, or later if the store fails. Return False if the call has ended before."""
        try:
            return await self._change(view, **outcome)
        except StoreError as error:
            logger.warning("View %s: the outcome of its call waits until it can be stored: %s", view, error)
            if self._tasks.running:
                self._tasks.start_soon(self._finish_later, view, outcome)
            return True

    async def _finish_later(self, view: str, outcome: Mapping[str, Any]) -> None:
        self.unstored.add(view)
        try:
            for attempt in range(1, _MAX_ATTEMPTS):
                await anyio.sleep(_BACKOFF.delay(attempt))
                try:
                    await self._change(view, **outcome)
                    return
                except StoreError:
                    continue
        finally:
            self.unstored.discard(view)
        logger.error("View %s: the outcome of its call could not be stored, and is lost with its session", view)

    async def _change(self, view: str, **changes: Any) -> bool:
        """Store what is known of a call, and notify the holder of its View. Return False if the call has ended."""
        changed = await self._records.change_call(view, **changes)
        if "arguments" not in changes:
            self._holders.forget(view)
        if changed is not None:
            await self._holders.call_changed(view, changed.holder)
        return changed is not None

    async def open_embedded(
        self, server: str, tool: str, owner: Owner, arguments: JSONObject, result: JSONObject
    ) -> tuple[CallView, ...]:
        """Open the Views that a result embeds, as servers with mcp-ui return them."""
        opened: dict[str, CallView] = {}
        items, most = embedded_views(result), self._limits.result_views
        for item in items[:most]:
            uri = item["uri"]
            if not self._dialects or uri in opened:
                reason = _DUPLICATE if uri in opened else _OTHER_DIALECT
                self._log.log_refused_dialect(server, owner, EMBEDDED, reason, uri=uri)
                continue
            record = await self._views.create(server, tool, uri, owner)
            await self.show_input(record.id, arguments)
            await self.show_result(record.id, result)
            self._log.log_dialect(app_of(record), EMBEDDED, "ui.resourceUri", uri)
            opened[uri] = await self._view_of(record)
        if len(items) > most:
            reason = f"The result brings {len(items)} Views, and no more than {most} are opened."
            self._log.log_refused_dialect(server, owner, EMBEDDED, reason)
        return tuple(opened.values())

    async def _view_of(self, record: ViewRecord) -> CallView:
        return CallView(record.id, await self._tokens.issue(record.id), record.uri)
