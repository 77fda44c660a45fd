"""The sandbox host names: the proxy, the documents of Views, and the CSP reports that browsers send about them."""

from typing import Final, Protocol
from urllib.parse import urlencode, urlsplit

from starlette.datastructures import Headers, QueryParams
from starlette.responses import PlainTextResponse, Response
from starlette.types import Receive, Scope, Send
from starlette.websockets import WebSocket

from fanlight.host.web.assets import cache_control, cacheable_response, proxy_page, proxy_version, script_response
from fanlight.host.web.origins import HostNames, Origins, Role
from fanlight.host.web.refusals import Refusals
from fanlight.host.web.sandbox.csp_reports import MAX_BYTES, read_report
from fanlight.host.web.sandbox.document_cache import DocumentCache
from fanlight.host.web.sandbox.document_headers import APP_ORIGIN_HEADERS, prewarm_headers, proxy_headers
from fanlight.protocol.csp import check_source
from fanlight.protocol.errors import RegistrationError
from fanlight.protocol.headers import REPORT_PATH
from fanlight.protocol.jsonrpc import JSONObject

_NO_DOCUMENT: Final = (
    "There is no such document, or it is too old. Reload the page that shows the View. If this happens to new Views, "
    "give all processes of the program the same store."
)


class SandboxBackend(Protocol):
    """What the sandbox host names need from the host."""

    documents: DocumentCache

    def log_csp_report(self, label: str, report: JSONObject) -> None:
        """Record a browser's report about the Views of the app with this label."""


class Sandbox:
    """Serves the sandbox host names. Every other name gets 421."""

    def __init__(self, backend: SandboxBackend, names: HostNames, refusals: Refusals) -> None:
        self._backend = backend
        self._names = names
        self._refusals = refusals

    async def __call__(
        self, role: Role, label: str | None, path: str, scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Respond to a request for a name with this role. `path` is the path inside the application."""
        if role not in ("proxy", "view"):
            self._refusals.name(role, Headers(scope=scope).get("host", ""))
        if scope["type"] == "websocket":
            await WebSocket(scope, receive, send).close(1008)
            return
        response: Response
        if role not in ("proxy", "view"):
            response = PlainTextResponse("This server is not responsible for that host name.", 421)
        elif role == "view" and path == REPORT_PATH and scope["method"] == "POST":
            response = await self._report(label or "", receive)
        elif scope["method"] not in ("GET", "HEAD"):
            response = PlainTextResponse("Only GET and HEAD are allowed here.", 405, headers={"allow": "GET, HEAD"})
        elif role == "proxy":
            response = self._proxy(path, scope)
        else:
            response = await self._document(label or "", path, scope)
        if role == "view":
            response.headers.update(APP_ORIGIN_HEADERS)
            origin = Headers(scope=scope).get("origin", "")
            # The proxy asks whether a View's document was found. Nobody may read a body.
            if scope["method"] == "HEAD" and self._names.role(urlsplit(origin).netloc)[0] == "proxy":
                response.headers["access-control-allow-origin"] = origin
        await response(scope, receive, send)

    def _proxy(self, path: str, scope: Scope) -> Response:
        if path == "/sandbox.js":
            return script_response("sandbox.js", scope)
        if path != "/proxy":
            return PlainTextResponse("Not found.", 404)
        query = QueryParams(scope["query_string"])
        try:
            host = self._host_page(query)
        except RegistrationError as error:
            return PlainTextResponse(str(error), 400)
        if query.get("view", "*") != "*":
            message = 'Expected view to be "*" for the apps of this host, or absent for HTML in a message.'
            return PlainTextResponse(message, 400)
        views = self._names.views(Headers(scope=scope)["host"]) if "view" in query else None
        return Response(proxy_page(), headers=proxy_headers(host, views, cache_control(query)))

    async def _document(self, label: str, path: str, scope: Scope) -> Response:
        if path == "/warm":
            return self._prewarm_page(scope)
        document = await self._backend.documents.get(label, path.removeprefix("/"))
        if document is None:
            return PlainTextResponse(_NO_DOCUMENT, 404)
        return cacheable_response(document.body, document.compressed, document.headers, Headers(scope=scope))

    def _prewarm_page(self, scope: Scope) -> Response:
        """Respond with an empty page. While a host page frames it, the browser keeps a process for the app."""
        try:
            host = self._host_page(QueryParams(scope["query_string"]))
        except RegistrationError as error:
            return PlainTextResponse(str(error), 400)
        return Response(b"<!doctype html><title>-</title>", headers=prewarm_headers(host))

    def _host_page(self, query: QueryParams) -> str:
        """Return the origin of the host page from the query, or raise RegistrationError."""
        host = check_source(query.get("host"), "host")
        if not self._names.is_page(host):
            raise RegistrationError("host is not the origin of a host page.")
        return host

    async def _report(self, label: str, receive: Receive) -> Response:
        """Record a CSP report."""
        body = b""
        while True:
            message = await receive()
            body += message.get("body", b"")
            if len(body) > MAX_BYTES:
                return PlainTextResponse(f"The report is larger than {MAX_BYTES:,} bytes.", 413)
            if not message.get("more_body"):
                break
        report = read_report(body)
        if report is None:
            return PlainTextResponse("Expected a Content-Security-Policy report.", 400)
        self._backend.log_csp_report(label, report)
        return Response(status_code=204)


def proxy_url(origins: Origins) -> str:
    """Return the address of the proxy for pages of one origin. All apps share it, so a page can load it early."""
    return f"{origins.proxy}/proxy?{urlencode({'host': origins.host, 'view': '*', 'v': proxy_version()})}"


def html_proxy_url(origins: Origins) -> str:
    """Return the address of the proxy for pages of one origin that send it HTML in a message."""
    return f"{origins.proxy}/proxy?{urlencode({'host': origins.host, 'v': proxy_version()})}"
