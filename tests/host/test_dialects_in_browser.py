"""Views of other dialects in a real browser, as published or documented by their authors."""

import re
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp.server import MCPServer
from playwright.async_api import Browser, Page, expect
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from fanlight.host import Host, Policy
from fanlight.protocol.dialects import ROWS
from support.browser import until, view_frame
from support.calls import context_of
from support.mcpui import embedding, html_resource, made
from support.node import run_esbuild
from support.program import program_of
from support.wire import serving

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).parents[2]
PACKAGES = ("mcp-ui-server-5", "mcp-ui-server-6")
ALLOW = dict.fromkeys(("tools", "links", "messages"), "allow")

# Sends every message that the documentation of mcp-ui lists, and logs what it receives.
ACTING = """<h1>Acting</h1><ol id="log"></ol><script>
const log = (words) => document.getElementById("log").append(
  Object.assign(document.createElement("li"), {textContent: words}));
const say = (message) => window.parent.postMessage(message, "*");
let rendered = {};
window.addEventListener("message", ({data}) => {
  if (data.type === "ui-lifecycle-iframe-render-data") rendered = data.payload.renderData;
  if (data.type === "ui-message-received") log(`received ${data.messageId ?? data.payload?.messageId}`);
  if (data.type === "ui-message-response") {
    const {response, error} = data.payload;
    log(`response ${data.messageId ?? data.payload.messageId} ${JSON.stringify(error ?? response)}`);
  }
});
say({type: "ui-lifecycle-iframe-ready"});
</script>"""


class Received:
    """Messages and links that reached the host's program and page."""

    def __init__(self, host: Host) -> None:
        self.messages: list[str] = []
        host.on_message(lambda message: self.messages.append(message.content[0]["text"]))

    async def links(self, page: Page) -> None:
        await page.evaluate(
            """() => { window.links = []; addEventListener("mcp-link", (event) => {
              event.preventDefault(); links.push(event.detail.url); }); }"""
        )


def raw_html(html: str, adapter: str | None, **more: Any) -> dict[str, Any]:
    content = {"type": "rawHtml", "htmlString": html}
    options = {"uri": "ui://made/view", "content": content, "encoding": "text", **more}
    return {**options, "adapters": {adapter: {"enabled": True}}} if adapter else options


@pytest.mark.parametrize("encoding", ["text", "blob"])
@pytest.mark.parametrize("adapter", [None, "mcpApps", "appsSdk"])
@pytest.mark.parametrize("package", PACKAGES)
async def test_raw_html_of_mcp_ui_is_shown_and_its_actions_arrive(
    package: str, adapter: str | None, encoding: str, browser: Browser
) -> None:
    (resource,) = made(package, raw_html(ACTING, adapter, encoding=encoding))
    assert resource is not None
    host = Host({"made": embedding("made", show=resource)}, policy=Policy(ALLOW))
    received = Received(host)
    with program_of(host) as program:
        async with program.shown(browser, "made", "show", {}) as (page, problems):
            view = await view_frame(page)
            await expect(view.get_by_role("heading")).to_have_text("Acting")
            await received.links(page)

            async def acted(type: str, payload: dict[str, Any], answer: str) -> None:
                await view.evaluate("(message) => say(message)", {"type": type, "messageId": type, "payload": payload})
                await expect(view.locator("li", has_text=f"received {type}")).to_have_count(1)
                await expect(view.locator("li", has_text=f"response {type} ")).to_contain_text(answer)

            await acted("tool", {"toolName": "look", "params": {"at": "it"}}, "looked at it")
            await acted("prompt", {"prompt": "Tell me more"}, "")
            await acted("intent", {"intent": "buy", "params": {"id": 7}}, "")
            assert received.messages[0] == "Tell me more"
            assert "buy" in received.messages[1]
            assert '{"id":7}' in received.messages[1]
            if adapter != "appsSdk":  # which rejects links and has no message for sizes
                await acted("link", {"url": "https://a.example/x"}, "{}")
                assert await page.evaluate("links") == ["https://a.example/x"]
                await view.evaluate("say({type: 'ui-size-change', payload: {height: 432}})")
                await expect(page.locator("mcp-app").locator("iframe")).to_have_css("height", "432px")
            await view.evaluate("say({type: 'notify', payload: {message: 'hello'}})")
            if adapter is None:
                await until(view, "rendered.toolOutput?.content[0].text === 'Here is show.'")
            assert problems == []
            assert {record.name async for record in host.audit(kind="message")} <= STANDARD


