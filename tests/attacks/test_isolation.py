"""Isolation: a View tries to reach the program, the proxy, other apps, and their messages."""

import asyncio
import json
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import anyio
import httpx2
import pytest
import websockets
from playwright.async_api import BrowserContext, Page
from websockets.exceptions import ConnectionClosed, InvalidStatus

from attacks.arena import DEFENDED, Arena, Way, arena, every_kind, host_of, hostile
from attacks.catalogue import attack
from attacks.listener import listening
from fanlight import Csp
from fanlight.host.web.origins import app_label
from support.browser import until

pytestmark = pytest.mark.anyio

WAYS = pytest.mark.parametrize("way", DEFENDED)
# Evaluates expressions, and returns their values or the errors.
LOOK = """(expressions) => Promise.all(expressions.map(async (expression) => {
  try { return JSON.stringify(await new Function(`return (${expression})`)()) ?? "undefined"; }
  catch (error) { return error.name; }
}))"""


class Program:
    """Two apps of two servers, and the calls of their tools."""

    def __init__(self) -> None:
        self.a, self.calls_a = hostile("a")
        self.b, self.calls_b = hostile("b")
        everything = Csp(connect_domains=["http://localhost:*"], frame_domains=["http://localhost:*"])
        others = every_kind()
        others["declares"] = hostile("declares", csp=everything)[0]
        self.host = host_of(a=self.a, b=self.b, **others)


@pytest.fixture(scope="module")
def program() -> Program:
    return Program()


@pytest.fixture(scope="module")
def stage(program: Program) -> Iterator[Arena]:
    with arena(program.host) as made:
        yield made


async def settled(page: Page) -> None:
    """Wait until every message that was sent has arrived."""
    for frame in (page.main_frame, *page.main_frame.child_frames, page.main_frame):
        await frame.evaluate("new Promise((done) => setTimeout(done, 50))")


# The page and the proxy around


@attack("in-dom")
@WAYS
async def test_a_view_cannot_access_the_page_or_the_proxy(way: Way, stage: Arena, page: Page) -> None:
    """Fails without three origins: a proxy or a View at the program's own name."""
    (view,) = await stage.open(page, way)
    names = ["parent.document", "top.document", "parent.parent.document", "parent.location.href", "top.heard"]
    names += ["parent.localStorage", "top.customElements", "frameElement.ownerDocument", "parent.frameElement"]
    seen = await view.evaluate(LOOK, names)
    assert set(seen) == {"SecurityError", "TypeError"}
    # A frame of another origin has no frameElement.
    assert seen[7] == "TypeError"
    assert await view.evaluate("window.origin") not in (stage.origin, stage.proxy)


@attack("in-name")
@WAYS
async def test_a_view_sees_no_referrer_name_or_opener(way: Way, stage: Arena, page: Page) -> None:
    """Fails without `Referrer-Policy: no-referrer` (the referrer), or with a named frame."""
    (view,) = await stage.open(page, way)
    assert await view.evaluate("[name, opener, document.referrer]") == ["", None, ""]


@attack("in-cookie")
@WAYS
async def test_a_view_cannot_read_cookies_of_the_program(way: Way, stage: Arena, page: Page) -> None:
    """Fails without a name of its own for the View."""
    (view,) = await stage.open(page, way)
    assert "secret of the program" in await page.evaluate("document.cookie")
    assert "secret" not in str(await view.evaluate(LOOK, ["document.cookie", "cookieStore.getAll()"]))


@attack("in-cookie-planted")
@WAYS
async def test_a_view_cannot_set_a_cookie_for_the_program(way: Way, stage: Arena, page: Page) -> None:
    """Fails without a name of its own for the View."""
    (view,) = await stage.open(page, way)
    for more in ("", "; domain=localhost", "; domain=localhost; SameSite=None; Secure", "; domain=.localhost"):
        await view.evaluate(LOOK, [f"document.cookie = 'session=planted{more}'"])
    await page.reload()
    assert "planted" not in await page.evaluate("document.cookie")


