"""`<mcp-app>` in a single-page app with React: unmounting lets a View go, and mounting shows it again."""

import functools
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp.server import MCPServer
from playwright.async_api import Browser, Page, expect
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from fanlight import Apps, View
from fanlight.host import Host
from support.browser import problems_of, view_frames
from support.calls import call_tool, context_of
from support.node import run_esbuild
from support.wire import serving_pages

pytestmark = [pytest.mark.anyio, pytest.mark.process]

COMPONENT_PAGE = """<!doctype html><html lang="en"><title>Notes</title><link rel="icon" href="data:,">
<script type="application/json" id="calls">%s</script><div id="root"></div><script src="/product.js"></script>"""

PAGE = """<!doctype html><html lang="en"><title>Product</title><link rel="icon" href="data:,">
<script type="module" src="/apps/mcp-app.js"></script><script type="application/json" id="calls">%s</script>
<div id="root"></div><script src="/product.js"></script>"""

NOTE = """<!doctype html><title>Note</title><p id="out"></p><script type="module">
import { App } from "@modelcontextprotocol/ext-apps";
const app = new App({ name: "Note", version: "1.0" });
app.ontoolresult = async ({ structuredContent: { text } }) => {
  await app.updateModelContext({ content: [{ type: "text", text: `shown: ${text}` }] });
  out.textContent = text;
};
await app.connect();
</script>"""


@functools.cache
def product(mode: str, name: str = "react_page.jsx") -> str:
    """Bundle a page's script with React, as it is for developers or for users."""
    entry = str(Path(__file__).with_name(name))
    environment = f'--define:process.env.NODE_ENV="{mode}"'
    return run_esbuild(entry, "--bundle", "--format=iife", "--jsx=automatic", environment)


def notes() -> MCPServer[Any]:
    server: MCPServer[Any] = MCPServer("notes")
    apps = Apps(server)

    @apps.tool(view=View.html(NOTE, uri="ui://notes/note"))
    def show_note(text: str) -> dict[str, str]:
        return {"text": text}

    return server


@asynccontextmanager
async def chat(
    browser: Browser, host: Host, mode: str = "production", html: str = PAGE, name: str = "react_page.jsx"
) -> AsyncIterator[tuple[Page, list[str]]]:
    """Open a page with the Views of two calls."""

    async def page(request: Request) -> Response:
        calls = [await call_tool(host, "notes", "show_note", {"text": text}, conversation="c1") for text in "AB"]
        return HTMLResponse(html % json.dumps([{"view": call.view, "token": call.token} for call in calls]))

    async def script(request: Request) -> Response:
        return Response(product(mode, name), media_type="text/javascript")

    app = host.wrap(Starlette(routes=[Route("/", page), Route("/product.js", script)]))
    with serving_pages(app) as address:
        shown = await browser.new_page(viewport={"width": 700, "height": 900})
        problems = problems_of(shown)
        try:
            await shown.goto(address)
            yield shown, problems
        finally:
            await shown.close()


async def expect_notes(page: Page, *texts: str) -> None:
    """Wait until the Views show these texts, in the order of the page."""
    await view_frames(page, len(texts))
    for index, text in enumerate(texts):
        view = page.locator("mcp-app").nth(index).frame_locator("iframe").frame_locator("iframe")
        await expect(view.locator("#out")).to_have_text(text)


async def test_a_view_comes_back_with_its_data_after_another_route(browser: Browser) -> None:
    """Goes red if removing the element closes the View: it would say "This View was closed."."""
    host = Host({"notes": notes()})
    async with chat(browser, host) as (page, problems):
        await expect_notes(page, "A", "B")
        for _ in range(2):
            await page.get_by_role("button", name="Settings").click()
            await expect(page.locator("mcp-app")).to_have_count(0)
            assert len(await context_of(host, "c1")) == 2
            await page.get_by_role("button", name="Chat").click()
            await expect_notes(page, "A", "B")
            await expect(page.locator("mcp-app [part=context]").first).to_contain_text("shown: A")
        assert problems == []


async def test_a_double_mount_in_strict_mode_shows_each_view_once(browser: Browser) -> None:
    async with chat(browser, Host({"notes": notes()}), "development") as (page, problems):
        await expect_notes(page, "A", "B")
        assert problems == []


async def test_views_survive_a_list_that_is_put_into_another_order(browser: Browser) -> None:
    async with chat(browser, Host({"notes": notes()})) as (page, problems):
        await expect_notes(page, "A", "B")
        await page.get_by_role("button", name="Reverse").click()
        await expect_notes(page, "B", "A")
        await page.get_by_role("button", name="Reverse").click()
        await expect_notes(page, "A", "B")
        assert problems == []


async def test_a_view_that_was_closed_by_the_page_does_not_come_back(browser: Browser) -> None:
    host = Host({"notes": notes()})
    async with chat(browser, host) as (page, _):
        await expect_notes(page, "A", "B")
        first = await page.locator("mcp-app").first.evaluate_handle("element => element")
        await first.evaluate("element => element.close()")
        assert [context["content"][0]["text"] for context in await context_of(host, "c1")] == ["shown: B"]
        await first.evaluate("element => document.body.append(element)")
        await expect(page.get_by_role("alert").last).to_have_text("This View was closed.")


@pytest.mark.parametrize("mode", ["development", "production"])
async def test_the_component_shows_a_view_and_passes_on_its_events(mode: str, browser: Browser) -> None:
    host = Host({"notes": notes()})
    async with chat(browser, host, mode, COMPONENT_PAGE, "react_component.jsx") as (page, problems):
        await expect_notes(page, "A")
        element = page.locator("mcp-app")
        await expect(page.locator("output")).to_have_text("mcp-ready, shown: A")
        await expect(element).to_have_class("card")
        assert await page.locator("script[src$='/apps/mcp-app.js']").count() == 1
        assert await element.evaluate("element => element.getAttributeNames().sort()") == [
            "class",
            "src",
            "theme",
            "token",
            "view",
        ]

        # The callbacks of the latest render are called, and another View is shown in the same place.
        await page.get_by_role("button", name="Prefix").click()
        await expect(element).to_have_attribute("max-height", "200")
        await page.get_by_role("button", name="Next").click()
        await expect_notes(page, "B")
        await expect(page.locator("output")).to_have_text("mcp-ready, shown: A, mcp-ready, again: shown: B")

        await page.get_by_role("button", name="Close").click()
        await expect(element).to_have_count(0)
        assert [context["content"][0]["text"] for context in await context_of(host, "c1")] == ["shown: A"]
        assert problems == []