STANDARD = {
    *("ui/initialize", "ui/notifications/initialized", "ui/notifications/size-changed", "ui/open-link", "ui/message"),
    *("tools/call", "notifications/message"),
}


# External pages and Remote DOM

PAGE = f"<!doctype html><title>Elsewhere</title>{ACTING}<script>log(`search ${{location.search}}`)</script>"


def external(package: str, address: str) -> dict[str, Any]:
    metadata = {"preferred-frame-size": ["100%", "333px"], "initial-render-data": {"from": "the server"}}
    content = {"type": "externalUrl", "iframeUrl": address}
    (resource,) = made(
        package, {"uri": "ui://made/page", "content": content, "encoding": "text", "uiMetadata": metadata}
    )
    assert resource is not None
    return resource


async def elsewhere(request: Request) -> Response:
    return HTMLResponse(PAGE)


@pytest.mark.parametrize("package", PACKAGES)
async def test_an_external_page_is_framed_if_the_policy_allows_its_origin_and_its_actions_arrive(
    package: str, browser: Browser
) -> None:
    with serving(Starlette(routes=[Route("/page", elsewhere)])) as address:
        address = address.replace("127.0.0.1", "pages.localhost")
        server = embedding("made", show=external(package, f"{address}/page?x=1"))
        host = Host({"made": server}, policy=Policy({**ALLOW, "external_domains": [address]}))
        received = Received(host)
        with program_of(host) as program:
            async with program.shown(browser, "made", "show", {}) as (page, problems):
                view = await view_frame(page)
                await expect(page.locator("mcp-app").locator("iframe")).to_have_css("height", "333px")
                (inner,) = view.child_frames
                await expect(inner.locator("li").first).to_have_text("search ?x=1&waitForRenderData=true")
                await until(inner, "rendered.from === 'the server' && rendered.theme === 'light'")
                await inner.evaluate(
                    "say({type: 'tool', messageId: 1, payload: {toolName: 'look', params: {at: 'all'}}})"
                )
                await expect(inner.locator("li", has_text="response 1")).to_contain_text("looked at all")
                await inner.evaluate("say({type: 'prompt', payload: {prompt: 'from elsewhere'}})")
                await inner.evaluate("say({type: 'ui-size-change', payload: {height: 222}})")
                await expect(page.locator("mcp-app").locator("iframe")).to_have_css("height", "222px")
                assert received.messages == ["from elsewhere"]
                assert await inner.evaluate("origin") == address
                (shown,) = [record async for record in host.audit(kind="document")]
                assert shown.data is not None
                assert f"frame-src {address};" in shown.data["csp"]
                assert "connect-src 'self';" in shown.data["csp"]
                assert problems == []


@pytest.mark.parametrize("waits", [False, True], ids=["at once", "late"])
async def test_only_an_allowed_external_page_can_use_the_standard(waits: bool, browser: Browser) -> None:
    """Fails without the check of source and origin in shim-mcpui.js, whose halves the attack shim-external has."""
    html = bundled(BOTH.replace("WAITS", str(waits).lower()))

    async def standard(request: Request) -> Response:
        return HTMLResponse(html)

    with serving(Starlette(routes=[Route("/page", standard), Route("/other", elsewhere)])) as address:
        pages, others = (address.replace("127.0.0.1", f"{name}.localhost") for name in ("pages", "others"))
        resource = html_resource(f"{pages}/page", "text/uri-list")
        rules = {**ALLOW, "external_domains": [pages], "messages": "deny"}
        host = Host({"made": embedding("made", show=resource)}, policy=Policy(rules))
        received = Received(host)
        with program_of(host) as program:
            async with program.shown(browser, "made", "show", {}) as (page, problems):
                view = await view_frame(page)
                (inner,) = view.child_frames
                root = inner.locator("#root")
                for again in (False, True):
                    if again:  # another page in the same frame, which gets the same
                        await inner.goto(f"{pages}/page?again")
                    if waits:
                        await until(inner, "document.readyState === 'complete' && window.later")
                        await page.evaluate("new Promise((done) => setTimeout(done, 300))")
                        await inner.evaluate("later()")
                    for words in ("input", "result", "connected looked at both"):
                        await expect(root).to_contain_text(words)
                denied = await inner.evaluate("""() => new Promise((done) => {
                  addEventListener("message", ({ data }) => data.id === "q" && done(data.error));
                  const params = { role: "user", content: [{ type: "text", text: "denied" }] };
                  parent.postMessage({ jsonrpc: "2.0", id: "q", method: "ui/message", params }, "*");
                })""")
                assert denied["message"] == "Views may not send messages here."
                await inner.evaluate(
                    """(address) => new Promise((done) => {
                      const frame = document.createElement("iframe");
                      Object.assign(frame, { src: address, onload: done });
                      document.body.append(frame);
                    })""",
                    f"{others}/other",
                )
                (other,) = inner.child_frames
                call = "{ name: 'look', arguments: { at: 'another' } }"
                await other.evaluate(
                    f"parent.parent.postMessage({{ jsonrpc: '2.0', id: 1, method: 'tools/call', params: {call} }}, '*')"
                )
                for frame in (view, page.main_frame, view, page.main_frame):
                    await frame.evaluate("new Promise((done) => setTimeout(done, 50))")
                assert len([record async for record in host.audit(kind="message", name="tools/call")]) == 2
                assert received.messages == []
                assert problems == []


