"""`<mcp-app>` in a real Chromium: three real origins, the real proxy, and a host whose frames the test sends."""

import asyncio
import gzip
import json
import re
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import uvicorn
from playwright.async_api import Browser, Frame, Locator, Page, expect
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from fanlight.browser import served_script
from fanlight.host.views.page.frames import HOST_FRAMES, PAGE_FRAMES, ShowView
from fanlight.host.web.assets import PAGE_SCRIPTS
from support.browser import colours, frame_at, until

pytestmark = pytest.mark.anyio

FILES = files("fanlight.browser")
ASKED = {
    "app": "x (y)",
    "server": "y",
    "requests": [{"text": "x (y) wants to run z.", "warning": "", "details": [], "always": "", "count": 1}],
}
PING = {"jsonrpc": "2.0", "id": 0, "method": "ping"}

PAGE = """<!doctype html><html lang="en"><title>page</title><script src="/page.js"></script>
<script type="module" src="/apps/mcp-app.js"></script><button id="before">before</button><main></main>"""

# Records every event of every element, and adds elements to the page.
PAGE_SCRIPT = """
var events = [], problems = [];
for (const name of ["ready", "size", "display-mode", "error", "closed", "elsewhere", "link", "message"])
  document.addEventListener(`mcp-${name}`, ({type, detail}) => events.push({type, detail}));
document.addEventListener("securitypolicyviolation", (event) => problems.push(event.violatedDirective));
var add = (attributes) => {
  const element = document.createElement("mcp-app");
  for (const name in attributes) element.setAttribute(name, attributes[name]);
  document.querySelector("main").append(element);
};
"""

VIEW = """<!doctype html><title>view</title><body style="margin:0"><input id=in><script>
var got = [], say = (data) => parent.postMessage(data, "*");
addEventListener("message", ({source, data}) => source === parent && got.push(data));
say({jsonrpc: "2.0", id: 1, method: "ui/initialize", params: {}});
</script>"""


class _Server(uvicorn.Server):
    """Runs in the test's own event loop, and does not handle signals."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class Host:
    """Sends the frames of the test to the element, and records the frames of the element."""

    def __init__(self, page: Page, port: int, view: str) -> None:
        self.page = page
        self.origin = f"http://localhost:{port}"
        self.proxy = f"http://sandbox.localhost:{port}/proxy?host={quote(self.origin)}"
        self.view_origin = f"http://abc.sandbox.localhost:{port}"
        self.view = view
        self.csp: str | None = None
        self.refuse: int | None = None
        self.failing_documents = 0
        self.failing_status = 404
        self.scripts: list[str] = []
        self.missing: list[str] = []
        self.sockets: list[WebSocket] = []
        self.frames: list[dict[str, Any]] = []
        self.acks: list[int | None] = []
        self.seen = 0
        self._changed = asyncio.Event()

    @property
    def proxy_url(self) -> str:
        return f"{self.proxy}&view=*"

    async def serve(self, websocket: WebSocket) -> None:
        await websocket.accept()
        if self.refuse is not None:
            await websocket.close(self.refuse, "Not for you.")
            return
        self.sockets.append(websocket)
        try:
            while True:
                frame = json.loads(await websocket.receive_text())
                self.seen = frame.pop("n", self.seen)
                self.acks.append(frame.pop("ack", None))
                if frame["type"] != "ack":
                    self.frames.append(frame)
                self._changed.set()
        except WebSocketDisconnect:
            self.frames.append({"type": "(lost)"})
            self._changed.set()

    async def answer(self, request: Request) -> Response:
        name, path = request.url.hostname or "", request.url.path
        script = path.removeprefix("/apps").removeprefix("/")
        if script in PAGE_SCRIPTS or script == "sandbox.js":
            self.scripts.append(script)
            return Response(served_script(script), 503 if script in self.missing else 200, media_type="text/javascript")
        if path == "/page.js":
            return Response(PAGE_SCRIPT, media_type="text/javascript")
        if name == "localhost" and path == "/page":
            return HTMLResponse(PAGE, headers={"content-security-policy": self.csp} if self.csp else None)
        if name == "sandbox.localhost" and path == "/proxy":
            views = self.view_origin
            csp = f"frame-ancestors {self.origin}; default-src 'none'; script-src 'self'; "
            csp += f"frame-src {views}; connect-src {views}"
            page = FILES.joinpath("proxy.html").read_text("utf-8")
            return HTMLResponse(page, headers={"content-security-policy": csp})
        if path == "/view":
            status = 200
            if self.failing_documents > 0:
                status = self.failing_status
                # The proxy asks once more, and the next attempt may succeed.
                self.failing_documents -= request.method == "HEAD"
            headers = {"access-control-allow-origin": self.proxy.split("/proxy")[0]}
            return HTMLResponse(self.view if status == 200 else "Not found.", status, headers=headers)
        return HTMLResponse("<title>something else</title>")

    async def start(self, **attributes: str) -> None:
        """Open the page with one element in it."""
        await self.page.goto(f"{self.origin}/page")
        await self.add(**attributes)

    async def add(self, **attributes: str) -> None:
        given = {"view": "v1", "src": "/apps"} | {key.replace("_", "-"): value for key, value in attributes.items()}
        await self.page.evaluate("given => add(given)", given)

    async def send(self, type: str, **frame: Any) -> None:
        assert type in {frame.TYPE for frame in HOST_FRAMES}
        await self.sockets[-1].send_text(json.dumps({"type": type, **frame}))

    async def received(self, type_: str) -> dict[str, Any]:
        """Wait for the next frame of a type, and remove it."""
        assert type_ in {frame.TYPE for frame in PAGE_FRAMES} | {"(lost)"}
        async with asyncio.timeout(60):
            while True:
                for frame in self.frames:
                    if frame["type"] == type_:
                        self.frames.remove(frame)
                        return frame
                self._changed.clear()
                await self._changed.wait()

    async def show(self, **frame: Any) -> Frame:
        """Let the element show the View, and return the View's frame once it has sent a message."""
        await self.send_show(**frame)
        assert (await self.received("message"))["message"]["method"] == "ui/initialize"
        return await self.view_frame()

    async def send_show(self, **frame: Any) -> None:
        show = ShowView(
            proxy=self.proxy_url,
            document=f"{self.view_origin}/view",
            sandbox="allow-scripts allow-same-origin allow-forms",
            allow="",
            title="Clock",
            csp="default-src 'none'",
            network=(),
            max_bytes=5_000_000,
            epoch="e1",
        )
        await self.send(**(show.to_json() | frame))

    async def started(self, **attributes: str) -> Frame:
        await self.start(**attributes)
        await self.received("open")
        return await self.show()

    async def view_frame(self) -> Frame:
        """Return the View's frame. Playwright may know of it only after the host has received its first message."""
        async with asyncio.timeout(60):
            while True:
                found = [frame for frame in self.page.frames if frame.url.startswith(self.view_origin)]
                if len(found) == 1:
                    return found[0]
                await self.page.wait_for_timeout(20)

    def part(self, name: str) -> Locator:
        return self.page.locator(f"mcp-app [part={name}]")

    async def height(self) -> float:
        height: float = await self.part("frame").evaluate("frame => frame.getBoundingClientRect().height")
        return height

    async def events(self, type_: str) -> list[Any]:
        found: list[Any] = await self.page.evaluate("events")
        return [event["detail"] for event in found if event["type"] == f"mcp-{type_}"]

    async def answered(self, type_: str, **frame: Any) -> dict[str, Any]:
        await self.send(type_, id=7, **frame)
        done = await self.received("command-result")
        assert done.pop("id") == 7
        return done


