"""The host as products deploy it: below a path, behind a proxy, on several origins, in several processes."""

import re
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from playwright.async_api import Browser, Page, expect
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse
from starlette.routing import Host as HostRoute
from starlette.routing import Mount, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from fanlight.host import Host
from support.browser import problems_of, view_frame
from support.calls import call_tool
from support.deployed import uvicorn_process
from support.deployed_app import greeting_program, greeting_server
from support.wire import serving_pages

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def opened(browser: Browser, url: str) -> AsyncIterator[tuple[Page, list[str]]]:
    page = await browser.new_page()
    problems = problems_of(page)
    try:
        await page.goto(url)
        yield page, problems
    finally:
        await page.close()


async def assert_shown(browser: Browser, url: str) -> None:
    """Assert that the page at an address shows the View of `support.deployed_app` with its data, without errors."""
    async with opened(browser, url) as (page, problems):
        await expect((await view_frame(page)).locator("#greeting")).to_have_text("Hello, World")
        assert problems == []


@pytest.mark.process
async def test_a_view_is_shown_by_uvicorn_with_a_root_path(browser: Browser) -> None:
    async with uvicorn_process("app", "--root-path", "/chat") as port:
        await assert_shown(browser, f"http://localhost:{port}/")


async def test_a_view_is_shown_behind_a_proxy_that_strips_a_prefix(browser: Browser) -> None:
    host = Host({"greeting": greeting_server()})
    program = host.wrap(greeting_program(host, src="/chat/apps"))

    async def proxy(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "lifespan":
            scope["path"] = scope["path"].removeprefix("/chat")
        await program(scope, receive, send)

    with serving_pages(proxy) as address:
        await assert_shown(browser, f"{address}/chat/")


def mounted(host: Host) -> ASGIApp:
    """Return a program in which the wrapped one is mounted, and which routes the names of the sandbox to the host."""
    sandbox = host.sandbox_asgi()

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with host:
            yield

    return Starlette(
        routes=[
            HostRoute("sandbox.localhost", sandbox),
            HostRoute("{app}.sandbox.localhost", sandbox),
            Mount("/chat", host.wrap(greeting_program(host, src="/chat/apps"))),
        ],
        lifespan=lifespan,
    )


async def test_a_view_of_a_mounted_program_is_shown(browser: Browser) -> None:
    with serving_pages(mounted(Host({"greeting": greeting_server()}))) as address:
        await assert_shown(browser, f"{address}/chat/")


@pytest.mark.parametrize("root_path", ["/chat", "/chat/", "/a/b"])
async def test_the_routes_of_the_sandbox_are_relative_to_the_root_path(root_path: str) -> None:
    host = Host({"greeting": greeting_server()})
    for app in (host.wrap(Starlette()), host.sandbox_asgi()):
        transport = httpx2.ASGITransport(app=app, root_path=root_path)
        async with httpx2.AsyncClient(transport=transport, base_url="http://sandbox.localhost:8000") as http:
            for path in ("/proxy", f"{root_path.rstrip('/')}/proxy"):
                response = await http.get(path, params={"host": "http://localhost:8000", "view": "*"})
                assert response.status_code == 200, path
            script = re.search(r'src="(sandbox\.js\?v=\w+)"', response.text)
            assert script is not None
            response = await http.get(f"{root_path.rstrip('/')}/{script[1]}")
            assert response.headers["content-type"].startswith("text/javascript")


FRONT_END = """<!doctype html><link rel="icon" href="data:,"><title>Front end</title>
<script type="module">
  const api = "%s";
  const { view, token } = await (await fetch(`${api}/view`)).json();
  await import(`${api}/apps/mcp-app.js`);
  document.body.innerHTML = `<mcp-app view="${view}" token="${token}" src="${api}/apps"></mcp-app>`;
</script>"""

OPEN_SOCKET = """async ({ api, view, token }) => {
  const socket = new WebSocket(`${api.replace("http", "ws")}/apps/socket`);
  const types = [];
  socket.onopen = () => socket.send(JSON.stringify({ type: "open", view, token }));
  return new Promise((resolve) => {
    socket.onclose = () => resolve(types);
    socket.onmessage = ({ data }) => {
      types.push(JSON.parse(data).type);
      if (types.at(-1) === "show") resolve(types);
    };
  });
}"""


def api(host: Host) -> ASGIApp:
    """Return a program without pages, whose routes pages of every origin may use. Its host decides for itself."""

    async def view(request: Request) -> JSONResponse:
        call = await call_tool(host, "greeting", "greet", {"name": "World"})
        return JSONResponse({"view": call.view, "token": call.token}, headers={"access-control-allow-origin": "*"})

    return host.wrap(Starlette(routes=[Route("/view", view)]))


@contextmanager
def front_end() -> Iterator[tuple[str, dict[str, str]]]:
    """Serve a page on an origin of its own, and yield its address and a dict for the address of the API."""
    addresses: dict[str, str] = {}

    async def page(request: Request) -> HTMLResponse:
        return HTMLResponse(FRONT_END % addresses["api"])

    with serving_pages(Starlette(routes=[Route("/", page)])) as address:
        yield address, addresses


async def test_a_front_end_on_another_origin_shows_a_view(browser: Browser) -> None:
    with front_end() as (address, addresses):
        host = Host({"greeting": greeting_server()}, origins=[address])
        with serving_pages(api(host)) as addresses["api"]:
            await assert_shown(browser, address)


async def test_a_page_on_an_origin_that_is_not_listed_gets_neither_the_element_nor_a_view(browser: Browser) -> None:
    """Its user has a token of a View, which an attacker could have stolen. Goes red without the check of the origin."""
    with front_end() as (address, addresses):
        host = Host({"greeting": greeting_server()}, origins=["https://app.example.com"])
        with serving_pages(api(host)) as addresses["api"]:
            async with opened(browser, address) as (page, problems):
                with anyio.fail_after(20):
                    while not any("blocked by CORS policy" in problem for problem in problems):
                        await page.evaluate("new Promise((done) => setTimeout(done, 10))")
                async with httpx2.AsyncClient() as http:
                    call = (await http.get(f"{addresses['api'].replace('localhost', '127.0.0.1')}/view")).json()
                types = await page.evaluate(OPEN_SOCKET, {"api": addresses["api"], **call})
                assert "show" not in types
                await page.goto(f"{addresses['api']}/nothing")  # a page of the API's own origin may
                types = await page.evaluate(OPEN_SOCKET, {"api": addresses["api"], **call})
                assert types[-1] == "show"


@pytest.mark.process
async def test_a_process_of_its_own_serves_the_sandbox_from_the_store(browser: Browser, tmp_path: Path) -> None:
    """The process has never connected to a server nor opened a View. Goes red if documents are not stored."""
    listener = socket.create_server(("127.0.0.1", 0))
    origin = f"http://sandbox.localhost:{listener.getsockname()[1]}"
    options: Any = {"store": f"sqlite:///{tmp_path / 'host.db'}", "sandbox_origin": origin}
    async with (
        uvicorn_process("sandbox", listener=listener, **options) as sandbox_port,
        uvicorn_process("app", **options) as port,
    ):
        await assert_shown(browser, f"http://localhost:{port}/")
        async with httpx2.AsyncClient() as http:
            headers = {"host": f"{'0' * 32}.sandbox.localhost:{sandbox_port}"}
            response = await http.get(f"http://127.0.0.1:{sandbox_port}/{'0' * 64}", headers=headers)
    assert response.status_code == 404
    assert "There is no such document, or it is too old." in response.text
