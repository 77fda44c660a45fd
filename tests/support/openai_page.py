"""A View in a real Chromium, in a page that has `window.openai` and no MCP Apps host: what ChatGPT was at first."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from playwright.async_api import Browser, Frame, Page
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from support.stage import DEFAULT_CSP
from support.wire import Wire, serving

EMULATION = Path(__file__).with_name("openai_page.js").read_text(encoding="utf-8")
_AROUND = (
    '<!doctype html><title>ChatGPT</title><link rel="icon" href="data:,"><iframe id="view" src="{}" width="640" '
    'height="480" sandbox="allow-scripts allow-same-origin allow-forms"></iframe>'
)


class Widget:
    """One View on show. `problems` is what must stay empty: violations and errors."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.view = page.frame_locator("#view")
        self.problems: list[str] = []

    @property
    def frame(self) -> Frame:
        return self.page.frames[1]

    async def set(self, **globals: Any) -> None:
        """Change `window.openai`, as ChatGPT does after an event."""
        await self.frame.evaluate("(globals) => setGlobals(globals)", globals)

    async def calls(self, name: str) -> list[Any]:
        """Return the arguments of each call of one member."""
        calls: list[Any] = await self.frame.evaluate("(name) => calls.filter(([member]) => member === name)", name)
        return [arguments for _, *arguments in calls]


def with_openai(html: str) -> str:
    """Put `window.openai` into a document, before its own scripts."""
    assert html.count("<head>") == 1
    return html.replace("<head>", f"<head><script>{EMULATION}</script>")


@asynccontextmanager
async def on_openai(browser: Browser, html: str, client: Wire) -> AsyncIterator[Widget]:
    async def around(request: Request) -> Response:
        return HTMLResponse(_AROUND.format(f"{address}/view"))

    async def document(request: Request) -> Response:
        return HTMLResponse(with_openai(html), headers={"content-security-policy": DEFAULT_CSP})

    async def call(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        result = await client.call(name, **arguments)
        text = "".join(block.get("text", "") for block in result["content"])
        return {"result": text, **{key: result[key] for key in ("structuredContent", "isError") if key in result}}

    page = await browser.new_page()
    widget = Widget(page)
    page.on("pageerror", lambda error: widget.problems.append(f"error: {error}"))
    page.on("console", lambda message: _note(widget, message.type, message.text))
    await page.expose_function("callsTool", call)
    with serving(Starlette(routes=[Route("/around", around), Route("/view", document)])) as address:
        # Two names of one address: the page and the View are of two origins.
        await page.goto(f"{address.replace('127.0.0.1', 'localhost')}/around")
        try:
            yield widget
        finally:
            await page.close()


def _note(widget: Widget, kind: str, text: str) -> None:
    if kind in ("error", "warning") and not text.startswith("An iframe which has both"):
        widget.problems.append(f"console {kind}: {text}")
