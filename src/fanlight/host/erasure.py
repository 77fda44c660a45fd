"""Erases what is stored of users, conversations and old Views, at all workers."""

import logging
import secrets
import time
from collections.abc import Sequence
from datetime import timedelta

import anyio

from fanlight.host.bus.messages import EndErased, UserErased
from fanlight.host.bus.workers import Workers
from fanlight.host.consent.audit import Audit
from fanlight.host.errors import BusError, StoreError
from fanlight.host.settings import Retention, Timeouts
from fanlight.host.store.base import Selection, Store
from fanlight.host.tasks import HostTasks
from fanlight.host.upstream.auth.oauth import SignIns
from fanlight.host.upstream.servers import Servers
from fanlight.host.validation import check_text, check_user
from fanlight.host.views.registry import ViewRegistry
from fanlight.host.web.sandbox.document_cache import DocumentCache
from fanlight.protocol.errors import ArgumentError

logger = logging.getLogger(__name__)


class Erasure:
    """Erases Views, users and audit records.

    Args:
        store: Has what is erased.
        views: The sessions of this worker, which end with their Views.
        documents: The documents that this worker has in memory.
        servers: The connections, which are closed with their user.
        sign_ins: The sign-ins, which end with their user, or None without OAuth.
        audit: Has buffered records.
        workers: The other workers, which have the same of their own.
        tasks: Whether the host runs.
        timeouts: How long to wait for the other workers.
        knows_users: Whether a conversation belongs to one of several users.
    """

    def __init__(
        self,
        store: Store,
        views: ViewRegistry,
        documents: DocumentCache,
        servers: Servers,
        sign_ins: SignIns | None,
        audit: Audit,
        workers: Workers,
        tasks: HostTasks,
        timeouts: Timeouts,
        *,
        knows_users: bool,
    ) -> None:
        self._store = store
        self._views = views
        self._documents = documents
        self._servers = servers
        self._sign_ins = sign_ins
        self._audit = audit
        self._workers = workers
        self._tasks = tasks
        self._timeouts = timeouts
        self._knows_users = knows_users

    async def forget(
        self, user: str | None, conversation: str | None, older_than: timedelta | None, audit: str
    ) -> None:
        """Erase what is stored of a user, of a conversation, or beyond an age; with several, what matches all of them.

        Raise ArgumentError if none of them is given, or one is invalid.
        """
        self._tasks.check_running()
        check_user(user)
        check_text("conversation", conversation)
        if (user, conversation, older_than) == (None, None, None):
            raise ArgumentError("forget() needs user=, conversation= or older_than=, so that it does not erase all.")
        if conversation is not None and user is None and self._knows_users:
            raise ArgumentError("This host knows its users. Write forget(user=..., conversation=...).")
        if audit not in ("erase", "pseudonymise"):
            raise ArgumentError(f'audit is {audit!r}, expected "erase" or "pseudonymise".')
        selection = Selection(user, conversation)
        if older_than is not None:
            if not isinstance(older_than, timedelta) or older_than < timedelta(0):
                raise ArgumentError(f"older_than is {older_than!r}, expected a timedelta, such as timedelta(days=30).")
            selection = await self.age_selection(older_than, user, conversation)
        await self.erase(selection, pseudonymise=audit == "pseudonymise")

    async def erase(self, selection: Selection, *, pseudonymise: bool = False, audit: bool = True) -> None:
        """Erase what is selected, end the sessions of erased Views, and close connections of an erased user."""
        erased = await self._store.erase_views(selection)
        await self.end_views([each.view for each in erased])
        await self._workers.request_all(
            lambda worker: EndErased([each.view for each in erased if each.holder == worker]),
            self._timeouts.teardown + self._timeouts.handover,
        )
        if selection.user is not None and selection.conversation is None and selection.before is None:
            await self._store.erase_user(selection.user)
            await self.drop_user(selection.user)
            await self._workers.broadcast(UserErased(selection.user))
        if audit:
            await self._store.erase_records(selection, f"erased-{secrets.token_hex(6)}" if pseudonymise else None)

    async def end_views(self, views: Sequence[str]) -> None:
        """End the sessions that this worker has of erased Views, and store what the audit has buffered."""
        await self._views.erase(views)
        await self._documents.forget_views(views)
        await self._audit.flush()

    async def drop_user(self, user: str) -> None:
        """Drop what this worker has of a user who was erased: sign-ins, documents, connections."""
        if self._sign_ins is not None:
            self._sign_ins.forget(user)
        self._documents.forget(user)
        await self._servers.disconnect(user)

    async def age_selection(
        self, age: timedelta, user: str | None = None, conversation: str | None = None
    ) -> Selection:
        """Select what is older than an age, except Views that have a session. Raise BusError if that is not known."""
        here = frozenset(record.id for record, _ in self._views)
        others = frozenset(await self._workers.alive()) - {self._workers.id}
        return Selection(user, conversation, time.time() - age.total_seconds(), here, others)

    async def run(self, retention: Retention) -> None:
        """Erase what is too old, on a schedule, until cancelled."""
        while True:
            try:
                if retention.views is not None:
                    await self.erase(await self.age_selection(retention.views), audit=False)
                if retention.audit is not None:
                    await self._audit.flush()
                    await self._store.erase_records(await self.age_selection(retention.audit), None)
            except (BusError, StoreError) as error:
                logger.warning("What is too old cannot be erased now: %s", error)
            await anyio.sleep(retention.every.total_seconds())