@attack("in-storage")
@WAYS
async def test_a_view_cannot_read_storage_of_the_program(way: Way, stage: Arena, page: Page) -> None:
    """Fails without a name of its own for the View."""
    (view,) = await stage.open(page, way)
    await page.evaluate(
        """async () => {
          localStorage.x = sessionStorage.x = "of the program";
          await caches.open("of the program");
          await new Promise((done) => (indexedDB.open("of the program").onsuccess = done));
          navigator.locks.request("of the program", () => new Promise(() => {}));
        }"""
    )
    looks = ["localStorage.x", "sessionStorage.x", "caches.keys()", "indexedDB.databases()", "navigator.locks.query()"]
    assert "of the program" in str(await page.evaluate(LOOK, looks))
    assert "of the program" not in str(await view.evaluate(LOOK, looks))


@attack("in-history")
@WAYS
async def test_a_view_cannot_go_back_in_the_pages_history(way: Way, stage: Arena, page: Page) -> None:
    """Fails without the sandbox attribute of the frames."""
    await page.goto(f"{stage.origin}/empty")
    (view,) = await stage.open(page, way)
    there = page.url
    await view.evaluate("() => { history.back(); history.go(-1); window.navigation.back().finished.catch(() => {}); }")
    await settled(page)
    assert page.url == there


@attack("in-top-spoof")
async def test_only_the_proxy_can_send_messages_for_a_view(stage: Arena, page: Page, program: Program) -> None:
    """Fails without the check of `event.source` in mcp-app.js."""
    (view,) = await stage.show(page, "a")
    forged = {"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": {"name": "look", "arguments": {"by": "top"}}}
    await view.evaluate("message => { top.postMessage(message, '*'); parent.parent.postMessage(message, '*') }", forged)
    answer = await view.evaluate("ask('tools/call', {name: 'look', arguments: {by: 'the View'}})")
    assert answer["result"]["content"][0]["text"] == "looked"
    assert program.calls_a[-1] == {"by": "the View"}
    assert {"by": "top"} not in program.calls_a


@attack("in-sandbox-words")
@WAYS
async def test_a_view_cannot_send_messages_as_the_proxy(way: Way, stage: Arena, page: Page) -> None:
    """Fails without `reserved()` in sandbox.js."""
    (view,) = await stage.open(page, way)
    proxy = view.parent_frame
    assert proxy is not None
    words = [f"ui/notifications/sandbox-{name}" for name in ("proxy-ready", "resource-ready", "wheel-out")]
    for word in (*words, "mcp-ui/sandbox-ready", "mcp-ui/sandbox-resource-ready"):
        message = {
            "method": word,
            "params": {"html": "<title>second</title>", "url": view.url},
        }
        await view.evaluate("message => { say(message); parent.postMessage([message], '*') }", message)
        await view.evaluate("message => top.postMessage({jsonrpc: '2.0', ...message}, '*')", message)
    await settled(page)
    assert len(proxy.child_frames) == 1
    if way == "html":
        heard = [entry["data"]["method"] for entry in await page.evaluate("heard.filter(({index}) => index === 0)")]
        assert heard == ["ui/notifications/sandbox-proxy-ready"]


@attack("in-early")
async def test_nothing_is_sent_or_executed_before_the_handshake(stage: Arena, page: Page, program: Program) -> None:
    """Fails without the states of the bridge (NEW in _receive_request; READY in tool_result)."""
    await page.goto(f"{stage.origin}/show/a")
    (view,) = await stage.views(page, 1)
    before = len(program.calls_a)
    answer = await view.evaluate("ask('tools/call', {name: 'look', arguments: {by: 'early'}})")
    assert answer["error"]["code"] == -32600
    assert len(program.calls_a) == before
    await settled(page)
    assert "secret" not in json.dumps(await view.evaluate("got"))
    await view.evaluate("greet()")
    await until(view, "JSON.stringify(got).includes('the secret of a')")


# Other apps


