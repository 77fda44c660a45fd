import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx2
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from fanlight.host.errors import ViewRefusedError
from fanlight.host.views.channel import encode
from fanlight.host.web.asgi import Socket, Web, proxy_url
from fanlight.host.web.document_server import Documents
from fanlight.host.web.origins import Names, Origins, app_label

pytestmark = pytest.mark.anyio

LABEL = app_label("clock", "ui://clock/view")
HTML = "<!doctype html><title>x</title>" + "y" * 2000
VIEW_NAME = f"{LABEL}.sandbox.localhost:8000"
ORIGINS = Names().origins("http", "localhost:8000")


class Desk:
    """A host with one document, whose Views say back what they hear."""

    def __init__(self) -> None:
        self.documents = Documents()
        self.document = self.documents.serve(LABEL, HTML, None, (), ORIGINS.ancestors)
        self.alive = 0
        self.reports: list[Any] = []
        self.lost_links = 0
        self.closed = False
        self.opened: list[tuple[dict[str, Any], Origins]] = []

    def violated(self, label: str, report: dict[str, Any]) -> None:
        self.reports.append((label, report))

    @asynccontextmanager
    async def lifetime(self) -> AsyncIterator[None]:
        self.alive += 1
        yield
        self.alive -= 1

    async def open(self, frame: dict[str, Any], origins: Origins, channel: Socket) -> "Echo":
        if frame["view"] == "nothing":
            raise ViewRefusedError("There is no such View.")
        self.opened.append((frame, origins))
        return Echo(self, channel)


class Echo:
    def __init__(self, desk: Desk, channel: Socket) -> None:
        self.desk, self.channel = desk, channel

    async def receive(self, frame: dict[str, Any], size: int) -> None:
        await self.channel.send(encode({"echo": frame}))

    async def lost(self, *, closed: bool) -> None:
        self.desk.lost_links += 1
        self.desk.closed = closed


async def hello(request: Request) -> PlainTextResponse:
    return PlainTextResponse(f"program {request.url.path}")


PROGRAM = Starlette(routes=[Route("/{rest:path}", hello)])


def client(app: ASGIApp) -> httpx2.AsyncClient:
    return httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), base_url="http://localhost:8000")


@pytest.fixture
def desk() -> Desk:
    return Desk()


@pytest.fixture
def app(desk: Desk) -> ASGIApp:
    return Web(desk, Names()).wrap(PROGRAM)


async def test_the_programs_own_routes_stay_its_own(app: ASGIApp) -> None:
    async with client(app) as http:
        assert (await http.get("/")).text == "program /"
        assert (await http.get("/apps/other")).text == "program /apps/other"
        assert (await http.get(f"/{'a' * 64}")).text.startswith("program")


async def test_a_sandbox_name_never_reaches_the_program(app: ASGIApp, desk: Desk) -> None:
    async with client(app) as http:
        for name in ("sandbox.localhost:8000", VIEW_NAME, "x.sandbox.localhost:8000", ""):
            for path in ("/", "/apps/mcp-app.js", "/admin", "/../x"):
                response = await http.get(path, headers={"host": name})
                assert "program" not in response.text
                assert response.status_code in (404, 421)


@pytest.mark.parametrize("name", ["x.sandbox.localhost", f"x.{VIEW_NAME}", "sandbox.localhost@evil.example", ""])
async def test_a_name_that_is_nobodys_is_misdirected(app: ASGIApp, name: str) -> None:
    async with client(app) as http:
        assert (await http.get("/", headers={"host": name})).status_code == 421


async def test_a_prefix_that_a_proxy_adds_is_not_ours(desk: Desk) -> None:
    app = Web(desk, Names()).wrap(PROGRAM)
    transport = httpx2.ASGITransport(app=app, root_path="/chat")
    async with httpx2.AsyncClient(transport=transport, base_url="http://localhost:8000") as http:
        assert (await http.get("/chat/apps/mcp-app.js")).headers["content-type"].startswith("text/javascript")
    with pytest.raises(ValueError, match="begins with a slash"):
        Web(desk, Names(), path="apps")


async def test_at_a_name_that_is_not_ours_only_the_program_answers(app: ASGIApp, desk: Desk) -> None:
    """A page whose name was made to lead here passes the check of its origin, and not that of its name."""
    async with client(app) as http:
        headers = {"host": "evil.example:8000"}
        assert (await http.get("/apps/mcp-app.js", headers=headers)).status_code == 421
        assert (await http.get("/", headers=headers)).text == "program /"
    heard = await Browser(app, host="evil.example:8000", origin="http://evil.example:8000").talk(OPEN)
    assert [message["type"] for message in heard] == ["websocket.close"]
    assert desk.opened == []


