"""The host without a browser: a page in Python opens Views and exchanges messages with the host."""

import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import mcp_types as types
import pytest
from fastmcp import FastMCP
from mcp.server import MCPServer
from mcp.server.mcpserver import Context

from fanlight import Apps, View
from fanlight.host import CallCancelledError, Host, NotConnectedError, Policy, Timeouts, UnknownViewError
from fanlight.host.errors import ViewRefusedError
from fanlight.host.host import runtime_of
from fanlight.host.web.origins import HostNames
from support.calls import begin, call_app_tool, call_tool, context_of
from support.page import Page
from support.shop import build

pytestmark = pytest.mark.anyio

ORIGINS = HostNames().origins("http", "localhost:8000")
HELLO = {"protocolVersion": "2026-01-26", "appInfo": {"name": "V", "version": "1"}, "appCapabilities": {}}


async def open_view(host: Host, view: str | None, token: str | None, *, greet: bool = True, **frame: Any) -> Page:
    page = Page()
    await page.open(host, view, token, **frame)
    page.shown = await page.next()
    assert page.shown["type"] == ("resumed" if "seen" in frame else "show")
    if greet:
        await initialize(page)
    return page


async def initialize(page: Page) -> None:
    """Let the View of a page finish its handshake."""
    await page.ask("ui/initialize", HELLO, id=0)
    await page.say({"method": "ui/notifications/initialized"})


OPEN = Policy({"tools": "allow", "links": "allow", "downloads": "allow", "messages": "allow"})


def counter() -> MCPServer[Any]:
    server: MCPServer[Any] = MCPServer("counter")
    apps = Apps(server)
    apps.view(View.html("<!doctype html><title>x</title>", uri="ui://counter/view"))

    @apps.tool(view="ui://counter/view")
    def add(a: int, b: int) -> dict[str, int]:
        return {"sum": a + b}

    @apps.tool(view="ui://counter/view")
    def fail() -> str:
        raise ValueError("inside")

    @apps.tool(view="ui://counter/view")
    async def hang(ctx: Context) -> str:
        await ctx.report_progress(1, 2)
        await anyio.sleep_forever()
        return "never"

    @apps.tool(visibility=["model"])
    def only_model() -> str:
        return "x"

    @apps.tool(visibility=["app"])
    def only_app() -> types.CallToolResult:
        text = types.TextContent(type="text", text="for the View")
        return types.CallToolResult(content=[text], _meta={"kept": [1]})

    return server


@asynccontextmanager
async def running(**options: Any) -> AsyncIterator[Host]:
    options.setdefault("policy", OPEN)
    async with Host({"counter": counter(), "shop": build("FastMCP")}, **options) as host:
        await host.servers.wait_until_settled()
        yield host


def test_a_host_is_made_of_an_mcp_servers_file(tmp_path: Path) -> None:
    config = tmp_path / "mcp.json"
    config.write_text(json.dumps({"mcpServers": {"clock": {"command": "python", "args": ["server.py"]}}}))
    host = Host.from_config(config, timeouts=Timeouts(tools=1.0))
    assert list(host.servers) == ["clock"]
    with pytest.raises(TypeError, match="timeouts is 1"):
        Host.from_config(config, timeouts=1)


async def test_the_model_gets_exactly_the_tools_that_are_visible_to_it() -> None:
    async with running() as host:
        names = {tool.name for tool in await host.conversation().tools()}
        assert {"counter__add", "counter__only_model", "shop__show_cart", "shop__plain"} <= names
        assert not {"counter__only_app", "shop__pay"} & names


async def test_a_call_has_a_result_content_for_the_model_and_a_view() -> None:
    async with running() as host:
        call = await call_tool(host, "counter", "add", {"a": 1, "b": 2})
        assert call.result is not None
        assert call.result["structuredContent"] == {"sum": 3}
        assert [block["type"] for block in call.for_model] == ["text"]
        assert call.view is not None
        assert (await call_tool(host, "shop", "plain", {})).view is None


@pytest.mark.case("mcp-apps-life-01")
@pytest.mark.case("mcp-apps-life-03")
async def test_the_view_gets_input_and_result_after_initialized_and_unchanged() -> None:
    async with running() as host:
        call = await call_tool(host, "shop", "show_cart", {})
        page = await open_view(host, call.view, call.token)
        assert await page.message() == {
            "jsonrpc": "2.0",
            "method": "ui/notifications/tool-input",
            "params": {"arguments": {}},
        }
        result = await page.message()
        assert (result["method"], result["params"]) == ("ui/notifications/tool-result", call.result)


