"""`<mcp-grants>` in a real Chromium, with a real host behind it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from playwright.async_api import Browser, Page, expect
from starlette.applications import Starlette
from starlette.requests import HTTPConnection, Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from fanlight.host import Grant, Host
from fanlight.host.host import runtime_of
from support.browser import problems_of
from support.wire import serving_pages

pytestmark = pytest.mark.anyio

RUN = Grant("crm", "ui://crm/deals", "tool", "delete_deal", "alice")
LINK = Grant("crm", "ui://crm/deals", "link", "docs.example.com", "alice")
FOREIGN = Grant("crm", "ui://crm/deals", "tool", "delete_deal", "bob")
PAGE = """<!doctype html><html lang="en"><title>Settings</title><link rel="icon" href="data:,">
<script type="module" src="/apps/mcp-grants.js"></script><mcp-grants src="/apps"></mcp-grants>"""
CSP = "default-src 'none'; script-src 'self'; connect-src 'self'; img-src data:; require-trusted-types-for 'script'"


def cookie(connection: HTTPConnection) -> str | None:
    return connection.cookies.get("user")


@asynccontextmanager
async def settings(
    browser: Browser, *grants: Grant, user: str | None = "alice", **options: Any
) -> AsyncIterator[tuple[Page, Host]]:
    """Open a page with the element, for a user who granted this."""
    host = Host({}, user=cookie)
    for grant in grants:
        await runtime_of(host).store.grant(grant)

    async def page(request: Request) -> Response:
        return HTMLResponse(PAGE, headers={"content-security-policy": CSP})

    with serving_pages(host.wrap(Starlette(routes=[Route("/", page)]))) as address:
        context = await browser.new_context(**options)
        if user is not None:
            await context.add_cookies([{"name": "user", "value": user, "url": address}])
        shown = await context.new_page()
        await shown.goto(address)
        yield shown, host
        await context.close()


async def test_a_user_sees_and_revokes_what_they_allowed(browser: Browser) -> None:
    async with settings(browser, RUN, LINK, FOREIGN) as (page, host):
        problems = problems_of(page)
        await expect(page.get_by_role("listitem")).to_have_count(2)
        await page.get_by_role("button", name="Revoke: An app of crm may run delete_deal without asking.").click()
        await expect(page.get_by_role("listitem")).to_have_count(1)
        status = page.get_by_role("status")
        await expect(status).to_have_text("Revoked. An app of crm has to ask before it may run delete_deal.")
        await expect(status).to_be_focused()
        assert await host.grants("alice") == [LINK]
        assert await host.grants("bob") == [FOREIGN]
        await page.get_by_role("button", name="Revoke").focus()
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("listitem")).to_have_count(0)
        assert await host.grants("alice") == []
        await page.locator("mcp-grants").evaluate("element => element.refresh()")
        await expect(status).to_have_text("No app may do anything without asking you.")
        assert problems == []


async def test_the_element_says_that_nobody_is_signed_in(browser: Browser) -> None:
    async with settings(browser, RUN, user=None) as (page, _):
        await expect(page.get_by_role("alert")).to_have_text("You are not signed in. Sign in and reload the page.")


async def test_a_grant_that_cannot_be_revoked_stays_with_the_reason(browser: Browser) -> None:
    async with settings(browser, RUN) as (page, host):
        await page.route("**/grants/revoke", lambda route: route.fulfill(status=503, body="Try later."))
        button = page.get_by_role("button", name="Revoke")
        await button.click()
        await expect(page.get_by_role("alert")).to_have_text("Try later.")
        await expect(button).to_be_enabled()
        assert await host.grants("alice") == [RUN]


async def test_a_page_on_another_origin_lists_and_revokes_for_its_user(browser: Browser) -> None:
    """Goes red if a response lacks a header that browsers want, which other tests cannot see."""
    addresses: list[str] = []

    async def front_end(request: Request) -> Response:
        (address,) = addresses
        return HTMLResponse(PAGE.replace("/apps", f"{address}/apps"))

    with serving_pages(Starlette(routes=[Route("/", front_end)])) as front:
        host = Host({}, user=cookie, origins=[front])
        for grant in (RUN, LINK, FOREIGN):
            await runtime_of(host).store.grant(grant)
        with serving_pages(host.wrap(Starlette())) as address:
            addresses.append(address)
            context = await browser.new_context()
            await context.add_cookies([{"name": "user", "value": "alice", "url": address}])
            page = await context.new_page()
            problems = problems_of(page)
            await page.goto(front)
            await expect(page.get_by_role("listitem")).to_have_count(2)
            await page.get_by_role("button", name="Revoke: An app of crm may run delete_deal without asking.").click()
            await expect(page.get_by_role("listitem")).to_have_count(1)
            assert await host.grants("alice") == [LINK]
            assert await host.grants("bob") == [FOREIGN]
            assert problems == []
            await context.close()