@pytest.mark.parametrize("package", PACKAGES)
async def test_an_external_page_that_is_not_allowed_is_replaced_by_the_reason(package: str, browser: Browser) -> None:
    host = Host({"made": embedding("made", show=external(package, "https://pages.example/x"))})
    with program_of(host) as program:
        async with program.shown(browser, "made", "show", {}) as (page, _):
            alert = page.get_by_role("alert")
            await expect(alert).to_contain_text("The page https://pages.example/x is from https://pages.example, which")
            await expect(alert).to_contain_text("is not among the external_domains that are allowed here")
            assert len(page.frames) <= 2


@pytest.mark.parametrize("framework", ["react", "webcomponents"])
async def test_remote_dom_of_mcp_ui_is_shown_as_source_and_not_run(framework: str, browser: Browser) -> None:
    script = "parent.postMessage({type: 'prompt', payload: {prompt: 'run'}}, '*') // <b>&amp;</pre><script>stop()"
    content = {"type": "remoteDom", "script": script, "framework": framework}
    options = {"uri": "ui://made/dom", "content": content, "encoding": "text"}
    resource, none = *made(PACKAGES[0], options), *made(PACKAGES[1], options)
    assert resource is not None
    assert none is None, "6.1 makes no Remote DOM any more"
    host = Host({"made": embedding("made", show=resource)}, policy=Policy(ALLOW))
    received = Received(host)
    with program_of(host) as program:
        async with program.shown(browser, "made", "show", {}) as (page, problems):
            view = await view_frame(page)
            await expect(view.get_by_role("note")).to_contain_text("which this host does not run")
            await expect(view.locator("pre")).to_have_text(script)
            assert received.messages == []
            assert problems == []


# ChatGPT


def chatgpt(html: str, **tools: dict[str, Any]) -> MCPServer[Any]:
    """Return a server with nothing but ChatGPT's own keys, as its documentation shows one."""
    server: MCPServer[Any] = MCPServer("chatgpt")
    todos = [{"id": "1", "title": "Read"}]
    meta = {"openai/outputTemplate": "ui://widget/todo.html", "openai/widgetAccessible": True, **tools.get("meta", {})}
    about = {"openai/widgetPrefersBorder": True, "openai/widgetCSP": {"connect_domains": ["https://api.example"]}}

    @server.resource("ui://widget/todo.html", mime_type="text/html+skybridge", meta=about)
    def widget() -> str:
        return html

    def result(words: str) -> types.CallToolResult:
        text = types.TextContent(type="text", text=words)
        structured = {"tasks": list(todos)}
        return types.CallToolResult(content=[text], structured_content=structured, _meta={"secret": len(todos)})

    @server.tool(meta=meta)
    def list_todos(owner: str = "") -> types.CallToolResult:
        return result(f"The tasks of {owner}.")

    @server.tool(meta=meta)
    def add_todo(title: str) -> types.CallToolResult:
        todos.append({"id": str(len(todos) + 1), "title": title})
        return result(f"Added {title}.")

    return server


