"""A host with hostile servers, in a real browser: the same View shown in every way that Fanlight can show one.

strict, compat   our own document, under either profile
mcpui, openai    the same with a shim before it, as an embedded resource of mcp-ui and as a View for ChatGPT
html             HTML by message, through our proxy, in a page that plays a host of another make
plain            no host at all: frames in frames of one origin, as the control
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from mcp.server import MCPServer
from playwright.async_api import Frame, Page
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route

from fanlight import Apps, Csp, View
from fanlight.host.calls.call import Call
from fanlight.host.consent.policy import Policy
from fanlight.host.host import Host
from support.browser import until, view_frames
from support.calls import begin, call_tool
from support.mcpui import embedding, html_resource
from support.program import chat_page
from support.wire import serving_pages

Way = Literal["strict", "compat", "html", "mcpui", "openai", "plain"]
UNCHANGED: tuple[Way, ...] = ("strict", "compat", "html")
SHIMMED: tuple[Way, ...] = ("mcpui", "openai")
DEFENDED: tuple[Way, ...] = (*UNCHANGED, *SHIMMED)

_HERE = Path(__file__).parent
ATTEMPTS = _HERE.joinpath("attempts.js").read_text(encoding="utf-8")
VIEW = f"""<!doctype html><html lang="en"><head><title>View</title></head><body><h1>View</h1><script>
const got = [];
addEventListener("message", ({{source, origin, data}}) => got.push({{data, origin, parent: source === parent}}));
const say = (message) => parent.postMessage({{jsonrpc: "2.0", ...message}}, "*");
const ask = (method, params = {{}}, id = `${{method}} ${{Math.random()}}`) => {{
  say({{id, method, params}});
  return new Promise((done) => addEventListener("message", ({{data}}) => data.id === id && done(data)));
}};
const greet = async () => {{
  const appInfo = {{name: "View", version: "1"}};
  await ask("ui/initialize", {{protocolVersion: "2026-01-26", appInfo, appCapabilities: {{}}}});
  say({{method: "ui/notifications/initialized"}});
}};
{ATTEMPTS}</script></body></html>"""

_BY_MESSAGE = """<!doctype html><link rel="icon" href="data:,"><title>Chat</title><script>
const heard = [];
const say = (index, data) => frames[index].postMessage(data, "*");
addEventListener("message", ({source, data}) => {
  const index = [...Array(frames.length).keys()].find((index) => frames[index] === source);
  heard.push({index, data});
  if (data.method !== "ui/notifications/sandbox-proxy-ready") return;
  say(index, {jsonrpc: "2.0", method: "ui/notifications/sandbox-resource-ready", params: PARAMS});
});
</script><body><script>
for (let index = 0; index < COUNT; index++) {
  const frame = document.createElement("iframe");
  frame.sandbox = "allow-scripts allow-same-origin allow-forms allow-pointer-lock";
  frame.src = "PROXY";
  document.body.append(frame);
}
</script>"""


def host_of(**servers: object) -> Host:
    """Return a host that asks no user, since what a user can be persuaded to allow is not tested here."""
    return Host(servers, policy=Policy({"tools": "allow", "servers": {"compat": {"profile": "compat"}}}))


def hostile(name: str, html: str = VIEW, csp: Csp | None = None) -> tuple[MCPServer[Any], list[dict[str, Any]]]:
    """Return a server with one View and a tool for it, and the list of its calls."""
    server: MCPServer[Any] = MCPServer(name)
    apps = Apps(server)
    calls: list[dict[str, Any]] = []
    apps.view(View.html(f"{html}<!-- of {name} -->", uri=f"ui://{name}/view", csp=csp))

    @apps.tool(view=f"ui://{name}/view")
    def show() -> dict[str, str]:
        return {"result": f"the secret of {name}"}

    @apps.tool(view=f"ui://{name}/view", visibility=["app"])
    def look(by: str = "") -> str:
        calls.append({"by": by})
        return "looked"

    return server, calls


def every_kind() -> dict[str, MCPServer[Any]]:
    """Return a hostile server for each way in which a host shows a View."""
    return {
        "strict": hostile("strict")[0],
        "compat": hostile("compat")[0],
        "mcpui": embedding("mcpui", show=html_resource(VIEW, uri="ui://mcpui/view")),
        "openai": _for_chatgpt(),
    }


def _for_chatgpt() -> MCPServer[Any]:
    server: MCPServer[Any] = MCPServer("openai")

    @server.resource("ui://openai/view", mime_type="text/html+skybridge")
    def view() -> str:
        return VIEW

    @server.tool(meta={"openai/outputTemplate": "ui://openai/view", "openai/widgetAccessible": True})
    def show() -> dict[str, str]:
        return {"result": "the secret of openai"}

    return server


class Arena:
    """A program with a host, and pages of it that show Views."""

    def __init__(self, host: Host, html: str, csp: dict[str, Any]) -> None:
        self.host = host
        self._csp = csp
        self.origin = ""
        self.requests: list[Request] = []
        """Requests to a path of the program that does not exist."""
        self.html = html
        """The HTML that Views get by message."""
        self._call: Call
        routes = [
            Route("/show/{servers}", self._show),
            Route("/begin/{server}", self._begin),
            Route("/finish", self._finish),
            Route("/empty", self._empty),
            Route("/message/{count:int}", self._by_message),
            Route("/plain/{depth:int}", self._plain),
        ]
        self.app = host.wrap(Starlette(routes=routes))

    @property
    def proxy(self) -> str:
        return self.origin.replace("localhost", "sandbox.localhost")

    async def _show(self, request: Request) -> Response:
        servers = request.path_params["servers"].split(",")
        calls = [await call_tool(self.host, server, "show", {}, conversation="c") for server in servers]
        return _with_cookie(chat_page(*calls))

    async def _begin(self, request: Request) -> Response:
        """Show a View whose tool has not run yet."""
        self._call = await begin(self.host, request.path_params["server"], "show", "c")
        return _with_cookie(chat_page(self._call))

    async def _finish(self, request: Request) -> Response:
        await self._call.run({})
        return PlainTextResponse("done")

    async def _empty(self, request: Request) -> Response:
        self.requests.append(request)
        return _with_cookie('<!doctype html><link rel="icon" href="data:,"><title>Empty</title><body>')

    async def _by_message(self, request: Request) -> Response:
        page = _BY_MESSAGE.replace("COUNT", str(request.path_params["count"]))
        page = page.replace("PROXY", f"{self.proxy}/proxy?host={self.origin}")
        params = json.dumps({"html": self.html, "csp": self._csp}).replace("<", "\\u003c")
        return _with_cookie(page.replace("PARAMS", params))

    async def _plain(self, request: Request) -> Response:
        depth = request.path_params["depth"]
        return HTMLResponse(f'<iframe src="/plain/{depth - 1}"></iframe>' if depth else self.html)

    async def open(self, page: Page, way: Way, count: int = 1, *, top: bool = False) -> list[Frame]:
        """Show the View this many times in one page, and return the frames of the Views. `top` is for plain pages."""
        if top:
            await page.goto(f"{self.origin}/plain/0")
            return [page.main_frame]
        server = way if way in ("compat", *SHIMMED) else "strict"
        paths = {"html": f"/message/{count}", "plain": "/plain/2"}
        await page.goto(self.origin + paths.get(way, f"/show/{','.join([server] * count)}"))
        return await self.views(page, count)

    async def show(self, page: Page, *servers: str) -> list[Frame]:
        """Show the Views of these servers in one page, and return their frames after their handshakes."""
        await page.goto(f"{self.origin}/show/{','.join(servers)}")
        views = await self.views(page, len(servers))
        for view in views:
            await view.evaluate("greet()")
        return views

    async def views(self, page: Page, count: int) -> list[Frame]:
        """Wait until a page shows this many Views, and return their frames in the order of the page."""
        # HTML by message has no address of its own, so every frame inside a proxy counts.
        found = await view_frames(page, count, is_view=lambda frame: True)
        for frame in found:
            await until(frame, "typeof attempt === 'function'")
        # The browser lists them in the order in which their sockets were opened.
        places = {frame: await _place(frame) for frame in found}
        return sorted(found, key=lambda frame: places[frame])


async def _place(view: Frame) -> int:
    """Return the index of the element that shows a View."""
    assert view.parent_frame is not None
    element = await view.parent_frame.frame_element()
    place: int = await element.evaluate(
        "frame => [...document.querySelectorAll('mcp-app')].indexOf(frame.getRootNode().host)"
    )
    return place


@contextmanager
def arena(host: Host, html: str = VIEW, csp: dict[str, Any] | None = None) -> Iterator[Arena]:
    """Serve a program with this host until the end of the block. `html` and `csp` are for Views by message."""
    made = Arena(host, html, csp or {})
    with serving_pages(made.app) as made.origin:
        yield made


def _with_cookie(page: str) -> Response:
    response = HTMLResponse(page)
    response.set_cookie("session", "secret of the program", httponly=False)
    return response
