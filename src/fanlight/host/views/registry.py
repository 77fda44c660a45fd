"""The Views that are open: their sessions, and what the store knows of them."""

import secrets
from collections.abc import Callable, Iterator
from dataclasses import replace
from time import monotonic
from typing import Any

import anyio
from anyio.abc import TaskGroup

from fanlight.host.background import guarded
from fanlight.host.errors import UnknownViewError
from fanlight.host.store.base import Store, ViewRecord
from fanlight.host.views.frames import Error
from fanlight.host.views.session import Session
from fanlight.protocol.bridge import State

MakeSession = Callable[[ViewRecord, TaskGroup], Session]


class OpenViews:
    """Sessions and records by id.

    A session whose page went away lingers, so that a lost socket or a slow network loses nothing. After that it ends,
    and the View comes back from the store if a page asks for it again.
    """

    def __init__(self, store: Store, make_session: MakeSession, linger: float, ended: Callable[[str], None]) -> None:
        self._store = store
        self._make_session = make_session
        self._linger = linger
        self._ended = ended
        self._sessions: dict[str, Session] = {}
        self._records: dict[str, ViewRecord] = {}
        self._tasks: TaskGroup | None = None

    def __iter__(self) -> Iterator[tuple[ViewRecord, Session]]:
        for id, session in tuple(self._sessions.items()):
            yield self._records[id], session

    def start(self, tasks: TaskGroup) -> None:
        """Serve, with the work of sessions in this group."""
        self._tasks = tasks
        tasks.start_soon(guarded, self._sweep)

    def stop(self) -> None:
        """Serve no longer. The Views come back from the store when they are served again."""
        for id in tuple(self._sessions):
            self._end(id)
        self._tasks = None

    async def _sweep(self) -> None:
        """End sessions that lingered long enough."""
        while True:
            await anyio.sleep(max(self._linger / 4, 0.05))
            now = monotonic()
            for record, session in self:
                if session.away_since is not None and now - session.away_since > self._linger:
                    self._end(record.id)

    def create(self, server: str, tool: str, uri: str, conversation: str | None) -> tuple[ViewRecord, Session]:
        """Open a new View."""
        record = ViewRecord(secrets.token_urlsafe(12), secrets.token_urlsafe(24), server, tool, uri, conversation)
        self._store.add(record)
        return record, self._open(record)

    def session(self, id: str | None) -> Session | None:
        """Return the session of a View, if it has one that is not over."""
        session = self._sessions.get(id or "")
        return None if session is None or session.bridge.state is State.CLOSED else session

    def live(self, id: str) -> Session:
        """Return the session of a View, or raise UnknownViewError."""
        session = self.session(id)
        if session is None:
            raise UnknownViewError(f"No open View has the id {id!r}.")
        return session

    def record(self, id: str) -> ViewRecord | None:
        """Return what is known of a View, open or not."""
        return self._records.get(id) or self._store.load(id)

    async def fresh(self, record: ViewRecord) -> Session:
        """Return a session whose document is about to load: the one that waits for it, or a new one."""
        session = self.session(record.id)
        if session is not None and session.bridge.state is State.NEW:
            return session
        if session is not None:
            session.stop()
            self._ended(record.id)
            await session.line.send(Error("This View was opened in another place."))
        return self._open(record)

    def change(self, id: str | None, **changes: Any) -> None:
        """Change what is known of a View."""
        if id is None:
            return
        self._store.change(id, changes)
        if id in self._records:
            self._records[id] = replace(self._records[id], **changes)

    def forget(self, id: str) -> None:
        """Take a View for closed, for good."""
        self.change(id, closed=True)
        self._sessions.pop(id, None)
        self._records.pop(id, None)
        self._ended(id)

    def _open(self, record: ViewRecord) -> Session:
        assert self._tasks is not None, "a host that does not run opens no View"
        session = self._make_session(record, self._tasks)
        if record.arguments is not None:
            session.bridge.tool_input(record.arguments)
        if record.result is not None:
            session.bridge.tool_result(record.result)
        elif record.cancelled is not None:
            session.bridge.tool_cancelled(record.cancelled or None)
        self._sessions[record.id] = session
        self._records[record.id] = record
        return session

    def _end(self, id: str) -> None:
        self._sessions.pop(id).stop()
        self._records.pop(id)
        self._ended(id)