@asynccontextmanager
async def hosting(browser: Browser, view: str = VIEW, **options: Any) -> AsyncIterator[Host]:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        context = await browser.new_context(**({"viewport": {"width": 800, "height": 600}} | options))
        page = await context.new_page()
        host = Host(page, listener.getsockname()[1], view)
        app = Starlette(routes=[WebSocketRoute("/apps/socket", host.serve), Route("/{path:path}", host.answer)])
        config = uvicorn.Config(app, log_level="critical", ws="websockets-sansio", lifespan="off")
        server = _Server(config)
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        try:
            yield host
        finally:
            await context.close()
            server.should_exit = server.force_exit = True
            await serving


@pytest.fixture
async def host(browser: Browser) -> AsyncIterator[Host]:
    async with hosting(browser) as made:
        yield made


@pytest.mark.parametrize(
    ("name", "most"),
    [
        ("mcp-app.js", 8_000),
        ("mcp-app-consent.js", 2_500),
        ("mcp-app-download.js", 1_000),
        ("mcp-app-inline.js", 1_000),
        ("mcp-app-modes.js", 1_500),
        ("mcp-app-shared.js", 1_000),
        ("mcp-grants.js", 2_000),
    ],
)
def test_the_element_and_its_parts_are_small_compressed_as_they_are_served(name: str, most: int) -> None:
    assert len(gzip.compress(served_script(name).encode(), 9)) <= most


async def test_the_parts_of_the_element_are_loaded_only_when_they_are_needed(host: Host) -> None:
    await host.started()
    assert sorted(set(host.scripts)) == ["mcp-app.js", "sandbox.js"]
    async with host.page.expect_download():
        await host.answered("download", files=[{"name": "a.txt", "text": "a"}])
    assert host.scripts.count("mcp-app-download.js") == 1
    await host.answered("set-display-mode", mode="pip")
    await host.send("model-context", update={"content": [{"type": "text", "text": "Three left"}]})
    await expect(host.part("context")).to_be_visible()
    loaded = {"mcp-app.js", "sandbox.js", "mcp-app-download.js", "mcp-app-modes.js", "mcp-app-shared.js"}
    assert set(host.scripts) == loaded


async def test_a_part_that_cannot_be_loaded_is_the_reason_of_a_failed_command(host: Host) -> None:
    host.missing = sorted(PAGE_SCRIPTS - {"mcp-app.js"})
    await host.started()
    assert "mcp-app-modes.js" in (await host.answered("set-display-mode", mode="fullscreen"))["error"]
    await expect(host.part("frame")).to_be_visible()
    assert "mcp-app-download.js" in (await host.answered("download", files=[{"name": "a", "text": "a"}]))["error"]
    assert "mcp-app-consent.js" in (await host.answered("question", **ASKED))["error"]


async def test_a_view_whose_display_mode_cannot_be_loaded_is_shown_inline_and_the_host_knows_it(host: Host) -> None:
    host.missing = ["mcp-app-modes.js"]
    await host.start()
    await host.received("open")
    await host.show(mode="fullscreen")
    assert await host.received("display-mode") == {"type": "display-mode", "mode": "inline"}


async def test_the_last_of_two_display_modes_wins_while_their_part_is_loaded(host: Host) -> None:
    """Goes red if the mode that was requested first is applied once the part is there."""
    await host.started()
    await host.send("set-display-mode", id=7, mode="fullscreen")
    await host.send("set-display-mode", id=8, mode="inline")
    results = [(await host.received("command-result"))["result"] for _ in range(2)]
    assert results == [{"mode": "inline"}, {"mode": "inline"}]
    assert await host.events("display-mode") == []


async def test_a_view_is_shown_and_messages_are_relayed_both_ways(host: Host) -> None:
    await host.start(token="secret")
    opened = await host.received("open")
    assert (opened["view"], opened["token"]) == ("v1", "secret")
    assert "seen" not in opened
    context = opened["context"]
    assert context.pop("userAgent").startswith("Mozilla/")
    assert context.pop("timeZone")
    assert context == {
        "theme": "light",
        "locale": "en-US",
        "platform": "web",
        "containerDimensions": {"width": 784},
        "deviceCapabilities": {"touch": False, "hover": True},
    }
    view = await host.show()
    await host.send("message", message=PING)
    await until(view, "got.length === 1")
    assert await view.evaluate("got") == [PING]
    await view.evaluate("say({jsonrpc: '2.0', id: 0, result: {}})")
    assert (await host.received("message"))["message"] == {"jsonrpc": "2.0", "id": 0, "result": {}}
    assert await host.events("ready") == [{}]
    assert [event["from"] for event in await host.events("message")] == ["view", "host", "view"]