@attack("in-other-dom")
async def test_a_view_cannot_access_the_view_of_another_app(stage: Arena, page: Page) -> None:
    """Fails without an origin for each app (app_label without the server in it)."""
    one, other = await stage.show(page, "a", "b")
    assert await one.evaluate("self.origin") != await other.evaluate("self.origin")
    # The frames of elements are in shadow trees, so there is not even a way to their windows.
    assert await one.evaluate("[top.length, parent.length]") == [0, 1]
    looks = ["top[0]", "top.frames[1].frames[0].document", "document.domain = 'sandbox.localhost'"]
    assert set(await one.evaluate(LOOK, looks)) == {"SecurityError"}


@attack("in-other-frame")
async def test_a_view_cannot_read_or_navigate_frames_of_another_app(stage: Arena, page: Page) -> None:
    """Fails without the sandbox attribute: a proxy could be moved away, and its View with it."""
    one, other = await stage.open(page, "html", 2)
    looks = ["top.frames[1].frames[0].document", "top.frames[1].document"]
    moves = ["top.frames[1].frames[0].location = 'about:blank'", "top.frames[1].location = 'about:blank'"]
    assert set(await one.evaluate(LOOK, [*looks, *moves])) == {"SecurityError"}
    await settled(page)
    assert await other.evaluate("document.title") == "View"


@attack("in-other-forged")
async def test_the_proxy_of_another_app_ignores_messages(stage: Arena, page: Page) -> None:
    """Fails without the check of `source` in sandbox.js."""
    one, other = await stage.open(page, "html", 2)
    result = {"jsonrpc": "2.0", "method": "ui/notifications/tool-result", "params": {"content": [], "forged": True}}
    await one.evaluate("message => top.frames[1].postMessage(message, '*')", result)
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"forged": True}}
    await one.evaluate("message => top.frames[1].postMessage(message, '*')", call)
    await settled(page)
    assert "forged" not in json.dumps(await other.evaluate("got"))
    assert "forged" not in json.dumps(await page.evaluate("heard"))


@attack("in-other-window")
async def test_a_message_of_another_view_is_not_taken_for_one_of_the_host(stage: Arena, page: Page) -> None:
    """Not ours to stop, where a page frames proxies itself: the View has to look at `event.source`, as view.js does."""
    one, other = await stage.open(page, "html", 2)
    await one.evaluate("top.frames[1].frames[0].postMessage({jsonrpc: '2.0', method: 'forged'}, '*')")
    await until(other, "got.length === 1")
    assert await other.evaluate("got[0].parent") is False


STORES = {
    "local": "localStorage.x = 'of app a'",
    "session": "sessionStorage.x = 'of app a'",
    "cache": "caches.open('of app a')",
    "database": "new Promise((done) => Object.assign(indexedDB.open('of app a'), {onsuccess: done, onerror: done}))",
    "lock": "void navigator.locks.request('of app a', () => new Promise(() => {}))",
    "cookie": "document.cookie = 'x=of app a; SameSite=None; Secure; Partitioned'",
}
FOUND = ["localStorage.x", "sessionStorage.x", "caches.keys()", "indexedDB.databases()", "navigator.locks.query()"]


@attack("in-other-storage")
async def test_apps_share_no_storage(stage: Arena, page: Page) -> None:
    """Fails without an origin for each app (app_label without the server in it)."""
    one, again, other = await stage.show(page, "a", "a", "b")
    for store in STORES.values():
        await one.evaluate(LOOK, [store])
    # Two Views of one app share storage, which proves that the other app could not read it.
    assert "of app a" in str(await again.evaluate(LOOK, [*FOUND, "document.cookie"]))
    assert "of app a" not in str(await other.evaluate(LOOK, [*FOUND, "document.cookie"]))


@attack("in-broadcast")
async def test_apps_have_no_shared_channel(stage: Arena, page: Page) -> None:
    """Fails without an origin for each app (app_label without the server in it)."""
    views = await stage.show(page, "a", "a", "b", "compat", "compat")
    for view in views:
        await view.evaluate(
            "() => { window.channel = new BroadcastChannel('x'); channel.onmessage = () => (window.told = true) }"
        )
    await views[0].evaluate("channel.postMessage(1)")
    await until(views[1], "window.told")
    await settled(page)
    assert [await view.evaluate("Boolean(window.told)") for view in views] == [False, True, False, False, False]


