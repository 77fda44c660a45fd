"""The documents of Views for front ends that show HTML in a sandbox of their own."""

from collections.abc import Mapping
from html import escape
from typing import Final

from fanlight.host.consent.labels import tool_title
from fanlight.host.consent.policy import Policy
from fanlight.host.documents.admission import DocumentAdmission
from fanlight.host.errors import CallCancelledError, RequestError, ViewUnavailableError
from fanlight.host.store.base import ViewRecord
from fanlight.host.upstream.servers import Servers
from fanlight.host.views.records import app_of
from fanlight.host.web.sandbox.dialect_documents import served_html
from fanlight.host.web.sandbox.inject import put_first
from fanlight.protocol.csp import Csp
from fanlight.protocol.errors import FanlightError
from fanlight.protocol.extension import MIME_TYPE
from fanlight.protocol.headers import CspProfile, Directives, policy, view_directives
from fanlight.protocol.jsonrpc import JSONObject
from fanlight.protocol.visibility import for_app

# A `<meta>` element cannot set these.
_ONLY_IN_HEADERS: Final = ("frame-ancestors", "report-uri")
_WEB_PAGE: Final = "This View is a web page in a frame, which only <mcp-app> can show."


class RelayedDocuments:
    """Reads the documents of Views, and applies the policy to them."""

    def __init__(self, servers: Servers, admission: DocumentAdmission, policy: Policy) -> None:
        self._servers = servers
        self._admission = admission
        self._policy = policy

    async def load(self, record: ViewRecord) -> JSONObject:
        """Return a View's document as `mcp-apps/read-resource` does. Raise RequestError if it may not be shown.

        Whatever the sandbox of the front end allows, the document carries its Content-Security-Policy itself.
        """
        try:
            connection = await self._servers.connect(record.server, record.user)
            document = await self._admission.find(record)
            app = app_of(record, document.sha256, title=tool_title(connection.tools, record.tool))
            if document.url is not None:
                raise RequestError(_WEB_PAGE)
            await self._admission.admit(app, document, None)
        except (CallCancelledError, ViewUnavailableError) as error:
            raise RequestError(error.user_message, reason=str(error)) from None
        except RequestError:
            raise
        except FanlightError as error:
            raise RequestError(str(error)) from None
        approved = self._admission.approve(app, document)
        text = policy(relayed_directives(approved.csp, self._policy.profile(app)))
        await self._admission.record(app, document, text, approved)
        meta = {key: value for key, value in approved.wire().items() if value}
        if document.prefers_border is not None:
            meta["prefersBorder"] = document.prefers_border
        element = f'<meta http-equiv="Content-Security-Policy" content="{escape(text)}">'
        return {
            "uri": record.uri,
            "mimeType": MIME_TYPE,
            "html": put_first(element, served_html(document)),
            "meta": meta,
            "tools": [tool["name"] for tool in connection.tools if for_app(tool)],
        }


def relayed_directives(csp: Csp | None, profile: CspProfile) -> Directives:
    """Return the policy of a document in a sandbox of others.

    It is that of a View, without the document's own origin: in a sandbox of others, that may be the page's.
    """
    directives: Mapping[str, tuple[str, ...]] = view_directives(csp, (), profile)
    return {
        name: tuple(source for source in sources if source not in ("'self'", "'report-sample'")) or ("'none'",)
        for name, sources in directives.items()
        if name not in _ONLY_IN_HEADERS
    }