async def test_the_policy_of_the_view_is_logged_to_the_console(host: Host) -> None:
    """CSP-05."""
    lines: list[tuple[str, str]] = []
    host.page.on("console", lambda line: lines.append((line.type, line.text)))
    await host.started()
    assert ("debug", "Clock: Content-Security-Policy: default-src 'none'") in lines


async def test_the_frame_is_isolated_and_has_a_title(host: Host) -> None:
    view = await host.started()
    frame = host.part("frame")
    assert set((await frame.get_attribute("sandbox") or "").split()) >= {"allow-scripts", "allow-same-origin"}
    assert "navigation" not in (await frame.get_attribute("sandbox") or "")
    assert await frame.get_attribute("title") == "Clock"
    touch = "() => { try { return String(top.document) } catch (error) { return error.name } }"
    assert await view.evaluate(touch) == "SecurityError"
    await expect(host.page.get_by_role("group", name="Clock")).to_have_count(1)


async def test_no_other_window_can_send_messages_for_the_view(host: Host) -> None:
    view = await host.started()
    forged = {"jsonrpc": "2.0", "id": 9, "method": "tools/call"}
    elsewhere = host.proxy.split("/proxy")[0] + "/else"
    # The page itself, another window of the proxy's own origin, and sandbox messages of the View.
    await host.page.evaluate("message => postMessage(message, '*')", forged)
    await host.page.evaluate(
        "url => { const f = document.createElement('iframe'); f.src = url; document.body.append(f);"
        "return new Promise((done) => (f.onload = () => done())) }",
        elsewhere,
    )
    # (A frame in a shadow tree is not among the page's `frames`.)
    await host.page.wait_for_function("frames.length === 1")
    other = await frame_at(host.page, elsewhere)
    await other.evaluate("message => parent.postMessage(message, '*')", forged)
    await view.evaluate("say({jsonrpc: '2.0', method: 'ui/notifications/sandbox-proxy-ready'})")
    # Even from the proxy itself, sandbox messages are not relayed, and no document is sent twice.
    proxy = view.parent_frame
    assert proxy is not None
    await proxy.evaluate("addEventListener('message', ({data}) => (window.told ??= []).push(data))")
    for name in ("proxy-ready", "x"):
        await proxy.evaluate(f"parent.postMessage({{method: 'ui/notifications/sandbox-{name}'}}, '*')")
    await view.evaluate("say({last: 1})")
    assert (await host.received("message"))["message"] == {"last": 1}
    assert not [told for told in await proxy.evaluate("window.told") if "resource-ready" in told.get("method", "")]


async def test_a_proxy_frame_that_has_navigated_away_neither_sends_nor_receives(host: Host) -> None:
    await host.started()
    await host.part("frame").evaluate("(frame, url) => { frame.src = url }", f"{host.view_origin}/view?else")
    frame = await frame_at(host.page, f"{host.view_origin}/view?else")
    await host.send("message", message={"secret": 1})
    await frame.evaluate("say({forged: 1})")
    assert (await host.answered("set-display-mode", mode="inline")) == {
        "type": "command-result",
        "result": {"mode": "inline"},
    }
    assert await frame.evaluate("got") == []
    assert [frame for frame in host.frames if frame["type"] == "message"] == []


async def test_a_proxy_of_the_pages_own_origin_is_refused(host: Host) -> None:
    await host.start()
    await host.received("open")
    await host.send_show(proxy=f"{host.origin}/proxy")
    assert "origin of its own" in (await host.received("load-failed"))["message"]
    await expect(host.page.get_by_role("alert")).to_contain_text("origin of its own")
    assert await host.part("frame").count() == 0


async def test_the_height_follows_the_view_within_limits_and_the_width_does_not(host: Host) -> None:
    await host.started()
    await host.send("resize", height=321.4, width=10)
    await host.page.wait_for_function("events.some(event => event.type === 'mcp-size')")
    assert await host.height() == 322
    nonsense: list[Any] = [-1, "9", None, [5], {}, True]
    for height in nonsense:
        await host.send("resize", height=height)
    await host.answered("set-display-mode", mode="inline")
    assert await host.height() == 322
    assert await host.part("frame").evaluate("frame => frame.clientWidth") == 784
    await host.send("resize", height=1e12)
    await host.answered("set-display-mode", mode="inline")
    assert await host.height() == 20_000
    await host.send("resize", height=0)
    await host.answered("set-display-mode", mode="inline")
    assert await host.height() == 0
    assert await host.events("size") == [{"height": 322}, {"height": 20_000}, {"height": 0}]


@pytest.mark.parametrize("attributes", [{"max_height": "200"}, {"style": "max-height: 200px"}])
async def test_the_page_limits_the_height_and_the_host_receives_the_limit(
    attributes: dict[str, str], host: Host
) -> None:
    await host.start(**attributes)
    assert (await host.received("open"))["context"]["containerDimensions"] == {"width": 784, "maxHeight": 200}
    await host.show()
    await host.send("resize", height=500)
    await host.answered("set-display-mode", mode="inline")
    assert await host.height() == 200


