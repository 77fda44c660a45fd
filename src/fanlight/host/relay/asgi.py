"""`Relay`: the ASGI app that serves front ends which render MCP Apps themselves, such as assistant-ui.

A front end sends `POST {"method": ..., "params": {"serverId": ..., ...}}`. `serverId` is what `Conversation.relay_app`
returned for a View: so a request names one View, and with it a server, a user and a conversation.
"""

import inspect
import logging
from collections.abc import Callable
from typing import Any, Final, cast

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send
from starlette.websockets import WebSocket

from fanlight.host.errors import STORE_UNAVAILABLE, BusError, RequestError, StoreError, ViewRefusedError
from fanlight.host.json_text import decode_object, encode_json
from fanlight.host.relay.service import READ_DOCUMENT, RelayService, TooManyRequestsError
from fanlight.host.store.base import ViewRecord
from fanlight.host.views.records import ViewRecords
from fanlight.host.views.tokens import ViewTokens
from fanlight.host.web.origins import HostNames
from fanlight.host.web.page_requests import (
    HEADERS,
    NOT_ALLOWED,
    PREFLIGHT_HEADERS,
    is_other_page,
    is_own_page,
    sharing_headers,
)
from fanlight.host.web.refusals import Refusals
from fanlight.host.web.sandbox.routes import html_proxy_url
from fanlight.host.web.users import Authorize, Identify, user_of
from fanlight.protocol.errors import StateError
from fanlight.protocol.jsonrpc import INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, JSONObject

logger = logging.getLogger(__name__)

_BAD_REQUEST: Final = (INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS)
_NOT_YOURS: Final = (
    "This View cannot be used: it does not exist, it was closed, its serverId is wrong or has expired, or it is not "
    "yours. Reload the page."
)


class _Refused(Exception):
    """The request is refused with a status."""

    def __init__(self, status: int, message: str) -> None:
        self.status = status
        super().__init__(message)


class Relay:
    """An ASGI app for one route of a program. `Host.relay` creates it."""

    def __init__(
        self,
        service: RelayService,
        records: ViewRecords,
        tokens: ViewTokens,
        names: HostNames,
        *,
        identify: Identify | None,
        authorize: Authorize | None,
        is_draining: Callable[[], bool],
        max_bytes: int,
    ) -> None:
        self._service = service
        self._records = records
        self._tokens = tokens
        self._names = names
        self._refusals = Refusals(names)
        self._identify = identify
        self._authorize = authorize
        self._is_draining = is_draining
        self._max_bytes = max_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "websocket":
                await WebSocket(scope, receive, send).close(1008)
            return
        request = Request(scope, receive)
        is_other = is_other_page(self._names, request)
        response: Response
        if is_other and request.method == "OPTIONS":
            response = Response(status_code=204, headers=PREFLIGHT_HEADERS)
        else:
            response = await self._respond(request, is_other=is_other)
        response.headers.update(HEADERS)
        if is_other:
            response.headers.update(sharing_headers(request))
        await response(scope, receive, send)

    async def _respond(self, request: Request, *, is_other: bool) -> Response:
        try:
            self._check(request, is_other=is_other)
            user = await user_of(self._identify, request)
            text = await self._body(request)
            method, params, server_id = _read(text)
            record = await self._record(server_id, user)
            await self._check_authorized(request, record.id)
            result = await self._service.serve(record, method, params, len(text))
        except _Refused as refused:
            return _error(refused.status, str(refused))
        except ViewRefusedError as refused:
            return _error(401, str(refused))
        except TooManyRequestsError as error:
            return _error(429, str(error), error.code)
        except RequestError as error:
            status = 400 if error.code in _BAD_REQUEST else 500 if error.code == INTERNAL_ERROR else 403
            return _error(status, str(error), error.code, error.data)
        except (StoreError, BusError) as error:
            logger.warning("A request of a View cannot be served now: %s", error)
            return _error(503, STORE_UNAVAILABLE)
        except StateError:
            return _error(503, "The host is not running.")
        if method == READ_DOCUMENT:
            result = {**result, "sandboxUrl": self._sandbox_url(request)}
        return Response(encode_json(result), media_type="application/json")

    def _check(self, request: Request, *, is_other: bool) -> None:
        """Raise _Refused unless a page of the program may send a request now."""
        host, origin = request.headers.get("host", ""), request.headers.get("origin", "")
        role, _ = self._names.role(host)
        if role != "host":
            self._refusals.name(role, host)
            raise _Refused(421, "This server is not responsible for that host name.")
        if not is_other and not is_own_page(self._names, request, needs_origin=True):
            self._refusals.page(request.url.scheme, host, origin, "a request")
            raise _Refused(403, NOT_ALLOWED)
        if request.method != "POST":
            raise _Refused(405, f"The method is {request.method}, expected POST.")
        # A form of another site cannot have this type.
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            raise _Refused(415, "Expected the content type application/json.")
        if self._is_draining():
            raise _Refused(503, "The host is stopping. Try again.")

    async def _body(self, request: Request) -> str:
        body = bytearray()
        async for part in request.stream():
            body += part
            if len(body) > self._max_bytes:
                raise _Refused(413, f"The request is larger than {self._max_bytes:,} bytes.")
        return body.decode("utf-8", "replace")

    async def _record(self, server_id: str, user: str | None) -> ViewRecord:
        """Return the View that a request names, if it is the user's."""
        view, _, token = server_id.partition(".")
        record = await self._records.find(view)
        if record is None or record.closed:
            raise _Refused(404, _NOT_YOURS)
        is_owner = record.user == user if self._identify is not None else await self._tokens.is_valid(view, token)
        if not is_owner:
            raise _Refused(404, _NOT_YOURS)
        return record

    async def _check_authorized(self, request: Request, view: str) -> None:
        if self._authorize is None:
            return
        allowed = self._authorize(cast(WebSocket, request), view)
        if inspect.isawaitable(allowed):
            allowed = await allowed
        if allowed is not True:
            raise _Refused(403, "You may not use this View.")

    def _sandbox_url(self, request: Request) -> str | None:
        """Return the address of the sandbox proxy for HTML, for the page that sent a request."""
        host, origin = request.headers.get("host", ""), request.headers["origin"]
        origins = self._names.page_origins(request.url.scheme, host, origin)
        return None if origins is None else html_proxy_url(origins)


def _read(text: str) -> tuple[str, JSONObject, str]:
    """Return the method, the params and the `serverId` of a request."""
    fields = decode_object(text)
    if fields is None:
        raise _Refused(400, 'Expected a JSON object: {"method": ..., "params": {"serverId": ...}}.')
    method, params = fields.get("method"), fields.get("params")
    if not isinstance(method, str) or not isinstance(params, dict):
        raise _Refused(400, "Expected method to be a string, and params to be an object.")
    server_id = params.pop("serverId", None)
    if not isinstance(server_id, str):
        raise _Refused(400, "params has no serverId. Give the front end what Conversation.relay_app() returns.")
    return method, params, server_id


def _error(status: int, message: str, code: int | None = None, data: Any = None) -> JSONResponse:
    """Return an error in the form that front ends read."""
    error: dict[str, Any] = {"message": message}
    if code is not None:
        error["code"] = code
    if data is not None:
        error["data"] = data
    headers = {"allow": "POST"} if status == 405 else None
    return JSONResponse({"error": error}, status, headers)
