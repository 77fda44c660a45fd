"""`caller_key()`: whose request it is, on both servers, all transports and both protocol eras, with real auth."""

import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from fastmcp import FastMCP
from fastmcp.server.auth import StaticTokenVerifier
from mcp.server import MCPServer
from mcp.server.auth.provider import AccessToken
from mcp.server.auth.settings import AuthSettings
from pydantic import AnyHttpUrl

from fanlight import Apps, StateError, caller_key
from support.wire import UI, Wire, _HttpChannel, in_memory, over_stdio, serving

pytestmark = pytest.mark.anyio

OLD, NEW = "2025-11-25", "2026-07-28"
KINDS: list[Any] = [MCPServer, FastMCP]
ISSUER = "https://accounts.example"

TOKENS: dict[str, dict[str, Any]] = {
    "ada": {"client_id": "chat", "sub": "ada", "iss": ISSUER},
    "ada-elsewhere": {"client_id": "editor", "sub": "ada", "iss": ISSUER},
    "other-ada": {"client_id": "chat", "sub": "ada", "iss": "https://other.example"},
    "bob": {"client_id": "chat", "sub": "bob", "iss": ISSUER},
    # All users of this program have the same client, and nothing else.
    "program": {"client_id": "chat"},
}


class Verifier:
    async def verify_token(self, token: str) -> AccessToken | None:
        known = TOKENS.get(token)
        if known is None:
            return None
        claims = {"iss": known["iss"]} if "iss" in known else None
        return AccessToken(
            token=token, client_id=known["client_id"], scopes=[], subject=known.get("sub"), claims=claims
        )


def with_key(server: Any) -> Any:
    @Apps(server).tool()
    def key() -> dict[str, str | None]:
        "Return the key."
        return {"key": caller_key()}

    return server


def app_of(kind: Any, *, auth: bool = False, stateless: bool = False) -> Any:
    if kind is FastMCP:
        server = with_key(FastMCP("it", auth=StaticTokenVerifier(TOKENS) if auth else None))
        return server.http_app(stateless_http=stateless)
    settings = AuthSettings(issuer_url=AnyHttpUrl(ISSUER), resource_server_url=AnyHttpUrl("http://127.0.0.1/mcp"))
    options: Any = {"auth": settings, "token_verifier": Verifier()} if auth else {}
    return with_key(MCPServer("it", **options)).streamable_http_app(stateless_http=stateless)


@asynccontextmanager
async def client_at(address: str, version: str, headers: dict[str, str] | None = None) -> AsyncIterator[Wire]:
    async with httpx2.AsyncClient(timeout=60, headers=headers) as client:
        yield await Wire(_HttpChannel(client, f"{address}/mcp", version), version, UI).open()


async def keys_of(client: Wire, count: int = 2) -> set[str | None]:
    return {(await client.call("key"))["structuredContent"]["key"] for _ in range(count)}


@pytest.fixture(params=KINDS, ids=["mcp", "fastmcp"])
def kind(request: pytest.FixtureRequest) -> Callable[..., Any]:
    made: Callable[..., Any] = request.param
    return made


@pytest.mark.parametrize("version", [OLD, NEW])
async def test_a_user_has_one_key_in_all_sessions_clients_and_processes(kind: Any, version: str) -> None:
    keys: dict[str, set[str | None]] = {name: set() for name in TOKENS}
    for _ in range(2):  # as after a restart
        with serving(app_of(kind, auth=True)) as address:
            for name in ("ada", "ada-elsewhere", "other-ada", "bob"):
                async with client_at(address, version, {"authorization": f"Bearer {name}"}) as client:
                    keys[name] |= await keys_of(client)
    ada, same, other, bob = keys["ada"], keys["ada-elsewhere"], keys["other-ada"], keys["bob"]
    assert ada == same
    assert {len(each) for each in (ada, other, bob)} == {1}
    assert len(ada | other | bob) == 3
    assert all(re.fullmatch("user-[0-9a-f]{64}", str(key)) for key in ada | other | bob)


async def test_users_of_a_client_whose_token_does_not_name_them_do_not_share_a_key(kind: Any) -> None:
    program = {"authorization": "Bearer program"}
    with serving(app_of(kind, auth=True)) as address:
        async with client_at(address, OLD, program) as one, client_at(address, OLD, program) as two:
            keys = [await keys_of(one), await keys_of(two)]
            assert keys[0].isdisjoint(keys[1])
            assert all(str(key).startswith("session-") for key in keys[0] | keys[1])
        async with client_at(address, NEW, program) as client:
            assert await keys_of(client) == {None}


async def test_a_session_has_a_key_and_another_one_has_another(kind: Any) -> None:
    with serving(app_of(kind)) as address:
        async with client_at(address, OLD) as one, client_at(address, OLD) as two:
            first, second = await keys_of(one), await keys_of(two)
            assert (len(first), len(second), len(first | second)) == (1, 1, 2)
            assert re.fullmatch("session-[0-9a-f]{64}", str(next(iter(first))))
        async with client_at(address, NEW) as client:
            assert await keys_of(client) == {None}


async def test_a_stateless_server_has_no_sessions_whatever_a_client_claims(kind: Any) -> None:
    with serving(app_of(kind, stateless=True)) as address:
        for version in (OLD, NEW):
            async with client_at(address, version, {"mcp-session-id": "made-up"}) as client:
                assert await keys_of(client) == {None}


async def test_a_connection_without_http_is_a_session_in_the_old_era(kind: Any) -> None:
    server = with_key(kind("it"))
    async with in_memory(server, OLD, UI) as one, in_memory(server, OLD, UI) as two, in_memory(server, NEW, UI) as new:
        first, second = await keys_of(one), await keys_of(two)
        assert (len(first), len(second), len(first | second)) == (1, 1, 2)
        assert await keys_of(new) == {None}


@pytest.mark.process
async def test_over_stdio_the_key_is_that_of_the_session(tmp_path: Path) -> None:
    program = tmp_path / "server.py"
    program.write_text(
        "from mcp.server import MCPServer\nfrom fanlight import Apps, caller_key\nserver = MCPServer('it')\n"
        "@Apps(server).tool()\ndef key() -> dict[str, str | None]:\n    return {'key': caller_key()}\nserver.run()\n",
        encoding="utf-8",
    )
    async with over_stdio(program, OLD, UI) as client:
        keys = await keys_of(client)
    assert len(keys) == 1
    assert str(next(iter(keys))).startswith("session-")
    async with over_stdio(program, NEW, UI) as client:
        assert await keys_of(client) == {None}


async def test_the_key_is_there_in_threads_and_tasks_and_not_outside_of_requests() -> None:
    server: Any = MCPServer("it")

    @Apps(server).tool()
    async def both() -> dict[str, bool]:
        return {"same": await anyio.to_thread.run_sync(caller_key) == caller_key() is not None}

    async with in_memory(server, OLD, UI) as client:
        assert (await client.call("both"))["structuredContent"] == {"same": True}
    with pytest.raises(StateError, match="outside of a request"):
        caller_key()