async def test_a_view_whose_height_depends_on_the_pages_scroll_bar_stops_resizing(browser: Browser) -> None:
    # Higher than the page when wide, lower when narrow, so that each change of the scroll bar causes the other.
    view = VIEW.replace(
        "</script>",
        "new ResizeObserver(() => say({height: innerWidth > 776 ? 900 : 200})).observe(document.documentElement);"
        "</script>",
    )
    async with hosting(browser, view) as host:
        await host.start()
        # A classic scroll bar, also on systems where scroll bars take up no space.
        await host.page.evaluate(
            """() => new ResizeObserver(() => document.body.style.paddingRight =
            document.querySelector("main").scrollHeight > 500 ? "20px" : "0").observe(document.querySelector("main"))"""
        )
        await host.received("open")
        await host.show()
        quiet = turns = 0
        while quiet < 5:
            try:
                async with asyncio.timeout(0.3):
                    while "height" not in (message := (await host.received("message"))["message"]):
                        pass
            except TimeoutError:
                quiet += 1
                continue
            quiet, turns = 0, turns + 1
            assert turns < 50, "it never comes to rest"
            await host.send("resize", height=message["height"])
        assert turns > 3
        assert await host.height() == 900


async def test_fullscreen_is_a_dialog_with_the_apps_name_that_takes_and_returns_the_focus(host: Host) -> None:
    view = await host.started()
    await view.evaluate("window.kept = true")
    await host.page.locator("#before").focus()
    assert await host.answered("set-display-mode", mode="fullscreen") == {
        "type": "command-result",
        "result": {"mode": "fullscreen"},
    }
    dialog = host.page.get_by_role("dialog", name="Clock")
    await expect(dialog).to_be_visible()
    box = await dialog.bounding_box()
    assert box == {"x": 0, "y": 0, "width": 800, "height": 600}
    await expect(dialog.get_by_text("Clock", exact=True)).to_be_visible()
    changed = (await host.received("context"))["context"]["containerDimensions"]
    assert (changed["width"], 500 < changed["height"] < 600) == (800, True)
    assert await host.page.evaluate("document.activeElement.localName") == "mcp-app"
    active = "document.querySelector('mcp-app').shadowRoot.activeElement.localName"
    assert await host.page.evaluate(active) == "button"
    await host.page.keyboard.press("Tab")
    assert await host.page.evaluate(active) == "iframe"
    # The rest of the page is inert.
    await host.page.evaluate("document.querySelector('#before').focus()")
    assert await host.page.evaluate("document.activeElement.id") != "before"

    await dialog.get_by_role("button", name="Close Clock").focus()
    await host.page.keyboard.press("Escape")
    assert (await host.received("display-mode"))["mode"] == "inline"
    await expect(dialog).to_have_count(0)
    assert await host.page.evaluate("document.activeElement.id") == "before"
    assert await host.events("display-mode") == [{"mode": "fullscreen"}, {"mode": "inline"}]
    assert await view.evaluate("window.kept"), "the View was loaded anew"


async def test_the_close_button_and_the_host_end_fullscreen_too(host: Host) -> None:
    view = await host.started()
    await view.locator("#in").focus()
    await host.answered("set-display-mode", mode="fullscreen")
    await host.page.get_by_role("button", name="Close Clock").click()
    assert (await host.received("display-mode"))["mode"] == "inline"
    await host.answered("set-display-mode", mode="fullscreen")
    assert await host.answered("set-display-mode", mode="inline") == {
        "type": "command-result",
        "result": {"mode": "inline"},
    }
    await expect(host.page.get_by_role("dialog")).to_have_count(0)
    assert await host.answered("set-display-mode", mode="sideways") == {
        "type": "command-result",
        "result": {"mode": "inline"},
    }
    assert [frame for frame in host.frames if frame["type"] == "display-mode"] == []


async def test_picture_in_picture_is_a_small_box_that_stays_while_the_page_scrolls(host: Host) -> None:
    view = await host.started()
    await view.evaluate("window.kept = true")
    assert (await host.answered("set-display-mode", mode="pip"))["result"] == {"mode": "pip"}
    box = await host.part("box").bounding_box()
    assert box == {"x": 800 - 16 - 360, "y": 600 - 16 - 270, "width": 360, "height": 270}
    changed = (await host.received("context"))["context"]["containerDimensions"]
    assert changed["width"] == 360
    await host.send("resize", height=2_000)
    await host.page.get_by_role("button", name="Close Clock").click()
    assert (await host.received("display-mode"))["mode"] == "inline"
    assert await host.height() == 2_000
    assert await view.evaluate("window.kept")


async def test_only_the_changed_parts_of_the_context_are_sent(host: Host) -> None:
    await host.started()
    await host.page.emulate_media(color_scheme="dark")
    assert await host.received("context") == {"type": "context", "context": {"theme": "dark"}}
    await host.page.evaluate("document.querySelector('mcp-app').setAttribute('theme', 'light')")
    assert await host.received("context") == {"type": "context", "context": {"theme": "light"}}
    await host.page.set_viewport_size({"width": 500, "height": 600})
    changed = await host.received("context")
    assert changed["context"] == {"containerDimensions": {"width": 484}}
    await host.send("resize", height=250)
    await host.answered("set-display-mode", mode="inline")
    assert [frame for frame in host.frames if frame["type"] == "context"] == []


async def test_safe_area_insets_are_sent_only_in_fullscreen_and_only_if_there_are_any(host: Host) -> None:
    await host.started()
    await host.answered("set-display-mode", mode="fullscreen")
    assert [*(await host.received("context"))["context"]] == ["containerDimensions"]
    await host.answered("set-display-mode", mode="inline")
    await host.received("context")
    tools = await host.page.context.new_cdp_session(host.page)
    insets = {"top": 40, "right": 10, "bottom": 20, "left": 30}
    await tools.send("Emulation.setSafeAreaInsetsOverride", {"insets": insets})
    await host.answered("set-display-mode", mode="fullscreen")
    assert (await host.received("context"))["context"]["safeAreaInsets"] == insets | {"top": 0}
    await host.answered("set-display-mode", mode="inline")
    none = {"top": 0, "right": 0, "bottom": 0, "left": 0}
    assert (await host.received("context"))["context"]["safeAreaInsets"] == none


