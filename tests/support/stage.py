"""A View in a real Chromium, under the standard's default CSP, with a real MCP server behind a scripted host."""

import base64
import functools
import shutil
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import anyio
from playwright.async_api import Browser, Frame, FrameLocator, Page, async_playwright
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from support.wire import Wire, WireError, serving

_HERE = Path(__file__).parent
_ROOT = _HERE.parents[1]

# What a host applies to a View that declares nothing (CSP-02, SBX-06).
DEFAULT_CSP = (
    "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; media-src 'self' data:; connect-src 'none'; frame-src 'none'; "
    "object-src 'none'; base-uri 'self'; form-action 'none'"
)

# As root, Chromium has no sandbox; the other switches keep it from looking for the internet by itself.
_SWITCHES = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
_SWITCHES += ["--disable-component-update", "--disable-sync"]
_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")

_WATCH = """
addEventListener("securitypolicyviolation", (e) =>
  window.reportViolation(`${e.effectiveDirective} ${e.blockedURI} ${e.sourceFile}:${e.lineNumber}`));
"""

_COUNT_COLOURS = """async (url) => {
  const picture = await createImageBitmap(await (await fetch(url)).blob());
  const paper = new OffscreenCanvas(picture.width, picture.height).getContext("2d");
  paper.drawImage(picture, 0, 0);
  const { data } = paper.getImageData(0, 0, picture.width, picture.height);
  const found = {};
  for (let i = 0; i < data.length; i += 4) {
    const name = "#" + [0, 1, 2].map((part) => data[i + part].toString(16).padStart(2, "0")).join("");
    found[name] = (found[name] ?? 0) + 1;
  }
  return found;
}"""


def browser_path() -> str:
    """Return where the system's own Chromium is."""
    path = next((found for name in _NAMES if (found := shutil.which(name))), None)
    assert path is not None, "A Chromium browser is missing: apt-get install chromium"
    return path


@asynccontextmanager
async def chromium(*switches: str) -> AsyncIterator[Browser]:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=browser_path(), args=[*_SWITCHES, *switches])
        yield browser
        await browser.close()


class Stage:
    """One View on show. `problems` is what must stay empty: violations, errors and stray requests."""

    def __init__(self, page: Page, client: Wire | None) -> None:
        self.page = page
        self.client = client
        self.view: FrameLocator = page.frame_locator("#view")
        self.problems: list[str] = []

    async def answer(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Answer a request of the View: tools and resources by the server, the rest with success."""
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

    async def said(self, method: str, count: int) -> list[dict[str, Any]]:
        """Wait until the View has sent `count` messages of a method, and return their params."""
        those = f"messages.filter(message => message.method === {method!r})"
        await self.page.wait_for_function(f"{those}.length >= {count}", timeout=15_000)
        params: list[dict[str, Any]] = await self.page.evaluate(f"{those}.map(message => message.params)")
        assert len(params) == count
        return params


async def until(frame: Frame, expression: str, seconds: float = 15) -> None:
    """Wait until an expression holds in a frame.

    Playwright's own waiting calls `eval` in the frame from its second look on, and a View's policy forbids that.
    """
    with anyio.fail_after(seconds):
        while not await frame.evaluate(f"Boolean({expression})"):
            await frame.evaluate("new Promise((done) => setTimeout(done, 10))")


async def colours(page: Page, png: bytes) -> dict[str, int]:
    """Return how often each colour is in a picture, such as "#ff0000"; the page decodes it."""
    data = f"data:image/png;base64,{base64.b64encode(png).decode()}"
    found: dict[str, int] = await page.evaluate(_COUNT_COLOURS, data)
    return found


@functools.cache
def _built(package: str) -> str:
    """Build the host page's script with a published AppBridge inside."""
    esbuild = _ROOT / "node_modules" / ".bin" / "esbuild"
    entry = _HERE / "bridge_host.js"
    command = [str(esbuild), str(entry), "--bundle", "--format=esm", f"--alias:app-bridge={package}/app-bridge"]
    return subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, check=True, timeout=60).stdout


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
) -> AsyncIterator[Stage]:
    """Show a document in a host: a scripted one, or `bridge`, an installed package that has an AppBridge."""

    async def host_page(request: Request) -> Response:
        return HTMLResponse(_HERE.joinpath("host.html").read_text(encoding="utf-8"))

    async def host_script(request: Request) -> Response:
        return Response(script, media_type="text/javascript")

    async def document(request: Request) -> Response:
        return HTMLResponse(html, headers={"content-security-policy": csp, "cache-control": "no-store"})

    scheme: Literal["dark", "light"] = "dark" if dark else "light"
    page = await browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
    stage = Stage(page, client)
    script = _HERE.joinpath("scripted_host.js").read_text(encoding="utf-8") if bridge is None else _built(bridge)
    app = Starlette(routes=[Route("/host", host_page), Route("/host.js", host_script), Route("/view", document)])
    with serving(app) as address:
        # Two names of one address: the host page and the View are of two origins.
        host_url = f"{address.replace('127.0.0.1', 'localhost')}/host"
        view_url = f"{address}/view"
        expected = {host_url, f"{host_url}.js", view_url}
        await page.expose_function("hostAnswers", stage.answer)
        await page.expose_function("reportViolation", lambda words: stage.problems.append(f"violation: {words}"))
        await page.add_init_script(_WATCH)
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
        await page.wait_for_function("initialized", timeout=15_000)
        try:
            yield stage
        finally:
            await page.close()


def _note_console(stage: Stage, kind: str, text: str) -> None:
    # Chromium's remark on the host page's own sandbox attribute, which SBX-03 asks for, is not about the View.
    if kind in ("error", "warning") and not text.startswith("An iframe which has both"):
        stage.problems.append(f"console {kind}: {text}")


def _note_request(stage: Stage, url: str, expected: set[str]) -> None:
    if url not in expected and not url.startswith(("data:", "blob:", "about:")):
        stage.problems.append(f"request: {url}")
