from pathlib import Path
from typing import Any

import httpx2
import pytest
from starlette.applications import Starlette
from starlette.types import ASGIApp, Receive, Scope, Send

from fanlight.host import Host, SqliteStore, StoreError
from fanlight.host.web.asgi import Web
from fanlight.host.web.origins import HostNames
from support.fake_web import APPLICATION, HTML, OPEN, PROXY_NAME, VIEW_NAME, Browser, FakeBackend, client

pytestmark = pytest.mark.anyio


@pytest.fixture
def backend() -> FakeBackend:
    return FakeBackend()


@pytest.fixture
def app(backend: FakeBackend) -> ASGIApp:
    return Web(backend, HostNames(), backend.lifetime).wrap(APPLICATION)


async def test_all_other_paths_go_to_the_application(app: ASGIApp) -> None:
    async with client(app) as http:
        assert (await http.get("/")).text == "application /"
        assert (await http.get("/apps/other")).text == "application /apps/other"
        assert (await http.get(f"/{'a' * 64}")).text.startswith("application")


async def test_a_request_for_a_sandbox_name_never_reaches_the_application(app: ASGIApp, backend: FakeBackend) -> None:
    async with client(app) as http:
        for name in (PROXY_NAME, VIEW_NAME, "x.sandbox.localhost:8000", ""):
            for path in ("/", "/apps/mcp-app.js", "/admin", "/../x"):
                response = await http.get(path, headers={"host": name})
                assert "application" not in response.text
                assert response.status_code in (404, 421)


@pytest.mark.parametrize("name", ["x.sandbox.localhost", f"x.{VIEW_NAME}", "sandbox.localhost@evil.example", ""])
async def test_an_unknown_name_below_the_sandbox_is_misdirected(app: ASGIApp, name: str) -> None:
    async with client(app) as http:
        assert (await http.get("/", headers={"host": name})).status_code == 421


async def test_paths_are_relative_to_the_root_path_of_the_application(backend: FakeBackend) -> None:
    app = Web(backend, HostNames(), backend.lifetime).wrap(APPLICATION)
    transport = httpx2.ASGITransport(app=app, root_path="/chat")
    async with httpx2.AsyncClient(transport=transport, base_url="http://localhost:8000") as http:
        assert (await http.get("/chat/apps/mcp-app.js")).headers["content-type"].startswith("text/javascript")
    with pytest.raises(ValueError, match="begins with a slash"):
        Web(backend, HostNames(), backend.lifetime, path="apps")


async def test_only_the_application_responds_under_another_name(app: ASGIApp, backend: FakeBackend) -> None:
    """DNS rebinding: such a page passes the check of its origin. Goes red without the check of the host name."""
    async with client(app) as http:
        headers = {"host": "evil.example:8000"}
        assert (await http.get("/apps/mcp-app.js", headers=headers)).status_code == 421
        assert (await http.get("/", headers=headers)).text == "application /"
    messages = await Browser(app, host="evil.example:8000", origin="http://evil.example:8000").talk(OPEN)
    assert [message["type"] for message in messages] == ["websocket.accept", "error", "websocket.close"]
    assert messages[1]["message"].startswith("The host does not serve the name 'evil.example:8000'.")
    assert "localhost" not in messages[1]["message"]
    assert backend.opened == []


async def test_the_sandbox_app_responds_only_to_sandbox_names(backend: FakeBackend) -> None:
    async with client(Web(backend, HostNames(), backend.lifetime).sandbox_asgi()) as http:
        assert (await http.get("/")).status_code == 421
        path = f"/{backend.document.address}"
        assert (await http.get(path, headers={"host": VIEW_NAME})).text == HTML


async def bare(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "lifespan":
        raise RuntimeError("this application has no lifespan")


@pytest.mark.parametrize("application", [APPLICATION, bare], ids=["with a lifespan", "without one"])
async def test_the_host_runs_as_long_as_the_application(backend: FakeBackend, application: ASGIApp) -> None:
    app = Web(backend, HostNames(), backend.lifetime).wrap(application)
    events = iter(["lifespan.startup", "lifespan.shutdown"])
    messages: list[tuple[str, int]] = []

    async def receive() -> Any:
        return {"type": next(events)}

    async def send(message: Any) -> None:
        messages.append((message["type"], backend.running))

    await app({"type": "lifespan", "asgi": {"version": "3.0"}, "state": {}}, receive, send)
    assert messages == [("lifespan.startup.complete", 1), ("lifespan.shutdown.complete", 0)]
    assert backend.running == 0


async def test_an_error_of_an_application_that_has_started_is_raised_and_ends_the_host(backend: FakeBackend) -> None:
    """Goes red if every error of a lifespan counts as "this application has none"."""

    async def fails(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "lifespan.startup.complete"})
        raise RuntimeError("out of cheese")

    messages: list[str] = []

    async def receive() -> Any:
        return {"type": "lifespan.startup"}

    async def send(message: Any) -> None:
        messages.append(message["type"])

    app = Web(backend, HostNames(), backend.lifetime).wrap(fails)
    with pytest.raises(RuntimeError, match="out of cheese"):
        await app({"type": "lifespan", "asgi": {"version": "3.0"}, "state": {}}, receive, send)
    assert messages == ["lifespan.startup.complete"]
    assert backend.running == 0


async def test_a_host_that_cannot_start_fails_the_lifespan(tmp_path: Path) -> None:
    """Goes red if the exception leaves the lifespan without a message: uvicorn would serve the program without it."""
    store = SqliteStore(tmp_path / "host.db")

    async def fail(*arguments: object) -> None:
        raise StoreError("The database was written by a newer Fanlight.")

    store.unfinished = fail  # type: ignore[method-assign, assignment]
    app = Host({}, store=store).wrap(Starlette())
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "lifespan.startup"}

    async def send(message: Any) -> None:
        sent.append(message)

    with pytest.raises(StoreError):
        await app({"type": "lifespan", "asgi": {"version": "3.0"}}, receive, send)
    assert sent == [{"type": "lifespan.startup.failed", "message": "The database was written by a newer Fanlight."}]