async def test_a_page_gets_three_origins_and_the_documents_own_policy() -> None:
    async with running() as host:
        call = await call_tool(host, "shop", "show_cart", {})
        page = await open_view(host, call.view, call.token, greet=False)
        assert page.shown["proxy"].startswith("http://sandbox.localhost:8000/proxy?host=http%3A%2F%2Flocalhost%3A8000")
        origin, _, address = page.shown["document"].rpartition("/")
        label = origin.removeprefix("http://").partition(".")[0]
        document = await runtime_of(host).opener.documents.get(label, address)
        assert document is not None
        assert "connect-src 'self' https://api.example.com" in document.headers["content-security-policy"]
        assert page.shown["border"] is True
        assert "camera" not in page.shown["allow"]


@pytest.mark.case("mcp-apps-life-02")
async def test_arguments_are_shown_while_the_model_writes_them_and_never_after() -> None:
    async with running() as host:
        call = await begin(host, "counter", "add")
        page = await open_view(host, call.view, call.token)
        for piece in json.dumps({"a": 1, "b": 22, "note": "x" * 2000}):
            call.feed(piece)
            await anyio.lowlevel.checkpoint()
        await call.run({"a": 1, "b": 22})
        methods: list[str] = []
        while not methods or methods[-1] != "ui/notifications/tool-result":
            message = await page.message()
            methods.append(message["method"])
            assert isinstance(message["params"].get("arguments", {}), dict)
        assert methods[-2:] == ["ui/notifications/tool-input", "ui/notifications/tool-result"]
        assert set(methods[:-2]) == {"ui/notifications/tool-input-partial"}
        assert len(methods) < 200


@pytest.mark.case("mcp-apps-life-04")
async def test_cancelling_a_call_notifies_the_view_and_the_server() -> None:
    async with running() as host:
        call = await begin(host, "counter", "hang")
        page = await open_view(host, call.view, call.token)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(call.run, {})
            assert (await page.message())["method"] == "ui/notifications/tool-input"
            tasks.cancel_scope.cancel()
        assert (await page.message())["method"] == "ui/notifications/tool-cancelled"


async def test_a_tool_that_fails_is_a_result_with_is_error() -> None:
    async with running() as host:
        call = await call_tool(host, "counter", "fail", {})
        page = await open_view(host, call.view, call.token)
        await page.message()
        assert (await page.message())["params"]["isError"] is True


async def test_the_error_for_an_unknown_tool_or_server_lists_the_known_ones() -> None:
    async with running() as host:
        with pytest.raises(KeyError, match=r"has no tool 'nothing'.*add"):
            await call_tool(host, "counter", "nothing", {})
        with pytest.raises(KeyError, match=r"no server 'nobody'"):
            await call_tool(host, "nobody", "x", {})


@pytest.mark.case("mcp-apps-req-04")
async def test_a_view_calls_tools_of_its_own_server_and_gets_the_raw_result() -> None:
    async with running() as host:
        call = await begin(host, "counter", "add")
        page = await open_view(host, call.view, call.token)
        answer = await page.ask("tools/call", {"name": "only_app"})
        assert answer["result"]["_meta"] == {"kept": [1]}
        assert "resultType" not in answer["result"]
        listed = await page.ask("tools/list", {})
        assert "only_model" not in [tool["name"] for tool in listed["result"]["tools"]]


@pytest.mark.case("mcp-apps-tool-05")
@pytest.mark.parametrize("name", ["only_model", "pay", "show_cart", "nothing", "counter__add"])
async def test_a_view_never_calls_a_tool_that_is_not_its_own(name: str) -> None:
    async with running() as host:
        call = await begin(host, "counter", "add")
        page = await open_view(host, call.view, call.token)
        assert (await page.ask("tools/call", {"name": name}))["error"]["code"] == -32602


async def test_progress_of_a_tool_reaches_the_view_and_its_cancellation_the_server() -> None:
    async with running() as host:
        call = await begin(host, "counter", "add")
        page = await open_view(host, call.view, call.token)
        await page.say({"id": 9, "method": "tools/call", "params": {"name": "hang", "_meta": {"progressToken": "t"}}})
        progress = await page.message()
        assert (progress["method"], progress["params"]["progressToken"]) == ("notifications/progress", "t")
        await page.say({"method": "notifications/cancelled", "params": {"requestId": 9}})
        assert (await page.ask("ping", {}))["result"] == {}