async def test_a_view_can_be_read_on_a_page_of_any_colour(browser: Browser) -> None:
    both = VIEW.replace("<body", "<meta name=color-scheme content='light dark'><body")
    dark = VIEW.replace("<body", "<meta name=color-scheme content=dark><body")
    for view, preferred, ground, follows in (
        (VIEW, "light", "#ffffff", True),
        (VIEW, "dark", "#ffffff", False),
        (both, "light", "#ffffff", True),
        (both, "dark", "#121212", True),
        (dark, "light", "#121212", False),
        (dark, "dark", "#121212", True),
    ):
        async with hosting(browser, view, color_scheme=preferred) as host:
            await host.started()
            await host.page.evaluate("document.body.style.background = '#888'")
            assert await most_frequent_colour(host) == ground
            # A page can make the background transparent, but not behind the element's own texts.
            await host.page.evaluate("document.body.style.setProperty('--mcp-app-background', 'transparent')")
            assert await most_frequent_colour(host) == ("#888888" if follows else ground)


async def most_frequent_colour(host: Host) -> str:
    drawn = await colours(host.page, await host.part("frame").screenshot())
    return max(drawn, key=drawn.__getitem__)


@pytest.mark.parametrize(("border", "width"), [(True, "1px"), (False, "0px"), (None, "0px")])
async def test_a_border_is_drawn_if_the_view_asks_for_one(border: bool | None, width: str, host: Host) -> None:
    await host.start()
    await host.received("open")
    await host.show(border=border)
    assert await host.part("box").evaluate("box => getComputedStyle(box).borderTopWidth") == width


async def test_only_web_links_open_and_without_an_opener(host: Host) -> None:
    await host.started()
    async with host.page.expect_popup() as opening:
        assert await host.answered("open-link", url=f"{host.origin}/linked") == {"type": "command-result", "result": {}}
    opened = await opening.value
    await opened.wait_for_url("**/linked")
    assert await opened.evaluate("[window.opener, document.referrer]") == [None, ""]
    for url in (
        "javascript:alert(1)",
        "data:text/html,x",
        "file:///etc/passwd",
        "mailto:a@b.example",
        "/x",
        "",
        None,
        7,
    ):
        assert "error" in await host.answered("open-link", url=url)
    assert len(host.page.context.pages) == 2
    assert await host.events("link") == [{"url": f"{host.origin}/linked"}]


async def test_the_page_can_open_a_link_itself(host: Host) -> None:
    await host.started()
    await host.page.evaluate("document.addEventListener('mcp-link', event => event.preventDefault())")
    assert await host.answered("open-link", url="https://example.com/") == {"type": "command-result", "result": {}}
    assert len(host.page.context.pages) == 1


async def test_downloads_are_saved_under_a_safe_name(host: Host, tmp_path: Path) -> None:
    await host.started()
    async with host.page.expect_download() as saving:
        text = {"name": "../../.ssh/..evil\u202egnp.html", "mimeType": "text/html", "text": "<p>é"}
        assert await host.answered("download", files=[text]) == {"type": "command-result", "result": {}}
    saved = await saving.value
    assert saved.suggested_filename == "evilgnp.html"
    await saved.save_as(tmp_path / "x")
    assert (tmp_path / "x").read_text("utf-8") == "<p>é"
    async with host.page.expect_download() as saving:
        await host.answered("download", files=[{"name": "a.bin", "mimeType": "x/y", "blob": "AP8="}])
    await (await saving.value).save_as(tmp_path / "y")
    assert (tmp_path / "y").read_bytes() == b"\x00\xff"
    assert "error" in await host.answered("download", files=[{"name": "a", "blob": "%%%"}])
    assert "error" in await host.answered("download", files=None)


async def test_a_lost_socket_is_reopened_without_losing_the_view(host: Host) -> None:
    view = await host.started()
    await view.evaluate("window.kept = true")
    await host.sockets[-1].close(1012)
    await host.page.get_by_role("status").get_by_text("Reconnecting").wait_for()
    await view.evaluate("for (let i = 0; i < 3; i++) say({i})")
    opened = await host.received("open")
    assert (opened["view"], opened["seen"], opened["epoch"]) == ("v1", 0, "e1")
    assert opened["context"]["theme"] == "light"
    await host.page.wait_for_timeout(50)
    assert not any(frame["type"] == "message" for frame in host.frames)
    await host.send("resumed", seen=host.seen)
    assert [(await host.received("message"))["message"] for _ in range(3)] == [{"i": 0}, {"i": 1}, {"i": 2}]
    await expect(host.page.get_by_role("status")).to_be_empty()
    await host.send("message", message=PING)
    await until(view, "got.length === 1")
    assert await view.evaluate("window.kept")


async def test_only_frames_that_the_host_has_not_received_are_sent_again(host: Host) -> None:
    view = await host.started()
    before = host.seen
    await view.evaluate("for (let i = 0; i < 4; i++) say({i})")
    for _ in range(4):
        await host.received("message")
    await host.sockets[-1].close(1012)
    await host.received("open")
    await host.send("resumed", seen=before + 2)
    assert [(await host.received("message"))["message"] for _ in range(2)] == [{"i": 2}, {"i": 3}]
    assert host.seen == before + 4
    await host.send("message", message=PING, n=1, ack=before + 4)
    await until(view, "got.length === 1")
    await host.sockets[-1].close(1012)
    assert (await host.received("open"))["seen"] == 1
    await host.send("resumed", seen=0)
    await host.send("message", message={"again": True}, n=1)
    await host.send("message", message={"next": True}, n=2)
    await until(view, "got.length === 2")
    assert (await view.evaluate("got"))[1] == {"next": True}
    assert not any(frame["type"] == "message" for frame in host.frames)


