"""The host as products deploy it: below a path, behind a proxy, on several origins, in several processes."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx2
import pytest
from playwright.async_api import Browser, Page, expect
from starlette.applications import Starlette
from starlette.routing import Host as HostRoute
from starlette.routing import Mount
from starlette.types import ASGIApp, Receive, Scope, Send

from fanlight.host import Host
from support.browser import problems_of, view_frame
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
