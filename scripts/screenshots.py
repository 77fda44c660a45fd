"""Take the pictures of docs/images: `fanlight dev`, `fanlight chat`, and every example for the gallery, in two themes.

python scripts/screenshots.py [NAME ...]        # such as dev-dark, or gallery/outline
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

from playwright.async_api import Browser, FilePayload, Page, ViewportSize, expect  # noqa: E402

from examples.test_speech import recording  # noqa: E402
from fanlight.cli import main as fanlight  # noqa: E402
from fanlight.dev.targets import servers  # noqa: E402
from support.browser import chromium  # noqa: E402
from support.chatting import chatting  # noqa: E402
from support.examples import showing  # noqa: E402
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
OUTLINE = {
    "outline": {
        "question": "Why do visitors leave without an order?",
        "parts": [
            {
                "title": "They cannot find it",
                "share": 45,
                "parts": [
                    {"title": "Search returns nothing", "share": 70},
                    {"title": "The menu hides it", "share": 20},
                ],
            },
            {"title": "They do not want it at this price", "share": 30},
            {
                "title": "They cannot pay",
                "share": 25,
                "parts": [
                    {"title": "Their card is rejected", "share": 60},
                    {"title": "The form is too long", "share": 40},
                ],
            },
        ],
    }
}
SONG = {
    "title": "Ode to Joy",
    "key": "D",
    "notes": "F F G A | A G F E | D D E F | F3/2 E/2 E2 | F F G A | A G F E | D D E F | E3/2 D/2 D2 |"
    "E E F D | E F/2 G/2 F D | E F/2 G/2 F E | D E A,2 | F F G A | A G F E | D D E F | E3/2 D/2 D2 |",
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


# What the gallery shows of each example: the tool and its arguments.
GALLERY: dict[str, tuple[str, dict[str, Any]]] = {
    "clock": ("get_time", {"zone": "Asia/Tokyo"}),
    "todo": ("show_todos", {}),
    "chart": ("draw_chart", CHART),
    "wizard": ("start_booking", {}),
    "dashboard": ("show_dashboard", {}),
    "map": ("show_map", {"places": [{"name": "Paris"}, {"name": "Cairo"}, {"name": "Nairobi"}]}),
    "image": ("show_picture", {"name": "dunes"}),
    "game": ("start_game", {}),
    "shader": ("show_shader", {}),
    "speech": ("dictate", {"question": "How was your day?"}),
    "video": ("show_video", {}),
    "monitor": ("watch_log", {}),
    "outline": ("show_outline", OUTLINE),
    "scenario": ("show_scenario", {}),
    "document": ("open_document", {"find_words": "assert statement"}),
    "qr": ("make_qr_code", {"content": "https://modelcontextprotocol.io"}),
    "score": ("show_score", SONG),
    "sales": ("orders", {}),
    "import": ("import_csv", {}),
    "cart": ("show_cart", {}),
    "booking": ("book", {"address": {"city": "Paris"}, "parcels": [{"contents": "Books"}]}),
}


async def take_recording(path: Path, theme: str) -> None:
    """Take a picture of the example `speech` with a recording in it, which only a user can bring."""
    syllables = [(0.18, 0.3), (0.1, 0.05), (0.24, 0.6), (0.08, 0.1), (0.2, 0.4), (0.14, 0.2)]
    pause = [(0.6, 0.001)]
    sound = recording(
        *pause, *syllables, *syllables, *pause, *syllables[2:], *pause, *syllables, *syllables[1:], *pause
    )
    async with chromium() as browser, showing(browser, "speech", width=860, dark=theme == "dark") as stage:
        file: FilePayload = {"name": "answer.wav", "mimeType": "audio/wav", "buffer": sound}
        await stage.view.locator("#file").set_input_files([file])
        await expect(stage.view.get_by_role("status")).to_contain_text("3 spoken parts")
        await stage.page.locator("#view").screenshot(path=path, animations="disabled")


def take_for_gallery(name: str) -> None:
    """Take a picture of an example in each theme, with few colours, which halves the files."""
    from PIL import Image

    tool, arguments = GALLERY[name]
    for theme, file in (("light", f"{name}.png"), ("dark", f"{name}-dark.png")):
        path = IMAGES / "gallery" / file
        path.parent.mkdir(parents=True, exist_ok=True)
        what = ["shot", str(ROOT / "examples" / name), tool, "--args", json.dumps(arguments), "-o", str(path)]
        if name == "speech":
            asyncio.run(take_recording(path, theme))
        elif fanlight([*what, "--theme", theme, "--size", "860x600", "--full", "--strict", "--freeze"]):
            raise SystemExit(f"{file} was not taken.")
        colours = 256 if name == "shader" else 96  # a rendered scene has more shades than a page
        Image.open(path).convert("RGB").quantize(colours, dither=Image.Dither.NONE).save(path, optimize=True)


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
    wanted = sys.argv[1:] or [*POSES, *CHATS, *(f"gallery/{name}" for name in GALLERY)]
    for name in [name.removeprefix("gallery/") for name in wanted if name.startswith("gallery/")]:
        take_for_gallery(name)
    if others := [name for name in wanted if not name.startswith("gallery/")]:
        asyncio.run(take(others))
