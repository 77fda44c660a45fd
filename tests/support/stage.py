"""A View in a real Chromium, under the standard's default CSP, with a real MCP server behind a scripted host."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

from mcp_types import METHOD_NOT_FOUND
from playwright.async_api import Browser, FrameLocator, Page
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from support.node import bundled
from support.wire import Wire, WireError, serving

_HERE = Path(__file__).parent

# What a host applies to a View that declares nothing (CSP-02, SBX-06).
DEFAULT_CSP = (
    "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; media-src 'self' data:; connect-src 'none'; frame-src 'none'; "
    "object-src 'none'; base-uri 'self'; form-action 'none'"
)

_WATCH = """
addEventListener("securitypolicyviolation", (e) =>
  window.reportViolation(`${e.effectiveDirective} ${e.blockedURI} ${e.sourceFile}:${e.lineNumber}`));
"""


class Stage:
    """One View on show. `problems` is what must stay empty: violations, errors and stray requests."""

    def __init__(self, page: Page, client: Wire | None) -> None:
        self.page = page
        self.client = client
        self.view: FrameLocator = page.frame_locator("#view")
        self.problems: list[str] = []
        self.unsupported: set[str] = set()
        """Methods that this host does not have."""

    async def answer(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Answer a request of the View: tools and resources by the server, the rest with success."""
        if method in self.unsupported:
            return {"error": {"code": METHOD_NOT_FOUND, "message": f"Method not found: {method}"}}
        if method == "ui/request-display-mode":
            return {"result": {"mode": params["mode"]}}
        if method.startswith("ui/"):
            return {"result": {}}
        assert self.client is not None
        try:
            sent = {key: value for key, value in params.items() if key != "_meta"}
            return {"result": await self.client.request(method, sent)}
        except WireError as error:
            return {"error": error.error}

    async def notify(self, method: str, params: dict[str, Any]) -> None:
        await self.page.evaluate("([method, params]) => notify(method, params)", [method, params])

    async def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Ask the View something, and return its answer: a `result` or an `error`."""
        answer: dict[str, Any] = await self.page.evaluate("([method, params]) => ask(method, params)", [method, params])
        return answer

    async def run(self, tool: str, arguments: dict[str, Any]) -> None:
        """Call a tool as a model would, and show the View its input and result."""
        assert self.client is not None
        await self.notify("ui/notifications/tool-input", {"arguments": arguments})
        await self.notify("ui/notifications/tool-result", await self.client.call(tool, **arguments))

    async def sent(self, method: str, count: int) -> list[dict[str, Any]]:
        """Wait until the View has sent `count` messages of a method, and return their params."""
        those = f"messages.filter(message => message.method === {method!r})"
        await self.page.wait_for_function(f"{those}.length >= {count}", timeout=60_000)
        params: list[dict[str, Any]] = await self.page.evaluate(f"{those}.map(message => message.params)")
        assert len(params) == count
        return params


@asynccontextmanager
async def on_stage(
    browser: Browser,
    html: str,
    client: Wire | None = None,
    *,
    bridge: str | None = None,
    csp: str = DEFAULT_CSP,
    context: dict[str, Any] | None = None,
    width: int = 640,
    height: int = 480,
    dark: bool = False,
    init_script: str = "",
) -> AsyncIterator[Stage]:
    """Show a document in a host: a scripted one, or `bridge`, an installed package that has an AppBridge.

    `init_script` runs in each frame before its own scripts.
    """

    async def host_page(request: Request) -> Response:
        return HTMLResponse(_HERE.joinpath("host.html").read_text(encoding="utf-8"))

    async def host_script(request: Request) -> Response:
        return Response(script, media_type="text/javascript")

    async def document(request: Request) -> Response:
        return HTMLResponse(html, headers={"content-security-policy": csp, "cache-control": "no-store"})

    scheme: Literal["dark", "light"] = "dark" if dark else "light"
    page = await browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
    stage = Stage(page, client)
    script = (
        _HERE.joinpath("scripted_host.js").read_text(encoding="utf-8")
        if bridge is None
        else bundled(_HERE / "bridge_host.js", bridge)
    )
    app = Starlette(routes=[Route("/host", host_page), Route("/host.js", host_script), Route("/view", document)])
    with serving(app) as address:
        # Two names of one address: the host page and the View are of two origins.
        host_url = f"{address.replace('127.0.0.1', 'localhost')}/host"
        view_url = f"{address}/view"
        expected = {host_url, f"{host_url}.js", view_url}
        await page.expose_function("hostAnswers", stage.answer)
        await page.expose_function("reportViolation", lambda words: stage.problems.append(f"violation: {words}"))
        await page.add_init_script(_WATCH + init_script)
        page.on("pageerror", lambda error: stage.problems.append(f"error: {error}"))
        page.on("console", lambda message: _note_console(stage, message.type, message.text))
        page.on("request", lambda request: _note_request(stage, request.url, expected))
        await page.goto(host_url)
        defaults = {
            "theme": scheme,
            "displayMode": "inline",
            "availableDisplayModes": ["inline", "fullscreen"],
            "containerDimensions": {"maxHeight": 2000},
            "locale": "en-GB",
            "timeZone": "UTC",
            "platform": "web",
        }
        await page.evaluate("([url, context]) => start(url, context)", [view_url, defaults | (context or {})])
        await page.wait_for_function("initialized", timeout=60_000)
        try:
            yield stage
        finally:
            await page.close()


def _note_console(stage: Stage, kind: str, text: str) -> None:
    # Chromium's remark on the host page's own sandbox attribute, which SBX-03 asks for, is not about the View. Nor is
    # the one of its graphics driver when the test takes a picture.
    is_remark = text.startswith("An iframe which has both") or "GPU stall due to ReadPixels" in text
    if kind in ("error", "warning") and not is_remark:
        stage.problems.append(f"console {kind}: {text}")


def _note_request(stage: Stage, url: str, expected: set[str]) -> None:
    if url not in expected and not url.startswith(("data:", "blob:", "about:")):
        stage.problems.append(f"request: {url}")
