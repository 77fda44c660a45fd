"""Other dialects in the host, without a browser: what is shown, stored, rejected and audited."""

import base64
import gzip
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import mcp_types as types
import pytest
from mcp.server import MCPServer

from fanlight import Apps, View
from fanlight.browser import shim
from fanlight.host import (
    Allow,
    App,
    Ask,
    Decision,
    Deny,
    Host,
    Limits,
    Policy,
    Question,
)
from fanlight.host.documents.tool_link import view_uri
from fanlight.host.documents.view_document import ViewDocument, embedded_document
from fanlight.host.errors import ViewError, ViewRefusedError
from fanlight.host.host import runtime_of
from fanlight.host.views.page.frames import Answer
from fanlight.host.web.origins import HostNames
from fanlight.host.web.sandbox.dialect_documents import initial_state_fragment, served_html
from fanlight.host.web.sandbox.document_cache import ServedDocument
from fanlight.protocol.dialects import ROWS
from support.calls import begin, call_tool, context_of
from support.mcpui import embedding, html_resource
from support.page import Page

pytestmark = pytest.mark.anyio

ORIGINS = HostNames().origins("http", "localhost:8000")
HELLO = {"protocolVersion": "2026-01-26", "appInfo": {"name": "V", "version": "1"}, "appCapabilities": {}}
APP = App("v", "s", "ui://a/b", "show")


async def opened(host: Host, call: Any) -> Page:
    page = Page()
    await page.open(host, call.view, call.token)
    page.shown = await page.next()
    return page


async def initialized(host: Host, call: Any) -> Page:
    page = await opened(host, call)
    await page.ask("ui/initialize", HELLO, id=0)
    await page.say({"method": "ui/notifications/initialized"})
    return page


async def served(host: Host, page: Page) -> ServedDocument:
    origin, _, address = page.shown["document"].partition("#")[0].rpartition("/")
    document = await runtime_of(host).opener.documents.get(origin.removeprefix("http://").partition(".")[0], address)
    assert document is not None
    return document


async def dialects(host: Host, outcome: str = "translated") -> set[str]:
    return {record.name async for record in host.audit(kind="dialect") if record.outcome == outcome}


@asynccontextmanager
async def running(server: MCPServer[Any], **options: Any) -> AsyncIterator[Host]:
    async with Host({"made": server}, **options) as host:
        await host.servers.wait_until_settled()
        yield host


def linked(meta: dict[str, Any], mime: str = "text/html;profile=mcp-app", about: Any = None) -> MCPServer[Any]:
    """Return a server whose tool is linked to its View by these keys."""
    server: MCPServer[Any] = MCPServer("made")

    @server.resource("ui://made/view", mime_type=mime, meta=about)
    def view() -> str:
        return "<!doctype html><title>View</title>"

    @server.tool(meta=meta)
    def show() -> str:
        return "shown"

    return server


# Links and metadata

LINKS = [row.older for row in ROWS if row.kind == "key" and row.today == "ui.resourceUri"]


@pytest.mark.parametrize("key", LINKS)
async def test_a_tool_linked_by_an_older_key_has_its_view_and_is_audited(key: str) -> None:
    async with running(linked({key: "ui://made/view"})) as host:
        call = await call_tool(host, "made", "show", {})
        assert "<title>View" in (await served(host, await opened(host, call))).body.decode()
        assert await dialects(host) == {key}


async def test_a_view_of_the_first_draft_gets_the_method_names_of_that_draft() -> None:
    async with running(linked({"mcp-ui/resourceUri": "ui://made/view"}, "text/html")) as host:
        page = await opened(host, await call_tool(host, "made", "show", {}))
        hello = {"protocolVersion": "2025-06-18", "clientInfo": {"name": "Old", "version": "1"}, "capabilities": {}}
        await page.ask("initialize", hello, id=0)
        await page.say({"method": "notifications/initialized"})
        methods = [(await page.message())["method"] for _ in range(2)]
        assert methods == ["mcp-ui/notifications/tool-input", "mcp-ui/tool-result"]


@pytest.mark.parametrize("key", LINKS)
async def test_without_dialects_a_tool_linked_by_an_older_key_has_no_view_and_is_audited(key: str) -> None:
    async with running(linked({key: "ui://made/view"}), dialects=False) as host:
        call = await call_tool(host, "made", "show", {})
        assert (call.view, call.for_model[0]["text"]) == (None, "shown")
        (record,) = [record async for record in host.audit(kind="dialect")]
        assert (record.name, record.outcome, record.server) == (key, "refused", "made")
        assert record.data == {"reason": "The tool's link is of another dialect."}