@attack("in-cookie-shared")
async def test_two_cooperating_apps_can_share_a_cookie(stage: Arena, page: Page) -> None:
    """Not stopped: a cookie for the name above both. Fails if the browser, or we, begin to stop it."""
    one, other = await stage.show(page, "a", "b")
    cookie = "document.cookie = 'shared=1; domain=sandbox.localhost; SameSite=None; Secure; Partitioned'"
    await one.evaluate(LOOK, [cookie])
    assert "shared=1" in await other.evaluate("document.cookie")
    assert "shared" not in await page.evaluate("document.cookie")
    await one.evaluate(LOOK, [cookie + " + '; max-age=0'"])


@attack("in-other-document")
async def test_a_view_cannot_read_the_document_of_another_app(stage: Arena, page: Page) -> None:
    """Fails without frame-src and connect-src, and without the label in DocumentCache.get."""
    one, other = await stage.show(page, "a", "b")
    frame = "url => { document.body.append(Object.assign(document.createElement('iframe'), {src: url})) }"
    assert await one.evaluate(LOOK, [f"fetch('{other.url}')"]) == ["TypeError"]
    await one.evaluate(frame, other.url)
    await settled(page)
    assert other.url not in [child.url for child in one.child_frames]
    async with httpx2.AsyncClient() as client:
        for label, url in (
            (app_label("a", "ui://a/view", None), other.url),
            (app_label("b", "ui://b/view", None), one.url),
        ):
            address, port = url.rpartition("/")[2], stage.origin.rpartition(":")[2]
            answer = await client.get(
                f"http://127.0.0.1:{port}/{address}", headers={"host": f"{label}.sandbox.localhost:{port}"}
            )
            assert answer.status_code == 404


@attack("in-tool")
async def test_a_view_cannot_call_tools_of_other_servers(stage: Arena, page: Page, program: Program) -> None:
    """Fails without the check of `self.tools` in Bridge._call_tool."""
    (view,) = await stage.show(page, "a")
    before = len(program.calls_b)
    for name in ("b__look", "b/look", "none", "__proto__", "constructor", "", " look", "LOOK"):
        answer = await view.evaluate("name => ask('tools/call', {name, arguments: {by: 'a'}})", name)
        assert answer["error"]["code"] == -32602, name
    assert len(program.calls_b) == before


# From outside


@attack("in-framed")
async def test_another_site_cannot_frame_the_proxy_or_a_view(stage: Arena, page: Page) -> None:
    """Fails without frame-ancestors in view_directives and proxy_directives."""
    (view,) = await stage.show(page, "a")
    document, proxy = view.url, view.parent_frame.url if view.parent_frame else ""
    await page.goto(f"{stage.origin.replace('localhost', 'another.localhost')}/empty")
    for url in (document, proxy):
        await page.evaluate(
            "url => new Promise((done) => document.body.append("
            "Object.assign(document.createElement('iframe'), {src: url, onload: () => done()})))",
            url,
        )
    refused = "chrome-error://chromewebdata/"
    urls: list[str] = []
    for _ in range(1_000):  # Playwright notices a navigation after the page does
        urls = [frame.url for frame in page.main_frame.child_frames]
        if urls == [refused] * 2:
            break
        await anyio.sleep(0.01)
    assert urls == [refused] * 2


@attack("in-declared-program")
async def test_a_server_that_declares_the_programs_own_name_gets_no_cookies(stage: Arena, page: Page) -> None:
    """Fails if the sandbox shares its site with the program, as with a View at the program's own name."""
    (view,) = await stage.show(page, "declares")
    await page.evaluate("fetch('/empty')")
    assert stage.requests[-1].cookies == {"session": "secret of the program"}
    await view.evaluate("url => fetch(url, {mode: 'no-cors', credentials: 'include'})", f"{stage.origin}/empty?fetched")
    assert (str(stage.requests[-1].url.query), stage.requests[-1].cookies) == ("fetched", {})
    await view.evaluate(
        "url => new Promise((done) => document.body.append("
        "Object.assign(document.createElement('iframe'), {src: url, onload: () => done()})))",
        f"{stage.origin}/empty?framed",
    )
    assert (str(stage.requests[-1].url.query), stage.requests[-1].cookies) == ("framed", {})


