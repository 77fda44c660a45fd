"""Servers that require authentication: headers, auth objects, OAuth."""

import base64
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any
from urllib.parse import parse_qs, urlsplit

import anyio
import httpx2
import pytest
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.client.auth.extensions.client_credentials import ClientCredentialsOAuthProvider
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse
from starlette.routing import Mount, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from fanlight.host.upstream.config import Url
from fanlight.host.upstream.connection import Connection
from support.connected import connected, failure, modes
from support.shop import build
from support.wire import serving

pytestmark = pytest.mark.anyio


class Bearer(httpx2.Auth):
    def __init__(self, token: str) -> None:
        self.token = token

    def auth_flow(self, request: httpx2.Request) -> Any:
        request.headers["authorization"] = f"Bearer {self.token}"
        yield request


class Storage:
    """Tokens in memory."""

    tokens: OAuthToken | None = None
    client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


def guarded(app: ASGIApp) -> ASGIApp:
    """Return an app that requires the bearer token `good`."""

    async def guard(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and (b"authorization", b"Bearer good") not in scope["headers"]:
            host = dict(scope["headers"])[b"host"].decode()
            where = f"http://{host}/.well-known/oauth-protected-resource/mcp"
            refusal = PlainTextResponse("Who?", 401, {"www-authenticate": f'Bearer resource_metadata="{where}"'})
            return await refusal(scope, receive, send)
        await app(scope, receive, send)

    return guard


@contextmanager
def guarded_shop() -> Iterator[str]:
    """Serve a shop behind an authorization server, and yield the address of both."""
    app = build("MCPServer").streamable_http_app()

    async def resource(request: Request) -> JSONResponse:
        base = str(request.base_url).rstrip("/")
        return JSONResponse({"resource": f"{base}/mcp", "authorization_servers": [base]})

    async def metadata(request: Request) -> JSONResponse:
        base = str(request.base_url).rstrip("/")
        return JSONResponse(
            {
                "issuer": base,
                "authorization_endpoint": f"{base}/authorize",
                "token_endpoint": f"{base}/token",
                "registration_endpoint": f"{base}/register",
                "response_types_supported": ["code"],
                "code_challenge_methods_supported": ["S256"],
            }
        )

    async def register(request: Request) -> JSONResponse:
        return JSONResponse({**await request.json(), "client_id": "fanlight"}, 201)

    async def token(request: Request) -> JSONResponse:
        form = await request.form()
        secret = base64.b64encode(b"robot:secret").decode()
        known = form.get("code") == "the code" or request.headers.get("authorization") == f"Basic {secret}"
        if not known:
            return JSONResponse({"error": "invalid_client"}, 401)
        return JSONResponse({"access_token": "good", "token_type": "Bearer", "expires_in": 3600})

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with app.router.lifespan_context(app):
            yield

    routes = [
        Route("/.well-known/oauth-protected-resource/mcp", resource),
        Route("/.well-known/oauth-authorization-server", metadata),
        Route("/register", register, methods=["POST"]),
        Route("/token", token, methods=["POST"]),
        Mount("/", guarded(app)),
    ]
    with serving(Starlette(routes=routes, lifespan=lifespan)) as address:
        yield address


async def assert_serves(connection: Connection) -> None:
    assert (await connection.call_tool("plain"))["content"][0]["text"] == "hello you"


@modes
async def test_an_auth_object_authenticates_each_request(mode: str) -> None:
    with guarded_shop() as address:
        async with connected(Url(f"{address}/mcp", auth=Bearer("good")), mode=mode) as connection:
            await assert_serves(connection)
        async with connected({"url": f"{address}/mcp", "auth": Bearer("good")}, mode=mode) as connection:
            await assert_serves(connection)


async def test_a_fixed_token_can_be_passed_as_a_header() -> None:
    with guarded_shop() as address:
        given = {"url": f"{address}/mcp", "headers": {"Authorization": "Bearer good"}}
        async with connected(given) as connection:
            await assert_serves(connection)


async def test_a_server_that_requires_a_token_is_reported() -> None:
    with guarded_shop() as address:
        for auth in (None, Bearer("bad")):
            assert "asks for authorization (HTTP 401)" in await failure(Url(f"{address}/mcp", auth=auth))


@modes
async def test_a_program_signs_in_with_the_sdks_oauth_provider(mode: str) -> None:
    storage = Storage()
    with guarded_shop() as address:
        auth = ClientCredentialsOAuthProvider(f"{address}/mcp", storage, "robot", "secret", issuer=address)
        async with connected(Url(f"{address}/mcp", auth=auth), mode=mode) as connection:
            await assert_serves(connection)
    assert storage.tokens is not None
    assert storage.tokens.access_token == "good"


@modes
async def test_a_user_signs_in_with_the_sdks_oauth_provider(mode: str) -> None:
    visited: list[dict[str, list[str]]] = []

    async def visit(url: str) -> None:
        visited.append(parse_qs(urlsplit(url).query))

    async def come_back() -> AuthorizationCodeResult:
        return AuthorizationCodeResult(code="the code", state=visited[-1]["state"][0])

    about = OAuthClientMetadata.model_validate({"redirect_uris": ["http://localhost:1/back"], "client_name": "it"})
    with guarded_shop() as address:
        auth = OAuthClientProvider(f"{address}/mcp", about, Storage(), visit, come_back)
        async with connected(Url(f"{address}/mcp", auth=auth), mode=mode) as connection:
            await assert_serves(connection)
    assert len(visited) == 1


async def test_a_failed_sign_in_is_explained_and_not_retried_immediately() -> None:
    with guarded_shop() as address:
        auth = ClientCredentialsOAuthProvider(f"{address}/mcp", Storage(), "robot", "wrong", issuer=address)
        connection = Connection("it", Url(f"{address}/mcp", auth=auth))
        with anyio.fail_after(20):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(connection.run)
                await connection.wait_until_settled()
                connection.close()
                status = connection.status
    assert f"{address}/mcp: signing in failed: " in str(status.reason)
    assert status.delay == 30.0