@pytest.mark.case("mcp-apps-req-01")
@pytest.mark.parametrize(
    "url", ["javascript:alert(1)", "data:text/html,x", "file:///etc/passwd", "vscode://x", "", "x"]
)
async def test_only_web_links_are_opened(url: str) -> None:
    async with running() as host:
        call = await begin(host, "counter", "add")
        page = await open_view(host, call.view, call.token)
        assert (await page.ask("ui/open-link", {"url": url}))["error"]["code"] == -32000


@pytest.mark.case("mcp-apps-req-02")
async def test_a_message_is_passed_to_the_handler_with_its_conversation() -> None:
    said: list[Any] = []
    async with running() as host:
        call = await begin(host, "counter", "add", conversation="c1")
        page = await open_view(host, call.view, call.token)
        content = [{"type": "text", "text": "hi"}]
        assert "error" in await page.ask("ui/message", {"role": "user", "content": content})
        host.on_message(said.append)
        assert (await page.ask("ui/message", {"role": "user", "content": content}))["result"] == {}
        (message,) = said
        assert (message.user, message.conversation, message.view, message.server) == (None, "c1", call.view, "counter")
        assert (message.role, message.content) == ("user", content)


@pytest.mark.case("mcp-apps-req-03")
async def test_the_model_gets_the_last_context_of_each_open_view() -> None:
    async with running() as host:
        call = await begin(host, "counter", "add", conversation="c1")
        page = await open_view(host, call.view, call.token)
        for text in ("one", "two"):
            update = {"content": [{"type": "text", "text": text}]}
            await page.say({"id": 7, "method": "ui/update-model-context", "params": update})
            assert (await page.next())["update"] == update
            assert (await page.message())["result"] == {}
        (context,) = await context_of(host, "c1")
        assert (context["view"], context["content"][0]["text"]) == (call.view, "two")
        assert await context_of(host, "other") == []


@pytest.mark.case("mcp-apps-life-05")
async def test_closing_a_view_tears_it_down_first() -> None:
    async with running() as host:
        call = await begin(host, "counter", "add")
        page = await open_view(host, call.view, call.token)
        assert call.view is not None
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(host.close_view, call.view)
            teardown = await page.message()
            assert teardown["method"] == "ui/resource-teardown"
            await page.say({"id": teardown["id"], "result": {}})
            assert await page.next() == {"type": "closed"}
        with pytest.raises(UnknownViewError):
            await call_app_tool(host, call.view, "x", {})
        with pytest.raises(ViewRefusedError, match="closed"):
            await open_view(host, call.view, call.token)


@pytest.mark.case("mcp-apps-life-07")
async def test_a_change_of_the_hosts_context_reaches_open_views() -> None:
    async with running() as host:
        call = await begin(host, "counter", "add")
        page = await open_view(host, call.view, call.token)
        host.set_context(theme="dark")
        assert (await page.message())["params"] == {"theme": "dark"}
        await page.tell({"type": "context", "context": {"locale": "de", "displayMode": "pip", "evil": 1}})
        assert (await page.message())["params"] == {"locale": "de"}


async def test_a_view_cannot_be_opened_with_a_wrong_token() -> None:
    async with running() as host:
        call = await begin(host, "counter", "add")
        for token in (None, "", "x", call.token + "x" if call.token else "", 7):
            with pytest.raises(ViewRefusedError):
                await open_view(host, call.view, token)  # type: ignore[arg-type]
        with pytest.raises(ViewRefusedError):
            await open_view(host, "nothing", call.token)


async def test_a_reloaded_page_gets_the_same_input_and_result_again() -> None:
    async with running() as host:
        call = await call_tool(host, "counter", "add", {"a": 1, "b": 2})
        for _ in range(2):
            page = await open_view(host, call.view, call.token)
            assert (await page.message())["params"] == {"arguments": {"a": 1, "b": 2}}
            assert (await page.message())["params"] == call.result
            page.disconnect()


async def test_a_lost_socket_is_resumed_without_a_new_document() -> None:
    async with running() as host:
        call = await begin(host, "counter", "add")
        page = await open_view(host, call.view, call.token)
        page.disconnect()
        await call.run({"a": 1, "b": 2})
        again = await open_view(host, call.view, call.token, greet=False, seen=page.seen, epoch=page.epoch)
        assert (await again.message())["method"] == "ui/notifications/tool-input"
        assert (await again.message())["method"] == "ui/notifications/tool-result"


