"""Views that are embedded in results, as with mcp-ui, in the page of `fanlight dev`."""

from pathlib import Path

import pytest
from playwright.async_api import Browser, expect
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from support.inspecting import call, in_process, opened, running, view
from support.wire import serving

pytestmark = pytest.mark.anyio

EMBEDDED = """
from mcp.server import MCPServer
from fanlight import mcpui

server = MCPServer("old")

@server.tool()
def card():
    "A card, as mcp-ui makes one."
    content = {"type": "rawHtml", "htmlString": "<p id=card>from the result</p>"}
    return mcpui.create_ui_resource(uri="ui://old/card", content=content, encoding="text", legacy=True)

if __name__ == "__main__":
    server.run("stdio")
"""

SECOND = """legacy=True),
        mcpui.create_ui_resource(uri="ui://old/more", content={"type": "rawHtml", "htmlString": "<p>another"}),
    ]"""


AS_DICT = """legacy=True)
    return {"content": [made.to_dict()]}"""


async def test_each_embedded_view_has_its_own_card(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "old.py"
    path.write_text(EMBEDDED.replace("return mcpui", "return [mcpui").replace("legacy=True)", SECOND), encoding="utf-8")
    with running(in_process(str(path))) as (inspector, address):
        async with opened(browser, inspector, address) as (page, problems):
            await call(page, "card")
            cards = page.locator("article.card")
            await expect(cards).to_have_count(2)
            for number, (uri, text) in enumerate((("ui://old/card", "from the result"), ("ui://old/more", "another"))):
                card = cards.nth(number)
                await expect(card.locator("header").first).to_contain_text(f"View {number + 1} of 2: {uri}")
                frame = card.locator("mcp-app").frame_locator("iframe").frame_locator("iframe")
                await expect(frame.locator("p")).to_have_text(text)
            await cards.nth(1).get_by_text("View 2 of 2").click()
            await page.get_by_role("tab", name="Security").click()
            await expect(page.get_by_role("tabpanel")).to_contain_text("ui://old/more")
            await expect(page.get_by_role("tabpanel")).to_contain_text("older dialect: embedded ui:// resource")
            assert problems == []


async def test_a_view_that_cannot_be_shown_is_reported(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "old.py"
    twice = SECOND.replace("ui://old/more", "ui://old/card")
    path.write_text(EMBEDDED.replace("return mcpui", "return [mcpui").replace("legacy=True)", twice), encoding="utf-8")
    with running(in_process(str(path))) as (inspector, address):
        async with opened(browser, inspector, address) as (page, _):
            await call(page, "card")
            await expect(page.locator(".problems")).to_contain_text(
                "The result brings 2 Views, but only 1 of them can be shown."
            )


@pytest.mark.parametrize("policy", ["ask", "allow"])
async def test_an_external_page_is_shown_after_consent(policy: str, browser: Browser, tmp_path: Path) -> None:
    async def other(request: Request) -> Response:
        return HTMLResponse("<!doctype html><title>Elsewhere</title><p>from elsewhere")

    with serving(Starlette(routes=[Route("/", other)])) as elsewhere:
        path = tmp_path / "old.py"
        content = {"type": "externalUrl", "iframeUrl": elsewhere.replace("127.0.0.1", "pages.localhost")}
        original = '{"type": "rawHtml", "htmlString": "<p id=card>from the result</p>"}'
        path.write_text(EMBEDDED.replace(original, repr(content)), encoding="utf-8")
        with running(in_process(str(path)), policy=policy) as (inspector, address):
            async with opened(browser, inspector, address) as (page, problems):
                await call(page, "card")
                if policy == "ask":
                    await expect(page.get_by_text("wants to show the page http://pages.localhost")).to_be_visible()
                    await page.get_by_role("button", name="Always allow").click()
                await expect(view(page).frame_locator("iframe").locator("p")).to_have_text("from elsewhere")
                if policy == "ask":
                    await call(page, "card")  # "always" is for the next one, too
                    await expect(view(page).frame_locator("iframe").locator("p")).to_have_text("from elsewhere")
                assert problems == []


async def test_a_resource_that_is_returned_as_a_dict_is_explained(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "old.py"
    made = EMBEDDED.replace("return mcpui", "made = mcpui").replace("legacy=True)", AS_DICT)
    path.write_text(made, encoding="utf-8")
    with running(in_process(str(path))) as (inspector, address):
        async with opened(browser, inspector, address) as (page, _):
            await call(page, "card")
            await expect(page.locator("article.card")).to_contain_text("Return the resource itself")


async def test_an_embedded_view_is_shown_with_its_dialect(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "old.py"
    path.write_text(EMBEDDED, encoding="utf-8")
    with running(in_process(str(path))) as (inspector, address):
        async with opened(browser, inspector, address) as (page, problems):
            await call(page, "card")
            await expect(view(page).locator("#card")).to_have_text("from the result")
            await page.get_by_role("tab", name="Security").click()
            await expect(page.get_by_role("tabpanel")).to_contain_text("older dialect: text/html")
            await expect(page.get_by_role("tabpanel")).to_contain_text("Other hosts want it byte for byte")
            assert problems == []