async def view_and_token(stage: Arena, server: str) -> tuple[str, str]:
    """Open a View as the program would, and return what its page gets."""
    async with httpx2.AsyncClient() as client:
        text = (await client.get(f"{stage.origin}/show/{server}")).text
    found = re.search(r'view="([^"]+)" token="([^"]+)"', text)
    assert found is not None
    return found[1], found[2]


async def knock(stage: Arena, first: object, *, origin: str | None = "own", name: str = "localhost") -> dict[str, Any]:
    """Open a socket and send something; return the first frame, or how the socket was rejected."""
    port = int(stage.origin.rpartition(":")[2])
    given = stage.origin if origin == "own" else origin
    uri = f"ws://{name}:{port}/apps/socket"
    try:
        async with websockets.connect(uri, origin=given, host="127.0.0.1", port=port) as socket:  # type: ignore[arg-type]
            with suppress(ConnectionClosed):  # a host that refuses the socket does not wait
                await socket.send(first if isinstance(first, str | bytes) else json.dumps(first))
            frame: dict[str, Any] = json.loads(await asyncio.wait_for(socket.recv(), 10))
            return frame
    except InvalidStatus as refused:
        return {"status": refused.response.status_code}
    except ConnectionClosed as closed:
        return {"closed": closed.rcvd.code if closed.rcvd else None}


@attack("in-token")
async def test_a_socket_needs_the_token_of_its_view(stage: Arena) -> None:
    """Fails without the comparison in ViewOpener.open."""
    (one, token), (_, another) = await view_and_token(stage, "a"), await view_and_token(stage, "a")
    assert (await knock(stage, {"type": "open", "view": one, "token": token}))["type"] == "show"
    for wrong in (another, "", None, token[:-1], token + " ", token.upper(), [token], {"token": token}, True, 0):
        frame = await knock(stage, {"type": "open", "view": one, "token": wrong})
        assert frame["type"] == "error", wrong
    for view in ("", "none", one[:-1], "' or 1=1 --", "*", "%"):
        assert (await knock(stage, {"type": "open", "view": view, "token": token}))["type"] == "error"


@attack("in-origin")
async def test_only_a_page_of_the_program_opens_a_socket(stage: Arena) -> None:
    """Fails without the comparison of Origin and Host in page_socket.py."""
    view, token = await view_and_token(stage, "a")
    port = stage.origin.rpartition(":")[2]
    label = app_label("a", "ui://a/view", None)
    opening = {"type": "open", "view": view, "token": token}
    strangers = (
        None,
        "null",
        stage.proxy,
        f"http://{label}.sandbox.localhost:{port}",
        "http://evil.example",
        "http://localhost",
    )
    for origin in (*strangers, f"http://localhost:{port}.evil.example", f"http://evil.localhost:{port}", "file://"):
        refused = await knock(stage, opening, origin=origin)
        assert (refused["type"], "Refused the socket of a page" in refused["message"]) == ("error", True), origin
    for name in ("sandbox.localhost", f"{label}.sandbox.localhost", "x.sandbox.localhost", "sandbox.localhost."):
        assert await knock(stage, opening, origin=f"http://{name}:{port}", name=name) == {"status": 403}, name
    assert (await knock(stage, opening))["type"] == "show"


