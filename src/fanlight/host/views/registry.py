"""The open Views of a host: one session for each."""

import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from time import monotonic
from typing import Literal

import anyio

from fanlight.host.errors import StoreError, UnknownViewError
from fanlight.host.store.base import ViewRecord
from fanlight.host.tasks import HostTasks
from fanlight.host.validation import check_object
from fanlight.host.views.app_tools import AppTool, AppTools
from fanlight.host.views.page.channel import PageSocket
from fanlight.host.views.page.frames import OpenView
from fanlight.host.views.records import Owner, ViewRecords
from fanlight.host.views.session import Session
from fanlight.host.views.session_factory import SessionFactory
from fanlight.protocol.errors import ArgumentError
from fanlight.protocol.jsonrpc import JSONObject

logger = logging.getLogger(__name__)

HandedOver = Literal["done", "elsewhere", "busy"]
"""Whether the session of a View has ended for another worker, stays with a page here, or stays until a drain ends."""


class ViewRegistry:
    """The sessions of open Views by id.

    A session without a page lingers, so that a lost socket or a slow network loses nothing. After that it ends, and
    the View is restored from the store if a page opens it again.
    """

    def __init__(
        self,
        records: ViewRecords,
        sessions: SessionFactory,
        app_tools: AppTools,
        tasks: HostTasks,
        linger: float,
        on_end: Callable[[str], None],
    ) -> None:
        self._records = records
        self._factory = sessions
        self._app_tools = app_tools
        self._tasks = tasks
        self._linger = linger
        self._on_end = on_end
        self._sessions: dict[str, Session] = {}

    def __len__(self) -> int:
        return len(self._sessions)

    def __iter__(self) -> Iterator[tuple[ViewRecord, Session]]:
        for id, session in tuple(self._sessions.items()):
            yield self._records[id], session

    async def run(self) -> None:
        """End the sessions that have lingered long enough, until cancelled."""
        while True:
            await anyio.sleep(max(self._linger / 4, 0.05))
            now = monotonic()
            for record, session in self:
                if session.away_since is not None and now - session.away_since > self._linger:
                    self._end(record.id)
                    await self._release(record.id)

    async def _release(self, id: str) -> None:
        """Let the other workers know that this one has no session of a View any more."""
        if self._records.is_shared:
            with suppress(StoreError):  # a page that opens the View asks this worker, which has nothing to hand over
                await self._records.change_held(id, holder=None, shown=False)

    def stop(self) -> None:
        """End all sessions. Their Views can be restored from the store."""
        for id in tuple(self._sessions):
            self._end(id)

    async def suspend_all(self, *, idle_only: bool = False) -> None:
        """End sessions so that other processes can continue with their Views; with `idle_only`, those without work."""
        for id, session in tuple(self._sessions.items()):
            if idle_only and session.has_open_requests:
                continue
            with suppress(StoreError):  # the View is loaded again
                await session.suspend()
            if self._sessions.get(id) is session:
                self._end(id)

    async def disconnect_pages(self, user: str | None = None) -> None:
        """Close the sockets of all pages, or of those of a user."""
        for record, session in list(self):
            if user is None or record.user == user:
                await session.disconnect_page()

    async def create(self, server: str, tool: str, uri: str, owner: Owner) -> ViewRecord:
        """Open a new View. Where there are other workers, the one that a page connects to will have its session."""
        record = await self._records.create(server, tool, uri, owner)
        if not self._records.is_shared:
            self._open(record)
        return record

    def session(self, id: str | None) -> Session | None:
        """Return the session of a View, or None if it has none or it has ended."""
        session = self._sessions.get(id or "")
        return None if session is None or session.is_closed else session

    def live(self, id: str) -> Session:
        """Return the session of a View, or raise UnknownViewError."""
        session = self.session(id)
        if session is None:
            raise UnknownViewError(f"No open View has the id {id!r}.")
        return session

    async def renew(self, record: ViewRecord) -> Session:
        """Return a session for a document that is about to load: the one that waits for it, or a new one."""
        session = self.session(record.id)
        if session is not None and session.is_new:
            return session
        if session is not None:
            session.stop()
            self._on_end(record.id)
            session.release_page()
        return self._open(await self._records.find(record.id) or record)

    async def take_over(self, record: ViewRecord, request: OpenView, socket: PageSocket) -> Session | None:
        """Continue with a View that a page still shows, for a process that ended. None if it has to be loaded again."""
        saved = record.session
        if saved is None or request.seen is None or request.epoch != saved["epoch"] or self.session(record.id):
            return None
        session = self._create_session(record, restarted=True)
        await session.take_over(socket, request, record)
        return session

    async def hand_over(
        self, id: str, epoch: str | None, seconds: float, is_draining: Callable[[], bool] = lambda: False
    ) -> HandedOver:
        """End the session of a View, so that another worker can show it, unless a page here keeps it ("elsewhere").

        A page that resumes has an epoch: it loses the View only to a page that has it now, and requests of its View
        may finish for some seconds. If this worker drains, they may finish until the drain ends: until then, the View
        stays here ("busy"). A page that opens the View takes it from any other page.
        """
        session = self.session(id)
        if session is None:
            return "done"
        if epoch is None:
            session.release_page()
            self._end(id)
            return "done"
        if session.is_elsewhere(epoch):
            return "elsewhere"
        with anyio.move_on_after(seconds):
            await session.wait_for_responses()
        if session.has_open_requests and is_draining() and self._sessions.get(id) is session:
            return "busy"
        await session.suspend()
        if self._sessions.get(id) is session:
            self._end(id)
        return "done"

    def lose(self, id: str) -> None:
        """End the session of a View that another worker has taken."""
        if (session := self.session(id)) is not None:
            logger.warning("View %s: another worker has it now", id)
            session.release_page()
            self._end(id)

    async def check_holders(self, worker: str) -> None:
        """Compare each session with the store: end those that another worker has, and send what has changed."""
        for id in tuple(self._sessions):
            record = await self._records.refresh(id)
            if record is None or record.holder != worker:
                self.lose(id)
            elif (session := self.session(id)) is not None:
                session.show_call(record)

    async def refresh_call(self, id: str) -> None:
        """Send a View what has been stored of its call."""
        if self.session(id) is not None:
            record = await self._records.refresh(id)
            session = self.session(id)
            if record is not None and session is not None:
                session.show_call(record)

    async def refresh_unfinished(self) -> None:
        """Send Views what has been stored of their calls, in case that a message of another worker was lost."""
        for record, _ in self:
            if record.result is None and record.cancelled is None:
                await self.refresh_call(record.id)

    def show_partial(self, id: str, arguments: JSONObject) -> None:
        """Send a View the arguments that the model has written so far, now or when the last ones have arrived."""
        if (session := self.session(id)) is not None:
            session.offer_partial(arguments)

    async def show_as(self, id: str, mode: str) -> None:
        """Change the display mode of an open View. Raise ArgumentError if the profile does not offer the mode."""
        self.check_mode(mode)
        await self.live(id).show_as(mode)

    def check_mode(self, mode: str) -> None:
        """Raise ArgumentError if the profile does not offer a display mode."""
        modes = self._factory.profile.display_modes
        if mode not in modes:
            raise ArgumentError(f"mode is {mode!r}, expected one of {', '.join(modes)}.")

    async def close(self, id: str) -> None:
        """Close a View for good: let it tear down and end its session, if this worker has it."""
        if (session := self.session(id)) is not None:
            await session.close()
        await self._forget(id)

    async def erase(self, ids: Iterable[str]) -> None:
        """End the sessions of Views that were erased from the store."""
        for id in ids:
            if (session := self.session(id)) is not None:
                await session.close()
            self._sessions.pop(id, None)
            self._records.discard(id)
            self._on_end(id)

    async def _close_on_request(self, session: Session) -> None:
        """Close a View that asked for it, or that its page closed."""
        await self._forget(session.id)
        await session.close("the View asked to be closed")
        self._on_end(session.id)  # again, for requests that it made while it closed

    async def _forget(self, id: str) -> None:
        """Mark a View as closed permanently."""
        await self._records.change(id, {"closed": True})
        self._sessions.pop(id, None)
        self._records.discard(id)
        self._on_end(id)

    def _open(self, record: ViewRecord) -> Session:
        session = self._create_session(record)
        session.show_call(record)
        return session

    def _create_session(self, record: ViewRecord, *, restarted: bool = False) -> Session:
        id = record.id  # the functions below outlive the record, which is replaced when it changes

        async def save(progress: JSONObject, has_ended: bool) -> None:
            ended = {"holder": None, "shown": False} if has_ended and self._records.is_shared else {}
            await self._records.change_held(id, session=progress, **ended)

        async def store_away() -> None:
            if (session := self.session(id)) is not None and not session.attached:
                try:
                    await self._records.change_held(id, shown=False)
                except StoreError as error:  # until the next change, other workers say that the View is shown
                    logger.warning("View %s: that no page shows it cannot be stored now: %s", id, error)

        def on_away() -> None:
            if self._records.is_shared and self._tasks.running:
                self._tasks.start_soon(store_away)

        session = self._factory.create(record, self._close_on_request, save, on_away, restarted=restarted)
        self._sessions[id] = session
        self._records.keep(record)
        return session

    def _end(self, id: str) -> None:
        self._sessions.pop(id).stop()
        self._records.discard(id)
        self._on_end(id)

    # All open Views

    def set_context(self, changes: JSONObject) -> None:
        """Change keys of the host context, and notify the open Views."""
        check_object("context", changes, 'set_context(theme="dark")')
        self._factory.set_context(changes)
        for session in self._sessions.values():
            session.set_context(changes)

    def pin_context(self, values: JSONObject) -> None:
        """Override keys of the host context, and notify the open Views. None unpins a key."""
        self._factory.pin_context(values)
        for session in self._sessions.values():
            session.refresh_context()

    def list_changed(self, server: str, kind: str, uses: Callable[[str | None], bool]) -> None:
        """Notify the open Views of a server that its tools, resources or prompts changed.

        `uses` returns whether a user has the connection that reported the change.
        """
        for record, session in self:
            if record.server == server and uses(record.user):
                session.list_changed(kind)

    def app_tools(self, owner: Owner) -> list[AppTool]:
        """Return the tools that the open Views of a conversation offer to the model."""
        return [
            tool
            for record, session in self
            if (record.user, record.conversation) == owner and session.attached
            for tool in self._app_tools.of(session.id)
        ]
