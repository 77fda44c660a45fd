"""A server that cannot be reached: all Views say so at once, in words for their user, and recover by themselves."""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from mcp.server import MCPServer
from playwright.async_api import Browser, expect
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from fanlight import Apps, View
from fanlight.host import (
    ConnectionLostError,
    CredentialsRejectedError,
    Host,
    NotConnectedError,
    Policy,
    SignInRequiredError,
    Timeouts,
)
from fanlight.host.errors import CallCancelledError, CallTimeoutError, ViewUnavailableError
from fanlight.host.host import runtime_of
from fanlight.host.upstream.events import ServerEvent, StatusChanged
from fanlight.testing.scripted import HostError, scripted_view
from support.browser import view_frame
from support.page import Page
from support.program import program_of
from support.wire import serving

pytestmark = pytest.mark.anyio


def deals() -> MCPServer[Any]:
    server: MCPServer[Any] = MCPServer("crm")
    apps = Apps(server)
    html = (
        "<!doctype html><title>Deals</title><h1>Deals</h1><script type=module>"
        'import { App } from "@modelcontextprotocol/ext-apps"; await new App({ name: "d", version: "1" }).connect();'
        "</script>"
    )

    @apps.tool(view=View.html(html, uri="ui://crm/deals"))
    def show_deals() -> str:
        """Show deals."""
        return "three"

    return server


