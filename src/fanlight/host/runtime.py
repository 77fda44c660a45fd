"""The parts of a host: builds them, and runs what runs in the background.

`Host` delegates to them. Tools that are built on a host, such as the scripted Views of `fanlight.testing`, get them
with `runtime_of(host)`.
"""

import inspect
import logging
import math
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from types import TracebackType
from typing import Final, Self, TypeVar

import anyio

from fanlight.host.bus.messages import (
    CallAppTool,
    PagesDisconnected,
    ShowAs,
    ViewsReloaded,
)
from fanlight.host.bus.open import open_bus
from fanlight.host.bus.peers import PeerRequests
from fanlight.host.bus.workers import Workers
from fanlight.host.calls.begun import BegunCalls
from fanlight.host.calls.call import Call
from fanlight.host.calls.model_tools import ModelTool, model_tools
from fanlight.host.calls.orphans import OrphanedCalls
from fanlight.host.calls.runner import CallRunner
from fanlight.host.calls.turn import Turns
from fanlight.host.consent.audit import Audit
from fanlight.host.consent.consent import Consent
from fanlight.host.consent.policy import Policy
from fanlight.host.documents.admission import DocumentAdmission
from fanlight.host.documents.reader import DocumentReader
from fanlight.host.erasure import Erasure
from fanlight.host.errors import BusError, StoreError, UnknownViewError
from fanlight.host.handlers import Handlers
from fanlight.host.metrics import measure_loop_delay, measured
from fanlight.host.options import HostOptions
from fanlight.host.relay.asgi import Relay
from fanlight.host.relay.documents import RelayedDocuments
from fanlight.host.relay.service import RelayService
from fanlight.host.settings import Limits, Profile, Timeouts
from fanlight.host.store.base import ViewSummary
from fanlight.host.store.memory import MemoryStore
from fanlight.host.store.open import open_store
from fanlight.host.store.sharing import SharingCheck
from fanlight.host.tasks import HostTasks
from fanlight.host.upstream.auth.oauth import SignIns
from fanlight.host.upstream.auth.sign_in import SignIn
from fanlight.host.upstream.events import (
    CredentialsRejected,
    PromptsChanged,
    ResourcesChanged,
    ServerEvent,
    ToolsChanged,
)
from fanlight.host.upstream.router import ServerRouter
from fanlight.host.upstream.servers import Servers
from fanlight.host.validation import check_hosts, check_origins, check_seconds, check_user
from fanlight.host.views.app_tools import AppTools, offered_tools
from fanlight.host.views.audit_trail import AuditTrail
from fanlight.host.views.closer import ViewCloser
from fanlight.host.views.holders import ViewHolders
from fanlight.host.views.info import ViewInfo, view_info
from fanlight.host.views.records import Owner, ViewRecords
from fanlight.host.views.registry import ViewRegistry
from fanlight.host.views.requests.handler import ViewRequests
from fanlight.host.views.session_factory import SessionFactory
from fanlight.host.views.tokens import ViewTokens
from fanlight.host.web.asgi import Web
from fanlight.host.web.opener import ViewOpener
from fanlight.host.web.origins import HostNames
from fanlight.protocol.jsonrpc import JSONObject

logger = logging.getLogger(__name__)

_STOPPING: Final = "The host was stopped before the call finished."
_DRAIN_INTERVAL: Final = 0.05
_LISTS = {ToolsChanged: "tools", ResourcesChanged: "resources", PromptsChanged: "prompts"}


Event = TypeVar("Event")


