"""Opens Views for pages: decides whether a document may be shown, serves it, and attaches the page to a session."""

import logging
from contextlib import suppress
from dataclasses import replace
from typing import Final
from urllib.parse import urlsplit

import anyio

from fanlight.browser import watch_element
from fanlight.host.consent.labels import tool_title
from fanlight.host.consent.policy import App, Decision, Deny, Policy, reachable
from fanlight.host.documents.admission import DocumentAdmission
from fanlight.host.documents.reader import DocumentReader
from fanlight.host.documents.view_document import ViewDocument
from fanlight.host.errors import (
    CallCancelledError,
    ElsewhereError,
    ViewRefusedError,
    ViewUnavailableError,
)
from fanlight.host.store.base import Store, ViewRecord
from fanlight.host.upstream.servers import Servers
from fanlight.host.views.audit_trail import AuditTrail
from fanlight.host.views.closer import ViewCloser
from fanlight.host.views.holders import ViewHolders
from fanlight.host.views.page.connection import PageConnection
from fanlight.host.views.page.frames import OpenView, ShowView, StatusText
from fanlight.host.views.rate_limit import RateLimit
from fanlight.host.views.records import Owner, ViewRecords, app_of
from fanlight.host.views.registry import ViewRegistry
from fanlight.host.views.session import Session
from fanlight.host.views.tokens import ViewTokens
from fanlight.host.web.origins import HostNames, Origins, app_label
from fanlight.host.web.page_socket import Socket
from fanlight.host.web.sandbox.csp_reports import is_probe
from fanlight.host.web.sandbox.dialect_documents import initial_state_fragment, served_html
from fanlight.host.web.sandbox.document_cache import DocumentCache
from fanlight.host.web.sandbox.inject import put_first
from fanlight.host.web.sandbox.routes import proxy_url
from fanlight.protocol.errors import FanlightError
from fanlight.protocol.headers import allow_attribute
from fanlight.protocol.jsonrpc import JSONObject

logger = logging.getLogger(__name__)

_REPORTS_PER_SECOND: Final = 50.0
_SANDBOX_TOKENS: Final = "allow-scripts allow-same-origin allow-forms"