async def test_frames_are_acknowledged_at_once_on_request_and_otherwise_every_32_frames(host: Host) -> None:
    view = await host.started()
    host.acks.clear()
    await host.send("message", message={"n": 1}, n=1, ackNow=True)
    await host.send("message", message={"n": 2}, n=2)
    await until(view, "got.length === 2")
    async with asyncio.timeout(60):
        while not host.acks:
            await host.page.wait_for_timeout(20)
    assert host.acks == [1]
    for n in range(3, 40):
        await host.send("message", message={"n": n}, n=n)
    await until(view, "got.length === 39")
    async with asyncio.timeout(60):
        while len(host.acks) < 2:
            await host.page.wait_for_timeout(20)
    assert host.acks == [1, 33]


async def test_a_host_that_lost_the_session_reloads_the_view_and_receives_no_old_messages(host: Host) -> None:
    view = await host.started()
    await view.evaluate("window.kept = true")
    await host.sockets[-1].close(1012)
    await view.evaluate("say({old: true})")
    assert (await host.received("open"))["seen"] == 0
    view = await host.show()
    assert await view.evaluate("window.kept") is None
    assert await host.part("frame").count() == 1
    await view.evaluate("say({new: true})")
    assert (await host.received("message"))["message"] == {"new": True}


async def test_messages_that_wait_for_the_socket_are_limited_and_requests_beyond_get_an_error(host: Host) -> None:
    view = await host.started()
    await host.page.evaluate("() => { WebSocket = class extends EventTarget { close() {} } }")
    await host.sockets[-1].close(1012)
    await host.page.get_by_role("status").get_by_text("Reconnecting").wait_for()
    await view.evaluate(
        """for (let id = 0; id < 7; id++)
        say({jsonrpc: "2.0", id, method: "tools/call", params: {big: "x".repeat(1_000_000)}})"""
    )
    await until(view, "got.length === 3")
    assert [(answer["id"], answer["error"]["code"]) for answer in await view.evaluate("got")] == [
        (4, -32000),
        (5, -32000),
        (6, -32000),
    ]
    assert (await view.evaluate("got"))[0]["error"]["message"] == "The host cannot be reached now."


async def test_a_message_that_is_too_large_gets_an_error_with_its_size_and_the_limit(host: Host) -> None:
    view = await host.started()
    await view.evaluate('say({jsonrpc: "2.0", id: 1, method: "tools/call", params: {big: "ä".repeat(3_000_000)}})')
    await until(view, "got.length === 1")
    assert (await view.evaluate("got"))[0]["error"] == {
        "code": -32000,
        "message": "The message has at least 6000109 bytes, and the host accepts 5000000.",
    }
    await view.evaluate(
        """let deep = []; for (let i = 0; i < 200; i++) deep = [deep];
        say({id: 2, method: "x", params: {deep}}); say({id: 3, method: "x", params: {big: 1n}});
        say({id: 4, method: "x", params: {big: "x".repeat(6_000_000)}})"""
    )
    await until(view, "got.length === 4")
    deep, not_json, large = [answer["error"]["message"] for answer in (await view.evaluate("got"))[1:]]
    assert deep == not_json == "The message is not JSON, or is nested too deeply."
    assert re.fullmatch(r"The message has at least 60000\d\d bytes, and the host accepts 5000000\.", large)
    await view.evaluate('say({small: "ä".repeat(2_000_000)})')
    await host.received("message")
    assert len(host.sockets) == 1


async def test_status_texts_are_shown_until_the_view_is_ready(host: Host) -> None:
    await host.start()
    await host.received("open")
    status = host.page.get_by_role("status")
    await expect(status).to_have_text("Loading…")
    await host.send("status", message="Starting <b>clock</b>")
    await expect(status).to_have_text("Starting <b>clock</b>")
    await host.show()
    await expect(status).to_be_empty()


async def test_the_reason_is_shown_when_the_host_cannot_show_a_view(host: Host) -> None:
    await host.start()
    await host.received("open")
    await host.send("error", message="clock: the server <i>exited</i>.")
    await expect(host.page.get_by_role("alert")).to_have_text("clock: the server <i>exited</i>.")
    assert await host.events("error") == [{"reason": "clock: the server <i>exited</i>."}]


async def test_the_reason_is_shown_when_the_proxy_does_not_respond(host: Host) -> None:
    await host.start(timeout="300")
    await host.received("open")
    silent = host.proxy.split("/proxy")[0] + "/silent"
    await host.send_show(proxy=silent)
    assert "did not respond in 0.3 seconds" in (await host.received("load-failed"))["message"]
    await expect(host.page.get_by_role("alert")).to_contain_text("Its name must reach the host")
    assert await host.part("frame").count() == 0
    await host.page.evaluate("document.querySelector('mcp-app').removeAttribute('timeout')")
    await host.page.get_by_role("button", name="Try again").click()
    await host.received("open")
    await host.show()


async def test_a_document_that_is_not_found_is_loaded_again_and_then_shown(host: Host) -> None:
    host.failing_documents = 2
    await host.start()
    await host.received("open")
    await host.send_show()
    await expect(host.part("status")).to_contain_text("answered with the status 404. Trying again…")
    assert (await host.received("message"))["message"]["method"] == "ui/initialize"
    await expect(host.part("status")).to_be_empty()
    assert await host.events("error") == []


@pytest.mark.parametrize("status", [404, 502])
async def test_a_document_that_is_never_found_is_an_error_after_a_few_attempts(host: Host, status: int) -> None:
    host.failing_documents, host.failing_status = 99, status
    await host.start()
    await host.received("open")
    await host.send_show()
    failed = (await host.received("load-failed"))["message"]
    assert failed == f"The View’s document cannot be loaded: {host.view_origin} answered with the status {status}."
    assert host.failing_documents == 95, "there were not four attempts"
    assert await host.events("error") == [{"reason": failed}]
    await expect(host.page.get_by_role("alert")).to_contain_text(failed)
    host.failing_documents = 0
    await host.page.get_by_role("button", name="Try again").click()
    await host.received("open")
    await host.show()