@pytest.mark.parametrize("prefix", ["mcp-ui", "openai"])
async def test_older_metadata_of_a_view_is_applied(prefix: str) -> None:
    about = {
        f"{prefix}/widgetCSP": {
            "connect_domains": ["https://api.example"],
            "resource_domains": ["https://cdn.example"],
        },
        f"{prefix}/widgetDomain": "https://a.example",
        f"{prefix}/widgetPrefersBorder": True,
    }
    async with running(linked({"ui": {"resourceUri": "ui://made/view"}}, about=about)) as host:
        page = await opened(host, await call_tool(host, "made", "show", {}))
        csp = (await served(host, page)).headers["content-security-policy"]
        assert "connect-src 'self' https://api.example;" in csp
        assert "https://cdn.example;" in csp
        assert page.shown["border"] is True
        assert await dialects(host) == set(about)
    async with running(linked({"ui": {"resourceUri": "ui://made/view"}}, about=about), dialects=False) as host:
        page = await opened(host, await call_tool(host, "made", "show", {}))
        assert "connect-src 'none';" in (await served(host, page)).headers["content-security-policy"]
        assert await dialects(host, "refused") == set(about)
        assert await dialects(host) == set()
        (record, *_) = [record async for record in host.audit(kind="dialect")]
        assert record.data == {
            "reason": "It is of another dialect, which this host does not read. Write ui.csp.",
            "uri": "ui://made/view",
        }


HTML_TYPES = [row.older for row in ROWS if row.kind == "type" and row.older.startswith("text/html")]


@pytest.mark.parametrize("mime", HTML_TYPES)
async def test_a_linked_view_with_an_older_mime_type_needs_dialects(mime: str) -> None:
    server = linked({"ui": {"resourceUri": "ui://made/view"}}, mime)
    async with running(server) as host:
        body = (await served(host, await opened(host, await call_tool(host, "made", "show", {})))).body.decode()
        assert ("<script>" in body) is (mime != "text/html+mcp")
        assert await dialects(host) == {mime}
    async with running(server, dialects=False) as host:
        call = await call_tool(host, "made", "show", {})
        with pytest.raises(ViewRefusedError, match="of another dialect"):
            await opened(host, call)


async def test_a_standard_view_is_served_unchanged() -> None:
    async with running(linked({"ui": {"resourceUri": "ui://made/view"}})) as host:
        page = await opened(host, await call_tool(host, "made", "show", {}))
        assert (await served(host, page)).body == b"<!doctype html><title>View</title>"
        assert "#" not in page.shown["document"]
        assert await dialects(host) == set()


async def test_an_older_method_of_a_view_is_audited_once() -> None:
    async with running(linked({"ui": {"resourceUri": "ui://made/view"}})) as host:
        call = await call_tool(host, "made", "show", {})
        page = await initialized(host, call)
        for height in range(3):
            await page.say({"method": "ui/size-change", "params": {"height": height}})
        (record,) = [record async for record in host.audit(kind="dialect")]
        assert (record.name, record.view, record.data) == (
            "ui/size-change",
            call.view,
            {"today": "ui/notifications/size-changed"},
        )


async def test_without_dialects_an_older_method_is_rejected_and_audited() -> None:
    async with running(linked({"ui": {"resourceUri": "ui://made/view"}}), dialects=False) as host:
        page = await opened(host, await call_tool(host, "made", "show", {}))
        answer = await page.ask("initialize", {"clientInfo": {"name": "Old", "version": "1"}}, id=0)
        reason = "initialize belongs to an older dialect, which this host does not accept. Send ui/initialize."
        assert answer["error"] == {"code": -32601, "message": reason}
        await page.ask("ui/initialize", HELLO, id=1)
        await page.say({"method": "ui/size-change", "params": {"height": 5}})
        records = [record async for record in host.audit(kind="message")]
        assert records[0].data is not None
        assert records[0].data["error"]["message"] == reason
        assert records[-1].outcome.startswith("dropped: ui/size-change belongs to an older dialect")