class ViewOpener:
    """Opens Views for pages, and reloads them.

    Args:
        servers: The servers that Views come from.
        store: Has the digests of documents that were shown, and the documents for other processes.
        records: The records of Views.
        views: The sessions of open Views.
        holders: The workers that have the sessions.
        closer: Closes Views, whichever worker has their sessions.
        reader: Reads View documents from servers.
        admission: Decides which documents are shown, and with which domains and permissions.
        policy: Decides which web pages are framed.
        log: Records what browsers block.
        names: The host names of the program and the sandbox.
        tokens: The tokens that pages need to open Views.
        report_errors: Whether documents report errors in their scripts to the host.
    """

    def __init__(
        self,
        servers: Servers,
        store: Store,
        records: ViewRecords,
        views: ViewRegistry,
        holders: ViewHolders,
        closer: ViewCloser,
        reader: DocumentReader,
        admission: DocumentAdmission,
        policy: Policy,
        log: AuditTrail,
        names: HostNames,
        tokens: ViewTokens,
        *,
        report_errors: bool,
    ) -> None:
        self.documents = DocumentCache(store)
        """The documents that browsers can load now."""
        self._servers = servers
        self._store = store
        self._records = records
        self._views = views
        self._holders = holders
        self._closer = closer
        self._reader = reader
        self._admission = admission
        self._policy = policy
        self._log = log
        self._names = names
        self._tokens = tokens
        self._report_errors = report_errors
        self._secret: str | None = None
        self._shown: dict[str, tuple[str, str, str | None]] = {}
        self._digests: dict[tuple[str, str, str | None], str] = {}
        self._reports = RateLimit(_REPORTS_PER_SECOND, 0.0)

    async def open(
        self, request: OpenView, origins: Origins, socket: Socket, user: str | None = None
    ) -> PageConnection:
        """Open a View for a page: resume its session or load its document.

        The page needs a token of the View; with a `user`, the View has to belong to that user, too. Raise
        ViewRefusedError if denied, ViewUnavailableError if its server cannot be reached, and ElsewhereError if the
        page lost the View to another one while it was away.
        """
        record = await self._claimed(await self._authorized(request, user), request)
        session = self._views.session(record.id)
        if session is not None and request.seen is not None:
            if session.can_resume(request.epoch, request.seen):
                session.report_context(request.context)
                await session.resume(socket, request.seen)
                return PageConnection(self._log, session, socket)
            if session.is_elsewhere(request.epoch):
                raise ElsewhereError
        if session is None and record.session is not None and request.epoch == record.session["epoch"]:
            with suppress(FanlightError):  # the View goes on without its server, as it would with one that is lost
                await (await self._servers.connect(record.server, record.user)).ready()
            session = await self._views.take_over(record, request, socket)
            if session is not None:
                return PageConnection(self._log, session, socket)
        session = await self._load(record, request, origins, socket)
        return PageConnection(self._log, session, socket)

    async def close(self, request: OpenView, user: str | None = None) -> None:
        """Close a View for good for a page that does not show it. Raise ViewRefusedError if denied."""
        record = await self._authorized(request, user)
        await self._closer.close(record.id)

    async def _claimed(self, record: ViewRecord, request: OpenView) -> ViewRecord:
        """Make this worker the one that has the View's session, and return the View's record as it is then."""
        claim = await self._holders.claim(record, request)
        if claim is None or claim.record.closed:
            raise ViewRefusedError("This View was closed.")
        if claim.is_new:
            self._views.lose(record.id)
        return claim.record

    async def _authorized(self, request: OpenView, user: str | None) -> ViewRecord:
        """Return the record of the View that a page requests, or raise ViewRefusedError."""
        record = await self._records.find(request.view)
        is_owner = record is not None and (user is None or record.user == user)
        if record is None or not is_owner or not await self._tokens.check(record.id, request.token):
            raise ViewRefusedError(
                "This View cannot be opened: it does not exist, its token is wrong or has expired, or it is not yours. "
                "Reload the page."
            )
        if record.closed:
            raise ViewRefusedError("This View was closed.")
        return record

    async def _load(self, record: ViewRecord, request: OpenView, origins: Origins, socket: Socket) -> Session:
        """Make a page load a View's document, with a session that waits for it."""
        try:
            connection = await self._servers.connect(record.server, record.user)
            if connection.status.state != "ready":
                await socket.send_frame(StatusText(f"Waiting for the server {record.server} …"))
            document = await self._admission.find(record)
        except CallCancelledError as error:
            raise ViewUnavailableError(f"The View cannot be shown: {error}", error) from error
        except ViewUnavailableError:
            raise
        except FanlightError as error:
            raise ViewRefusedError(f"The View cannot be shown: {error}") from None
        app = app_of(record, document.sha256, title=tool_title(connection.tools, record.tool))
        await self._admit(app, document, origins, socket)
        show, sandbox = await self._serve(app, document, origins, socket.max_bytes)
        session = await self._views.renew(record)
        session.report_context(request.context)
        if document.form == "openai":
            session.allow_state()
            fragment = await self._initial_state(record, session)
            show = replace(show, document=f"{show.document}#{fragment}")
        await session.begin(socket, show, sandbox)
        now = await self._records.find(record.id)
        if now is not None and now.context is not None:
            await session.report_model_context(now.context)
        return session

    async def _initial_state(self, record: ViewRecord, session: Session) -> str:
        """Return the initial state of a document for ChatGPT."""
        now = await self._records.find(record.id) or record
        return initial_state_fragment(session.context, session.capabilities, now.arguments, now.result, now.state)

    async def _admit(self, app: App, document: ViewDocument, origins: Origins, page: Socket) -> None:
        """Raise ViewRefusedError unless a document may be shown."""
        external = None
        if document.url is not None:
            (origin,) = reachable(document.csp)
            external = self._external(app, document.url, origin, origins)
        await self._admission.admit(app, document, page, external)

    def _external(self, app: App, url: str, origin: str, origins: Origins) -> Decision:
        """Decide on framing a web page. The program's own pages are denied: a frame would not isolate them."""
        authority = urlsplit(origin).netloc
        pages = {urlsplit(own).netloc for own in (origins.host, origins.program, *self._names.pages)}
        ours = authority in pages or self._names.role(authority)[0] in ("proxy", "view")
        return Deny(f"The page {url} is the program's own.") if ours else self._policy.external(app, url, origin)

    async def _serve(
        self, app: App, document: ViewDocument, origins: Origins, max_bytes: int
    ) -> tuple[ShowView, JSONObject]:
        """Offer a document to browsers. Return the frame that shows it, and the value of `hostCapabilities.sandbox`."""
        approved = self._admission.approve(app, document)
        if self._secret is None:
            self._secret = await self._store.secret()
        label = app_label(app.server, app.uri, app.user, self._secret)
        self._shown[label] = app.server, app.uri, app.user
        self._digests[app.server, app.uri, app.user] = document.sha256
        html = served_html(document)
        if self._report_errors:
            html = put_first(watch_element(), html)
        profile = self._policy.profile(app)
        own = app.view if document.embedded else None
        served = await self.documents.serve(
            label, html, approved.csp, approved.granted, origins.ancestors, profile, user=app.user, view=own
        )
        await self._admission.record(app, document, served.headers["content-security-policy"], approved)
        show = ShowView(
            proxy=proxy_url(origins),
            document=f"{origins.view(label)}/{served.address}",
            sandbox=_SANDBOX_TOKENS,
            allow=allow_attribute(approved.granted),
            title=app.name,
            csp=served.headers["content-security-policy"],
            border=document.prefers_border,
            network=reachable(approved.csp),
            max_bytes=max_bytes,
        )
        return show, approved.wire()

    async def reload(self, server: str, *, only_changed: bool = False) -> None:
        """Reload the open Views of a server; with `only_changed`, those with a document that has changed."""
        self._reader.forget(server)
        for record, session in list(self._views):
            if record.server == server and session.attached and (not only_changed or await self._has_changed(record)):
                await session.reload()

    async def _has_changed(self, record: ViewRecord) -> bool:
        """Return whether a View's document differs from the one shown last. A document that is gone has not changed."""
        shown = self.shown_digest(record.server, record.uri, record.user)
        try:
            return shown is not None and (await self._admission.find(record)).sha256 != shown
        except FanlightError:
            return False

    def shown_digest(self, server: str, uri: str, user: str | None) -> str | None:
        """Return the SHA-256 digest of the document of an app that was shown last, or None."""
        return self._digests.get((server, uri, user))

    def log_csp_report(self, label: str, report: JSONObject) -> None:
        """Record a browser's report. It names the app; the View is known only if no other of this app is open."""
        app = self._shown.get(label)
        if app is None or not self._reports.take(anyio.current_time()):
            return
        server, uri, user = app
        open_views = [
            record for record, _ in self._views if (record.server, record.uri, record.user) == (server, uri, user)
        ]
        view = open_views[0] if len(open_views) == 1 else None
        self._log.log_violation(
            server,
            None if view is None else view.id,
            Owner(user, None if view is None else view.conversation),
            report["directive"],
            "probe" if is_probe(report) else "blocked",
            {"uri": uri, **report},
        )