async def test_alone_the_sandbox_answers_for_its_own_names_only(desk: Desk) -> None:
    async with client(Web(desk, Names()).sandbox_asgi()) as http:
        assert (await http.get("/")).status_code == 421
        path = f"/{desk.document.address}"
        assert (await http.get(path, headers={"host": VIEW_NAME})).text == HTML


async def test_a_document_is_served_at_its_own_app_and_nowhere_else(app: ASGIApp, desk: Desk) -> None:
    path = f"/{desk.document.address}"
    async with client(app) as http:
        response = await http.get(path, headers={"host": VIEW_NAME})
        assert response.text == HTML
        assert response.headers["content-encoding"] == "gzip"
        assert response.headers["content-security-policy"] == desk.document.headers["content-security-policy"]
        assert response.headers["origin-agent-cluster"] == "?1"
        plain = await http.get(path, headers={"host": VIEW_NAME, "accept-encoding": "identity"})
        assert plain.text == HTML
        assert "content-encoding" not in plain.headers
        again = await http.get(path, headers={"host": VIEW_NAME, "if-none-match": response.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")
        other = f"{app_label('clock', 'ui://clock/other')}.sandbox.localhost:8000"
        assert (await http.get(path, headers={"host": other})).status_code == 404
        assert (await http.get(path, headers={"host": "sandbox.localhost:8000"})).status_code == 404
        for odd in (
            f"/{desk.document.address}/",
            f"/./{desk.document.address}x",
            "/..%2f",
            "/%00",
            "/../../etc/passwd",
        ):
            assert (await http.get(odd, headers={"host": VIEW_NAME})).status_code == 404
        assert (await http.post(path, headers={"host": VIEW_NAME})).status_code == 405


async def test_a_report_of_a_browser_is_taken_at_an_apps_name_only(app: ASGIApp, desk: Desk) -> None:
    report = {"csp-report": {"effective-directive": "img-src", "blocked-uri": "x" * 600, "line-number": 3}}
    async with client(app) as http:
        headers = {"host": VIEW_NAME}
        assert (await http.post("/report", json=report, headers=headers)).status_code == 204
        ((label, taken),) = desk.reports
        assert label == LABEL
        assert (taken["directive"], taken["blocked"], taken["line"]) == ("img-src", "x" * 500, 3)
        for body, status in (
            (b"", 400),
            (b"[]", 400),
            (b'{"csp-report":7}', 400),
            (b"\xff", 400),
            (b"x" * 70_000, 413),
        ):
            assert (await http.post("/report", content=body, headers=headers)).status_code == status
        assert (await http.get("/report", headers=headers)).status_code == 404
        assert (await http.post("/report", json=report, headers={"host": "sandbox.localhost:8000"})).status_code == 405
    assert len(desk.reports) == 1


async def test_the_proxy_is_served_for_our_own_origins_only(app: ASGIApp) -> None:
    async with client(app) as http:
        headers = {"host": "sandbox.localhost:8000"}
        response = await http.get(proxy_url(ORIGINS), headers=headers)
        assert response.status_code == 200
        policy = response.headers["content-security-policy"]
        assert "frame-ancestors http://localhost:8000" in policy
        assert "frame-src http://*.sandbox.localhost:8000;" in policy
        assert "default-src 'none'" in policy
        bad: list[dict[str, str]] = [
            {},
            {"view": "*"},
            {"host": "*", "view": "*"},
            {"host": "http://localhost:8000; script-src *", "view": "*"},
            {"host": "http://localhost:8000", "view": "https://evil.example"},
            {"host": "http://localhost:8000", "view": ""},
            {"host": ORIGINS.proxy, "view": "*"},
            {"host": ORIGINS.view(LABEL), "view": "*"},
        ]
        by_message = await http.get("/proxy", params={"host": "http://localhost:8000"}, headers=headers)
        assert by_message.headers["content-security-policy"] == "frame-ancestors http://localhost:8000"
        for query in bad:
            assert (await http.get("/proxy", params=query, headers=headers)).status_code == 400, query


async def test_the_empty_page_of_an_app_may_do_nothing_and_is_framed_by_the_host_page_alone(app: ASGIApp) -> None:
    async with client(app) as http:
        headers = {"host": f"{LABEL}.sandbox.localhost:8000"}
        response = await http.get("/warm", params={"host": "http://localhost:8000"}, headers=headers)
        assert response.status_code == 200
        assert response.headers["content-security-policy"] == (
            "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors http://localhost:8000"
        )
        assert response.headers["connection-allowlist"] == "(response-origin)"
        assert response.headers["origin-agent-cluster"] == "?1"
        assert "=(self" not in response.headers["permissions-policy"]
        assert "<script" not in response.text
        for host in ("", "*", "http://localhost:8000; script-src *", "http://evil.example", ORIGINS.view(LABEL)):
            refused = await http.get("/warm", params={"host": host}, headers=headers)
            assert refused.status_code == 400, host


async def test_whatever_an_apps_name_answers_its_origin_has_a_process_of_its_own(app: ASGIApp) -> None:
    async with client(app) as http:
        headers = {"host": f"{LABEL}.sandbox.localhost:8000"}
        for path in ("/nothing", "/warm", "/report", "/"):
            response = await http.get(path, headers=headers)
            assert (response.status_code >= 400, response.headers["origin-agent-cluster"]) == (True, "?1"), path


async def test_the_browsers_files_are_served_as_scripts(app: ASGIApp) -> None:
    async with client(app) as http:
        element = await http.get("/apps/mcp-app.js")
        sandbox = await http.get("/sandbox.js", headers={"host": "sandbox.localhost:8000"})
        for response in (element, sandbox):
            assert response.status_code == 200
            assert response.headers["content-type"].startswith("text/javascript")
            assert response.headers["x-content-type-options"] == "nosniff"


async def test_what_an_address_names_is_kept_and_the_rest_is_asked_for_again(app: ASGIApp) -> None:
    async with client(app) as http:
        headers = {"host": "sandbox.localhost:8000"}
        proxy = await http.get(proxy_url(ORIGINS), headers=headers)
        address = proxy.text.partition('src="')[2].partition('"')[0]
        script = await http.get(f"/{address}", headers=headers)
        for response in (proxy, script):
            assert "immutable" in response.headers["cache-control"]
        for path, name in (("/sandbox.js", headers), ("/apps/mcp-app.js", {})):
            response = await http.get(path, headers=name)
            assert response.headers["cache-control"] == "no-cache"
            again = await http.get(path, headers={**name, "if-none-match": response.headers["etag"]})
            assert (again.status_code, again.content) == (304, b"")
        stale = proxy_url(ORIGINS) + "x"
        assert (await http.get(stale, headers=headers)).headers["cache-control"] == "no-cache"


class Browser:
    """A page's socket, in memory."""

    def __init__(
        self, app: ASGIApp, *, host: str = "localhost:8000", origin: str | None = "http://localhost:8000"
    ) -> None:
        headers = [(b"host", host.encode())]
        if origin is not None:
            headers.append((b"origin", origin.encode()))
        self.scope: Scope = {
            "type": "websocket",
            "path": "/apps/socket",
            "query_string": b"",
            "headers": headers,
            "scheme": "ws",
            "server": ("localhost", 8000),
            "subprotocols": [],
        }
        self.app = app

    async def talk(self, *frames: str | dict[str, Any], hang_up: bool = True, code: int = 1000) -> list[Any]:
        """Say these frames, hang up, and return what was heard."""
        heard: list[Any] = []
        messages = [
            {"type": "websocket.receive", "text": frame} if isinstance(frame, str) else frame for frame in frames
        ]
        said = iter([{"type": "websocket.connect"}, *messages])

        async def receive() -> Any:
            message = next(said, None)
            if message is None and not hang_up:
                await anyio.sleep_forever()
            return message or {"type": "websocket.disconnect", "code": code}

        async def send(message: Any) -> None:
            heard.append(json.loads(message["text"]) if "text" in message else message)

        with anyio.fail_after(10):
            await self.app(self.scope, receive, send)
        return heard


OPEN = json.dumps({"type": "open", "view": "v1"})


async def test_a_page_of_our_own_origin_opens_a_view(app: ASGIApp, desk: Desk) -> None:
    heard = await Browser(app).talk(OPEN, '{"type":"message","message":{"a":1}}', "not json", "[]", '{"b":2}')
    assert heard[0]["type"] == "websocket.accept"
    assert heard[1:3] == [{"echo": {"type": "message", "message": {"a": 1}}}, {"echo": {"b": 2}}]
    assert desk.opened[0][1] == ORIGINS
    assert desk.lost_links == 1


@pytest.mark.parametrize(
    ("code", "closed"), [(1000, True), (1001, True), (1005, True), (1006, False), (1011, False), (1012, False)]
)
async def test_a_page_that_is_closed_is_told_from_one_that_is_lost(
    app: ASGIApp, desk: Desk, code: int, closed: bool
) -> None:
    await Browser(app).talk(OPEN, code=code)
    assert desk.closed is closed


@pytest.mark.parametrize("message", [{"bytes": b"\xff\xfe"}, {"bytes": b"{}", "text": None}])
async def test_a_frame_that_is_no_text_ends_the_socket(app: ASGIApp, desk: Desk, message: dict[str, Any]) -> None:
    for before in ([], [OPEN]):
        heard = await Browser(app).talk(*before, {"type": "websocket.receive", **message})
        assert heard[-1] == {"type": "websocket.close", "code": 1003, "reason": ""}
    assert desk.lost_links == 1


@pytest.mark.parametrize(
    "origin",
    [
        None,
        "null",
        "http://evil.example",
        "http://localhost:9000",
        "http://sandbox.localhost:8000",
        ORIGINS.view(LABEL),
    ],
)
async def test_a_page_of_another_origin_does_not(app: ASGIApp, desk: Desk, origin: str | None) -> None:
    heard = await Browser(app, origin=origin).talk(OPEN)
    assert [message["type"] for message in heard] == ["websocket.close"]
    assert desk.opened == []


@pytest.mark.parametrize("name", ["sandbox.localhost:8000", VIEW_NAME, "x.sandbox.localhost:8000"])
async def test_there_is_no_socket_at_a_sandbox_name(app: ASGIApp, desk: Desk, name: str) -> None:
    heard = await Browser(app, host=name, origin=f"http://{name}").talk(OPEN)
    assert [message["type"] for message in heard] == ["websocket.close"]
    assert desk.opened == []


@pytest.mark.parametrize("frame", ['{"type":"hello"}', '{"type":"open"}', '{"type":"open","view":7}'])
async def test_a_socket_begins_with_open(app: ASGIApp, desk: Desk, frame: str) -> None:
    heard = await Browser(app).talk(frame)
    assert heard[1]["type"] == "error"
    assert heard[2]["type"] == "websocket.close"
    assert desk.opened == []


async def test_a_page_may_ask_where_the_proxy_is_before_it_knows_its_view(app: ASGIApp, desk: Desk) -> None:
    heard = await Browser(app).talk('{"type":"warm"}', OPEN, '{"b":2}')
    assert heard[1] == {"type": "warm", "proxy": proxy_url(ORIGINS)}
    assert heard[2] == {"echo": {"b": 2}}
    assert len(desk.opened) == 1


async def test_a_socket_that_opens_nothing_is_not_kept_forever(desk: Desk) -> None:
    silent = Web(desk, Names(), open_timeout=0.01).wrap(PROGRAM)
    assert (await Browser(silent).talk(hang_up=False))[-1]["type"] == "websocket.close"
    warm = Web(desk, Names(), warm_timeout=0.01).wrap(PROGRAM)
    assert (await Browser(warm).talk('{"type":"warm"}', hang_up=False))[-1]["type"] == "websocket.close"


async def test_the_reason_of_a_refusal_reaches_the_page(app: ASGIApp) -> None:
    heard = await Browser(app).talk('{"type":"open","view":"nothing"}')
    assert heard[1] == {"type": "error", "reason": "There is no such View."}


async def test_authorize_decides_who_opens_which_view(desk: Desk) -> None:
    async def only_v1(socket: Any, view: str) -> bool:
        return view == "v1"

    for authorize in (only_v1, lambda socket, view: view == "v1"):
        app = Web(desk, Names(), authorize=authorize).wrap(PROGRAM)
        assert (await Browser(app).talk('{"type":"open","view":"v2"}'))[1]["type"] == "error"
        await Browser(app).talk(OPEN)
    assert len(desk.opened) == 2


async def test_a_frame_that_is_too_large_ends_the_socket(desk: Desk) -> None:
    app = Web(desk, Names(), max_frame=100).wrap(PROGRAM)
    heard = await Browser(app).talk(OPEN, json.dumps({"x": "y" * 200}), '{"b":2}')
    assert heard[-1] == {"type": "websocket.close", "code": 1009, "reason": ""}
    assert desk.lost_links == 1


async def bare(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "lifespan":
        raise RuntimeError("this program knows no lifespan")


@pytest.mark.parametrize("program", [PROGRAM, bare], ids=["with a lifespan", "without one"])
async def test_the_host_lives_as_long_as_the_program(desk: Desk, program: ASGIApp) -> None:
    app = Web(desk, Names()).wrap(program)
    said = iter(["lifespan.startup", "lifespan.shutdown"])
    heard: list[tuple[str, int]] = []

    async def receive() -> Any:
        return {"type": next(said)}

    async def send(message: Any) -> None:
        heard.append((message["type"], desk.alive))

    await app({"type": "lifespan", "asgi": {"version": "3.0"}, "state": {}}, receive, send)
    assert heard == [("lifespan.startup.complete", 1), ("lifespan.shutdown.complete", 0)]
    assert desk.alive == 0
