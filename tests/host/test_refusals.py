import logging
import re

import pytest
from starlette.types import ASGIApp

from fanlight.host.web.asgi import Web
from fanlight.host.web.origins import HostNames
from support.fake_web import APPLICATION, OPEN, VIEW_NAME, Browser, FakeBackend, client

pytestmark = pytest.mark.anyio


def web(names: HostNames = HostNames()) -> Web:  # noqa: B008  immutable
    backend = FakeBackend()
    return Web(backend, names, backend.lifetime)


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]


async def get(app: ASGIApp, name: str, path: str = "/apps/mcp-app.js") -> int:
    async with client(app) as http:
        return (await http.get(path, headers={"host": name})).status_code


@pytest.mark.parametrize(
    ("names", "authority", "expected"),
    [
        (HostNames(), "chat.example.com", "names of this program are: localhost and loopback addresses.*hosts=["),
        (
            HostNames("https://sandbox.example.net", frozenset({"b.example", "a.example"})),
            "10.0.0.7:8000",
            "names of this program are: a.example, b.example. Let the reverse proxy forward the Host header",
        ),
        (HostNames(), "x.sandbox.localhost", "names below sandbox.localhost are those of apps"),
        (HostNames(), "a\tb", "Refused a request with the Host header 'a\\tb'"),
    ],
)
async def test_a_name_that_is_not_served_is_logged_with_what_to_configure(
    names: HostNames, authority: str, expected: str, caplog: pytest.LogCaptureFixture
) -> None:
    assert await get(web(names).wrap(APPLICATION), authority) == 421
    (message,) = warnings(caplog)
    assert re.search(".*".join(map(re.escape, expected.split(".*"))), message), message
    assert repr(authority) in message


async def test_a_process_for_the_sandbox_says_that_it_serves_nothing_else(caplog: pytest.LogCaptureFixture) -> None:
    app = web().sandbox_asgi()
    assert await get(app, "localhost:8000") == 421
    (message,) = warnings(caplog)
    assert "'localhost:8000': this process serves only sandbox.localhost and the names below it. Route" in message


@pytest.mark.parametrize(
    ("scheme", "host", "origin", "expected"),
    [
        (
            "ws",
            "backend:8000",
            "https://chat.example.com",
            "its Origin header is 'https://chat.example.com', and the Host header is 'backend:8000'. Expected the same "
            "name and port in both.",
        ),
        ("ws", "localhost:8000", "http://localhost:9000", "add that: Host(origins=[...])."),
        ("ws", "localhost:8000", None, "let the reverse proxy forward it"),
        ("wss", "localhost:8000", "http://localhost:8000", "but the request came with https. Redirect pages"),
        ("ws", "localhost:8000", "http://x\r\nERROR: forged", r"'http://x\r\nERROR: forged'"),
        ("ws", "localhost:8000", "http://" + "x" * 10_000, "x…'"),
    ],
)
async def test_a_page_that_may_not_connect_is_logged_with_what_to_configure(
    scheme: str, host: str, origin: str | None, expected: str, caplog: pytest.LogCaptureFixture
) -> None:
    page = Browser(web(HostNames("https://sandbox.example.net")).wrap(APPLICATION), host=host, origin=origin)
    page.scope["scheme"] = scheme
    await page.talk(OPEN)
    (message,) = warnings(caplog)
    assert expected in message
    assert len(message) < 1000
    assert "\n" not in message


async def test_refused_requests_cannot_flood_the_log(caplog: pytest.LogCaptureFixture) -> None:
    """Goes red without the rate limit. The kinds have one each, so that one does not hide the other."""
    app = web().wrap(APPLICATION)
    for number in range(20):
        await get(app, f"name-{number}.example")
        await Browser(app, origin=f"http://page-{number}.example").talk(OPEN)
    assert [re.findall(r"[a-z]+-\d+", message) for message in warnings(caplog)] == [["name-0"], ["page-0"]]


async def test_the_next_warning_counts_what_was_not_logged(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1000.0
    monkeypatch.setattr("fanlight.host.web.refusals.anyio.current_time", lambda: now)
    app = web().wrap(APPLICATION)
    for _ in range(3):
        await get(app, "other.example")
    now += 61
    await get(app, "other.example")
    assert [message.endswith("2 more were refused since the last warning.") for message in warnings(caplog)] == [
        False,
        True,
    ]


async def test_what_is_served_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    app = web().wrap(APPLICATION)
    assert await get(app, "localhost:8000") == 200
    assert await get(app, "other.example", "/") == 200  # the application's own route
    assert await get(app, VIEW_NAME, "/nothing") == 404
    await Browser(app).talk(OPEN)
    assert warnings(caplog) == []
