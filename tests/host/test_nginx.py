"""The nginx of the documentation, in front of a program that is run as the documentation says."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, expect

from support.browser import problems_of, view_frame
from support.databases import RedisServer
from support.deployed import uvicorn_process
from support.docs import blocks
from support.nginx import HOW_TO, documented, documented_for_two_workers, proxied

pytestmark = [pytest.mark.anyio, pytest.mark.browser, pytest.mark.process]

HOST: Any = {"sandbox_origin": "https://sandbox.example.net", "hosts": ["chat.example.com"]}


def without(header: str, configuration: dict[str, str]) -> dict[str, str]:
    """Return a configuration that does not forward a header."""
    path = "snippets/chat-proxy.conf"
    text, count = re.subn(rf"^proxy_set_header {header} .*\n", "", configuration[path], flags=re.MULTILINE)
    assert count == 1
    return {**configuration, path: text}


def uvicorn_arguments() -> list[str]:
    """Return the settings of WebSockets in the command of the documentation."""
    command = next(
        code for language, _, code in blocks(HOW_TO) if language == "sh" and code.startswith("uvicorn app:app")
    )
    arguments = shlex.split(command)
    return arguments[arguments.index("--ws") :]


async def assert_shown(browser: Browser, url: str) -> None:
    page = await browser.new_page(ignore_https_errors=True)
    problems = problems_of(page)
    await page.goto(url)
    view = await view_frame(page)
    await expect(view.locator("#greeting")).to_have_text("Hello, World")
    assert [frame.url.partition("?")[0] for frame in page.frames[:2]] == [url, "https://sandbox.example.net/proxy"]
    assert problems == []
    await page.close()


async def test_a_view_is_shown_through_nginx(tmp_path: Path) -> None:
    async with (
        uvicorn_process("app", *uvicorn_arguments(), **HOST) as port,
        proxied(tmp_path, port, documented("conf.d/sandbox.conf")) as browser,
    ):
        await assert_shown(browser, "https://chat.example.com/")


async def test_a_view_is_shown_if_nothing_forwards_the_scheme(tmp_path: Path) -> None:
    """Goes red if the scheme of a page is that of the request."""
    configuration = without("X-Forwarded-Proto", documented("conf.d/sandbox.conf"))
    async with uvicorn_process("app", **HOST) as port, proxied(tmp_path, port, configuration) as browser:
        await assert_shown(browser, "https://chat.example.com/")


async def test_a_page_says_what_is_wrong_if_nothing_forwards_the_name(tmp_path: Path) -> None:
    configuration = without("Host", documented("conf.d/sandbox.conf"))
    async with (
        uvicorn_process("app", sandbox_origin=HOST["sandbox_origin"]) as port,
        proxied(tmp_path, port, configuration) as browser,
    ):
        page = await browser.new_page(ignore_https_errors=True)
        await page.goto("https://chat.example.com/")
        reason = (
            "its Origin header is 'https://chat.example.com', and the Host header is 'chat'. Expected the same name"
        )
        await expect(page.get_by_role("alert")).to_contain_text(reason)
        await page.close()


@pytest.mark.parametrize("arguments", [[], ["--root-path", "/chat"]], ids=["without root_path", "with root_path"])
async def test_a_view_is_shown_below_a_path(arguments: list[str], tmp_path: Path) -> None:
    configuration = documented("conf.d/sandbox.conf", "snippets/chat-prefix.conf")
    configuration["conf.d/chat.conf"] = configuration["conf.d/chat.conf"].replace(
        "    location / {", "    include snippets/chat-prefix.conf;\n\n    location / {"
    )
    async with (
        uvicorn_process("app", *arguments, src="/chat/apps", **HOST) as port,
        proxied(tmp_path, port, configuration) as browser,
    ):
        await assert_shown(browser, "https://chat.example.com/chat/")


async def test_a_view_is_shown_with_the_sandbox_in_a_process_of_its_own(tmp_path: Path) -> None:
    options = {**HOST, "store": f"sqlite:///{tmp_path / 'host.db'}"}
    async with uvicorn_process("sandbox", **options) as sandbox, uvicorn_process("app", **options) as port:
        configuration = documented("conf.d/sandbox-process.conf")
        replace = {"http://127.0.0.1:8100;": f"http://127.0.0.1:{sandbox};"}
        async with proxied(tmp_path, port, configuration, replace) as browser:
            await assert_shown(browser, "https://chat.example.com/")


async def test_a_view_is_shown_whichever_of_two_workers_nginx_chooses(
    tmp_path: Path, redis_server: RedisServer
) -> None:
    """Goes red without the bus and the store: the page, its socket and the document are on different workers."""
    redis_server.clear()
    options = {**HOST, "store": f"sqlite:///{tmp_path / 'host.db'}", "bus": redis_server.url}
    async with uvicorn_process("app", **options) as first, uvicorn_process("app", **options) as second:
        replace = {"server 127.0.0.1:8001;": f"server 127.0.0.1:{second};"}
        async with proxied(tmp_path, first, documented_for_two_workers(), replace) as browser:
            for _ in range(3):
                await assert_shown(browser, "https://chat.example.com/")