async def test_a_document_that_stays_silent_is_shown_without_an_error(browser: Browser) -> None:
    async with hosting(browser, "<!doctype html><title>still</title><p>Still life") as host:
        await host.start()
        await host.received("open")
        async with host.page.expect_request(lambda request: request.method == "HEAD") as asking:
            await host.send_show()
        response = await (await asking.value).response()
        assert response is not None
        assert response.status == 200
        await host.answered("set-display-mode", mode="inline")
        assert await host.events("error") == []
        await expect((await host.view_frame()).get_by_text("Still life")).to_be_visible()


async def test_a_refused_socket_is_not_reopened(host: Host) -> None:
    host.refuse = 4403
    await host.start()
    await expect(host.page.get_by_role("alert")).to_have_text("Not for you.")
    assert await host.events("error") == [{"reason": "Not for you."}]
    await expect(host.page.get_by_role("status")).to_be_empty()


async def test_the_message_of_an_error_frame_stays_after_the_socket_closes(host: Host) -> None:
    await host.start()
    await host.received("open")
    await host.send("error", message="You may not open this View.")
    await host.sockets[-1].close(1008)
    await host.page.wait_for_timeout(200)
    await expect(host.page.get_by_role("alert")).to_have_text("You may not open this View.")
    assert await host.events("error") == [{"reason": "You may not open this View."}]


async def test_a_page_whose_policy_blocks_the_proxy_shows_the_directive(host: Host) -> None:
    host.csp = "frame-src 'none'"
    await host.start()
    await host.received("open")
    await host.send_show()
    violation = await host.received("csp-violation")
    assert violation["directive"] == "frame-src"
    await expect(host.page.get_by_role("alert")).to_contain_text("frame-src")


async def test_a_page_whose_policy_blocks_the_socket_shows_the_directive(host: Host) -> None:
    host.csp = "connect-src 'none'"
    await host.start()
    address = host.origin.replace("http", "ws")
    await expect(host.page.get_by_role("alert")).to_contain_text(
        f"This page's Content-Security-Policy must allow {address} in connect-src."
    )
    await expect(host.page.get_by_role("status")).to_be_empty()
    assert len(await host.events("error")) == 1


async def test_it_works_under_a_strict_policy_of_the_page(host: Host) -> None:
    proxy = host.proxy.split("/proxy")[0]
    host.csp = (
        f"default-src 'none'; script-src 'self'; connect-src 'self'; frame-src {proxy}; "
        "require-trusted-types-for 'script'; trusted-types 'none'"
    )
    await host.started()
    await host.send("resize", height=222)
    await host.answered("set-display-mode", mode="inline")
    assert await host.height() == 222
    assert await host.part("frame").evaluate("frame => getComputedStyle(frame).borderTopWidth") == "0px"
    async with host.page.expect_download():
        await host.answered("download", files=[{"name": "a.txt", "text": "a"}])
    await host.send("question", id=7, **ASKED)
    dialog = host.page.get_by_role("dialog")
    assert await dialog.evaluate("dialog => getComputedStyle(dialog).position") == "fixed"
    await dialog.get_by_role("button", name="Don’t allow").click()
    assert (await host.received("command-result"))["result"] == {"answer": "deny"}
    assert await host.page.evaluate("problems") == []


async def test_an_element_without_a_view_prewarms_the_socket_and_the_proxy(host: Host) -> None:
    await host.page.goto(f"{host.origin}/page")
    await host.page.evaluate("add({src: '/apps'})")
    await host.received("prewarm")
    await host.send("proxy", url=host.proxy_url)
    frame = host.part("frame")
    await frame.wait_for(state="attached")
    await frame.evaluate("frame => { window.early = frame }")
    assert await host.page.locator("mcp-app").inner_text() == ""
    await host.page.evaluate(
        """() => {
          const element = document.querySelector("mcp-app");
          element.setAttribute("view", "v1");
          element.setAttribute("token", "secret");
        }"""
    )
    opened = await host.received("open")
    assert (opened["view"], opened["token"]) == ("v1", "secret")
    assert "seen" not in opened
    await host.show()
    assert await frame.evaluate("frame => frame === window.early")
    assert len(host.sockets) == 1


async def test_a_prewarmed_socket_that_the_host_closed_is_reopened_when_it_is_needed(host: Host) -> None:
    await host.page.goto(f"{host.origin}/page")
    await host.page.evaluate("add({src: '/apps'})")
    await host.received("prewarm")
    await host.sockets[-1].close(1000)
    await host.page.wait_for_timeout(600)
    assert len(host.sockets) == 1
    await host.page.evaluate("document.querySelector('mcp-app').setAttribute('view', 'v1')")
    await host.received("open")
    await host.show()


async def test_removing_the_element_lets_the_view_go_and_inserting_it_shows_the_view_again(host: Host) -> None:
    await host.started()
    for again in ("element", "element.cloneNode()"):
        await host.page.evaluate("() => { window.element = document.querySelector('mcp-app'); element.remove() }")
        await host.received("(lost)")
        await host.page.evaluate(f"document.querySelector('main').append({again})")
        opened = await host.received("open")
        assert (opened["view"], "seen" in opened, "epoch" in opened) == ("v1", False, False)
        await host.show(epoch="e2")
    assert [frame for frame in host.frames if frame["type"] == "close"] == []
    assert await host.events("closed") == []


async def test_the_page_says_that_the_view_is_open_elsewhere_and_takes_it_back(host: Host) -> None:
    view = await host.started()
    await view.evaluate("say({unanswered: true})")
    await host.received("message")
    await host.send("elsewhere")
    await host.received("(lost)")
    status = host.page.get_by_role("status")
    await expect(status).to_have_text("This View is open in another window. Show it here")
    assert await host.part("frame").count() == 0
    assert await host.events("elsewhere") == [{}]
    assert await host.events("error") == []
    await host.page.wait_for_timeout(600)
    assert len(host.sockets) == 1, "it reconnected without the user"
    await host.page.get_by_role("button", name="Show it here").click()
    assert "seen" not in await host.received("open")
    await host.show(epoch="e2")
    await expect(status).to_be_empty()
    assert not any(frame["type"] == "message" for frame in host.frames)


