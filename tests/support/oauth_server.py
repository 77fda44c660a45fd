"""An OAuth authorization server and the MCP server that it protects, both built with the `mcp` SDK."""

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
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from support.wire import serving_built


class Accounts(OAuthAuthorizationServerProvider[AuthorizationCode, RefreshToken, AccessToken]):
    """An authorization server whose users sign in at `/login?as=<name>`, or refuse with `/login?refuse=1`."""

    def __init__(self, address: str, lifetime: int) -> None:
        self.clients: dict[str, OAuthClientInformationFull] = {}
        self.sign_ins = 0
        self.refreshed = 0
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


@contextmanager
def protected_server(lifetime: int = 3600) -> Iterator[Protected]:
    """Serve a server with the tool `whoami`, which only users with an account can use."""
    made: list[Accounts] = []

    def build(address: str) -> Any:
        accounts = Accounts(address, lifetime)
        made.append(accounts)
        settings = AuthSettings(
            issuer_url=AnyHttpUrl(address),
            resource_server_url=AnyHttpUrl(f"{address}/mcp"),
            client_registration_options=ClientRegistrationOptions(enabled=True),
            validate_token_resource=True,
        )
        server: MCPServer[Any] = MCPServer("crm", auth_server_provider=accounts, auth=settings)
        server.custom_route("/login", methods=["GET"])(accounts.login)

        @server.tool()
        def whoami() -> str:
            token = get_access_token()
            return str(token and token.subject)

        return server.streamable_http_app()

    with serving_built(build) as address:
        yield Protected(address, made[0])