async def test_visibility_of_chatgpt_tools_follows_their_keys() -> None:
    server: MCPServer[Any] = MCPServer("made")
    template = {"openai/outputTemplate": "ui://made/view"}
    metas: dict[str, dict[str, Any]] = {
        "public": template,
        "both": {**template, "openai/widgetAccessible": True},
        "private": {**template, "openai/widgetAccessible": True, "openai/visibility": "private"},
    }
    for name, meta in metas.items():
        server.add_tool(lambda: "x", name=name, meta=meta)

    @server.resource("ui://made/view", mime_type="text/html+skybridge")
    def view() -> str:
        return "<p>"

    async with running(server, policy=Policy({"tools": "allow"})) as host:
        assert {tool.tool for tool in await host.conversation().tools()} == {"public", "both"}
        page = await initialized(host, await call_tool(host, "made", "both", {}))
        await page.message()
        await page.message()
        for name, allowed in (("public", False), ("both", True), ("private", True)):
            answer = await page.ask("tools/call", {"name": name, "arguments": {}})
            assert ("result" in answer) is allowed, name


# Embedded Views

EMBEDDED = html_resource("<p>Hello</p>")
(EMBEDDED_WORD,) = (row.older for row in ROWS if row.kind == "result")


async def test_a_result_that_embeds_a_view_opens_it_and_the_model_sees_the_rest() -> None:
    async with running(embedding("made", show=EMBEDDED)) as host:
        call = await begin(host, "made", "show", "c")
        assert call.view is None
        await call.run({})
        assert [block["type"] for block in call.for_model] == ["text"]
        page = await initialized(host, call)
        assert (await served(host, page)).body.decode().endswith("<p>Hello</p>")
        assert (await page.message())["params"] == {"arguments": {}}
        assert (await page.message())["params"] == call.result
        assert {EMBEDDED_WORD, "text/html"} == await dialects(host)


async def test_without_dialects_an_embedded_view_is_not_opened_and_is_audited() -> None:
    async with running(embedding("made", show=EMBEDDED), dialects=False) as host:
        call = await call_tool(host, "made", "show", {})
        assert call.view is None
        assert [block["type"] for block in call.for_model] == ["text", "resource"]
        (record,) = [record async for record in host.audit(kind="dialect")]
        reason = "A result that brings its own View is of another dialect."
        assert (record.name, record.outcome) == (EMBEDDED_WORD, "refused")
        assert record.data == {"reason": reason, "uri": "ui://made/view"}


def several(*resources: dict[str, Any]) -> MCPServer[Any]:
    """Return a server whose tool embeds all of these."""
    server: MCPServer[Any] = MCPServer("made")

    @server.tool()
    def show() -> types.CallToolResult:
        text = {"type": "text", "text": "Here they are."}
        return types.CallToolResult.model_validate({"content": [text, *resources]})

    return server


async def test_each_of_several_embedded_views_is_opened_and_audited() -> None:
    uris = ["ui://made/one", "ui://made/two", "ui://made/three"]
    async with running(several(*(html_resource(f"<p>{uri}</p>", uri=uri) for uri in uris))) as host:
        call = await call_tool(host, "made", "show", {"a": 1}, "c")
        assert [view.uri for view in call.views] == uris
        assert (call.view, call.token) == call.views[0][:2]
        assert [block["type"] for block in call.for_model] == ["text"]
        for view in call.views:
            page = await initialized(host, view)
            assert (await served(host, page)).body.decode().endswith(f"<p>{view.uri}</p>")
            assert (await page.message())["params"] == {"arguments": {"a": 1}}
            assert (await page.message())["params"] == call.result
        named = [
            record async for record in host.audit(kind="dialect", conversation="c") if record.name == EMBEDDED_WORD
        ]
        assert [(record.view, record.data) for record in named] == [
            (view.view, {"today": "ui.resourceUri", "uri": view.uri}) for view in call.views
        ]
        assert [record.data and record.data["uri"] async for record in host.audit(kind="document")] == uris


async def test_a_uri_that_is_embedded_twice_is_one_view_and_is_audited() -> None:
    async with running(several(EMBEDDED, html_resource("<p>Other</p>"))) as host:
        call = await call_tool(host, "made", "show", {})
        (view,) = call.views
        assert "Hello" in (await served(host, await opened(host, view))).body.decode()
        (record,) = [record async for record in host.audit(kind="dialect") if record.outcome == "refused"]
        assert record.data is not None
        assert record.data["uri"] == view.uri
        assert "another resource of this URI before it" in record.data["reason"]


async def test_embedded_views_beyond_the_limit_are_not_opened_and_are_audited() -> None:
    resources = [html_resource("<p>", uri=f"ui://made/{number}") for number in range(5)]
    async with running(several(*resources), limits=Limits(result_views=2)) as host:
        call = await call_tool(host, "made", "show", {})
        assert [view.uri for view in call.views] == ["ui://made/0", "ui://made/1"]
        (record,) = [record async for record in host.audit(kind="dialect") if record.outcome == "refused"]
        assert record.data == {"reason": "The result brings 5 Views, and no more than 2 are opened."}