@attack("in-host-header")
async def test_each_host_name_serves_only_its_own_role(stage: Arena) -> None:
    """Fails without HostNames.role: the program would answer at the names of Views."""
    port = stage.origin.rpartition(":")[2]
    label = app_label("a", "ui://a/view", None)
    async with httpx2.AsyncClient(base_url=f"http://127.0.0.1:{port}") as client:
        for name, status in {
            "localhost": 200,
            "sandbox.localhost": 404,
            "SANDBOX.localhost": 404,
            "sandbox.localhost.": 404,
            f"{label}.sandbox.localhost": 404,
            f"{label}.sandbox.localhost.": 404,
            "x.sandbox.localhost": 421,
            f"x.{label}.sandbox.localhost": 421,
            ".sandbox.localhost": 421,
            "sandbox.localhost@localhost": 421,
            "localhost/../sandbox.localhost": 421,
            "localhost, sandbox.localhost": 421,
        }.items():
            answer = await client.get("/empty", headers={"host": f"{name}:{port}", "x-forwarded-host": "localhost"})
            assert answer.status_code == status, name


@attack("in-proxy-host")
async def test_the_proxy_serves_pages_of_the_program_only(stage: Arena) -> None:
    """Fails without check_source and HostNames.role in Sandbox._proxy."""
    port = stage.origin.rpartition(":")[2]
    at = {"host": f"sandbox.localhost:{port}"}
    label = app_label("a", "ui://a/view", None)
    async with httpx2.AsyncClient(base_url=f"http://127.0.0.1:{port}") as client:
        assert (await client.get("/proxy", params={"host": stage.origin}, headers=at)).status_code == 200
        for host in (
            *("", "*", "http://*", "'none'", "data:", "null", "http://*.localhost", "http://a.example b.example"),
            *("http://a.example; script-src *", "http://a.example, default-src *", "http://a.example\r\nx: y"),
            *(stage.proxy, f"http://{label}.sandbox.localhost:{port}", "javascript:alert(1)", "localhost"),
        ):
            assert (await client.get("/proxy", params={"host": host}, headers=at)).status_code == 400, host


@attack("in-traversal")
async def test_a_path_is_a_document_or_not_found(stage: Arena) -> None:
    """Fails if documents are looked up by the last part of the path, or as files."""
    view, token = await view_and_token(stage, "a")
    shown = await knock(stage, {"type": "open", "view": view, "token": token})
    port, address = stage.origin.rpartition(":")[2], shown["document"].rpartition("/")[2]
    at = {"host": f"{app_label('a', 'ui://a/view', None)}.sandbox.localhost:{port}"}
    for path, status in {
        f"/{address}": 200,
        f"/../{address}": 404,
        f"/x/../{address}": 404,
        f"//{address}": 404,
        f"/{address}/": 404,
        f"/{address}/..": 404,
        f"/{address}%00": 404,
        f"/%2e%2e/{address}": 404,
        "/": 404,
        "/proxy": 404,
        "/sandbox.js": 404,
        "/apps/mcp-app.js": 404,
        "/../../../../etc/passwd": 404,
        "/..%2f..%2fetc%2fpasswd": 404,
    }.items():
        assert await raw_status(int(port), path, at["host"]) == status, path


