"""An OAuth authorization server and the MCP server that it protects, both built with the `mcp` SDK."""

import json
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlencode

from mcp.server import MCPServer
from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    AuthorizationParams,
    OAuthAuthorizationServerProvider,
    RefreshToken,
    construct_redirect_uri,
)
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from pydantic import AnyHttpUrl
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from support.wire import serving_built


class Accounts(OAuthAuthorizationServerProvider[AuthorizationCode, RefreshToken, AccessToken]):
    """An authorization server whose users sign in at `/login?as=<name>`, or refuse with `/login?refuse=1`."""

    def __init__(self, address: str, lifetime: int) -> None:
        self.clients: dict[str, OAuthClientInformationFull] = {}
        self.sign_ins = 0
        self.refreshed = 0
        self.is_silent = False
        """Whether codes and tokens are never exchanged."""
        self.rejects_calls = False
        """Whether calls of tools are rejected, whatever their token."""
        self.access: dict[str, AccessToken] = {}
        self.refresh: dict[str, RefreshToken] = {}
        self._address = address
        self._lifetime = lifetime
        self._requests: dict[str, tuple[OAuthClientInformationFull, AuthorizationParams]] = {}
        self._codes: dict[str, AuthorizationCode] = {}

    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        return self.clients.get(client_id)

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        self.clients[client_info.client_id] = client_info

    async def authorize(self, client: OAuthClientInformationFull, params: AuthorizationParams) -> str:
        id = secrets.token_urlsafe()
        self._requests[id] = (client, params)
        return f"{self._address}/login?{urlencode({'request': id})}"

    async def login(self, request: Request) -> Response:
        client, params = self._requests[request.query_params["request"]]
        back = str(params.redirect_uri)
        if "refuse" in request.query_params:
            why = "She said <b>no</b>"
            return _redirect(
                construct_redirect_uri(back, error="access_denied", error_description=why, state=params.state)
            )
        code = AuthorizationCode(
            code=secrets.token_urlsafe(),
            scopes=params.scopes or [],
            expires_at=time.time() + 60,
            client_id=client.client_id,
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly,
            resource=params.resource,
            subject=request.query_params["as"],
        )
        self._codes[code.code] = code
        return _redirect(construct_redirect_uri(back, code=code.code, state=params.state))

    async def load_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: str
    ) -> AuthorizationCode | None:
        return self._codes.get(authorization_code)

    async def exchange_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: AuthorizationCode
    ) -> OAuthToken:
        self.sign_ins += 1
        del self._codes[authorization_code.code]
        return self._issue(client, authorization_code)

    async def load_refresh_token(self, client: OAuthClientInformationFull, refresh_token: str) -> RefreshToken | None:
        return self.refresh.get(refresh_token)

    async def exchange_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: RefreshToken, scopes: list[str]
    ) -> OAuthToken:
        self.refreshed += 1
        del self.refresh[refresh_token.token]
        return self._issue(client, refresh_token)

    async def load_access_token(self, token: str) -> AccessToken | None:
        return self.access.get(token)

    async def revoke_token(self, token: AccessToken | RefreshToken) -> None:
        self.revoke(token.subject or "")

    def revoke(self, subject: str) -> None:
        """Forget all tokens of a user."""
        self.access = {key: token for key, token in self.access.items() if token.subject != subject}
        self.refresh = {key: token for key, token in self.refresh.items() if token.subject != subject}

    def anonymous(self) -> str:
        """Return the header of a token that belongs to nobody."""
        expires = int(time.time()) + 3600
        self.access["nobody"] = AccessToken(
            token="nobody", client_id="nobody", scopes=[], expires_at=expires, resource=f"{self._address}/mcp"
        )
        return "Bearer nobody"

    def _issue(self, client: OAuthClientInformationFull, source: AuthorizationCode | RefreshToken) -> OAuthToken:
        shared: dict[str, Any] = {
            "client_id": client.client_id,
            "scopes": source.scopes,
            "resource": source.resource,
            "subject": source.subject,
        }
        access, refresh = secrets.token_urlsafe(), secrets.token_urlsafe()
        expires = int(time.time()) + 3600  # the server forgets tokens only when told; clients are told `lifetime`
        self.access[access] = AccessToken(token=access, expires_at=expires, **shared)
        self.refresh[refresh] = RefreshToken(token=refresh, **shared)
        return OAuthToken(access_token=access, expires_in=self._lifetime, refresh_token=refresh)


