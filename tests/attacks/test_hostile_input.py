"""Hostile input: Views and servers send data that is meant to break something. Most tests need no browser."""

import asyncio
import json
import string
import unicodedata
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import mcp_types as types
import pytest
import websockets
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp.server.lowlevel import Server
from playwright.async_api import BrowserContext, Page
from websockets.exceptions import ConnectionClosed

from attacks.arena import VIEW, Arena, arena, host_of, hostile
from attacks.catalogue import attack
from attacks.listener import listening
from fanlight import Csp, RegistrationError, negotiate
from fanlight.host import Host, Policy
from fanlight.host.documents.declarations import read_csp
from fanlight.host.errors import ViewRefusedError
from fanlight.host.host import runtime_of
from fanlight.host.views.requests.downloads import safe_name
from fanlight.host.views.requests.handler import is_web_link
from fanlight.host.web.origins import HostNames, app_label
from fanlight.protocol.extension import MIME_TYPE
from fanlight.protocol.headers import connection_allowlist, policy, view_directives
from support.calls import app_tools_of, call_tool
from support.page import Page as PlayedPage

pytestmark = pytest.mark.anyio

ORIGINS = HostNames().origins("http", "localhost:8000")
HELLO = {"protocolVersion": "2026-01-26", "appInfo": {"name": "V", "version": "1"}, "appCapabilities": {}}
EVERYTHING_GOES = Policy({"tools": "allow", "links": "allow", "downloads": "allow", "messages": "allow"})


# Links and names

LINKS = [
    *(
        "javascript:alert(1)",
        "JavaScript:alert(1)",
        "java\tscript:alert(1)",
        "\x01javascript:alert(1)",
        " javascript:x",
    ),
    *(
        "data:text/html,<script>alert(1)</script>",
        "blob:http://localhost/x",
        "about:blank",
        "view-source:http://a.example",
    ),
    *(
        "file:///etc/passwd",
        "FILE:///c:/",
        "vscode://file/etc/passwd",
        "ms-msdt:/id",
        "intent://x#Intent;end",
        "tel:112",
    ),
    *(
        "//a.example",
        "a.example",
        "/x",
        "?x",
        "#x",
        "",
        "http:",
        "http:///x",
        "http:a.example",
        "https:\\\\a.example",
        "http://[",
    ),
]


@attack("word-links")
@pytest.mark.parametrize("url", LINKS)
async def test_only_links_to_the_web_are_opened(url: str) -> None:
    """Fails without is_web_link in ViewRequests.check_link."""
    assert not is_web_link(url)
    async with opened(hostile("strict")[0]) as (page, _):
        assert (await page.ask("ui/open-link", {"url": url}))["error"]["code"] == -32000
        link = {"type": "resource_link", "uri": url, "name": "x"}
        assert "error" in await page.ask("ui/download-file", {"contents": [link]})
        assert page.frames.empty()


