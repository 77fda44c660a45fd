"""Tables, forms, pages and uploads in MCP Inspector, a host that is not ours: its web server, in Chromium."""

import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import pytest
from playwright.async_api import Browser, FilePayload, FrameLocator, Page, Request, expect

from support.browser import PATIENCE
from support.mcp_inspector import inspector_command, printed_address

pytestmark = [pytest.mark.anyio, pytest.mark.process]

SERVER = """
from typing import Any

from mcp.server import MCPServer
from pydantic import BaseModel

from fanlight import Apps
from fanlight.show import UploadedFile

server = MCPServer("shop")
apps = Apps(server)
pages = apps.pages("templates")
clicks = 0


class Order(BaseModel):
    name: str
    count: int = 1


@apps.show()
def list_prices() -> list[dict[str, Any]]:
    "List the prices."
    return [{"item": item, "price": price} for item, price in [("pear", 3), ("apple", 1), ("fig", 2)]]


@apps.form()
def order(order: Order) -> str:
    "Order something."
    return f"{order.count} for {order.name}"


@pages.view("counter.html")
def show_counter() -> dict[str, Any]:
    "Show a counter."
    return {"clicks": clicks}


@pages.action("counter.html")
def click(step: int) -> dict[str, Any]:
    global clicks
    clicks += step
    return {"clicks": clicks}


@apps.upload(accept=[".csv"])
def import_prices(file: UploadedFile) -> list[dict[str, Any]]:
    "Import prices."
    return [{"line": line} for line in file.path.read_text().splitlines()]


server.run()
"""

COUNTER = """<p id="clicks">{{ clicks }} clicks</p>
<button data-action="click" data-value-step="2">Twice</button>"""

FONTS = "fonts.googleapis.com"
"""The page of MCP Inspector asks for a stylesheet there, which it does without."""


@dataclass
class Inspector:
    """The page of MCP Inspector, connected to the server."""

    page: Page
    errors: list[str] = field(default_factory=list)
    hosts: set[str] = field(default_factory=set)
    """The host names that the page and the Views in it sent requests to."""

    async def show(self, tool: str) -> FrameLocator:
        """Open the View of a tool, as a user does."""
        await self.page.locator("button[data-variant=listItem]").filter(has_text=tool).click()
        open_app = self.page.get_by_test_id("open-app")
        frame = self.page.locator("iframe")
        # A tool without arguments is called by choosing it.
        await expect(open_app.or_(frame)).to_be_visible()
        if await open_app.is_visible():
            await open_app.click()
        return frame.content_frame.locator("iframe").content_frame

    def note(self, request: Request) -> None:
        if (url := urlsplit(request.url)).scheme in ("http", "https", "ws", "wss"):
            self.hosts.add(url.hostname or "")


@pytest.fixture(scope="module")
async def inspector(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Inspector]:
    """MCP Inspector with the server, started once because it takes seconds."""
    folder = tmp_path_factory.mktemp("shop")
    (folder / "server.py").write_text(SERVER, encoding="utf-8")
    (folder / "templates").mkdir()
    (folder / "templates" / "counter.html").write_text(COUNTER, encoding="utf-8")
    command = inspector_command([sys.executable, str(folder / "server.py")])
    with printed_address(command, folder) as address:
        page = await browser.new_page(viewport={"width": 1280, "height": 1000})
        page.set_default_timeout(1000 * PATIENCE)
        inspector = Inspector(page)
        page.on("request", inspector.note)
        page.on("pageerror", lambda error: inspector.errors.append(str(error)))
        await page.route(f"**://{FONTS}/**", lambda route: route.abort())
        await page.goto(address)
        # The inputs are invisible, below what is drawn for them.
        await page.get_by_role("switch").dispatch_event("click")
        await page.locator("input[value=Apps]").dispatch_event("click")
        yield inspector
        await page.close()
    assert inspector.errors == []
    assert inspector.hosts <= {"127.0.0.1", "localhost", FONTS}


async def test_a_table_is_sorted_in_mcp_inspector(inspector: Inspector) -> None:
    view = await inspector.show("list_prices")
    rows = view.locator("tbody tr")
    await expect(rows).to_have_text(["pear3", "apple1", "fig2"])
    await view.get_by_role("columnheader", name="price").click()
    await expect(rows).to_have_text(["apple1", "fig2", "pear3"])


async def test_a_form_is_submitted_in_mcp_inspector(inspector: Inspector) -> None:
    view = await inspector.show("order")
    await view.get_by_label("Name").fill("Ada")
    await view.get_by_label("Count").fill("3")
    await view.get_by_role("button", name="Submit").click()
    await expect(view.locator("main")).to_contain_text("3 for Ada")


async def test_a_button_of_a_rendered_page_calls_its_action_in_mcp_inspector(inspector: Inspector) -> None:
    view = await inspector.show("show_counter")
    await expect(view.locator("#clicks")).to_have_text("0 clicks")
    await view.get_by_role("button", name="Twice").click()
    await expect(view.locator("#clicks")).to_have_text("2 clicks")


async def test_a_file_is_uploaded_in_mcp_inspector(inspector: Inspector) -> None:
    view = await inspector.show("import_prices")
    file = FilePayload(name="prices.csv", mimeType="text/csv", buffer=b"pear,3\nfig,2\n")
    await view.locator("input[type=file]").set_input_files([file])
    await expect(view.locator("tbody tr")).to_have_text(["pear,3", "fig,2"])