def _redirect(url: str) -> Response:
    return RedirectResponse(url, 302)


class Protected:
    """The address of a protected server, and the accounts behind it."""

    def __init__(self, address: str, accounts: Accounts) -> None:
        self.address = address
        self.url = f"{address}/mcp"
        self.accounts = accounts


class Gate:
    """An ASGI app around a protected server: wants the scope "write" for `delete`, and can be of the handshake era."""

    def __init__(
        self, app: ASGIApp, accounts: Accounts, *, needs_handshake: bool, only_calls_need_tokens: bool
    ) -> None:
        self._app = app
        self._accounts = accounts
        self._needs_handshake = needs_handshake
        self._only_calls_need_tokens = only_calls_need_tokens

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] == "/token" and self._accounts.is_silent:
            while (await receive())["type"] != "http.disconnect":
                pass
            return None
        if scope["type"] == "http" and self._only_calls_need_tokens and scope["method"] != "POST":
            scope = self._anonymous(scope)
        if scope["type"] != "http" or scope["path"] != "/mcp" or scope["method"] != "POST":
            return await self._app(scope, receive, send)
        body = b""
        more = True
        while more:
            part = await receive()
            body += part.get("body", b"")
            more = part.get("more_body", False)
        message = json.loads(body)
        if message["method"] == "tools/call" and self._accounts.rejects_calls:
            return await JSONResponse({}, 401)(scope, receive, send)
        if self._only_calls_need_tokens and message["method"] != "tools/call":
            scope = self._anonymous(scope)
        token = Headers(scope=scope).get("authorization", "").removeprefix("Bearer ")
        access = self._accounts.access.get(token)
        if access is not None:
            if self._needs_handshake and message["method"] == "server/discover":
                error = {"code": -32601, "message": "Method not found"}
                answer = JSONResponse({"jsonrpc": "2.0", "id": message["id"], "error": error})
                return await answer(scope, receive, send)
            if message.get("params", {}).get("name") == "delete" and "write" not in access.scopes:
                challenge = 'Bearer error="insufficient_scope", scope="write"'
                answer = JSONResponse({}, 403, headers={"www-authenticate": challenge})
                return await answer(scope, receive, send)
        parts = iter([{"type": "http.request", "body": body}])

        async def replay() -> Message:
            return next(parts, None) or await receive()

        await self._app(scope, replay, send)

    def _anonymous(self, scope: Scope) -> Scope:
        """Return a request that has a token, if only that of nobody."""
        if Headers(scope=scope).get("authorization", "").removeprefix("Bearer ") in self._accounts.access:
            return scope
        headers = [header for header in scope["headers"] if header[0] != b"authorization"]
        return {**scope, "headers": [*headers, (b"authorization", self._accounts.anonymous().encode())]}


@contextmanager
def protected_server(
    lifetime: int = 3600,
    *,
    registers: bool = True,
    needs_handshake: bool = False,
    only_calls_need_tokens: bool = False,
) -> Iterator[Protected]:
    """Serve a server with the tool `whoami`, which only users with an account can use, and `delete`.

    `delete` needs the scope "write". Without `registers`, clients cannot register themselves. With `needs_handshake`,
    the server knows protocol versions before 2026-07-28 only.
    With `only_calls_need_tokens`, everybody can connect to it.
    """
    made: list[Accounts] = []

    def build(address: str) -> Any:
        accounts = Accounts(address, lifetime)
        made.append(accounts)
        settings = AuthSettings(
            issuer_url=AnyHttpUrl(address),
            resource_server_url=AnyHttpUrl(f"{address}/mcp"),
            client_registration_options=ClientRegistrationOptions(enabled=registers, default_scopes=["read", "write"]),
            validate_token_resource=True,
        )
        server: MCPServer[Any] = MCPServer("crm", auth_server_provider=accounts, auth=settings)
        server.custom_route("/login", methods=["GET"])(accounts.login)

        @server.tool()
        def whoami() -> str:
            token = get_access_token()
            return str(token and token.subject)

        @server.tool()
        def delete() -> str:
            return "deleted"

        return Gate(
            server.streamable_http_app(),
            accounts,
            needs_handshake=needs_handshake,
            only_calls_need_tokens=only_calls_need_tokens,
        )

    with serving_built(build) as address:
        yield Protected(address, made[0])
