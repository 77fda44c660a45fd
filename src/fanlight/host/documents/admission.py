"""Decides whether the document of a View may be shown, and with which domains and permissions."""

import logging
from dataclasses import dataclass

from fanlight.host.consent.consent import Consent
from fanlight.host.consent.policy import Allow, App, Decision, Policy, allowed_domains, reachable
from fanlight.host.consent.question import Asker
from fanlight.host.documents.reader import DocumentReader
from fanlight.host.documents.tool_link import view_uri
from fanlight.host.documents.view_document import ViewDocument, embedded_document
from fanlight.host.errors import RequestError, ViewError, ViewRefusedError
from fanlight.host.store.base import Store, ViewRecord
from fanlight.host.upstream.servers import Servers
from fanlight.host.views.audit_trail import AuditTrail
from fanlight.host.views.records import Owner
from fanlight.protocol.content import embedded_views
from fanlight.protocol.csp import Csp
from fanlight.protocol.jsonrpc import JSONObject
from fanlight.protocol.metadata import Permission

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Approved:
    """What the policy lets a document use."""

    csp: Csp | None
    """The declared domains that are allowed, or None if the server declares nothing."""
    granted: tuple[Permission, ...]
    """The requested permissions that are allowed."""
    denied: tuple[str, ...]
    """The declared domains that are not allowed."""

    def wire(self) -> JSONObject:
        """Return the value of `hostCapabilities.sandbox`."""
        csp = {} if self.csp is None else self.csp.wire()
        return {"csp": csp, "permissions": {name: {} for name in self.granted}}


class DocumentAdmission:
    """Finds the documents of Views, and applies the policy to them."""

    def __init__(
        self,
        servers: Servers,
        store: Store,
        reader: DocumentReader,
        policy: Policy,
        consent: Consent,
        log: AuditTrail,
        *,
        dialects: bool,
    ) -> None:
        self._servers = servers
        self._store = store
        self._reader = reader
        self._policy = policy
        self._consent = consent
        self._log = log
        self._dialects = dialects

    async def find(self, record: ViewRecord) -> ViewDocument:
        """Return a View's document: the one that its result embeds, unless the tool links to it, or the server's."""
        connection = await self._servers.connect(record.server, record.user)
        tool = next((tool for tool in connection.tools if tool["name"] == record.tool), {})
        item = next((item for item in embedded_views(record.result or {}) if item["uri"] == record.uri), None)
        if item is not None and view_uri(tool, dialects=self._dialects) != record.uri:
            if not self._dialects:
                raise ViewError("A result that brings its own View is of another dialect, which this host refuses.")
            return embedded_document(item)
        return await self._reader.read(connection, record.uri)

    async def admit(
        self, app: App, document: ViewDocument, asker: Asker | None, external: Decision | None = None
    ) -> None:
        """Raise ViewRefusedError unless a document may be shown.

        `external` is the decision about the web page that the document frames, if it does.
        """
        pinned = await self._store.pinned(app.server, app.uri, app.user)
        decision = self._policy.document(app, document.sha256, pinned)
        details = (("Server", app.server), ("SHA-256", document.sha256))
        try:
            await self._consent.check(app, decision, "document", document.sha256, details, asker=asker)
            if external is not None:
                (origin,) = reachable(document.csp)
                await self._consent.check(app, external, "external", origin, (("Page", document.url),), asker=asker)
        except RequestError as failed:
            raise ViewRefusedError(f"The View is not shown. {failed}") from None
        await self._store.pin(app.server, app.uri, document.sha256, app.user)

    def approve(self, app: App, document: ViewDocument) -> Approved:
        """Return the domains and permissions that a document may use."""
        csp, denied = allowed_domains(self._policy, app, document.csp)
        granted = tuple(name for name in document.permissions if isinstance(self._policy.permission(app, name), Allow))
        return Approved(csp, granted, tuple(denied))

    async def record(self, app: App, document: ViewDocument, policy: str, approved: Approved) -> None:
        """Record what is shown, under which Content-Security-Policy, and the dialects in it."""
        for older, today in document.older.items():
            self._log.log_dialect(app, older, today)
        for older, today in document.refused.items():
            reason = f"It is of another dialect, which this host does not read. Write {today}."
            owner = Owner(app.user, app.conversation)
            self._log.log_refused_dialect(app.server, owner, older, reason, uri=document.uri, view=app.view)
        # CSP-05
        logger.info("View %s of %s: %s has the Content-Security-Policy: %s", app.view, app.server, app.uri, policy)
        await self._log.log_document(
            app,
            {
                "uri": app.uri,
                "sha256": document.sha256,
                "csp": policy,
                "asked": document.permissions,
                "permissions": approved.granted,
                "denied": list(approved.denied),
                "problems": document.problems,
            },
        )