async def raw_status(port: int, path: str, name: str) -> int:
    """Request a path without normalizing it."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"GET {path} HTTP/1.1\r\nhost: {name}\r\nconnection: close\r\n\r\n".encode())
    status = int((await reader.read()).split(b" ", 2)[1])
    writer.close()
    await writer.wait_closed()
    return status


# A View that has been replaced


@attack("in-after-leaving")
async def test_a_later_document_receives_nothing_and_is_ignored(stage: Arena, page: Page, program: Program) -> None:
    """Fails without the count of loads in sandbox.js."""
    await page.goto(f"{stage.origin}/begin/a")
    (view,) = await stage.views(page, 1)
    await view.evaluate("greet()")
    async with page.expect_event("framenavigated", lambda frame: frame == view):
        await view.evaluate("() => { setTimeout(() => location.reload()) }")
    await until(view, "typeof attempt === 'function'")
    await settled(page)
    await page.evaluate("fetch('/finish').then((answer) => answer.text())")
    before = len(program.calls_a)
    await view.evaluate("say({id: 1, method: 'tools/call', params: {name: 'look', arguments: {by: 'later document'}}})")
    await settled(page)
    assert await view.evaluate("got") == []
    assert len(program.calls_a) == before


@attack("in-foreign-page")
async def test_a_foreign_page_in_the_place_of_a_view_receives_nothing_and_is_ignored(context: BrowserContext) -> None:
    """Fails without the count of loads in sandbox.js."""
    with listening() as evil, arena(host_of(), csp={"frameDomains": [evil.origin]}) as stage:
        page = await context.new_page()
        (view,) = await stage.open(page, "html")
        await view.evaluate("url => { setTimeout(() => { location = url }) }", f"{evil.origin}/foreign")
        await view.wait_for_url(f"{evil.origin}/**")
        await settled(page)
        await page.evaluate("say(0, {jsonrpc: '2.0', method: 'ui/notifications/tool-result', params: {content: []}})")
        await settled(page)
        assert "foreign page" not in json.dumps(await page.evaluate("heard"))
        assert "foreign" in evil.visits
        assert "heard" not in evil.visits
        await page.close()


@attack("in-foreign-early")
async def test_a_page_that_replaced_a_view_while_it_loaded_is_mistaken_for_it(context: BrowserContext) -> None:
    """Not stopped: HTML by message that leaves before it has loaded. Fails if it is."""
    with listening() as evil:
        early = f"<!doctype html><script>const attempt = () => {{}}; location = '{evil.origin}/early'</script>"
        with arena(host_of(), html=early, csp={"frameDomains": [evil.origin]}) as stage:
            page = await context.new_page()
            await page.goto(f"{stage.origin}/message/1")
            await page.wait_for_function("JSON.stringify(heard).includes('foreign page')", timeout=60_000)
            await page.close()


# The user


@attack("in-focus")
async def test_a_view_can_take_the_focus(stage: Arena, page: Page) -> None:
    """Not stopped: no header that this browser knows keeps it from that. Fails if one does."""
    (view,) = await stage.show(page, "a")
    await page.evaluate("document.body.append(Object.assign(document.createElement('input'), {id: 'own'}))")
    await page.focus("#own")
    await view.evaluate("document.body.append(Object.assign(document.createElement('input'), {id: 'theirs'}))")
    await view.evaluate("document.getElementById('theirs').focus()")
    assert await page.evaluate("document.activeElement.tagName") == "MCP-APP"


@attack("in-clipboard")
@WAYS
async def test_a_view_cannot_read_the_clipboard(way: Way, stage: Arena, page: Page) -> None:
    """Fails without the Permissions-Policy and the origins."""
    (view,) = await stage.open(page, way)
    reads = ["navigator.clipboard.readText()", "navigator.clipboard.read()", "navigator.clipboard.writeText('x')"]
    assert await view.evaluate(LOOK, reads) == ["NotAllowedError"] * 3
    assert await view.evaluate("document.execCommand('paste')") is False


@attack("in-clipboard-copy")
async def test_a_view_can_copy_its_own_text_after_a_click(stage: Arena, page: Page) -> None:
    """Not stopped: an old command that no header governs. Fails if one does."""
    (view,) = await stage.show(page, "a")
    await view.evaluate("() => { document.body.append(document.createElement('textarea')) }")
    await view.evaluate(
        "() => { const [text] = document.querySelectorAll('textarea'); text.value = 'x'; text.select() }"
    )
    assert await view.evaluate("document.execCommand('copy')") is True


@attack("in-devices")
@WAYS
async def test_devices_and_powerful_features_are_denied(way: Way, stage: Arena, page: Page) -> None:
    """Fails without the origins, and in our own documents without the Permissions-Policy."""
    (view,) = await stage.open(page, way)
    features = await view.evaluate("document.featurePolicy.allowedFeatures()")
    harmless = {"sync-xhr", "unload", "aria-notify", "media-playback-while-not-visible", "interest-cohort"}
    harmless |= {"deferred-fetch-minimal", "private-state-token-issuance", "private-state-token-redemption"}
    assert {name for name in features if not name.startswith("ch-")} <= harmless