async def test_embedded_views_are_restored_from_the_store_with_their_own_documents(tmp_path: Path) -> None:
    resources = [html_resource(f"<p>{number}</p>", uri=f"ui://made/{number}") for number in range(2)]
    store = f"sqlite:///{tmp_path / 'host.db'}"
    async with running(several(*resources), store=store) as host:
        call = await call_tool(host, "made", "show", {})
    async with running(several(*resources), store=store) as host:
        for number, view in enumerate(call.views):
            assert (await served(host, await opened(host, view))).body.decode().endswith(f"<p>{number}</p>")


async def test_a_linked_view_takes_precedence_over_embedded_ones() -> None:
    server: MCPServer[Any] = MCPServer("made")
    apps = Apps(server)

    @apps.tool(view=View.html("<!doctype html><title>Linked</title>", uri="ui://made/view"))
    def show() -> types.CallToolResult:
        return types.CallToolResult.model_validate({"content": [html_resource("<p>Embedded</p>")]})

    async with running(server) as host:
        page = await opened(host, await call_tool(host, "made", "show", {}))
        assert "Linked" in (await served(host, page)).body.decode()


@pytest.mark.parametrize(
    "block",
    [
        {"type": "resource", "resource": {"uri": "https://a.example", "mimeType": "text/html", "text": "x"}},
        {"type": "resource", "resource": {"uri": "ui://", "mimeType": "text/html", "text": "x"}},
        {"type": "text", "text": "ui://made/view"},
    ],
)
async def test_content_that_is_not_a_view_opens_nothing(block: dict[str, Any]) -> None:
    async with running(embedding("made", show=block)) as host:
        assert (await call_tool(host, "made", "show", {})).view is None
        assert await dialects(host) == set()


@pytest.mark.parametrize(
    ("resource", "reason"),
    [
        (html_resource("x", "application/pdf"), "not HTML"),
        (html_resource("# only a comment", "text/uri-list"), "a list of addresses without a web page"),
        (html_resource("file:///etc/passwd", "text/uri-list"), "a list of addresses without a web page"),
        (html_resource("javascript:alert(1)", "text/uri-list"), "a list of addresses without a web page"),
        (html_resource("https://user:word@a.example/", "text/uri-list"), "a page that cannot be framed"),
        (html_resource("https://[::1]/", "text/uri-list"), "a page that cannot be framed"),
        (html_resource(r"https://a.example\@b.example/", "text/uri-list"), "a page that cannot be framed"),
    ],
)
async def test_an_embedded_view_that_cannot_be_shown_has_a_reason(resource: dict[str, Any], reason: str) -> None:
    async with running(embedding("made", show=resource)) as host:
        call = await call_tool(host, "made", "show", {})
        with pytest.raises(ViewRefusedError, match=reason):
            await opened(host, call)


async def test_an_embedded_view_is_restored_from_the_store(tmp_path: Path) -> None:
    server = embedding("made", show=EMBEDDED)
    store = f"sqlite:///{tmp_path / 'host.db'}"
    async with running(server, store=store) as host:
        call = await call_tool(host, "made", "show", {})
    async with running(embedding("made", show=EMBEDDED), store=store) as host:
        assert (await served(host, await opened(host, call))).body.decode().endswith("<p>Hello</p>")
    async with running(embedding("made", show=EMBEDDED), store=store, dialects=False) as host:
        with pytest.raises(ViewRefusedError, match="of another dialect, which this host refuses"):
            await opened(host, call)


# External pages

ALLOWED: list[tuple[str, str, bool]] = [
    ("https://a.example", "a.example", True),
    ("https://a.example", "https://a.example:443", True),
    ("https://a.example", "*.example", True),
    ("https://a.example:8443", "a.example", False),
    ("https://a.example:8443", "a.example:*", True),
    ("http://a.example", "a.example", False),
    ("http://a.example", "http://a.example", True),
    ("https://a.example", "b.example", False),
    ("https://a.example", "*.a.example", False),
    ("https://evil.example", "example", False),
]


@pytest.mark.parametrize(("origin", "rule", "allowed"), ALLOWED)
def test_rules_for_external_pages(origin: str, rule: str, allowed: bool) -> None:
    decision = Policy({"external_domains": [rule]}).external(APP, f"{origin}/x", origin)
    assert isinstance(decision, Allow if allowed else Deny)


