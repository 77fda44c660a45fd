"""Show the probe in hosts that are not ours: a published bridge, or a scripted host with faults."""

import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
from playwright.async_api import Browser, Frame, Page, Route
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route as WebRoute
from starlette.types import ASGIApp, Receive, Scope, Send

from fanlight.probe.server import probe_server
from fanlight.protocol.csp import Csp
from fanlight.protocol.headers import policy, view_directives
from fanlight.rules.table import HOST_RULES
from support.browser import PATIENCE, until
from support.node import bundled
from support.wire import serving

_PAGES = Path(__file__).parent / "pages"
_CSP = Csp(
    connect_domains=["https://connect.fanlight-probe.invalid"],
    resource_domains=["https://resource.fanlight-probe.invalid", "https://*.wild.fanlight-probe.invalid"],
    frame_domains=["https://frame.fanlight-probe.invalid"],
    base_uri_domains=["https://base.fanlight-probe.invalid"],
)
_DOCUMENT = '<!doctype html><link rel="icon" href="data:,"><style>iframe{width:600px;height:300px;border:0}</style>'


@asynccontextmanager
async def shown_by(
    browser: Browser,
    report: Path,
    script: str,
    *,
    package: str = "ext-apps-2",
    faults: Sequence[str] = (),
    arguments: dict[str, Any] | None = None,
) -> AsyncIterator[Page]:
    """Show the probe in the page of a host, which `script` plays."""

    async def host_page(request: Request) -> Response:
        return HTMLResponse(f'{_DOCUMENT}<body><script type="module" src="/host.js"></script>')

    async def host_script(request: Request) -> Response:
        return Response(bundled(_PAGES / script, package), media_type="text/javascript")

    async def sandbox(request: Request) -> Response:
        code = _PAGES.joinpath("sandbox.js").read_text(encoding="utf-8")
        origin = f"http://localhost:{request.url.port}"
        # The View inherits the policy of the proxy that frames it.
        headers = {} if "no policy" in faults else {"content-security-policy": policy(view_directives(_CSP, [origin]))}
        return HTMLResponse(f"<!doctype html><body><script>{code}</script>", headers=headers)

    async def plan(request: Request) -> Response:
        call = {"tool": "probe_host", "arguments": arguments or {"note": "hello"}, "faults": list(faults)}
        return JSONResponse({**call, "version": package, "sandbox": f"http://127.0.0.1:{request.url.port}/sandbox"})

    routes = [WebRoute("/host", host_page), WebRoute("/host.js", host_script)]
    pages = Starlette(routes=[*routes, WebRoute("/sandbox", sandbox), WebRoute("/plan.json", plan)])
    page = await browser.new_page(viewport={"width": 800, "height": 700})
    await page.route("https://*.invalid/**", _abort)
    with serving(_beside(pages, probe_server(report).streamable_http_app())) as address:
        try:
            await page.goto(f"{address.replace('127.0.0.1', 'localhost')}/host")
            yield page
        finally:
            await page.close()


async def _abort(route: Route) -> None:
    await route.abort()


def _beside(pages: ASGIApp, mcp: ASGIApp) -> ASGIApp:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        is_page = scope["type"] == "http" and scope["path"] != "/mcp"
        await (pages if is_page else mcp)(scope, receive, send)

    return app


async def probe_frame(page: Page) -> Frame:
    """Wait until the probe is shown, and return its frame."""
    with anyio.fail_after(PATIENCE):
        while True:
            for frame in page.frames:
                if frame is not page.main_frame and await _is_probe(frame):
                    return frame
            await page.evaluate("new Promise((done) => setTimeout(done, 50))")


async def _is_probe(frame: Frame) -> bool:
    try:
        return bool(await frame.evaluate("document.title === 'Host probe'"))
    except Exception:  # the frame went away meanwhile
        return False


async def finished(frame: Frame, report: Path) -> dict[str, Any]:
    """Wait for the end of a run, and return its report."""
    await until(frame, "document.body.dataset.state !== 'running'", 2 * PATIENCE)
    return await until_report(report, lambda found: bool(found["finished"]))


async def until_report(report: Path, holds: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """Wait until a condition holds for the report, and return the report."""
    for _ in range(1200):
        if report.exists():
            found: dict[str, Any] = json.loads(report.read_text(encoding="utf-8"))
            if holds(found):
                return found
        await anyio.sleep(0.05)
    raise AssertionError("the condition never held for the report")


def ids(report: dict[str, Any], status: str) -> set[str]:
    """Return the ids of the rules with a status."""
    return {rule["id"] for rule in report["rules"] if rule["status"] == status}


def rules_tested_by(tester: str) -> set[str]:
    """Return the ids of the rules that the View, a person or nobody tests."""
    return {rule.id for rule in HOST_RULES if rule.probe is not None and rule.probe.by == tester}