async def test_the_page_can_show_a_view_again_after_an_error(host: Host) -> None:
    await host.start()
    await host.received("open")
    await host.send("error", message="The server is not running.")
    await host.sockets[-1].close(1008)
    await expect(host.page.get_by_role("alert")).to_have_text("The server is not running.")
    await host.page.evaluate("document.querySelector('mcp-app').reopen()")
    await host.received("open")
    await host.show()
    await expect(host.page.get_by_role("alert")).to_be_empty()


async def test_a_view_that_is_closed_while_the_socket_is_lost_is_closed_on_the_next(host: Host) -> None:
    await host.started()
    await host.sockets[-1].close(1012)
    await host.page.get_by_role("status").get_by_text("Reconnecting").wait_for()
    await host.page.evaluate("() => { document.querySelector('mcp-app').close() }")
    await host.received("open")
    await host.send("resumed", seen=host.seen)
    await host.received("close")
    await host.send("closed")
    await expect(host.page.locator("mcp-app")).to_have_count(0)


async def test_a_view_without_a_socket_is_closed_as_soon_as_the_host_can_be_reached(host: Host) -> None:
    await host.start(token="t")
    await host.received("open")
    await host.send("error", message="The server is not running.")
    await host.sockets[-1].close(1008)
    await expect(host.page.get_by_role("alert")).to_have_text("The server is not running.")
    await host.received("(lost)")
    host.refuse = 1012
    async with host.page.expect_event("websocket"), host.page.expect_event("websocket"):
        await host.page.evaluate("() => { document.querySelector('mcp-app').close() }")
    host.refuse = None
    closing = await host.received("open")
    assert {name: closing[name] for name in ("token", "close")} == {"token": "t", "close": True}
    await host.send("closed")
    await expect(host.page.locator("mcp-app")).to_have_count(0)
    await host.received("(lost)")


async def test_closing_waits_for_the_view_and_then_removes_the_element(host: Host) -> None:
    view = await host.started()
    await host.page.evaluate("() => { document.querySelector('mcp-app').close() }")
    await host.received("close")
    await host.send("message", message={"id": 1, "method": "ui/resource-teardown"})
    await until(view, "got.length === 1")
    await view.evaluate("say({id: 1, result: {}})")
    await host.received("message")
    await host.send("closed")
    await host.received("(lost)")
    await expect(host.page.locator("mcp-app")).to_have_count(0)
    assert [frame for frame in host.frames if frame["type"] == "close"] == []


async def test_a_view_that_the_host_closed_is_removed(host: Host) -> None:
    await host.started()
    await host.send("closed")
    await host.received("(lost)")
    assert await host.part("frame").count() == 0
    assert await host.events("closed") == [{}]


async def test_an_element_that_is_moved_reloads_its_view(host: Host) -> None:
    await host.started()
    await host.page.evaluate("document.body.append(document.querySelector('mcp-app'))")
    await host.received("(lost)")
    assert "seen" not in await host.received("open")
    await host.show()
    assert [frame for frame in host.frames if frame["type"] == "close"] == []


async def test_another_view_in_the_same_element_replaces_the_first(host: Host) -> None:
    await host.started()
    await host.page.evaluate("document.querySelector('mcp-app').setAttribute('view', 'v2')")
    await host.received("(lost)")
    assert [frame for frame in host.frames if frame["type"] == "close"] == []
    assert (await host.received("open"))["view"] == "v2"
    await host.show()
    assert await host.part("frame").count() == 1


@pytest.mark.parametrize("mode", ["inline", "pip"])
async def test_a_lost_connection_is_shown_without_moving_the_view(mode: str, host: Host) -> None:
    await host.started()
    await host.answered("set-display-mode", mode=mode)
    before = await host.part("frame").bounding_box()
    host.refuse = 1013
    await host.sockets[-1].close(1012)
    await expect(host.part("status")).to_have_text("Reconnecting…")
    await expect(host.part("status")).to_be_visible()
    assert await host.part("frame").bounding_box() == before
    words = await host.part("status").bounding_box()
    assert words is not None
    if mode != "inline":  # the bar
        title = await host.part("close").bounding_box()
        assert title is not None
        assert words["y"] >= title["y"] + title["height"]


async def test_a_picture_in_picture_has_an_edge_in_every_theme(host: Host) -> None:
    await host.started()
    await host.answered("set-display-mode", mode="pip")
    outline = await host.part("box").evaluate("box => getComputedStyle(box).outline")
    assert "solid 1px" in outline


async def test_an_inline_question_in_a_small_window_overlaps_nothing_and_has_its_answers_in_sight(host: Host) -> None:
    await host.started(consent="inline")
    await host.send("set-display-mode", id=1, mode="pip")
    request = {
        "text": "x (y) wants to run z. " * 4,
        "warning": "This deletes it.",
        "details": [],
        "always": "",
        "count": 1,
    }
    await host.send("question", id=2, **ASKED | {"requests": [request]})
    question = host.part("question")
    await question.wait_for()
    edges = """question => {
      const edge = (selector, side) => question.querySelector(selector).getBoundingClientRect()[side];
      const box = question.parentElement.getBoundingClientRect();
      return [edge("h2", "bottom"), edge(".scroll", "top"), edge(".scroll", "bottom"), edge("footer", "top"),
        edge("footer", "bottom"), box.bottom];
    }"""
    found: list[float] = await question.evaluate(edges)
    assert found == sorted(found)


async def test_a_frame_without_the_view_is_not_shown_while_its_document_is_requested_again(host: Host) -> None:
    host.failing_documents = 1
    await host.start()
    await host.received("open")
    await host.send_show()
    await expect(host.page.get_by_role("status")).to_contain_text("Trying again")
    await expect(host.part("stage")).to_have_css("visibility", "hidden")
    await host.received("message")
    await expect(host.part("stage")).to_have_css("visibility", "visible")
    await expect(host.page.get_by_role("status")).to_be_empty()