def test_external_pages_are_framed_only_if_allowed_and_never_from_blocked_domains() -> None:
    rules = {"external_domains": ["*.example"], "block_domains": ["a.example"]}
    assert Policy(rules).external(APP, "https://a.example/", "https://a.example") == Deny(
        "https://a.example is blocked here."
    )
    assert isinstance(Policy().external(APP, "https://a.example/", "https://a.example"), Deny)


@pytest.mark.parametrize(("answer", "shown"), [("always", True), ("deny", False)])
async def test_a_policy_in_code_can_ask_about_an_external_page(answer: Answer, shown: bool) -> None:
    class Asking(Policy):
        def external(self, app: App, url: str, source: str) -> Decision:
            return Ask(f"May {url} be shown?")

    questions: list[Question] = []

    async def decide(question: Question) -> Answer:
        questions.append(question)
        return answer

    resource = html_resource("https://a.example/x", "text/uri-list")
    async with running(embedding("made", show=resource), policy=Asking()) as host:
        host.on_question(decide, instead_of_pages=True)
        for _ in range(2):
            call = await call_tool(host, "made", "show", {})
            if shown:
                assert "https://a.example/x" in (await served(host, await opened(host, call))).body.decode()
            else:
                with pytest.raises(ViewRefusedError, match="The user denied this"):
                    await opened(host, call)
    assert [question.text for question in questions] == ["May https://a.example/x be shown?"] * (1 if shown else 2)
    assert "may show pages of https://a.example without asking" in questions[0].always


@pytest.mark.parametrize(
    "origin", ["http://localhost:8000", "http://sandbox.localhost:8000", "https://app.example.com"]
)
async def test_pages_of_the_host_program_are_never_framed(origin: str) -> None:
    """Fails without `ours` in `ViewOpener._external`."""
    resource = html_resource(f"{origin}/page", "text/uri-list")
    policy = Policy({"external_domains": [origin]})
    options: Any = {"policy": policy, "origins": ["https://app.example.com"]}
    async with running(embedding("made", show=resource), **options) as host:
        call = await call_tool(host, "made", "show", {})
        with pytest.raises(ViewRefusedError, match="is the program's own"):
            await opened(host, call)


async def test_the_url_of_a_framed_page_is_only_in_an_attribute_and_the_policy() -> None:
    listed = "# for people\r\nftp://a.example/\r\nhttps://a.example/?a=1&quot;b='2'\r\nhttps://b.example/\r\n"
    policy = Policy({"external_domains": ["a.example", "b.example"]})
    async with running(embedding("made", show=html_resource(listed, "text/uri-list")), policy=policy) as host:
        document = await served(host, await opened(host, await call_tool(host, "made", "show", {})))
        assert 'src="https://a.example/?a=1&amp;quot;b=&#x27;2&#x27;"' in document.body.decode()
        assert "frame-src https://a.example;" in document.headers["content-security-policy"]


# The state of Views for ChatGPT


def widget() -> MCPServer[Any]:
    return linked({"openai/outputTemplate": "ui://made/view"}, "text/html+skybridge")


def known(page: Page) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(base64.b64decode(page.shown["document"].partition("#")[2]))
    return found


async def test_widget_state_is_stored_and_returned_but_not_sent_to_the_model() -> None:
    async with running(widget()) as host:
        call = await call_tool(host, "made", "show", {}, conversation="c")
        page = await initialized(host, call)
        assert "state" not in known(page)
        await page.message()
        await page.message()
        assert (await page.ask("fanlight/save-state", {"state": {"count": 2}}))["result"] == {}
        assert await context_of(host, "c") == []
        again = await opened(host, call)
        assert known(again)["state"] == {"count": 2}
        assert known(again)["result"] == call.result
        other = await opened(host, await call_tool(host, "made", "show", {}, conversation="c"))
        assert "state" not in known(other)


@pytest.mark.parametrize(
    ("rule", "answer", "is_sent"), [("allow", "deny", True), ("ask", "deny", False), ("ask", "once", True)]
)
async def test_the_policy_can_send_widget_state_to_the_model(rule: str, answer: str, is_sent: bool) -> None:
    async with running(widget(), policy=Policy({"widget_state": rule})) as host:
        call = await call_tool(host, "made", "show", {}, conversation="c")
        page = await initialized(host, call)
        await page.message()
        await page.message()
        await page.say({"id": 7, "method": "fanlight/save-state", "params": {"state": 5}})
        while (frame := await page.next())["type"] != "message":
            if frame["type"] == "question":
                await page.tell({"type": "command-result", "id": frame["id"], "result": {"answer": answer}})
        assert frame["message"]["result"] == {}
        assert known(await opened(host, call))["state"] == 5
        assert bool(await context_of(host, "c")) is is_sent