# Reads what is there when it runs, listens for the rest, and calls a tool.
PLAIN_WIDGET = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Todo</title></head><body>
<h2>Todo</h2><form><input name="title" autocomplete="off"><button type="submit">Add</button></form><ul></ul>
<script type="module">
  const list = document.querySelector("ul");
  const form = document.querySelector("form");
  let tasks = [...(window.openai?.toolOutput?.tasks ?? [])];
  window.first = { tasks, input: window.openai.toolInput, state: window.openai.widgetState };
  const render = () => list.replaceChildren(...tasks.map(({ title }) =>
    Object.assign(document.createElement("li"), { textContent: title })));
  window.addEventListener("openai:set_globals", (event) => {
    const globals = event.detail?.globals;
    if (globals?.toolOutput?.tasks) { tasks = globals.toolOutput.tasks; render(); }
  }, { passive: true });
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const response = await window.openai.callTool("add_todo", { title: form.elements.title.value });
    if (response?.structuredContent?.tasks) { tasks = response.structuredContent.tasks; render(); }
  });
  render();
</script></body></html>"""

# With React, and hooks made of useSyncExternalStore, as the documentation has them.
REACT_WIDGET = """
import { createElement as h, useCallback, useEffect, useState, useSyncExternalStore } from "react";
import { createRoot } from "react-dom/client";

const useGlobal = (key) => useSyncExternalStore(
  (changed) => {
    const listener = ({ detail }) => detail.globals[key] !== undefined && changed();
    window.addEventListener("openai:set_globals", listener, { passive: true });
    return () => window.removeEventListener("openai:set_globals", listener);
  },
  () => window.openai[key],
);

const useWidgetState = (initial) => {
  const given = useGlobal("widgetState");
  const [state, set] = useState(() => given ?? initial);
  useEffect(() => set(given ?? initial), [given]);
  return [state, useCallback((next) => {
    set(next);
    window.openai.setWidgetState(next);
  }, [])];
};

