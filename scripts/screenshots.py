"""Take the pictures of docs/images: `fanlight dev` and `fanlight chat` with the examples, in their main states.

python scripts/screenshots.py [NAME ...]
"""

import asyncio
import json
import sys
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from playwright.async_api import Browser, Page, ViewportSize, expect  # noqa: E402

from fanlight.dev.targets import servers  # noqa: E402
from support.browser import chromium  # noqa: E402
from support.chatting import chatting  # noqa: E402
from support.inspecting import call, opened, running, view  # noqa: E402
from support.openai_server import ToolCall, openai_server  # noqa: E402

IMAGES = ROOT / "docs" / "images"
DESKTOP: ViewportSize = {"width": 1280, "height": 800}
PHONE: ViewportSize = {"width": 390, "height": 844}
MOUNTAINS = {"Everest": 8849, "K2": 8611, "Kangchenjunga": 8586, "Lhotse": 8516, "Makalu": 8485}
CHART = {
    "title": "The five highest mountains",
    "unit": "m",
    "rows": [{"label": name, "value": height} for name, height in MOUNTAINS.items()],
}
BLANK = {
    "report.py": """
from mcp.server import MCPServer
from fanlight import Apps

server = MCPServer("report")
apps = Apps(server)


@apps.tool(view="report.html")
def show_report() -> str:
    "Show the report."
    return "No news."


server.run()
""",
    "report.html": """<!doctype html>
<title>Report</title>
<h1>Report</h1>
<script src="rows.js"></script>
""",
    "rows.js": """// The rows of the report.
const rows = document.querySelector("#rows").children;
""",
}


def place(server: str, tool: str, arguments: dict[str, Any], **settings: str) -> str:
    more = "".join(f"&{name}={value}" for name, value in settings.items())
    return f"#/{server}/{tool}?args={quote(json.dumps(arguments))}{more}"


async def with_todos(page: Page) -> None:
    await call(page)
    await expect(view(page).get_by_text("Read the tutorial")).to_be_visible()


async def with_chart(page: Page) -> None:
    await call(page)
    await expect(view(page).get_by_text("8,849")).to_be_visible()


async def with_clock(page: Page) -> None:
    await call(page)
    await expect(view(page).locator("time").first).not_to_be_empty()


async def with_problem(page: Page) -> None:
    await call(page)
    await expect(page.locator(".problems pre")).to_contain_text("querySelector")


Pose = tuple[str, str, ViewportSize, str, Callable[[Page], Awaitable[None]]]
POSES: dict[str, Pose] = {
    "dev": ("", place("todo", "show_todos", {}), DESKTOP, "light", with_todos),
    "dev-dark": ("", place("clock", "get_time", {"zone": "Asia/Tokyo"}, panel="Security"), DESKTOP, "dark", with_clock),
    "dev-as-vscode": ("", place("chart", "draw_chart", CHART, host="vscode"), DESKTOP, "light", with_chart),
    "dev-blank": ("report", place("report", "show_report", {}, panel="Problems"), DESKTOP, "light", with_problem),
    "dev-phone": ("", place("todo", "show_todos", {}), PHONE, "light", with_todos),
    "dev-phone-dark": ("", place("clock", "get_time", {"zone": "UTC"}), PHONE, "dark", with_clock),
}


CHATS: dict[str, tuple[ViewportSize, Literal["light", "dark"]]] = {
    "chat": (DESKTOP, "light"),
    "chat-dark": (DESKTOP, "dark"),
    "chat-phone": (PHONE, "light"),
}


async def take_chat(browser: Browser, name: str) -> None:
    """Take a picture of a conversation with a chart in it."""
    viewport, scheme = CHATS[name]
    answer = "Mount Everest is **238 m** higher than K2. The other three are within **101 m** of each other."
    steps = (ToolCall("chart__draw_chart", CHART), answer)
    with (
        tempfile.TemporaryDirectory() as folder,
        openai_server(*steps) as model,
        chatting(servers([]), Path(folder) / "chat.db", model="gpt-5", base_url=model.url) as chat,
    ):
        async with chat.page(browser, viewport=viewport, color_scheme=scheme) as page:
            await expect(page.page.get_by_role("group", name="Tools to try").get_by_role("button")).to_have_count(6)
            await page.ask("Chart the five highest mountains. Which ones are close?")
            await expect(page.view().get_by_text("8,849")).to_be_visible()
            await page.page.wait_for_timeout(700)  # the View has its size, and the page has scrolled
            await page.page.screenshot(path=IMAGES / f"{name}.png", animations="disabled")
            print(f"{name}.png", *page.problems)


async def take(names: list[str]) -> None:
    IMAGES.mkdir(exist_ok=True)
    expect.set_options(timeout=30_000)
    with tempfile.TemporaryDirectory() as folder:
        for file, text in BLANK.items():
            (Path(folder) / file).write_text(text, encoding="utf-8")
        async with chromium() as browser:
            for name in [name for name in names if name in CHATS]:
                await take_chat(browser, name)
            for name in [name for name in names if name in POSES]:
                target, start, viewport, scheme, pose = POSES[name]
                found = servers([f"{folder}/report.py"] if target else [])
                with running(found, reload=False) as (inspector, address):
                    async with opened(browser, inspector, address, start, viewport=viewport, color_scheme=scheme) as (
                        page,
                        problems,
                    ):
                        await pose(page)
                        await page.locator(".card").first.scroll_into_view_if_needed()
                        await page.wait_for_timeout(700)  # the View has its size, and the page has scrolled
                        await page.screenshot(path=IMAGES / f"{name}.png", animations="disabled")
                        print(f"{name}.png", *problems)


if __name__ == "__main__":
    asyncio.run(take(sys.argv[1:] or [*POSES, *CHATS]))