async def test_widget_state_is_per_view_and_limited_in_size() -> None:
    async with running(linked({"ui": {"resourceUri": "ui://made/view"}})) as host:
        page = await initialized(host, await call_tool(host, "made", "show", {}))
        await page.message()
        await page.message()
        assert (await page.ask("fanlight/save-state", {"state": 1}))["error"]["code"] == -32601
    async with running(widget(), limits=Limits(state_characters=100)) as host:
        page = await initialized(host, await call_tool(host, "made", "show", {}))
        await page.message()
        await page.message()
        assert (
            "at most 100 are kept" in (await page.ask("fanlight/save-state", {"state": "x" * 100}))["error"]["message"]
        )


def test_data_that_is_too_long_for_a_url_is_sent_by_message() -> None:
    small, large = {"a": 1}, {"text": "x" * 1_200_000}
    for input, result, kept in ((small, small, {"input", "result"}), (small, large, {"input"}), (large, large, set())):
        text = initial_state_fragment({"theme": "dark"}, {"serverTools": {}}, input, result, None)
        found = json.loads(base64.b64decode(text))
        assert found.keys() - {"context", "capabilities"} == kept
    assert initial_state_fragment({}, {}, None, None, "x" * 2_000_000) == ""


# Documents

FRONT = [
    "",
    "<!doctype html>",
    "\ufeff<!DOCTYPE html>",
    " \n<!-- a --><!-- b\n --> <!doctype html PUBLIC 'x'>",
]


@pytest.mark.parametrize("front", FRONT)
def test_a_shim_is_inserted_right_after_the_doctype(front: str) -> None:
    document = embedded_document(html_resource(f"{front}<html lang=de><p>x")["resource"])
    text = served_html(document)
    assert text.startswith(f"{front or '<!doctype html>'}<script>")
    assert text.endswith("</script><html lang=de><p>x")


def test_data_of_a_server_cannot_close_the_script_of_a_shim() -> None:
    data = {"</script><script>evil()": "<!--", "__proto__": {"polluted": 1}, "\u2028": "\u2029"}
    meta = {"mcpui.dev/ui-initial-render-data": data}
    text = served_html(embedded_document(html_resource("<p>", meta=meta)["resource"]))
    assert text.count("</script") == 1
    assert "<!--" not in text
    assert "\u2028" not in text


@pytest.mark.parametrize("name", ["mcpui", "openai"])
def test_a_shim_is_small_and_keeps_line_numbers(
    name: Literal["mcpui", "openai"],
) -> None:
    text = shim(name, {})
    assert len(gzip.compress(text.encode(), 9)) <= 3_000
    assert "\n" not in text
    assert not re.search(r"\b(?:import|export)\b|//", text)


@pytest.mark.parametrize(
    ("size", "height"),
    [
        (["800px", "600px"], 600),
        ([1, 2.5], 2.5),
        (["100%", "50%"], None),
        (["1px"], None),
        ("600px", None),
        ([1, -5], None),
        ([1, True], None),
        ([1, "9" * 5000], None),
        ([1, float("inf")], None),
    ],
)
def test_the_preferred_height_of_a_server_is_parsed(size: object, height: float | None) -> None:
    document = embedded_document(html_resource("<p>", meta={"mcpui.dev/ui-preferred-frame-size": size})["resource"])
    assert document.height == height


def test_only_a_url_with_an_html_type_is_an_external_page() -> None:
    def form(html: str) -> tuple[str, str | None]:
        document: ViewDocument = embedded_document(html_resource(html, "text/html;profile=mcp-app")["resource"])
        return document.form, document.url

    assert form(" https://a.example/x \n") == ("external", "https://a.example/x")
    assert form("https://a.example/x is nice") == ("mcp-ui", None)
    assert form("<p>https://a.example/x") == ("mcp-ui", None)
    with pytest.raises(ViewError, match="cannot be framed"):
        form("https://a_b.example/")


def test_links_of_other_kinds_are_not_followed() -> None:
    for uri in ("https://a.example", "ui://", 7, None):
        assert view_uri({"_meta": {"openai/outputTemplate": uri}}) is None