const App = () => {
  const [state, setState] = useWidgetState({ count: 0 });
  const theme = useGlobal("theme");
  const mode = useGlobal("displayMode");
  const output = useGlobal("toolOutput");
  const meta = useGlobal("toolResponseMetadata");
  const input = useGlobal("toolInput");
  const others = ["requestModal", "uploadFile", "requestCheckout"].filter((name) => window.openai[name]);
  return h("main", { className: theme },
    h("p", { id: "facts" }, `${theme} ${mode} ${output?.tasks.length} ${meta?.secret} ${input?.owner}`),
    h("button", { onClick: () => setState({ count: state.count + 1 }) }, `Count ${state.count}`),
    h("button", { onClick: () => window.openai.requestDisplayMode({ mode: "fullscreen" }) }, "Large"),
    h("button", { onClick: () => window.openai.sendFollowUpMessage({ prompt: "Draft a plan" }) }, "Ask"),
    h("button", { onClick: () => window.openai.openExternal({ href: "https://a.example/" }) }, "Open"),
    h("p", {}, others.join() || "no more"),
  );
};
createRoot(document.getElementById("root")).render(h(App));
"""


def bundled(source: str) -> str:
    """Return a document with a script and the published packages that it imports."""
    production = '--define:process.env.NODE_ENV="production"'
    script = run_esbuild("--bundle", "--minify", "--format=iife", production, input=source)
    script = script.replace("</script", "<\\/script")
    return f'<!doctype html><title>Widget</title><div id="root"></div><script type="module">{script}</script>'


async def test_a_plain_widget_for_chatgpt_runs_unchanged(browser: Browser) -> None:
    host = Host({"chatgpt": chatgpt(PLAIN_WIDGET)}, policy=Policy({"tools": "allow"}))
    with program_of(host) as program:
        async with program.shown(browser, "chatgpt", "list_todos", {"owner": "me"}) as (page, problems):
            view = await view_frame(page)
            await expect(view.get_by_role("listitem")).to_have_text(["Read"])
            assert await view.evaluate("first") == {
                "tasks": [{"id": "1", "title": "Read"}],
                "input": {"owner": "me"},
                "state": None,
            }
            assert await view.evaluate("location.hash") == ""
            await view.get_by_role("textbox").fill("Write")
            await view.get_by_role("button", name="Add").click()
            await expect(view.get_by_role("listitem")).to_have_text(["Read", "Write"])
            (shown,) = [record async for record in host.audit(kind="document")]
            assert shown.data is not None
            assert "connect-src 'self' https://api.example;" in shown.data["csp"]
            await expect(page.locator("mcp-app").locator("dialog").first).to_have_class(re.compile("border"))
            words = {record.name async for record in host.audit(kind="dialect")}
            assert words == {
                *("openai/outputTemplate", "openai/widgetPrefersBorder", "openai/widgetCSP", "text/html+skybridge"),
            }
            assert problems == []


async def test_a_react_widget_for_chatgpt_runs_unchanged_and_restores_its_state(browser: Browser) -> None:
    host = Host({"chatgpt": chatgpt(bundled(REACT_WIDGET))}, policy=Policy(ALLOW))
    received = Received(host)
    with program_of(host) as program:
        async with program.shown(browser, "chatgpt", "list_todos", {"owner": "me"}) as (page, problems):
            view = await view_frame(page)
            await received.links(page)
            await expect(view.locator("#facts")).to_have_text("light inline 1 1 me")
            await expect(view.get_by_text("no more")).to_be_visible()
            await view.get_by_role("button", name="Count 0").click()
            await view.get_by_role("button", name="Count 1").click()
            await view.get_by_role("button", name="Large").click()
            await expect(view.locator("#facts")).to_have_text("light fullscreen 1 1 me")
            await view.get_by_role("button", name="Ask").click()
            await view.get_by_role("button", name="Open").click()
            await page.wait_for_function("links.length === 1")
            assert await page.evaluate("links") == ["https://a.example/"]
            assert received.messages == ["Draft a plan"]
            program.soon(lambda: host.set_context(locale="de"))
            await until(view, "openai.locale === 'de'")
            await page.reload()
            again = await view_frame(page)
            await expect(again.get_by_role("button", name="Count 2")).to_be_visible()
            assert await again.evaluate("openai.widgetState") == {"count": 2}
            assert await context_of(host, "chatgpt") == []
            assert problems == []


async def test_a_widget_opened_during_the_call_gets_the_result(browser: Browser) -> None:
    host = Host({"chatgpt": chatgpt(PLAIN_WIDGET)}, policy=Policy({"tools": "allow"}))
    with program_of(host) as program:
        async with program.shown(browser, "chatgpt", "list_todos", None) as (page, problems):
            view = await view_frame(page)
            assert await view.evaluate("first") == {"tasks": [], "input": None, "state": None}
            await program.inside(program.call.run({"owner": "you"}))
            await expect(view.get_by_role("listitem")).to_have_text(["Read"])
            assert await view.evaluate("openai.toolInput") == {"owner": "you"}
            assert problems == []


async def test_window_openai_has_exactly_the_documented_members(browser: Browser) -> None:
    host = Host({"chatgpt": chatgpt(PLAIN_WIDGET)}, policy=Policy(ALLOW))
    Received(host)
    members = [row for row in ROWS if row.kind == "member" and ":" not in row.older]
    none = {row.older for row in members if row.note.startswith("undefined")}
    with program_of(host) as program:
        async with program.shown(browser, "chatgpt", "list_todos", {"owner": "me"}) as (page, _):
            view = await view_frame(page)
            found = set(await view.evaluate("Object.keys(openai).filter((name) => openai[name] !== undefined)"))
            # Without a setting, the page reports no maximum height.
            assert found == {row.older for row in members} - none - {"maxHeight"}
            assert await view.evaluate("(names) => names.filter((name) => openai[name] !== undefined)", [*none]) == []


# Documents of the standard, embedded by another dialect

BOTH = """
import { App } from "ext-apps-2";
const app = new App({ name: "Published", version: "1" }, {});
const log = (words) => (document.getElementById("root").textContent += `${words} `);
app.ontoolinput = () => log("input");
app.ontoolresult = () => log("result");
window.later = async () => {
  await app.connect();
  log(`connected ${(await app.callServerTool({ name: "look", arguments: { at: "both" } })).content[0].text}`);
};
if (!WAITS) window.later();
"""


@pytest.mark.parametrize("waits", [False, True], ids=["at once", "late"])
@pytest.mark.parametrize("mime", ["text/html", "text/html;profile=mcp-app", "text/html+skybridge"])
async def test_the_published_app_runs_with_a_shim_even_if_it_connects_late(
    mime: str, waits: bool, browser: Browser
) -> None:
    html = bundled(BOTH.replace("WAITS", str(waits).lower()))
    host = Host({"made": embedding("made", show=html_resource(html, mime))}, policy=Policy(ALLOW))
    with program_of(host) as program:
        async with program.shown(browser, "made", "show", {}) as (page, problems):
            view = await view_frame(page)
            if waits:
                await until(view, "document.readyState === 'complete'")
                await page.evaluate("new Promise((done) => setTimeout(done, 300))")
                await view.evaluate("later()")
            root = view.locator("#root")
            for words in ("input", "result", "connected looked at both"):
                await expect(root).to_contain_text(words)
            assert (await root.text_content() or "").count("result") == 1
            assert problems == []
