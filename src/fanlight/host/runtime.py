"""The parts of a host: builds them, and runs what runs in the background.

`Host` delegates to them. Tools that are built on a host, such as the scripted Views of `fanlight.testing`, get them
with `runtime_of(host)`.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from types import TracebackType
from typing import Self

from fanlight.host.calls.runner import CallRunner
from fanlight.host.consent.audit import Audit
from fanlight.host.consent.consent import Consent
from fanlight.host.consent.policy import Policy
from fanlight.host.documents.reader import DocumentReader
from fanlight.host.handlers import Handlers
from fanlight.host.limits import Limits
from fanlight.host.options import HostOptions
from fanlight.host.profile import Profile
from fanlight.host.store.open import open_store
from fanlight.host.tasks import HostTasks
from fanlight.host.timeouts import Timeouts
from fanlight.host.upstream.events import PromptsChanged, ResourcesChanged, ServerEvent, ToolsChanged
from fanlight.host.upstream.servers import Servers
from fanlight.host.validation import check_hosts, check_origins
from fanlight.host.views.app_tools import AppTools
from fanlight.host.views.audit_trail import AuditTrail
from fanlight.host.views.records import ViewRecords
from fanlight.host.views.registry import ViewRegistry
from fanlight.host.views.requests import ViewRequests
from fanlight.host.views.session_factory import SessionFactory
from fanlight.host.web.asgi import Web
from fanlight.host.web.opener import ViewOpener
from fanlight.host.web.origins import HostNames

_LISTS = {ToolsChanged: "tools", ResourcesChanged: "resources", PromptsChanged: "prompts"}


class Runtime:
    """The parts of one host. They run while the `async with` block is open, which may be entered again."""

    def __init__(self, servers: Mapping[str, object], options: HostOptions) -> None:
        timeouts, limits = options.timeouts or Timeouts(), options.limits or Limits()
        policy, profile = options.policy or Policy(), options.profile or Profile()
        dialects = options.dialects
        self.timeouts = timeouts
        self.servers = Servers(
            servers,
            call_wait=timeouts.connect,
            slow_after=timeouts.tools,
            on_sampling=options.on_server_sampling,
            on_elicitation=options.on_elicitation,
            dialects=dialects,
        )
        self.store = open_store(options.store)
        self.handlers = Handlers()
        self.tasks = HostTasks()
        self.records = ViewRecords(self.store)
        self.audit = Audit(self.store, options.audit_arguments)
        self.log = AuditTrail(self.audit, self.records)
        self.consent = Consent(self.store, self.audit, self.handlers, limits)
        self.app_tools = AppTools(limits)
        self.requests = ViewRequests(
            self.servers,
            self.records,
            self.app_tools,
            policy,
            self.consent,
            self.log,
            self.handlers,
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
        self.views = ViewRegistry(self.records, self.sessions, self.app_tools, options.linger, self._view_ended)
        self.reader = DocumentReader(dialects=dialects)
        self.calls = CallRunner(
            self.servers,
            self.records,
            self.views,
            self.reader,
            self.log,
            self.tasks,
            timeouts=timeouts,
            limits=limits,
            dialects=dialects,
        )
        hosts = None if options.hosts is None else check_hosts(options.hosts)
        self.names = HostNames(options.sandbox_origin, hosts, check_origins(options.origins))
        self.opener = ViewOpener(
            self.servers,
            self.store,
            self.records,
            self.views,
            self.reader,
            policy,
            self.consent,
            self.log,
            self.names,
            check_token=options.authorize is None,
            dialects=dialects,
            report_errors=options.report_errors,
        )
        self._authorize = options.authorize
        self._max_bytes = limits.message_bytes
        self._stack = AsyncExitStack()
        self.servers.add_listener(self._on_server_event)
        self.servers.show_views(profile.extension)

    async def __aenter__(self) -> Self:
        await self._stack.enter_async_context(self.tasks)
        self.tasks.start_soon(self.views.run)
        self.tasks.start_soon(self.audit.run)
        await self._stack.enter_async_context(self.servers)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.tasks.cancel()
        try:
            await self._stack.aclose()
        finally:
            self.views.stop()
            self.audit.flush()
            self.store.close()

    @asynccontextmanager
    async def lifetime(self) -> AsyncIterator[None]:
        """Run for a block, unless it runs already."""
        if self.tasks.running:
            self.tasks.check_thread()
            yield
            return
        async with self:
            yield

    def web(self, path: str) -> Web:
        """Return the web application that serves the host under a path."""
        return Web(
            self.opener,
            self.names,
            self.lifetime,
            path=path,
            authorize=self._authorize,
            max_bytes=self._max_bytes,
            question_timeout=self.timeouts.question,
        )

    def _view_ended(self, view: str) -> None:
        self.app_tools.forget(view)
        self.consent.forget(view)

    def _on_server_event(self, event: ServerEvent) -> None:
        kind = _LISTS.get(type(event))
        if kind is not None and self.tasks.running:
            self.views.list_changed(event.server, kind)