class Runtime:
    """The parts of one host. They run while the `async with` block is open, which may be entered again."""

    def __init__(self, servers: Mapping[str, object], options: HostOptions) -> None:
        timeouts, limits = options.timeouts or Timeouts(), options.limits or Limits()
        policy, profile = options.policy or Policy(), options.profile or Profile()
        dialects = options.dialects
        self.timeouts = timeouts
        self._identify = options.user
        self.store = measured(open_store(options.store))
        self.tasks = HostTasks()
        bus = open_bus(options.bus, options.store, timeouts.lease)
        self.workers = Workers(bus, self.store, self.tasks, limits.bus_bytes, sorted(map(str, servers)))
        self.sign_ins = (
            None
            if options.oauth is None
            else SignIns(
                options.oauth,
                servers,
                self.store,
                timeouts,
                self._begin_sign_in,
                self.workers,
                options.credentials,
            )
        )
        self.servers = Servers(
            servers,
            call_wait=timeouts.connect,
            slow_after=timeouts.tools,
            request_timeout=timeouts.request,
            link_timeout=timeouts.authorization,
            start_timeout=timeouts.start,
            sign_in_timeout=timeouts.sign_in,
            exit_timeout=timeouts.exit,
            http_timeout=timeouts.http,
            call_timeout=timeouts.call,
            max_bytes=limits.server_bytes,
            on_sampling=options.on_server_sampling,
            on_elicitation=options.on_elicitation,
            dialects=dialects,
            credentials=options.credentials if self.sign_ins is None else self.sign_ins.credentials,
            credentials_timeout=timeouts.credentials,
            max_own=limits.user_connections,
            idle=timeouts.idle,
        )
        self.handlers = Handlers()
        self.records = ViewRecords(self.store, self.workers, self._view_lost)
        self.holders = ViewHolders(self.records, self.workers, timeouts)
        self.tokens = ViewTokens(self.store, timeouts.token)
        self.begun = BegunCalls(timeouts.begun)
        self.turns = Turns()
        self.is_draining = False
        """Whether the host takes no new pages, because it stops."""
        self.audit = Audit(self.store, options.audit_arguments)
        self.log = AuditTrail(self.audit)
        self.consent = Consent(self.store, self.audit, self.handlers, limits)
        self.app_tools = AppTools(limits, timeouts.schema)
        self.router = ServerRouter(self.servers, self.workers, timeouts)
        self.requests = ViewRequests(
            self.servers,
            self.router,
            self.records,
            self.app_tools,
            policy,
            self.consent,
            self.log,
            self.handlers,
            self.tasks,
            timeouts=timeouts,
            limits=limits,
        )
        self.sessions = SessionFactory(
            self.servers,
            self.requests,
            self.log,
            self.handlers,
            self.tasks,
            info=options.info,
            context=options.context,
            profile=profile,
            dialects=dialects,
            timeouts=timeouts,
            limits=limits,
        )
        self.views = ViewRegistry(
            self.records, self.sessions, self.app_tools, self.tasks, timeouts.linger, self._view_ended
        )
        self.closer = ViewCloser(self.records, self.views, self.holders, self.tasks, timeouts)
        self.reader = DocumentReader(dialects=dialects)
        self.calls = CallRunner(
            self.servers,
            self.router,
            self.records,
            self.views,
            self.holders,
            self.reader,
            self.log,
            self.tasks,
            limits=limits,
            dialects=dialects,
            tokens=self.tokens,
            outcome_timeout=timeouts.outcome,
        )
        hosts = None if options.hosts is None else check_hosts(options.hosts)
        self.names = HostNames(options.sandbox_origin, hosts, check_origins(options.origins))
        self.admission = DocumentAdmission(
            self.servers, self.store, self.reader, policy, self.consent, self.log, dialects=dialects
        )
        self.opener = ViewOpener(
            self.servers,
            self.store,
            self.records,
            self.views,
            self.holders,
            self.closer,
            self.reader,
            self.admission,
            policy,
            self.log,
            self.names,
            self.tokens,
            report_errors=options.report_errors,
        )
        self.relayed = RelayService(
            self.servers,
            self.sessions,
            self.requests,
            RelayedDocuments(self.servers, self.admission, policy),
            self.consent,
            self.log,
            self.tasks,
            limits,
        )
        self.erasure = Erasure(
            self.store,
            self.views,
            self.opener.documents,
            self.servers,
            self.sign_ins,
            self.audit,
            self.workers,
            self.tasks,
            timeouts,
            knows_users=self.knows_users,
        )
        self._orphans = OrphanedCalls(
            self.store,
            self.records,
            self.views,
            self.holders,
            self.workers,
            self.begun,
            self.calls,
            timeouts.lease,
        )
        self._is_in_memory = options.store is None or isinstance(options.store, MemoryStore)
        self._authorize = options.authorize
        self._retention = options.retention
        self._max_bytes = limits.message_bytes
        self._longest_description = limits.description
        self._stack = AsyncExitStack()
        self.servers.add_listener(self._on_server_event)
        self.servers.show_views(profile.extension)

    async def __aenter__(self) -> Self:
        self.is_draining = False
        self._warn_of_one_user()
        if self.workers.has_bus:
            await self._check_store()
            self._warn_of_processes()
        else:
            await self._orphans.cancel_all()
        await self._stack.enter_async_context(self.tasks)
        if not self.workers.has_bus and not self._is_in_memory:
            self.tasks.start_soon(SharingCheck(self.store, lambda: self.is_draining).run)
        await self.workers.start(PeerRequests(self))
        if self.workers.has_bus:
            self.tasks.start_soon(self._orphans.run)
        self.tasks.start_soon(self.views.run)
        self.tasks.start_soon(self.audit.run)
        self.tasks.start_soon(self.begun.run)
        self.tasks.start_soon(measure_loop_delay)
        self.tasks.start_soon(self._renew_tokens)
        if self._retention is not None:
            self.tasks.start_soon(self.erasure.run, self._retention)
        await self._stack.enter_async_context(self.servers)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        with anyio.CancelScope(shield=True), anyio.move_on_after(self.timeouts.record):
            await self.views.suspend_all()
        self.tasks.cancel()
        try:
            await self._stack.aclose()
        finally:
            self.views.stop()
            with anyio.CancelScope(shield=True):
                await self.audit.flush()
                await self.workers.leave()
                await self.store.close()

    async def _check_store(self) -> None:
        """Raise StoreError if the store cannot be used."""
        await self.store.has_token("", "", 0.0)

    def _warn_of_one_user(self) -> None:
        if self._identify is None and self.names.sandbox is not None:
            logger.warning(
                "This host has a sandbox_origin, so others can reach it, but no users: everybody shares grants and "
                "conversations. Write Host(..., user=identify), or user=lambda connection: 'me' for one person"
            )

    def _warn_of_processes(self) -> None:
        if commands := self.router.unrouted_commands:
            logger.warning(
                "Each worker starts its own process of %s. If such a server keeps state, workers disagree: write "
                '{"command": ..., "affinity": "conversation"}, or serve it at a URL. If it keeps none, write '
                '"affinity": "none"',
                ", ".join(commands),
            )

    @asynccontextmanager
    async def lifetime(self) -> AsyncIterator[None]:
        """Run for a block, unless it runs already."""
        if self.tasks.running:
            self.tasks.check_thread()
            yield
            return
        async with self:
            yield
            await self.drain(self.timeouts.drain)

    async def drain(self, seconds: float) -> None:
        """Take no new pages, let calls and requests finish, and let other processes continue with the Views."""
        check_seconds("seconds", seconds)
        self.tasks.check_running()
        self.is_draining = True
        with anyio.move_on_after(seconds):
            while True:
                await self.views.suspend_all(idle_only=True)
                if not len(self.views) and not self.begun.has_running:
                    return
                await anyio.sleep(_DRAIN_INTERVAL)
        await self.begun.cancel_all(_STOPPING)
        await self.views.suspend_all()

    def web(self, path: str) -> Web:
        """Return the web application that serves the host under a path."""
        return Web(
            self.opener,
            self.names,
            self.lifetime,
            path=path,
            grants=self.consent,
            known_tools=self.servers.known_tools,
            identify=self._identify,
            authorize=self._authorize,
            sign_ins=self.sign_ins,
            ready=self.unreadiness,
            is_draining=lambda: self.is_draining or self.workers.is_cut_off,
            max_bytes=self._max_bytes,
            open_timeout=self.timeouts.open,
            prewarm_timeout=self.timeouts.prewarm,
            question_timeout=self.timeouts.question,
            health_timeout=self.timeouts.health,
        )

    def relay(self) -> Relay:
        """Return the ASGI app for front ends that render MCP Apps themselves."""
        return Relay(
            self.relayed,
            self.records,
            self.tokens,
            self.names,
            identify=self._identify,
            authorize=self._authorize,
            is_draining=lambda: self.is_draining or self.workers.is_cut_off,
            max_bytes=self._max_bytes,
        )

    async def unreadiness(self) -> list[str]:
        """Return the reasons why pages cannot be served now; none if they can. Raise if the store fails."""
        if not self.tasks.running:
            return ["The host is not running."]
        await self._check_store()
        try:
            await self.workers.check()
        except BusError:
            logger.warning("The bus failed a health check")
            return ["The bus failed."]
        return ["The host is stopping."] if self.is_draining else []

    @property
    def knows_users(self) -> bool:
        """Whether pages say which user they belong to."""
        return self._identify is not None

    # Calls

    async def begin(self, server: str, tool: str, owner: Owner) -> Call:
        """Begin a call of a server's tool, whether or not the model may call it."""
        execute = partial(self.calls.call_server, server, tool, owner)
        call = Call(self.calls, server, tool, owner, execute, await self.calls.open_linked(server, tool, owner))
        return self.begun.add(call)

    async def model_tools(self, servers: Mapping[str, Sequence[JSONObject]], owner: Owner) -> list[ModelTool]:
        """Return the tools of servers and of the open Views of a conversation, for the model."""
        tools = self.views.app_tools(owner)
        if self.workers.has_bus:
            alive = await self.alive_workers()
            for offered in await self.records.offered_tools(owner):
                if offered.holder in alive and offered.holder != self.workers.id:
                    tools += offered_tools(offered)
        return model_tools(servers, tools, self._longest_description)

    async def alive_workers(self) -> Collection[str]:
        """Return the workers that are alive, or none if the bus fails."""
        try:
            return await self.workers.alive()
        except BusError as error:
            logger.warning("Which workers are alive is not known: %s", error)
            return ()

    async def call_app_tool(self, view: str, name: str, arguments: JSONObject) -> JSONObject:
        """Call a tool that a View offers, whichever worker has the View's session."""
        session = self.views.session(view)
        if session is None and self.workers.has_bus:
            seconds = self.timeouts.app_tool + self.timeouts.question
            return await self.holders.request(view, CallAppTool(view, name, arguments), seconds)
        return await self.requests.call_app_tool(self.views.live(view), name, arguments)

    async def view_info(self, id: str) -> ViewInfo:
        """Return what is known about a View. Raise UnknownViewError if there is none."""
        record = await self.records.find(id)
        if record is None:
            raise UnknownViewError(f"No View has the id {id!r}.")
        (info,) = await self.view_infos([record.summary])
        return info

    async def view_infos(self, summaries: Sequence[ViewSummary]) -> list[ViewInfo]:
        """Return what is known about Views, from their stored data and their sessions."""
        alive = await self.alive_workers() if self.workers.has_bus else ()
        others = [worker for worker in alive if worker != self.workers.id]
        return [view_info(each, self.views.session(each.id), others) for each in summaries]

    async def disconnect_pages(self, user: str) -> None:
        """Close the sockets of all pages of a user."""
        check_user(user)
        self.tasks.check_running()
        await self.views.disconnect_pages(user)
        await self.workers.broadcast(PagesDisconnected(user))

    async def reload_views(self, server: str, *, only_changed: bool) -> None:
        """Make pages load the Views of a server again."""
        await self.opener.reload(server, only_changed=only_changed)
        await self.workers.broadcast(ViewsReloaded(server, only_changed))

    def set_profile(self, profile: Profile) -> None:
        """Offer what a profile says to Views that are opened or loaded later, and to servers."""
        self.sessions.profile = profile
        self.servers.show_views(profile.extension)

    async def show_as(self, view: str, mode: str) -> None:
        """Change the display mode of an open View, as if the user had chosen it."""
        if self.views.session(view) is None and self.workers.has_bus:
            self.views.check_mode(mode)
            await self.holders.request(view, ShowAs(view, mode), self.timeouts.browser)
        else:
            await self.views.show_as(view, mode)

    async def _renew_tokens(self) -> None:
        """Renew the tokens of pages that stay connected, until cancelled."""
        while math.isfinite(self.tokens.renewal_interval):
            await anyio.sleep(self.tokens.renewal_interval)
            for record, session in self.views:
                if session.attached:
                    try:
                        await self.tokens.renew(record.id)
                    except StoreError:
                        logger.warning("The token of View %s cannot be renewed now", record.id)

    # Events

    def _view_lost(self, view: str) -> None:
        self.views.lose(view)

    def _view_ended(self, view: str) -> None:
        self.tokens.forget(view)
        self.app_tools.forget(view)
        self.consent.forget(view)

    def _on_server_event(self, event: ServerEvent) -> None:
        if not self.tasks.running:
            return
        if isinstance(event, CredentialsRejected):
            self.tasks.start_soon(_notify, self.handlers.rejection, event.error)
        elif (kind := _LISTS.get(type(event))) is not None:
            self.views.list_changed(event.server, kind, lambda user: self.servers.uses(event.server, event.user, user))

    def _begin_sign_in(self, sign_in: SignIn) -> None:
        self.tasks.start_soon(_notify, self.handlers.sign_in, sign_in)


async def _notify(handler: Callable[[Event], Awaitable[None] | None] | None, event: Event) -> None:
    if handler is not None:
        done = handler(event)
        if inspect.isawaitable(done):
            await done
