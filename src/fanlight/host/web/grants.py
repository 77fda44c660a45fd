"""The routes of `<mcp-grants>`, where users see and revoke what they allowed with "always"."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, Literal, Protocol

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.types import Receive, Scope, Send

from fanlight.host.consent.labels import app_name, granted_action, title_of, visible_name
from fanlight.host.documents.tool_link import view_uri
from fanlight.host.errors import ViewRefusedError
from fanlight.host.json_text import decode_object
from fanlight.host.store.base import Grant
from fanlight.host.web.origins import HostNames
from fanlight.host.web.page_requests import (
    HEADERS,
    NOT_ALLOWED,
    PREFLIGHT_HEADERS,
    is_other_page,
    is_own_page,
    sharing_headers,
)
from fanlight.host.web.users import Identify, user_of
from fanlight.protocol.jsonrpc import JSONObject

GRANT_ROUTES: Final = frozenset({"grants", "grants/revoke"})
"""The routes, below the path of the host."""

_MAX_BYTES: Final = 20_000


KnownTools = Callable[[str | None], Mapping[str, Sequence[JSONObject]]]
"""Returns the tools of each server, as far as they are known to a user now."""


class Grants(Protocol):
    """Has the grants of users."""

    async def grants(self, user: str | None) -> list[Grant]: ...

    async def revoke(self, grant: Grant, by: Literal["user", "program"]) -> None: ...


class GrantRoutes:
    """Lists and revokes the grants of the user of a page, for the program's own pages and those of `Host(origins=)`."""

    def __init__(
        self, grants: Grants, names: HostNames, identify: Identify | None, known_tools: KnownTools = lambda _: {}
    ) -> None:
        self._grants = grants
        self._known_tools = known_tools
        self._names = names
        self._identify = identify

    async def __call__(self, route: str, scope: Scope, receive: Receive, send: Send) -> None:
        """Respond to a request for a route."""
        request = Request(scope, receive)
        is_other = is_other_page(self._names, request)
        response: Response
        if is_other and request.method == "OPTIONS":
            response = Response(status_code=204, headers=PREFLIGHT_HEADERS)
        elif not is_other and not is_own_page(self._names, request, needs_origin=route == "grants/revoke"):
            response = PlainTextResponse(NOT_ALLOWED, 403)
        else:
            try:
                response = await self._response(route, request)
            except ViewRefusedError as refused:
                response = PlainTextResponse(str(refused), 401)
        response.headers.update(HEADERS)
        if is_other:
            response.headers.update(sharing_headers(request))
        await response(scope, receive, send)

    async def _response(self, route: str, request: Request) -> Response:
        if self._identify is None and not self._names.is_loopback(request.headers.get("host", "")):
            message = "This host does not know its users, so it shows grants only on this machine. Set Host(user=...)."
            return PlainTextResponse(message, 403)
        method = "POST" if route == "grants/revoke" else "GET"
        if request.method != method:
            return PlainTextResponse(f"Only {method} is allowed here.", 405, headers={"allow": method})
        user = await user_of(self._identify, request)
        if method == "GET":
            tools = self._known_tools(user)
            grants = await self._grants.grants(user)
            return JSONResponse({"grants": [_entry(grant, tools.get(grant.server, ())) for grant in grants]})
        body = b""
        async for part in request.stream():
            body += part
            if len(body) > _MAX_BYTES:
                return PlainTextResponse(f"The request is larger than {_MAX_BYTES:,} bytes.", 413)
        fields = decode_object(body.decode("utf-8", "replace")) or {}
        values = [fields.get(name) for name in ("server", "uri", "kind", "key")]
        if not all(isinstance(value, str) for value in values):
            return PlainTextResponse("Expected an object with server, uri, kind and key, which are strings.", 400)
        server, uri, kind, key = map(str, values)
        # Only ever a grant of the page's own user.
        await self._grants.revoke(Grant(server, uri, kind, key, user), "user")
        return Response(status_code=204)


def _entry(grant: Grant, tools: Sequence[JSONObject]) -> dict[str, str]:
    """Return a grant for the page, with texts that are safe to show: titles where they are known."""
    titles = (title_of(tool) for tool in tools if view_uri(tool) == grant.uri)
    return {
        "server": grant.server,
        "uri": grant.uri,
        "kind": grant.kind,
        "key": grant.key,
        "app": app_name(grant.server, next(filter(None, titles), None)),
        "place": visible_name(grant.uri, 80),
        "text": granted_action(grant.kind, grant.key, tools),
    }