@attack("word-names")
@settings(max_examples=300, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [
                "..",
                "/",
                "\\",
                "%2f",
                "%5c",
                "%00",
                ".",
                " ",
                "con",
                "NUL",
                "com1",
                ":",
                "ui://",
                "a",
                "?",
                "#",
                "[",
                "~",
            ]
        )
        | st.text(max_size=4)
    ).map("".join)
)
def test_download_names_are_sanitized(uri: str) -> None:
    """Fails without any of the steps in safe_name."""
    name = safe_name(uri)
    assert 0 < len(name) <= 150
    assert not set(name) & set('/\\<>:"|?*')
    assert not name.startswith((".", "~", " "))
    assert not name.endswith((".", " "))
    assert not any(unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp") for char in name)
    assert name.partition(".")[0].strip().lower() not in {"con", "prn", "aux", "nul", "com1", "lpt9", "com¹"}


# Policies

SOURCES = ("connectDomains", "resourceDomains", "frameDomains", "baseUriDomains")
ANCESTORS = ("http://localhost:8000", "http://sandbox.localhost:8000")
KEYWORDS = {"'none'", "'self'", "'unsafe-inline'", "'unsafe-eval'", "'report-sample'", "data:", "blob:", "/report"}
NAMES_OF_DIRECTIVES = set(view_directives(None, ANCESTORS))


def read_policies(header: str) -> list[dict[str, list[str]]]:
    """Parse a header as a browser does: policies between commas, directives between semicolons."""
    policies = []
    for text in header.split(","):
        directives: dict[str, list[str]] = {}
        for directive in text.split(";"):
            words = directive.translate(str.maketrans("\t\n\f\r", "    ")).split(" ")
            name, *sources = [word for word in words if word]
            directives.setdefault(name.lower(), sources)
        policies.append(directives)
    return policies


HOSTILE = st.lists(
    st.sampled_from(
        [
            *(
                "https://a.example",
                "wss://b.example:9",
                "http://*.c.example",
                "*",
                "https:",
                "'self'",
                "'unsafe-eval'",
                "data:",
            ),
            *(
                ";",
                ",",
                " ",
                "\t",
                "\r\n",
                "\0",
                "\u2028",
                "\u00a0",
                "script-src *",
                "report-uri //evil",
                "/path",
                "?",
                "#",
                "@",
            ),
            *('"', "'", ")", "(", "\\", "%3B", "%20", "\ud800", "é", "[::1]", "https://", "*.", ":*", "://", "sandbox"),
        ]
    )
    | st.text(max_size=3),
    max_size=5,
).map("".join)


@attack("word-csp")
@settings(max_examples=500, deadline=None)
@given(
    declared=st.dictionaries(st.sampled_from(SOURCES), st.lists(HOSTILE, max_size=4)),
    profile=st.sampled_from(["strict", "compat"]),
)
def test_a_declared_domain_adds_nothing_but_a_host(declared: dict[str, list[str]], profile: Any) -> None:
    """Fails without check_source, or with `match` in place of `fullmatch` in it."""
    csp = read_csp(declared, [])
    assert csp is not None
    header = policy(view_directives(csp, ANCESTORS, profile))
    header.encode("ascii")
    (found,) = read_policies(header)
    assert set(found) == NAMES_OF_DIRECTIVES
    plain = view_directives(Csp(), ANCESTORS, profile)
    fields = {
        "connect-src": "connectDomains",
        "frame-src": "frameDomains",
        "base-uri": "baseUriDomains",
        **dict.fromkeys(("script-src", "style-src", "img-src", "media-src", "font-src"), "resourceDomains"),
    }
    hosts = set(string.ascii_letters + string.digits + ".-*:/")
    for name, words in found.items():
        added = [word for word in words if word not in KEYWORDS and word not in ANCESTORS]
        assert all(word in declared.get(fields.get(name, ""), []) and set(word) <= hosts for word in added)
        assert all("*" not in word.split("://")[-1].replace("*.", "", 1).replace(":*", "") for word in added)
        assert all("." in word or "://" in word or word.isalnum() or "-" in word or ":" in word for word in added)
        kept = set(words) - set(added)
        assert kept <= set(plain[name]) | {"'none'"}
    allowlist = connection_allowlist(csp)
    assert allowlist.startswith("(response-origin")
    assert allowlist.count('"') == 2 * allowlist.count('"*://')
    assert allowlist.count("(") == allowlist.count(")") == 1


@attack("word-csp-server")
@settings(max_examples=200, deadline=None)
@given(st.sampled_from(["connect_domains", "resource_domains", "frame_domains", "base_uri_domains"]), HOSTILE)
def test_our_own_server_rejects_a_domain_that_is_not_a_host(name: str, value: str) -> None:
    """Fails without check_source in Csp."""
    try:
        csp = Csp(**{name: [value]})
    except RegistrationError:
        return
    assert not set(value) - set(string.ascii_letters + string.digits + ".-*:/")
    assert csp.wire()


# Sizes, shapes and amounts


@asynccontextmanager
async def opened(server: object) -> AsyncIterator[tuple[PlayedPage, Host]]:
    """Open a View in a simulated page, and complete its handshake."""
    async with Host({"strict": server}, policy=EVERYTHING_GOES) as host:
        await host.servers["strict"].ready()
        call = await call_tool(host, "strict", "show", {})
        page = PlayedPage()
        await page.open(host, call.view, call.token)
        page.shown = await page.next()
        await page.ask("ui/initialize", HELLO, id=0)
        await page.say({"method": "ui/notifications/initialized"})
        while "the secret of" not in json.dumps(await page.message()):
            pass
        yield page, host


@attack("word-sizes")
async def test_an_invalid_size_is_ignored() -> None:
    """Fails without _size in bridge.py."""
    async with opened(hostile("strict")[0]) as (page, _):
        odd: list[Any] = [-1, -1e308, 10**400, float("inf"), float("nan"), "9", None, True, [9], {"height": 9}]
        for height in odd:
            await page.say({"method": "ui/notifications/size-changed", "params": {"height": height, "width": height}})
        assert page.frames.empty()
        await page.say({"method": "ui/notifications/size-changed", "params": {"height": 9}})
        assert await page.next() == {"type": "resize", "height": 9}


@attack("word-replies")
async def test_a_response_without_a_request_does_nothing() -> None:
    """Fails without `_pending` in Bridge._receive_response."""
    async with opened(hostile("strict")[0]) as (page, host):
        odd: list[Any] = [0, 1, -1, 2**40, "1", "", "__proto__"]
        for id in odd:
            await page.say({"id": id, "result": {"content": [], "tools": [{"name": "forged"}]}})
            await page.say({"id": id, "error": {"code": 1, "message": "forged"}})
        assert page.frames.empty()
        assert app_tools_of(host) == []
        assert (await page.ask("ping", {}))["result"] == {}


@attack("word-shapes")
async def test_an_invalid_message_is_answered_with_an_error_or_dropped() -> None:
    """Fails without the checks in Bridge.receive."""
    shapes: list[Any] = [
        None,
        True,
        7,
        "ping",
        [],
        [{"jsonrpc": "2.0", "id": 1, "method": "ping"}],
        {},
        {"jsonrpc": "1.0"},
    ]
    odd: list[Any] = [None, True, 1.5, [], {}]
    shapes += [{"jsonrpc": "2.0", "id": id, "method": "ping"} for id in odd]
    shapes += [{"jsonrpc": "2.0", "id": 1, "method": method} for method in (*odd, ["ping"])]
    shapes += [{"jsonrpc": "2.0", "id": 1, "result": {}, "error": {}}, {"jsonrpc": "2.0", "id": 1}]
    async with opened(hostile("strict")[0]) as (page, _):
        for shape in shapes:
            await page.tell({"type": "message", "message": shape})
        while not page.frames.empty():
            answer = await page.message()
            assert answer["error"]["code"] == -32600
            assert answer["id"] is None
        assert (await page.ask("ping", {}))["result"] == {}


@attack("word-half")
async def test_half_a_surrogate_pair_is_forwarded_unchanged() -> None:
    """Fails without the fallback in `encode_json` and `decode_object`."""
    async with opened(hostile("strict")[0]) as (page, _):
        await page.say({"id": "\ud800", "method": "ping"})
        assert await page.message() == {"jsonrpc": "2.0", "id": "\ud800", "result": {}}
        answer = await page.ask("tools/call", {"name": "look", "arguments": {"by": "\udfff"}})
        assert "error" in answer or "result" in answer
        update = {"content": [{"type": "text", "text": "\ud83d"}], "structuredContent": {"\ud83d": "\udc00"}}
        await page.say({"id": 8, "method": "ui/update-model-context", "params": update})
        assert await page.next() == {"type": "model-context", "update": update}
        assert (await page.message())["result"] == {}


async def said(stage: Arena, *texts: str | bytes) -> int | None:
    """Send something to the host on a new socket, and return how the socket was closed."""
    socket = stage.origin.replace("http", "ws") + "/apps/socket"
    try:
        async with websockets.connect(socket, origin=stage.origin, max_size=None) as connection:  # type: ignore[arg-type]
            for text in texts:
                await connection.send(text)
            await connection.send('{"type":"open","view":"none"}')
            while True:
                await asyncio.wait_for(connection.recv(), 10)
    except ConnectionClosed as closed:
        return closed.rcvd.code if closed.rcvd else None


@attack("word-socket")
async def test_a_socket_is_closed_after_too_much_data_and_the_host_is_unaffected(stage: Arena) -> None:
    """Fails without the checks in Socket.receive and `decode_object`."""
    assert await said(stage, "", "nonsense", "[]", "7", "[" * 100_000, '{"a":' * 5_000) == 1008
    assert await said(stage, b"\xff\xfe\x00") == 1003
    assert await said(stage, b'{"type":"prewarm"}') == 1003
    assert await said(stage, json.dumps({"type": "prewarm", "x": "y" * 50_000_000})) == 1009
    assert await said(stage) == 1008


@attack("word-deep")
@pytest.mark.parametrize("depth", [190, 300, 990, 1010, 100_000])
async def test_deep_nesting_breaks_neither_the_host_nor_the_socket(depth: int, stage: Arena, page: Page) -> None:
    """Fails without MAX_DEPTH in json_text.py (the host) and mcp-app.js (the answer)."""
    (view,) = await stage.show(page, "strict")
    call = "depth => { let by = []; for (let i = 0; i < depth; i++) by = [by]; return by }"
    asked = f"(depth) => ask('tools/call', {{name: 'look', arguments: {{by: ({call})(depth)}}}})"
    if depth < 5_000:  # deeper values cannot even be posted
        answer = await view.evaluate(f"(depth) => ({asked})(depth).then(({{error}}) => error.code)", depth)
        assert answer == -32000
    log = f"say({{method: 'notifications/message', params: {{data: ({call})(depth)}}}})"
    await view.evaluate(f"(depth) => {{ try {{ {log} }} catch {{}} }}", depth)
    assert (await view.evaluate("ask('ping')"))["result"] == {}


@attack("word-report")
async def test_an_invalid_csp_report_is_rejected(stage: Arena) -> None:
    """Fails without MAX_BYTES and read_report in csp_reports.py."""
    port = stage.origin.rpartition(":")[2]
    at = {"host": f"{app_label('strict', 'ui://strict/view', None)}.sandbox.localhost:{port}"}
    async with httpx2.AsyncClient(base_url=f"http://127.0.0.1:{port}", headers=at) as client:
        for body, status in {"x" * 100_000: 413, "x": 400, "[]": 400, "{}": 400, "[" * 2_000: 400}.items():
            assert (await client.post("/report", content=body)).status_code == status
        forged = {"csp-report": {"blocked-uri": "x\r\nforged line " * 1_000, "line-number": "1", "__proto__": {}}}
        assert (await client.post("/report", json=forged)).status_code == 204
        assert (await client.post("/report", json=forged, headers={"host": f"localhost:{port}"})).status_code == 404


# In a browser


@pytest.fixture(scope="module")
def stage() -> Iterator[Arena]:
    servers = {name: hostile(name)[0] for name in ("strict", "compat")}
    with arena(host_of(**servers, declares=hostile("declares", csp=Csp())[0])) as made:
        yield made


FREEZE = {
    "one object in very many places": "let x = ['ha']; for (let i = 0; i < 40; i++) x = [x, x]; return x",
    "billions of empty places": "const x = []; x.length = 4294967295; return x",
    "what holds itself": "const x = {}; x.x = x; return x",
    "a large buffer": "return new Uint8Array(1e8)",
    "words that JSON has not": "return {x: 1n, y: new Map([[1, 2]]), z: /x/}",
}


@attack("word-freeze")
@pytest.mark.parametrize("what", FREEZE)
async def test_no_message_freezes_the_page_or_another_view(what: str, stage: Arena, page: Page) -> None:
    """Fails without leastLength in mcp-app.js (the page) and with `flat()` in sandbox.js (the proxies)."""
    one, other = await stage.show(page, "strict", "compat")
    await one.evaluate(f"() => {{ const make = () => {{ {FREEZE[what]} }}; window.x = make() }}")
    await one.evaluate("() => { parent.postMessage(x, '*'); say({method: 'x', params: {x}}) }")
    async with asyncio.timeout(60):
        assert (await other.evaluate("ask('ping')"))["result"] == {}
        assert (await one.evaluate("ask('ping')"))["result"] == {}
        assert await page.evaluate("1 + 1") == 2


@attack("word-huge")
async def test_a_message_of_fifty_megabytes_is_refused_in_the_page(stage: Arena, page: Page) -> None:
    """Fails without the limit in McpApp.#send."""
    one, other = await stage.show(page, "strict", "compat")
    answer = await one.evaluate("ask('tools/call', {name: 'look', arguments: {by: 'x'.repeat(5e7)}})")
    assert answer["error"]["code"] == -32000
    assert (await other.evaluate("ask('ping')"))["result"] == {}
    assert (await one.evaluate("ask('ping')"))["result"] == {}


@attack("word-flood")
async def test_ten_thousand_messages_at_once_affect_no_other_view(stage: Arena, page: Page) -> None:
    """Fails without MAX_KEPT in mcp-app.js and the limits of Session."""
    one, other = await stage.show(page, "strict", "compat")
    await one.evaluate(
        "() => { for (let i = 0; i < 10_000; i++) say({id: i, method: 'ping', params: {x: 'y'.repeat(100)}}) }"
    )
    async with asyncio.timeout(60):
        for _ in range(5):
            assert (await other.evaluate("ask('ping')"))["result"] == {}
            assert await page.evaluate("1 + 1") == 2


@attack("word-prototype")
async def test_prototype_names_are_plain_keys(stage: Arena, page: Page) -> None:
    """Fails with any copying of keys by assignment in mcp-app.js or sandbox.js."""
    (view,) = await stage.show(page, "strict")
    polluting = {"__proto__": {"polluted": 1}, "constructor": {"prototype": {"polluted": 1}}}
    own = json.dumps({"jsonrpc": "2.0", "id": "__proto__", "method": "ping", "params": polluting, **polluting})
    answer = await view.evaluate(
        "(text) => { parent.postMessage(JSON.parse(text), '*'); return new Promise((done) => addEventListener("
        "'message', ({data}) => data.id === '__proto__' && done(data))) }",
        own,
    )
    assert answer["result"] == {}
    for name in ("__proto__", "constructor", "toString", "hasOwnProperty"):
        assert "error" in await view.evaluate("name => ask(name, {[name]: 1}, name)", name)
    assert view.parent_frame is not None
    for frame in (page.main_frame, view.parent_frame):
        assert await frame.evaluate("({}).polluted") is None


HEADS = {
    "no head": "<p>x</p>",
    "a head in a comment": "<!-- <head> --><html><body>",
    "a head in a script": "<script>const s = '<head><meta>'</script><head>",
    "a script before the head": "<script>document.write('<head>')</script><!doctype html><head>",
    "a head in an attribute": '<html data-x="<head>"><body>',
    "a byte order mark": "\ufeff<!doctype html><head>",
    "a template": "<template><head></template>",
    "text that never ends": "<!doctype html><title><head></title><body>",
    "a policy of its own": "<meta http-equiv='Content-Security-Policy' content=\"default-src * 'unsafe-inline'\">",
    "the policy taken out": "<script>document.querySelectorAll('meta').forEach((meta) => meta.remove())</script>",
    "a frame set": "<frameset></frameset>",
    "a base": "<base href='//evil.localhost'>",
}


@attack("word-head")
async def test_the_policy_applies_whatever_a_document_begins_with(context: BrowserContext) -> None:
    """Fails without lock() in sandbox.js: HTML by message gets its policy before its own first character."""
    with listening() as evil:
        fetched, image = (
            f"fetch('{evil.origin}/fetch', {{mode: 'no-cors'}})",
            f"new Image().src = '{evil.origin}/image'",
        )
        out = f"<script>{fetched}; {image}</script>"
        page = await context.new_page()
        with arena(host_of()) as stage:
            for name, before in HEADS.items():
                stage.html = f"{before}{out}"
                await page.goto(f"{stage.origin}/message/1")
                await page.frame_locator("iframe").frame_locator("iframe").locator("html").wait_for(state="attached")
                await page.evaluate("new Promise((done) => setTimeout(done, 100))")
                assert evil.visits == [], name
        await page.close()


# Servers that lie


def liar(contents: list[Any], tool_meta: dict[str, Any] | None = None) -> Server[Any]:
    """Return a server that sends the given values."""
    ui = {"ui": {"resourceUri": "ui://liar/view"}, **(tool_meta or {})}
    tools = [
        types.Tool(name="show", input_schema={"type": "object"}, _meta=ui),
        types.Tool(name="hidden", input_schema={"type": "object"}, _meta={"ui": {"visibility": ["model"]}}),
        types.Tool(name="nobodys", input_schema={"type": "object"}, _meta={"ui": {"visibility": []}}),
    ]
    called: list[str] = []

    async def list_tools(ctx: Any, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=tools)

    async def call_tool(ctx: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        called.append(params.name)
        return types.CallToolResult(content=[types.TextContent(type="text", text="the secret of liar")])

    async def read_resource(ctx: Any, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        return types.ReadResourceResult(contents=contents)

    server: Server[Any] = Server(
        "liar", on_list_tools=list_tools, on_call_tool=call_tool, on_read_resource=read_resource
    )
    negotiate(server, "always")
    server.called = called  # type: ignore[attr-defined]
    return server


def text(html: str = VIEW, mime: str | None = MIME_TYPE, uri: str = "ui://liar/view", **meta: Any) -> Any:
    return types.TextResourceContents(uri=uri, mime_type=mime, text=html, _meta={"ui": meta} if meta else None)


LIES: dict[str, list[Any]] = {
    "an image": [text(mime="image/png")],
    "a script": [text(mime="text/javascript;profile=mcp-app")],
    "XML, which has processing instructions": [text(mime="application/xhtml+xml")],
    "SVG": [text(mime="image/svg+xml")],
    "nothing": [],
    "two, and neither is it": [text(uri="ui://liar/a"), text(uri="ui://liar/b")],
    "a blob that is none": [types.BlobResourceContents(uri="ui://liar/view", mime_type=MIME_TYPE, blob="\u00e9")],
    "bytes that are no text": [types.BlobResourceContents(uri="ui://liar/view", mime_type=MIME_TYPE, blob="//79/A==")],
}


@attack("word-liar-kind")
@pytest.mark.parametrize("lie", LIES)
async def test_a_resource_that_is_not_a_view_is_not_shown(lie: str) -> None:
    """Fails without _dialect, _item and _html in host/documents."""
    with pytest.raises(ViewRefusedError, match="cannot be shown"):
        async with opened(liar(LIES[lie])):
            pass


@attack("word-liar-type")
async def test_a_document_is_served_as_html_whatever_type_its_server_declares() -> None:
    """Fails without the fixed content type in document_headers.py."""
    async with opened(liar([text(mime="text/html; charset=utf-7")])) as (page, host):
        label, address = page.shown["document"].removeprefix("http://").split(".sandbox.localhost:8000/")
        served = await runtime_of(host).opener.documents.get(label, address)
        assert served is not None
        assert served.headers["content-type"] == "text/html; charset=utf-8"
        assert served.headers["x-content-type-options"] == "nosniff"


@attack("word-liar-visibility")
async def test_a_view_cannot_call_a_tool_that_is_not_for_views() -> None:
    """Fails without for_app in visibility.py."""
    server = liar([text()])
    async with opened(server) as (page, _):
        for name in ("hidden", "nobodys", "unlisted"):
            assert (await page.ask("tools/call", {"name": name}))["error"]["code"] == -32602
        listed = (await page.ask("tools/list", {}))["result"]["tools"]
        assert [tool["name"] for tool in listed] == ["show"]
        assert server.called == ["show"]  # type: ignore[attr-defined]


@attack("word-liar-uri")
async def test_a_view_is_read_only_from_a_ui_uri_of_its_own_server() -> None:
    """Fails without the check of the scheme in read_document."""
    for uri in (
        "file:///etc/passwd",
        "http://a.example/x.html",
        "https://ui://x",
        "javascript:x",
        "UI://liar/view",
        "",
    ):
        lying = liar([text(uri=uri)], {"ui": {"resourceUri": uri}, "ui/resourceUri": uri})
        async with Host({"strict": lying}) as host:
            await host.servers["strict"].ready()
            call = await call_tool(host, "strict", "show", {})
            if call.view is None:
                continue
            with pytest.raises(ViewRefusedError):
                await PlayedPage().open(host, call.view, call.token)


@attack("word-liar-permissions")
async def test_the_metadata_of_a_view_grants_nothing_by_itself() -> None:
    """Fails without the policy's decision on permissions, and if a domain is added without being validated."""
    wanted: dict[str, Any] = {"camera": {}, "microphone": {}, "usb": {}, "fullscreen": {}, "x; script-src *": {}}
    csp = {
        "connectDomains": ["*", "'self'", "https://ok.example"],
        "frameDomains": "https://a.example",
        "__proto__": ["x"],
    }
    lie = text(permissions=wanted, csp=csp, domain="localhost", prefersBorder="<b>")
    async with opened(liar([lie])) as (page, host):
        assert page.shown["allow"] == ""
        label, address = page.shown["document"].removeprefix("http://").split(".sandbox.localhost:8000/")
        served = await runtime_of(host).opener.documents.get(label, address)
        assert served is not None
        (found,) = read_policies(served.headers["content-security-policy"])
        assert found["connect-src"] == ["'self'", "https://ok.example"]
        assert found["frame-src"] == ["'none'"]
        assert "(self)" not in served.headers["permissions-policy"]
        assert page.shown.get("border") is None


@attack("word-liar-large")
async def test_a_view_of_thirty_megabytes_is_shown_or_refused_and_affects_no_other() -> None:
    """Fails if reading a View blocks the host."""
    async with opened(liar([text(VIEW + "x" * 30_000_000)])) as (page, host):
        assert (await page.ask("ping", {}))["result"] == {}
        assert len(await host.conversation().tools()) == 2