async def test_a_page_that_missed_too_many_frames_reloads_its_view() -> None:
    async with running() as host:
        call = await begin(host, "counter", "add")
        page = await open_view(host, call.view, call.token)
        page.disconnect()
        for seen in (page.seen + 1, -1, None, True, "1"):
            again = Page()
            await again.open(host, call.view, call.token, seen=seen, epoch=page.epoch)
            assert (await again.next())["type"] == "show"
            again.disconnect()


async def test_a_call_is_cancelled_while_it_runs_or_while_its_arguments_are_written() -> None:
    async with running() as host:
        call = await begin(host, "counter", "hang")
        page = await open_view(host, call.view, call.token)
        async with anyio.create_task_group() as tasks:

            async def run() -> None:
                with pytest.raises(CallCancelledError, match="changed my mind"):
                    await call.run({})

            tasks.start_soon(run)
            assert (await page.message())["method"] == "ui/notifications/tool-input"
            await call.cancel("changed my mind")
        cancelled = await page.message()
        assert cancelled["method"] == "ui/notifications/tool-cancelled"
        assert cancelled["params"] == {"reason": "changed my mind"}
        written = await begin(host, "counter", "add")
        page = await open_view(host, written.view, written.token)
        written.feed('{"a": 1')
        assert (await page.message())["method"] == "ui/notifications/tool-input-partial"
        await written.cancel()
        assert (await page.message())["method"] == "ui/notifications/tool-cancelled"
        with pytest.raises(RuntimeError, match="complete"):
            written.feed("x")
        with pytest.raises(RuntimeError, match="once"):
            await written.run({})


async def test_a_view_reloaded_while_its_tool_runs_still_gets_the_result() -> None:
    async with running() as host:
        call = await begin(host, "counter", "hang")
        await open_view(host, call.view, call.token)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(call.run, {})
            await anyio.wait_all_tasks_blocked()
            page = await open_view(host, call.view, call.token)
            assert (await page.message())["method"] == "ui/notifications/tool-input"
            tasks.cancel_scope.cancel()
        assert (await page.message())["method"] == "ui/notifications/tool-cancelled"


async def gone(host: Host, view: str | None) -> None:
    with anyio.fail_after(60):
        while runtime_of(host).views.session(view) is not None:  # noqa: ASYNC110  there is no event for it
            await anyio.sleep(0.01)


async def test_a_session_without_a_page_ends_and_its_view_is_restored_from_the_store() -> None:
    async with running(timeouts=Timeouts(linger=0.05)) as host:
        call = await call_tool(host, "counter", "add", {"a": 1, "b": 2})
        assert call.view is not None
        page = await open_view(host, call.view, call.token)
        await anyio.sleep(0.2)
        assert runtime_of(host).views.session(call.view) is not None
        page.disconnect()
        await gone(host, call.view)
        again = await open_view(host, call.view, call.token)
        assert (await again.message())["params"] == {"arguments": {"a": 1, "b": 2}}
        assert (await again.message())["params"] == call.result


async def test_a_result_without_a_session_is_stored() -> None:
    async with running(timeouts=Timeouts(linger=0.02)) as host:
        call = await begin(host, "counter", "add")
        await gone(host, call.view)
        await call.run({"a": 1, "b": 2})
        page = await open_view(host, call.view, call.token)
        await page.message()
        assert (await page.message())["params"] == call.result


async def test_a_link_to_a_resource_is_read_from_the_server_and_saved() -> None:
    async with running() as host:
        call = await begin(host, "counter", "add")
        page = await open_view(host, call.view, call.token)
        contents = [{"type": "resource_link", "uri": "ui://counter/view", "name": "x"}]
        await page.say({"id": 1, "method": "ui/download-file", "params": {"contents": contents}})
        frame = await page.next()
        assert frame["files"][0]["name"] == "view"
        assert frame["files"][0]["text"].startswith("<!doctype html>")


