"""Access control: each defence is tested alone, so that no other hides its absence."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from typing import Any

import httpx2
import pytest

from fanlight.dev.source_lines import Lines
from fanlight.inspector.inspector import Inspector
from support.inspecting import running

pytestmark = pytest.mark.anyio

CALL = {"server": "x", "tool": "y", "arguments": {}}


@asynccontextmanager
async def admitted() -> AsyncIterator[tuple[httpx2.AsyncClient, Inspector, str]]:
    """Yield an HTTP client that has the cookie."""
    with running({}) as (inspector, address):
        async with httpx2.AsyncClient(base_url=address) as http:
            assert (await http.get(f"/?token={inspector.guard.token}")).status_code == 303
            yield http, inspector, address


@pytest.mark.parametrize(
    "place", ["/", "/api/servers", "/api/events", "/pages/inspector.js", "/?token=wrong", "/?token=", "/nothing"]
)
async def test_every_request_without_the_token_is_rejected(place: str) -> None:
    with running({}) as (_, address):
        async with httpx2.AsyncClient(base_url=address) as http:
            assert (await http.get(place)).status_code == 403


@pytest.mark.parametrize("token", ["", "wrong", "right"])
async def test_a_token_opens_the_page_and_nothing_else(token: str) -> None:
    with running({}) as (inspector, address):
        async with httpx2.AsyncClient(base_url=address) as http:
            given = {"token": inspector.guard.token if token == "right" else token}
            for place in ("/api/servers", "/pages/inspector.js", "/api/audit"):
                assert (await http.get(place, params=given)).status_code == 403
            answer = await http.post("/api/call", params=given, json=CALL, headers={"origin": address})
            assert answer.status_code == 403


async def test_a_wrong_cookie_is_rejected() -> None:
    async with admitted() as (http, inspector, address):
        (name,) = http.cookies.keys()
        for value in ("", "wrong", inspector.guard.token):
            async with httpx2.AsyncClient(base_url=address, cookies={name: value}) as other:
                assert (await other.get("/api/servers")).status_code == 403
        assert (await http.get("/api/servers")).json() == []


async def test_the_token_is_removed_from_the_address_and_the_cookie_is_restricted() -> None:
    with running({}) as (inspector, address):
        async with httpx2.AsyncClient(base_url=address) as http:
            answer = await http.get(f"/?token={inspector.guard.token}")
            assert (answer.status_code, answer.headers["location"]) == (303, "/")
            cookie = answer.headers["set-cookie"].lower()
            assert "httponly" in cookie
            assert "samesite=lax" in cookie
            assert "domain=" not in cookie


@pytest.mark.parametrize("origin", [None, "null", "http://evil.example", "http://localhost:1", "http://sandbox.{own}"])
async def test_requests_that_change_something_need_our_own_origin(origin: str | None) -> None:
    async with admitted() as (http, _, address):
        headers = {} if origin is None else {"origin": origin.format(own=address.removeprefix("http://"))}
        for method, right in {"POST": 200, "PUT": 405, "DELETE": 405, "OPTIONS": 405}.items():
            answer = await http.request(method, "/api/stage", content=b"{}", headers=headers)
            assert (answer.status_code, answer.text) == (403, "This request came from another page.")
            own = await http.request(method, "/api/stage", content=b"{}", headers={"origin": address})
            assert own.status_code == right


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "192.0.2.7"])
async def test_other_host_names_are_rejected_even_with_a_valid_cookie(host: str) -> None:
    async with admitted() as (http, inspector, address):
        (name,) = http.cookies.keys()
        named = f"{host}:{address.rsplit(':', 1)[1]}"
        headers = {"host": named, "origin": f"http://{named}", "cookie": f"{name}={http.cookies[name]}"}
        assert (await http.get("/api/servers", headers=headers)).status_code == 421
        assert (await http.post("/api/stage", json={}, headers=headers)).status_code == 421
        answer = await http.get(f"/?token={inspector.guard.token}", headers=headers)
        assert (answer.status_code, "set-cookie" in answer.headers) == (421, False)


@pytest.mark.parametrize(
    "path", ["..%2fapp.py", "..%5capp.py", "%2e%2e/app.py", "../app.py", "/etc/passwd", "%2fetc%2fpasswd", "", "."]
)
async def test_only_the_files_of_the_page_are_served(path: str) -> None:
    async with admitted() as (http, _, _address):
        assert (await http.get(f"/pages/{path}")).status_code == 404
        assert (await http.get("/pages/inspector.js")).status_code == 200


async def test_the_page_cannot_be_framed_and_runs_only_its_own_scripts() -> None:
    async with admitted() as (http, _, address):
        page = await http.get("/")
        directives = page.headers["content-security-policy"].split("; ")
        port = address.rsplit(":", 1)[1]
        assert f"frame-src http://sandbox.localhost:{port} http://*.sandbox.localhost:{port}" in directives
        assert {"default-src 'none'", "script-src 'self'", "connect-src 'self'"} <= set(directives)
        assert {"frame-ancestors 'none'", "base-uri 'none'", "form-action 'none'"} <= set(directives)
        assert page.headers["referrer-policy"] == "no-referrer"
        assert page.headers["x-content-type-options"] == "nosniff"


async def opening(inspector: Inspector, *headers: tuple[bytes, bytes]) -> list[dict[str, Any]]:
    """Open a View's socket as a page does, and return the frames that come back."""
    opens = {"type": "websocket.receive", "text": json.dumps({"type": "open", "view": "any"})}
    incoming = iter([{"type": "websocket.connect"}, opens, {"type": "websocket.disconnect", "code": 1000}])
    received: list[dict[str, Any]] = []

    async def receive() -> Any:
        return next(incoming)

    async def send(message: Any) -> None:
        received.append(message)

    common = [(b"host", b"localhost"), (b"origin", b"http://localhost")]
    scope = {"type": "websocket", "path": "/apps/socket", "query_string": b"", "headers": [*common, *headers]}
    await inspector.app({**scope, "scheme": "ws", "server": ("localhost", 80)}, receive, send)
    return [json.loads(message["text"]) for message in received if "text" in message]


async def test_only_a_page_with_the_cookie_can_open_a_view() -> None:
    refused = {"type": "error", "message": "You may not open this View."}
    with closing(Lines()) as lines:
        inspector = Inspector({}, lines=lines)
        assert refused in await opening(inspector)
        assert refused in await opening(inspector, (b"cookie", b"fanlight-dev-80=wrong"))
        secret = inspector.guard._secret.encode()
        assert refused not in await opening(inspector, (b"cookie", b"fanlight-dev-80=" + secret))


async def test_malformed_requests_are_rejected_with_a_reason() -> None:
    async with admitted() as (http, _, address):
        own = {"origin": address}
        bad = await http.post("/api/call", content=b"[", headers=own)
        assert (bad.status_code, bad.json()["error"]) == (400, "Expected a JSON object.")
        unknown = await http.post("/api/call", json=CALL, headers=own)
        assert "There is no server 'x'" in unknown.json()["error"]


async def test_two_inspectors_can_share_a_browser() -> None:
    with running({}) as (first, one), running({}) as (second, two):
        async with httpx2.AsyncClient() as http:
            for inspector, address in ((first, one), (second, two)):
                answer = await http.get(f"{address}/?token={inspector.guard.token}")
                assert answer.status_code == 303
                assert inspector.guard.token not in answer.headers["set-cookie"]
            for address in (one, two):
                assert (await http.get(f"{address}/api/servers")).status_code == 200