class Outage:
    """An ASGI app around another that answers 503 while it is down, as a gateway does."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self.is_down = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and self.is_down:
            return await PlainTextResponse("no", 503)(scope, receive, send)
        await self._app(scope, receive, send)


async def bearer(user: str, server: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {user}"}


@asynccontextmanager
async def hosted(**options: Any) -> AsyncIterator[tuple[Host, Outage, str]]:
    outage = Outage(deals().streamable_http_app())
    with serving(outage) as address:
        timeouts = Timeouts(connect=0.3, tools=30)
        policy = Policy({"tools": "allow"})
        async with Host(
            {"crm": f"{address}/mcp"}, credentials=bearer, timeouts=timeouts, policy=policy, **options
        ) as host:
            yield host, outage, address


async def lose(host: Host, outage: Outage, user: str = "alice") -> None:
    """Let the server go down, and wait until the host has noticed."""
    outage.is_down = True
    connection = await runtime_of(host).servers.connect("crm", user)
    noticed = anyio.Event()

    def listen(event: ServerEvent) -> None:
        if isinstance(event, StatusChanged) and event.status.state == "retrying" and event.status.delay is not None:
            noticed.set()

    connection.add_listener(listen)
    connection.restart()
    with anyio.fail_after(60):
        await noticed.wait()


async def test_a_page_gets_the_reason_in_words_and_the_program_all_of_it() -> None:
    async with hosted() as (host, outage, address):
        call = await host.conversation("c1", user="alice").call_tool("crm__show_deals", {})
        await lose(host, outage)
        with pytest.raises(ViewUnavailableError) as caught:
            await Page().open(host, call.view, call.token, user="alice")
        assert caught.value.user_message == "The View cannot be shown: crm cannot be reached at the moment."
        assert not caught.value.needs_user
        assert address in str(caught.value)


async def test_a_view_opens_again_when_the_server_is_back() -> None:
    async with hosted() as (host, outage, _):
        call = await host.conversation("c1", user="alice").call_tool("crm__show_deals", {})
        await lose(host, outage)
        with pytest.raises(ViewUnavailableError):
            await Page().open(host, call.view, call.token, user="alice")
        outage.is_down = False
        await (await runtime_of(host).servers.connect("crm", "alice")).ready(within=10)
        page = await Page().open(host, call.view, call.token, user="alice")
        assert (await page.next())["type"] == "show"


async def test_all_views_of_a_user_fail_together() -> None:
    """Goes red if each reads the document for itself, after the one before it has failed."""
    async with hosted() as (host, outage, _):
        chat = host.conversation("c1", user="alice")
        calls = [await chat.call_tool("crm__show_deals", {}) for _ in range(4)]
        await lose(host, outage)
        failed: list[int] = []
        reads = 0

        async def open_view(number: int, call: Any) -> None:
            with pytest.raises(ViewUnavailableError):
                await Page().open(host, call.view, call.token, user="alice")
            failed.append(number)

        connection = await runtime_of(host).servers.connect("crm", "alice")
        read_resource = connection.read_resource

        async def counted(uri: str) -> Any:
            nonlocal reads
            reads += 1
            return await read_resource(uri)

        connection.read_resource = counted  # type: ignore[method-assign]
        async with anyio.create_task_group() as tasks:
            for number, call in enumerate(calls):
                tasks.start_soon(open_view, number, call)
        assert sorted(failed) == [0, 1, 2, 3]
        assert reads == 1


async def test_credentials_that_never_come_fail_together_too() -> None:
    asked: list[str] = []

    async def credentials(user: str, server: str) -> dict[str, str]:
        asked.append(user)
        await anyio.sleep_forever()
        return {}

    async with Host({"crm": deals()}, credentials=credentials, timeouts=Timeouts(credentials=0.1)) as host:
        servers = runtime_of(host).servers

        async def connect() -> None:
            with pytest.raises(NotConnectedError):
                await servers.connect("crm", "alice")

        async with anyio.create_task_group() as tasks:
            for _ in range(4):
                tasks.start_soon(connect)
        assert asked == ["alice"]


async def test_a_view_gets_words_for_its_user_and_the_audit_has_the_reason() -> None:
    async with hosted() as (host, outage, address):
        await host.conversation(user="alice").tools()
        async with scripted_view(host, "show_deals", name="crm", user="alice") as view:
            await lose(host, outage)
            with pytest.raises(HostError) as caught:
                await view.call_tool("show_deals")
            assert str(caught.value).startswith("crm cannot be reached at the moment.")
        records = [record async for record in host.audit(user="alice") if record.name == "tools/call"]
        assert [address in (record.data or {})["reason"] for record in records] == [True]


async def test_the_view_of_a_call_that_was_lost_gets_words_and_the_program_the_reason() -> None:
    async with hosted() as (host, outage, address):
        chat = host.conversation(user="alice")
        await chat.tools()
        call = await chat.begin("crm__show_deals")
        await lose(host, outage)
        with pytest.raises(NotConnectedError, match=address):
            await call.run({})
        record = await runtime_of(host).records.find(str(call.view))
        assert record is not None
        assert record.cancelled == "crm cannot be reached at the moment."


SECRETS = ("alice", "127.0.0.1", "http")


@pytest.mark.parametrize(
    ("error", "words", "needs_user"),
    [
        (CallTimeoutError("crm", "the tool x did not answer within 3 seconds."), "within 3 seconds", False),
        (ConnectionLostError("crm", "lost: http://127.0.0.1:1/ of alice"), "was lost before it answered", False),
        (NotConnectedError("crm", "not connected: http://127.0.0.1:1/"), "cannot be reached at the moment", False),
        (CredentialsRejectedError("crm", "alice", 401), "crm does not accept your sign-in any more.", True),
        (CredentialsRejectedError("crm", None, 403), "does not accept the credentials of this program", True),
        (SignInRequiredError("crm", "alice", "https://accounts.example"), "Sign in to crm first.", True),
    ],
)
def test_the_words_for_a_user_name_no_user_and_no_address(
    error: CallCancelledError, words: str, needs_user: bool
) -> None:
    assert words in error.user_message
    assert not [secret for secret in SECRETS if secret in error.user_message]
    assert error.needs_user is needs_user
    unavailable = ViewUnavailableError(f"The View cannot be shown: {error}", error)
    assert unavailable.user_message == f"The View cannot be shown: {error.user_message}"
    assert unavailable.needs_user is needs_user


async def test_a_view_in_a_page_says_that_its_server_is_down_and_comes_back_with_it(
    browser: Browser, caplog: pytest.LogCaptureFixture
) -> None:
    outage = Outage(deals().streamable_http_app())
    caplog.set_level(logging.WARNING)
    with serving(outage) as address:
        host = Host({"crm": f"{address}/mcp"}, timeouts=Timeouts(connect=0.3, tools=30))
        with program_of(host) as program:
            async with program.shown(browser, "crm", "show_deals", {}) as (page, _):
                await expect((await view_frame(page)).get_by_role("heading")).to_have_text("Deals")
                outage.is_down = True
                host.servers["crm"].restart()
                with anyio.fail_after(60):
                    while host.servers["crm"].status.state != "retrying":  # noqa: ASYNC110
                        await anyio.sleep(0.01)
                await page.locator("mcp-app").evaluate("element => element.reopen()")
                alert = page.get_by_role("alert")
                await expect(alert).to_contain_text("The View cannot be shown: crm cannot be reached at the moment.")
                await expect(alert.get_by_role("button", name="Try again")).to_be_visible()
                await expect(page.get_by_role("status")).to_have_text("Trying again…")
                outage.is_down = False
                await expect((await view_frame(page)).get_by_role("heading")).to_have_text("Deals")
                await expect(alert).to_be_empty()
    assert [address in record.getMessage() for record in caplog.records if "cannot show a View" in record.getMessage()]