async def test_a_view_is_restored_with_its_data_after_a_restart_of_the_host(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path / 'views.db'}"
    async with running(store=store) as host:
        call = await call_tool(host, "counter", "add", {"a": 1, "b": 2}, conversation="c1")
        page = await open_view(host, call.view, call.token)
        await page.message()
        await page.message()
        await page.say({"id": 7, "method": "ui/update-model-context", "params": {"structuredContent": {"seen": 3}}})
        assert (await page.next())["type"] == "model-context"
        assert (await page.message())["result"] == {}
    async with running(store=store) as host:
        page = await open_view(host, call.view, call.token, greet=False)
        assert (await page.next())["update"] == {"content": [], "structuredContent": {"seen": 3}}
        await initialize(page)
        assert (await page.message())["params"] == {"arguments": {"a": 1, "b": 2}}
        assert (await page.message())["params"] == call.result
        assert (await context_of(host, "c1"))[0]["structuredContent"] == {"seen": 3}


async def test_the_error_for_a_missing_document_has_the_reason() -> None:
    server: FastMCP[Any] = FastMCP("broken")

    @server.tool(meta={"ui": {"resourceUri": "ui://broken/none"}})
    def show() -> str:
        return "text"

    async with Host({"broken": server}) as host:
        call = await call_tool(host, "broken", "show", {})
        assert call.for_model
        with pytest.raises(ViewRefusedError, match=r"cannot be shown.*ui://broken/none"):
            await open_view(host, call.view, call.token)


@pytest.mark.process
async def test_a_server_that_does_not_start_does_not_affect_the_others() -> None:
    async with Host({"counter": counter(), "dead": "no-such-command-at-all"}) as host:
        await host.servers.wait_until_settled()
        assert {tool.server for tool in await host.conversation().tools()} == {"counter"}
        assert "no-such-command-at-all" in (host.servers["dead"].status.reason or "")


@pytest.mark.process
async def test_a_silent_server_does_not_delay_the_tools_and_calls_of_others() -> None:
    silent = [sys.executable, "-c", "while True: input()"]
    with anyio.fail_after(40):  # it is tried for a minute
        async with Host({"counter": counter(), "silent": silent}, timeouts=Timeouts(tools=0.2)) as host:
            assert (await call_tool(host, "counter", "only_model", {})).for_model
            assert {tool.server for tool in await host.conversation().tools()} == {"counter"}
            status = host.servers["silent"].status
            assert (status.state, "has not answered for" in str(status.reason)) == ("connecting", True)
            with pytest.raises(NotConnectedError, match="has not answered for"):
                await call_tool(host, "silent", "x", {})


DYING = """
import os
from mcp.server import MCPServer
from fanlight import Apps, View

server = MCPServer("dying")
apps = Apps(server)
view = apps.view(View.html("<!doctype html><title>x</title>", uri="ui://dying/view"))

@apps.tool(view=view)
def die() -> str:
    os._exit(3)

@apps.tool(view=view)
def live() -> str:
    return "alive"

server.run()
"""


@pytest.mark.process
async def test_a_server_that_dies_in_a_call_cancels_it_for_the_view_and_later_calls_work(tmp_path: Path) -> None:
    script = tmp_path / "dying.py"
    script.write_text(DYING, encoding="utf-8")
    async with Host({"dying": [sys.executable, str(script)]}, timeouts=Timeouts(connect=60)) as host:
        await host.servers["dying"].ready()
        call = await begin(host, "dying", "die")
        page = await open_view(host, call.view, call.token)
        with pytest.raises(CallCancelledError):
            await call.run({})
        assert (await page.message())["method"] == "ui/notifications/tool-input"
        cancelled = await page.message()
        assert cancelled["method"] == "ui/notifications/tool-cancelled"
        assert cancelled["params"]["reason"]
        again = await call_tool(host, "dying", "live", {})
        assert again.for_model[0]["text"] == "alive"


async def test_a_context_that_is_not_json_raises_and_leaves_the_host_running() -> None:
    async with running() as host:
        call = await begin(host, "counter", "add")
        page = await open_view(host, call.view, call.token)
        with pytest.raises(TypeError, match="is not JSON"):
            host.set_context(theme=object())
        assert (await page.ask("ping", {}))["result"] == {}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"policy": {"links": "allow"}}, "expected a Policy"),
        ({"limits": {}}, "expected a Limits"),
        ({"timeouts": 5}, "expected a Timeouts"),
        ({"hosts": "example.com"}, "expected a list of names"),
    ],
)
def test_invalid_arguments_of_the_host_raise_at_once(options: dict[str, Any], words: str) -> None:
    with pytest.raises(TypeError, match=words):
        Host({}, **options)
